# SPDX-License-Identifier: MIT
# labels: collector analyze
"""Who may read result files, and who may not take them away: another user, another session, a hand that deletes."""
import contextlib

from harness import *


@contextlib.contextmanager
def umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def rights(name):
    return oct(os.stat(name).st_mode & 0o7777)


def check_rights(names, expected):
    check(names, "no files")
    check_equal({name: rights(name) for name in names}, {name: oct(expected) for name in names})


def spin_and_fork():
    return "sh", "-c", f"{target('spin')} 30; {target('spin')} 30"


def test_results_are_for_their_owner():
    for mask in (0, 0o22, 0o77):
        with umask(mask):
            pinject_run("-q", "--follow-all", "-o", f"a{mask}", "--", *spin_and_fork()).ok()
            pinject_run("-q", "--follow-all", "--mode=0640", "-o", f"b{mask}", "--", *spin_and_fork()).ok()
            pinject_run("-q", "--mode", "644", "-o", f"c{mask}", "--", "true").ok()
        check_rights(results(f"a{mask}"), 0o600)
        check_rights(results(f"b{mask}"), 0o640)
        check_rights(results(f"c{mask}"), 0o644)


def test_variable():
    with umask(0):
        for value, expected in ((None, 0o600), ("0640", 0o640), ("", 0o600)):
            run([target("spin"), "50"], env={"LD_PRELOAD": PRELOAD, "PINJECT_MODE": value,
                                             "PINJECT_OUTFILE": f"v{value}"}).ok()
            run([PINJECT_RUN, f"--wait=v{value}"]).ok()
            with measured():  # on a busy machine the program may end before the collector has begun
                check(results(f"v{value}"), "no files")
            check_rights(results(f"v{value}"), expected)


def test_wrong_rights():
    for value in ("", "rw", "0400", "0", "0700", "0640x", "-0600", "+600", " 600", "1600", "0o640", "999", "9" * 40):
        result = pinject_run(f"--mode={value}", "--", "true")
        check_equal((result.status, result.out), (125, ""), value)
        check_in("--mode" if value else "mode", result.err)
    check_equal(results(), [])


def test_the_same_pid_again():
    """In a pid namespace of its own each run has the same numbers: the file of the run before gets another name."""
    need_perf_events()
    need("unshare")
    place = ["unshare", "-p", "-f"] if IS_ROOT else ["unshare", "-U", "-r", "-p", "-f"]
    if run([*place, "true"]).status:
        skip("no pid namespaces here")
    for number in range(3):
        done = run([*place, PINJECT_RUN, "-o", "out", "--", target("spin"), str(20 + number)]).ok()
        said = "1 file of an earlier run was renamed to NAME.old, because this run writes NAME"
        check_equal(said in done.err, number > 0, done.err)
    names = sorted(os.listdir("."))
    check_equal(len(names), 2, names)
    check_equal(names[1], names[0] + ".old")
    commands = [panalyze_json(name)["session"]["cmdline"][-1] for name in names]
    check_equal(commands, ["22", "21"], names)


def test_screen_in_a_file():
    need_perf_events()
    with umask(0):
        pinject_run("-q", "--live=live.txt", "--", target("spin"), "50").ok()
        pinject_run("-q", "--live=group.txt", "--mode=0640", "--", target("spin"), "50").ok()
    check_rights(["live.txt"], 0o600)
    check_rights(["group.txt"], 0o640)
    # What was there is the user's.
    os.chmod("live.txt", 0o604)
    pinject_run("-q", "--live=live.txt", "--", target("spin"), "50").ok()
    check_rights(["live.txt"], 0o604)


def test_what_is_made_of_them():
    """Exports and archives are as private as the result files; a picture is made to be shown."""
    need_perf_events()
    pinject_run("-q", "--", target("spin"), "100").ok()
    made = ["x.csv", "x.pb.gz", "x.data", "x.json.gz", "x.folded"]
    formats = {"x.pb.gz": "pprof", "x.data": "perf", "x.json.gz": "firefox", "x.folded": "folded", "x.csv": "csv"}
    for mask, mode in ((0, 0o600), (0, 0o644), (0o27, 0o644)):
        for name in results():
            os.chmod(name, mode)
        with umask(mask):
            for name in made:
                panalyze("export", formats[name], "-o", name, *results()).ok()
            panalyze("archive", "-o", "x.symbols.tar.gz", *results()).ok()
            panalyze("archive", "-o", "x.symbols", *results()).ok()
            panalyze("flame", "-o", "x.svg", *results()).ok()
        check_rights(made + ["x.symbols.tar.gz", "x.symbols/pinject-archive"], mode & ~mask)
        check_rights(["x.symbols"], (mode | (mode & 0o444) >> 2) & ~mask)
        check_rights(["x.svg"], 0o666 & ~mask)
        shutil.rmtree("x.symbols")


