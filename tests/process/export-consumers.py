# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
# timeout: 120
"""Each export opened by the program that it is for: what that one answers is what panalyze says of the same files."""
import collections
import csv
import gzip
import socket
import struct

from harness import *

CONSUMERS = BUILD / "consumers"
PACKAGES = CONSUMERS / "npm/node_modules"
SPEEDSCOPE = SOURCE / "tests/consumers/speedscope.mjs"
EVENTS = "task-clock,page-faults"


@functools.lru_cache(maxsize=None)
def recording():
    """Result files of some processes with threads, for all functions here. One that a busy machine has spoilt is not
    kept."""
    directory = tempfile.TemporaryDirectory(prefix="pinject-test-")
    words = ("sh", "-c", f"{target('spin')} 150 2; {target('spin')} 50; exec {target('spin')} 20")
    pinject_run("-q", "--follow-all", "-F", "2000", "-e", EVENTS, "-o", directory.name + "/out", "--", *words).ok()
    document = panalyze_json("--aggregate", directory.name)
    with measured():
        check(document["total"]["samples"] > 20, document["total"])
        check(len(document["tasks"]) == 4, document["tasks"])
    return directory


def record():
    """The recording in the working directory, and what panalyze says of it: (document, totals by function)."""
    shutil.copytree(recording().name, ".", dirs_exist_ok=True)
    document = panalyze_json("--aggregate", "--top", "all", *results())
    return document, by_name(document)


def by_name(document):
    """{symbol: [self weight, total weight]} as programs see it that know functions by name alone."""
    found = collections.defaultdict(lambda: [0, 0])
    for function in document["functions"]:
        found[function["symbol"]][0] += function["self_weight"]
        found[function["symbol"]][1] += function["total_weight"]
    return found


def export(file, *words):
    panalyze("export", *words, "-o", file, *results()).ok()
    return file


def need_package(name):
    """The directory of an npm package."""
    node = need("node")
    if not (CONSUMERS / "npm/complete").exists():
        skip(f"no npm packages in {CONSUMERS}; scripts/consumers {CONSUMERS} fetches them")
    version = run([node, "--version"]).ok().out
    if int(check_match(r"v(\d+)", version)[1]) < 20:
        skip(f"node is {version.strip()}; what is tested with it needs 20 or newer")
    return PACKAGES / name


# ---- perf

def samples_of(path):
    """How often perf script shows each (comm, pid, tid, period, event, leaf) in PATH, and the times in its order."""
    fields = "comm,pid,tid,time,period,event,ip,sym"
    text = run(["perf", "script", "-i", path, "-F", fields, "--ns"]).ok().out
    found, times = collections.Counter(), []
    for part in text.split("\n\n"):
        lines = part.split("\n")
        head = re.match(r"\s*(.*?)\s+(\d+)/(\d+)\s+(\d+\.\d+):\s+(\d+)\s+(\S+?):\s*(.*)$", lines[0])
        if head:
            leaf = " ".join((head[7] or lines[1]).split())
            found[head[1], head[2], head[3], head[5], head[6], leaf] += 1
            times.append(float(head[4]))
    return found, times


def test_perf():
    need("perf")
    document, names = record()
    export("all.data", "perf")
    apart = collections.Counter()
    for name in results():
        apart += samples_of(name)[0]
    together, times = samples_of("all.data")
    check_equal(sum(together.values()), sum(apart.values()), "samples")
    check_equal(together, apart)
    check_equal(times, sorted(times), "the times in perf script's order")
    # perf sorts by itself what it reads: the file has to have them in order, too.
    dumped = run(["perf", "report", "-D", "-i", "all.data"]).out
    raw = [int(time) for time in re.findall(r"^(\d+) 0x[0-9a-f]+ \[0x[0-9a-f]+\]: PERF_RECORD_", dumped, re.M)]
    check(len(raw) > document["total"]["samples"], f"{len(raw)} records in perf report -D")
    offsets = re.findall(r"^\d+ (0x[0-9a-f]+) \[0x[0-9a-f]+\]: PERF_RECORD_", dumped, re.M)
    check_equal(offsets, sorted(offsets, key=lambda offset: int(offset, 16)), "the places of records in order of time")
    report = run(["perf", "report", "-i", "all.data", "--stdio", "--no-children", "-g", "none", "--percent-limit", "0",
                  "--sort", "sym", "-t", "\t"]).ok().out
    check_equal(int(check_match(r"^# Event count \(approx\.\): (\d+)", report)[1]), document["total"]["weight"])
    share = float(check_match(r"^ *([\d.]+)% *\t\[\.\] spin_a\s*$", report)[1])
    check_near(share, 100 * names["spin_a"][0] / document["total"]["weight"], points=0.011)


