# SPDX-License-Identifier: MIT
# labels: collector
"""--linger: daemons that the command left behind are profiled to their ends."""
import contextlib
import signal

from harness import *


def daemon(milliseconds):
    """A shell that leaves a process of its own session behind, which runs by then, and ends with status 3."""
    return ["sh", "-c", f"rm -f began; setsid sh -c ': >began; exec {target('spin')} {milliseconds}' </dev/null "
            ">/dev/null 2>&1 & while [ ! -e began ]; do :; done; exit 3"]


def named(document, comm):
    return [task for task in document["tasks"] if task["comm"] == comm]


def test_waits_for_a_daemon():
    need_perf_events()
    done = pinject_run("--linger", "-o", "run/", "--", *daemon(700))
    check_equal(done.status, 3, done)
    check_match(r"the command has exited; waiting for \d tasks? that it left running "
                r"\(press Ctrl-C to stop waiting\)", done.err)
    check("still run" not in done.err, done.err)
    tree = panalyze_json("tree", "run")
    spin, = named(tree, "spin")
    check(spin["ended"], spin)
    check(spin["cpu_ns"] >= 650e6, spin)
    coverage = tree["coverage"]
    with measured():
        check_near(100 * coverage["attributed_ns"] / coverage["cpu_ns"], 100, points=1, what="CPU time in tasks")


def running(milliseconds):
    """The process of daemon(MILLISECONDS), or None."""
    wanted = f"{target('spin')}\0{milliseconds}\0".encode()
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (directory / "cmdline").read_bytes() == wanted:
                return int(directory.name)
    return None


@contextlib.contextmanager
def one_that_stays():
    """A time for daemon() that no other test has, and the end of the daemon."""
    milliseconds = 200000 + os.getpid()
    try:
        yield milliseconds
    finally:
        with contextlib.suppress(TypeError, ProcessLookupError):
            os.kill(running(milliseconds), signal.SIGKILL)


def test_without_it():
    need_perf_events()
    with one_that_stays() as milliseconds:
        began = time.monotonic()
        done = pinject_run("-o", "run/", "--", *daemon(milliseconds))
        check_equal(done.status, 3, done)
        check(time.monotonic() - began < 150, "the daemon was waited for")
    check_match(r"1 task still runs, profiled up to now \(--linger waits for it\)", done.err)
    check_equal(len([task for task in panalyze_json("tree", "run")["tasks"] if not task["ended"]]), 1)


def test_nobody_is_left():
    need_perf_events()
    began = time.monotonic()
    done = pinject_run("--linger", "-o", "run/", "--", "true").ok()
    check("waiting" not in done.err, done.err)
    check(time.monotonic() - began < 60, "it waited for nobody")


def test_interrupted():
    """A signal ends the waiting: what was there so far is kept, and the status is the command's."""
    need_perf_events()
    for number in signal.SIGINT, signal.SIGTERM:
        with one_that_stays() as milliseconds:
            process = start([PINJECT_RUN, "--linger", "-o", f"run{int(number)}/", "--", *daemon(milliseconds)])
            check_in(b"waiting for", process.stderr.readline())
            wait_until(lambda: running(milliseconds), 60, "the daemon")
            process.send_signal(number)
            out, err = process.communicate(timeout=200)
        check_equal(process.returncode, 3, err)
        check_in(b"still runs, profiled up to now\n", err)
        spin, = named(panalyze_json("tree", f"run{int(number)}"), "spin")
        check(not spin["ended"], spin)


def test_ignored_signal():
    """One that was ignored when it was started, as by nohup, ends nothing; and time is that of all who were there."""
    need_perf_events()
    with one_that_stays() as milliseconds:
        process = start([PINJECT_RUN, "--linger", "-o", "run/", "--", *daemon(milliseconds)],
                        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        check_in(b"waiting for", process.stderr.readline())
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: running(milliseconds), 60, "the daemon")
        os.kill(running(milliseconds), signal.SIGKILL)
        out, err = process.communicate(timeout=200)
    check_equal(process.returncode, 3, err)
    check(b"still runs" not in err, err)
    heading = panalyze("run").ok().out.splitlines()[0]
    busy = float(check_match(r"\(([\d.]+) CPUs busy", heading)[1])
    check(busy <= os.cpu_count() + 0.5, heading)


def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_stopped_by_a_terminal():
    """Ctrl-Z stops it, as it would the command; SIGCONT lets it go on."""
    need_perf_events()
    with one_that_stays() as milliseconds:
        process = start([PINJECT_RUN, "--linger", "-o", "run/", "--", *daemon(milliseconds)])
        check_in(b"waiting for", process.stderr.readline())
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: state(process.pid) == "T", 60, "pinject-run to stop")
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: state(process.pid) != "T", 60, "pinject-run to go on")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=200)
    check_equal(process.returncode, 3, err)


def test_what_a_daemon_starts():
    """Who comes after the command has ended is followed as before."""
    need_perf_events()
    later = f"while kill -0 $$; do :; done; {target('spin')} 200; {target('spin')} 100 2"
    pinject_run("--linger", "-q", "-o", "run/", "--", "sh", "-c",
                f'setsid sh -c "{later}" </dev/null >/dev/null 2>&1 &').ok()
    tree = panalyze_json("tree", "run")
    check_equal(len([task for task in named(tree, "spin") if task["pid"] == task["tid"]]), 2)
    check(all(task["ended"] for task in tree["tasks"]), tree["tasks"])


if __name__ == "__main__":
    main()
