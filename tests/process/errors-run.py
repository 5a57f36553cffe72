# SPDX-License-Identifier: MIT
# sanitize
"""Every error of pinject-run: one clear line with the reason and the way out, a status that is not 0, no file left."""
from harness import *


def refused(*args, says, status=125, **kw):
    done = pinject_run(*args, **kw)
    check_equal(done.status, status, done)
    lines = done.err.splitlines()
    check(lines and all(line.startswith("pinject-run: ") for line in lines), done)
    check(len(lines) <= 2, f"more than a clear line: {done}")
    for text in [says] if isinstance(says, str) else says:
        check_in(text, done.err)
    check_equal(done.out, "", "standard output")
    check_equal([name for name in os.listdir(".") if name.startswith("out")], [], "files left")
    return done


def test_unknown_option():
    refused("--follow-al1", "true", says=["--follow-al1", "--follow-all"])
    refused("--no-such-thing", "true", says="--no-such-thing")


def test_unknown_event():
    refused("-e", "task-clok", "true", says=["task-clok", "task-clock"])
    refused("-e", "", "true", says="event")
    refused("-e", "task-clock,,page-faults", "true", says="event")
    refused("-e", "task-clock:x", "true", says="x")


def test_values():
    for option in ("-F", "-c"):
        for value in ("0", "-1", "abc", "1.5", "", "99999999999999999999999"):
            refused(option, value, "true", says=value or "needs")
    refused("-g", "dwar", "true", says=["dwar", "fp"])
    refused("-o", "", "true", says="outfile")


def test_periods_of_events():
    for option in ("-c", "--long-smpl-periods", "--short-smpl-periods"):
        for value in ("5,0", "5,", ",5", "5,x", "5,,5", "5,99999999999999999999999"):
            refused(option, value, "-e", "faults:u,task-clock", "true", says="needs a whole number of at least 1")
        refused(option, "5,6,7", "-e", "faults:u,task-clock", "true", says=["3 periods", "only 2 events"])
        refused(option, "5,6", "true", says=["only the default event", "-e"])
        refused(option, "5,6", "--stat", "-e", "faults:u,task-clock", "true", says="--stat takes none")
        refused(option, "5,6", "-e", "faults:u,task-clock,cs/period=3/", "true", says=["event 3", "'cs/period=3/'", "entr"])
    refused("--long-smpl-periods=5", "--short-smpl-periods=6", "true", says="differ")
    refused("-e", "faults:u,cs/freq=999999999/", "true", says=["event 2", "'cs/freq=999999999/'", "perf_event_max_sample_rate"])


def test_status_of_wrong_usage():
    """125, as of env and timeout, whatever is asked for: a status of 2 is the command's own. panalyze has 2."""
    check_equal(pinject_run("--", "sh", "-c", "exit 2").status, 2)
    for wrong in (["--no-such-thing"], ["-e", "no-such-event"], ["-c", "1,x"], ["-g", "none,5"], ["--mode=9"], ["-x"]):
        for action in (["true"], ["--info"], ["--doctor"], ["--list-events"], ["--check-events-only"],
                       ["--event-info=faults"], ["--wait"], ["--stat", "true"]):
            check_equal(run([PINJECT_RUN, *(action + wrong if action[-1] != "true" else wrong + action)]).status, 125,
                        (wrong, action))
    check_equal(pinject_run("--list-events=(").status, 125)
    check_equal(pinject_run("--event-info=no-such-event").status, 125)
    for words in (["--no-such-thing"], ["report", "--no-such-thing"], ["report", "--top=x"]):
        check_equal(panalyze(*words).status, 2, words)


def test_a_rate_above_the_limit():
    limit = lambda: int(open("/proc/sys/kernel/perf_event_max_sample_rate").read())
    before = limit()
    done = refused("-F", str(before + 1), "true", says="perf_event_max_sample_rate")
    # The kernel lowers it where samples take long.
    check(re.search(rf"\b({before}|{limit()})\b", done.err), done)


def test_no_command():
    refused(says=["command", "--help"])
    refused("--follow-all", "--", says="command")


def test_command_that_does_not_exist():
    need_perf_events()
    refused("--", "no-such-command", status=127, says="no-such-command")
    refused("--", "./no/such", status=127, says=["./no/such", "No such file"])


def test_command_that_cannot_be_run():
    need_perf_events()
    open("plain", "w").close()
    refused("--", "./plain", status=126, says=["./plain", "Permission denied; it is not executable (chmod +x)"])
    refused("--", "/", status=126, says="Permission denied")


def test_a_directory_that_is_not_there():
    refused("-o", "missing/out", "true", says="missing")


def test_a_directory_that_cannot_be_written():
    if IS_ROOT:
        skip("root writes everywhere")
    os.mkdir("locked", 0o500)
    refused("-o", "locked/out", "true", says=["locked", "Permission denied"])


def test_hardware_event_that_the_machine_has_not():
    probe = run(["perf", "stat", "-e", "cycles:u", "true"]) if shutil.which("perf", path=PATH) else None
    if not probe or "not supported" not in probe.err:
        skip("this machine has hardware events, or no perf to ask")
    refused("-e", "cycles", "true", says=["cycles", "--info"])


def test_hostile_names_do_not_reach_the_terminal():
    done = pinject_run("--\x1b[31mred", "true")
    check("\x1b" not in done.err, done)
    done = pinject_run("--", "./\x1b[31mred")
    check("\x1b" not in done.err, done)


def test_help_and_version():
    brief, done = pinject_run("--help").ok().out, pinject_run("--help=all").ok()
    check(len(brief.splitlines()) <= 24, "it fits a screen")
    check_in("--help=all", brief)
    for word in ("--outfile", "--events", "--freq", "--period", "--call-graph", "--stat", "--follow-fork",
                 "--follow-vfork", "--follow-pthread", "--follow-exec", "--follow-all", "--exec-split-results",
                 "--info", "--doctor", "--version", "--wait"):
        check_in(word, done.out)
    check_match(r"^pinject-run \d+\.\d+\.\d+$", pinject_run("--version").ok().out)
    check(pinject_run("--info").ok().out.strip(), "--info says nothing")


def test_output_that_cannot_be_written():
    with open("/dev/full", "w") as full:
        done = pinject_run("--help", stdout=full)
    check_equal(done.status, 125)
    check_in("No space left", done.err)


if __name__ == "__main__":
    main()
