# SPDX-License-Identifier: MIT
# labels: collector preload
# timeout: 240
# run-as: nobody
"""Tasks that the kernel hides from the collector (PR_SET_DUMPABLE 0, files that cannot be read) among others with
events: a timer of the preload object is the fallback of each, its file says so, and no CPU time is missing. (Inherited
events, which other users than root have by default, cover such tasks.)"""
import itertools

from harness import *

MS = 60
SPIN, STATIC = target("spin"), target("spin-static")


def need_hiding():
    need_perf_events()
    if IS_ROOT:
        skip("root may see everybody: timer-hidden-root")


def profile(*command, options=(), sampler="task", **kw):
    for name in files():
        os.remove(name)
    which = [] if "--stat" in options else [f"--sampler={sampler}"]
    return pinject_run("--follow-all", *which, *options, "--", *command, **kw).ok()


def truth(out):
    """(pid, tid) -> CPU time, as each task said at its end."""
    said = re.findall(r"^task (\d+) (\d+) (\d+)$|^thread pid (\d+) tid (\d+) cpu_ns (\d+)", out, re.M)
    return {(int(a or d), int(b or e)): int(c or f) for a, b, c, d, e, f in said}


def files():
    """All of them: of a number that was used again ~1, of one program with its name."""
    return sorted(name for name in os.listdir(".") if name.startswith("out."))


def document():
    return panalyze_json("tree", *files())


def check_coverage(tree, missed=()):
    with measured():
        check(adds_up(tree), tree["coverage"])
        check_equal(tree["coverage"].get("missed") or [], list(missed))


def check_time(task, ns):
    # The end comes after the word.
    with measured():
        check(ns * 0.99 - 1e6 <= task["cpu_ns"] <= ns * 1.05 + 20e6 + stolen_ns(), f"{ns}: {task}")


def check_sources(tree, expected, what=""):
    """Where an answer comes too late a task has another source than it should, or none; then it is missed."""
    with measured(if_=tree["coverage"]["missed"]):
        check_equal(sorted(task["source"] for task in tree["tasks"]), expected, what)


def test_threads_and_children():
    need_hiding()
    result = profile(target("hidden"), MS, "threads", "fork", "killed", "masked")
    said, tree = truth(result.out), document()
    tasks = {(task["pid"], task["tid"]): task for task in tree["tasks"]}
    check_sources(tree, ["perf"] + 8 * ["timer"])
    check_in("8 tasks were sampled by timers: the kernel refused their events (Permission denied), as it does",
             result.err)
    check_equal(set(said), set(tasks), "tasks")
    for key, ns in said.items():
        check_time(tasks[key], ns)
        with measured():
            check(tasks[key]["weight"] <= tasks[key]["cpu_ns"] * 1.05 + 5e6, tasks[key])
    check_coverage(tree)
    # A tick has to meet them, and the first one weighs no more than a tick: with other load much is missing.
    by_timer = [task for task in tree["tasks"] if task["source"] == "timer"]
    with measured():
        check(sum(task["samples"] for task in by_timer) > 20, by_timer)
        check(sum(task["weight"] for task in by_timer) > 0.3 * sum(said.values()), by_timer)
    functions = {}
    for function in panalyze_json("--aggregate", "--top", "all", *results())["functions"]:
        functions[function["symbol"]] = function
    with measured():
        check({"spin_a", "hidden_thread"} <= functions.keys(), functions.keys())
        check_near(functions["spin_a"]["self_percent"], 66.7, points=25, what="share of spin_a")
        check(functions["hidden_thread"]["total_percent"] > 45, functions["hidden_thread"])
    report = panalyze(*results()).ok().out
    check_in("8 of 9 tasks were sampled by timers, user space only", " ".join(report.split()))
    check(not re.search("is sampled by timers", report), "the session is one with events")
    info = panalyze("info", f"out.{by_timer[0]['pid']}.{by_timer[0]['tid']}").ok().out
    check_in("the kernel refused events (Permission denied), because the task is not dumpable "
             "or belongs to another user", " ".join(info.split()))
    check_in("by a timer", info)


