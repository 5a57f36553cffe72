# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
# timeout: 180
# sanitize
"""Call trees, callers and callees, flame graphs and diff show the sums of the samples that panalyze script prints."""
import collections
import math
import random
import struct
import xml.etree.ElementTree

from harness import *

SVG = "{http://www.w3.org/2000/svg}"


recorded = {}


def record(directory=".", command=None, event="task-clock"):
    """Result files in DIRECTORY of COMMAND, by default a small tree: sh, and spin with one thread and with two. What
    ran once is taken again, until figures() does not like it."""
    need_perf_events()
    os.makedirs(directory, exist_ok=True)
    command = tuple(command or ["sh", "-c", f"{target('spin')} 60; {target('spin')} 40 2"])
    if (command, event) not in recorded:
        pinject_run("-q", "-F", "999", "--follow-all", "-e", event, "-o", f"{directory}/out", "--", *command).ok()
        recorded[command, event] = {name: pathlib.Path(directory, name).read_bytes() for name in os.listdir(directory)
                                    if name.startswith("out.")}
    for name, data in recorded[command, event].items():
        pathlib.Path(directory, name).write_bytes(data)
    return [os.path.join(directory, name) for name in recorded[command, event]]


@contextlib.contextmanager
def figures():
    """measured(), and the next try looks at files of its own."""
    try:
        with measured():
            yield
    except Failure:
        recorded.clear()
        raise


def is_address(symbol):
    return re.match(r"(.*\+)?0x[0-9a-f]+$", symbol)


def function(symbol, dso):
    """Functions without a name are one for each DSO, as script shows no address of the file for them."""
    return ("?" if symbol == "[unknown]" or is_address(symbol) else symbol, dso)


def samples(files, *options):
    """[(comm, weight, (outermost function, ..., leaf))] of panalyze script; with --inline the inlined functions too."""
    found = []
    for block in panalyze("script", *options, *files).ok().out.split("\n\n"):
        head, *lines = block.strip("\n").split("\n")
        match = re.match(r"(.*) \d+/\d+ (?:\[\d+\] )?\d+\.\d{6}: (\d+) \S+:$", head)
        if not match:
            check_equal(block.strip(), "", "script")
            continue
        frames = [re.match(r"\t *[0-9a-f]+ (.*) \((.*)\)$", line) for line in lines]
        stack, dso = [], None
        for frame in reversed(frames):  # what is inlined is in the DSO of what it is inlined into
            inlined = frame[2] == "inlined"
            dso = dso if inlined else frame[2]
            stack.append(function(f"{frame[1]} (inlined)" if inlined else re.sub(r"\+0x[0-9a-f]+$", "", frame[1]), dso))
        stack = tuple(stack)
        found.append((match[1], int(match[2]), stack))
    with figures():
        check(len(found) > 50, f"{len(found)} samples")
    return found


def folded(all_samples, with_comm=False, reverse=False):
    """{path: weight}: what flame graph tools would add up."""
    sums = collections.Counter()
    for comm, weight, stack in all_samples:
        sums[((comm,) if with_comm else ()) + tuple(reversed(stack) if reverse else stack)] += weight
    return dict(sums)


# ---- report

def fold_tree(nodes, path, sums):
    """Adds the self weights of a call tree of JSON to SUMS; their total, which is checked against each node's."""
    total = 0
    for node in nodes:
        here = path + (function(node["symbol"] + (" (inlined)" if node["inlined"] else ""), node["dso"]),)
        sums[here] += node["self_weight"]
        below = fold_tree(node["children"], here, sums)
        check_equal(node["total_weight"], node["self_weight"] + below, here)
        total += node["total_weight"]
    return total


