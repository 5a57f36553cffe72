# SPDX-License-Identifier: MIT
# labels: collector preload security
# timeout: 240
# sanitize
"""The boundary between targets and collector: docs/SECURITY.md."""
import collections

from harness import *

HOSTILE = target("hostile")


def lines_of(done):
    return sorted(done.ok().lines)


def need_root():
    if not IS_ROOT:
        skip("only root can become another user")


def test_a_follower_can_write_to_its_channel_alone():
    need_perf_events()
    own = pinject_run("--follow-all", "--", HOSTILE, "look")
    # Its own user may open the channel, and, by name, its own segment; no mapping of the segment becomes writable.
    can = "can open it to write"
    check_equal(lines_of(own), sorted([
        f"{os.geteuid()}: can write, can make it writable, can write by /proc, {can}",
        f"segment: cannot write, cannot make it writable, cannot write by /proc, {can}"]))


def test_who_gives_up_root_holds_nothing_of_it():
    need_perf_events()
    need_root()
    for way in (["--follow-all"], []):
        said = lines_of(pinject_run(*way, "--", HOSTILE, f"user={NOBODY}", "look"))
        expected = [
            # Who becomes another user is not dumpable: its own /proc/self/mem is root's.
            f"{NOBODY}: can write, can make it writable, cannot write by /proc, can open it to write",
            "segment: cannot write, cannot make it writable, cannot write by /proc, cannot open it to write"]
        check(set(said) <= set(expected), said)
        with measured():  # without a channel where the collector answered too late
            check_equal(said, expected)


FORK_WHILE_CHANGING = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int forks = 1, holders;

/* Not root any more, with root's channel in its memory. */
static int holds_roots(void)
{
    char line[512];
    int holds = 0;
    FILE *maps = geteuid() ? fopen("/proc/self/maps", "re") : NULL;
    while (maps && fgets(line, sizeof(line), maps)) {
        const char *name = strstr(line, "rw-s") ? strstr(line, "/pinject-") : NULL;
        const char *dot = name ? strchr(name, '.') : NULL;
        holds |= dot && dot[1] == '0' && (dot[2] == '.' || dot[2] == '\n');
    }
    if (maps)
        fclose(maps);
    return holds;
}

static void *fork_often(void *argument)
{
    while (forks) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            usleep(1000);
            _exit(holds_roots());
        }
        waitpid(child, &status, 0);
        holders += status != 0;
    }
    return argument;
}

int main(void)
{
    int all = 0, status;
    for (int i = 0; i < 60; i++) {
        pid_t worker = fork();
        if (worker == 0) {
            pthread_t thread;
            pthread_create(&thread, NULL, fork_often, NULL);
            usleep(3000);
            status = setuid(65534);
            usleep(3000);
            forks = 0;
            pthread_join(thread, NULL);
            _exit(status ? 100 : holders + holds_roots());
        }
        waitpid(worker, &status, 0);
        all += WEXITSTATUS(status);
    }
    printf("%d hold root's channel\n", all);
}
"""


def test_a_fork_while_another_thread_gives_up_root():
    """The child is another user already, and no thread of it is at it."""
    need_perf_events()
    need_root()
    need("cc")
    pathlib.Path("forks.c").write_text(FORK_WHILE_CHANGING)
    run(["cc", "-O1", "-pthread", "-o", "forks", "forks.c"]).ok()
    check_equal(pinject_run("--follow-all", "--", "./forks").ok().lines, ["0 hold root's channel"])


def test_root_of_another_user_namespace():
    """Its numbers mean others: by them it stays root."""
    need_perf_events()
    need_root()
    script = r"""
import ctypes, os, re
libc = ctypes.CDLL(None, use_errno=True)
go, gone = os.pipe(), os.pipe()
child = os.fork()
if child == 0:  # it sees to the numbers, from outside
    os.read(go[0], 1)
    for name in ("uid_map", "gid_map"):
        open(f"/proc/{os.getppid()}/{name}", "w").write("0 100000 1000")
    os.write(gone[1], b"x")
    os._exit(0)
if libc.unshare(0x10000000):
    print("no user namespace")
    os._exit(0)
os.write(go[1], b"x")
os.read(gone[0], 1)
os.waitpid(child, 0)
if libc.setresuid(0, 0, 0):
    print("no user namespace")
    os._exit(0)
