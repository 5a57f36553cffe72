# SPDX-License-Identifier: MIT
# labels: faults
# timeout: 240
"""SIGKILL of the collector, of the command, of children, at several moments: the program is what it was, and the files
that are there can be read."""
from harness import *

STORM = [target("storm"), "forks", "1600", "16", "2"]
SUBREAPER = 36


def readable(names):
    """Checks that perf and panalyze read files of NAMES, of which none is empty; a sample of them, as perf takes its
    time. How many."""
    names = sorted(names)
    check_equal([name for name in names if os.path.getsize(name) == 0], [], "empty files")
    some = names[:: max(1, len(names) // 12)]
    for name in some:
        run(["perf", "script", "-i", name]).ok()
    if names:
        panalyze("tree", *some).ok()
    return len(some)


def adopt_orphans():
    """The command of a killed collector becomes our child."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def storm_until(line, *options, **streams):
    """Starts the storm, and waits until it prints LINE. The collector's process, the storm's pid and what it wrote."""
    process = start([PINJECT_RUN, *options, "--follow-all", "--", *STORM], **streams)
    out = process.stdout.readline()
    # The first child, as long as it lives: a helper of the collector's comes after it.
    command = int(open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()[0])
    while line not in out:
        part = process.stdout.readline()
        check(part, f"ended before {line!r}: {out}")
        out += part
    return process, command, out


def kill_collector_at(line):
    """Kills the collector when the storm prints LINE. Output and wait status of the storm, and its ms."""
    for _ in range(20):
        process, command, out = storm_until(line, "-q", stderr=subprocess.DEVNULL)
        process.kill()
        process.wait()
        out += process.stdout.read()
        process.stdout.close()
        try:
            _, status = os.waitpid(command, 0)
        except ChildProcessError:  # it had ended already, and the collector had waited for it
            continue
        return out.decode(), status, int(check_match(r"wall_ms (\d+)", out.decode())[1])
    raise Failure(f"the collector always sees the storm's end before it can be killed at {line!r}")


def lines_but_time(text):
    return re.sub(r"wall_ms \d+", "", text)


def test_collector_killed():
    need_perf_events()
    need("perf")
    adopt_orphans()
    alone = run(STORM).ok()
    files = checked = 0
    for moment in (b"begun\n", b"at 303\n", b"at 808\n", b"at 1515\n"):
        for name in results():
            os.unlink(name)
        out, status, ms = kill_collector_at(moment)
        check_equal(status, 0, f"status of the program, killed at {moment}")
        check_equal(lines_but_time(out), lines_but_time(alone.out), f"output, killed at {moment}")
        files += len(results())
        checked += readable(results())
        if moment == b"begun\n":
            without_ms = ms
    alone_ms = int(check_match(r"wall_ms (\d+)", alone.out)[1])
    with measured():
        check(without_ms <= alone_ms * 1.1 + 500, f"{without_ms} ms without a collector, {alone_ms} ms alone")
    matrix_row("SIGKILL of the collector", f"at 4 moments of {' '.join(STORM[1:])} (--follow-all)",
               f"exit status and output as without us; {files} files were there, {checked} of them read with perf, all "
               f"readable; {alone_ms} ms alone, {without_ms} ms with the collector killed at its start")


def test_segment_of_a_killed_collector():
    """What a killed collector leaves in /dev/shm goes with the next session, also when it was cut short."""
    need_perf_events()
    adopt_orphans()
    ours = lambda: {name for name in os.listdir("/dev/shm")
                    if name.startswith("pinject-") and os.stat(f"/dev/shm/{name}").st_uid == os.geteuid()}
    process = start([PINJECT_RUN, "-q", "--", "cat"], stdin=subprocess.PIPE)
    command = wait_until(lambda: open(f"/proc/{process.pid}/task/{process.pid}/children").read().split())[0]
    segment = segment_of(process)
    process.kill()
    process.wait()
    process.stdin.close()
    os.waitpid(int(command), 0)
    check(os.path.basename(segment) in ours(), "the killed collector left nothing: nothing to test")
    os.truncate(segment, 0)
    os.utime(segment, (time.time() - 3600,) * 2)
    pinject_run("-q", "--", "true").ok()
    left = [name for name in ours() if name.startswith(os.path.basename(segment))]
    check_equal(left, [], "still there")
    matrix_row("SIGKILL of the collector, its segment cut to 0 bytes", "then another session",
               "the next session removes what was left")


def test_command_killed():
    need_perf_events()
    for when in (b"begun\n", b"at 808\n"):
        process, command, out = storm_until(when)
        os.kill(command, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        check_equal(process.returncode, 128 + 9, err)
        leader = f"out.{command}.{command}"
        tasks = panalyze_json("tree", leader)["tasks"]
        check_equal([task["exit"] for task in tasks], [128 + 9], tasks)
        for name in results():
            os.unlink(name)
    matrix_row("SIGKILL of the command", "at 2 moments of a fork storm",
               "status 137, its file is complete and names signal 9")


def test_children_killed():
    need_perf_events()
    need("perf")
    done = pinject_run("-v", "--follow-all", "--", target("storm"), "forks", "800", "8", "1", "kill").ok()
    check_in("killed some", done.out)
    # Where all slots are taken, the reason does not say whether it was a process or a thread.
    named = unseen_tasks(done, "^(process|child|task) that ended")
    processes = int(check_match(r"\((\d+) processes", done.err)[1])
    check(processes + named >= 801, f"of 801 processes {processes} are profiled, {named} named: {done}")
    checked = readable(results())
    matrix_row("SIGKILL of children", "every 8th of 800 children as soon as it exists, 8 at a time",
               f"{processes} processes profiled, {named} named as not seen; {checked} files read with perf")


if __name__ == "__main__":
    main()
