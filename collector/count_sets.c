/* SPDX-License-Identifier: MIT */
#include "collector/count_sets.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/buffer.h"
#include "common/report.h"

static bool is_first_of_set(const struct count_event *events, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (events[i].set == events[index].set)
            return false;
    return events[index].set != 0;
}

static void append_names(struct buffer *to, const struct count_event *events, size_t count, unsigned set)
{
    const char *comma = "";
    for (size_t i = 0; i < count; i++) {
        if (events[i].set != set)
            continue;
        buffer_printf(to, "%s%s", comma, events[i].name);
        comma = ", ";
    }
    buffer_append(to, "", 1);
}

void count_sets_warn(const struct count_event *events, const struct count_cell *cells, size_t count, uint64_t switch_ns)
{
    for (size_t i = 0; i < count; i++) {
        struct buffer names = BUFFER_INIT;
        if (!is_first_of_set(events, i) || count_had_turn(events, cells, count, i))
            continue;
        append_names(&names, events, count, events[i].set);
        report_warning(
            "set %u (%s) counted nothing: no task ran long enough for this set to have a turn, or no counter of the "
            "machine was free; try %s",
            events[i].set, buffer_failed(&names) ? "..." : (const char *)names.data,
            switch_ns > 1000000 ? "fewer sets, or a smaller --switch-timeout" : "fewer sets");
        buffer_release(&names);
    }
}

void count_sets_warn_length(uint64_t length_ns, uint64_t switch_ns)
{
    if (switch_ns && length_ns > switch_ns / 2 * 3)
        report_warning("the turns of the event sets (--switch-timeout) took %.1f ms on average, not %" PRIu64
                       " ms: the collector had too much to do, or not enough CPU time",
                       (double)length_ns / 1e6, switch_ns / 1000000);
}
