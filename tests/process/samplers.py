# SPDX-License-Identifier: MIT
# timeout: 240
# serial
"""--sampler: whether each task has events of its own, inherits those of the command, or has none, as each CPU has them,
the profile is the same, and so is what the program sees of us."""
from harness import *

SOURCES = {"task": "perf", "inherit": "inherited", "cpu": "cpu"}


def samplers():
    """Those that this user and this kernel have, beside "task"."""
    need_perf_events()
    found = ["task"]
    for sampler in ("inherit", "cpu"):
        note = pinject_run("-v", f"--sampler={sampler}", "-o", "probe", "--", "true").err
        for name in pathlib.Path(".").glob("probe.*"):
            os.unlink(name)
        if f"--sampler={sampler} is not possible" not in note:
            found.append(sampler)
    return found


def need_samplers():
    found = samplers()
    if len(found) == 1:
        skip("neither inherited events nor those of each CPU")
    return found


def need_inherit():
    if "inherit" not in samplers():
        skip("Linux 5.13 to 6.18.1 does not report the counts of inherited events")


def record(sampler, command, *options):
    """A recording whose tasks have the events that SAMPLER means, and its report."""
    for name in results():
        os.unlink(name)
    done = pinject_run("-v", f"--sampler={sampler}", *options, "--", *command).ok()
    document = panalyze_json("--aggregate", "--top", "all", *results())
    sources = {task["source"] for task in document["tasks"]}
    check_equal(sources, {SOURCES[sampler]}, done)
    return done, document


def heaviest(document):
    return {(function["symbol"], os.path.basename(function["dso"])): function["self_percent"]
            for function in document["functions"]}


def test_shares():
    """The functions of a tree of processes and threads have the same shares, also those of perf record."""
    found = need_samplers()
    need("perf", "cc")
    # 24 functions, the first one with 24 parts of the work, the last one with one.
    functions = "".join(f"__attribute__((noinline)) void f{i}(void) {{ for (volatile long n = 0; n < {24 - i} * 60000L; n++) ; }}\n"
                        for i in range(24))
    pathlib.Path("work.c").write_text(
        "#include <pthread.h>\n#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\n" + functions +
        "static void *work(void *times) { for (long i = 0; i < (long)times; i++) { " +
        " ".join(f"f{i}();" for i in range(24)) + " } return 0; }\n"
        "int main(int argc, char **argv) { pthread_t thread; if (argc > 1) return work((void *)atol(argv[1])) != 0;\n"
        "if (!fork()) execl(argv[0], argv[0], \"20\", (char *)0); pthread_create(&thread, 0, work, (void *)20);\n"
        "for (int i = 0; i < 20; i++) if (!fork()) { work((void *)1); _exit(0); } else wait(0);\n"
        "pthread_join(thread, 0); while (wait(0) > 0) ; return 0; }\n")
    run(["cc", "-O2", "-pthread", "-o", "work", "work.c"]).ok()
    command, rate = ["./work"], "4999"
    shares = {sampler: heaviest(record(sampler, command, "-F", rate, "-e", "task-clock:u", "-g", "none")[1])
              for sampler in found}
    run(["perf", "record", "-q", "-F", rate, "-e", "task-clock:u", "-o", "perf.data", "--", *command]).ok()
    shares["perf"] = heaviest(panalyze_json("--aggregate", "--top", "all", "perf.data"))
    first = sorted(shares["task"], key=shares["task"].get, reverse=True)[:20]
    check(all(name.startswith("f") for name, _ in first), first)
    worst = {other: max(abs(shares["task"][name] - shares[other].get(name, 0)) for name in first)
             for other in (*found[1:], "perf")}
    figure("20 heaviest functions, points apart from --sampler=task, at most: " +
           ", ".join(f"{other} {points:.1f}" for other, points in worst.items()))
    with measured():
        check(max(worst.values()) <= 2, {name: [shares[which].get(name) for which in shares] for name in first})


