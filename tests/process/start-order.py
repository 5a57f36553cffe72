# SPDX-License-Identifier: MIT
# labels: preload transparent
# timeout: 120
"""When a task starts it asks the collector for events: what others can see of that wait, and who must not wait."""
from harness import *

WAYS = {
    "pinject-run": lambda command: pinject_run("--stat", "--per-thread", "-q", "--", *command, timeout=60),
    "command in a session of its own":
        lambda command: pinject_run("--stat", "--per-thread", "-q", "--", "setsid", "-w", *command, timeout=60),
    "bare LD_PRELOAD": lambda command: run(command, env=dict(LD_PRELOAD=PRELOAD, PINJECT_FOLLOW="all"), timeout=60),
}


def test_nobody_looks_asleep_who_has_not_begun():
    """Programs poll /proc/PID/stat until a child sleeps, and take that for 'it waits where it should'."""
    need_perf_events()
    if not IS_ROOT:
        skip("only root's collector goes before all others: with an unprivileged one a few of 200 tasks may sleep")
    for way, start_in in WAYS.items():
        done = start_in([target("asleep"), "100"]).ok()
        forks, threads = map(int, check_match(r"^early: (\d+) (\d+)$", done.out.strip()).groups())
        with measured():  # a host may take the CPU of the collector, too
            check(forks + threads <= 4, f"{way}: {done.out}")


ORDER = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
/* One CPU, SCHED_FIFO: a thread of a higher priority runs to its end before its creator goes on. */
static char order[64];
static int at;
static void *run(void *name) { order[at++] = *(char *)name; return NULL; }
int main(void)
{
    cpu_set_t one;
    struct sched_param high = {.sched_priority = 20}, higher = {.sched_priority = 30};
    pthread_attr_t attr;
    pthread_t threads[3];
    pthread_attr_init(&attr);
    pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
    pthread_attr_setschedparam(&attr, &higher);
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    if (sched_setaffinity(0, sizeof(one), &one) || sched_setscheduler(0, SCHED_FIFO, &high)) return 77;
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], &attr, run, "abc" + i);
        order[at++] = '.';
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    puts(order);
    return 0;
}
"""


def test_real_time_threads_run_in_their_order():
    need_perf_events()
    need("cc")
    pathlib.Path("order.c").write_text(ORDER)
    run(["cc", "-pthread", "-o", "order", "order.c"]).ok()
    bare = run(["./order"])
    if bare.status == 77:
        skip("this user may not have a real-time priority")
    check_equal(bare.ok().out, "a.b.c.\n")
    for way, start_in in WAYS.items():
        for _ in range(5):
            check_equal(start_in(["./order"]).ok().out, bare.out, way)


if __name__ == "__main__":
    main()
