# SPDX-License-Identifier: MIT
# labels: analyze collector
# timeout: 180
"""panalyze top and pinject-run --live: a screen that refreshes, a terminal that is given back."""
import fcntl
import pty
import struct
import termios

from harness import *

ENTER, LEAVE = b"\033[?1049h", b"\033[?1049l"
MARK = b"-- so far --"


class Terminal:
    """A terminal, the programs on it in a session of their own, and what they have written to it."""

    def __init__(self, columns=100, rows=30):
        try:
            self.master, self.slave = pty.openpty()
        except OSError as error:  # a chroot without /dev/pts
            skip(f"no terminal: {error}")
        os.set_blocking(self.master, False)
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.text = b""

    def resize(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def start(self, command, env=None, **kw):
        def lead():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        for name in ("stdin", "stdout", "stderr"):
            kw.setdefault(name, self.slave)
        env = dict({"TERM": "xterm"}, **(env or {}))
        return start(command, env=env, start_new_session=False, preexec_fn=lead, **kw)

    def read(self):
        try:
            self.text += os.read(self.master, 65536)
        except OSError:  # nothing there, or nobody
            pass
        return self.text

    def drain(self):
        """Reads all that was written so far: the kernel hands it on some time later, and in order."""
        self.read()
        os.write(self.slave, MARK)
        wait_until(lambda: MARK in self.read(), what="what was written")
        self.text = self.text.replace(MARK, b"")

    def wait(self, part, what=""):
        """Until PART (bytes) is in what was written since the last wait(); that is taken out and returned."""
        wait_until(lambda: part in self.read(), limit=60, what=f"{part!r} {what}, got {self.text[-2000:]!r}")
        taken, _, self.text = self.text.partition(part)
        return taken + part

    def end(self, process):
        """The status of PROCESS, while what it writes is read."""
        wait_until(lambda: self.read() is not None and process.poll() is not None, limit=60, what="the end")
        self.drain()
        return process.returncode

    def check_restored(self):
        check_equal(termios.tcgetattr(self.slave), self.before, "modes of the terminal")
        check(LEAVE in self.text and b"\033[?25h" in self.text, f"the screen was not left: {self.text[-500:]!r}")
        check(ENTER not in self.text.rpartition(LEAVE)[2], "the screen was entered again")


def running(base="out"):
    """A session that runs until the test ends, with files on disk; its pinject-run."""
    need_perf_events()
    process = start([PINJECT_RUN, "-q", "-o", base, "--", target("spin"), "600000"])
    wait_until(lambda: any(is_sampled(name) for name in results(base)), limit=60, what="a result file with samples")
    return process


def is_sampled(name):
    """Whether there are samples of spin_a in the growing file."""
    result = panalyze("--aggregate", "--json", name)
    return result.status == 0 and "spin_a" in result.out


def top(*args):
    return [PANALYZE, "top", "--interval=0.2", *args]


def test_screen_and_quit():
    running()
    terminal = Terminal()
    process = terminal.start(top())
    terminal.wait(ENTER)
    shown = terminal.wait(b"spin_a")
    check_in(b"600000", shown, "the command")
    check_match(r"runs for [\d.]+ m?s: 1 task, 1 alive, [\d.]+ CPUs busy", shown.decode())
    terminal.wait(b"q quits")
    check(termios.tcgetattr(terminal.slave)[3] & (termios.ICANON | termios.ECHO) == 0, "keys need Enter")
    os.write(terminal.master, b"xq")
    check_equal(terminal.end(process), 0)
    terminal.check_restored()


def test_it_refreshes():
    running()
    terminal = Terminal()
    process = terminal.start(top())
    counts = []
    for _ in range(2):  # a file is refreshed once a second
        def changed():
            found = re.findall(rb"CPU time [\d.]+ m?s, ([\d,]+) samples", terminal.read())
            return found and found[-1] not in counts and found[-1]
        counts.append(wait_until(changed, limit=60, what="another look"))
    before, after = (int(samples.replace(b",", b"")) for samples in counts)
    check(before < after, counts)
    os.write(terminal.master, b"q")
    check_equal(terminal.end(process), 0)


def frame(text):
    """The lines of the last whole look in TEXT, without colours."""
    last = text.split(b"\033[H")[-1].split(b"\033[J")[0]
    return re.sub(rb"\033\[[\d;?]*[A-Za-z]", b"", last).decode().replace("\r", "").split("\n")


def test_resize():
    running()
    terminal = Terminal(columns=120, rows=40)
    process = terminal.start(top())
    terminal.wait(b"spin_a")
    terminal.wait(b"\033[40;1H")
    terminal.resize(50, 12)
    for _ in range(2):  # the first may be the old look on the new size
        text = terminal.wait(b"\033[12;1H")
    text = terminal.wait(b"\033[12;1H")
    lines = frame(text)
    check(len(lines) <= 12 and max(map(len, lines)) <= 50, lines)
    check_in("spin_a", "\n".join(lines))
    os.write(terminal.master, b"q")
    check_equal(terminal.end(process), 0)
    terminal.check_restored()


def test_colours():
    running()
    for env, args, coloured in (({}, [], True), ({"NO_COLOR": "1"}, [], False), ({}, ["--color=never"], False)):
        terminal = Terminal()
        process = terminal.start(top(*args), env=env)
        text = terminal.wait(b"spin_a") + terminal.wait(b"q quits")
        check_equal(bool(re.search(rb"\033\[[1-9]\d*m", text)), coloured, f"{env} {args}: {text!r}")
        os.write(terminal.master, b"q")
        check_equal(terminal.end(process), 0)


def test_signals_that_end_it():
    running()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        terminal = Terminal()
        process = terminal.start(top())
        terminal.wait(b"spin_a")
        if number == signal.SIGINT:
            os.write(terminal.master, b"\x03")
        else:
            process.send_signal(number)
        check_equal(terminal.end(process), -number)
        terminal.check_restored()


JOBS = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
report, order = int(sys.argv[1]), int(sys.argv[2])
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[3], sys.argv[3:])
while True:
    status = os.waitpid(job, os.WUNTRACED)[1]
    os.tcsetpgrp(0, os.getpid())
    if not os.WIFSTOPPED(status):
        os.write(report, b"e")
        sys.exit(os.waitstatus_to_exitcode(status))
    os.write(report, b"s")
    os.read(order, 1)
    os.tcsetpgrp(0, job)
    os.killpg(job, signal.SIGCONT)