def test_events_side_by_side():
    """Each column of --group is the report of that event alone."""
    names = ["task-clock", "page-faults", "minor-faults"]
    files = record(event=",".join(names))
    for by, key, words in (("function", "functions", ("symbol", "dso")), ("dso", "objects", ("dso",)),
                           ("comm", "commands", ("comm",))):
        rows = panalyze_json("report", "--group", "--by", by, *files)[key]
        shown = [one["event"] for one in rows[0]["events"]]  # "page-faults:u" of a user who may not see the kernel
        check_equal([event.removesuffix(":u") for event in shown], names)
        check(all([one["event"] for one in row["events"]] == shown for row in rows), rows[:2])
        for number, event in enumerate(shown):
            alone = {tuple(row[word] for word in words): row
                     for row in panalyze_json("report", "--by", by, "-e", event, *files)[key] if row["self_samples"]}
            group = {tuple(row[word] for word in words): row["events"][number] for row in rows
                     if row["events"][number]["self_samples"]}
            check_equal(set(group), set(alone), f"{by} {event}")
            for name, row in group.items():
                for figure in ("self_samples", "self_weight", "self_percent"):
                    check_equal(row[figure], alone[name][figure], f"{by} {event} {name} {figure}")
    with figures():
        check(all(sum(row["events"][number]["self_samples"] for row in rows) for number in range(2)), rows)


def test_call_tree_is_the_sum_of_the_samples():
    files = record()
    for inline, switch in ((("--inline",), ()), ((), ("--no-inline",))):
        all_samples = samples(files, *inline)
        for option in ("--call-tree", "--reverse"):
            document = panalyze_json("--aggregate", option, *switch, *files)
            sums = collections.Counter()
            check_equal(fold_tree(document["call_tree"], (), sums), document["total"]["weight"])
            expected = folded(all_samples, reverse=option == "--reverse")
            check_equal({path: weight for path, weight in sums.items() if weight}, expected, option)


def test_call_tree_as_text():
    files = record()
    tree = panalyze("--aggregate", "--call-tree", "--no-inline", *files).ok().out
    all_samples = samples(files)
    total = sum(weight for _, weight, _ in all_samples)
    below = sum(weight for _, weight, stack in all_samples if stack[-1][0] == "spin_a")
    shares = [float(share) for share in re.findall(r"^ *[\d.]+ % .*?([\d.]+) %  spin +\W*spin_a$", tree, re.MULTILINE)]
    check_near(sum(shares), 100 * below / total, points=0.02)
    check(tree.index("spin_thread") < tree.index("spin_both") < tree.index("spin_a"), tree)
    cut = panalyze("--aggregate", "--call-tree", "--top=2", *files).ok().out
    check_match(r"^and \d+ lines more; --top all shows all$", cut)
    check_match(r"in \d+ branch(es)? below 20 %", panalyze("--aggregate", "--call-tree", "--min=20", *files).ok().out)
    only = panalyze("--aggregate", "--call-tree", "--no-inline", "--symbol=spin_b", *files).ok().out
    check("spin_a" not in only and "spin_b" in only, only)
    check_in("CPU time", panalyze("--call-tree", *files).ok().out, "sections")


def test_callers_and_callees_of_one_function():
    files = record()
    callers, callees, total = collections.Counter(), collections.Counter(), 0
    for _, weight, stack in samples(files):
        at = [i for i, (symbol, _) in enumerate(stack) if symbol == "spin_both"]
        if at:
            total += weight
            callers[stack[at[-1] - 1] if at[-1] else None] += weight
            callees[stack[at[0] + 1] if at[0] + 1 < len(stack) else None] += weight
    # Now and then a sample is in clock_gettime(), which burn_cpu() calls, and that is inlined in spin_both().
    options = ("--aggregate", "--symbol=spin_both", "--callers", "--callees", "--no-inline")
    found = panalyze_json(*options, *files)["functions"]
    check_equal(len(found), 1)
    check_equal(found[0]["total_weight"], total)
    for key, expected in (("callers", callers), ("callees", callees)):
        sums = collections.Counter()
        for line in found[0][key]:
            sums[line["symbol"] and function(line["symbol"], line["dso"])] += line["weight"]
            check_near(line["percent"], 100 * line["weight"] / total, points=0.001)
        check_equal(sums, expected, key)
    text = panalyze(*options, *files).ok().out
    share = 100 * callees[("spin_a", target("spin"))] / total
    check_match(rf"^ *{share:.2f} % .* spin +spin_a$", text, "of it")
    check_match(r"Of it .*Called by$", text)


