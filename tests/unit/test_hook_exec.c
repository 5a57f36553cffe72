/* SPDX-License-Identifier: MIT */
/* The exec family: what is passed on, in which environment, and what the collector is told before. */
#include "exec_kit.h"

#include "preload/sys.h"

#include <sched.h>
#include <sys/wait.h>

/* No session: nothing happens but the call. */
static void test_without_a_session(void **state)
{
    (void)state;
    exec_begin(PINJECT_SESSION_ALL);
    pinject_preload.state = PINJECT_NOTHING;
    pinject_preload.begun = 0;
    assert_int_equal(hook_execve("/x", arguments, other_env), -1);
    assert_int_equal(errno, ENOENT);
    assert_notes("init\nexecve /x {name,one}\n  in same\n");
    assert_int_equal(hook_execve(NULL, NULL, NULL), -1);
    assert_notes("execve null null\n  in null\n");
    spawned_pid = 77;
    pid_t pid = 0;
    hook_kit.result = 0;
    pinject_preload.begun = 0;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, other_env), 0);
    assert_int_equal(pid, 77);
    assert_notes("init\nspawn /x {name,one}\n  in same\n");
    assert_int_equal(hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, NULL), 0);
    assert_true(no_pid);
    assert_notes("spawn /x {name,one}\n  in null\n");
}

#define FRAME "room\n%ssignal before\ntimer before\n%s  in {%s}\n%stimer after\nsignal after\nrelease\n"

/* Each function looks where the kernel will look, calls its own next function, and joins the environment. */
static void test_each_function(void **state)
{
    char expected[1024];
    (void)state;
    exec_begin(PINJECT_SESSION_ALL);
    hook_kit.covered = true;
#define TRY(call, look, next, env, more)                                              \
    do {                                                                              \
        errno = 0;                                                                    \
        assert_int_equal(call, -1);                                                   \
        assert_int_equal(errno, ENOENT);                                              \
        snprintf(expected, sizeof(expected), FRAME, look "\n", next "\n", env, more); \
        assert_notes(expected);                                                       \
    } while (0)
    TRY(hook_execve("/x", arguments, other_env), "look at -1 /x", "execve /x {name,one}", "A=b," OURS, "");
    TRY(hook_execvpe("x", arguments, other_env), "search -1 x", "execvpe x {name,one}", "A=b," OURS, "");
    TRY(hook_fexecve(7, arguments, other_env), "look at 7 ", "fexecve 7 {name,one}", "A=b," OURS, "");
    TRY(hook_execveat(7, "y", arguments, other_env, 0x1000), "look at 7 y", "execveat 7 y {name,one} 0x1000",
        "A=b," OURS, "");
    TRY((int)pinject_exec_by_syscall(SYS_execve, (long)"/x", (long)arguments, (long)other_env, 4, 5), "look at -1 /x",
        "syscall execve /x {name,one}", "A=b," OURS, "");
    TRY((int)pinject_exec_by_syscall(SYS_execveat, 7, (long)"y", (long)arguments, (long)other_env, 0x1000),
        "look at 7 y", "syscall execveat 7 y {name,one}", "A=b," OURS, "  flags 0x1000\n");
    char **environ_before = environ;
    environ = (char **)(uintptr_t)empty_env;
    TRY(hook_execv("/x", arguments), "look at -1 /x", "execve /x {name,one}", OURS, "");
    TRY(hook_execvp("x", arguments), "search -1 x", "execvpe x {name,one}", OURS, "");
    TRY(hook_execl("/x", "a", "b", (char *)NULL), "look at -1 /x", "execve /x {a,b}", OURS, "");
    TRY(hook_execl("/x", (char *)NULL), "look at -1 /x", "execve /x {}", OURS, "");
    TRY(hook_execlp("x", "a", (char *)NULL), "search -1 x", "execvpe x {a}", OURS, "");
    TRY(hook_execle("/x", "a", "b", "c", (char *)NULL, other_env), "look at -1 /x", "execve /x {a,b,c}", "A=b," OURS,
        "");
    environ = environ_before;
#undef TRY
}

/* libc refuses it without an environment, so that it gets none of ours. */
static void test_fexecve_without_environment(void **state)
{
    (void)state;
    exec_begin(PINJECT_SESSION_EXEC);
    hook_kit.error = EINVAL;
    assert_int_equal(hook_fexecve(7, arguments, NULL), -1);
    assert_int_equal(errno, EINVAL);
    assert_notes("fexecve 7 {name,one}\n  in null\n");
}

