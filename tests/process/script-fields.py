# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
# timeout: 240
"""panalyze script -F beside perf script -F, field by field, and --all beside perf's --show-*-events."""
from harness import *

WORK = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; ls / >/dev/null; (exit 3); exit 0"
USER = "" if IS_ROOT else ":u"
DIVERSE = {
    "software": ["-e", f"page-faults{USER},context-switches{USER}", "-c", "5"],
    "clock": ["-F", "3000", "-e", f"task-clock{USER}", "--sample-cpu", "--period"],
    "graph": ["-c", "20", "-e", f"page-faults{USER}", "-g"],
    "data": ["-c", "5", "-e", f"page-faults{USER}", "-d", "--data-page-size", "--code-page-size"],
    "registers": ["-c", "20", "-e", f"page-faults{USER}", "--user-regs=ip,sp,ax", "--intr-regs=ip,sp,bx"],
    "group": ["-c", "20", "-e", f"{{page-faults{USER},minor-faults{USER}}}:S"],
    "compressed": ["-z", "-c", "5", "-e", f"page-faults{USER}"],
}
FIELDS = {
    "software": "comm,tid,pid,time,event,period,ip",
    "clock": "comm,tid,pid,time,cpu,event,period",
    "graph": "comm,tid,time,event,period",
    "data": "tid,time,event,data_src,data_page_size,code_page_size",
    "registers": "comm,tid,time,event,iregs,uregs",
    "group": "comm,pid,time,event,period",
    "compressed": "comm,tid,pid,time,event,ip",
}


def need_perf():
    need("perf")
    need_perf_events()
    version = run(["perf", "--version"]).out
    if not version.startswith("perf version 6."):
        skip(f"made for perf 6: {version}")


def record(name, *options, command=("sh", "-c", WORK)):
    result = run(["perf", "record", "-q", *options, "-o", name, "--", *command])
    if result.status and re.search("not supported|unknown option|Permission|must have", result.err):
        skip(f"perf record {' '.join(options)}: {result.err}")
    check(os.path.exists(name), result)


def plain(text):
    """Lines, with single spaces; perf pads the columns."""
    return [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]


def compare(name, fields, least=20):
    theirs = plain(run(["perf", "script", "-i", name, "-F", fields]).ok().out)
    mine = plain(panalyze("script", "-F", fields, name).ok().out)
    with measured():  # on a busy machine perf may have few samples
        check(len(theirs) >= least, f"{name}: only {len(theirs)} lines")
    for line, wanted in zip(mine, theirs):
        # A task that is being released has no number any more; perf has no name for it then, panalyze the last one.
        if not re.match(r":-1 -1 ", wanted):
            # perf 6.1 names the level of an access twice: by the old bits, and by the number that took their place.
            check_equal(line, wanted.replace("|LVL N/A or N/A|", "|LVL N/A|"), f"{name} -F {fields}")
    check_equal(len(mine), len(theirs), name)
    figure(f"-F {fields}: perf script prints the same {len(theirs)} line{'s' * (len(theirs) != 1)}")


def test_fields_of_software_events():
    need_perf()
    for name, options in DIVERSE.items():
        record(name, *options)
        compare(name, FIELDS[name], least=5)
    for field in FIELDS["clock"].split(","):
        compare("clock", field, least=5)


def test_fields_of_hardware():
    """Branches, weights, data sources: recorded by no machine here, and made up; perf reads the same."""
    need_perf()
    name = SOURCE / "tests/fuzz/seeds/reader/samples.data"
    for fields in ("comm,tid,pid,cpu,time,event,addr,iregs,uregs", "brstack,event", "weight", "ins_lat",
                   "data_src,phys_addr,data_page_size,code_page_size"):
        compare(name, fields, least=1)


def test_names():
    """Symbols, offsets, DSOs; perf shows return addresses minus 1, and has other names for what has none."""
    need_perf()
    record("names", "-F", "3000", "-e", f"task-clock{USER}", command=(target("spin"), "60"))
    theirs = plain(run(["perf", "script", "-i", "names", "-F", "time,ip,sym,symoff,dso"]).ok().out)
    mine = plain(panalyze("script", "-F", "time,ip,sym,symoff,dso", "names").ok().out)
    check_equal(len(mine), len(theirs))
    named = [(line, wanted) for line, wanted in zip(mine, theirs) if "spin" in wanted and "[unknown]" not in wanted]
    check(len(named) > 20, theirs[:5])
    for line, wanted in named:
        check_equal(line, wanted)


