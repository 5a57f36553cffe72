# SPDX-License-Identifier: MIT
# labels: scripts
# scripts/setup and scripts/build where something is missing: they say what, and what to do. Nothing is installed here:
# the scripts see only the commands that a test puts on their PATH.
from harness import *

COMMANDS = ("sh", "cat", "mktemp", "rm", "tail", "env", "mkdir", "sed", "grep", "dirname", "nproc")


def tools(**scripts):
    """A PATH with the COMMANDS and SCRIPTS only."""
    os.mkdir("bin")
    for name in COMMANDS:
        os.symlink(need(name), f"bin/{name}")
    for name, script in scripts.items():
        path = pathlib.Path("bin", name.replace("_", "-"))
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    return {"PATH": os.path.abspath("bin")}


def script(name, *args, **kw):
    return run([SOURCE / "scripts" / name, *args], **kw)


def test_nothing_missing():
    env = tools(dpkg_query="echo 'ii '", apt_get="echo called >>apt.log", id="echo 0")
    result = script("setup", env=env).ok()
    check_equal(result.out + result.err, "")
    check(not os.path.exists("apt.log"), "apt-get was called")


def test_no_sudo():
    env = tools(dpkg_query="exit 1", id="echo 1000")
    result = script("setup", env=env)
    check_equal(result.status, 1)
    check_match("no sudo.* cmake .*libcmocka-dev", result.err)
    check_match("apt-get install .* libelf-dev", result.err)
    check("libcmocka-dev" not in script("setup", "build", env=env).err, "the tests' packages for a mere build")


def test_installs_what_is_missing():
    env = tools(dpkg_query="case $4 in libelf-dev|gcc) exit 1 ;; *) echo 'ii ' ;; esac", id="echo 1000",
                sudo='echo "sudo $*" >>log; "$@"', apt_get='echo "apt-get $*" >>log', apt_cache="exit 0")
    script("setup", env=env).ok()
    check_equal(pathlib.Path("log").read_text().splitlines()[-1],
                "apt-get -q -y --no-install-recommends install gcc libelf-dev")
    check_in("sudo env DEBIAN_FRONTEND=noninteractive apt-get -q update", pathlib.Path("log").read_text())


def test_unknown_package():
    env = tools(dpkg_query="case $4 in libelf-dev|zstd) exit 1 ;; *) echo 'ii ' ;; esac", id="echo 0",
                apt_get='echo "apt-get $*" >>log', apt_cache="[ $2 != zstd ]")
    check_in("no package zstd", script("setup", env=env).ok().err)
    check_equal(pathlib.Path("log").read_text().splitlines()[-1],
                "apt-get -q -y --no-install-recommends install libelf-dev")


def test_removed_package_is_missing():
    """dpkg still knows a removed package by its configuration files."""
    env = tools(dpkg_query="[ $4 = libdw-dev ] && echo 'rc ' || echo 'ii '", id="echo 1000")
    check_match("missing.*: libdw-dev$", script("setup", env=env).err)


def test_no_network():
    env = tools(dpkg_query="exit 1", id="echo 0", apt_get="echo 'Temporary failure resolving'; exit 100")
    result = script("setup", env=env)
    check_equal(result.status, 1)
    check_in("Temporary failure resolving", result.err)
    check_in("could not install", result.err)


def test_no_debian():
    result = script("setup", env=tools()).ok()
    check_in("libelf-dev", result.err)


def test_wrong_use():
    result = script("setup", "everything")
    check_equal(result.status, 2)
    check_in("usage", result.err)


def test_build_without_cmake():
    result = script("build", "b", env=tools())
    check_equal(result.status, 1)
    check_in("scripts/setup", result.err)


def test_consumers_that_cannot_be_had():
    """Each is named with what is skipped then; what is there already stays."""
    result = script("consumers", "d", env=tools())
    check_equal(result.status, 1)
    check_match("node or npm is not installed.*skipped", result.err)
    check_match("no Debian.*skipped", result.err)
    shutil.rmtree("bin")
    env = tools(node="exit 0", npm="echo 'npm warn x'; echo 'npm error network'; exit 1", dpkg_deb="exit 0",
                apt_cache="exit 0", apt_get="echo 'E: Unable to fetch'; exit 100", timeout='shift; exec "$@"',
                find="exit 0", cmp="exit 1", cp="exit 0", ls="exit 0")
    result = script("consumers", "d", env=env)
    check_equal(result.status, 1)
    check_match("npm cannot install: npm error network; .*skipped", result.err)
    check_match("cannot download hotspot: E: Unable to fetch; .*skipped", result.err)


def test_build_directory():
    env = tools(cmake="exit 0")
    pathlib.Path("file").write_text("")
    result = script("build", "file/b", env=env)
    check_equal(result.status, 1)
    check_in("cannot create file/b", result.err)
    os.mkdir("other")
    pathlib.Path("other/CMakeCache.txt").write_text("CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n")
    result = script("build", "other", env=env)
    check_equal(result.status, 1)
    check_in("/elsewhere", result.err)


def test_build_fails():
    env = tools(cmake="echo compiling; echo 'main.c:1: error: broken'; exit 1")
    result = script("build", "b", env=env)
    check_equal(result.status, 1)
    check_in("main.c:1: error: broken", result.err)
    check_in("b/build.log", result.err)


def test_build_configures_once():
    env = tools(cmake='echo "$*" >>log; [ "$1" = --build ] || : >b/Makefile')
    for arguments in ([], [], ["-DX=1"], ["-DX=1"], [], ["-DX=2"]):
        script("build", "b", *arguments, env=env).ok()
    calls = [line for line in pathlib.Path("log").read_text().splitlines() if line.startswith("-S")]
    check_equal([call.split()[4:] for call in calls], [[], ["-DX=1"], ["-DX=2"]])


if __name__ == "__main__":
    main()
