# SPDX-License-Identifier: MIT
# labels: analyze
# timeout: 240
# sanitize
"""Columns of report and lines of script that pfmon had: %cum and its threshold, values of groups, addresses without
names, the compact form. What perf script prints of the same file is the witness of every figure."""
import csv
import io

from harness import *

GROUP = "{task-clock:u,page-faults:u,minor-faults:u}:S"
EVENTS = ["task-clock:u", "page-faults:u", "minor-faults:u"]


def need_perf():
    need("perf")
    need_perf_events()


def stay():
    """On one CPU: perf never reads a group's counts of another, where the program left that before its first sample."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def record(name, *options, command=None, **kw):
    command = command or [target("spin"), "40"]
    run(["perf", "record", "-q", "-N", *options, "-o", name, "--", *command], **kw).ok()


def record_group(name="group.data"):
    record(name, "-F", "2000", "-e", GROUP, preexec_fn=stay)
    return name


def record_faults(name="faults.data"):
    """Each fault of user code is a sample: one process, a few hundred addresses."""
    record(name, "-c", "1", "-e", "page-faults:u,minor-faults:u", command=["ls", "-l", "/"])
    return name


def perf_samples(name, fields, pattern, *options):
    """The groups of PATTERN in each line that perf script -F FIELDS prints."""
    text = run(["perf", "script", "-i", name, *options, "-F", fields]).ok().out
    found = [re.match(pattern, " ".join(line.split())) for line in text.splitlines() if line.strip()]
    check(found and all(found), f"perf script -F {fields}: {text[:500]}")
    return [match.groups() for match in found]


def sums_of(rows):
    """{key: sum} of (key, number) pairs."""
    sums = {}
    for key, number in rows:
        sums[key] = sums.get(key, 0) + number
    return sums


def faults_by_address(name, event="page-faults:u"):
    """perf's weight of each address."""
    rows = perf_samples(name, "event,period,ip", r"(\d+) (\S+): ([0-9a-f]+)$")
    return sums_of((int(ip, 16), int(period)) for period, one, ip in rows if one == event)


def running(weights):
    """The share of all weights up to each of WEIGHTS, in percent."""
    shares, sum_, whole = [], 0, sum(weights)
    for weight in weights:
        sum_ += weight
        shares.append(100 * sum_ / whole)
    return shares


def check_shares(found, wanted, what):
    check_equal(len(found), len(wanted), what)
    for one, other in zip(found, wanted):
        check_near(one, other, points=0.00006, what=what)


# ---- %cum

def test_cum_adds_up():
    """The share of all rows so far, against the sums of perf's samples; in text, and in the document."""
    need_perf()
    name = record_faults()
    wanted = running(sorted(faults_by_address(name).values(), reverse=True))
    check(len(wanted) > 20, wanted)
    rows = panalyze_json("report", "--by", "address", "--show-cum", "-e", "page-faults:u", name)["addresses"]
    rows = [row for row in rows if row["self_samples"]]
    check_shares([row["cum_percent"] for row in rows], wanted, "cum_percent")
    text = panalyze("report", "--by", "address", "--show-cum", "--top=all", name).ok().out
    check_match(r"^ +Self +Cum +Weight +Total +Address", text)
    shown = re.findall(r"^ *[\d.]+ % +([\d.]+) % ", text, re.MULTILINE)[:len(wanted)]
    check_equal(shown, [f"{share:.2f}" for share in wanted])
    check_equal(shown[-1], "100.00")
    figure(f"the column Cum of {len(wanted)} addresses is that of perf's samples")


def test_cum_of_other_rows():
    need_perf()
    name = record_faults()
    for by, key in (("function", "functions"), ("dso", "objects"), ("comm", "commands"), ("process", "processes"),
                    ("line", "lines"), ("inline", "inlined"), ("file", "files")):
        rows = panalyze_json("report", "--by", by, "--show-cum", name)[key]
        check_shares([row["cum_percent"] for row in rows], running([row["self_weight"] for row in rows]), by)
        check_match(r"^ +(Self|Share) +Cum +Weight ", panalyze("report", "--by", by, "--show-cum", name).ok().out, by)
    for options in (["--by", "task"], ["--per-task"], ["--callers"], ["--sort=total"]):
        check_match(r"^ +(Self|Share) +Cum +Weight ", panalyze("report", "--show-cum", *options, name).ok().out)


