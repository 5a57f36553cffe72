# SPDX-License-Identifier: MIT
# labels: scripts
# run-as: self
"""scripts/mutate finds lines to break, the same for the same seed; scripts/notes-of-tests reads ctest's log."""
import contextlib
import importlib.machinery
import importlib.util
import io
import types

from harness import *

MUTATE = [sys.executable, "-B", SOURCE / "scripts/mutate"]


def mutants(*args):
    need("git")
    done = run([*MUTATE, "--list", *args])
    if "not a git repository" in done.err or "dubious ownership" in done.err:
        skip("no git repository of ours")
    return re.findall(r"^(\S+?):(\d+): ([a-z ]+)\n-(.*)\n\+(.*)$", done.ok().out, re.MULTILINE)


def test_mutants_are_lines_of_the_product():
    some = ["--only", "common/*.c", "--only", "preload/*.c"]
    found = mutants(*some, "--seed", "3", "300")
    check_equal(len(found), 300)
    check_equal(mutants(*some, "--seed", "3", "300"), found, "the same seed")
    check(mutants(*some, "--seed", "4", "300") != found, "another seed")
    check_equal(len({(file, line) for file, line, *_ in found}), 300, "each line once")
    for file, line, kind, old, new in found:
        check(re.match(r"(preload|common)/\w+\.c$", file), file)
        check_equal((SOURCE / file).read_text().split("\n")[int(line) - 1], old)
        check(old != new and not re.match(r"\s*(/\*|\* |//|#|$)", old), f"{kind}: {old}")
    kinds = {kind for _, _, kind, *_ in found}
    check({"operator", "constant", "condition negated", "statement dropped", "check dropped"} <= kinds, kinds)


def test_what_is_broken():
    """Each kind, in a file of its own: text and comments stay."""
    sys.path.insert(0, str(SOURCE / "scripts"))
    from mutants import all_mutants
    text = """#include "x.h"
/* a == b; if (a) */
struct s {
    int a; /* = 3 */
};
enum { SIZE = 7 };
static const char *const names[] = {"a < 1", "b"};
static int f(struct s *s, int a)
{
    char buffer[16];
    int fd = open("a && b", O_RDONLY | O_CLOEXEC);
    if (a < 0)
        return -1;
    for (int i = 0; i < a; i++)
        g(s, true);
    s->a += 2;
    return a > 5 ? '\\'' : !s;
}
"""
    found = {(mutant.number, mutant.kind, mutant.new.strip())
             for line in all_mutants({"x.c": text}) for mutant in line}
    expected = {
        (6, "constant", "enum { SIZE = 8 };"),
        (11, "operator", 'int fd = open("a && b", O_RDONLY & O_CLOEXEC);'),
        (11, "flag dropped", 'int fd = open("a && b", O_CLOEXEC);'),
        (11, "flag dropped", 'int fd = open("a && b", O_RDONLY);'),
        (12, "operator", "if (a <= 0)"), (12, "constant", "if (a < 1)"),
        (12, "condition negated", "if (!(a < 0))"), (12, "check dropped", "if (0 && (a < 0))"),
        (13, "constant", "return -0;"),
        (14, "constant", "for (int i = 1; i < a; i++)"), (14, "operator", "for (int i = 0; i <= a; i++)"),
        (14, "operator", "for (int i = 0; i < a; i--)"),
        (15, "constant", "g(s, false);"), (15, "statement dropped", ";"),
        (16, "operator", "s->a -= 2;"), (16, "constant", "s->a += 3;"), (16, "statement dropped", ";"),
        (17, "operator", "return a >= 5 ? '\\'' : !s;"), (17, "constant", "return a > 6 ? '\\'' : !s;"),
        (17, "negation dropped", "return a > 5 ? '\\'' : s;"),
    }
    check_equal(sorted(found - expected), [], "more than expected")
    check_equal(sorted(expected - found), [], "missing")


