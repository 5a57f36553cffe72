# SPDX-License-Identifier: MIT
# labels: collector preload
# serial
# timeout: 300
"""Programs that the preload object cannot enter: their threads and children are tasks with names, CPU time and
samples."""
from harness import *

MS = 60
WAYS = {"command": lambda program: [program, MS],
        "shell": lambda program: ["sh", "-c", f"{program} {MS}; :"],
        "posix_spawn": lambda program: [target("spawn"), "posix_spawn", program, MS],
        "in-place": lambda program: ["sh", "-c", f"exec {program} {MS}"]}


def non_injectable(name):
    if not target_runs(name):
        skip(f"{name} was not built, as its compiler is missing, or the kernel does not execute it")
    return target(name)


def profile(*command, env=None):
    """What the command wrote, and the tree. Nothing is said on its stderr."""
    need_perf_events()
    for name in results():
        os.remove(name)
    # Rings of root's have room for dumps of four tasks that compute, also while the collector gets no CPU. Others'
    # (perf_event_mlock_kb) have not.
    options = [] if IS_ROOT else ["--sampler=task", "-g", "fp"]
    result = pinject_run("-q", *options, "--follow-all", "--", *command, env=env).ok()
    said = [line for line in result.err.splitlines() if not line.startswith("spawned pid")]
    check_equal(said, [])
    return result.out, panalyze_json("tree", *results())


def check_cpu(task, ns, switches, what):
    """A task has the CPU time that it said, and what a host may have added. It spoke before its end, which takes a
    process a while."""
    check(ns * 0.99 - 1e6 - switched_ns(switches) <= task["cpu_ns"] <= ns * 1.05 + 20e6 + stolen_ns(),
          f"{what} used {ns} with {switches} switches: {task}")


def check_tasks(out, tree, count, what, first_ns=0):
    """Every task that spoke has its CPU time; FIRST_NS: what may be missing in the samples of each."""
    tasks = {(task["pid"], task["tid"]): task for task in tree["tasks"]}
    said = process_tree_said(out)
    check_equal(len(said), count, f"{what}: {out}")
    # With much more work than CPUs a wait for the collector runs out, and is counted.
    with measured():
        for key, (ns, switches) in said.items():
            check(key in tasks, f"{what}: {key} is missing in {sorted(tasks)}")
            task = tasks[key]
            check_cpu(task, ns, switches, f"{what}: {key}")
            if IS_ROOT:
                check(ns * 0.85 - first_ns - 5e6 <= task["weight"] <= task["cpu_ns"] * 1.05 + 5e6,
                      f"{what}: {key} used {ns}: {task}")


def check_coverage(tree, what, out=""):
    """OUT: what process-tree wrote, if that ran."""
    with measured():
        check(adds_up(tree, process_tree_switches(out)), f"{what}: {tree['coverage']}")
        check_equal(missed(tree), [], what)


def check_tree(way, flavour):
    program = non_injectable(flavour)
    out, tree = profile(*WAYS[way](program))
    what = f"{way} {flavour}"
    # A child of posix_spawn is met when it runs already, maybe late where there is more work than CPUs.
    check_tasks(out, tree, 4, what, first_ns=30e6 if way == "posix_spawn" else 0)
    check_coverage(tree, what, out)
    names = [task["cmdline"] for task in tree["tasks"]]
    check([program, str(MS)] in names, f"{what}: {names}")
    if way == "posix_spawn":  # what it starts at once may have ended before it is found
        return
    with measured(if_=tree["coverage"]["missed"]):  # a stopped ring may have had it
        check(["/bin/true", "process-tree"] in names or ["sh", "-c", ":; exec /bin/true process-tree"] in names or
              any(task["exec"].endswith("/true") for task in tree["tasks"]), f"{what}: {names}")


def test_static():
    for way in WAYS:
        check_tree(way, "process-tree-static")


def test_static_pie():
    for way in WAYS:
        check_tree(way, "process-tree-static-pie")


def test_other_libc():
    for way in WAYS:
        check_tree(way, "process-tree-musl")


def test_other_class():
    for way in WAYS:
        check_tree(way, "process-tree-32")


def test_go():
    out, tree = profile("sh", "-c", f"{non_injectable('process-tree-go')}; :")
    child, used = out.split()
    check_equal(child, "child")
    check_coverage(tree, "go")
    threads = [task for task in tree["tasks"] if task["exec"].endswith("process-tree-go")]
    with measured():
        check(len(threads) >= 3, tree["tasks"])
        cpu = sum(task["cpu_ns"] for task in threads)
        check(int(used) * 0.99 - 1e6 <= cpu <= int(used) * 1.05 + 20e6 + stolen_ns(), f"{cpu} of {used}: {threads}")
    # The preload object is not in it; it may have ended before its arguments could be read.
    shells = [task for task in tree["tasks"] if task["exec"] == os.path.realpath("/bin/sh")]
    check_equal(sorted(task["source"] for task in shells), ["inherited", "perf"])