def test_cum_threshold():
    """The row that reaches the threshold is the last one; a line says how many rows and which share are missing."""
    need_perf()
    name = record_faults()
    weights = sorted(faults_by_address(name).values(), reverse=True)
    shares = running(weights)
    for percent in (1, 50, 90.5, 99):
        count = next(i for i, share in enumerate(shares) if share >= percent) + 1
        options = ["--by", "address", f"--cum-thres={percent}", "-e", "page-faults:u", name]
        document = panalyze_json("report", *options)
        check_equal([row["self_weight"] for row in document["addresses"]], weights[:count], percent)
        left = document["addresses_left_out"]
        check_equal(left["self_weight"], sum(weights[count:]), percent)
        check_near(left["self_percent"], 100 - shares[count - 1], points=0.00006)
        text = panalyze("report", *options).ok().out
        check_equal(len(re.findall(r"^ *[\d.]+ % ", text, re.MULTILINE)), count, percent)
        told = check_match(r"^and (\d+) address(?:es)? more with ([\d.]+) % together; a larger --cum shows more$",
                           text)
        check_equal((int(told[1]), told[2]), (left["rows"], f"{100 - shares[count - 1]:.2f}"))
        for spelling in ("--cum", "--smpl-cum-threshold", "--smpl-cum-thresh"):
            check_equal(panalyze("report", "--by", "address", f"{spelling}={percent}", "-e", "page-faults:u",
                                 name).ok().out, text, spelling)
    few = panalyze_json("report", "--by", "address", "--cum=99", "--top=2", name)["addresses"]
    check_equal(len(few), 2, "--top is a limit, too")
    figure(f"--cum-thres=50 shows {next(i for i, share in enumerate(shares) if share >= 50) + 1} of {len(shares)} "
           "addresses, as perf's samples say")


def test_cum_of_each_event():
    """With --group each event has its own sums, in the order of the first one."""
    need_perf()
    name = record_faults()
    rows = panalyze_json("report", "--group", "--show-cum", "--by", "address", name)["addresses"]
    for number in (0, 1):
        events = [row["events"][number] for row in rows]
        check_shares([one["cum_percent"] for one in events], running([one["self_weight"] for one in events]), number)
        theirs = faults_by_address(name, events[0]["event"])
        check_equal(sum(one["self_weight"] for one in events), sum(theirs.values()), events[0]["event"])
    text = panalyze("report", "--group", "--show-cum", "--top", "all", name).ok().out
    check_match(r"^page-faults:u +Cum +minor-faults:u +Cum +DSO +Function$", text)


def test_what_has_no_column():
    need_perf()
    name = record_faults()
    for status, said, options in (
            (2, "option '--show-cum' needs a table with rows, and --call-tree shows a tree: leave out one of them",
             ["--call-tree", "--show-cum"]),
            (2, "option '--cum' needs a table with rows", ["--reverse", "--cum-thres=5"]),
            (2, "option '--cum-thres' needs a percentage above 0 and at most 100", ["--cum-thres=0"]),
            (2, "--values shows only the self weight of each event: leave out --callers", ["--values", "--callers"]),
            (1, "option '--values' needs samples with the counts of an event group; record them with -e '{A,B}:S' "
                "(pinject-run or perf record)\n", ["--values"])):
        result = panalyze("report", *options, name)
        check_equal((result.status, result.out), (status, ""), result)
        check_match(rf"^panalyze: {re.escape(said)}", result.err)
        check_equal(len(result.err.splitlines()), 1, result)


# ---- values of groups

def read_values(name):
    """[{event: value}] of each sample, as perf prints the records; ids are in the order of the group."""
    text = run(["perf", "script", "-i", name, "-D"]).ok().out
    found = []
    for block in text.split("... sample_read:")[1:]:
        values = re.findall(r"^\.+ id [0-9a-f]+, value ([0-9a-f]+)", block.split("... thread:")[0], re.MULTILINE)
        found.append(dict(zip(EVENTS, (int(value, 16) for value in values))))
    return found


