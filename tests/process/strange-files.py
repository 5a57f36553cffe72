# SPDX-License-Identifier: MIT
# labels: collector faults
# timeout: 240
"""Files that targets have mapped, and that are something else by the time they are looked at."""
import ctypes
import struct

from harness import *

IN_OPEN = 0x20


def opened(paths):
    """A function that says which of PATHS were opened since."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    check(fd >= 0, "inotify")
    watches = {libc.inotify_add_watch(fd, path.encode(), IN_OPEN): path for path in paths}

    def look():
        try:
            events = os.read(fd, 65536)
        except BlockingIOError:
            events = b""
        os.close(fd)
        found = []
        while events:
            watch, _, _, length = struct.unpack_from("iIII", events)
            found.append(watches[watch])
            events = events[16 + length:]
        return found

    return look


def test_fifo():
    """A FIFO has the name of a library by now: whoever has its other end notices nothing."""
    shutil.copy(target("spin"), "lib")
    os.mkfifo("fifo")
    look = opened(["fifo"])
    result = pinject_run("--", target("strange-files"), "replace", "lib", "fifo").ok()
    check_equal(result.lines, ["replaced"])
    check(stat.S_ISFIFO(os.stat("lib").st_mode))
    check_equal(look(), [])


def test_device():
    """The same of a device: root opens none that a target chose."""
    shutil.copy(target("spin"), "lib")
    try:
        os.mknod("device", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        skip("mknod is refused")
    look = opened(["device"])
    result = pinject_run("--", target("strange-files"), "replace", "lib", "device").ok()
    check_equal(result.lines, ["replaced"])
    check_equal(look(), [])


def start_mute(*options, what="fuse", said="mute\n"):
    """pinject-run with a target whose library's file system does not answer any more, in a mount namespace of both."""
    if not IS_ROOT:
        skip("only root can mount a file system in user space here")
    need("unshare")
    os.mkdir("mount")
    directory = os.path.join(os.getcwd(), "mount")
    # Its output is a file: who hangs must not be waited for.
    with open("out.txt", "wb") as out, open("err.txt", "wb") as err:
        process = start(["unshare", "-m", "--propagation", "private", PINJECT_RUN, *options, "--",
                         target("strange-files"), what, directory, "server"],
                        stdin=subprocess.PIPE, stdout=out, stderr=err)
    wait_until(lambda: process.poll() is not None or open("out.txt").read(), 30, "the target")
    text = open("out.txt").read()
    if text.startswith("skipped: "):
        skip(text.strip()[9:])
    check_match(f"^{said}", text)
    return process


def end(process, limit):
    """Waits for PROCESS, LIMIT seconds at most: the server, which holds what hangs, lives for a minute. It is ended in
    any case."""
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(open("server").read()), signal.SIGKILL)


def check_ended(status):
    with measured(if_=status is None):
        check_equal(status, 0, "status")


def end_mute(*options, **kw):
    """What pinject-run said when the command had ended while its library hangs."""
    process = start_mute(*options, **kw)
    process.stdin.close()
    process.stdin = None
    check_ended(end(process, 20))
    return open("err.txt").read()


def test_mute_at_the_end():
    """The command ends while its library hangs: so does pinject-run."""
    end_mute("-o", "out")
    check(results(), "no result file")
    panalyze("summary", *results()).ok()


def test_mute_with_dumps():
    """The same where samples are unwound by the tables of files."""
    need_perf_events()
    end_mute("-o", "out", "-g", "dwarf")


def is_held_up(collector, seen):
    """Does the thread of COLLECTOR for such looks hang in perf_event_open, or in a read of when the task began? In SEEN
    is what the last call found: it has not run since."""
    found = set()
    for thread in pathlib.Path(f"/proc/{collector}/task").iterdir():
        with contextlib.suppress(OSError):
            call, name = (thread / "syscall").read_text(), (thread / "comm").read_text()
            if call.split()[0] in ("298", "241", "0", "63") and name.startswith("pinject-look"):
                switches = re.findall("ctxt_switches:\\s*(\\d+)", (thread / "status").read_text())
                found.add((thread.name, call, *switches))
    held = not found.isdisjoint(seen)
    seen.clear()
    seen.update(found)
    return held


def test_mute_in_exec():
    """A process in the midst of its exec, which the server of a file that it closes holds up: nobody may look at it."""
    need_perf_events()
    process = start_mute("-o", "out", "--follow-all", "-v", what="exec", said="ready\n")
    began = time.monotonic()
    try:
        os.kill(process.pid, signal.SIGSTOP) # so that it looks when the exec has come so far
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT) # all its threads
        process.stdin.write(b"\n")
        process.stdin.flush()
        wait_until(lambda: os.path.exists("held"), what="the server")
        os.kill(process.pid, signal.SIGCONT)
        seen = set()
        wait_until(lambda: is_held_up(process.pid, seen), what="a look at it")
        began = time.monotonic()
        process.stdin.close()
        process.stdin = None
    finally:
        status = end(process, 20)
        took = time.monotonic() - began
    check_ended(status)
    print(f"{took:.1f} s after the command")
    with measured():
        check(took < 2.5, f"{took:.1f} s after the command")
    panalyze("summary", *results()).ok()


def test_mute_meanwhile():
    """While the library hangs, files are written, and a signal that was sent to pinject-run reaches the command."""
    process = start_mute("-o", "out")
    try:
        wait_until(results, 30, "a result file, which comes after a second")
    finally:
        os.kill(process.pid, signal.SIGTERM) # unshare has become it
        status = end(process, 20)
    with measured():
        check(status is not None, "SIGTERM was ignored")


if __name__ == "__main__":
    main()
