# SPDX-License-Identifier: MIT
# run-as: self
"""Which directory may include from which, and how many files of a directory may lean on each other in a circle."""
from harness import *

# Includes go down only: each directory, and those below it whose headers it may use.
BELOW = {
    "include/pinject": set(),
    "common": {"include/pinject"},
    "counts": {"common"},
    "unwind": {"common"},
    "preload": {"include/pinject"},
    "collector/system": {"common", "include/pinject", "unwind"},
    "collector/events": {"common", "include/pinject"},
    "collector/config": {"collector/events", "collector/system", "common", "include/pinject", "unwind"},
    "collector/records": {"collector/config", "common"},
    "collector/stacks": {"collector/config", "collector/records", "collector/system", "common",
                         "unwind"},
    "collector/sources": {"collector/config", "collector/records", "collector/stacks", "collector/system",
                          "common", "include/pinject"},
    "collector/service": {"collector/config", "collector/sources", "collector/system",
                          "common", "include/pinject"},
    "collector/output": {"collector/config", "collector/records", "collector/sources", "collector/stacks",
                         "collector/system", "common", "counts", "include/pinject"},
    "collector/tasks": {"collector/output", "collector/records", "collector/sources",
                        "collector/stacks", "collector/system", "common", "include/pinject"},
    "collector/launch": {"collector/config", "collector/output", "collector/service", "collector/sources",
                         "collector/system", "common", "include/pinject", "preload"},
    "collector/doctor": {"collector/config", "collector/launch", "collector/service", "collector/sources",
                         "collector/system", "common", "include/pinject"},
    "collector": {"collector/config", "collector/doctor", "collector/events", "collector/launch", "collector/output",
                  "collector/service", "collector/sources", "collector/stacks",
                  "collector/system", "collector/tasks", "common", "counts", "include/pinject", "pstack", "unwind"},
    "analyze/read": {"common", "include/pinject"},
    "analyze/sym": {"common", "unwind"},
    "analyze/model": {"analyze/read", "analyze/sym", "common", "include/pinject", "unwind"},
    "analyze/view": {"analyze/model", "analyze/sym", "common", "counts"},
    "analyze/export": {"analyze/view", "analyze/model", "analyze/read", "common", "include/pinject"},
    "analyze/script": {"analyze/view", "analyze/read", "common", "include/pinject"},
    "analyze/fields": {"analyze/script", "analyze/view", "analyze/read", "analyze/sym", "common",
                       "include/pinject"},
    "analyze/live": {"analyze/view", "common"},
    "analyze": {"analyze/export", "analyze/fields", "analyze/live", "analyze/script", "analyze/view", "analyze/model",
                "analyze/read", "common", "counts", "unwind"},
    "pstack": {"analyze/sym", "common", "unwind"},
}
# Limits, and what exceeds them: these figures may only become less.
CIRCLE = 3  # files that include each other in a circle; a file and its header count as one
CIRCLES = {}
DIRECTORY = 30  # .c files
DIRECTORIES = {"analyze/view": 44}
GENERATED = {"syscall_names.inc"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', re.MULTILINE)


def sources(root):
    """{path below ROOT: text} of the product's C files."""
    found = {}
    for directory in sorted({directory.split("/")[0] for directory in BELOW}):
        for path in sorted((root / directory).rglob("*.[ch]")):
            found[path.relative_to(root).as_posix()] = path.read_text()
    return found


def includes(files):
    """[(file, file that it includes)], both of FILES."""
    found = []
    for path, text in files.items():
        for name in INCLUDE.findall(text):
            places = (name, f"include/{name}", f"{os.path.dirname(path)}/{name}")
            found += [(path, place) for place in places if place in files][:1]
    return found


def lost_includes(files):
    """Includes in quotes of what is not there: an include directory of the build may have it, and hide an edge."""
    found = {(path, name) for path, text in files.items() for name in re.findall(r'^#include "([^"]+)"', text, re.M)}
    return [f"{path} includes {name}" for path, name in sorted(found)
            if not {name, f"include/{name}", f"{os.path.dirname(path)}/{name}"} & set(files) and name not in GENERATED]


def wrong_edges(files):
    """What BELOW does not allow, as text."""
    wrong = lost_includes(files)
    for path, included in includes(files):
        directory, other = os.path.dirname(path), os.path.dirname(included)
        if directory not in BELOW:
            wrong.append(f"{path}: {directory} is not in the table")
        elif other != directory and other not in BELOW[directory]:
            wrong.append(f"{path} includes {included}: {directory} may not use {other}")
    return wrong


def circles(edges):
    """The strongly connected components of EDGES that have more than one member (Tarjan, without recursion)."""
    graph = {}
    for one, other in edges:
        graph.setdefault(one, set()).add(other)
        graph.setdefault(other, set())
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for start in sorted(graph):
        work = [(start, iter(sorted(graph[start])))] if start not in index else []
        while work:
            node, rest = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            for other in rest:
                if other not in index:
                    work.append((other, iter(sorted(graph[other]))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    circle = []
                    while not circle or circle[-1] != node:
                        circle.append(stack.pop())
                        on_stack.discard(circle[-1])
                    if len(circle) > 1:
                        found.append(sorted(circle))
    return found


def stem(path):
    return path.rsplit(".", 1)[0]


def largest_circles(files):
    """{directory: files of its largest circle}"""
    inside = [(stem(path), stem(other)) for path, other in includes(files)
              if os.path.dirname(path) == os.path.dirname(other) and stem(path) != stem(other)]
    found = {}
    for circle in circles(inside):
        directory = os.path.dirname(circle[0])
        found[directory] = max(found.get(directory, []), circle, key=len)
    return found


def test_includes_go_down():
    check_equal(wrong_edges(sources(SOURCE)), [])


def test_table_has_no_circle():
    check_equal(circles([(directory, other) for directory, others in BELOW.items() for other in others]), [])


def test_table_is_used():
    """What no file needs any more is not allowed any more."""
    files = sources(SOURCE)
    used = {(os.path.dirname(path), os.path.dirname(other)) for path, other in includes(files)}
    check_equal([(directory, other) for directory, others in BELOW.items() for other in sorted(others)
                 if (directory, other) not in used], [])


def check_limit(directory, size, limit, beyond, what):
    """No more than LIMIT, or what BEYOND says of the directory; that has to be what it is."""
    most = beyond.get(directory, limit)
    check(size <= most, f"{directory}: {size} {what}, at most {most}")
    check(directory not in beyond or size == most, f"{directory}: {size} {what}: the table has more, mend it")


def test_circles_of_files():
    found = largest_circles(sources(SOURCE))
    for directory in BELOW:
        circle = found.get(directory, [])
        check_limit(directory, len(circle), CIRCLE, CIRCLES, f"files in a circle ({' '.join(circle)})")


def test_directories_are_small():
    files = [path for path in sources(SOURCE) if path.endswith(".c")]
    for directory in BELOW:
        check_limit(directory, sum(os.path.dirname(path) == directory for path in files), DIRECTORY, DIRECTORIES,
                    ".c files")


def bools(text, struct):
    """The bool members of STRUCT in TEXT."""
    body = re.search(r"^struct %s \{\n(.*?)^\};" % struct, text, re.MULTILINE | re.DOTALL)
    code = re.sub(r"/\*.*?\*/", "", body.group(1), flags=re.DOTALL)
    return [name.strip() for names in re.findall(r"\bbool\s+([^;]+);", code) for name in names.split(",")]


def test_the_state_of_a_task_is_no_heap_of_bools():
    """It is in life.h, and only task_step() changes it; so bools that hide another state do not come back."""
    files = sources(SOURCE)
    found = bools(files["collector/tasks/tasks.h"], "task")
    check(len(found) <= 6, f"struct task has the bools {' '.join(found)}: at most 6")
    check_equal(bools("struct a {\n    bool one, two; /* bool three; */\n    int b;\n    bool four;\n};\n", "a"),
                ["one", "two", "four"])
    changes = [path for path, text in files.items() if re.search(r"(->|\.)state(\.(life|cause))? = ", text)
               and path.startswith("collector/tasks/")]
    check_equal(changes, ["collector/tasks/admit.c"]) # the state that a task begins with


# What collector/tasks may call of libc: nothing that asks the kernel for more than memory. untracked.c reads /proc.
PURE = set("""__errno_location calloc free malloc memchr memcmp memcpy memmove memset mmap munmap realloc snprintf strchr
    strcmp strdup strerror strlen strncmp strncpy strnlen strrchr strstr strtol strtoul sysconf""".split())


def test_tasks_make_no_system_call():
    """So tests/sim can run them without a kernel."""
    objects = [path for path in (BUILD / "collector/CMakeFiles/pinject_collector.dir").rglob("*.o")]
    tasks = [path for path in objects if path.parent.name == "tasks" and path.name != "untracked.c.o"]
    check(len(tasks) > 15, f"the object files of collector/tasks are not in {BUILD}")
    archives = list(BUILD.rglob("*.a"))
    ours = set(run(["nm", "--defined-only", "--format=just-symbols", *objects, *archives]).out.split())
    asked = set(run(["nm", "--undefined-only", "--format=just-symbols", *tasks]).out.split())
    libc = {name.removeprefix("__").removesuffix("_chk") if name.endswith("_chk") else name for name in asked - ours}
    compilers = re.compile(r"__(asan|ubsan|tsan|sanitizer|gcov|stack_chk)|_GLOBAL_OFFSET_TABLE_")
    check_equal(sorted(name for name in libc - PURE if not compilers.match(name) and not name.endswith(":")), [])


def test_an_include_upward_is_seen():
    files = sources(SOURCE)
    files["common/json.c"] += '#include "analyze/view/view.h"\n'
    check_equal(wrong_edges(files), ["common/json.c includes analyze/view/view.h: common may not use analyze/view"])
    files = {"common/a.h": '#include "common/b.h"\n', "common/b.c": '#include "common/c.h"\n', "common/b.h": "",
             "common/c.h": "# include <common/a.h>\n"}
    check_equal(largest_circles(files), {"common": ["common/a", "common/b", "common/c"]})


if __name__ == "__main__":
    main()
