# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
# timeout: 120
"""Large files: threads change nothing, memory grows with stacks and not with samples, shares are those of perf."""
import collections
import importlib

from harness import *

perf = importlib.import_module("analyze-perf")

ENLARGE = SOURCE / "tests/bench/enlarge"
ENOUGH = 60000  # samples: threads begin at 50000
# The kernel at the start of many processes, and functions that call each other: stacks of both.
MANY_TASKS = "i=0; while [ $i -lt 25 ]; do /bin/true; i=$((i+1)); done; exec %s 250 2"
FEW_TASKS = "exec %s 250 2"


def record(work=MANY_TASKS):
    """A perf.data of a few thousand samples; how many."""
    need("perf")
    need_perf_events()
    event = "task-clock" if IS_ROOT else "task-clock:u"
    run(["perf", "record", "-q", "-F", "8000", "-g", "-e", event, "-o", "perf.data", "--",
         "sh", "-c", work % target("spin")]).ok()
    return panalyze_json("-a", "perf.data")["total"]["samples"]


def enlarge(to, times, *options):
    made = run([sys.executable, ENLARGE, *options, "--times", str(times), "perf.data", to]).ok()
    return int(made.out.split()[0])


# What a child had before its exec counts as its own: this python has too much.
MEASURE = """
import os, sys
child = os.fork()
if child == 0:
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print(status, usage.ru_maxrss)
"""


def peak(*args):
    """Megabytes that panalyze needed at most."""
    status, kilobytes = run([sys.executable, "-S", "-E", "-c", MEASURE, PANALYZE, *args]).ok().out.split()
    check_equal(status, "0", args)
    return int(kilobytes) / 1024


def test_threads_change_nothing():
    samples = record()
    times = ENOUGH // samples + 2
    check(enlarge("same", times) > ENOUGH, "too few samples for threads to begin")
    enlarge("distinct", times, "--distinct")
    views = (["--aggregate", "--callers", "--callees"], [], ["--json"],
             ["--aggregate", "--by", "address", "--top", "all"])
    for file in ("same", "distinct"):
        for number, view in enumerate(views):
            alone = panalyze("report", "--threads", "1", *view, file).ok()
            threads = str(2 + number % 2)
            shared = panalyze("report", "--threads", threads, *view, file).ok()
            check(shared.out_bytes == alone.out_bytes, f"{threads} threads say something else of {file}, {view}")
            check_equal(shared.err, alone.err)


def threads_of(*args):
    """How many threads panalyze started, by strace."""
    need("strace")
    run(["strace", "-f", "-qq", "-o", "trace", "-e", "trace=clone,clone3", PANALYZE, *args]).ok()
    with open("trace", encoding="utf-8") as trace:
        return sum("CLONE_THREAD" in line for line in trace)  # once each: not where one is resumed


