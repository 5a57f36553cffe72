# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
# timeout: 120
"""Two versions of a program with different names, in one directory, as README compares them."""
from harness import *

ROUNDS = 2


def versions(before="old", after="new", wrapper=""):
    """Directories of runs of both sides; the second version does twice the work."""
    need_perf_events()
    for name in before, after:
        shutil.copy(target("spin"), name)
    for number in range(ROUNDS):
        for side, name, work in (("a", before, 60), ("b", after, 120)):
            command = ["sh", "-c", f"{wrapper}./{name} {work}; :"] if wrapper else [f"./{name}", str(work)]
            pinject_run("-q", "--follow-all", "-e", "task-clock", "-o", f"{side}{number}/", "--", *command).ok()
    return [f"a{number}" for number in range(ROUNDS)], [f"b{number}" for number in range(ROUNDS)]


def both_sides(row):
    return row["a"]["weight"] > 0 and row["b"]["weight"] > 0


def check_pair(document, name="old -> new", function="spin_a"):
    check_equal(document["versions"], [{"a": "old", "b": "new", "name": name}])
    check_equal(document["not_paired"], {"a": [], "b": []})
    for key, of_row in (("commands", lambda row: row["comm"]), ("objects", lambda row: row["dso"]),
                        ("functions", lambda row: row["dso"] + " " + row["symbol"])):
        rows = {of_row(row): row for row in document.get(key, [])}
        for one in rows:
            check(not re.match(r"(old|new)( spin_a)?$", one), rows)
    found = [row for row in document.get("functions", []) if row["symbol"] == function]
    if "functions" in document:
        check_equal([row["dso"] for row in found], [name])
        check(both_sides(found[0]), found)
    for row in document.get("commands", []):
        if row["comm"] == name:
            check(both_sides(row), row)


def test_two_names_are_one_program():
    before, after = versions()
    for options in ([], ["--by=comm"], ["--by=dso"], ["--total"]):
        check_pair(panalyze_json("diff", *options, *before, "--", *after))
    check_pair(panalyze_json("diff", "--inline", *before, "--", *after), function="burn_some")
    for row in panalyze_json("diff", "--by=stack", *before, "--", *after)["stacks"]:
        check_equal(row["comm"], "old -> new")
        check(not {frame["dso"] for frame in row["frames"]} & {"old", "new"}, row)
    text = panalyze("diff", *before, "--", *after).ok().out
    check_in("A's 'old' and B's 'new' are compared as two versions of one program.", " ".join(text.split()))
    check_match(r" old -> new +spin_a$", text)
    text = panalyze("diff", "-o", "old", *before, "--", *after).ok().out
    check_match(r" old -> new +spin_a$", text)


def test_reports_of_two_names():
    sides = versions()
    reports = []
    for side in sides:
        reports.append([f"{directory}.json" for directory in side])
        for directory, report in zip(side, reports[-1]):
            pathlib.Path(report).write_text(panalyze("report", "--json", "-a", directory).ok().out)
    for before, after in (reports, (sides[0], reports[1])):
        check_pair(panalyze_json("diff", *before, "--", *after))


def test_a_wrapper_is_on_both_sides():
    """sh runs both, and is compared with itself."""
    before, after = versions(wrapper="true && ")
    check_pair(panalyze_json("diff", *before, "--", *after))


def test_more_than_one_is_not_guessed():
    """Two programs of one side alone, and one of the other: it is said, and nothing is compared by force."""
    need_perf_events()
    for name in "x", "y", "p":
        shutil.copy(target("spin"), name)
    pinject_run("-q", "--follow-all", "-e", "task-clock", "-o", "a/", "--", "sh", "-c", "./x 60; ./y 60; :").ok()
    pinject_run("-q", "--follow-all", "-e", "task-clock", "-o", "b/", "--", "sh", "-c", "./p 60; :").ok()
    document = panalyze_json("diff", "a", "b")
    check_equal(document["versions"], [])
    check_equal({side: sorted(names) for side, names in document["not_paired"].items()}, {"a": ["x", "y"], "b": ["p"]})
    text = " ".join(panalyze("diff", "a", "b").ok().out.split())
    check_in("warning: only A ran 'x', 'y', and only B ran 'p'. Functions of programs with different names are not "
             "compared. Give both versions the same name, e.g. old/app and new/app.", text)


if __name__ == "__main__":
    main()
