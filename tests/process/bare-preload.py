# SPDX-License-Identifier: MIT
"""LD_PRELOAD=libpinject.so alone: its own collector, out.PID.TID in the working directory, a way to wait, no rest."""
import fcntl

from harness import *


def bare(command, **variables):
    need_perf_events()
    done = run(command, env=dict(LD_PRELOAD=PRELOAD, **variables))
    pinject_run("--wait=" + variables.get("PINJECT_OUTFILE", "out")).ok()
    return done


def collectors():
    """Collectors that run now for our directory, where they write."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            ours = b"--collect" in open(f"/proc/{pid}/cmdline", "rb").read()
            if ours and os.getcwd() in open_files(pid):
                found.append(pid)
        except OSError:
            pass
    return found


def test_files_and_samples():
    done = bare([target("spin"), "300"], PINJECT_FREQ="999").ok()
    pid = int(re.search(r"pid (\d+)", done.out)[1])
    check_files(1)
    check_equal(results(), [f"out.{pid}.{pid}"])
    task = panalyze_json(results()[0])["tasks"][0]
    with measured():
        check(task["samples"] > 200, task)
    check_equal(task["cmdline"], [target("spin"), "300"])
    wait_until(lambda: not collectors(), what="the end of the collector")
    check_equal([name for name in os.listdir(".") if not name.startswith("out.")], [])


def test_threads_of_the_first_process():
    bare([target("spin"), "50", "4"]).ok()
    check_files(4)


def test_children_are_not_followed_where_nobody_asks():
    bare(["sh", "-c", "/bin/true; /bin/true; :"], PINJECT_FOLLOW="none").ok()
    check(len(results()) <= 1, results())
    check_files(1)


def test_all_is_followed():
    bare(["sh", "-c", "/bin/true; /bin/true; :"]).ok()
    with measured():
        check(results(), "no file at all")
    check_named(3)
    check_files(3)
    names = sorted(task["comm"] for task in panalyze_json("tree", *results())["tasks"])
    check_equal(names, ["sh", "true", "true"])


def test_other_base_and_stat():
    bare([target("spin"), "50"], PINJECT_OUTFILE="other", PINJECT_STAT="1").ok()
    check_files(1, "other")
    check_equal(panalyze_json("counts", *results("other"))["total"]["samples"], 0)


def test_output_is_the_programs_own():
    alone = run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    done = bare(["sh", "-c", "echo out; echo err >&2; exit 3"])
    check_equal((done.status, done.out, done.err), (alone.status, alone.out, alone.err))


def test_a_mistake_in_a_variable_is_told_and_harms_nothing():
    need_perf_events()
    done = run(["sh", "-c", "echo out; exit 3"], env={"LD_PRELOAD": PRELOAD, "PINJECT_FREQ": "many"})
    check_equal((done.status, done.out), (3, "out\n"))
    check_in("PINJECT_FREQ", done.err)
    check_equal(results(), [])


def test_no_collector_harms_nothing():
    done = run(["sh", "-c", "echo out; exit 3"],
               env={"LD_PRELOAD": PRELOAD, "PINJECT_COLLECTOR": "/nonexistent/pinject-run"})
    check_equal((done.status, done.out, done.err), (3, "out\n", ""))


def test_no_collector_is_told_where_one_asks():
    done = run(["sh", "-c", "echo out; exit 3"],
               env={"LD_PRELOAD": PRELOAD, "PINJECT_COLLECTOR": "/nonexistent/pinject-run", "PINJECT_VERBOSE": "1"})
    check_equal((done.status, done.out), (3, "out\n"))
    check_match(r"\Apinject-run: nothing is profiled: cannot find the program pinject-run that belongs to \S+/libpinject.so; "
                r".*\n\Z", done.err)


def test_a_collector_that_cannot_be_executed_is_told_once():
    """One line before all that the program and its children say, which stays as it is."""
    pathlib.Path("closed").write_text("")
    os.chmod("closed", 0o644)
    script = "echo out; echo err >&2; sh -c 'echo child >&2; echo $LD_PRELOAD'; exit 3"
    for verbose in {}, {"PINJECT_VERBOSE": "1"}:
        alone = run(["sh", "-c", script])
        with open("both", "w+") as both:
            done = run(["sh", "-c", script], stdout=both, stderr=both,
                       env={"LD_PRELOAD": PRELOAD, "PINJECT_COLLECTOR": os.path.abspath("closed"), **verbose})
            both.seek(0)
            text = both.read()
        check_equal(done.status, alone.status)
        with measured():  # the line is waited for, but for two seconds only
            check_equal(text, f"pinject-run: nothing is profiled: {os.path.abspath('closed')} cannot be executed: "
                              "Permission denied\nout\nerr\nchild\n\n")


def test_a_collector_with_rights_that_the_container_does_not_allow():
    setcap = shutil.which("setcap", path=PATH + ":/usr/sbin:/sbin")
    if not IS_ROOT or not setcap or not shutil.which("setpriv", path=PATH):
        skip("needs root, setcap and setpriv")
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="pinject-bare-") as directory:
        os.chmod(directory, 0o755)
        for name in PINJECT_RUN, PRELOAD:
            shutil.copy(name, directory)
        collector = os.path.join(directory, os.path.basename(PINJECT_RUN))
        if run([setcap, "cap_perfmon+ep", collector]).status:
            skip("this file system keeps no rights")
        bare = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "env",
                f"LD_PRELOAD={directory}/{os.path.basename(PRELOAD)}"]
        done = run([*bare, "sh", "-c", "echo out; exit 3"])
        check_equal((done.status, done.out), (3, "out\n"))
        check_equal(done.err, f"pinject-run: nothing is profiled: {collector} cannot be executed: its file "
                              "has capabilities that this process cannot get (to remove them, as root: setcap -r "
                              "FILE)\n")


def test_wait_without_a_session():
    pinject_run("--wait").ok()
    check_equal(pinject_run("--wait=missing/out").status, 125)


def test_no_child_and_no_descriptor_of_ours():
    script = ("import os\nprint(sorted(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task')))\n"
              "try:\n os.wait()\nexcept ChildProcessError: print('no child')")
    python = need("python3")
    alone = run([python, "-S", "-E", "-c", script]).ok()
    done = bare([python, "-S", "-E", "-c", script]).ok()
    check_equal(done.out, alone.out)


def test_the_collector_holds_nothing_of_the_program():
    """Whether the kernel closes all that it inherits at once (close_range) or refuses to."""
    need_perf_events()
    for before in [], [target("seccomp-deny"), "--syscall", "close_range", "--errno", "ENOSYS", "--"]:
        read_end, write_end = os.pipe()
        high = fcntl.fcntl(write_end, fcntl.F_DUPFD, 700)
        program = start([*before, "env", f"LD_PRELOAD={PRELOAD}", "sh", "-c", "echo ready; read line; :"],
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(write_end, high))
        check_equal(program.stdout.readline(), b"ready\n")
        pid = wait_until(collectors, what="the collector")[0]
        pipe = os.readlink(f"/proc/self/fd/{write_end}")
        # Ours may see it just before it closes them: the program waits for a late collector for two seconds only.
        wait_until(lambda: pipe not in open_files(pid), what=f"the collector to close what it inherits, {before}")
        program.communicate(b"\n", timeout=60)
        for fd in read_end, write_end, high:
            os.close(fd)
        wait_until(lambda: not collectors(), what="the end of the collector")


if __name__ == "__main__":
    main()