/* What is said before the exec, by what the session follows, what the task has, and what the program is. */
static void test_announcements(void **state)
{
    enum { OWN = 1, COVERED = 2, BY_TIMER = 4 };
    static const struct {
        uint32_t flags;
        int task;
        enum pinject_exec_kind exec_kind;
        const char *said;
        bool joined;
    } cases[] = {
        /* A task with events goes on with them. */
        {PINJECT_SESSION_EXEC, OWN | COVERED, PINJECT_EXEC_TAKES, "", true},
        {PINJECT_SESSION_EXEC | PINJECT_SESSION_SNAPSHOT, OWN | COVERED, PINJECT_EXEC_TAKES, "snapshot\n", true},
        {PINJECT_SESSION_SNAPSHOT, OWN | COVERED, PINJECT_EXEC_TAKES, "snapshot\n", false},
        {PINJECT_SESSION_VFORK, OWN | COVERED, PINJECT_EXEC_TAKES, "", false},
        {PINJECT_SESSION_EXEC, COVERED, PINJECT_EXEC_TAKES, "", false},
        {PINJECT_SESSION_VFORK, COVERED, PINJECT_EXEC_TAKES, "", true},
        /* One without gets them. */
        {PINJECT_SESSION_VFORK, 0, PINJECT_EXEC_TAKES, "arm /x\n", true},
        {PINJECT_SESSION_EXEC, 0, PINJECT_EXEC_TAKES, "", false},
        {PINJECT_SESSION_EXEC | PINJECT_SESSION_SNAPSHOT, OWN, PINJECT_EXEC_TAKES, "arm /x\n", true},
        {PINJECT_SESSION_SNAPSHOT, 0, PINJECT_EXEC_TAKES, "", false},
        /* Programs that the preload object cannot enter. */
        {PINJECT_SESSION_EXEC, OWN | COVERED, PINJECT_EXEC_STATIC, "inherit covered /x {name,one}\n", false},
        {PINJECT_SESSION_EXEC, OWN | COVERED, PINJECT_EXEC_REFUSES, "inherit covered /x {name,one}\n", false},
        {PINJECT_SESSION_EXEC, OWN | COVERED, PINJECT_EXEC_UNKNOWN, "inherit covered /x {name,one}\n", false},
        {PINJECT_SESSION_VFORK, 0, PINJECT_EXEC_STATIC, "inherit /x {name,one}\n", false},
        {PINJECT_SESSION_EXEC, OWN | COVERED, PINJECT_EXEC_SECURE, "inherit covered secure /x {name,one}\n", true},
        {PINJECT_SESSION_VFORK, 0, PINJECT_EXEC_SECURE, "inherit secure /x {name,one}\n", true},
        {PINJECT_SESSION_VFORK, 0, PINJECT_EXEC_SECURE_REFUSES, "inherit secure /x {name,one}\n", false},
        {PINJECT_SESSION_EXEC, COVERED, PINJECT_EXEC_STATIC, "", false},
        /* What is not there is not worth a request. */
        {PINJECT_SESSION_EXEC | PINJECT_SESSION_SNAPSHOT, OWN | COVERED, PINJECT_EXEC_MISSING, NULL, false},
        {PINJECT_SESSION_VFORK, 0, PINJECT_EXEC_MISSING, NULL, false},
        /* Timers end with the exec generation; the next one asks for its own. */
        {PINJECT_SESSION_TIMER | PINJECT_SESSION_EXEC, OWN | BY_TIMER, PINJECT_EXEC_TAKES, "", true},
        {PINJECT_SESSION_TIMER, OWN | BY_TIMER, PINJECT_EXEC_TAKES, "inherit covered /x {name,one}\n", false},
        {PINJECT_SESSION_TIMER | PINJECT_SESSION_EXEC, OWN | BY_TIMER, PINJECT_EXEC_STATIC,
         "inherit covered /x {name,one}\n", false},
        {PINJECT_SESSION_TIMER | PINJECT_SESSION_VFORK, 0, PINJECT_EXEC_TAKES, "", true},
        {PINJECT_SESSION_TIMER | PINJECT_SESSION_VFORK, 0, PINJECT_EXEC_STATIC, "inherit /x {name,one}\n", false},
        {PINJECT_SESSION_TIMER, OWN | COVERED, PINJECT_EXEC_TAKES, "inherit covered /x {name,one}\n", false},
        /* A thread with a timer in a session with events. */
        {PINJECT_SESSION_EXEC, OWN | BY_TIMER, PINJECT_EXEC_TAKES, "", true},
        {0, OWN | BY_TIMER, PINJECT_EXEC_TAKES, "inherit covered /x {name,one}\n", false},
        {PINJECT_SESSION_SNAPSHOT | PINJECT_SESSION_EXEC, OWN | BY_TIMER, PINJECT_EXEC_TAKES, "snapshot\n", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char said[256], expected[1024];
        exec_begin(cases[i].flags);
        pinject_preload.pid += cases[i].task & OWN ? 0 : 1;
        hook_kit.covered = cases[i].task & COVERED;
        hook_kit.timer_runs = cases[i].task & BY_TIMER;
        hook_kit.exec_kind = cases[i].exec_kind;
        bool follows = cases[i].flags & (cases[i].task & OWN ? PINJECT_SESSION_EXEC : PINJECT_SESSION_VFORK);
        snprintf(said, sizeof(said), "%s%s", follows ? "look at -1 /x\n" : "", cases[i].said ? cases[i].said : "");
        snprintf(expected, sizeof(expected),
                 "room\n%ssignal before\ntimer before\nexecve /x {name,one}\n  in %s\n"
                 "timer after\nsignal after\nrelease\n",
                 said, cases[i].joined ? "{A=b," OURS "}" : "same");
        assert_int_equal(hook_execve("/x", arguments, other_env), -1);
        const char *found = hook_notes();
        if (strcmp(found, expected) != 0)
            fail_msg("case %zu:\n%sinstead of\n%s", i, found, expected);
    }
}

/* A program that could not open the session is as non-injectable as a static one. */
static void test_unreachable(void **state)
{
    (void)state;
    exec_begin(PINJECT_SESSION_EXEC);
    hook_kit.covered = hook_kit.unreachable = true;
    hook_execve("/x", arguments, joined_env);
    assert_notes("room\nlook at -1 /x\ninherit covered /x {name,one}\nsignal before\ntimer before\nexecve /x "
                 "{name,one}\n"
                 "  in {A=b}\ntimer after\nsignal after\nrelease\n");
}

/* The session is over, or the process left it: our variables go, and nothing is said. */
static void test_left(void **state)
{
    static const char expected[] = "room\nsignal before\ntimer before\nexecve /x {name,one}\n  in {A=b}\n"
                                   "timer after\nsignal after\nrelease\n";
    (void)state;
    exec_begin(PINJECT_SESSION_ALL);
    hook_segment.closed = 1;
    hook_execve("/x", arguments, joined_env);
    assert_notes(expected);
    exec_begin(PINJECT_SESSION_ALL);
    pinject_preload.state = PINJECT_LEFT;
    hook_execve("/x", arguments, joined_env);
    assert_notes(expected);
    assert_int_equal(hook_requests.blocked, 0);
    /* Blocked by a filter: counted, where it would have been followed. */
    exec_begin(PINJECT_SESSION_EXEC);
    pinject_preload.blocked = 1;
    hook_execve("/x", arguments, joined_env);
    assert_notes(expected);
    assert_int_equal(hook_requests.blocked, 1);
    pinject_preload.flags = PINJECT_SESSION_VFORK;
    hook_execve("/x", arguments, joined_env);
    assert_int_equal(hook_requests.blocked, 2);
    pinject_preload.flags = PINJECT_SESSION_FORK | PINJECT_SESSION_PTHREAD;
    hook_execve("/x", arguments, joined_env);
    assert_int_equal(hook_requests.blocked, 2);
    /* And so for posix_spawn. */
    hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, joined_env);
    assert_int_equal(hook_requests.blocked, 2);
    pinject_preload.flags = PINJECT_SESSION_VFORK;
    hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, joined_env);
    assert_int_equal(hook_requests.blocked, 3);
}

