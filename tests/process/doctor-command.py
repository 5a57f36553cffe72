# SPDX-License-Identifier: MIT
# sanitize
"""pinject-run --doctor -- COMMAND: what it is, whether it can be profiled, what would change that. It is not run."""
import struct

from harness import *


def look(*command, options=(), **kw):
    """The findings on COMMAND; every command that has one that is not ok makes the status 1."""
    done = pinject_run(*options, "--doctor", "--", *command, **kw)
    check(done.status in (0, 1), done)
    check_equal(done.err, "")
    verdict, found = findings(done.out)
    mine = [found[name] for name in ("file", "program", "rights", "loader")]
    if any(finding.level in ("limited", "refused") for finding in mine):
        check_equal(done.status, 1, done)
    check(verdict.startswith("For '"), verdict)
    return verdict, found


def write(name, content, mode=0o755):
    with open(name, "wb") as to:
        to.write(content)
    os.chmod(name, mode)
    return "./" + name


def with_loader(name, loader):
    """A copy of a dynamic program that names another loader."""
    program = bytearray(open(target("spin"), "rb").read())
    offset, = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    for at in range(offset, offset + size * count, size):
        kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", program, at)
        if kind == 3:
            check(len(loader) < length, "the loader's name does not fit")
            program[start:start + length] = loader.encode().ljust(length, b"\0")
            return write(name, bytes(program))
    raise Failure("spin has no loader")


def test_a_program():
    _, found = look("sh", "-c", "echo not to be run >ran")
    check_equal({found[name].level for name in ("file", "program", "rights", "loader")}, {"ok"})
    check_match(r"/sh$", found["file"].text)
    check_in("loads the preload object", found["loader"].text)
    check(not os.path.exists("ran"), "the command was run")


def test_without_a_command():
    check("loader" not in findings(pinject_run("--doctor").out)[1])


def test_not_found():
    verdict, found = look("no-such-command")
    check_equal(found["file"].level, "refused")
    check_in("command not found: 'no-such-command'", verdict)
    _, found = look("./no/such")
    check_in("No such file", found["file"].text)
    write("plain", b"", 0o644)
    _, found = look("./plain")
    check_in("Permission denied", found["file"].text)
    check_equal(found["file"].remedies, ["chmod a+rx ./plain"])
    look("")
    look("/")
    look("x" * 5000)


def test_scripts():
    _, found = look(write("script", b"#!/bin/sh\necho ran >ran\n"))
    check_in("./script -> /bin/sh", found["file"].text)
    check_equal(found["file"].level, "ok")
    check_equal(found["loader"].level, "ok")
    _, found = look(write("none", b"#!/no/such/interpreter\n"))
    check_in("/no/such/interpreter", found["file"].text)
    check_equal(found["file"].level, "refused")
    _, found = look(write("loop", b"#!./loop\n"))
    check_in("form a loop", found["file"].text)
    check(not os.path.exists("ran"), "the script was run")


def test_scripts_by_env():
    """Without --follow-exec nothing but env is profiled: what --doctor says is what happens."""
    write("script", b"#!/usr/bin/env sh\ni=0; while [ $i -lt 100000 ]; do i=$((i+1)); done\n")
    _, found = look("./script", options=["--follow=none"])
    check_equal(found["file"].level, "limited")
    check_in("only /usr/bin/env is profiled", found["file"].text)
    check_in("--follow=exec", found["file"].remedies[0])
    for options in ([], ["--follow-exec"], ["--follow-all"]):
        check_equal(look("./script", options=options)[1]["file"].level, "ok")
    need_perf_events()
    check_in("not followed after exec", pinject_run("--follow=none", "--", "./script").ok().err)
    check("not followed" not in pinject_run("--follow-exec", "--", "./script").ok().err)


def test_static():
    verdict, found = look(target("spin-static"))
    check_equal(found["program"].level, "limited")
    check_in("statically linked", verdict)
    check_in("without -static", found["program"].remedies[0])
    if not perf_refused():
        check_in("inherited events profile the program", found["program"].text)
    check_equal(found["loader"].level, "note")


def test_other_loaders():
    if platform.machine() != "x86_64":
        skip("the copy is made for x86-64")
    _, found = look(with_loader("musl", "/lib/ld-musl-x86_64.so.1"))
    check_equal(found["program"].level, "limited")
    check_in("not linked with glibc: /lib/ld-musl-x86_64.so.1", found["program"].text)
    _, found = look(with_loader("gone", "/lib/ld-gone.so.2"))
    check_equal(found["program"].level, "refused")
    check_in("the loader of the program does not exist: /lib/ld-gone.so.2", found["program"].text)


def test_other_machines():
    program = bytearray(open(target("spin"), "rb").read())
    own = program[18:20]
    names = {3: "32-bit x86", 183: "64-bit ARM", 40: "32-bit ARM", 62: "x86-64", 22: "ELF machine 22"}
    for number, name in names.items():
        program[18:20] = struct.pack("<H", number)
        if program[18:20] == own:
            continue
        program[4] = 1 if name.startswith("32") else 2
        _, found = look(write("other", bytes(program)))
        check_equal(found["program"].level, "limited")
        check_in(f"built for another machine: {name}", found["program"].text)


