# SPDX-License-Identifier: MIT
# labels: faults
# timeout: 300
# serial
"""Storms of processes and threads: nothing lost without a word, and the collector's memory and descriptors are what
they were.

PINJECT_MANY=1: 100,000 threads and 20,000 processes, which takes minutes where creating files is slow.
"""
from harness import *

# Phases of the command, each begun by a line on its stdin: the figures of the collector are taken between them.
PHASES = """
for phase; do
    read go
    $phase >/dev/null || exit 1
    echo done
done
read go
"""


def fd_count(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def memory_kb(pid):
    """Heap and rings. Of files what is there depends on what ran, and on what the kernel took back: 0.4 MB and more."""
    status = open(f"/proc/{pid}/status").read()
    return sum(int(check_match(rf"^{name}:\s+(\d+)", status)[1]) for name in ("RssAnon", "RssShmem"))


class Phases:
    """The command runs its phases one by one under pinject-run."""

    def __init__(self, *commands):
        words = [PINJECT_RUN, "-v", "--follow-all", "--", "sh", "-c", PHASES, "sh", *commands]
        self.process = start(words, stdin=subprocess.PIPE)

    def run(self):
        """The next phase. Seconds."""
        begin = time.monotonic()
        self.process.stdin.write(b"\n")
        check_equal(self.process.stdout.readline(), b"done\n", "phase")
        return time.monotonic() - begin

    def calm(self):
        """Descriptors and kB of the collector, when they have not changed for a second: ten of its own rounds."""
        seen = []

        def unchanged():
            now = fd_count(self.process.pid), memory_kb(self.process.pid)
            if not seen or seen[0][0] != now:
                seen[:] = [(now, time.monotonic())]
            return time.monotonic() - seen[0][1] > 1

        wait_until(unchanged, 60, "the collector to be idle")
        return seen[0][0]

    def settled(self, fds, kb):
        """Waits until the collector holds at most FDS and KB, and returns what it holds."""
        pid = self.process.pid
        end = time.monotonic() + 60
        while fd_count(pid) > fds or memory_kb(pid) > kb:
            held = f"{fd_count(pid)} descriptors and {memory_kb(pid)} kB"
            check(time.monotonic() < end, f"{held} instead of {fds} and {kb}")
            self.calm()
        return fd_count(pid), memory_kb(pid)

    def end(self):
        out, err = self.process.communicate(b"\n", timeout=200)
        check_equal(self.process.returncode, 0, err)
        return Result(["phases"], 0, out, err, 0)


def storms(threads, processes):
    """The two storms, after smaller ones in which the collector's tables have grown. What was observed."""
    storm, lanes = target("storm"), target("threads-storm")
    phases = Phases(f"{lanes} 1000 8", f"{storm} forks 200 8 0",
                    f"{lanes} {threads} 8", f"{storm} forks {processes} 8 0")
    phases.run()
    phases.run()
    fds, kb = phases.calm()
    seconds = phases.run() + phases.run()
    # The heap's pieces take some 100 kB more; beyond the limit is who leaves 30 bytes of each task behind.
    with measured():  # a heap may have more pieces once; what is left behind is there each time
        after_fds, after_kb = phases.settled(fds * 1.1, kb * 1.1 + 256)
    done = phases.end()
    started = 1 + 1000 + 1 + 200 + 9 + threads + 1 + processes + 9
    seen, named = profiled_tasks(done), missed_tasks(done)
    check(seen + named >= started, f"of {started} tasks {seen} are profiled, {named} named: {done.err}")
    with measured():  # all are named; how many got events in time is the machine's
        check(seen >= started * 0.97, done.err)
    document = panalyze_json("tree", ".")
    check_equal(len(document["tasks"]), seen, "tasks in the files")
    return (f"{seen} of {started} tasks profiled in {seconds:.1f} s; collector, before the storms and "
            f"at the end: {fds} and {after_fds} descriptors, {kb} and {after_kb} kB; "
            + ("; ".join(summary_lines(done)) or "nothing lost"))


def test_storms():
    need_perf_events()
    many = os.environ.get("PINJECT_MANY") == "1"
    threads, processes = (100000, 20000) if many else (10000, 1500)
    observed = storms(threads, processes)
    matrix_row("many short tasks", f"{threads:,} threads, 8 at a time, then {processes:,} processes, in one run",
               observed)


def test_wide_forks():
    need_perf_events()
    done = pinject_run("-v", "--follow-all", "--", target("storm"), "forks", "1500", "64", "1").ok()
    seen, named = profiled_tasks(done), missed_tasks(done)
    check(seen + named >= 3001, done.err)
    with measured():
        check(seen >= 2700, done.err)
    matrix_row("fork storm 64 wide", "1500 processes with a thread each", f"{seen} of 3001 tasks profiled; " +
               ("; ".join(summary_lines(done)) or "nothing lost"))


if __name__ == "__main__":
    main()
