# SPDX-License-Identifier: MIT
# labels: figures
# timeout: 240
"""Periods that change (--smpl-periods-random), and samples that end (--saturate-smpl-buffer).

Whatever the periods are, the weights of a task's samples are what its event counted, but for what came after the last
sample: against the counts of the kernel, against what perf script reads, and against the numbers of the generator.
"""
from harness import *

WITNESS, STATIC = "event-witness", "event-witness-static"
PAGES = 600
# Each task writes 200 times or more, touches PAGES pages, goes 60 times to another CPU: 2 threads, 2 children, 2 execs.
LINE = ["200", str(PAGES), "2", "2", "2", "60"]
TASKS = 5
# Touches PAGES pages ROUNDS times, one after the other; with a third argument, until its stdin ends. Says where they are,
# without a third argument, and how many faults that took.
FAULTS = """#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    long pages = atol(argv[1]), rounds = atol(argv[2]), size = sysconf(_SC_PAGESIZE), done = 0;
    struct pollfd end = {0, POLLIN, 0};
    char *p = mmap(0, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, pages * size, MADV_NOHUGEPAGE);
    if (argc < 4) {
        printf("%p\\n", (void *)p);
        fflush(stdout);
    }
    for (long round = 0; round < rounds || (argc > 3 && poll(&end, 1, 0) == 0); round++) {
        madvise(p, pages * size, MADV_DONTNEED);
        for (long i = 0; i < pages; i++)
            p[i * size] = 1;
        done += pages;
    }
    printf("%ld\\n", done);
    return 0;
}
"""


def need_faults():
    need_perf_events()
    need("cc")
    pathlib.Path("faults.c").write_text(FAULTS)
    run(["cc", "-O1", "-o", "faults", "faults.c"]).ok()


def may_see_kernel():
    """Events that happen in the kernel need permission."""
    need_perf_events()
    return run([PINJECT_RUN, "--check-events-only", "-e", "context-switches"]).status == 0


def drawn(seed, count):
    """The first numbers of splitmix64."""
    found = []
    for _ in range(count):
        seed = (seed + 0x9e3779b97f4a7c15) % 2**64
        word = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9 % 2**64
        word = (word ^ word >> 27) * 0x94d049bb133111eb % 2**64
        found.append(word ^ word >> 31)
    return found


def periods_of(*files):
    return [int(word) for word in panalyze("script", "-F", "period", *files).ok().out.split()]


def remove_results():
    for name in results():
        os.remove(name)


def tasks_of(events, *options, program=WITNESS, before=(), spelled=None):
    """{event: {tid: (samples, sum of their weights, count)}}, the first task first."""
    remove_results()
    all_seen(run([*before, PINJECT_RUN, "-g", "none", *options, "-e", spelled or ",".join(events), "--", target(program),
                  *LINE]).ok())
    ret = {}
    for event in events:
        report = panalyze_json("report", "--event", event, *results())
        with measured():
            check_equal(report["total"]["lost"], 0, "lost")
        ret[event] = {}
        for task in sorted(report["tasks"], key=lambda task: task["start_ns"]):
            counted = {count["event"]: count["counted"] for count in task["counts"]}
            ret[event][task["tid"]] = task["samples"], task["weight"], counted[event]
        check_equal(len(ret[event]), TASKS, event)
    return ret


def check_weights(event, tasks, base, mask, least):
    """Of each task, and of all: what came after the last sample is missing, of the last period and of the one before."""
    for tid, (samples, weight, count) in tasks.items():
        what = f"{event} of {tid}: {samples} samples, weight {weight}, count {count}"
        check(weight <= count, what)
        check(count - weight < 2 * (base + mask), what)
        check(samples * base <= weight + samples * mask + base, what)
    counted = sum(count for _, _, count in tasks.values())
    check(counted >= least, f"{event}: {counted} were counted, not {least}")
    return (f"{event}, period {base} and a part of {mask:#x}: {sum(task[0] for task in tasks.values())} samples of "
            f"{len(tasks)} tasks stand for {sum(task[1] for task in tasks.values())} of {counted}")