print(re.findall(r"rw-s.*/pinject-[0-9a-f]{32}\.(\d+)\b", open("/proc/self/maps").read()))
"""
    done = pinject_run("--follow-all", "--", "python3", "-c", script).ok()
    if done.lines == ["no user namespace"]:
        skip("no user namespaces here")
    check_in(done.lines[0], ["['100000']", "[]"])  # by the socket, which may be busy


def evil_preload_object():
    need("cc")
    source, path = pathlib.Path("evil.c"), pathlib.Path("/tmp") / f"pinject-evil-{os.getpid()}.so"
    source.write_text("""#include <stdio.h>
        #include <unistd.h>
        __attribute__((constructor)) static void run(void) { fprintf(stderr, "evil as %d\\n", (int)geteuid()); }""")
    run(["cc", "-shared", "-fPIC", "-o", path, source]).ok()
    return path


def test_what_a_follower_writes_root_does_not_believe():
    need_perf_events()
    need_root()
    evil = evil_preload_object()
    try:
        # The child becomes nobody behind libc's back, so that it keeps root's channel, and writes the path of its
        # preload object where exec generations once looked for it, while its parent goes on starting programs.
        script = f"""
import ctypes, mmap, os, re, time
shared = mmap.mmap(-1, 2)  # the child writes; it shall end
pid = os.fork()
if pid == 0:
    ctypes.CDLL(None).syscall(117, {NOBODY}, {NOBODY}, {NOBODY})
    text = b"{evil}" + bytes(64)
    ranges = [(int(m[1], 16), int(m[2], 16)) for m in
              (re.match("([0-9a-f]+)-([0-9a-f]+) .w.s .*/pinject-", line) for line in open("/proc/self/maps")) if m]
    print(len(ranges) > 0, flush=True)
    shared[0] = 1
    while not shared[1]:
        for low, high in ranges:
            for at in range(low + 4160, min(low + 8192, high) - len(text), 64):  # where the path once stood
                ctypes.memmove(at, text, len(text))
    os._exit(0)
while not shared[0]:
    time.sleep(0.001)
end = time.monotonic() + 1.5
starts = 0
while time.monotonic() < end or starts < 4:
    assert os.system("/bin/true; /bin/true") == 0
    starts += 1
shared[1] = 1
print(os.waitpid(pid, 0)[1] == 0)
"""
        done = pinject_run("--follow-all", "--", sys.executable, "-c", script)
        check_equal((done.status, done.lines), (0, ["True", "True"]))
        check("evil as" not in done.err, done.err)
    finally:
        evil.unlink(missing_ok=True)


def check_refused(done, what=""):
    """hostile named a task in each way."""
    said = set(line.partition(": ")[2] for line in done.lines)
    check(said <= {"Operation not permitted"}, f"{what}: {said}")
    with measured():  # it had no channel to ask in where the collector answered too late
        check(said, f"{what}: it did not ask")


def test_no_task_outside_the_tree_is_sampled():
    need_perf_events()
    outside = start(["sleep", "1000"])
    files = lambda: {int(file.rsplit(".", 1)[1]) for file in os.listdir() if file.startswith("out.")}
    for user in ([], [f"user={NOBODY}"], [f"raw={NOBODY}"]) if IS_ROOT else ([],):
        done = pinject_run("--follow-all", "-v", "--", HOSTILE, *user, "name", outside.pid).ok()
        check_refused(done, str(user))
        check(outside.pid not in files(), f"{outside.pid} was sampled: {sorted(files())}")
        check(missed_tasks(done, "request refused: the task is not part of this run") >= 8, done.err)


def test_one_user_cannot_name_another_users_process():
    need_perf_events()
    need_root()
    # The shell is root's and of the tree; the hostile child is nobody's.
    done = pinject_run("--follow-all", "--", "sh", "-c", f"{HOSTILE} user={NOBODY} name $$; :").ok()
    check_refused(done)


def test_a_task_outside_of_the_tree():
    """Whoever runs with the session's variables: of the own user it is counted as a task, of another it is refused."""
    need_perf_events()
    session = start([PINJECT_RUN, "--follow-all", "-v", "--", "sh", "-c",
                     'echo "$LD_PRELOAD"; echo "$PINJECT_SESSION"; read word'], stdin=subprocess.PIPE)
    preload, path = (session.stdout.readline().decode().strip() for _ in range(2))
    variables = {"LD_PRELOAD": preload, "PINJECT_SESSION": path}
    outside = {}
    for name, user in (("own", []), ("other", nobody_words())) if IS_ROOT else (("own", []),):
        # Without its variables until it is that user.
        words = ["env", *(f"{key}={value}" for key, value in variables.items()), "sh", "-c", "echo $$; :"]
        outside[name] = int(run([*user, *words]).ok().out)
    out, err = session.communicate(b"\n")
    check_equal((session.returncode, out), (0, b""))
    sampled = {int(name.split(".")[1]) for name in results()}
    with measured():  # on a busy machine it may have ended before its events were open
        check(outside["own"] in sampled, f"{outside}: {sampled}")
    tasks = int(check_match(r"(\d+) tasks", err.decode())[1])
    check_equal(tasks, len(results()))
    if IS_ROOT:
        check(outside["other"] not in sampled, f"{outside}: {sampled}")
        check_match("not seen .*the task is not part of this run", err.decode())


