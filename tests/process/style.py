# SPDX-License-Identifier: MIT
# run-as: self
"""The C files are as clang-format writes them with the tree's .clang-format."""
from harness import *

VERSION = "14"  # others write some lines in another way
DIRECTORIES = ("analyze", "collector", "common", "include", "preload", "pstack", "tests", "unwind")


def c_files():
    paths = (path for directory in DIRECTORIES for path in sorted((SOURCE / directory).rglob("*.[ch]")))
    return [path for path in paths if SOURCE / "tests/data" not in path.parents]


def differing(paths):
    """Those of PATHS that clang-format would change."""
    result = run(["clang-format", "--dry-run", "-Werror", "--ferror-limit=1", *paths])
    return sorted({line.split(":")[0] for line in result.err.splitlines() if "error: code should be" in line})


def require_clang_format():
    program = shutil.which("clang-format")
    found = run([program, "--version"]).out if program else ""
    if f"version {VERSION}." not in found:
        skip(f"this is not clang-format {VERSION}")


def test_files_are_formatted():
    require_clang_format()
    check_equal(differing(c_files()), [], "run clang-format -i on these files")


def test_another_style_is_seen():
    require_clang_format()
    shutil.copy(SOURCE / ".clang-format", ".clang-format")
    pathlib.Path("good.c").write_text("int main(void)\n{\n    return 0;\n}\n")
    pathlib.Path("bad.c").write_text("int main(void) {\n  return 0;\n}\n")
    check_equal(differing(["good.c", "bad.c"]), ["bad.c"])


if __name__ == "__main__":
    main()
