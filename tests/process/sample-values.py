# SPDX-License-Identifier: MIT
# labels: figures
# timeout: 240
"""Leader sampling (-e '{a,b}:S', --smpl-values): each sample of the leader has the counts of its group."""
import collections
import functools

from harness import *

WITNESS, STATIC = "event-witness", "event-witness-static"
PAGES, MOVES = 600, 40
# 2 threads, 2 children, 2 programs one after the other.
LINE = ["1", str(PAGES), "2", "2", "2", str(MOVES)]
TASKS = 5
FAULTS, MINOR, MAJOR = "page-faults:u", "minor-faults:u", "major-faults:u"
GROUP = f"{{{FAULTS},{MINOR},{MAJOR}}}:S"
PERIOD = 10


NOTE = "samples have no counts of the other events of their group"


os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])


def cpus():
    return len(os.sched_getaffinity(0))


@functools.lru_cache(maxsize=None)
def inherits_values():
    """May inherited events have values? Linux before 6.12 refuses; pinject-run says so, as it asks for some here."""
    return NOTE not in pinject_run("-v", "-o", "probe/", "-e", GROUP, "--", "true").ok().err


def programs():
    """Without the static one where most of its tasks have no values: test_where_inherited_events_have_none has it."""
    return [program for program in (WITNESS, STATIC)
            if target_runs(program) and (program != STATIC or inherits_values())]


def shared_object(name, source, *flags):
    """The environment that loads SOURCE, C, into pinject-run."""
    pathlib.Path(f"{name}.c").write_text(source)
    run(["cc", "-shared", "-fPIC", *flags, "-o", f"{name}.so", f"{name}.c"]).ok()
    return {"LD_PRELOAD": os.path.abspath(f"{name}.so")}


def files_of_run():
    """Also those of single programs."""
    return sorted(str(path) for path in pathlib.Path(".").glob("out.*"))


def record(*options, program=WITNESS, env=None, line=LINE):
    """What pinject-run said, and the result files. -g none: so that no samples are lost."""
    for name in files_of_run():
        os.remove(name)
    done = run([PINJECT_RUN, "-g", "none", *options, "--", target(program), *line], env=env).ok()
    all_seen(done)
    with measured():
        check_equal(panalyze_json("report", *files_of_run())["total"]["lost"], 0, "lost")
    return done, files_of_run()


def deltas(lines):
    """{event: [what it counted from one sample of the leader to the next]}; perf leaves out 0."""
    found = collections.defaultdict(list)
    for line in lines.splitlines():
        if line.strip():
            period, event = line.split()
            found[event.rstrip(":")].append(int(period))
    return found


def of_perf(name):
    return deltas(run(["perf", "script", "-f", "-F", "event,period", "-i", name]).ok().out)


def of_panalyze(name):
    return deltas(panalyze("script", "-F", "event,period", name).ok().out)


def counts_of(name):
    document = panalyze_json("counts", name)
    return {count["event"]: count["counted"] for count in document["counts"]}, document["tasks"][0]


def check_file(name, inherited, seen):
    """The values that perf and panalyze show are those of the group: every fault is a minor or a major one."""
    found, (counts, task) = of_perf(name), counts_of(name)
    check_equal(dict(of_panalyze(name)), dict(found), f"{name}: panalyze as perf")
    sums = {event: sum(found[event]) for event in (FAULTS, MINOR, MAJOR)}
    places = cpus() if inherited else 1  # each has its own counters, and its own first sample
    check(all(delta % PERIOD == 0 for delta in found[FAULTS]), (name, found[FAULTS]))
    # The kernel counts a fault before it knows the kind of it.
    check(0 <= sums[FAULTS] - sums[MINOR] - sums[MAJOR] <= places, f"{name}: {sums}")
    for event in (FAULTS, MINOR, MAJOR):
        check(sums[event] <= counts[event], f"{name}: {event}: {sums[event]} of {counts[event]}")
    check(counts[FAULTS] >= PAGES, f"{name}: {counts}")
    check_equal(counts[FAULTS], counts[MINOR] + counts[MAJOR], name)
    with measured():  # all but what came after the last sample on a CPU
        check(counts[FAULTS] - sums[FAULTS] < PERIOD * places, f"{name}: {sums[FAULTS]} of {counts[FAULTS]}")
    seen["samples"] += len(found[FAULTS])
    seen["sum"] += sums[MINOR]
    seen["count"] += counts[MINOR]


def check_all(*options):
    for program in programs():
        done, files = record("-c", str(PERIOD), *options, program=program)
        check_equal(len(files), TASKS, files)
        seen = collections.Counter()
        first = min(files, key=lambda name: counts_of(name)[1]["start_ns"])
        for name in files:  # the first task of a static program has events of its own
            check_file(name, program == STATIC and name != first, seen)
        check(seen["samples"] > TASKS * PAGES / PERIOD / 2, seen)
        figure(f"{program}: {seen['samples']} samples of {TASKS} tasks have {seen['sum']} of {seen['count']} counts of "
               f"{MINOR}")