def test_rate_by_cost():
    """-F auto: a program that switches all the time has few samples, one that computes more; all of them are weighed."""
    kernel = may_see_kernel()
    rates = {}
    for name, line in (("switches", [target("count-witness"), "rounds", "60000"]), ("computes", [target("spin"), "600"])):
        os.mkdir(name)
        all_seen(pinject_run("--sampler=task", "-F", "auto", "-g", "none", "-e", "task-clock", "-o", f"{name}/out", "--", *line).ok())
        report = panalyze_json("report", name)
        tasks = [(task["samples"], task["weight"], count["counted"]) for task in report["tasks"]
                 for count in task["counts"] if count["event"].startswith("task-clock")]
        for samples, weight, counted in tasks:
            check(weight <= counted, f"{name}: {weight} of {counted} in {samples} samples")
            if kernel:  # else the clock has no samples there
                check(counted - weight < 25e6, f"{name}: {weight} of {counted} in {samples} samples")
        rates[name] = sum(task[0] for task in tasks) / (sum(task[2] for task in tasks) / 1e9)
        check(any(task[0] >= 5 for task in tasks) or not kernel, tasks)
    figure(f"{rates['switches']:.0f} samples per second of CPU time in a program that switches all the time, "
           f"{rates['computes']:.0f} in one that computes")
    check(rates["switches"] < rates["computes"], rates)
    with measured():
        check(rates["switches"] < 350, rates)
        check(150 < rates["computes"] < 1100, rates)


def test_sequence():
    """The first period of a run is that of the seed; others follow, each within its bounds. perf sees the same."""
    need_faults()
    base, mask, seed = 50, 0x7f, 4711
    done = pinject_run("-q", "-g", "none", "-e", "page-faults:u", "-c", str(base), f"--smpl-periods-random={mask:#x}:{seed}",
                       "--", "./faults", "1000", "60").ok()
    periods, may = periods_of(*results()), [base + (number & mask) for number in drawn(seed, 4000)]
    check_equal(periods[0], may[0])
    # A change begins a period anew: the next sample stands for what was counted of the old one, too. The sample that the
    # kernel writes because of the change is not there.
    check(all(base <= period < 2 * (base + mask) for period in periods), periods)
    counted = {count["event"]: count["counted"] for count in panalyze_json("report", *results())["counts"]}["page-faults:u"]
    check(int(done.out.split()[1]) <= counted, (done.out, counted))
    with measured():
        check_equal(panalyze_json("report", *results())["total"]["lost"], 0, "lost")
    check(0 <= counted - sum(periods) < 2 * (base + mask), (counted, sum(periods)))
    runs = [period for i, period in enumerate(periods) if i == 0 or periods[i - 1] != period]
    with measured():  # beside other load, the collector may not get a CPU until the program has ended
        check(len(set(runs)) > 5, runs)
    # A period that holds for two samples or more is one of the generator's.
    kept = {period for i, period in enumerate(periods) if i and periods[i - 1] == period}
    check(kept <= set(may), kept - set(may))
    if shutil.which("perf", path=PATH):
        theirs = run(["perf", "script", "-F", "period", "-i", *results()]).ok().out.split()
        check_equal([int(word) for word in theirs], periods)
    figure(f"{len(periods)} samples with {len(kept)} periods of the sequence stand for {sum(periods)} of {counted} page "
           "faults")


def test_no_sample_of_the_change():
    """A fast event and a short period: no weight is below the period."""
    need_faults()
    for _ in range(3):
        remove_results()
        pinject_run("-q", "-g", "none", "-e", "minor-faults:u", "-c", "3", "--smpl-periods-random=0x7:1", "--", "./faults",
                    "1000", "60").ok()
        periods = periods_of(*results())
        check(len(periods) > 1000 and min(periods) >= 3, sorted(periods)[:20])


def test_events_of_one_name():
    """Each has a sequence of its own."""
    need_tracepoint("syscalls/sys_enter_getppid")
    loop = "import os\nfor _ in range(20000): os.getpid(), os.getppid()"
    run([*WITH_TRACEFS, PINJECT_RUN, "-q", "-g", "none", "-e", "syscalls:sys_enter_getp*id", "-c", "100",
         "--smpl-periods-random=0xff:5", "--", "python3", "-c", loop]).ok()
    found = {}
    for line in panalyze("script", "-F", "event,period", *results()).ok().out.splitlines():
        words = line.split()
        found.setdefault(next(word for word in words if not word.isdigit()), []).append([w for w in words if w.isdigit()])
    firsts = [periods[:20] for name, periods in found.items() if len(periods) >= 20]
    check(len(firsts) >= 2 and firsts[0] != firsts[1], found.keys())


