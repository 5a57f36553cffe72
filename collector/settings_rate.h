/* SPDX-License-Identifier: MIT */
/* Options of pinject-run that say how often events are sampled. */
#ifndef COLLECTOR_SETTINGS_RATE_H
#define COLLECTOR_SETTINGS_RATE_H

#include "collector/config/settings.h"
#include "common/options.h"

/* Parsers of option rows; STATE is struct settings. 0, or -EINVAL after report_error(). */
int settings_take_frequency(void *state, const struct option_row *row, const char *value);
/* -c: one period for all events, or one for each. */
int settings_take_period(void *state, const struct option_row *row, const char *value);
/* --long-smpl-periods and --short-smpl-periods. */
int settings_take_smpl_periods(void *state, const struct option_row *row, const char *value);
/* --smpl-periods-random. */
int settings_take_random_periods(void *state, const struct option_row *row, const char *value);
/* When all options are known: the events get their periods. 0, or -EINVAL after report_error(). */
int settings_finish_rate(struct settings *settings);

#endif
