# SPDX-License-Identifier: MIT
# labels: analyze
# timeout: 180
# run-as: self
"""Source lines and inlined functions: what addr2line -i and libdw say, for every kind of debug information; and the
reports."""
import random

from harness import *

LINES_OF, LINES_OF_LIBDW = target("lines-of"), target("lines-of-libdw")
ADDRESSES = 1000

C_SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define REPEAT8(x) x x x x x x x x
struct state { unsigned long a[8]; unsigned n; };
static inline unsigned long turn(unsigned long v, int by) { return v << by | v >> (64 - by); }
static inline void stir(struct state *s) {
  for (int i = 0; i < 8; i++) s->a[i] = turn(s->a[i], 7 + i) ^ s->a[(i + 1) & 7]; }
static inline int least(const int *v, int n) { int m = v[0];
  for (int i = 1; i < n; i++) if (v[i] < m) m = v[i]; return m; }
static int compare(const void *l, const void *r) { return *(const int *)l - *(const int *)r; }
__attribute__((noinline)) unsigned long rounds(struct state *s, int n) {
  while (n--) { REPEAT8(stir(s);) s->n++; } return s->a[0]; }
__attribute__((noinline)) int middle(int *v, int n) {
  qsort(v, n, sizeof(*v), compare); return v[n / 2] - least(v, n); }
__attribute__((noinline)) char *join(int n, char **v) { size_t all = 1;
  for (int i = 0; i < n; i++) all += strlen(v[i]) + 1;
  char *to = calloc(all, 1);
  for (int i = 0; to && i < n; i++) { if (i) strcat(to, " "); strcat(to, v[i]); } return to; }
int main(int c, char **v) { struct state s = {{c}}; int w[64];
  for (int i = 0; i < 64; i++) w[i] = (i * 37) % 64 ^ c;
  for (int i = 0; i < c * 20; i++) { stir(&s); rounds(&s, c); }
  printf("%lu %d %s\n", rounds(&s, c * 3), middle(w, 64), join(c, v)); return 0; }
"""

CXX_SOURCE = r"""
#include <algorithm>
#include <string>
#include <vector>
#include <cstdio>
template <class T> struct Box { T v; T get(int n) const {
    T s = v; for (int i = 0; i < n; i++) s += i * v; return s; } };
template <int N> struct Fold { static int go(int x) { return Fold<N - 1>::go(x * 3 + N) ^ x; } };
template <> struct Fold<0> { static int go(int x) { return x; } };
struct Less { bool operator()(const std::string &a, const std::string &b) const {
    return a.size() < b.size() || a < b; } };
int main(int c, char **v) {
    std::vector<std::string> words;
    for (int i = 0; i < 100 * c; i++) words.push_back(std::string(v[0]) + std::to_string(i * 7));
    std::sort(words.begin(), words.end(), Less());
    double sum = 0;
    for (auto &w : words) sum += Box<double>{(double)w.size()}.get(c) + Fold<9>::go(c);
    try { if (c > 100) throw words[0]; } catch (const std::string &e) { puts(e.c_str()); }
    std::printf("%g\n", sum + std::count_if(words.begin(), words.end(),
        [c](const std::string &w) { return w.size() > (size_t)c; }));
}
"""

RUST_SOURCE = r"""
use std::collections::BTreeMap;
fn fold(v: &[u64]) -> u64 {
    v.iter().map(|x| x.wrapping_mul(31)).filter(|x| x % 3 != 0).fold(7, |a, b| a ^ b.rotate_left(3)) }
