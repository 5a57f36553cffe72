# SPDX-License-Identifier: MIT
# labels: analyze
# timeout: 180
"""The same file through perf report: the same samples must give the same shares."""
from harness import *

POINTS = 0.1


def need_perf():
    need("perf")
    need_perf_events()


def perf_shares(name, sort):
    """{symbol or object: share} as perf report has it."""
    result = run(["perf", "report", "-i", name, "--stdio", "--no-children", "-g", "none", "--percent-limit", "0", "--sort", sort,
                  "-F", f"overhead,{sort}", "-t", "\t"]).ok()
    shares = {}
    for line in result.lines:
        found = re.match(r"\s*([\d.]+)% *\t(?:\[.\] )?(.*?)\s*$", line)
        if found:
            shares[found[2]] = shares.get(found[2], 0) + float(found[1])
    check(shares, f"perf report shows nothing: {result}")
    return shares


def our_shares(name, key):
    shares = {}
    for function in panalyze_json("--aggregate", name)["functions"]:
        label = function["symbol"] if key == "symbol" else os.path.basename(function["dso"])
        shares[label] = shares.get(label, 0) + function["self_percent"]
    return shares


def is_name(label):
    """Addresses without a symbol are written differently; perf finds names of the vdso only where it has cached it, and where it
    finds no stubs in a PLT its _init, which lies before it, goes on through it."""
    return not re.match(r"0x|\[unknown\]|.*\+0x|//anon|\[.*\]$|.*@plt$|\.plt|__vdso_|_init$", label)


def compare(name):
    for sort, key in (("sym", "symbol"), ("dso", "dso")):
        theirs, ours = perf_shares(name, sort), our_shares(name, key)
        named = [label for label in theirs if is_name(label)]
        check(named, f"perf names nothing in {name}")
        # perf rounds each line to 0.01
        for label in named:
            check_near(ours.get(label, 0), theirs[label], points=POINTS, what=f"{name}: share of {label}")
        for label in [label for label in ours if is_name(label) and ours[label] > POINTS]:
            check_near(theirs.get(label, 0), ours[label], points=POINTS, what=f"{name}: share of {label}, by us")


def test_perf_data_of_perf():
    need_perf()
    event = "task-clock" if IS_ROOT else "task-clock:u"
    run(["perf", "record", "-q", "-F", "2000", "-g", "-e", event, "-o", "perf.data", "--", "sh", "-c",
         f"{target('spin')} 200; exec {sys.executable} -S -E -c 'sum(i * i for i in range(3000000))'"]).ok()
    compare("perf.data")
    total = panalyze_json("--aggregate", "perf.data")["total"]
    shown = run(["perf", "report", "-i", "perf.data", "--stdio", "--no-children", "-g", "none"]).ok().out
    samples = check_match(r"^# Samples: (\d+)(K?) ", shown)
    check_near(total["samples"], int(samples[1]) * (1000 if samples[2] else 1), points=500 if samples[2] else 0)
    check_equal(total["weight"], int(check_match(r"^# Event count \(approx\.\): (\d+)", shown)[1]))


def test_result_files():
    need_perf()
    pinject_run("-q", "--follow-all", "-F", "2000", "--", "sh", "-c", f"{target('spin')} 200; {target('spin')} 100 2").ok()
    compared = 0
    for name in results():
        if panalyze_json(name)["total"]["samples"] >= 50:
            compare(name)
            compared += 1
    check(compared >= 3, f"only {compared} files had samples")


def test_call_chains_add_up():
    """perf's children column counts a function once per sample, as our total does."""
    need_perf()
    run(["perf", "record", "-q", "-F", "2000", "-g", "-e", "task-clock:u", "-o", "perf.data", "--", target("spin"), "200"]).ok()
    result = run(["perf", "report", "-i", "perf.data", "--stdio", "--children", "-g", "none", "--percent-limit", "0", "--sort", "sym",
                  "-F", "overhead_children,sym", "-t", "\t"]).ok()
    ours = {f["symbol"]: f["total_percent"] for f in panalyze_json("--aggregate", "perf.data")["functions"]}
    compared = 0
    for line in result.lines:
        found = re.match(r"\s*([\d.]+)% *\t\[.\] (\S+?)\s*$", line)
        if found and is_name(found[2]) and float(found[1]) >= 1:
            check_near(ours.get(found[2], 0), float(found[1]), points=POINTS, what=f"total share of {found[2]}")
            compared += 1
    check(compared >= 2, result)


def records(text):
    """[(heading, [frames])] of what perf script or panalyze script printed, in the order of time."""
    found = []
    for part in text.split("\n\n"):
        lines = [" ".join(line.split()) for line in part.splitlines()]
        if lines:
            # what has no name is written differently, and perf has more ways to find one in the vdso
            frames = [line for line in lines[1:] if "[vdso]" not in line and "[unknown]" not in line and "//anon" not in line]
            found.append((lines[0], frames))
    return sorted(found, key=lambda record: (float(re.search(r" (\d+\.\d+): ", record[0])[1]), record[0]))


def same(ours, theirs):
    """Where a call is the last thing in a function, its return address is the next function's: perf script names that one. Where
    perf finds no stubs in a PLT it calls them by the section before it, _init; which stub it is, unit/symbol_files holds against objdump."""
    def place(line):
        return line.split()[0], line.split()[-1]

    def same_frame(a, b):
        return a == b or (place(a) == place(b) and ("+0x0 " in b or ("@plt+" in a and " _init+" in b)))
    return ours[0] == theirs[0] and len(ours[1]) == len(theirs[1]) and all(map(same_frame, ours[1], theirs[1]))


def test_script_is_that_of_perf():
    """Every sample of the same file, line by line: addresses, symbols, offsets, objects, call chains."""
    need_perf()
    event = "task-clock" if IS_ROOT else "task-clock:u"
    run(["perf", "record", "-q", "-F", "1000", "-g", "-e", event, "-o", "perf.data", "--", "sh", "-c",
         f"{target('spin')} 100 2; exec {target('spin')} 50"]).ok()
    theirs = records(run(["perf", "script", "-i", "perf.data", "-F", "comm,pid,tid,time,period,event,ip,sym,symoff,dso"]).ok().out)
    ours = records(panalyze("script", "perf.data").ok().out)
    check(len(theirs) > 100, theirs)
    check_equal(len(ours), len(theirs))
    different = [(a, b) for a, b in zip(ours, theirs) if not same(a, b)]
    check(len(different) == 0, f"{len(different)} of {len(ours)} differ, the first: {different[:1]}")


if __name__ == "__main__":
    main()
