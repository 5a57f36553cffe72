# SPDX-License-Identifier: MIT
"""What the process tests stand on.

A test file is tests/process/FEATURE-MODE.py:

    # SPDX-License-Identifier: MIT
    # labels: collector            (more ctest labels; "process" is always one)
    # timeout: 120                 (seconds for the whole file where nothing else runs; it gets three times as long)
    # run-as: root nobody          (the default; "root" alone; "nobody" alone; "self": once, as whoever runs the suite)
    # serial                       (nothing else runs beside it)
    # sanitize                     (runs once more with the sanitized programs)
    from harness import *

    def test_exit_status():
        check_equal(pinject_run("--", "sh", "-c", "exit 7").status, 7)

    if __name__ == "__main__":
        main()

Every function test_* runs in a fresh, empty working directory. `python3 FILE [test_name ...]` runs some of them by
hand; PINJECT_BUILD names the build directory (default: build in the source tree), PINJECT_KEEP=1 keeps the directories.
Comparisons of figures that depend on what else the machine does stand in `with measured():`. Where one of them fails,
its function is tried up to twice more, from its begin, and up to five times more where the host of a virtual machine
took the CPUs away meanwhile; each further try is printed. Whatever else fails has failed. Where some were skipped or
tried again the last line counts them. Exit status: 0, 1 something failed, 77 all was skipped, 99 the file is broken.
"""
import atexit
import contextlib
import ctypes
import fcntl
import functools
import inspect
import json
import os
import pathlib
import platform
import re
import resource
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback

import checks
from checks import *

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PINJECT_BUILD") or SOURCE / "build").resolve()
PROGRAMS = pathlib.Path(os.environ.get("PINJECT_SANITIZED_BUILD") or BUILD).resolve()
SANITIZED = PROGRAMS != BUILD
PINJECT_RUN = str(PROGRAMS / "bin/pinject-run")
PANALYZE = str(PROGRAMS / "bin/panalyze")
PRELOAD = str(PROGRAMS / "lib/libpinject.so")
PINJECT_CI = str(BUILD / "bin/pinject-ci")
TARGETS = BUILD / "tests/targets"
DATA = SOURCE / "tests/data"
IS_ROOT = os.geteuid() == 0
NOBODY = 65534
# Fixed: an entry that an unprivileged user may not search would turn "not found" into "permission denied".
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TRIES = 3
TRIES_STOLEN, MUCH_STOLEN = 5, 0.03  # so many more, where a host took this share of all CPUs
SKIPPED, BROKEN = 77, 99


class Result:
    """How a command ended. status: Python's, -n for signal n. out, err: text; out_bytes, err_bytes: as written."""

    def __init__(self, command, status, out, err, seconds):
        self.command, self.status, self.seconds = command, status, seconds
        self.out_bytes, self.err_bytes = out or b"", err or b""
        self.out = self.out_bytes.decode("utf-8", "backslashreplace")
        self.err = self.err_bytes.decode("utf-8", "backslashreplace")

    @property
    def lines(self):
        return self.out.splitlines()

    def ok(self):
        """Itself, after a check that the status is 0."""
        if self.status != 0:
            raise Failure(f"status {self.status} of {self}")
        return self

    def __str__(self):
        words = " ".join(map(str, self.command))
        tail = lambda text: text if len(text) < 4000 else "[...]" + text[-4000:]
        return f"{words}\n--- status {self.status}, stdout:\n{tail(self.out)}\n--- stderr:\n{tail(self.err)}"


# ---- running programs

def clean_env(changes=None):
    """The environment of every command: nothing of the caller's that changes an answer. A None in CHANGES removes."""
    base = pathlib.Path.cwd() if _directory is None else _directory
    kept = {name: value for name, value in os.environ.items()
            if name in ("USER", "LOGNAME") or name.endswith("SAN_OPTIONS")}
    env = dict(kept, PATH=PATH, HOME=str(base / "home"), TMPDIR=str(base / "tmp"),
               LC_ALL="C.UTF-8", SHELL="/bin/sh")
    for name, value in (changes or {}).items():
        env.pop(name, None)
        if value is not None:
            env[name] = str(value)
    return env


