# SPDX-License-Identifier: MIT
"""The command's input, output, exit status, signals and process group are its own."""
from harness import *


def both(command, **kw):
    """The same command bare and under pinject-run, in each way to follow."""
    bare = run(command, **kw)
    for follow in ([], ["--follow-all"]):
        ours = pinject_run("-q", *follow, "--", *command, **kw)
        # A shell shows a signal's end as 128+n; python as -n.
        status = bare.status if bare.status >= 0 else 128 - bare.status
        check_equal((ours.status, ours.out_bytes, ours.err_bytes), (status, bare.out_bytes, bare.err_bytes),
                    f"{command} {follow}")


def test_output_and_status():
    need_perf_events()
    for status in (0, 1, 7, 125, 126, 127, 255):
        both(["sh", "-c", f"echo out; echo err >&2; exit {status}"])


def test_signals():
    for name in ("TERM", "KILL", "SEGV", "INT", "HUP", "PIPE"):
        both(["sh", "-c", f"kill -{name} $$"])


def test_input():
    both(["sh", "-c", "cat; echo $#"], input="line\nline without end")
    both(["head", "-c", "3"], input="abcdef")


def test_options_of_the_command():
    both(["sh", "-c", "echo \"$@\"", "sh", "--help", "-e", "--", "-q"])


def test_process_group_and_session():
    process = start([PINJECT_RUN, "-q", "--", "sh", "-c", "cut -d' ' -f5,6 /proc/$$/stat"], start_new_session=False,
                    preexec_fn=lambda: os.setpgid(0, 0))
    out = process.communicate(timeout=60)[0].decode().split()
    check_equal(out, [str(process.pid), str(os.getsid(0))], "process group and session of the command")


def test_leader_of_a_session():
    groups = pathlib.Path("/proc/sys/kernel/sched_autogroup_enabled")
    if not IS_ROOT and groups.exists() and groups.read_text().strip() != "0":
        skip("the command stays in pinject-run's session where only a real-time priority reaches another one")
    both(["sh", "-c", "set -- $(cut -d' ' -f1,5,6 /proc/$$/stat); test $1 = $2 && test $1 = $3"])
    done = run(["setsid", "-w", PINJECT_RUN, "-q", "--", "sh", "-c", "cut -d' ' -f1,5,6 /proc/$$/stat; exit 7"],
               start_new_session=False)
    check_equal((done.status, len(set(done.out.split()))), (7, 1), done)


def test_signal_dispositions_and_mask():
    script = ("import signal,os\nprint([l for l in open('/proc/self/status') "
              "if l.startswith('Sig') and not l.startswith(('SigQ','SigPnd'))])")
    python = need("python3")

    def block():
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    both([python, "-S", "-E", "-c", script], preexec_fn=block)


def test_limits():
    both(["sh", "-c", "ulimit -a"])


def test_interrupt_from_the_terminal():
    """Ctrl-C reaches the whole foreground process group once; everything is written."""
    need_perf_events()
    script = "trap 'n=$((n+1)); echo caught $n; exit 5' INT; echo ready; while :; do :; done"
    process = start([PINJECT_RUN, "--follow-all", "--", "sh", "-c", script])
    check_equal(process.stdout.readline(), b"ready\n")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    check_equal((process.returncode, out), (5, b"caught 1\n"), err)
    check(results(), "no result file")
    check_in(b"panalyze", err)


def test_terminate_is_passed_on():
    need_perf_events()
    process = start([PINJECT_RUN, "--follow-all", "--", "sh", "-c",
                     "trap 'exit 6' TERM; echo ready; while :; do :; done"])
    check_equal(process.stdout.readline(), b"ready\n")
    os.kill(process.pid, signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    check_equal(process.returncode, 6, err)
    check(results(), "no result file")


def test_a_daemon_does_not_hold_us():
    need_perf_events()
    process = start([PINJECT_RUN, "--follow-all", "--", "sh", "-c",
                     "mkfifo ready; { echo >ready; exec sleep 1000; } >/dev/null 2>&1 & read line <ready; echo $!"])
    daemon = int(process.stdout.readline())
    out, err = process.communicate(timeout=60)
    os.kill(daemon, signal.SIGKILL)
    check_equal(process.returncode, 0, err)
    with measured():  # the session may end before a late answer
        check([name for name in results() if name.split(".")[1] == str(daemon)], "no file of the process that ran on")


def test_nobody_reads_our_messages():
    need_perf_events()
    reading, writing = os.pipe()
    process = start([PINJECT_RUN, "-v", "--follow-all", "--", "sh", "-c", "exit 9"], stderr=writing)
    os.close(reading)
    os.close(writing)
    process.communicate(timeout=60)
    check_equal(process.returncode, 9)
    check(results(), "no result file")


if __name__ == "__main__":
    main()
