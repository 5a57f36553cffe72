# SPDX-License-Identifier: MIT
# labels: preload transparent
"""Under a seccomp filter of the program's own: what the report says, and what is still profiled.

That no call of ours meets the filter is shown by test_filters of transparent-programs.
"""
from harness import *

BLOCKED = "request not sent: blocked by the program's own seccomp filter"


def test_blocked_starts_are_counted():
    need_perf_events()
    done = pinject_run("-v", "--follow-all", "--", target("see-filter"), "killing").ok()
    check_in(BLOCKED, done.err)


def test_filter_that_leaves_us_alone_blocks_nothing():
    need_perf_events()
    done = pinject_run("-v", "--follow-all", "--", target("see-filter"), "in-a-box").ok()
    check(BLOCKED not in done.err, done.err)
    # The same without a filter.
    free = pinject_run("-v", "--follow-all", "-o", "free", "--", target("see-filter"), "inside").ok()
    with measured(if_=missed_tasks(done) + missed_tasks(free)):  # one may have ended before its events were open
        check_equal(profiled_tasks(done), profiled_tasks(free), done.err + free.err)


def test_refused_filter_blocks_nothing():
    need_perf_events()
    done = pinject_run("-v", "--follow-all", "--", target("see-filter"), "refused").ok()
    check(BLOCKED not in done.err, done.err)


def test_filter_that_kills_for_what_timers_need():
    """Where timers sample nothing is called under it that only they need: not at an end, not in a new exec
    generation."""
    denied = [target("seccomp-deny"), "--"]
    command = [target("see-filter"), "without-some"]
    alone = run([*denied, *command]).ok()
    done = run([*denied, PINJECT_RUN, "-v", "--follow-all", "--", *command]).ok()
    check_equal(done.out_bytes.splitlines(), alone.out_bytes.splitlines(), "output")
    check_in(BLOCKED, done.err)


def calls_of(*before):
    """The system calls of a program and all its children, by name; before execve nothing of it runs."""
    run([*before, "strace", "-f", "-qq", "-o", "calls", target("see-filter"), "inside"]).ok()
    return set(re.findall(r"^\d+ +([a-z_0-9]+)\(", open("calls").read(), re.MULTILINE))


def test_the_filter_is_asked_about_all_our_calls():
    """What a followed program calls and one alone does not stands in the table of preload/filter.c."""
    need_perf_events()
    need("strace")
    table = SOURCE / "preload/filter.c"
    if not table.exists():
        skip("the sources are out of reach")
    if run(["strace", "-o", "/dev/null", "true"]).status != 0:
        skip("ptrace is refused here")
    asked = set(re.findall(r"\{SYS_(\w+),", table.read_text()))
    alone = calls_of()
    check_in("execve", alone)
    for follow in ([], ["--follow-all"], ["--follow-fork", "--follow-exec"]):
        ours = calls_of(PINJECT_RUN, "-q", *follow, "--") - alone
        check(follow == [] or ours & {"getcpu", "statx"}, f"no call of ours was seen: {ours}")
        check(ours <= asked, f"{follow}: not in the table: {ours - asked}")


if __name__ == "__main__":
    main()
