# SPDX-License-Identifier: MIT
# labels: collector
# timeout: 240
"""--stat: the values that it prints are those of the files, of perf stat, and what the programs did."""
import csv
import io
import signal

from harness import *

# The last two happen in the kernel, which an unprivileged user may not count everywhere.
ALL = os.geteuid() == 0 or int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text()) < 2
SOFTWARE = ",".join(["task-clock", "page-faults", "context-switches", "cpu-migrations"][:4 if ALL else 2])
BY = ("", "--per-thread", "--per-process", "--per-comm")


def counted(*args, options=(), status=0):
    """The CSV rows that pinject-run --stat prints for ARGS, and the result."""
    options = ["--stat", "-x,", *options]
    done = pinject_run(*options, "-o", "run/", "--counts-file=counts.csv", "-e", SOFTWARE, "--", *args)
    check_equal(done.status, status, done)
    with open("counts.csv") as file:
        return file.read(), done


def document(*args, by="--per-thread", events=SOFTWARE):
    done = all_seen(pinject_run("--stat", "--json", by, "-o", "run/", "--counts-file=counts.json", "-e", events, "--",
                                *args).ok())
    with open("counts.json") as file:
        return json.load(file), done


def plain(event):
    """page-faults of "page-faults:u": that is its name where the kernel may not be counted."""
    return event.split(":")[0]


def value(row, event):
    return next(count["value"] for count in row["counts"] if plain(count["event"]) == event)


def programs():
    """Commands of many kinds: one task, threads, children, programs one after the other, static ones."""
    witness, static = target("count-witness"), target("count-witness-static")
    return {
        "true": ["/bin/true"],
        "static": [static, "pages", "500"],
        "pages": [witness, "pages", "2000"],
        "threads": [witness, "pages", "100", "threads", "8"],
        "children": [witness, "pages", "100", "children", "8"],
        "programs": [witness, "pages", "100", "exec", "4"],
        "static-threads": [static, "pages", "100", "threads", "8"],
        "static-children": [static, "pages", "100", "children", "8"],
        "shell": ["sh", "-c", "for i in 1 2 3 4 5; do /bin/true; done; exec ls /"],
        "spin": [target("spin"), "50"],
    }


# Further page faults of each program that loads the preload object: its pages, and the collector's answer.
PRELOADED = 40
DYNAMIC = {"true": 1, "static": 0, "pages": 1, "threads": 1, "children": 9, "programs": 4, "static-threads": 0,
           "static-children": 0, "shell": 12, "spin": 1}


def test_values_are_those_of_the_files():
    """To the last digit, for each kind of row."""
    need_perf_events()
    for name, command in programs().items():
        for by in BY:
            shutil.rmtree("run", ignore_errors=True)
            printed, _ = counted(*command, options=[by] if by else [])
            read = panalyze("counts", "-x,", *([by] if by else []), "run").ok().out
            check_equal([line for line in printed.splitlines() if "<not" not in line],
                        [line for line in read.splitlines() if "<not" not in line], f"{name} {by}")
            check(printed.count("\n") >= 2, printed)


def test_csv_has_the_columns_of_perf_stat():
    """[row,] value, unit, event, time running, its percentage, derived figure, its unit."""
    need_perf_events()
    for by in BY:
        text, _ = counted("sh", "-c", "/bin/true & wait", options=[by] if by else [])
        rows = list(csv.reader(io.StringIO(text)))
        for row in rows:
            if by:
                check_match({"--per-comm": r"^(sh|true)$"}.get(by, r"^(sh|true)-\d+$"), row.pop(0))
            check_equal(len(row), 7, row)
            count, unit, event, running, percent, figure, of = row
            check_in(plain(event), SOFTWARE)
            check_equal(unit, "msec" if event == "task-clock" else "")
            if count == "<not counted>":
                continue
            check(float(count) >= 0 and int(running) > 0 and 0 < float(percent) <= 100, row)
            check_equal(of, "CPUs utilized" if event == "task-clock" else of)
            check(float(figure) >= 0 and of, row)
        check_equal(len(rows) % len(SOFTWARE.split(",")), 0, text)


