# SPDX-License-Identifier: MIT
# labels: collector analyze
"""-o DIR/: result files in a directory of their own, which is made; and panalyze DIR."""
from harness import *


def test_made_and_used_again():
    need_perf_events()
    for number, place in enumerate(("run/", "run", "./run//", os.path.abspath("run"))):
        done = pinject_run("-o", place, "--", "true").ok()
        check_equal(len(os.listdir("run")), number + 1, "files")
        check_match(r"1 file in \S*run \(.*\); next: panalyze \S*run\n", done.err)
    check_equal(results(), [], "files beside the directory")
    shown = panalyze("run").ok()
    # What lay there before is named, and not mixed with it.
    check_match(r"3 files of 3 other runs are left out", shown.err)
    check_equal(len(panalyze_json("tree", "run")["tasks"]), 1)


def test_next_command_of_any_name():
    need_perf_events()
    for place in ("-o d/", "it's/", "two words/"):
        done = pinject_run("-o", place, "--", "true").ok()
        line = check_match(r"next: (panalyze .*)\n", done.err)[1]
        directory = os.path.dirname(PANALYZE)
        check_match(r"true", run(["sh", "-c", line], env={"PATH": f"{directory}:{os.environ['PATH']}"}).ok().out)


def test_bare_preload():
    need_perf_events()
    run(["true"], env={"LD_PRELOAD": PRELOAD, "PINJECT_OUTFILE": "bare/"}).ok()
    run([PINJECT_RUN, "--wait=bare/"]).ok()
    run([PINJECT_RUN, "--wait=bare"]).ok()
    check_equal(len(os.listdir("bare")), 1)


def test_directory_that_cannot_be():
    open("file", "w").close()
    cases = [("missing/directory/", "missing/directory"), ("file/", "file"), ("file/directory/", "file/directory")]
    if not IS_ROOT:
        cases.append(("/no-directory-of-mine/", "/no-directory-of-mine"))
    for place, named in cases:
        done = pinject_run("-o", place, "--", "true")
        check_equal((done.status, done.out, len(done.err.splitlines())), (125, "", 1), place)
        check_in(named, done.err)
    # A typing error leaves no directory.
    check_equal(pinject_run("-o", "new/", "-e", "no-such", "--", "true").status, 125)
    check(not os.path.exists("new"), "a directory without files")


def test_doctor_of_a_directory():
    done = pinject_run("--doctor", "-o", "new/", "true")
    check_match(r"ok +result files +\S+\s+has\s+\d+\s+MiB\s+free", done.out)
    check(not os.path.exists("new"), "--doctor made the directory")


def test_other_files():
    need_perf_events()
    pinject_run("-q", "-o", "run/", "--", "true").ok()
    for count, says in ((1, r"run/out\.1\.1: the file is not a perf\.data file"),
                        (2, r"2 files are not perf\.data files: run/out\.1\.1, run/out\.2\.2"),
                        (3, r"3 files are not perf\.data files: run/out\.1\.1, run/out\.2\.2, run/out\.3\.3"),
                        (4, r"4 files are not perf\.data files: run/out\.1\.1, run/out\.2\.2, run/out\.3\.3, \.\.\.")):
        with open(f"run/out.{count}.{count}", "w") as file:
            file.write("something else\n")
        shown = panalyze("report", "run")
        check_equal(shown.status, 1, shown)
        check_match(rf"^panalyze: {says}\n$", shown.err)
        check_match("CPU time", shown.out)


if __name__ == "__main__":
    main()
