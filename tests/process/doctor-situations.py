# SPDX-License-Identifier: MIT
# sanitize
"""pinject-run --doctor names the right cause and the right remedy, and leaves nothing behind."""
import errno
import math
import pty
import select

from harness import *

FILTER = [target("seccomp-deny")]
LEVEL = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")
PARANOID = int(LEVEL.read_text()) if LEVEL.exists() else None


def doctor(*args, before=(), **kw):
    """Runs it; the verdict, the findings, and that status, verdict and levels agree."""
    done = run([*before, PINJECT_RUN, *args], **kw)
    check(done.status in (0, 1), done)
    check_equal(done.err, "", "messages beside the answer")
    verdict, found = findings(done.out)
    levels = {finding.level for finding in found.values()}
    check_equal(done.status == 0, not levels & {"limited", "refused"}, f"status 0 and no limit: {done}")
    said = ("profiling does not work" if "refused" in levels else "profiling works, but "
            if "limited" in levels else "full profiling works")
    check_in(said, verdict.lower())
    for finding in found.values():
        check(finding.remedies == [] or finding.level != "ok", finding)
    return verdict, found


def kernel_opens():
    """Whether the kernel lets us sample itself."""
    attr = (ctypes.c_uint32 * 32)(1, 128, 1)
    number = {"x86_64": 298, "aarch64": 241, "riscv64": 241}[platform.machine()]
    fd = ctypes.CDLL(None).syscall(number, attr, 0, -1, -1, 8)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def limit(which, value):
    """For preexec_fn: both limits."""
    return lambda: resource.setrlimit(which, (value, value))


def in_own_mounts(script):
    """A prefix that runs SCRIPT in a mount namespace of its own, then what follows; root alone can."""
    if not IS_ROOT or not shutil.which("unshare", path=PATH):
        skip("needs root and unshare")
    prefix = ["unshare", "-m", "--propagation", "private", "sh", "-c", f'{script} && exec "$@"', "sh"]
    if run([*prefix, "true"]).status != 0:
        skip("this root may not mount")
    return prefix


@contextlib.contextmanager
def copies_for_all():
    """Copies of our programs that every user may execute; their paths, and a directory of nobody's."""
    need_perf_events()
    if not IS_ROOT or not shutil.which("setcap", path=f"{PATH}:/usr/sbin:/sbin"):
        skip("needs root and setcap")
    if PARANOID is None or PARANOID < 2:
        skip(f"perf_event_paranoid is {PARANOID}")
    place = pathlib.Path(tempfile.mkdtemp(dir="/tmp", prefix="pinject-rights-"))
    try:
        place.chmod(0o755)
        for directory, names in (("bin", (PINJECT_RUN, PANALYZE)), ("lib", (PRELOAD,))):
            (place / directory).mkdir(mode=0o755)
            for name in names:
                shutil.copy(name, place / directory)
        (place / "made").mkdir()
        os.chown(place / "made", 65534, 65534)
        yield place / "bin/pinject-run", place / "bin/panalyze", place / "made"
    finally:
        shutil.rmtree(place)


NOBODY_BY_SETPRIV = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def set_rights(remedy):
    """Runs it as it is printed."""
    done = run(["sh", "-c", remedy], env={"PATH": f"{PATH}:/usr/sbin:/sbin"})
    if done.status:
        skip(f"this file system keeps no rights: {done.err}")


def test_remedies_of_rights():
    """What setcap gives, run as it is printed, changes the finding, and then the kernel's functions have names."""
    with copies_for_all() as (program, analyzer, made):
        tried = []
        for name in ("kernel code", "kernel names"):
            _, found = findings(run([*NOBODY_BY_SETPRIV, program, "--doctor"]).out)
            check_equal(found[name].level, "limited", found[name])
            remedies = [line for line in found[name].remedies if line.startswith("setcap ")]
            if not remedies:
                skip(f"rights of programs have no effect in {program}")
            # All that is needed is said at once, and what is left of it again.
            check_equal([line.split()[2] for line in remedies], [str(program), str(analyzer)][len(tried):])
            set_rights(remedies[0])
            tried.append(remedies[0])
            _, found = findings(run([*NOBODY_BY_SETPRIV, program, "--doctor"]).out)
            check_equal(found[name].level, "ok", f"after '{remedies[0]}': {found[name]}")
        check_equal([remedy.split()[2] for remedy in tried], [str(program), str(analyzer)])
        done = run([*NOBODY_BY_SETPRIV, program, "-q", "-o", f"{made}/", "--", "dd", "if=/dev/zero", "of=/dev/null",
                    "bs=1M", "count=2000"])
        check_equal(done.status, 0, done)
        rows = json.loads(run([*NOBODY_BY_SETPRIV, analyzer, "report", "--json", "-a", made]).ok().out)["functions"]
        check([row["symbol"] for row in rows if row["dso"] == "[kernel.kallsyms]" and
               not row["symbol"].startswith("0x")], rows[:5])


