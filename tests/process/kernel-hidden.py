# SPDX-License-Identifier: MIT
# labels: collector analyze
# run-as: nobody
"""What is said where kernel code may not be sampled, of a program that spends its time in system calls."""
from harness import *


def sysctl(name):
    return int(pathlib.Path("/proc/sys/kernel", name).read_text())


def need_a_hidden_kernel():
    need_perf_events()
    if IS_ROOT or sysctl("perf_event_paranoid") != 2:
        skip("the kernel may be sampled here, or nothing")


def copy(*options):
    """System calls for 300 ms and more; user space has a sixth of that."""
    return pinject_run(*options, "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=16k", "count=400000").ok()


def sampled_percent(text):
    return float(re.search(r"([0-9.]+) % of the CPU time is in this profile, kernel code is not sampled", text)[1])


def test_reports_say_so():
    need_a_hidden_kernel()
    done = copy("-o", "out")
    check_match(r"kernel code is not sampled \(\S+ \S+ of the CPU time\); 'pinject-run --doctor' says why", done.err)
    coverage = panalyze_json(*results())["coverage"]
    check(coverage["kernel_excluded"], coverage)
    check(coverage["kernel_ns"] > coverage["user_ns"], coverage)
    check(coverage["user_ns"] + coverage["kernel_ns"] <= coverage["cpu_ns"] * 1.01 + 2e6, coverage)
    for view in ((), ("summary",), ("summary", "--markdown"), ("--per-task",), ("annotate",), ("tree",)):
        text = run([PANALYZE, *view, *results()]).out
        check(sampled_percent(text) < 50, f"{view}: {text}")
        check(0 <= coverage["sampled_percent"] - sampled_percent(text) < 0.1001, f"{coverage}, {view}: {text}")
    text = run([PANALYZE, *results()]).out
    check_in(", user space only", text)
    check_in("share of the time in user space", " ".join(text.split()))
    for options, rows in (((), "Functions"), (("--by", "line"), "Lines"), (("--call-tree",), "Functions"),
                          (("summary",), "Functions"), (("summary", "--markdown"), "Functions"),
                          (("--by", "dso"), "DSOs")):
        text = re.sub(r"\s+", " ", run([PANALYZE, *options, *results()]).out)
        said = check_match(rf" {rows} that call the kernel show only their time in user space: the order of "
                           r"the rows ignores the ([\d.]+) (s|ms) that this run spent in the kernel\. ", text)
        check_near(float(said[1]) * {"s": 1e9, "ms": 1e6}[said[2]], coverage["kernel_ns"], percent=1)
    check("their time in user space" not in run([PANALYZE, "--by", "process", *results()]).out, "of processes")
    run([PANALYZE, "flame", "-o", "flame.svg", *results()]).ok()
    check_in("user space only", pathlib.Path("flame.svg").read_text())


def test_order_is_right_where_the_kernel_has_little():
    need_a_hidden_kernel()
    pinject_run("-q", "-o", "out", "--", target("spin"), "300").ok()
    with measured():
        check("their time in user space" not in run([PANALYZE, *results()]).out, "of a program that computes")


def test_counts_have_all():
    need_a_hidden_kernel()
    done = copy("--stat", "-e", "task-clock,task-clock:u", "-o", "out")
    check_in("'task-clock:u' counts all CPU time", done.err)
    check("kernel code is not sampled" not in done.err, done.err)
    check_in("100.0 % of the CPU time is in this profile's tasks\n", run([PANALYZE, "counts", *results()]).out)
    text = " ".join(run([PANALYZE, "tree", *results()]).out.split())
    check_in("Not counted: events in kernel code, except CPU time; 'pinject-run --doctor' says what to change",
             text)
    check("shares are of" not in text, text)


def test_info_tells_counts_from_samples():
    need_a_hidden_kernel()
    text = pinject_run("--info").out
    check_in("counts and samples; samples are of user space only", text)


if __name__ == "__main__":
    main()