def start(command, env=None, stdin=subprocess.DEVNULL, **kw):
    """subprocess.Popen with the clean environment, default signals, a session of its own; killed when the test ends.
    Its pipes have no buffers: with them, communicate() would leave out what readline() had read behind its line."""
    command = [str(word) for word in command]
    kw.setdefault("stdout", subprocess.PIPE)
    kw.setdefault("stderr", subprocess.PIPE)
    kw.setdefault("start_new_session", True)
    kw.setdefault("bufsize", 0)
    process = subprocess.Popen(command, env=clean_env(env), stdin=stdin, restore_signals=True, **kw)
    _started.append(process)
    return process


def run(command, env=None, input=None, timeout=300, **kw):
    """Runs COMMAND (a list) to its end. env: changes to the clean environment. input: bytes or text for its stdin."""
    begin = time.monotonic()
    if isinstance(input, str):
        input = input.encode()
    process = start(command, env, stdin=subprocess.DEVNULL if input is None else subprocess.PIPE, **kw)
    try:
        out, err = process.communicate(input, timeout=timeout)
    except subprocess.TimeoutExpired as late:
        _kill(process)
        out, err = ((text or b"").decode("utf-8", "backslashreplace") for text in (late.stdout, late.stderr))
        raise Failure(f"not done after {timeout} s: {' '.join(map(str, command))}\n--- stdout so far:\n{out}\n"
                      f"--- stderr so far:\n{err}") from None
    return Result(command, process.returncode, out, err, time.monotonic() - begin)


def pinject_run(*args, **kw):
    return run([PINJECT_RUN, *args], **kw)


def panalyze(*args, **kw):
    return run([PANALYZE, *args], **kw)


def panalyze_json(*args, **kw):
    """The document that panalyze prints for ARGS and --json."""
    return json.loads(panalyze(*args, "--json", **kw).ok().out)


class Finding:
    """A line of pinject-run --doctor: level, text (unwrapped), remedies (commands)."""

    def __init__(self, level, text):
        self.level, self.text, self.remedies = level, text, []

    def __str__(self):
        return "\n> ".join([f"{self.level}: {self.text}", *self.remedies])


def findings(text):
    """What pinject-run --doctor printed: its verdict, and the findings by label."""
    verdict, _, table = text.partition("\n\n")
    found, last = {}, None
    for line in table.splitlines():
        match = re.match(r"  (ok|note|limited|refused) +", line)
        if match:
            last = found[line[11:28].strip()] = Finding(match[1], line[28:].strip())
        elif line.startswith(" " * 26 + "> "):
            last.remedies.append(line[28:])
        elif line.startswith(" " * 28):
            last.text += " " + line.strip()
    return verdict.replace("\n", " "), found


def target(name):
    """Path of one of tests/targets."""
    return str(TARGETS / name)


