# SPDX-License-Identifier: MIT
# labels: preload
# timeout: 200
"""Programs that call everything that the preload object hooks print the same with and without it."""
from harness import *

OURS = re.compile(r" \[(PINJECT_SESSION|LD_PRELOAD|PINJECT_FOLLOW)=[^\]]*\]"
                  r"|^(PINJECT_SESSION|LD_PRELOAD|PINJECT_FOLLOW)=.*\n", re.MULTILINE)


def truth(words, **env):
    return [target(words[0]), *words[1:]], dict(EARLY="kept", **env)


def outcome(result):
    # A vector that lost one entry, not two, ends at an odd place: who walks on from there finds no auxiliary vector.
    out = OURS.sub("", result.out).replace(" page 0 ", f" page {os.sysconf('SC_PAGESIZE')} ")
    return result.status, out, result.err


def same(*words):
    """WORDS alone, followed not at all, in every way, and with a bare LD_PRELOAD."""
    need_perf_events()
    command, env = truth(words)
    alone = run(command, env=env)
    expected = alone.status, alone.out, alone.err
    check(alone.status == 0 and alone.out, alone)
    unfollowed = pinject_run("-q", "--follow=none", "--", *command, env=env)
    check_equal(outcome(unfollowed), expected, "not followed")
    check("LD_PRELOAD" not in unfollowed.out, "the preload object's name is visible")
    check_equal(outcome(pinject_run("-q", "--follow-all", "--", *command, env=env)), expected, "followed")
    check_equal(outcome(pinject_run("-q", "--exec-split-results", "--follow-fork", "--follow-exec", "--", *command,
                                    env=env)),
                expected, "fork and exec")
    check_equal(outcome(run(command, env=dict(env, LD_PRELOAD=PRELOAD, PINJECT_FOLLOW="all"))), expected,
                "bare LD_PRELOAD")
    pinject_run("--wait").ok()


def test_exec_errors():
    same("truth-exec", "errors")


def test_exec_starts():
    same("truth-exec", "starts")


def test_fork():
    same("truth-fork")


def test_thread():
    same("truth-thread")


def test_wait():
    same("truth-wait")


def test_before_main():
    same("truth-early")


def test_before_main_with_a_preload_of_the_users():
    # Taking our name out of the middle moves the strings behind it; nobody may hold a pointer to them by then.
    need_perf_events()
    command, env = truth(["truth-early"], LD_PRELOAD=target("libuser-preload.so"), BEHIND="behind")
    alone = run(command, env=env).ok()
    check_equal(outcome(pinject_run("-q", "--follow=none", "--", *command, env=env)), (0, alone.out, ""))


if __name__ == "__main__":
    main()
