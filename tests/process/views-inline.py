# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
# timeout: 120
# sanitize
"""Inlined functions in call trees, callers and callees, flame graphs and diff: what addr2line -i says of the addresses
that panalyze script prints, added up. (perf script shows no inlined functions where it was built without libbfd, as
Debian's is.)"""
import collections
import xml.etree.ElementTree

from harness import *

SOURCE = r"""
#include <stdlib.h>
#include <time.h>
#define INLINED static inline __attribute__((always_inline))
#define APART __attribute__((noinline, noclone))
static volatile unsigned long sink;
unsigned long work(unsigned long v), leaf(unsigned long v);
INLINED unsigned long turn(unsigned long v) {
    for (int i = 0; i < 3000; i++)
        v = (v << 7 | v >> 57) * 0x9e3779b97f4a7c15u + 1;
    return v; }
INLINED unsigned long stir(unsigned long v) {
    for (int i = 0; i < 5; i++)
        v ^= turn(v + (unsigned long)i);
    return v; }
/* Twice in a chain: once in again(), once in work(). */
INLINED unsigned long pass(int which, unsigned long v) { return (which ? work(v) : leaf(v)) * 5 + 1; }
/* It has no frame of its own, so that leaf(), which calls it, is missing in its chains. */
APART unsigned long deepest(unsigned long v) { return turn(v) + 1; }
APART unsigned long leaf(unsigned long v) {
    unsigned long turned = deepest(v);
    sink = turned;
    return turned + 1; }
INLINED unsigned long between(unsigned long v) { return stir(pass(0, v)) + 1; }
APART unsigned long work(unsigned long v) { return between(v) * 3 + leaf(v + 1) * 7; }
APART unsigned long again(int deep, unsigned long v) {
    unsigned long more = deep ? again(deep - 1, pass(1, v)) : 0;
    sink = more;
    return pass(1, v + more) + more; }
int main(int argc, char **argv) {
    double end = argc > 1 ? atof(argv[1]) : 0.2;
    unsigned long v = 1;
    while ((double)clock() / CLOCKS_PER_SEC < end)
        v = again(2, v);
    sink = v;
    return 0; }
"""
FUNCTIONS = {"turn", "stir", "pass", "leaf", "deepest", "between", "work", "again", "main"}


def build_and_record():
    need("gcc", "addr2line", "readelf")
    need_perf_events()
    pathlib.Path("inl.c").write_text(SOURCE)
    run("gcc -O2 -g -fno-omit-frame-pointer -o inl inl.c".split()).ok()
    pinject_run("-q", "-e", "task-clock:u", "--", "./inl", "0.2").ok()
    return sorted(name for name in os.listdir(".") if name.startswith("out."))


def shift_of(program):
    """What is added to an offset in the file to get the address of code."""
    for line in run(["readelf", "-lW", program]).ok().lines:
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in words[6:8]:
            return int(words[2], 16) - int(words[1], 16)
    raise Failure(f"{program} has no code")


def functions_at(program, addresses):
    """{address: [(function, whether it is inlined), ...]}, the innermost first."""
    text = run(["addr2line", "-a", "-i", "-f", "-e", program, *map(hex, addresses)]).ok().out
    found, lines, at = {}, text.splitlines(), 0
    while at < len(lines):
        if lines[at].startswith("0x"):
            current = found[int(lines[at], 16)] = []
            at += 1
            continue
        current.append(lines[at])
        at += 2
    return {address: [(name, i + 1 < len(names)) for i, name in enumerate(names)] for address, names in found.items()}


def chains(files):
    """[(weight, ((function, inlined), ...), whether it hit there)] of what is in the program, the outermost first."""
    samples, shift, program = [], shift_of("inl"), os.path.realpath("inl")
    for block in panalyze("script", *files).ok().out.rstrip("\n").split("\n\n"):
        head, *lines = block.splitlines()
        frames = []
        for i, line in enumerate(lines):
            address, _, rest = line.strip().partition(" ")
            if rest.endswith(f"({program})"):
                frames.append(int(address, 16) + shift - (i > 0))
        samples.append((int(check_match(r": (\d+) \S+:$", head)[1]), frames, lines[0].endswith(f"({program})")))
    at = functions_at(program, sorted({address for _, frames, _ in samples for address in frames}))
    return [(weight, tuple(call for address in reversed(frames) for call in reversed(at[address])), hit)
            for weight, frames, hit in samples]


def paths(nodes, above, sums, program):
    for node in nodes:
        here = above + (((node["symbol"], node["inlined"]),) if node["dso"] == program else ())
        sums[here] += node["self_weight"]
        below = paths(node["children"], here, sums, program)
        check_equal(node["total_weight"], node["self_weight"] + below, here)
    return sum(node["total_weight"] for node in nodes)


def folded(samples, reverse=False):
    sums = collections.Counter()
    for weight, chain, _ in samples:
        sums[chain[::-1] if reverse else chain] += weight
    return sums