def in_container(*limits):
    """A prefix: what follows runs as docker would run it for that user, with an own pid namespace and these limits."""
    before = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "env", "container=podman", "setpriv",
              "--inh-caps=-all", *limits]
    if not shutil.which("unshare", path=PATH) or run([*before, "true"]).status:
        skip("no container can be played here")
    return before


def as_allowed(line):
    """--bounding-set of setpriv, in the place of what 'docker run' gets by the printed line."""
    check_match(r"^(docker|podman) run (--cap-add [A-Z]+ )+\.\.\.    # or this, and in ", line)
    return "--bounding-set=-all," + ",".join("+" + name.lower() for name in re.findall(r"--cap-add (\w+)", line))


def test_remedies_of_a_user_in_a_container():
    """No capability in the bounding set: what is printed, as printed, changes the findings, without a second round."""
    with copies_for_all() as (program, analyzer, _):
        closed = in_container(*NOBODY_BY_SETPRIV[1:], "--bounding-set=-all")
        _, found = findings(run([*closed, program, "--doctor"]).out)
        check_equal(found["kernel code"].level, "limited", found["kernel code"])
        check_in("setcap alone does not help: the capability bounding set lacks CAP_PERFMON", found["kernel code"].text)
        _, allow, *rights = found["kernel code"].remedies
        check_equal([line.split()[2] for line in rights], [str(program), str(analyzer)])
        opened = in_container(*NOBODY_BY_SETPRIV[1:], as_allowed(allow))
        _, found = findings(run([*opened, program, "--doctor"]).out)
        check_equal(found["kernel code"].level, "limited", "--cap-add alone is nothing for who is not root")
        for remedy in rights:
            set_rights(remedy)
        _, found = findings(run([*opened, program, "--doctor"]).out)
        check_equal((found["kernel code"].level, found["kernel names"].level), ("ok", "ok"), found)
        for one in program, analyzer:
            check_equal(run([*closed, one, "--help"]).status, 126, "setcap alone: the program cannot start")


def test_remedies_where_no_program_gains_rights():
    with copies_for_all() as (program, _, _):
        _, found = findings(run([*in_container(*NOBODY_BY_SETPRIV[1:], "--bounding-set=-all", "--no-new-privs"),
                                 program, "--doctor"]).out)
        _, allow, ambient = found["kernel code"].remedies
        check_in(f" {program} ...", ambient)
        # docker's root may become a user.
        opened = in_container(as_allowed(allow) + ",+setuid,+setgid,+setpcap", "--no-new-privs")
        _, found = findings(run([*opened, "sh", "-c", ambient.replace("...", "--doctor")]).out)
        check_equal((found["kernel code"].level, found["kernel names"].level), ("ok", "ok"), found)


def test_as_we_are():
    """Root on a machine of its own: everything. Others: what the level allows."""
    need_perf_events()
    verdict, found = doctor("--doctor")
    check_equal(found["perf events"].level, "ok")
    with measured():  # its shell does not wait for long, and may have ended before a late answer
        check_equal(found["LD_PRELOAD"].level, "ok", found["LD_PRELOAD"])
        check_equal(found["attaching"].level, "ok", found["attaching"])
    check_equal(found["shared memory"].level, "ok", found["shared memory"])
    kernel = found["kernel code"]
    check_equal(kernel.level, "ok" if kernel_opens() else "limited", kernel)
    check_in(found["sample cost"].level, ("ok", "note"))
    with measured():  # it looks for 60 ms, of which a busy machine may leave it few
        cost = check_match(r"^([\d.]+) us for each sample: ([\d.e+]+) % of a CPU at 999 Hz",
                           found["sample cost"].text)
    microseconds, percent = float(cost[1]), float(cost[2])
    rounded = (0.05 if "." in cost[1] else 0.5) * 999 / 1e4 + 0.5 * 10 ** (math.floor(math.log10(percent)) - 1)
    check(abs(microseconds * 999 / 1e4 - percent) <= rounded * 1.001, cost[0])
    check_in(found["hardware"].level, ("ok", "note"))  # no counters in a virtual machine: nothing that one could change
    if kernel.level == "limited" and not IS_ROOT:
        check(PARANOID >= 2, kernel)
        check_in(f"kernel.perf_event_paranoid is {PARANOID}", verdict)
        check(kernel.remedies[0].startswith("sysctl -w kernel.perf_event_paranoid=1 "), kernel)
        check_in("shares of the time in user space", kernel.text)