def test_cpu_time_of_each_task():
    """
    Within 1 % of what the task itself read just before its end: from its CPU clock, or from a task-clock event of its own.
    On a virtual machine they differ by the time that other guests took; --sampler=cpu has the former, or, of a thread
    that has never slept, the latter.
    """
    spin = target("spin")
    for sampler in need_samplers():
        command = ["sh", "-c", f"{spin} 100 1 count & {spin} 80 2 count & wait; exec {spin} 60 1 count"]
        done, document = record(sampler, command)
        said = {int(tid): (int(cpu if sampler == "cpu" else counted), int(counted))
                for tid, cpu, counted in re.findall(r"tid (\d+) cpu_ns (\d+) counted_ns (\d+)", done.out)}
        check_equal(len(said), 4)
        for task in document["tasks"]:
            least, most = said.get(task["tid"], (0, float("inf")))
            # It has begun before its program did, and ends a little later.
            more = 10e6 if task["tid"] == task["pid"] else 1e6
            with measured():
                check(least * 0.99 <= task["cpu_ns"] <= most * 1.01 + more, f"{sampler}: {said}, {task}")
        coverage = document["coverage"]
        with measured():
            check(coverage["attributed_ns"] >= coverage["cpu_ns"] * 0.99, coverage)


def test_the_same_tree():
    """Names, arguments, parents, exit statuses, threads; also of programs that cannot load the preload object."""
    found = need_samplers()
    script = (f"/bin/true one; {target('spin')} 20 2; (exit 3); sh -c '{target('spin')} 10; exit 4'; "
              f"{target('process-tree')} 20; exit 7")
    trees = {}  # not the programs that each task ran: a child of vfork has events of its own only from its exec on
    for sampler in found:
        for name in results():
            os.unlink(name)
        done = pinject_run("-v", f"--sampler={sampler}", "--", "sh", "-c", script)
        check_equal(done.status, 7)
        all_seen(done)
        tasks = panalyze_json("tree", *results())["tasks"]
        names = {task["pid"]: (task["comm"], tuple(task["cmdline"] or ())) for task in tasks}
        trees[sampler] = sorted((names[task["pid"]], names.get(task["ppid"], ("pinject-run", ())), task["pid"] == task["tid"],
                                 task["exit"]) for task in tasks)
    for sampler in found[1:]:
        other, task = set(trees[sampler]), set(trees["task"])
        check_equal((other - task, task - other), (set(), set()), sampler)
        check_equal(len(trees[sampler]), len(trees["task"]), sampler)


def test_what_the_program_sees():
    """Its parent, its session, its signals, its limits, its descriptors, its children: the same."""
    found = need_samplers()
    need("ps")
    script = ("grep -E '^(SigPnd|SigBlk|SigIgn|SigCgt|Shd|Cap|Seccomp|NoNewPrivs|Threads|TracerPid|Groups)' /proc/self/status; ulimit -a; nice; "
              "ls /proc/self/fd | wc -l; umask; ps -o comm= -p $PPID; trap 'echo child' CHLD; (exit 3); echo $?; "
              "kill -TERM $$; echo not reached")
    seen = {}
    for sampler in found:
        done = pinject_run("-q", f"--sampler={sampler}", "--", "sh", "-c", script)
        seen[sampler] = (done.status, done.out, done.err)
    for sampler in found[1:]:
        check_equal(seen[sampler], seen["task"], sampler)
    check_equal(seen["task"][0], 143)
    check_in("pinject-run", seen["task"][1])


def test_a_command_that_does_not_start():
    for sampler in need_samplers():
        done = pinject_run(f"--sampler={sampler}", "--", "./nothing")
        check_equal((done.status, results()), (127, []), done)
        check_in("cannot run './nothing'", done.err)


