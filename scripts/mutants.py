# SPDX-License-Identifier: MIT
"""The mutants of scripts/mutate: what can be broken in a line of C, found by its text alone."""
import random
import re

PRODUCT = ("preload", "collector", "analyze", "common", "unwind")

SWAPPED = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "-": "+", "*": "/", "/": "*",
    "%": "*", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "&&": "||", "||": "&&", "+=": "-=", "-=": "+=",
    "|=": "&=", "&=": "|=", "true": "false", "false": "true", "++": "--", "--": "++",
    "LOWER_BOUND": "UPPER_BOUND", "UPPER_BOUND": "LOWER_BOUND",
}
BINARY = re.compile(r" (==|!=|<=|>=|<<|>>|&&|\|\||\+=|-=|\|=|&=|[-<>+*/%&|]) (?=\S)")
STEP = re.compile(r"\+\+|--")
BOUND = re.compile(r"\b(LOWER_BOUND|UPPER_BOUND)(?=\()")
TRUTH = re.compile(r"\b(true|false)\b")
# "{0}" is C's way to say that all is zero, and no number of its own.
NUMBER = re.compile(r"(?<![\w.])(?!(?<=\{)0\})(0[xX][0-9a-fA-F]+|\d+)(?=[uUlL]*(?![\w.]))")
FLAGS = re.compile(r"\b[A-Z][A-Z0-9_]+ \| "), re.compile(r" \| [A-Z][A-Z0-9_]+\b(?! *\()")
NOT = re.compile(r"!(?=[A-Za-z_(])")
CONDITION = re.compile(r"\b(?:if|while) (?=\()")
# What begins so does nothing that could be left out, or cannot be.
KEPT = re.compile(r"(?:return|goto|case|default|else|do|for|if|while|switch|struct|enum|union|const|static|extern|"
                  r"typedef|unsigned|signed|volatile|__attribute__|_Static_assert|#)\b")
DECLARATION = re.compile(r"[A-Za-z_]\w*(?:\s+\**|\s*\*+\s*)[A-Za-z_]\w*\s*(?:=|;|\[|,|\()")
JUMP = re.compile(r"\s*(?:return\b.*|continue|break|goto \w+);\s*$")


class Mutant:
    """One changed line. number: from 1; old, new: the line without its newline."""

    FIELDS = ("file", "number", "kind", "old", "new")

    def __init__(self, file, number, kind, old, new):
        self.file, self.number, self.kind, self.old, self.new = file, number, kind, old, new

    def as_dict(self):
        return {name: getattr(self, name) for name in self.FIELDS}

    def line(self, text):
        lines = text.split("\n")
        return lines[self.number - 1] if self.number <= len(lines) else None

    def apply(self, text):
        lines = text.split("\n")
        lines[self.number - 1] = self.new
        return "\n".join(lines)

    def diff(self):
        return f"{self.file}:{self.number}: {self.kind}\n-{self.old}\n+{self.new}\n"


def read_judged(path):
    """{(file, old, new): reason} of the list of mutants that change nothing: each is the name of its file, the line with
    "-" before it, the line as it is changed with "+", and the reason after a space, in one or more lines."""
    judged, file, old, new = {}, None, None, None
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        mark, rest = line[:1], line[1:]
        if mark in ("", "#"):
            continue
        if mark == "-":
            old, new = rest.strip(), None
        elif mark == "+":
            new = rest.strip()
        elif mark == " " and file and old is not None and new is not None:
            key = file, old, new
            judged[key] = f"{judged[key]} {rest.strip()}" if key in judged else rest.strip()
        elif re.match(r"[a-z]", mark):
            file, old, new = line.strip(), None, None
        else:
            raise ValueError(f"{path}:{number}: expected a file, then \"-\", \"+\" and \" \" with a reason")
    return judged


def blank(text):
    """TEXT with spaces for comments, preprocessor lines and what is in quotes; every character keeps its place."""
    def spaces(match):
        return re.sub(r"[^\n]", " ", match[0])

    def quoted(match):
        return match[0] if match[0][0] not in "\"'" else match[0][0] + " " * (len(match[0]) - 2) + match[0][0]
    text = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
                  lambda match: spaces(match) if match[0][0] == "/" else quoted(match), text, flags=re.DOTALL)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", spaces, text, flags=re.MULTILINE)


