# SPDX-License-Identifier: MIT
# labels: scripts
# scripts/profile COMMAND on the build that is being tested, which it must not build anew under the other tests.
from harness import *


def profile(*args, **kw):
    if not os.path.exists("tree"):
        shutil.copytree(SOURCE / "scripts", "tree/scripts")
        pathlib.Path("tree/scripts/build").write_text('#!/bin/sh\necho "build $*" >>built\n')
        pathlib.Path("tree/scripts/setup").write_text('#!/bin/sh\necho "setup $*" >>built\n')
    return run(["tree/scripts/profile", *args], env={"PINJECT_BUILD_DIR": BUILD}, **kw)


def test_help():
    check_in("scripts/profile [COMMAND", profile("--help").ok().out)


def test_command():
    need_perf_events()
    result = profile("sh", "-c", f"{target('spin')} 300; exit 3")
    check_equal(result.status, 3, result)
    check_equal(pathlib.Path("built").read_text().split()[:4], ["setup", "build", "build", str(BUILD)])
    for part in ("spin_a", "spin_b"):
        check_in(part, result.out)
    check_in("tree", result.err)
    folder = check_match(r"result files are (\S+)/out.PID.TID", result.err)[1]
    check(len([name for name in os.listdir(folder) if name.startswith("out.")]) >= 2, os.listdir(folder))


def test_command_not_found():
    result = profile("/nonexistent/program")
    check_equal(result.status, 127, result)
    check_in("/nonexistent/program", result.err)


if __name__ == "__main__":
    main()
