# SPDX-License-Identifier: MIT
# labels: collector
# timeout: 120
"""A tracer waits for children that are not its own: what these used is counted once, and their ends are."""
from harness import *

# The ends of many small programs are a large part of what they use.
SCRIPT = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do (/bin/ls / | sort | wc -l) >/dev/null; done; exit 3"


def test_tree_below_a_tracer():
    need_perf_events()
    need("strace")
    if run(["strace", "-o", "/dev/null", "true"]).status != 0:
        skip("ptrace is refused here")
    done = pinject_run("--follow-all", "--", "sh", "-c", f'strace -f -o calls sh -c "{SCRIPT}"; exit 4')
    check_equal(done.status, 4, done)
    tree = panalyze_json("tree", *results())
    ends = [task for task in tree["tasks"] if task["exec"].endswith(("/ls", "/sort", "/wc"))]
    with measured(if_=tree["coverage"]["missed"]):  # one may have ended before its events were open
        check_equal(len(ends), 36, done.err)
    strace = next(task for task in tree["tasks"] if task["ppid"] == tree["tasks"][0]["pid"])
    check_equal(strace["comm"], "strace")
    # Each switch between tracer and tracee costs what the scheduler alone charges; the task-clock has more where the
    # host takes CPUs away.
    with measured():
        check(strace["exit_ns"] > 0 or stolen_ns() > 0, strace)
        check(adds_up(tree), tree["coverage"])


def test_a_tracer_that_plays_root():
    """As proot -0: what the auxiliary vector says of the user is not what the kernel knows."""
    need_perf_events()
    command = [target("fake-root"), "/bin/sh", "-c", "for i in 1 2 3 4 5; do /bin/true; done; exit 5"]
    bare = run(command)
    if bare.status == 3:
        skip("ptrace is refused here")
    done = pinject_run("--follow-all", "--", *command)
    check_equal((done.status, done.out), (5, bare.out), done)
    tree = panalyze_json("tree", *results())
    check(tree["coverage"]["complete"], tree["coverage"])
    check_equal(sorted(task["comm"] for task in tree["tasks"]), ["fake-root", "sh"] + 5 * ["true"])
    with measured():
        check(adds_up(tree), tree["coverage"])


if __name__ == "__main__":
    main()
