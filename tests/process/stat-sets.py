# SPDX-License-Identifier: MIT
# labels: figures collector
# timeout: 480
"""Event sets that take turns (--switch-timeout): estimates against a program that knows what it did."""
from harness import *

# Linux may take half a second to make the first event of a tracepoint.
ROOT = os.geteuid() == 0 and any(os.access(path + "/events/syscalls", os.R_OK)
                                 for path in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"))
# What the program prints: FAULTS GETPPIDS GETUIDS NS.
FAULTS, GETPPIDS, GETUIDS, CLOCK = range(4)
PARENT, USER = "syscalls:sys_enter_getppid", "syscalls:sys_enter_getuid"
SETS = [{"page-faults": FAULTS, "alignment-faults": None}, {PARENT: GETPPIDS}, {USER: GETUIDS, "minor-faults": FAULTS},
        {"task-clock": CLOCK}, {"page-faults": FAULTS, PARENT: GETPPIDS}, {"cpu-clock": CLOCK, USER: GETUIDS}]
if not ROOT:
    SETS = [{"page-faults": FAULTS, "alignment-faults": None}, {"minor-faults": FAULTS}, {"task-clock": CLOCK},
            {"page-faults": FAULTS, "minor-faults": FAULTS}, {"cpu-clock": CLOCK}, {"faults": FAULTS}]


def options(sets=None, ms=5):
    chosen = sets or SETS
    return ["--stat", "-q", f"--switch-timeout={ms}", *(word for one in chosen for word in ("-e", ",".join(one)))]


def plain(name):
    """page-faults of "page-faults:u (set 2)"."""
    return name.split(" (")[0].removesuffix(":u")


def counted(*args, by="--json", more=(), **kw):
    """The document of a run, and what its tasks said: {tid: [of each figure]}."""
    shutil.rmtree("run", ignore_errors=True)
    done = pinject_run(*options(**kw), "--json", *([by] if by != "--json" else []), *more, "-o", "run/",
                       "--counts-file=counts.json", "--", *args)
    check_equal(done.status, 0, done)
    said = {int(line.split()[0]): [int(word) for word in line.split()[1:]] for line in done.out.splitlines()}
    return json.loads(pathlib.Path("counts.json").read_text()), said, done


def cells_of_sets(row, sets=None):
    """[(which column of the program has it, cell)] of the events of all sets, in the order of the command line."""
    found, at = [], 0
    cells = [cell for cell in row["counts"] if "set" in cell]
    for number, one in enumerate(sets or SETS, 1):
        for name, column in one.items():
            check_equal((plain(cells[at]["event"]), cells[at]["set"]), (name, number))
            found.append((column, cells[at]))
            at += 1
    check_equal(at, len(cells))
    return found


def check_figures(row, truth, percent, more=0, sets=None):
    """Estimates are within PERCENT of TRUTH; MORE: events at the start and end of a task that it does not know of."""
    for column, cell in cells_of_sets(row, sets):
        share = cell["running_ns"] / cell["enabled_ns"]
        print(f"{cell['event']}: {cell['value']} of {truth[column] if column is not None else 0}, "
              f"counted {100 * share:.1f} % of the time")
        if column is not None:
            check_near(cell["value"], truth[column], percent=percent, points=truth[column] * percent / 100 + more,
                       what=cell["event"])
        else:
            check_equal(cell["value"], 0)
    known = [(cell["value"], truth[column]) for column, cell in cells_of_sets(row, sets) if column is not None]
    worst = max(abs(value - true) / true for value, true in known)
    figure(f"{len(known)} events in {len(sets or SETS)} sets: within {100 * worst:.1f} % of the truth")


def sums(said):
    return [sum(column) for column in zip(*said.values())]


# ---- figures

_length = {}  # of the next run of each program, in ms of each thread


def check_whole(program):
    """On a busy machine threads get the CPU so seldom that a short run is no sample of all sets: one that is tried again
    takes twice as long."""
    length = _length.setdefault(program, 1500)
    _length[program] *= 2
    with measured():
        found, said, done = counted(target(program), str(length), "8")
        check_equal(len(said), 8, done)
        check_figures(found, sums(said), 5, more=200)
        # Each set had about a sixth of the time, and together they had all of it.
        shares = {cell["set"]: cell["running_ns"] / cell["enabled_ns"] for _, cell in cells_of_sets(found)}
        check(all(0.08 < share < 0.3 for share in shares.values()), shares)
        check_near(sum(shares.values()), 1, points=0.03)


def test_six_sets_on_eight_threads():
    need_perf_events()
    check_whole("steady")


def test_six_sets_by_inherited_events():
    """A static program: the kernel passes each switch on to all threads."""
    need_perf_events()
    check_whole("steady-static")


def test_each_thread():
    need_perf_events()
    for by, name in (("--per-thread", "tid"), ("--per-process", "pid"), ("--per-comm", "comm")):
        with measured():
            found, said, done = counted(target("steady"), "1000", "4", by=by)
            for row in found["rows"]:
                truth = said.get(row["tid"]) if by == "--per-thread" else sums(said)
                if truth:  # the first thread of the process does nothing
                    check_figures(row, truth, 12, more=200)
            check(len(found["rows"]) == (5 if by == "--per-thread" else 1), found)


def test_tasks_that_sleep():
    """Turns are of the time that a task runs: no set loses all of its turns while the task sleeps."""
    need_perf_events()
    for nap, work in ((4, 600), (29, 250)):  # with 1 ms of work: as long as the turn, and as all turns together
        with measured():
            found, said, done = counted(target("steady"), str(work), "4", str(nap))
            check_figures(found, sums(said), 15, more=200)
            shares = [cell["running_ns"] / cell["enabled_ns"] for _, cell in cells_of_sets(found)]
            check(min(shares) > 0.05, shares)


def test_many_short_tasks():
    """None runs for a whole turn: they begin with different sets."""
    need_perf_events()
    with measured():
        found, said, done = counted(target("steady"), "10", "120", "children", ms=10000)
        check_equal(len(said), 120, done)
        # The fork and exit of a child count, too, and the program does not know of them.
        check_figures(found, sums(said), 25, more=120 * 60)
        shares = [cell["running_ns"] / cell["enabled_ns"] for _, cell in cells_of_sets(found)]
        check(all(0.1 < share < 0.3 for share in shares), shares)  # the creator of all begins with set 1


def test_across_exec():
    """Before the exec of the command nothing is counted, whichever set has its turn."""
    need_perf_events()
    with measured():
        found, said, done = counted("sh", "-c", f"exec {target('steady')} 1500 2", ms=2)
        check_figures(found, sums(said), 8, more=1000)


# ---- the same figures everywhere

def csv_rows(text):
    return [line.split(",") for line in text.splitlines()]


def test_files_have_the_same():
    need_perf_events()
    for program in ("steady", "steady-static"):
        for by in ([], ["--per-thread"], ["--per-process"], ["--per-comm"]):
            shutil.rmtree("run", ignore_errors=True)
            printed = pinject_run(*options(), "-x,", *by, "-o", "run/", target(program), "40", "3").ok().err
            printed = "".join(line + "\n" for line in printed.splitlines() if "warning:" not in line)
            check_equal(printed, panalyze("counts", "-x,", *by, "run").ok().out, f"{program} {by}")
        total = panalyze_json("counts", "run")["counts"]
        check_equal([count["set"] for count in total if "set" in count],
                    [number for number, one in enumerate(SETS, 1) for _ in one])


def test_text_says_share_and_set():
    need_perf_events()
    done = pinject_run(*options(ms=2), target("steady"), "100", "2").ok()
    for number in range(1, 7):
        check_match(rf"\(set {number}; estimate: counted for +\d+\.\d\d% of the time\)", done.err)
    check_match(r"^ +[\d.]+ msec task-clock +#.*CPUs utilized$", done.err)  # it counts all the time
    check_match(r"task-clock \(set \d\)", done.err)
    text = panalyze("counts", ".").ok().out
    check_match(r"set 2: an estimate: the event was counted for only [\d.]+ % of the time", text)
    metrics = pinject_run(*options(ms=2), "--openmetrics", target("steady"), "100", "2").ok().err
    check_match(r'^pinject_event_total\{event="minor-faults(:u)?",set="\d"\} \d+$', metrics)
    check_match(r'^pinject_event_counted_ratio\{event="minor-faults(:u)?",set="\d"\} 0\.\d+$', metrics)


def test_intervals():
    """Of each interval too; those of one event add up to what was counted."""
    need_perf_events()
    with measured():
        done = pinject_run(*options(ms=5), "-x,", "-I", "200", "-o", "run/", target("steady"), "300", "4").ok()
        rows = [row for row in csv_rows(done.err) if len(row) > 4]
        summary = {row[3]: row for row in rows if row[0].strip() == "summary"}
        rounds = [row for row in rows if row[0].strip() != "summary"]
        check(len(rounds) >= 2 * len(summary), done.err)
        for name, row in summary.items():
            ran = sum(int(one[4]) for one in rounds if one[3] == name)
            check_equal(ran, int(row[4]), name)


# ---- a set without a turn, and one list

def test_a_set_without_a_turn():
    need_perf_events()
    sets = [{"page-faults": FAULTS}, {"minor-faults": FAULTS, "alignment-faults": None}]
    done = pinject_run(*options(sets=sets, ms=60000), "-o", "run/", "true").ok()
    check_match(r"warning: set 2 \(minor-faults(:u)?, alignment-faults(:u)?\) counted nothing: no task ran long enough for "
                r"this set to have a turn, or no counter of the machine was free; try fewer sets, or a smaller "
                r"--switch-timeout$",
                done.err)
    check_equal(done.err.count("counted nothing"), 1, done)
    check_match(r"^ +<not counted> +minor-faults(:u)? +\(set 2; its event set was never active, or no counter was free\)", done.err)
    check_match(r"^ +\d+ +page-faults(:u)? .*\(set 1\)( |$)", done.err)
    check_match(r"set 2: never ran: its event set was never active \(try a shorter --switch-timeout\), "
                r"or no counter was free",
                panalyze("counts", "run").ok().out)


def test_without_the_option_they_are_one_list():
    need_perf_events()
    done = pinject_run("--stat", "-q", "--json", "-e", "page-faults", "-e", "minor-faults", "true").ok()
    for cell in json.loads(done.err)["counts"]:
        check("set" not in cell and not cell["estimate"], cell)


def test_the_same_event_in_several_sets():
    need_perf_events()
    sets = [{"page-faults": FAULTS}, {"page-faults": FAULTS}, {"task-clock": CLOCK}]
    with measured():
        found, said, done = counted(target("steady"), "200", "2", sets=sets, ms=3)
        check_figures(found, sums(said), 8, more=200, sets=sets)
    names = [cell["event"] for cell in found["counts"]]
    check_equal([name.replace(":u", "") for name in names],
                ["page-faults", "page-faults (set 2)", "task-clock (set 3)", "task-clock"])


def test_levels_of_each_set():
    need_perf_events()
    pinject_run("--stat", "-q", "--json", "--counts-file=c", "--switch-timeout=2", "-e", "faults,minor-faults",
                "--priv-levels=u", "-e", "minor-faults:u", "-e", "faults", "--priv-levels=u", target("spin"), "50").ok()
    names = [cell["event"] for cell in json.loads(pathlib.Path("c").read_text())["counts"]]
    check_equal(names[0], "faults:u")
    check_match(r"^minor-faults", names[1])
    check_match(r"^faults:u \(set 3\)$", names[3])
    done = pinject_run("--stat", "--switch-timeout=2", "-e", "faults", "-e", "faults", "--priv-levels=u,u", "true")
    check_equal(done.status, 125)
    check_in("--priv-levels has more entries than set 2 has events", done.err)


def test_check_events_only():
    """Groups of software events too: what the kernel counts late is no lack of counters."""
    need_perf_events()
    for _ in range(5):
        run([PINJECT_RUN, "--check-events-only", "-e", "{minor-faults,task-clock},{task-clock,page-faults}"]).ok()
    done = run([PINJECT_RUN, "--check-events-only", "--switch-timeout=10", "-e", "page-faults", "-e",
                "minor-faults,task-clock"]).ok()
    check_equal(done.out, "3 events in 2 sets: the events of each set can be counted together\n")
    done = run([PINJECT_RUN, "--check-events-only", "--switch-timeout=10", "-e", "page-faults", "-e", "page-falts"])
    check_equal(done.status, 125, done)
    check_in("did you mean 'page-faults'", done.err)


def test_bad_input():
    two = ["-e", "page-faults", "-e", "minor-faults"]
    needs = "option '--switch-timeout' needs a number of milliseconds from 1 to 86400000, not"
    for args, message in (
            (["--stat", "--switch-timeout=0", *two], needs + " '0'"),
            (["--stat", "--switch-timeout=x", *two], needs + " 'x'"),
            (["--stat", "--switch-timeout=-1", *two], needs + " '-1'"),
            (["--stat", "--switch-timeout=1.5", *two], needs + " '1.5'"),
            (["--stat", "--switch-timeout=99999999999", *two], needs + " '99999999999'"),
            (["--stat", "--switch-timeout=10", "-e", "page-faults,minor-faults"], "needs two or more -e"),
            (["--stat", "--switch-timeout=10"], "needs two or more -e"),
            (["--switch-timeout=10", *two], "option '--switch-timeout' needs '--stat'"),
            (["--stat", "--switch-timeout=10", "--priv-levels=u", *two],
             "each --priv-levels applies to the -e before it")):
        done = pinject_run(*args, "true")
        check_equal(done.status, 125, done)
        check_equal(len(done.err.splitlines()), 1, done)
        check_in(message, done.err)


if __name__ == "__main__":
    main()