def test_separator_and_digits():
    need_perf_events()
    done = pinject_run("--stat", "-q", "-x", "\\t", "-e", SOFTWARE, "/bin/true").ok()
    check_equal({len(line.split("\t")) for line in done.err.splitlines()}, {7}, done)
    witness = [target("count-witness"), "pages", "12345"]
    text = pinject_run("--stat", "-q", "-e", "faults", *witness).ok().err
    faults = int(check_match(r"^ +(\d+) +faults", text)[1])
    check(12345 <= faults < 12345 + 400, text)
    for option, pattern in (("us", r"^ +12,\d{3} +faults"), ("eu", r"^ +12\.\d{3} +faults"),
                            ("hex", r"^ +0x3\w{3} +faults")):
        check_match(pattern, pinject_run("--stat", "-q", f"--{option}-counter-format", "-e", "faults", *witness).err)


# The grammar of OpenMetrics 1.0, as far as this text has it.
METRIC = re.compile(r'^(?P<name>[a-zA-Z_:][\w:]*)'
                    r'(?:\{(?P<labels>(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"(?:,(?!\})|(?=\})))*)\})?'
                    r' (?P<value>-?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|[+-]?Inf|NaN))$')


def read_openmetrics(text):
    """{family: [(labels, value)]}; fails where TEXT breaks a rule."""
    check(text.endswith("# EOF\n") and text.count("# EOF") == 1, text)
    families, kinds, seen, last = {}, {}, set(), None
    for line in text.splitlines()[:-1]:
        if line.startswith("# "):
            _, keyword, family, rest = line.split(" ", 3)
            if keyword == "TYPE":
                check(family not in kinds, f"{family} twice")
                kinds[family], last = rest, family
                families[family] = []
            check_equal(family, last, line)
            check(keyword in ("TYPE", "UNIT", "HELP"), line)
            check(keyword != "UNIT" or family.endswith("_" + rest), line)
            continue
        found = METRIC.match(line)
        check(found, line)
        check_equal(found["name"], last + ("_total" if kinds[last] == "counter" else ""), line)
        check((found["name"], found["labels"]) not in seen, f"twice: {line}")
        seen.add((found["name"], found["labels"]))
        labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found["labels"] or ""))
        families[last].append((labels, float(found["value"])))
    return families


def test_openmetrics():
    need_perf_events()
    program = "comm=\"x\\,"  # as a label's value it needs escapes
    shutil.copy(target("count-witness"), program)
    for by in BY:
        done = pinject_run("--stat", "-q", "--openmetrics", *([by] if by else []), "-e", SOFTWARE, "--",
                           "./" + program, "pages", "50", "threads", "3")
        families = read_openmetrics(done.ok().err)
        faults = [count for labels, count in families["pinject_event"] if plain(labels["event"]) == "page-faults"]
        check(6 * 50 <= sum(faults) < 6 * 50 + 400, done)
        check_equal(len(faults), 4 if by == "--per-thread" else 1, done)
        if by:
            check_equal({labels["comm"] for labels, _ in families["pinject_event"]}, {'comm=\\"x\\\\,'})
        clock, = [count for labels, count in families["pinject_event_time_seconds"]][:1]
        check(0 < clock < 10, done)
        check(families["pinject_elapsed_seconds"][0][1] > 0, done)


def test_json():
    need_perf_events()
    for by in BY:
        found, _ = document("sh", "-c", "/bin/true; /bin/true", by=by or "--json")
        check_equal(found["by"], by.removeprefix("--per-") or "all")
        check_equal(found["tasks"], 3 if by else None)
        check_equal(found["tasks_in_no_row"], 0)
        if by:
            for event in ("task-clock", "page-faults"):
                check_equal(sum(value(row, event) for row in found["rows"]), value(found, event), event)
            check_equal(sum(row.get("tasks", 1) for row in found["rows"]), 3)


# ---- what programs did

def told(done):
    """{tid: count} that count-witness printed."""
    return {int(tid): int(count) for tid, count in (line.split() for line in done.out.splitlines())}


def test_page_faults_of_each_thread():
    need_perf_events()
    for name, more in (("count-witness", 100), ("count-witness-static", 30)):
        found, done = document(target(name), "pages", "200", "threads", "6")
        faults = {row["tid"]: value(row, "page-faults") for row in found["rows"]}
        touched = told(done)
        check_equal(len(touched), 6, done)
        for tid, pages in touched.items():
            check(pages <= faults[tid] <= pages + more, f"{name}: thread {tid} touched {pages}, counted {faults[tid]}")
        figure(f"{name}: {len(touched)} threads touched {sum(touched.values())} pages, "
               f"{sum(faults[tid] for tid in touched)} counted")


