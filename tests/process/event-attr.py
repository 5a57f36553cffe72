# SPDX-License-Identifier: MIT
# run-as: root
# timeout: 400
"""perf_event_attr of each spelling, field by field, as perf and as pinject-run pass it to the kernel (strace)."""
from harness import *

# What pinject sets otherwise on purpose, in all events.
OURS = {
    "sample_type": "records of all events can be told apart and ordered",
    "read_format": "ids and lost records are counted",
    "sample_id_all": "side-band records have a task and a time",
    "disabled": "how it is started depends on the task, not on the spelling",
    "enable_on_exec": "how it is started depends on the task, not on the spelling",
    "inherit": "each task has its own events",
    "use_clockid": "times of all events are CLOCK_MONOTONIC",
    "clockid": "times of all events are CLOCK_MONOTONIC",
    "exclude_guest": "a thread that runs a guest is charged for it; perf leaves out guests unless told",
}
# In samples, too.
FIRST = "the first event of a task owns the ring, and the records of names and mappings"
DRAINED = "the ring is read when a quarter is full"
FILES = "pinject reads it from files"
CHAINS = "a chain has what its sample may have"
RING = {
    "mmap": FIRST, "mmap2": FIRST, "comm": FIRST, "comm_exec": FIRST, "task": FIRST,
    "watermark": DRAINED, "wakeup_watermark": DRAINED, "wakeup_events": DRAINED,
    "ksymbol": FILES, "bpf_event": FILES, "build_id": FILES,
    "exclude_callchain_kernel": CHAINS, "exclude_callchain_user": CHAINS,
}

GENERIC = ["cycles", "cpu-cycles", "instructions", "cache-references", "cache-misses", "branches",
           "branch-instructions", "branch-misses", "bus-cycles", "stalled-cycles-frontend", "idle-cycles-backend",
           "ref-cycles", "cpu-clock", "task-clock", "page-faults", "faults", "minor-faults", "major-faults",
           "context-switches", "cs", "cpu-migrations", "migrations", "alignment-faults", "emulation-faults",
           "cgroup-switches", "bpf-output"]
CACHE = ["L1-dcache-loads", "L1-dcache-load-misses", "L1-dcache-stores", "L1-dcache-store-misses",
         "L1-dcache-prefetches", "L1-dcache-prefetch-misses", "L1-icache-loads", "L1-icache-load-misses", "LLC-loads",
         "LLC-load-misses", "LLC-stores", "LLC-prefetch-misses", "dTLB-loads", "dTLB-load-misses", "dTLB-store-misses",
         "iTLB-loads", "iTLB-load-misses", "branch-loads", "branch-load-misses", "node-loads", "node-store-misses",
         "l1d-read-miss", "L2-write", "d-tlb-misses", "bpu"]
RAW = ["r1a8", "rc0", "r1ffffffff", "1:2", "0:1", "4:60"]
MODIFIED = ["cycles:u", "cycles:k", "cycles:h", "cycles:uk", "cycles:ukh", "cycles:G", "cycles:H", "cycles:GH",
            "cycles:uG", "cycles:I", "cycles:p", "cycles:pp", "cycles:ppp", "cycles:P", "cycles:ppu", "cycles:D",
            "cycles:e", "faults:uD", "L1-dcache-loads:u", "r1a8:k", "msr/tsc/", "msr/event=1/", "faults/name=mine/u",
            "instructions/config1=5,config2=6/"]
BREAKPOINTS = ["mem:0x1000", "mem:0x1000:w", "mem:0x1000/1:w", "mem:0x1000/8:rw", "mem:0x1000/2:rw:u", "mem:0x1000:x",
               "mem:4096/8:w:k"]
GROUPS = ["{cs,faults}", "{cs,faults}:D", "{cs:u,faults}:k", "{faults,minor-faults,major-faults}:e", "cs,{faults}:u"]
TRACEPOINTS = ["sched:sched_switch", "sched:sched_wakeup:k", "raw_syscalls:*"]
SAMPLED = [["-e", "faults", "-c", "3"], ["-e", "faults/period=7/"], ["-e", "faults/freq=99/"], ["-e", "cs", "-F", "50"],
           ["-e", "mem:0x1000/4:w"], ["-e", "faults:u", "-c", "5"], ["-e", "minor-faults/max-stack=9/", "-c", "9"],
           ["-e", "faults/period=2,call-graph=no/"], ["-d", "-e", "faults", "-c", "3"]]


def attrs_of(command, before=()):
    """perf_event_attr of each call in order, as {field: text}, with its group's fd: a call that succeeds or not."""
    done = run([*before, "strace", "-f", "-v", "-o", "trace", "-e", "trace=perf_event_open", "--", *command])
    found = []
    for line in open("trace"):
        match = re.search(r"perf_event_open\(\{(.*)\}, (-?\d+), (-?\d+), (-?\d+), (\w+)", line)
        if not match:
            continue
        fields = dict(part.split("=", 1) for part in re.sub(r" /\*.*?\*/", "", match[1]).split(", ") if "=" in part)
        found.append((fields, match[4] != "-1"))
    os.remove("trace")
    check(found, done)
    return found


