# SPDX-License-Identifier: MIT
# labels: preload transparent
# timeout: 600
"""Programs print what they see of themselves, case by case: the same text, status and stderr with and without pinject.

What a program can see of pinject is in docs/TRANSPARENCY.md; each line there has its check here.
"""
from harness import *

# Where children are followed, environments hold these two: an entry as the programs print it, or a line of env.
SESSION = re.compile(r" \[PINJECT_SESSION=[^\]]*\]|^PINJECT_SESSION=.*\n", re.MULTILINE)
OURS = re.escape(PRELOAD)
ALONE = re.compile(rf" \[LD_PRELOAD={OURS}\]|^LD_PRELOAD={OURS}\n", re.MULTILINE)
# Each way: the words before the command, and what its environment has besides.
WAYS = {
    "threads": ([PINJECT_RUN, "-q", "--follow=none", "--"], {}),
    "all": ([PINJECT_RUN, "-q", "--follow-all", "--"], {}),
    "split": ([PINJECT_RUN, "-q", "--follow-fork", "--follow-exec", "--exec-split-results", "--"], {}),
    "bare": ([], {"LD_PRELOAD": PRELOAD, "PINJECT_FOLLOW": "none"}),
    "bare all": ([], {"LD_PRELOAD": PRELOAD, "PINJECT_FOLLOW": "all"}),
}
WAYS = ways_of_user(WAYS, "all", "bare")
# In these ways there is a result file in the working directory, whatever the program does there.
PROVED = {"threads", "all", "split", "bare", "bare all"}
# These are started by others of the same program.
INNER = {"inner-without", "last", "pending-after-exec", "inside"}


def in_fresh_directory(before, command, env):
    """Its files are not ours: each run begins with nothing. A shell starts it, or starts pinject-run."""
    words = [f"{name}={value}" for name, value in env.items() if value]
    command = ["sh", "-c", '"$@"; exit $?', "sh", *before, *(["env", *words] if words else []), *command]
    directory = pathlib.Path(tempfile.mkdtemp(dir="."))
    if not IS_ROOT:
        directory.chmod(0o755)
    return run(command, cwd=directory, timeout=60), directory


def results_in(directory):
    return [name for name in os.listdir(directory) if re.match(r"out\.\d+\.\d+", name)]


def clean(result, way, directory):
    text = result.out.replace(str(directory.resolve()), "DIRECTORY")
    if way in ("all", "split", "bare all"):
        text = ALONE.sub("", SESSION.sub("", text)).replace(f"LD_PRELOAD={PRELOAD}:", "LD_PRELOAD=")
        text = text.replace(f"LD_PRELOAD is {PRELOAD}\n", "LD_PRELOAD is not set\n")
    return result.status, text, result.err


def first_difference(ours, alone):
    import difflib
    lines = difflib.unified_diff(f"status {alone[0]}\n{alone[1]}{alone[2]}".splitlines(),
                                 f"status {ours[0]}\n{ours[1]}{ours[2]}".splitlines(), "alone", "profiled", n=1,
                                 lineterm="")
    return "\n".join(list(lines)[:40])


def alone(command, more, what):
    """COMMAND without us, with what of MORE is not ours."""
    result, directory = in_fresh_directory([], command, {"PINJECT_FOLLOW": more.get("PINJECT_FOLLOW")})
    check(result.status == 0 and "end of" in result.out, f"{what} alone: {result}")
    return clean(result, "", directory)


def profiled(command, way):
    before, more = WAYS[way]
    result, directory = in_fresh_directory(before, command, more)
    if "bare" in way:
        run([PINJECT_RUN, "--wait"], cwd=directory, timeout=60)
    with measured(if_="bare" in way):  # who starts the collector waits two seconds at most, and goes on without it
        check(results_in(directory) or way not in PROVED, f"{way}: not profiled: {result}")
    return clean(result, way, directory)


def compare(command, what, ways=WAYS, expect=lambda text, way: text):
    """COMMAND in every way. Returns the ways in which it differed, with the difference."""
    found, before = [], {}
    for way in ways:
        follow = WAYS[way][1].get("PINJECT_FOLLOW")
        if follow not in before:
            before[follow] = alone(command, WAYS[way][1], what)
        status, out, err = before[follow]
        ours = profiled(command, way)
        expected = status, expect(out, way), err
        if ours != expected:
            found.append(f"{what}, {way}:\n{first_difference(ours, expected)}")
    return found