def test_page_faults_of_each_child():
    need_perf_events()
    for name in ("count-witness", "count-witness-static"):
        found, done = document(target(name), "pages", "200", "children", "6", by="--per-process")
        faults = {row["pid"]: value(row, "page-faults") for row in found["rows"]}
        touched = told(done)
        check_equal(len(touched), 6, done)
        for pid, pages in touched.items():
            check(pages <= faults[pid] <= pages + 150, f"{name}: {pid} touched {pages}, counted {faults[pid]}")
        figure(f"{name}: {len(touched)} children touched {sum(touched.values())} pages, "
               f"{sum(faults[pid] for pid in touched)} counted")


def test_page_faults_across_exec():
    need_perf_events()
    for name in ("count-witness", "count-witness-static"):
        found, done = document(target(name), "pages", "500", "exec", "5")
        check_equal(done.out.count(" 500\n"), 5, done)
        row, = found["rows"]
        check(2500 <= value(row, "page-faults") <= 2500 + 5 * 150, found)
        figure(f"{name}: {value(row, 'page-faults')} for 2500 pages of 5 programs")


def test_context_switches_of_rounds():
    """Two threads on one CPU that wait for each other: each sleeps once in a round."""
    need_perf_events()
    if not ALL:
        skip("this user may not count context switches")
    for name in ("count-witness", "count-witness-static"):
        with measured():
            found, done = document(target(name), "rounds", "2000")
            switches = {row["tid"]: value(row, "context-switches") for row in found["rows"]}
            for tid, rounds in told(done).items():
                check(rounds - 2 <= switches[tid] <= 1.05 * rounds + 50, f"{name}: {switches}")
                figure(f"{name}: {switches[tid]} switches in {rounds} rounds")


def test_task_clock_is_that_of_getrusage():
    """
    task-clock counts what the host takes away, getrusage does not. /proc/stat shows such time in steps of 10 ms, so less
    than that may go unseen in a run: one of several runs has to be without it. An error of ours would be in all. The
    clock never has less.
    """
    need_perf_events()
    with measured():
        for _ in range(8 if is_virtual() else 1):
            before = stolen_ns()
            found, _ = document(target("spin"), "400", by="--per-process")
            stolen = stolen_ns() > before
            used, clock = found["user_ns"] + found["system_ns"], value(found, "task-clock")
            spare = 0.001 * used + 1e6
            check(clock >= used - spare, f"{clock} ns by task-clock, {used} ns by getrusage")
            good = clock <= used + spare
            if good and not stolen:
                break
        if stolen:
            raise Noise("time was stolen")
        check(good, f"{clock} ns by task-clock, {used} ns by getrusage")
        figure(f"{clock / 1e6:.3f} ms, {used / 1e6:.3f} ms by getrusage")


def perf_stat(command):
    done = run(["perf", "stat", "-x,", "-o", "perf.csv", "-e", SOFTWARE, "--", *command]).ok()
    with open("perf.csv") as file:
        rows = [line.split(",") for line in file if "," in line]
    return {plain(row[2]): float(row[0]) for row in rows if row[0][0] != "<"}, done


def test_the_same_as_perf_stat():
    """Ten programs. Page faults differ by those of the preload object; static programs do not have it."""
    need_perf_events()
    need("perf")
    for name, command in programs().items():
        with measured():
            perfs = [perf_stat(command)[0] for _ in range(3)]
            found, _ = document(*command)
            ours, theirs = value(found, "page-faults"), [counts["page-faults"] for counts in perfs]
            spread = max(theirs) - min(theirs) + 4
            # A child of fork has events a moment after its start.
            early = 25 * sum(row["tid"] == row["pid"] for row in found["rows"][1:])
            check(min(theirs) - spread - early <= ours <= max(theirs) + spread + PRELOADED * DYNAMIC[name],
                  f"{name}: {ours} page faults, perf stat counts {theirs}")
            figure(f"{name}: {ours} page faults, perf stat {min(theirs):g} to {max(theirs):g}")


# ---- all tasks together

