# SPDX-License-Identifier: MIT
"""Which rate -F auto chooses for ten programs, and what the profile of each costs: its own CPU time beside that of the
bare program, in pairs."""
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys

from reports import MEASURE, fail

TEXT_BYTES = 12 << 20

PROGRAMS = {
    "gzip": "for i in 1 2 3; do gzip -6 -c text; done",
    "xz": "xz -1 -c text",
    "sort": "for i in 1 2; do sort -n numbers; done",
    "awk": "awk '{ for (i = 1; i <= NF; i++) count[$i]++ } END { print length(count) }' text text",
    "perl": "perl -e 'my %h; $h{$_ % 1000} += $_ * 2 for 1 .. 15000000; print scalar keys %h'",
    "python3": "python3 -c 'print(sum(i * i % 7 for i in range(12000000)))'",
    "cc": "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cc -O3 -g -w -pthread -c -o work.o work.c; done",
    "sha256sum": "for i in 1 2 3 4 5; do cat text text text text; done | sha256sum",
    "grep": "grep -aoE '[a-z]+_[a-z_]+' text | cat",  # if its output is /dev/null, it ends early
    "sed": "for i in 1 2; do sed -E 's/([a-z]+)_([a-z]+)/\\2 \\1/g' text; done",
}


def make_inputs(directory, top):
    """The same for everyone who has the same sources."""
    names = [name for folder in ("analyze", "collector", "common", "preload", "unwind")
             for name in sorted(glob.glob(os.path.join(top, folder, "**/*.[ch]"), recursive=True))]
    sources = b"".join(open(name, "rb").read() for name in names)
    with open(os.path.join(directory, "text"), "wb") as text:
        text.write((sources * (TEXT_BYTES // len(sources) + 1))[:TEXT_BYTES])
    with open(os.path.join(directory, "numbers"), "w") as numbers:
        numbers.writelines(f"{i * 7919 % 1500007}\n" for i in range(1500000))
    shutil.copy(os.path.join(top, "tests/bench/work.c"), directory)


def run_once(directory, before, script):
    """The CPU seconds of SCRIPT, and those of BEFORE, which starts it."""
    command = [*before, sys.executable, "-S", "-E", "-c", MEASURE, "/dev/null", "sh", "-c", script]
    done = subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    said = done.stdout.read().split()
    _, status, usage = os.wait4(done.pid, 0)
    if status or not said or said[0] != b"0":
        fail(f"{script}: does not run")
    own = float(said[1])
    return own, usage.ru_utime + usage.ru_stime - own


def ask_rate(build, results):
    """Samples in a second of CPU time, of the tasks that the script started."""
    out = subprocess.run([os.path.join(build, "bin/panalyze"), "tree", "--json", *results], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True)
    tasks = [task for task in json.loads(out.stdout)["tasks"] if task["comm"] not in ("python3", "sh")
             or task["cpu_ns"] > 2e8]
    return sum(task["samples"] for task in tasks) * 1e9 / max(sum(task["cpu_ns"] for task in tasks), 1)


def run(build, scratch, top, rounds):
    directory, out = os.path.join(scratch, "rates"), os.path.join(scratch, "out")
    os.mkdir(directory)
    make_inputs(directory, top)
    launch = [os.path.join(build, "bin/pinject-run"), "-q", "-o", os.path.join(out, "out"), "--"]
    print("| program | CPU time, spread | samples per second | CPU time, ratio | pinject-run itself |\n"
          "| --- | --- | --- | --- | --- |")
    for name, script in PROGRAMS.items():
        if not shutil.which(name):
            print(f"bench: without {name}", file=sys.stderr)
            continue
        run_once(directory, [], script)  # warm caches, not counted
        bare, ratios, rates, own = [], [], [], []
        for number in range(rounds):
            os.mkdir(out)
            pair = {}
            for profiled in (number % 2, 1 - number % 2):
                pair[profiled] = run_once(directory, launch if profiled else [], script)
            bare.append(pair[0][0])
            ratios.append(pair[1][0] / pair[0][0])
            own.append(pair[1][1] - pair[0][1])
            rates.append(ask_rate(build, glob.glob(os.path.join(out, "*"))))
            shutil.rmtree(out)
        low, middle, high = statistics.quantiles(ratios, n=4)
        quarters = statistics.quantiles(bare, n=4)
        print(f"| {name} | {statistics.median(bare):.2f} s, "
              f"{50 * (quarters[2] - quarters[0]) / statistics.median(bare):.1f} % | {statistics.median(rates):.0f} | "
              f"{middle:.3f} ({low:.3f} to {high:.3f}) | {1000 * statistics.median(own):.0f} ms |", flush=True)
