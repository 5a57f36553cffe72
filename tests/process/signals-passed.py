# SPDX-License-Identifier: MIT
"""pinject-run gets signals and stops as the command would."""
import pty
import termios

from harness import *

# Says which signals it gets; ends at SIGTERM.
LOG = """
import signal, sys
taken = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}
signal.pthread_sigmask(signal.SIG_BLOCK, taken)
print("ready", flush=True)
while True:
    info = signal.sigwaitinfo(taken)
    print(info.si_signo, info.si_code == -1, flush=True)
    if info.si_signo == signal.SIGTERM:
        sys.exit(7)
"""
OWN_SESSION = dict(start_new_session=True)
OWN_GROUP = dict(start_new_session=False, preexec_fn=lambda: os.setpgid(0, 0))
# Of all that a program may get but those that cannot be caught, and those that the kernel itself raises in the log.
ALL = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGTERM})


def log(**kw):
    process = start([PINJECT_RUN, "-q", "--", sys.executable, "-S", "-E", "-c", LOG], **kw)
    check_equal(process.stdout.readline(), b"ready\n")
    return process


def settle(process):
    """Until it has taken what was sent to it: a second signal of a number that is still pending would be lost."""
    wait_until(lambda: re.search(r"^ShdPnd:\s*0+$", open(f"/proc/{process.pid}/status").read(), re.MULTILINE),
               what="the signals to be taken")


def end(process):
    settle(process)
    os.kill(process.pid, signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    check_equal((out, process.returncode, err), (b"15 False\n", 7, b""))
    check(results(), "no result file")


def test_sent_to_us_alone():
    faults = {signal.SIGILL, signal.SIGTRAP, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV, signal.SIGSYS}
    for way in (OWN_SESSION, OWN_GROUP):
        process = log(**way)
        for number in ALL:
            if number in faults:
                continue
            os.kill(process.pid, number)
            check_equal(process.stdout.readline().split(), [str(int(number)).encode(), b"False"], (way, number))
        end(process)


def test_sent_to_the_group():
    # Once, not again by us; and what the group got does not hide what comes to us alone afterwards.
    for way in (OWN_SESSION, OWN_GROUP):
        process = log(**way)
        for number in (signal.SIGUSR1, signal.SIGINT, signal.SIGWINCH, signal.SIGHUP, signal.SIGRTMIN + 3) * 5:
            for send, other in ((os.killpg, os.kill), (os.kill, os.killpg)):
                settle(process)
                send(process.pid, number)
                check_equal(process.stdout.readline().split()[0], str(int(number)).encode(), (way, number))
                other(process.pid, signal.SIGALRM)
                check_equal(process.stdout.readline(), b"14 False\n", (way, number))
        end(process)


def test_value_of_a_signal():
    libc = ctypes.CDLL(None, use_errno=True)
    process = log(**OWN_GROUP)
    check_equal(libc.sigqueue(process.pid, signal.SIGUSR2, ctypes.c_void_p(42)), 0)
    check_equal(process.stdout.readline(), b"12 True\n")
    end(process)


def test_default_actions():
    # The command has none of these blocked: it dies of them, and we say so. (SIGQUIT: stacks-after.)
    for name in ("USR1", "ALRM", "PROF", "ABRT"):
        for way in (OWN_SESSION, OWN_GROUP):
            process = start([PINJECT_RUN, "-q", "--", "sh", "-c", "echo ready; while :; do :; done"], **way)
            check_equal(process.stdout.readline(), b"ready\n")
            number = getattr(signal, "SIG" + name)
            os.kill(process.pid, number)
            process.communicate(timeout=60)
            check_equal(process.returncode, 128 + number, (name, way))


def test_collector_of_a_bare_preload_survives():
    need_perf_events()
    process = start(["sh", "-c", "echo ready; read go"], env=dict(LD_PRELOAD=PRELOAD), stdin=subprocess.PIPE)
    check_equal(process.stdout.readline(), b"ready\n")
    # It was mapped before main, if at all: a program waits two seconds at most for its collector to start.
    names = re.findall(r"\S*/pinject-[0-9a-f]{32}$", open(f"/proc/{process.pid}/maps").read(), re.MULTILINE)
    with measured():
        check(names, "the collector came too late")
    holders = [int(path.parent.name) for path in pathlib.Path("/proc").glob("[0-9]*/maps")
               if path.parent.name != str(process.pid) and holds(path, names[0])]
    # It may have helpers, who have its memory.
    collectors = [pid for pid in holders if parent_of(pid) not in holders]
    check_equal(len(collectors), 1, "the collector")
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGPIPE, signal.SIGPROF):
        os.kill(collectors[0], number)
    process.communicate(b"\n", timeout=60)
    pinject_run("--wait").ok()
    check_equal(len(results()), 1)


def holds(path, name):
    try:
        return name in path.read_text()
    except OSError:
        return False


def stat_of(pid):
    """The words after the name in /proc/PID/stat; none where there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def parent_of(pid):
    return int((stat_of(pid) or "00")[1])


def children_of(process):
    """{pid: when it began}, the first one first: a number alone may soon be another's."""
    pids = open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()
    return {int(pid): stat_of(pid)[19:20] for pid in pids}


