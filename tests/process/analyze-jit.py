# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
# timeout: 120
"""Names of generated code: node tells them in /tmp/perf-PID.map (--perf-basic-prof) and jit-PID.dump (--perf-prof)."""
from harness import *

SCRIPT = """
function hotLoop(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) % 7; return s }
const end = process.cpuUsage().user + 250000
let sum = 0
while (process.cpuUsage().user < end) sum += hotLoop(20000)
console.log(process.pid)
"""


def need_node():
    need("node")
    need_perf_events()
    open("work.js", "w").write(SCRIPT)


def share(*names):
    """The share of hotLoop, whatever node puts around the name."""
    functions = panalyze_json("--aggregate", *names)["functions"]
    return sum(f["self_percent"] for f in functions if re.search(r"\bhotLoop\b", f["symbol"]))


def perf_node(*options):
    need("perf")
    return int(run(["perf", "record", "-q", "-N", "-F", "500", "-g", "-e", "task-clock:u", "-o", "perf.data", "--",
                    "node", *options, "work.js"]).ok().out)


def test_perf_map():
    need_node()
    pid = perf_node("--perf-basic-prof")
    path = f"/tmp/perf-{pid}.map"
    try:
        with measured():  # node compiles in a thread beside it, which a busy machine may keep waiting
            check(share("perf.data") > 20, panalyze("--aggregate", "perf.data"))
        # perf takes the same names out of the map.
        shown = run(["perf", "report", "-i", "perf.data", "--stdio", "--no-children", "-g", "none",
                     "--sort", "sym"]).ok().out
        theirs = sum(float(line.split("%")[0]) for line in shown.splitlines() if re.search(r"%.*\bhotLoop\b", line))
        check_near(share("perf.data"), theirs, points=0.1, what=shown)
        if IS_ROOT:
            # Somebody else's map may say anything.
            os.chown(path, NOBODY, NOBODY)
            result = panalyze("--aggregate", "perf.data").ok()
            check_in("the program's perf map in /tmp belongs to another user", result.out)
            check("hotLoop" not in result.out, result)
    finally:
        if os.path.exists(path):
            os.unlink(path)
    check_equal(share("perf.data"), 0)


def test_trampolines():
    """Stacks go on through CPython 3.12's perf trampolines, which have no frame pointer."""
    need_perf_events()
    done = pinject_run("-g", "dwarf", "--", target("trampolines"), "300")
    if done.status == 77:
        skip("its trampolines are x86-64's")
    path = f"/tmp/perf-{int(done.ok().out)}.map"
    try:
        with measured():
            check(float(check_match(r"([\d.]+) % complete", done.err)[1]) >= 95, done.err)
        functions = {f["symbol"]: f["total_percent"] for f in panalyze_json("report", "-a", *results())["functions"]}
        for name in ("main", "evaluate", *(f"py::{name}:work.py" for name in ("outer", "middle", "inner"))):
            check(functions.get(name, 0) > 90, f"{name}: {functions}")
        calls = panalyze("report", "--call-tree", "--min", "50", *results()).ok().out
        # Outermost first, each below the one that it was called by.
        at = [calls.index(f"py::{name}:") for name in ("outer", "middle", "inner")]
        check_equal(at, sorted(at), calls)
    finally:
        os.unlink(path)


def test_jitdump():
    need_node()
    pid = perf_node("--perf-prof")
    dump = f"jit-{pid}.dump"
    check(os.path.exists(dump), os.listdir("."))
    whole = share("perf.data")
    with measured():
        check(whole > 20, panalyze("--aggregate", "perf.data"))
    if IS_ROOT:
        os.chown(dump, NOBODY, NOBODY)
        check_in("the jitdump file belongs to another user", panalyze("--aggregate", "perf.data").ok().out)
        check_equal(share("perf.data"), 0)
        os.chown(dump, 0, 0)
    # What a killed program leaves: half a record at its end.
    content = open(dump, "rb").read()
    open(dump, "wb").write(content + content[40:60])
    check_near(share("perf.data"), whole, points=0.01)
    open(dump, "wb").write(content[:40] + b"\xff" * 100)
    check_equal(share("perf.data"), 0)
    os.rename(dump, "elsewhere")
    check_in("the jitdump file is gone or cannot be read", panalyze("--aggregate", "perf.data").ok().out)


def test_own_files():
    """Our own recorder hears of the dump like perf."""
    need_node()
    pid = int(pinject_run("-q", "--follow-all", "-F", "500", "--", "node", "--perf-prof", "work.js").ok().out)
    check(os.path.exists(f"jit-{pid}.dump"), os.listdir("."))
    with measured():
        check(share(*results()) > 20, panalyze("--aggregate", *results()))


JAVA = """
public class Hot {
    static double hotLoop(int n) { double s = 0; for (int i = 0; i < n; i++) s += Math.sqrt(i) / 7; return s; }
    public static void main(String[] args) {
        double sum = 0;
        for (long end = System.currentTimeMillis() + 900; System.currentTimeMillis() < end;) sum += hotLoop(20000);
        System.out.println(ProcessHandle.current().pid());
    }
}
"""


def test_advice_is_right():
    """What a report of nameless code says, followed as it stands, gives the names."""
    need_perf_events()
    tried = []
    for program, source, command in (("node", SCRIPT, ["node", "work.js"]), ("javac", JAVA, ["java", "Hot"])):
        if not shutil.which(program, path=PATH):
            continue
        tried.append(program)
        pathlib.Path("work.js" if program == "node" else "Hot.java").write_text(source)
        if program == "javac":
            run(["javac", "Hot.java"]).ok()
        pinject_run("-q", "-o", "before/", "--", *command).ok()
        text = panalyze("before").ok().out
        if "cannot write a perf map" in text:
            continue
        with measured():
            check_match(r"^No names for [\d.]+ % of the samples, in .*; to get names, start the program with ", text)
            advice = re.search(r"start the program with (.*)$", text, re.M)[1].split()
            environment = dict(word.split("=", 1) for word in advice if re.match("[A-Z_]+=", word))
            options = [word for word in advice[1:] if word.startswith("-")]
            done = pinject_run("-q", "-o", "after/", "--", command[0], *options, *command[1:], env=environment).ok()
            pid = int(done.out.split()[-1])
            try:
                check(share("after") > 20, panalyze("after").out)
            finally:
                pathlib.Path(f"/tmp/perf-{pid}.map").unlink(missing_ok=True)
        shutil.rmtree("before")
        shutil.rmtree("after")
    if not tried:
        skip("neither node nor javac is installed")


if __name__ == "__main__":
    main()
