# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
# timeout: 180
# sanitize
"""How panalyze behaves as a program: commands, options, filters, terminal, pager, closed and full outputs."""
import fcntl
import pty
import select
import struct
import termios

from harness import *


def record(base="out", command=None):
    """Result files of a small tree: sh, which starts spin; (the names of the files)."""
    need_perf_events()
    command = command or ["sh", "-c", f"{target('spin')} 60; exit 3"]
    pinject_run("-q", "--follow-all", "-o", base, "--", *command)
    check_files(2, base)
    return results(base)


def on_terminal(*args, env=None, columns=80, command=None):
    """(status, text) of panalyze with a terminal of COLUMNS as stdout, and only there."""
    try:
        master, slave = pty.openpty()
    except OSError as error:  # a chroot without /dev/pts
        skip(f"no terminal: {error}")
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    attributes = termios.tcgetattr(slave)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    env = dict({"TERM": "xterm", "PAGER": "cat"}, **(env or {}))
    process = start(command or [PANALYZE, *args], env=env, stdout=slave, stderr=subprocess.PIPE)
    # The kernel may drop what was not read when the last holder closes it: we hold it, and mark the end.
    text, end = b"", None
    while end is None or not text.endswith(end):
        if select.select([master], [], [], 0.05)[0]:
            text += os.read(master, 65536)
        elif end is None and process.poll() is not None:
            end = b"\0end of the text\0"
            os.write(slave, end)
    os.close(slave)
    os.close(master)
    process.stderr.read()
    return process.wait(), text[:-len(end)].decode("utf-8", "backslashreplace")


def test_help_and_manual_name_the_same_options():
    text = panalyze("--help").ok().out
    ours = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.MULTILINE))
    manual = set(re.findall(r"--([a-z][a-z-]+)", "\n".join(
        line for line in (SOURCE / "docs/panalyze.md").read_text().splitlines() if line.startswith("| `-"))))
    check_equal(ours, manual, "options of --help and of docs/panalyze.md")
    commands = re.findall(r"^  ([a-z]+)  +\S", text, re.MULTILINE)
    check_equal((len(commands), len(set(commands))), (13, 13), "commands, each once")
    for command in commands:
        check_in(f"| `{command}` |", (SOURCE / "docs/panalyze.md").read_text(), "the manual's commands")
        if command != "help":
            check_in(f"Usage: panalyze {command}", panalyze(command, "--help").ok().out)
            check_equal(panalyze("help", command).ok().out, panalyze(command, "--help").ok().out)
    check(max(len(line) for line in text.splitlines()) <= 120, "lines of --help are too long")


def test_version():
    check_match(r"^panalyze \d+\.\d+\.\d+$", panalyze("--version").ok().out)


def test_commands_find_their_files():
    files = record()
    for args in (files, ["report", *files], ["."], ["report", "--aggregate"], ["--aggregate", "report", *files], []):
        result = panalyze(*args).ok()
        check_in("task-clock", result.out, args)
    check_in("reading 2 result files (out.*) in this directory", panalyze().err)
    check_equal(panalyze(*files).err, "")
    os.rename(files[0], "report")
    check_in("task-clock", panalyze("./report").ok().out)


def test_options_before_the_command():
    files = record()
    os.makedirs("other")
    for name in files:
        shutil.copy(name, "other")
    for options, command in ((["--by=stack"], ["diff", ".", "other"]), (["--sort=share"], ["diff", ".", "other"]),
                             (["--agg"], ["report", *files]), (["--top", "all", "-c", "spin"], ["tree", *files])):
        behind = panalyze(*command, *options).ok()
        check_equal(panalyze(*options, *command).ok().out, behind.out, options)
    result = panalyze("--by=stack", "report", *files)
    check_equal((result.status, result.out), (2, ""))
    check_in("option '--by' takes function|dso", result.err)


def test_without_file_takes_the_files_of_each_exec():
    need_perf_events()
    pinject_run("-q", "--exec-split-results", "--follow-all", "--", "sh", "-c", "ls >/dev/null; exec sleep 0").ok()
    with measured():  # on a busy machine ls may have ended before its events were open
        check_equal(len(os.listdir()), 3, "files")
    for name in ("out.1.2x", "out.1.2.", "out.1", "about.1.2.sh"):
        open(name, "w").close()
    check_in("reading 3 result files (out.*) in this directory", panalyze("tree").ok().err)
    os.mkdir("directory")
    os.rename(next(name for name in os.listdir() if name.endswith(".ls")), "directory/a.1.2.ls")
    check_in(" ls", panalyze("tree", "directory").ok().out)