fn main() {
    let mut m: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for i in 0..1000u64 { m.entry(format!("k{}", i % 17)).or_default().push(i * i); }
    let mut words: Vec<String> = m.keys().cloned().collect();
    words.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    println!("{} {}", words.join(","), m.values().map(|v| fold(v)).sum::<u64>());
}
"""


def build(command, source=C_SOURCE, name="p.c"):
    pathlib.Path(name).write_text(source)
    run(command.split()).ok()


def text_of(program):
    """Start and size of .text."""
    for line in run(["readelf", "-SW", program]).ok().lines:
        words = line.replace("[ ", "[").split()
        if len(words) > 5 and words[1] == ".text":
            return int(words[3], 16), int(words[5], 16)
    raise Failure(f"{program} has no .text")


def answers(text):
    """{address: [(function, file, line), ...]} of what addr2line -a -i -f prints."""
    found, lines, at = {}, text.splitlines(), 0
    while at < len(lines):
        if re.fullmatch(r"0x[0-9a-f]{16}", lines[at]):
            current = found[int(lines[at], 16)] = []
            at += 1
            continue
        path, _, line = lines[at + 1].partition(" (")[0].rpartition(":")
        current.append((lines[at], os.path.normpath(path), line.replace("?", "0")))
        at += 2
    return found


def symbols(program):
    """[(start, end, names)] of the functions that nm knows."""
    found = {}
    for line in run(["nm", "-S", program]).ok().lines:
        words = line.split()
        if len(words) == 4 and words[2] in "tTwWiu":
            found.setdefault((int(words[0], 16), int(words[1], 16)), set()).add(words[3])
    return [(start, start + size, names) for (start, size), names in found.items()]


@functools.lru_cache(maxsize=None)
def line_count(path):
    return len(open(path, "rb").read().splitlines()) if os.path.exists(path) else None


def has_line(path, line):
    return line_count(path) is None or int(line) <= line_count(path)


def is_same(ours, theirs, names):
    """addr2line has three ways of its own, which are taken back here: code without debug information gets the name of
    the symbol; the innermost function gets it too when it has no linkage name (bfd takes it for the function around
    it); and of two rows at the start of a sequence it takes the file of one with the line of the other, a line that
    file does not have."""
    if ours[0] == ("??", ".", "0") or ours[0] == ("??", "??", "0"):
        return len(ours) == 1 and len(theirs) == 1 and theirs[0][2] == "0"
    if len(ours) != len(theirs) or ours[1:] != theirs[1:] or ours[0][2] != theirs[0][2]:
        return False
    if ours[0][1] != theirs[0][1] and (has_line(*theirs[0][1:]) or not has_line(*ours[0][1:])):
        return False
    mangled = ours[0][0].startswith(("_Z", "_R"))
    return ours[0][0] == theirs[0][0] or (not mangled and theirs[0][0] in names)


def choose(program, functions):
    """ADDRESSES of PROGRAM's code. No code of a function is what fills the space behind it."""
    start, size = text_of(program)
    addresses = sorted({address for low, high, _ in functions for address in range(low, high)} &
                       set(range(start, start + size)))
    check(len(addresses) >= ADDRESSES, f"{program} has only {len(addresses)} bytes of code")
    return random.Random(size).sample(addresses, ADDRESSES)


def compare(program, truth=None, options=(), least=90):
    """Checks ADDRESSES random addresses of PROGRAM against addr2line on TRUTH, a program with the same code."""
    need("addr2line", "readelf", "nm")
    truth = truth or program
    check_equal(text_of(truth), text_of(program), "the two programs' code")
    functions = symbols(truth)
    addresses = choose(program, functions)
    words = "".join(f"{address:x}\n" for address in addresses)
    theirs = answers(run(["addr2line", "-a", "-i", "-f", "-e", truth], input=words).ok().out)
    result = run([LINES_OF, *options, program], input=words).ok()
    ours, known, deepest = answers(result.out), 0, 0
    check_equal(set(ours), set(addresses))
    for address in addresses:
        names = set().union(*(names for low, high, names in functions if low <= address < high))
        check(is_same(ours[address], theirs[address], names),
              f"{program} {address:#x}: {ours[address]} is not addr2line's {theirs[address]}")
        known += ours[address][0][2] != "0"
        deepest = max(deepest, len(ours[address]))
    check(known >= least * len(addresses) / 100, f"only {known} of {len(addresses)} addresses have a line")
    check(deepest >= 2, "nothing was inlined: the comparison says nothing")
    return result.err


def test_c():
    need("gcc")
    for version in (3, 4, 5):
        build(f"gcc -O2 -g -gdwarf-{version} -o p{version} p.c")
        compare(f"p{version}", least=75)


def test_cxx_templates():
    need("g++")
    build("g++ -O3 -g -o p p.cc", CXX_SOURCE, "p.cc")
    compare("p")


