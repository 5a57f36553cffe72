# SPDX-License-Identifier: MIT
# labels: analyze collector
# timeout: 120
"""--unwinder: our own engine and libunwind's are each other's witness, on the stacks of programs nobody here wrote."""
from harness import *

AGREE = 0.995
PYTHON = r"""
import json, re, time
while time.process_time() < 0.25: # a number of rounds gives too few samples where the machine is fast
    json.loads(json.dumps([{"a": j} for j in range(200)]))
    re.sub("a+", "b", "aab" * 500)
    sorted(range(1000), key=lambda x: -x)
"""
CXX = r"""
#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
static int descend(int n)
{
    std::string text(n % 30 + 1, 'x');
    if (n <= 0)
        throw std::runtime_error(text);
    return descend(n - 1) + (int)text.size();
}
int main()
{
    std::map<std::string, int> seen;
    std::vector<std::string> texts;
    unsigned x = 1;
    int sum = 0;
    for (int i = 0; i < 400000; i++) {
        x = x * 1103515245 + 12345;
        seen[std::to_string(x % 5000)] += i;
        texts.push_back(std::to_string(x));
        if (texts.size() > 3000) {
            std::sort(texts.begin(), texts.end());
            texts.clear();
        }
        try {
            if (i % 60 == 0)
                descend(i % 25);
        } catch (const std::exception &error) {
            sum += error.what()[0];
        }
    }
    return sum == 0;
}
"""


def need_dumps():
    need_perf_events()
    need_unwinding()


def functions(count):
    lines = [f"int f{i}(int a, int b) {{ int s = 0; for (int k = 0; k < a; k++) {{ if (k % {i % 7 + 2} == b) "
             f"s += k * {i}; else s ^= b << (k % 5); switch (s & 7) {{ case 1: s += {i}; break; case 5: s *= 3; break; "
             f"default: s ^= a; }} }} return s; }}" for i in range(count)]
    return "\n".join(lines) + "\n"


def stacks(unwinder):
    """The samples of perf.data as text, with the stacks that this engine finds."""
    return panalyze("script", "--no-inline", f"--unwinder={unwinder}", "perf.data").ok().out.split("\n\n")


def compare(least, *command, hertz=2000):
    need("perf")
    need_dumps()
    run(["perf", "record", "-q", "-N", "-F", str(hertz), "-e", "task-clock:u", "--call-graph", "dwarf,16384", "-o",
         "perf.data", "--", *command]).ok()
    ours, theirs = stacks("tables"), stacks("libunwind")
    check_equal(len(ours), len(theirs), "samples")
    others = [(one, other) for one, other in zip(ours, theirs) if one != other]
    print(f"{len(ours) - len(others)} of {len(ours)} stacks are the same")
    with measured():
        check(len(ours) >= least, f"{len(ours)} samples")
    check(len(others) <= (1 - AGREE) * len(ours) + 1,
          f"{len(others)} of {len(ours)} differ, such as\n" + "\n--\n".join(others[0] if others else ()))
    # The comparison sees a frame that one of them lacks.
    check(sum(sample.count("\n") for sample in ours) > 3 * len(ours), "chains of three frames and more")


def test_compiler():
    need("gcc")
    pathlib.Path("many.c").write_text(functions(150))
    compare(500, "gcc", "-O2", "-c", "-o", "many.o", "many.c")


def test_python():
    compare(100, "/usr/bin/python3", "-c", PYTHON)


def test_exceptions_of_cxx():
    need("g++")
    pathlib.Path("thrower.cpp").write_text(CXX)
    run(["g++", "-O3", "-o", "thrower", "thrower.cpp"]).ok()
    # Where an exception is about to be caught the registers are of two frames at once: both engines go wrong there.
    compare(500, "./thrower", hertz=10000)


def whole(result):
    return float(check_match(r"(\d+\.\d) % complete", result.err)[1])


def test_of_a_session():
    """pinject-run and a bare preload object take it, and say which engine it was."""
    need_dumps()
    ours = pinject_run("-F", "4999", "-g", "dwarf", "-o", "ours/", "--", target("spin"), "200").ok()
    result = pinject_run("-F", "4999", "-g", "dwarf", "--unwinder=libunwind", "-o", "theirs/", "--", target("spin"), "200").ok()
    check("libunwind" not in ours.err, ours.err)
    check_in("call stacks unwound by libunwind, ", result.err)
    with measured():
        check(whole(result) >= 95, result.err)
    shares = [panalyze_json("--aggregate", directory)["functions"][0]["symbol"] for directory in ("ours", "theirs")]
    check_equal(shares[0], shares[1], "the heaviest function")
    # The collector of a bare preload object writes its summary to the program's stderr, which is read to its end.
    bare = run([target("spin"), "200"], {"LD_PRELOAD": PRELOAD, "PINJECT_UNWINDER": "libunwind", "PINJECT_VERBOSE": "1",
                                         "PINJECT_CALL_GRAPH": "dwarf"}).ok()
    check_in("call stacks unwound by libunwind, ", bare.err)


def test_wrong_engines_are_refused():
    for program, status in ((PINJECT_RUN, 125), (PANALYZE, 2)):
        result = run([program, "--unwinder=gdb", "true"])
        check_equal(result.status, status, program)
        check_in("option '--unwinder' takes auto, tables or libunwind, not 'gdb'", result.err)
    result = panalyze("tree", "--unwinder=tables", "perf.data")  # where no stack is shown it would do nothing
    check_equal(result.status, 2, "tree")
    check_in("option '--unwinder' does not belong to 'tree'", result.err)


if __name__ == "__main__":
    main()