def test_values_of_each_sample():
    """Totals are those of the records, changes are the periods that perf computes of them."""
    need_perf()
    name = record_group()
    theirs = perf_samples(name, "tid,time,event,period", r"(\d+) (\d+\.\d+): (\d+) (\S+): ?$", "--ns")
    ours = panalyze_json("script", "-F", "tid,time,event,period,values", name)["records"]
    with measured():
        check(len(theirs) > 20, len(theirs))
    check_equal([(one["tid"], one["time_ns"], one["period"], one["event"]) for one in ours],
                [(int(tid), int(time.replace(".", "")), int(period), event) for tid, time, period, event in theirs])
    last, totals, before = dict.fromkeys(EVENTS, 0), [], None
    for one in ours:
        values = {value["event"]: value for value in one["values"]}
        check_equal(list(values), EVENTS)
        check_equal(values[one["event"]]["delta"], one["period"], one)
        if before and before["time_ns"] == one["time_ns"]:  # the same record, for another event of the group
            check_equal(one["values"], before["values"])
            continue
        before = one
        totals.append({event: value["total"] for event, value in values.items()})
        for event, value in values.items():
            check_equal(value["total"] - last[event], value["delta"], (event, one))
            last[event] = value["total"]
    dumped = read_values(name)
    check_equal(totals, dumped)
    text = panalyze("script", "-F", "event,values", name).ok().lines
    check_equal(len(text), len(ours))
    for line, one in zip(text, ours):
        values = " ".join(f"{value['event']}={value['total']}(+{value['delta']})" for value in one["values"])
        check_equal(line.strip(), f"{one['event']}: values: {values}")
    figure(f"{len(dumped)} records of a group of 3: all totals are those of perf script -D, all changes perf's periods")


def test_values_of_rows():
    """Sums of what each event counted, by function, against the sums of perf's periods."""
    need_perf()
    name = record_group()
    theirs = perf_samples(name, "event,period,ip,sym", r"(\d+) (\S+): [0-9a-f]+ (.*?) ?$")
    by_event = sums_of((event, int(period)) for period, event, _ in theirs)
    by_symbol = sums_of(((symbol, event), int(period)) for period, event, symbol in theirs)
    document = panalyze_json("report", "--values", name)
    check_equal({one["event"]: one["weight"] for one in document["total"]["events"]}, by_event)
    compared = 0
    for function in document["functions"]:
        if os.path.basename(function["dso"]) != "spin" or re.search(r"0x[0-9a-f]+$", function["symbol"]):
            continue  # of the names for one address of a library perf may choose another one
        for one in function["events"]:
            wanted = by_symbol.get((function["symbol"], one["event"]), 0)
            check_equal(one["self_weight"], wanted, (function["symbol"], one["event"]))
            compared += wanted > 0
    check(compared >= 2, document["functions"])
    task = panalyze_json("report", "--values", "--by", "comm", name)["commands"]
    check_equal(sums_of((one["event"], one["self_weight"]) for row in task for one in row["events"]), by_event)
    text = panalyze("report", "--values", "--by", "comm", name).ok().out
    row = check_match(r"^task-clock:u +page-faults:u +minor-faults:u +Command\n +\S+ m?s +([\d,]+) +([\d,]+) +spin$",
                      text)
    check_equal([int(cell.replace(",", "")) for cell in row.groups()], [by_event[event] for event in EVENTS[1:]])
    text = panalyze("report", "--values", "--group", "--show-cum", name).ok().out
    check_match(r"^task-clock:u +Cum +Time +page-faults:u +Cum +Value +minor-faults:u +Cum +Value +DSO +Function$",
                text)
    figure(f"report --values: {compared} sums by function are those of perf's periods")


def test_values_that_are_not_there():
    need_perf()
    name = record_faults()
    result = panalyze("script", "-F", "event,values", name)
    check_equal((result.status, result.out), (1, ""), result)
    check_match("do not have the field 'values'; leave it out of --fields, or record it", result.err)


# ---- addresses without names

def mapped(name):
    """[(start, end, offset in the file, path)] of the program's mappings, as perf prints them."""
    shown = run(["perf", "script", "-i", name, "--show-mmap-events"]).ok().out
    found = re.findall(r"PERF_RECORD_MMAP2? \S+ \[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0) .*\]: \S+ (.*)$",
                       shown, re.MULTILINE)
    return [(int(start, 16), int(start, 16) + int(size, 16), int(offset, 16), path)
            for start, size, offset, path in found if path.startswith(("/", "[vdso]"))]


