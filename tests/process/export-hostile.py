# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
# timeout: 120
"""Exports of programs with hostile names, into places that cannot be written, of wrong files: valid, or a message."""
import csv
import errno
import gzip
import pty
import struct

from harness import *

FORMATS = {"perf": ".data", "pprof": ".pb.gz", "speedscope": ".speedscope.json", "firefox": ".json.gz",
           "folded": ".folded", "chrome": ".trace.json", "csv": ".csv", "csv-tasks": ".tasks.csv"}
# What the linker is given, and what stands in its place in the table of symbols: quotes, line ends, separators, bytes
# that are no UTF-8, a terminal's escape.
HOSTILE = [b"a\"b\\c;d,e\nf\r\t'<&>\x1b[31m ",
           b"\xff\xfe\xc3(\xed\xa0\x80\xf4\x90\x80\x80 x;y 12 ",
           b"u:\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5\x7f\x01=cmd()",
           b"c1:\xc2\x9b31m\xc2\x80\xc2\x9f\xc2\xa0\xe2\x80\xae\xe2\x81\xa6 ",
           b"=HYPERLINK(\"x\";1)", b"+1+cmd|' /C calc'!A0", b"-2+3", b"@SUM(1,2)"]
# What a terminal obeys: no output has it as it is.
CONTROL = "[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"
LONG = b"long" + b"y" * (1 << 20)
PROGRAM = """#include <sys/prctl.h>
#include <time.h>
static volatile unsigned long sum;
%s
int main(void) {
    struct timespec now;
    prctl(PR_SET_NAME, "q\\"\\n;,\\xff 1");
    do {
        %s
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < 250);
    return 0;
}
"""


@functools.lru_cache(maxsize=None)
def recording():
    directory = tempfile.TemporaryDirectory(prefix="pinject-test-")
    names, texts = [], {}
    for i, hostile in enumerate(HOSTILE):
        plain = b"hostile_%d_" % i + b"0" * 40
        texts[plain] = hostile[:len(plain)].ljust(len(plain), b"_")
        names.append(plain.decode())
    names.append(LONG.decode())
    body = "(void) { for (int i = 0; i < 20000; i++) sum += i; }"
    functions = "\n".join(f"__attribute__((noinline)) static void {name}{body}" for name in names)
    source = pathlib.Path(directory.name, "source.c")
    source.write_text(PROGRAM % (functions, " ".join(f"{name}();" for name in names)))
    program = pathlib.Path(directory.name, "program")
    run([need("gcc"), "-O1", "-g0", "-o", program, source]).ok()
    code = program.read_bytes()
    for plain, hostile in texts.items():
        check_equal(code.count(plain), 1)
        code = code.replace(plain, hostile)
    program.write_bytes(code)
    pinject_run("-q", "-F", "2000", "-o", directory.name + "/out", "--", program, "a;b\n\"c\xff").ok()
    document = panalyze_json("--aggregate", "--top", "all", directory.name)
    with measured():  # one with few samples of each function is not kept
        check(document["total"]["samples"] > 100, document["total"])
    return directory, [text.decode("utf-8", "replace") for text in texts.values()] + [LONG.decode()]


def record():
    """The result file in the working directory; the names as UTF-8 with U+FFFD, and the weight of all."""
    directory, names = recording()
    for name in os.listdir(directory.name):
        if name.startswith("out."):
            shutil.copy(os.path.join(directory.name, name), ".")
    document = panalyze_json("--aggregate", "--top", "all", *results())
    found = {function["symbol"] for function in document["functions"]}
    check(set(names) <= found, f"{[name[:60] for name in names]} are not all in {[name[:60] for name in found]}")
    return names, document


def export(format, *words):
    """The bytes of an export to stdout."""
    return panalyze("export", format, *words, *results()).ok().out_bytes


def test_json_of_speedscope():
    names, document = record()
    answer = json.loads(export("speedscope").decode("utf-8"))
    frames = [frame["name"] for frame in answer["shared"]["frames"]]
    check(set(names) <= set(frames), "names are missing")
    check_equal(sum(sum(profile["weights"]) for profile in answer["profiles"]), document["total"]["weight"])
    for profile in answer["profiles"]:
        check_equal(len(profile["samples"]), len(profile["weights"]))
        check_equal(profile["endValue"], sum(profile["weights"]))
        used = {frame for sample in profile["samples"] for frame in sample}
        check(used <= set(range(len(frames))), "a frame that is not there")


