# SPDX-License-Identifier: MIT
# labels: figures
# timeout: 240
# serial
"""The heaviest functions of CPU-bound programs have the shares that perf record finds for the same command.

The two runs are different runs, so the shares differ by chance: the commands run long enough (some 2000 samples) that 3 points are more
than three standard deviations.
"""
from harness import *

NOISY = True
POINTS = 3.0


def perf_shares(command):
    """{symbol: share} by self time, of perf's own record and report."""
    run(["perf", "record", "-q", "-F", "999", "-g", "-e", EVENT, "-o", "perf.data", "--", *command]).ok()
    report = run(["perf", "report", "-i", "perf.data", "--stdio", "--no-children", "-g", "none", "--percent-limit", "0",
                  "--sort", "sym", "-F", "overhead,sym", "-t", "\t"]).ok()
    shares = {}
    for line in report.lines:
        found = re.match(r"\s*([\d.]+)% *\t\[.\] (.*?)\s*$", line)
        if found:
            shares[found[2]] = shares.get(found[2], 0) + float(found[1])
    check(shares, f"perf report shows nothing: {report}")
    return shares


def our_shares(command):
    pinject_run("-q", "--follow-all", "-e", EVENT, "-F", "999", "--", *command).ok()
    document = panalyze_json("--aggregate", "--top", "100000", *results())
    shares = {}
    for function in document["functions"]:
        shares[function["symbol"]] = shares.get(function["symbol"], 0) + function["self_percent"]
    return shares


EVENT = "task-clock:u"


def is_name(symbol):
    """Unresolved addresses have no name in common: perf shows the address, we show object+offset."""
    return not re.match(r"0x|\[unknown\]|.*\+0x", symbol)


def compare(command):
    need_perf_events()
    need("perf")
    theirs, ours = perf_shares(command), our_shares(command)
    heaviest = [name for name in sorted(theirs, key=theirs.get, reverse=True) if is_name(name)][:10]
    check(heaviest, "perf names no function")
    for name in heaviest:
        check_near(ours.get(name, 0), theirs[name], points=POINTS, what=f"share of {name}")
    for name in [name for name in sorted(ours, key=ours.get, reverse=True) if is_name(name)][:10]:
        check_near(ours[name], theirs.get(name, 0), points=POINTS, what=f"share of {name}, by us")


def test_one_thread():
    compare([target("spin"), "2000"])


def test_eight_threads():
    compare([target("spin"), "400", "8"])


def test_python():
    python = need("python3")
    compare([python, "-S", "-E", "-c", "import re\nd = {}\nfor i in range(1500000): d[str(i % 977)] = len(re.sub('1', 'ab', str(i)))"])


def test_xz():
    need("xz")
    with open("input", "wb") as to:
        for i in range(120000):
            to.write(b"%d the quick brown fox %d\n" % (i * 7919 % 104729, i))
    compare(["xz", "-T2", "-k", "-f", "--block-size=1MiB", "input"])


if __name__ == "__main__":
    main()
