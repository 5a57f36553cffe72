# SPDX-License-Identifier: MIT
# labels: collector preload transparent
# timeout: 600
"""Programs that our variables would break are recognized before they start, wherever they lie and however they are
started; what cannot be judged goes without them. Inherited events cover what follows."""
from harness import *

MS = 10
LONG_MS = 25  # of what is attached late: posix_spawn()
# With inherited events, which other users than root have by default, nobody asks.
FOLLOWED = [PINJECT_RUN, "-q", "--follow-all", *([] if IS_ROOT else ["--sampler=task"]), "--"]
SPAWNS = ("chdir", "fchdir", "chdir-twice", "fchdir-moved", "fchdir-opened", "search", "descriptor", "resetids")
EXECS = ("execvp", "execlp-search", "O_PATH", "execveat", "syscall", "syscall-at")
# Where the preload object of a dynamic program asks as it always does; else nobody can know beforehand what will run.
KNOWN = set(SPAWNS + EXECS) - {"fchdir-opened", "descriptor"}
FLAVOURS = ("process-tree", "process-tree-static", "process-tree-musl", "process-tree-32")


def flavours(*names):
    built = [name for name in names if target_runs(name)]
    check(len(built) > 1, "no compiler for another world")
    return built


def outcome(command):
    """Status, how many tasks spoke, stderr."""
    result = run(command)
    return result.status, len(process_tree_said(result.out)), result.err


def same(what, command, *before):
    """As without us: four tasks say what they used, and nothing is complained of."""
    for name in results():
        os.remove(name)
    check_equal(outcome([*before, *command]), (0, 4, ""), what)


def check_coverage(what):
    tree = panalyze_json("tree", *results())
    cpu, attributed = tree["coverage"]["cpu_ns"], tree["coverage"]["attributed_ns"]
    with measured():
        check(adds_up(tree), f"{what}: {attributed} of {cpu}")
    return tree


def test_places():
    """In the working directory lies a program of the same name that would take the variables."""
    need_perf_events()
    for flavour in flavours(*FLAVOURS):
        os.makedirs("place/inner", exist_ok=True)
        for there, path in ((flavour, "place/inner/program"), ("process-tree", "program")):
            if os.path.exists(path):
                os.remove(path)
            shutil.copy(target(there), path)
        for way in SPAWNS + EXECS:
            command = [target("spawn-places"), way, os.path.abspath("place/inner"), "program", LONG_MS]
            # What posix_spawn starts is attached late: on a busy machine some of it has ended by then.
            # There an answer may come too late for the others, too, and that is counted. One try of all ways would
            # fail for any of them.
            for _ in range(4):
                same(f"{way} {flavour}", command, *FOLLOWED)
                tree = panalyze_json("tree", *results())
                inner = [task for task in tree["tasks"] if (task["exec"] or "").endswith("place/inner/program")]
                late = tree["coverage"].get("missed")
                if adds_up(tree) and (len(inner) >= 4 or not (way in SPAWNS or late)):
                    break
            check_coverage(f"{way} {flavour}")
            with measured(way in SPAWNS or late):
                check(len(inner) >= 4, f"{way} {flavour}: {tree['tasks']}")
            if flavour == "process-tree" and way in KNOWN:
                with measured(late):
                    # Root's tasks may have lost their events by then (--sampler=auto).
                    check_equal({task["source"] for task in inner} | {"perf", "cpu"}, {"perf", "cpu"}, f"{way}")


def test_below_static_programs():
    """They hand on their environment to whatever they execute, and nobody looks at that."""
    need_perf_events()
    for program in flavours(*FLAVOURS):
        for start in ("execve", "vfork-execve", "posix_spawnp"):
            command = [target("spawn-static"), start, target(program), MS]
            alone = run(command)
            for before in FOLLOWED, [PINJECT_RUN, "-q", "--follow=none", "--"]:
                ours = run([*before, *command])
                clean = lambda text: re.sub(r"pid \d+", "pid", text)
                check_equal((ours.status, clean(ours.err)), (alone.status, clean(alone.err)), f"{start} {program}")
        for name in results():
            os.remove(name)
        run([*FOLLOWED, target("spawn-static"), "execve", target(program), MS]).ok()
        tree = check_coverage(program)
        check(any((task["exec"] or "").endswith("/" + program) for task in tree["tasks"]), tree["tasks"])


