/* SPDX-License-Identifier: MIT */
/* posix_spawn and pidfd_spawn: what is passed on, in which environment, and what is announced. */
#include "exec_kit.h"

#include "preload/sys.h"

#include <sys/wait.h>

#define SPAWN "signal before\nspawn /x {name,one}\n"

static void test_spawn(void **state)
{
    pid_t pid = 0;
    (void)state;
    exec_begin(PINJECT_SESSION_VFORK);
    hook_kit.result = 0;
    hook_kit.error = 0;
    errno = ERANGE;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, other_env), 0);
    assert_int_equal(pid, 4321);
    assert_int_equal(errno, ERANGE);
    assert_notes("room\nlook at -1 /x\nclose directory -1\n" SPAWN "  in {A=b," OURS "}\nsignal after\nrelease\n");
    hook_kit.signal_changes = true;
    assert_int_equal(hook_posix_spawnp(&pid, "/x", NULL, NULL, arguments, other_env), 0);
    assert_notes("room\nsearch -1 /x\nclose directory -1\nsignal before\nby name:\nspawn /x {name,one}\n"
                 "  in {A=b," OURS "}\nsignal after changed\nrelease\n");
    /* No place for the child's number: one of ours. */
    hook_kit.signal_changes = false;
    hook_kit.exec_kind = PINJECT_EXEC_STATIC;
    assert_int_equal(hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, other_env), 0);
    assert_notes("room\nlook at -1 /x\nclose directory -1\n" SPAWN "  in same\nsignal after\nrelease\nspawned 4321\n");
    assert_int_equal(errno, ERANGE);
    /* Not followed. */
    exec_begin(PINJECT_SESSION_EXEC);
    hook_kit.result = 0;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, joined_env), 0);
    assert_notes("room\n" SPAWN "  in {A=b}\nsignal after\nrelease\n");
    exec_begin(PINJECT_SESSION_VFORK);
    hook_kit.result = 0;
    hook_segment.closed = 1;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, joined_env), 0);
    assert_notes("room\n" SPAWN "  in {A=b}\nsignal after\nrelease\n");
    /* No room: as it is. */
    exec_begin(PINJECT_SESSION_VFORK);
    hook_kit.no_room = true;
    hook_kit.result = EAGAIN;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, other_env), EAGAIN);
    assert_notes("room: none\nspawn /x {name,one}\n  in same\n");
}

/* The same by the functions that return a descriptor. What cannot be announced afterwards is covered before. */
static void test_spawn_of_a_descriptor(void **state)
{
    int pidfd = -1;
    (void)state;
    exec_begin(PINJECT_SESSION_VFORK);
    hook_kit.result = 0;
    hook_kit.error = 0;
    spawned_pid = 9;
    assert_int_equal(hook_pidfd_spawn(&pidfd, "/x", NULL, NULL, arguments, other_env), 0);
    assert_int_equal(pidfd, 9);
    assert_notes("room\nlook at -1 /x\nclose directory -1\nsignal before\npidfd:\nspawn /x {name,one}\n"
                 "  in {A=b," OURS "}\nsignal after\nrelease\n");
    assert_int_equal(hook_pidfd_spawnp(&pidfd, "/x", NULL, NULL, arguments, other_env), 0);
    assert_notes("room\nsearch -1 /x\nclose directory -1\nsignal before\npidfd by name:\nspawn /x {name,one}\n"
                 "  in {A=b," OURS "}\nsignal after\nrelease\n");
    hook_kit.exec_kind = PINJECT_EXEC_REFUSES;
    assert_int_equal(hook_pidfd_spawn(&pidfd, "/x", NULL, NULL, arguments, joined_env), 0);
    assert_notes("room\nlook at -1 /x\nclose directory -1\ninherit\nsignal before\npidfd:\nspawn /x {name,one}\n"
                 "  in {A=b}\nsignal after\nrelease\n");
    /* Not followed: nothing is covered. */
    exec_begin(PINJECT_SESSION_EXEC);
    hook_kit.result = EACCES;
    assert_int_equal(hook_pidfd_spawnp(&pidfd, "/x", NULL, NULL, arguments, joined_env), EACCES);
    assert_notes("room\nsignal before\npidfd by name:\nspawn /x {name,one}\n  in {A=b}\nsignal after\nrelease\n");
    /* Where libc has none: no look at the program, no request. */
    hook_kit.exec_kind = PINJECT_EXEC_STATIC;
    hook_next.pidfd_spawns = false;
    pidfd = -1;
    assert_int_equal(hook_pidfd_spawn(&pidfd, "/x", NULL, NULL, arguments, joined_env), ENOSYS);
    assert_int_equal(hook_pidfd_spawnp(&pidfd, "/x", NULL, NULL, arguments, joined_env), ENOSYS);
    assert_int_equal(pidfd, -1);
    assert_notes("");
}

