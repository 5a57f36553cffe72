# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
# timeout: 240
"""panalyze annotate: what each instruction and line took, against perf annotate and panalyze script."""
import collections
import random

from harness import *

def record(command=None, base="out"):
    need_perf_events()
    need("objdump")
    pinject_run("-q", "-F", "2000", "--follow-all", "-o", base, "--", *(command or [target("spin"), "150"])).ok()
    return results(base)


def annotate(*args):
    document = panalyze_json("annotate", *args)
    check_equal(document["schema"], "pinject.annotate/1")
    return document


def histogram_of_script(files):
    """{(symbol, address): weight} of the innermost frames as panalyze script prints them."""
    histogram = collections.Counter()
    for part in panalyze("script", *files).ok().out.split("\n\n"):
        lines = part.strip("\n").splitlines()
        if len(lines) < 2:
            continue
        weight = int(check_match(r": +(\d+) \S+: *$", lines[0])[1])
        leaf = check_match(r"^\s*([0-9a-f]+) (\S+?)\+0x[0-9a-f]+ \((.*)\)$|^\s*([0-9a-f]+) ", lines[1])
        if leaf[2]:
            histogram[leaf[2], int(leaf[1], 16)] += weight
    return histogram


def test_instructions_are_those_of_script():
    """Each instruction has what panalyze script adds up to there; together they are the function's self share."""
    files = record()
    histogram = histogram_of_script(files)
    shares = {f["symbol"]: f for f in panalyze_json("--aggregate", *files)["functions"]}
    for name in ("spin_a", "spin_b"):
        function, = annotate("--symbol", name, *files)["functions"]
        of_name = {address: weight for (symbol, address), weight in histogram.items() if symbol == name}
        with measured():
            check(sum(of_name.values()) > 20e6, f"{name}: {of_name}")
        ours = {i["address"]: i["self_weight"] for i in function["instructions"] if i["self_weight"]}
        check_equal(ours, of_name, name)
        check_equal(function["elsewhere"]["self_samples"], 0)
        for figure in ("self_weight", "total_samples", "total_weight"):
            check_equal(function[figure], shares[name][figure], figure)
        check_equal(sum(i["self_weight"] for i in function["instructions"]), shares[name]["self_weight"])
        check_equal(sum(i["self_samples"] for i in function["instructions"]), shares[name]["self_samples"])
        check_equal(sum(line["self_weight"] for line in function["lines"]), shares[name]["self_weight"])


def test_lines_of_inlined_functions():
    """The line of an inlined function is told from those of the function whose code it is."""
    need("gcc")
    pathlib.Path("twist.c").write_text("static volatile unsigned v;\n"
                                       "static inline __attribute__((always_inline)) void twist(unsigned by)\n{\n"
                                       "    v = v * 33 + by;\n}\n"
                                       "int main(void)\n{\n    for (unsigned i = 0; i < 60000000; i++)\n"
                                       "        twist(i);\n}\n")
    run(["gcc", "-g", "-O1", "-o", "twist", "twist.c"]).ok()
    files = record(["./twist"], "twist.out")
    function, = annotate("--symbol=main", *files)["functions"]
    named = {line["line"]: line["inlined"] for line in function["lines"]}
    with measured():
        check(4 in named, named)
    check_equal({line: name for line, name in named.items() if line in (4, 8)},
                {line: {4: "twist", 8: None}[line] for line in named if line in (4, 8)})
    text = panalyze("annotate", "--symbol=main", *files).ok().out
    check_match(r"(?m) twist\.c:4 \(twist\)  v = v \* 33 \+ by;$", text)


