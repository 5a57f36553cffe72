# SPDX-License-Identifier: MIT
# labels: scripts
# scripts/profile COMMAND on the build that is being tested, which it must not build anew under the other tests.
from harness import *


def profile(*args, build=BUILD, **kw):
    if not os.path.exists("tree"):
        shutil.copytree(SOURCE / "scripts", "tree/scripts")
        pathlib.Path("tree/scripts/build").write_text('#!/bin/sh\necho "build $*" >>built\n')
        pathlib.Path("tree/scripts/setup").write_text('#!/bin/sh\necho "setup $*" >>built\n')
    return run(["tree/scripts/profile", *args], env={"PINJECT_BUILD_DIR": build}, **kw)


def test_help():
    check_in("scripts/profile [COMMAND", profile("--help").ok().out)


def test_command():
    need_perf_events()
    result = profile("sh", "-c", f"{target('spin')} 300; exit 3")
    check_equal(result.status, 3, result)
    check_equal(pathlib.Path("built").read_text().split()[:4], ["setup", "build", "build", str(BUILD)])
    for part in ("spin_a", "spin_b"):
        check_in(part, result.out)
    check_in("--call-tree", result.err)
    check_in("--by line --sort total", result.err)
    check("--by process" not in result.err, result.err)
    check("anything to do" not in result.err, result.err)
    directory = check_match(r"result files are (\S+)/out.PID.TID", result.err)[1]
    check(len([name for name in os.listdir(directory) if name.startswith("out.")]) >= 2, os.listdir(directory))


def advised(result):
    """The commands that it offers, each of which works."""
    lines = [line for line in result.err.splitlines() if line.startswith("  /")]
    for line in lines:
        run(["sh", "-c", line]).ok()
    return [re.sub(r"^\s*\S+|\S+/out\.\S*|#.*", "", line).split() for line in lines]


def test_advice_for_many_processes():
    need_perf_events()
    script = "i=0; while [ $i -lt 40 ]; do /bin/true; i=$((i+1)); done"
    commands = advised(profile("sh", "-c", f"{script}; {target('spin')} 50"))
    with measured():  # a task without events has no file
        check_equal(commands, [["--by", "process"], ["summary"], ["tree"], ["flame"]])


def test_advice_for_one_program():
    need_perf_events()
    check_equal(advised(profile(target("spin"), "50", "3")),
                [["--call-tree"], ["--by", "line", "--sort", "total"], ["flame"]])


def test_nothing_to_do():
    need_perf_events()
    result = profile("/bin/true")
    with measured():  # as long as other load does not make the loader slow
        check_match(r"\nprofile: the command used only \d+\.\d ms of CPU time: was there anything to do\?\n",
                    result.err)


def test_rights_that_the_container_does_not_allow():
    setcap = shutil.which("setcap", path=PATH + ":/usr/sbin:/sbin")
    if not IS_ROOT or not setcap or not shutil.which("setpriv", path=PATH):
        skip("needs root, setcap and setpriv")
    os.makedirs("build/bin")
    shutil.copy(PINJECT_RUN, "build/bin")
    if run([setcap, "cap_perfmon+ep", "build/bin/pinject-run"]).status:
        skip("this file system keeps no rights")
    profile("--help")  # makes the tree
    place = os.path.abspath("build")
    done = run(["setpriv", "--bounding-set=-perfmon", "tree/scripts/profile", "echo", "hello"],
               env={"PINJECT_BUILD_DIR": place})
    check_equal((done.status, done.out), (126, ""), done)
    remedy = check_match(r"file capabilities that this container does not\nprofile: allow; .*: (setcap -r .*)\n",
                         done.err)[1]
    run(["sh", "-c", remedy], env={"PATH": f"{PATH}:/usr/sbin:/sbin"}).ok()
    check_equal(run(["setpriv", "--bounding-set=-perfmon", "build/bin/pinject-run", "--help"]).status, 0)


def test_command_not_found():
    result = profile("/nonexistent/program")
    check_equal(result.status, 127, result)
    check_in("/nonexistent/program", result.err)


if __name__ == "__main__":
    main()