def test_below_busybox():
    need_perf_events()
    need("busybox")
    for before in [PINJECT_RUN, "-q", "--follow=none", "--"], FOLLOWED:
        for program in flavours(*FLAVOURS):
            same(f"busybox {program}", ["busybox", "sh", "-c", f"{target(program)} {MS}; :"], *before)
            same(f"busybox env {program}", ["busybox", "env", target(program), MS], *before)
        check_equal(outcome([*before, "busybox", "env"])[2], "")
        env = run([*before, "busybox", "env"]).ok().out
        check(not re.search("PINJECT_SESSION|LD_PRELOAD", env), env)


def test_below_busybox_in_a_cage():
    need_perf_events()
    need("busybox")
    if not IS_ROOT:
        skip("root alone may chroot")
    lines = run(["ldd", "/bin/true"]).ok().lines
    for path in {word for line in lines for word in line.split() if word.startswith("/")} | {"/bin/true"}:
        os.makedirs(os.path.dirname(f"cage{path}"), exist_ok=True)
        shutil.copy(path, f"cage{path}")
    for before in [PINJECT_RUN, "-q", "--follow=none", "--"], FOLLOWED:
        result = run([*before, "busybox", "chroot", "cage", "/bin/true"])
        check_equal((result.status, result.err), (0, ""))


def check_go(*command):
    result = run([*FOLLOWED, target("process-tree-cgo"), *command]).ok()
    check_equal(result.err, "")
    tree = check_coverage("cgo")
    with measured():  # on a busy machine one may have ended before its events were open
        check_equal(missed(tree), [])
    used = int(result.out.split()[-1])
    own = [task for task in tree["tasks"] if (task["exec"] or "").endswith("/process-tree-cgo")]
    with measured():
        check(sum(task["cpu_ns"] for task in own) >= used * 0.98 - 1e6,
              f"{used}: {[(task['tid'], task['source'], task['cpu_ns']) for task in own]}")
    return tree


def test_go_with_cgo():
    """The preload object is in it, but it executes programs by itself: an inherited set covers them, from its first
    child on."""
    need_perf_events()
    if not os.path.exists(target("process-tree-cgo")):
        skip("go is missing")
    for program in flavours(*FLAVOURS):
        tree = check_go(target(program), MS)
        covered = [task for task in tree["tasks"] if (task["exec"] or "").endswith("/" + program)]
        check_equal(len(covered), 4, f"{program}: {tree['tasks']}")
        check_equal({task["source"] for task in covered}, {"inherited"}, program)
        for name in results():
            os.remove(name)
    tree = check_go()
    shell, = [task for task in tree["tasks"] if task["exec"] == os.path.realpath("/bin/sh")]
    check_equal(shell["source"], "inherited")


def test_go_sees_nothing():
    """Its children, started behind libc's back, have its environment: without us."""
    need_perf_events()
    if not os.path.exists(target("process-tree-cgo")):
        skip("go is missing")
    for before in FOLLOWED, [PINJECT_RUN, "-q", "--follow=none", "--"]:
        out = run([*before, target("process-tree-cgo"), "/usr/bin/env"]).ok().out
        check(not re.search("PINJECT_SESSION|LD_PRELOAD", out), out)
    variables = {"LD_PRELOAD": PRELOAD, "PINJECT_FOLLOW": "all"}
    out = run([target("process-tree-cgo"), "/usr/bin/env"], env=variables).ok().out
    check(not re.search("PINJECT_SESSION|LD_PRELOAD", out), out)
    run([PINJECT_RUN, "--wait"])
    tree = panalyze_json("tree", *results())
    with measured():  # who starts the collector waits two seconds at most, and goes on without it
        check_equal({task["source"] for task in tree["tasks"] if (task["exec"] or "").endswith("/env")}, {"inherited"})


def test_large_environments():
    need_perf_events()
    env = {f"VARIABLE_{i}": i for i in range(20000)}
    for program in flavours(*FLAVOURS):
        result = run([*FOLLOWED, "sh", "-c", f"{target(program)} {MS}; exit $?"], env=env)
        check_equal((result.status, result.err), (0, ""), program)


def test_no_descriptors_left():
    """A program that may open nothing more cannot have the next one looked at."""
    need_perf_events()
    for program in flavours(*FLAVOURS):
        command = ["sh", "-c", f"ulimit -n 3; exec {target(program)} {MS}"]
        alone = outcome(command)
        if alone[0] == 0:  # a static one: its shell finds no libc
            check_equal(outcome([*FOLLOWED, *command]), alone, program)


if __name__ == "__main__":
    main()