def test_refused_by_a_filter():
    for name in ("EPERM", "ENOSYS", "EACCES"):
        verdict, found = doctor("--doctor", before=[*FILTER, "--errno", name, "--"])
        perf = found["perf events"]
        check_in(perf.level, ("limited", "refused"))
        check_in("seccomp filter", perf.text)
        check_in(os.strerror(getattr(errno, name)), perf.text)
        check_in("seccomp filter", verdict)
        check_in("--security-opt seccomp=unconfined", perf.remedies[0])
        if PARANOID is not None and PARANOID <= 2:
            check_in(f"kernel.perf_event_paranoid is {PARANOID}, which allows perf events", perf.text)
            check(not any("sysctl" in line for line in perf.remedies), perf)
        with measured():
            check_equal(found["LD_PRELOAD"].level, "ok", found["LD_PRELOAD"])
        check_in("CPU-time timers of threads work", found["timers"].text)


def test_a_filter_that_kills():
    _, found = doctor("--doctor", before=[*FILTER, "--kill", "--"])
    check_equal(found["perf events"].level, "refused")
    check_in("kills", found["perf events"].text)
    _, found = doctor("--doctor", before=[*FILTER, "--kill", "--syscall", "timer_create", "--"])
    check_in(found["timers"].level, ("note", "limited"))
    check_in("a seccomp filter killed the check", found["timers"].text)


def test_neither_perf_nor_timers():
    _, found = doctor("--doctor", before=[*FILTER, "--syscall", "perf_event_open", "--syscall", "timer_create", "--"])
    check_equal(found["timers"].level, "limited", found["timers"])
    check_in("seccomp=unconfined", found["timers"].remedies[0])


def test_refused_by_the_kernel():
    """The filter refuses only what looks sensible: as a security module does, which sees nothing else."""
    _, found = doctor("--doctor", before=[*FILTER, "--errno", "EACCES", "--when", "4=8", "--"])
    perf = found["perf events"]
    check_in(perf.level, ("limited", "refused"))
    strict = PARANOID is not None and PARANOID > 2 and not IS_ROOT
    check_in("kernel.perf_event_paranoid" if strict else "security module", perf.text)


def test_paranoid_3():
    """As Debian and Android have it: the level alone refuses, and the kernel itself answers."""
    place = "mount --bind level /proc/sys/kernel/perf_event_paranoid"
    open("level", "w").write("3\n")
    os.chmod(".", 0o755)
    before = in_own_mounts(place)
    # Without the capability, root is a user for this.
    before += ["setpriv", "--bounding-set", "-perfmon,-sys_admin", "--no-new-privs", "--"]
    if run([*before, "true"]).status != 0:
        skip("setpriv cannot drop a capability here")
    verdict, found = doctor("--doctor", before=[*before, *FILTER, "--errno", "EACCES", "--when", "4=8", "--"])
    perf = found["perf events"]
    check_in("kernel.perf_event_paranoid is 3, which refuses perf events to ordinary users", perf.text)
    check_in("kernel.perf_event_paranoid is 3", verdict)
    check(perf.remedies[0].startswith("sysctl -w kernel.perf_event_paranoid=1"), perf)
    # And where a filter answers first, both are named.
    _, found = doctor("--doctor", before=[*before, *FILTER, "--errno", "EACCES", "--"])
    check_in("seccomp filter", found["perf events"].text)
    check_in("kernel.perf_event_paranoid is 3", found["perf events"].text)
    check_in("sysctl -w kernel.perf_event_paranoid=2", found["perf events"].remedies[-1])