def test_interrupted():
    """Ctrl-C ends the command, and all that was sampled is there."""
    for sampler in need_samplers():
        session = start([PINJECT_RUN, f"--sampler={sampler}", "--", "sh", "-c", f"echo begun; {target('spin')} 60000"])
        session.stdout.readline()
        wait_until(lambda: any(os.path.getsize(name) > 4096 for name in results()), what="samples on disk")
        os.killpg(session.pid, signal.SIGINT)
        session.communicate(timeout=60)
        check_equal(session.returncode, 130)
        document = panalyze_json("--aggregate", *results())
        check(document["total"]["samples"] > 0, document["total"])
        for name in results():
            os.unlink(name)


def test_what_cannot_be_inherited():
    """Then each task has events of its own, and a note says why."""
    need_inherit()
    for options, reason in ((["--follow=fork,vfork,pthread"], "--follow"),
                            (["--exec-split-results"], "--exec-split-results"),
                            (["--saturate-smpl-buffer=10"], "--saturate-smpl-buffer"),
                            (["-e", "faults:u", "-F", "99"], "with a frequency")):
        for name in results():
            os.unlink(name)
        done = pinject_run("-v", "--sampler=inherit", *options, "--", target("spin"), "20").ok()
        check_match(f"--sampler=inherit.*{re.escape(reason)}", done.err)
        check_equal({task["source"] for task in panalyze_json("tree", *results())["tasks"]}, {"perf"}, done)
        check("--sampler" not in pinject_run("-v", *options, "--", "true").ok().err)


def test_an_exec_by_a_thread():
    """Its process goes on with the same events, and so does what it starts."""
    python = need("python3")
    script = ("import os, threading\n"
              f"threading.Thread(target=os.execv, args=('/bin/sh', ['sh', '-c', '{target('spin')} 20; exec {target('spin')} "
              "10'])).start()\nthreading.Event().wait()")
    for sampler in need_samplers():
        done, document = record(sampler, [python, "-c", script])
        all_seen(done)
        check_equal(len({task["pid"] for task in document["tasks"]}), 2, done)


def test_another_user():
    """What root starts as another user: all exit statuses are known, and nothing is refused."""
    if not IS_ROOT:
        skip("only root can become another user")
    words = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups sh -c"
    for sampler in need_samplers():
        done, document = record(sampler, ["sh", "-c", f"{words} 'for i in 1 2 3 4 5 6 7 8; do /bin/true; (exit 3); done; :'"])
        all_seen(done)
        check("refused" not in done.err, done)
        check_equal([task["exit"] for task in document["tasks"] if task["pid"] == task["tid"]].count(3), 8, done)


def test_a_daemon():
    """Its parent has ended, and it is ours all the same."""
    need("setsid")
    for sampler in need_samplers():
        done, document = record(sampler, ["sh", "-c", "(setsid sh -c 'for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done; echo end' &) "
                                          "| cat"])
        check("refused" not in done.err, done)
        check_equal([task["cmdline"] for task in document["tasks"] if task["comm"] == "true"], [["/bin/true"]] * 9, sampler)


def need_cpu():
    if "cpu" not in samplers():
        skip("the kernel's accounting and events of each CPU are for root of the first namespaces only")


def test_only_the_tree():
    """Of a busy machine, nothing but the command and what it starts is in the profile."""
    need_cpu()
    others = start(["sh", "-c", f"{target('spin')} 60000 & while :; do /bin/true; done"])
    try:
        done, document = record("cpu", ["sh", "-c", f"/bin/true; {target('spin')} 50; /bin/true; :"])
    finally:
        os.killpg(others.pid, signal.SIGKILL)
        others.wait()
    all_seen(done)
    check_equal(sorted(task["comm"] for task in document["tasks"]), ["sh", "spin", "true", "true"])


