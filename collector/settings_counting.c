/* SPDX-License-Identifier: MIT */
#include "collector/settings_counting.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "common/report.h"
#include "counts/count_print.h"

enum { LEAST_MS = 10, MOST_MS = 86400000, MOST_RUNS = 10000 };

static void note(struct settings *settings, const struct option_row *row)
{
    if (!settings->count_option)
        settings->count_option = row->name;
}

/* The options of which one excludes the others: those that store at OFFSET. */
static const char *alternatives(size_t offset)
{
    return offset == offsetof(struct settings, count_by)     ? "--per-thread, --per-process and --per-comm"
           : offset == offsetof(struct settings, count_form) ? "--field-separator and --openmetrics"
                                                             : "--us-counter-format, --eu-counter-format and "
                                                               "--hex-counter-format";
}

int settings_take_count_choice(void *state, const struct option_row *row, const char *value)
{
    int *choice = (int *)((char *)state + row->offset);
    (void)value;
    if (*choice && *choice != (int)row->number) {
        report_error("option '--%s': only one of %s can be used", row->name, alternatives(row->offset));
        return -EINVAL;
    }
    note(state, row);
    *choice = (int)row->number;
    return 0;
}

int settings_take_count_flag(void *state, const struct option_row *row, const char *value)
{
    note(state, row);
    return options_take_flag(state, row, value);
}

int settings_take_count_text(void *state, const struct option_row *row, const char *value)
{
    note(state, row);
    return options_take_string(state, row, value);
}

int settings_take_separator(void *state, const struct option_row *row, const char *value)
{
    struct settings *settings = state;
    int error = count_take_separator(&settings->separator, value);
    if (error)
        return error;
    return settings_take_count_choice(state,
                                      &(struct option_row){.name = row->name,
                                                           .number = COUNT_AS_CSV,
                                                           .offset = offsetof(struct settings, count_form)},
                                      value);
}

int settings_take_repeat(void *state, const struct option_row *row, const char *value)
{
    struct settings *settings = state;
    int error = options_take_count(&settings->repeat, &(struct option_row){.name = row->name, .value = row->value},
                                   value);
    if (error)
        return error;
    if (settings->repeat > MOST_RUNS) {
        report_error("option '--%s' takes at most %d, not '%s'", row->name, MOST_RUNS, value);
        return -EINVAL;
    }
    note(settings, row);
    return 0;
}

/* Milliseconds, LEAST or more, as nanoseconds to *RET. */
static int take_ms(struct settings *settings, const struct option_row *row, const char *value, unsigned least,
                   uint64_t *ret)
{
    char *end;
    errno = 0;
    const unsigned long long ms = strtoull(value, &end, 10);
    if (errno || *end || !isdigit((unsigned char)*value) || ms < least || ms > MOST_MS) {
        report_error("option '--%s' needs a number of milliseconds from %u to %d, not '%s'", row->name, least, MOST_MS,
                     value);
        return -EINVAL;
    }
    note(settings, row);
    *ret = ms * 1000000;
    return 0;
}

int settings_take_interval(void *state, const struct option_row *row, const char *value)
{
    struct settings *settings = state;
    return take_ms(settings, row, value, LEAST_MS, &settings->interval_ns);
}

int settings_take_switch(void *state, const struct option_row *row, const char *value)
{
    struct settings *settings = state;
    return take_ms(settings, row, value, 1, &settings->switch_ns);
}

static int refuse(const char *option, const char *other)
{
    report_error("option '--%s' cannot be used with %s", option, other);
    return -EINVAL;
}

static int check_form(const struct settings *settings)
{
    static const char *const names[] = {"", "'-x'", "'--json'", "'--openmetrics'"};
    const int form = settings->count_form;
    if (settings->with_header && (form == COUNT_AS_JSON || form == COUNT_AS_OPENMETRICS))
        return refuse("with-header", names[form]);
    if (settings->interval_ns && form == COUNT_AS_OPENMETRICS)
        return refuse("print-interval", names[form]);
    if (settings->append && form == COUNT_AS_OPENMETRICS)
        return refuse("append", names[form]);
    return count_check_style(form, settings->count_digits);
}

/* A series has one result, which is no session's. */
static int check_repeat(const struct settings *settings)
{
    static const char *const names[] = {"", "per-thread", "per-comm", "per-process"};
    if (!settings->repeat && (settings->pre || settings->post)) {
        report_error("option '--%s' needs '--repeat=N'", settings->pre ? "pre" : "post");
        return -EINVAL;
    }
    if (!settings->repeat)
        return 0;
    const char *other = settings->count_by                             ? names[settings->count_by]
                        : settings->interval_ns                        ? "print-interval"
                        : settings->with_header                        ? "with-header"
                        : settings->show_time                          ? "show-time"
                        : settings->live                               ? "live"
                        : settings->count_form == COUNT_AS_OPENMETRICS ? "openmetrics"
                                                                       : NULL;
    return other ? refuse(other, "'--repeat'") : 0;
}

int settings_check_counting(struct settings *settings, bool json)
{
    if (settings->count_option && !settings->stat) {
        report_error("option '--%s' needs '--stat'", settings->count_option);
        return -EINVAL;
    }
    if (settings->stat && json && settings->count_form != COUNT_AS_TEXT)
        return refuse("json", settings->count_form == COUNT_AS_CSV ? "'-x'" : "'--openmetrics'");
    if (settings->stat && json)
        settings->count_form = COUNT_AS_JSON;
    if (settings->append && !settings->counts_file) {
        report_error("option '--append' needs '--counts-file=FILE'");
        return -EINVAL;
    }
    int error = check_form(settings);
    return error ? error : check_repeat(settings);
}

/* --priv-levels of each set. */
static int finish_levels(struct settings *settings)
{
    int status = 0;
    if (settings->set_levels[0]) {
        report_error(
            "with --switch-timeout, each --priv-levels applies to the -e before it; write --priv-levels after an -e");
        return -EINVAL;
    }
    for (unsigned set = 1; status == 0 && set <= settings->events.sets; set++)
        if (settings->set_levels[set])
            status = event_list_set_each_level(&settings->events, settings->set_levels[set], set);
    return status;
}

/* The last --priv-levels; NULL: none. */
static const char *find_levels(const struct settings *settings)
{
    unsigned set = settings->events.sets;
    while (set && !settings->set_levels[set])
        set--;
    return settings->set_levels[set];
}

int settings_finish_sets(struct settings *settings)
{
    const char *levels = find_levels(settings);
    if (!settings->switch_ns)
        return levels ? event_list_set_each_level(&settings->events, levels, 0) : 0;
    if (settings->events.sets < 2) {
        report_error("option '--switch-timeout' needs two or more -e: each -e is one set of events, and the sets are "
                     "counted in turn");
        return -EINVAL;
    }
    return finish_levels(settings);
}