def together(*command, events=SOFTWARE):
    return document(*command, by="--json", events=events)


def test_together_the_same_as_perf_stat():
    """Ten programs, none of which loads the preload object: our median of five runs is among perf's five."""
    need_perf_events()
    need("perf")
    for name, command in programs().items():
        with measured():
            runs = [(perf_stat(command)[0]["page-faults"], value(together(*command)[0], "page-faults"))
                    for _ in range(5)]
            theirs, ours = zip(*runs)
            spare = 4 + 0.002 * max(theirs)
            middle = sorted(ours)[2]
            check(min(theirs) - spare <= middle <= max(theirs) + spare,
                  f"{name}: {sorted(ours)} page faults, perf stat counts {sorted(theirs)}")
            figure(f"{name}: {middle} page faults, perf stat {min(theirs):g} to {max(theirs):g}")


def test_together_has_the_cpu_time_of_getrusage():
    """Of threads, children and programs, those that nobody waited for aside."""
    need_perf_events()
    for name, command in programs().items():
        with measured():
            stolen = stolen_ns()
            found, _ = together(*command)
            used, clock = found["user_ns"] + found["system_ns"], value(found, "task-clock")
            check(clock >= used - 1e6, f"{name}: {clock} ns by task-clock, {used} ns by getrusage")
            if clock > 1.001 * used + 2e6 and stolen_ns() > stolen:
                raise Noise("time was stolen")
            check(clock <= 1.02 * used + 2e6, f"{name}: {clock} ns by task-clock, {used} ns by getrusage")


def test_together_the_program_is_as_ever():
    """No variable, no preload object, no descriptor, and the same output."""
    need_perf_events()
    script = "env | grep -E 'LD_PRELOAD|PINJECT'; ls /proc/self/fd; grep -c pinject /proc/self/maps; ulimit -a; cat"
    bare = run(["sh", "-c", script], input=b"in\n")
    check_equal(bare.out.splitlines()[-1], "in")
    done = run([PINJECT_RUN, "--stat", "-q", "--counts-file=counts", "sh", "-c", script], input=b"in\n")
    check_equal((done.status, done.out, done.err), (bare.status, bare.out, bare.err), done)
    done = run([PINJECT_RUN, "--stat", "-q", "--per-thread", "--counts-file=counts", "sh", "-c", script], input=b"in\n")
    check_in("LD_PRELOAD=", done.out)


def test_together_time_without_events_is_told():
    """The kernel ends the events of a setuid program, which an unprivileged user starts."""
    need_perf_events()
    if os.geteuid() == 0:
        skip("root's events stay")
    words = "of this time not counted by events (the start and end of each process, setuid programs)"
    with measured():
        done = pinject_run("--stat", "-e", "task-clock", "--", target("spin"), "200").ok()
        check(words not in done.err, done)
    su = shutil.which("su")
    if not su or not os.stat(su).st_mode & 0o4000:
        skip("su is no setuid program here")
    check_in(words, pinject_run("--stat", "-e", "task-clock", "--", "sh", "-c", "su nobody -c true; :").err)


def test_together_there_is_one_file():
    """It says what it has, and that it has no rows."""
    need_perf_events()
    for command in (["sh", "-c", "/bin/true; exec echo x"], [target("count-witness"), "pages", "1", "threads", "3"]):
        shutil.rmtree("run", ignore_errors=True)
        done = pinject_run("--stat", "-o", "run/", "--", *command).ok()
        check_in("all tasks are counted together; --per-thread, --per-process and --per-comm count each task by itself",
                 done.err)
        check_in("(all tasks together):", done.err)
        check_equal(len(os.listdir("run")), 1)
        for view in ("counts", "report", "tree"):
            text = panalyze(view, "run").ok().out
            check_in("counted, not sampled: all tasks together", text)
            check(text.splitlines()[1].startswith(command[0] + " "), text)
        check("PID.TID" not in panalyze("counts", "run").out)
        task, = panalyze_json("counts", "run")["tasks"]
        check_equal((task["tree"], task["root"]), (True, True))
        for by in ("--per-thread", "--per-process", "--per-comm", "--per-exec"):
            done = panalyze("counts", by, "run")
            check_equal((done.status, done.out), (1, ""), done)
            check_in("these files contain only the counts of all tasks together; 'pinject-run --stat --per-thread' "
                     "counts each task by itself", done.err)