def test_lines_that_are_left_out():
    """Of many lines ten are shown; how many there are more, and what they took, is the rest of the JSON document."""
    need("gcc")
    body = "".join("    v = v * 3 + 1;\n" for _ in range(16))
    pathlib.Path("many.c").write_text("static volatile unsigned v;\n"
                                      "__attribute__((noinline)) void many(void)\n{\n" + body + "}\n"
                                      "int main(void)\n{\n    for (int i = 0; i < 4000000; i++)\n        many();\n}\n")
    run(["gcc", "-g", "-O1", "-o", "many", "many.c"]).ok()
    files = record(["./many"], "many.out")
    function, = annotate("--symbol=many", *files)["functions"]
    rest = sum(line["self_percent"] for line in function["lines"][10:])
    with measured():
        check(len(function["lines"]) > 12, function["lines"])
    text = panalyze("annotate", "--symbol=many", *files).ok().out
    shown = check_match(r"(?ms)^ +Self +Of it +Source line$.*?^ +([\d.]+) % +[\d.]+ % +(\d+) lines more$", text)
    check_equal(int(shown[2]), len(function["lines"]) - 10, text)
    check_near(float(shown[1]), rest, points=0.01)


def test_hot_loop_is_named():
    """The source says where the loop is: nearly all of the time is on its lines."""
    if not os.access(SOURCE / "tests/targets/burn.h", os.R_OK):
        skip("the sources are where nobody may read")
    source = (SOURCE / "tests/targets/burn.h").read_text().splitlines()
    loop = {number for number, text in enumerate(source, 1) if "i < 20000" in text or "6364136223846793005" in text}
    files = record()
    function, = annotate("--symbol=spin_a", *files)["functions"]
    on_loop = sum(line["self_percent"] for line in function["lines"]
                  if os.path.basename(line["file"]) == "burn.h" and line["line"] in loop)
    check(on_loop > 0.9 * function["self_percent"], function["lines"])
    text = panalyze("annotate", "--symbol=spin_a", *files).ok().out
    check_match(r"^ *[\d.]+ % +[\d.]+ %  burn.h:\d+", text)
    check_match(r"^ +[0-9a-f]+  push +%rbp|^ +[0-9a-f]+  \S+", text)
    if os.path.exists(function["lines"][0]["file"]):
        check_in("value = value * UINT64_C(6364136223846793005)", text)


def test_lines_are_those_of_addr2line():
    """The same line for each instruction; of the file, whose name binutils may have wrong, gdb is the witness."""
    need("gdb", "addr2line")
    function, = annotate("--symbol=spin_a", *record())["functions"]
    addresses = [hex(instruction["address"]) for instruction in function["instructions"]]
    lines = run(["addr2line", "-e", target("spin"), *addresses]).ok().lines
    check_equal([i["line"] for i in function["instructions"]], [int(line.split(":")[1].split()[0]) for line in lines])
    orders = [word for address in addresses for word in ("-ex", f"info line *{address}")]
    said = run(["gdb", "-nx", "-batch", *orders, target("spin")]).out
    files = re.findall(r'^Line \d+ of "([^"]*)"', said, re.MULTILINE)
    check_equal([os.path.basename(i["file"]) for i in function["instructions"]], list(map(os.path.basename, files)))


def perf_percents(name, symbol):
    """{address: share of the function} of perf annotate."""
    result = run(["perf", "annotate", "--stdio", "-i", name, "-s", symbol]).ok()
    found = re.findall(r"^ +([\d.]+) +: +([0-9a-f]+):", result.out, re.MULTILINE)
    check(found, result)
    return {int(address, 16): float(percent) for percent, address in found}


def test_perf_annotate_agrees():
    need("perf", "objdump")
    need_perf_events()
    run(["perf", "record", "-q", "-F", "4000", "-g", "-e", "task-clock:u", "-o", "perf.data", "--", target("spin"),
         "150"]).ok()
    for name in ("spin_a", "spin_b"):
        theirs = perf_percents("perf.data", name)
        function, = annotate("--symbol", name, "perf.data")["functions"]
        ours = {i["address"]: 100 * i["self_weight"] / function["self_weight"] for i in function["instructions"]}
        check_equal(sorted(ours), sorted(theirs), f"instructions of {name}")
        for address, share in theirs.items():
            check_near(ours[address], share, points=0.02, what=f"{name} at {address:x}")


def test_heaviest_functions_in_turn():
    files = record()
    document = annotate("--top=2", *files)
    check_equal([f["symbol"] for f in document["functions"]], ["spin_a", "spin_b"])
    text = panalyze("annotate", "--top=2", *files).ok().out
    check_in("instructions without a sample", text)
    check_match(r"^and \d+ functions? more with|^CPU time", text)
    check_equal([f["symbol"] for f in annotate("--dso=spin", *files)["functions"]][:2], ["spin_a", "spin_b"])


