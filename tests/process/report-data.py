# SPDX-License-Identifier: MIT
# labels: analyze
# timeout: 240
"""panalyze report --by data-page, data-symbol, data-type and branch, beside perf, readelf and what the program says."""
import importlib
import struct

from harness import *

peak = importlib.import_module("analyze-large").peak

USER = "" if IS_ROOT else ":u"
PROGRAM = "data-witness"


def need_perf():
    need("perf", "readelf")
    need_perf_events()


def need_perf_6():
    """For what perf prints for people, which other versions may word otherwise."""
    need_perf()
    version = run(["perf", "--version"]).out
    if not version.startswith("perf version 6."):
        skip(f"made for perf 6: {version}")


# ---- real recordings

def record_by_perf():
    """(file, what the program said)"""
    done = run(["perf", "record", "-q", "-d", "-c", "1", "-e", f"page-faults{USER}", "-o", "p.data", "--",
                target(PROGRAM)])
    check(os.path.exists("p.data"), done)
    return "p.data", said(done.out)


def record_by_pinject():
    # Without dumps of stacks, the ring of any user has room for all samples.
    done = pinject_run("-q", "-g", "none", "-d", "-c", "1", "-e", f"page-faults{USER}", "--", target(PROGRAM)).ok()
    check_files(1)
    return results()[0], said(done.out)


def said(text):
    """{name: (start, bytes, pages)}"""
    found = {name: (int(start), int(size), int(pages))
             for name, start, size, pages in re.findall(r"^(\S+) (\d+) (\d+) (\d+)$", text, re.MULTILINE)}
    check_equal(len(found), 6, text)
    return found


def addresses_of(name):
    """The address of each sample, as perf reads them."""
    text = run(["perf", "script", "-i", name, "-F", "addr"]).ok().out
    return [int(word, 16) for word in text.split()]


def group_rows(by, member, name, *options):
    document = panalyze_json("report", "--by", by, *options, name)
    return document[member], document


def counts_of(rows, *members):
    return {tuple(row[member] for member in members): row["samples"] for row in rows}


def in_range(addresses, place):
    start, size, _ = place
    return sum(start <= address < start + size for address in addresses)


def check_variables(name, places):
    """Each variable has the faults at its addresses; each page was touched, and so has at least one."""
    rows, document = group_rows("data-symbol", "data_symbols", name)
    counts, addresses = counts_of(rows, "dso", "symbol"), addresses_of(name)
    check_equal(sum(counts.values()) + document["data_missing"]["samples"], len(addresses))
    check_equal(document["total"]["samples"], len(addresses))
    total = 0
    for symbol in ("zeros_of_witness", "data_of_witness", "local_of_witness"):
        found = counts[(target(PROGRAM), symbol)]
        check_equal(found, in_range(addresses, places[symbol]), symbol)
        check(found >= places[symbol][2], f"{symbol}: {found} faults in {places[symbol]}")
        total += found
    return counts, addresses, total


def check_memory(name, places):
    """The same of heap, stack and mapped memory."""
    counts, addresses, total = check_variables(name, places)
    for memory, touched_before in (("[heap]", 0), ("[stack]", 2), ("//anon", 0)):  # main() was called on the same stack
        found, wanted = counts.get((memory, None), 0), in_range(addresses, places[memory])
        check(found >= wanted >= places[memory][2] - touched_before, f"{memory}: {found}, {wanted} in {places[memory]}")
        total += wanted
    figure(f"{total} page faults in 3 variables, heap, stack and mapped memory, as the program and perf script say")
    return counts


def test_variables_of_perf():
    need_perf()
    check_memory(*record_by_perf())


def test_files_in_memory():
    """A file that a process has mapped before it makes a thread and a child: both of them touch its pages."""
    need_perf_events()
    code = """if True:
        import mmap, os, threading
        file = open("pages.bin", "w+b")
        file.truncate(60 * 4096)
        memory = mmap.mmap(file.fileno(), 0)
        def touch(first, end):
            for page in range(first, end):
                memory[page * 4096] = 1
        thread = threading.Thread(target=touch, args=(0, 20))
        thread.start()
        thread.join()
        if os.fork() == 0:
            touch(20, 50)
            os._exit(0)
        os.wait()"""
    all_seen(pinject_run("-d", "-e", "page-faults:u", "-c", "1", "-g", "none", "--", "python3", "-c", code).ok())
    rows, _ = group_rows("data-symbol", "data_symbols", ".")
    check_equal(counts_of(rows, "dso")[(os.path.abspath("pages.bin"),)], 50)