def nobody_words():
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def test_a_flood_of_connections():
    """Four of our user that connect all the time. Programs of twenty new users have status, output and samples of their
    own as without them."""
    need_perf_events()
    users = range(60001, 60021) if IS_ROOT else [NOBODY]
    flood = f"for i in 1 2 3 4; do {HOSTILE} knock 4000 >knocked.$i & done; sleep 1; "
    become = "setpriv --reuid=$user --regid=$user --clear-groups" if IS_ROOT else ""
    # unit/channel measures how often they are answered.
    done = pinject_run("--follow-all", "--", "sh", "-c",
                       f"{flood} for user in {' '.join(map(str, users))}; do {become} "
                       "dash -c '/bin/true; echo done; exit 7'; echo $?; sleep 0.1; done; wait")
    check_equal((done.status, done.out), (0, "done\n7\n" * len(users)))
    knocked = sum(int(open(f"knocked.{i}").read().split()[1]) for i in range(1, 5))
    print(f"{knocked} connections in 4 s")
    check(knocked > 0)
    tasks = [task for task in panalyze_json("tree", *results())["tasks"] if task["comm"] == "true"]
    # None has to wait for the socket: root asked for their channels before it became them.
    check_equal([task["source"] in ("perf", "cpu", "inherited") for task in tasks], [True] * len(users), done.err)


def test_a_filter_that_forbids_to_move_memory():
    """Who gives up root under it holds nothing of root's either."""
    need_perf_events()
    need_root()
    deny = [target("seccomp-deny"), "--syscall", "mremap", "--"]
    done = pinject_run("--follow-all", "--", *deny, HOSTILE, f"user={NOBODY}", "look")
    # It may not ask for a channel of nobody's then; root did.
    check_equal([line.split(":")[0] for line in done.ok().lines], [str(NOBODY), "segment"], done)


def test_behind_libc():
    """A nobody that kept root's channel, by a system call of its own: root's programs have status and output, their
    waits are bounded, and what is missing is counted."""
    need_perf_events()
    need_root()
    done = pinject_run("--follow-all", "--", HOSTILE, f"raw={NOBODY}", "look").ok()
    check(any(line.startswith("0: can write") for line in done.lines), f"it is no weakness any more: {done}")
    work = "i=0; while [ $i -lt 20 ]; do echo $i | cat; i=$((i + 1)); done"
    bare = run(["sh", "-c", work])
    # cut is refused: the file is root's.
    for attack in ("cut", "hold", "answer", "ask"):
        done = hostile_run(f"{HOSTILE} attack={attack} burst=20 rest=30 raw={NOBODY} strike 60000", work, "-v").ok()
        check_equal(done.lines, bare.lines, attack)
        with measured():
            check(done.seconds < bare.seconds + 40 * 4 * 0.05 + 2, f"{attack}: {done.seconds:.1f} s")
        report = json.loads(run([PANALYZE, "tree", "--json", *results()]).ok().out)
        cats = sum(task["comm"] == "cat" for task in report["tasks"])
        counted = sum(line["count"] for line in report["coverage"]["missed"])
        print(f"{attack}: {cats} of 20, {counted} counted, {done.seconds:.2f} s")
        check(cats + counted >= 20, f"{attack}: {cats} of 20: {done.err}")
        for name in results():
            os.unlink(name)


SIGBUS_STATUS = "135"


def statuses_beside(attack, victims, rounds=40):
    """What programs end with that VICTIMS (words before a command) start while somebody attacks; and the session."""
    work = f"i=0; while [ $i -lt {rounds} ]; do {' '.join(victims)} sh -c 'true | true'; echo $?; i=$((i + 1)); done"
    done = hostile_run(f"{HOSTILE} burst=20 rest=10 {attack} strike 60000", work)
    check_equal(done.status, 0, str(done))
    check_equal(len(done.lines), rounds, str(done))
    check(results(), "no result files")
    for name in results():
        os.unlink(name)
    return collections.Counter(done.lines)


def test_a_channel_that_is_cut():
    """Whoever cuts his channel's file short kills programs of his own user, and nobody else's, nor the collector."""
    need_perf_events()
    need_root()
    check_equal(statuses_beside(f"attack=cut user={NOBODY}", []), {"0": 40})
    own = statuses_beside(f"attack=cut user={NOBODY}", nobody_words())
    print(f"of the same user: {own[SIGBUS_STATUS]} of 40 died of SIGBUS")
    check(set(own) <= {"0", SIGBUS_STATUS}, str(own))