def nobody_reaches(path):
    return run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "test", "-r", path]).status == 0


def table(program, *left_out):
    """Every case of PROGRAM but those that have a test of their own: in all ways (PINJECT_LONG=1), or followed by all
    means and in one of the other ways, by turns."""
    need_perf_events()
    names = run([target(program), "list"]).ok().lines
    check(set(left_out) <= set(names), f"{program} has no case {set(left_out) - set(names)}")
    found = []
    others = [way for way in WAYS if way != "all"]
    # Who becomes another user, and cannot reach the preload object any more, hears of it from ld.so:
    # docs/TRANSPARENCY.md.
    if IS_ROOT and "user" in names and not nobody_reaches(PRELOAD):
        left_out = [*left_out, "user"]
    for number, name in enumerate(names):
        if name not in INNER and name not in left_out:
            ways = WAYS if LONG or not others else ["all", others[number % len(others)]]
            found += compare([target(program), name], f"{program} {name}", ways)
    check(not found, f"{len(found)} differ\n" + "\n".join(found))


def test_views():
    table("see-self", "vectors", "auxv", "dsos", "maps", "size", "parent", "children-usage")


def test_descriptors():
    table("see-descriptors")


def test_memory():
    table("see-memory")


def test_signals():
    table("see-signals")


def test_processes():
    table("see-process")


def test_starts():
    table("see-start")


def test_own_functions():
    table("see-own")


def test_filters():
    table("see-filter")


# ---- what can be seen of us: docs/TRANSPARENCY.md

def seen(case, expect, ways=WAYS):
    """The case differs in exactly the way in which EXPECT changes the text of a run without us."""
    need_perf_events()
    found = compare([target("see-self"), case], case, ways, expect)
    check(not found, "\n".join(found))


def test_seen_dsos():
    def expect(text, way):
        text = text.replace("dso libc.so.6", "dso libpinject.so tls 0\ndso libc.so.6", 1)
        return re.sub(r"dsos: (\d+)", lambda found: f"dsos: {int(found[1]) + 1}", text)
    seen("dsos", expect)


def test_seen_mappings():
    need_perf_events()
    lines = lambda done: set(done[1].splitlines())
    command = [target("see-self"), "maps"]
    for way in WAYS:
        more = lines(profiled(command, way)) - lines(alone(command, WAYS[way][1], ""))
        check_equal({re.sub("[0-9a-f]{32}([.][0-9]+[.][0-9]+)?$",
                            lambda found: "ID" + (found[1] and ".UID.NAME" or ""), line) for line in more},
                    {"map  libpinject.so", "map r--s pinject-ID", "map rw-s pinject-ID.UID.NAME"}, way)


def test_seen_size():
    need_perf_events()
    size = lambda done: int(check_match(r"VmSize:\s+(\d+) kB", done[1])[1])
    command = [target("see-self"), "size"]
    for way in WAYS:
        more = size(profiled(command, way)) - size(alone(command, WAYS[way][1], ""))
        check(0 < more <= 2048, f"{way}: {more} kB more")


def test_seen_parent():
    seen("parent", lambda text, way: text if "bare" in way else text.replace("\nsh\n", "\npinject-run\n"))


def test_seen_usage_of_children():
    # Whoever starts the collector of a bare LD_PRELOAD was a child that was waited for.
    need_perf_events()
    for way in WAYS:
        text = profiled([target("see-self"), "children-usage"], way)[1]
        check_equal("faults of children: 0\n" in text, "bare" not in way, (way, text))


def test_seen_vector_of_environ():
    # environ of a bare LD_PRELOAD that follows children is a vector with two entries from elsewhere.
    seen("vectors", lambda text, way: text.replace("gaps 0", "gaps 2") if way == "bare all" else text)


def test_seen_auxiliary_vector():
    """By who walks on from the end of envp, as getauxval() and /proc/self/auxv do not."""
    def expect(text, way):
        if "bare" in way:
            return "end of auxv\n"
        return text if way == "all" else "auxv 1: 0\n" + text
    seen("auxv", expect)


if __name__ == "__main__":
    main()
