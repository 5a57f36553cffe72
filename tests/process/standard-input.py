# SPDX-License-Identifier: MIT
# labels: analyze
# timeout: 120
# sanitize
"""panalyze reads its standard input: the same figures as from the file, from a pipe, a file, and beside perf record."""
from harness import *

EVENT = "task-clock" if IS_ROOT else "task-clock:u"


def need_perf():
    need("perf")
    need_perf_events()


def figures(document):
    """What is the same, however the bytes came."""
    return document["total"], document["functions"], [(task["pid"], task["comm"], task["samples"])
                                                      for task in document["tasks"]]


def test_pipe_and_file_give_the_same():
    names = [path for path in sorted(DATA.glob("*.data")) if path.is_file()]
    check(len(names) > 3, "the test data is gone")
    for name in names:
        wanted = figures(panalyze_json(name))
        check_equal(figures(panalyze_json("-", input=name.read_bytes())), wanted, f"{name} by a pipe")
        with open(name, "rb") as file:
            process = start([PANALYZE, "--json", "-"], stdin=file)
            check_equal(figures(json.loads(process.communicate()[0])), wanted, f"{name} as the input")


def test_beside_perf_record():
    """Both formats, written into the pipe and read from it; perf script has the same samples."""
    need_perf()
    command = f"perf record -q -F 2000 -g -e {EVENT} -o - -- {target('spin')} 100"
    shown = run(["sh", "-c", f"{command} | tee piped.data | {PANALYZE} script -"]).ok().out
    mine = re.findall(r"^\S+ +\d+/(\d+) .*?(\d+\.\d+): +(\d+) ", shown, re.MULTILINE)
    theirs = run(["perf", "script", "-i", "piped.data", "-F", "tid,time,period"]).ok().out
    theirs = re.findall(r"^ *(\d+) +(\d+\.\d+): +(\d+)", theirs, re.MULTILINE)
    check(len(theirs) > 50, f"only {len(theirs)} samples")
    check_equal(mine, theirs)


def undated(text):
    """A file that does not say when it was recorded has the time when it was written; a pipe has the present."""
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE", text)


def test_every_command():
    name = DATA / "fp.data"
    for words in (["report"], ["summary"], ["tree"], ["counts"], ["script"], ["info"], ["export", "folded"],
                  ["flame", "-o", "-"]):
        wanted = panalyze(*words, name).ok().out
        got = panalyze(*words, "-", input=name.read_bytes()).ok().out
        if words[0] in ("report", "script", "export"):
            check_equal(undated(got), undated(wanted), words)
        check(got, words)
    both = panalyze("-", "-", input=name.read_bytes()).ok()
    check_equal(undated(both.out), undated(panalyze(name).ok().out))
    panalyze("diff", name, "-", input=name.read_bytes()).ok()
    panalyze("archive", "-o", "kept.tar", "-", input=name.read_bytes())
    check(os.path.getsize("kept.tar") > 0, "no archive")


def fails(status, pattern, *args, **kw):
    result = panalyze(*args, **kw)
    check_equal(result.status, status, result)
    check_match(pattern, result.err)
    check_equal(len(result.err.splitlines()), 1, result)


def test_refused():
    fails(1, "^panalyze: -: the standard input is empty", "-")
    fails(1, "^panalyze: -: the file is not a perf.data file", "-", input=b"hello, world\n" * 100000)
    fails(1, "^panalyze: -: the file is not a perf.data file", "-", input=b"PERF")
    fails(1, "^panalyze: 'panalyze top' cannot follow the standard input", "top", "-")
    data = (DATA / "fp.data").read_bytes()
    fails(2, "give one with -o", "archive", "-", input=data)
    fails(1, "set TMPDIR", "-", input=data, env={"TMPDIR": "/nonexistent"})
    for size in (8, 20, 104, 200):
        fails(1, "^panalyze: -: ", "-", input=data[:size])


if __name__ == "__main__":
    main()
