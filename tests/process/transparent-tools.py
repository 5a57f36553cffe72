# SPDX-License-Identifier: MIT
# labels: preload transparent
# timeout: 400
"""Debuggers and tracers of followed programs, followed programs in debuggers, and builds that must be identical."""
import hashlib

from harness import *

# What a ptrace user needs; a container may refuse it.
WAYS = {
    "alone": ([], {}),
    "threads": ([PINJECT_RUN, "-q", "--follow=none", "--"], {}),
    "all": ([PINJECT_RUN, "-q", "--follow-all", "--"], {}),
    "bare all": ([], {"LD_PRELOAD": PRELOAD, "PINJECT_FOLLOW": "all"}),
}
WAYS = ways_of_user(WAYS, "alone", "all")


def need_ptrace(program):
    need_perf_events()
    need(program)
    if run(["strace", "-o", "/dev/null", "true"]).status != 0:
        skip("ptrace is refused here")


def start_of(way):
    """The words before a command, so that it alone is profiled in the way."""
    before, more = WAYS[way]
    return [*before, *(["env", *(f"{name}={value}" for name, value in more.items())] if more else [])]


def profiled(way):
    with measured(if_="bare" in way):  # who starts the collector waits two seconds at most, and goes on without it
        check(results(), f"{way}: not profiled")


def check_strict(*command):
    """From outside nothing of COMMAND is missing, or it is said what a busy machine was too late for."""
    result = pinject_run("-q", "--strict", "--follow-all", "-o", "strict", "--", *command)
    with measured(if_=re.search(r"--strict: (not seen |\d+ samples? w.* lost$)", result.err, re.MULTILINE)):
        result.ok()