def test_busybox():
    busybox = shutil.which("busybox", path=PATH) or skip("busybox is missing")
    script = "/bin/true one; env -i /bin/echo two; seq 3 | /bin/cat; exec /bin/echo three"
    out, tree = profile("busybox", "sh", "-c", script)
    check_equal(out, "two\n1\n2\n3\nthree\n")
    check_coverage(tree, "busybox")
    ran = {os.path.basename(one["exec"]) for task in tree["tasks"] for one in task["images"]}
    with measured(if_=tree["coverage"]["missed"]):  # a stopped ring may have had one
        check({os.path.basename(os.path.realpath(busybox)), "true", "cat"} <= ran, ran)


def test_what_it_starts_is_in_the_set_alone():
    """A dynamic child of a static program is not sampled twice, though it could ask for itself."""
    shutil.which("busybox", path=PATH) or skip("busybox is missing")
    inner, tree = profile("busybox", "sh", "-c", f"{target('process-tree')} {MS}; :")
    check_tasks(inner, tree, 4, "dynamic in busybox")
    check_coverage(tree, "dynamic in busybox", inner)
    check_equal({task["source"] for task in tree["tasks"] if not task["root"]}, {"inherited"})
    with measured():  # it is looked up while the program runs
        check([target("process-tree"), str(MS)] in [task["cmdline"] for task in tree["tasks"]], "its name")


def test_behind_libc():
    """Threads and processes of clone(), and a program with an empty environment: found, with all their CPU time."""
    out, tree = profile(target("process-tree"), 3 * MS, "raw")
    tasks = {(task["pid"], task["tid"]): task for task in tree["tasks"]}
    said = process_tree_said(out)
    check_equal(len(said), 7, out)
    with measured():
        for key, (ns, switches) in said.items():
            if key in tasks:
                check_cpu(tasks[key], ns, switches, key)
        # Attached late, between two looks; what ended before is counted as missed.
        check(len(tasks) >= 4, tree["tasks"])
        check(adds_up(tree, process_tree_switches(out)) or tree["coverage"].get("missed"), tree["coverage"])


def test_threads_alone():
    """Without --follow: the threads of a static command, and not its children."""
    need_perf_events()
    program = non_injectable("process-tree-static")
    out = pinject_run("-q", "--follow=none", "--", program, MS).ok().out
    tree = panalyze_json("tree", *results())
    root = [task["pid"] for task in tree["tasks"] if task["root"]][0]
    expected = {key for key in process_tree_said(out) if key[0] == root}
    tasks = {(task["pid"], task["tid"]) for task in tree["tasks"]}
    check(tasks <= expected, f"{tasks - expected} are none of its threads")
    with measured(if_=tree["coverage"]["missed"]):  # a stopped ring may have had one
        check_equal(tasks, expected)


def test_chroot():
    """Where the preload object's path does not exist the loader must not look for it; an inherited set covers what runs
    there."""
    if not IS_ROOT:
        skip("root alone may chroot")
    for name in "process-tree", "sh", "true":
        source = target(name) if name == "process-tree" else f"/bin/{name}"
        lines = run(["ldd", source]).ok().lines
        needed = {word for line in lines for word in line.split() if word.startswith("/")} | {source}
        for path in needed:
            place = f"cage/bin/{name}" if path == source else f"cage{path}"
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(path, place)
    os.makedirs("cage/proc", exist_ok=True)
    command = ["chroot", "cage", "/bin/sh", "-c", f"/bin/process-tree {MS}; :"]
    bare = run(command).ok()
    check_equal(bare.err, "")
    out, tree = profile(*command)
    check_tasks(out, tree, 4, "chroot")
    check_coverage(tree, "chroot", out)
    with measured():  # it is looked up while the program runs
        check(["/bin/process-tree", str(MS)] in [task["cmdline"] for task in tree["tasks"]], tree["tasks"])


def test_unreadable():
    """Who executes what he may not read loses its events there, as of a setuid program; not its name and CPU time."""
    need_perf_events()
    if IS_ROOT:
        skip("root may read everything")
    shutil.copy(non_injectable("process-tree-static"), "secret")
    os.chmod("secret", 0o111)
    for way in ("shell", "in-place"):
        _, tree = profile(*WAYS[way]("./secret"))
        with measured():  # a late answer is counted, too
            check_equal([(line["comm"], line["count"]) for line in tree["coverage"]["missed"]], [("secret", 1)])
        task, = [task for task in tree["tasks"]
                 if ["./secret", str(MS)] in [one["cmdline"] for one in task["images"]]]
        with measured():
            check(task["cpu_ns"] >= 5.9 * MS * 1e6, task)
            check(adds_up(tree), tree["coverage"])


def test_setuid_below_root():
    """Nobody is sent to root who is root."""
    need_perf_events()
    need("setpriv")
    if not IS_ROOT or not os.stat(need("su")).st_mode & stat.S_ISUID:
        skip("needs root, and a setuid su")
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    done = pinject_run("--follow-all", "--", "sh", "-c", f"{' '.join(drop)} su --version; exit 3")
    check_equal(done.status, 3, done)
    lines = summary_lines(done)
    with measured():  # after a late answer there are others, or no events that the kernel could end
        check_equal(len(lines), 1, done)
        check_in("the kernel ended its events: su", lines[0])
    check("root can profile" not in done.err, done)


if __name__ == "__main__":
    main()
