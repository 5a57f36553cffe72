# SPDX-License-Identifier: MIT
# labels: analyze
# timeout: 180
# sanitize
"""What panalyze says when something is wrong: one clear line, a status, never a crash."""
import random
import struct

from harness import *


def fails(status, pattern, *args, **kw):
    """Checks that panalyze ARGS says one line like PATTERN, prints nothing else, and ends with STATUS."""
    result = panalyze(*args, **kw)
    check_equal(result.status, status, result)
    check_equal(result.out, "", result)
    check_match(rf"^panalyze: .*{pattern}", result.err, " ".join(map(str, args)))
    check_equal(len(result.err.splitlines()), 1, result)


def record():
    need_perf_events()
    pinject_run("-q", "--follow-all", "--", target("spin"), "60")
    files = results()
    check(files, "no result files")
    return files


def test_usage():
    fails(2, "unknown option '--agregate'; did you mean '--aggregate'", "--agregate", "x")
    fails(2, "unknown command 'repotr'; did you mean 'report'", "repotr")
    fails(2, "unknown command 'repotr'; did you mean 'report'", "help", "repotr")
    fails(2, "unknown option '-Z'", "-Z")
    fails(2, "option '--callers' does not belong to 'tree'", "tree", "--callers")
    fails(2, "option '--markdown' does not belong to 'report'", "--markdown")
    fails(2, "option '--by' needs a value", "--by")
    fails(2, r"option '--by' takes function\|dso", "--by=functions")
    fails(2, r"option '--color' takes auto\|always\|never", "--color=blue")
    fails(2, "option '--top' needs a whole number", "--top=0")
    fails(2, "option '--top' needs a whole number", "--top=99999999999999999999")
    fails(2, "option '--pid' needs numbers", "--pid=1,,2")
    fails(2, "option '--pid' needs numbers", "--pid=99999999999")
    fails(2, "option '--tid' needs numbers", "--tid=-1")
    fails(2, "option '--comm' needs a value", "--comm=")
    fails(2, "option '--json' takes no value", "--json=1")
    for value in ("0", "101", "x", "nan", "inf", "-5", ""):
        fails(2, "option '--cum' needs a percentage", f"--cum={value}")


def test_option_that_would_do_nothing():
    said = "option '--min' needs --call-tree, --callers or --callees"
    fails(2, said, "--min=3", DATA / "fp.data")
    fails(2, said, "-a", "--min=3", "--json", DATA / "fp.data")
    panalyze("-a", "--min=3", "--callers", DATA / "fp.data").ok()


def test_directories_that_are_not_there():
    pathlib.Path("file").write_text("")
    for option in ("--symfs", "--debug-path"):
        said = f"option '{option}' needs a directory, not "
        fails(1, said + "'gone': No such file or directory", option, "gone", DATA / "fp.data")
        fails(1, said + "'file': Not a directory", "diff", option, "file", "x", "y")


def test_nothing_to_read():
    fails(1, "no file given, and this directory has no result files .*pinject-run --follow-all -- COMMAND")
    os.mkdir("empty")
    fails(1, "the directory 'empty' has no result files", "empty")
    fails(1, r"no file matches 'out\.\*'", "out.*")
    fails(1, "'nothing-here'|nothing-here", "nothing-here")
    fails(1, "nothing-here", "tree", "./nothing-here")
    if not IS_ROOT:
        os.mkdir("closed", 0)
        fails(1, "the directory 'closed' cannot be read: Permission denied", "closed")


def test_foreign_files():
    for name, content in (("empty", b""), ("text", b"hello, world\n" * 100), ("zeros", bytes(4096)),
                          ("magic", b"PERFILE2"), ("short", b"PERFILE2" + bytes(50)),
                          ("elf", b"\x7fELF" + bytes(200))):
        with open(name, "wb") as to:
            to.write(content)
        for command in ([], ["tree"], ["counts"], ["script"], ["summary"], ["--json"], ["info"]):
            result = panalyze(*command, name)
            check_equal(result.status, 1, result)
            check_match(rf"^panalyze: .*{name}", result.err)
            check_equal(result.out, "", result)
    os.mkfifo("fifo")
    result = panalyze("fifo")
    check_equal(result.status, 1, result)
    result = panalyze("/dev/null")
    check_equal(result.status, 1, result)


def test_unreadable_file():
    if IS_ROOT:
        skip("root reads every file")
    with open("secret", "wb") as to:
        to.write(b"PERFILE2")
    os.chmod("secret", 0)
    fails(1, "secret.*Permission denied", "secret")


def test_bad_file_among_good_ones():
    files = record()
    with open("bad", "wb") as to:
        to.write(b"this is no result file")
    good = panalyze("--aggregate", *files).ok()
    result = panalyze("--aggregate", files[0], "bad", *files[1:])
    check_equal(result.status, 1)
    check_equal(result.out, good.out)
    check_match(r"^panalyze: .*bad", result.err)


def test_wrong_choices_within_files():
    files = record()
    for option in ("--event=no-such-event", "--session=zzz"):
        result = panalyze(option, *files)
        check(result.status in (1, 2), result)
        check_equal(result.out, "", result)
        check_match(r"^panalyze: ", result.err)