def test_threads_are_used():
    samples = record()
    enlarge("large", ENOUGH // samples + 2)
    if SANITIZED:
        skip("not under strace")
    # Names are looked up by the caller and two more, of one DSO each at a time.
    check_equal(threads_of("report", "-a", "--threads", "3", "large"), 3 + 2)
    check_equal(threads_of("report", "-a", "--threads", "1", "large"), 0)
    check_equal(threads_of("report", "-a", "--threads", "3", "perf.data"), 2)
    check_equal(threads_of("report", "-a", "--threads", "3", "--by", "dso", "perf.data"), 0)


def test_tasks_together_are_tasks_apart():
    """One profile of all tasks, where samples are not kept by task, says what the tasks say one by one."""
    record()
    document = panalyze_json("-a", "perf.data")
    apart = panalyze_json("--top", "all", "perf.data")
    check_equal(document["total"], apart["total"])
    both = ("pid", "tid", "comm", "samples", "weight")
    check_equal([[task[key] for key in both] for task in document["tasks"]],
                [[task[key] for key in both] for task in apart["tasks"]])
    sums = {}
    for task in apart["tasks"]:
        for function in task["functions"]:
            key = function["symbol"], function["dso"]
            old = sums.get(key, [0, 0])
            sums[key] = [old[0] + function["self_weight"], old[1] + function["total_weight"]]
    ours = {(f["symbol"], f["dso"]): [f["self_weight"], f["total_weight"]] for f in document["functions"]}
    check_equal(ours, sums)


def test_memory_is_of_stacks():
    samples = record(FEW_TASKS)
    times = ENOUGH // samples + 1
    few = enlarge("few", times)
    many = enlarge("many", 5 * times)
    distinct = enlarge("distinct", 5 * times, "--distinct")
    check(many == distinct == 5 * few, (few, many, distinct))
    if SANITIZED:
        skip("a sanitizer has memory of its own")
    report = ["report", "--aggregate", "--callers", "--threads", "2"]
    small, large, worst = peak(*report, "few"), peak(*report, "many"), peak(*report, "distinct")
    # The tasks of the copies are there: 2 each, of 1 KB.
    check(large < 1.1 * small + 5 * times * 0.004 + 8,
          f"{many} samples need {large:.0f} MB, {few} of the same stacks {small:.0f} MB")
    # A frame, a stack of five and an entry: 250 bytes, and at worst as much again in the threads and for what is shown.
    check(worst > large + 100e-6 * distinct, f"{distinct} distinct stacks need {worst:.0f} MB: this measures nothing")
    check(worst < large + 800e-6 * distinct, f"{distinct} stacks need {worst:.0f} MB, without them {large:.0f} MB")


def add(shares, name, percent):
    shares[name] = shares.get(name, 0) + percent


def perf_children():
    """{symbol: [total share, self share]} by perf report; a name may have a line for each mode of the CPU."""
    result = run(["perf", "report", "-i", "perf.data", "--stdio", "--children", "--no-inline", "-g", "none",
                  "--percent-limit", "0", "--sort", "sym", "-F", "overhead_children,overhead,sym", "-t", "\t"]).ok()
    shares = {}
    for line in result.lines:
        found = re.match(r"\s*([\d.]+)% *\t\s*([\d.]+)% *\t\[.\] (.*?)\s*$", line)
        if found:
            known = shares.setdefault(found[3], [0, 0])
            known[0] += float(found[1])
            known[1] += float(found[2])
    check(shares, f"perf report shows nothing: {result}")
    return shares


def taken_for_the_next(samples):
    """Where a call is the last thing in a function, as in ld.so's _start or of what does not return, perf takes the
    return address for the start of the function behind: the names of both, where that is in more than 0.05 % of the
    SAMPLES of perf.data."""
    text = run(["perf", "script", "-i", "perf.data", "-F", "ip,sym,symoff"]).ok().out
    theirs = collections.Counter(re.findall(r"(?<!\n)\n\s+([0-9a-f]+) (.+)\+0x0(?: \(.*\))?(?=\n)", text))
    often = {address: name for (address, name), count in theirs.items() if count > 0.0005 * samples}
    ours = re.findall(r"^\t *([0-9a-f]+) (.+)\+0x[0-9a-f]+ \(.*\)$", panalyze("script", "perf.data").ok().out, re.M)
    return set(often.values()) | {name for address, name in ours if address in often}


def test_shares_of_a_compiler():
    """Self and total share of each symbol above 0.5 %, beside perf report --children on the same file."""
    need("perf", "cc")
    need_perf_events()
    with open("work.c", "w", encoding="utf-8") as source:
        for i in range(250):
            source.write(f"int f{i}(int *a, int n) {{ int s = {i}; for (int i = 0; i < n; i++) "
                         f"s += a[i] * a[(i * {i + 3}) % n]; return s > n ? s - {i} : s; }}\n")
    event = "task-clock" if IS_ROOT else "task-clock:u"
    run(["perf", "record", "-q", "-F", "20000", "-g", "-e", event, "-o", "perf.data", "--",
         "cc", "-O2", "-c", "work.c"]).ok()
    ours = panalyze_json("--aggregate", "--top", "all", "perf.data")
    with measured():
        check(ours["total"]["samples"] > 2000, f"only {ours['total']['samples']} samples")
    selfs, totals = {}, {}
    for function in ours["functions"]:
        add(selfs, function["symbol"], function["self_percent"])
        add(totals, function["symbol"], function["total_percent"])
    compared, wrong = 0, []
    for name, (total, self) in perf_children().items():
        if not perf.is_name(name) or re.match("[0-9a-f]{16}$|_dl_start_user$|_start$", name) or total < 0.5:
            continue
        compared += 1
        check_near(selfs.get(name, 0), self, points=0.1, what=f"self share of {name}")
        if not near(totals.get(name, 0), total, points=0.1):
            wrong.append((name, totals.get(name, 0), total))
    left_out = taken_for_the_next(ours["total"]["samples"]) if wrong else ()
    for name, our, their in wrong:
        check(name in left_out, f"total share of {name}: {our} instead of {their}")
    check(compared >= 5, f"only {compared} symbols")


def test_few_descriptors():
    """As many result files as there are, with hardly any descriptor."""
    need_perf_events()
    pinject_run("-q", "--follow-all", "--", "sh", "-c", "i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done").ok()
    files = results()
    check_named(61)
    with measured():  # on a busy machine some may have ended before their events were open
        check(len(files) > 60, f"{len(files)} files")
    free = panalyze("report", "-a", *files).ok()
    tight = run(["sh", "-c", 'ulimit -n 12; exec "$0" "$@"', PANALYZE, "report", "-a", *files]).ok()
    check_equal(tight.out, free.out)
    check_equal(tight.err, free.err)


def test_wrong_numbers_of_threads():
    for number, word in (("0", "at least 1"), ("65", "at most 64"), ("x", "whole number")):
        result = panalyze("report", "--threads", number, "perf.data")
        check_equal(result.status, 2)
        check_in(word, result.err)


def test_enlarge_refuses():
    """The generator says what it cannot take."""
    with open("none", "wb") as none:
        none.write(b"no profile")
    check_in("is no perf.data", run([sys.executable, ENLARGE, "none", "out"]).err)
    check_in("No such file", run([sys.executable, ENLARGE, "missing", "out"]).err)
    check_in("of a pipe", run([sys.executable, ENLARGE, DATA / "pipe.data", "out"]).err)


if __name__ == "__main__":
    main()
