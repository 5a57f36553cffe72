# SPDX-License-Identifier: MIT
# labels: collector
# timeout: 200
"""--call-graph dwarf: each chain is the one that the program itself recorded, frame by frame."""
import struct

from harness import *

SAMPLE, MMAP2, USER, KERNEL = 9, 10, 2**64 - 512, 2**64 - 128
CONTEXTS = 2**64 - 4096
BURN_MS = "80"
CXX = r"""
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <execinfo.h>
extern "C" char __start_burn_text[], __stop_burn_text[];
static volatile unsigned long sink;
static long used()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
__attribute__((noinline, noclone, section("burn_text"))) static void burn(const char *name)
{
    void *frames[200];
    int count = backtrace(frames, 200);
    printf("chain %s", name);
    for (int i = 1; i < count; i++)
        printf(" %p", frames[i]);
    printf("\n");
    for (long end = used() + 80; used() < end;)
        for (unsigned long i = 0; i < 200000; i++)
            sink += i * i;
}
struct Guard {
    const char *name;
    ~Guard() { if (name) burn(name); sink++; }
};
__attribute__((noinline)) static int descend(int depth, const char *name)
{
    Guard guard = {depth == 3 ? name : nullptr};
    if (depth == 0)
        throw std::runtime_error("bottom");
    return descend(depth - 1, name) + depth;
}
__attribute__((noinline)) static void attempt(const char *in_destructor, const char *in_catch)
{
    try {
        sink += descend(6, in_destructor);
    } catch (const std::exception &error) {
        if (in_catch)
            burn(in_catch);
        sink++;
    }
}
int main()
{
    printf("burn %p %p\n", (void *)__start_burn_text, (void *)__stop_burn_text);
    attempt("destructor", nullptr);
    attempt(nullptr, "catch");
    burn("plain");
    for (int i = 0; i < 2000; i++)
        attempt(nullptr, nullptr);
    return 0;
}
"""


def need_dumps():
    need_perf_events()
    need_unwinding()


def enough(samples, least, what=""):
    """A host that takes the CPU away takes samples with it: the kernel's clock does not tick meanwhile."""
    with measured():
        check(samples >= least, f"{samples} samples{what}")


def records(path):
    """(type, misc, bytes) of each record."""
    data = pathlib.Path(path).read_bytes()
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    while at + 8 <= end:
        kind, misc, length = struct.unpack_from("<IHH", data, at)
        yield kind, misc, data[at:at + length]
        at += length


def user_chains(paths):
    """The part in user space of each sample, leaf first."""
    for path in paths:
        for kind, _, record in records(path):
            if kind != SAMPLE:
                continue
            count = struct.unpack_from("<Q", record, 48)[0]
            chain = struct.unpack_from(f"<{count}Q", record, 56)
            check_equal(len(record), 56 + 8 * count, "bytes of a sample: nothing but a chain")
            if USER in chain:
                part = chain[chain.index(USER) + 1:]
                check(all(ip < CONTEXTS for ip in part), f"a mark within the user's part: {part}")
                yield part


def parse_truth(text):
    """What a program recorded: {name: return addresses above burn()}, and where burn() lies."""
    truth, burn = {}, None
    for line in text.splitlines():
        words = line.split()
        if words[0] == "burn":
            burn = [int(word, 16) for word in words[1:]]
        else:
            truth[words[1]] = tuple(int(word, 16) for word in words[2:])
    return truth, burn


def profile(*kinds, how="dwarf", options=(), ms=BURN_MS, program=None):
    env = {"PLUGIN": str(TARGETS / "stacks-plugin.so")}
    result = pinject_run("-F", "999", "-g", how, *options, "--", program or target("stacks"), ms, *kinds, env=env).ok()
    truth, burn = parse_truth(result.out)
    check_equal(sorted(truth), sorted(set(kinds) - {"unlink"}), "kinds that were run")
    return result, truth, burn


def chains_above(burn, paths):
    """Of each sample in burn() or below it, what is above burn()."""
    for chain in user_chains(paths):
        for i, ip in enumerate(chain):
            if burn[0] <= ip < burn[1]:
                yield chain[i + 1:]
                break


def is_right(chain, truth):
    """In the function that calls generated code the witness was asked a few instructions earlier."""
    near = truth[0] % 4096 in (6, 12) and len(chain) > 1 and 0 < chain[1] - truth[1] < 256
    return chain == truth or (near and chain[:1] + chain[2:] == truth[:1] + truth[2:])


def few_cut(cut, chains):
    """The kernel copies only what is in memory at that moment, and waits for no page: a chain ends early then."""
    with measured():
        check(not cut, f"{cut} of {chains} end early")


