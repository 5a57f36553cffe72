# SPDX-License-Identifier: MIT
# The harness must be able to fail: what it makes of tests that pass, fail, skip, hang, lie, or never run.
from harness import *

HEAD = "import sys\nsys.path.insert(0, {path!r})\nfrom harness import *\n"
TAIL = "\nif __name__ == '__main__':\n    main()\n"


def harness(body, *args, tail=TAIL, **kw):
    head = HEAD.format(path=os.path.dirname(sys.modules["harness"].__file__))
    pathlib.Path("sample.py").write_text(head + body + tail)
    env = {"PINJECT_BUILD": BUILD, "PYTHONDONTWRITEBYTECODE": "1"}
    return run([sys.executable, "sample.py", *args], env=env, **kw)


def test_passes_and_fails():
    result = harness("def test_a():\n    check_equal(1, 1)\n\ndef test_b():\n    check_equal(1, 2, 'sum')\n")
    check_equal(result.status, 1)
    check_match(r"^ok test_a \(", result.out)
    check_match(r"^FAILED test_b: line 8: sum: 1 instead of 2$", result.out)
    result = harness("def test_a():\n    pass\n\ndef test_b():\n    assert False\n", "test_a")
    check_equal(result.status, 0)


def test_every_kind_of_failure():
    for body in ("check(0)", "check_in(1, [2])", "check_match('a', 'b')", "check_near(1, 2, percent=5)",
                 "assert 1 == 2", "check_near(1, 2, points=0.5)", "wait_until(lambda: False, 0.02)",
                 "run(['sleep', '50'], timeout=0.1)", "run(['false']).ok()", "run(['/nonexistent'])",
                 "raise KeyError(1)", "sys.exit(0)", "1 / 0"):
        result = harness(f"def test_a():\n    {body}\n")
        check_equal(result.status, 1, body)
        check_in("FAILED test_a: line 5: ", result.out, body)


def test_skips():
    result = harness("def test_a():\n    skip('no reason')\n")
    check_equal((result.status, result.out), (77, "skipped test_a: no reason\nof 1 tests 1 were skipped, 0 retried\n"))
    check_equal(harness("def test_a():\n    skip('x')\n\ndef test_b():\n    pass\n").status, 0)
    check_equal(harness("def test_a():\n    need('no-such-program')\n").status, 77)


def test_broken_files():
    check_equal(harness("def test_a():\n    pass\n", tail="").status, 99, "main() forgotten")
    check_equal(harness("").status, 99, "no tests")
    check_equal(harness("def test_a():\n    pass\n", "test_b").status, 99, "no such test")
    check(harness("import nonexistent_module\n").status != 0, "import error")


def test_measured_figures_are_tried_again():
    count = os.path.abspath("count")
    body = f"import harness\nharness._steal_ns = lambda: 0\n" \
           f"def test_a():\n    with open({count!r}, 'a') as to:\n        to.write('x')\n" \
           f"    with measured({{}}):\n        check(len(open({count!r}).read()) >= {{}}, 'too few')\n"
    result = harness(body.format("", 3))
    check_equal(result.status, 0)
    check_equal(len(re.findall("^retried test_a: line 10: too few$", result.out, re.MULTILINE)), 2, result)
    check_equal(result.lines[-1], "of 1 tests 0 were skipped, 2 retried")
    os.remove(count)
    result = harness(body.format("", 4))
    check_equal(result.status, 1)
    check_match("^FAILED test_a: line 10: too few$", result.out)
    check_equal(len(pathlib.Path(count).read_text()), 3)
    os.remove(count)
    check_equal(harness(body.format("if_=[]", 3)).status, 1)
    check_equal(len(pathlib.Path(count).read_text()), 1)


def test_a_host_that_takes_the_cpus_gives_more_tries():
    count = os.path.abspath("count")
    body = f"import harness\ncalls = []\n" \
           f"def much():\n    calls.append(1)\n    return len(calls) * 10**12\n" \
           f"harness._steal_ns = much\n" \
           f"def test_a():\n    with open({count!r}, 'a') as to:\n        to.write('x')\n" \
           f"    with measured():\n        check(len(open({count!r}).read()) >= {{}}, 'too few')\n"
    result = harness(body.format(8))
    check_equal(result.status, 0)
    check_equal(result.out.count("too few (the host took "), 5, result)
    check_equal(result.lines[-1], "of 1 tests 0 were skipped, 7 retried")
    os.remove(count)
    check_equal(harness(body.format(9)).status, 1)
    check_equal(len(pathlib.Path(count).read_text()), 8)