def test_clang():
    """Its ranges are by index; bfd (2.40) finds no inlined functions there, so the truth is llvm's."""
    need("clang", "llvm-addr2line")
    build("clang -O2 -g -o p p.c")
    start, size = text_of("p")
    words = "".join(f"{address:#x}\n" for address in range(start, start + size, max(1, size // ADDRESSES)))
    text = run(["llvm-addr2line", "-a", "-i", "-f", "-e", "p"], input=words).ok().out
    theirs = answers(re.sub(r"^0x([0-9a-f]+)$", lambda m: f"0x{int(m[1], 16):016x}", text, flags=re.MULTILINE))
    ours = answers(run([LINES_OF, "p"], input=words).ok().out)
    check(max(map(len, ours.values())) >= 2)
    for address, frames in ours.items():
        if frames[0][2] != "0":
            check_equal(frames, theirs[address], hex(address))


def compare_with_libdw(program):
    words = "".join(f"{address:x}\n" for address in choose(program, symbols(program)))
    theirs = answers(run([LINES_OF_LIBDW, program], input=words).ok().out)
    ours = answers(run([LINES_OF, program], input=words).ok().out)
    for address, frames in ours.items():
        check_equal(frames, theirs[address], f"{program} {address:#x}")
    check(max(map(len, ours.values())) >= 2, "nothing was inlined: the comparison says nothing")


def test_libdw():
    """It has no ways of its own that would have to be taken back."""
    need("gcc", "g++", "nm", "readelf")
    compare_with_libdw(BUILD / "bin/panalyze")
    for version in (4, 5):
        build(f"gcc -O2 -g -gdwarf-{version} -o p{version} p.c")
        compare_with_libdw(f"p{version}")
    build("g++ -O3 -g -o templates p.cc", CXX_SOURCE, "p.cc")
    compare_with_libdw("templates")
    # Functions are inlined into units other than those that define them.
    build("g++ -O2 -g -flto -o linked p.cc", CXX_SOURCE, "p.cc")
    compare_with_libdw("linked")


def test_libdw_and_clang():
    need("clang", "nm", "readelf")
    build("clang -O2 -g -o p p.c")
    compare_with_libdw("p")


def test_libdw_and_rust():
    need("rustc", "nm", "readelf")
    build("rustc -C opt-level=3 -g -o p p.rs", RUST_SOURCE, "p.rs")
    compare_with_libdw("p")


def test_rust():
    need("rustc")
    build("rustc -C opt-level=3 -g -o p p.rs", RUST_SOURCE, "p.rs")
    compare("p", least=60)


def test_compressed():
    need("gcc")
    build("gcc -O2 -g -o plain p.c")
    for kind in ("zlib", "zlib-gnu"):
        build(f"gcc -O2 -g -gz={kind} -o p-{kind} p.c")
        check_in("debug_info", run(["readelf", "-SW", f"p-{kind}"]).ok().out)
        compare(f"p-{kind}", "plain", least=75)


def test_split():
    need("gcc")
    for version in (4, 5):
        build(f"gcc -O2 -g -gdwarf-{version} -o plain{version} p.c")
        build(f"gcc -O2 -g -gdwarf-{version} -gsplit-dwarf -c -o p{version}.o p.c")
        run(["gcc", "-o", f"p{version}", f"p{version}.o"]).ok()
        check(os.path.exists(f"p{version}.dwo"), os.listdir("."))
        err = compare(f"p{version}", f"plain{version}", least=75)
        check(".dwo" not in err, err)
    os.mkdir("elsewhere")
    os.rename("p5.dwo", "elsewhere/p5.dwo")
    compare("p5", "plain5", ["-d", "elsewhere"], least=75)
    # Without it there are lines, but no functions, and it says so.
    result = run([LINES_OF, "p5"], input=f"{text_of('p5')[0] + 16:x}\n").ok()
    check_in("a .dwo or .dwp file is missing", result.err)


def test_package():
    need("gcc", "dwp")
    build("gcc -O2 -g -gdwarf-4 -o plain p.c")
    build("gcc -O2 -g -gdwarf-4 -gsplit-dwarf -c -o p.o p.c")
    run(["gcc", "-o", "p", "p.o"]).ok()
    run(["dwp", "-e", "p", "-o", "p.dwp"], timeout=100).ok()
    os.unlink("p.dwo")
    compare("p", "plain", least=75)


def test_package_of_version_5():
    need("clang", "llvm-dwp")
    build("clang -O2 -g -gdwarf-5 -gsplit-dwarf -c -o p.o p.c")
    run(["clang", "-o", "p", "p.o"]).ok()
    words = "".join(f"{address:x}\n" for address in range(*(lambda s: (s[0], sum(s)))(text_of("p"))))
    from_dwo = run([LINES_OF, "p"], input=words).ok()
    run(["llvm-dwp", "p.dwo", "-o", "p.dwp"], timeout=100).ok()
    os.unlink("p.dwo")
    check_equal(run([LINES_OF, "p"], input=words).ok().out, from_dwo.out)
    check(max(map(len, answers(from_dwo.out).values())) >= 2)
    os.unlink("p.dwp")
    check(run([LINES_OF, "p"], input=words).ok().out != from_dwo.out)


def test_dwz():
    need("gcc", "dwz")
    build("gcc -O2 -g -o plain p.c")
    for name in ("one", "two"):
        shutil.copy("plain", name)
    run(["dwz", "-m", "shared.debug", "one", "two"]).ok()
    if not os.path.exists("shared.debug"):
        skip("dwz found nothing to share")
    check_in(".gnu_debugaltlink", run(["readelf", "-SW", "one"]).ok().out)
    compare("one", "plain", least=75)
    compare_with_libdw("one")
    os.unlink("shared.debug")
    result = run([LINES_OF, "one"], input=f"{text_of('one')[0] + 16:x}\n").ok()
    check_in("the dwz supplementary file is missing", result.err)


def test_separate_debug_file():
    need("gcc", "objcopy")
    build("gcc -O2 -g -Wl,--build-id=sha1 -o plain p.c")
    run(["objcopy", "--only-keep-debug", "plain", "p.debug"]).ok()
    run(["objcopy", "--strip-all", "--add-gnu-debuglink=p.debug", "plain", "p"]).ok()
    compare(os.path.abspath("p"), "plain", least=75)
    os.mkdir("elsewhere")
    os.rename("p.debug", "elsewhere/p.debug")
    result = run([LINES_OF, "p"], input=f"{text_of('p')[0] + 16:x}\n").ok()
    check_in("the file has no debug information", result.err)


def record(program="./p", *arguments):
    need_perf_events()
    pinject_run("-q", "--", program, *arguments).ok()
    files = results()
    check(files, "no result files")
    return files


LOOP_SOURCE = (SOURCE / "tests/targets/inlined-loop.c").read_text()


def test_reports():
    """The figures of --by line and --by inline are those of the samples one by one."""
    need("gcc")
    build("gcc -O2 -g -fno-omit-frame-pointer -o p p.c", LOOP_SOURCE)
    files = record()
    script = panalyze("script", "--lines", "--inline", *files).ok().out
    lines, functions, whole, unknown = {}, {}, 0, 0
    for sample in script.rstrip("\n").split("\n\n"):
        head, leaf, *rest = sample.splitlines()
        weight = int(check_match(r": (\d+) [a-z-]+(?::u)?:$", head)[1])
        whole += weight
        line = rest[0].strip() if rest and rest[0].startswith("  ") else None
        lines[line] = lines.get(line, 0) + weight
        name = re.sub(r"(\+0x[0-9a-f]+)? \(.*\)$", "", leaf.split(None, 1)[1])
        if name != "[unknown]":
            key = name, leaf.endswith(" (inlined)")
            functions[key] = functions.get(key, 0) + weight
        unknown += weight if line is None else 0
    document = panalyze_json("-a", "--by", "line", *files)
    check_equal(document["total"]["weight"], whole)
    got = {f"{row['file']}:{row['line']}": row["self_weight"] for row in document["lines"]
           if row["file"] and row["self_weight"]}
    check_equal(got, {line: weight for line, weight in lines.items() if line})
    check_equal(sum(row["self_weight"] for row in document["lines_missing"]), unknown)
    check_equal(sum(row["self_weight"] for row in document["lines"]), whole)
    document = panalyze_json("-a", "--by", "inline", *files)
    got = {(row["symbol"], row["inlined"]): row["self_weight"] for row in document["inlined"] if row["self_weight"]}
    check_equal({key: got.get(key) for key in functions}, functions)
    with measured():
        check(got.get(("step", True), 0) + got.get(("inner", True), 0) > 0.8 * whole, got)
    row = next(row for row in document["inlined"] if row["symbol"] == "outer")
    check(not row["inlined"], row)
    with measured():
        check(row["total_weight"] > 0.8 * whole, row)
    text = panalyze("-a", "--by", "inline", *files).ok().out
    check_match(r" step \(inlined\)$", text)
    check_match(r"p\.c:\d+ +(step|inner)$", panalyze("-a", "--by", "line", *files).ok().out)
    check_match(r"p\.c:\d+ +(step|inner)$", panalyze("--by", "line", *files).ok().out)


def test_why_lines_are_missing():
    need("gcc", "strip")
    build("gcc -O2 -o p p.c", LOOP_SOURCE)
    files = record()
    text = panalyze("-a", "--by", "line", *files).ok().out
    check_match(r"No source lines for [\d.]+ % of all samples \(\d+ address(es)? in \S+/p\): "
                "the file has no debug information", re.sub(r"\n +", " ", text))
    for option in ("--callers", "--callees", "--call-tree"):
        result = panalyze("-a", "--by", "line", option, *files)
        check_equal(result.status, 2)
        check_in(option, result.err)


if __name__ == "__main__":
    main()