def test_perf_knows_tasks_and_dsos():
    need("perf", "readelf")
    document, _ = record()
    export("all.data", "perf")
    tasks = {(task["pid"], task["tid"]) for task in document["tasks"]}
    shown = run(["perf", "script", "-i", "all.data", "--show-task-events"]).ok().out
    named = {tuple(map(int, pair)) for pair in re.findall(r"PERF_RECORD_COMM(?: exec)?: .*:(\d+)/(\d+)$", shown, re.M)}
    check(tasks <= named, f"no COMM of {tasks - named}")
    forked = {int(tid) for tid in re.findall(r"PERF_RECORD_FORK\(\d+:(\d+)\)", shown)}
    threads = {task["tid"] for task in document["tasks"] if not task["root"]}
    check(threads <= forked, f"no FORK of {threads - forked}")
    command = lambda *files: panalyze(*files).ok().out.splitlines()[1]
    check_equal(command("all.data"), command(*results()), "the program is named, not pinject-run")
    ids = {}
    for name in results():
        ids.update(re.findall(r"^([0-9a-f]{40}) (.+)$", run(["perf", "buildid-list", "-i", name]).ok().out, re.M))
    merged = dict(re.findall(r"^([0-9a-f]{40}) (.+)$", run(["perf", "buildid-list", "-i", "all.data"]).ok().out, re.M))
    check(len(ids) > 2, ids)
    # Of a result file perf lists what was hit itself, of the merged one the section: callers' DSOs, too. perf has
    # its own copy of the vdso, and would not look there if the section named it.
    hit = {key: path for key, path in ids.items() if path[0] == "/" and "/perf-vdso.so-" not in path}
    check_equal({key: path for key, path in merged.items() if key in hit}, hit)
    for key, path in merged.items():
        check_match(r"^/|^\[kernel\.kallsyms\]$", path)
        if path[0] == "/":
            check_in(f"Build ID: {key}\n", run(["readelf", "-n", path]).ok().out)
    # Each mapping of a program once, however many threads' files have it.
    shown = run(["perf", "script", "-i", "all.data", "--show-mmap-events", "--show-task-events"]).ok().out
    programs, seen = collections.Counter(), collections.Counter()
    for line in shown.splitlines():
        if begun := re.search(r"PERF_RECORD_COMM exec: .*:(\d+)/\d+$", line):
            programs[begun[1]] += 1
        elif mapped := re.search(r"PERF_RECORD_MMAP2? (\d+)/\d+: (\[.*libc.*)$", line):
            seen[mapped[1], programs[mapped[1]], mapped[2]] += 1
    check(seen and max(seen.values()) == 1, seen)


def test_perf_counts():
    need("perf")
    document, _ = record()
    export("all.data", "perf")
    table = run(["perf", "report", "-i", "all.data", "-T", "--stdio"]).out
    head = check_match(r"^#\s*PID\s+TID\s+(.*)$", table)[1].split()
    rows = {(int(row[0]), int(row[1])): dict(zip(head, map(int, row[2:])))
            for row in (line.split() for line in table.splitlines())
            if len(row) == len(head) + 2 and all(word.isdigit() for word in row)}
    check_equal(len(rows), len(document["tasks"]))
    for task in document["tasks"]:
        for count in task["counts"]:
            shown = rows[task["pid"], task["tid"]].get(count["event"])
            check_equal(shown, count.get("counted", count["value"]), f"{count['event']} of {task['tid']}")
    # panalyze goes by the ids in the READ records.
    again = {(task["pid"], task["tid"]): task for task in panalyze_json("counts", "all.data")["tasks"]}
    for task in document["tasks"]:
        counts = {count["event"]: count["value"] for count in again[task["pid"], task["tid"]]["counts"]}
        check_equal(counts, {count["event"]: count.get("counted", count["value"]) for count in task["counts"]})


