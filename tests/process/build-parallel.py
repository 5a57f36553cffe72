# SPDX-License-Identifier: MIT
# labels: figures
# timeout: 400
# serial
"""A real parallel build: every process, its figures against the kernel's accounting, every file through perf."""
from harness import *

UNITS = 8


def make_project():
    """C files that take gcc some tenths of a second each."""
    for number in range(UNITS):
        with open(f"unit{number}.c", "w") as to:
            to.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n")
            for function in range(160):
                to.write(f"double f{number}_{function}(double *v, int n) {{ double s = {function}; "
                         f"for (int i = 0; i < n; i++) {{ s += v[i] * {function + 1}; if (s > 1e9) s = sqrt(s); "
                         f"v[i] = s - v[n - i - 1]; }} return s; }}\n")
    with open("Makefile", "w") as to:
        units = " ".join(f"unit{number}.o" for number in range(UNITS))
        to.write(f"all.a: {units}\n\tar rcs $@ {units}\n%.o: %.c\n\tgcc -O2 -g -c -o $@ $<\n")


def build():
    """In the working directory, its files are there. The document of all tasks, and what a host may have taken."""
    need_perf_events()
    need("make", "gcc")
    make_project()
    pinject_run("-F", "999", "--follow-all", "--", "make", "-j2").ok()
    return panalyze_json("--aggregate", *results()), stolen_ns()


_build, _seen_by = None, set()


def shared_build():
    """One for all who ask once. Who asks again did not like what it saw."""
    global _build
    caller = inspect.currentframe().f_back.f_code.co_name
    if not _build or caller in _seen_by:
        _build = build()
        _seen_by.clear()
    _seen_by.add(caller)
    return _build


def words_of(document):
    return [task["cmdline"] for task in document["tasks"] if task["pid"] == task["tid"]]


def test_every_process_with_command_line_and_parent():
    document, _ = shared_build()
    with measured():
        check_equal(document["coverage"]["missed"], [], "missed")
    # With many tasks beside them, numbers may come again.
    processes = [task for task in document["tasks"] if task["pid"] == task["tid"]]
    pids = {task["pid"] for task in processes}
    roots = 0
    for task in processes:
        check(task["cmdline"] and task["exec"] and task["comm"], f"nameless: {task}")
        check_equal(task["exit"], 0, task["cmdline"])
        roots += task["ppid"] not in pids
    check_equal(roots, 1, "processes without their parent")
    names = [os.path.basename(task["exec"]) for task in processes]
    for name, count in (("cc1", UNITS), ("as", UNITS), ("make", 1)):
        check_equal(sum(name == other or other.endswith("-" + name) for other in names), count, f"processes {name}")
    for number in range(UNITS):
        check(any(words[:1] and words[0].endswith("cc1") and f"unit{number}.c" in words
                  for words in words_of(document)), f"cc1 of unit{number}.c")


def test_task_clock_of_all_tasks_is_that_of_the_tree():
    document, stolen = shared_build()
    coverage = document["coverage"]
    clock = sum(count["value"] for task in document["tasks"] for count in task["counts"]
                if count["event"].startswith("task-clock"))
    with measured():
        check(coverage["cpu_ns"] * 0.97 <= clock <= coverage["cpu_ns"] + above_ns(coverage["cpu_ns"], stolen),
              f"the task-clocks have {clock}, the tree {coverage['cpu_ns']}, {stolen} stolen")
        check(coverage["percent"] > 97, coverage)


def test_tree_time_is_that_of_getrusage():
    """cpu_ns of the file against a witness outside: the rusage of pinject-run's child is in the one we get of it."""
    need_perf_events()
    need("make", "gcc")
    make_project()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pinject_run("-q", "--follow-all", "--", "make", "-j2").ok()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9
    coverage = panalyze_json("--aggregate", *results())["coverage"]
    # Time that a host takes away is in the tasks' clocks, and not in getrusage: a note says how much was added for it.
    check(coverage["cpu_ns"] - said_stolen_ns(coverage) <= spent * 1.001, f"{coverage} but getrusage says {spent}")
    # What is in SPENT and not in the tree is the collector itself.
    with measured():
        check(coverage["cpu_ns"] >= spent * 0.85, f"{coverage} but getrusage says {spent}")