def test_strace_of_a_followed_script():
    need_ptrace("strace")
    script = "for i in 1 2 3; do /bin/true; done; echo done; ls / >/dev/null; exit 5"
    for way in WAYS:
        # A bare LD_PRELOAD is for the script: the collector that it starts is not one of the traced.
        before, more = WAYS[way]
        inner = [word for name, value in more.items() for word in ("-E", f"{name}={value}")]
        done = run([*before, "strace", "-f", "-c", "-o", "calls", *inner, "sh", "-c", script])
        check_equal((done.status, done.out, done.err), (5, "done\n", ""), way)
        if more:
            run([PINJECT_RUN, "--wait"]).ok()
            profiled(way)
        calls = open("calls").read()
        for call in ("execve", "wait4"):
            check_match(rf" {call}$", calls, way)
        check_equal(check_match(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?execve$", calls)[1], "5", way)
        check("PINJECT" not in calls, way)


def test_profiled_program_traced_from_within():
    # The other way round: pinject-run itself under strace.
    need_ptrace("strace")
    script = "/bin/true; echo done"
    done = run(["strace", "-f", "-o", "calls", PINJECT_RUN, "-q", "--follow-all", "--", "sh", "-c", script])
    check_equal((done.status, done.out, done.err), (0, "done\n", ""))
    check_named(2)  # strace makes the collector so slow that the second may have ended before its events were open


SPAWNS = """#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
extern char **environ;
int main(void)
{
    char *arguments[] = {"true", NULL}, *own[] = {"A=1", NULL};
    int status = -1;
    pid_t pid;
    setenv("B", "2", 1);
    posix_spawnp(&pid, "true", NULL, NULL, arguments, environ);
    waitpid(pid, &status, 0);
    posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, own);
    waitpid(pid, NULL, 0);
    printf("%d\\n", status);
    return 0;
}
"""
THREADS = """#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared;
static void *run(void *argument)
{
    for (int i = 0; i < 100; i++) {
        if (!RACE)
            pthread_mutex_lock(&lock);
        shared++;
        if (!RACE)
            pthread_mutex_unlock(&lock);
    }
    return argument;
}
int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%d\\n", shared);
    return 0;
}
"""


def compiled(name, text, *options):
    need("cc")
    pathlib.Path(f"{name}.c").write_text(text)
    run(["cc", "-g", "-O1", "-pthread", "-o", name, f"{name}.c", *options]).ok()
    return f"./{name}"


def test_verdicts_of_valgrind():
    need_perf_events()
    need("valgrind")
    programs = [("memcheck", compiled("spawns", SPAWNS)), ("drd", compiled("threads", THREADS, "-DRACE=0"))]
    programs += [("helgrind", programs[1][1]), ("helgrind", compiled("race", THREADS, "-DRACE=1"))]
    for tool, program in programs:
        command = ["valgrind", "-q", f"--tool={tool}", "--error-exitcode=9", program]
        # Numbers of processes, threads and addresses differ from run to run, and so does which thread comes first.
        shown = lambda text: sorted(set(re.sub(r"==\d+==|0x[0-9A-F]+|#?\d+|\?\?\?", "", text).splitlines()))
        alone = run(command)
        check_equal(alone.status, 9 if "race" in program else 0, alone)
        for way in list(WAYS)[1:] if tool != "helgrind" else ("all",):
            done = run([*start_of(way), *command])
            check_equal((done.status, shown(done.out)), (alone.status, shown(alone.out)), (way, command))
            check("libpinject" not in done.err and "hook" not in done.err, done)
            if alone.status == 0:
                check_equal(done.err, alone.err, (way, command))
        check_strict(*command[:3], program)
        run([PINJECT_RUN, "--wait"])


def test_report_of_the_thread_sanitizer():
    need_perf_events()
    program = compiled("race", THREADS, "-DRACE=1", "-fsanitize=thread")
    if run([program]).status != 66:
        skip("the thread sanitizer does not run here")
    for way in WAYS:
        done = run([*start_of(way), program])
        check_equal(done.status, 66, way)
        created = re.findall(r"created by main thread at:\n +#0 pthread_create .*\n +#1 (\S+) (\S+)", done.err)
        check(created, done)
        check_equal({(name, os.path.basename(place).partition(":")[0]) for name, place in created},
                    {("main", "race.c")}, way)
        run([PINJECT_RUN, "--wait"])


def test_ldd():
    need_perf_events()
    need("ldd")
    strip = lambda text: re.sub(r" \(0x[0-9a-f]+\)", "", text)
    for command in (["ldd", "/bin/ls"], ["env", "LD_TRACE_LOADED_OBJECTS=", "/bin/ls"],
                    ["sh", "-c", "LD_TRACE_LOADED_OBJECTS=1 /bin/ls; echo $LD_TRACE_LOADED_OBJECTS"]):
        alone = run(command).ok()
        check_in("libc.so", alone.out)
        for way in WAYS:
            done = run([*start_of(way), *command])
            check_equal((done.status, strip(done.out), done.err), (0, strip(alone.out), ""), (way, command))
            run([PINJECT_RUN, "--wait"])
        check_strict(*command)


DEBUGGED = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int value = 41;
void *run(void *data) { value++; return data; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
    printf("value %d\\n", value);
    fflush(stdout);
    return system("exit 3") == 0x300 ? 7 : 8;
}
"""
COMMANDS = ["set pagination off", "set confirm off", "set debuginfod enabled off", "set startup-with-shell off",
            "break run", "run", "backtrace", "info threads", "print value", "finish", "print value", "continue"]


TOLD = re.compile(r"[$#]|value|\[Inferior|Breakpoint|Run till")


def debugged(*before):
    """What a session of gdb shows, without addresses, numbers of tasks, and the names of temporary values."""
    words = [word for command in COMMANDS for word in ("-ex", command)]
    done = run(["gdb", "-nx", "-batch", *words, *before, "--args", "./debugged"])
    text = re.sub(r"0x[0-9a-f]+|LWP \d+|process \d+", "N", done.out)
    return done.status, [line for line in text.splitlines() if TOLD.match(line)]


def build_debugged():
    need_ptrace("gdb")
    open("debugged.c", "w").write(DEBUGGED)
    run([need("gcc", "cc"), "-g", "-O0", "debugged.c", "-o", "debugged", "-pthread"]).ok()


def test_program_profiled_inside_gdb():
    build_debugged()
    expected = debugged()
    check_in("$3 = 42", expected[1])
    for follow in ("", "all"):
        ours = debugged("-iex", f"set environment LD_PRELOAD {PRELOAD}",
                        *(["-iex", f"set environment PINJECT_FOLLOW {follow}"] if follow else []))
        check_equal(ours, expected, f"follow {follow}")
        run([PINJECT_RUN, "--wait"]).ok()
        profiled("bare")
        for name in results():
            os.unlink(name)


def test_gdb_of_a_followed_program():
    # gdb itself is followed, and so is what it starts.
    build_debugged()
    expected = debugged()
    words = [word for command in COMMANDS for word in ("-ex", command)]
    for way in [way for way in ("threads", "all") if way in WAYS]:
        done = run([*start_of(way), "gdb", "-nx", "-batch", *words, "--args", "./debugged"])
        text = re.sub(r"0x[0-9a-f]+|LWP \d+|process \d+", "N", done.out)
        check_equal([line for line in text.splitlines() if TOLD.match(line)], expected[1], way)


def test_gdb_attaches_to_a_followed_program():
    build_debugged()
    # Until it is ended: gdb may take long to come.
    process = start([PINJECT_RUN, "-q", "--follow-all", "--", target("spin"), "1000000", "2"])
    child = wait_until(lambda: child_of(process.pid, "spin"), what="the command")
    wait_until(lambda: len(os.listdir(f"/proc/{child}/task")) > 1, what="its threads")
    done = run(["gdb", "-nx", "-batch", "-p", str(child), "-ex", "info threads", "-ex", "thread apply all backtrace 1",
                "-ex", "detach"])
    os.kill(child, signal.SIGTERM)
    process.communicate(timeout=60)
    check_match(r"Thread \d+ ", done.out)
    check_equal(process.returncode, 128 + signal.SIGTERM)


def build(way):
    """This project's own units, two at a time; a digest of all that came out."""
    directory = pathlib.Path("build")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    sources = [*(SOURCE / "common").glob("*.c"), *(SOURCE / "analyze/model").glob("*.c")]
    if not sources:
        skip("the sources are out of reach")
    flags = f"-O2 -g -std=gnu11 -D_GNU_SOURCE -I{SOURCE} -I{SOURCE}/include -fPIC -MMD"
    objects = {f"{path.parent.name}-{path.stem}.o": path for path in sorted(sources)}
    rules = [f"all.a: {' '.join(objects)}\n\tar rcs $@ $^\n"]
    rules += [f"{name}: {path}\n\tgcc {flags} -c -o $@ {path}\n" for name, path in objects.items()]
    (directory / "Makefile").write_text("".join(rules))
    done = run([*start_of(way), "make", "-s", "-j2", "-C", directory])
    check_equal((done.status, done.out, done.err), (0, "", ""), way)
    if "bare" in way:
        run([PINJECT_RUN, "--wait"]).ok()
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()}


def test_identical_object_files():
    need_perf_events()
    need("make", "gcc", "ar")
    alone = build("alone")
    check(len(alone) > 30, alone)
    for way in list(WAYS)[1:]:
        check_equal(build(way), alone, way)
        profiled(way)
        for name in results():
            os.unlink(name)


if __name__ == "__main__":
    main()