def test_panalyze_reads_its_own():
    document, names = record()
    export("all.data", "perf")
    again = panalyze_json("--aggregate", "--top", "all", "all.data")
    check_equal(again["total"]["samples"], document["total"]["samples"])
    check_equal(by_name(again), names)


# ---- pprof

def test_pprof():
    need("go")
    document, names = record()
    export("cpu.pb.gz")
    home = {"HOME": os.getcwd(), "PPROF_TMPDIR": os.getcwd()}
    all_of_it = ("-top", "-unit=ns", "-nodecount=1000000", "-nodefraction=0")
    top = run(["go", "tool", "pprof", *all_of_it, "cpu.pb.gz"], env=home).ok().out
    check_match(rf"^Type: {re.escape(document['event'])}$", top)
    rows = re.findall(r"^\s*(\d+)(?:ns)?\s+[\d.]+%\s+[\d.]+%\s+(\d+)(?:ns)?\s+[\d.]+%\s+(.*?)\s*$", top, re.M)
    shown = {name.replace(" (inline)", ""): (int(self_), int(total)) for self_, total, name in rows}
    check_equal(sum(pair[0] for pair in shown.values()), document["total"]["weight"])
    check_equal(shown["spin_a"], tuple(names["spin_a"]))
    raw = run(["go", "tool", "pprof", "-raw", "cpu.pb.gz"], env=home).ok().out
    types = check_match(r"^Samples:\n(.*)$", raw)[1].split()
    check_equal(len(types), 4, types)
    samples = [[int(value) for value in row.split()] for row in re.findall(r"^((?: +\d+){4}): ", raw, re.M)]
    sums = [sum(column) for column in zip(*samples)]
    faults = panalyze_json("--aggregate", "-e", types[3].split("/")[0], *results())
    check_equal(sums, [document["total"]["samples"], document["total"]["weight"], faults["total"]["samples"],
                       faults["total"]["weight"]])
    tags = run(["go", "tool", "pprof", "-tags", "cpu.pb.gz"], env=home).ok().out
    check_in("spin", tags)
    check_match(r"^\s*pid: Total", tags)


TEMPLATES = """
#include <time.h>
static volatile unsigned long sink;
template <int N> __attribute__((noinline)) void work() { for (unsigned long i = 0; i < 100000ul * N; i++) sink += i; }
int main() {
    while (clock() < CLOCKS_PER_SEC / 5) { work<1>(); work<3>(); }
    return 0;
}
"""


def test_pprof_keeps_templates_apart():
    """pprof takes a name without a mangled one apart: work<1> and work<3> would be one function."""
    need("go", "g++")
    need_perf_events()
    pathlib.Path("t.cc").write_text(TEMPLATES)
    run("g++ -g -O1 -o t t.cc".split()).ok()
    pinject_run("-q", "-o", "run/", "--", "./t").ok()
    home = {"HOME": os.getcwd(), "PPROF_TMPDIR": os.getcwd()}
    for words in ([], ["--no-inline"]):
        panalyze("export", "-o", "t.pb.gz", *words, "run").ok()
        top = run(["go", "tool", "pprof", "-top", "-unit=ns", "t.pb.gz"], env=home).ok().out
        functions = panalyze_json("report", "--aggregate", "run")["functions"]
        expected = {row["symbol"]: row["self_weight"] for row in functions if row["symbol"].startswith("work<")}
        shown = {name: int(weight) for weight, name in
                 re.findall(r"^\s*(\d+)(?:ns)? .* (work<\d>)(?: \(inline\))?$", top, re.M)}
        check_equal(set(shown), {"work<1>", "work<3>"}, top)
        check_equal(shown, expected, top)