"""


def test_stop_and_continue():
    """Ctrl-Z under a shell with jobs: the shell finds its terminal, and after fg the screen is there again."""
    running()
    terminal = Terminal()
    told, report = os.pipe()
    order, tell = os.pipe()
    process = terminal.start([sys.executable, "-S", "-E", "-c", JOBS, report, order, *top()], pass_fds=(report, order))
    terminal.wait(b"spin_a")
    os.write(terminal.master, b"\x1a")
    wait_until(lambda: terminal.read() is not None and select.select([told], [], [], 0)[0], limit=60, what="the stop")
    check_equal(os.read(told, 1), b"s")
    terminal.drain()
    terminal.check_restored()
    terminal.text = b""
    os.write(tell, b"c")
    terminal.wait(ENTER)
    terminal.wait(b"spin_a")
    check(termios.tcgetattr(terminal.slave)[3] & termios.ICANON == 0, "keys need Enter")
    os.write(terminal.master, b"q")
    check_equal(terminal.end(process), 0)
    terminal.check_restored()


def test_continued_before_it_has_stopped():
    """A SIGCONT that comes between the screen's end and the stop is not lost: strace lets each write take its time."""
    need("strace")
    running()
    terminal = Terminal()
    _, report = os.pipe()
    order, _ = os.pipe()
    slow = ["strace", "-o", "trace", "-e", "trace=write", "-e", "inject=write:delay_exit=500000", *top()]
    process = terminal.start([sys.executable, "-S", "-E", "-c", JOBS, report, order, shutil.which("strace", path=PATH),
                              *slow[1:]], pass_fds=(report, order))
    strace = wait_until(lambda: child_of(process.pid, "strace"), what="strace")
    pid = wait_until(lambda: child_of(strace, "panalyze"), what="panalyze")
    terminal.wait(b"spin_a")
    os.kill(pid, signal.SIGTSTP)
    terminal.wait(LEAVE)
    os.kill(pid, signal.SIGCONT)
    terminal.wait(ENTER)
    os.write(terminal.master, b"q")
    check_equal(terminal.end(process), 0)