def check_kind(kind, how="dwarf"):
    need_dumps()
    result, truth, burn = profile(kind, how=how)
    right = wrong = cut = 0
    for chain in chains_above(burn, results()):
        same = is_right(chain, truth[kind])
        early = not same and chain == truth[kind][:len(chain)]
        right += same
        cut += early
        wrong += not same and not early
        if not same and wrong + cut < 3:
            print("wrong:", [hex(ip) for ip in chain], "instead of", [hex(ip) for ip in truth[kind]])
    print(f"{kind}: {right} right, {wrong} wrong, {cut} cut")
    # The instant before burn() has printed its chain is in it too, and so is what it calls for that.
    check_equal(wrong, 0, "wrong chains")
    few_cut(cut, right + cut)
    enough(right, 20, f" with the chain of {kind}")
    return result


def test_recursion_inlined_and_tail_called():
    check_kind("recursion")


def test_recursion_auto():
    check_kind("recursion", how="auto")


def test_callback_of_libc():
    check_kind("callback")


def test_signal_handler():
    check_kind("handler")


def test_thread():
    check_kind("thread")


def test_loaded_library():
    """Stacks through it, and the names of its functions."""
    check_kind("loaded")
    found = [row for row in panalyze_json("report", "--aggregate", "--top", "all", *results())["functions"]
             if row["dso"] == str(TARGETS / "stacks-plugin.so")]
    named = {row["symbol"]: row["total_samples"] for row in found}
    enough(named.get("plugin_call", 0), 20, f" in plugin_call: {found}")


def test_generated_code():
    check_kind("generated")


def test_exceptions_of_cxx():
    """In a catch block, in a destructor while the stack is unwound, and in functions that may be thrown through."""
    need_dumps()
    need("g++")
    pathlib.Path("throw.cpp").write_text(CXX)
    run(["g++", "-O2", "-fomit-frame-pointer", "-o", "throw", "throw.cpp"]).ok()
    result = pinject_run("-F", "999", "-g", "dwarf", "--", "./throw").ok()
    truth, burn = parse_truth(result.out)
    check_equal(sorted(truth), ["catch", "destructor", "plain"], "kinds that were run")
    seen, cut = {name: 0 for name in truth}, 0
    for chain in chains_above(burn, results()):
        names = [name for name in truth if truth[name] == chain]
        early = not names and any(known[:len(chain)] == chain for known in truth.values())
        check(names or early, f"nobody recorded {[hex(ip) for ip in chain]}; known are {truth}")
        cut += early
        if names:
            seen[names[0]] += 1
    print(seen, cut)
    few_cut(cut, sum(seen.values()) + cut)
    enough(min(seen.values()), 20, f": {seen}")


def test_deeper_than_the_dump():
    """The chain is the true one as far as it goes, and the summary says how many end early."""
    need_dumps()
    result, truth, burn = profile("deep", how="dwarf,4096")
    seen = short = 0
    for chain in chains_above(burn, results()):
        seen += 1
        known = truth["deep"][:len(chain)] # the witness has an end of its own
        check_equal(chain[:len(known)], known, "the chain as far as it goes")
        check(len(chain) < 1000, f"{len(chain)} frames")
        short += len(chain) <= 10
    enough(seen, 20)
    # The kernel copies only what is in memory at that moment, and waits for no page.
    with measured():
        check(short * 20 <= seen, f"{short} of {seen} have 10 frames or fewer")
    check_match(r"(\d+) truncated", result.err)
    told = int(re.search(r"(\d+) truncated", result.err).group(1))
    check(told >= seen, f"{told} are told, {seen} were seen")
    check_in(f"{told} truncated", panalyze(*results()).out, "what panalyze says")


def test_dump_by_name():
    """Programs whose like were cut have more: the first ends early, a later one, after some dozen samples, does not."""
    need_dumps()
    runs = " && ".join(f"{target('stacks')} 20 tall" for _ in range(4))
    result = pinject_run("-F", "999", "--sampler=task", "--follow-all", "-g", "dwarf", "--", "sh", "-c", runs).ok()
    found = int(re.search(r"(\d+) call stacks unwound", result.err).group(1))
    with measured():  # on a busy machine the four take more CPU time, and samples
        check(found < 128, f"{found} samples: so many that all programs would have more")
    whole = []
    for text in result.out.split("burn ")[1:]:
        truth, burn = parse_truth("burn " + text)
        chains = list(chains_above(burn, results()))
        enough(len(chains), 10)
        whole.append(sum(chain == truth["tall"] for chain in chains) / len(chains))
        check(all(chain == truth["tall"][:len(chain)] for chain in chains), "chains as far as they go")
    print(whole)
    check_equal(whole[0], 0, f"shares of chains that are whole: {whole}")
    with measured():  # a busy collector learns late of the first ones' samples
        check_equal(whole[-1], 1, f"shares of chains that are whole: {whole}")