def test_threads_without_a_tick():
    """Threads that end before the kernel has looked at their clocks: each has its CPU time all the same."""
    need_cpu()
    need("cc")
    pathlib.Path("threads.c").write_text(
        "#include <pthread.h>\nstatic void *work(void *none) { for (volatile long n = 0; n < 4000000L; n++) ; return none; }\n"
        "int main(void) { for (int i = 0; i < 200; i++) { pthread_t thread; pthread_create(&thread, 0, work, 0);"
        " pthread_join(thread, 0); } return 0; }\n")
    run(["cc", "-O1", "-pthread", "-o", "threads", "threads.c"]).ok()
    for sampler in samplers():
        tasks = record(sampler, ["./threads"], "-F", "99")[1]["tasks"]
        threads = [task["cpu_ns"] for task in tasks if task["tid"] != task["pid"]]
        check_equal(len(threads), 200)
        whole = sum(task["cpu_ns"] for task in tasks)
        with measured():
            check(sum(threads) > whole * 0.8 and min(threads) > max(threads) / 20, f"{sampler}: {whole}, {sorted(threads)}")
    # Without the preload object nobody asks: the process has it, by its parent's wait.
    run(["cc", "-O1", "-pthread", "-static", "-o", "threads", "threads.c"]).ok()
    done, document = record("cpu", ["sh", "-c", "./threads; :"])
    all_seen(done)
    with measured():
        check(document["coverage"]["percent"] > 95, document["coverage"])


def test_static_programs():
    """They cannot load the preload object, and are sampled and counted as the others are."""
    need_cpu()
    need("cc")
    pathlib.Path("static.c").write_text("int main(void) { for (volatile long i = 0; i < 100000000L; i++) ; return 3; }\n")
    run(["cc", "-O1", "-static", "-o", "static", "static.c"]).ok()
    done, document = record("cpu", ["sh", "-c", "./static; :"])
    all_seen(done)
    (task,) = [task for task in document["tasks"] if task["comm"] == "static"]
    check_equal(task["exit"], 3)
    check_equal(heaviest(document).keys() & {("main", "static")}, {("main", "static")})


def test_what_needs_events_of_each_task():
    """Then there are no events of each CPU, and a note says why."""
    need_cpu()
    for options, reason in ((["--exec-split-results"], "--exec-split-results"),
                            (["--switch-events"], "--switch-events"),
                            (["-c", "1000000", "-e", "task-clock,faults:u"], "accounting of a task")):
        for name in results():
            os.unlink(name)
        done = pinject_run("-v", "--sampler=cpu", *options, "--", target("spin"), "20").ok()
        check_match(f"--sampler=cpu.*{re.escape(reason)}", done.err)
        check_equal({task["source"] for task in panalyze_json("tree", *results())["tasks"]}, {"perf"}, done)


def test_refused_to_others():
    """Who may not see all CPUs gets events of each task, and is told why."""
    need_perf_events()
    if IS_ROOT:
        skip("root may")
    done = pinject_run("-v", "--sampler=cpu", "--", target("spin"), "20").ok()
    check_in("because --sampler=cpu is not possible: only root, or a process with CAP_PERFMON, ", done.err)
    check_equal({task["source"] for task in panalyze_json("tree", *results())["tasks"]}, {"perf"}, done)


RELIEF = "per-task events began to cost too much"


def relieved(command, *options):
    """A recording with --sampler=auto during which the tasks lost their events, and its report."""
    for name in results():
        os.unlink(name)
    done = pinject_run("-v", "--sampler=auto", *options, "--", *command).ok()
    document = panalyze_json("--aggregate", "--top", "all", *results())
    notes = [note for note in document["coverage"]["notes"] if RELIEF in note]
    check_equal(len(notes), 1, done)
    return done, document


