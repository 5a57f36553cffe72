# SPDX-License-Identifier: MIT
# labels: build
# run-as: self
# What `cmake --install` leaves behind: complete, usable by other projects, and movable.
import shlex

from harness import *

CMAKE = shutil.which("cmake", path=PATH) or shutil.which("cmake")
PROGRAM = """
#include <pinject/pinject.h>
#include <stdio.h>
int main(void) { printf("active %d of %s\\n", pinject_is_active(), PINJECT_VERSION_STRING); return 0; }
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(pinject 0.1 REQUIRED)
foreach(file ${PINJECT_RUN} ${PINJECT_PANALYZE} ${PINJECT_PRELOAD})
  if(NOT EXISTS ${file})
    message(FATAL_ERROR "${file} is missing")
  endif()
endforeach()
add_executable(user user.c)
target_link_libraries(user PRIVATE pinject::headers)
"""


def install(prefix):
    run([CMAKE, "--install", BUILD, "--prefix", prefix]).ok()
    return pathlib.Path(prefix).resolve()


def files_of(prefix):
    return {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}


def test_content():
    files = files_of(install("prefix"))
    for name in ("bin/pinject-run", "bin/panalyze", "bin/pinject-ci", "lib/libpinject.so", "include/pinject/pinject.h",
                 "include/pinject/wire.h", "lib/pkgconfig/pinject.pc", "lib/cmake/pinject/pinjectConfig.cmake",
                 "lib/cmake/pinject/pinjectConfigVersion.cmake", "lib/cmake/pinject/pinjectTargets.cmake"):
        check_in(name, files)
    foreign = {name for name in files if not re.match(
        r"bin/(pinject-run|panalyze|pinject-ci)$|lib/libpinject\.so[.0-9]*$|include/pinject/\w+\.h$"
        r"|lib/pkgconfig/pinject\.pc$"
        r"|lib/cmake/pinject/\w+(-\w+)?\.cmake$|share/(man|doc|bash-completion)/", name)}
    check_equal(foreign, set(), "installed, but nobody asked for it")
    for name in ("bin/pinject-run", "bin/panalyze", "bin/pinject-ci"):
        check(os.access(f"prefix/{name}", os.X_OK), f"{name} is not executable")


def test_no_path_of_the_build():
    readelf = need("readelf")
    prefix = install("prefix")
    for name in ("bin/pinject-run", "bin/panalyze", "lib/libpinject.so"):
        dynamic = run([readelf, "-d", prefix / name]).ok().out
        check(not re.search("RPATH|RUNPATH", dynamic), f"{name} has a run path:\n{dynamic}")
    for name in files_of(prefix):
        if name.endswith((".cmake", ".pc", "pinject-ci")):
            text = (prefix / name).read_text()
            for path in (str(SOURCE), str(BUILD), str(prefix)):
                check(path not in text, f"{name} names {path}")


def use_everything(prefix):
    env = {"PKG_CONFIG_PATH": prefix / "lib/pkgconfig", "CMAKE_PREFIX_PATH": prefix}
    os.makedirs("user", exist_ok=True)
    pathlib.Path("user/user.c").write_text(PROGRAM)
    pathlib.Path("user/CMakeLists.txt").write_text(PROJECT)
    pkg_config = need("pkg-config", "cc")
    flags = shlex.split(run([pkg_config, "--cflags", "--libs", "pinject"], env=env).ok().out)
    run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "user/user.c", *flags, "-o",
         "by-pkg-config"]).ok()
    run([CMAKE, "-S", "user", "-B", "user/build"], env=env).ok()
    run([CMAKE, "--build", "user/build"], env=env).ok()
    preload = shlex.split(run([pkg_config, "--variable=preload", "pinject"], env=env).ok().out)[0]
    check(os.path.samefile(preload, prefix / "lib/libpinject.so"), preload)
    for program in ("./by-pkg-config", "user/build/user"):
        check_equal(run([program]).ok().out, "active 0 of 0.1.0\n")
    version = run([pkg_config, "--modversion", "pinject"], env=env).ok().out.strip()
    for name in ("pinject-run", "panalyze"):
        check_in(version, run([prefix / "bin" / name, "--version"]).ok().out)
    shutil.rmtree("user")


def profile(prefix):
    need_perf_events()
    run([prefix / "bin/pinject-run", "--follow-all", "--", target("spin"), "200"]).ok()
    check_in("spin_a", run([prefix / "bin/panalyze", *results(), "--aggregate"]).ok().out)
    for name in results():
        os.remove(name)


def test_use():
    prefix = install("prefix")
    use_everything(prefix)
    profile(prefix)


def test_prefix_with_blanks():
    """Other projects find it there; that LD_PRELOAD has no way to name a path with a blank is said."""
    prefix = install("prefix with blanks")
    use_everything(prefix)
    result = run([prefix / "bin/pinject-run", "--", "true"])
    if result.status != 0:
        check_equal((result.status, result.err.count("\n")), (125, 1), result)
        check_in("blank", result.err)


def test_moved():
    install("prefix").rename("moved")
    prefix = pathlib.Path("moved").resolve()
    use_everything(prefix)
    profile(prefix)


def test_headers_alone():
    """Each public header compiles by itself, as C and as C++."""
    for header_file in sorted((SOURCE / "include/pinject").glob("*.h")):
        for language, standard in (("c", "gnu11"), ("c++", "gnu++17")):
            if language == "c++" and (header_file.name != "pinject.h" or not shutil.which("c++", path=PATH)):
                continue
            run([need("cc") if language == "c" else "c++", "-x", language, f"-std={standard}", "-Wall", "-Wextra",
                 "-Werror", "-fsyntax-only", "-I", SOURCE / "include", "-include", header_file, "/dev/null"]).ok()


def test_version_is_the_same_everywhere():
    cmake = (SOURCE / "CMakeLists.txt").read_text()
    version = check_match(r"project\(pinject VERSION ([0-9.]+)", cmake)[1]
    text = (SOURCE / "include/pinject/pinject.h").read_text()
    check_in(f'PINJECT_VERSION_STRING "{version}"', text)
    for name, number in zip(("MAJOR", "MINOR", "PATCH"), version.split(".")):
        check_match(rf"^#define PINJECT_VERSION_{name} +{number}$", text)


def test_presets():
    out = run([CMAKE, "--list-presets"], cwd=SOURCE).ok().out
    for name in ("release", "dev", "asan-ubsan", "tsan"):
        check_in(f'"{name}"', out)


if __name__ == "__main__":
    main()