def test_files_are_small():
    """Chains, no dumps: perf reads them as any others."""
    need_dumps()
    profile("recursion")
    samples = sum(1 for _ in user_chains(results()))
    size = sum(os.path.getsize(path) for path in results())
    check(size < 40000 + samples * 700, f"{size} bytes for {samples} samples")
    need("perf")
    shown = run(["perf", "script", "-F", "ip", "-i", *results()]).ok().out
    frames = sum(len(chain) for chain in user_chains(results()))
    check(len(shown.split()) >= frames, f"perf shows all {frames} frames")


def test_auto_takes_frame_pointers_that_prove_right():
    """All of it has frame pointers: after some samples tables are asked for now and then; the chains are the same."""
    need_dumps()
    result = pinject_run("-g", "auto", "-F", "2000", "--", target("frames"), "6000").ok()
    taken = re.search(r"(\d+) by frame pointer \(the process has frame pointers", result.err)
    enough(int(taken.group(1)) if taken else 0, 101, f" by frame pointer: {result.err}")
    outermost = [chain[-1] & 0xfff for chain in user_chains(results())]
    with measured():  # but for what the loader did
        check(outermost.count(max(set(outermost), key=outermost.count)) > 0.95 * len(outermost), "all chains end alike")


def entry_of(path, cache={}):
    """Entry point and executable segments of an ELF file: (entry, [(offset, address, size)])."""
    if path not in cache:
        with open(path, "rb") as file:
            header = file.read(64)
            entry, at = struct.unpack_from("<QQ", header, 24)
            size, count = struct.unpack_from("<HH", header, 54)
            file.seek(at)
            table = file.read(size * count)
        heads = [struct.unpack_from("<IIQQQQQQ", table, i * size) for i in range(count)]
        cache[path] = entry, [(head[2], head[3], head[5]) for head in heads if head[0] == 1 and head[1] & 1]
    return cache[path]


def is_entry(ip, maps):
    for start, length, offset, path in reversed(maps):
        if not start <= ip < start + length:
            continue
        if not path.startswith("/") or not os.path.exists(path):
            return False
        entry, segments = entry_of(path)
        place = ip - start + offset
        return any(at <= place < at + size and 0 <= place - at + address - entry < 64 for at, address, size in segments)
    return False


def reaches_bottom(path):
    """(samples with a user's part, those that end at the entry point of their program or of its loader)"""
    maps, seen, reached = [], 0, 0
    for kind, misc, record in records(path):
        if kind == MMAP2:
            start, length, offset = struct.unpack_from("<QQQ", record, 16)
            maps.append((start, length, offset, record[72:].split(b"\0")[0].decode(errors="replace")))
    for chain in user_chains([path]):
        seen += 1
        reached += is_entry(chain[-1], maps)
    return seen, reached


def reach_the_bottom(result):
    """95 % of the call stacks, by the summary. How many there are."""
    with measured():
        found = check_match(r"(\d+) call stacks unwound, ([\d.]+) % complete", result.err)
        print(found[0])
        check(float(found[2]) >= 95, result.err)
    return int(found[1])


def test_build_reaches_the_bottom():
    """A compiler without frame pointers, and without symbols."""
    need_dumps()
    need("gcc", "make")
    for i in range(10):
        pathlib.Path(f"part{i}.c").write_text(
            "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n" +
            "".join(f"int f{i}_{j}(int a) {{ char b[64]; snprintf(b, 64, \"%d\", a); for (int i = 0; i < a; i++) "
                    f"if (i % 7 == {j % 7}) a += atoi(b) * i; else a ^= (int)strlen(b) + {j}; return a; }}\n"
                    for j in range(30)))
    objects = " ".join(f"part{i}.o" for i in range(10))
    pathlib.Path("Makefile").write_text(f"all: {objects}\n%.o: %.c\n\tgcc -O2 -g -c -o $@ $<\n")
    result = pinject_run("-F", "999", "--follow-all", "-g", "dwarf,32768", "--", "make", "-j2").ok()
    print(result.err)
    counts = [reaches_bottom(path) for path in results()]
    seen, reached = sum(count[0] for count in counts), sum(count[1] for count in counts)
    print(f"{reached} of {seen} chains reach an entry point")
    enough(seen, 101)
    with measured():
        check(reached >= 0.95 * seen, f"{reached} of {seen} chains reach an entry point")
    reach_the_bottom(result)