static void test_spawn_fails(void **state)
{
    pid_t pid = 0;
    (void)state;
    exec_begin(PINJECT_SESSION_VFORK);
    hook_kit.exec_kind = PINJECT_EXEC_STATIC;
    hook_kit.result = EACCES;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, other_env), EACCES);
    assert_notes("room\nlook at -1 /x\nclose directory -1\n" SPAWN "  in same\nsignal after\nrelease\n");
    /* Too long with ours. */
    hook_kit.exec_kind = PINJECT_EXEC_TAKES;
    hook_kit.error_once = E2BIG;
    hook_kit.result = 0;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, joined_env), 0);
    assert_int_equal(pid, 4321);
    assert_notes("room\nlook at -1 /x\nclose directory -1\n" SPAWN "  in {A=b," OURS "}\nspawn /x {name,one}\n"
                 "  in {A=b}\nsignal after\nrelease\n");
    hook_kit.exec_kind = PINJECT_EXEC_STATIC;
    hook_kit.error_once = E2BIG;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, other_env), E2BIG);
    hook_kit.exec_kind = PINJECT_EXEC_TAKES;
    hook_kit.error_once = EACCES;
    hook_notes();
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, other_env), EACCES);
    assert_notes("room\nlook at -1 /x\nclose directory -1\n" SPAWN "  in {A=b," OURS "}\nsignal after\nrelease\n");
}

/* Near the limit of what exec takes ours are left out at once: a child that fails would do its file actions twice. */
static void test_spawn_near_the_limit(void **state)
{
    enum { MOST = 6 << 20, PIECE = 100000 };
    static char large[PIECE + 1], last[PIECE + 1];
    static const struct {
        size_t stack, taken;
        bool joined;
    } cases[] = {
        {8 << 20, 1 << 20, true},
        {8 << 20, (2 << 20) - 20000, true},
        {8 << 20, (2 << 20) - 2000, false},
        {RLIM_INFINITY, MOST - 20000, true},
        {RLIM_INFINITY, MOST - 2000, false},
        {RLIM_INFINITY, MOST + 200000, false},
        {64 << 10, 100000, true},
        {64 << 10, 131000, false},
    };
    struct rlimit before, limit;
    (void)state;
    memset(large, 'a', PIECE);
    assert_int_equal(getrlimit(RLIMIT_STACK, &before), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (before.rlim_max != RLIM_INFINITY && cases[i].stack > before.rlim_max)
            continue;
        char *vector[80] = {large};
        size_t count = 0, rest = cases[i].taken;
        for (; rest > PIECE + 9; rest -= PIECE + 9)
            vector[count++] = large;
        memset(last, 'b', PIECE);
        last[rest > 9 ? rest - 9 : 0] = 0;
        vector[count] = last;
        exec_begin(PINJECT_SESSION_VFORK);
        hook_kit.result = 0;
        hook_next.posix_spawn = next_spawn_of_much;
        limit = (struct rlimit){cases[i].stack, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_STACK, &limit), 0);
        int error = hook_posix_spawn(NULL, "/x", NULL, NULL, i % 2 ? vector : arguments, i % 2 ? other_env : vector);
        assert_int_equal(setrlimit(RLIMIT_STACK, &before), 0);
        assert_int_equal(error, 0);
        bool joined = strstr(hook_notes(), "with ours\nsignal after\nrelease\n") != NULL;
        if (joined != cases[i].joined)
            fail_msg("case %zu: %d", i, joined);
    }
}

static void block(void)
{
    pinject_preload.blocked = 1;
}

