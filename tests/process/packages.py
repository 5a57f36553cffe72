# SPDX-License-Identifier: MIT
# run-as: self
"""README's list of packages: what the code includes, what scripts/setup installs, what the programs are linked to."""
from harness import *

DIRECTORIES = ["analyze", "collector", "common", "include", "preload", "pstack", "unwind"]
LIBC = ("libc6-dev", "linux-libc-dev", "libcrypt-dev", "libgcc")
WITHOUT_CODE = {"libdw", "libiberty", "uthash"}  # headers, and an archive
TOOLS = {"gcc", "libc6-dev", "cmake", "ninja-build", "pkg-config"}


def name_of(package):
    """As README has it."""
    return {"zlib1g": "zlib"}.get(package.removesuffix("-dev"), package.removesuffix("-dev"))


def included():
    """Names of packages whose headers the code of the programs includes."""
    need("dpkg-query", "gcc")
    headers = {header for directory in DIRECTORIES for path in (SOURCE / directory).rglob("*.[ch]")
               for header in re.findall(r"^#\s*include <([^>]+)>", path.read_text(), re.MULTILINE)}
    where = run(["gcc", "-print-multiarch"]).out.strip()
    paths = [path for header in headers for path in (f"/usr/include/{header}", f"/usr/include/{where}/{header}")
             if os.path.exists(path)]
    owners = run(["dpkg-query", "-S", *sorted(paths)]).out
    found = {line.split(":")[0] for line in owners.splitlines()}
    others = {package for package in found if not package.startswith(LIBC)}
    if others == found:
        skip("the headers are no Debian packages'")
    return {name_of(package) for package in others}


def in_readme():
    """What README says that the build needs, and what it uses if that is there."""
    text = " ".join((SOURCE / "README.md").read_text().split())
    needs, uses = re.search(r"The build needs (.*?)\. If (.*?) are installed, the build uses", text).groups()
    return tuple(set(re.findall(r"\b(lib[a-z]+4?|zlib|uthash)\b", part)) for part in (needs, uses))


def needed(path):
    """Names of libraries that PATH is linked to, without libc's."""
    lines = re.findall(r"\(NEEDED\).*\[(\S+?)\.so", run(["readelf", "-d", path]).ok().out)
    return {{"libz": "zlib", "libpfm": "libpfm4"}.get(name, re.sub(r"-(generic|x86_64)$", "", name)) for name in lines} - {"libc", "libm"}


def test_readme_has_what_is_included():
    needs, uses = in_readme()
    check_equal(needs & uses, set())
    check_equal(sorted(needs | uses), sorted(included()))


def test_setup_installs_it():
    text = (SOURCE / "scripts/setup").read_text()
    build = re.search(r'^build="(.*?)"', text, re.DOTALL | re.MULTILINE)[1].split()
    check_equal(sorted(name_of(package) for package in build if package not in TOOLS), sorted(included()))


def test_the_programs_are_linked_to_it():
    need("readelf")
    needs, uses = in_readme()
    linked = {name: needed(path) for name, path in (("pinject-run", PINJECT_RUN), ("panalyze", PANALYZE))}
    for name, libraries in linked.items():
        check(libraries <= needs | uses, (name, libraries))
        if platform.machine() == "x86_64":
            check_in("libunwind", libraries, name)
    check_equal(sorted((needs - WITHOUT_CODE) - set.union(*linked.values())), [])
    check_equal(needed(PRELOAD), set())


if __name__ == "__main__":
    main()