def test_samples_times_period():
    """As root: with exclude_kernel the kernel drops ticks in kernel mode while the counter goes on."""
    if not IS_ROOT:
        skip("an unprivileged user samples user space only")
    # While a host has the CPU the task's clock goes on, and no sample is taken. Some hosts tell the kernel nothing of
    # it: 'perf record' has gaps of up to 12 ms there, too. A task may have one; all tasks together may not have 5 %.
    document, stolen = shared_build()
    gap = 12e6
    period = 1e9 / 999
    long, clocks, samples = 0, 0, 0
    for task in document["tasks"]:
        # Without its start and its exit: the sampler begins behind the one, and ends before the other.
        clock = [count["counted"] for count in task["counts"] if count["event"] == "task-clock"]
        if clock and clock[0] > 100e6:
            long, clocks, samples = long + 1, clocks + clock[0], samples + task["samples"]
            slack = max(0.05 * clock[0], 3e6)
            with measured():
                check(-slack - stolen - gap <= task["samples"] * period - clock[0] <= slack,
                      f"samples x period of {task['cmdline'][:1]} {task['pid']}: {task['samples']} in {clock[0]} ns")
    with measured():
        check(long >= UNITS / 2, f"only {long} tasks over 100 ms")
        check(-0.05 * clocks - stolen <= samples * period - clocks <= 0.05 * clocks,
              f"{samples} samples in {clocks} ns of {long} tasks")


def shares_of_symbols(text):
    """{symbol: (percent, the error of perf's rounding)}, heaviest first; perf has a line for each name of a task."""
    shares = {}
    for found in re.finditer(r"^\s*([\d.]+)%\s+\S.*?\[[.k]\] (.*\S)", text, re.MULTILINE):
        percent, error = shares.get(found[2], (0, 0))
        shares[found[2]] = percent + float(found[1]), error + 0.006
    return shares


def test_every_file_is_read_by_perf():
    need("perf")
    build()
    compared = 0
    for name in results():
        report = run(["perf", "report", "-i", name, "--stdio", "--no-children", "-g", "none"])
        script = run(["perf", "script", "-i", name])
        check_equal((report.status, script.status), (0, 0), f"{name}: {report} {script}")
        total = panalyze_json(name)["total"]
        samples = total["samples"]
        for text in (report.err, script.err):
            # perf calls a task that ended before the clock's first tick an error, with status 0. Not so any other.
            text = text if samples else re.sub(r"Error:\nThe \S+ data has no samples!\n", "", text)
            if total["lost"]:  # as on a busy machine
                text = re.sub(r"Warning:\nProcessed \d+ \w+ and lost [^\n]*!\n(\nCheck IO/CPU overload!\n)?", "", text)
            found = re.search(r"(?im)^.*(warning|error|incompatible|fail|corrupt|unknown|no samples).*$", text)
            check(not found, f"{name}: {text}")
        check_equal(len(re.findall(r"^\S.*:\s+\d+\s+task-clock", script.out, re.MULTILINE)) if samples else 0, samples,
                    f"samples of {name}")
        if samples >= 50:
            ours = {}
            for function in panalyze_json(name, "--top", "100000")["functions"]:
                ours[function["symbol"]] = ours.get(function["symbol"], 0) + function["self_percent"]
            for symbol, (percent, error) in list(shares_of_symbols(report.out).items())[:3]:
                # perf 6.1 takes a PLT's entries for in the order of its relocations, which libc's are not.
                check(symbol.startswith("0x") or symbol.endswith("@plt") or abs(ours.get(symbol, 0) - percent) <= error,
                      f"{name}: {percent} % in {symbol} says perf, {ours.get(symbol)} we")
            compared += 1
    with measured():
        check(compared >= UNITS / 2, f"only {compared} files with 50 samples")


if __name__ == "__main__":
    main()