def test_tree_and_totals():
    files = build_and_record()
    samples, program = chains(files), os.path.realpath("inl")
    whole = sum(weight for weight, _, _ in samples)
    with measured():
        check(sum(weight for weight, chain, _ in samples if chain[-1:] == (("turn", True),)) > 0.5 * whole, samples[:5])
        check(any(chain.count(("pass", True)) == 2 for _, chain, _ in samples), "pass() twice in a chain")
    for option in "--call-tree", "--reverse":
        tree, sums = panalyze_json("-a", option, *files)["call_tree"], collections.Counter()
        check_equal(paths(tree, (), sums, program), whole)
        check_equal(+sums, folded(samples, option == "--reverse"), option)
    # A function counts once in a chain; what it took itself is what hit in its code.
    total, own = collections.Counter(), collections.Counter()
    for weight, chain, hit in samples:
        for call in set(chain):
            total[call] += weight
        if hit:
            own[next(call for call in reversed(chain) if not call[1])] += weight
    for switch in ("--callers", "--inline"), ("--callers", "--no-inline"), ():
        rows = {(row["symbol"], row["inlined"]): row for row in panalyze_json("-a", *switch, *files)["functions"]
                if row["dso"] == program and row["symbol"] in FUNCTIONS}
        check_equal({call: row["total_weight"] for call, row in rows.items()},
                    {call: weight for call, weight in total.items()
                     if call[0] in FUNCTIONS and ("--inline" in switch or not call[1])}, switch)
        check_equal({call: row["self_weight"] for call, row in rows.items() if row["self_weight"]},
                    {call: weight for call, weight in own.items() if call[0] in FUNCTIONS}, switch)


def test_callers_and_callees():
    files = build_and_record()
    samples = chains(files)
    callers, callees, total, own = collections.Counter(), collections.Counter(), 0, 0
    for weight, chain, hit in samples:
        at = [i for i, call in enumerate(chain) if call == ("pass", True)]
        if at:
            total += weight
            callers[chain[at[-1] - 1][0]] += weight
            callees[chain[at[0] + 1][0] if at[0] + 1 < len(chain) else None] += weight
            if hit and chain[-1] == ("pass", True):  # its two instructions are hit now and then
                own += weight
    found = panalyze_json("-a", "--symbol", "pass", "--callers", "--callees", *files)["functions"]
    check_equal([(row["symbol"], row["inlined"], row["total_weight"], row["self_weight"]) for row in found],
                [("pass", True, total, own)])
    check_equal({row["symbol"]: row["weight"] for row in found[0]["callers"]}, callers)
    check_equal({row["symbol"]: row["weight"] for row in found[0]["callees"]}, callees)
    text = panalyze("-a", "--symbol", "pass", "--callers", "--callees", *files).ok().out
    check_match(r"^pass \(inlined\) \(inl\): total ", text)
    text = panalyze("-a", "--callers", *files).ok().out
    check_match(r"inl +pass \(inlined\)$", text)
    check_match(r"stir \(inlined\)$", panalyze("-a", "--call-tree", *files).ok().out)


def test_flame_and_diff():
    files = build_and_record()
    samples = chains(files)
    text = panalyze("flame", "-a", "--min=0", "-o", "-", *files).ok().out_bytes
    boxes = collections.Counter()
    for title in xml.etree.ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}title"):
        boxes[title.text.split("\n")[0]] += 1
    with measured():
        for name in "turn (inlined)", "pass (inlined)", "between (inlined)", "work", "deepest":
            check(boxes[name], boxes)
    bare = panalyze("flame", "-a", "--no-inline", "-o", "-", *files).ok().out_bytes
    check(b"(inlined)" not in bare, "flame --no-inline")
    # In a difference a function is the same whether it was inlined or not, and what hit is in the innermost.
    own = collections.Counter()
    for weight, chain, hit in samples:
        if hit:
            own[chain[-1][0]] += weight
    document = json.loads(panalyze("diff", "--json", "--inline", files[0], files[0]).ok().out)
    found = collections.Counter()
    for row in document["functions"]:
        if row["dso"] == "inl":  # addr2line has no names for the stubs of the PLT
            found["??" if row["symbol"].endswith("@plt") else row["symbol"]] += row["b"]["weight"]
    check_equal(found, own)


def test_threads_change_nothing():
    files = build_and_record()
    for words in (["report", "-a", "--call-tree"], ["report", "-a", "--json", "--reverse"], ["report", "--callers"],
                  ["report", "-a", "--by", "line"], ["flame", "-o", "-"], ["export", "folded", "--inline"],
                  ["script", "--inline", "--lines"]):
        one = panalyze(*words, "--threads", "1", *files).ok().out_bytes
        for threads in "2", "5":
            check_equal(panalyze(*words, "--threads", threads, *files).ok().out_bytes, one, words)


if __name__ == "__main__":
    main()