def test_views_say_what_ran():
    files = record()
    tree = panalyze("tree", *files).ok().out
    root, child = [line for line in tree.splitlines() if re.match(r" *\d+\.\d+ (?!m?s elapsed)", line)]
    check_match(r" 3  (\* )?sh -c", root)  # it may have run last
    check_match(r" 0  └─ .*spin 60$", child)
    counts = panalyze("counts", *files).ok().out
    check_match(r"^ *[\d.]+ m?s +task-clock", counts)
    check_match(r"page-faults", counts)
    check_match(r"^CPU time .+, .+ attributed to tasks ", counts)  # or a little more than it: not "of it"
    script = panalyze("script", *files).ok().out
    check_match(r"^spin \d+/\d+ (\[\d+\] )?\d+\.\d{6}: \d+ task-clock\S*:\n\t +[0-9a-f]+ \S.* \(.*\)$", script)
    info = panalyze("info", *files).ok().out
    for name in files:
        check_match(rf"^{re.escape(name)}$", info)
    check_match(r"^  records +SAMPLE +\d+", info)
    check_in("| CPU time | share |", panalyze("summary", "--markdown", *files).ok().out)


def test_json_is_one_document():
    files = record()
    documents = [panalyze_json(*args, *files) for args in ([], ["--aggregate"], ["tree"], ["counts"])]
    for document in documents:
        check_equal(document["schema"], "pinject.report/1")
        check_equal(document["total"], documents[0]["total"])
        check_equal(document["functions"], documents[0]["functions"])
        check_equal(document["coverage"], documents[0]["coverage"])
        check_equal(sum(task["samples"] for task in document["tasks"]), document["total"]["samples"])
        check_equal(document["coverage"]["missed"], document["coverage"]["unseen"], "the older name")
        check_equal([task["exit"] for task in document["tasks"]], [3, 0])
        for task in document["tasks"]:
            members = "pid tid ppid exec comm cmdline start_ns end_ns exit samples lost source counts"
            check_equal(set(members.split()) - set(task), set())
            clock = next(count for count in task["counts"] if count["event"].startswith("task-clock"))
            check_equal(clock["value"], clock["counted"] + task["startup_ns"] + task["exit_ns"])
    check_near(sum(function["self_percent"] for function in documents[0]["functions"]), 100, points=0.1)
    check_equal(sum(f["self_samples"] for f in documents[0]["functions"]), documents[0]["total"]["samples"])


def test_json_has_what_by_asks_for():
    files = record()
    for by, key, label in (("dso", "objects", "dso"), ("address", "addresses", "address"),
                           ("process", "processes", "pid"), ("comm", "commands", "comm")):
        document = panalyze_json("--aggregate", "--by", by, *files)
        check_equal(sum(row["self_weight"] for row in document[key]), document["total"]["weight"], by)
        if by != "address":  # one for each place in the memory
            check_equal(len({row[label] for row in document[key]}), len(document[key]), by)
        text = panalyze("--aggregate", "--by", by, "--top=all", *files).ok().out
        check_equal(len(re.findall(r"^ *[\d.]+ % ", text, re.MULTILINE)), len(document[key]), by)
    dsos = {row["dso"]: row["self_weight"] for row in panalyze_json("-a", "--by=dso", *files)["objects"]}
    for function in panalyze_json("-a", *files)["functions"]:
        dsos[function["dso"]] -= function["self_weight"]
    check_equal(set(dsos.values()), {0}, "DSOs are the sums of their functions")