def test_in_ci():
    need_perf_events()
    views = ["report.txt", "tree.txt", "report.json"]
    for mask, words, mode in ((0o22, (), 0o600), (0o22, ("--mode=0644",), 0o644), (0o77, ("--mode", "0640"), 0o640)):
        with umask(mask):
            run([PINJECT_CI, *words, "-o", "ci", "--", target("spin"), "50"]).ok()
        check_rights([f"ci/{name}" for name in os.listdir("ci") if name not in ("summary.md", "out.symbols")], mode)
        check_rights(["ci/out.symbols/pinject-archive"], mode)
        check_rights(["ci/out.symbols"], mode | 0o100 | (mode & 0o444) >> 2)
        check(set(views) <= set(os.listdir("ci")), os.listdir("ci"))
        check_rights(["ci/summary.md"], 0o666 & ~mask)
    result = run([PINJECT_CI, "--mode=0700", "--", "true"])
    check_equal(result.status, 125)
    check_in("'0700'", result.err)


def growing(*words):
    """A session whose command runs until its stdin ends, and the name of its one file, which is there."""
    session = start([PINJECT_RUN, *words, "--", sys.executable, "-c",
                     "import select\nwhile not select.select([0], [], [], 0)[0]: sum(range(10000))"],
                    stdin=subprocess.PIPE)
    wait_until(lambda: results() and os.path.getsize(results()[0]), what="the first version of the file")
    return session, results()[0]


def test_deleted_while_it_grows():
    need_perf_events()
    for words, status in (((), 0), (("--strict",), 125)):
        for way in (os.unlink, lambda name: os.rename(name, "elsewhere"), lambda name: os.replace("mine", name)):
            for name in results():
                os.unlink(name)
            pathlib.Path("mine").write_text("mine")
            session, name = growing(*words)
            way(name)
            out, err = session.communicate(b"end")
            err = err.decode()
            check_equal((session.returncode, out), (status, b""), err)
            check_in(f"result file '{name}' was deleted, moved or replaced while it was written", err)
            check_in("1 file is missing or not complete: deleted, moved or replaced while being written", err)
            check_equal("--strict: 1 file is missing" in err, bool(words), err)
            if os.path.exists(name):
                check_equal(pathlib.Path(name).read_text(), "mine", "another's file")


def test_two_sessions_with_one_base():
    """In two pid namespaces that share a directory each has a task 2.2."""
    need_perf_events()
    unshare = [need("unshare"), "--pid", "--fork", "--mount-proc", "--kill-child"]
    if not IS_ROOT:
        unshare.append("--map-root-user")
    if run([*unshare, "true"]).status:
        skip("no pid namespace can be made here")
    spin = "import select\nwhile not select.select([0], [], [], 0)[0]: sum(range(10000))"
    sessions = [start([*unshare, PINJECT_RUN, "--strict", "--", sys.executable, "-c", spin], stdin=subprocess.PIPE)]
    wait_until(lambda: results() and os.path.getsize(results()[0]), what="the first version of the file")
    name = results()[0]
    before = os.stat(name)
    sessions.append(start([*unshare, PINJECT_RUN, "--strict", "--", sys.executable, "-c", spin],
                          stdin=subprocess.PIPE))
    wait_until(lambda: os.path.exists(name + "~1") and os.path.getsize(name + "~1"), what="the second one's file")
    errors = []
    for session in reversed(sessions):
        errors.append(session.communicate(b"end")[1].decode())
        check_equal(session.returncode, 0, errors[-1])
    check_in(f"result file '{name}' may belong to another run that has not ended, so pinject-run keeps it and writes "
             f"'{name}~1' instead", errors[0])
    check("another run that has not ended" not in errors[1], errors[1])
    after = os.stat(name)
    check_equal((after.st_ino, after.st_nlink), (before.st_ino, 1))
    check_equal(sorted(os.listdir(".")), [name, name + "~1"])
    ids = [panalyze_json("--aggregate", file)["session"]["id"] for file in (name, name + "~1")]
    check(ids[0] != ids[1], ids)
    # Nobody else runs now: the name is free for the next one, as ever.
    check_equal(run([*unshare, PINJECT_RUN, "-q", "--strict", "--", "true"]).ok().err, "")
    check(panalyze_json("--aggregate", name)["session"]["id"] not in ids, "not replaced")
    check_equal(sorted(os.listdir(".")), [name, name + ".old", name + "~1"])


if __name__ == "__main__":
    main()