def test_no_resolve():
    """Each address by its DSO and its place in the file: what perf's addresses and mappings add up to."""
    need_perf()
    name = record_faults()
    maps = mapped(name)
    wanted = {}
    for ip, weight in faults_by_address(name).items():
        place = next(((path, ip - start + offset) for start, end, offset, path in maps if start <= ip < end), None)
        check(place, f"{ip:#x} is in no mapping")
        wanted[place] = wanted.get(place, 0) + weight
    rows = [row for row in panalyze_json("report", "--no-resolve", "--by", "address", name)["addresses"]
            if row["self_samples"]]
    check_equal({(row["dso"], row["address"]): row["self_weight"] for row in rows}, wanted)
    functions = [row for row in panalyze_json("report", "--no-resolve", name)["functions"] if row["self_samples"]]
    check_equal({(row["dso"], row["symbol"]): row["self_weight"] for row in functions},
                {(dso, f"{os.path.basename(dso)}@{offset:#x}"): weight for (dso, offset), weight in wanted.items()})
    for options in ([], ["--group"]):
        text = panalyze("report", "--no-resolve", "--by", "address", *options, name).ok().out
        check_match(r"^.* Offset +DSO +Function$", text)
    plain = panalyze("script", "--no-resolve", name).ok().out
    check_equal(set(re.findall(r"^\t +[0-9a-f]+ (.*) \(", plain, re.MULTILINE)), {"[unknown]"})
    check_equal(re.sub(r" \S+ \(", " (", plain), re.sub(r"(?m)^(\t +[0-9a-f]+) .* \(", r"\1 (",
                                                         panalyze("script", name).ok().out))
    figure(f"--no-resolve: {len(wanted)} addresses have the places and weights of perf's samples and mappings")


def test_no_resolve_reads_no_file():
    need_perf()
    if SANITIZED:
        skip("a sanitized program cannot be traced")
    strace = need("strace")
    name = record_faults()

    def opened(*options):
        run([strace, "-f", "-e", "trace=open,openat", "-o", "calls", PANALYZE, *options]).ok()
        return re.findall(r'open(?:at)?\([^"]*"([^"]+)".* = \d+$', pathlib.Path("calls").read_text(), re.MULTILINE)

    mine = {path for _, _, _, path in mapped(name)}
    check(mine & set(opened("report", name)), "without the option the programs are read")
    # What the dynamic loader needs of panalyze itself is not among these.
    own = mine & set(opened("--version"))
    for options in (["report"], ["report", "--by", "address", "--json"], ["script"], ["script", "--json"],
                    ["script", "--compact"]):
        found = opened(*options, *([] if "--compact" in options else ["--no-resolve"]), name)
        check_equal([path for path in found if path in mine - own], [], options)
        check_equal([path for path in own if found.count(path) > 1], [], options)
        loaded = [path for path in found if "/ld-" in path or "libc.so" in path]
        check(len(loaded) <= 2, f"{options}: {loaded}")
        check("/proc/kallsyms" not in found, options)


# ---- the compact form, and the modules of pfmon

def test_compact():
    """Number, pid, tid, CPU, address, time, event, set, minus the period: by perf, in pfmon's columns."""
    need_perf()
    record("cpu.data", "-c", "1", "--sample-cpu", "-e", "page-faults:u,minor-faults:u", command=["ls", "-l", "/"])
    theirs = perf_samples("cpu.data", "tid,pid,cpu,time,event,period,ip",
                          r"(\d+)/(\d+) \[(\d+)\] (\d+\.\d+): (\d+) (\S+): ([0-9a-f]+)$", "--ns")
    lines = panalyze("script", "--compact", "cpu.data").ok().lines
    check_equal(len(lines), len(theirs))
    for number, (line, (pid, tid, cpu, time, period, event, ip)) in enumerate(zip(lines, theirs)):
        wanted = "%-8d %8d %8d %2d 0x%x 0x%016x %3d %5d %16s" % (
            number, int(pid), int(tid), int(cpu), int(ip, 16), int(time.replace(".", "")),
            ["page-faults:u", "minor-faults:u"].index(event), 0, "-" + period)
        check_equal(line, wanted)
    chosen = panalyze("script", "--compact", "-e", "minor-faults:u", "-n", "3", "cpu.data").ok().lines
    check_equal([line.split()[0] for line in chosen], ["0", "1", "2"])
    check_equal({line.split()[6] for line in chosen}, {"1"})
    figure(f"script --compact: {len(lines)} lines have the figures that perf script prints, in pfmon's columns")


def test_compact_has_the_values_of_a_group():
    need_perf()
    name = record_group()
    document = panalyze_json("script", "-F", "values", name)["records"]
    lines = panalyze("script", "--compact", name).ok().lines
    check_equal([[int(cell, 16) for cell in line.split()[9:]] for line in lines],
                [[value["total"] for value in one["values"]] for one in document])
    # Without --sample-cpu perf records no CPU of a task that it follows; pfmon's column then has none.
    check_equal({len(line.split()) for line in lines}, {12})