# ---- flame

def picture(*args):
    text = panalyze("flame", "-o", "-", *args).ok().out_bytes
    root = xml.etree.ElementTree.fromstring(text)
    return root, text.decode()


class Box:
    def __init__(self, group):
        self.start, self.weight, self.level = (int(group.get(f"data-{key}")) for key in "xwl")
        lines = group.find(SVG + "title").text.split("\n")
        self.name, self.dso = lines[0], lines[1] if len(lines) > 2 else None
        rect = group.find(SVG + "rect")
        self.x, self.y, self.width = (float(rect.get(key)) for key in ("x", "y", "width"))
        text = group.find(SVG + "text")
        self.text = text.text if text is not None else ""


def boxes_of(root):
    """The boxes, and {path: self weight} by where they stand on each other."""
    boxes = [Box(group) for group in root.iter(SVG + "g") if group.get("class") == "b"]
    sums, path, ends = collections.Counter(), [], collections.defaultdict(int)
    for box in boxes:  # each after the one that it stands on
        del path[box.level:]
        check(box.start >= ends[box.level], f"{box.name} lies on its neighbour")
        ends[box.level] = box.start + box.weight
        check_equal(len(path), box.level, box.name)
        if path:
            below = path[-1][0]
            check(below.start <= box.start and box.start + box.weight <= below.start + below.weight, box.name)
            sums[tuple(name for _, name in path[1:])] -= box.weight
        path.append((box, function(box.name, box.dso) if box.dso else box.name))
        sums[tuple(name for _, name in path[1:])] += box.weight
    return boxes, {path: weight for path, weight in sums.items() if weight}


def visible(width):
    """A seam is left between neighbours, and of the narrowest box something to see."""
    return width - 0.5 if width > 2 else max(0.1, width)


def test_flame_boxes_are_the_sum_of_the_samples():
    files = record()
    all_samples = samples(files)
    for options, expected in ((["-a", "--no-inline", "--upright"], folded(all_samples)),
                              (["--icicle"], folded(samples(files, "--inline"), with_comm=True)),
                              (["--by=function", "--reverse", "--no-inline"], folded(all_samples, reverse=True))):
        root, _ = picture("--min=0", "--no-fold", *options, *files)
        boxes, sums = boxes_of(root)
        check_equal(sums, expected, options)
        whole = boxes[0]
        for box in boxes:
            check_near(box.width, visible(1180 * box.weight / whole.weight), points=0.02, what=box.name)
            check_near(box.x, 10 + 1180 * box.start / whole.weight, points=0.02, what=box.name)
            check_equal((box.y - whole.y) / 16, -box.level if "--upright" in options else box.level, box.name)
            cut = box.text.endswith("...") and box.name.startswith(box.text[:-3])
            check(cut or box.text in ("", box.name), box.text)


def test_flame_folds_recursion():
    """A box is never its own caller, and nothing is lost by that."""
    need("cc")
    pathlib.Path("deep.c").write_text("""
        static volatile unsigned long sink;
        __attribute__((noinline)) int deep(int n) {
            for (int i = 0; i < 1000; i++) sink += i;
            return n ? deep(n - 1) + 1 : 0; }
        int main(void) { for (int i = 0; i < 4000; i++) sink += deep(20); return 0; }""")
    run("cc -O1 -fno-optimize-sibling-calls -o deep deep.c".split()).ok()
    files = record(command=["./deep"])
    whole, plain = (boxes_of(picture("--min=0", "--by=function", *options, *files)[0])[0]
                    for options in (["--no-fold"], []))
    check_equal(whole[0].weight, plain[0].weight)
    check(len([box for box in whole if box.name == "deep"]) > 10, "the calls")
    check_equal(len([box for box in plain if box.name == "deep"]), 1)
    path = []
    for box in plain:
        del path[box.level:]
        check(not path or (path[-1].name, path[-1].dso) != (box.name, box.dso), box.name)
        path.append(box)