def test_variables_of_pinject():
    need_perf()
    name, places = record_by_pinject()
    counts = check_memory(name, places)
    text = panalyze("report", "--by", "data-symbol", name).ok().out
    check_match(rf" {counts[(target(PROGRAM), 'zeros_of_witness')]} +{PROGRAM} +zeros_of_witness$", text)


def objects_of(path):
    """{(start, end): names} of the variables of PATH, by readelf."""
    need("readelf")
    found = {}
    for start, size, symbol in re.findall(r"^ *\d+: ([0-9a-f]+) +(0x[0-9a-f]+|\d+) OBJECT .* (?!UND|ABS)\d+ (\S+)",
                                          run(["readelf", "-sW", path]).ok().out, re.MULTILINE):
        size = int(size, 0)
        if size:
            found.setdefault((int(start, 16), int(start, 16) + size), set()).add(symbol.partition("@")[0])
    return found


def code_of(path):
    """(offset, virtual address) of the segment with code, by readelf."""
    need("readelf")
    found = check_match(r"^ *LOAD +(0x[0-9a-f]+) (0x[0-9a-f]+) \S+ \S+ \S+ R E", run(["readelf", "-lW", path]).ok().out)
    return int(found[1], 16), int(found[2], 16)


def test_variables_are_those_of_readelf():
    """All variables of the program and of its libraries."""
    need_perf()
    name, _ = record_by_perf()
    rows, _ = group_rows("data-symbol", "data_symbols", name)
    maps = run(["perf", "script", "-i", name, "--show-mmap-events", "-F", "comm"]).ok().out
    compared = 0
    mapped = re.findall(r"\[(0x[0-9a-f]+)\(0x[0-9a-f]+\) @ (0x[0-9a-f]+|0) .*\]: r-xp (/\S+)", maps)
    for start, pgoff, path in set(mapped):
        offset, virtual = code_of(path)
        bias = int(start, 16) - int(pgoff, 16) + offset - virtual
        wanted = {}
        objects = objects_of(path)
        for address in addresses_of(name):
            hit = [names for (low, high), names in objects.items() if low <= address - bias < high]
            if hit:
                key = frozenset(set().union(*hit))
                wanted[key] = wanted.get(key, 0) + 1
        found = {row["symbol"].partition("@")[0]: row["samples"] for row in rows
                 if row["dso"] == path and row["symbol"]}
        for names, count in wanted.items():
            check_equal(sum(found.get(symbol, 0) for symbol in names), count, f"{path}: {sorted(names)}")
            compared += count
    check(compared >= 80, compared)
    figure(f"{compared} page faults in variables of the program and its libraries: the same as by readelf's symbols")


def test_variables_are_those_of_perf_report():
    """perf has a row for each address, and does not know variables in zeroed memory (.bss) beyond the file."""
    need_perf_6()
    name, _ = record_by_perf()
    rows, _ = group_rows("data-symbol", "data_symbols", name)
    counts = counts_of(rows, "dso", "symbol")
    text = run(["perf", "report", "--mem-mode", "-n", "--stdio", "-t", ";", "-s", "dso_daddr,symbol_daddr", "-i", name])
    theirs = {}
    for samples, symbol in re.findall(rf"^ *[\d.]+% *; *(\d+) *; *{PROGRAM} *; *\[.\] (\w+)\+0x", text.ok().out,
                                      re.MULTILINE):
        theirs[symbol] = theirs.get(symbol, 0) + int(samples)
    check_in("data_of_witness", theirs, text)
    check_equal(counts[(target(PROGRAM), "data_of_witness")], theirs["data_of_witness"])
    figure(f"data_of_witness: {theirs['data_of_witness']} page faults, as perf report --mem-mode says")