def test_text_where_there_is_no_terminal():
    running()
    result = run(top("--snapshots=2")).ok()
    check_equal(len(re.findall(r"^runs for ", result.out, re.MULTILINE)), 2, result.out)
    check("\033" not in result.out)
    terminal = Terminal()
    process = terminal.start(top("--snapshots=1"), env={"TERM": "dumb"})
    check_equal(terminal.end(process), 0)
    check(b"\033" not in terminal.text and b"spin_a" in terminal.text, terminal.text)


def test_ends_with_the_session():
    """Text ends when the session has ended; new files of it are found on the way, those of another run are not."""
    need_perf_events()
    pinject_run("-q", "--", target("spin"), "20")
    old = results()
    process = start([PINJECT_RUN, "-q", "--follow-all", "--", "sh", "-c",
                     f"{target('spin')} 1 3; read x; exec {target('spin')} 100"], stdin=subprocess.PIPE)
    wait_until(lambda: set(results()) - set(old), limit=60, what="a file")
    watcher = start(top())
    check_in("sh -c", watcher.stdout.readline().decode())
    process.stdin.write(b"\n")
    process.stdin.close()
    out, err = watcher.communicate(timeout=60)
    check_equal((watcher.returncode, err), (0, b""))
    last = out.decode().rpartition("\nsh -c")[2]
    with measured():  # on a busy machine some threads may have ended before their events were open
        check_match(r"^ended after .*: 4 tasks, 0 alive", last)
    check_match(r"^ended after .*: \d tasks, 0 alive", last)
    check_in("spin_a", last)
    process.wait()


def test_one_look_at_what_has_ended():
    need_perf_events()
    pinject_run("-q", "--", target("spin"), "100").ok()
    result = panalyze("top").ok()
    check_match(r"^ended after", result.out)
    terminal = Terminal()
    process = terminal.start([PANALYZE, "top"])
    terminal.wait(b"the program has ended; q quits")
    os.write(terminal.master, b"q")
    check_equal(terminal.end(process), 0)
    terminal.check_restored()
    terminal = Terminal()
    process = terminal.start([PANALYZE, "top"], stdin=subprocess.DEVNULL)
    check_equal(terminal.end(process), 0)
    check_in(b"spin_a", terminal.text.rpartition(LEAVE)[2], "what was seen last stays")


def test_wrong_use():
    result = panalyze("top")
    check_equal((result.status, result.out), (1, ""))
    check_match(r"^panalyze: no file given", result.err)
    result = panalyze("top", "--interval=0", "x")
    check_equal((result.status, result.out), (2, ""))
    check_match(r"^panalyze: option '--interval' needs a number of seconds", result.err)
    result = panalyze("top", "./nothing.1.1")
    check_equal((result.status, result.out), (1, ""))
    check_match(r"^panalyze: there are no result files yet", result.err)


# ---- pinject-run --live

def live(terminal, command, *args, **kw):
    """COMMAND under pinject-run --live on TERMINAL; its output goes to the file "log", errors to "errors"."""
    need_perf_events()
    return terminal.start([PINJECT_RUN, "--live", *args, "--", *command], stdout=open("log", "wb"),
                          stderr=open("errors", "wb"), **kw)