def test_flame_is_self_contained():
    files = record()
    root, text = picture(*files)
    names = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
    check_equal(set(re.findall(r"https?://[^\s\"')]+", text)), names)
    for element in root.iter():
        check(not {"href", "src", "{http://www.w3.org/1999/xlink}href"} & set(element.attrib), element.tag)
        check(not [name for name in element.attrib if name.startswith("on")], element.tag)
    check(not re.search(r"\b(fetch|XMLHttpRequest|import|eval|innerHTML)\b|url\(", text), "reaches out")


def test_flame_says_what_is_not_drawn():
    files = record()
    all_samples = samples(files)
    total = sum(weight for _, weight, _ in all_samples)
    root, text = picture("-a", "--min=30", *files)
    boxes, _ = boxes_of(root)
    check(all(100 * box.weight >= 30 * total for box in boxes), [box.name for box in boxes])
    check_match(r"Not drawn: \d+ branch(es)? below 30 % each, together [\d.]+ % of the width", text)
    root, text = picture("-a", "--symbol=spin_b", *files)
    check("spin_a" not in {box.name for box in boxes_of(root)[0]}, "a stack without spin_b")
    match = check_match(r"Not drawn: stacks that --symbol and --dso leave out \(([\d.]+) % of the total\)", text)
    out = sum(weight for _, weight, stack in all_samples if "spin_b" not in dict(stack))
    check_near(float(match[1]), 100 * out / total, points=0.01)


def test_flame_with_hostile_names():
    name = "<b>&\"']]>\t\x1b[2J"
    os.symlink(target("spin"), name)
    record(".", [f"./{name}", "80"])
    check_in("<b>&", panalyze("tree").ok().out)
    root, text = picture("--title", "</title><script>alert(1)</script>", ".")
    boxes, _ = boxes_of(root)
    check_in(name.replace("\t", "\\011").replace("\x1b", "\\033")[:12], [box.name for box in boxes][1])
    check_equal(len(list(root.iter(SVG + "script"))), 1)
    check_equal(root.find(SVG + "title").text, "</title><script>alert(1)</script>")
    check("\x1b" not in text and "\t" not in text)


def test_flame_file():
    files = record()
    result = panalyze("flame", "-o", "flame.svg", *files).ok()
    # Whether some samples hit the shell, whose file is stripped, is chance.
    said = [line for line in result.err.splitlines() if not line.startswith("panalyze: No names for ")]
    check_equal((result.out, said), ("", []), "said")
    check_equal(pathlib.Path("flame.svg").read_bytes(), panalyze("flame", "-o", "-", *files).ok().out_bytes)
    os.rename("flame.svg", "named.svg")
    result = panalyze("flame", *files).ok()
    check_match(r"^flame\.svg: \S+ m?s in \d+ samples, [\d.]+ kB; open it in a browser\n$", result.out)
    check_equal(pathlib.Path("flame.svg").read_bytes(), pathlib.Path("named.svg").read_bytes())
    before = pathlib.Path(files[0]).read_bytes()
    result = panalyze("flame", "-o", *files)
    check_equal(result.status, 1)
    check_match(r"^panalyze: '.*' holds samples and is not overwritten", result.err)
    check_equal(pathlib.Path(files[0]).read_bytes(), before)
    for path, reason in (("no/such/directory.svg", "No such file or directory"),
                         ("/dev/full", "No space left on device")):
        result = panalyze("flame", "-o", path, *files)
        check_equal(result.status, 1)
        check_match(rf"^panalyze: {re.escape(path)}:? (the file cannot|could not) be written: {reason}"
                    "(; give another file name with -o)?$", result.err)
    check_equal(panalyze("flame", "-o", "-", *files).ok().out_bytes, pathlib.Path("flame.svg").read_bytes())
    before = pathlib.Path("flame.svg").read_bytes(), sorted(os.listdir("."))
    small = ["sh", "-c", 'trap "" XFSZ; exec prlimit --fsize=600 "$@"', "sh"]
    result = run([*small, PANALYZE, "flame", "-o", "flame.svg", *files])
    check_equal(result.status, 1, result)
    check_match(r"^panalyze: flame.svg could not be written: File too large; the incomplete output is discarded$",
                result.err)
    check_equal((pathlib.Path("flame.svg").read_bytes(), sorted(os.listdir("."))), before)
    result = panalyze("flame", "--symbol=no-such-function", "-o", "none.svg", *files)
    check_equal(result.status, 1)
    check_match("^panalyze: no sampled stack passes through", result.err)
    check(not os.path.exists("none.svg"), "a file without a picture")