def test_modules():
    need_perf()
    name = record_faults()
    for module, command in (("inst-hist", ["report", "--by", "address", "--show-cum"]), ("detailed", ["script"]),
                            ("compact", ["script", "--compact"])):
        wanted = panalyze(*command, name).ok().out
        check(len(wanted.splitlines()) > 5, wanted)
        check_equal(panalyze(f"--smpl-module={module}", name).ok().out, wanted, module)
        check_equal(panalyze(command[0], name, "--smpl-module", module).ok().out, wanted, module)
    panalyze("--smpl-module=raw", "-o", "raw.data", name).ok()
    panalyze("export", "perf", "-o", "perf.data", name).ok()
    check_equal(pathlib.Path("raw.data").read_bytes(), pathlib.Path("perf.data").read_bytes())
    for said, options in (
            ("option '--smpl-module' takes inst-hist|detailed|compact|raw, not 'compct'; did you mean 'compact'?",
             ["--smpl-module=compct"]),
            ("option '--smpl-module' takes inst-hist|detailed|compact|raw, not 'dear-hist'", ["--smpl-module=dear-hist"]),
            ("--smpl-module=compact is for the command 'script', not for 'report'",
             ["report", "--smpl-module=compact"]),
            ("--smpl-module=raw writes the format perf, not csv", ["export", "csv", "--smpl-module=raw"]),
            ("option '--compact' always prints the same columns: leave out --json", ["script", "--compact", "--json"]),
            ("option '--no-resolve' looks up no names: leave out --symbol", ["report", "--no-resolve", "-S", "main"])):
        result = panalyze(*options, name)
        check_equal((result.status, result.out), (2, ""), result)
        check_match(rf"^panalyze: {re.escape(said)}", result.err)
        check_equal(len(result.err.splitlines()), 1, result)


# ---- tables for spreadsheets

def test_csv_of_events():
    """A group of columns for each event: the rows and figures of report --group; of our files, too."""
    need_perf()
    name = record_faults()
    pinject_run("-q", "--follow-all", "-e", "page-faults,minor-faults", "-c", "1", "--", "ls", "-l", "/").ok()
    for files, events in (([name], ["page-faults:u", "minor-faults:u"]), (results(), None)):
        document = panalyze_json("report", "-a", "--group", "--show-cum", *files)
        events = events or [one["event"] for one in document["total"]["events"]]
        rows = [row for row in document["functions"] if any(one["self_samples"] for one in row["events"])]
        table = list(csv.reader(io.StringIO(panalyze("export", "csv", "--group", "--show-cum", *files).ok().out)))
        check_equal(table[0], ["symbol", "object"] + [f"{event} {column}" for event in events for column in
                                                      ("self_samples", "self_weight", "self_percent", "cum_percent")])
        wanted = [[row["symbol"], row["dso"]] + [cell for one in row["events"] for cell in
                   (str(one["self_samples"]), str(one["self_weight"]), f"{one['self_percent']:.4f}")] for row in rows]
        without = [row[:2] + [cell for i, cell in enumerate(row[2:]) if i % 4 < 3] for row in table[1:]]
        check_equal(without, wanted)
        for number, event in enumerate(events):
            weights = [int(row[3 + 4 * number]) for row in table[1:]]
            shares = [float(row[5 + 4 * number]) for row in table[1:]]
            if sum(weights):
                check_shares(shares, running(weights), event)
    check_equal(sum(int(row[3]) for row in csv.reader(io.StringIO(panalyze("export", "csv", "--group", name).ok().out))
                    if row[3].isdigit()), sum(faults_by_address(name).values()), "perf's weight")
    figure(f"export csv --group: {len(events)} groups of columns have the figures of report --group")


def test_csv_threshold():
    need_perf()
    name = record_faults()
    rows = panalyze_json("report", "--cum=50", name)
    done = panalyze("export", "csv", "--cum-thres=50", "--show-cum", name).ok()
    table = list(csv.reader(io.StringIO(done.out)))
    check_equal(table[0][:6], ["symbol", "object", "self_samples", "self_weight", "self_percent", "cum_percent"])
    check_equal([row[0] for row in table[1:]], [row["symbol"] for row in rows["functions"]])
    left = rows["functions_left_out"]
    check_match(rf"^panalyze: --cum left out {left['rows']} functions? "
                rf"\({left['self_percent']:.2f} % of the total weight\)$", done.err)
    result = panalyze("export", "folded", "--group", name)
    check_equal((result.status, result.out), (2, ""), result)
    check_match("^panalyze: option '--group' is for the format csv, not for folded$", result.err)


if __name__ == "__main__":
    main()
