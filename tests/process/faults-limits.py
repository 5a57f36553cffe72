# SPDX-License-Identifier: MIT
# labels: faults
# timeout: 240
"""Few descriptors, little locked memory, no memory, directories that vanish: the program runs to its normal end, and
what is missing is said."""
from harness import *

TWO_STEPS = ["sh", "-c", "echo begun; read line; /bin/true; exit 5"]


def limited(limits, *args, **kw):
    return run(["sh", "-c", f"{limits} && exec \"$@\"", "sh", PINJECT_RUN, *args], **kw)


def test_few_descriptors():
    need_perf_events()
    command = [target("storm"), "forks", "200", "16", "2"]
    done = limited("ulimit -n 64", "-v", "--follow-all", "--", *command).ok()
    check_in("children 200 failed 0", done.out)
    seen, named = profiled_tasks(done), missed_tasks(done)
    check(seen >= 1, "not even the command")
    check(seen + named >= 601, f"of 601 tasks {seen} are profiled, {named} named: {done}")
    check_in("Too many open files", done.err)
    panalyze("tree", *results()).ok()
    matrix_row("RLIMIT_NOFILE 64 in the program and the collector", "200 forks, 16 at a time, 2 threads each",
               f"the program ends normally; {seen} tasks profiled, {named} named as not seen; " +
               "; ".join(summary_lines(done)))


def test_few_descriptors_in_the_program():
    """The preload object needs none: a program that may have 8 has all 8."""
    need_perf_events()
    script = ("import os\nfds = [os.open('/dev/null', 0) for _ in range(5)]\nprint(fds[-1])\n"
              "os.fork() or os._exit(0)\nos.wait()")
    python = need("python3")
    done = limited("ulimit -Sn 8", "-v", "--follow-all", "--", python, "-c", script).ok()
    alone = run(["sh", "-c", "ulimit -Sn 8 && exec \"$@\"", "sh", python, "-c", script]).ok()
    check_equal(done.out, alone.out)
    check(profiled_tasks(done) + missed_tasks(done) >= 2, done)
    with measured():  # on a busy machine the child may have ended before its events were open
        check_equal((profiled_tasks(done), summary_lines(done)), (2, []), done)
    matrix_row("RLIMIT_NOFILE 8 in the program", "opens 5 files, forks",
               "the program has the same descriptors as without pinject; both processes are profiled")


def test_little_locked_memory():
    need_perf_events()
    if IS_ROOT:
        skip("root may lock what it wants")
    done = limited("ulimit -l 64", "-v", "--", target("storm"), "live", "200").ok()
    check_in("threads 200", done.out)
    seen = profiled_tasks(done)
    # On a busy machine some end before their events are open.
    check_equal(seen + missed_tasks(done, "exited before"), 201, done)
    with measured():
        check(seen >= 150, done)
    document = panalyze_json("tree", *results())
    tasks = document["tasks"]
    check_equal(len(tasks), seen, "files")
    has_clock = lambda task: any(count["event"].startswith("task-clock") and count["value"] for count in task["counts"])
    counted = [has_clock(task) for task in tasks]
    check(all(counted), f"{counted.count(False)} tasks without task-clock")
    named = check_match(r"(\d+) tasks were counted but not sampled", done.err)
    check_in("counted but not sampled: no memory for the task's ring buffer", json.dumps(document), "what the files say")
    matrix_row("RLIMIT_MEMLOCK 64 KiB", "200 threads at once",
               f"{seen} of 201 tasks counted; {named[1]} without a ring, named in the summary and in their files")


def test_live_threads():
    need_perf_events()
    done = pinject_run("-v", "--", target("storm"), "live", "3000").ok()
    check_in("threads 3000", done.out)
    # A thread that found no slot counts itself there; it may also be known by its creator's ring, which may overflow.
    seen = profiled_tasks(done)
    late = missed_tasks(done, "exited before|refused")
    no_slot = missed_tasks(done, "^request queue full")
    check(seen + late + no_slot >= 3001, f"of 3001 tasks {seen} are profiled, {late} and {no_slot} named: {done}")
    with measured():  # some of either kind are those of a very busy machine
        check(seen + max(late, no_slot) >= 3001, f"{seen} are profiled, {late} or {no_slot} named: {done}")
    # Their creator waits while many have not begun, so that a busy machine meets them too, unless it is very busy.
    with measured():
        check(seen >= 2500, done)
    matrix_row("3000 threads at once", "one thread starts all of them; none ends before all of them run",
               f"{seen} of 3001 profiled; " + ("; ".join(summary_lines(done)) or "nothing lost"))


