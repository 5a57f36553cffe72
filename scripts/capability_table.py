# SPDX-License-Identifier: MIT
"""scripts/capabilities.table, and where its tests are: for scripts/capabilities and its test."""
import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parents[1]
TABLE = "scripts/capabilities.table"


class Row:
    def __init__(self, what, command, tests):
        self.what, self.command, self.tests = what, command, tests


class Section:
    def __init__(self, title):
        self.title, self.introduction, self.rows = title, "", []


def read_table(text):
    """The sections of the TEXT of a table; ValueError names the line that is none of it."""
    sections = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            sections.append(Section(line[3:]))
        elif line.startswith("#") or not line.strip():
            continue
        elif not sections:
            raise ValueError(f"line {number} belongs to no section")
        elif " | " in line:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
            if len(cells) != 3 or not all(cells):
                raise ValueError(f"line {number} is no row: WHAT | COMMAND | TESTS")
            sections[-1].rows.append(Row(cells[0], cells[1], cells[2].split()))
        elif sections[-1].rows:
            raise ValueError(f"line {number} is no row: WHAT | COMMAND | TESTS")
        else:
            sections[-1].introduction += line + "\n"
    return sections


def functions_of(file):
    """The test functions of FILE ("process/NAME" or "unit/NAME"), without "test_"; none if there is no such file."""
    kind, name = file.split("/")
    path = SOURCE / "tests" / kind / (f"{name}.py" if kind == "process" else f"test_{name}.c")
    if not path.exists():
        return []
    pattern = r"^def test_(\w+)" if kind == "process" else r"^static void (?:test_)?(\w+)\(void \*\*"
    return re.findall(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)


def tests_of(spelled):
    """(FILE, [functions]) of "FILE:FUNCTION" or "FILE:*"; ValueError if there are none."""
    file, _, function = spelled.partition(":")
    known = functions_of(file) if re.fullmatch(r"(process|unit)/[\w-]+", file) else []
    found = known if function == "*" else [name for name in known if name == function.removeprefix("test_")]
    if not found:
        raise ValueError(f"there is no test {spelled}")
    return file, found


def markdown(section, measured):
    """SECTION with what its rows MEASURED, a text for each."""
    lines = [f"## {section.title}\n", section.introduction] if section.introduction else [f"## {section.title}\n"]
    lines.append("| what | command, or why there is none | tests | measured |\n| --- | --- | --- | --- |")
    for row, text in zip(section.rows, measured):
        tests = ", ".join(f"`{test}`" for test in row.tests)
        lines.append(f"| {row.what} | {row.command} | {tests} | {text} |")
    return "\n".join(lines) + "\n"