def test_pages():
    """A row for each page, with as many samples as perf script has addresses in it."""
    need_perf()
    for name, places in (record_by_perf(), record_by_pinject()):
        rows, _ = group_rows("data-page", "data_pages", name)
        wanted = {}
        for address in addresses_of(name):
            wanted[address & ~4095] = wanted.get(address & ~4095, 0) + 1
        found = {}
        for row in rows:
            check_equal(row["page_bytes"], 4096, row)
            found[row["page"]] = found.get(row["page"], 0) + row["samples"]
        check_equal(found, wanted)
        start, size, pages = places["zeros_of_witness"]
        check_equal(sum(start <= row["page"] < start + size for row in rows), pages)
        check_equal({row["dso"] for row in rows if start <= row["page"] < start + size}, {target(PROGRAM)})
        figure(f"{sum(wanted.values())} page faults on {len(wanted)} pages, as by the addresses of perf script")


def test_page_sizes_of_the_samples():
    need_perf_6()
    done = run(["perf", "record", "-q", "-d", "--data-page-size", "-c", "1", "-e", f"page-faults{USER}", "-o", "s.data",
                "--", target(PROGRAM)])
    if done.status:
        skip(f"perf record --data-page-size: {done.err}")
    text = run(["perf", "script", "-i", "s.data", "-F", "addr,data_page_size"]).ok().out
    sizes = {"4K": 4096, "N/A": 4096, "2M": 2 << 20, "64K": 65536}
    wanted = {(int(address, 16) & ~(sizes[size] - 1), sizes[size])
              for address, size in re.findall(r"([0-9a-f]+) +(N/A|\d+[KM])", text)}
    rows, _ = group_rows("data-page", "data_pages", "s.data")
    check_equal({(row["page"], row["page_bytes"]) for row in rows}, wanted)


def test_samples_without_an_address():
    """Two events in one file: page faults have addresses, the clock has none."""
    need_perf()
    run(["perf", "record", "-q", "-d", "-c", "1", "-e", f"page-faults{USER}", "-e",
         "task-clock/period=100000/u" if USER else "task-clock/period=100000/", "-o", "two.data", "--", target("spin"),
         "100"])
    script = run(["perf", "script", "-i", "two.data", "-F", "event"]).ok().out
    clock = check_match(r"^ *(\S*clock\S*):\s*$", script)[1]
    rows, document = group_rows("data-symbol", "data_symbols", "two.data", "--group")
    shares = {event["event"]: event["samples"] for event in document["data_missing"]["events"]}
    check_equal(shares[clock], len(re.findall(rf"^ *{re.escape(clock)}:", script, re.MULTILINE)))
    check_equal(shares[f"page-faults{USER}"], 0, shares)
    check(rows and all(len(row["events"]) == 2 for row in rows), rows)
    figure(f"{shares[clock]} samples of the clock are counted as without an address")
    result = panalyze("report", "--by", "data-page", "-e", clock, "two.data")
    check_equal((result.status, result.out), (1, ""))
    check_equal(result.err, f"panalyze: two.data: no sample of the event '{clock}' has a data address; samples of "
                f"another event have a data address: use --event page-faults{USER}\n")
    text = panalyze("report", "--by", "data-page", "--group", "two.data").ok().out
    check_match(rf"^{re.escape(clock)}: [\d,]+ samples \(100\.00 %\) have no data address$", text)


# ---- made-up recordings of what no machine here can record

def symbols_of(path):
    """{name: address} of functions."""
    need("readelf")
    text = run(["readelf", "-sW", path]).ok().out
    return {name: int(start, 16) for start, name in
            re.findall(r"^ *\d+: ([0-9a-f]+) +\d+ FUNC .* \d+ (\w+)$", text, re.MULTILINE)}


BASE = 0x555555000000
FIELDS = 1 | 2 | 4 | 8 | 256  # ip, tid, time, address, period
BRANCHES, SOURCES = 1 << 11, 1 << 15


def record_bytes(kind, misc, payload):
    payload += bytes(-len(payload) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(payload)) + payload


def mapping(start, size, pgoff, path, data=False):
    head = struct.pack("<IIQQQIIQQII", 7, 7, start, size, pgoff, 8, 1, 100, 0, 3 if data else 5, 2)
    return record_bytes(10, 2 | (data << 13), head + os.fsencode(path) + b"\0")


def code_mapping(path):
    offset, virtual = code_of(path)
    return mapping(BASE + (virtual & ~4095), 0x100000, offset & ~4095, path)