def test_colours_and_plain():
    files = record()
    check("\033" not in panalyze("annotate", "-Sspin_a", *files).ok().out)
    check_in("\033[31m", panalyze("annotate", "-Sspin_a", "--color=always", *files).ok().out)


def copied(name):
    """A copy of spin that a test may replace."""
    shutil.copy(target("spin"), name)
    return record([f"./{name}", "100"])


def test_a_function_that_moved_is_refused():
    need("gcc")
    with open("other.c", "w") as to:
        to.write("#include <stdio.h>\nint spin_a(void) { return puts(\"other\"); }\n"
                 "int main(void) { return spin_a() < 0; }\n")
    files = copied("mine")
    run(["gcc", "-g", "-Wl,--build-id", "-o", "mine", "other.c"]).ok()
    result = panalyze("annotate", "--symbol=spin_a", *files)
    check_equal((result.status, result.out), (1, ""))
    check_match(r"^panalyze: no sample hit a function like 'spin_a'; .*"
                r"mine: the file has another build-id than the recorded one$",
                result.err)
    os.rename("mine", "other")
    shutil.copy(target("spin"), "mine")
    panalyze("archive", "-o", "out.symbols.tar.gz", *files).ok()
    os.rename("other", "mine")
    result = panalyze("annotate", "--symbol=spin_a", *files)
    check_match(r"mine: the file has another build-id than the recorded one; "
                r"the archive out\.symbols\.tar\.gz may contain the names; to unpack it, type: "
                r"tar xf out\.symbols\.tar\.gz$", result.err)


def test_symfs_and_debug_path():
    need("objcopy", "strip")
    files = copied("mine")
    path = os.path.abspath("mine")
    whole, = annotate("--symbol=spin_a", *files)["functions"]
    # stripped, its names and lines in a debug file
    run(["objcopy", "--only-keep-debug", "mine", "mine.debug"]).ok()
    run(["strip", "mine"]).ok()
    run(["objcopy", "--add-gnu-debuglink=mine.debug", "mine"]).ok()
    os.makedirs("debug" + os.path.dirname(path))
    os.rename("mine.debug", "debug" + path + ".debug")
    result = panalyze("annotate", "--symbol=spin_a", *files)
    check_equal(result.status, 1)
    check_in("stripped", result.err)
    apart, = annotate("--symbol=spin_a", "--debug-path=debug", *files)["functions"]
    check_equal(apart["lines"], whole["lines"])
    check_equal([i["self_weight"] for i in apart["instructions"]], [i["self_weight"] for i in whole["instructions"]])
    # gone, below another root
    os.makedirs("root" + os.path.dirname(path))
    shutil.copy(target("spin"), "root" + path)
    os.unlink("mine")
    check_equal(panalyze("annotate", "--symbol=spin_a", *files).status, 1)
    moved, = annotate("--symbol=spin_a", "--symfs=root", *files)["functions"]
    check_equal(moved["instructions"], whole["instructions"])


def test_an_archive_has_no_code():
    """Where the program is no longer there, it says so, and its copy below --symfs helps."""
    need("gcc")
    files = copied("mine")
    path = os.path.abspath("mine")
    whole, = annotate("--symbol=spin_a", *files)["functions"]
    panalyze("archive", *files).ok()
    os.rename("mine", "kept")
    pathlib.Path("other.c").write_text("int main(void) { return 0; }\n")
    for replace, is_what in ((False, "missing"), (True, "of another build")):
        if replace:
            run(["gcc", "-Wl,--build-id", "-o", "mine", "other.c"]).ok()
        result = panalyze("annotate", "--symbol=spin_a", *files)
        check_equal(result.status, 1)
        check_in(f"No instructions: the archive has names but no code, and the file {path} is {is_what}; "
                 f"copy the recorded file to DIR{path} and add --symfs=DIR\n", result.out)
    os.makedirs("root" + os.path.dirname(path))
    os.rename("kept", "root" + path)
    again, = annotate("--symbol=spin_a", "--symfs=root", *files)["functions"]
    check_equal(again["instructions"], whole["instructions"])