def test_programs_that_follow():
    """An exec ends the hiding; a timer that was there goes on, whoever begins there has events."""
    need_hiding()
    for way, found in (("exec", ["perf", "perf", "timer"]), ("vfork", 3 * ["perf"]), ("spawn", 3 * ["perf"]),
                       ("thread-exec", ["perf", "perf", "timer", "timer"]), ("in-place", 2 * ["perf"])):
        result = profile(target("hidden"), MS, way, SPIN, MS, 2)
        tree = document()
        check_sources(tree, found, way)
        tasks = {(task["pid"], task["tid"]): task for task in tree["tasks"]}
        for (pid, tid), ns in truth(result.out).items():
            # Of a thread that becomes the process the first thread's file has what comes afterwards.
            other = way == "thread-exec" and tasks[pid, tid]["source"] == "timer"
            check_time(tasks[pid, tid], ns - MS * 1e6 if other else ns)
        check_coverage(tree)
        spun = [task for task in tree["tasks"]
                if [SPIN, str(MS), "2"] in [one["cmdline"] for one in task["images"]]]
        with measured():
            check(spun and all(task["samples"] for task in spun), tree["tasks"])


def test_static_programs_that_follow():
    """No preload object is in them: an inherited set is opened under them as soon as they can be seen."""
    need_hiding()
    for way in "exec", "vfork", "in-place":
        # Until the inherited set is there accounting tells of it, on a busy machine not of all: each way has tries of
        # its own.
        for last in False, False, True:
            # Small rings (perf_event_mlock_kb) have no room for dumps while the collector gets no CPU.
            out = profile(target("hidden"), 20, way, target("process-tree-static"), 120, options=["-g", "fp"]).out
            tree = document()
            tasks = {(task["pid"], task["tid"]): task for task in tree["tasks"]}
            said = process_tree_said(out)
            check_equal(len(said), 4, out)
            missing = [key for key in said if key not in tasks]
            check(not missing or tree["coverage"]["missed"], f"{way}: {missing} are missing: {tree['tasks']}")
            short = [f"{way}: {ns}: {tasks.get(key)}" for key, (ns, _) in said.items()
                     if key in missing or tasks[key]["cpu_ns"] < ns * 0.98 - 2e6 or tasks[key]["weight"] <= 25e6]
            with measured():
                check(not (last and short), "\n".join(short))
            if not short:
                break
        # What it starts at once may have ended before the inherited set was there: no preload object is in it, to ask.
        early = [line for line in tree["coverage"].get("missed") or [] if line["comm"] in ("sh", "true")]
        check_coverage(tree, early)


def test_stacks_that_are_unwound():
    """Timers follow frame pointers; events beside them, and an inherited set, bring dumps to unwind. One file may have
    both."""
    need_hiding()
    profile(target("hidden"), 20, "threads", "exec", STATIC, 150, options=["--call-graph", "dwarf"])
    tree = document()
    check_coverage(tree)
    check_sources(tree, ["perf"] + 5 * ["timer"])
    totals = {(os.path.basename(function["dso"] or ""), function["symbol"]): function["total_percent"]
              for function in panalyze_json("--aggregate", "--top", "all", *files())["functions"]}
    with measured():
        for key, least in ((("spin-static", "main"), 15), (("hidden", "main"), 3), (("hidden", "hidden_thread"), 5)):
            check(totals.get(key, 0) > least, f"{key}: {totals}")
    static = next(task for task in tree["tasks"] if [STATIC, "150"] in [one["cmdline"] for one in task["images"]])
    with measured():
        check(static["weight"] > 40e6, static)


def test_programs_that_are_not_followed():
    need_hiding()
    for program in SPIN, STATIC:
        result = pinject_run("--follow-fork", "--", target("hidden"), 20, "exec", program, 60).ok()
        tree = document()
        missed = [(line["reason"], line["comm"]) for line in tree["coverage"]["missed"]]
        expected = ("program not followed after exec (--follow-exec follows it)", os.path.basename(program))
        with measured(if_=set(missed) - {expected}):  # an answer came too late
            check_equal(missed, [expected])
        check_sources(tree, ["perf", "timer"])
        with measured():
            check(all(task["cpu_ns"] < 50e6 for task in tree["tasks"]), tree["tasks"])
        for name in files():
            os.remove(name)