def test_damaged_files():
    """Whatever bytes a file has: an answer or a reason, a picture that is well-formed, no crash."""
    good, *_ = record()
    data = pathlib.Path(good).read_bytes()
    random.seed(int(os.environ.get("PINJECT_SEED", "5")))
    for round in range(int(os.environ.get("PINJECT_ROUNDS", "5"))):
        damaged = bytearray(data)
        for _ in range(1 + 4 * round % 50):
            damaged[random.randrange(len(damaged) if round % 2 else min(len(damaged), 400))] = random.randrange(256)
        pathlib.Path("damaged").write_bytes(damaged)
        for args in ("report --call-tree --symbol=* --callers --callees", "flame --min=0 -o -", "diff --total"):
            result = panalyze(*args.split(), *([good] if args.startswith("diff") else []), "damaged", timeout=60)
            check(result.status in (0, 1), f"round {round}: {result}")
            check(result.status == 0 or result.err.startswith("panalyze: "), result)
            if result.out and args.startswith("flame"):
                xml.etree.ElementTree.fromstring(result.out_bytes)


# ---- diff

def test_diff_is_the_difference_of_the_sums():
    """Two builds in two directories, the second with four times the work."""
    sides, sums = {}, {}
    for directory, work in (("before", 60), ("after", 240)):
        os.mkdir(directory)
        shutil.copy(target("spin"), f"{directory}/app")
        sides[directory] = record(directory, ["sh", "-c", f"{directory}/app {work}"])
        sums[directory] = samples(sides[directory])
    before, after = sums.values()
    document = panalyze_json("diff", "before", "after")
    check_equal(panalyze_json("diff", *sides["before"], "--", *sides["after"]), document)
    check_equal((document["schema"], document["compared"]), ("pinject.diff/1", "self"))
    for key, side in (("a", before), ("b", after)):
        check_equal(document[key]["weight"], sum(weight for _, weight, _ in side))
        check_equal(document[key]["samples"], len(side))
    kinds = {
        "commands": (lambda row: row["comm"], lambda comm, stack: comm),
        "objects": (lambda row: row["dso"], lambda comm, stack: normalized(stack[-1])[1]),
        "functions": (lambda row: (row["symbol"], row["dso"]), lambda comm, stack: normalized(stack[-1])),
    }
    for key, (of_row, of_sample) in kinds.items():
        sums = [collections.Counter(), collections.Counter()]
        for side, which in zip((before, after), sums):
            for comm, weight, stack in side:
                which[of_sample(comm, stack)] += weight
        rows = {of_row(row): row for row in document[key]}
        check_equal({name: row["a"]["weight"] for name, row in rows.items() if row["a"]["weight"]}, dict(sums[0]), key)
        check_equal({name: row["b"]["weight"] for name, row in rows.items() if row["b"]["weight"]}, dict(sums[1]), key)
        changes = [row["weight_change"] for row in document[key]]
        check_equal(changes, [sums[1][name] - sums[0][name] for name in rows], key)
        check_equal([abs(change) for change in changes], sorted(map(abs, changes), reverse=True), "order")
    check_noise(document)
    spin_a = next(row for row in document["functions"] if row["symbol"] == "spin_a")
    text = panalyze("diff", "before", "after").ok().out
    with figures():
        check(not spin_a["weight_noise"], spin_a)
        check_match(r"^ *\?\+\d.* app +spin_a$", text)
        check_match(r"^Total: \?\+", text)


