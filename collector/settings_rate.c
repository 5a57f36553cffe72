/* SPDX-License-Identifier: MIT */
#include "collector/settings_rate.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/config/sample_cost.h"
#include "common/report.h"

enum { DIGITS = 24 };

static int parse_periods(struct periods *ret, const struct option_row *row, const char *value)
{
    ret->count = 0;
    for (const char *at = value;; at++) {
        const size_t size = strcspn(at, ",");
        char digits[DIGITS];
        if (ret->count == EVENTS_MAX) {
            report_error("option '--%s' has more than %d periods; -e cannot have more events than that", row->name,
                         EVENTS_MAX);
            return -EINVAL;
        }
        snprintf(digits, sizeof(digits), "%.*s", (int)size, at);
        uint64_t *period = &ret->values[ret->count++];
        const struct option_row one = {.name = row->name, .value = row->value};
        int error = options_take_count(period, &one,
                                       size < DIGITS ? digits : value); /* of a list, the latter is refused */
        if (error)
            return error;
        if (*period >> 63) {
            report_error("a period of %" PRIu64 " is too long; the longest is 2^63-1", *period);
            return -EINVAL;
        }
        at += size;
        if (!*at)
            return 0;
    }
}

static void set_periods(struct settings *settings, const struct periods *periods, const struct option_row *row)
{
    settings->periods = *periods;
    settings->periods.option = row->name;
    settings->period = periods->values[0];
    settings->frequency = 0;
    settings->frequency_auto = false;
    settings->rate_given = true;
}

int settings_take_frequency(void *state, const struct option_row *row, const char *value)
{
    struct settings *settings = state;
    settings->period = 0;
    settings->periods.count = 0;
    settings->periods.option = NULL;
    settings->rate_given = true;
    settings->frequency_auto = strcmp(value, "auto") == 0;
    if (settings->frequency_auto) {
        settings->frequency = SAMPLE_COST_MOST_HZ;
        return 0;
    }
    if (options_parse_count(value, &settings->frequency))
        return 0;
    report_error("option '--%s' needs a whole number of at least 1, or auto, not '%s'", row->name, value);
    return -EINVAL;
}

int settings_take_period(void *state, const struct option_row *row, const char *value)
{
    struct settings *settings = state;
    struct periods periods;
    int error = parse_periods(&periods, row, value);
    if (error)
        return error;
    periods.count = periods.count > 1 ? periods.count : 0; /* one is for all events */
    set_periods(settings, &periods, row);
    return 0;
}

int settings_take_smpl_periods(void *state, const struct option_row *row, const char *value)
{
    static const char suffix[] = "-smpl-periods";
    struct settings *settings = state;
    struct periods periods;
    const struct periods *before = &settings->periods;
    int error = parse_periods(&periods, row, value);
    if (error)
        return error;
    if (before->option && strstr(before->option, suffix) && strcmp(before->option, row->name) != 0 &&
        (before->count != periods.count ||
         memcmp(before->values, periods.values, periods.count * sizeof(periods.values[0])) != 0)) {
        report_error(
            "--long-smpl-periods and --short-smpl-periods differ, but pinject has only one period for each event; give one of the two options");
        return -EINVAL;
    }
    set_periods(settings, &periods, row);
    return 0;
}

/* A number, decimal or 0x..., that ends at one of ENDS. NULL: there is none. */
static const char *take_number(const char *at, const char *ends, uint64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoull(at, &end, 0);
    return isdigit((unsigned char)*at) && !errno && strchr(ends, *end) ? end : NULL;
}

int settings_take_random_periods(void *state, const struct option_row *row, const char *value)
{
    struct random_periods *random = &((struct settings *)state)->random;
    random->count = 0;
    for (const char *at = value; at; at = *at ? at + 1 : NULL) {
        if (random->count == EVENTS_MAX) {
            report_error(
                "option '--%s' has more than %d masks; a mask is for one event, and %d is the largest number of events",
                row->name, EVENTS_MAX, EVENTS_MAX);
            return -EINVAL;
        }
        uint64_t *seed = &random->seeds[random->count];
        *seed = 0;
        at = take_number(at, ":,", &random->masks[random->count++]);
        if (at && *at == ':')
            at = take_number(at + 1, ",", seed);
        if (!at) {
            report_error("option '--%s' needs MASK:SEED for each event, such as 0xff:1,0x3f:2, not '%s'", row->name,
                         value);
            return -EINVAL;
        }
        if (!*at)
            break;
    }
    return 0;
}

/* The kernel writes either the event's count into its samples, for their weights, or those of the group. */
static int check_random_values(const struct settings *settings)
{
    const struct random_periods *random = &settings->random;
    for (unsigned i = 0; i < settings->events.count; i++) {
        const struct event_spec *spec = &settings->events.specs[i];
        if (!(spec->says & EVENT_SAYS_VALUES) || spec->item > random->count || !random->masks[spec->item - 1])
            continue;
        const char *values = settings->values ? "--smpl-values" : "the modifier S";
        if (spec->leader)
            report_error(
                "event '%s' cannot have both random periods and the counts of its group in its samples: in --smpl-periods-random, give this event the mask 0, or leave out %s",
                spec->name, values);
        else
            report_error(
                "event '%s' takes no samples, because its group has %s: in --smpl-periods-random, give this event the mask 0",
                spec->name, values);
        return -EINVAL;
    }
    return 0;
}

static int check_random(const struct settings *settings)
{
    const unsigned events = settings->events.count ? settings->events.items : 1;
    if (settings->random.count && settings->stat) {
        report_error("option '--smpl-periods-random' is for samples, and --stat takes none; leave out one of them");
        return -EINVAL;
    }
    if (settings->random.count > events) {
        report_error("option '--smpl-periods-random' has %u masks, and there %s only %u event%s",
                     settings->random.count, events == 1 ? "is" : "are", events, events == 1 ? "" : "s");
        return -EINVAL;
    }
    return check_random_values(settings);
}

int settings_finish_rate(struct settings *settings)
{
    const struct periods *periods = &settings->periods;
    if (settings->values && event_list_set_values(&settings->events) < 0)
        return -EINVAL;
    if (check_random(settings) < 0)
        return -EINVAL;
    if (!periods->count)
        return 0;
    if (settings->stat) {
        report_error("option '--%s' says how often samples are taken, and --stat takes none; leave out one of them",
                     periods->option);
        return -EINVAL;
    }
    if (settings->events.count)
        return event_list_set_periods(&settings->events, periods->values, periods->count, periods->option);
    if (periods->count > 1) {
        report_error("option '--%s' has %u periods, and there is only the default event; name the events: -e a,b",
                     periods->option, periods->count);
        return -EINVAL;
    }
    return 0;
}
