# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
# timeout: 120
"""panalyze counts must show of a file of perf stat record what perf stat report shows."""
from harness import *

EVENTS = ("task-clock", "page-faults", "context-switches")
WORK = ("sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; ls / >/dev/null")


def record(name, *args, command=WORK, **kw):
    need("perf")
    need_perf_events()
    events = ",".join(event + ("" if IS_ROOT else ":u") for event in EVENTS)
    return run(["perf", "stat", "record", "-o", name, "-e", events, *args, "--", *command], **kw)


def rows_of_perf(name, pattern):
    """What perf stat report prints: the groups of PATTERN, which stands before "COUNT [msec] EVENT"."""
    result = run(["perf", "stat", "report", "-i", name]).ok()
    found = re.findall(rf"^{pattern}\s+([\d.]+|<not counted>)(?: msec)?\s+([a-z-]+(?::u)?)(?: |$)",
                       result.out + result.err, re.MULTILINE)
    return [row for row in found if row[-1] != "seconds"]


def as_perf(event, value):
    return f"{value / 1e6:.2f}" if event.startswith("task-clock") else str(value)


def raw_counts(name):
    """{id: the last value}, and how often it was written, as perf dumps the records."""
    out = run(["perf", "report", "-D", "-i", name]).out
    values = re.findall(r"\.\.\. id (\d+), cpu -?\d+, thread \d+\n\.\.\. value (\d+),", out)
    return dict(values), len(values)


def our_counts(*args):
    return panalyze_json("counts", *args)


def check_total(name):
    totals = {count["event"]: count for count in our_counts(name)["counts"]}
    theirs = rows_of_perf(name, "")
    check_equal([(as_perf(event, totals[event]["value"]), event) for event in totals], theirs, f"{name}: totals")
    last, _ = raw_counts(name)
    check_equal(sorted(count["value"] for count in totals.values()), sorted(map(int, last.values())), f"{name}: digits")
    print(f"{name}: {', '.join(f'{count} {event}' for count, event in theirs)}, as perf stat report has it")


def test_command():
    record("a.data").ok()
    check_total("a.data")


def test_pipe():
    with open("pipe.data", "wb") as file:
        check_equal(record("-", stdout=file).status, 0)
    totals = {count["event"]: count["value"] for count in our_counts("pipe.data")["counts"]}
    theirs = rows_of_perf("pipe.data", "")
    check_equal([(as_perf(event, totals[event]), event) for event in totals], theirs, "totals from a pipe")


def test_intervals():
    record("a.data", "-I", "20").ok()
    theirs = rows_of_perf("a.data", r"\s+(\d+\.\d+)")
    out = panalyze("counts", "--interval", "-x", ";", "a.data").ok().out
    ours = [line.split(";") for line in out.splitlines() if re.match(r"\s*\d+\.\d+;", line)]
    check(len(theirs) >= 2 * len(EVENTS), f"perf has few intervals: {theirs}")
    check_equal([(row[0].strip(), row[3]) for row in ours], [(time, event) for time, _, event in theirs], "intervals")
    for row, (_, value, event) in zip(ours, theirs):
        if value == "<not counted>":  # it did not run in this interval
            check_match(r"^0(\.0+)?$|<not counted>", row[1], f"{event} at {row[0]}")
            continue
        mine = f"{float(row[1]):.2f}" if event.startswith("task-clock") else row[1]
        check_equal(mine, value, f"{event} at {row[0]}")
    print(f"{len(theirs)} values of {len(theirs) // len(EVENTS)} intervals are perf's")
    last, written = raw_counts("a.data")
    check_equal(sorted(count["value"] for count in our_counts("a.data")["counts"]), sorted(map(int, last.values())))
    check(written > len(last), "one interval only")


def test_threads():
    need("perf")
    need_perf_events()
    os.mkfifo("go")
    os.mkfifo("done")
    spin = start(["sh", "-c", "read line <go; i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; echo >done; "
                  "read line <go"])
    run(["perf", "stat", "record", "-o", "a.data", "--per-thread", "-e", "task-clock" if IS_ROOT else "task-clock:u",
         "-p", spin.pid, "--", "sh", "-c", "echo >go; read line <done"]).ok()
    theirs = rows_of_perf("a.data", r"\s+\S+-(\d+)")
    tasks = our_counts("a.data")["tasks"]
    ours = [(str(task["tid"]), as_perf(count["event"], count["value"]), count["event"])
            for task in tasks for count in task["counts"]]
    check_equal(sorted(ours), sorted(theirs), "threads")
    check_equal([task["comm"] for task in tasks], ["sh"], "their names")


def test_system_wide():
    if not IS_ROOT:
        skip("perf stat -a needs root")
    record("a.data", "-a").ok()
    theirs = rows_of_perf("a.data", "")
    totals = {count["event"]: count["value"] for count in our_counts("a.data")["counts"]}
    check_equal([(as_perf(event, totals[event]), event) for event in totals], theirs, "totals")
    last, _ = raw_counts("a.data")
    check_equal(sum(totals.values()), sum(map(int, last.values())), "the sum over CPUs")


if __name__ == "__main__":
    main()