def test_diff_of_a_binary_that_is_gone():
    """Functions without names are no change: what was built anew, or removed, is compared as a whole, and it is
    said."""
    os.mkdir("place")
    for directory in "before", "after":
        shutil.copy(target("spin"), "place/app")
        os.mkdir(directory)
        record(directory, ["place/app", "100"])
    os.remove("place/app")
    shutil.copy(target("process-tree"), "place/app")
    for prepare, why in ((lambda: None, "the file has another build-id than the recorded one"),
                         (lambda: os.remove("place/app"), "the file is gone")):
        prepare()
        text = panalyze("diff", "before", "after").ok().out
        check_match(rf"^Functions of app are not compared: its symbols are missing in A and B \({why}\)", text)
        check_match(r"app +\[functions not compared\]$", text)
        check(not re.search(r" app +(\[no symbol\]|spin_a)$", text, re.M), text)
        document = panalyze_json("diff", "before", "after")
        gone = {row["dso"]: row for row in document["not_compared"]}
        check(gone["app"]["a"] > 0 and gone["app"]["b"] > 0, gone)
    # Where one side alone has lost its file, the other one's names say nothing either.
    shutil.copy(target("spin"), "place/app")
    os.mkdir("last")
    need("cc")
    pathlib.Path("app.c").write_text("int main() { for (volatile long i = 0; i < 100000000; i++); return 0; }")
    run("cc -O1 -o place/app app.c".split()).ok()
    record("last", ["place/app"])
    text = panalyze("diff", "before", "last").ok().out
    check_match(r"^Functions of app are not compared: its symbols are missing in A "
                r"\(the file has another build-id than the recorded one\)",
                text)
    check(not re.search(r"app +main$", text), text)


def normalized(function):
    """A function as diff names it: without directory, version, and what compilers add."""
    symbol, dso = function
    symbol = "[no symbol]" if symbol == "?" else re.sub(r"(\.(isra|constprop|part|cold)(\.\d+)?)+$", "", symbol)
    return symbol, re.sub(r"\.so(\.[\d.]+)$", ".so", os.path.basename(dso) if dso[1:2] != "/" else dso)


def check_noise(document):
    """The standard deviations, computed from the figures of the document alone (samples of about equal weight)."""
    count, weight = ([document[side][key] for side in "ab"] for key in ("samples", "weight"))
    grain = [w / n for w, n in zip(weight, count)]
    seen = 0
    for row in document["functions"] + document["commands"]:
        a, b = row["a"], row["b"]
        deviation = math.sqrt((a["weight"] / grain[0] + b["weight"] / grain[1]) * grain[0] * grain[1])
        pooled = (a["weight"] / grain[0] + b["weight"] / grain[1]) / (count[0] + count[1])
        share = [a["weight"] / weight[0], b["weight"] / weight[1]]
        spread = math.sqrt(pooled * (1 - pooled) * (1 / count[0] + 1 / count[1]))
        check_near(row["weight_sigmas"], (b["weight"] - a["weight"]) / deviation, percent=3, points=0.02)
        check_near(row["points_sigmas"], (share[1] - share[0]) / spread if spread else 0, percent=3, points=0.02)
        few = a["samples"] + b["samples"] < 10
        for key in ("weight", "points"):
            check_equal(row[key + "_noise"], few or abs(row[key + "_sigmas"]) < 3, row)
            seen += not row[key + "_noise"]
    with figures():
        check(seen, "nothing is beyond the noise")