def sample(ip, address, period=1, branches=None, source=None):
    payload = struct.pack("<QIIQQQ", ip, 7, 7, 10**9, address, period)
    if branches is not None:
        payload += struct.pack("<Q", len(branches)) + b"".join(struct.pack("<QQQ", *one) for one in branches)
    if source is not None:
        payload += struct.pack("<Q", source)
    return record_bytes(9, 2, payload)


def make_file(name, fields, records, branch_type=8):
    attr = struct.pack("<IIQQQQQIIQQQ", 4, 128, 0x1cd, 1, FIELDS | fields, 0, 1 << 8 | 1 << 9 | 1 << 23, 0, 0, 0, 0,
                       branch_type if fields & BRANCHES else 0)
    attr += bytes(128 - len(attr)) + bytes(16)
    comm = record_bytes(3, 1 << 13, struct.pack("<II", 7, 7) + b"made-up\0")
    data = comm + b"".join(records)
    begin = 104 + len(attr)
    features = bytearray(32)
    tail = b""
    if fields & BRANCHES:  # perf report -b looks for the section
        features[15 // 8] |= 1 << 15 % 8
        tail = struct.pack("<QQ", begin + len(data) + 16, 0)
    head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, len(attr), 104, len(attr), begin, len(data), 0, 0)
    pathlib.Path(name).write_bytes(head + bytes(features) + attr + data + tail)


def make_branches():
    """Writes b.data; {(from, to): [flags of each branch]}."""
    path = target("spin")
    symbols = symbols_of(path)
    names = ["main", "spin_a", "spin_b"]
    check(set(names) <= set(symbols), symbols)
    places = {name: BASE + symbols[name] for name in names}
    wanted, records = {}, [code_mapping(path)]
    for i in range(60):
        branches = []
        for j in range(i % 5):
            ends = names[(i + j) % 3], names[(i * j + 1) % 3]
            flags = (1 if (i + j) % 4 == 0 else 2) | (i + j if j % 2 else 0) << 4 | (j % 6) << 20
            branches.append((places[ends[0]] + 1 + j, places[ends[1]], flags))
            wanted.setdefault(ends, []).append(flags)
        records.append(sample(places["spin_a"], 0, branches=branches))
    make_file("b.data", BRANCHES, records)
    return wanted


def test_branches():
    wanted = make_branches()
    rows, document = group_rows("branch", "branches", "b.data")
    found = {(row["from_symbol"], row["to_symbol"]):
             (row["branches"], row["mispredicted"], row["predicted"], row["cycles"], row["cycle_branches"])
             for row in rows}
    check_equal(found, {ends: (len(flags), sum(flag & 1 for flag in flags), sum(flag >> 1 & 1 for flag in flags),
                               sum(flag >> 4 & 0xffff for flag in flags), sum(flag >> 4 & 0xffff > 0 for flag in flags))
                        for ends, flags in wanted.items()})
    check_equal(document["branches_missing"]["samples"], 12)
    check_near(sum(row["percent"] for row in rows), 100, points=0.01)
    check_equal({row["from_dso"] for row in rows} | {row["to_dso"] for row in rows}, {target("spin")})
    text = panalyze("report", "--by", "branch", "b.data").ok().out
    check_match(r"^ *Share +Branches +Mispredicted +Cycles +DSO +From +DSO +To$", text)
    check_match(r"^12 samples \(20\.00 %\) have no branch stack$", text)
    check_in("panalyze report --by branch", panalyze("report", "b.data").ok().out)
    figure(f"{sum(len(flags) for flags in wanted.values())} branches of {len(wanted)} pairs of functions, made up")