def wait_until_gone(began):
    wait_until(lambda: not any(words and stat_of(pid)[19:20] == words for pid, words in began.items()), limit=60,
               what="the end of all")


def stopped(process):
    found = wait_until(lambda: os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOHANG | os.WNOWAIT),
                       what="the stop")
    check_equal(found.si_code, os.CLD_STOPPED)
    return os.waitid(os.P_PID, process.pid, os.WSTOPPED).si_status


def test_stops_and_goes_on_with_the_command():
    for by_whom, number, expected in (("us", "TSTP", "TSTP"), ("itself", "STOP", "STOP"), ("itself", "TSTP", "TSTP"),
                                      ("itself", "TTIN", "TTIN"), ("group", "TSTP", "TSTP")):
        script = "echo ready; read go; echo on; exit 5"
        if by_whom == "itself":
            script = f"echo ready; kill -{number} $$; read go; echo on; exit 5"
        process = start([PINJECT_RUN, "-q", "--", "sh", "-c", script], stdin=subprocess.PIPE, **OWN_GROUP)
        check_equal(process.stdout.readline(), b"ready\n")
        if by_whom != "itself":
            (os.kill if by_whom == "us" else os.killpg)(process.pid, getattr(signal, "SIG" + number))
        check_equal(stopped(process), getattr(signal, "SIG" + expected), (by_whom, number))
        os.kill(process.pid, signal.SIGCONT)
        out, err = process.communicate(b"\n", timeout=60)
        check_equal((process.returncode, out, err), (5, b"on\n", b""), (by_whom, number))


class Terminal:
    """A shell with jobs on a terminal of its own."""

    def __init__(self, *shell):
        self.text = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(shell[0], shell, clean_env(dict(PS1="> ", TERM="dumb")))

    def type(self, text):
        os.write(self.fd, text)

    def expect(self, text):
        """Up to TEXT, which is taken."""
        def look():
            if select.select([self.fd], [], [], 0)[0]:
                self.text += os.read(self.fd, 4096)
            return text in self.text
        try:
            wait_until(look, limit=60, what=text)
        except OSError:
            pass  # the terminal is gone
        except Failure as failure:
            shown = "pid,ppid,pgid,tpgid,stat,pending,blocked,wchan:20,args"
            states = run(["ps", "-o", shown, "-s", str(self.pid)]).out
            raise Failure(f"{failure}; the terminal has {self.text}; processes:\n{states}")
        check_in(text, self.text)
        before, _, self.text = self.text.partition(text)
        return before

    def end(self):
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def test_jobs_of_a_shell():
    need("bash")
    shell = Terminal("bash", "--norc", "--noprofile", "-i")
    shell.expect(b"> ")
    script = "echo rea''dy; while read -r line; do echo got $line; done; exit 6"
    shell.type(f"'{PINJECT_RUN}' -q -- sh -c '{script.replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}'\n".encode())
    shell.expect(b"ready\r\n")
    for turn in (1, 2):
        shell.type(b"\x1a")
        shell.expect(b"Stopped")
        shell.expect(b"> ")
        shell.type(b"jobs | grep -c Stopp''ed; fg >/dev/null\n")
        shell.expect(b"1\r\n")
        shell.type(f"line {turn}\n".encode())
        shell.expect(f"got line {turn}\r\n".encode())
    # In the background it may not read.
    shell.type(b"\x1a")
    shell.expect(b"Stopped")
    shell.type(b"bg; echo bg's status $?\n".replace(b"'", b"\\'"))
    shell.expect(b"status 0")
    shell.type(b"while ! jobs | grep Stopp''ed; do :; done\n")
    shell.expect(b"Stopped")
    shell.type(b"fg >/dev/null\nlast line\n")
    shell.expect(b"got last line\r\n")
    shell.type(b"\x04")
    shell.expect(b"> ")
    shell.type(b"echo status $?\n")
    shell.expect(b"status 6")
    shell.type(b"exit\n")
    check_equal(shell.end(), 0)


def test_lost_terminal():
    # The kernel tells the leader of the session alone, and that is us.
    terminal = Terminal(PINJECT_RUN, "-q", "--", "sh", "-c", "trap 'echo hup >hup; exit 4' HUP; echo ready; "
                        "while :; do :; done")
    terminal.expect(b"ready")
    os.close(terminal.fd)
    status = os.waitpid(terminal.pid, 0)[1]
    check_equal((os.waitstatus_to_exitcode(status), open("hup").read()), (4, "hup\n"))


def test_nothing_of_us_stays():
    process = log(**OWN_GROUP)
    ours = children_of(process)
    end(process)
    wait_until_gone(ours)
    process = log(**OWN_GROUP)
    ours = children_of(process)
    process.kill()
    process.wait()
    os.kill(next(iter(ours)), signal.SIGKILL)  # the command goes on without us
    wait_until_gone(ours)


if __name__ == "__main__":
    main()