def pool_kib():
    """What a user may lock beyond RLIMIT_MEMLOCK."""
    need_perf_events()
    kib = int(open("/proc/sys/kernel/perf_event_mlock_kb").read()) * os.sysconf("SC_NPROCESSORS_ONLN")
    if PARANOID < 0 or kib > 1500:
        skip("the pool of the kernel is large enough here")
    return kib


def test_little_locked_memory():
    pool = pool_kib()
    drop = ["setpriv", "--bounding-set", "-ipc_lock", "--"] if IS_ROOT else []
    if IS_ROOT and run([*drop, "true"]).status != 0:
        skip("setpriv cannot drop a capability here")
    verdict, found = doctor("--doctor", before=drop, preexec_fn=limit(resource.RLIMIT_MEMLOCK, 64 << 10))
    memory = found["locked memory"]
    check_equal(memory.level, "limited", memory)
    check_in("only a few tasks can be sampled at a time: ", verdict)
    check(any("--memlock=unlimited" in line for line in memory.remedies), memory)
    check(any("perf_event_mlock_kb" in line for line in memory.remedies), memory)
    if "is used up" in memory.text:
        return  # by another program of this user: what it is, matters less than what to do
    check_in("64 KiB", memory.text)
    check_in(f"{pool + 64} KiB of locked memory: ring buffers", verdict)
    count = int(check_match(r"ring buffers for (\d+) tasks", memory.text)[1])
    check(pool // 40 < count < 256, memory)
    # With plenty it is no finding.
    if pool + (resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] >> 10) > 9000:
        check_equal(doctor("--doctor", before=drop)[1]["locked memory"].level, "ok")
    if IS_ROOT:
        _, found = doctor("--doctor", preexec_fn=limit(resource.RLIMIT_MEMLOCK, 64 << 10))
        check_equal(found["locked memory"].level, "ok")