def test_branches_are_those_of_perf():
    need_perf_6()
    make_branches()
    text = run(["perf", "report", "-b", "-n", "--stdio", "-t", ";", "-s", "symbol_from,symbol_to,mispredict",
                "-i", "b.data"])
    theirs = {}
    for samples, source, to, miss in re.findall(r"^ *[\d.]+% *; *(\d+) *; *\[.\] (\w+)[^;]*; *\[.\] (\w+)[^;]*; *([NY]) *;",
                                                text.ok().out, re.MULTILINE):
        one = theirs.setdefault((source, to), [0, 0])
        one[0] += int(samples)
        one[1] += int(samples) * (miss == "Y")
    rows, _ = group_rows("branch", "branches", "b.data")
    check_equal({(row["from_symbol"], row["to_symbol"]): [row["branches"], row["mispredicted"]] for row in rows},
                theirs)
    figure(f"perf report -b has the same {len(theirs)} pairs of functions, branches and mispredictions")
    for fields in ("brstack", "brstacksym", "ip,sym,dso,brstacksym"):
        # perf puts nothing where the type of a branch is not known, and no blank between two fields.
        wanted, mine = ([re.sub(r"/(\d+)/(?=\s)", r"/\1/-", line + " ").replace(" ", "") for line in text.splitlines()]
                        for text in (run(["perf", "script", "-i", "b.data", "-F", fields]).ok().out,
                                     panalyze("script", "-F", fields, "b.data").ok().out))
        wanted, mine = ([line for line in lines if line] for lines in (wanted, mine))
        check_equal(mine, wanted, fields)
        figure(f"-F {fields}: perf script prints the same {len(wanted)} lines")
    document = panalyze_json("script", "-F", "brstacksym", "b.data")["records"]
    named = [branch for one in document for branch in one.get("brstack", [])]
    check(named and all(branch["from_sym"].startswith(("main+0x", "spin_a+0x", "spin_b+0x")) for branch in named),
          named)


# Loads, stores, a prefetch; levels, snoops, TLBs, locks, blocks: values of union perf_mem_data_src.
SOURCES_MADE = {
    0x2 | 0xa << 4 | 0x2 << 19 | 0xa << 26: 9,
    0x02 | (0x2 | 0x8) << 5 | 0x2 << 19 | (0x2 | 0x8 | 0x10) << 26: 30,
    0x02 | (0x2 | 0x10) << 5 | 0x2 << 19 | (0x2 | 0x8) << 26: 12,
    0x02 | (0x2 | 0x80) << 5 | 0x2 << 19 | (0x4 | 0x20) << 26: 7,
    0x04 | (0x4 | 0x8) << 5 | 0x1 << 19 | (0x2 | 0x8) << 26: 20,
    0x02 | (0x2 | 0x40) << 5 | 0x10 << 19 | 0x2 << 24 | (0x2 | 0x8) << 26: 3,
    0x08 | (0x2 | 0x20) << 5 | 0x1 << 19: 2,
    0x1e05080021: 5,  # the kernel's N/A
    0x02 | 0x2 << 5 | 0x0d << 33 | 1 << 37: 4,
    0x02 | (0x2 | 0x8) << 5 | 0x2 << 40: 1,
    # The old bits say what the number says, as on processors of today.
    0x02 | (0x2 | 0x8) << 5 | 0x01 << 33: 6,
}
ACCESS = ("mem", "snoop", "tlb", "locked", "blocked")


def make_sources():
    path = target("spin")
    place = BASE + symbols_of(path)["spin_a"]
    make_file("m.data", SOURCES, [code_mapping(path)] + [sample(place, 0x1000 + i, source=source) for source, count in
                                                         SOURCES_MADE.items() for i in range(count)])


def level_of(text):
    """
    perf 6.1 prints the level of the old bits and that of the number: "L1 or L1 hit", "N/A or N/A". panalyze and later
    perf print one: that of the number, if there is one.
    """
    return re.sub(r"(L1|N/A) or (L1|N/A)\b", r"\2", text)


def test_levels_are_those_of_perf_script():
    need_perf_6()
    make_file("n.data", SOURCES, [sample(BASE, 1, source=2 | bits << 5 | number << 33) for number in range(16)
                                  for bits in (0, 2, 4, 1 if number == 15 else 0, 2 | 8 if number == 1 else 2)])
    theirs, mine = (re.findall(r"\|LVL ([^|]*)\|", done.ok().out) for done in
                    (run(["perf", "script", "-i", "n.data", "-F", "data_src"]),
                     panalyze("script", "-F", "data_src", "n.data")))
    check_equal(len(set(mine)), 45)  # no level and N/A look the same
    check_equal(mine, [level_of(level) for level in theirs])


