# SPDX-License-Identifier: MIT
"""What the collector of a bare LD_PRELOAD holds of the program's place, and for how long."""
from harness import *

# In a mount namespace of its own. Says what came of leaving the place: at once, or after how many milliseconds.
PLACE = """
import errno, os, subprocess, sys, time
kind, where, variables = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
os.mkdir("place")
group = ""
if kind == "mount":
    subprocess.run(["mount", "-t", "tmpfs", "none", "place"], check=True)
elif kind == "cgroup":
    if subprocess.run(["mount", "-t", "cgroup2", "none", "place"], stderr=subprocess.DEVNULL).returncode:
        print("refused"); sys.exit()
    own = [line[3:].strip() for line in open("/proc/self/cgroup") if line.startswith("0::")][0]
    group = f"{os.getcwd()}/place{own}/pinject-test-{os.getpid()}"
    try:
        os.mkdir(group)
    except OSError:
        print("refused"); sys.exit()
command = "read go; exit 3"
def enter():
    if group:
        open(group + "/cgroup.procs", "w").write("0")
try:
    program = subprocess.Popen(["sh", "-c", command], cwd="place" if kind == "mount" else None, stdin=subprocess.PIPE,
                               env=dict(os.environ, **dict(word.split("=", 1) for word in variables)),
                               preexec_fn=enter)
    if where == "apart":
        # While it runs: the program alone is there.
        end = time.monotonic() + 60
        while group and len(open(group + "/cgroup.procs").read().split()) != 1 and time.monotonic() < end:
            time.sleep(0.001)
    program.stdin.write(b"\\n"); program.stdin.close()
    print(program.wait(), end=" ")
finally:
    start = time.monotonic()
    while True:
        try:
            if group:
                os.rmdir(group)
            elif kind == "mount" and subprocess.run(["umount", "place"], stderr=subprocess.DEVNULL).returncode:
                raise OSError(errno.EBUSY, "busy")
            break
        except OSError as error:
            if time.monotonic() - start > 60:
                print("never", end=" ")
                break
            time.sleep(0.002)
print(round((time.monotonic() - start) * 1000))
"""


def milliseconds(kind, where, **variables):
    """From the program's end until its place is free."""
    pathlib.Path("place.py").write_text(PLACE)
    words = ",".join(f"{name}={value}" for name, value in dict(variables, LD_PRELOAD=PRELOAD).items())
    done = run(["unshare", "--mount", "--propagation", "private", sys.executable, "-S", "-E", "place.py", kind, where,
                words]).ok()
    shutil.rmtree("place", ignore_errors=True)
    if "refused" in done.out:
        skip("no cgroup can be made here")
    check_match(r"^3 \d+$", done.out, done)
    return int(done.out.split()[1])


def need_namespace():
    need_perf_events()
    if not IS_ROOT or run(["unshare", "--mount", "true"]).status:
        skip("no mount namespace can be made here")


def test_directory_with_results_elsewhere():
    need_namespace()
    base = f"{os.getcwd()}/out"
    taken = [milliseconds("mount", "apart", PINJECT_OUTFILE=base) for _ in range(5)]
    pinject_run("--wait").ok()
    check_files(5)
    # A start of umount, most of it.
    with measured():
        check(min(taken) < 50, taken)


def test_directory_with_results():
    # Until they are written: some milliseconds.
    need_namespace()
    taken = [milliseconds("mount", "there") for _ in range(5)]
    with measured():
        check(min(taken) < 100, taken)


def test_cgroup():
    need_namespace()
    base = f"{os.getcwd()}/out"
    taken = [milliseconds("cgroup", "apart", PINJECT_OUTFILE=base) for _ in range(3)]
    with measured():
        check(min(taken) < 20, taken)
    pinject_run("--wait").ok()
    check_files(3)


def test_ends_with_the_last_task():
    """Not by a time that it waits for others: the kernel tells that there is nobody."""
    need_perf_events()
    for env, command in (({}, ["true"]), (dict(PINJECT_FOLLOW="all"), ["sh", "-c", "/bin/true; (sleep 0.2 &)"])):
        taken = []
        for _ in range(5):
            start(command, env=dict(env, LD_PRELOAD=PRELOAD)).wait()
            begin = time.monotonic()
            pinject_run("--wait").ok()
            taken.append(round((time.monotonic() - begin) * 1000))
        with measured():
            check(min(taken) < (150 if command == ["true"] else 400), taken)
    # Whoever comes late is not left out.
    for name in results():
        os.unlink(name)
    run(["sh", "-c", "(sleep 0.5; /bin/true) & :"], env=dict(PINJECT_FOLLOW="all", LD_PRELOAD=PRELOAD)).ok()
    pinject_run("--wait").ok()
    check_files(3)  # the subshell becomes its last command


if __name__ == "__main__":
    main()