def test_tracepoints():
    need_perf()
    if not IS_ROOT:
        skip("tracepoints need root")
    record("trace", "-e", "sched:sched_switch,sched:sched_wakeup", "-a")
    compare("trace", "comm,tid,time,cpu,event")
    raw = panalyze_json("script", "-F", "raw,event,comm", "trace")["records"]
    comms = {bytes.fromhex(one["raw"])[8:24].split(b"\0")[0].decode() for one in raw
             if one["event"] == "sched:sched_switch"}
    theirs = set(re.findall(r"prev_comm=(\S+)", run(["perf", "script", "-i", "trace"]).ok().out))
    check(comms and {comm for comm in comms if " " not in comm} <= theirs | {"swapper"}, f"{comms} {theirs}")


def test_piped():
    need_perf()
    command = f"perf record -q -c 5 -e page-faults{USER} -o - -- ls / 3>&1 >pipe.data"
    run(["sh", "-c", command]).ok()
    data = pathlib.Path("pipe.data").read_bytes()
    theirs = plain(run(["perf", "script", "-i", "pipe.data", "-F", "comm,tid,time,event,period"]).ok().out)
    mine = plain(panalyze("script", "-F", "comm,tid,time,event,period", "-", input=data).ok().out)
    check(len(theirs) > 5, theirs)
    check_equal(mine, theirs)


# What perf script prints of a record, as {name: value} by our names.
PERF_RECORDS = {
    "COMM": (r"PERF_RECORD_COMM(?P<exec> exec)?: (?P<comm>.*):(?P<pid>-?\d+)/(?P<tid>-?\d+)",),
    "FORK": (r"PERF_RECORD_FORK\((?P<pid>\d+):(?P<tid>\d+)\):\((?P<ppid>\d+):(?P<ptid>\d+)\)",),
    "EXIT": (r"PERF_RECORD_EXIT\((?P<pid>\d+):(?P<tid>\d+)\):\((?P<ppid>\d+):(?P<ptid>\d+)\)",),
    "MMAP2": (r"PERF_RECORD_MMAP2 (?P<pid>-?\d+)/(?P<tid>-?\d+): \[(?P<addr>0x[0-9a-f]+)\((?P<len>0x[0-9a-f]+)\) @ "
              r"(?P<pgoff>0x[0-9a-f]+|0) (?P<maj>[0-9a-f]+):(?P<min>[0-9a-f]+) (?P<ino>\d+) (?P<ino_generation>\d+)\]: "
              r"\S+ (?P<filename>.*)",),
    "MMAP": (r"PERF_RECORD_MMAP (?P<pid>-?\d+)/(?P<tid>-?\d+): \[(?P<addr>0x[0-9a-f]+)\((?P<len>0x[0-9a-f]+)\) @ "
             r"(?P<pgoff>0x[0-9a-f]+|0)\]: \S (?P<filename>.*)",),
    "SWITCH": (r"PERF_RECORD_SWITCH +(?P<direction>IN|OUT( preempt)?)",),
    "NAMESPACES": (r"PERF_RECORD_NAMESPACES (?P<pid>\d+)/(?P<tid>\d+) - nr_namespaces: (?P<count>\d+)",),
    "CGROUP": (r"PERF_RECORD_CGROUP cgroup: (?P<id>\d+) (?P<path>.*)",),
}
HEX = {"addr", "len", "pgoff", "maj", "min"}


def perf_records(name):
    shown = run(["perf", "script", "-i", name, "--show-task-events", "--show-mmap-events", "--show-switch-events",
                 "--show-namespace-events", "--show-cgroup-events", "-F", "comm,tid,pid,time,event"]).ok().out
    found = []
    for line in shown.splitlines():
        kind = re.search(r"PERF_RECORD_([A-Z0-9_]+)", line)
        if not kind or kind[1] not in PERF_RECORDS:
            continue
        fields = check_match(PERF_RECORDS[kind[1]][0], line).groupdict()
        time = check_match(r"(\d+)\.(\d+): PERF_RECORD", line)
        values = {key: int(value, 16) if key in HEX else int(value) if re.fullmatch(r"-?\d+", value or "") and
                  key not in ("comm", "filename", "path") else value for key, value in fields.items()}
        found.append((int(time[1]) * 10**6 + int(time[2]), kind[1], values))
    return found