def code_lines(text):
    """For each line of the blanked TEXT whether it has code: of a function, or values of a table or an enum."""
    found, depth, kind, head = [], 0, None, ""
    for line in text.split("\n"):
        inside = depth > 0 and kind != "struct"
        for char in line:
            if char == "{":
                if depth == 0:
                    last = head.rsplit(";", 1)[-1].rsplit("}", 1)[-1]
                    kind = "struct" if not last.rstrip().endswith((")", "=")) and "enum" not in last else "code"
                    head = ""
                depth += 1
            elif char == "}":
                depth -= 1
            elif depth == 0:
                head += char
        if depth == 0:
            head += "\n"
        # A line that opens and closes a table, an enum.
        one_line = not inside and kind == "code" and "{" in line and ("enum" in line or "=" in line)
        found.append((inside or one_line) and not re.match(r"\s*_Static_assert", line))
    return found


def matching(text, at):
    """Where the parenthesis at AT ends in TEXT, or None."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    return None


def changed(line, match, group, new):
    return line[:match.start(group)] + new + line[match.end(group):]


def conditions(line, plain, following):
    """The condition negated; a check that leads away dropped."""
    for match in CONDITION.finditer(plain):
        end = matching(plain, match.end())
        if end is None:
            continue
        inner = line[match.end():end + 1]
        yield "condition negated", line[:match.end()] + "(!" + inner + ")" + line[end + 1:]
        rest = plain[end + 1:]
        if match[0] == "if " and (JUMP.match(rest) or not rest.strip() and JUMP.match(following)):
            yield "check dropped", line[:match.end()] + "(0 && " + inner + ")" + line[end + 1:]


def changes(line, plain, before, following):
    """[(kind, new line)] of a line of code. plain: blanked; before, following: the next lines of code, blanked."""
    found = []
    # A larger buffer changes nothing.
    array = DECLARATION.match(plain.strip()) and re.search(r"\w\[[^]]+\](?:;| =|,)", plain)
    for match in BINARY.finditer(plain):
        if not array:
            found.append(("operator", changed(line, match, 1, SWAPPED[match[1]])))
    for match in STEP.finditer(plain):
        found.append(("operator", changed(line, match, 0, SWAPPED[match[0]])))
    for match in BOUND.finditer(plain):
        found.append(("operator", changed(line, match, 1, SWAPPED[match[1]])))
    for match in TRUTH.finditer(plain):
        found.append(("constant", changed(line, match, 0, SWAPPED[match[0]])))
    for match in NUMBER.finditer(plain):
        value = int(match[1], 0) if not re.fullmatch(r"0\d+", match[1]) else int(match[1], 8)
        if not array:
            new = 0 if value == 1 else value + 1
            found.append(("constant", changed(line, match, 1, hex(new) if match[1][:2] in ("0x", "0X") else str(new))))
    for pattern in FLAGS:
        for match in pattern.finditer(plain):
            found.append(("flag dropped", changed(line, match, 0, "")))
    for match in NOT.finditer(plain):
        found.append(("negation dropped", changed(line, match, 0, "")))
    found += conditions(line, plain, following)
    statement = plain.strip()
    if (statement.endswith(";") and len(statement) > 1 and not KEPT.match(statement) and
            not DECLARATION.match(statement) and re.match(r"[A-Za-z_*(+-]", statement) and
            statement.count("(") == statement.count(")") and
            (not before.strip() or before.rstrip()[-1] in ";{}:)" or before.rstrip().endswith(("else", "do")))):
        indent = line[:len(line) - len(line.lstrip())]
        found.append(("statement dropped", indent + ";"))
    return [(kind, new) for kind, new in found if new != line]


def all_mutants(texts):
    """[[mutants of one line]] of TEXTS, {file: text}, in the order of files and lines."""
    found = []
    for file, text in sorted(texts.items()):
        lines, plain = text.split("\n"), blank(text).split("\n")
        code = code_lines("\n".join(plain))
        for i, line in enumerate(lines):
            if not code[i] or not plain[i].strip():
                continue
            before = next((one for one in reversed(plain[:i]) if one.strip()), "")
            following = next((one for one in plain[i + 1:] if one.strip()), "")
            options = [Mutant(file, i + 1, kind, line, new) for kind, new in changes(line, plain[i], before, following)]
            if options:
                found.append(options)
    return found


def choose(found, seed):
    """One mutant of each line of FOUND, lines and mutants by chance: the same for the same SEED."""
    dice = random.Random(seed)
    lines = list(found)
    dice.shuffle(lines)
    return [dice.choice(options) for options in lines]