# ---- speedscope

def speedscope(*files):
    answer = run([need("node"), SPEEDSCOPE, need_package("speedscope"), *files]).ok()
    return json.loads(answer.out)


def test_speedscope():
    need_package("speedscope")
    document, names = record()
    profiles = speedscope(export("all.speedscope.json"))
    sampled = [task for task in document["tasks"] if task["samples"]]
    weights = {f"{task['comm']} {task['pid']}/{task['tid']}": task["weight"] for task in sampled}
    check_equal({profile["name"]: profile["total"] for profile in profiles}, weights)
    check_equal([profile["total"] for profile in profiles], sorted(weights.values(), reverse=True), "heaviest first")
    check_equal({profile["unit"] for profile in profiles}, {"nanoseconds"})
    for function in ("spin_a", "spin_b"):
        check_equal(sum(p["frames"].get(function, {"self": 0})["self"] for p in profiles), names[function][0], function)
    one, = speedscope(export("one.speedscope.json", "-a"))
    check_equal(one["total"], document["total"]["weight"])
    check_equal(one["frames"]["spin_a"]["self"], names["spin_a"][0])
    check_equal(one["frames"]["spin_a"]["file"], target("spin"))


def test_folded_stacks():
    """speedscope reads the format of flamegraph.pl, too."""
    need_package("speedscope")
    document, names = record()
    profile, = speedscope(export("all.folded"))
    check_equal(profile["total"], document["total"]["weight"])
    check_equal(profile["frames"]["spin_a"]["self"], names["spin_a"][0])
    comms = {entry: frame["total"] for entry, frame in profile["frames"].items() if entry in ("sh", "spin")}
    rows = panalyze_json("--aggregate", "--by", "comm", *results())
    check_equal(sum(comms.values()), rows["total"]["weight"])


def test_chrome_trace():
    """speedscope reads trace events, too: a profile for each thread, as long as it lived."""
    need_package("speedscope")
    document, _ = record()
    profiles = speedscope(export("all.trace.json"))
    check_equal(len(profiles), len(document["tasks"]))
    for task in document["tasks"]:
        numbers = [f"(pid {task['pid']})", f"(tid {task['tid']})"]
        profile = next(p for p in profiles if all(number in p["name"] for number in numbers))
        slices = [frame for name, frame in profile["frames"].items() if name.startswith(("sh ", "spin "))]
        check_near(sum(frame["total"] for frame in slices), (task["end_ns"] - task["start_ns"]) / 1000, points=0.01)


# ---- Firefox Profiler

