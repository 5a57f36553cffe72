# SPDX-License-Identifier: MIT
"""What a report costs, beside perf report on the same file: CPU time, peak memory; whether the shares are the same."""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys

SHARE, POINTS = 0.5, 0.1  # symbols above SHARE percent are compared, and may differ by POINTS

# A child's peak counts what it had before its exec: measured from a small process.
MEASURE = """
import os, sys, time
child = os.fork()
if child == 0:
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.dup2(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
    os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
    os.execvp(sys.argv[2], sys.argv[2:])
start = time.monotonic()
_, status, usage = os.wait4(child, 0)
print(status, usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss / 1024)
"""


def fail(text):
    sys.exit(f"bench: {text}")


def measure(command, answer):
    """(CPU seconds, seconds, megabytes) of COMMAND, whose output goes to the file ANSWER."""
    done = subprocess.run([sys.executable, "-S", "-E", "-c", MEASURE, answer, *command], stdout=subprocess.PIPE,
                          check=True)
    status, cpu, wall, memory = done.stdout.split()
    if status != b"0":
        fail(f"{' '.join(command)}: status {status.decode()}")
    return float(cpu), float(wall), float(memory)


def record(directory, make):
    """A parallel build at 20 kHz with call chains."""
    data = os.path.join(directory, "perf.data")
    command = ["perf", "record", "-q", "-F", "20000", "-g", "-o", data, "--"] + make(directory)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        fail(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return data


def perf_shares(data):
    """{symbol: share of self time}; a name may have several lines."""
    command = ["perf", "report", "-i", data, "--stdio", "--no-children", "-g", "none", "--percent-limit", "0",
               "--sort", "sym", "-F", "overhead,sym", "-t", "\t"]
    out = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    shares = {}
    for line in out.stdout.decode(errors="replace").splitlines():
        found = re.match(r"\s*([\d.]+)% *\t\[.\] (.*?)\s*$", line)
        if found and not re.match("0x|[0-9a-f]{16}$", found[2]):
            shares[found[2]] = shares.get(found[2], 0) + float(found[1])
    return shares


def compare_shares(panalyze, data):
    out = subprocess.run([panalyze, "report", "--json", "--aggregate", "--top", "all", data], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True)
    document, ours = json.loads(out.stdout), {}
    for function in document["functions"]:
        ours[function["symbol"]] = ours.get(function["symbol"], 0) + function["self_percent"]
    heavy = {name: share for name, share in perf_shares(data).items() if share >= SHARE}
    worst = max(((abs(ours.get(name, 0) - share), name) for name, share in heavy.items()), default=(0, "none"))
    verdict = "the same" if worst[0] <= POINTS else "NOT the same"
    print(f"    shares of {len(heavy)} symbols above {SHARE} %: {verdict}, "
          f"the worst is {worst[0]:.2f} points off ({worst[1]})")
    return document["total"]["samples"]


def run(build, before, scratch, data, make, rounds):
    panalyze = os.path.join(build, "bin/panalyze")
    if not shutil.which("perf"):
        fail("'analyze' compares with perf report, and perf is not installed")
    data = data or record(scratch, make)
    answer = os.path.join(scratch, "answer")
    report = [panalyze, "report", "--aggregate"]
    commands = {
        "perf": ["perf", "report", "-i", data, "--children", "--no-inline", "--stdio"],
        "call tree": [*report, "--call-tree", data],
        "callers": [*report, "--callers", data],
        "1 thread": [*report, "--call-tree", "--threads", "1", data],
    }
    if before:
        commands["before"] = [os.path.join(before, "bin/panalyze"), *commands["call tree"][1:]]
    figures = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            figures[name].append(measure(command, answer))
    medians = {name: [statistics.median(one[i] for one in figures[name]) for i in range(3)] for name in commands}
    print(f"report of a file of {os.path.getsize(data) / 1e6:.0f} MB; "
          "limit: a fifth of perf's time, a quarter of its memory")
    for name, (cpu, wall, memory) in medians.items():
        base = medians["perf"]
        print(f"    {name:9} {cpu:.2f} s CPU (1/{base[0] / cpu:.1f})   {wall:.2f} s (1/{base[1] / wall:.1f})   "
              f"{memory:.0f} MB (1/{base[2] / memory:.1f})")
    if before:
        ratios = [statistics.median(new[i] / old[i] for new, old in zip(figures["call tree"], figures["before"]))
                  for i in range(3)]
        print(f"    call tree to before: {ratios[0]:.3f} x of CPU time, {ratios[1]:.3f} x of time, "
              f"{ratios[2]:.3f} x of memory")
    print(f"    {compare_shares(panalyze, data)} samples")
    sys.stdout.flush()
