# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
# timeout: 300
"""perf record --call-graph dwarf: the stacks that perf script unwinds of the same file; where it fails, whole ones."""
from harness import *

EVENT = "task-clock:u"
SHARE = 0.99


def need_dumps():
    need("perf")
    need_perf_events()
    need_unwinding()


def record(name, program, dump=8192, options=(), **kw):
    run(["perf", "record", "-q", "-N", "-F", "2000", "-e", EVENT, "--call-graph", f"dwarf,{dump}", *options, "-o", name,
         "--", *program], **kw).ok()


def stacks(text):
    """{heading: [frame]}, each frame without its address."""
    found = {}
    for part in re.sub(r"^(\S.* \d+/\d+) \[\d+\] ", r"\1 ", text, flags=re.MULTILINE).split("\n\n"):
        lines = [" ".join(line.split()) for line in part.splitlines()]
        # perf adds the address -1 where it cannot go on.
        frames = [line.split(" ", 1) for line in lines[1:] if not line.startswith("ffffffffffffffff ")]
        if lines:
            # Where the machine stood still for a moment several timers expire in one microsecond.
            while lines[0] in found:
                lines[0] += "'"
            found[lines[0]] = [(address, re.sub(r"\+0x[0-9a-f]+ ", " ", rest)) for address, rest in frames]
    return found


def ours(name, *options):
    return stacks(panalyze("script", *options, name).ok().out)


def theirs(name):
    fields = "comm,pid,tid,time,period,event,ip,sym,symoff,dso"
    return stacks(run(["perf", "script", "-i", name, "--no-inline", "-F", fields]).ok().out)


def lost(name):
    """What perf record could not keep up with: where a mapping is lost each of us guesses in his own way."""
    return panalyze_json("--aggregate", name)["total"]["lost"]


def places(frames, callers_less):
    """The addresses of FRAMES; of callers perf shows one less than the return address."""
    return [int(address, 16) - (callers_less if i else 0) for i, (address, _) in enumerate(frames)]


def agree(name):
    """How many samples have the chain that perf has, address for address; heading and stacks of each other one."""
    mine, other = ours(name), theirs(name)
    check_equal(sorted(mine), sorted(other), "samples")
    chains = {at: (places(mine[at], 1), places(other[at], 0)) for at in other}
    same = [at for at, (a, b) in chains.items() if a and a == b]
    bottoms = {mine[at][-1] for at in same}
    # Perf gives up where a saved register was popped already, or goes on with an address in the stack: ours begins as
    # perf's then, and ends where others do.
    for at, (_, b) in chains.items():
        while len(b) > 1 and other[at][len(b) - 1][1].endswith(" ([stack])"):
            b.pop()
    longer = [at for at, (a, b) in chains.items() if len(a) > len(b) and a[:len(b)] == b and mine[at][-1] in bottoms]
    return len(same), [(at, mine[at], other[at]) for at in other if at not in same and at not in longer]


def many_files():
    """What ls has work with, on every machine."""
    os.mkdir("many")
    for i in range(1000):
        open(f"many/{i * 7919 % 1000:03d}-of-a-thousand", "w").close()
    return ["many"] * 30


def test_as_perf_script():
    """One process in each file: of several perf 6.1 loses the outer frames of some."""
    need_dumps()
    programs = {
        "spin": [target("spin"), "60", "2"],
        "python": [os.path.realpath(sys.executable), "-S", "-E", "-c",
                   "import re\nfor i in range(200): re.compile('(a|b)*c' * 9 + str(i))"],
        "ls": ["/bin/ls", "-lR", *many_files()],
    }
    for name, program in programs.items():
        if not os.access(program[0], os.X_OK):
            continue
        for options in ((), ("-z",)):
            with open("out", "w") as out:
                record(name, program, dump=16384, options=options, stdout=out)
            with measured(if_=lost(name)):
                same, others = agree(name)
            # Of less than a hundred samples a single one is more than may differ.
            with measured(if_=lost(name) or same + len(others) < 100):
                check(same >= 10, f"{name}: only {same} samples agree, and not {others[:2]}")
                check(len(others) <= (1 - SHARE) * (same + len(others)),
                      f"{name} {options}: {same} agree, {len(others)} do not: {others[:2]}")


