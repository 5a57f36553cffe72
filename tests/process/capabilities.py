# SPDX-License-Identifier: MIT
# run-as: self
"""docs/CAPABILITIES.md has a row for each field, bit, record and section that there is, and each row its tests."""
from harness import *

sys.path.insert(0, str(SOURCE / "scripts"))
import capability_table  # noqa: E402

HEADER = pathlib.Path("/usr/include/linux/perf_event.h")


def table():
    return capability_table.read_table((SOURCE / capability_table.TABLE).read_text(encoding="utf-8"))


def names_of(title):
    """The names in the rows of a section."""
    return [name for section in table() if section.title == title for row in section.rows
            for name in row.what.replace("`", "").split(", ")]


def header():
    if not HEADER.exists():
        skip(f"there is no {HEADER}")
    text = HEADER.read_text(encoding="utf-8")
    if re.search(r"\b(defer_callchain|config4)\b", text):  # Linux 6.19
        skip(f"{HEADER} is of a newer kernel than the table")
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def check_each_once(names, wanted, what):
    check_equal(sorted(set(wanted) - set(names)), [], f"{what} without a row")
    check_equal(sorted(name for name in set(names) if names.count(name) > 1), [], f"{what} in two rows")


def test_each_field_of_an_event():
    body = re.search(r"struct perf_event_attr \{(.*?)\n\};", header(), re.DOTALL)[1]
    fields = [name for name in re.findall(r"\b(\w+)\s*(?::\s*\d+)?\s*[,;]", body) if not name.startswith("__reserved")]
    check(len(fields) > 50, fields)
    check_each_once(names_of("Every field of perf_event_attr"), fields, "fields")


def test_each_bit_of_samples():
    bits = re.findall(r"\b(PERF_SAMPLE_(?!BRANCH_(?!STACK)|MAX)\w+)\s*=\s*1U", header())
    check(len(bits) >= 20, bits)
    check_each_once(names_of("Bits of sample_type"), bits, "bits")


def of_perfdata(kind):
    text = (SOURCE / "common/perfdata.h").read_text(encoding="utf-8")
    return re.findall(r"^\s*(PERFDATA_\w+)", re.search(rf"enum perfdata_{kind} \{{(.*?)\}};", text, re.DOTALL)[1],
                      re.MULTILINE)


def test_each_record():
    kernels = re.findall(r"^\s*(PERF_RECORD_(?!KSYMBOL_TYPE|MAX)\w+)\s*=\s*\d+,", header(), re.MULTILINE)
    check(len(kernels) >= 18, kernels)
    check_each_once(names_of("Types of records"), kernels + of_perfdata("record"), "records")


def test_each_section():
    check_each_once(names_of("Feature sections"), of_perfdata("feature"), "sections")


def test_each_test_is_there():
    for section in table():
        check(section.rows, section.title)
        for row in section.rows:
            for test in row.tests:
                capability_table.tests_of(test)  # raises


def test_the_page_is_that_of_the_table():
    """But for what was measured."""
    page = (SOURCE / "docs/CAPABILITIES.md").read_text(encoding="utf-8")
    rows = [line.rpartition(" | ")[0] for section in table()
            for line in capability_table.markdown(section, ["x"] * len(section.rows)).splitlines() if line.startswith("| ")]
    found = [re.split(r"(?<!\\)\|", line) for line in page.splitlines() if line.startswith("| ")]
    found = ["|".join(cells[:4]).rstrip() for cells in found]
    check_equal(found, [row.rstrip() for row in rows], "run scripts/capabilities")
    for section in table():
        check_in(section.introduction, page)


def check_refused(function, argument, says):
    try:
        function(argument)
    except ValueError as error:
        check_in(says, str(error))
    else:
        check(False, argument)


def test_a_row_that_is_none():
    for text, says in (("a | b | c\n", "line 1 belongs to no section"), ("## A\na | b\n", "line 2 is no row"),
                       ("## A\na | b | process/x:y\nc\n", "line 3 is no row"), ("## A\n | b | c\n", "line 2 is no row"),
                       ("## A\na | | c\n", "line 2 is no row")):
        check_refused(capability_table.read_table, text, says)
    for test in ("process/none:such", "process/count-period:none_such", "unit/payload:none_such", "../x:*"):
        check_refused(capability_table.tests_of, test, test)


if __name__ == "__main__":
    main()
