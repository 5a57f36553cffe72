# SPDX-License-Identifier: MIT
# labels: collector
"""Sessions of other pid namespaces and of other users, and those whose number went to somebody else."""
import contextlib

from harness import *

def unshare(*more):
    """The words that run a command as process 1 of a new pid namespace, or skips."""
    words = [need("unshare"), "--pid", "--fork", "--mount-proc", "--kill-child", *more]
    if not IS_ROOT:
        words.append("--map-root-user")
    if run([*words, "true"]).status:
        skip("no pid namespace can be made here")
    return words


def segments(process):
    """The segment files that PROCESS, a pinject-run, has open; others run on this machine too."""
    return {link for link in open_files(process.pid) if re.search(r"/pinject-[0-9a-f]{32}$", link)}


@contextlib.contextmanager
def session(*words, ready=True, **kw):
    """A session whose command runs until its stdin ends."""
    for name in results():
        os.unlink(name)
    process = start([*words, "--", "cat"], stdin=subprocess.PIPE, **kw)
    if ready:
        wait_until(lambda: results() and os.path.getsize(results()[0]), what="the first version of the file")
    yield process
    if process.poll() is None:
        process.communicate()


def test_another_namespace_does_not_sweep():
    need_perf_events()
    words = unshare()
    with session(PINJECT_RUN, "-q", "--strict") as first:
        mine = segments(first)
        check_equal(len(mine), 1, "segments")
        # In there no process has the collector's number.
        run([*words, PINJECT_RUN, "-q", "-o", "inner", "--", "true"]).ok()
        check_equal(segments(first), mine, "the segment of a live session was removed")
        out, err = first.communicate()
        check_equal((first.returncode, err), (0, b""))
    check(not os.path.exists(mine.pop()), "its own end left it")


def test_no_number_keeps_a_dead_one():
    """The collector is killed and its number given out again: its session is over all the same."""
    need_perf_events()
    words = unshare("--propagation", "private")
    script = f"""
import glob, os, signal, subprocess, sys, time
def link_of(path):
    try:
        return os.readlink(path)
    except FileNotFoundError:  # closed meanwhile
        return ""
# The sessions of other tests, outside, would take away what a killed one has left.
subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], check=True)
run = subprocess.Popen([{PINJECT_RUN!r}, "-q", "--", "sleep", "1000"])
while not glob.glob("out.*.*"):
    time.sleep(0.01)
links = map(link_of, glob.glob(f"/proc/{{run.pid}}/fd/*"))
mine = {{link for link in links if "/pinject-" in link and len(os.path.basename(link)) == 40}}
os.kill(run.pid, signal.SIGKILL)
run.wait()
# Its number goes to another process, which lives on.
try:
    open("/proc/sys/kernel/ns_last_pid", "w").write(str(run.pid - 1))
except OSError as error:
    sys.exit(f"skip: {{error}}")
other = subprocess.Popen(["sleep", "1000"])
if other.pid != run.pid:
    sys.exit(f"skip: {{other.pid}} instead of {{run.pid}}")
wait = subprocess.run([{PINJECT_RUN!r}, "--wait"], timeout=100, stderr=subprocess.PIPE, text=True)
print(wait.returncode, wait.stderr, end="")
assert len(mine) == 1 and all(map(os.path.exists, mine)), mine
subprocess.run([{PINJECT_RUN!r}, "-q", "-o", "other", "--", "true"], check=True)
print("left:", *filter(os.path.exists, mine))
"""
    result = run([*words, sys.executable, "-c", script])
    if "skip: " in result.err:
        skip(result.err.strip())
    check_equal(result.ok().out.splitlines(), [
        "0 pinject-run: no profile is being written to out", "left:"])


def sleeps(process):
    """Whether PROCESS has ended, or the pinject-run that it is or has started waits in a system call."""
    pid = str(process.pid)
    try:
        while children := pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            pid = children[0]
        name, _, rest = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")
        return process.poll() is not None or (name.endswith("(pinject-run") and rest.startswith("S"))
    except OSError:
        return process.poll() is not None


def check_waits(waiting, running):
    """WAITING does not end before RUNNING, and does not say that there is nobody."""
    wait_until(lambda: sleeps(waiting), what="the wait")
    check_equal(waiting.poll(), None, "ended before the session")
    running.communicate()
    check_equal(waiting.communicate(timeout=60), (b"", b""))
    check_equal(waiting.returncode, 0)


def test_wait_for_another_namespace():
    need_perf_events()
    words = unshare()
    with session(*words, PINJECT_RUN, "-q") as running:
        check_waits(start([PINJECT_RUN, "--wait"]), running)
    with session(PINJECT_RUN, "-q") as running:
        check_waits(start([*words, PINJECT_RUN, "--wait"]), running)
    check_in("no profile is being written to", run([PINJECT_RUN, "--wait"]).ok().err)


def test_wait_for_another_user():
    need_perf_events()
    if not IS_ROOT:
        skip("needs two users")
    os.chmod("..", 0o755)
    os.chmod(".", 0o777)
    nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    for first, second in (({}, nobody), (nobody, {})):
        with session(PINJECT_RUN, "-q", **first) as running:
            check_waits(start([PINJECT_RUN, "--wait"], **second), running)
    # Whose directory cannot be read is not waited for.
    os.mkdir("closed", 0o700)
    with session(PINJECT_RUN, "-q", "-o", "closed/out", ready=False) as running:
        wait_until(lambda: os.listdir("closed"), what="a file")
        check_in("no profile is being written to", run([PINJECT_RUN, "--wait=closed/out"], **nobody).ok().err)


if __name__ == "__main__":
    main()