def has_reader(fifo):
    """Lets who reads FIFO go on, too: there was a writer, and it is gone."""
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def test_together_what_still_runs_is_told():
    """As soon as all tasks have ended, nothing is told."""
    need_perf_events()
    os.mkfifo("fifo")
    for script, told in (("cat fifo >/dev/null 2>&1 &", True),
                         ("(cat fifo >/dev/null 2>&1 &) | cat", True),
                         ("cat </dev/null & wait", False), ("/bin/true", False)):
        done = pinject_run("--stat", "--strict", "-e", "task-clock", "sh", "-c", script)
        try:
            check_equal(done.status, 125 if told else 0, done)
            check_equal("some tasks of the command still run, and are counted up to now (--linger waits for them)" in
                        done.err, told, done)
            check_equal("--strict: some tasks of the command still run" in done.err, told, done)
        finally:
            if told:
                wait_until(lambda: has_reader("fifo"))


def test_together_with_intervals_from_the_start():
    """Also the first interval has counts, though few records tell of the command."""
    need_perf_events()
    with measured():
        text, _ = counted(target("spin"), "400", options=["-I", "50"])
        rounds, whole, _ = interval_rows(text, False)
        check(rounds["", "task-clock"][0] > 0, text)
        check_equal(sum(rounds["", "task-clock"]), whole["", "task-clock"], text)


def test_files_and_header():
    need_perf_events()
    pinject_run("--stat", "--counts-file=f", "-e", "faults", "true").ok()
    pinject_run("--stat", "--counts-file=f", "--append", "--with-header", "-e", "faults", "echo", "x").ok()
    text = pathlib.Path("f").read_text()
    check_equal(text.count("seconds time elapsed"), 2, text)
    check_in(f"# host      {platform.node()}\n", text)
    check_match(r"^# command   echo x$", text)
    check_match(r"^# session   [0-9a-f]{32}$", text)
    check_equal(os.stat("f").st_mode & 0o777, 0o600)
    pinject_run("--stat", "--counts-file=f", "--mode=0644", "-x,", "-e", "faults", "true").ok()
    check_match(r"^\d+,,faults(:u)?,\d+,100.00,", pathlib.Path("f").read_text())
    done = pinject_run("--stat", "--counts-file=/nowhere/f", "true")
    check_equal(done.status, 125, done)
    check_in("cannot write counts to '/nowhere/f': No such file or directory; choose another file with --counts-file",
             done.err)
    done = pinject_run("--stat", "--counts-file=/dev/full", "sh", "-c", "exit 3")
    check_equal(done.status, 3, done)
    check_in("cannot write the counts to '/dev/full': No space left on device", done.err)
    check_equal(pinject_run("--stat", "--strict", "--counts-file=/dev/full", "true").status, 125)


def test_output_of_the_command():
    done = pinject_run("--no-cmd-output", "-q", "sh", "-c", "echo out; echo err >&2; exit 4")
    check_equal((done.status, done.out, done.err), (4, "", ""), done)
    done = pinject_run("--show-time", "-q", "sleep", "0.1")
    real, user, system = map(float, check_match(r"^real ([\d.]+)\nuser ([\d.]+)\nsys ([\d.]+)$", done.err).groups())
    check(0.1 <= real < 20 and user + system < 5, done)


def test_values_come_first_and_also_when_quiet():
    need_perf_events()
    done = pinject_run("--stat", "-e", "faults", "true").ok()
    check(done.err.index("faults") < done.err.index("pinject-run: all tasks are counted together"), done)
    done = pinject_run("--stat", "--per-thread", "-e", "faults", "true").ok()
    check(done.err.index("faults") < done.err.index("pinject-run: 1 task"), done)
    check_match(r"^ +\d+ +faults", pinject_run("--stat", "-q", "-e", "faults", "true").err)
    # What another program reads has nothing else beside it.
    done = pinject_run("--stat", "--json", "-e", "faults", "true").ok()
    check_equal(json.loads(done.err)["tasks"], None)


# ---- several runs