def test_the_rings_that_are_promised():
    """As many threads as --doctor says have rings have samples, of a user whom nobody else shares the memory with."""
    pool_kib()
    if not IS_ROOT or SANITIZED:
        skip("needs root, and programs that can be copied")
    copy_of_us()
    shutil.copy(target("storm"), "storm")
    user = 1000000 + os.getpid()
    before = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"]
    for directory in ("..", "."):
        os.chmod(directory, 0o777)
    if run([*before, "test", "-x", "bin/pinject-run"]).status != 0:
        skip("another user does not get here")
    low = limit(resource.RLIMIT_MEMLOCK, 64 << 10)
    _, found = own_doctor(before=before, preexec_fn=low)
    count = int(check_match(r"ring buffers for (\d+) tasks", found["locked memory"].text)[1])
    # The first thread has a larger one.
    for threads, short in ((min(count * 9 // 10, 200), False), (min(count * 5 // 4, 250), True)):
        if short and threads < count * 6 // 5:
            continue
        done = run([*before, "bin/pinject-run", "--", "./storm", "live", str(threads - 1)], preexec_fn=low).ok()
        with measured(if_=short):  # they are there at the same time, but their events may come too late to be of use
            said = bool(re.search("tasks? (was|were) counted but not sampled", done.err))
            check_equal(said, short, f"{threads} threads, {count} rings: {done.err}")


def test_few_descriptors():
    need_perf_events()
    verdict, found = doctor("--doctor", preexec_fn=limit(resource.RLIMIT_NOFILE, 256))
    check_equal(found["open files"].level, "limited")
    check_in("256 open files", verdict)
    check_in("prlimit --pid PID --nofile=", found["open files"].remedies[0])
    # The soft limit alone is none.
    soft = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] >= 4096:
        check_equal(doctor("--doctor", preexec_fn=soft)[1]["open files"].level, "ok")


def test_hardly_any_resources():
    """Whatever is short: an answer, and a status."""
    for number in (3, 4, 5, 6, 8, 10, 12, 16, 24, 40):
        done = pinject_run("--doctor", "--", "sh", preexec_fn=limit(resource.RLIMIT_NOFILE, number))
        check(done.status in (1, 125, 127), f"{number} descriptors: {done}")
    if not IS_ROOT:
        # LeakSanitizer looks from a thread of its own, which the limit forbids.
        options = os.environ.get("ASAN_OPTIONS")
        quiet = {"ASAN_OPTIONS": f"{options}:detect_leaks=0" if options else "detect_leaks=0"}
        _, found = doctor("--doctor", preexec_fn=limit(resource.RLIMIT_NPROC, 0), env=quiet)
        check_equal(found["perf events"].level, "refused")
        check_in("cannot be checked: Resource temporarily unavailable", found["perf events"].text)
    if not SANITIZED:
        for mib in (8, 16, 24, 32, 64):
            done = pinject_run("--doctor", preexec_fn=limit(resource.RLIMIT_AS, mib << 20))
            check(done.status in (0, 1, 125, 127), f"{mib} MiB: {done}")


def copy_of_us():
    """bin/pinject-run and lib/libpinject.so in this directory."""
    os.mkdir("bin")
    os.mkdir("lib")
    shutil.copy(PINJECT_RUN, "bin/pinject-run")
    shutil.copy(PRELOAD, "lib/libpinject.so")


def own_doctor(*args, before=(), **kw):
    done = run([*before, "bin/pinject-run", "--doctor", *args], **kw)
    check_equal(done.status, 1, done)
    verdict, found = findings(done.out)
    return verdict, found


def test_preload_object_that_cannot_be_loaded():
    if SANITIZED:
        skip("the copy does not find its runtime")
    need_perf_events()
    copy_of_us()
    with open("lib/libpinject.so", "w") as to:
        to.write("no DSO at all")
    verdict, found = own_doctor()
    check_equal(found["LD_PRELOAD"].level, "refused")
    check_in("LD_PRELOAD: no effect", verdict)
    check_in("LD_PRELOAD", found["LD_PRELOAD"].text)
    check_in("libpinject.so", found["LD_PRELOAD"].text)  # what ld.so says
    check_in(f"LD_PRELOAD={os.getcwd()}/lib/libpinject.so", found["LD_PRELOAD"].remedies[0])


def test_preload_object_that_is_not_there():
    if SANITIZED:
        skip("the copy does not find its runtime")
    copy_of_us()
    os.remove("lib/libpinject.so")
    _, found = own_doctor()
    check_equal(found["preload object"].level, "refused")
    check_in("cannot find libpinject.so", found["preload object"].text)
    check_equal(found["LD_PRELOAD"].level, "note")
    shutil.copy(PRELOAD, "lib/libpinject.so")
    if IS_ROOT:
        return
    os.chmod("lib/libpinject.so", 0)
    _, found = own_doctor()
    check_equal(found["preload object"].level, "refused")
    check_in("cannot be read", found["preload object"].text)
    check_in(f"chmod a+r {os.getcwd()}/lib/libpinject.so", found["preload object"].remedies)


def test_without_proc():
    if SANITIZED:
        skip("sanitizers need /proc")
    before = in_own_mounts("mount -t tmpfs none /proc")
    _, found = doctor("--doctor", "--", "sh", before=before)
    check_equal(found["preload object"].level, "refused")
    check_in("is /proc mounted?", found["preload object"].text)
    check_in("mount -t proc proc /proc    # as root", found["preload object"].remedies)


def test_preload_object_on_a_noexec_mount():
    if SANITIZED:
        skip("the copy does not find its runtime")
    need_perf_events()
    os.mkdir("bin")
    os.mkdir("lib")
    shutil.copy(PINJECT_RUN, "bin/pinject-run")
    before = in_own_mounts(f"mount -t tmpfs -o noexec none lib && cp {PRELOAD} lib/")
    _, found = own_doctor(before=before)
    check_equal(found["LD_PRELOAD"].level, "refused")
    check_in("failed to map", found["LD_PRELOAD"].text)
    check(any("findmnt" in line and "noexec" in line for line in found["LD_PRELOAD"].remedies), found["LD_PRELOAD"])


def test_preload_object_in_a_private_directory():
    if SANITIZED:
        skip("the copy does not find its runtime")
    copy_of_us()
    os.chmod("lib", 0o700)
    done = run(["bin/pinject-run", "--doctor"])
    found = findings(done.out)[1]["other users"]
    check_equal(found.level, "note")
    # The first directory from the root that is closed: one of the test's own.
    check_match(r"other users cannot enter '/.+'", found.text)
    check_match(r"^chmod o\+x /", found.remedies[0])


def test_result_files():
    _, found = doctor("-o", "missing/out", "--doctor")
    check_equal(found["result files"].level, "refused")
    check_in("missing/out", found["result files"].text)
    check_in("--outfile", found["result files"].remedies[0])
    if not IS_ROOT:
        os.mkdir("locked", 0o500)
        _, found = doctor("-o", "locked/out", "--doctor")
        check_in("Permission denied", found["result files"].text)


def test_little_space_for_result_files():
    before = in_own_mounts("mount -t tmpfs -o size=1m none .") + ["sh", "-c", 'cd "$PWD" && exec "$@"', "sh"]
    _, found = doctor("--doctor", before=before)
    check_equal(found["result files"].level, "limited")


def test_no_place_for_shared_memory():
    verdict, found = doctor("--doctor", preexec_fn=limit(resource.RLIMIT_FSIZE, 64 << 10))
    check_equal(found["shared memory"].level, "refused")
    check_in("shared memory: no directory has room", verdict)
    check_in("/dev/shm: File too large", found["shared memory"].text)
    check(found["shared memory"].remedies[0].startswith("ulimit -f unlimited"), found["shared memory"])


def test_little_shared_memory():
    before = in_own_mounts("mount -t tmpfs -o size=64k none /dev/shm")
    _, found = doctor("--doctor", before=before)
    check_equal(found["shared memory"].level, "note")
    check_in("/dev/shm: No space left", found["shared memory"].text)
    check_in("mount -o remount,size=64M /dev/shm", found["shared memory"].remedies[0])


def test_nothing_is_left():
    before = set(os.listdir("."))
    doctor("--doctor", "--", "sh")
    check_equal(set(os.listdir(".")), before)
    check_equal(os.listdir(os.path.join("..", "tmp")), [])


def test_nothing_is_left_in_shared_memory():
    script = '"$@" >/dev/null; ls -A /dev/shm; cat /proc/self/task/*/children'
    done = run([*in_own_mounts("mount -t tmpfs none /dev/shm"), "sh", "-c", script, "sh", PINJECT_RUN, "--doctor"])
    check_equal(done.out.strip(), "", "left in /dev/shm, or alive")


def test_in_a_profiled_program():
    """The session of the trial is another one than that in which it runs."""
    need_perf_events()
    alone = run([PINJECT_RUN, "--doctor"])
    done = pinject_run("-q", "--follow-all", "--", PINJECT_RUN, "--doctor")
    with measured():  # its shell may have ended before a late answer
        check_equal((done.status, findings(done.out)[1]["LD_PRELOAD"].level), (alone.status, "ok"), done)
        check_equal(findings(done.out)[1]["attaching"].level, "ok", done)


def test_too_high_a_rate():
    rate = int(open("/proc/sys/kernel/perf_event_max_sample_rate").read())
    _, found = doctor("-F", str(rate + 1), "--doctor")
    check_equal(found["sample rate"].level, "refused")
    check_in(f"pinject-run -F {rate} ...", found["sample rate"].remedies)
    check_equal(found["attaching"].level, "note", found["attaching"])


def test_an_event_that_is_missing():
    need_perf_events()
    if doctor("--doctor")[1]["hardware"].level == "ok":
        skip("this machine has hardware events")
    _, found = doctor("-e", "cycles", "--doctor")
    check_equal(found["events used"].level, "refused")
    check_in("event 'cycles' cannot be used", found["events used"].text)


def test_output():
    done = run(["sh", "-c", f"{PINJECT_RUN} --doctor | head -n 1"])
    check_equal((done.err, len(done.lines)), ("", 1), done)
    done = pinject_run("--doctor")
    for line in done.lines:
        check(len(line) <= 100 or "> " in line[:28], f"too wide: {line}")
    check("\x1b" not in done.out, "colours in a file")
    with open("/dev/full", "w") as full:
        done = pinject_run("--doctor", stdout=full)
    check_equal(done.status, 125, done)
    check_in("No space left", done.err)
    check_equal(pinject_run("--doctor=3").status, 125)


def on_a_terminal(**env):
    primary, secondary = pty.openpty()
    text = b""
    process = start([PINJECT_RUN, "--doctor"], env=dict(TERM="xterm", **env), stdout=secondary, stderr=secondary)
    os.close(secondary)
    while select.select([primary], [], [], 60)[0]:
        try:
            part = os.read(primary, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(primary)
    check(process.wait(60) in (0, 1))
    return text.decode()


def test_on_a_terminal():
    check_in("\x1b[3", on_a_terminal())
    check("\x1b" not in on_a_terminal(NO_COLOR="1"), "colours in spite of NO_COLOR")


if __name__ == "__main__":
    main()