def test_values():
    need("perf")
    need_perf_events()
    check_all("-e", GROUP)


def test_option():
    need("perf")
    need_perf_events()
    check_all("-e", f"{FAULTS},{MINOR},{MAJOR}", "--smpl-values")


def test_stacks():
    """The fields behind the values are in their places: call chains, dumps of stacks, addresses, registers."""
    need("perf")
    need_perf_events()
    for graph in ("fp", "dwarf,1024", "auto,1024"):
        check_all("-e", GROUP, "-g", graph, "-d", "--sample-cpu")
        check_all("-e", GROUP, "-g", graph, "--user-regs=ip,r15")


def test_saturation():
    """The first samples of each task have their values; then it is only counted."""
    need("perf")
    need_perf_events()
    for program in programs():
        _, files = record("-c", str(PERIOD), "-e", GROUP, "--saturate-smpl-buffer=7", program=program)
        check_equal(len(files), TASKS, files)
        for name in files:
            found, (counts, _) = of_perf(name), counts_of(name)
            check_equal(dict(of_panalyze(name)), dict(found), name)
            check_equal(panalyze_json("report", name)["total"]["samples"], 7, name)
            check(sum(found[FAULTS]) >= 7 * PERIOD and 0 < sum(found[MINOR]) < counts[MINOR], (name, found, counts))
            check(counts[FAULTS] >= PAGES, (name, counts))


def test_as_perf_record():
    """The same events, recorded by perf: the same steps."""
    need("perf")
    need_perf_events()
    line = ["1", str(PAGES), "0", "0", "0"]
    _, files = record("-c", str(PERIOD), "-e", GROUP, line=line)
    run(["perf", "record", "-q", "-c", str(PERIOD), "-e", GROUP, "-o", "perf.data", "--", target(WITNESS), *line]).ok()
    ours, theirs = of_perf(files[0]), of_perf("perf.data")
    check_equal(len(files), 1)
    for found, whose in ((ours, "ours"), (theirs, "perf")):
        check_equal(set(found[FAULTS][1:]) - {PERIOD - 1, PERIOD + 1}, {PERIOD}, (FAULTS, whose))
        with measured():  # pages that were no longer in memory are major faults
            check_equal(set(found[MINOR][1:]) - {PERIOD - 1, PERIOD + 1}, {PERIOD}, (MINOR, whose))
    with measured():  # a major fault before the first sample is no minor one
        check_equal(ours[MINOR][0], theirs[MINOR][0])
    # perf report shows the group, and the counts of all events as in its own file.
    for name in (files[0], "perf.data"):
        check_in("of events 'anon group { ", run(["perf", "report", "-f", "--stdio", "-i", name]).ok().out)
    figure(f"{len(ours[FAULTS])} samples beside {len(theirs[FAULTS])} of perf record: {PERIOD} of each event between two")


def test_clock_and_switches():
    """The leader is a clock, and a member happens in the kernel."""
    need("perf")
    need_perf_events()
    if run([PINJECT_RUN, "--check-events-only", "-e", "context-switches"]).status:
        skip("context-switches are not for users here")
    for program in programs():
        _, files = record("-F", "2000", "-e", "{task-clock,page-faults,context-switches}:S", program=program)
        total, sums = collections.Counter(), collections.Counter()
        for name in files:
            found, (counts, _) = of_perf(name), counts_of(name)
            for event in ("task-clock", "page-faults", "context-switches"):
                check(sum(found[event]) <= counts[event], (name, event, sum(found[event]), counts))
                total[event] += counts[event]
                sums[event] += sum(found[event])
        with measured():
            check(sums["task-clock"] and sums["page-faults"], sums)
        check(total["page-faults"] >= TASKS * PAGES, total)
        check(total["context-switches"] >= MOVES if cpus() > 1 else True, total)


def test_each_program_has_its_own():
    """--exec-split-results: the file of a later program begins with 0."""
    need("perf")
    need_perf_events()
    for program in programs():
        _, files = record("-c", str(PERIOD), "-e", f"{{{FAULTS},{MINOR}}}:S", "--exec-split-results", program=program)
        check(len(files) > TASKS, files)
        samples = 0
        for name in files:
            found, (counts, _) = of_perf(name), counts_of(name)
            check(all(delta % PERIOD == 0 for delta in found[FAULTS][1:]), (name, found[FAULTS]))
            for event in (FAULTS, MINOR):
                if event in counts:
                    check(sum(found[event]) <= counts[event], (name, sum(found[event]), counts))
            samples += len(found[FAULTS])
        check(samples > TASKS * PAGES / PERIOD / 2, samples)
        figure(f"{program}: {len(files)} files, each of one program, with {samples} samples")


