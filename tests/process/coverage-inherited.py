# SPDX-License-Identifier: MIT
# labels: collector preload
# timeout: 300
"""Threads and processes that cannot ask for themselves are covered by inheritance: all their CPU time is in tasks."""
from harness import *

# Long against a sample's period, and what an exec takes (4 ms on some machines): both go unsampled, of each process.
LOOP = 'i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done'
SCRIPT = f"for n in 1 2 3 4 5 6 7 8 9 10; do /bin/sh -c '{LOOP}'; done"


def profile(*command, expect_err=""):
    """What the command wrote on stdout, and its tree."""
    need_perf_events()
    for name in results():
        os.remove(name)
    result = pinject_run("-q", "--follow-all", "--", *command)
    if result.status == 77:
        skip(f"not to be had here: {command[0]}")
    check_equal(result.err, expect_err)
    result.ok()
    return result.out, panalyze_json("tree", *results())


def check_covered(tree, what, tasks, sampled=True):
    """At least TASKS tasks; their CPU time is the tree's, nothing was missed, and what they did was SAMPLED."""
    coverage = tree["coverage"]
    with measured():  # with much more work than CPUs a wait for the collector runs out, and is counted
        check_equal(missed(tree), [], what)
    with measured(if_=coverage["missed"]):  # a stopped ring may have had one
        check(len(tree["tasks"]) >= tasks, f"{what}: {len(tree['tasks'])} tasks, not {tasks}")
    more = coverage["attributed_ns"] - coverage["cpu_ns"]
    slack = max(0.01 * coverage["cpu_ns"], 4e6)
    with measured():
        check(-slack <= more <= above_ns(coverage["cpu_ns"]),
              f"{what}: {more} more than {coverage}, {stolen_ns()} stolen")
    # With many tasks beside them, numbers may come again, of a task that began later.
    found = sorted((task["pid"], task["tid"], task["start_ns"], task["end_ns"]) for task in tree["tasks"])
    twice = [(one, other) for one, other in zip(found, found[1:]) if one[:2] == other[:2] and other[2] < one[3]]
    check_equal(twice, [], f"{what}: tasks counted twice")
    if IS_ROOT and sampled:
        weight = sum(task["weight"] for task in tree["tasks"])
        ran = coverage["cpu_ns"] - said_stolen_ns(coverage)  # while a host has the CPU no clock ticks
        with measured():
            check(weight >= 0.75 * ran, f"{what}: {weight} of {ran} in samples: {coverage}")


def check_command(what, tasks, *command, **kw):
    """COMMAND writes and does the same as alone, and all of it is covered."""
    bare = run(command)
    if bare.status == 77:
        skip(f"not to be had here: {what}")
    bare.ok()
    out, tree = profile(*command, expect_err=bare.err)
    check_covered(tree, what, tasks, **kw)
    return tree


LANDLOCK = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
rules = libc.syscall(444, struct.pack("Q", 4), 8, 0)  # files may be read...
if rules < 0:
    sys.exit(77)
for path in ("/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/dev/null"):
    if os.path.exists(path):  # ... here alone
        libc.syscall(445, rules, 1, struct.pack("Qi", 4, os.open(path, os.O_PATH)), 0)
libc.prctl(38, 1, 0, 0, 0)
if libc.syscall(446, rules, 0):
    sys.exit(77)
os.execv("/bin/sh", ["sh", "-c", sys.argv[1]])
"""


def need_user_namespaces():
    if not IS_ROOT and run(["unshare", "-U", "true"]).status != 0:
        skip("no user namespaces for this user")


def check_behind(way, count, ms, tasks, **kw):
    check_command(way, tasks, target("behind"), way, count, ms, **kw)


def test_threads_of_timers():
    check_behind("timer", 10, 10, 12)


def test_threads_of_asynchronous_io():
    check_behind("aio", 10, 10, 11)


def test_threads_of_look_ups():
    check_behind("lookup", 10, 10, 11)


def test_workers_of_io_uring():
    check_behind("uring", 10, 10, 2)


def test_strict_is_content():
    need_perf_events()
    done = pinject_run("-q", "--strict", "--follow-all", "--", target("behind"), "timer", 5, 5)
    with measured(if_=done.status == 125):  # beside other load the kernel may leave a ring stopped
        done.ok()


def test_shells_within_libc():
    """Each child's end is in its parent's rusage alone; what it used before it asked is known, and not sampled."""
    for way in "system", "popen":
        check_behind(way, 100, 1, 101, sampled=False)


def test_another_pid_namespace():
    """Numbers in there mean others: nobody asks with them, and nobody is counted under another's."""
    need_user_namespaces()
    tree = check_command("newpid", 2 + 10, target("behind"), "newpid", 10, 5, "/bin/sh", "-c", LOOP)
    pids = {task["pid"] for task in tree["tasks"]}
    check(min(pids) > 2, sorted(pids))
    with measured(if_=tree["coverage"]["missed"]):
        check(all(task["ppid"] in pids or task["root"] for task in tree["tasks"]), sorted(pids))


def test_unshared_pid_namespace():
    need("unshare")
    need_user_namespaces()
    command = ["unshare", "-p", "-f"] if IS_ROOT else ["unshare", "-U", "-r", "-p", "-f"]
    check_command("unshare -p", 12, *command, "sh", "-c", SCRIPT)


def test_another_user():
    """Who has become another user can load the preload object, and not open the session."""
    if not IS_ROOT:
        skip("root alone becomes another user")
    check_command("setpriv", 11, need("setpriv"), "--reuid", NOBODY, "--clear-groups", "sh", "-c", SCRIPT)
    check_command("runuser", 11, need("runuser"), "-u", "nobody", "--", "sh", "-c", SCRIPT)


def test_shells_of_another_user():
    """libc starts them with environ as it is: they are covered, and ld.so is not asked for what it may not see."""
    if not IS_ROOT:
        skip("root alone becomes another user")
    switch = f"import os; os.setuid({NOBODY}); [os.system('{LOOP}') for _ in range(10)]"
    check_command("setuid", 11, sys.executable, "-c", switch)


def test_another_shared_memory():
    """Below another /dev/shm there is no session, as in a sandbox."""
    need("unshare")
    need_user_namespaces()
    command = ["unshare", "-m"] if IS_ROOT else ["unshare", "-U", "-r", "-m"]
    script = "mount -t tmpfs none /dev/shm; exec sh -c \"$0\""
    check_command("other /dev/shm", 11, *command, "sh", "-c", script, SCRIPT)


def test_landlock():
    """The preload object's file is there for all to see, and cannot be opened: ld.so is not asked to."""
    check_command("landlock", 11, sys.executable, "-c", LANDLOCK, SCRIPT)


if __name__ == "__main__":
    main()
