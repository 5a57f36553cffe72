# SPDX-License-Identifier: MIT
# labels: figures
"""Fields and records that only some users want: the CPU of each sample, the address of its data, context switches, against
what the program did."""
from harness import *

TOUCH = """#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    long pages = atol(argv[1]), cpu = atol(argv[2]), size = sysconf(_SC_PAGESIZE);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (argc != 3 || sched_setaffinity(0, sizeof(set), &set))
        return 1;
    char *p = mmap(0, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, pages * size, MADV_NOHUGEPAGE);
    printf("%p\\n", (void *)p);
    fflush(stdout);
    for (long i = 0; i < pages; i++)
        p[i * size + 8 * (i % 512)] = 1;
    return 0;
}
"""
PAGES, PAGE = 100, os.sysconf("SC_PAGESIZE")
GRAPHS = ("none", "fp", "dwarf,1024", "auto,1024")  # small dumps: samples of all pages fit into a ring, none is lost
PROGRAMS_OF = {"dynamic": [], "static": ["-static"]}
EVENT = "page-faults:u"


def touch(kind):
    pathlib.Path("touch.c").write_text(TOUCH)
    done = run(["cc", "-O1", *PROGRAMS_OF[kind], "-o", "touch", "touch.c"])
    if done.status:
        skip(f"no {kind} program: {done.err}")


def a_cpu():
    return min(os.sched_getaffinity(0))


def check_nothing_lost():
    """Rings are small where the memory of all rings of a user is short."""
    with measured():
        check_equal(panalyze_json("report", *results())["total"]["lost"], 0, "lost")


def fields(names, *options, cpu=None):
    """(where the pages are, [the fields of each sample])"""
    for name in results():
        os.remove(name)
    done = pinject_run("-q", "-c", "1", "-e", EVENT, *options, "--", "./touch", str(PAGES),
                       str(a_cpu() if cpu is None else cpu)).ok()
    check_nothing_lost()
    lines = panalyze("script", "-F", names, *results()).ok().out.splitlines()
    return int(done.out, 16), [line.split() for line in lines if line.strip()]


def need_touch():
    need_perf_events()
    need("cc")
    return [kind for kind in PROGRAMS_OF if kind == "dynamic" or target_runs("event-witness-static")]


def test_addresses():
    """Each page that the program touches has a fault with its address, with each kind of call stack."""
    for kind in need_touch():
        touch(kind)
        for graph in GRAPHS:
            base, samples = fields("addr", "-d", "-g", graph)
            seen = sorted(int(words[0], 16) for words in samples)
            wanted = [base + i * PAGE + 8 * (i % 512) for i in range(PAGES)]
            check_equal([address for address in seen if base <= address < base + PAGES * PAGE], wanted, graph)
        figure(f"{kind} program: the addresses of {PAGES} page faults, with {len(GRAPHS)} kinds of call stacks")


def test_cpu():
    for kind in need_touch():
        touch(kind)
        for cpu in sorted(os.sched_getaffinity(0))[:2]:
            for graph in ("none", "dwarf,1024"):
                base, samples = fields("cpu,addr", "-d", "--sample-cpu", "-g", graph, cpu=cpu)
                cpus = {words[0] for words in samples if base <= int(words[1], 16) < base + PAGES * PAGE}
                check_equal(cpus, {f"[{cpu:03}]"}, (kind, graph))


def test_call_stacks_are_the_same():
    """The fields after a stack dump are no part of it."""
    need_touch()
    touch("dynamic")
    for options in ([], ["-d"], ["--sample-cpu"], ["-d", "--sample-cpu"]):
        done = pinject_run("-q", "-c", "1", "-e", EVENT, "-g", "dwarf,1024", *options, "--", "./touch", str(PAGES),
                           str(a_cpu())).ok()
        check_nothing_lost()
        report = panalyze_json("report", *results())
        main = [function for function in report["functions"] if function["symbol"] == "main"]
        check_equal([function["self_samples"] for function in main], [PAGES], (options, done))
        for name in results():
            os.remove(name)


def test_other_records_have_their_places():
    """Each record ends in the same fields: names, mappings, counts are those without the option."""
    need_touch()
    touch("dynamic")
    _, samples = fields("comm,tid,cpu,time,event,period,ip", "--sample-cpu", "-d", "-g", "none")
    check_equal({words[0] for words in samples}, {"touch"})
    report = panalyze_json("report", *results())
    check_equal([task["comm"] for task in report["tasks"]], ["touch"])
    counted = {count["event"]: count["counted"] for count in report["counts"]}
    check_equal(report["total"]["samples"], counted[EVENT])
    if shutil.which("perf", path=PATH):
        theirs = run(["perf", "script", "-F", "tid,cpu,time,period", "-i", *results()]).ok().out.split()
        ours = panalyze("script", "-F", "tid,cpu,time,period", *results()).ok().out.split()
        check_equal(ours, theirs)


def test_context_switches():
    """Each task has a record of each of its switches away from a CPU: as many as it counts, and as perf script shows."""
    need_perf_events()
    rounds = 1000
    for program in ("count-witness", "count-witness-static"):
        if not target_runs(program):
            continue
        for name in results():
            os.remove(name)
        all_seen(pinject_run("--switch-events", "-g", "none", "-e", "task-clock" + ",context-switches" * IS_ROOT, "--",
                             target(program), "rounds", str(rounds))).ok()
        check_nothing_lost()
        records = re.findall(r" \d+/(\d+) +[\d.]+: PERF_RECORD_SWITCH( out)?", panalyze("script", "--all",
                                                                                    *results()).ok().out)
        gone = {tid: sum(1 for other, out in records if out and other == tid) for tid, _ in records}
        check_equal(len(gone), 2, "two threads")
        check(all(count >= rounds - 1 for count in gone.values()), gone)
        for tid, count in gone.items():  # the last one has no way back
            check(abs(count - sum(1 for other, out in records if not out and other == tid)) <= 1, records)
        if IS_ROOT:
            for task in panalyze_json("report", *results())["tasks"]:
                counted = {count["event"]: count["counted"] for count in task["counts"]}["context-switches"]
                check(abs(counted - gone[str(task["tid"])]) <= 1, f"{task['tid']}: {counted} counted, records: {gone}")
        if shutil.which("perf", path=PATH):
            shown = sum(run(["perf", "script", "--show-switch-events", "-i", name]).ok().out.count("PERF_RECORD_SWITCH")
                        for name in results())
            check_equal(shown, len(records), "perf script")
        tid = min(gone, key=int)
        panalyze("export", "perf", "-t", tid, "-o", "one.data", *results()).ok()
        check_equal(panalyze("script", "--all", "one.data").ok().out.count("PERF_RECORD_SWITCH"),
                    sum(1 for other, _ in records if other == tid), "export of one task")
        os.remove("one.data")
        figure(f"{program}: {sum(gone.values())} switches of two tasks in {rounds} rounds have a record each")
    done = pinject_run("--stat", "--switch-events", "true")
    check_equal(done.status, 125)
    check_in("option '--switch-events' is for samples, and --stat takes none", done.err)


def test_counts_have_no_fields():
    for option in ("-d", "--sample-cpu"):
        done = pinject_run("--stat", option, "true")
        check_equal(done.status, 125)
        check_in("--stat takes none", done.err)


if __name__ == "__main__":
    main()
