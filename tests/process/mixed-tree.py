# SPDX-License-Identifier: MIT
# labels: collector preload analyze
# timeout: 300
"""One tree of programs of all sorts: all of its CPU time is in its tasks, each program is named, none is disturbed."""
from harness import *

MS = 80       # for each task of each tree: 5 s and more together, where all compilers were there
WITNESS = """
import os, resource, sys
status = os.waitstatus_to_exitcode(os.system(sys.argv[1]))
own, theirs = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print("witness", own.ru_utime + own.ru_stime + theirs.ru_utime + theirs.ru_stime, flush=True)
os._exit(status)
"""
FLAVOURS = ["process-tree", "process-tree-static", "process-tree-static-pie", "process-tree-musl", "process-tree-32",
            "process-tree-go"]


def program_of(command):
    return os.path.realpath(shutil.which(command, path=PATH) or command)


def mixture(ms):
    """The script, and the commands that run in it."""
    program, here = target("process-tree"), [target(name) for name in FLAVOURS if target_runs(name)]
    lines = [f"{program} {ms}" for program in here]
    lines += [f"{program} {ms} raw", f"env -i {program} {ms}", f"{target('spawn')} posix_spawn {program} {ms}",
              f"f='{program} {ms}'",
              "python3 -c \"import os; os.system('$f'); f = os.popen('$f'); f.read(); f.close()\"",
              "awk -v f=\"$f\" 'BEGIN { system(f); while ((f | getline line) > 0) print line; close(f) }'",
              "echo words >&2; /bin/true; exec 3>&1; (exit 3)"]
    commands = ["sh", "env", "python3", "awk", "true", target("spawn"), *here]
    if shutil.which("busybox", path=PATH):
        lines += ["busybox sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exec env -i /bin/echo in a box'",
                  "busybox ls /nowhere"]
        commands += ["busybox", "echo"]
    for setuid in ("su --version", "passwd --help", "mount --version", "mount /nowhere"):
        if shutil.which(setuid.split()[0], path=PATH):
            lines.append(setuid)
            commands.append(setuid.split()[0])
    return "\n".join(lines) + "\nexit 7", commands


def told(done):
    """Its stderr, without what is another number each time."""
    return re.sub(r"pid \d+", "pid", done.err)


def test_mixture():
    need_perf_events()
    script, _ = mixture(2)
    bare = run(["python3", "-c", WITNESS, script])
    check_equal(bare.status, 7, bare)
    script, commands = mixture(MS)
    before = stolen_ns()
    done = pinject_run("-q", "--follow-all", "--", "python3", "-c", WITNESS, script)
    stolen = (stolen_ns() - before) / 1e9
    check_equal((done.status, told(done)), (7, told(bare)))

    used = float(re.search(r"^witness ([\d.]+)$", done.out, re.MULTILINE)[1])
    tree = panalyze_json("tree", *results())
    tasks = sum(task["cpu_ns"] for task in tree["tasks"]) / 1e9
    # 20 ms: the end of the witness itself comes after its word.
    kernel, attributed = tree["coverage"]["cpu_ns"] / 1e9, tree["coverage"]["attributed_ns"] / 1e9
    with measured():
        check(-0.005 * used <= tasks - used <= 0.005 * used + 0.02 + stolen,
              f"{tasks} s in tasks of {used} s, {stolen:.2f} s may have been stolen: {tree['coverage']}")
        check(-0.005 * kernel <= attributed - kernel <= 0.005 * kernel + stolen,
              f"{attributed} s attributed of {kernel} s")

    # By the path of what ran, or, of one that may not be looked at, by its command line.
    generations = [one for task in tree["tasks"] for one in task["images"] or [task]]
    named = {os.path.realpath(one["exec"]) for one in generations if one["exec"]}
    named |= {program_of(one["cmdline"][0]) for one in generations if one["cmdline"]}
    missing = [command for command in commands if program_of(command) not in named]
    text = panalyze("tree", *results()).ok().out
    # With much more work than CPUs a wait for the collector runs out, and is counted.
    with measured(if_=tree["coverage"]["missed"]):
        check(not missing, f"missing: {missing}; named: {sorted(named)}")
        for command in commands:
            check_in(command, text)
    print(f"{used:.3f} s by the kernel, {tasks:.3f} s in {len(tree['tasks'])} tasks ({kernel:.3f} s with its end), "
          f"{len(commands)} programs, {stolen:.2f} s may have been stolen")


if __name__ == "__main__":
    main()