def test_diff_of_several_runs():
    """Directories are runs, and so are the files of a base: the run is what is compared. Twice the work is a change in
    both forms, the same work is none; a mean has all runs of its side."""
    need_perf_events()
    for number in range(3):
        for side, work in (("a", 60), ("b", 60), ("c", 240)):
            command = ["sh", "-c", f"{target('spin')} {work}; :"]
            pinject_run("-q", "-F", "999", "--follow-all", "-o", f"{side}{number}", "--", *command).ok()
            os.mkdir(f"{side}{number}")
            for name in results(f"{side}{number}"):
                shutil.copy(name, f"{side}{number}/{name}")
    directories = {side: [f"{side}{number}" for number in range(3)] for side in "abc"}
    files = {side: [name for base in directories[side] for name in results(base)] for side in "abc"}
    for after, changed in (("b", False), ("c", True)):
        document = panalyze_json("diff", *directories["a"], "--", *directories[after])
        check_equal(panalyze_json("diff", *files["a"], "--", *files[after]), document)
        for key, side in (("a", "a"), ("b", after)):
            weights = [sum(weight for _, weight, _ in samples(results(base))) for base in directories[side]]
            check_equal((document[key]["runs"], document[key]["run_weights"]), (3, weights))
            check_equal(document[key]["weight"], sum(weights))
        with figures():
            check_equal(document["weight_verdict"], "changed" if changed else "noise")
            spin_a = next(row for row in document["functions"] if row["symbol"] == "spin_a")
            check_equal(spin_a["weight_verdict"], "changed" if changed else "noise")
            check(abs(spin_a["weight_change"]) > spin_a["weight_limit"] or not changed, spin_a)
        mean = (spin_a["b"]["weight"] - spin_a["a"]["weight"]) / 3
        check_near(spin_a["weight_change"], mean, percent=0.01)
    text = panalyze("diff", *directories["a"], "--", *directories["c"]).ok().out
    with figures():
        check_match(r"^Changed: \d commands?, \d functions?$", text)
        check_match(r"^ *\+\d.* spin_a$", text)


def test_diff_of_the_same_files():
    record("one")
    document = panalyze_json("diff", "one", "one")
    for key in ("functions", "commands", "objects", "stacks"):
        check(document[key], key)
        for row in document[key]:
            figures = [row[key] for key in ("weight_change", "weight_sigmas", "weight_noise", "points_noise")]
            check_equal(figures, [0, 0, True, True])
    total = panalyze_json("diff", "--total", "--by=function", "one", "one")
    report = panalyze_json("--aggregate", "one")
    of = {row["symbol"]: row["total_weight"] for row in report["functions"]}
    for symbol in ("main", "spin_both", "spin_a"):
        row = next(row for row in total["functions"] if row["symbol"] == symbol)
        check_equal(row["a"]["weight"], of[symbol], symbol)
    check_equal(set(total) & {"functions", "commands", "objects", "stacks"}, {"functions"})


def test_diff_stacks():
    files = record("one")
    document = panalyze_json("diff", "--by=stack", "one", "one")
    found = {(row["comm"],) + tuple(frame["symbol"] for frame in reversed(row["frames"])): row["a"]["weight"]
             for row in document["stacks"]}
    spun = {path[:1] + tuple(symbol for symbol, _ in path[1:]): weight
            for path, weight in folded(samples(files), with_comm=True).items() if path[-1][0] in ("spin_a", "spin_b")}
    check(len(spun) >= 2, spun)
    for path, weight in spun.items():
        check_equal(found[tuple("[no symbol]" if name == "?" else name for name in path)], weight, path)
    text = panalyze("diff", "--by=stack", "one", "one").ok().out
    check_match(r"spin_a < spin_both < spin_thread .* < \[spin\]$", text)


def test_diff_of_more_stacks_than_names():
    """A recursion without a name: each depth is a stack, and there is one name for all."""
    attr = struct.pack("<IIQQQQQ", 1, 64, 1, 1000000, 1 | 2 | 4 | 32 | 256, 0, 0) + bytes(16)
    data = b""
    for depth in range(1, 120):
        chain = struct.pack(f"<QQ{depth}Q", depth + 1, 2**64 - 512, *[0x1000] * depth)
        data += struct.pack("<IHHQIIQQ", 9, 2, 40 + len(chain), 0x1000, 7, 7, 10**9 + depth, 1000000) + chain
    head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 80, 104, 80, 184, len(data), 0, 0)
    pathlib.Path("perf.data").write_bytes(head + bytes(32) + attr + bytes(16) + data)
    text = panalyze("diff", "--by=stack", "--top=all", "perf.data", "perf.data").ok().out
    check_equal(len(re.findall(r"^ *0 s +1.00 ms +1.00 ms .* < \[:7\]$", text, re.MULTILINE)), 119, text)


