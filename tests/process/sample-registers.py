# SPDX-License-Identifier: MIT
# labels: figures
# timeout: 240
"""--user-regs and --intr-regs: the registers of each sample against those that the program set, as panalyze, perf script
and perf record show them, with each kind of call stack."""
from harness import *

# Each page has a fault while known numbers are in registers: r12 has i, r13 i + 1000, r14 the address, di 7.
PROGRAM = """#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) static void touch(char *at, uint64_t i)
{
    __asm__ volatile("mov %0, %%r12\\n mov %1, %%r13\\n mov %2, %%r14\\n mov $7, %%edi\\n movb $1, (%%r14)"
                     :: "r"(i), "r"(i + 1000), "r"(at) : "r12", "r13", "r14", "rdi", "memory");
}
int main(int argc, char **argv)
{
    long pages = argc > 1 ? atol(argv[1]) : 1, size = sysconf(_SC_PAGESIZE);
    char *p = mmap(0, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, pages * size, MADV_NOHUGEPAGE);
    printf("%p\\n", (void *)p);
    fflush(stdout);
    for (long i = 0; i < pages; i++)
        touch(p + i * size, i);
    return 0;
}
"""
# Without libc, which a 64-bit system may not have for it: di has i, si has 1000 - i at each page's fault.
PROGRAM_32 = """
static char area[100 * 4096] __attribute__((aligned(4096)));
void _start(void)
{
    for (int i = 0; i < 100; i++)
        __asm__ volatile("movb $1, (%%edx)" :: "D"(i), "S"(1000 - i), "d"(area + 4096 * i) : "memory");
    __asm__ volatile("int $0x80" :: "a"(1), "b"(0));
}
"""
PAGES = 100
EVENT = ["-c", "1", "-e", "page-faults:u"]
GROUP = ["-c", "1", "-e", "{page-faults:u,minor-faults:u}:S"]
GRAPHS = ("none", "fp", "dwarf,1024", "auto,1024")
NAMES = "AX BX CX DX SI DI BP SP IP FLAGS CS SS R8 R9 R10 R11 R12 R13 R14 R15".split()
LINKS = {"dynamic": [], "static": ["-static"]}
FIELDS = {"--user-regs": "uregs", "--intr-regs": "iregs"}  # the same at a fault of user space


def need_program(kind):
    need_perf_events()
    if platform.machine() != "x86_64":
        skip("the program is for x86-64")
    need("cc")
    pathlib.Path("regs.c").write_text(PROGRAM)
    done = run(["cc", "-O1", *LINKS[kind], "-o", "regs", "regs.c"])
    if done.status:
        skip(f"no {kind} program: {done.err}")


def registers_of(text):
    """[{name: value} of each sample], ABI among the names."""
    found = []
    for line in text.splitlines():
        pairs = re.findall(r"\b(ABI|[A-Z]{2,5}|R\d+):(0x[0-9a-f]+|\d+)", line)
        if pairs:
            found.append({name: int(value, 0) for name, value in pairs})
    return found


def sample(*options, command=("./regs", str(PAGES)), event=EVENT):
    """What the command said."""
    for name in results():
        os.remove(name)
    done = pinject_run("-q", *event, *options, "--", *command).ok()
    with measured():
        check_equal(panalyze_json("report", *results())["total"]["lost"], 0, "lost")
    return done.out


def record(*options, field="uregs", **kw):
    """What the command said, and the registers of the samples of pinject-run."""
    return sample(*options, **kw), registers_of(panalyze("script", "-F", field, *results()).ok().out)


def check_values(base, samples, what):
    """Each page has one sample, with the numbers that the program had set."""
    found = [(regs["R12"], regs["R13"], regs["R14"], regs["DI"]) for regs in samples
             if regs["DI"] == 7 and base <= regs["R14"] < base + PAGES * 4096]
    check_equal(sorted(found), [(i, i + 1000, base + i * 4096, 7) for i in range(PAGES)], what)


def test_values():
    for kind in LINKS:
        need_program(kind)
        for option, field in FIELDS.items():
            for graph in GRAPHS:
                out, samples = record(option + "=di,r12,r13,r14", "-g", graph, field=field)
                check_equal({tuple(regs) for regs in samples}, {("ABI", "DI", "R12", "R13", "R14")}, (kind, graph))
                check_values(int(out, 16), samples, (kind, graph))
            figure(f"{option}, {kind} program: 4 registers of {PAGES} page faults are those that it set, with "
                   f"{len(GRAPHS)} kinds of call stacks")


