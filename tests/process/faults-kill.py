# SPDX-License-Identifier: MIT
# labels: faults
# timeout: 240
"""SIGKILL of the collector, of the command, of children, at several moments: the program is what it was, and the files
that are there can be read."""
from harness import *

STORM = [target("storm"), "forks", "600", "16", "2"]
# The storm's pid is known before it begins, however late we are.
ANNOUNCED = ["sh", "-c", 'echo $$; read go; exec "$@"', "sh", *STORM]
TRIES_AT = 20
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
    """Starts the storm, and waits until it prints LINE. The collector's process, the storm's pid, a descriptor of it
    and what it wrote."""
    process = start([PINJECT_RUN, *options, "--follow-all", "--", *ANNOUNCED], stdin=subprocess.PIPE, **streams)
    command, out = int(process.stdout.readline()), b""
    pidfd = os.pidfd_open(command)
    process.stdin.write(b"go\n")
    while line not in out:
        part = process.stdout.readline()
        check(part, f"ended before {line!r}: {out}")
        out += part
    return process, command, pidfd, out


def kill_collector_at(line):
    """Kills the collector when the storm prints LINE. Output and wait status of the storm, its ms, and its sleeps."""
    for _ in range(TRIES_AT):
        process, command, pidfd, out = storm_until(line, "-q", stderr=subprocess.DEVNULL)
        os.close(pidfd)
        process.kill()
        process.wait()
        out += process.stdout.read()
        process.stdout.close()
        try:
            _, status, usage = os.wait4(command, 0)
        except ChildProcessError:  # it had ended already, and the collector had waited for it
            continue
        return out.decode(), status, int(check_match(r"wall_ms (\d+)", out.decode())[1]), usage.ru_nvcsw
    raise Failure(f"the collector always sees the storm's end before it can be killed at {line!r}")


def lines_but_time(text):
    return re.sub(r"wall_ms \d+", "", text)


def test_collector_killed():
    need_perf_events()
    need("perf")
    adopt_orphans()
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
    alone = run(STORM).ok()
    alone_sleeps = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before
    files = checked = 0
    for moment in (b"begun\n", b"at 114\n", b"at 304\n", b"at 570\n"):
        for name in results():
            os.unlink(name)
        out, status, ms, sleeps = kill_collector_at(moment)
        check_equal(status, 0, f"status of the program, killed at {moment}")
        check_equal(lines_but_time(out), lines_but_time(alone.out), f"output, killed at {moment}")
        files += len(results())
        checked += readable(results())
        if moment == b"begun\n":
            without_ms, without_sleeps = ms, sleeps
    alone_ms = int(check_match(r"wall_ms (\d+)", alone.out)[1])
    # Nobody waits for it: each of the 600 forks and 1200 threads would sleep once more.
    print(f"{alone_sleeps} sleeps alone, {without_sleeps} without a collector")
    with measured():
        check(without_sleeps <= alone_sleeps + 300, f"{without_sleeps} sleeps without a collector, {alone_sleeps} alone")
        check(checked > 0, "no file of the tasks that had ended")
    matrix_row("SIGKILL of the collector", f"at 4 moments of the test program '{' '.join(STORM[1:])}' (--follow-all)",
               f"exit status and output as without pinject; {files} result files exist, perf read {checked} of them "
               f"without errors; {alone_ms} ms without pinject, {without_ms} ms with the collector killed at its start")


def kill_collector_of_cat():
    """Path of the segment of a collector that was killed."""
    process = start([PINJECT_RUN, "-q", "--", "sh", "-c", "echo $$; exec cat"], stdin=subprocess.PIPE)
    command = int(process.stdout.readline())
    segment = segment_of(process)
    process.kill()
    process.wait()
    process.stdin.close()
    os.waitpid(command, 0)
    return segment


def test_segment_of_a_killed_collector():
    """What a killed collector leaves in /dev/shm goes with the next session, also when it was cut short."""
    need_perf_events()
    adopt_orphans()
    for _ in range(TRIES_AT):
        segment = kill_collector_of_cat()
        try:
            os.truncate(segment, 0)
            os.utime(segment, (time.time() - 3600,) * 2)
            break
        except FileNotFoundError:  # the next session was that of another test that runs beside this one
            continue
    else:
        raise Failure("the killed collectors left nothing: nothing to test")
    pinject_run("-q", "--", "true").ok()
    left = [name for name in os.listdir("/dev/shm") if name.startswith(os.path.basename(segment))]
    check_equal(left, [], "still there")
    matrix_row("SIGKILL of the collector, its segment cut to 0 bytes", "then another session",
               "the next session removes the files that were left")


def kill_storm_at(line):
    """Kills the storm when it prints LINE. Its pid, and status and stderr of pinject-run."""
    for _ in range(TRIES_AT):
        process, command, pidfd, _ = storm_until(line)
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        os.close(pidfd)
        out, err = process.communicate(timeout=60)
        if b"wall_ms" not in out:  # else it had ended already
            return command, process.returncode, err
    raise Failure(f"the storm always ends before it can be killed at {line!r}")


def test_command_killed():
    need_perf_events()
    for when in (b"begun\n", b"at 304\n"):
        command, status, err = kill_storm_at(when)
        check_equal(status, 128 + 9, err)
        leader = f"out.{command}.{command}"
        tasks = panalyze_json("tree", leader)["tasks"]
        check_equal([task["exit"] for task in tasks], [128 + 9], tasks)
        for name in results():
            os.unlink(name)
    matrix_row("SIGKILL of the command", "at 2 moments of a fork storm",
               "status 137; the command's file is complete and names signal 9")


def test_children_killed():
    need_perf_events()
    need("perf")
    done = pinject_run("-v", "--follow-all", "--", target("storm"), "forks", "800", "8", "1", "kill").ok()
    check_in("killed some", done.out)
    # Where all slots are taken, the reason does not say whether it was a process or a thread.
    named = missed_tasks(done, "^(process|child|task) exited before")
    processes = int(check_match(r"\((\d+) processes", done.err)[1])
    check(processes + named >= 801, f"of 801 processes {processes} are profiled, {named} named: {done}")
    checked = readable(results())
    matrix_row("SIGKILL of children", "every 8th of 800 children as soon as it exists; 8 run at a time",
               f"{processes} processes profiled, {named} named as not seen; {checked} files read with perf")


if __name__ == "__main__":
    main()
