/* SPDX-License-Identifier: MIT */
#include "events_kit.h"

#include "collector/events/event_catalog.h"
#include "common/events.h"

struct seen {
    const struct event_sources *sources;
    unsigned kinds[8];
    bool unit;
};

/* Each name that is listed is one that -e takes. */
static void take(void *to, const struct event_entry *entry)
{
    struct seen *seen = to;
    seen->kinds[entry->kind]++;
    assert_non_null(entry->description);
    assert_true(entry->description[0]);
    if (entry->kind <= EVENT_KIND_CACHE || entry->kind == EVENT_KIND_PMU)
        kit_one(seen->sources, entry->name);
    if (entry->alias)
        kit_one(seen->sources, entry->alias);
    seen->unit |= strstr(entry->description, "MiB") != NULL;
}

static void names_of_real_cpus(void **state)
{
    static const unsigned events[] = {10, 4, 6};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct seen seen = {.sources = kit_cpus[i]};
        event_catalog(kit_cpus[i], take, &seen);
        assert_int_equal(seen.kinds[EVENT_KIND_GENERIC], events_count);
        assert_int_equal(seen.kinds[EVENT_KIND_CACHE], 32);
        assert_int_equal(seen.kinds[EVENT_KIND_RAW], 1);
        assert_int_equal(seen.kinds[EVENT_KIND_BREAKPOINT], 1);
        assert_int_equal(seen.kinds[EVENT_KIND_PMU], events[i]);
        assert_int_equal(seen.kinds[EVENT_KIND_TRACEPOINT], 0);
        assert_int_equal(seen.unit, i == 0);
    }
}

static void all_are_described(void **state)
{
    (void)state;
    for (size_t i = 0; i < events_count; i++)
        assert_true(event_catalog_describe(events_names[i].type, events_names[i].config)[0]);
    assert_string_equal(event_catalog_describe(77, 0), "");
}

KIT_MAIN(T(names_of_real_cpus), T(all_are_described))
