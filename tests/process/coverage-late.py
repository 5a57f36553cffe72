# SPDX-License-Identifier: MIT
# labels: collector preload
# timeout: 120
"""Who did not wait for a late answer is counted from its first instruction, and sampled from the answer on."""
from harness import *

MS = 400


def children_of(pid):
    try:
        return [int(word) for word in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    except OSError:
        return []


def comm_of(pid):
    try:
        return open(f"/proc/{pid}/comm").read().strip()
    except OSError:
        return ""


def late(program, ways):
    """The tree of a shell that starts PROGRAM in each of WAYS (shell text) while the collector is stopped."""
    need_perf_events()
    os.mkfifo("go")
    process = start([PINJECT_RUN, "-q", "--follow-all", "--", "sh", "-c", f"read x < go; {' '.join(ways)} wait"])
    go = open("go", "w")  # when it reads
    shell = children_of(process.pid)[0]
    os.kill(process.pid, signal.SIGSTOP)
    go.write("on\n")
    go.close()
    name = os.path.basename(program)
    with measured():  # the first one has ended when the second begins very late
        wait_until(lambda: [comm_of(pid) for pid in children_of(shell)] == [name] * len(ways), what="the programs")
    os.kill(process.pid, signal.SIGCONT)
    check_equal(process.wait(100), 0)
    return [task for task in panalyze_json("tree", *results())["tasks"] if task["exec"].endswith(name)]


def check_late(program):
    # A shell forks for what runs in the background; the last one is a child of vfork.
    tasks = late(program, [f"{program} {MS} &", f"{program} {MS};"])
    with measured():  # where it is told to go on after they have ended
        check_equal(len(tasks), 2, tasks)
    for task in tasks:
        check(task["cpu_ns"] >= 0.98 * MS * 1e6, f"its CPU time: {task}")
        with measured():  # on a busy machine much of what is to be sampled runs before the answer
            check(task["weight"] >= 0.4 * MS * 1e6, f"its samples: {task}")


def test_answer_after_exec():
    check_late(target("spin"))


def test_answer_after_exec_of_a_static_program():
    check_late(target("spin-static"))


if __name__ == "__main__":
    main()
