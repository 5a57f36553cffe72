# SPDX-License-Identifier: MIT
# timeout: 240
# sanitize
"""Stacks of running processes: what each thread waits for, by whom it is held up; and that nothing is changed by it."""
from harness import *

TICKS = os.sysconf("SC_CLK_TCK")


def waits(*how):
    """A program whose threads all stay where they are."""
    process = start([target("waits"), *how], stdin=subprocess.PIPE)
    port = None
    for line in iter(process.stdout.readline, b""):
        if line == b"ready\n":
            break
        port = int(line.split()[1])
    process.port = port
    return process


def end(process):
    """What it says at its end."""
    out, _ = process.communicate(b".", timeout=60)
    check_equal(process.returncode, 0)
    return out.decode()


def show(*args, status=0):
    """What pinject-run --stacks (or --tree) says. STATUS None: any."""
    need_unwinding()
    words = [arg for arg in args if str(arg).startswith("-")]
    numbers = [arg for arg in args if arg not in words]
    result = run([PINJECT_RUN, *([] if "--tree" in words else ["--stacks"]), *words, *numbers])
    check_equal((result.status if status is not None else None, result.err), (status, ""), args)
    return result.out


def threads(*args):
    """The threads of the first process, by name."""
    document = json.loads(show("--json", *args))
    return {thread["name"]: thread for thread in document["processes"][0]["threads"]}, document


def asleep(pid, count):
    """COUNT threads of PID sleep: those that said that they are there may not be in their call yet."""
    def all_sleep():
        found = [open(f"/proc/{pid}/task/{tid}/stat").read().rpartition(")")[2].split()[0]
                 for tid in os.listdir(f"/proc/{pid}/task")]
        return sum(state in "SD" for state in found) >= count
    wait_until(all_sleep, what="the threads to sleep")


def functions(thread):
    return [frame["function"] for frame in thread["frames"]]


def test_deadlock():
    process = waits("deadlock", "idle=5")
    asleep(process.pid, 8)
    for engine in ([], ["--unwinder=libunwind"]):
        # A thread that was stopped may need longer than the tool waits to be back in its call.
        found, document = wait_until(lambda: (lambda answer: answer if answer[1]["deadlocks"] else None)(
            threads(process.pid, *engine)), what="the deadlock")
        one, other = found["left-first"], found["right-first"]
        check_equal(sorted(document["deadlocks"][0]["threads"]), sorted([one["tid"], other["tid"]]))
        check_equal(len(document["deadlocks"]), 1)
        check_equal((one["waits_for_thread"], other["waits_for_thread"]), (other["tid"], one["tid"]))
        check_equal([name for name in functions(one) if name in ("take", "take_left")], ["take", "take_left"])
        check_equal(one["incomplete"], None)
        check_equal([frame["dso"] for frame in one["frames"]], [frame["object"] for frame in one["frames"]])
        text = wait_until(lambda: (lambda text: text if "Deadlock" in text else None)(show(process.pid, *engine)),
                          what="the deadlock")
        check_match(rf"\ADeadlock in process {process.pid} waits:\n"
                    rf"  thread \d+ (left|right)-first waits for mutex at 0x[0-9a-f]+, held by thread \d+ \w+-first\n"
                    rf"  thread \d+ (left|right)-first waits for mutex", text)
        check_match(r"^  5 threads \(\d+, \d+, \d+, \d+, \d+\) idle: waits in futex", text)
    check_equal(end(process), "0 interrupted\n")


def test_one_thread_alone():
    process = waits("error-check")
    asleep(process.pid, 2)
    found, document = wait_until(lambda: (lambda answer: answer if answer[1]["deadlocks"] else None)(
        threads(process.pid)), what="the deadlock")
    check_equal(document["deadlocks"], [{"pid": process.pid, "threads": [found["twice"]["tid"]]}])
    wait_until(lambda: "itself" in show(process.pid), what="the owner")
    end(process)


