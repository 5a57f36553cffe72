# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
# timeout: 120
"""panalyze info must say of each feature section what perf report --header-only says of the same file."""
from harness import *


def need_perf():
    need("perf")
    need_perf_events()


def record(*args, command=("sh", "-c", "exit 0")):
    """A recording of perf; -e task-clock, of user space only where the kernel is not allowed."""
    user = "" if IS_ROOT else ":u"
    run(["perf", "record", "-q", *(argument.replace("@", user) for argument in args), "--", *command]).ok()


def their_header(name):
    """The lines of perf's header, [(what stands before the first colon, the rest)]."""
    out = run(["perf", "report", "--header-only", "-I", "-i", name]).ok().out
    return [tuple(part.strip() for part in line[1:].partition(":")[::2]) for line in out.splitlines()
            if line[0:1] == "#"]


def our_file(name):
    return json.loads(panalyze("info", "--json", name).ok().out)["files"][0]


def one(header, key):
    return [value for name, value in header if name == key]


def compare_machine(header, features, free=True):
    """Sections of the machine; FREE: also the free memory of nodes. Returns how many figures were compared."""
    done = 0

    def same(ours, theirs, what):
        nonlocal done
        check_equal(ours, theirs, what)
        done += 1

    for key, section in (("hostname", "HOSTNAME"), ("os release", "OSRELEASE"), ("perf version", "VERSION"),
                         ("arch", "ARCH"), ("cpudesc", "CPUDESC"), ("cpuid", "CPUID")):
        same([fact["text"] for fact in features.get(section, [])], one(header, key), section)
    same([f"{fact['total_kb']} kB" for fact in features["TOTAL_MEM"]], one(header, "total memory"), "TOTAL_MEM")
    same([str(fact["online"]) for fact in features["NRCPUS"]], one(header, "nrcpus online"), "online CPUs")
    same([str(fact["available"]) for fact in features["NRCPUS"]], one(header, "nrcpus avail"), "available CPUs")
    same([" ".join(fact["argument"] for fact in features["CMDLINE"])], one(header, "cmdline"), "CMDLINE")
    for key, name in (("package_cpus", "sibling sockets"), ("die_cpus", "sibling dies"),
                      ("core_cpus", "sibling threads")):
        same([fact[key] for fact in features["CPU_TOPOLOGY"] if key in fact], one(header, name), name)
    cpus = [fact for fact in features["CPU_TOPOLOGY"] if "cpu" in fact]
    same(len(cpus), features["NRCPUS"][0]["available"], "CPUs with ids")
    for fact in cpus:
        theirs = one(header, f"CPU {fact['cpu']}")[0]
        die = f"Die ID {fact['die']}, " if "die" in fact else ""
        if not theirs.endswith("info: not available"):
            same(f"Core ID {fact['core']}, {die}Socket ID {fact['package']}", theirs, f"CPU {fact['cpu']}")
    for fact in features.get("NUMA_TOPOLOGY", []):
        theirs = one(header, f"node{fact['node']} meminfo")
        same([f"total = {fact['total_kb']} kB, free = {fact['free_kb']} kB"] if free else
             [f"total = {fact['total_kb']} kB"], theirs if free else [theirs[0].split(",")[0]], "memory of a node")
        same([fact["cpus"]], one(header, f"node{fact['node']} cpu list"), "CPUs of a node")
    # perf has them in the order of the directory.
    same(sorted(f"{fact['pmu']} = {fact['type']}" for fact in features["PMU_MAPPINGS"]),
         sorted(one(header, "pmu mappings")[0].split(", ")), "PMUs")
    same([f"[{fact['size']}] {fact['type']} {fact['cpus']}" for fact in features.get("CACHE", [])],
         [f"[{found[2]}] {found[1]} {found[3]}" for found in
          (re.match(r"L\d+ (\S+) +(\S+) \[(.*)\]", name) for name, _ in header) if found], "caches")
    for fact in features.get("MEM_TOPOLOGY", [])[1:]:
        lines = [value for name, value in header if re.match(rf"{fact['node']} \[", name)]
        same([fact["blocks"]], lines, "memory blocks of a node")
    return done


def compare_times(header, file):
    features = file["features"]
    times = features["SAMPLE_TIME"][0]
    for key, name in (("first_ns", "time of first sample"), ("last_ns", "time of last sample")):
        check_equal(f"{times[key] // 1000 / 1e6:.6f}", one(header, name)[0], name)


