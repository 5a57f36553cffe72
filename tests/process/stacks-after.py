# SPDX-License-Identifier: MIT
# labels: collector
# timeout: 180
"""Stacks of all that runs under pinject-run, by --stacks-after and SIGQUIT; and that the command is none the wiser."""
from harness import *
import threading

HEADING = b"pinject-run: stacks of the command and its descendants:\n"
WAITS = target("waits")
SPIN = "echo ready; while :; do :; done"


def begin(*command, options=()):
    """pinject-run, and what it says while it runs is read."""
    need_unwinding()
    return start([PINJECT_RUN, "-q", *options, "--", *command], stdin=subprocess.PIPE, stderr=subprocess.PIPE)


def ready(process):
    check_equal(process.stdout.readline(), b"ready\n")


def stacks(process):
    """All lines of stacks up to the end of the text."""
    check_equal(process.stderr.readline(), HEADING)
    lines = []
    while lines[-1:] != ["pinject-run: the command continues"]:
        line = process.stderr.readline()
        check(line, lines)
        lines.append(line.decode().rstrip("\n"))
    return "\n".join(lines[:-1])


def end(process, status=0):
    out, err = process.communicate(b".", timeout=60)
    check_equal((process.returncode, err), (status, b""))
    return out


def only_child_of(process):
    return int(pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])


def test_a_deadlock_is_named():
    process = begin("sh", "-c", f"{WAITS} deadlock; exit 5")
    ready(process)
    deadlock = "Deadlock in process"
    # Its threads are about to wait: they may not be there yet.
    for _ in range(50):
        process.send_signal(signal.SIGQUIT)
        text = stacks(process)
        if deadlock in text:
            break
    check_in(deadlock, text)
    check_in("waits for mutex at", text)
    check_in("waits in wait4 for", text)  # the shell
    check("pinject-run" not in text, text)  # its helpers are none of the command's
    check_equal(end(process, 5), b"0 interrupted\n")
    check(len(results()) >= 4, results())


def test_after_a_time():
    process = begin("sh", "-c", SPIN, options=["--stacks-after=50ms"])
    ready(process)
    text = stacks(process)
    check_in("sh -c " + SPIN, text)
    check_in("1 thread", text)
    # Once.
    process.send_signal(signal.SIGTERM)
    end(process, 128 + signal.SIGTERM)


def test_a_command_that_ends_before():
    result = run([PINJECT_RUN, "-q", "--stacks-after=1h", "--", "sh", "-c", "exit 3"])
    check_equal((result.status, result.out, result.err), (3, "", ""))


def test_who_handles_it_gets_it():
    process = begin("sh", "-c", "trap 'echo mine; exit 6' QUIT; " + SPIN)
    ready(process)
    process.send_signal(signal.SIGQUIT)
    check_equal(end(process, 6), b"mine\n")


def test_the_command_ends_while_it_is_looked_at():
    """Its status is the command's, whoever meets its end first: the tracer or who waits for it."""
    seen = 0
    for how, status in (("exit 7", 7), ("kill -9 $$", 137), ("kill -SEGV $$", 139), ("exec /bin/false", 1)):
        for part in range(12):
            process = begin("sh", "-c", f"ulimit -c 0; echo ready; read go; {how}")
            ready(process)
            process.send_signal(signal.SIGQUIT)
            time.sleep(part * 0.0005)
            out, err = process.communicate(b"\n", timeout=60)
            check_equal((process.returncode, out), (status, b""), (how, part, err))
            seen += HEADING in err
    check(seen, "none was looked at")


def test_stops_are_the_commands_all_the_same():
    """The stops of what is traced are not taken for the command's own, and its own are seen afterwards."""
    process = begin("sh", "-c", SPIN)
    ready(process)
    for _ in range(10):
        process.send_signal(signal.SIGQUIT)
        stacks(process)
        check(state_of(process.pid) not in "Tt", "pinject-run has stopped")
    command = only_child_of(process)
    os.kill(command, signal.SIGSTOP)
    wait_until(lambda: state_of(process.pid) == "T", what="pinject-run to stop with its command")
    os.kill(process.pid, signal.SIGCONT)
    wait_until(lambda: state_of(command) == "R", what="the command to go on")
    process.send_signal(signal.SIGTERM)
    end(process, 128 + signal.SIGTERM)


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_asked_all_the_time():
    """Thousands of stops of a tree: its products are what they are without."""
    script = "echo ready; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do seq 2000 | sort -r | cksum; done; exit 4"
    bare = run(["sh", "-c", script])
    process = begin("sh", "-c", script)
    ready(process)
    thread = threading.Thread(target=lambda: ask(process))
    thread.start()
    out, err = process.communicate(timeout=120)
    thread.join()
    check_equal((process.returncode, "ready\n" + out.decode()), (4, bare.out))
    check_in(HEADING, err)


def ask(process):
    while process.poll() is None:
        process.send_signal(signal.SIGQUIT)  # not to a number that is another's by now
        time.sleep(0.005)


if __name__ == "__main__":
    main()