def test_beside_values_of_a_group():
    """A sample has a line for each event that counted something since the sample before."""
    need_program("dynamic")
    for graph in GRAPHS:
        out, samples = record("--user-regs=di,r12,r13,r14", "-g", graph, event=GROUP)
        check_values(int(out, 16), [dict(regs) for regs in {tuple(regs.items()) for regs in samples}], graph)


def test_all_registers():
    """Without a list: all that perf has."""
    need_program("dynamic")
    for graph in ("none", "dwarf,1024"):
        out, samples = record("--user-regs", "-g", graph)
        check_equal({tuple(regs) for regs in samples}, {("ABI", *NAMES)}, graph)
        check_values(int(out, 16), samples, graph)
        check_equal({regs["ABI"] for regs in samples}, {2}, graph)
        check_equal({regs["CS"] & 3 for regs in samples}, {3}, graph)


def test_perf_reads_the_files():
    need_program("dynamic")
    need("perf")
    for field, options in (("uregs", ["--user-regs"]), ("uregs", ["--user-regs=ip,SP,r15", "-d", "--sample-cpu"]),
                           ("iregs", ["--intr-regs"]), ("iregs", ["--intr-regs=ip,SP,r15", "-d", "--sample-cpu"]),
                           ("iregs,uregs", ["--intr-regs=ip,di", "--user-regs=sp", "-d"])):
        for graph in GRAPHS if field == "uregs" else ("none", "dwarf,1024"):
            _, ours = record(*options, "-g", graph, field=field)
            theirs = run(["perf", "script", "-F", field, "-i", *results()]).ok().out
            check_equal(ours, registers_of(theirs), (options, graph))
            check(len(ours) >= PAGES, ours)
            other = [run([program, "script", "-F", "tid,time,period", *more, *results()]).ok().out.split()
                     for program, *more in ((PANALYZE,), ("perf", "-i"))]
            check_equal(other[0], other[1], (options, graph))
    figure(f"perf script shows the same registers of {len(ours)} samples")


def test_as_perf_record():
    """The same registers of the same moments of the same program, by both."""
    need_program("dynamic")
    need("perf")
    for option, field in FIELDS.items():
        regs = option + "=cs,ss,ip,r12,r13,di"
        run(["perf", "record", "-q", "-o", "perf.data", *EVENT, regs, "--", "setarch", "-R", "./regs", str(PAGES)]).ok()
        perf = registers_of(run(["perf", "script", "-F", field, "-i", "perf.data"]).ok().out)
        _, ours = record(regs, "-g", "dwarf,1024", field=field, command=["setarch", "-R", "./regs", str(PAGES)])
        touched = [[one for one in samples if one["DI"] == 7 and one["R12"] + 1000 == one["R13"] and one["R12"] < PAGES]
                   for samples in (perf, ours)]
        check_equal(len(touched[0]), PAGES)
        check_equal(touched[1], touched[0])
        figure(f"registers of {PAGES} page faults are those of perf record {option}")


def test_registers_of_the_kernel():
    """A sample in the kernel has its registers there: IP is the address of the sample."""
    need_program("dynamic")
    if not IS_ROOT:
        skip("an unprivileged user samples user space only")
    command = ["dd", "if=/dev/zero", "of=/dev/null", "bs=4M", "count=400", "status=none"]
    for graph in GRAPHS:
        sample("--intr-regs=ip,sp", "-g", graph, event=["-e", "cpu-clock", "-F", "4999"], command=command)
        records = json.loads(panalyze("script", "--json", "-F", "iregs,ip", *results()).ok().out)["records"]
        inside = [record for record in records if record["ip"] >= 1 << 63]
        check(inside, records)
        for record in inside:
            check_equal(record["iregs"]["IP"], record["ip"], graph)
            check(record["iregs"]["SP"] >= 1 << 63, record)
        figure(f"-g {graph}: {len(inside)} samples in the kernel have its registers, IP is the sampled address")


def test_stacks_are_the_same():
    """The registers that unwinding needs come beside those of the option, and do not go to the file."""
    need_program("dynamic")
    chains = []
    for options in ([], ["--user-regs=flags"], ["--user-regs"], ["--intr-regs"], ["--intr-regs=ip", "--user-regs"]):
        sample("-g", "dwarf,1024", *options, command=["setarch", "-R", "./regs", str(PAGES)])
        report = panalyze_json("report", *results())
        touch = [function for function in report["functions"] if function["symbol"] == "touch"]
        main = [function for function in report["functions"] if function["symbol"] == "main"]
        chains.append([(f["self_samples"], f["total_samples"]) for f in touch + main])
        check_equal([f["self_samples"] for f in touch], [PAGES], options)
        check_equal(chains[-1], chains[0], options)