def test_truncated_files():
    """Cut anywhere: what is there is shown, or the reason why nothing is; no crash."""
    data = open(record()[0], "rb").read()
    random.seed(7)
    for size in sorted(random.sample(range(len(data)), 20)):
        with open("cut", "wb") as to:
            to.write(data[:size])
        for command in ("report", "info"):
            result = panalyze(command, "cut")
            check(result.status in (0, 1), f"cut at {size}: {result}")
            if result.status:
                check_match(r"^panalyze: ", result.err)


def test_damaged_files():
    data = open(record()[0], "rb").read()
    random.seed(11)
    for round in range(10):
        damaged = bytearray(data)
        for _ in range(1 + round % 8):
            damaged[random.randrange(len(damaged) if round % 2 else min(len(damaged), 400))] = random.randrange(256)
        with open("damaged", "wb") as to:
            to.write(damaged)
        for command in ("report", "tree", "counts", "script", "info", "summary"):
            result = panalyze(command, "damaged", timeout=60)
            check(result.status in (0, 1), f"round {round}: {result}")


def test_file_that_changes_between_two_looks():
    """script reads the files a second time: what was not there the first time is left out, with a line that says so."""
    need_perf_events()
    frames = target("frames")
    pinject_run("-q", "-o", "other", "--", target("spin"), "100").ok()
    pinject_run("-q", "-F", "999", "--follow-all", "--", "sh", "-c", f"{frames} 3000; {frames} 3000").ok()
    two = sorted(results(), key=os.path.getsize)[-2:]
    # By pid, whichever began first: numbers begin anew at their end.
    first, second = sorted(two, key=lambda name: int(name.split(".")[1]))
    written = len(panalyze("script", first).ok().out)
    with measured():  # as many samples as the machine took
        check(written > 100000, f"{written} bytes fit into the pipe: the second one is read too soon")
    process = start([PANALYZE, "script", first, second], pipesize=4096)
    check_equal(len(process.stdout.read(1)), 1)
    with open(second, "r+b") as to:  # while the pipe is full
        to.write(open(results("other")[0], "rb").read())
    process.stdout.read()
    message = process.stderr.read().decode()
    check_match(rf"^panalyze: {second}: the file changed while panalyze read it; "
                r"\d+ of its samples are left out$", message)
    check_equal(process.wait(), 1, message)


def test_exports_of_a_file_without_ids():
    """One event, no ids, as perf record -p without -a may write it."""
    attr = struct.pack("<IIQQQQQ", 1, 64, 1, 1000000, 1 | 2 | 4 | 256, 0, 0) + bytes(16)
    sample = struct.pack("<IHHQIIQQ", 9, 2, 40, 0x1000, 7, 7, 10**9, 1000000)
    head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 80, 104, 80, 184, len(sample), 0, 0)
    pathlib.Path("perf.data").write_bytes(head + bytes(32) + attr + bytes(16) + sample)
    for format in ("perf", "pprof", "speedscope", "firefox", "folded", "chrome", "csv", "csv-tasks"):
        said = panalyze("export", format, "-o", f"x-{format}", "perf.data").ok().err
        check_match(r"^panalyze: x-perf \(\d+ bytes\) does not contain function names; "
                    r"to save the names for other machines, type: "
                    r"panalyze archive -o perf\.data\.symbols\.tar\.gz perf\.data\n$"
                    if format == "perf" else r"\A\Z", said)


def test_more_mappings_than_a_process_can_have():
    """What is left out is said."""
    attr = struct.pack("<IIQQQQQ", 1, 64, 1, 1000000, 1 | 2 | 4 | 256, 0, 0) + bytes(16)
    maps = b"".join(struct.pack("<IHHIIQQQ8s", 1, 2, 48, 7, 7, place << 12, 4096, 0, b"//anon")
                    for place in range(1, 65600))
    sample = struct.pack("<IHHQIIQQ", 9, 2, 40, 0x1000, 7, 7, 10**9, 1000000)
    data = maps + sample
    head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 80, 104, 80, 184, len(data), 0, 0)
    pathlib.Path("perf.data").write_bytes(head + bytes(32) + attr + bytes(16) + data)
    text = panalyze("-a", "perf.data").ok().out
    check_in("Note: the file has more memory mappings than panalyze can keep", text)
    pathlib.Path("perf.data").write_bytes(head[:48] + struct.pack("<Q", 480 + 40) + head[56:] + bytes(32) + attr +
                                          bytes(16) + maps[:480] + sample)
    check("more mappings" not in panalyze("-a", "perf.data").ok().out)


def test_hostile_names_do_not_reach_the_terminal():
    name = "\033[2J\nout.1.1"
    with open(name, "w") as to:
        to.write("nothing")
    result = panalyze(name)
    check_equal(result.status, 1)
    check("\033" not in result.err and len(result.err.splitlines()) == 1, repr(result.err))
    need_perf_events()
    script = "\033]0;owned\007.sh"
    with open(script, "w") as to:
        to.write(f"#!/bin/sh\n{target('spin')} 30\n")
    os.chmod(script, 0o755)
    pinject_run("-q", "--follow-all", "--", f"./{script}", "a\nb\033[31m")
    for command in ("report", "tree", "counts", "script", "info", "summary"):
        result = panalyze(command, *results()).ok()
        check("\033" not in result.out and "\007" not in result.out, f"{command}: {result.out!r}")
    commands = [task["cmdline"] for task in panalyze_json("tree", *results())["tasks"]]
    check(any("a\nb\033[31m" in words for words in commands), f"JSON has the words as they were: {commands}")


if __name__ == "__main__":
    main()
