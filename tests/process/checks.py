# SPDX-License-Identifier: MIT
"""The comparisons of the process tests. harness.py exports them to the tests."""
import contextlib
import json
import os
import re

__all__ = ["Failure", "Noise", "Skip", "check", "check_equal", "check_in", "check_match", "check_near", "figure",
           "measured", "near"]
# Of the running test function: how many comparisons it has made, and what it has measured.
comparisons = 0
figures = []


class Failure(AssertionError):
    pass


class Noise(Failure):
    """A comparison that other load may have spoilt."""


class Skip(Exception):
    pass


def begin():
    """Another test function begins, or the same one again."""
    global comparisons
    comparisons = 0
    figures.clear()


def record(name):
    """The test function NAME has passed: for scripts/capabilities, which names a file in PINJECT_MEASURED."""
    path = os.environ.get("PINJECT_MEASURED")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"test": name, "comparisons": comparisons, "figures": figures}) + "\n")


def _count():
    global comparisons
    comparisons += 1


def check(condition, message="condition is false"):
    _count()
    if not condition:
        raise Failure(str(message))


def check_equal(actual, expected, what=""):
    _count()
    if actual != expected:
        raise Failure(f"{what}{': ' if what else ''}{actual!r} instead of {expected!r}")


def check_in(part, whole, what=""):
    _count()
    if part not in whole:
        raise Failure(f"{what}{': ' if what else ''}{part!r} is not in {str(whole)[:2000]}")


def check_match(pattern, text, what=""):
    """The match of PATTERN somewhere in TEXT (^ and $ match at lines)."""
    _count()
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise Failure(f"{what}{': ' if what else ''}nothing like {pattern!r} in:\n{text[:2000]}")
    return found


def near(a, b, percent=None, points=None):
    """Whether A is within PERCENT of B, or at most POINTS from it."""
    if percent is not None and abs(a - b) <= abs(b) * percent / 100:
        return True
    return points is not None and abs(a - b) <= points


def check_near(a, b, percent=None, points=None, what=""):
    _count()
    if not near(a, b, percent, points):
        limit = f"{percent} %" if percent is not None else f"{points}"
        raise Failure(f"{what}{': ' if what else ''}{a} is not within {limit} of {b}")


@contextlib.contextmanager
def measured(if_=True):
    """What fails in here is tried again, where IF_: figures, and what follows from an answer that came too late."""
    try:
        yield
    except Noise:
        raise
    except Failure as failure:
        if not if_:
            raise
        raise Noise(str(failure)).with_traceback(failure.__traceback__) from None


def figure(text):
    """What a test measured, in one line: it is printed, and docs/CAPABILITIES.md shows it (scripts/capabilities)."""
    print(text, flush=True)
    figures.append(text)
