# SPDX-License-Identifier: MIT
# labels: preload transparent
# timeout: 900
"""Python's own tests of processes, threads, signals and sockets: each test ends as it does without us.

They are Debian's libpython3.X-testsuite, which scripts/python-tests puts into the build. Some depend on the machine and
some on its load, so that what counts is a difference that stays when its module is run again; each is printed.
"""
import concurrent.futures
import harness
import xml.etree.ElementTree as ElementTree

from harness import *

SUITE = BUILD / "python-tests"
WAYS = {
    "alone": ([], {}),
    "all": ([PINJECT_RUN, "-q", "--follow-all", "--"], {}),
    "bare": ([], {"LD_PRELOAD": PRELOAD, "PINJECT_FOLLOW": "none"}),
}
if not LONG:
    WAYS = {way: WAYS[way] for way in ("alone", "bare" if IS_ROOT else "all")}
# They wait for ever without us too: where the machine has no vsock device, and where an isolated python (-I) does not
# find the tests.
LEFT_OUT = ["*VSOCK*", "test_4_daemon_threads"]
AT_ONCE = 4
ROUNDS = 3
LATE = "not done", {}  # such a round says nothing


def find_python():
    """The interpreter that the tests belong to."""
    if not (SUITE / "complete").exists():
        skip(f"no tests of python in {SUITE}; scripts/python-tests {SUITE} fetches them")
    python = f"/usr/bin/python{(SUITE / 'complete').read_text().strip()}"
    if not os.path.exists(python):
        skip(f"there is no {python}")
    return python


def outcomes(report):
    """Of each test what became of it, as the module's report has it."""
    told = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        name = case.get("name")
        told.setdefault(name, []).append(min(kinds, default="ok"))
    return {name: sorted(kinds) for name, kinds in told.items()}


def reason_of(output):
    """Why python ran no test of a module, by its own words."""
    lines = output.read_text(errors="replace").splitlines()
    told = [line for line in lines if re.match(r"\w+(Error|Exception)\b|\w+ skipped --", line)]
    return (told or lines or ["it said nothing"])[-1]


def run_module(module, way, number):
    place = pathlib.Path(f"{module}.{way}.{number}").absolute()
    place.mkdir()
    before, more = WAYS[way]
    words = [word for name in LEFT_OUT for word in ("-i", name)]
    command = [*before, find_python(), "-m", "test", "--junit-xml", place / "report.xml", *words, module]
    if more:
        command = ["env", *(f"{name}={value}" for name, value in more.items()), *command]
    process = start(command, {"PYTHONPATH": SUITE}, cwd=place, stdout=open(place / "output", "wb"),
                    stderr=subprocess.STDOUT)
    try:
        status = process.wait(timeout=400)
    except subprocess.TimeoutExpired:
        print(f"{module}, {way}: not done after 400 s", flush=True)
        harness._kill(process)
        return LATE
    if way == "bare":
        run([PINJECT_RUN, "--wait"], cwd=place)
    report = place / "report.xml"
    check(report.exists(), f"{module}, {way}: status {status}, no report; {(place / 'output').read_bytes()[-2000:]}")
    profiled = [name for name in os.listdir(place) if re.match(r"out\.\d", name)]
    with measured(if_=way == "bare"):  # it waits two seconds at most for its collector to start
        check(bool(profiled) == (way != "alone"), f"{module}, {way}: {len(profiled)} result files")
    told = outcomes(report)
    if not told and way == "alone":
        print(f"{module}: this machine runs none of its tests, without us either: {reason_of(place / 'output')}",
              flush=True)
    for name in profiled:
        (place / name).unlink()
    return status, told


def differences(ours, alone):
    if ours == alone:
        return set()
    names = {name for name in ours[1].keys() | alone[1].keys() if ours[1].get(name) != alone[1].get(name)}
    return names or {f"status {ours[0]} instead of {alone[0]}"}


def same(*modules):
    need_perf_events()
    find_python()
    left = {(module, way): None for module in modules for way in WAYS if way != "alone"}
    ran = 0
    for number in range(ROUNDS):
        wanted = sorted({(module, "alone") for module, _ in left} | set(left))
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE if number == 0 else 1) as pool:
            done = dict(zip(wanted, pool.map(lambda what: run_module(*what, number), wanted)))
        for module, way in list(left):
            alone = done[module, "alone"]
            if LATE in (alone, done[module, way]):
                continue
            names = differences(done[module, way], alone)
            first = left[module, way] is None
            # Only what differs in each round counts.
            names = names if first else names & left[module, way]
            if first:
                count = sum(map(len, alone[1].values()))
                ran += count
                bad = sum(kinds != ["ok"] * len(kinds) and "skipped" not in kinds for kinds in alone[1].values())
                print(f"{module}, {way}: {count} tests, {bad} fail alone, {len(names)} differ", flush=True)
            left[module, way] = names
            if not names:
                del left[module, way]
            else:
                print(f"{module}, {way}, round {number + 1}: differ: {' '.join(sorted(names))}", flush=True)
        if not left:
            if not ran:
                skip("this machine runs no test of these modules, without us either")
            return
    check(False, f"tests of python end otherwise: {left}")


def test_processes_and_signals():
    same("test_fork1", "test_posix", "test_os", "test_threading", "test_signal", "test_subprocess", "test_socket",
         "test_wait3", "test_wait4")


def test_multiprocessing():
    """Long: these run when they are asked for, PINJECT_LONG=1 (docs/TRANSPARENCY.md)."""
    if not LONG:
        skip("long; PINJECT_LONG=1 runs it")
    same("test_multiprocessing_fork", "test_multiprocessing_forkserver", "test_multiprocessing_spawn")


if __name__ == "__main__":
    main()
