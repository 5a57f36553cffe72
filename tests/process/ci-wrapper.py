# SPDX-License-Identifier: MIT
# labels: scripts
# pinject-ci: the command's output and status stay its own, one directory holds the profile, trouble never fails the
# job.
from harness import *

REPORTS = {"report.txt", "tree.txt", "summary.md", "report.json"}


def ci(*args, **kw):
    return run([PINJECT_CI, *args], **kw)


def fake(directory, name, script):
    os.makedirs(directory, exist_ok=True)
    path = pathlib.Path(directory, name)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def fake_tools(run_script, analyze_script="echo view"):
    """A directory with pinject-ci and programs that behave as the scripts do; the path of its pinject-ci."""
    shutil.copy(PINJECT_CI, os.path.join(os.getcwd(), "pinject-ci"))
    os.makedirs("tools")
    os.rename("pinject-ci", "tools/pinject-ci")
    fake("tools", "pinject-run", run_script)
    fake("tools", "panalyze", analyze_script)
    return os.path.abspath("tools/pinject-ci")


# Skips the options, runs the command as the real one does, leaves one file.
GOOD_RUN = """while [ "$1" != -- ]; do
    case $1 in
    -o) base=$2 ;;
    --started=*) : >"${1#*=}" ;;
    esac
    shift
done
shift
echo data >"${base}out.1.1"
"$@\""""


def test_rights_that_the_container_does_not_allow():
    """The command runs all the same, and it is said how to lift that."""
    setcap = shutil.which("setcap", path=PATH + ":/usr/sbin:/sbin")
    if not IS_ROOT or not setcap or not shutil.which("setpriv", path=PATH):
        skip("needs root, setcap and setpriv")
    os.makedirs("bin")
    for name in PINJECT_CI, PINJECT_RUN, PANALYZE:
        shutil.copy(name, "bin")
    for name, right in ("pinject-run", "perfmon"), ("panalyze", "syslog"):
        if run([setcap, f"cap_{right}+ep", f"bin/{name}"]).status:
            skip("this file system keeps no rights")
        command = ["setpriv", f"--bounding-set=-{right}", "bin/pinject-ci", "sh", "-c", "echo out; exit 3"]
        done = run(command)
        check_equal((done.status, done.out), (3, "out\n"), done)
        remedy = check_match(r"/" + name + " cannot be executed: it has file capabilities that this container does not "
                             "allow; type as root: (setcap -r .*)\n", done.err)[1]
        run(["sh", "-c", remedy], env={"PATH": f"{PATH}:/usr/sbin:/sbin"}).ok()
        check("cannot be executed" not in run(command).err, "after the remedy")


def test_directory():
    need_perf_events()
    result = ci("-o", "my profile", "--", "sh", "-c", f"echo out; echo err >&2; {target('spin')} 300; exit 7")
    check_equal(result.status, 7)
    check_equal(result.lines[0], "out")
    check_equal(result.err.splitlines()[0], "err")
    check_equal(len(result.err.splitlines()), 2, result.err)
    files = set(os.listdir("my profile"))
    check(REPORTS <= files, files)
    check(len(results(base="out")) == 0, "result files in the working directory")
    found = {name for name in files - REPORTS if re.fullmatch(r"out(\.\d+){2,3}", name)}
    check_equal(files - REPORTS - found, {"out.symbols"})
    with measured():  # of sh and of spin
        check(len(found) >= 2, files)
    report = json.loads(pathlib.Path("my profile/report.json").read_text())
    check_equal(report["schema"], "pinject.report/1")
    check_in("spin_a", [function["symbol"] for function in report["functions"]])
    check_in("spin_a", pathlib.Path("my profile/report.txt").read_text())
    check_in("spin", pathlib.Path("my profile/tree.txt").read_text())
    summary = pathlib.Path("my profile/summary.md").read_text()
    check_in("Profile of `sh -c ", summary.splitlines()[0])
    for part in ("spin", "spin_a", "|"):
        check_in(part, summary)


def test_what_was_built_anew():
    """Two artefacts of a program that was built anew in between, and is gone in the end: each brings its names."""
    need_perf_events()
    need("cc")
    pathlib.Path("app.c").write_text("""
        static volatile unsigned long sink;
        __attribute__((noinline)) static void work(void) { for (long i = 0; i < 100000000; i++) sink += i; }
        int main(void) { work(); return 0; }""")
    for level in "12":
        run(["cc", f"-O{level}", "-o", "app", "app.c"]).ok()
        ci("-o", f"level{level}", "--", "./app").ok()
        # Again into the same directory: the names of what was there before go with it.
        ci("-o", f"level{level}", "--", "./app").ok()
    os.remove("app")
    text = panalyze("diff", "level1", "level2").ok().out
    check_match(r"  app +work$", text)
    check("not compared" not in text, text)
    ci("-o", "level2", "--no-symbols", "--", "true").ok()
    check(not os.path.exists("level2/out.symbols"), "names that nobody wants")
    os.makedirs("mine/out.symbols")
    pathlib.Path("mine/out.symbols/file").write_text("the user's")
    done = ci("-o", "mine", "--", "true").ok()
    check_match(r"^pinject-ci: function symbols are not archived \(out\.symbols\): .*out\.symbols", done.err)
    check_equal(os.listdir("mine/out.symbols"), ["file"])


