/* SPDX-License-Identifier: MIT */
/* Options of pinject-run that say what each sample has. */
#ifndef COLLECTOR_SETTINGS_SAMPLES_H
#define COLLECTOR_SETTINGS_SAMPLES_H

#include "collector/config/settings.h"
#include "common/options.h"

/* Parsers of option rows; STATE is struct settings_line. 0, or -EINVAL after report_error(). */
/* --user-regs, --intr-regs: "?" lists them instead. */
int settings_take_user_regs(void *state, const struct option_row *row, const char *value);
int settings_take_intr_regs(void *state, const struct option_row *row, const char *value);
/* -b and -j. */
int settings_take_branches(void *state, const struct option_row *row, const char *value);
/* --overflow-block, which is refused. */
int settings_take_overflow_block(void *state, const struct option_row *row, const char *value);
/* When all options are known. 0, or -EINVAL after report_error(). */
int settings_check_samples(const struct settings *settings);

#endif