/* What may change until libc looks, or be seen from elsewhere, is not judged, and gets an inherited set. */
static void test_spawn_judges(void **state)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    (void)state;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    exec_begin(PINJECT_SESSION_VFORK);
    hook_kit.result = 0;
    hook_kit.exec_kind = PINJECT_EXEC_MISSING;
    hook_posix_spawn(NULL, "/x", &actions, &attr, arguments, other_env);
    assert_notes("room\nlook at -1 /x\nclose directory -1\nsignal before\nspawn /x actions attr {name,one}\n  in same\n"
                 "signal after\nrelease\nspawned 4321\n");
    hook_kit.exec_kind = PINJECT_EXEC_TAKES;
    hook_kit.unreachable = true;
    hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, other_env);
    assert_notes("room\nlook at -1 /x\nclose directory -1\n" SPAWN "  in same\nsignal after\nrelease\nspawned 4321\n");
    hook_kit.meanwhile = block; /* by another thread */
    hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, other_env);
    assert_notes("room\nlook at -1 /x\nclose directory -1\n" SPAWN "  in same\nsignal after\nrelease\n");
    hook_kit.meanwhile = NULL;
    pinject_preload.blocked = 0;
    hook_kit.unreachable = false;
    directory_error = -EMFILE;
    hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, other_env);
    assert_notes("room\n" SPAWN "  in same\nsignal after\nrelease\nspawned 4321\n");
    directory_error = 0;
    directory = (struct pinject_spawn_directory){9, true, true};
    hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, other_env);
    assert_notes("room\nlook at 9 /x elsewhere\nclose directory 9\n" SPAWN "  in {A=b," OURS "}\nsignal after\n"
                 "release\n");
    hook_posix_spawnp(NULL, "/x", NULL, NULL, arguments, other_env);
    assert_notes("room\nsearch 9 /x elsewhere\nclose directory 9\nsignal before\nby name:\nspawn /x {name,one}\n"
                 "  in {A=b," OURS "}\nsignal after\nrelease\n");
    /* The child's descriptor 3 is another one. */
    hook_posix_spawn(NULL, "/dev/fd/3", NULL, NULL, arguments, other_env);
    assert_notes("room\nclose directory 9\nsignal before\nspawn /dev/fd/3 {name,one}\n  in same\nsignal after\n"
                 "release\nspawned 4321\n");
    directory.descriptors = false;
    hook_posix_spawn(NULL, "/dev/fd/3", NULL, NULL, arguments, other_env);
    assert_notes("room\nlook at 9 /dev/fd/3 elsewhere\nclose directory 9\nsignal before\nspawn /dev/fd/3 {name,one}\n"
                 "  in {A=b," OURS "}\nsignal after\nrelease\n");
    /* The same rights, as there is one user: judged as ever. */
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_RESETIDS);
    hook_posix_spawn(NULL, "/x", NULL, &attr, arguments, other_env);
    assert_notes("room\nlook at 9 /x elsewhere\nclose directory 9\nsignal before\nspawn /x attr {name,one}\n"
                 "  in {A=b," OURS "}\nsignal after\nrelease\n");
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
}

/* A child that takes back its real user may enter where the caller may not: not judged. As root alone. */
static void test_spawn_resets_ids(void **state)
{
    int status;
    (void)state;
    if (geteuid() != 0)
        return;
    for (int group = 0; group < 2; group++) {
        exec_begin(PINJECT_SESSION_VFORK);
        hook_kit.result = 0;
        pid_t pid = fork();
        if (pid == 0) {
            posix_spawnattr_t attr;
            posix_spawnattr_init(&attr);
            int error = (int)(group ? SYS_3(SYS_setresgid, -1, 65534, -1) : SYS_3(SYS_setresuid, -1, 65534, -1));
            hook_posix_spawn(NULL, "/x", NULL, &attr, arguments, other_env);
            posix_spawnattr_setflags(&attr, POSIX_SPAWN_RESETIDS | POSIX_SPAWN_SETSIGMASK);
            hook_posix_spawn(NULL, "/x", NULL, &attr, arguments, other_env);
            _exit(error ? 1 : 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_notes("room\nlook at -1 /x\nclose directory -1\nsignal before\nspawn /x attr {name,one}\n"
                     "  in {A=b," OURS "}\nsignal after\nrelease\n"
                     "room\nsignal before\nspawn /x attr {name,one}\n  in same\nsignal after\nrelease\nspawned 4321\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spawn),        cmocka_unit_test(test_spawn_of_a_descriptor),
        cmocka_unit_test(test_spawn_fails),  cmocka_unit_test(test_spawn_near_the_limit),
        cmocka_unit_test(test_spawn_judges), cmocka_unit_test(test_spawn_resets_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