def test_pages_that_are_given_back():
    """Who kept root's channel behind libc's back can give back its pages; where the file system is full then, root's
    programs find none. It hurts nobody while there is room."""
    need_perf_events()
    need_root()
    attack = f"attack=file raw={NOBODY}"
    check_equal(statuses_beside(attack, []), {"0": 40})
    # A place of their own, with little memory for files; nobody survives it.
    place = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if run([*place, "true"]).status != 0:
        skip("no namespaces here")
    script = "mount -t tmpfs -o size=6m,mode=1777 none /dev/shm || exit; \"$@\"; exit $?"
    fill = " ".join(nobody_words()) + " sh -c 'while :; do cat /dev/zero >/dev/shm/full.$$; done'"
    work = "i=0; while [ $i -lt 40 ]; do sh -c 'true | true'; echo $?; i=$((i + 1)); done"
    strokes = f"{HOSTILE} burst=20 rest=10 {attack} strike 60000"
    done = run([*place, "sh", "-c", script, "sh", PINJECT_RUN, "--follow-all", "--stat",
                "--per-thread", "--", "sh", "-c",
                f"{strokes} >/dev/null 2>&1 & {fill} >/dev/null 2>&1 & {work}"])
    statuses = collections.Counter(done.lines)
    # The shell is root's, too.
    print(f"full file system: {statuses[SIGBUS_STATUS]} of {len(done.lines)} died of SIGBUS; shell: {done.status}")
    check(set(statuses) <= {"0", SIGBUS_STATUS} and str(done.status) in {"0", SIGBUS_STATUS}, str(done))
    check_match("pinject-run: .* tasks", done.err)


def burn(seconds):
    return ["python3", "-c", f"import time\nwhile time.process_time() < {seconds}: pass"]


def hostile_run(strokes, command, *options):
    return pinject_run("--follow-all", "--stat", "--per-thread", *options, "--", "sh", "-c",
                       f"{strokes} >/dev/null & {command}; status=$?; kill $! 2>/dev/null; wait; exit $status")


def test_another_user_loses_nothing():
    """Processes of root, while nobody writes whatever it likes wherever it can: status, output, all tasks."""
    need_perf_events()
    need_root()
    work = "i=0; while [ $i -lt 100 ]; do echo $i | cat; i=$((i + 1)); done"
    for what in (f"strike 20000", "knock 20000"):
        done = hostile_run(f"{HOSTILE} user={NOBODY} {what}", work, "-v").ok()
        check_equal(done.lines, [str(i) for i in range(100)], what)
        report = run([PANALYZE, "tree", "--json", *sorted(str(path) for path in pathlib.Path().glob("out.*"))]).ok()
        cats = re.findall(r'"command(?:_line)?":\s*(?:\[\s*)?"cat"', report.out)
        check(len(cats) >= 100 or report.out.count('"cat"') >= 100, f"{len(cats)} of 100: {done.err}")
        for path in pathlib.Path().glob("out.*"):
            path.unlink()


def test_the_own_user_ends_normally():
    need_perf_events()
    done = hostile_run(f"{HOSTILE} strike 3000", "sleep 1; echo done")
    check_equal((done.status, done.out), (0, "done\n"))


def watch_collector(how, user):
    """(kB at most, seconds of CPU) of a pinject-run whose command does that for 4 s, HOW: strike, or practise."""
    command = [HOSTILE, *([user] if user else []), how, "4000"]
    process = start([PINJECT_RUN, "--follow-all", "-o", "hostile", "--", *command])
    wait_until(lambda: process.poll() is not None or
               len(list(pathlib.Path(f"/proc/{process.pid}/task").iterdir())) > 2, what="threads")
    peak, used = 0, 0
    while process.poll() is None:
        try:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            break
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        peak = max(peak, int(found[1]) if found else 0)
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        time.sleep(0.05)
    process.communicate()
    return peak, used


def test_the_collector_stays_small_and_ends():
    """Memory and CPU time of pinject-run while somebody strikes for 4 s, beyond what it takes to profile the same
    process, with its threads and children, where it harms nobody; the end of the command is not held up."""
    need_perf_events()
    for user in ("", f"user={NOBODY}") if IS_ROOT else ("",):
        quiet = watch_collector("practise", user)[1]
        peak, used = watch_collector("strike", user)
        print(f"{user or 'own user'}: {peak} kB, {used:.2f} s of CPU in 4 s, {quiet:.2f} s without harm")
        if not SANITIZED:
            check(peak < 64 << 10, f"{peak} kB")
            with measured():
                check(used - quiet < 0.4, f"{used} s of CPU in 4 s, {quiet} s without harm")


if __name__ == "__main__":
    main()