def our_records(name):
    found = []
    for record_ in panalyze_json("script", "--all", name)["records"]:
        if record_["record"] not in PERF_RECORDS:
            continue
        kind, fields, flags = record_["record"], dict(record_["fields"]), record_["misc_flags"]
        if kind == "COMM":
            fields["exec"] = " exec" if "exec" in flags else None
        if kind == "SWITCH":
            fields["direction"] = ("OUT preempt" if "preempt" in flags else "OUT") if "out" in flags else "IN"
        if kind == "NAMESPACES":
            fields["count"] = len(fields["namespaces"])
        found.append((record_["time_ns"] // 1000, kind, fields))
    return found


def test_all_records():
    """Each record that perf script shows, with the same values, in the same order."""
    need_perf()
    record("all", "-F", "1000", "-e", f"task-clock{USER}", "--switch-events",
           *(["--namespaces", "--all-cgroups"] if IS_ROOT else []))
    theirs, mine = perf_records("all"), our_records("all")
    wanted = {"COMM", "FORK", "EXIT", "MMAP2", "SWITCH"} | ({"NAMESPACES", "CGROUP", "MMAP"} if IS_ROOT else set())
    check(wanted <= {kind for _, kind, _ in theirs}, {kind for _, kind, _ in theirs})
    check_equal([(time, kind) for time, kind, _ in mine], [(time, kind) for time, kind, _ in theirs])
    for (_, kind, fields), (_, _, values) in zip(mine, theirs):
        check_equal({key: fields[key] for key in values}, values, kind)


def test_order_and_counts():
    """--all is in the order of time, and has as many records of each type as info counts; text and JSON agree."""
    need_perf()
    record("all", "-F", "1000", "-e", f"task-clock{USER}", "--switch-events", "-z")
    document = panalyze_json("script", "--all", "all")["records"]
    times = [one["time_ns"] for one in document if one.get("time_ns") and one["record"] != "unknown"]
    check_equal(times, sorted(times))
    counted = {name: int(count.replace(",", "")) for name, count in
               re.findall(r"^  records +(\S+) +([\d,]+)$", panalyze("info", "all").ok().out, re.MULTILINE)}
    shown = {}
    for one in document:
        shown[one["record"]] = shown.get(one["record"], 0) + 1
    check_equal(shown, counted)
    check(counted.get("COMPRESSED") or not counted, counted)
    text = re.findall(r"PERF_RECORD_([A-Z0-9_]+)", panalyze("script", "--all", "all").ok().out)
    check_equal(sorted(text), sorted(one["record"] for one in document if one["record"] != "SAMPLE"))


def test_json_has_what_text_has():
    need_perf()
    record("data", *DIVERSE["data"])
    fields = "pid,tid,time,period,addr,ip"
    text = [line.split() for line in panalyze("script", "-F", fields, "data").ok().out.splitlines()]
    document = panalyze_json("script", "-F", fields, "data")["records"]
    check_equal(len(text), len(document))
    for words, one in zip(text, document):
        pid, tid = (words[0] + words[1]).split("/") if words[0].endswith("/") else words[0].split("/")
        time = words[-4].rstrip(":").replace(".", "")
        check_equal([int(pid), int(tid), int(time), int(words[-3]), int(words[-2], 16), int(words[-1], 16)],
                    [one["pid"], one["tid"], one["time_ns"] // 1000, one["period"], one["addr"], one["ip"]])
        check_equal(set(one), {"pid", "tid", "time_ns", "period", "addr", "ip", "frames"})


def test_tasks_are_chosen():
    name = DATA / "fp.data"
    document = panalyze_json("script", "--all", name)["records"]
    comms = {one["comm"] for one in document if one["record"] == "SAMPLE"}
    chosen = sorted(comms)[0]
    for one in panalyze_json("script", "--all", "-c", chosen, name)["records"]:
        check_equal(one.get("comm", one.get("by_comm")), chosen)
    check_equal(len(panalyze_json("script", "--all", "-n", "7", name)["records"]), 7)


def fails(status, pattern, *args):
    result = panalyze(*args)
    check_equal(result.status, status, result)
    check_match(pattern, result.err)
    check_equal(len(result.err.splitlines()), 1, result)


def test_refused():
    name = DATA / "fp.data"
    fails(2, "knows no field 'tme'; did you mean 'time'", "script", "-F", "tme", name)
    fails(2, "knows no field ''; the fields are comm, pid", "script", "-F", "comm,", name)
    fails(2, "the field 'sym' describes the address in the field 'ip'; add 'ip'", "script", "-F", "comm,sym", name)
    fails(2, "the field 'symoff' is the offset from the symbol in the field 'sym'; add 'sym'",
          "script", "-F", "ip,symoff", name)
    fails(1, "the samples of the event '.*' do not have the field 'weight'; leave it out", "script", "-F", "comm,weight", name)
    fails(2, "option '--all' does not belong to 'report'", "report", "--all", name)


if __name__ == "__main__":
    main()