def test_what_runs():
    process = waits("spin")
    found, _ = threads(process.pid)
    check_equal(functions(found["spin"])[0], "spin")
    check(found["spin"]["stopped_for_a_moment"])
    check_match(r"thread \d+ spin: runs", show(process.pid))
    check_equal(end(process), "0 interrupted\n")


def test_as_gdb():
    """The ten innermost functions and their lines, as gdb has them."""
    need("gdb")
    process = waits("deadlock", "epoll", "deep=20")
    asleep(process.pid, 5)
    found, _ = threads(process.pid)
    script = ["-ex", "set print frame-arguments none", "-ex", "thread apply all bt 10"]
    out = run(["gdb", "-nx", "-q", "-batch", "-p", process.pid, *script],
              env={"DEBUGINFOD_URLS": None}, timeout=120).out
    for part in re.split(r"^Thread ", out, flags=re.MULTILINE)[1:]:
        tid = int(check_match(r"LWP (\d+)", part)[1])
        thread = next(thread for thread in found.values() if thread["tid"] == tid)
        ours = [frame["function"].split("@@")[0].lstrip("_") for frame in thread["frames"][:10]]
        its = [name.split("@")[0].lstrip("_") for name in
               re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\S+) \(", part, re.MULTILINE)]
        aliases = {"GI___lll_lock_wait": "lll_lock_wait", "GI___futex_abstimed_wait_cancelable64":
                   "futex_abstimed_wait_cancelable64"}
        plain = lambda names: [aliases.get(name, name).removeprefix("GI_").lstrip("_") for name in names]
        # Where libc has no line tables gdb knows less of inlined functions, and other names of the same address.
        known = [name for name in plain(its) if name in ("take", "take_left", "take_right", "poll_events", "descend",
                                                         "main", "start_thread", "epoll_wait", "pause")]
        check(known, part)
        check_equal([name for name in plain(ours) if name in known], known, part)
    end(process)


def test_no_call_is_disturbed():
    """Calls that a stop makes fail with EINTR go on as they were, whatever it takes to find their callers."""
    process = waits("epoll", "sigwait", "listen", "vfork", "idle=3")
    asleep(process.pid, 8)
    for _ in range(20):
        for engine in ([], ["--unwinder=libunwind"]):
            found, _ = threads(process.pid, *engine)
    check_equal(functions(found["sigwait"])[-3 if functions(found["sigwait"])[-1] == "__clone3" else -2:][0],
                "start_thread")
    check_equal(end(process), "0 interrupted\n")


def test_time_limits():
    """A call with a time limit that would begin anew is not interrupted; its limit is kept."""
    process = waits("epoll=3600000")
    asleep(process.pid, 2)
    found, _ = threads(process.pid)
    check_equal(found["epoll"]["stopped_for_a_moment"], False)
    check_match("epoll_p?wait", functions(found["epoll"])[0])  # one calls the other on AArch64
    check_equal(end(process), "0 interrupted\n")


def test_no_false_deadlock():
    """Threads that take turns at one mutex: who holds it changes all the time, and none waits for itself."""
    process = waits("contend=32")
    for _ in range(20):
        check_equal(json.loads(show("--json", process.pid))["deadlocks"], [])
    end(process)


def test_nothing_is_cut_short():
    """A write that waits for room would return what it has written so far: it is not stopped."""
    process = waits("write")
    asleep(process.pid, 2)
    for _ in range(5):
        found, _ = threads(process.pid)
        check_equal((found["write"]["system_call"]["name"], found["write"]["stopped_for_a_moment"]), ("write", False))
    check_equal(end(process), f"{1 << 20} written\n0 interrupted\n")


def test_first_thread_has_ended():
    process = waits("leave", "idle=2")
    wait_until(lambda: open(f"/proc/{process.pid}/stat").read().rpartition(")")[2].split()[0] == "Z", what="its end")
    asleep(process.pid, 3)
    found, _ = threads(process.pid)
    check_in("end", functions(found["finish"]))
    check_match(r"^fd 0: pipe", found["finish"]["system_call"]["waits_for"])
    text = show(process.pid)
    check("has ended" not in text, text)
    check_match(r"2 threads \(\d+, \d+\) idle", text)
    end(process)


def test_what_is_waited_for():
    process = waits("pipe", "listen", "epoll")
    asleep(process.pid, 3)
    child = int(wait_until(lambda: open(f"/proc/{process.pid}/task/{process.pid}/children").read(), what="the child"))
    asleep(child, 1)
    document = json.loads(show("--tree", "--json", process.pid))
    check_equal(len(document["processes"]), 2)
    first, child = document["processes"]
    check_equal((child["parent"], child["pid"] != first["pid"]), (process.pid, True))
    found = {thread["name"]: thread for thread in first["threads"]}
    check_equal(found["listen"]["system_call"]["waits_for"].split(": ")[1],
                f"socket (TCP 127.0.0.1:{process.port}, listening)")
    check_match(r"^fd \d+: pipe", found["epoll"]["system_call"]["waits_for"])
    text = show("--tree", process.pid)
    check_match(rf"waits in read for fd \d+: pipe, written by {process.pid} waits", text)
    check_match(rf"^{child['pid']} .*\n  child of {process.pid}, ", text)
    end(process)


def test_zombie_and_nobody_there():
    process = waits("zombie")
    text = wait_until(lambda: (lambda text: text if "has ended, but its parent has not" in text else None)(
        show("--tree", process.pid, status=None)), what="the child to end")
    check_match(rf"has ended, but its parent has not waited for it: process {process.pid} waits", text)
    end(process)
    check_equal(show(process.pid, status=1), f"{process.pid}: no such process\n")
    check_equal(json.loads(show("--json", process.pid, status=1))["missing"], [process.pid])


def test_stopped_by_a_signal():
    process = waits("spin", "idle=2")
    os.kill(process.pid, signal.SIGSTOP)
    def all_stopped():
        return all(open(f"/proc/{process.pid}/task/{tid}/stat").read().rpartition(")")[2].split()[0] == "T"
                   for tid in os.listdir(f"/proc/{process.pid}/task"))
    for _ in range(5):
        wait_until(all_stopped, what="the stop")  # again: one that we stopped has to run to stop again
        found, document = threads(process.pid)
        check_equal(document["processes"][0]["state"], "stopped by a signal")
        check_equal(functions(found["spin"])[0], "spin")
    wait_until(all_stopped, what="the stop to stay")
    os.kill(process.pid, signal.SIGCONT)
    check_equal(end(process), "0 interrupted\n")


def test_many_threads():
    process = waits("idle=1000")
    asleep(process.pid, 1001)
    text = show(process.pid)
    check_match(r"^  1000 threads \((\d+, ){8}\.\.\.\) idle: waits in futex", text)
    check_match(r"^  user \S+, 1001 threads, started ", text)
    end(process)


def test_deeper_than_is_shown():
    process = waits("deep=3000")
    asleep(process.pid, 2)
    found, _ = threads(process.pid)
    check_equal(found["deep"]["incomplete"], "the stack has more than 1024 frames")
    check_equal(len(found["deep"]["frames"]) >= 1024, True)
    end(process)


def test_numbers_that_are_none():
    need_unwinding()
    for words, said in [(("x",), "'x' is not a PID; 'pgrep x' may find it"),
                        (("1", "-1"), "option '-1' must precede the first PID; type: pinject-run -1 --stacks PID..."),
                        (("1", "--json"), "option '--json' must precede the first PID; type: pinject-run --json "
                                          "--stacks PID..."),
                        (("99999999999",), "'99999999999' is not a PID; 'pgrep 99999999999' may find it")]:
        result = run([PINJECT_RUN, "--stacks", *words])
        check_equal((result.status, result.out, result.err), (125, "", f"pinject-run: {said}\n"))


def test_full_disk():
    need_unwinding()
    with open("/dev/full", "w") as full:
        result = run([PINJECT_RUN, "--stacks", os.getpid()], stdout=full)
    check_equal((result.status, result.err),
                (125, "pinject-run: cannot write to stdout: No space left on device\n"))


def test_rights():
    """What may not be traced is named, with the way out; nothing else is missing for it."""
    need_unwinding()
    if IS_ROOT:
        process = waits("idle=2")
        result = run([PINJECT_RUN, "--stacks", process.pid], user=NOBODY, group=NOBODY, extra_groups=[])
        check_equal(result.status, 1)
        check_in("its stacks cannot be read: ", result.out)
        check_match("run this as root|ptrace_scope", result.out)
        end(process)
    elif os.stat("/proc/1").st_uid != os.geteuid():
        check_match(r"its stacks cannot be read: .*(as root|another user|ptrace_scope)", show(1, status=1))


def test_traced_already():
    need("gdb")
    process = waits("spin")
    gdb = start(["gdb", "-nx", "-q", "-p", process.pid], stdin=subprocess.PIPE, env={"DEBUGINFOD_URLS": None})
    wait_until(lambda: f"TracerPid:\t{gdb.pid}" in open(f"/proc/{process.pid}/status").read(), what="gdb")
    wait_until(lambda: open(f"/proc/{process.pid}/stat").read().rpartition(")")[2].split()[0] == "t", what="the stop")
    check_in(f"process {gdb.pid} (a debugger, or strace) already traces this process", show(process.pid, status=1))
    gdb.communicate(b"detach\nquit\n", timeout=60)
    end(process)


def test_name_that_means_harm():
    """A name may hold what looks like the rest of /proc/PID/stat, and what drives a terminal."""
    script = r"""
import sys
open("/proc/self/comm", "w").write("x) Z 1 (\x1b[31m")
print("ready", flush=True)
sys.stdin.read()
"""
    process = start([sys.executable, "-S", "-E", "-c", script], stdin=subprocess.PIPE)
    check_equal(process.stdout.readline(), b"ready\n")
    asleep(process.pid, 1)
    document = json.loads(show("--json", process.pid))
    check_equal(document["processes"][0]["parent"], os.getpid())
    check_equal(document["processes"][0]["state"], "sleeping")
    check_equal(document["processes"][0]["threads"][0]["name"], "x) Z 1 (\x1b[31m")
    check("\x1b" not in show(process.pid))
    process.communicate(timeout=60)


def test_another_name_space():
    """Below unshare the owner of a mutex has another number than here."""
    prefix = ["unshare", "--pid", "--fork", "--kill-child"] + ([] if IS_ROOT else ["--user", "--map-current-user"])
    if run([*prefix, "true"]).status != 0:
        skip("no pid name spaces here")
    process = start([*prefix, target("waits"), "deadlock"], stdin=subprocess.PIPE)
    check_equal(process.stdout.readline(), b"ready\n")
    inner = int(open(f"/proc/{process.pid}/task/{process.pid}/children").read())
    asleep(inner, 3)
    document = wait_until(lambda: (lambda document: document if document["deadlocks"] else None)(json.loads(
        show("--tree", "--json", process.pid, status=None))), what="the deadlock")
    with measured():  # a stack that is read while its thread runs may not be whole
        show("--tree", "--json", process.pid, status=0 if IS_ROOT else None)
    check_equal([len(deadlock["threads"]) for deadlock in document["deadlocks"]], [2])
    check_equal(document["deadlocks"][0]["pid"], inner)
    process.communicate(b".", timeout=60)


def test_a_storm_of_processes():
    """A tree that changes all the time: no more than what is there, no failure, and it ends as it would."""
    need_unwinding()
    script = "i=0; while [ $i -lt 400 ]; do /bin/true; (:); i=$((i + 1)); done; echo done"
    process = start(["sh", "-c", script])
    while process.poll() is None:
        result = run([PINJECT_RUN, "--tree", "--json", process.pid])
        check(result.status in (0, 1) and not result.err, result)  # 1: it has just ended
        document = json.loads(result.out)
        threads_of = [thread for process_of in document["processes"] for thread in process_of["threads"]]
        check(result.status == 0 or document["missing"] or any(thread["incomplete"] for thread in threads_of), result)
    check_equal(process.communicate()[0], b"done\n")
    check_equal(process.returncode, 0)


if __name__ == "__main__":
    main()