def test_relief_of_switches():
    """Two threads that switch all the time lose their events: their counts and samples are those of before and after."""
    need_cpu()
    need("cc")
    pathlib.Path("switches.c").write_text("""
        #define _GNU_SOURCE
        #include <pthread.h>
        #include <sched.h>
        #include <stdio.h>
        #include <sys/resource.h>
        #include <time.h>
        #include <unistd.h>
        static int to[2], from[2];
        static void say(void) {
            struct timespec used; struct rusage usage;
            getrusage(RUSAGE_THREAD, &usage); clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
            printf("tid %d ns %lld switches %ld\\n", (int)gettid(), used.tv_sec * 1000000000LL + used.tv_nsec,
                   usage.ru_nvcsw + usage.ru_nivcsw); }
        static void *other(void *none) { char byte;
            while (read(to[0], &byte, 1) == 1 && write(from[1], &byte, 1) == 1) ;
            say(); return none; }
        int main(void) {
            cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one); sched_setaffinity(0, sizeof one, &one);
            char byte = 1; pthread_t thread; struct timespec used = {0};
            if (pipe(to) || pipe(from)) return 1;
            pthread_create(&thread, 0, other, 0);
            while (used.tv_sec * 10 + used.tv_nsec / 100000000 < 5) { /* half a second of this thread */
                if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1) return 1;
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used); }
            close(to[1]); pthread_join(thread, 0); say(); return 0; }
        """)
    run(["cc", "-O1", "-pthread", "-o", "switches", "switches.c"]).ok()
    done, document = relieved(["./switches"])
    all_seen(done)
    check_equal([task["source"] for task in document["tasks"]], ["cpu", "cpu"])
    said = {int(tid): (int(ns), int(switches))
            for tid, ns, switches in re.findall(r"tid (\d+) ns (\d+) switches (\d+)", done.out)}
    check_equal(len(said), 2)
    all_ns, sampled_ns = sum(ns for ns, _ in said.values()), sum(task["weight"] for task in document["tasks"])
    with measured():  # of both: where one of them hands over to the other is always at the same place
        check(all_ns * 0.85 <= sampled_ns <= all_ns * 1.15, f"{said}: {sampled_ns}")
    for task in document["tasks"]:
        ns, switches = said[task["tid"]]
        with measured():
            check(ns * 0.99 - 1e6 <= task["cpu_ns"] <= ns * 1.01 + 3e6, f"{said}, {task}")
        found = [count["value"] for count in task["counts"] if count["event"] == "context-switches"][0]
        check(switches * 0.99 - 10 <= found <= switches * 1.01 + 10, f"{said}: {found}")


def test_relief_of_starts():
    """A storm of short programs, threads and static programs: the tree, the names, the statuses and the counts are whole."""
    need_cpu()
    need("cc")
    pathlib.Path("threads.c").write_text(
        "#include <pthread.h>\nstatic void *work(void *none) { for (volatile long n = 0; n < 100000L; n++) ; return none; }\n"
        "int main(void) { for (int i = 0; i < 50; i++) { pthread_t thread; pthread_create(&thread, 0, work, 0);"
        " pthread_join(thread, 0); } return 4; }\n")
    run(["cc", "-O1", "-pthread", "-o", "threads", "threads.c"]).ok()
    run(["cc", "-O1", "-pthread", "-static", "-o", "static", "threads.c"]).ok()
    script = ("./static; i=0; while [ $i -lt 100 ]; do i=$((i+1)); /bin/true $i; done; ./threads; ./static; (exit 5); "
              "sh -c './threads; ./static; exit 6'; exit 7")
    trees, totals = {}, {}
    for sampler in ("task", "auto"):
        for name in results():
            os.unlink(name)
        done = pinject_run("-v", f"--sampler={sampler}", "--", "sh", "-c", script)
        check_equal(done.status, 7)
        all_seen(done)
        tasks = panalyze_json("tree", *results())["tasks"]
        if sampler == "auto":  # the shells, a child, 100 times true, and five processes with 50 threads each
            check_equal(len(tasks), 3 + 100 + 5 * 51, done)
        names = {task["pid"]: (task["comm"], tuple(task["cmdline"] or ())) for task in tasks
                 if task["pid"] == task["tid"]}
        trees[sampler] = {(names[task["pid"]], names.get(task["ppid"], ("pinject-run", ())),
                           task["pid"] == task["tid"], task["exit"]) for task in tasks}
        document = panalyze_json("--aggregate", *results())
        with measured():
            check(document["coverage"]["percent"] > 97, document["coverage"])
        totals[sampler] = {count["event"]: count["value"] for count in document["counts"]}
        if sampler == "auto":
            check("cpu" in {task["source"] for task in document["tasks"]}, done)
            root = min(document["tasks"], key=lambda task: task["start_ns"])
            if shutil.which("perf"):  # the file of a task that has lost its events has the ids of those
                run(["perf", "script", "-i", f"out.{root['pid']}.{root['tid']}"]).ok()
    with measured():  # a thread may be found late with events of each task, so that its parent is not known
        check_equal(trees["auto"] - trees["task"], set())
        check(abs(totals["auto"]["page-faults"] / totals["task"]["page-faults"] - 1) < 0.1, totals)