@functools.lru_cache(maxsize=None)
def target_runs(name):
    """Was the target NAME built, and does the kernel execute it? Some kernels have no 32-bit programs."""
    try:
        subprocess.run([target(name), "1"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
    except OSError:
        return False
    return True


def results(base="out"):
    """The result files of BASE in the working directory, BASE.PID.TID and BASE.PID.TID.EXEC."""
    pattern = re.compile(re.escape(base) + r"(\.\d+){2,3}$")
    return sorted(name for name in os.listdir(".") if pattern.match(name))


def need(*programs):
    """Skips the test where one of PROGRAMS is not installed; the path of the first."""
    for program in programs:
        if not shutil.which(program, path=PATH):
            skip(f"{program} is not installed")
    return shutil.which(programs[0], path=PATH)


@functools.lru_cache(maxsize=None)
def perf_refused():
    """Why the kernel refuses us perf_event_open of task-clock (an errno text), or None."""
    number = {"x86_64": 298, "aarch64": 241, "riscv64": 241}.get(platform.machine())
    if number is None:
        return None
    attr = (ctypes.c_uint32 * 32)(1, 128, 1)  # software, size, task-clock
    attr[10] = 1 << 5 | 1 << 6  # exclude_kernel, exclude_hv
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(number, attr, 0, -1, -1, 8)
    if fd < 0:
        return os.strerror(ctypes.get_errno())
    os.close(fd)
    return None


def need_perf_events():
    if perf_refused():
        skip(f"perf_event_open is refused here: {perf_refused()}")


# Runs a command where tracefs is mounted, in a name space of its own, whether this machine has it mounted or not.
WITH_TRACEFS = ["unshare", "-m", "sh", "-c",
                'cd /sys/kernel/tracing && { [ -e events ] || mount -t tracefs nodev .; } && cd - >/dev/null && '
                'exec "$@"', "sh"]


def need_tracepoint(name):
    """Skips the test where there is no tracepoint NAME ("SYSTEM/EVENT"), or who runs it may not see any."""
    need_perf_events()
    need("unshare")
    if not IS_ROOT:
        skip("only root may see tracepoints")
    if run([*WITH_TRACEFS, "test", "-e", f"/sys/kernel/tracing/events/{name}/id"]).status:
        skip(f"the kernel has no tracepoint {name}")


def need_uprobes(program=None, function=None):
    """
    Skips the test where there are no uprobes, or none for us. With a FUNCTION of PROGRAM, for tests of several tasks,
    also where one takes very long: a task waits 1 s for its events at most, and workers open those of one task after the
    other. Kernels that wait for RCU at each uprobe need long, and longer with other load.
    """
    if not IS_ROOT:
        skip("only root may open uprobes")
    need_perf_events()
    if not os.path.exists("/sys/bus/event_source/devices/uprobe"):
        skip("the kernel has no uprobes")
    if not function:
        return

    def seconds(event):
        begin = time.monotonic()
        pinject_run("--check-events-only", "-e", event).ok()
        return time.monotonic() - begin

    with_probe, without = (min(seconds(event) for _ in range(3))
                           for event in (f"uprobe/path={program},symbol={function}/", "page-faults"))
    more = with_probe - without
    if more > 0.2:
        skip(f"this kernel takes {1000 * more:.0f} ms to open and close a uprobe, and a task waits 1 s for its events")


def need_unwinding():
    if platform.machine() not in ("x86_64", "aarch64"):
        skip("unwinding and pstack know x86-64 and AArch64 only")


# ---- figures

def _steal_ns():
    with open("/proc/stat") as file:
        return int(file.readline().split()[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def stolen_ns():
    """What a hypervisor may have taken of the CPUs since the test function began: three times what the kernel noticed
    at its ticks. The task-clock counts it, getrusage() and a thread's own clock do not."""
    return 3 * (_steal_ns() - _steal_before)


def said_stolen_ns(coverage):
    """What the notes of a document's coverage say was added to the CPU time for a host that took the CPUs away."""
    found = [re.search(r"CPU time includes ([0-9.]+) ms of steal time", note) for note in coverage["notes"]]
    return sum(float(match[1]) * 1e6 for match in found if match)


def is_virtual():
    """Is this a virtual machine, as far as the processor says?"""
    with open("/proc/cpuinfo") as file:
        return bool(re.search(r"^flags\s*:.* hypervisor( |$)", file.read(), re.MULTILINE))


def above_ns(cpu_ns, stolen=None):
    """By how much the tasks may have more CPU time than the CPU_NS that accounting has of their tree. Events go on
    while a hypervisor has the CPU, accounting does not, and the kernel may not notice: up to 4 % were seen, three times
    in a row, where by its own account nothing was stolen. STOLEN: stolen_ns() as it was when they had ended."""
    return (0.05 if is_virtual() else 0.005) * cpu_ns + 4e6 + (stolen_ns() if stolen is None else stolen)


def switched_ns(switches):
    """By how much the task-clock of an inherited set may stay behind the tasks' own CPU clocks. The kernel charges a
    task for stopping and starting timers when it is switched in, and the event does not count that: 4 to 5 us each
    time, as measured beside two suites. Once 3.2 ms of a task were missing; that a busy host makes a switch dearer is a
    guess."""
    return 50e3 * switches


def process_tree_said(out):
    """(pid, tid) -> (CPU time in ns, context switches), as each task of target process-tree said before its end."""
    lines = re.findall(r"^(\d+) (\d+) (\d+) (\d+)$", out, re.MULTILINE)
    return {(int(pid), int(tid)): (int(ns), int(switches)) for pid, tid, ns, switches in lines}


def process_tree_switches(out):
    return sum(switches for _, switches in process_tree_said(out).values())


def adds_up(tree, switches=0):
    """Whether the tasks of a document have the tree's CPU time. A few ms: what the kernel charges while the last ones
    end, under a load of other tests. SWITCHES: how often they were switched in, where that is known."""
    cpu, attributed = tree["coverage"]["cpu_ns"], tree["coverage"]["attributed_ns"]
    return cpu * 0.995 - 4e6 - switched_ns(switches) <= attributed <= cpu + above_ns(cpu)


def missed(tree):
    """What a document's coverage says was not seen, without a few rings that the kernel left stopped: beside other load
    it does now and then (collector/sources/inherited_ring.h says how), and each counts as a lost record, since some may be;
    Linux 6.18 on two CPUs up to 43 times while a Go program ends. Callers compare tasks and CPU time as well."""
    stopped = ("a record about a task with inherited events was lost", "a record of a CPU was lost")
    return [line for line in tree["coverage"].get("missed") or []
            if not line["reason"].startswith(stopped) or line["count"] > 32 * os.cpu_count()]


def wait_until(predicate, limit=60, what=""):
    """Calls PREDICATE until it is true, returns what it returned; fails after LIMIT seconds. Tests' hand-shake."""
    end = time.monotonic() + limit
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"still waiting after {limit} s" + (f" for {what}" if what else ""))
        time.sleep(0.005)


def child_of(parent, name):
    """Pid of the child NAME of the process PARENT, or None."""
    with open(f"/proc/{parent}/task/{parent}/children") as children:
        for pid in children.read().split():
            try:
                if open(f"/proc/{pid}/comm").read().strip() == name:
                    return int(pid)
            except OSError:
                pass
    return None


def skip(reason):
    raise Skip(reason)


def segment_of(process):
    """Path of the shared memory of the pinject-run PROCESS."""
    return next(line.split()[-1] for line in open(f"/proc/{process.pid}/maps")
                if re.search("rw-s.*/pinject-[0-9a-f]{32}$", line.rstrip()))


LONG = bool(os.environ.get("PINJECT_LONG"))


def ways_of_user(ways, *few):
    """WAYS as root, and where PINJECT_LONG is set. An unprivileged user sees of us what root sees: FEW of them."""
    return ways if IS_ROOT or LONG else {way: ways[way] for way in few}


def matrix_row(fault, done, observed):
    """A row of docs/FAULTS.md (scripts/fault-matrix): what was broken, how, and what came of it. After the checks."""
    path = os.environ.get("PINJECT_MATRIX")
    if path:
        user = "root" if IS_ROOT else f"uid {os.geteuid()}"
        row = {"fault": fault, "done": done, "observed": observed, "user": user}
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def summary_lines(result):
    """What the closing summary said of losses: the lines that name them, without their first word."""
    words = ("not seen", "missing", "not sampled", "still run", "lost; the rest")
    return [line.partition(": ")[2] for line in result.err.splitlines()
            if line.startswith("pinject-run: ") and any(word in line for word in words)
            and "kernel code is not sampled" not in line]


def profiled_tasks(result):
    """How many tasks the closing summary counts."""
    return int(check_match(r"^pinject-run: (\d+) tasks?\b", result.err)[1])


def check_files(count, base="out"):
    """COUNT tasks have a file. On a busy machine one may have ended before its events were open: it is tried again."""
    found = results(base)
    with measured():
        check(len(found) == count, f"{len(found)} files instead of {count}")


def check_named(count, base="out"):
    """COUNT tasks of one session have a file, or are named as not seen."""
    found = results(base)
    missed = panalyze_json("tree", *found)["coverage"]["missed"]
    check(len(found) + sum(reason["count"] for reason in missed) >= count, f"{count} tasks: {found}, {missed}")


def missed_tasks(result, pattern="", whole=True):
    """How many tasks the closing summary names as not seen, with a reason that PATTERN matches: where they are to be
    WHOLE, of a run with -v, as the summary has three reasons without."""
    check(not whole or " more reason" not in result.err, f"not all reasons were told: {result.err}")
    found = re.findall(r"^pinject-run: not seen \((\d+) times?\): (.*)$", result.err, re.MULTILINE)
    return sum(int(count) for count, reason in found if re.search(pattern, reason))


def all_seen(result):
    """RESULT, of a run without -q whose counts are to be exact. On a busy machine a task may begin before its events are
    open; the closing summary says so, and the run is tried again."""
    count = missed_tasks(result, whole=False)
    if count:
        raise Noise(f"{count} tasks were not wholly seen: {result}")
    return result


def no_stray_trap(result):
    """RESULT, of a run with breakpoint events. In a virtual machine on an Intel CPU, KVM of Linux before 6.14 may lose
    what the hit of a breakpoint was; the kernel then sends SIGTRAP. The run is tried again there, and only there."""
    with open("/proc/cpuinfo") as file:
        cpu = file.read()
    if result.status == 128 + signal.SIGTRAP and "GenuineIntel" in cpu and " hypervisor" in cpu:
        raise Noise(f"the virtual machine lost the cause of a debug exception: {result}")
    return result


# ---- the runner

_started = []
_directory = None  # of the running test function: work (the working directory), home, tmp
_steal_before = 0
_finished = False


def open_files(pid):
    """What the descriptors of a process lead to, without those that it closes meanwhile."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return found


def _below(pid):
    """The processes that PID has started, and theirs."""
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text(errors="replace")  # anybody's program may be called anything
            parents.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(path.parent.name))
        except OSError:
            pass
    found = [pid]
    for pid in found:
        found += parents.get(pid, [])
    return found[1:]


def _kill(process):
    """Ends PROCESS, which is ours and not yet waited for, with the session that it leads, and a command of
    pinject-run's, which leads one of its own."""
    if process.poll() is not None:
        return
    for pid in _below(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    try:
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    except OSError:
        pass
    try:
        process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        pass  # something that left the session still holds the pipe


def _line(error, path):
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return lines[-1] if lines else 0


def _text(error):
    if isinstance(error, Failure):
        return str(error)
    if isinstance(error, AssertionError):
        return str(error) or "assert " + traceback.extract_tb(error.__traceback__)[-1].line
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def _remove(directory):
    if os.environ.get("PINJECT_KEEP"):
        print(f"kept {directory}", flush=True)
        return
    # Directories that a test has locked are opened from the top down, as the walk reaches them.
    for parent, names, _ in os.walk(directory):
        for name in names:
            path = os.path.join(parent, name)
            if not os.path.islink(path):
                try:
                    os.chmod(path, 0o700)
                except OSError:
                    pass
    shutil.rmtree(directory, ignore_errors=True)


def _attempt(function):
    """Runs one test function in a fresh directory. None, or what it raised."""
    global _directory, _steal_before
    checks.begin()
    _steal_before = _steal_ns()
    _directory = pathlib.Path(tempfile.mkdtemp(prefix="pinject-test-"))
    for name in ("work", "home", "tmp"):
        (_directory / name).mkdir()
    os.chdir(_directory / "work")
    try:
        function()
        return None
    except BaseException as error:  # a sys.exit() of a test is no success either
        return error
    finally:
        for process in _started:
            _kill(process)
        _started.clear()
        os.chdir("/")
        _remove(_directory)
        _directory = None


def _run_one(name, function, path):
    """Its state, and how often it was tried again."""
    calm = taken = 0  # failed tries while the host left us the CPUs, and while it did not
    while True:
        begin = time.monotonic()
        error = _attempt(function)
        if isinstance(error, KeyboardInterrupt):
            raise error
        seconds = time.monotonic() - begin
        if error is None:
            print(f"ok {name} ({seconds:.2f} s)", flush=True)
            checks.record(f"{pathlib.Path(path).stem}:{name}")
            return 0, calm + taken
        if isinstance(error, Skip):
            print(f"skipped {name}: {error}", flush=True)
            return SKIPPED, calm + taken
        what = f"{name}: line {_line(error, path)}: {_text(error)}"
        share = (_steal_ns() - _steal_before) / (seconds * 1e9 * os.cpu_count())
        often = share >= MUCH_STOLEN and taken < TRIES_STOLEN
        if not isinstance(error, Noise) or (calm == TRIES - 1 and not often):
            print(f"FAILED {what}", flush=True)
            return 1, calm + taken
        print(f"retried {what}" + (f" (the host took {share:.0%} of the CPUs)" if often else ""), flush=True)
        calm, taken = (calm, taken + 1) if often else (calm + 1, taken)


def header(path):
    """The settings in the comment lines at the head of a test file."""
    found = {}
    for line in open(path, encoding="utf-8"):
        if not line.startswith("#"):
            break
        match = re.match(r"# ([a-z-]+)(?:: *(.*))?$", line.rstrip())
        if match:
            found[match[1]] = match[2] or ""
    return found


def main():
    """Runs the test functions of the calling file, in the order in which they stand, and exits."""
    global _finished
    _finished = True
    module = sys.modules["__main__"]
    path = module.__file__
    tests = {name: value for name, value in vars(module).items()
             if name.startswith("test_") and inspect.isfunction(value)}
    chosen = sys.argv[1:] or list(tests)
    unknown = [name for name in chosen if name not in tests]
    if unknown or not chosen:
        print(f"{path}: no test function {' '.join(unknown)}; there are: {' '.join(tests)}")
        sys.exit(BROKEN)
    if not IS_ROOT and header(path).get("run-as", "root nobody").split() == ["root"]:
        print("skipped: needs root")
        sys.exit(SKIPPED)
    for program in (PINJECT_RUN, PANALYZE, PRELOAD):
        if not os.path.exists(program):
            print(f"{program} is missing: build first, or set PINJECT_BUILD")
            sys.exit(BROKEN)
    ended = [_run_one(name, tests[name], path) for name in chosen]
    states, retries = [state for state, _ in ended], sum(count for _, count in ended)
    if SKIPPED in states or retries:
        print(f"of {len(states)} tests {states.count(SKIPPED)} were skipped, {retries} retried", flush=True)
    sys.exit(1 if 1 in states else SKIPPED if all(state == SKIPPED for state in states) else 0)


def _forgot_main():
    if not _finished:
        print(f"{sys.argv[0]} ended without harness.main(): none of its tests ran", flush=True)
        os._exit(BROKEN)


def _settle():
    """However the suite was started (nohup, in the background, under a debugger), the commands see defaults."""
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    os.umask(0o022)


# ---- as an unprivileged user

def _as_nobody(command, **kw):
    setpriv = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
    return subprocess.run(setpriv + [str(word) for word in command], stdin=subprocess.DEVNULL, **kw)


def _reachable(*paths):
    script = 'for path; do test -r "$path" || exit 1; done'
    return _as_nobody(["sh", "-c", script, "sh", *paths]).returncode == 0


def _copy_for_nobody(directory, path):
    """Copies what the test PATH runs: the clone lies where an unprivileged user may not look (/root)."""
    source, build = directory / "source", directory / "build"
    for part in ("tests/process", "tests/data", "tests/bench", "tests/consumers", "scripts", "include", "cmake",
                 "docs"):
        if (SOURCE / part).exists():
            shutil.copytree(SOURCE / part, source / part, symlinks=True)
    for part in ("bin", "lib", "tests/targets", "python-tests", "consumers"):
        if not (BUILD / part).exists() or (part == "consumers" and not path.name.startswith("export-")):
            continue
        shutil.copytree(BUILD / part, build / part, symlinks=True, ignore=shutil.ignore_patterns("CMakeFiles"))
    return source, build


def run_as_nobody(path):
    """Runs a test file as uid 65534 in a directory of its own; its exit status."""
    if not IS_ROOT:
        print("skipped: only root can become another user")
        return SKIPPED
    if not shutil.which("setpriv"):
        print("skipped: setpriv is not installed")
        return SKIPPED
    path = pathlib.Path(path).resolve()
    pythons = [sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"]
    python = next((python for python in pythons if _reachable(python)), None)
    if python is None:
        print("skipped: no python3 that uid 65534 can run")
        return SKIPPED
    places = [tempfile.gettempdir(), "/tmp", "/var/tmp"]
    place = next((place for place in places if _as_nobody(["test", "-x", place]).returncode == 0), None)
    if place is None:
        print("skipped: no temporary directory that uid 65534 can reach")
        return SKIPPED
    directory = pathlib.Path(tempfile.mkdtemp(prefix="pinject-nobody-", dir=place))
    try:
        os.chown(directory, NOBODY, NOBODY)
        source, build = SOURCE, BUILD
        if not _reachable(path, PINJECT_RUN, PANALYZE, PRELOAD, TARGETS):
            source, build = _copy_for_nobody(directory, path)
        env = dict(os.environ, TMPDIR=str(directory), PINJECT_BUILD=str(build), HOME=str(directory))
        script = source / path.relative_to(SOURCE)
        return _as_nobody([python, "-B", script], env=env, cwd=directory).returncode
    finally:
        _remove(directory)


_settle()
if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "--as-nobody":
        print("usage: harness.py --as-nobody TEST.py")
        sys.exit(BROKEN)
    sys.exit(run_as_nobody(sys.argv[2]) & 0xff)
atexit.register(_forgot_main)