def test_kinds_of_access():
    make_sources()
    rows, document = group_rows("data-type", "data_types", "m.data")
    found = counts_of(rows, "op", *ACCESS)
    check_equal(sum(found.values()), sum(SOURCES_MADE.values()))
    check_equal(document["data_missing"]["samples"], 0)
    check_equal(found[("LOAD", "L1 hit", "None", "L1 or L2 hit", "No", "N/A")], 30)
    check_equal(found[("STORE", "L1 miss", "N/A", "L1 hit", "No", "N/A")], 20)
    check_equal(found[("PFETCH", "L2 hit", "N/A", "N/A", "No", "N/A")], 2)
    check_equal(found[("N/A", "N/A", "N/A", "N/A", "N/A", "N/A")], 5)
    check_equal(found[("LOAD", "L3 hit", "HitM", "L1 hit", "Yes", "N/A")], 3)
    text = panalyze("report", "--by", "data-type", "m.data").ok().out
    check_match(r"^ *Share +Weight +Samples +Access +Memory +Snoop +TLB +Locked +Blocked$", text)
    check_match(r" 30 +LOAD +L1 hit +None +L1 or L2 hit +No +N/A$", text)
    figure(f"{sum(found.values())} accesses of {len(found)} kinds, made up")


def test_kinds_of_access_are_those_of_perf():
    need_perf_6()
    make_sources()
    text = run(["perf", "report", "--mem-mode", "-n", "--stdio", "-t", ";", "-s", ",".join(ACCESS),
                "-i", "m.data"]).ok().out
    theirs = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(";")]
        if len(cells) == 7 and cells[1].isdigit():
            key = (level_of(cells[2]), *cells[3:])
            theirs[key] = theirs.get(key, 0) + int(cells[1])
    rows, _ = group_rows("data-type", "data_types", "m.data")
    mine = {}
    for row in rows:
        key = tuple(row[member] for member in ACCESS)
        mine[key] = mine.get(key, 0) + row["samples"]
    check_equal(mine, theirs, text)
    figure(f"perf report --mem-mode has the same {len(theirs)} kinds, with the same numbers of accesses")
    lines = run(["perf", "script", "-i", "m.data", "-F", "data_src"]).ok().out
    ops = {}
    for op in re.findall(r"\|OP ([^|]*)\|", lines):
        ops[op] = ops.get(op, 0) + 1
    found = {}
    for row in rows:
        found[row["op"]] = found.get(row["op"], 0) + row["samples"]
    check_equal(found, ops)


# ---- options

def fails(status, pattern, *args):
    result = panalyze(*args)
    check_equal((result.status, result.out), (status, ""), result)
    check_match(pattern, result.err)
    check_equal(len(result.err.splitlines()), 1, result)


def test_refused():
    make_branches()
    make_sources()
    name = DATA / "fp.data"
    for by in ("data-page", "data-symbol", "data-type", "branch"):
        for option in ("--callers", "--callees", "--call-tree", "--reverse", "--inline", "--no-inline"):
            fails(2, rf"^panalyze: --by={by} does not show call chains: leave out {option}$", "report", "--by", by, option, name)
        fails(2, "leave out --sort total$", "report", "--by", by, "--sort", "total", name)
        fails(2, f"^panalyze: --by={by} has no sections for tasks: leave out --per-task", "report", "--by", by, "--per-task",
              name)
    for by, needs, remedy in (("data-page", "data address", "record them with 'pinject-run -d' or 'perf record -d'"),
                              ("data-symbol", "data address", "record them with 'pinject-run -d' or 'perf record -d'"),
                              ("data-type", "data source", "record events of memory accesses with 'pinject-run -d' or "
                               "'perf mem record'"),
                              ("branch", "branch stack", "record branches with 'perf record -b'")):
        fails(1, rf"^panalyze: \S*fp\.data: no sample of the event '\S+' has a {needs}; {remedy}$", "report", "--by", by, name)
        fails(1, f"no sample of the event '.*' has a {needs}", "report", "--json", "--by", by, name)
    # They have the field for addresses: another event is needed, not another option.
    for by in ("data-page", "data-symbol"):
        fails(1, "no sample of the event '.*' has a data address; this event has no addresses; record one that has, such "
              "as page-faults$", "report", "--by", by, "b.data")
    fails(1, "no sampled stack passes through a function 'nothing'", "report", "--by", "branch", "-S", "nothing", "b.data")
    fails(1, "no task matches the filters", "report", "--by", "branch", "-c", "nothing", "b.data")