def refused(status, pattern, *args):
    result = panalyze("diff", *args)
    check_equal((result.status, result.out), (status, ""), result)
    check_match(rf"^panalyze: .*{pattern}", result.err)
    check_equal(len(result.err.splitlines()), 1, result)


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpus_seconds():
    """What /proc/stat has of all CPUs: busy, idle and stolen. A host that takes CPUs in silence is not in it."""
    with open("/proc/stat") as file:
        return sum(map(int, file.readline().split()[1:9])) / os.sysconf("SC_CLK_TCK")


def test_others_are_named():
    """A program that is not followed and computes all the time: its CPU time is that of others, and diff says so."""
    need_perf_events()
    with subprocess.Popen(["sh", "-c", "echo runs; while :; do :; done"], stdout=subprocess.PIPE, text=True) as loop:
        loop.stdout.readline()
        before, began, told = cpu_seconds(loop.pid), time.monotonic(), cpus_seconds()
        files = record(command=["sh", "-c", f"{target('spin')} 600"])
        used, seconds = cpu_seconds(loop.pid) - before, time.monotonic() - began
        untold = min(max(0, seconds * os.cpu_count() - (cpus_seconds() - told)), max(0, seconds - used))
        loop.kill()
    coverage = panalyze_json("report", *files)["coverage"]
    others, elapsed = coverage["others_ns"] / 1e9, coverage["machine_ns"] / 1e9
    print(f"the loop: {used:.2f} s in {seconds:.2f} s; others: {others:.2f} s in {elapsed:.2f} s; "
          f"{untold:.2f} s are not in /proc/stat")
    check(0.5 < elapsed <= seconds, coverage)
    # pinject-run's start and end are not in it; each CPU's times are told in steps of 10 ms.
    check(used - (seconds - elapsed) - untold - 0.1 <= others <= elapsed * os.cpu_count() + 0.1, coverage)
    if others / elapsed >= 0.1:
        check_in(f"other programs used {others / elapsed:.2f} of {os.cpu_count()} CPUs",
                 " ".join(panalyze("summary", *files).ok().out.split()))
    text = " ".join(panalyze("diff", *files, "--", *files).ok().out.split())
    check_equal(text.count(f"other programs used {others / elapsed:.2f} of {os.cpu_count()} CPUs"), 2, text)
    check_equal("The machine was loaded" in text, others / elapsed >= 0.25, text)
    report = pathlib.Path("report.json")
    report.write_text(panalyze("report", "--json", "-a", *files).ok().out)
    side = panalyze_json("diff", *files, "--", str(report))
    for name in "ab":
        check_near(side[name]["other_cpus"][0], others / elapsed, points=0.001)


def test_diff_refuses():
    sets = "compares two sides. If each side is one run \(a directory or a file\), type: panalyze diff BEFORE AFTER"
    for args in ([], ["a"], ["a", "b", "c"], ["--"], ["a", "--"], ["--", "a"], ["a", "--", "b", "--", "c"]):
        refused(2, sets, *args)
    record("one", ["sh", "-c", ":"])
    refused(1, "nothing-here", "one", "nothing-here")
    os.mkdir("empty")
    refused(1, "the directory 'empty' has no result files", "empty", "one")
    spin, clock = record("spin", [target("spin"), "60"]), record("clock", [target("spin"), "60"], "cpu-clock")
    refused(1, "A shows task-clock.* and B shows cpu-clock.*record both with the same event", *spin, "--", *clock)


def test_diff_takes_options_anywhere():
    record("one")
    for line in ("diff --json one one", "--json diff one one", "diff one -- one --json"):
        args = line.split()
        check_equal(json.loads(panalyze(*args).ok().out)["schema"], "pinject.diff/1")


if __name__ == "__main__":
    main()