def test_filters():
    files = record()
    everything = panalyze_json("--aggregate", *files)
    spin = next(task for task in everything["tasks"] if task["comm"] == "spin")
    for option in (f"--pid={spin['pid']}", f"--tid={spin['tid']}", "--comm=spin", "--comm=sp*", f"-p1,{spin['pid']}"):
        document = panalyze_json("--aggregate", option, *files)
        check_equal([task["pid"] for task in document["tasks"]], [spin["pid"]], option)
        check_equal(document["total"]["samples"], spin["samples"], option)
    first = everything["functions"][0]
    for option in (f"--symbol={first['symbol']}", f"--dso={first['dso']}",
                   f"--object={os.path.basename(first['dso'])}"):
        document = panalyze_json("--aggregate", option, *files)
        check_equal(document["functions"][0], first, option)
        check(all(f["symbol"] == first["symbol"] or f["dso"] == first["dso"] for f in document["functions"]), option)
    check_equal(len(panalyze_json("--aggregate", "--top=2", *files)["functions"]), 2)
    few = panalyze_json("--aggregate", "--cum=10", *files)["functions"]
    check(few and sum(f["self_percent"] for f in few[:-1]) < 10 <= sum(f["self_percent"] for f in few), few)
    result = panalyze("--comm=nobody-is-called-so", *files)
    check_equal((result.status, result.out), (1, ""))
    check_in("no task matches", result.err)


def test_filter_that_finds_nothing():
    """A typing error is no answer: one line, nothing else, status 1."""
    files = record()
    for command in ("report", "-a", "-a --json", "--by=task", "--call-tree", "--by=dso", "--by=line",
                    "-a --by=inline", "--by=line --json", "summary", "script"):
        for option, what in (("--symbol=no_such*", "a function 'no_such*'"), ("--dso=no.so", "a DSO 'no.so'")):
            result = panalyze(*command.split(), option, *files)
            check_equal((result.status, result.out), (1, ""), f"{command} {option}: {result}")
            check_match(rf"^panalyze: no sampled stack passes through {re.escape(what)}; 'panalyze report ", result.err)
    result = panalyze("diff", "--symbol=no_such", ".", ".")
    check_equal((result.status, result.out), (1, ""))
    # Where only some tasks have it, the sections of the others are one line.
    both = f"{target('spin')} 60; {target('frames')} 600"
    pinject_run("-q", "--follow-all", "-o", "two", "--", "sh", "-c", both).ok()
    check_files(3, "two")
    text = panalyze("--per-task", "--symbol=leaf", *results("two")).ok().out
    check_equal(len(re.findall(r"^ *[\d.]+ % .* leaf$", text, re.MULTILINE)), 1, text)
    check_match(r"^in [12] other tasks?, nothing matches the filters$", text)


def test_by_and_trees():
    files = record()
    for by in ("function", "dso", "object", "task", "process", "comm", "address"):
        check_match(r"^ *[\d.]+ % ", panalyze("--aggregate", "--by", by, *files).ok().out, by)
    text = panalyze("--aggregate", "--callers", "--callees", "--top=3", *files).ok().out
    check_in("callers:", text)
    check_in("callees:", text)


def test_files_that_are_missing_are_told():
    names = record()
    check("of the run" not in panalyze("tree", *names).ok().out, "nothing is missing")
    root = panalyze_json("tree", *names)["tasks"][0]["file"]
    check_in(f"Only 1 of the {len(names)} result files of the run were read.", panalyze("tree", root).ok().out)


def test_width_of_the_terminal():
    files = record(command=["sh", "-c", f"{target('spin')} 30 # " + "x" * 300])
    for columns in (62, 100):
        status, text = on_terminal("tree", *files, columns=columns)
        check_equal(status, 0)
        plain = re.sub(r"\033\[\d+m", "", text)
        check(max(map(len, plain.split("\n"))) <= columns, f"{columns} columns:\n{plain}")
        check_in("...", plain)
    # On the narrowest one the name, which is the answer, has a line of its own.
    for command, name in (("tree", "sh -c"), ("report", "spin_a"), ("counts", "sh -c")):
        text = re.sub(r"\033\[\d+m", "", on_terminal(command, *files, columns=36)[1])
        # Not the columns, which begin with as many blanks where the numbers of processes have five digits.
        names = [line for line in text.split("\n") if re.match(r"    \S", line) and "  " not in line.strip()]
        check(names, text)
        check(max(map(len, names)) <= 36, f"{command}:\n{text}")
        check_match(rf"^    (\* )?{name}", text, command)  # * marks what ended last: the shell, where it came late
    status, text = on_terminal("tree", *files, columns=62, env={"COLUMNS": "200"})
    widest = max(map(len, re.sub(r"\033\[\d+m", "", text).split("\n")))
    check(62 < widest <= 200, f"COLUMNS is not heard: {widest} columns")
    check_in("x" * 300, panalyze("tree", *files, env={"COLUMNS": "60"}).ok().out, "without a terminal nothing is cut")


