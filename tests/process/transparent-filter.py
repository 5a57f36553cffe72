# SPDX-License-Identifier: MIT
# labels: preload transparent
"""Under a seccomp filter of the program's own: what the report says, and what is still profiled.

That no call of ours meets the filter is shown by test_filters of transparent-programs.
"""
from harness import *

SEALED = "start under a seccomp filter of the program's own that forbids to announce it"


def test_sealed_starts_are_counted():
    need_perf_events()
    done = pinject_run("--follow-all", "--", target("see-filter"), "killing").ok()
    check_in(SEALED, done.err)


def tasks(done):
    return int(check_match(r"^pinject-run: (\d+) task", done.err)[1])


def test_filter_that_leaves_us_alone_seals_nothing():
    need_perf_events()
    done = pinject_run("--follow-all", "--", target("see-filter"), "in-a-box").ok()
    check(SEALED not in done.err, done.err)
    # The same without a filter.
    free = pinject_run("--follow-all", "-o", "free", "--", target("see-filter"), "inside").ok()
    check_equal(tasks(done), tasks(free), done.err + free.err)


def test_refused_filter_seals_nothing():
    need_perf_events()
    done = pinject_run("--follow-all", "--", target("see-filter"), "refused").ok()
    check(SEALED not in done.err, done.err)


if __name__ == "__main__":
    main()