def test_call_chains_are_no_branches():
    """perf record --call-graph lbr"""
    make_file("l.data", BRANCHES, [sample(BASE, 0, branches=[(BASE, BASE, 0)])], branch_type=1 << 11 | 1 << 3)
    fails(1, "no sample of the event '.*' has a branch stack; record branches with 'perf record -b'$", "report", "--by",
          "branch", "l.data")
    check_equal(panalyze_json("report", "l.data")["session"].get("notes", []), [])


def make_many(name, events, rows):
    """A file of EVENTS, with samples of the first one on ROWS pages."""
    attrs = b""
    ids = b"".join(struct.pack("<Q", 100 + i) for i in range(events))
    for i in range(events):
        attr = struct.pack("<IIQQQQQIIQQQ", 4, 128, 0x1cd + i, 1, FIELDS | 1 << 16, 4, 1 << 18, 0, 0, 0, 0, 0)
        attrs += attr + bytes(128 - len(attr)) + struct.pack("<QQ", 104 + 8 * i, 8)
    data = b"".join(record_bytes(9, 2, struct.pack("<QQIIQQQ", 100, 0x1000, 7, 7, 10**9, 0x7000000 + 4096 * i, 1))
                    for i in range(rows))
    begin = 104 + len(ids) + len(attrs)
    head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 144, 104 + len(ids), len(attrs), begin, len(data), 0, 0)
    pathlib.Path(name).write_bytes(head + bytes(32) + ids + attrs + data)


def test_events_that_are_not_shown_need_no_memory():
    peaks = []
    for events, rows in ((4000, 1), (4000, 4000)):
        make_many("e.data", events, rows)
        peaks.append(peak("report", "--by", "data-page", "e.data"))
    check(peaks[1] - peaks[0] < 64, peaks)  # 16 bytes for each event and row were 244 MiB


def test_filters_and_limits():
    make_branches()
    make_sources()
    whole = group_rows("branch", "branches", "b.data")[0]
    for options in (("-c", "made-up"), ("-p", "7"), ("-t", "7"), ("-S", "spin_a"), ("-o", "spin"), ("-a",)):
        check_equal(group_rows("branch", "branches", "b.data", *options)[0], whole, options)
    check_equal(group_rows("branch", "branches", "b.data", "--top", "2")[0], whole[:2])
    text = panalyze("report", "--by", "data-type", "-n", "1", "m.data").ok().out
    check_match(r"^and 10 kinds of access more with [\d.]+ % together; --top all shows all$", text)
    text = panalyze("report", "--by", "data-type", "--cum", "40", "m.data").ok().out
    check_match(r"^and 9 kinds of access more with 49\.49 % together", text)
    group = group_rows("data-type", "data_types", "m.data", "--group")[0]
    check_equal([row["events"][0]["samples"] for row in group], [row["samples"] for row in group])


def test_hostile_files():
    """Counts beyond the record, addresses at both ends, mappings without a size or of a file that is no ELF file."""
    path = target("spin")
    ends = [(0, 2**64 - 1, 2**64 - 1), (2**64 - 1, 0, 0), (2**63, 2**63 - 1, 1 << 63)]
    pathlib.Path("text").write_text("no ELF file")
    maps = [code_mapping(path), mapping(0, 2**64 - 1, 2**64 - 4096, "//anon", True), mapping(2**47, 4096, 2**63, os.path.abspath("text")),
            mapping(2**46, 0, 0, path), mapping(2**45, 2**44, 2**64 - 4096, path), mapping(2**44, 4096, 0, "[heap]", True)]
    made = [sample(0, address, period=2**63, branches=ends, source=2**64 - 1)
            for address in (1, 2**44, 2**45 + 5, 2**46, 2**47 + 5, 2**63 - 1, 2**63, 2**64 - 1, BASE)]
    cut = record_bytes(9, 2, struct.pack("<QIIQQQQ", 0, 7, 7, 10**9, 5, 1, 2**61))
    make_file("h.data", BRANCHES | SOURCES, maps + made + [cut])
    for by in ("data-page", "data-symbol", "data-type", "branch"):
        for options in ((), ("--json",), ("--group",)):
            result = panalyze("report", "--by", by, *options, "h.data")
            check(result.status in (0, 1) and result.out, result)
    for fields in ("brstack", "brstacksym", "ip,dso,brstacksym"):
        check(panalyze("script", "-F", fields, "h.data").status in (0, 1))


if __name__ == "__main__":
    main()
