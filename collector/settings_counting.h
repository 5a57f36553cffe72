/* SPDX-License-Identifier: MIT */
/* Options for what --stat prints. They are rows of the table in settings.c. */
#ifndef COLLECTOR_SETTINGS_COUNTING_H
#define COLLECTOR_SETTINGS_COUNTING_H

#include <stdbool.h>

#include "collector/config/settings.h"
#include "common/options.h"

/* Takers: an int gets row->number, and may be given once; a bool; a string; -x. Each one notes that it was given. */
int settings_take_count_choice(void *state, const struct option_row *row, const char *value);
int settings_take_count_flag(void *state, const struct option_row *row, const char *value);
int settings_take_count_text(void *state, const struct option_row *row, const char *value);
int settings_take_separator(void *state, const struct option_row *row, const char *value);
int settings_take_repeat(void *state, const struct option_row *row, const char *value);
int settings_take_interval(void *state, const struct option_row *row, const char *value);
int settings_take_switch(void *state, const struct option_row *row, const char *value);
/* After all options, when all events are known: --priv-levels, and what event sets need. 0 or -EINVAL after
 * report_error(). */
int settings_finish_sets(struct settings *settings);
/* After all options: refuses those that would have no effect, or exclude each other. JSON: --json was given. 0 or
 * -EINVAL after report_error(). */
int settings_check_counting(struct settings *settings, bool json);

#endif