def test_firefox():
    """The upgraders and queries of the Firefox Profiler itself, in its program for the command line."""
    program = need_package("@firefox-devtools/profiler-cli") / "dist/profiler-cli.js"
    node = need("node")
    document, names = record()
    export("all.json.gz", "firefox")
    home = {"HOME": os.getcwd()}

    def is_ready():
        check(server.poll() is None, "the profiler ended")
        try:
            with socket.socket(socket.AF_UNIX) as link:
                link.settimeout(60)
                link.connect(".profiler-cli/one.sock")
                link.sendall(b'{"type":"status"}\n')
                answer = json.loads(link.makefile().readline())
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        check(answer["type"] != "error", answer)
        return answer["type"] == "ready"

    def ask(*words):
        return json.loads(run([node, program, *words, "--session", "one", "--json"], env=home).ok().out)

    # Its own way to start the part that answers gives up after half a second, and who asks it too early removes it.
    server = start([node, program, "--daemon", os.path.abspath("all.json.gz"), "--session", "one"], env=home,
                   stdout=open("log", "w"), stderr=subprocess.STDOUT)
    wait_until(is_ready, 120, "the profiler to load the file")
    info = ask("profile", "info", "--all")
    threads = json.loads(gzip.decompress(pathlib.Path("all.json.gz").read_bytes()))["threads"]
    check_equal(info["threadCount"], len(threads))
    check_equal(info["processCount"], len({thread["pid"] for thread in threads}))
    check_equal({thread["tid"] for thread in threads}, {task["tid"] for task in document["tasks"]})
    # The shell that becomes spin is two processes, each with the samples of its program.
    weights = collections.Counter()
    for thread in threads:
        weights[thread["name"]] += round(sum(thread["samples"]["weight"]) * 1e6)
    check_equal({comm: weight for comm, weight in weights.items() if weight},
                {row["comm"]: row["self_weight"] for row in document["commands"]})
    handles = {thread["tid"]: thread["threadHandle"] for process in info["processes"] for thread in process["threads"]}
    task = max(document["tasks"], key=lambda task: task["weight"])
    answer = ask("thread", "functions", "--thread", handles[task["tid"]])
    functions = {function["name"]: function for function in answer["functions"]}
    own = by_name(panalyze_json("--aggregate", "--top", "all", "-t", task["tid"], *results()))
    for name in ("spin_a", "spin_b"):
        check_near(functions[name]["selfSamples"] * 1e6, own[name][0], points=1, what=name)
        check_near(functions[name]["totalSamples"] * 1e6, own[name][1], points=1, what=name)
        check_equal(functions[name]["library"], "spin")
    check_near(sum(f["selfSamples"] for f in answer["functions"]) * 1e6, task["weight"], points=10)


# ---- hotspot

def read_perfparser(path):
    """What hotspot's perfparser wrote: (samples, {event: cost}, {(event, symbol at the leaf): cost})."""
    data = pathlib.Path(path).read_bytes()
    check_equal(data[:12], b"QPERFSTREAM\0")
    at, samples, texts, symbols, parents = 16, 0, {}, {}, {}
    costs, leaves = collections.Counter(), collections.Counter()
    while at < len(data):
        size, = struct.unpack_from("<I", data, at)
        message = data[at + 4:at + 4 + size]
        at += 4 + size
        kind = message[0]
        if kind == 5:
            number, length = struct.unpack_from(">iI", message, 1)
            texts[number] = message[9:9 + length].decode()
        elif kind == 3:
            parents[struct.unpack_from(">i", message, 1)[0]] = struct.unpack_from(">i", message, size - 4)[0]
        elif kind == 4:
            location, name = struct.unpack_from(">ii", message, 1)
            symbols[location] = name
        elif kind == 13:
            samples += 1
            depth, = struct.unpack_from(">I", message, 21)
            leaf = struct.unpack_from(">i", message, 25)[0] if depth else -1
            # From what was inlined to the function that it was inlined into.
            while parents.get(leaf, -1) != -1:
                leaf = parents[leaf]
            values, = struct.unpack_from(">I", message, 26 + 4 * depth)
            for i in range(values):
                event, cost = struct.unpack_from(">iQ", message, 30 + 4 * depth + 12 * i)
                costs[event] += cost
                leaves[event, texts.get(symbols.get(leaf))] += cost
    return samples, costs, leaves


def test_hotspot():
    place = CONSUMERS / "hotspot/complete"
    program = place.read_text().strip() if place.exists() else ""
    if not program:
        skip(f"no perfparser of hotspot in {CONSUMERS}; scripts/consumers {CONSUMERS} fetches it")
    program = pathlib.Path(CONSUMERS, "hotspot", program[program.rindex("hotspot/root") + len("hotspot/"):])
    libraries = {"LD_LIBRARY_PATH": program.parent.parent}
    if "not found" in run(["ldd", program], env=libraries).out:
        skip(f"libraries of {program} are missing: {run(['ldd', program], env=libraries).out}")
    document, names = record()
    export("all.data", "perf")
    event = "page-faults:u" if document["event"].endswith(":u") else "page-faults"
    faults = panalyze_json("--aggregate", "-e", event, *results())
    run([program, "--input", "all.data", "--output", "parsed"], env=libraries).ok()
    samples, costs, leaves = read_perfparser("parsed")
    check_equal(samples, document["total"]["samples"] + faults["total"]["samples"])
    check_equal([costs[0], costs[1]], [document["total"]["weight"], faults["total"]["weight"]])
    check_equal(leaves[0, "spin_a"], names["spin_a"][0])


