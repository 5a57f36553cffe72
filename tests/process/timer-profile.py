# SPDX-License-Identifier: MIT
# labels: figures
# timeout: 240
# serial
"""Where perf_event_open is refused (by a seccomp filter, as containers do) threads are sampled by timers.

The kernel delivers at most one signal per tick (250 or 1000 a second), so that there are 1000 samples in 4 seconds of
CPU time: a share of 50 % is then within 5 points with three standard deviations.
"""
from harness import *

POINTS = 5.0
DENY = [target("seccomp-deny"), "--"]
REASON = "perf_event_open is refused (Operation not permitted)"


def profile(*command, options=(), deny=DENY, **kw):
    return run([*deny, PINJECT_RUN, "--follow-all", *options, "--", *command], **kw)


def said_ns(result):
    """What a program of spin.c used by its own account, its exec and its start with it: all but its exit."""
    return int(check_match(r"^process pid \d+ cpu_ns (\d+)$", result.out)[1])


def document(*args):
    return panalyze_json(*args, *results())


def our_shares(comm):
    functions = document("--aggregate", "--top", "all", *(["--comm", comm] if comm else []))["functions"]
    shares = {}
    for function in functions:
        shares[function["symbol"]] = shares.get(function["symbol"], 0) + function["self_percent"]
    return shares


def perf_shares(comm, command):
    """The same command under perf record, without the filter."""
    run(["perf", "record", "-q", "-F", "2003", "-e", "task-clock:u", "-o", "perf.data", "--", *command]).ok()
    report = run(["perf", "report", "-i", "perf.data", "--stdio", "--no-children", "-g", "none", "--percent-limit", "0",
                  *(["--comm", comm] if comm else []), "--sort", "sym", "-F", "overhead,sym", "-t", "\t"]).ok()
    found = [re.match(r"\s*([\d.]+)% *\t\[.\] (.*?)\s*$", line) for line in report.lines]
    shares = {match[2]: float(match[1]) for match in found if match}
    check(shares, f"perf report shows nothing: {report}")
    whole = sum(shares.values())
    return {name: 100 * share / whole for name, share in shares.items()}


def compare(comm, command):
    need_perf_events()
    need("perf")
    theirs = perf_shares(comm, command)
    profile(*command).ok()
    ours = our_shares(comm)
    for one, other in ((theirs, ours), (ours, theirs)):
        heaviest = [name for name in sorted(one, key=one.get, reverse=True) if not re.match(r"0x|\[|.*\+0x", name)]
        with measured():
            for name in heaviest[:10]:
                check_near(other.get(name, 0), one[name], points=POINTS, what=name)


def test_one_thread_is_named_and_counted():
    result = profile(target("spin"), "1500").ok()
    check_in(f"sampled by timers: {REASON}; 'pinject-run --doctor' says what to change", result.err)
    [task] = document("tree")["tasks"]
    check_equal(task["source"], "timer", task)
    with measured():
        check(task["samples"] > 250, task)
    said = int(re.search(r"thread pid \d+ tid \d+ cpu_ns (\d+)", result.out)[1])
    counts = {count["event"]: count["value"] for count in task["counts"]}
    with measured():
        check_near(counts["task-clock"], said, percent=2, what="task-clock")
    check(counts["page-faults"] > 10 and "context-switches" in counts, counts)
    report = panalyze(*results()).ok()
    check_in("sampled by timers", report.out)
    check_in(REASON, report.out)
    check_in("timer", panalyze("info", *results()).ok().out)
    functions = our_shares("spin")
    with measured():
        check_near(functions["spin_a"], 66.7, points=8, what="share of spin_a")


def test_call_chains():
    profile(target("spin"), "400", "3").ok()
    functions = {function["symbol"]: function for function in document("--aggregate", "--top", "all")["functions"]}
    with measured():
        check(functions["spin_thread"]["total_percent"] > 98, functions["spin_thread"])
        check(functions["main"]["total_percent"] > 25, functions["main"])


def test_threads():
    compare("spin", [target("spin"), "500", "8"])


