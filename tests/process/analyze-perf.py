# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
# timeout: 180
"""The same file through perf report: the same samples must give the same shares."""
from harness import *

POINTS = 0.1


def need_perf():
    need("perf")
    need_perf_events()


def perf_shares(name, sort):
    """{symbol or DSO: share} as perf report has it."""
    result = run(["perf", "report", "-i", name, "--stdio", "--no-children", "-g", "none", "--percent-limit", "0",
                  "--sort", sort, "-F", f"overhead,{sort}", "-t", "\t"]).ok()
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
    """Addresses without a symbol are written differently (by perf as %#.16llx, which has no 0x for 0, where a chain of
    frame pointers may end); perf finds names of the vdso only where it has cached it, and where it finds no stubs in a
    PLT its _init, which lies before it, goes on through it."""
    return not re.match(r"0x|0{16}$|\[unknown\]|.*\+0x|//anon|\[.*\]$|.*@plt$|\.plt|__vdso_|_init$", label)


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
    samples = check_match(r"^# Samples: (\d+)(K?) ", shown)  # of more than a thousand it cuts the hundreds off
    check_equal(total["samples"] // (1000 if samples[2] else 1), int(samples[1]))
    check_equal(total["weight"], int(check_match(r"^# Event count \(approx\.\): (\d+)", shown)[1]))


def test_result_files():
    need_perf()
    pinject_run("-q", "--follow-all", "-F", "2000", "--", "sh", "-c",
                f"{target('spin')} 200; {target('spin')} 100 2").ok()
    compared = 0
    for name in results():
        if panalyze_json(name)["total"]["samples"] >= 50:
            compare(name)
            compared += 1
    with measured():
        check(compared >= 3, f"only {compared} files had samples")


def test_call_chains_add_up():
    """perf's children column counts a function once per sample, as our total does."""
    need_perf()
    run(["perf", "record", "-q", "-F", "2000", "-g", "-e", "task-clock:u", "-o", "perf.data", "--", target("spin"),
         "200"]).ok()
    result = run(["perf", "report", "-i", "perf.data", "--stdio", "--children", "-g", "none", "--percent-limit", "0",
                  "--sort", "sym", "-F", "overhead_children,sym", "-t", "\t"]).ok()
    ours = {f["symbol"]: f["total_percent"] for f in panalyze_json("--aggregate", "perf.data")["functions"]}
    # ld.so's _start ends with a call; perf names the address that it returns to, which is the next function's first.
    border = {"_start", "_dl_start_user"}
    compared = 0
    for line in result.lines:
        found = re.match(r"\s*([\d.]+)% *\t\[.\] (\S+?)\s*$", line)
        if found and is_name(found[2]) and found[2] not in border and float(found[1]) >= 1:
            check_near(ours.get(found[2], 0), float(found[1]), points=POINTS, what=f"total share of {found[2]}")
            compared += 1
    check(compared >= 2, result)


def records(text, begin=""):
    """[(heading, [frames])] of what perf script or panalyze script printed, in the order of time; headings that begin
    with BEGIN (others' names may have line ends in them)."""
    found = []
    # perf names the CPU only when it is asked to.
    text = re.sub(r"^(\S.* \d+/-?\d+) \[\d+\] ", r"\1 ", text, flags=re.MULTILINE)
    # Without a chain it has one line for a sample, which ends with the place.
    text = re.sub(r"^ *(\S.*: +\d+ \S+: ) +([0-9a-f]+ .*)$", r"\1\n\t\2\n", text, flags=re.MULTILINE)
    for part in text.split("\n\n"):
        lines = [" ".join(line.split()) for line in part.splitlines()]
        if lines and lines[0].startswith(begin):
            # what has no name is written differently, and perf has more ways to find one in the vdso
            frames = [line for line in lines[1:] if "[vdso]" not in line and "[unknown]" not in line
                      and "//anon" not in line]
            found.append((lines[0], frames))
    return sorted(found, key=lambda record: (float(re.search(r" (\d+\.\d+): ", record[0])[1]), record[0]))


def same(ours, theirs):
    """Where a call is the last thing in a function, its return address is the next function's: perf script names that
    one. (Ours has no name where the byte before it is between two functions: what is no return address, and stands in
    a chain all the same.) Where perf finds no stubs in a PLT it calls them by the section before it, _init, and some
    stubs of libc it calls "@plt", of no function (objdump: _dl_audit_preinit@plt); which stub it is, unit/symbol_files
    holds against objdump. The first entry of a PLT, which all stubs lead to, has no name in perf: it is left out."""
    def place(line):
        return line.split()[0], line.split()[-1]

    def same_frame(a, b):
        stub = re.search(r"@plt\+| \.plt\+", a) and re.search(r" (_init|@plt)\+", b)
        return a == b or (place(a) == place(b) and ("+0x0 " in b and a[0] != "-" or bool(stub)))
    ours_at, theirs_at = ({line.split()[0] for line in one[1]} for one in (ours, theirs))
    mine = [line for line in ours[1] if not re.search(r" \.plt\+0x[0-9a-f] ", line) or line.split()[0] in theirs_at]
    frames = [line for i, line in enumerate(theirs[1])
              if not (i and "+0x0 " in line and line.split()[0] not in ours_at)]
    return ours[0] == theirs[0] and len(mine) == len(frames) and all(map(same_frame, mine, frames))


def test_script_is_that_of_perf():
    """Every sample of the same file, line by line: addresses, symbols, offsets, DSOs, call chains."""
    need_perf()
    event = "task-clock" if IS_ROOT else "task-clock:u"
    run(["perf", "record", "-q", "-F", "1000", "-g", "-e", event, "-o", "perf.data", "--", "sh", "-c",
         f"{target('spin')} 100 2; exec {target('spin')} 50"]).ok()
    theirs = records(run(["perf", "script", "-i", "perf.data", "-F",
                          "comm,pid,tid,time,period,event,ip,sym,symoff,dso"]).ok().out)
    ours = records(panalyze("script", "perf.data").ok().out)
    with measured():
        check(len(theirs) > 100, theirs)
    check_equal(len(ours), len(theirs))
    different = [(a, b) for a, b in zip(ours, theirs) if not same(a, b)]
    check(len(different) == 0, f"{len(different)} of {len(ours)} differ, the first: {different[:1]}")


SCRIPT = ("-F", "comm,pid,tid,time,period,event,ip,sym,symoff,dso")
EVENT = "task-clock:u"
# What is recorded; as root it may be more.
KINDS = {
    "several events": ["-g", "-e", "task-clock:u,cpu-clock:u,page-faults:u"],
    "without chains": ["-c", "500000", "-e", EVENT],
    "compressed": ["-g", "-z", "-e", EVENT],
    "a group": ["-i", "-g", "-e", "{task-clock:u,page-faults:u,minor-faults:u}:S"],
    "per thread": ["--per-thread", "-T", "-s", "-g", "-e", EVENT],
    "switches": ["-g", "--switch-events", "-s", "-e", EVENT],
    "fields": ["-g", "-d", "-W", "--sample-cpu", "--data-page-size", "--code-page-size", "--transaction", "-e", EVENT],
    "another clock": ["-k", "CLOCK_MONOTONIC_RAW", "--sample-identifier", "-B", "-e", EVENT],
    "a directory": ["-g", "--threads", "-e", "task-clock:u,page-faults:u"],
    "a directory, compressed": ["-g", "-z", "--threads", "-e", EVENT],
}
ROOT_KINDS = {
    "kernel fields": ["-g", "-d", "--phys-data", "-R", "--all-cgroups", "--namespaces", "-e", "task-clock"],
}


def stay():
    """On one CPU: perf never reads a group's counts of another, where the program left that before its first sample."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def record(name, options, program, frequency="2000", **kw):
    rate = [] if "-c" in options else ["-F", frequency]
    return run(["perf", "record", "-q", "-N", *rate, *options, "-o", name, "--", *program], **kw).ok()


def compare_script(name, what):
    """Each sample of spin as perf script has it. (Of what is built without frame pointers chains are nonsense.)"""
    theirs = records(run(["perf", "script", "-i", name, *SCRIPT]).ok().out)
    ours = records(panalyze("script", name).ok().out)
    theirs, ours = ([one for one in found if one[0].startswith("spin ")] for found in (theirs, ours))
    check(theirs, f"{what}: perf script shows nothing")
    check_equal(len(ours), len(theirs), what)
    if not any(len(frames) > 1 for _, frames in theirs):
        # Of a lone place perf writes the address in memory.
        for found in (ours, theirs):
            found[:] = [(heading, ["- " + frame.split(" ", 1)[1] for frame in frames]) for heading, frames in found]
    different = [(a, b) for a, b in zip(ours, theirs) if not same(a, b)]
    check(not different, f"{what}: {len(different)} of {len(ours)} differ, the first: {different[:1]}")
    return theirs


def compare_totals(name, theirs, what):
    """Samples and weight of each event, and what was lost."""
    expected = {}
    for heading, _ in theirs:
        period, event = check_match(r": (\d+) (\S+):$", heading).groups()
        samples, weight = expected.get(event, (0, 0))
        expected[event] = (samples + 1, weight + int(period))
    for event, (samples, weight) in expected.items():
        document = panalyze_json("--aggregate", "--event", event, name)
        found = document["event"], document["total"]["samples"], document["total"]["weight"]
        check_equal(found, (event, samples, weight), what)
    return expected


def test_kinds():
    """What perf record can write, read by both."""
    need_perf()
    for what, options in {**KINDS, **(ROOT_KINDS if IS_ROOT else {})}.items():
        name = re.sub(r"\W+", "-", what)
        record(name, options, [target("spin"), "25", "1" if "-i" in options else "2"],
               preexec_fn=stay if what == "a group" else None)
        expected = compare_totals(name, compare_script(name, what), what)
        # Page faults may have come before the first sample, and then are no event of their own.
        check(expected.keys() >= {"task-clock:u" if "task-clock" not in options else "task-clock"}, (what, expected))
        check_equal(os.path.isdir(name), "directory" in what, what)
        if what == "a group":
            check(len(expected) == 3, (what, expected))


def test_pipe():
    need_perf()
    for what, options in (("pipe", ["-g"]), ("compressed pipe", ["-g", "-z"])):
        name = what.replace(" ", "-")
        with open(name, "wb") as out:
            run(["perf", "record", "-q", "-N", "-F", "2000", *options, "-e", EVENT, "-o", "-", "--", "sh", "-c",
                 f"exec {target('spin')} 25 2 >&2"], stdout=out).ok()
        compared = len(compare_script(name, what))
        with measured():
            check(compared >= 20, f"{what}: {compared} samples")
        total = panalyze_json("--aggregate", name)["total"]
        shown = run(["perf", "report", "-i", name, "--stdio", "--no-children", "-g", "none"]).ok().out
        check_equal(total["weight"], int(check_match(r"^# Event count \(approx\.\): (\d+)", shown)[1]), what)


def test_other_byte_order():
    """What a big-endian machine would have written: perf reads it as the original, and so do we."""
    need_perf()
    for what in ("several events", "a group", "fields"):
        record("native", KINDS[what], [target("spin"), "20"])
        run([sys.executable, "-B", DATA / "swap.py", "native", "swapped"]).ok()
        check_equal(open("swapped", "rb").read(8), b"PERFILE2"[::-1])
        compared = len(compare_script("swapped", what))
        with measured():
            check(compared >= 10, f"{what}: {compared} samples")
        check_equal(panalyze("script", "swapped").ok().out, panalyze("script", "native").ok().out)
        swapped, native = (panalyze_json("--aggregate", name) for name in ("swapped", "native"))
        check_equal([swapped[part] for part in ("total", "functions", "counts", "coverage")],
                    [native[part] for part in ("total", "functions", "counts", "coverage")])


def test_whole_machine():
    """perf record -a: of all that ran, our program."""
    need_perf()
    if not IS_ROOT:
        skip("needs root")
    for name, options in (("all", ["-z"]), ("all-directory", ["--threads=cpu"])):
        done = record(name, ["-a", "-g", "-e", "cpu-clock", *options], [target("spin"), "50", "2"], frequency="500")
        own = "spin " + check_match(r"^process pid (\d+)", done.out)[1] + "/"  # others' may be called spin, too
        # A thread that was begun while records were lost has another name in perf's eyes.
        mine = lambda text: [one for one in records(text, own) if "/-1" not in one[0]]
        ours = {one[0]: one for one in mine(panalyze("script", name).ok().out)}
        theirs = mine(run(["perf", "script", "-i", name, *SCRIPT]).ok().out)
        with measured():
            check(len(theirs) >= 10, theirs)
        # Beside much other load perf loses records: where that is a mapping each of us guesses in his own way.
        with measured(if_=panalyze_json("--aggregate", name)["total"]["lost"]):
            for one in theirs:
                check(one[0] in ours and same(ours[one[0]], one), f"{one} instead of {ours.get(one[0])}")


def test_lost():
    """A ring that is much too small: as many are lost as perf says."""
    need_perf()
    record("lost", ["-m", "8", "-e", EVENT, "--call-graph", "dwarf,16384"], [target("spin"), "60"], frequency="10000")
    shown = run(["perf", "report", "-i", "lost", "--stdio", "--no-children", "-g", "none", "--no-inline"]).ok().out
    lost = int(check_match(r"^# Total Lost Samples: (\d+)", shown)[1])
    total = panalyze_json("--aggregate", "lost")["total"]
    check_equal(total["lost"], lost)
    check_equal(total["weight"], int(check_match(r"^# Event count \(approx\.\): (\d+)", shown)[1]))


def test_bad_directories():
    """A directory that is none of perf's, and damaged ones: one line, status 1."""
    need_perf()
    record("good", ["-g", "--threads", "-e", EVENT], [target("spin"), "20"])
    samples = panalyze_json("--aggregate", "good")["total"]["samples"]
    with measured():
        check(samples >= 10, samples)
    os.mkdir("none")
    open("none/data", "w").write("not perf's")
    result = panalyze("none")
    check_equal((result.status, result.err), (1, "panalyze: the directory 'none' has no result files (NAME.PID.TID)\n"))
    shutil.copytree("good", "empty")
    open("empty/data", "w").close()
    result = panalyze("empty")
    check_equal((result.status, result.err),
                (1, "panalyze: empty: the file 'data' in this directory is empty; record again\n"))
    if not IS_ROOT:
        os.chmod("empty/data", 0)
        open("empty/data.0", "w").write("x")
        check_equal(panalyze("empty").err,
                    "panalyze: empty: the file 'data' in this directory cannot be read: Permission denied\n")
    parts = [name for name in sorted(os.listdir("good")) if name != "data" and os.path.getsize("good/" + name)]
    shutil.copytree("good", "cut")
    os.truncate("cut/" + parts[0], os.path.getsize("cut/" + parts[0]) - 4)
    result = panalyze("cut", "--aggregate", "--json").ok()
    check_in("cut: the file ends in the middle of a record", result.err)
    check(0 < json.loads(result.out)["total"]["samples"] <= samples, result)
    shutil.copytree("good", "odd")
    os.mkdir("odd/data.77")
    result = panalyze("odd")
    check_equal(result.status, 1)
    check_in("odd: the file 'data.77' in this directory cannot be read: this is a directory", result.err)
    # What perf does not call so is none of its parts.
    shutil.copytree("good", "more")
    for name in ("data.old", "data.01", "data.1234567", "kcore_dir"):
        open("more/" + name, "w").write("x")
    check_equal(panalyze_json("--aggregate", "more")["total"]["samples"], samples)


if __name__ == "__main__":
    main()
