# SPDX-License-Identifier: MIT
# labels: faults
# run-as: root
# timeout: 120
"""A disk that fills up: the program ends as always, what is on the disk is readable, what is not is counted."""
from harness import *

# In a mount namespace of its own; the files are copied out of it before it ends.
SCRIPT = """
mount -t tmpfs -o size=$1 tmpfs full || exit 99
shift
"$@"
status=$?
cp full/* kept/
exit $status
"""


def on_a_small_disk(size, *args):
    for name in ("full", "kept"):
        os.makedirs(name, exist_ok=True)
    if run(["unshare", "-m", "sh", "-c", "mount -t tmpfs tmpfs full"]).status != 0:
        skip("mounting is refused here")
    return run(["unshare", "-m", "sh", "-c", SCRIPT, "sh", size, PINJECT_RUN, "--follow-all", "-o", "full/out", *args])


def check_readable():
    names = sorted(f"kept/{name}" for name in os.listdir("kept"))
    check(names, "nothing was written at all")
    for name in names:
        run(["perf", "script", "-i", name]).ok()
    panalyze("tree", *names).ok()
    return len(names)


def test_full_disk():
    need_perf_events()
    need("unshare")
    need("perf")
    command = ["-v", "--", "sh", "-c", f"{target('storm')} forks 200 8 2; exit 3"]
    done = on_a_small_disk("256k", *command)
    check_equal(done.status, 3, done)
    check_in("children 200 failed 0", done.out)
    failed = int(check_match(r"(\d+) files are missing or not complete: No space left on device", done.err)[1])
    files, named = check_readable(), missed_tasks(done)
    check(files + failed + named >= 602, f"{files} files and {failed} missing of 602, {named} not seen: {done}")
    matrix_row("disk full", "256 KiB for 602 files",
               f"the program's own exit status; {files} files, all read with perf; {'; '.join(summary_lines(done))}")


def test_disk_that_is_full_at_the_start():
    """Told before the program starts: when it ends, a bare session has no stderr any more."""
    need_perf_events()
    need("unshare")
    os.makedirs("full", exist_ok=True)
    script = 'mount -t tmpfs -o size=$1 tmpfs full && head -c $2 /dev/zero >full/rest || exit 99; shift 2; exec "$@"'
    told = ("the disk for the result files 'full/out.PID.TID' is full: result files will be missing or not "
            "complete; make room, or choose another place with --outfile\n")
    for room, says in ((8, told), (900, "")):
        small = ["unshare", "-m", "sh", "-c", script, "sh", "1m", str((1024 - room) * 1024)]
        done = run([*small, "env", f"LD_PRELOAD={PRELOAD}", "PINJECT_OUTFILE=full/out", "/bin/sh", "-c",
                    "echo out; exit 3"])
        if done.status == 99:
            skip("mounting is refused here")
        check_equal((done.status, done.out), (3, "out\n"))
        check_equal(done.err, says and "pinject-run: warning: " + says)
        done = run([*small, PINJECT_RUN, "-q", "-o", "full/out", "--", "sh", "-c", "exit 3"])
        check_equal((done.status, done.err[:len(says) + 22]), (3, says and "pinject-run: warning: " + says), done)


def test_full_disk_strict():
    need_perf_events()
    need("unshare")
    command = ["--", "sh", "-c", f"{target('storm')} forks 200 8 2; exit 3"]
    done = on_a_small_disk("256k", "-q", "--strict", *command)
    check_equal(done.status, 125, done)
    check_match(r"^pinject-run: --strict: \d+ files are missing or not complete$", done.err)
    done = on_a_small_disk("64m", "-q", "--strict", *command)
    said = [line for line in done.err.splitlines() if not line.startswith("pinject-run: --strict: not seen (")]
    check_equal((done.status, said), (125 if done.err else 3, []), "enough room")
    with measured():  # on a busy machine some may have ended before their events were open
        check_equal(done.err, "", "enough room")
    matrix_row("disk full, --strict", "256 KiB for 602 files",
               "status 125, with the reason on stderr; with 64 MiB the command's own status")


def test_disk_full_while_a_file_grows():
    need_perf_events()
    need("unshare")
    need("perf")
    done = on_a_small_disk("96k", "-F", "4999", "--", target("spin"), "2500")
    check_equal(done.status, 0, done)
    check_match(r"1 file is missing or not complete: No space left on device", done.err)
    files = check_readable()
    # What is in the file and what could not be written are all that there was; a report says it first.
    taken = int(check_match(r"1 task, (\d+) samples of task-clock, \d+ lost", done.err)[1])
    unwritten = int(check_match(r"; (\d+) samples could not be written$", done.err)[1])
    names = sorted(f"kept/{name}" for name in os.listdir("kept"))
    document = panalyze_json(*names)
    coverage, written = document["coverage"], document["total"]["samples"]
    check(unwritten > 0, done)
    check_equal((written + unwritten, coverage["unwritten_samples"], coverage["incomplete_files"]),
                (taken, unwritten, 1), "samples")
    first = run([PANALYZE, *names]).ok().lines[0]
    share = float(check_match(rf"; ([\d.]+) % of the CPU time is in this profile; {unwritten:,} samples could not be "
                              r"written, so 1 result file is missing or not complete(; [\d,]+ samples? lost)?$", first)[1])
    check(near(share, 100 * written / taken, points=5), f"{share} % of {written} of {taken}")
    matrix_row("disk full while a file grows", "96 KiB for 2.5 s at 4999 Hz",
               f"the program's own exit status; the file is readable up to the point where the disk was full "
               f"({files} file); {'; '.join(summary_lines(done))}")


if __name__ == "__main__":
    main()