def perf_shapes(text):
    """(leaf, depth) of the samples whose leaf is in user space, by perf."""
    shapes = {}
    for sample in text.split("\n\n"):
        lines = [line.split() for line in sample.splitlines() if line.strip()]
        if lines and len(lines[0][0]) < 16:
            shape = lines[0][1], len(lines)
            shapes[shape] = shapes.get(shape, 0) + 1
    return shapes


def script(path):
    return perf_shapes(run(["perf", "script", "--no-inline", "-F", "ip,sym", "-i", path]).ok().out)


def test_shapes_are_perfs():
    """Leaf and depth are distributed as in perf's own unwinding of the same program. How its kinds share the time is
    not compared: a host that takes the CPU away for a while makes one of them longer."""
    need_dumps()
    need("perf")
    kinds = ("recursion", "callback", "loaded")
    profile(*kinds, ms="300")
    (path,) = results()
    ours = script(path)
    env = {"PLUGIN": str(TARGETS / "stacks-plugin.so")}
    record = ["perf", "record", "-q", "-F999", "-e", "task-clock:u", "--call-graph", "dwarf,16384", "-o", "perf.data"]
    run([*record, "--", target("stacks"), "300", *kinds], env=env).ok()
    theirs = script("perf.data")
    our_sum, their_sum = sum(ours.values()), sum(theirs.values())
    main = {shape for shape in theirs if theirs[shape] > 0.1 * their_sum}
    with measured():
        check_equal({shape for shape in ours if ours[shape] > 0.1 * our_sum}, main, "shapes that have over a tenth")
    our_main = sum(ours[shape] for shape in main) / our_sum
    their_main = sum(theirs[shape] for shape in main) / their_sum
    rest = (ours | theirs).keys() - main
    same = min(our_main, their_main) + sum(min(ours.get(shape, 0) / our_sum, theirs.get(shape, 0) / their_sum)
                                           for shape in rest)
    print(f"{our_sum} and {their_sum} samples, {same:.4f} alike; {our_main:.4f}, {their_main:.4f} in main shapes")
    with measured():
        check(same >= 0.98, f"only {same:.4f} are alike: {ours} and {theirs}")


def test_static_program():
    """Its samples come from outside, by the inherited set: they are unwound all the same."""
    need_dumps()
    reach_the_bottom(pinject_run("-F", "999", "--follow-all", "-g", "dwarf", "--", target("spin-static"), "300").ok())


def test_threads_from_their_first_moment():
    """In the system call that makes a thread libc has no table, neither for the one who calls nor for the new one."""
    need_dumps()
    storm = [target("threads-storm"), "500", "8", "30"]
    result = pinject_run("--follow-all", "-g", "dwarf", "-c", "20000", "--", *storm).ok()
    enough(reach_the_bottom(result), 200)


def test_bare_preload():
    need_dumps()
    env = {"LD_PRELOAD": PRELOAD, "PINJECT_CALL_GRAPH": "dwarf", "PINJECT_FREQ": "999", "PLUGIN": ""}
    run([target("stacks"), BURN_MS, "recursion"], env=env).ok()
    run([PINJECT_RUN, "--wait"]).ok()
    check_files(1)
    depths = [len(chain) for chain in user_chains(results())]
    enough(len(depths), 10)
    check(max(depths) > 10, f"{max(depths)} frames at most")


def test_timers_have_frame_pointers():
    deny = [target("seccomp-deny"), "--syscall", "perf_event_open", "--"]
    result = run([*deny, PINJECT_RUN, "-g", "dwarf", "--", target("spin"), "50"]).ok()
    check_equal(result.err.count("call stacks use frame pointers: unwinding"), 1, "how often it is said")


def test_wrong_sizes_are_refused():
    size = "invalid stack dump size"
    for how, said in (("dwarf,100", "512 to 61432"), ("dwarf,8k", "512 to 61432"), ("dwarf,", size),
                      ("dwarf,-8", size), ("dwarf,99999999999999999999", size),
                      ("fp,8192", "unknown call graph"), ("dwarfs", "unknown call graph"), ("", "unknown call graph")):
        result = pinject_run("-g", how, "--", "true")
        check_equal(result.status, 125, how)
        check_in(said, result.err, how)


def test_program_that_was_deleted():
    """It is not at its path any more when the first sample is looked at."""
    need_dumps()
    shutil.copy(target("stacks"), "gone")
    result, truth, burn = profile("unlink", "recursion", program=os.path.abspath("gone"))
    chains = list(chains_above(burn, results()))
    cut = [chain for chain in chains if chain != truth["recursion"] and chain == truth["recursion"][:len(chain)]]
    check_equal(set(chains) - set(cut) - {truth["recursion"]}, set(), "other chains")
    few_cut(len(cut), len(chains))
    enough(len(chains), 20)


if __name__ == "__main__":
    main()