def is_bottom(at, frames):
    """A thread begins in libc with start_thread and clone3, which have no names without libc's debug symbols."""
    thread = re.search(r" (\d+)/(\d+) ", at)
    if thread[1] == thread[2]:
        return frames[-1][1].startswith("_start ")
    return frames[-3][1].startswith("spin_thread ") and "/libc.so" in frames[-1][1]


def bottoms(found, comm="spin"):
    """How many stacks of our program reach the bottom, of how many."""
    mine = {at: frames for at, frames in found.items() if at.startswith(comm + " ") and f"/{comm})" in frames[0][1]}
    return sum(is_bottom(at, frames) for at, frames in mine.items()), len(mine)


def test_every_process():
    """Several processes and threads, in a file and in a pipe: all the way down in each of them."""
    need_dumps()
    program = ["sh", "-c", f"{target('spin')} 20 2; {target('spin')} 20; exec {target('spin')} 20"]
    record("file", program)
    with open("pipe", "wb") as out:
        run(["perf", "record", "-q", "-F", "2000", "-e", EVENT, "--call-graph", "dwarf", "-o", "-", "--", "sh", "-c",
             f"exec >&2; {program[2]}"], stdout=out).ok()
    for name in ("file", "pipe"):
        reached, count = bottoms(ours(name))
        with measured():
            check(count >= 50, f"{name}: only {count} samples")
        with measured():  # the kernel copies only what is in memory at that moment
            check(reached >= SHARE * count, f"{name}: {reached} of {count} stacks reach the bottom")
        total = {f["symbol"]: f["total_percent"] for f in panalyze_json("--aggregate", name)["functions"]}
        with measured():
            check(total["main"] > 50 and total["spin_both"] > 80, total)


def test_symfs():
    """Programs and libraries elsewhere than they ran."""
    need_dumps()
    shutil.copy(target("spin-nofp"), "moved")
    record("dumps", [os.path.abspath("moved"), "30"])
    here = ours("dumps")
    reached, count = bottoms(here, "moved")
    with measured():
        check(count >= 20, f"{count} samples")
    with measured():
        check(reached >= SHARE * count, (reached, count))
    used = [re.search(r"\((/.*)\)$", frame) for frames in here.values() for _, frame in frames]
    for path in {one[1] for one in used if one}:
        os.makedirs(os.path.dirname("root" + path), exist_ok=True)
        shutil.copy(path, "root" + path)
    os.unlink("moved")
    check_equal(ours("dumps", "--symfs", os.path.abspath("root")), here)
    # Without it the way ends where the program's own tables are missing, and that is said.
    check_match(r"Note: \d+ of \d+ stacks could not be unwound completely", panalyze("--aggregate", "dumps").ok().out)
    # A program with another build-id has other tables: they are not used.
    without = ours("dumps")
    content = bytearray(open(target("spin-nofp"), "rb").read())
    note = content.find(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")
    check(note > 0, "no build-id")
    content[note + 16] ^= 1
    open("moved", "wb").write(content)
    check_equal(ours("dumps"), without)
    check(bottoms(without, "moved")[0] == 0, list(without.items())[:1])


def test_too_small_dumps():
    need_dumps()
    record("small", [os.path.realpath(sys.executable), "-S", "-E", "-c",
                     "def deep(n): return sum(map(deep, [n - 1])) if n else sum(i * i for i in range(400000))\n"
                     "deep(60)"], dump=512)
    note = check_match(r"Note: (\d+) of (\d+) stacks are deeper than the part of the stack that was recorded",
                       panalyze("--aggregate", "small").ok().out)
    document = panalyze_json("--aggregate", "small")
    # Samples that struck while the kernel put the program into place have no stack of user space.
    samples = document["total"]["samples"]
    check(0 < int(note[1]) <= int(note[2]) and samples - 2 <= int(note[2]) <= samples, f"{note[0]}, {samples} samples")
    check_in("are deeper than the part of the stack that was recorded", " ".join(document["coverage"]["notes"]))


if __name__ == "__main__":
    main()
