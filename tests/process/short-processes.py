# SPDX-License-Identifier: MIT
# timeout: 240
"""Of 500 short processes one after another, each is there: command line, counts, mappings."""
from harness import *

COUNT = 500


def test_every_short_process():
    need_perf_events()
    loop = f"i=0; while [ $i -lt {COUNT} ]; do /bin/true $i; i=$((i+1)); done"
    pinject_run("-q", "--follow-all", "--", "sh", "-c", loop).ok()
    files = results()
    document = panalyze_json("tree", *files)
    tasks = document["tasks"]
    # On a busy machine one may have ended before its events were open: then it is named, and all are tried again.
    check_named(COUNT + 1)
    late = document["coverage"]["missed"]
    with measured(if_=late):
        check_equal(len(files), COUNT + 1, "files")
    check_equal(len(tasks), COUNT + 1, "tasks")
    shell = [task for task in tasks if task["cmdline"][:2] == ["sh", "-c"]]
    check_equal(len(shell), 1, "shells")
    lines = sorted(int(task["cmdline"][1]) for task in tasks if task["cmdline"][0] == "/bin/true")
    check_equal(lines, list(range(COUNT)), "command lines of the children")
    for task in tasks:
        if task is shell[0]:
            continue
        check_equal((task["ppid"], task["exit"], task["comm"]), (shell[0]["pid"], 0, "true"), task)
        clock = [count for count in task["counts"] if count["event"].startswith("task-clock")]
        with measured(if_=late):
            check(clock and clock[0]["value"] > 0, f"no task-clock: {task}")
        check(task["end_ns"] > task["start_ns"] > 0, task)


def test_mappings_of_every_short_process():
    need_perf_events()
    need("perf")
    pinject_run("-q", "--follow-all", "--", "sh", "-c", "i=0; while [ $i -lt 40 ]; do /bin/true; i=$((i+1)); done").ok()
    check_named(41)
    whole = 0
    with measured(if_=panalyze_json("tree", *results())["coverage"]["missed"]):
        for name in results():
            script = run(["perf", "script", "-i", name, "--show-mmap-events"]).ok()
            check("r-xp" in script.out and "libc.so" in script.out, f"{name}: no mapping of libc: {script}")
            whole += "/true" in script.out
        check_equal(whole, 40, "files with a mapping of true")


if __name__ == "__main__":
    main()