def test_code_that_is_not_there():
    files = record()
    document = annotate("--top=all", *files)
    for function in document["functions"]:
        if function["dso"].startswith("["):
            check_match("is not a file|there is no file", function["reason"], function["symbol"])
            check("instructions" not in function, function)
    check_equal(sum(f["self_weight"] for f in document["functions"] if f["symbol"] == "spin_a"),
                annotate("-Sspin_a", *files)["functions"][0]["self_weight"])
    kernel = next((f for f in document["functions"] if f["dso"] == "[kernel.kallsyms]"), None)
    if kernel:
        result = panalyze("annotate", "-S", kernel["symbol"], *files)
        check_equal(result.status, 1)
        check_in("No instructions: there is no file with the kernel's code", result.out)


def test_without_objdump():
    files = record()
    result = panalyze("annotate", "-Sspin_a", *files, env={"PATH": "/nowhere"})
    check_equal((result.status, result.out), (1, ""))
    check_match(r"^panalyze: annotate needs objdump.*package binutils", result.err)
    result = panalyze("annotate", "-Sspin_a", "--objdump=/no/such", *files)
    check_equal((result.status, result.out), (1, ""))
    check_match(r"^panalyze: option '--objdump': there is no program '/no/such'$", result.err)


def test_objdump_of_the_user():
    """--objdump runs that one; whatever it says is shown harmlessly, and what it does not know is told apart."""
    files = record()
    function, = annotate("-Sspin_a", *files)["functions"]
    with open("mine", "w") as to:
        to.write(f"#!/bin/sh\nprintf '  %x:\\tevil \\033[2J code\\n' {function['start']}\necho junk\n"
                 f"printf '  10:\\tbehind\\n'\n")
    os.chmod("mine", 0o755)
    text = panalyze("annotate", "-Sspin_a", "--objdump=./mine", *files).ok().out
    check_in("evil \\033[2J code", text)
    check("behind" not in text, text)
    for script, reason in (("exit 3", "status 3"), ("kill -9 $$", "signal 9"), ("exit 0", "finds no code"),
                           ("echo 'objdump: x: file truncated'; exit 1", "file truncated")):
        with open("mine", "w") as to:
            to.write(f"#!/bin/sh\n{script}\n")
        result = panalyze("annotate", "-Sspin_a", "--objdump=./mine", *files)
        check_equal(result.status, 1, script)
        check_in(reason, result.out)
        check_equal(result.err,
                    "panalyze: none of these functions could be disassembled; the output gives the reasons\n")


def test_source_that_is_no_text():
    """A debug file may name anything as its source: only regular files are read."""
    need("gcc")
    os.mkfifo("pipe.h")
    with open("loop.c", "w") as to:
        to.write('#line 1 "pipe.h"\nstatic volatile long n;\n'
                 '__attribute__((noinline)) void hot(void) { while (n < 200000000) n++; }\n'
                 'int main(void) { hot(); return 0; }\n')
    run(["gcc", "-g", "-O1", "-o", "loop", "loop.c"]).ok()
    files = record(["./loop"])
    text = panalyze("annotate", "-Shot", *files, timeout=120).ok().out
    check_match(r"pipe\.h:2$", text)