def test_firefox_tables():
    names, document = record()
    answer = json.loads(gzip.decompress(export("firefox")).decode("utf-8"))
    shared = answer["shared"]
    check(set(names) <= set(shared["stringArray"]), "names are missing")
    for name in ("stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources"):
        for key, column in shared[name].items():
            check(key == "length" or len(column) == shared[name]["length"], f"{name}.{key}")
    limits = [(shared["stackTable"]["frame"], shared["frameTable"]),
              (shared["frameTable"]["func"], shared["funcTable"]),
              (shared["funcTable"]["resource"], shared["resourceTable"])]
    for values, table in ((shared["frameTable"]["nativeSymbol"], shared["nativeSymbols"]),
                          (shared["nativeSymbols"]["libIndex"], {"length": len(answer["libs"])})):
        limits.append(([value for value in values if value is not None], table))
    for column, table in limits:
        check(all(0 <= value < table["length"] for value in column), "an index beyond its table")
    prefixes = shared["stackTable"]["prefix"]
    check(all(prefix is None or prefix < i for i, prefix in enumerate(prefixes)), "a caller behind")
    weight = sum(sum(thread["samples"]["weight"]) for thread in answer["threads"])
    check_near(weight * 1e6, document["total"]["weight"], points=1000)


def test_trace_events():
    """What trace viewers need: a phase, a name, pid, tid, ts; X events a duration; arrows in pairs."""
    record()
    events = json.loads(export("chrome").decode("utf-8"))["traceEvents"]
    needed = {"X": {"ts", "dur", "args"}, "M": {"args"}, "s": {"ts", "id"}, "f": {"ts", "id", "bp"}, "i": {"ts", "s"},
              "C": {"ts", "args"}}
    for event in events:
        missing = ({"name", "pid", "tid"} | needed[event["ph"]]) - set(event)
        check(not missing, f"{missing} is missing in {event}")
        check(event.get("ts", 0) >= 0 and event.get("dur", 0) >= 0, event)
    check_equal([e["id"] for e in events if e["ph"] == "s"], [e["id"] for e in events if e["ph"] == "f"])
    check({"X", "M", "C"} <= {event["ph"] for event in events}, "phases")
    slices = [event for event in events if event["ph"] == "X"]
    check_equal(slices[-1]["args"]["exit"], 0)
    check_in("a;b\n\"c", slices[-1]["args"]["command"])
    check_equal([e["args"] for e in events if e["ph"] == "C"][-1], {"processes": 0, "threads": 0})


def test_trace_of_a_task_that_was_there_before():
    """As perf record -p and -a write: no start of the task. It is shown from the first time that is known."""
    attr = struct.pack("<IIQQQQQ", 1, 64, 1, 1000000, 1 | 2 | 4 | 256, 0, 0) + bytes(16)
    samples = b"".join(struct.pack("<IHHQIIQQ", 9, 2, 40, 0x1000, 7, 7, time, 1000000)
                       for time in (45000 * 10**9, 45001 * 10**9))
    head = struct.pack("<8sQQ", b"PERFILE2", 104, 80)
    sections = struct.pack("<QQQQQQ", 104, 80, 184, len(samples), 0, 0)
    pathlib.Path("perf.data").write_bytes(head + sections + bytes(32) + attr + bytes(16) + samples)
    events = json.loads(panalyze("export", "chrome", "perf.data").ok().out)["traceEvents"]
    slice, = [event for event in events if event["ph"] == "X"]
    check_equal((slice["ts"], slice["dur"], slice["args"]["started"]), (0, 10**6, False))
    check_equal([event for event in events if event["ph"] in "sf"], [], "arrows from nowhere")


def test_folded_lines():
    names, document = record()
    text = export("folded").decode("utf-8")
    lines = text.split("\n")
    check_equal(lines.pop(), "")
    # as flamegraph.pl takes a line apart
    parts = [re.fullmatch(r"(.+?) (\d+)", line) for line in lines]
    check(all(parts), [line[:200] for line, part in zip(lines, parts) if not part])
    check_equal(sum(int(part[2]) for part in parts), document["total"]["weight"])
    check(not re.search(CONTROL, text.replace("\n", "")), "control characters")
    check_equal(len(set(part[1] for part in parts)), len(parts), "a stack has one line")
    check_in(LONG.decode(), text)
    # Each backslash begins \\ooo, its own too: names that differ in them stay different.
    check(not re.search(r"\\(?![0-7]{3})", text), "a backslash by itself")
    check_in("\\134", text)


def in_a_cell(name):
    """NAME as a table has it: control characters as elsewhere, and nothing that a spreadsheet would run."""
    name = re.sub(CONTROL, lambda found: "".join("\\%03o" % byte for byte in found[0].encode()), name)
    return "'" + name if name[0] in "=+-@" else name