def test_live():
    """The screen appears and goes; the command's output, status and terminal modes are those without it."""
    script = f"stty -a 2>/dev/null; tty; read go; {target('spin')} 300 >/dev/null; echo out; echo err >&2; exit 7"
    logs = []
    for with_live in (False, True):
        terminal = Terminal()
        if with_live:
            process = live(terminal, ["sh", "-c", script], "--follow-all", "-q")
            terminal.wait(ENTER)
        else:
            process = terminal.start(["sh", "-c", script], stdout=open("log", "wb"), stderr=open("errors", "wb"))
        os.write(terminal.master, b"\n")
        check_equal(terminal.end(process), 7)
        name = os.ttyname(terminal.slave).encode()
        logs.append([open(file, "rb").read().replace(name, b"TTY") for file in ("log", "errors")])
        check_equal(termios.tcgetattr(terminal.slave), terminal.before)
        if with_live:
            terminal.check_restored()
    check_equal(logs[1], logs[0], "output with --live")
    check(results(), "no result file")


def test_live_shows_functions_and_tasks():
    terminal = Terminal()
    process = live(terminal, [target("spin"), "600000"])
    terminal.wait(b"spin_a")
    text = terminal.wait(b"every ")
    check(b"q quits" not in text, "the keyboard is the command's")
    check(termios.tcgetattr(terminal.slave)[3] & termios.ICANON, "the command's terminal has other modes")
    process.send_signal(signal.SIGTERM)
    check_equal(terminal.end(process), 128 + signal.SIGTERM)
    terminal.check_restored()
    check_in("panalyze out.*", open("errors").read(), "the summary")


def test_live_interrupt():
    """Ctrl-C reaches the command once, and the screen stays as long as the command does."""
    script = ("trap 'n=$((n+1)); echo caught $n' INT; echo ready; "
              f"while test ! -e stop; do {target('spin')} 20 >/dev/null; "
              "done; exit 4")
    terminal = Terminal()
    process = live(terminal, ["sh", "-c", script], "--follow-all")
    terminal.wait(ENTER)
    wait_until(lambda: b"ready" in open("log", "rb").read(), what="the command")
    os.write(terminal.master, b"\x03")
    wait_until(lambda: b"caught" in open("log", "rb").read(), what="the signal")
    terminal.text = b""
    terminal.wait(b"every ", "after Ctrl-C")
    open("stop", "w").close()
    check_equal(terminal.end(process), 4)
    check_equal(open("log").read(), "ready\ncaught 1\n")
    terminal.check_restored()


def test_live_stop_and_continue():
    """Ctrl-Z stops the whole job, the shell has its terminal; after fg all of it goes on."""
    need_perf_events()
    terminal = Terminal()
    told, report = os.pipe()
    order, tell = os.pipe()
    process = terminal.start([sys.executable, "-S", "-E", "-c", JOBS, report, order, PINJECT_RUN, "-q", "--live", "--",
                              "sh", "-c", "read go; exit 5"], pass_fds=(report, order),
                             stdout=open("log", "wb"), stderr=open("errors", "wb"))
    terminal.wait(ENTER)
    os.write(terminal.master, b"\x1a")
    wait_until(lambda: terminal.read() is not None and select.select([told], [], [], 0)[0], limit=60, what="the stop")
    wait_until(lambda: LEAVE in terminal.read(), limit=60, what="the screen to go")
    terminal.drain()
    terminal.check_restored()
    terminal.text = b""
    os.write(tell, b"c")
    terminal.wait(ENTER)
    os.write(terminal.master, b"\n")
    check_equal(terminal.end(process), 5)
    terminal.check_restored()


def test_live_without_its_screen():
    """Whatever becomes of panalyze: the command does not notice, and the terminal is given back."""
    terminal = Terminal()
    process = live(terminal, ["sh", "-c", "read go; echo done; exit 3"])
    terminal.wait(ENTER)
    os.kill(wait_until(lambda: child_of(process.pid, "panalyze"), what="panalyze"), signal.SIGKILL)
    os.write(terminal.master, b"\n")
    check_equal(terminal.end(process), 3)
    check_equal(open("log").read(), "done\n")
    check_in("--live: signal 9 ended panalyze", open("errors").read())
    terminal.check_restored()