/* The exec fails with what the kernel said, and what was changed for it is put back. */
static void test_failure_is_undone(void **state)
{
    (void)state;
    exec_begin(PINJECT_SESSION_EXEC);
    hook_kit.covered = hook_kit.signal_changes = hook_kit.timer_tells = true;
    hook_kit.error = EACCES;
    assert_int_equal(hook_execve("/x", arguments, joined_env), -1);
    assert_int_equal(errno, EACCES);
    assert_notes("room\nlook at -1 /x\nsignal before\ntimer before\nexecve /x {name,one}\n  in "
                 "{A=b," OURS "}\ntimer after told\nsignal after changed\nrelease\n");
}

/* With ours it is too long for the kernel: then without them. */
static void test_too_long_with_ours(void **state)
{
    (void)state;
    exec_begin(PINJECT_SESSION_EXEC);
    hook_kit.covered = true;
    hook_kit.error_once = E2BIG;
    assert_int_equal(hook_execve("/x", arguments, joined_env), -1);
    assert_int_equal(errno, ENOENT);
    assert_notes("room\nlook at -1 /x\nsignal before\ntimer before\nexecve /x {name,one}\n  in {A=b," OURS "}\n"
                 "execve /x {name,one}\n  in {A=b}\ntimer after\nsignal after\nrelease\n");
    /* It was too long by itself: once is enough. */
    exec_begin(0);
    hook_kit.covered = true;
    hook_kit.error_once = E2BIG;
    assert_int_equal(hook_execve("/x", arguments, other_env), -1);
    assert_int_equal(errno, E2BIG);
    assert_notes("room\nsignal before\ntimer before\nexecve /x {name,one}\n  in same\ntimer after\nsignal after\n"
                 "release\n");
}

