# SPDX-License-Identifier: MIT
# labels: preload
# <pinject/pinject.h>: a program that asks is told whether it is being profiled.
from harness import *


def test_alone():
    check_equal(run([target("active")]).ok().out, "active 0\n")


def test_profiled():
    need_perf_events()
    check_equal(pinject_run("-q", "--", target("active")).ok().out, "active 1\n")


def test_child_not_followed():
    need_perf_events()
    done = pinject_run("-q", "--follow=none", "--", "sh", "-c", f"{target('active')}; true").ok()
    check_equal(done.out, "active 0\n")


def test_child_followed():
    need_perf_events()
    check_equal(pinject_run("-q", "--follow-all", "--", "sh", "-c", f"{target('active')}; true").ok().out, "active 1\n")


if __name__ == "__main__":
    main()
