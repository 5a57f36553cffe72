# SPDX-License-Identifier: MIT
# labels: analyze
# run-as: self
"""Functions of a stripped program: each is one line, by its start, with the share that its name has elsewhere."""
from harness import *


def shares(*options):
    """{function: samples} of the program ./spin itself; PLT stubs have names in any case."""
    document = panalyze_json("--aggregate", "--top", "all", *options, *results())
    own = [entry for entry in document["functions"] if os.path.basename(entry["dso"]) == "spin"]
    return {entry["symbol"]: entry["self_samples"] for entry in own
            if entry["self_samples"] and not entry["symbol"].endswith("@plt")}


def starts(program):
    """{start: names} of its functions, by nm."""
    found = {}
    for line in run(["nm", "--defined-only", program]).ok().lines:
        address, kind, name = line.rsplit(" ", 2)
        if kind in "tTwW":
            found.setdefault(int(address, 16), set()).add(name)
    return found


def record_stripped():
    need_perf_events()
    need("nm", "strip")
    shutil.copy(target("spin"), "spin")
    run(["strip", "spin"]).ok()
    pinject_run("-q", "-F", "2500", "--", "./spin", "400").ok()
    return shares()


def test_each_function_is_one():
    stripped, names = record_stripped(), starts(target("spin"))
    for name in stripped:
        check(int(check_match(r"^spin\+0x([0-9a-f]+)$", name)[1], 16) in names, f"{name} begins nowhere: {stripped}")
    with measured():
        check(max(stripped.values()) > 100, stripped)

    by_address = panalyze_json("--aggregate", "--top", "all", "--by", "address", *results())
    check(len(by_address["functions"]) > len(stripped), "each address is still to be had")

    shutil.copy(target("spin"), "spin")  # with its names, and the same build id
    named = {name: count for name, count in shares().items()}
    check_equal({min(names[int(name.split("+0x")[1], 16)] & named.keys(), default=name): count
                 for name, count in stripped.items()}, named)


def test_its_code():
    need("objdump")
    stripped = record_stripped()
    heaviest = max(stripped, key=stripped.get)
    text = panalyze("annotate", "-S", heaviest, *results()).ok().out
    check_in(f"{heaviest} in ", text)
    start = int(heaviest.split("+0x")[1], 16)
    check_match(rf"^ .*\b{start:x}  \S", text, "its first instruction")


def test_in_an_archive():
    stripped = record_stripped()
    panalyze("archive", *results()).ok()
    os.unlink("spin")
    check_equal(shares(), stripped)


if __name__ == "__main__":
    main()