def test_weights_are_distances():
    """Pages are touched in order: the weight of a sample is how many pages it is behind the sample before it."""
    need_faults()
    pages, size = 1000, os.sysconf("SC_PAGESIZE")
    for graph in ("none", "dwarf,1024"):
        remove_results()
        done = pinject_run("-q", "-d", "-g", graph, "-e", "page-faults:u", "-c", "50", "--smpl-periods-random=0x7f:2", "--",
                           "./faults", str(pages), "60").ok()
        with measured():
            check_equal(panalyze_json("report", *results())["total"]["lost"], 0, "lost")
        base, compared, before = int(done.out.split()[0], 16), 0, None
        for line in panalyze("script", "-F", "addr,period", *results()).ok().out.splitlines():
            words = line.split()
            if len(words) != 2 or ":" in line:
                continue
            period, page = int(words[0]), (int(words[1], 16) - base) // size
            page = page if 0 <= page < pages else None
            if page is not None and before is not None:
                check_equal((page - before) % pages, period % pages, (graph, line))
                compared += 1
            before = page
        check(compared > 200, compared)
        figure(f"-g {graph}: weights of {compared} samples are the distances of their pages")


def test_same_seed():
    """The same seed, the same first period; another seed or another event, another one."""
    need_faults()
    found = []
    for seed in ("1", "1", "2"):
        remove_results()
        pinject_run("-q", "-g", "none", "-e", "page-faults:u", "-c", "10", f"--smpl-periods-random=0xffff:{seed}", "--",
                    "./faults", "1000", "100").ok()
        found.append(periods_of(*results())[0])
        check_equal(found[-1], 10 + (drawn(int(seed), 1)[0] & 0xffff))
    check_equal(found[0], found[1])
    check(found[0] != found[2], found)


def test_faults():
    need_perf_events()
    for graph in ("none", "dwarf,1024"):
        event = "page-faults:u"
        found = tasks_of([event], "-g", graph, "-c", "7", "--smpl-periods-random=0xf:3", "-d", "--sample-cpu")
        figure(check_weights(event, found[event], 7, 0xf, TASKS * PAGES))


def test_static_programs():
    """Their periods stay the same, and a note says so; the first task has events of its own."""
    need_perf_events()
    if not target_runs(STATIC):
        skip("no static program")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # inherited events may lack a period for each CPU
    event = "page-faults:u"
    found = tasks_of([event], "-c", "7", "--smpl-periods-random=0xf:3", program=STATIC)[event]
    first = next(iter(found))
    check_weights(event, {first: found[first]}, 7, 0xf, 0)
    others = {tid: task for tid, task in found.items() if tid != first}
    for tid, (samples, weight, count) in others.items():
        check_equal(weight, 7 * samples, tid)
    missing = sum(count - weight for _, weight, count in others.values())
    check(0 <= missing < 7 * (len(others) + 1) * os.cpu_count(), (missing, found))
    notes = panalyze_json("report", *results())["coverage"]["notes"]
    check_equal(len([line for line in notes if "periods are not random" in line]), 1)


def test_kernel_events():
    """Context switches, tracepoints: the kernel counts them itself, and knows no period of a sample."""
    if not may_see_kernel():
        skip("these events are not for users here")
    found = tasks_of(["context-switches"], "-c", "3", "--smpl-periods-random=7:1")
    figure(check_weights("context-switches", found["context-switches"], 3, 7, TASKS * 60))


def test_tracepoints():
    need_tracepoint("raw_syscalls/sys_enter")
    event = "raw_syscalls:sys_enter"
    for options, base in ((["-c", "11"], 11), ([], 1)):
        found = tasks_of([event], *options, "--smpl-periods-random=0x1f:9", before=WITH_TRACEFS)
        figure(check_weights(event, found[event], base, 0x1f, TASKS * 200))


def test_breakpoints():
    need_perf_events()
    done = run([target(WITNESS)])
    if done.status or done.out.strip() == "0":
        skip("breakpoints are refused, or do not fire, as in some virtual machines")
    found = tasks_of(["mem:half/4:w:u"], "-c", "9", "--smpl-periods-random=3:1")
    check_weights("mem:half/4:w:u", found["mem:half/4:w:u"], 9, 3, TASKS * 200)