# The command and its 12 children take some 300 allocations.
OOM_NUMBERS = [*range(1, 60), 70, 80, 100, 120, 150, 180, 210, 240, 270, 300]


def test_out_of_memory():
    """Every allocation from N on fails in pinject-run, or the N-th alone: no crash, and the status of a command that
    runs is its own."""
    need_perf_events()
    if not os.path.exists(target("liboom.so")) or SANITIZED:
        skip("this libc's allocator cannot be replaced so")
    command = ["-v", "--follow-all", "--", "sh", "-c", f"{target('storm')} forks 12 4 1; exit 7"]
    ends = {True: 0, False: 0}
    for count in (None, "1"):
        for number in OOM_NUMBERS:
            env = {"LD_PRELOAD": target("liboom.so"), "OOM_FROM": str(number), "OOM_COUNT": count}
            done = pinject_run(*command, env=env)
            where = f"allocation {number} of {count or 'all'}: {done}"
            ran = "children 12 failed 0" in done.out
            check(done.status == 7 if ran else done.status in (125, 126), where)
            check(ran or done.err, f"silent: {where}")
            # One that fails alone may cost one task its events: then it is named, with what is known of it.
            named = ran and (profiled_tasks_or_none(done) or 0) + missed_tasks(done) >= 26
            check(named or "emory" in done.err or "unavailable" in done.err, f"said nothing: {where}")
            ends[ran] += 1
            if results() and count is None:
                panalyze("tree", *results()).ok()
            for name in results():
                os.unlink(name)
    matrix_row("out of memory in the collector", "allocation N fails, alone or together with all later ones; "
               f"{len(OOM_NUMBERS)} values of N from 1 to {OOM_NUMBERS[-1]}",
               f"{ends[True]} times the command ran, with its own exit status and output; {ends[False]} times "
               "pinject-run gave a reason and ended with 125 or 126 before the command ran; each time pinject-run said "
               "that memory ran out, or named each task that was missing")


def profiled_tasks_or_none(done):
    found = re.search(r"^pinject-run: (\d+) tasks?\b", done.err, re.MULTILINE)
    return int(found[1]) if found else None


def test_little_address_space():
    need_perf_events()
    if SANITIZED:
        skip("a sanitizer needs all of it")
    ran = 0
    for size in (6, 12, 20, 40, 80):
        done = limited(f"ulimit -v {size * 1024}", "--follow-all", "--", target("storm"), "forks", "40", "8", "0")
        ran += "children 40 failed 0" in done.out
        check(done.status in (0, 125, 127), f"{size} MiB: {done}")
        check(done.status == 0 or done.err, f"silent with {size} MiB: {done}")
    matrix_row("RLIMIT_AS of 6 to 80 MiB", "5 sizes",
               f"{ran} times the program ran as without pinject; otherwise pinject-run gave a reason and did not "
               "start it")


def test_directory_of_the_results_removed():
    need_perf_events()
    os.mkdir("gone")
    process = start([PINJECT_RUN, "-v", "--follow-all", "-o", "gone/out", "--", *TWO_STEPS], stdin=subprocess.PIPE)
    check_equal(process.stdout.readline(), b"begun\n")

    def removed():
        shutil.rmtree("gone", ignore_errors=True)  # the collector may just put a file there
        return not os.path.exists("gone")
    wait_until(removed, what="the directory to go")
    _, err = process.communicate(b"go\n", timeout=60)
    check_equal(process.returncode, 5, err)
    done = Result(["sh"], 5, b"", err, 0)
    said, count = check_match(r"^pinject-run: ((\d) files? (?:is|are) missing or not complete.*)$", done.err).groups()
    check(int(count) + missed_tasks(done) >= 2, done)
    with measured():  # on a busy machine /bin/true may have ended before its events were open
        check_equal(int(count), 2, done)
    matrix_row("directory of the results removed", "while the command runs", f"the program's own exit status; {said}")


def test_segment_removed():
    need_perf_events()
    process = start([PINJECT_RUN, "-v", "--follow-all", "--", *TWO_STEPS], stdin=subprocess.PIPE)
    check_equal(process.stdout.readline(), b"begun\n")
    segment = segment_of(process)
    os.unlink(segment)
    _, err = process.communicate(b"go\n", timeout=60)
    check_equal(process.returncode, 5, err)
    done = Result(["sh"], 5, b"", err, 0)
    seen, named = profiled_tasks(done), missed_tasks(done)
    check(seen + named >= 2, err)
    matrix_row("file of the session removed", "while the command runs; after that, the command starts another program",
               f"the program's own exit status; {seen} of 2 processes profiled, {named} named as not seen")


if __name__ == "__main__":
    main()