def test_documents_have_no_control_characters():
    names, _ = record()
    for words in (["--aggregate", "--top", "all"], ["--call-tree"], ["--by", "task"]):
        text = panalyze(*words, "--json", *results()).ok().out_bytes.decode("utf-8")
        check(not re.search(CONTROL, text.replace("\n", "")), words)
    for format in ("speedscope", "chrome"):
        check(not re.search(CONTROL, export(format).decode("utf-8").replace("\n", "")), format)
    text = gzip.decompress(export("firefox")).decode("utf-8")
    check(not re.search(CONTROL, text.replace("\n", "")), "firefox")


def test_tables():
    names, document = record()
    table = export("csv")
    csv.field_size_limit(1 << 22)
    with open("all.csv", "wb") as file:
        file.write(table)
    rows = list(csv.DictReader(open("all.csv", newline="", encoding="utf-8"), strict=True))
    check_equal(table.count(b"\r\n"), len(rows) + 1, "lines that end in CR LF")
    check({in_a_cell(name) for name in names} <= {row["symbol"] for row in rows}, "names are missing")
    check(not re.search(CONTROL, table.decode("utf-8").replace("\r\n", "")), "control characters")
    check(not any(cell[0] in "=+-@" for row in rows for cell in row.values() if cell), "formulas")
    check(all(None not in row and None not in row.values() for row in rows), "rows of different length")
    check_equal(sum(int(row["self_weight"]) for row in rows), document["total"]["weight"])
    with open("tasks.csv", "wb") as file:
        file.write(export("csv-tasks"))
    row, = csv.DictReader(open("tasks.csv", newline="", encoding="utf-8"), strict=True)
    check_equal(int(row["weight"]), document["total"]["weight"])


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """[(number, value)] of one message of protocol buffers."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        check(key & 7 in (0, 2), f"wire type {key & 7}")
        if key & 7 == 2:
            check(at + value <= len(data), "a field beyond the end")
            value, at = data[at:at + value], at + value
        found.append((key >> 3, value))
    return found


def test_pprof_messages():
    names, document = record()
    message = fields(gzip.decompress(export("pprof")))
    texts = [value.decode("utf-8") for number, value in message if number == 6]
    check_equal(texts[0], "")
    check_equal(len(set(texts)), len(texts))
    check(set(names) <= set(texts), "names are missing")
    places = {dict(fields(value))[1] for number, value in message if number == 4}
    weight = 0
    for number, value in message:
        if number != 2:
            continue
        sample = fields(value)
        ids, at = dict(sample)[1], 0
        while at < len(ids):
            place, at = varint(ids, at)
            check(place in places, "a location that is not there")
        values = dict(sample)[2]
        weight += varint(values, varint(values, 0)[1])[0]
    check_equal(weight, document["total"]["weight"])


def test_readers():
    """Their own programs read all of it."""
    record()
    for format, ending in FORMATS.items():
        panalyze("export", "-o", f"x{ending}", *results()).ok()
    if shutil.which("perf", path=PATH):
        check_in("program", run(["perf", "report", "-i", "x.data", "--stdio", "--sort", "dso"]).ok().out)
    if shutil.which("go", path=PATH):
        home = {"HOME": os.getcwd(), "PPROF_TMPDIR": os.getcwd()}
        top = run(["go", "tool", "pprof", "-top", "x.pb.gz"], env=home).ok().out
        check_in("u:\u00e4\u20ac", top)


def test_endings():
    record()
    for format, ending in FORMATS.items():
        by_name = panalyze("export", format, "-o", f"named-{format}", *results()).ok()
        panalyze("export", "-o", f"ended{ending}", *results()).ok()
        check_match(r"^panalyze: named-perf \([^\n]*\) [^\n]*\n$" if format == "perf" else r"\A\Z", by_name.out + by_name.err)
        check_equal(pathlib.Path(f"named-{format}").read_bytes(), pathlib.Path(f"ended{ending}").read_bytes(), format)
    panalyze("export", "-o", "packed.folded.gz", *results()).ok()
    check_equal(gzip.open("packed.folded.gz").read(), export("folded"))
    check_in("give a file name without '.gz'", panalyze("export", "-o", "x.data.gz", *results()).err)
    panalyze("export", "csv", "--output=-", *results()).ok()


def failing(*words, status=1, **kw):
    """The message of an export that fails; one line."""
    result = panalyze("export", *words, **kw)
    check_equal(result.status, status, result)
    check_equal(len(result.err.splitlines()), 1, result)
    check_equal(result.out, "")
    return result.err


def test_wrong_use():
    record()
    check_in("no format given", failing(status=2))
    check_match("unknown format 'pproff'; did you mean 'pprof'", failing("pproff", "-o", "x.q", *results(), status=2))
    check_in("does not select a format", failing("-o", "x.unknown", *results(), status=2))
    check_in("does not select a format", failing("-o", "x.json", *results(), status=2))
    check_in("needs a value", failing("csv", "-o", status=2))
    check_in("--callers", failing("csv", "--callers", *results(), status=2))
    check_in("no file matches", failing("csv", "nothing.*"))
    check_in("No such file", failing("csv", "nothing/here"))
    check_in("no task matches", failing("csv", "-p", "1", "-o", "x.csv", *results()))
    check(not os.path.exists("x.csv"), "a file was made")
    check_in("Formats", panalyze("export", "--help").ok().out)
    for format in FORMATS:
        check_in(f"  {format} ", panalyze("export", "--help").ok().out)


def test_no_binary_on_a_terminal():
    record()
    for format, refused in (("perf", True), ("pprof", True), ("firefox", True), ("csv", False)):
        main_, terminal = pty.openpty()
        process = start([PANALYZE, "export", format, *results()], stdout=terminal)
        os.close(terminal)
        os.set_blocking(main_, False)
        err, shown = b"", b""
        while process.poll() is None:
            try:
                shown += os.read(main_, 65536)
            except OSError as error:
                check(error.errno in (errno.EAGAIN, errno.EIO), error)
                time.sleep(0.001)
        err = process.communicate()[1]
        os.close(main_)
        check_equal(process.returncode, 1 if refused else 0, err)
        check_equal(b"terminal" in err, refused, err)


def test_places():
    """A file is replaced when the new one is complete; what is no file is written to; inputs are left alone."""
    record()
    pathlib.Path("old.csv").write_text("old")
    os.symlink("old.csv", "link.csv")
    panalyze("export", "-o", "link.csv", *results()).ok()
    check(os.path.islink("link.csv"), "the link was replaced")
    check(pathlib.Path("old.csv").read_bytes().startswith(b"symbol,"), "the old file")
    check_equal(os.stat("old.csv").st_mode & 0o777, 0o600, "as private as the result files")
    before = sorted(os.listdir("."))
    check_in("is an input file", failing("perf", "-o", results()[0], *results()))
    check_in("directory", failing("csv", "-o", ".", *results()))
    check_in("No such file", failing("csv", "-o", "no/where.csv", *results()))
    panalyze("export", "csv", "-o", "/dev/null", *results()).ok()
    check(stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null was replaced")
    os.mkfifo("fifo")
    process = start([PANALYZE, "export", "csv", "-o", "fifo", *results()])
    check(pathlib.Path("fifo").read_bytes().startswith(b"symbol,"), "the fifo")
    check_equal(process.wait(60), 0)
    check_equal(sorted(os.listdir(".")), sorted(before + ["fifo"]))
    if not IS_ROOT:
        os.mkdir("closed", 0o500)
        check_in("Permission denied", failing("csv", "-o", "closed/x.csv", *results()))


def test_full_disk():
    """Of what could not be written nothing is left, and what was there before stays."""
    record()
    before = sorted(os.listdir("."))
    for format, ending in FORMATS.items():
        pathlib.Path("kept").write_text("old")
        limit = 200 if format == "csv-tasks" else 600
        small = ["sh", "-c", 'trap "" XFSZ; exec prlimit --fsize=%d "$@"' % limit, "sh"]
        result = run([*small, PANALYZE, "export", format, "-o", "kept", *results()])
        check_equal(result.status, 1, result)
        check_match(r"^panalyze: .*File too large", result.err)
        check_equal(pathlib.Path("kept").read_text(), "old")
        os.remove("kept")
        check_equal(run([*small, PANALYZE, "export", format, "-o", "new", *results()]).status, 1)
        check_equal(sorted(os.listdir(".")), before)
        result = run([PANALYZE, "export", format, *results()], stdout=open("/dev/full", "wb"))
        check_equal(result.status, 1)
        check_in("No space left", result.err)


def test_reader_that_leaves():
    record()
    for format in FORMATS:
        read, write = os.pipe()
        os.close(read)
        result = run([PANALYZE, "export", format, *results()], stdout=write)
        os.close(write)
        check_equal((result.status, result.err), (141, ""), format)


def test_broken_files():
    """A file that is cut off anywhere is exported as far as it goes, or refused; never a crash."""
    record()
    whole = pathlib.Path(results()[0]).read_bytes()
    for size in range(1, len(whole), max(1, len(whole) // 7)):
        pathlib.Path("cut.1.1").write_bytes(whole[:size])
        for format in FORMATS:
            result = panalyze("export", format, "-o", f"x-{format}", "cut.1.1")
            check(result.status in (0, 1), result)
            check("Sanitizer" not in result.err and "runtime error" not in result.err, result)


def test_recordings_are_not_replaced():
    """'-o out.*': the shell makes the first result file the one to write."""
    record()
    names = results()
    shutil.copy(names[0], "out.9999999.9999999")
    before = pathlib.Path("out.9999999.9999999").read_bytes()
    for format in FORMATS:
        result = panalyze("export", format, "-o", "out.9999999.9999999", *names)
        check_equal((result.status, result.out), (1, ""), result)
        check_match(r"^panalyze: 'out.9999999.9999999' holds samples and is not overwritten; give another file name "
                    r"after -o$",
                    result.err)
    check_equal(pathlib.Path("out.9999999.9999999").read_bytes(), before)
    for _ in range(2):
        panalyze("export", "perf", "-o", "merged.data", *names).ok()
    shutil.copy(DATA / "fp.data", "fp.data")
    check_equal(panalyze("export", "csv", "-o", "fp.data", *names).status, 1)


def test_perf_of_one_event():
    """--event chooses by the words that the report takes: 'task-clock' is task-clock:u, too."""
    need_perf_events()
    pinject_run("-q", "-F", "999", "-e", "page-faults:u,task-clock:u", "--", target("spin"), "100").ok()
    for words in ("task-clock", "task-clock:u"):
        total = panalyze_json("-a", "-e", words, *results())["total"]
        with measured():
            check(total["samples"] > 50, total)
        panalyze("export", "perf", "-e", words, "-o", "x.data", *results()).ok()
        check_equal(panalyze_json("-a", "-e", words, "x.data")["total"], total, words)
        info = panalyze("info", "x.data").ok().out
        check_match(rf"^  records .*\bSAMPLE +{total['samples']}$", info, "samples of the other event")


def test_perf_of_perf():
    """perf's own files, of all forms: what is written has the samples of what is read."""
    for name in ("fp", "dwarf", "fields", "pipe", "zstd"):
        path = DATA / f"{name}.data"
        result = panalyze("export", "perf", "-o", f"{name}.data", path)
        own = panalyze_json("--aggregate", "--top", "all", path)
        check_equal(result.status, 0, result)
        again = panalyze_json("--aggregate", "--top", "all", f"{name}.data")
        check_equal(again["total"], own["total"], name)
        check_equal(again["functions"], own["functions"], name)
        if shutil.which("perf", path=PATH):
            read = run(["perf", "script", "-i", path, "-F", "comm,pid,tid,time,period,event,ip"])
            if read.status == 0:
                copy = run(["perf", "script", "-i", f"{name}.data", "-F", "comm,pid,tid,time,period,event,ip"]).ok()
                check_equal(sorted(copy.out.split("\n\n")), sorted(read.out.split("\n\n")), name)
    check_in("opposite byte order", failing("perf", "-o", "x.data", DATA / "swapped.data"))
    check(not os.path.exists("x.data"), "a file was made")