def test_a_file_that_cannot_be_read():
    need_hiding()
    shutil.copy(SPIN, "secret")
    os.chmod("secret", 0o111)
    for script, sampler in itertools.product(("./secret 60 2; :", "exec ./secret 60 2"), ("task", "inherit")):
        result = profile("sh", "-c", script, sampler=sampler)
        tree = document()
        check_coverage(tree)
        by_timer = [task for task in tree["tasks"] if task["source"] == "timer"]
        with measured(if_=tree["coverage"]["missed"]):
            check_equal(sorted((task["pid"], task["tid"]) for task in by_timer), sorted(truth(result.out)))
        with measured():
            check(all(task["samples"] for task in by_timer), by_timer)


def test_what_timers_cannot():
    """--stat counts; events that no timer replaces are counted as far as they can be, and nothing is made up."""
    need_hiding()
    result = profile(target("hidden"), 20, "threads", options=["--stat", "--per-thread"])
    tree = document()
    with measured(if_=tree["coverage"]["missed"]):
        check_in("4 tasks were counted by the preload object", result.err)
    check_equal(sum(task["samples"] for task in tree["tasks"]), 0)
    check_coverage(tree)
    result = profile(target("hidden"), 20, "threads", options=["-e", "page-faults:u", "-c", "1"])
    tree = document()
    by_timer = [task for task in tree["tasks"] if task["source"] == "timer"]
    with measured(if_=tree["coverage"]["missed"]):
        check_in("4 tasks were not sampled", result.err)
        check_equal([task["samples"] for task in by_timer], [0, 0, 0, 0])
    for task in by_timer:
        check_equal([count["event"] for count in task["counts"]], ["task-clock"])
    check_coverage(tree)
    result = pinject_run("--follow-all", "--sampler=task", "--strict", "-e", "page-faults:u", "--", target("hidden"), 5, "threads")
    check_equal(result.status, 125, result)


def test_strict_and_split():
    need_hiding()
    result = pinject_run("--follow-all", "--sampler=task", "--strict", "--", target("hidden"), 20, "threads", "fork")
    with measured(if_=re.search(r"--strict: (not seen |\d+ samples? w.* lost$)", result.err, re.MULTILINE)):
        result.ok()
    profile(target("hidden"), 20, "exec", SPIN, 40, options=["--exec-split-results"])
    tree = document()
    with measured(if_=tree["coverage"]["missed"]):
        check_equal(sorted(name.split(".")[4] for name in files()), ["hidden", "hidden", "spin"])
    check_coverage(tree)


def test_nothing_is_seen():
    need_perf_events()
    for command in ([target("hidden-signals")], [target("hidden"), 1, "quiet", "exec", target("signal-views"), 5],
                    [target("hidden"), 5, "quiet", "fork", "masked", "threads", "killed"]):
        bare = run(command).ok()
        ours = pinject_run("-q", "--follow-all", "--sampler=task", "--", *command)
        check_equal(ours.out_bytes.splitlines(), bare.out_bytes.splitlines(), "output")
        check_equal((ours.err_bytes, ours.status), (bare.err_bytes, bare.status), "stderr, status")
        tree = document()
        with measured(if_=tree["coverage"]["missed"]):
            check_in("timer", [task["source"] for task in tree["tasks"]])


def test_little_room_for_rings():
    """Where files may not be large there are fewer rings; they are not made before they are needed."""
    need_hiding()

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (6 << 20, 6 << 20))
    profile(target("hidden"), 20, "threads", "fork", preexec_fn=limit)
    tree = document()
    check_sources(tree, ["perf"] + 6 * ["timer"])
    check_coverage(tree)


def test_nothing_stays():
    need_hiding()
    script = f"{target('hidden')} 5 quiet threads fork killed; ls -d $PINJECT_SESSION.rings.*"
    result = pinject_run("--follow-all", "--sampler=task", "--", "sh", "-c", script)
    path = result.out.strip()
    with measured():  # where all answers come too late, nobody needs it
        check_match(r"^/.*/pinject-[0-9a-f]{32}\.rings\.\d+$", path)
        check(result.ok(), result.err)
    check(not os.path.exists(path), path)


if __name__ == "__main__":
    main()
