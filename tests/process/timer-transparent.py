# SPDX-License-Identifier: MIT
# labels: preload
# timeout: 240
"""Where perf_event_open is refused timers sample; a program sees nothing of them, byte by byte."""
import importlib.util

from harness import *

DENIED = [target("seccomp-deny"), "--"]


def profiled(*command, deny=DENIED, **kw):
    return run([*deny, PINJECT_RUN, "-q", "--follow-all", "--", *command], **kw)


def same(*command, deny=DENIED, **kw):
    """The run with timers, after a check that it is the run without."""
    bare, ours = run(command, **kw), profiled(*command, deny=deny, **kw)
    check_equal(ours.out_bytes.splitlines(), bare.out_bytes.splitlines(), "output")
    check_equal((ours.err_bytes, ours.status), (bare.err_bytes, bare.status), "stderr, status")
    return ours


def samples(*files):
    return panalyze_json("--aggregate", *(files or results()))["total"]["samples"]


def test_signals():
    same(target("signal-views"), "30")
    with measured():
        check(samples() >= 20, f"{samples()} samples")


def test_signals_when_timers_are_refused_too():
    same(target("signal-views"), "5",
         deny=[target("seccomp-deny"), "--syscall", "perf_event_open", "--syscall", "timer_create", "--"])


def test_blocking_threads_are_sampled():
    """A thread that has blocked every signal is sampled like others."""
    code = """if True:
        import signal, threading, time
        def work():
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            end = time.thread_time() + 0.4
            while time.thread_time() < end:
                for i in range(5000): pass
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """
    same(need("python3"), "-S", "-E", "-c", code)
    shares = [task["samples"] for task in panalyze_json("tree", *results())["tasks"] if task["pid"] != task["tid"]]
    check_equal(len(shares), 1, "threads")
    with measured():
        check(shares[0] > 20, f"samples of the thread: {shares}")


def test_what_programs_see():
    """The programs of transparent-programs.py, alone under the filter and with timers: text, stderr and status."""
    path = pathlib.Path(__file__).with_name("transparent-programs.py")
    spec = importlib.util.spec_from_file_location("transparent_programs", path)
    suite = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(suite)
    run_plain = suite.in_fresh_directory
    suite.in_fresh_directory = lambda before, command, env: run_plain([*DENIED, *before], command, env)
    suite.WAYS = {"all": ([PINJECT_RUN, "-q", "--follow-all", "--"], {})}
    suite.compare.__defaults__ = (suite.WAYS, *suite.compare.__defaults__[1:])
    for program in ("see-descriptors", "see-memory", "see-start", "see-own", "see-filter"):
        suite.table(program)
    # A tracer meets the signal, if a tick comes by.
    suite.table("see-process", "traced")
    # The numbers of timers are the kernel's, and ours was the first.
    suite.table("see-signals", "timers")


def test_descriptors_and_threads():
    code = "import os; print(sorted(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task')))"
    same(need("python3"), "-S", "-E", "-c", code)


def test_ends_of_threads():
    """By return, pthread_exit and cancellation: each thread's own figure is the one in its file."""
    result = profiled(target("threads-end"), "60").ok()
    said = {int(tid): int(ns) for tid, ns in re.findall(r"thread tid (\d+) cpu_ns (\d+)", result.out)}
    check_equal(len(said), 8, "threads")
    tree = panalyze_json("tree", *results())
    tasks = {task["tid"]: task for task in tree["tasks"]}
    with measured(if_=tree["coverage"]["missed"]):  # an answer came too late
        check(said.keys() <= tasks.keys(), tree)
    for tid, ns in said.items():
        with measured():  # the end comes after the word
            check_near(tasks[tid]["cpu_ns"], ns, percent=2, points=1000000, what=f"thread {tid}")


def test_small_stacks():
    """Threads with the smallest stack that there is, which burn for many ticks."""
    code = """if True:
        import threading, time
        threading.stack_size(32768)
        def work():
            end = time.thread_time() + 0.05
            while time.thread_time() < end: pass
            print("done")
        for i in range(8):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        """
    same(need("python3"), "-S", "-E", "-c", code)


def test_small_alternate_stacks():
    """A stack on which no frame of a signal fits, in the program and a child of fork: a tick there would end both."""
    code = """if True:
        import ctypes, os, time
        class Stack(ctypes.Structure):
            _fields_ = [("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]
        room = ctypes.create_string_buffer(16384)
        def take(size):
            print(ctypes.CDLL(None).sigaltstack(ctypes.byref(Stack(ctypes.addressof(room), 0, size)), None), flush=True)
        def burn():
            end = time.process_time() + 0.1
            while time.process_time() < end: pass
        take(5120 if os.uname().machine == "aarch64" else 2048)
        burn()
        pid = os.fork()
        burn()
        if pid: print(os.waitpid(pid, 0)[1])
        """
    same(need("python3"), "-S", "-E", "-c", code)


def test_stacks_cannot_be_read():
    """Without process_vm_readv chains have one entry, and nothing faults."""
    same(target("signal-views"), "5",
         deny=[target("seccomp-deny"), "--syscall", "perf_event_open", "--syscall", "process_vm_readv", "--"])


def test_sandbox_that_kills():
    """A program that shuts itself in is not sampled any more: no system call of ours ends it."""
    code = """if True:
        import ctypes, platform, time
        libc = ctypes.CDLL(None)
        print("begun", libc.prctl(38, 1, 0, 0, 0), flush=True)
        end = time.process_time() + 0.1
        while time.process_time() < end: pass
        class Filter(ctypes.Structure):
            _fields_ = [("code", ctypes.c_ushort), ("t", ctypes.c_ubyte), ("f", ctypes.c_ubyte), ("k", ctypes.c_uint32)]
        class Program(ctypes.Structure):
            _fields_ = [("size", ctypes.c_ushort), ("filter", ctypes.POINTER(Filter))]
        readv = {"x86_64": 310, "aarch64": 270}[platform.machine()]
        code = (Filter * 4)((0x20, 0, 0, 0), (0x15, 0, 1, readv), (6, 0, 0, 0x80000000), (6, 0, 0, 0x7fff0000))
        print("filter", libc.prctl(22, 2, ctypes.byref(Program(4, code)), 0, 0), flush=True)
        end = time.process_time() + 0.2
        while time.process_time() < end: pass
        print("alive")
        """
    result = same(need("python3"), "-S", "-E", "-c", code)
    check_in("alive", result.out)


if __name__ == "__main__":
    main()