def of_perf(options, before, record=False):
    kind = ["record", "-q", "-o", "perf.data"] if record else ["stat"]
    found = attrs_of(["perf", *kind, *options, "--", "true"], before)
    # Probes of what the kernel knows, and further tries of an event that was refused.
    kept = []
    for fields, grouped in found:
        key = [fields.get(name) for name in ("type", "config", "bp_addr", "bp_len", "bp_type")]
        if not any(key == other for other, _, _ in kept):
            kept.append((key, fields, grouped))
    return [(fields, grouped) for _, fields, grouped in kept]


def of_pinject(options, before, record=False):
    found = attrs_of([PINJECT_RUN, *([] if record else ["--stat"]), *options, "--", "true"], before)
    if record:
        return found[1:]  # the first finds out what is allowed
    first = next(i for i, (fields, _) in enumerate(found) if fields["config"].endswith("DUMMY"))
    return found[first + 1:]


def events_in(text):
    return text.count(",") + 1 if "{" in text else 2 if "*" in text else 1


def same_fields(one, other, reasons, what):
    """How many fields of ONE, perf's, are those of OTHER, pinject's; a failure names one without a reason to differ."""
    names = sorted((set(one) | set(other)) - set(reasons))
    for name in names:
        check_equal(other.get(name), one.get(name), f"{name} of {what}")
    return len(names)


def compare(spelling, options, count, before=(), record=False):
    """How many fields were compared in each event."""
    reasons = {**OURS, **(RING if record else {})}
    theirs, ours = (function(options, before, record) for function in (of_perf, of_pinject))
    if record:
        theirs = [one for one in theirs if one[0].get("config") == ours[0][0].get("config") or
                  one[0].get("type") == "PERF_TYPE_BREAKPOINT"][-1:]
    if "*" in spelling:  # perf takes them in the order of the directory
        theirs, ours = (sorted(found[:count], key=lambda one: one[0]["config"]) for found in (theirs, ours))
    compared = []
    for i in range(count):
        one, other = theirs[i], ours[i]
        compared.append(same_fields(one[0], other[0], reasons, f"event {i + 1} of {spelling}"))
        check_equal(other[1], one[1], f"{spelling}: in a group")
    return compared


def compare_all(spellings, before=()):
    need("perf", "strace")
    need_perf_events()
    compared = [number for spelling in spellings
                for number in compare(spelling, ["-e", spelling], events_in(spelling), before)]
    check(min(compared) > 40, compared)
    figure(f"{len(spellings)} spellings: {sum(compared)} fields are those of perf; {len(OURS)} fields of each event "
           "are pinject's own and not compared")


def test_there_are_enough():
    check(len({*GENERIC, *CACHE, *RAW, *MODIFIED, *BREAKPOINTS, *GROUPS, *TRACEPOINTS}) >= 60)


def test_generic_names():
    compare_all(GENERIC)


def test_caches():
    compare_all(CACHE)


def test_numbers():
    compare_all(RAW)


def test_modifiers_and_terms():
    compare_all([text for text in MODIFIED if "msr" not in text or os.path.exists("/sys/bus/event_source/devices/msr")])


def test_breakpoints():
    compare_all(BREAKPOINTS)


def test_groups():
    compare_all(GROUPS)


def test_tracepoints():
    need_tracepoint("sched/sched_switch")
    compare_all(TRACEPOINTS, WITH_TRACEFS)


CALL = re.compile(r"perf_event_open\(\{type=(\w+), .*?config=(\w+),.*\}, (-?\d+), (-?\d+), (-?\d+), (\S+)\) = (\d+)")


def test_groups_are_opened_as_groups():
    """On each task, and for a static program on each CPU: what follows the leader names its fd."""
    need("strace")
    need_perf_events()
    for program in ("event-witness", "event-witness-static"):
        if not target_runs(program):
            continue
        run(["strace", "-f", "-v", "-o", "trace", "-e", "trace=perf_event_open", "--", PINJECT_RUN, "--stat", "-q",
             "--per-thread", "-e", "{page-faults,minor-faults},major-faults",
             "--", target(program), "1", "0", "1", "1", "1"]).ok()
        leaders, followers = {}, 0
        for line in open("trace"):
            match = CALL.search(line)
            if not match or match[3] == "0":  # of a task, not of pinject-run
                continue
            _, config, task, cpu, group, flags, fd = match.groups()
            if config.endswith("PAGE_FAULTS"):
                leaders[task, cpu] = fd
            elif config.endswith("FAULTS_MIN"):
                check_equal(group, leaders[task, cpu], line)
                check("NO_GROUP" not in flags, line)
                followers += 1
            elif config.endswith("FAULTS_MAJ"):
                check(group == "-1" or "NO_GROUP" in flags, line)
        check(followers >= (3 if program == "event-witness" else os.cpu_count()), (program, followers))
        figure(f"{program}: {followers} events have their leader's descriptor")