def test_repeat():
    """Each run has files of its own; the mean is the mean of these."""
    need_perf_events()
    witness = [target("count-witness"), "pages", "300"]
    done = pinject_run("--stat", "-r4", "--json", "-o", "run/", "-e", "faults", "--pre=echo >>pre", "--", *witness)
    check_equal(done.status, 0, done)
    found = json.loads(done.err)
    counts = {}
    for name in os.listdir("run"):
        number = int(check_match(r"^out-(\d)\.\d+\.\d+$", name)[1])
        rows = csv.reader(io.StringIO(panalyze("counts", "-x,", f"run/{name}").ok().out))
        counts[number], = (int(row[0]) for row in rows if plain(row[2]) == "faults")
    check_equal(sorted(counts), [1, 2, 3, 4])
    check_equal(pathlib.Path("pre").read_text(), "\n" * 4)
    check_equal(found["runs"], 4)
    check_equal(value(found, "faults"), int(sum(counts.values()) / 4 + 0.5))
    row = next(row for row in found["counts"] if plain(row["event"]) == "faults")
    mean = sum(counts.values()) / 4
    deviation = (sum((count - mean) ** 2 for count in counts.values()) / 3) ** 0.5
    check_near(row["deviation"], deviation, points=0.001)
    check_near(row["interval_95"], 3.182446 * deviation / 2, points=0.001)
    done = pinject_run("--stat", "-r", "2", "-e", "faults", "sh", "-c", "exit 3")
    check_equal(done.status, 3, done)
    check_in("mean of 2 runs", done.err)


def test_repeat_is_interrupted():
    """Ctrl-C ends the run and the series; what was complete is shown."""
    need_perf_events()
    script = "echo >>began; [ $(wc -l <began) = 1 ] || exec sleep 60"
    process = start([PINJECT_RUN, "--stat", "-r", "5", "-e", "faults", "sh", "-c", script])
    wait_until(lambda: os.path.exists("began") and pathlib.Path("began").read_text() == "\n\n")
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    err = err.decode()
    check_equal(process.returncode, 128 + signal.SIGINT, err)
    check_in("warning: 1 of 5 runs are complete: a signal stopped the series, so the other runs are left out", err)
    check_in("there was only one run", err)
    check_match(r"^ +\d+ +faults", err)


# ---- programs of a task

def test_values_of_each_program():
    """They add up to the thread's, whole or split; the files have the number of the exec."""
    need_perf_events()
    commands = {name: programs()[name] for name in ("programs", "shell", "true")}
    commands["static"] = [target("count-witness-static"), "pages", "100", "exec", "3"]
    for name, command in commands.items():
        for options in (["--per-thread"], ["--exec-split-results"]):
            shutil.rmtree("run", ignore_errors=True)
            counted(*command, options=options)
            threads, parts, numbers = {}, {}, {}
            for by, sums in (("--per-thread", threads), ("--per-exec", parts)):
                for row in csv.reader(io.StringIO(panalyze("counts", "-x,", by, "run").ok().out)):
                    tid, _, number = row[0].rsplit("-")[-1].partition(".")
                    if number:
                        numbers.setdefault(tid, set()).add(int(number))
                    count = row[1].replace(".", "") if row[2] == "msec" else row[1]
                    key = tid, row[3]
                    sums[key] = sums.get(key, 0) + (0 if count == "<not counted>" else int(count))
            check_equal(parts, threads, f"{name} {options}")
            for tid, found in numbers.items():
                check_equal(found, set(range(min(found), max(found) + 1)), name)
                check_in(min(found), (0, 1))
            if options == ["--exec-split-results"]:
                check_equal(sorted(tuple(file.split(".")[2:4]) for file in os.listdir("run")),
                            sorted((tid, str(number)) for tid, found in numbers.items() for number in found), name)
            root = next(iter(numbers)) if len(numbers) == 1 else None
            if root:
                check_equal(min(numbers[root]), 1)
            if name in ("programs", "static"):
                check_equal(numbers[root], {1, 2, 3, 4} if name == "programs" else {1, 2, 3})


# ---- intervals

def interval_rows(text, by):
    """{(row, event): [values]} of the intervals, and {(row, event): value} of the summary; in ns for clocks."""
    rounds, whole, times = {}, {}, []
    for row in csv.reader(io.StringIO(text)):
        stamp, key = row[0].strip(), (row[1].rsplit("-")[-1] if by else "", row[3 + by])  # it may get another name
        count = row[1 + by]
        if count == "<not counted>":
            count = "0"  # only tasks with inherited events lived, which are counted at their ends
        number = int(count.replace(".", "")) if row[2 + by] == "msec" else int(count)
        if stamp == "summary":
            check(key not in whole, text)
            whole[key] = number
        else:
            times.append(float(stamp))
            rounds.setdefault(key, []).append(number)
    check_equal(times, sorted(times))
    return rounds, whole, times


