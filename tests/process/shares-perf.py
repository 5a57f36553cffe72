# SPDX-License-Identifier: MIT
# labels: figures
# timeout: 240
# serial
"""The heaviest functions of CPU-bound programs have the shares that perf record finds for the same command.

Programs whose work is always the same are run twice, once under each. What python and xz do differs from run to run by
more than 3 points (addresses, caches, who takes which block), so there perf runs under pinject-run, and the command
under both at once. The shares differ by chance too: there are so many samples that 3 points are 3.8 standard deviations
of the difference at worst (a share of 50 %).
"""
from harness import *

POINTS = 3.0
SAMPLES = 7500


# The layout of its tables, and with it the time of python, follows from this.
ENV = {"PYTHONHASHSEED": "0"}
EVENT = "task-clock:u"


def add(shares, name, percent):
    shares[name] = shares.get(name, 0) + percent


# More than 8000 samples in 2.5 seconds of work; at different rates, so that the two do not count the same instants.
PERF_RATE, OUR_RATE = "3001", "3259"


def perf_record(command):
    return ["perf", "record", "-q", "-F", PERF_RATE, "-m", "16", "-g", "-e", EVENT, "-o", "perf.data", "--", *command]


def perf_shares():
    """({symbol: share}, {DSO: share}) by self time, of perf's own report."""
    symbols, dsos = {}, {}
    for sort, shares, pattern in (("sym", symbols, r"\s*([\d.]+)% *\t\[.\] (.*?)\s*$"),
                                  ("dso", dsos, r"\s*([\d.]+)% *\t(.*?)\s*$")):
        report = run(["perf", "report", "-i", "perf.data", "--stdio", "--no-children", "-g", "none", "--percent-limit",
                      "0", "--sort", sort, "-F", f"overhead,{sort}", "-t", "\t"]).ok()
        for line in report.lines:
            found = re.match(pattern, line)
            if found:
                add(shares, found[2], float(found[1]))
        check(shares, f"perf report shows nothing: {report}")
    return symbols, dsos


def record(command):
    pinject_run("-q", "--follow-all", "-e", EVENT, "-F", OUR_RATE, "--", *command, env=ENV).ok()


def our_shares(comm):
    document = panalyze_json("--aggregate", "--top", "all", "--comm", comm, *results())
    with measured():
        check(document["total"]["samples"] >= SAMPLES, f"{document['total']['samples']} samples of {comm}")
    symbols, dsos = {}, {}
    for function in document["functions"]:
        add(symbols, function["symbol"], function["self_percent"])
        add(dsos, os.path.basename(function["dso"]), function["self_percent"])
    return symbols, dsos


def is_name(symbol):
    """Unresolved addresses have no name in common: perf shows the address, we show DSO+offset."""
    return not re.match(r"0x|\[|.*\+0x", symbol)


def compare_heaviest(theirs, ours, what):
    for one, other, by in ((theirs, ours, "perf"), (ours, theirs, "us")):
        for name in [name for name in sorted(one, key=one.get, reverse=True) if is_name(name)][:10]:
            with measured():
                check_near(other.get(name, 0), one[name], points=POINTS,
                           what=f"share of the {what} {name}, which has {one[name]} by {by}")


def compare(command, at_once=False):
    """Functions where there are names; DSOs in any case: of a stripped library perf has addresses alone."""
    need_perf_events()
    need("perf")
    if at_once:
        record(perf_record(command))
    else:
        run(perf_record(command), env=ENV).ok()
        record(command)
    theirs, ours = perf_shares(), our_shares(os.path.basename(command[0]))
    compare_heaviest(theirs[0], ours[0], "function")
    compare_heaviest(theirs[1], ours[1], "DSO")
    check(any(is_name(name) for name in theirs[1]), f"perf names no DSO: {theirs}")


def test_one_thread():
    compare([target("spin"), "2800"])


def test_eight_threads():
    compare([target("spin"), "400", "8"])


def test_python():
    python = need("python3")
    code = ("import re, time\nd = {}\nwhile time.process_time() < 2.8:\n"
            " for i in range(20000): d[str(i % 977)] = len(re.sub('1', 'ab', str(i)))")
    compare([python, "-S", "-E", "-c", code], at_once=True)


def test_xz():
    need("xz")
    with open("input", "wb") as to:
        for i in range(480000):
            to.write(b"%d the quick brown fox %d\n" % (i * 7919 % 104729, i))
    compare(["xz", "-T2", "-k", "-f", "--block-size=1MiB", "input"], at_once=True)


if __name__ == "__main__":
    main()