def test_colours():
    files = record()
    check_in("\033[", on_terminal(*files)[1])
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        check("\033" not in on_terminal(*files, env=env)[1], env)
    check("\033" not in on_terminal("--color=never", *files)[1])
    check("\033" not in panalyze(*files).ok().out)
    check_in("\033[", panalyze("--color=always", *files).ok().out)


def test_ascii_where_the_locale_is_not_utf8():
    files = record()
    check_in("└─", panalyze("tree", *files).ok().out)
    plain = panalyze("tree", *files, env={"LC_ALL": "C"}).ok()
    check(max(plain.out_bytes) < 0x80, plain.out)
    check_in("`- ", plain.out)


def test_pager_shows_the_output():
    files = record()
    status, text = on_terminal(*files, env={"PAGER": "sed s/^/PAGED:/"})
    check_equal(status, 0)
    check(all(line.startswith("PAGED:") for line in text.rstrip("\n").split("\n")), text)
    status, text = on_terminal(*files, env={"PAGER": "sed 's/^/PAGED:/' | cat"})
    check_in("PAGED:", text, "a pager for the shell")
    check("PAGED:" not in on_terminal("--no-pager", *files, env={"PAGER": "sed s/^/PAGED:/"})[1])
    check("PAGED:" not in panalyze(*files, env={"PAGER": "sed s/^/PAGED:/"}).ok().out, "paged without a terminal")


def test_default_pager():
    """less where it is installed, nothing where it is not: a short report appears, and nobody has to press a key."""
    files = record()
    status, text = on_terminal("--aggregate", "--top=1", *files, env={"PAGER": None}, columns=100)
    check_equal(status, 0)
    check_in("CPU time", text)


def test_output_survives_its_pager():
    """A pager that is missing or dies at once: the whole output appears, the status is that without a pager."""
    files = record()
    expected = on_terminal("script", *files)
    check_equal(expected[0], 0)
    with measured():
        check(len(expected[1]) > 1000, expected)
    with open("broken", "w") as to:
        to.write("#!/no/such/interpreter\n")
    os.chmod("broken", 0o755)
    killed = "sh -c 'kill -9 $$'"
    for pager in ("no-such-pager-anywhere", "/", "./broken", "no-such-pager | cat", "exit 127; cat", "false", "true",
                  "exit 1;", killed):
        check_equal(on_terminal("script", *files, env={"PAGER": pager}), expected, f"PAGER={pager}")
    check_equal(on_terminal("script", *files, env={"PAGER": ""}), expected, "empty PAGER")


def test_pager_that_is_quit_early():
    """The user has seen enough: no message, no signal, whatever is left to write."""
    files = record()
    status, text = on_terminal("script", *files, env={"PAGER": "head -n 1"})
    check_equal(status, 0)
    check_equal(len(text.rstrip("\n").split("\n")), 1)


def test_sigpipe_inherited_either_way():
    files = record()
    for action in ("", "trap '' PIPE; "):
        command = ["sh", "-c", f'{action}exec "$0" "$@"', PANALYZE, "script", *files]
        unread, closed = os.pipe()
        os.close(unread)
        process = start(command, stdout=closed)
        os.close(closed)
        check_equal((process.wait(), process.stderr.read()), (141, b""), f"closed pipe, {action!r}")
        command = ["sh", "-c", f'{action}exec "$0" "$@"', PANALYZE, *files]
        check_equal(on_terminal(command=command, env={"PAGER": "false"})[0], 0)


def test_full_disk_and_closed_stdout():
    files = record()
    for args in (["--version"], ["--help"], files, ["tree", *files], ["script", *files], ["--json", *files],
                 ["info", *files]):
        with open("/dev/full", "wb") as full:
            result = run([PANALYZE, *args], stdout=full)
        check_equal(result.status, 1, f"/dev/full, {args}")
        check_match(r"^panalyze: the output could not be written: No space left on device$", result.err)
        result = run(["sh", "-c", 'exec "$0" "$@" >&-', PANALYZE, *args])
        check_equal(result.status, 1, f"closed stdout, {args}")
        check_in("could not be written", result.err)


if __name__ == "__main__":
    main()