# ---- inlined functions

def inline_truth():
    """Weight at the leaf, inlined functions taken apart, as panalyze script says it; by (function, inlined)."""
    found, event = collections.Counter(), panalyze_json(*results())["event"]
    for part in panalyze("script", "--inline", "-e", event, *results()).ok().out.split("\n\n"):
        lines = part.strip("\n").split("\n")
        if len(lines) > 1:
            leaf = re.match(r"\s*[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)?( \(inlined\)| \(\S+\))$", lines[1])
            weight = int(re.search(r": (\d+) \S+:$", lines[0])[1])
            found[leaf[1], leaf[2] == " (inlined)"] += weight
    return found


def test_inlined_functions():
    need("go")
    document, names = record()
    truth = inline_truth()
    inlined = {name: weight for (name, inside), weight in truth.items() if inside}
    if not inlined:
        skip("the compiler inlined nothing here")
    name = max(inlined, key=inlined.get)
    both = inlined[name] + truth[name, False]
    stacks = collections.Counter()
    for line in panalyze("export", "folded", "--inline", *results()).ok().lines:
        stack, weight = line.rsplit(" ", 1)
        stacks[stack.split(";")[-1]] += int(weight)
    check_equal([stacks[name + "_[i]"], stacks[name]], [inlined[name], truth[name, False]], name)
    check_equal(sum(stacks.values()), document["total"]["weight"])
    home = {"HOME": os.getcwd(), "PPROF_TMPDIR": os.getcwd()}
    panalyze("export", "--inline", "-o", "lines.pb.gz", *results()).ok()
    pprof = ["go", "tool", "pprof", "-unit=ns", "-nodecount=1000000", "-nodefraction=0", "-top"]
    rows = re.findall(r"^\s*(\d+)(?:ns)? .*% +(.*?)(?: \(inline\))?$", run([*pprof, "lines.pb.gz"], env=home).ok().out,
                      re.M)
    check_equal(sum(int(weight) for weight, function in rows if function == name), both, name)
    lines = run([*pprof, "-lines", "lines.pb.gz"], env=home).ok().out
    check_match(rf"{re.escape(name)} .*burn\.h:\d+", lines)
    panalyze("export", "--inline", "-o", "lines.speedscope.json", "-a", *results()).ok()
    shared = json.load(open("lines.speedscope.json"))["shared"]["frames"]
    check_in(name, [frame["name"] for frame in shared])


# ---- tables

def test_csv():
    document, _ = record()
    rows = list(csv.DictReader(open(export("all.csv"), newline="")))
    check_equal([row["symbol"] for row in rows], [function["symbol"] for function in document["functions"]])
    for row, function in zip(rows, document["functions"]):
        for key in ("self_samples", "self_weight", "total_samples", "total_weight"):
            check_equal(int(row[key]), function[key], row["symbol"])
    # sqlite is a reader of its own.
    run([need("sqlite3"), ":memory:", ".import --csv all.csv f", ".output sum", "select sum(self_weight) from f"]).ok()
    check_equal(int(pathlib.Path("sum").read_text()), document["total"]["weight"])


def test_csv_of_tasks():
    document, _ = record()
    rows = list(csv.DictReader(open(export("all.tasks.csv"), newline="")))
    tasks = {task["tid"]: task for task in document["tasks"]}
    check_equal({int(row["tid"]) for row in rows}, set(tasks))
    for row in rows:
        task = tasks[int(row["tid"])]
        for key in ("pid", "ppid", "comm", "exec", "start_ns", "end_ns", "exit", "cpu_ns", "samples", "weight"):
            check_equal(row[key], "" if task[key] is None else str(task[key]), f"{key} of {row['tid']}")
        for count in task["counts"]:
            check_equal(row[count["event"]], str(count["scaled"]))


if __name__ == "__main__":
    main()
