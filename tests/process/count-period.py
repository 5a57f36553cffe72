# SPDX-License-Identifier: MIT
# labels: figures
# timeout: 240
"""Count x period: the samples of a task stand for what its event counted, but for what came after the last sample.

For each software event, a breakpoint, and a tracepoint; per thread, per child, across exec, and by inherited events
(a static program), with a period (-c) and with a frequency (-F).
"""
from harness import *

WITNESS, STATIC = "event-witness", "event-witness-static"
PAGES = 600
# Each task writes 200 times or more, touches PAGES pages, goes 60 times to another CPU: 2 threads, 2 children, 2 execs.
LINE = ["200", str(PAGES), "2", "2", "2", "60"]
TASKS = 5


os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # inherited events may lack a period for each CPU


def cpus():
    return len(os.sched_getaffinity(0))


def sampled(events, *options, program=WITNESS, before=(), spelled=None):
    """({event: {tid: (samples, sum of their weights, count)}}, the first task first; samples that were lost). SPELLED: -e,
    if EVENTS are only the names in the files."""
    for name in results():
        os.remove(name)
    all_seen(no_stray_trap(run([*before, PINJECT_RUN, "-g", "none", *options, "-e", spelled or ",".join(events), "--",
                                target(program), *LINE])).ok())
    ret, lost = {}, 0
    for event in events:
        report = panalyze_json("report", "--event", event, *results())
        check_equal(report["event"], event)
        ret[event] = {}
        for task in sorted(report["tasks"], key=lambda task: task["start_ns"]):
            counted = {count["event"]: count["counted"] for count in task["counts"]}
            ret[event][task["tid"]] = task["samples"], task["weight"], counted[event]
        lost += report["total"]["lost"]
    check_equal(len(ret[events[0]]), TASKS, "tasks")
    with measured():
        check_equal(lost, 0, "lost")
    return ret, lost


def check_period(event, period, least, program=WITNESS, **kw):
    """Each task's samples have the weight PERIOD, and together its count, to within one period. Of all tasks LEAST is
    counted."""
    found, lost = sampled([event], "-c", str(period), program=program, **kw)
    check_tasks(found[event], event, period, least, program == STATIC, lost)


def check_tasks(tasks, event, period, least, inherited=False, lost=0):
    """Inherited events have a period for each CPU, and pass on what is left of it from one task to another."""
    def check_count(what, count, weight, periods):
        check(weight <= count, what)
        check(lost or count - weight < periods * period, what)

    for tid, (samples, weight, count) in tasks.items():
        what = f"{event} of {tid}: {samples} samples, weight {weight}, count {count}"
        check_equal(weight, samples * period, what)
        if not inherited or tid == next(iter(tasks)):  # the first task of a static program has events of its own
            check_count(what, count, weight, 1)
    weight, counted = (sum(task[i] for task in tasks.values()) for i in (1, 2))
    check_count(f"{event} of all: weight {weight}, count {counted}", counted, weight,
                len(tasks) * (cpus() if inherited else 1))
    check(counted >= least, f"{event}: {counted} were counted, not {least}")
    figure(f"{event}, period {period}, {len(tasks)} tasks{' with inherited events' if inherited else ''}: "
           f"{sum(task[0] for task in tasks.values())} samples stand for {weight} of {counted}")


def programs():
    return [program for program in (WITNESS, STATIC) if target_runs(program)]


def may_see_kernel():
    """Events that happen in the kernel need permission."""
    need_perf_events()
    return run([PINJECT_RUN, "--check-events-only", "-e", "context-switches"]).status == 0


def test_faults():
    need_perf_events()
    for program in programs():
        for event in ("page-faults:u", "minor-faults:u"):
            for period in (1, 7, 50):
                check_period(event, period, TASKS * PAGES, program)


def test_faults_fewer_than_the_period():
    """No sample, and nothing is made up."""
    need_perf_events()
    found, _ = sampled(["major-faults:u", "page-faults:u"], "-c", "1000000")
    for tasks in found.values():
        for tid, (samples, weight, count) in tasks.items():
            check_equal((samples, weight), (0, 0), tid)
    most = max(count for _, _, count in found["page-faults:u"].values())
    check_in(f"No samples: a task gives its first sample when it has counted 1,000,000 events, and no task counted more than {most:,} "
             "(record with a smaller -c).", panalyze("report", "--event", "page-faults:u", *results()).ok().out)
    check_in("\nNo samples. 'panalyze counts' ",
             panalyze("report", "--event", "major-faults:u", *results()).ok().out)  # none was counted


def test_switches_and_moves():
    if not may_see_kernel():
        skip("these events are not for users here")
    for program in programs():
        check_period("context-switches", 7, TASKS * 60, program)
        check_period("cpu-migrations", 7, TASKS * 50 if cpus() > 1 else 0, program)


def test_events_that_need_not_happen():
    """Alignment faults, emulation faults: what is counted is sampled, be it nothing."""
    need_perf_events()
    for program in programs():
        for event in ("alignment-faults:u", "emulation-faults:u", "major-faults:u"):
            check_period(event, 3, 0, program)


def test_clocks():
    """The kernel drops ticks that come late, and those of code that may not be seen: only the upper bound is exact."""
    if not may_see_kernel():
        skip("the kernel's part of a clock has no samples here")
    for program in programs():
        for event in ("task-clock", "cpu-clock"):
            found, lost = sampled([event], "-c", "100000", program=program)
            for tid, (samples, weight, count) in found[event].items():
                what = f"{event} of {tid}: {samples} samples, weight {weight}, count {count}"
                check_equal(weight, samples * 100000, what)
                check(weight <= count + 100000, what)
            with measured():
                weight, count = (sum(task[i] for task in found[event].values()) for i in (1, 2))
                check(weight > count * 0.7, f"{event}: weight {weight}, count {count}")