def test_source_that_is_not_shown():
    """Debug information may name any file: what is not of the project that was compiled stays unread."""
    need("gcc")
    secret = "the secret of this test, in line two"
    home = os.path.realpath(os.path.join(os.getcwd(), "../home"))
    os.makedirs("project/build")
    os.makedirs("project/.keys")
    os.makedirs("elsewhere")
    os.makedirs(f"{home}/.ssh", exist_ok=True)
    work = os.path.realpath("project")
    places = {name: f"{work}/{name}" for name in ("build/own.h", "beside.h", ".keys/id", "private.h", "link.h")}
    places.update({"outside": os.path.realpath("elsewhere") + "/text", "home": f"{home}/.ssh/id_rsa"})
    for name, path in places.items():
        pathlib.Path(path).write_text(f"\n{name}: {secret}\n")
        os.chmod(path, 0o644)
    os.unlink(places["link.h"])
    pathlib.Path("elsewhere/linked").write_text(f"\nlink.h: {secret}\n")
    os.symlink(os.path.realpath("elsewhere/linked"), places["link.h"])
    os.chmod(places["private.h"], 0o600)
    account = pathlib.Path("/etc/passwd").read_text().splitlines()[1]
    refused = "the file is outside of the compiled project; --symfs=/ shows the file"
    expected = {"build/own.h": None, "beside.h": None,
                "private.h": "the file has stricter read permissions than the program; --symfs=/ shows the file"}
    programs = {"loop": places, "named": {"passwd": "/etc/passwd"}}
    for program, files in programs.items():
        text = "static volatile long n;\n"
        for number, path in enumerate(files.values()):
            text += (f'#line 1 "{path}"\n\n__attribute__((noinline)) void hot{number}(void) '
                     "{ for (n = 0; n < 20000000; ) n++; }\n")
        text += "int main(void) { " + "".join(f"hot{number}(); " for number in range(len(files))) + "return 0; }\n"
        pathlib.Path(f"project/build/{program}.c").write_text(text)
        # The second one lies about where it was compiled, too.
        words = [f"-fdebug-prefix-map={work}/build=/etc"] if program == "named" else []
        run(["gcc", "-g", "-O1", *words, "-o", program, f"{program}.c"], cwd="project/build").ok()
        os.chmod(f"project/build/{program}", 0o755)
        recorded = record([f"project/build/{program}"])
        text, free = ("".join(panalyze("annotate", "-Shot*", *words, *recorded).ok().out.split())
                      for words in ([], ["--symfs=/"]))
        for name, path in files.items():
            mine = account if name == "passwd" else f"{name}: {secret}"
            why = expected.get(name, refused)
            check_equal("".join(mine.split()) in text, why is None, f"{name}: {text}")
            note = "".join(f"Note: the text of {path} is not shown: {why}".split())
            check_equal(note in text, why is not None, f"{name}: {text}")
            check_in("".join(mine.split()), free, f"{name} below --symfs")
    # Below --symfs, and not out of it again.
    os.makedirs("root" + work + "/build")
    shutil.copy("project/build/loop", "root" + work + "/build/loop")
    os.symlink(places["outside"], "root" + places["build/own.h"])
    text = "".join(panalyze("annotate", "-Shot0", "--symfs=root", *record(["project/build/loop"])).ok().out.split())
    check_in("leadsoutofthe--symfsdirectory", text)
    check("".join(secret.split()) not in text, text)


def test_source_that_was_changed():
    need("gcc")
    with open("loop.c", "w") as to:
        to.write("static volatile long n;\n__attribute__((noinline)) void hot(void) { while (n < 200000000) n++; }\n"
                 "int main(void) { hot(); return 0; }\n")
    run(["gcc", "-g", "-O1", "-o", "loop", "loop.c"]).ok()
    files = record(["./loop"])
    made = os.stat("loop").st_mtime
    for changed in (False, True):
        os.utime("loop.c", (made + 100, made + 100) if changed else (made - 100, made - 100))
        text = panalyze("annotate", "-Shot", *files).ok().out
        check_in("loop.c:2  __attribute__((noinline)) void hot", text)
        check_equal("loop.c is newer than the program" in text, changed, text)


def test_damaged_program():
    """Whatever stands in the file's debug information: an answer or a reason."""
    files = copied("mine")
    whole = open("mine", "rb").read()
    random.seed(5)
    for round in range(12):
        damaged = bytearray(whole)
        for _ in range(1 + 3 * (round % 8)):
            damaged[random.randrange(0x3000, len(damaged))] = random.randrange(256)
        with open("mine", "wb") as to:
            to.write(damaged if round % 4 else damaged[:random.randrange(len(damaged))])
        result = panalyze("annotate", "-Sspin_a", *files)
        check(result.status in (0, 1), f"round {round}: {result}")


def test_nothing_is_found():
    files = record()
    result = panalyze("annotate", "-Sno_such", *files)
    check_equal((result.status, result.out), (1, ""))
    check_match(r"^panalyze: no sample hit a function like 'no_such'", result.err)


if __name__ == "__main__":
    main()
