# SPDX-License-Identifier: MIT
# sanitize
"""--list-events, --event-info and --check-events-only agree with what -e does."""
from harness import *


def listed(*args):
    """{event: what the list says of it}"""
    return {line[:40].split(" OR ")[0].strip(): line[40:].strip() for line in pinject_run(*args).ok().out.splitlines()}


def usable(name):
    """Does a run of its own count it?"""
    done = pinject_run("--stat", "-q", "-e", name, "-o", "try/", "--", "true")
    return done.status == 0 and "not supported" not in pinject_run("--stat", "-e", name, "-o", "try/", "--", "true").err


def test_list_agrees_with_runs():
    need_perf_events()
    events = listed("--list-events=^(task-clock|cs|context-switches|cycles|faults|page-faults|LLC-loads|dummy)$")
    check(len(events) >= 5, events)
    for name, said in events.items():
        check_equal(said.startswith("usable"), usable(name), f"{name}: {said}")


def test_list_is_of_what_matches():
    every, some = listed("--list-events"), listed("--list-events=FAULT")
    check_equal(sorted(name for name in every if "fault" in name.lower() and ":" not in name),
                sorted(name for name in some if ":" not in name))
    check(len(every) > len(some) > 3)
    check_equal(pinject_run("--list-events=no-such-event").status, 1)
    check_equal(pinject_run("--list-events=(").status, 125)


def test_long_has_descriptions():
    (line,) = pinject_run("--list-events=^minor-faults$", "--long").ok().out.splitlines()
    check_in("without reading from a disk", line)


def info(event):
    lines = pinject_run(f"--event-info={event}").ok().out.splitlines()
    return dict(line.split(None, 1) for line in lines if line[0] != " ")


def test_info():
    check_equal((info("faults")["type"], info("faults")["config"]), ("1", "0x2"))
    check_equal((info("L1-dcache-load-misses")["type"], info("L1-dcache-load-misses")["config"]), ("3", "0x10000"))
    check_equal((info("r1a8")["type"], info("r1a8")["config"]), ("4", "0x1a8"))
    check_equal(pinject_run("--event-info=nonsense").status, 125)


def test_check():
    need_perf_events()
    check_equal(pinject_run("--check-events-only", "-e", "{page-faults:u,minor-faults:u},task-clock:u").status, 0)
    for name in ("cycles:u", "LLC-loads:u"):
        check_equal(pinject_run("--check-events-only", "-e", name).status == 0, usable(name), name)
    done = pinject_run("--check-events-only", "-e", "4095:1")
    check_equal(done.status, 1)
    check_in("4095:1", done.out + done.err)


def test_bad_input_is_one_line_that_helps():
    many = ",".join(["cs"] * 1000)
    for text, says in ((many, "at most 48 events"), ("cs,,", "has no name"), ("{cs", "no '}'"),
                       ("cs:q", "modifier 'q'"), ("mem:0x1001/4:w", "multiple"),
                       ("mem:x", "but no command is given"), ("r", "unknown event"),
                       ("nopmu/event=1/", "'nopmu' is neither a PMU"), ("faults/perod=1/", "did you mean 'period'?"),
                       ("\033[2Jcycles", "\\033"), ("x" * 5000, "at most 1024 bytes")):
        done = pinject_run("--check-events-only", "-e", text)
        check(done.status == 125 and len(done.err.splitlines()) == 1, done)
        check_in(says, done.err)
    if target_runs("process-tree-static-pie"):
        done = pinject_run("--stat", "-e", "mem:main:x", "--", target("process-tree-static-pie"))
        check(done.status == 125 and len(done.err.splitlines()) == 1, done)
        check_in("is static and position-independent", done.err)


if __name__ == "__main__":
    main()