# The leader is sampled, what follows it is counted.
LED = [["-e", "{task-clock,page-faults,context-switches}:S", "-c", "100000"],
       ["-e", "{faults:u,minor-faults}:Su", "-c", "7"], ["-e", "{cs,faults}:S", "-F", "50"], ["-e", "faults:S", "-c", "3"]]


def test_leader_sampling():
    """Each event of the group as perf record opens it; the leader reads the group with each sample."""
    need("perf", "strace")
    need_perf_events()
    reasons, compared = {**OURS, **RING}, []
    for options in LED:
        count = events_in(options[1])
        ours = of_pinject(options, (), record=True)[:count]
        kinds = [fields["config"] for fields, _ in ours]
        theirs = [one for one in of_perf(options, (), record=True) if one[0].get("config") in kinds]
        check_equal((len(ours), len(theirs)), (count, count), (ours, theirs))
        for i, (one, other) in enumerate(zip(theirs, ours)):
            compared.append(same_fields(one[0], other[0], reasons, f"event {i + 1} of {options[1]}"))
            check_equal(other[1], one[1], f"{options[1]}: in a group")
            if i == 0:
                for found in (one, other):
                    check_in("PERF_SAMPLE_READ", found[0]["sample_type"])
                    check_in("PERF_FORMAT_ID", found[0]["read_format"])
                    check_equal("PERF_FORMAT_GROUP" in found[0]["read_format"], found is other or count > 1)
    check(min(compared) > 25, compared)
    figure(f"{len(LED)} groups: {sum(compared)} fields are those of perf record")


def test_samples():
    need("perf", "strace")
    need_perf_events()
    compared = [number for options in SAMPLED for number in compare(" ".join(options), options, 1, record=True)]
    check(min(compared) > 25, compared)
    figure(f"{len(SAMPLED)} sets of options: {sum(compared)} fields are those of perf record; {len(OURS) + len(RING)} "
           "fields of each event are pinject's own and not compared")


BRANCHES = [["-b"], ["-j", "any"], ["-j", "any_call"], ["-j", "any_ret,u"], ["-j", "ind_call,cond"], ["-j", "any,k"],
            ["-j", "any,u,hv,save_type"], ["-j", "call"], ["-j", "stack,u"], ["-j", "ind_jmp,any"], ["-j", "any,priv"],
            ["-j", "abort_tx,in_tx,no_tx"]]
NEWER_BRANCHES = {"no_flags": "NO_FLAGS", "no_cycles": "NO_CYCLES", "hw_index": "HW_INDEX"}  # perf 6.1 has no such words


def branches_of(command):
    """branch_sample_type of the first call that asks for branches, and all calls that succeeded."""
    run(["strace", "-f", "-v", "-o", "trace", "-e", "trace=perf_event_open", "--", *command])
    lines = [line for line in open("trace") if re.search(r"sample_type=[^,]*PERF_SAMPLE_BRANCH_STACK", line)]
    check(lines, f"{command}: no call asks for branches")
    return (re.search(r"branch_sample_type=([^,]+)", lines[0])[1],
            [line for line in lines if re.search(r"\) = \d+$", line)])


def test_branches():
    """The kernel is asked for the branches that perf record asks for. Where it has none, that is an error that names
    the event and the way out."""
    need("perf", "strace")
    need_perf_events()
    for options in BRANCHES:
        theirs, _ = branches_of(["perf", "record", "-q", "-o", "perf.data", "-e", "faults:u", *options, "true"])
        ours, had = branches_of([PINJECT_RUN, "-q", "-e", "faults:u", *options, "--", "true"])
        check_equal(ours, theirs, options)
        check_equal(had, [], options)  # no software event has branches
    for word, bit in NEWER_BRANCHES.items():
        ours, _ = branches_of([PINJECT_RUN, "-q", "-e", "faults:u", "-j", f"any,{word}", "--", "true"])
        check_equal(ours, f"PERF_SAMPLE_BRANCH_ANY|PERF_SAMPLE_BRANCH_{bit}")
    done = pinject_run("-e", "faults:u", "-j", "any_call", "--", "true")
    check_equal((done.status, done.err.count("\n")), (125, 1), done)
    check_in("event 'faults:u' cannot record branches", done.err)
    check_in("leave out -b and -j", done.err)
    check_equal(results(), [])
    figure(f"{len(BRANCHES)} choices of branches: branch_sample_type is that of perf record; software events are refused")


if __name__ == "__main__":
    main()
