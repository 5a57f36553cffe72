/* SPDX-License-Identifier: MIT */
#include "collector/ring_watch.h"

#include "collector/sources/inherited.h"
#include "collector/system/watch.h"

enum {
    CLOCK_MS = 5,                 /* between two readings by the clock */
    TASK_NS = 10 * 1000 * 1000,   /* a task in so long is many */
    CHOICE_NS = 20 * 1000 * 1000, /* between two choices */
};

static int watch_rings(const struct ring_watch *watch)
{
    return watch_add(watch->epoll, inherited_fd(watch->sets), watch->sets);
}

int ring_watch_start(struct ring_watch *watch, int epoll, struct inherited_sets *sets)
{
    *watch = (struct ring_watch){.epoll = epoll, .sets = sets};
    return watch_rings(watch);
}

bool ring_watch_is_filling(struct ring_watch *watch)
{
    const bool filling = inherited_are_filling(watch->sets);
    watch->filled |= filling;
    return filling;
}

int ring_watch_wait(const struct ring_watch *watch, int wait_ms)
{
    return watch->by_clock && (wait_ms < 0 || wait_ms > CLOCK_MS) ? CLOCK_MS : wait_ms;
}

void ring_watch_choose(struct ring_watch *watch, uint64_t now_ns, uint64_t seen)
{
    const uint64_t passed_ns = now_ns - watch->since_ns;
    if (passed_ns < CHOICE_NS && !watch->filled)
        return;
    const bool many = (seen - watch->seen) * TASK_NS >= passed_ns && !watch->filled;
    const bool by_clock = many && inherited_are_for_all(watch->sets);
    if (by_clock && !watch->by_clock)
        watch_remove(watch->epoll, inherited_fd(watch->sets));
    /* If it fails, the clock goes on. */
    watch->by_clock = by_clock || (watch->by_clock && watch_rings(watch) < 0);
    watch->since_ns = now_ns;
    watch->seen = seen;
    watch->filled = false;
}