def test_make():
    """Compilers, and what they made, all under make: each program does two thirds of its work in one function."""
    need("make")
    need("gcc")
    for i in range(4):
        pathlib.Path(f"part{i}.c").write_text(f"""
            #include <time.h>
            volatile unsigned long sink;
            #define WORK(n) for (int k = 0; k < n; k++) sink = sink * 33 + 7
            static __attribute__((noinline)) void heavy{i}(void) {{ WORK(200000); }}
            static __attribute__((noinline)) void light{i}(void) {{ WORK(100000); }}
            int main(void) {{ while (clock() < {400000 + 200000 * i}) {{ heavy{i}(); light{i}(); }} return 0; }}""")
    pathlib.Path("Makefile").write_text("all: part0 part1 part2 part3\n%: %.c\n\tgcc -O1 -o $@ $<\n\t./$@\n")
    compare("", ["make", "-s", "-B", "-j2"])
    tree = document("tree")
    coverage = tree["coverage"]
    with measured(if_=coverage["missed"]):  # an answer came too late
        check_equal(sum(task["comm"].startswith("part") for task in tree["tasks"]), 4, "programs")
        check_equal(sum(task["comm"] == "cc1" for task in tree["tasks"]), 4, "compilers")
    with measured():
        check(coverage["attributed_ns"] >= 0.995 * coverage["cpu_ns"], coverage)


def test_counted_alone():
    said = said_ns(profile(target("spin"), "300", options=["--stat"]).ok())
    [task] = document("tree")["tasks"]
    counts = {count["event"]: count["value"] for count in task["counts"]}
    with measured():
        check_near(counts["task-clock"], said, percent=2, points=2e6)
    check_equal(task["samples"], 0)


def test_an_event_that_timers_are_not():
    for event in ("cycles", "page-faults", "task-clock:k"):
        result = profile("true", options=["-e", event])
        check_equal((result.status, result.out), (125, ""), result)
        check_match(f"event '{event}' cannot be used: .*refused \\(Operation not permitted\\)", result.err)
    profile(target("spin"), "50", options=["-e", "task-clock:u"]).ok()


def test_programs_without_a_timer():
    """Static ones, as the command itself, by fork, vfork and posix_spawn: each is a task, with all of its time."""
    spin, static = target("spin"), target("spin-static")
    said = said_ns(profile(static, "100").ok())
    [task] = document("tree")["tasks"]
    check_equal((task["source"], task["cmdline"]), ("accounting", [static, "100"]))
    with measured():
        check_near(task["cpu_ns"], said, percent=5, points=5e6)
    for name in results():
        os.remove(name)
    code = f"""if True:
        import os, subprocess
        subprocess.run(["{static}", "60"])
        if os.fork() == 0:
            os.execv("{static}", ["{static}", "70"])
        os.wait()
        os.waitpid(os.posix_spawn("{static}", ["{static}", "80"], os.environ), 0)
        os.execv("{spin}", ["{spin}", "90"])
        """
    profile(need("python3"), "-S", "-E", "-c", code).ok()
    tree = document("tree")
    found = {task["cmdline"][1]: task for task in tree["tasks"] if len(task["cmdline"]) == 2}
    coverage = tree["coverage"]
    with measured(if_=coverage["missed"]):
        check_equal(sorted(found), ["60", "70", "80", "90"], "tasks")
        for ms, task in found.items():
            check(task["cpu_ns"] > int(ms) * 1e6, f"{ms} ms: {task}")
    with measured():
        check_near(coverage["attributed_ns"], coverage["cpu_ns"], percent=1, points=3e6)


def rings_of(lines):
    """Where the rings are of the session that LINES name. Other sessions begin beside it, end, and are killed."""
    return check_match(r"^/.*/pinject-[0-9a-f]{32}\.rings\.\d+$", lines.strip())[0]


def test_nothing_stays():
    for script in (f"{target('fork-tree')} 2 2 5 >/dev/null", "kill -9 $$"):
        path = rings_of(profile("sh", "-c", f"ls $PINJECT_SESSION.rings.*; {script}").out)
        check(not os.path.exists(path), path)
    # A killed collector's are removed by the next one.
    process = start([*DENY, PINJECT_RUN, "-q", "--follow-all", "-o", "killed", "--", "sh", "-c",
                     "ls $PINJECT_SESSION.rings.*; read line; echo $line"], stdin=subprocess.PIPE)
    path = rings_of(process.stdout.readline().decode())
    process.send_signal(signal.SIGKILL)
    process.wait()
    with measured():  # another suite's session may be the next one
        check(os.path.exists(path), "the killed one left nothing")
    process.stdin.write(b"on\n")
    process.stdin.flush()
    check_equal(process.stdout.readline(), b"on\n")
    profile("true").ok()
    wait_until(lambda: not os.path.exists(path), limit=60, what="the end of its rings")


def test_timers_refused_too():
    deny = [target("seccomp-deny"), "--syscall", "perf_event_open", "--syscall", "timer_create", "--"]
    said = said_ns(profile(target("spin"), "200", deny=deny).ok())
    [task] = document("tree")["tasks"]
    check_equal((task["source"], task["samples"]), ("accounting", 0), task)
    with measured():
        check_near(task["cpu_ns"], said, percent=5, points=5e6)


if __name__ == "__main__":
    main()