def test_relief_beside_execs_by_threads():
    """Threads of static programs call exec while the tasks lose their events: no task is missing."""
    need_cpu()
    need("cc")
    pathlib.Path("execs.c").write_text("""
        #include <pthread.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <time.h>
        #include <unistd.h>
        static char **arguments;
        static void burn(long ns) {
            struct timespec used; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
            const long end = used.tv_sec * 1000000000 + used.tv_nsec + ns;
            do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used); while (used.tv_sec * 1000000000 + used.tv_nsec < end); }
        static void *next(void *left) { char text[16]; burn(10000000);
            if (!left) exit(3);
            sprintf(text, "%ld", (long)left - 1); execl(arguments[0], arguments[0], text, arguments[2], (char *)0); return 0; }
        static void *other(void *none) { burn(5000000); pause(); return none; }
        int main(int argc, char **argv) { /* how often exec is called, whether the first thread ends before */
            pthread_t thread; arguments = argv; burn(5000000);
            pthread_create(&thread, 0, other, 0); pthread_create(&thread, 0, next, (void *)atol(argv[1]));
            if (argc > 2 && *argv[2] == '1') pthread_exit(0);
            for (;;) pause(); }
        """)
    run(["cc", "-O1", "-pthread", "-static", "-o", "execs", "execs.c"]).ok()
    script = "./execs 5 0 & ./execs 5 1 & i=0; while [ $i -lt 100 ]; do i=$((i+1)); /bin/true; done; wait"
    done, document = relieved(["sh", "-c", script])
    check_equal(len({task["tid"] for task in document["tasks"]}), 1 + 100 + 2 * (1 + 6 * 2), done)


def test_relief_of_orphans():
    """Static programs whose children end before their grandchildren begin: all are in the files."""
    need_cpu()
    need("cc")
    pathlib.Path("orphans.c").write_text("""
        #include <sys/prctl.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static void burn(void) { for (volatile int n = 0; n < 300000; n++) ; }
        int main(void) {
            prctl(PR_SET_CHILD_SUBREAPER, 1);
            for (int i = 0; i < 150; i++) {
                if (!fork()) { burn(); if (!fork()) { burn(); if (!fork()) burn(); } _exit(0); }
                if (i % 20 == 19) while (wait(0) > 0) ; }
            while (wait(0) > 0) ;
            return 0; }
        """)
    run(["cc", "-O1", "-static", "-o", "orphans", "orphans.c"]).ok()
    # In most runs the tasks lose their events.
    done = pinject_run("-v", "--", "sh", "-c", "./orphans & ./orphans & ./orphans & wait").ok()
    document = panalyze_json("--aggregate", "--top", "all", *results())
    check_equal(len(document["tasks"]), 1 + 3 * (1 + 150 * 3), done)
    check_equal(len({task["tid"] for task in document["tasks"]}), 1 + 3 * (1 + 150 * 3), done)
    check(97 < document["coverage"]["percent"] < 101, document["coverage"])