# Starts a new program without libc, so that the preload object cannot read the counts before it.
PLAIN_EXEC = """
#include <sys/mman.h>
#include <unistd.h>
static void touch(size_t pages)
{
    char *memory = mmap(NULL, pages << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, pages << 12, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < pages; i++)
        *(volatile char *)(memory + (i << 12)) = 1;
}
int main(int argc, char **argv)
{
    touch(5000);
    if (argc > 1)
        return 0;
    char *arguments[] = {argv[0], "again", NULL};
    execve("/proc/self/exe", arguments, NULL);
    return 1;
}
"""


def test_exec_without_snapshot():
    """The first task of a static program has events of its own; its exec goes unnoticed: nothing is counted twice."""
    need("cc", "perf")
    need_perf_events()
    pathlib.Path("plain.c").write_text(PLAIN_EXEC)
    if run(["cc", "-static", "-o", "plain", "plain.c"]).status:
        skip("cc links no static programs")
    period = 50
    for options in ((), ("-g", "dwarf,1024")):
        for name in files_of_run():
            os.remove(name)
        pinject_run("-q", "-g", "none", "-c", str(period), "-e", f"{{{FAULTS},{MINOR}}}:S", *options,
                    "--exec-split-results", "--", "./plain").ok()
        files = files_of_run()
        check_equal(len(files), 2, files)
        found = [of_perf(name) for name in files]
        count = max(counts_of(name)[0].get(FAULTS, 0) for name in files)  # the later file has all of them
        for event in (FAULTS, MINOR):
            total = sum(sum(one[event]) for one in found)
            check(total <= count, f"{event}: {total} of {count}: {[sum(one[event]) for one in found]}")
            with measured():  # where samples are lost, the later file begins with the first one that is not
                check_equal(panalyze_json("report", *files)["total"]["lost"], 0, "lost")
                for one in found:
                    check(5000 - 2 * period <= sum(one[event]) < count * 2 / 3, (event, sum(one[event]), count))
        figure(f"two programs, {count} faults: {' and '.join(str(sum(one[FAULTS])) for one in found)} in the files")


# Makes pinject-run's test of inherited events with values fail, as on Linux before 6.12: it needs the present CPU.
NO_CPU = "int sched_getcpu(void) { return -1; }\n"


def test_where_inherited_events_have_none():
    """The summary says so; the samples of such tasks weigh what they weighed, and their counts are whole."""
    need("cc", "perf")
    need_perf_events()
    if not target_runs(STATIC):
        skip("no static program")
    env = shared_object("cpu", NO_CPU)
    for graph in ("none", "dwarf,1024"):
        done, files = record("-c", str(PERIOD), "-e", GROUP, "-g", graph, program=STATIC, env=env)
        check_in(NOTE, done.err)
        first = min(files, key=lambda name: counts_of(name)[1]["start_ns"])
        check_file(first, False, collections.Counter())
        for name in files:
            if name == first:
                continue
            found, (counts, _) = of_perf(name), counts_of(name)
            check_equal(dict(of_panalyze(name)), dict(found), name)
            check_equal(set(found), {FAULTS}, name)
            check_equal(set(found[FAULTS]), {PERIOD}, name)
            check(counts[MINOR] >= PAGES, (name, counts))
        check_equal(len(files), TASKS)
        figure(f"-g {graph}: {TASKS - 1} tasks of a static program have samples without values, and whole counts")
    # Where no task has inherited events, that is of interest only with -v.
    done, _ = record("-c", str(PERIOD), "-e", GROUP, env=env)
    check(NOTE not in done.err, done.err)
    done, _ = record("-v", "-c", str(PERIOD), "-e", GROUP, env=env)
    check_in(NOTE, done.err)


# Knows no PERF_FORMAT_LOST, as Linux before 6.0.
NO_LOST = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/syscall.h>
long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_perf_event_open && ((struct perf_event_attr *)a[0])->read_format & 16) {
        errno = EINVAL;
        return -1;
    }
    return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""


def test_kernel_without_lost():
    """Files describe the values as the kernel wrote them."""
    need("cc", "perf")
    need_perf_events()
    env = shared_object("lost", NO_LOST)
    for program in programs():
        _, files = record("-c", str(PERIOD), "-e", GROUP, program=program, env=env)
        first = min(files, key=lambda name: counts_of(name)[1]["start_ns"])
        for name in files:
            check_file(name, program == STATIC and name != first, collections.Counter())
        check_equal(len(files), TASKS)