def test_clocks():
    """With the kernel's part, the samples of a clock stand for all its time, also where ticks came late."""
    if not may_see_kernel():
        skip("the kernel's part of a clock has no samples here")
    for event in ("task-clock", "cpu-clock"):
        found = tasks_of([event], "-c", "100000", "--smpl-periods-random=0xffff:5")
        for tid, (samples, weight, count) in found[event].items():
            check(weight <= count, f"{event} of {tid}: {samples} samples, weight {weight}, count {count}")
        with measured():  # a busy host takes the CPU away before the last sample
            weight, count = (sum(task[i] for task in found[event].values()) for i in (1, 2))
            check(weight > count * 0.9, f"{event}: weight {weight}, count {count}")
        figure(f"{event}: {sum(task[0] for task in found[event].values())} samples stand for {weight} of {count} ns")


def test_clocks_of_user_space():
    """What is not seen of the kernel has no sample, and adds nothing to the next one."""
    need_faults()
    pinject_run("-q", "-g", "none", "-e", "task-clock:u", "-c", "100000", "--smpl-periods-random=0xffff:5", "--", "./faults",
                "1000", "40").ok()
    periods, document = periods_of(*results()), panalyze_json("report", *results())
    check(all(period <= 2 * (100000 + 0xffff) for period in periods), periods)
    counted = {count["event"]: count["counted"] for count in document["counts"]}["task-clock:u"]
    check(sum(periods) <= counted, (sum(periods), counted))


def test_each_event_has_its_own():
    """Masks in the order of -e; 0 leaves a period as it is."""
    need_perf_events()
    events = ["page-faults:u", "minor-faults:u", "major-faults:u"]
    found = tasks_of(events, "-c", "5,20,3", "--smpl-periods-random=0:1,0xf:2")
    for samples, weight, _ in found[events[0]].values():
        check_equal(weight, 5 * samples)
    check_weights(events[1], found[events[1]], 20, 0xf, TASKS * PAGES)


def test_no_note_about_clocks():
    """Their periods are above the least that the kernel allows. (With 20 us, samples may take all the time there is.)"""
    need_perf_events()
    done = pinject_run("-v", "-g", "none", "-e", "task-clock:u,cpu-clock:u", "-c", "1000000", "--smpl-periods-random=7:1,7:2",
                       "--", "true").ok()
    check("the kernel allows no shorter period" not in done.err, done)


def test_refused():
    need_perf_events()
    for options, words in ((["-e", "faults:u"], "has a frequency: give this event a period"),
                           (["-F", "99", "-e", "task-clock:u"], "has a frequency: give this event a period"),
                           (["-e", "faults/freq=9/u"], "has a frequency: give this event a period"),
                           (["-c", str(2**63 - 255), "-e", "faults:u"], "is too long: the longest period"),
                           (["-c", "9", "-e", "{faults:u,cs}:S"], "cannot have both random periods and the counts"),
                           (["-c", "9", "-e", "faults:u,cs", "--smpl-values"], "or leave out --smpl-values"),
                           (["--stat", "-e", "faults:u"], "--stat takes none")):
        done = pinject_run(*options, "--smpl-periods-random=0xff:1", "--", "true")
        check_equal((done.status, done.err.count("\n")), (125, 1), done)
        check_in(words, done.err)
        check_equal(results(), [])
    pinject_run("-q", "-c", str(2**63 - 256), "-e", "faults:u", "--smpl-periods-random=0xff:1", "--", "true").ok()


def test_saturation():
    """Each task has N samples, or all that it would have; its counts are whole; the summary says how many tasks had N."""
    need_perf_events()
    event = "page-faults:u"
    for program in (WITNESS, STATIC):
        if not target_runs(program):
            continue
        for options, most in ((["-c", "1"], 20), (["-c", "10"], 25), (["-c", "1"], 10**6), (["-F", "20000"], 3)):
            remove_results()
            done = all_seen(pinject_run("-g", "none", *options, f"--saturate-smpl-buffer={most}", "-e", event, "--",
                                        target(program), *LINE).ok())
            report = panalyze_json("report", *results())
            counted = {count["event"]: count["counted"] for count in report["counts"]}[event]
            samples = [task["samples"] for task in report["tasks"]]
            check_equal(len(samples), TASKS)
            check(max(samples) <= most, samples)
            check(counted >= TASKS * PAGES, counted)
            if options[0] == "-c" and most < 100:
                check_equal(set(samples), {most}, (program, options))
            full = sum(count == most for count in samples)
            check_in(f"{full} task{'s' * (full != 1)} reached the limit of {most} samples: from then on" if full
                     else f"no task reached the limit of {most} samples", done.err)
        figure(f"{program}: {TASKS} tasks have at most {most} samples, and {counted} page faults are counted")


