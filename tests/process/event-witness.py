# SPDX-License-Identifier: MIT
# labels: figures
"""Events against a program that knows what it did: breakpoints of each length and kind, system calls, probes, faults.

The figures are exact, for each thread, for each child, across exec, and by inherited events (a static program).
"""
from harness import *

WITNESS, STATIC, PIE = "event-witness", "event-witness-static", "event-witness-pie"
COUNT = 200
LINE = [str(COUNT), "0", "2", "2", "2"]  # threads, children, execs


def witnessed(out):
    """{tid: what it counted, over all programs that it was}"""
    said = {}
    for line in out.splitlines():
        tid, count = map(int, line.split())
        said[tid] = said.get(tid, 0) + count
    return said


def counts_of(events, *line, program=WITNESS, before=(), filter=None):
    """(what the tasks said, {tid: {event: count}}, the first task first) of a run."""
    options = ["--filter", filter] if filter else []
    # To open a probe takes so long that on a busy machine a child may end before its events are open. That is printed.
    for attempt in range(5):
        done = no_stray_trap(run([*before, PINJECT_RUN, "--stat", "--per-thread", "--counts-file=counts", "-e", ",".join(events),
                                  *options, "--", target(program), *line])).ok()
        tasks = sorted(panalyze_json("counts", ".")["tasks"], key=lambda task: task["start_ns"])
        for name in os.listdir("."):
            if name.startswith("out"):
                os.remove(name)
        said = witnessed(done.out)
        if not missed_tasks(done, whole=False):
            break
        print(f"run {attempt + 1}: events of {len(tasks)} of {len(said)} tasks", flush=True)
    all_seen(done)
    check_equal(sorted(task["tid"] for task in tasks), sorted(said), "tasks")
    return said, {task["tid"]: {count["event"]: count["counted"] for count in task["counts"]} for task in tasks}


def check_each(events, program=WITNESS, line=LINE, factor=lambda count: count, **kw):
    """Each task has exactly what it says, of each event."""
    said, counted = counts_of(events, *line, program=program, **kw)
    for event in events:
        found = {tid: counted[tid][event.replace("priority_ma*", "priority_max")] for tid in said}
        for tid, count in said.items():
            check_equal(found[tid], factor(count), f"{event} of {tid}")
        figure(f"{program}: {sum(found.values())} {event} in {len(said)} tasks, in each as many as it did itself")
    return said


def need_breakpoints():
    need_perf_events()
    done = run([target(WITNESS)])
    if done.status or done.out.strip() == "0":
        skip("breakpoints are refused, or do not fire, as in some virtual machines")
    check_equal(done.out.strip(), "100")


def test_writes_of_each_length():
    need_breakpoints()
    events = ["mem:byte/1:w", "mem:word/2:w", "mem:half/4:w", "mem:whole/8:w"]
    for program in (WITNESS, PIE):
        said = check_each([event + ":u" for event in events], program=program)
        check_equal(len(said), 5)