def test_setuid_programs():
    """The kernel ends the events of a task that executes one. Where each CPU has events, it is profiled as all others."""
    need_cpu()
    need("cc")
    pathlib.Path("other.c").write_text("""
        #include <sys/wait.h>
        #include <time.h>
        #include <unistd.h>
        static void burn(long ns) {
            struct timespec used;
            do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used); while (used.tv_sec * 1000000000 + used.tv_nsec < ns); }
        int main(void) {
            if (geteuid() == 0) return 1;
            burn(30000000);
            if (!fork()) { burn(50000000); _exit(3); }
            wait(0);
            return 4; }
        """)
    run(["cc", "-O1", "-static", "-o", "other", "other.c"]).ok()
    os.chown("other", NOBODY, NOBODY)
    os.chmod("other", 0o4755)
    if run(["./other"]).status != 4:
        skip("setuid programs are not possible here")
    # An exec that fails late ends the task where the kernel would have ended its events.
    fails = "(ulimit -v 600; exec ./other); "
    storm = "i=0; while [ $i -lt 80 ]; do i=$((i+1)); /bin/true; done; "
    for script, *options in ((fails + "./other; ./other; exit 0", "--sampler=cpu"),
                             (storm + fails + "./other; ./other; exit 0",)):
        for name in results():
            os.unlink(name)
        done = pinject_run("-v", *options, "--", "sh", "-c", script).ok()
        document = panalyze_json("--aggregate", "--top", "all", *results())
        check(all(task["ended"] for task in document["tasks"]), document["tasks"])
        tasks = [task for task in document["tasks"] if task["comm"] == "other"]
        with measured():  # by default, the events of the tasks may not have cost enough yet
            check("the kernel ended" not in done.err, done)
            check_equal({task["source"] for task in tasks}, {"cpu"}, done)
            check_equal(sorted(task["exit"] for task in tasks), [3, 3, 4, 4, 128 + signal.SIGSEGV], done)
            check(document["coverage"]["percent"] > 97, document["coverage"])
            check(all(task["cpu_ns"] >= 29e6 for task in tasks if task["exit"] < 128), tasks)


def test_no_relief():
    """A program that only computes keeps its events: root's own ones, and what others inherit."""
    expected = "perf" if IS_ROOT or "inherit" not in samplers() else "inherited"
    done = pinject_run("-v", "--sampler=auto", "--", target("spin"), "200").ok()
    check_equal({task["source"] for task in panalyze_json("tree", *results())["tasks"]}, {expected}, done)


def test_not_inherited_unasked():
    """Other users than root inherit events by default. Not where that could lose something that was asked for, or where
    the rings would be small."""
    if IS_ROOT or "inherit" not in samplers():
        skip("here, no events are inherited by default")
    for options, before in ((["-e", "page-faults", "-c", "1"], []), (["--switch-events"], []),
                            (["-e", "{task-clock,page-faults}"], []), ([], ["prlimit", "--memlock=65536:65536"])):
        for name in results():
            os.unlink(name)
        done = run([*before, PINJECT_RUN, "-v", *options, "--", target("spin"), "50"]).ok()
        check_equal({task["source"] for task in panalyze_json("tree", *results())["tasks"]}, {"perf"}, done)
        check_equal("inherited events could not be opened" in done.err, bool(before), done)


def test_no_empty_profile():
    """A program of 50 ms of CPU time has samples, whatever rate -F auto chooses: at least 99 per second."""
    for sampler in samplers():
        _, document = record(sampler, [target("spin"), "50"])
        task, = document["tasks"]
        check(3 <= task["samples"] <= 60, task)
        check(task["weight"] > 0.6 * task["cpu_ns"], task)


if __name__ == "__main__":
    main()