def test_32_bit_programs():
    """They have the same registers, and the ABI 1; their stacks are those of frame pointers."""
    need_perf_events()
    if platform.machine() != "x86_64":
        skip("the program is for x86")
    need("cc")
    pathlib.Path("regs32.c").write_text(PROGRAM_32)
    done = run(["cc", "-m32", "-O1", "-nostdlib", "-static", "-fno-pic", "-fno-stack-protector", "-no-pie", "-o",
                "regs32", "regs32.c"])
    if done.status:
        skip(f"no 32-bit program: {done.err}")
    try:
        run(["./regs32"]).ok()
    except OSError:
        skip("the kernel runs no 32-bit program")
    for graph in GRAPHS:
        _, samples = record("--user-regs=si,di,cs,r8", "-g", graph, command=["./regs32"])
        ours = [regs for regs in samples if regs["ABI"] == 1]
        check_equal([regs["DI"] for regs in ours if regs["SI"] + regs["DI"] == 1000], list(range(100)), graph)
        check_equal({tuple(regs) for regs in samples}, {("ABI", "SI", "DI", "CS", "R8")}, graph)
        if shutil.which("perf", path=PATH):
            check_equal(registers_of(run(["perf", "script", "-F", "uregs", "-i", *results()]).ok().out), samples, graph)
    figure(f"32-bit program: registers of 100 page faults, ABI 1, with {len(GRAPHS)} kinds of call stacks")


def test_names():
    """--user-regs=? lists them; another name is refused in one line that helps."""
    names = pinject_run("--user-regs=?").ok().out.split()
    if platform.machine() == "x86_64":
        check_equal([name.upper() for name in names], NAMES)
        if shutil.which("perf", path=PATH):
            theirs = run(["perf", "record", "--user-regs=?", "true"])
            check_in(" ".join(NAMES), theirs.out + theirs.err)
    check_equal(pinject_run("--intr-regs=?").ok().out.split(), names)
    for option in FIELDS:
        done = pinject_run(option + "=zz", "true")
        check_equal((done.status, done.err.count("\n")), (125, 1), done)
        check_in(f"option '{option}' knows no register 'zz'", done.err)
        check_in(names[0], done.err)
        done = pinject_run("--stat", option, "true")
        check_equal(done.status, 125)
        check_in("--stat takes none", done.err)


def test_attributes():
    """The kernel gets what perf record gives it, and with dumps of stacks what unwinding needs, too."""
    need_program("dynamic")
    need("perf", "strace")

    def masks(*command, kind="user"):
        run(["strace", "-f", "-v", "-o", "trace", "-e", "trace=perf_event_open", "--", *command])
        return {(int(found[1], 16)) for found in re.finditer(
            rf"config=PERF_COUNT_SW_PAGE_FAULTS,.*?sample_type=[^,]*REGS_{kind.upper()}[^,]*,.*?"
            rf"sample_regs_{kind}=(0x[0-9a-f]+|0)", open("trace").read())}

    spellings = "--user-regs", "--user-regs=ax,bx,ip", "--user-regs=flags,cs,ss,r8,r15"
    for spelling in spellings:
        theirs = masks("perf", "record", "-q", "-o", "perf.data", *EVENT, spelling, "--", "true")
        check_equal(len(theirs), 1, theirs)
        check_equal(masks(PINJECT_RUN, "-q", *EVENT, "-g", "none", spelling, "--", "true"), theirs, spelling)
        check_equal(masks(PINJECT_RUN, "-q", *EVENT, "-g", "dwarf", spelling, "--", "true") - {0xff01ff},
                    {*theirs, next(iter(theirs)) | 0xff01ff} - {0xff01ff}, spelling)
    for spelling in [spelling.replace("user", "intr") for spelling in spellings]:
        theirs = masks("perf", "record", "-q", "-o", "perf.data", *EVENT, spelling, "--", "true", kind="intr")
        check_equal(len(theirs), 1, theirs)
        for graph in ("none", "dwarf"):
            check_equal(masks(PINJECT_RUN, "-q", *EVENT, "-g", graph, spelling, "--", "true", kind="intr"), theirs,
                        (spelling, graph))
    figure(f"{2 * len(spellings)} spellings: sample_regs_user and sample_regs_intr are those of perf record")


if __name__ == "__main__":
    main()
