# SPDX-License-Identifier: MIT
# labels: collector preload
# run-as: root
"""Root sees who hides from users (timer-hidden): each task has events, and nothing of it is seen."""
from harness import *


def test_root_sees_them():
    need_perf_events()
    pinject_run("--follow-all", "--", target("hidden"), 5, "threads", "fork").ok()
    tree = panalyze_json("tree", *results())
    with measured(if_=tree["coverage"]["missed"]):  # an answer came too late
        check_equal({task["source"] for task in tree["tasks"]}, {"perf"})


def test_nothing_is_seen():
    need_perf_events()
    for command in ([target("hidden-signals")], [target("hidden"), 1, "quiet", "exec", target("signal-views"), 5],
                    [target("hidden"), 5, "quiet", "fork", "masked", "threads", "killed"]):
        bare = run(command).ok()
        ours = pinject_run("-q", "--follow-all", "--", *command)
        check_equal(ours.out_bytes.splitlines(), bare.out_bytes.splitlines(), "output")
        check_equal((ours.err_bytes, ours.status), (bare.err_bytes, bare.status), "stderr, status")


if __name__ == "__main__":
    main()
