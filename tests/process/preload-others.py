# SPDX-License-Identifier: MIT
# labels: preload
"""Beside other preload objects, in programs with sanitizers, and with a session that is none."""
from harness import *


def test_users_own_hooks_still_run():
    need_perf_events()
    env = dict(LD_PRELOAD=target("libuser-preload.so"))
    for command in (["sh", "-c", "/bin/true; :"], [target("spin"), "1", "3"]):
        alone = run(command, env=env).ok()
        check_in("user's ", alone.out)
        said = [line for line in alone.lines if line.startswith("user's")]
        for options in ([], ["--follow-all"]):
            done = pinject_run("-q", *options, "--", *command, env=env).ok()
            check_equal([line for line in done.lines if line.startswith("user's")], said, (command, options))


def test_users_preload_object_behind_ours():
    need_perf_events()
    for value in (f"{PRELOAD}:{target('libuser-preload.so')}", f"{target('libuser-preload.so')} {PRELOAD}"):
        done = run(["sh", "-c", "/bin/true; echo $LD_PRELOAD"], env=dict(LD_PRELOAD=value, PINJECT_FOLLOW="all")).ok()
        check_in("user's execve\n", done.out)
        # Ours may move to the front; the order of the others stays.
        check_equal(sorted(re.split('[: ]', done.lines[-1])), sorted(re.split('[: ]', value)))
        pinject_run("--wait").ok()


def test_programs_with_sanitizers():
    # AddressSanitizer of gcc does not start when another library comes first in the list.
    need_perf_events()
    source = '#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\nstatic void *f(void *a) { return a; }\n' \
        'int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); puts("ok"); ' \
        'return system("exit 3") != 0x300; }\n'
    open("program.c", "w").write(source)
    tried = 0
    for compiler in ("gcc", "clang"):
        for sanitizer in ("address", "thread", "undefined", "leak", "memory"):
            if not shutil.which(compiler, path=PATH) or \
                    run([compiler, f"-fsanitize={sanitizer}", "program.c", "-o", "program", "-pthread"]).status != 0:
                continue
            alone = run(["./program"])
            if alone.status != 0:
                continue
            tried += 1
            for done in (pinject_run("-q", "--follow-all", "--", "./program"),
                         run(["./program"], env=dict(LD_PRELOAD=PRELOAD, PINJECT_OUTFILE="bare"))):
                check_equal((done.status, done.out, done.err), (0, "ok\n", ""), f"{compiler} {sanitizer}")
            pinject_run("--wait=bare").ok()
    if not tried:
        skip("no compiler with sanitizers")


def test_program_of_another_libc():
    # Its loader would refuse our preload object, so that it must not hear of it: a copy of env with a loader of musl's
    # name.
    need_perf_events()
    env = open(need("env"), "rb").read()
    loader = re.search(rb"/lib[^\0]*/ld-linux[^\0]*", env)
    if not loader:
        skip("env has no loader of glibc's name")
    name = b"./ld-musl.so.1"
    open("env", "wb").write(env.replace(loader[0], name.ljust(len(loader[0]), b"\0"), 1))
    os.chmod("env", 0o755)
    os.symlink(loader[0].decode(), name.decode())
    for command in (["./env"], ["sh", "-c", "./env; :"], [target("spawn"), "posix_spawn", "./env"],
                    [target("spawn"), "execvp", "./env"], [target("spawn"), "fexecve", "./env"]):
        done = pinject_run("-q", "--follow-all", "--", "sh", "-c", '"$@"; :', "sh", *command).ok()
        check_in("PATH=", done.out, command)
        check("LD_PRELOAD" not in done.out and "PINJECT" not in done.out, (command, done.out))


def test_session_that_is_none():
    open("empty", "w").close()
    open("large", "wb").write(b"\xff" * 4_000_000)
    os.mkfifo("fifo")
    os.mkdir("directory")
    os.symlink("large", "link")
    script = "env | grep -E 'PINJECT_S|LD_PRELOAD'; /bin/true; echo still here"
    for name in ("", "missing", "empty", "large", "fifo", "directory", "link", "/dev/zero", "/dev/full",
                 "/proc/self/mem", "x" * 5000):
        for path in {name, os.path.abspath(name)}:
            done = run(["sh", "-c", script], env=dict(LD_PRELOAD=PRELOAD, PINJECT_SESSION=path))
            # Not ours: the program runs on, and hands nothing of it to its children.
            check_equal((done.status, done.out, done.err), (0, "still here\n", ""), path)
    check_equal(results(), [])


