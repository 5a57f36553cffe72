# SPDX-License-Identifier: MIT
# labels: preload
# timeout: 200
"""What each --follow option follows, over every way that libc has to start something."""
from harness import *

FORKS = ["execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe", "fexecve", "execveat"]
ALL = FORKS + ["exec-execve", "vfork-execve", "vfork-execvp", "posix_spawn", "posix_spawnp", "system", "popen",
               "clean-execve", "null-execve", "clean-posix_spawn", "clearenv", "missing"]


def tree(*options, command, env=None):
    """(comm, command line) of each task, in the order of their start."""
    need_perf_events()
    for name in results():
        os.remove(name)
    pinject_run("-q", *options, "--", *command, env=env).ok()
    tasks = panalyze_json("tree", *results())["tasks"]
    return [(task["comm"], task["cmdline"]) for task in sorted(tasks, key=lambda task: task["start_ns"])]


def last_generations(tasks):
    return sorted(name for name, _ in tasks)


def test_everything_is_followed():
    for mode in ALL:
        tasks = tree(command=[target("spawn"), mode, "/bin/true"])
        shell = ["sh"] if mode in ("system", "popen") else []
        if shell and len(tasks) == 2:  # a shell may exec its only command
            shell = []
        first = [] if mode.startswith("exec-") else ["spawn"]
        with measured():  # on a busy machine one may have ended before its events were open
            check_equal(last_generations(tasks), sorted(first + shell + ["true"]), mode)
            check(["/bin/true"] in [words for _, words in tasks], f"{mode}: {tasks}")


def test_nothing_is_followed():
    for mode in ALL:
        if not mode.startswith("exec-"):
            check_equal(len(tree("--follow=none", command=[target("spawn"), mode, "/bin/true"])), 1, mode)


def test_fork_alone():
    tasks = tree("--follow-fork", command=["sh", "-c", "(:); /bin/true; (exec /bin/true); :"])
    # The subshells are followed; what a vforked child becomes is not (dash starts plain commands so).
    check(all(words[0] == "sh" for _, words in tasks), tasks)
    with measured():
        check(len(tasks) >= 3, tasks)


def test_vfork_alone():
    for mode in ("vfork-execve", "vfork-execvp", "posix_spawn", "posix_spawnp"):
        with measured():
            check_equal(last_generations(tree("--follow-vfork", command=[target("spawn"), mode, "/bin/true"])),
                        ["spawn", "true"], mode)
    check_equal(len(tree("--follow-vfork", command=[target("spawn"), "execv", "/bin/true"])), 1, "fork")


def test_exec_alone():
    tasks = tree("--follow-exec", command=["sh", "-c", "/bin/true; (:); exec env -i /bin/echo end"])
    check_equal(len(tasks), 1, tasks)
    with measured():  # the last program may have ended before it was looked at
        check_equal(tasks, [("echo", ["/bin/echo", "end"])])


def check_count(expected, *options, command):
    """That so many tasks are followed: never more, and on a busy machine some may have ended too early."""
    tasks = tree(*options, command=command)
    check(len(tasks) <= expected, f"{options}: {tasks}")
    with measured():
        check_equal(len(tasks), expected, options)


def test_threads():
    # Those of the first process always are, those of its children with --follow-pthread alone.
    child = ["sh", "-c", f"{target('spin')} 5 3; :"]
    for options, count in ([], 3), (["--follow=none"], 3), (["--follow-fork"], 3), (["--follow-pthread"], 3):
        check_count(count, *options, command=[target("spin"), "5", "3"])
    check_count(2, "--follow-fork", "--follow-vfork", "--follow-exec", command=child)
    check_count(4, "--follow-all", command=child)


def test_unfollowed_children_do_not_see_us():
    for options in (["--follow=none"], ["--follow-fork"], ["--follow-exec"]):
        out = pinject_run("-q", *options, "--", target("spawn"), "posix_spawn", "/usr/bin/env").ok().out
        check("PINJECT" not in out and "LD_PRELOAD" not in out, (options, out))
    # A forked child that is not followed starts its own children clean, though its parent's environment has us.
    out = pinject_run("-q", "--follow-vfork", "--", target("spawn"), "execv", "/usr/bin/env").ok().out
    check("PINJECT" not in out and "LD_PRELOAD" not in out, out)
    out = pinject_run("-q", "--follow-vfork", "--", "sh", "-c", "(env; :); :").ok().out
    check("PINJECT" not in out and "LD_PRELOAD" not in out, out)


def test_another_session_inside():
    need_perf_events()
    pinject_run("-q", "--follow-all", "-o", "outer", "--", PINJECT_RUN, "-q", "-o", "inner", "--", "/bin/true").ok()
    inner = panalyze_json("tree", *results("inner"))["tasks"]
    check_equal([task["comm"] for task in inner], ["true"])


if __name__ == "__main__":
    main()
