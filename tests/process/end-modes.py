# SPDX-License-Identifier: MIT
"""However a task ends, its samples up to the end are on disk; and each task of several has its own."""
from harness import *

# Without the right to sample the kernel a tick that finds the task there gives no sample, while its clock goes on: how
# many depends on what else interrupts it.
PERCENT = 5 if IS_ROOT else 15


def check_samples(samples, ns, percent, points):
    """As many as 999 Hz give in NS of CPU time: within PERCENT, or POINTS."""
    expected, more = ns * 999e-9, (ns + stolen_ns()) * 999e-9
    check(min(expected * (1 - percent / 100), expected - points) <= samples <=
          max(more * (1 + percent / 100), more + points), f"{samples} samples instead of {expected} to {more}")


def ended(mode, status, tasks=1):
    """Runs a target that says how much CPU time each of its tasks used, just before it ends by MODE."""
    need_perf_events()
    done = pinject_run("-q", "-F", "999", "--follow-all", "--", target("end-modes"), mode, "1000")
    check_equal(done.status, status, f"exit status of {mode}")
    said = {}
    for tid, ns in re.findall(r"tid (\d+) cpu_ns (\d+)", done.out):
        said[tid] = int(ns)  # the last word of a task counts: its clock goes on across exec
    said = said.values()
    document = panalyze_json("--aggregate", *results())
    check_equal(len(document["tasks"]), tasks)
    with measured():
        check_equal(document["total"]["lost"], 0, "lost samples")
        check_samples(document["total"]["samples"], sum(said), PERCENT, 10)
    text = panalyze("script", *results()).ok().out
    last = max(float(time) for time in re.findall(r"^\S.* ([\d.]+): +\d+ ", text, re.MULTILINE))
    end = max(task["end_ns"] for task in document["tasks"]) / 1e9
    with measured():
        check(end - last < 0.2, f"the last sample at {last}, the end at {end}")
    leader = next(task for task in document["tasks"] if task["pid"] == task["tid"])
    check_equal(leader["exit"], status, "exit status in the file")


def test_exit_without_handlers():
    ended("_exit", 3)


def test_abort():
    ended("abort", 134)


def test_killed():
    ended("kill", 137)


def test_exec():
    ended("exec", 0)


def test_return():
    ended("return", 0)


def test_exit_in_a_thread():
    ended("thread-exit", 4, tasks=2)


def test_main_ends_before_its_threads():
    ended("pthread_exit", 0, tasks=2)


def test_eight_threads_end_one_after_another():
    need_perf_events()
    done = pinject_run("-q", "-F", "999", "--follow-all", "--", target("threads-end")).ok()
    threads = {int(tid): int(ns) for tid, ns in re.findall(r"tid (\d+) .*?cpu_ns (\d+)", done.out)}
    check(len(threads) >= 8, done)
    for tid, ns in threads.items():
        files = [name for name in results() if name.split(".")[2] == str(tid)]
        check(len(files) <= 1, f"files of thread {tid}: {files}")
        with measured():  # on a busy machine one may have ended before its events were open
            check(files, f"no file of thread {tid}")
        task = panalyze_json(files[0])["tasks"][0]
        check_equal(task["tid"], tid)
        with measured():
            check_equal(task["lost"], 0, "lost samples")
            check_samples(task["samples"], ns, max(10, PERCENT), 12)


if __name__ == "__main__":
    main()