def test_nothing_else_is_tried_again():
    count = os.path.abspath("count")
    for line in "check_equal(1, 2)", "wait_until(lambda: False, 0.02)", "raise KeyError(1)":
        body = f"def test_a():\n    with open({count!r}, 'a') as to:\n        to.write('x')\n" \
               f"    with measured():\n        check_equal(1, 1)\n    {line}\n"
        check_equal(harness(body).status, 1)
        check_equal(len(pathlib.Path(count).read_text()), 1)
        os.remove(count)
    result = harness("def test_a():\n    with measured():\n        raise KeyError(1)\n")
    check_equal((result.status, len(result.lines)), (1, 1), "an error is no figure")


def test_what_commands_see():
    script = "trap '' PIPE INT; exec \"$@\""
    body = "def test_a():\n    print(run(['sh', '-c', 'env; pwd; cat; grep SigIgn /proc/self/status']).ok().out)\n"
    head = HEAD.format(path=os.path.dirname(sys.modules["harness"].__file__))
    pathlib.Path("sample.py").write_text(head + body + TAIL)
    result = run(["sh", "-c", script, "sh", sys.executable, "-B", "sample.py"], input="not for the command\n",
                 env={"PINJECT_BUILD": BUILD, "LD_PRELOAD": "", "NO_COLOR": "1", "COLUMNS": "40", "PINJECT_X": "1",
                      "PAGER": "more"})
    check_equal(result.status, 0, result)
    check_match(r"^SigIgn:\s+0+$", result.out)
    for name in ("LD_PRELOAD", "NO_COLOR", "COLUMNS", "PINJECT_", "PAGER", "not for"):
        check(name not in result.out, f"{name} reaches the command:\n{result.out}")
    check_in("LC_ALL=C.UTF-8", result.out)


def test_cleans_up():
    body = ("def test_a():\n    os.makedirs('a/b')\n    os.chmod('a', 0)\n    start(['sleep', '1000'])\n"
            "    print(os.getcwd())\n")
    result = harness(body).ok()
    directory = result.lines[0]
    check(directory.endswith("/work"), directory)
    check(not os.path.exists(os.path.dirname(directory)), "the directory is still there")


def test_what_passed_is_recorded():
    """Of the try that passed, and of no other test function."""
    body = """
tries = []

def test_a():
    tries.append(1)
    check_equal(1, 1)
    figure(f"try {len(tries)}")
    with measured():
        check(len(tries) == 2, "too early")

def test_b():
    check_near(1, 1, points=0)

def test_c():
    figure("never shown")
    check(False)

def test_d():
    skip("no reason")
"""
    pathlib.Path("sample.py").write_text(HEAD.format(path=os.path.dirname(sys.modules["harness"].__file__)) + body + TAIL)
    done = run([sys.executable, "sample.py"], env={"PINJECT_BUILD": BUILD, "PYTHONDONTWRITEBYTECODE": "1",
                                                   "PINJECT_MEASURED": os.path.abspath("measured")})
    check_equal(done.status, 1)
    rows = [json.loads(line) for line in pathlib.Path("measured").read_text().splitlines()]
    check_equal(rows, [{"test": "sample:test_a", "comparisons": 2, "figures": ["try 2"]},
                       {"test": "sample:test_b", "comparisons": 1, "figures": []}])


def test_tasks_that_were_not_seen():
    for line, tries in (("not seen (3 times): thread exited before its events were open", 3), ("91 tasks", 1)):
        result = harness(f"import harness\nharness._steal_ns = lambda: 0\ndef test_a():\n    print('try')\n"
                         f"    all_seen(Result(['x'], 0, b'', b'pinject-run: {line}\\n', 0))\n")
        check_equal((result.status, result.out.count("try\n")), (int(tries > 1), tries), result)


if __name__ == "__main__":
    main()