# The children of its first FAILURES calls are older than the events, so pinject-run's tests see no counts of their ends.
NO_FORK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static pid_t children[FAILURES];
static int used = FAILURES;
static pid_t real(void)
{
    return ((pid_t (*)(void))dlsym(RTLD_NEXT, "fork"))();
}
__attribute__((constructor)) static void begin(void)
{
    if (strcmp(program_invocation_short_name, "pinject-run"))
        return;
    for (used = 0; used < FAILURES; used++)
        if (!(children[used] = real())) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
    used = 0;
}
pid_t fork(void)
{
    if (used >= FAILURES)
        return real();
    kill(children[used], SIGKILL);
    return children[used++];
}
"""


def test_where_no_counts_come_at_the_end():
    """Inherited events lack values only if these cost the counts at the end of tasks (Linux 5.13 to 6.18.1 has none)."""
    need("cc")
    need_perf_events()
    if not target_runs(STATIC):
        skip("no static program")
    version = tuple(int(number) for number in re.findall(r"\d+", platform.release().partition("-")[0])[:3])
    if version < (6, 18, 2):
        skip(f"Linux {platform.release()} has no counts at the end of tasks to lose")
    for failures, has in ((1, False), (2, True)):
        env = shared_object("fork", NO_FORK, f"-DFAILURES={failures}")
        done, files = record("-c", str(PERIOD), "-e", GROUP, program=STATIC, env=env)
        check_equal(NOTE not in done.err, has, done.err)
        with_values = [name for name in files if MINOR in of_panalyze(name)]
        check_equal(len(with_values), TASKS if has else 1, (failures, files))


def test_timers_have_none():
    need("strace")
    done = run(["strace", "-f", "-o", "/dev/null", "-e", "inject=perf_event_open:error=EPERM", "--", PINJECT_RUN,
                "-e", "{task-clock,page-faults}:S", "--", target("spin"), "300"]).ok()
    check_in("samples have no counts of the other events of their group", done.err)
    report = panalyze_json("report", *results())
    check_equal(report["event"], "task-clock")
    with measured():
        check(report["total"]["samples"], report["total"])
    figure(f"{report['total']['samples']} samples of timers, and a note")


def test_hidden_tasks_have_none():
    """Timers sample tasks that the kernel hides, beside others that have events: a file has one form of samples."""
    need("perf")
    need_perf_events()
    if IS_ROOT:
        skip("root may see everybody")
    for graph, *more in (["none"], ["none", "--user-regs"], ["dwarf,1024"]):
        for name in files_of_run():
            os.remove(name)
        pinject_run("-q", "-g", graph, *more, "-e", "{task-clock,page-faults:u}:S", "--", "sh", "-c",
                    f"{target('hidden')} 60 threads fork; {target(WITNESS)} {' '.join(LINE)}").ok()
        seen = collections.Counter()
        for name in files_of_run():
            found, (_, task) = of_perf(name), counts_of(name)
            check_equal(dict(of_panalyze(name)), dict(found), name)
            seen[task["source"], "page-faults:u" in found] += 1
            if task["source"] == "timer":
                check_equal(set(found) - {"task-clock"}, set(), name)
                report = panalyze_json("report", name)
                check_equal(sum(found["task-clock"]), report["total"]["weight"], name)
        with measured():
            check(seen["timer", False] >= 2 and seen["perf", True] >= 1, seen)
        check_equal(seen["timer", True], 0, seen)
        figure(f"-g {graph}: {seen['timer', False]} tasks of timers beside {seen['perf', True]} with values")


def test_exports():
    """A file alone becomes one that perf reads the same; several would need values that go on from file to file."""
    need("perf")
    need_perf_events()
    _, files = record("-c", str(PERIOD), "-e", GROUP)
    panalyze("export", "perf", "-o", "one.data", files[0]).ok()
    check_equal(dict(of_perf("one.data")), dict(of_perf(files[0])))
    done = panalyze("export", "perf", "-o", "all.data", *files)
    check(done.status, done)
    check_in("each sample has the counts of its event group", done.err)


def test_counting():
    """--stat takes no samples."""
    need_perf_events()
    done = pinject_run("--stat", "-e", "{task-clock,page-faults:u}:S", "true").ok()
    check_in("modifier S has no effect with --stat", done.err)
    done = pinject_run("--stat", "--smpl-values", "-e", "task-clock,page-faults:u", "true")
    check_equal(done.status, 125)
    check_in("'--smpl-values' is for samples", done.err)


def test_bad_groups():
    for options, wanted in ((["-e", "{task-clock,page-faults:S}"], "whole group"),
                            (["-e", "{task-clock,page-faults/period=3/}:S"], "only the first event of a group with modifier S is sampled"),
                            (["--smpl-values"], "two events"), (["-e", "cs", "--smpl-values"], "two events")):
        done = pinject_run(*options, "true")
        check_equal(done.status, 125, options)
        check_in(wanted, done.err)


if __name__ == "__main__":
    main()