def test_intervals_add_up():
    """Threads, children, programs and inherited events: exactly, as printed and as in the files."""
    need_perf_events()
    shell = f"{target('spin')} 60; {target('spin')} 60 & wait; exec {target('count-witness')} pages 50 threads 4"
    commands = {"shell": ["sh", "-c", shell],
                "static": [target("count-witness-static"), "pages", "200", "children", "5"],
                "exec": [target("count-witness"), "pages", "100", "exec", "3"], "true": ["true"]}
    for name, command in commands.items():
        for by in (False, True):
            shutil.rmtree("run", ignore_errors=True)
            options = ["--print-interval=20", *(["--per-thread"] if by else [])]
            text, _ = counted(*command, options=options)
            rounds, whole, times = interval_rows(text, by)
            check_equal({key: sum(values) for key, values in rounds.items()}, whole, f"{name} {by}")
            read = panalyze("counts", "--interval", "-x,", *options[1:], "run")
            if read.status:
                check_in("these files contain no intervals", read.err)  # it was too short
                continue
            again, total, when = interval_rows(read.out, by)
            check_equal({key: sum(values) for key, values in again.items()}, whole, f"{name} {by} in the files")
            check_equal(total, whole)
            check(set(when[:-1]) - {max(when)} <= set(times), f"{name}: {when} {times}")


def test_intervals_follow_the_program():
    """A program that computes all the time: its CPU time is in the intervals in which it ran."""
    need_perf_events()
    with measured():
        text, done = counted(target("spin"), "500", options=["-I", "100"])
        rounds, whole, times = interval_rows(text, False)
        steps = sorted(set(times))
        check(len(steps) >= 5, text)
        for step, (begin, end) in enumerate(zip([0, *steps], steps)):
            check(rounds["", "task-clock"][step] <= (end - begin) * 1e9 + 20e6, text)
        check(max(rounds["", "task-clock"]) < 0.6 * whole["", "task-clock"], text)


def test_no_intervals_in_other_files():
    need_perf_events()
    counted("true")
    done = panalyze("counts", "--interval", "run")
    check_equal((done.status, done.out), (1, ""), done)
    check_in("these files contain no intervals; 'pinject-run --stat --print-interval=MS' and", done.err)


def test_perf_reads_the_intervals():
    """They are READ records of the kernel's form, and their sum is the count."""
    need_perf_events()
    need("perf")
    text, _ = counted(target("spin"), "150", options=["-I", "20"])
    _, whole, _ = interval_rows(text, False)
    name, = os.listdir("run")
    dump = run(["perf", "script", "-D", "-i", f"run/{name}"]).ok().out
    reads = re.findall(r"PERF_RECORD_READ: \d+ \d+ (\S+) (\d+)", dump)
    for event in SOFTWARE.split(",")[1:]:
        values = [int(count) for found, count in reads if plain(found) == event]
        check(len(values) > 2, dump)
        check_equal(sum(values), next(value for key, value in whole.items() if plain(key[1]) == event), event)


def test_bare_session_writes_a_file():
    need_perf_events()
    environment = {"LD_PRELOAD": PRELOAD, "PINJECT_STAT": "1", "PINJECT_COUNTS_FILE": "bare.csv",
                   "PINJECT_FIELD_SEPARATOR": ",", "PINJECT_EVENTS": "faults", "PINJECT_PER_THREAD": "1"}
    done = run([target("count-witness"), "pages", "300", "threads", "2"], env=environment).ok()
    check_equal(done.err, "")
    pinject_run("--wait").ok()
    found = [row for row in csv.reader(open("bare.csv")) if plain(row[3]) == "faults"]
    rows = {int(row[0].rsplit("-")[-1]): int(row[1]) for row in found}
    check_equal(len(rows), 3, rows)
    for tid, pages in told(done).items():
        check(pages <= rows[tid] <= pages + 100, rows)


if __name__ == "__main__":
    main()
