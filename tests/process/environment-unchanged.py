# SPDX-License-Identifier: MIT
# labels: preload
"""No variable, descriptor, thread or signal disposition of ours, in the program and in its children."""
from harness import *

# The program and a child of it, by /proc as anybody would look: a child looks at both.
LOOK = r"""
for pid in self $PPID; do
    tr '\0' '\n' < /proc/$pid/environ | grep -v '^_='
    ls /proc/$pid/fd | wc -l
    ls /proc/$pid/task | wc -l
    grep -E '^(SigBlk|SigIgn|SigCgt|Threads|Groups|Uid|NoNewPrivs|Seccomp)' /proc/$pid/status
    grep -E 'Max (open files|locked|stack|core)' /proc/$pid/limits
    cut -d' ' -f5-8 /proc/$pid/stat | wc -w
done
env | grep -v '^_='
"""
# sh -> sh that looks: $PPID is the first process.
COMMAND = ["sh", "-c", 'sh -c "$0"; sh -c "$0"; :', LOOK]
OURS = re.compile(r"^(LD_PRELOAD|PINJECT_[A-Z_]*)=.*\n", re.MULTILINE)


def look(*before, env=None):
    return run([*before, *COMMAND], env=env).ok().out


def test_not_followed():
    need_perf_events()
    check_equal(look(PINJECT_RUN, "-q", "--follow=none", "--"), look())


def test_not_followed_with_a_preload_of_the_users():
    need_perf_events()
    for value in (target("libuser-preload.so"), target("libuser-preload.so") + " libm.so.6", "libm.so.6"):
        env = dict(LD_PRELOAD=value, BEHIND="strings move")
        check_equal(look(PINJECT_RUN, "-q", "--follow=none", "--", env=env), look(env=env), value)


def test_followed():
    need_perf_events()
    check_equal(OURS.sub("", look(PINJECT_RUN, "-q", "--follow-all", "--")), look())
    check_equal(OURS.sub("", look(PINJECT_RUN, "-q", "--")), look())


def test_bare():
    need_perf_events()
    env = dict(PINJECT_OUTFILE="bare")
    check_equal(look(env=dict(env, LD_PRELOAD=PRELOAD, PINJECT_FOLLOW="none")),
                look(env=dict(env, PINJECT_FOLLOW="none")))
    pinject_run("--wait=bare").ok()
    check_equal(OURS.sub("", look(env=dict(env, LD_PRELOAD=PRELOAD))), OURS.sub("", look(env=env)))
    pinject_run("--wait=bare").ok()


def test_bare_relative():
    need_perf_events()
    os.symlink(PRELOAD, "libpinject.so")
    env = dict(PINJECT_OUTFILE="bare", PINJECT_FOLLOW="all")
    out = run(["sh", "-c", "cd / && /bin/true && env"], env=dict(env, LD_PRELOAD="./libpinject.so")).ok()
    check_equal(out.err, "")
    check_match("^LD_PRELOAD=/.*/libpinject.so$", out.out)
    pinject_run("--wait=bare").ok()
    check_files(3, "bare")


def test_no_child_and_no_signal():
    # A collector of a bare LD_PRELOAD must be nobody's child: the program would wait for it.
    need_perf_events()
    script = ("import os,signal; print(signal.sigpending(), os.getpid() == os.getsid(0));\n"
              "try: print(os.wait())\nexcept OSError as e: print(e)")
    command = [sys.executable, "-c", script]
    check_equal(run(command, env=dict(LD_PRELOAD=PRELOAD)).out, run(command).out)
    pinject_run("--wait").ok()


if __name__ == "__main__":
    main()