def test_file_of_perf():
    need_perf()
    record("-e", "task-clock@,page-faults@", "-o", "a.data")
    header, file = their_header("a.data"), our_file("a.data")
    print(f"{compare_machine(header, file['features'])} figures are those of perf")
    compare_times(header, file)
    missing = one(header, "missing features")[0].split()
    check_equal([name for name in missing if name in file["features"]], [], "sections that perf misses")
    text = panalyze("info", "a.data").ok().out
    for section in ("CPU_TOPOLOGY", "PMU_MAPPINGS", "SAMPLE_TIME"):
        check_in(f"section    {section}: ", text)


def test_groups_and_clock():
    need_perf()
    record("-k", "mono", "-z", "-e", "{task-clock@,page-faults@},{cpu-clock@,context-switches@}", "-o", "a.data")
    header, features = their_header("a.data"), our_file("a.data")
    events = [event["event"] for event in features["events"]]
    features = features["features"]
    groups = [",".join(events[group["leader"]:group["leader"] + group["members"]]) for group in features["GROUP_DESC"]]
    check_equal([f"{{{group}}}" for group in groups], one(header, "group"), "groups")
    clock = features["CLOCK_DATA"][0]
    check_equal([f"{clock['clock']} ({clock['clock_id']})"], one(header, "clockid"), "clock")
    wall, own = clock["wall_clock_ns"], clock["clock_ns"]
    check_in(f"{wall // 10**9}.{wall % 10**9 // 1000:06} (TOD) = {own // 10**9}.{own % 10**9:09} (monotonic)",
             one(header, "reference time")[0])
    check_equal([f"{features['CLOCKID'][0]['resolution_ns'] * 1000} MHz"], one(header, "clockid frequency"))
    packed = features["COMPRESSED"][0]
    check_equal([f"{packed['type'].capitalize()}, level = {packed['level']}, ratio = {packed['ratio']}"],
                one(header, "compressed"))


def test_pipe_of_perf():
    need_perf()
    user = "" if IS_ROOT else ":u"
    with open("pipe.data", "wb") as file:
        subprocess.run(["perf", "record", "-q", "-e", f"task-clock{user}", "-o", "-", "--", "true"], stdout=file,
                       env=clean_env(), check=True)
    header, features = their_header("pipe.data"), our_file("pipe.data")["features"]
    print(f"{compare_machine(header, features)} figures are those of perf, from a pipe")
    check_equal([name for name in features if name.startswith("feature_")], [], "sections without a name")


def test_directory_of_perf():
    need_perf()
    if not IS_ROOT:
        skip("perf record --threads needs root: it opens an event on each CPU")
    record("--threads", "-a", "-e", "cpu-clock", "-o", "a.data")
    header, features = their_header("a.data"), our_file("a.data")["features"]
    check_equal([str(features["DIR_FORMAT"][0]["version"])], one(header, "directory data version"))


def test_our_file():
    """What our files say of the machine is what perf writes into its own on the same machine, and what perf reads."""
    need_perf()
    record("-e", "task-clock@", "-o", "perf.data")
    user = "" if IS_ROOT else ":u"
    pinject_run("-e", f"{{task-clock{user},page-faults{user}}}", "-o", "out", "--", "sh", "-c",
                "true; sh -c true; sh -c :").ok()
    files = sorted(results())
    whole = [name for name in files if "CPU_TOPOLOGY" in our_file(name)["features"]]
    check_equal(len(whole), 1, "files with the topology")
    ours = our_file(whole[0])["features"]
    theirs = their_header("perf.data")
    theirs = [row for row in theirs if row[0] not in ("cmdline", "perf version")]
    mine = {name: facts for name, facts in ours.items() if name not in ("VERSION", "CMDLINE")}
    mine["CMDLINE"] = []
    theirs.append(("cmdline", ""))
    print(f"{compare_machine(theirs, mine, free=False)} figures of our file are those of perf's")
    print(f"perf reads {compare_machine(their_header(whole[0]), ours)} figures of our file")
    for name in files:
        features = our_file(name)["features"]
        check_equal(features["GROUP_DESC"], [{"group": "{anon_group}", "leader": 0, "members": 2}], name)
        check_equal(one(their_header(name), "group"), [f"{{task-clock{user},page-faults{user}}}"], name)


if __name__ == "__main__":
    main()