def test_live_without_its_collector():
    """pinject-run is killed: the screen goes by itself, the command stays."""
    terminal = Terminal()
    need_perf_events()
    # Not the session's leader: the kernel itself hangs up when that ends.
    shell = terminal.start(["sh", "-c", '"$@"; read go', "sh", PINJECT_RUN, "--live", "--", target("spin"), "600000"],
                           stdout=open("log", "wb"), stderr=open("errors", "wb"))
    terminal.wait(ENTER)
    collector = wait_until(lambda: child_of(shell.pid, "pinject-run"), what="pinject-run")
    command = wait_until(lambda: child_of(collector, "spin"), what="the command")
    alive, screen = (os.open(f"/proc/{pid}", os.O_PATH) for pid in
                     (command, wait_until(lambda: child_of(collector, "panalyze"), what="the screen")))
    os.kill(collector, signal.SIGKILL)
    wait_until(lambda: LEAVE in terminal.read(), limit=60, what="the screen to go")
    terminal.check_restored()
    wait_until(lambda: not exists_at(screen), limit=60, what="the end of panalyze")
    check(exists_at(alive), "the command has ended too")
    os.kill(command, signal.SIGKILL)
    os.write(terminal.master, b"\n")
    terminal.end(shell)


def exists_at(directory):
    try:
        os.stat("stat", dir_fd=directory)
        return open(f"/proc/self/fd/{directory}/stat").read().split(") ")[1][0] != "Z"
    except OSError:
        return False


def test_live_to_a_file():
    need_perf_events()
    bare = run([target("spin"), "50"])
    result = pinject_run("-q", "--live=shown", "--", "sh", "-c", f"{target('spin')} 50 >/dev/null; echo out").ok()
    check_equal((result.out, result.err), ("out\n", ""))
    text = open("shown").read()
    check_match(r"^ended after .* 2 tasks, 0 alive", text.rpartition("\nsh -c")[2] or text)
    check("\033" not in text)
    check_equal(bare.status, 0)


def test_live_is_refused():
    """Where two would write to one terminal, or there is none: nothing is run, and what to do is said."""
    command = [PINJECT_RUN, "--live", "--", "touch", "ran"]
    for streams, words in (({}, "output and errors go .* >log 2>&1"),
                           ({"stderr": subprocess.PIPE}, "output goes .* >log"),
                           ({"stdout": subprocess.PIPE}, "errors go .* 2>log")):
        terminal = Terminal()
        process = terminal.start(command, **streams)
        check_equal(terminal.end(process), 125)
        said = terminal.text.decode() + (process.stderr.read().decode() if "stderr" in streams else "")
        check_match(rf"^pinject-run: --live: the command's {words}, or watch from another terminal: "
                    r"panalyze top out", said)
    result = run(command)
    check_equal(result.status, 125)
    check_match(r"^pinject-run: --live: no terminal .*--live=FILE", result.err)
    os.mkfifo("fifo")
    for name, reason in (("fifo", "No such device"), ("no/such/file", "No such file"), ("/", "Is a directory")):
        result = pinject_run(f"--live={name}", "--", "touch", "ran")
        check_equal(result.status, 125)
        check_match(rf"^pinject-run: --live: '{name}' cannot be written: {reason}", result.err)
    result = pinject_run("--live=", "--", "touch", "ran")
    check_equal(result.status, 125)
    check(not os.path.exists("ran"), "the command was run")


def test_live_on_another_terminal():
    need_perf_events()
    other = Terminal()
    process = start([PINJECT_RUN, "-q", f"--live={os.ttyname(other.slave)}", "--", target("spin"), "600000"],
                    env={"TERM": "xterm"})
    other.wait(b"spin_a")
    other.resize(50, 12)  # nobody is told of it
    other.wait(b"\033[12;1H")
    process.terminate()
    check_equal(other.end(process), 128 + signal.SIGTERM)
    other.check_restored()


if __name__ == "__main__":
    main()