def test_saturation_ends_the_samples():
    """The kernel is asked for no more: a ring that is not read has few samples."""
    need_faults()
    need("strace")
    process = start(["strace", "-f", "-o", "trace", "-e", "trace=ioctl", "--", PINJECT_RUN, "-q", "-g", "none", "-c", "1",
                     "-e", "page-faults:u", "--saturate-smpl-buffer=10", "--", "./faults", "100", "10", "wait"],
                    stdin=subprocess.PIPE)
    wait_until(lambda: os.path.exists("trace") and "PERF_EVENT_IOC_PERIOD" in open("trace").read(), what="the ioctl")
    out, err = process.communicate(b"")
    check_equal(process.returncode, 0, err)
    report = panalyze_json("report", *results())
    check_equal(report["total"]["samples"], 10)
    counted = {count["event"]: count["counted"] for count in report["counts"]}["page-faults:u"]
    check(counted >= int(out) > 0, (counted, out))
    check_equal(open("trace").read().count("PERF_EVENT_IOC_PERIOD"), 1)
    figure(f"10 samples of {counted} page faults")


SPIN = """#include <time.h>
int main(void)
{
    struct timespec used;
    volatile unsigned long sum = 0;
    do {
        for (unsigned i = 0; i < 100000; i++)
            sum += i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < 300);
    return 0;
}
"""


def by_timers(*options):
    """Where perf_event_open is refused: 300 ms of CPU time, a tick at least each 10 ms of it."""
    need("cc")
    remove_results()
    pathlib.Path("spin.c").write_text(SPIN)
    run(["cc", "-O1", "-o", "spin", "spin.c"]).ok()
    return run([target("seccomp-deny"), "--", PINJECT_RUN, "-g", "none", *options, "--", "./spin"]).ok()


def test_saturation_by_timers():
    done = by_timers("--saturate-smpl-buffer=2")
    report = panalyze_json("report", *results())
    check_equal([task["source"] for task in report["tasks"]], ["timer"])
    check_equal(report["total"]["samples"], 2)
    check_match(r"(?m)^pinject-run: 1 task reached the limit of 2 samples: from then on it was only counted", done.err)
    clock = [count["counted"] for count in report["counts"] if count["event"] == "task-clock"]
    check(clock[0] > 250e6, clock)  # its first moments had no timer
    figure(f"timers: 2 samples of {clock[0] / 1e6:.0f} ms")


def test_refused_by_timers():
    """What timers cannot do is said, and the profile goes on without."""
    for option, words in (("--smpl-periods-random=0xff:1", "the period of a timer cannot change"),
                          ("--user-regs", "timers record no registers"),
                          ("--intr-regs", "timers record no registers"),
                          ("--switch-events", "timers record no context switches"), ("-b", "timers record no branches")):
        done = by_timers("-c", "2000000", option)
        warning = [line for line in done.err.splitlines() if "has no effect" in line]
        check_equal(len(warning), 1, done)
        check_in(words, warning[0])
        check_in("perf_event_open is refused (Operation not permitted)", warning[0])
        check(panalyze_json("report", *results())["total"]["samples"] > 5)


def test_saturation_wants_no_more():
    """What the kernel has no room for after the limit is no loss."""
    need_tracepoint("raw_syscalls/sys_enter")
    done = run([*WITH_TRACEFS, PINJECT_RUN, "--strict", "-g", "none", "-e", "raw_syscalls:sys_enter",
                "--saturate-smpl-buffer=1", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=100000"]).ok()
    check_in("1 sample of raw_syscalls:sys_enter, 0 lost", done.err)
    report = panalyze_json("report", *results())
    check_equal((report["total"]["samples"], report["total"]["lost"]), (1, 0))
    check(report["counts"][0]["counted"] > 200000, report["counts"])


def test_copies_of_a_tracepoint():
    """One that counts more than 1 at a time: no sample stands for nothing."""
    need_tracepoint("sched/sched_stat_runtime")
    need_faults()
    run([*WITH_TRACEFS, PINJECT_RUN, "-q", "-g", "none", "-e", "sched:sched_stat_runtime", "-c", "100000",
         "--smpl-periods-random=0xffff:1", "--", "./faults", "1000", "300"]).ok()
    periods = periods_of(*results())
    check(periods and all(periods), periods)


def test_overflow_block():
    done = pinject_run("--overflow-block", "true")
    check_equal((done.status, done.err.count("\n")), (125, 1), done)
    check_in("the kernel cannot block a thread", done.err)
    figure("refused with one line that says why")


if __name__ == "__main__":
    main()
