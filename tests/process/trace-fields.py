# SPDX-License-Identifier: MIT
# labels: figures collector analyze
"""The fields of a tracepoint's samples: against what the program did, and what perf says of the same file."""
from harness import *

WRITES = """#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    for (long i = 0; i < atol(argv[1]); i++)
        if (write(1000, "12345678", (size_t)(i % 7)) >= 0)
            return 1;
    return argc - 2;
}
"""
WRITE = "syscalls:sys_enter_write"
COUNT = 70


def need_write():
    need("cc")
    need_tracepoint("syscalls/sys_enter_write")


def recorded(*options, static=False):
    pathlib.Path("writes.c").write_text(WRITES)
    if run(["cc", "-O1", *(["-static"] if static else []), "-o", "writes", "writes.c"]).status:
        skip("no static program can be made")
    for name in results():
        os.remove(name)
    run([*WITH_TRACEFS, PINJECT_RUN, "-q", *options, "--", "./writes", str(COUNT)]).ok()
    if "--stat" not in options:
        with measured():
            check_equal(panalyze_json("report", *results())["total"]["lost"], 0, "lost")
    return results()


def sizes(text):
    """The sizes that write(1000) was called with, of lines of panalyze or perf: "fd=1000 buf=0x4 count=5" or
    "fd: 0x000003e8, buf: 0x00000004, count: 0x00000005"."""
    return [int(size, 0) for size in re.findall(r"\bfd[=:] ?(?:1000|0x0*3e8)\b.*\bcount[=:] ?(0x[0-9a-f]+|\d+)", text)]


def test_fields_are_what_the_program_did():
    need_write()
    wanted = [i % 7 for i in range(COUNT)]
    for static in (False, True):
        for graph in ("none", "fp", "dwarf,1024", "auto,1024"):
            for more in ([], ["-d", "--sample-cpu"]):
                files = recorded("-g", graph, *more, "-e", f"{WRITE},task-clock", static=static)
                what = (static, graph, more)
                lines = panalyze("script", "--event", WRITE, "-F", "comm,event,trace", *files).ok().out
                check_equal(sizes(lines), wanted, what)
                document = json.loads(panalyze("script", "--event", WRITE, "--json", *files).ok().out)
                traces = "\n".join(sample["trace"] for sample in document["records"])
                check_equal(sizes(traces), wanted, what)


def test_perf_reads_the_files():
    need_write()
    need("perf")
    wanted = [i % 7 for i in range(COUNT)]
    for options in (["-e", WRITE], ["-e", f"task-clock,{WRITE},raw_syscalls:sys_exit"], ["-e", f"{WRITE}:u,{WRITE}:k"]):
        files = recorded(*options)
        panalyze("export", "perf", "-o", "all.data", *files).ok()
        for name in (*files, "all.data"):
            text = run([*WITH_TRACEFS, "perf", "script", "-i", name, "-F", "event,trace"]).ok().out
            if f"{WRITE}:u" not in options[1]:
                check_equal(sizes(text), wanted, (options, name))
            run([*WITH_TRACEFS, "perf", "report", "--stdio", "-i", name]).ok()


def test_several_files_and_events():
    """Tracepoints have more fields in their samples than other events: all go into one file for perf."""
    need_write()
    need("perf")
    for options in (["-e", f"task-clock,{WRITE}"], ["-c", "1,1000000", "-e", f"{WRITE},task-clock"],
                    ["-c", "9,1", "-e", f"faults,{WRITE}"]):
        recorded(*options)
        for name in results("two"):
            os.remove(name)
        run([*WITH_TRACEFS, PINJECT_RUN, "-q", "--follow-all", "-o", "two", *options, "--", "sh", "-c",
             f"./writes {COUNT}; ./writes {COUNT}; :"]).ok()
        files = results("two")
        panalyze("export", "perf", "-o", "all.data", *files).ok()
        theirs = sizes(run([*WITH_TRACEFS, "perf", "script", "-i", "all.data", "-F", "event,trace"]).ok().out)
        check_equal(sizes(panalyze("script", "-F", "event,trace", "all.data").ok().out), theirs, options)
        with measured():  # on a busy machine a child may begin, or end, before its events are open
            check(len(files) >= 3, files)
            check_equal(theirs, [i % 7 for i in range(COUNT)] * 2, options)


def test_counted_tracepoints():
    """Files without samples are opened by perf, too."""
    need_write()
    need("perf")
    files = recorded("--stat", "-e", WRITE)
    check_in(WRITE, run([*WITH_TRACEFS, "perf", "script", "--header-only", "-i", files[0]]).ok().out)


def test_a_tracepoint_by_its_number():
    need_write()
    need("perf")
    number = run([*WITH_TRACEFS, "cat", "/sys/kernel/tracing/events/syscalls/sys_enter_write/id"]).ok().out.strip()
    files = recorded("-g", "none", "-e", f"2:{number}")
    for text in (panalyze("script", "-F", "trace", *files).ok().out,
                 run([*WITH_TRACEFS, "perf", "script", "-F", "trace", "-i", *files]).ok().out):
        check_equal(sizes(text), [i % 7 for i in range(COUNT)])


def test_events_without_fields():
    need_perf_events()
    pinject_run("-q", "--", target("spin"), "50").ok()
    done = panalyze("script", "-F", "trace", *results())
    check(done.status != 0, done)
    check_in("trace", done.err)


if __name__ == "__main__":
    main()