def test_judged_to_change_nothing():
    """Each mutant of the list can be made still, in one line of its file, and has a reason."""
    sys.path.insert(0, str(SOURCE / "scripts"))
    from mutants import all_mutants, read_judged
    judged = read_judged(SOURCE / "scripts/mutate.equivalent")
    check(judged, "the list is empty")
    texts = {file: (SOURCE / file).read_text() for file, _, _ in judged if (SOURCE / file).exists()}
    possible = {(mutant.file, mutant.old.strip(), mutant.new.strip())
                for line in all_mutants(texts) for mutant in line}
    for key, reason in judged.items():
        check_in(key, possible, "take it out of scripts/mutate.equivalent")
        check_equal([line.strip() for line in texts[key[0]].split("\n")].count(key[1]), 1, f"{key}: which line")
        check(len(reason) > 10, f"{key}: {reason}")
    bad = pathlib.Path("bad")
    for text in ("a.c\n-x\n+y\nz\n* reason", "-x\n*", "a.c\n?"):
        bad.write_text(text)
        try:
            read_judged(bad)
        except ValueError as error:
            check_match("bad:[0-9]+: expected a file", str(error))
        else:
            check(False, f"taken: {text!r}")
    bad.write_text("# c\n\na.c\n-  x\n+  y\n one\n two\n-x\n+z\n three\n")
    check_equal(read_judged(bad), {("a.c", "x", "y"): "one two", ("a.c", "x", "z"): "three"})


def test_report_counts_equivalents_apart():
    loader = importlib.machinery.SourceFileLoader("mutate", str(SOURCE / "scripts/mutate"))
    mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
    loader.exec_module(mutate)
    mutant = mutate.Mutant("a.c", 7, "constant", "    x = 1;", "    x = 0;")
    results = [(mutant, result, "why") for result, count in (
        (mutate.BY_UNIT, 5), (mutate.BY_PROCESS, 1), (mutate.EQUIVALENT, 2), (mutate.SURVIVED, 2), (mutate.SAME, 3))
        for _ in range(count)]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        mutate.report(results, types.SimpleNamespace(signal=None, seed=3, dir=pathlib.Path("d")), 60)
    shown = "a.c:7: constant\n-    x = 1;\n+    x = 0;\nwhy\n\n"
    check_equal(out.getvalue(), f"""
Equivalent, as scripts/mutate.equivalent says:

{shown * 2}
Survivors:

{shown * 2}10 mutants in 60 s, seed 3; 0 more did not compile, and 3 gave the same code
   5   50.0 %  killed by unit tests
   1   10.0 %  killed by process tests
   2   20.0 %  equivalent
   2   20.0 %  survived
   6   60.0 %  killed in all, 75.0 % of those that are not equivalent
report: d/report.json
""")


def test_directory_of_another_run():
    import fcntl
    mutants("--only", "common/nearest.c", "1")
    few = ["--only", "common/nearest.c", "--dir", "runs", "1"]
    done = run([*MUTATE, "--resume", "--seed", "3", *few])
    check_equal((done.status, done.out), (1, ""))
    check_match("mutate: --resume: .*/runs has no run of --seed 3 of this tree", done.err)
    with open("runs/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run([*MUTATE, *few])
    check_equal((done.status, done.out), (1, ""))
    check_match("mutate: another run is at work in .*/runs$", done.err.strip())


def test_wrong_usage():
    for args in (["--jobs", "0"], ["--resume"], ["0"], ["--nothing"], ["many"]):
        check_equal(run([*MUTATE, *args]).status, 2, args)
    check_in("scripts/mutate [OPTION...] [N]", run([*MUTATE, "--help"]).ok().out)


def test_notes():
    log = pathlib.Path("Testing/Temporary/LastTest.log")
    log.parent.mkdir(parents=True)
    part = "{0}/3 Testing: {1}\n{0}/3 Test: {1}\nOutput:\n----\n{2}\n<end of output>\nTest Passed.\n\n"
    log.write_text("Start testing\n" +
                   part.format(1, "unit/a", "[ RUN      ] t\n[  SKIPPED ] t\n[  SKIPPED ] 1 test(s), listed below:\n"
                                            "[  SKIPPED ] t") +
                   part.format(2, "process/b", "ok test_a (1.00 s)\n"
                                               "skipped test_b: needs root\nskipped test_c: needs root\n"
                                               "retried test_d: line 5: 7 instead of 8\nok test_d (2.00 s)") +
                   part.format(3, "process/c", "skipped: needs root"))
    command = [sys.executable, "-B", SOURCE / "scripts/notes-of-tests"]
    out = run([*command, "."]).ok().out
    check_equal(out, "\nSkipped: 4\n  needs root\n    process/b: test_b test_c\n    process/c: all\n"
                     "  this machine or user cannot\n    unit/a: t\n\nTried again: 1\n"
                     "  process/b test_d: line 5: 7 instead of 8\n")
    log.write_text("Start testing\n" + part.format(1, "unit/a", "[ RUN      ] t\n[       OK ] t"))
    check_equal(run([*command, "."]).ok().out, "")
    check_equal(run([*command, "elsewhere"]).status, 1)


if __name__ == "__main__":
    main()