def test_reads_and_writes():
    need_breakpoints()
    # Halves are rounded down in each program, so only tasks of one program are looked at.
    events = [f"mem:{name}/{size}:rw:u" for name, size in (("byte", 1), ("word", 2), ("half", 4), ("whole", 8))]
    for program in (WITNESS, PIE):
        check_each(events, program=program, line=[str(COUNT), "0", "3", "3", "0"],
                   factor=lambda count: count + count // 2)


def test_execution():
    need_breakpoints()
    for program in (WITNESS, PIE):
        check_each(["mem:called:x:u"], program=program)


def test_a_static_program():
    """Its tasks have inherited events."""
    need_breakpoints()
    if not target_runs(STATIC):
        skip("no static program")
    check_each(["mem:byte/1:w:u", "mem:whole/8:w:u"], program=STATIC)


def test_a_group():
    need_breakpoints()
    for program in (WITNESS, PIE):
        said, counted = counts_of(["{mem:byte/1:w:u", "mem:half/4:w:u", "faults:u}:D"], *LINE, program=program)
        for tid, count in said.items():
            check_equal((counted[tid]["mem:byte/1:w:u"], counted[tid]["mem:half/4:w:u"]), (count, count), tid)


def test_samples_of_a_breakpoint():
    """Each hit is a sample, in the function that writes."""
    need_breakpoints()
    for program in (WITNESS, PIE):
        os.mkdir(program)
        done = pinject_run("-g", "none", "-e", "mem:half/4:w:u", "-o", f"{program}/out", "--", target(program), *LINE).ok()
        total = sum(witnessed(all_seen(no_stray_trap(done)).out).values())
        report = panalyze_json("report", program)
        check_equal(report["event"], "mem:half/4:w:u")
        check_equal(report["total"]["samples"], total)
        check_equal(report["total"]["weight"], total)
        check_equal([function["symbol"] for function in report["functions"]][:1], ["work"])


def test_periods_across_exec():
    """In each program of a task the event has another address; its period stays what it is."""
    need_breakpoints()
    for name, option in (("fixed", []), ("random", ["--smpl-periods-random=0x7:1"]), ("few", ["--saturate-smpl-buffer", "20"])):
        os.mkdir(name)
        done = pinject_run("-g", "none", "-e", "mem:half/4:w:u", "-c", "7", *option, "-o", f"{name}/out", "--",
                           target(PIE), *LINE).ok()
        said = witnessed(all_seen(no_stray_trap(done)).out)
        counted = {task["tid"]: count["counted"] for task in panalyze_json("counts", name)["tasks"]
                   for count in task["counts"] if count["event"] == "mem:half/4:w:u"}
        check_equal(counted, said)
        total = panalyze_json("report", name)["total"]
        missing = sum(said.values()) - total["weight"]
        if name == "few":
            check_equal(total["samples"], 20 * len(said))
        else:
            check(0 <= missing <= 14 * len(said), f"{name}: {missing} of {sum(said.values())} are in no sample")


def test_uprobes():
    need_uprobes(target(WITNESS), "called")
    said, counted = counts_of([f"uprobe/path={target(WITNESS)},symbol=called,name=calls/"], *LINE)
    check_equal({tid: values["calls"] for tid, values in counted.items()}, said)
    said, counted = counts_of([f"uprobe/path={target(WITNESS)},symbol=called,retprobe,name=calls/"], *LINE)
    check_equal({tid: values["calls"] for tid, values in counted.items()}, said)
    figure(f"{sum(said.values())} calls, and as many returns, in {len(said)} tasks, in each as many as it made itself")


def test_uprobes_are_not_inherited():
    """The kernel would make each fork fail: the program runs as ever, the event is not there, and that is said."""
    if not target_runs(STATIC):
        skip("no static program")
    need_uprobes()
    said, counted = counts_of([f"uprobe/path={target(STATIC)},symbol=called,name=calls/"], *LINE, program=STATIC)
    check_equal((sorted(counted), len(said)), (sorted(said), 5))
    root = next(iter(counted))  # pinject-run opens the events of the command itself
    check_equal({tid: values["calls"] for tid, values in counted.items() if "calls" in values}, {root: said[root]})
    done = pinject_run("--stat", "-v", "-e", f"uprobe/path={target(STATIC)},symbol=called/", "--", "true").ok()
    check_in("cannot be inherited", done.err)


def call_number():
    return {"x86_64": 146, "aarch64": 125}.get(platform.machine()) or skip("the number of the call is not known here")


def test_a_tracepoint_with_a_filter():
    """As strace counts the calls, and as the program does."""
    need_tracepoint("raw_syscalls/sys_enter")
    need("strace")
    event, condition = "raw_syscalls:sys_enter", f"id == {call_number()}"
    for program in (WITNESS, STATIC):
        if target_runs(program):
            check_each([event], program=program, before=WITH_TRACEFS, filter=condition)
            check_each(["syscalls:sys_enter_sched_get_priority_ma*"], program=program, before=WITH_TRACEFS)
    done = run(["strace", "-f", "-c", "-e", "trace=sched_get_priority_max", "--", target(WITNESS), *LINE]).ok()
    lines = [line for line in done.err.splitlines() if line.rstrip().endswith("sched_get_priority_max")]
    calls = sum(int(line.split()[3]) for line in lines)
    check_equal(sum(witnessed(done.out).values()), calls)
    figure(f"strace -c counts {calls} calls of sched_get_priority_max")


def test_samples_of_a_tracepoint():
    """One for each time, of each task; with a period of N, one for each N."""
    need_tracepoint("raw_syscalls/sys_enter")
    event = ["-g", "fp", "-e", "raw_syscalls:sys_enter", "--filter", f"id == {call_number()}"]
    for program in (WITNESS, STATIC):
        if not target_runs(program):
            continue
        done = all_seen(run([*WITH_TRACEFS, PINJECT_RUN, *event, "-o", "each/", "--", target(program), *LINE]).ok())
        said = witnessed(done.out)
        report = panalyze_json("report", "each")
        check_equal((report["event"], report["total"]["lost"]), ("raw_syscalls:sys_enter", 0))
        samples = {task["tid"]: task["samples"] for task in report["tasks"]}
        with measured():  # as in counts_of()
            check_equal(sorted(samples), sorted(said), "tasks")
        check_equal(samples, said)
        shutil.rmtree("each")


def test_a_filter_that_the_kernel_refuses():
    need_tracepoint("raw_syscalls/sys_enter")
    done = run([*WITH_TRACEFS, PINJECT_RUN, "--stat", "-e", "sched:sched_switch", "--filter", "no_such_field > 3",
                "true"])
    check_equal(done.status, 125)
    check_in("does not accept the filter 'no_such_field > 3'", done.err)
    check_equal(len(done.err.splitlines()), 1)


def test_all_calls_of_a_tracepoint():
    """All system calls of a program, against strace's total."""
    need_tracepoint("raw_syscalls/sys_enter")
    need("strace")
    done = run(["strace", "-c", "--", target(STATIC if target_runs(STATIC) else WITNESS), "100", "0", "0", "0",
                "0"]).ok()
    total = next(int(line.split()[2 if len(line.split()) == 4 else 3]) for line in done.err.splitlines()
                 if line.rstrip().endswith("total"))
    _, counted = counts_of(["raw_syscalls:sys_enter"], "100", "0", "0", "0", "0", before=WITH_TRACEFS,
                           program=STATIC if target_runs(STATIC) else WITNESS)
    (values,) = counted.values()
    # Both count the end of the call that starts the program alike, or not: one more or less.
    check(abs(values["raw_syscalls:sys_enter"] - total) <= 2, (values, total))
    figure(f"{values['raw_syscalls:sys_enter']} system calls, {total} by strace")


def test_page_faults():
    need_perf_events()
    pages, spare = 3000, 150
    said, counted = counts_of(["page-faults:u", "minor-faults:u"], "1", str(pages), "2", "2", "0")
    check_equal(sorted(said), sorted(counted))
    for tid, values in counted.items():
        for event, value in values.items():
            if "faults" in event:
                check(pages <= value <= pages + spare, (tid, event, value))


def test_breakpoints_that_do_not_fire_are_told():
    need_perf_events()
    fired = run([target(WITNESS)])
    if fired.status:
        skip("breakpoints are refused")
    done = pinject_run("--stat", "-q", "-e", "mem:half/4:w:u", "--", target(WITNESS), "1", "0", "0", "0", "0").ok()
    check_equal("never fire" in done.err, fired.out.strip() == "0", done)


def test_a_command_that_sigtrap_killed():
    """Only with a breakpoint event it is told what else than the command may be the cause."""
    need_perf_events()
    if run([target(WITNESS)]).status:
        skip("breakpoints are refused")
    point = "mem:0x1000/8:w:u"
    for event, command, status, told in ((point, "kill -s TRAP $$", 133, True), (point, "kill -s TERM $$", 143, False),
                                         (point, "exit 133", 133, False), ("faults:u", "kill -s TRAP $$", 133, False)):
        done = pinject_run("--stat", "-e", event, "--", "sh", "-c", command)
        check_equal(done.status, status, done)
        check_equal("warning: SIGTRAP killed the command" in done.err, told, done)


if __name__ == "__main__":
    main()