static void test_no_memory(void **state)
{
    (void)state;
    exec_begin(PINJECT_SESSION_EXEC);
    hook_kit.no_room = true;
    hook_execve("/x", arguments, other_env);
    assert_notes("room: none\nsignal before\ntimer before\nexecve /x {name,one}\n  in same\ntimer after\n"
                 "signal after\nrelease none\n");
    assert_int_equal(hook_requests.dropped, 1);
    pinject_preload.state = PINJECT_LEFT; /* nobody misses it */
    hook_execve("/x", arguments, other_env);
    assert_int_equal(hook_requests.dropped, 1);
    /* No memory for the vector: the program's own, and counted where ours were to be in it. */
    exec_begin(PINJECT_SESSION_EXEC);
    hook_kit.covered = hook_kit.no_vector = true;
    hook_notes();
    hook_execve("/x", arguments, other_env);
    assert_non_null(strstr(hook_notes(), "  in same\n"));
    assert_int_equal(hook_requests.dropped, 1);
    pinject_preload.flags = 0;
    hook_kit.envp = joined_env;
    hook_execve("/x", arguments, joined_env);
    assert_non_null(strstr(hook_notes(), "  in same\n"));
    assert_int_equal(hook_requests.dropped, 1);
    /* A wild vector is the kernel's matter, and no loss of ours. */
    pinject_preload.flags = PINJECT_SESSION_EXEC;
    hook_kit.no_vector = false;
    char *const *volatile wild = (char *const *)8;
    hook_kit.envp = wild;
    hook_execve("/x", arguments, wild);
    assert_non_null(strstr(hook_notes(), "  in same\n"));
    assert_int_equal(hook_requests.dropped, 1);
    /* Nothing to change: the program's very own. */
    hook_kit.envp = joined_env;
    hook_kit.no_vector = true;
    hook_execve("/x", arguments, joined_env);
    assert_non_null(strstr(hook_notes(), "  in same\n"));
    assert_int_equal(hook_requests.dropped, 1);
}

/* The first child in another pid namespace has no parent that it could name: it says nothing. */
static void test_parent_outside(void **state)
{
    int status;
    (void)state;
    exec_begin(PINJECT_SESSION_VFORK);
    pid_t outer = fork();
    if (outer == 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
            _exit(77);
        pid_t inner = fork();
        if (inner == 0) {
            hook_execve("/x", arguments, other_env);
            _exit(0);
        }
        _exit(waitpid(inner, &status, 0) == inner && status == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(outer, &status, 0), outer);
    if (status == 77 << 8)
        return; /* no user namespaces here */
    assert_int_equal(status, 0);
    assert_notes("room\nlook at -1 /x\nsignal before\ntimer before\nexecve /x {name,one}\n  in {A=b," OURS "}\n"
                 "timer after\nsignal after\nrelease\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_session),
        cmocka_unit_test(test_each_function),
        cmocka_unit_test(test_fexecve_without_environment),
        cmocka_unit_test(test_announcements),
        cmocka_unit_test(test_unreachable),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_failure_is_undone),
        cmocka_unit_test(test_too_long_with_ours),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_parent_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
