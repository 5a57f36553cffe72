# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: root
# timeout: 120
"""The fields of tracepoints in panalyze script must have the values that perf script -F trace prints."""
from harness import *

EVENTS = ("sched:sched_switch", "sched:sched_process_exec", "syscalls:sys_enter_openat", "raw_syscalls:sys_enter")
STATES = "RSDTtXZPI"


def record(name, **kw):
    need("perf")
    need_perf_events()
    if not os.path.exists("/sys/kernel/tracing/events/sched"):
        skip("tracefs is not mounted")
    events = [option for event in EVENTS for option in ("-e", event)]
    return run(["perf", "record", "-q", "-c", "1", *events, "-o", name, "--", "sh", "-c",
                "ls / >/dev/null; echo a | cat >/dev/null; exec true"], **kw)


def theirs(name):
    """[(time in us, event, fields as text)] of perf."""
    out = run(["perf", "script", "-i", name, "-F", "time,event,trace"]).ok().out
    found = [re.match(r"\s*(\d+)\.(\d+):\s+(\S+): (.*)", line) for line in out.splitlines()]
    return sorted((int(match[1] + match[2]), match[3], match[4].strip()) for match in found if match)


def ours(name):
    out = panalyze("script", name).ok().out
    found = [re.match(r".* (\d+)\.(\d+): 1 (\S+:\S+): (\S+=.*)", line) for line in out.splitlines()]
    return sorted((int(match[1] + match[2]), match[3], match[4]) for match in found if match)


def fields(text):
    return dict(re.findall(r"(\w+)=(ARRAY\[.*?\]|.*?)(?= \w+=|$)", text))


def as_perf(event, text):
    """What perf prints for our fields TEXT, by the print format that the event's kernel has."""
    own = fields(text)
    if event == "raw_syscalls:sys_enter":
        numbers = re.sub(r"\b0(?=[0-9a-f])", "", own["args"][6:-1])
        return f"NR {own['id']} ({numbers})"
    if event == "syscalls:sys_enter_openat":
        return ", ".join(f"{name}: 0x{int(own[name], 0):08x}" for name in ("dfd", "filename", "flags", "mode"))
    return text


def same(event, mine, other):
    if event != "sched:sched_switch":
        return as_perf(event, mine) == other
    # perf has a letter for the state, and an arrow before the next task.
    mine, other = fields(mine), fields(other.replace(" ==> ", " "))
    state = int(mine.pop("prev_state"))
    letters = other.pop("prev_state").rstrip("+").split("|")
    wanted = [letter for bit, letter in enumerate(STATES[1:]) if state & 0xff & 1 << bit] or ["R"]
    return mine == other and (letters == wanted or state & 0x80)


def compare(name):
    mine, other = ours(name), theirs(name)
    check_equal([row[:2] for row in mine], [row[:2] for row in other], "samples")
    # Samples of the same microsecond may come in another order.
    at = {}
    for time_us, event, text in other:
        at.setdefault((time_us, event), []).append(text)
    wrong = [(event, own, at[time_us, event]) for time_us, event, own in mine
             if not any(same(event, own, text) for text in at[time_us, event])]
    check_equal(wrong[:5], [], "fields of the samples")
    for event in EVENTS:
        count = sum(row[1] == event for row in mine)
        check(count > 0, f"no sample of {event}")
        print(f"{name}: {count} samples of {event} have perf's values")


def test_file():
    record("a.data").ok()
    compare("a.data")
    features = json.loads(panalyze("info", "--json", "a.data").ok().out)["files"][0]["features"]
    events = {f"{fact['system']}:{fact['event']}": fact for fact in features["TRACING_DATA"] if "event" in fact}
    check_equal(sorted(events), sorted(EVENTS), "described tracepoints")
    for event, fact in events.items():
        with open(f"/sys/kernel/tracing/events/{event.replace(':', '/')}/format") as file:
            text = file.read()
        check_equal(str(fact["id"]), re.search(r"^ID: (\d+)", text, re.MULTILINE)[1], f"id of {event}")
        names = re.findall(r"field:[^;]*?(\w+)(?:\[\d*\])?;", text)
        check_equal(fact["fields"], sum(not name.startswith("common_") for name in names), f"fields of {event}")


def test_pipe():
    with open("pipe.data", "wb") as file:
        result = record("-", stdout=file)
    check_equal(result.status, 0)
    compare("pipe.data")


if __name__ == "__main__":
    main()
