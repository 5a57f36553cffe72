# SPDX-License-Identifier: MIT
# labels: preload transparent
# timeout: 480
"""What the hooks take of a stack, and programs that have little of it: handlers on a small one, children of clone()."""
from harness import *

LIMIT = 2048  # bytes more than without us
FOLLOWED = [PINJECT_RUN, "-q", "--follow-all", "--"]
TARGET = target("stack-use")


def depths(*before):
    shutil.copy(target("process-tree-static"), "denied")
    os.chmod("denied", 0o644)
    return {line.split()[0]: int(line.split()[1]) for line in run([*before, TARGET, "calls"]).ok().lines}


def compare(what, *before, runs=1, limit=320):
    bare = depths()
    measured = [depths(*before) for _ in range(runs)]
    # A timer's signal may come in between: the least is what the hook takes.
    ours = {name: min(depth[name] for depth in measured) for name in bare}
    more = {name: ours[name] - bare[name] for name in bare}
    print(f"{what}: bytes more: " + ", ".join(f"{name} {more[name]}" for name in sorted(more, key=more.get)))
    for name, bytes_more in more.items():
        check(bytes_more <= LIMIT, f"{what}: {name} uses {ours[name]} bytes instead of {bare[name]}")
        # That is all that many have: a handler's frame takes the most of the smallest stack.
        if "exec" in name:
            check(bytes_more <= limit, f"{what}: {name} uses {ours[name]} bytes instead of {bare[name]}")


def test_every_hook():
    need_perf_events()
    compare("followed", *FOLLOWED)
    compare("threads alone", PINJECT_RUN, "-q", "--follow=none", "--")


def test_with_timers():
    compare("timers", target("seccomp-deny"), "--", *FOLLOWED, runs=5, limit=448)


def test_small_alternate_stacks():
    """exec in a handler: crash reporters. Where it works without us, and some 200 bytes are left, it works with us."""
    need_perf_events()

    def status(size, *before):
        return run([*before, TARGET, "handler", size, "/bin/true"]).status

    smallest = next(size for size in range(2048, 32768, 64) if status(size) == 0)
    print(f"the smallest stack: {smallest}")
    for size in (smallest + 256, smallest + 512, smallest + 1024, smallest + 2048, smallest + 4096):
        check_equal(status(size, *FOLLOWED), 0, f"{size} bytes")
        check_equal(run([*FOLLOWED, TARGET, "handler", size, target("spin-static"), 1]).status, 0, f"{size} bytes")


def test_children_with_little_stack():
    need_perf_events()
    for variables in 0, 100, 2000, 15000:
        for program in ["/bin/true"], [target("spin-static"), 1]:
            result = run([*FOLLOWED, TARGET, "child", variables, *program]).ok()
            check_equal(result.err, "kept, status 0\n", f"{variables} variables, {program}")


def test_children_leave_no_memory():
    """An exec in a child of vfork gives nothing back by itself."""
    need_perf_events()
    for variables in 10, 5000:
        for program in "/bin/true", target("spin-static"):
            out = run([*FOLLOWED, TARGET, "children", 100, variables, program, 1]).ok().lines[-1]
            check_equal(out, "0 KiB", f"{variables} variables, {program}")


def test_many_at_a_time():
    need_perf_events()
    for threads, variables in ((16, 500), (80, 2000)):
        out = run([*FOLLOWED, TARGET, "threads", threads, variables]).ok().out
        check_equal(out, "0 failed\n")


if __name__ == "__main__":
    main()
