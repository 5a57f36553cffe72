# SPDX-License-Identifier: MIT
# timeout: 240
"""The three lines of the README, verbatim, on a real program and a real make."""
from harness import *


def shell(line, **env):
    path = f"{PROGRAMS}/bin:{PATH}"
    return run(["sh", "-c", line], env=dict(PATH=path, **env))


def make_project():
    with open("Makefile", "w") as to:
        to.write("all: one.o two.o\n%.o: %.c\n\tgcc -O2 -c -o $@ $<\n")
    for name in ("one", "two"):
        with open(name + ".c", "w") as to:
            to.write("#include <stdio.h>\n" + "".join(f"int {name}{i}(int a) {{ return printf(\"%d\", a * {i}); }}\n"
                                                      for i in range(400)))


def test_preload_line():
    need_perf_events()
    shutil.copy(target("spin"), "app")
    with measured():  # the collector has two seconds to start
        done = shell(f"LD_PRELOAD={PRELOAD} ./app 200 && pinject-run --wait && panalyze out.* --aggregate").ok()
        check_in("spin_a", done.out)


def test_run_and_analyze_lines():
    need_perf_events()
    need("make", "gcc")
    make_project()
    done = shell("pinject-run --follow-all -- make").ok()
    check_in("panalyze", done.err)
    done = shell("panalyze out.* --aggregate").ok()
    with measured():
        check_match(r"cc1", done.out)
    check_equal(shell("panalyze out.*").ok().out, done.out)
    check_match(r"^[\d.]+ m?s elapsed, [\d.]+ m?s of CPU time \([\d.]+ CPUs busy on average(; other programs used "
                r"[\d.]+ of \d+ CPUs)?\); [\d.]+ % of the CPU time is in this profile"
                r"(, kernel code is not sampled)?; (no|\d+) samples? lost\n", done.out)
    document = json.loads(shell("panalyze out.* --aggregate --json").ok().out)
    check_equal(document["schema"], "pinject.report/1")
    comms = {task["comm"] for task in document["tasks"]}
    with measured(if_=document["coverage"]["missed"]):  # one may have ended before its events were open
        check({"make", "gcc", "cc1", "as"} <= comms, comms)


def test_sections():
    need_perf_events()
    shell("pinject-run -q -- " + target("spin") + " 200 2").ok()
    done = shell("panalyze out.* --per-task").ok()
    with measured():
        check(len(re.findall(r"^.*spin_a", done.out, re.MULTILINE)) >= 2, done)


if __name__ == "__main__":
    main()