def test_damaged():
    program = open(target("spin"), "rb").read()
    for size in (4, 16, 63, 64, 100, 500):
        _, found = look(write("short", program[:size]))
        check_in(found["program"].level, ("refused", "limited"), size)
    # The loader itself says what it thinks of these.
    for size in (1000, 3000):
        _, found = look(write("half", program[:size]))
        check_equal(found["loader"].level, "limited", found["loader"])


def test_a_loader_that_ignores_the_preload_object():
    """The whole preload object is there for the user who asks; what the loader says of it counts."""
    if SANITIZED:
        skip("the copy does not find its runtime")
    for name, source in (("bin", PINJECT_RUN), ("lib", PRELOAD)):
        os.mkdir(name)
        shutil.copy(source, name)
    write("lib/libpinject.so", b"no DSO")
    done = run(["bin/pinject-run", "--doctor", "--", "sh"])
    found = findings(done.out)[1]["loader"]
    check_equal(found.level, "limited", done)
    check_in("does not load the preload object", found.text)
    check_in("file too short", found.text)
    check_in("--list", found.remedies[0])


def test_setuid():
    """Root's own setuid programs give root nothing; others get rights, and no preload object."""
    programs = [path for path in ("/usr/bin/passwd", "/bin/su", "/usr/bin/su", "/usr/bin/mount")
                if os.path.exists(path) and os.stat(path).st_mode & 0o4000 and os.stat(path).st_uid == 0]
    if not programs:
        skip("there is no setuid program")
    mounted = os.statvfs(programs[0]).f_flag & os.ST_NOSUID
    if mounted or "NoNewPrivs:\t1" in open("/proc/self/status").read():
        skip("nobody gains rights here")
    verdict, found = look(programs[0])
    check_equal(found["rights"].level, "ok" if IS_ROOT else "limited", found["rights"])
    if not IS_ROOT:
        check_in(f"'{programs[0]}' is setuid", verdict)
        check_equal(found["rights"].remedies, ["sudo pinject-run ...    # root can profile it"])
        check_equal(found["loader"].level, "note")
        # Where nobody gains rights it is a program as any other.
        _, found = look(programs[0], preexec_fn=lambda: ctypes.CDLL(None).prctl(38, 1, 0, 0, 0))
        check_equal(found["rights"].level, "ok", found["rights"])


def test_file_capabilities():
    if not IS_ROOT or not shutil.which("setcap", path=PATH):
        skip("needs root and setcap")
    shutil.copy(target("spin"), "spin")
    if run(["setcap", "cap_net_raw+ep", "spin"]).status != 0:
        skip("this file system has no capabilities")
    check_equal(look("./spin")[1]["rights"].level, "ok")
    os.chmod("..", 0o755)
    nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
    if run([*nobody, "sh", "-c", f"test -x ./spin -a -x {PINJECT_RUN}"]).status != 0:
        skip("uid 65534 does not get there")
    done = run([*nobody, PINJECT_RUN, "-o", "/tmp/out", "--doctor", "--", "./spin"])
    found = findings(done.out)[1]["rights"]
    check_equal(found.level, "limited", found)
    check_in("has file capabilities", found.text)


def test_executable_but_not_readable():
    shutil.copy(target("spin"), "spin")
    os.chmod("spin", 0o111)
    _, found = look("./spin")
    if IS_ROOT:
        check_equal(found["rights"].level, "ok")
        return
    check_equal(found["rights"].level, "limited")
    check_equal(found["rights"].remedies, ["chmod a+r ./spin"])
    check_equal(found["program"].level, "note")


def test_noexec():
    if not IS_ROOT or not shutil.which("unshare", path=PATH):
        skip("needs root and unshare")
    os.mkdir("noexec")
    script = f'mount -t tmpfs -o noexec none noexec && cp {target("spin")} noexec/ && exec "$@"'
    done = run(["unshare", "-m", "sh", "-c", script, "sh", PINJECT_RUN, "--doctor", "--", "noexec/spin"])
    if "mount:" in done.err or "unshare:" in done.err:
        skip("this root may not mount")
    found = findings(done.out)[1]["file"]
    check_equal(found.level, "refused")
    check_in("mounted noexec", found.text)
    check_in("remount,exec", found.remedies[0])


def test_hostile_names():
    name = "a'; touch hacked; '\x1b[2J b"
    write(name, b"", 0o644)
    done = pinject_run("--doctor", "--", "./" + name)
    check("\x1b" not in done.out, done)
    write("b'; touch hacked; '", b"", 0o644)
    _, found = look("./b'; touch hacked; '")
    run(["sh", "-c", found["file"].remedies[0]]).ok()
    check(not os.path.exists("hacked"), found["file"])
    check_equal(os.stat("b'; touch hacked; '").st_mode & 0o777, 0o755)
    _, found = look(write("script", b"#!/\x1b[31m/x\xff\n"))
    check("\x1b" not in str(found["file"]))


if __name__ == "__main__":
    main()