def test_session_that_is_over():
    need_perf_events()
    left_over = "setsid sh -c ': > there; read line < fifo; env > later' < /dev/null > /dev/null 2>&1"
    script = f"env > variables; {left_over} & until test -e there; do sleep 0.02; done"
    os.mkfifo("fifo")
    pinject_run("-q", "--follow-all", "--", "sh", "-c", script).ok()
    check_in("PINJECT_SESSION=", open("variables").read())
    open("fifo", "w").write("go\n")
    wait_until(lambda: os.path.exists("later") and "PATH=" in open("later").read(), what="the left-over process")
    later = open("later").read()
    check("PINJECT_SESSION" not in later and "LD_PRELOAD" not in later, later)


def test_collector_that_cannot_be_started():
    refused = "pinject-run: nothing is profiled: /etc/passwd cannot be executed: Permission denied\n"
    for path, said in ("/nonexistent", ""), ("/etc/passwd", refused), ("/bin/true", ""), ("/bin/false", ""):
        done = run(["sh", "-c", "env | grep -E 'LD_PRELOAD|SESSION'; echo here"],
                   env=dict(LD_PRELOAD=PRELOAD, PINJECT_COLLECTOR=path))
        check_equal((done.status, done.out), (0, "here\n"), path)
        with measured(if_=bool(said)):  # the line is waited for, but for two seconds only
            check_equal(done.err, said, path)


def test_only_the_hooks_are_exported():
    need("nm")
    names = {line.split()[-1] for line in run(["nm", "-D", "--defined-only", PRELOAD]).ok().lines}
    check_equal(names, set("""pinject_active execl execle execlp execv execve execveat execvp execvpe fexecve
        posix_spawn posix_spawnp pidfd_spawn pidfd_spawnp pthread_create thrd_create _Fork prctl syscall
        wait wait3 wait4 waitid waitpid sigaltstack
        setuid seteuid setreuid setresuid sigaction signal sigprocmask pthread_sigmask __libc_start_main dl_iterate_phdr
        aio_fsync aio_fsync64 aio_read aio_read64 aio_write aio_write64 lio_listio lio_listio64 clone getaddrinfo_a
        mq_notify popen setns system timer_create unshare""".split()))


def test_needs_libc_alone():
    need("readelf")
    dynamic = run(["readelf", "-dW", PRELOAD]).ok().out
    check_equal(re.findall(r"NEEDED.*\[(.*)\]", dynamic), ["libc.so.6"])
    check("TEXTREL" not in dynamic, dynamic)


def test_loads_with_any_libc_since_2_17():
    # Of a version that is missing the dynamic loader makes an error, and the program does not start.
    need("readelf")
    text = run(["readelf", "-VW", PRELOAD]).ok().out
    names = re.findall(r"Name: (\S+)  Flags", text)
    check(names, text)
    for name in names:
        version = check_match(r"^GLIBC_([0-9.]+)$", name)[1]
        check([int(part) for part in version.split(".")] <= [2, 17], name)
    weak = {line.split()[7] for line in run(["readelf", "-W", "--dyn-syms", PRELOAD]).ok().lines
            if " UND " in line and " GLOBAL " in line}
    check(all("@GLIBC_" in name for name in weak), weak)


def test_collector_for_another_libc():
    # As one that was built for a newer one: the loader ends it, and says so.
    need("cc")
    pathlib.Path("n.c").write_text("int needed(void); int needed(void) { return 0; }\n")
    pathlib.Path("c.c").write_text("int needed(void); int main(void) { return needed(); }\n")
    run(["cc", "-shared", "-fPIC", "-o", "libneeded.so", "n.c"]).ok()
    run(["cc", "-o", "collector", "c.c", "-L.", "-lneeded"]).ok()
    check_in("libneeded.so", run(["./collector"]).err)
    done = run(["sh", "-c", "echo here"], env=dict(LD_PRELOAD=PRELOAD, PINJECT_COLLECTOR=f"{os.getcwd()}/collector"))
    check_equal((done.status, done.out, done.err), (0, "here\n", ""))


if __name__ == "__main__":
    main()