def test_the_command_is_not_touched():
    need_perf_events()
    check_equal(ci("-o", "p", "--", "cat", input="one\ntwo").out, "one\ntwo")
    check_equal(ci("-o", "p", "sh", "-c", "kill -TERM $$").status, 128 + 15)
    result = ci("-o", "p", "--", "/nonexistent/program")
    check_equal(result.status, 127)
    check_in("the command cannot be run", result.err)
    check_equal(ci("-o", "p", "--", "/").status, 126)
    check_equal(ci("-o", "p", "--", "printf", "%s|", "a b", "c'd", "", "$x", "*").out, "a b|c'd||$x|*|")
    check_equal(ci("-o", "p", "--", "pwd").out, os.getcwd() + "\n")
    check_equal(ci("--", "true").status, 0)
    check(REPORTS <= set(os.listdir("pinject-profile")), "the default directory")


def test_github_summary():
    need_perf_events()
    pathlib.Path("step.md").write_text("# before\n")
    ci("-o", "p", "--", "true", env={"GITHUB_STEP_SUMMARY": os.path.abspath("step.md")}).ok()
    text = pathlib.Path("step.md").read_text()
    check(text.startswith("# before\n"), text)
    check_in(pathlib.Path("p/summary.md").read_text().strip(), text)
    result = ci("-o", "p", "--", "true", env={"GITHUB_STEP_SUMMARY": "/nonexistent/step.md"})
    check_equal(result.status, 0)
    check_in("GITHUB_STEP_SUMMARY", result.err)


def test_replaces_an_earlier_run():
    wrapper = fake_tools(GOOD_RUN)
    os.mkdir("p")
    for name in ("out.77.77", "out.77.77.1", "report.json", "kept.txt", "out.txt"):
        pathlib.Path("p", name).write_text("old")
    run([wrapper, "-o", "p", "--", "true"]).ok()
    check_equal(set(os.listdir("p")), REPORTS | {"out.1.1", "kept.txt", "out.txt"})
    check_equal(pathlib.Path("p/report.json").read_text(), "view\n")


def test_no_profiler():
    os.mkdir("alone")
    shutil.copy(PINJECT_CI, "alone/pinject-ci")
    for name in ("sh", "dirname", "mkdir", "cat", "touch"):
        os.symlink(need(name), f"alone/{name}")
    env = {"PATH": os.path.abspath("alone")}
    result = run(["alone/pinject-ci", "-o", "p", "--", "sh", "-c", "echo out; exit 3"], env=env)
    check_equal((result.status, result.out), (3, "out\n"))
    check_in("pinject-run is neither beside", result.err)
    result = run(["alone/pinject-ci", "--strict", "-o", "p", "--", "touch", "ran"], env=env)
    check_equal(result.status, 125)
    check(not os.path.exists("ran"), "the command ran though it could not be profiled")


def test_profiler_does_not_start():
    wrapper = fake_tools("echo 'pinject-run: refused' >&2; exit 125")
    result = run([wrapper, "-o", "p", "--", "sh", "-c", "echo once >>ran; exit 3"])
    check_equal(result.status, 3)
    check_equal(pathlib.Path("ran").read_text(), "once\n")
    check_in("pinject-run: refused", result.err)
    check_in("No profile", pathlib.Path("p/summary.md").read_text())
    check_equal(set(os.listdir("p")), {"summary.md"})
    check_equal(run([wrapper, "--strict", "--", "true"]).status, 125)


def test_a_failing_command_runs_once():
    wrapper = fake_tools(GOOD_RUN)
    check_equal(run([wrapper, "-o", "p", "--", "sh", "-c", "echo once >>ran; exit 125"]).status, 125)
    check_equal(pathlib.Path("ran").read_text(), "once\n")


def test_nothing_recorded():
    wrapper = fake_tools(GOOD_RUN.replace('echo data >"${base}out.1.1"', ""))
    result = run([wrapper, "-o", "p", "--", "sh", "-c", "exit 3"])
    check_equal(result.status, 3)
    check_in("no result files", result.err)
    check_equal(run([wrapper, "--strict", "-o", "p", "--", "true"]).status, 125)
    check_equal(run([wrapper, "--strict", "-o", "p", "--", "sh", "-c", "exit 3"]).status, 3)


def test_analysis_fails():
    wrapper = fake_tools(GOOD_RUN, 'echo half; echo "panalyze: broken" >&2; exit 1')
    result = run([wrapper, "-o", "p", "--", "true"])
    check_equal(result.status, 0)
    check_in("panalyze: broken", result.err)
    check_equal(set(os.listdir("p")) & REPORTS, {"summary.md"}, "half-written reports")
    check_equal(run([wrapper, "--strict", "-o", "p", "--", "true"]).status, 125)


def test_directory_cannot_be_made():
    pathlib.Path("file").write_text("")
    result = ci("-o", "file/p", "--", "sh", "-c", "echo out; exit 3")
    check_equal((result.status, result.out), (3, "out\n"))
    check_in("-o DIR", result.err)
    check_equal(ci("--strict", "-o", "file", "--", "true").status, 125)


def test_wrong_use():
    for args, message in ((["--wrong", "--", "true"], "unknown option '--wrong'"), ([], "no command"),
                          (["--"], "no command"), (["-o"], "needs a value"), (["--outdir=", "true"], "not empty")):
        result = ci(*args)
        check_equal(result.status, 125, args)
        check_in(message, result.err)
        check_equal(result.err.count("\n"), 1, "lines of the message")
    check_in("usage: pinject-ci", ci("--help").ok().out)
    check_equal(os.listdir("."), [])


if __name__ == "__main__":
    main()