def test_without_samples():
    pinject_run("-q", "--stat", "--", "true").ok()
    before = sorted(os.listdir("."))
    for format in ("pprof", "speedscope", "firefox", "folded", "csv"):
        check_in("no samples", failing(format, "-o", "x", *results()))
    check_equal(sorted(os.listdir(".")), before)
    rows = list(csv.DictReader(export("csv-tasks").decode().splitlines()))
    check_equal([row["comm"] for row in rows], ["true"])
    check("dummy" not in rows[0] and int(rows[0]["task-clock"]) > 0, rows)
    check_equal(json.loads(export("chrome"))["traceEvents"][0]["args"], {"name": "true"})
    panalyze("export", "-o", "x.data", *results()).ok()
    check_equal(len(panalyze_json("counts", "x.data")["tasks"]), 1)


def test_filters():
    record()
    pid = int(results()[0].split(".")[1])
    panalyze("export", "perf", "-o", "one.data", "-p", pid, *results()).ok()
    check_equal(panalyze_json("--aggregate", "one.data")["total"], panalyze_json("--aggregate", *results())["total"])
    event = panalyze_json(*results())["event"]
    check_equal(export("csv", "-e", event), export("csv"))
    check_in("no-such", failing("csv", "-e", "no-such", *results()))


if __name__ == "__main__":
    main()
