# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
"""A report of many programs begins with them, and where no function has much by itself, with those that have most of
the time with what they called."""
from harness import *

FUNCTIONS = 180
SOURCE_OF_FLAT = """
#include <stdint.h>
#include <time.h>
static volatile uint64_t sink;
%s
static uint64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
static void (*const all[])(void) = {%s};
static __attribute__((noinline)) void some(int from, int to, int times) {
    for (int i = 0; i < times; i++)
        for (int at = from; at < to; at++)
            all[at]();
}
__attribute__((noinline)) void phase_large(void) { some(0, %d, 3); sink++; }
__attribute__((noinline)) void phase_small(void) { some(%d, %d, 2); sink++; }
int main(void) {
    for (uint64_t end = cpu_ns() + 900000000; cpu_ns() < end;) {
        phase_large();
        phase_small();
    }
    return 0;
}
"""


def build():
    need("cc")
    bodies = "\n".join(f"__attribute__((noinline)) void work_{i}(void) {{ for (int i = 0; i < 20000; i++) sink += i; }}"
                       for i in range(FUNCTIONS))
    names = ", ".join(f"work_{i}" for i in range(FUNCTIONS))
    third = FUNCTIONS // 3
    with open("flat.c", "w") as file:
        file.write(SOURCE_OF_FLAT % (bodies, names, third, third, 2 * third))
    run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", "flat", "flat.c"]).ok()


def rows_below(text, heading):
    """The lines of the table with that heading, split."""
    lines = text.splitlines()
    at = next((i for i, line in enumerate(lines) if re.search(heading, line)), None)
    check(at is not None, f"no table '{heading}' in {text}")
    end = lines.index("", at)
    return [line.split() for line in lines[at + 1:end]]


def test_programs_come_first():
    need_perf_events()
    build()
    script = f"./flat; {target('spin')} 20; true; {target('spin')} 20"
    pinject_run("-q", "-F", "999", "-o", "run/", "--", "sh", "-c", script).ok()
    text = panalyze("run").ok().out
    for word in ("elapsed", "Program", "with all that it called", "  DSO  "):
        check_in(word, text)
    order = [text.index(word) for word in ("elapsed", "Program", "with all that it called", "  DSO  ")]
    check_equal(order, sorted(order), "programs, what has most of the time, functions")
    programs = rows_below(text, r"^ *CPU time +Share +Runs +Program$")
    check_equal([row[-1] for row in programs[:2]], ["flat", "spin"])
    check_equal([row[-2] for row in programs[:2]], ["1", "2"])
    tasks = panalyze_json("tree", "run")["tasks"]
    whole = sum(task["cpu_ns"] for task in tasks)
    flat = sum(task["cpu_ns"] for task in tasks if task["comm"] == "flat")
    check_near(float(programs[0][2]), 100 * flat / whole, points=0.01, what="share of the first program")
    # What took it is below main; main itself, with all of it, says nothing.
    inclusive = rows_below(text, r"^ *Total +Time +Self +Program +Function, with all that it called$")
    names = [row[-1] for row in inclusive]
    check_in("phase_large", names)
    check_in("phase_small", names)
    check(names.index("phase_large") < names.index("phase_small"), names)
    check(not {"main", "_start"} & set(names), names)
    check(not [name for name in names if name.startswith("work_")], f"they have their time by themselves: {names}")
    shares = [float(row[0]) for row in inclusive if row[-2] == "flat"]
    check_equal(shares, sorted(shares, reverse=True))
    document = panalyze_json("report", "run")
    total = {row["symbol"]: row for row in document["functions"]}
    with measured():
        check_near(shares[names.index("phase_large")],
                   100 * total["phase_large"]["total_weight"] / document["total"]["weight"], points=0.01)


def test_asked_for_more():
    """Who names functions, an order or a tree gets that, and of one program nothing is said."""
    need_perf_events()
    build()
    pinject_run("-q", "-F", "999", "-o", "run/", "--", "sh", "-c", f"./flat; {target('spin')} 60").ok()
    for words in (["-S", "work_*"], ["--sort", "total"], ["--callers"], ["--call-tree"], ["--by", "dso"],
                  ["--per-task"], ["-o", "flat"]):
        check("Program" not in panalyze("report", "run", *words).ok().out, words)
    pinject_run("-q", "-o", "one/", "--", target("spin"), "60").ok()
    text = panalyze("one").ok().out
    check("Program" not in text and "all that it called" not in text, text)


if __name__ == "__main__":
    main()