def test_breakpoints():
    need_perf_events()
    done = run([target(WITNESS)])
    if done.status or done.out.strip() == "0":
        skip("breakpoints are refused, or do not fire, as in some virtual machines")
    for program in programs():
        check_period("mem:half/4:w:u", 1, TASKS * 200, program)
        check_period("mem:half/4:w:u", 9, TASKS * 200, program)


def test_tracepoints():
    need_tracepoint("raw_syscalls/sys_enter")
    for program in programs():
        for period in (1, 11):
            check_period("raw_syscalls:sys_enter", period, TASKS * 200, program, before=WITH_TRACEFS)


def test_uprobes():
    need_uprobes(target(WITNESS), "called")
    found, lost = sampled(["calls"], "-c", "9", spelled=f"uprobe/path={target(WITNESS)},symbol=called,name=calls/")
    check_tasks(found["calls"], "calls", 9, TASKS * 200, lost=lost)


def test_periods_of_each_event():
    """Several events in one pass, each with its own period; the last one is only counted."""
    need_perf_events()
    events = ["page-faults:u", "minor-faults:u", "task-clock"]
    for options in (["-c", "7,20"], ["--long-smpl-periods=7,20"], ["--short-smpl-periods=7,20"]):
        for program in programs():
            found, lost = sampled(events, *options, program=program)
            for event, period in zip(events, (7, 20)):
                check_tasks(found[event], event, period, TASKS * PAGES, program == STATIC, lost)
            check_equal([samples for samples, _, _ in found["task-clock"].values()], [0] * TASKS)
            check(all(count > 0 for _, _, count in found["task-clock"].values()), found["task-clock"])


def test_rates_of_their_own():
    """Terms of an event, beside another rate for the others."""
    need_perf_events()
    events = ["minor-faults/freq=99/u", "page-faults:u"]
    for own, options in (("page-faults/period=9/u", ["-F", "5"]), ("page-faults:u", ["-c", "9"])):
        events[1] = own
        for name in results():
            os.remove(name)
        run([PINJECT_RUN, "-q", "-g", "none", *options, "-e", ",".join(events), "--", target(WITNESS), *LINE]).ok()
        for event in events:
            report = panalyze_json("report", "--event", event, *results())
            count = {c["event"]: c["counted"] for c in report["counts"]}[event]
            samples, weight = report["total"]["samples"], report["total"]["weight"]
            check(0 < weight <= count, (event, samples, weight, count))
        check_equal(weight, 9 * samples)
        check(count - weight < 9 * TASKS, (weight, count))


def test_frequency():
    """The kernel's weight of a sample is what is counted after it. Ours is what was counted since the one before: the
    sum is never above the count, and only what came after the last sample is missing."""
    need_perf_events()
    event = "page-faults:u"
    for wanted in (99, 999, 20000):
        limit = int(open("/proc/sys/kernel/perf_event_max_sample_rate").read())
        frequency = str(min(wanted, limit // 2))  # the kernel lowers the limit where samples take long
        found, lost = sampled([event], "-F", frequency)
        total, counted = 0, 0
        for tid, (samples, weight, count) in found[event].items():
            what = f"-F {frequency}, {tid}: {samples} samples, weight {weight}, count {count}"
            check(samples >= 1, what)
            check(weight <= count, what)
            total += weight
            counted += count
        check(counted >= TASKS * PAGES, counted)
        many = sum(samples for samples, _, _ in found[event].values()) >= 10 * TASKS
        with measured():  # where tasks have few samples, much of the count came after the last
            check(many or int(frequency) < 20000, f"-F {frequency}: {found}")
            check(not many or total > counted // 4, f"-F {frequency}: weight {total}, count {counted}")
        figure(f"-F {frequency}: samples stand for {total} of {counted} page faults")


def test_frequency_of_many_short_tasks():
    """Where each task has few samples, weights of the kernel would be too much by half and more."""
    need_perf_events()
    need("cc")
    pathlib.Path("short.c").write_text(SHORT)
    run(["cc", "-O1", "-pthread", "-o", "short", "short.c"]).ok()
    done = pinject_run("-v", "-g", "none", "-F", "999", "-e", "page-faults:u", "--", "./short", "90", "200").ok()
    report = panalyze_json("report", *results())
    counted = sum(count["counted"] for count in report["counts"] if count["event"] == "page-faults:u")
    weight = report["total"]["weight"]
    # On a busy machine a thread may begin, or even end, before its events are open: the summary says so.
    check(counted >= (90 - missed_tasks(done)) * 200, f"{counted}: {done}")
    # What a task counts after its last sample has none to stand for it.
    check(report["total"]["samples"] <= weight <= counted, f"weight {weight}, count {counted}")
    figure(f"91 tasks: samples stand for {weight} of {counted} page faults")


SHORT = """#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static long pages;
static void *touch(void *none)
{
    const long size = sysconf(_SC_PAGESIZE);
    char *p = mmap(0, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, pages * size, MADV_NOHUGEPAGE);
    for (long i = 0; i < pages; i++)
        p[i * size] = 1;
    return none;
}
int main(int argc, char **argv)
{
    pthread_t threads[100];
    int count = atoi(argv[1]);
    pages = atol(argv[2]);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], 0, touch, 0);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], 0);
    return argc - 3;
}
"""


if __name__ == "__main__":
    main()
