# SPDX-License-Identifier: MIT
# labels: preload transparent
"""No room and no permission for result files: the program's output and status are its own; what we say is on stderr."""
from harness import *

COMMAND = [target("see-process"), "session"]
WAYS = {
    "all": [PINJECT_RUN, "-q", "--follow-all", "--"],
    "bare all": ["env", f"LD_PRELOAD={PRELOAD}", "PINJECT_FOLLOW=all"],
}


def said(result):
    """Lines of ours on stderr; there are no others."""
    lines = result.err.splitlines()
    check(all(line.startswith("pinject-run: ") for line in lines), result)
    return lines


def test_full_disk():
    need_perf_events()
    need("unshare")
    own_mounts = ["unshare", "-m"] if IS_ROOT else ["unshare", "-r", "-m"]
    os.mkdir("disk")
    script = "mount -t tmpfs -o size=40k none disk && cd disk && head -c 36k /dev/zero >filler && exec \"$@\""
    alone = run([*own_mounts, "sh", "-c", script, "sh", *COMMAND])
    if "mount" in alone.err or "unshare" in alone.err:
        skip(f"no disk of one's own here: {alone.err}")
    alone.ok()
    for way, before in WAYS.items():
        done = run([*own_mounts, "sh", "-c", script, "sh", *before, *COMMAND])
        check_equal((done.status, done.out), (alone.status, alone.out), way)
        lines = said(done)
        if way == "all":
            check(any("No space left on device" in line for line in lines), done)


def test_directory_that_cannot_be_written():
    need_perf_events()
    if IS_ROOT:
        skip("root may write everywhere")
    os.mkdir("locked", 0o555)
    alone = run(COMMAND, cwd="locked").ok()
    done = run([*WAYS["bare all"], *COMMAND], cwd="locked")
    check_equal((done.status, done.out), (alone.status, alone.out))
    check_equal(len(said(done)), 1, done.err)
    check_in("cannot write result files", done.err)


if __name__ == "__main__":
    main()
