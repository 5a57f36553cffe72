/* SPDX-License-Identifier: MIT */
/* How a process comes to its session, and what it says of its program. */
#include "preload_kit.h"

static int first_argc, main_argc;
static char **first_argv, **main_argv;

static char *arguments[] = {(char *)"prog", (char *)"-x", NULL};

static void init(const char *first, const char *second)
{
    char *envp[] = {(char *)"A=b", (char *)(uintptr_t)first, (char *)(uintptr_t)second, NULL};
    pinject_preload_init(2, arguments, envp);
    assert_int_equal(errno, ERANGE);
}

/* ---- The begin ---- */

static void test_constructor(void **state)
{
    (void)state;
    assert_int_equal(begun_before_main, 1);
    assert_ptr_equal(first_argv, main_argv);
    assert_int_equal(first_argc, main_argc);
}

static void test_no_session(void **state)
{
    (void)state;
    reset(0);
    init(NULL, NULL);
    assert_notes("next\nleave all\n");
    assert_int_equal(pinject_preload.state, PINJECT_NOTHING);
    assert_int_equal(pinject_preload.begun, 2);
    reset(0);
    init("LD_PRELOAD=/lib/other.so", NULL);
    assert_notes("next\nleave all\n");
    /* One that is over. */
    reset(0);
    play.open_error = -ENOENT;
    init("PINJECT_SESSION=/gone", "LD_PRELOAD=/x/libpinject.so");
    assert_notes("next\nopen /gone\nleave all\n");
    assert_int_equal(pinject_preload.state, PINJECT_NOTHING);
    /* Of another pid namespace: the variables stay, so that it is counted each time. */
    reset(0);
    play.open_error = -EXDEV;
    init("PINJECT_SESSION=/gone", NULL);
    assert_notes("next\nopen /gone\n");
    assert_int_equal(pinject_preload.state, PINJECT_NOTHING);
    /* A setuid program. */
    reset(0);
    play.secure = true;
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\n");
    assert_int_equal(pinject_preload.begun, 2);
}

static void test_session(void **state)
{
    (void)state;
    reset(PINJECT_SESSION_VFORK);
    play.answer = 7;
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\nopen /s\natfork\n" ASKED("PROCESS 0") "timer 7\n");
    assert_int_equal(pinject_preload.state, PINJECT_FOLLOWED);
    assert_int_equal(pinject_preload.pid, getpid());
    assert_int_equal(pinject_preload.user, 4242);
    assert_int_equal(pinject_preload.argc, 2);
    assert_ptr_equal(pinject_preload.argv, arguments);
    assert_false(pinject_preload.threads);
    assert_false(pinject_preload.environ_join);
    assert_int_equal(slot.exec_size, 10);
    assert_int_equal(slot.cmdline_size, 8);
    assert_memory_equal(slot.text, "/bin/prog\0prog\0-x", 18);
    init("PINJECT_SESSION=/s", NULL); /* once */
    assert_notes("");
    /* environ as libc has it, where the loader gave nothing; there may be none yet. */
    reset(PINJECT_SESSION_VFORK);
    char *envp[] = {(char *)"PINJECT_SESSION=/e", NULL}, **before = environ;
    environ = NULL;
    pinject_preload_init(0, NULL, NULL);
    assert_int_equal(pinject_preload.begun, 0);
    assert_notes("");
    environ = envp;
    pinject_preload_init(0, NULL, NULL);
    environ = before;
    assert_notes("next\nopen /e\natfork\n" ASKED("PROCESS 0x2") "timer 0\n");
    assert_int_equal(slot.cmdline_size, 0); /* no arguments: as if cut */
}

/* What it makes inherits its events; but not if an exec has ended them. */
static void test_inherits(void **state)
{
    (void)state;
    reset(PINJECT_SESSION_ALL | PINJECT_SESSION_INHERITS);
    play.covered = true;
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\nopen /s\natfork\n" ASKED("GENERATION 0x1") "timer 0\n");
    assert_true(pinject_preload.inherits);
    assert_false(pinject_preload.threads);
    /* It has events of its own, or none. */
    reset(PINJECT_SESSION_ALL | PINJECT_SESSION_INHERITS);
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\nopen /s\natfork\n" ASKED("PROCESS 0") "timer 0\n");
    assert_false(pinject_preload.inherits);
    assert_true(pinject_preload.threads);
    /* Another session. */
    reset(PINJECT_SESSION_ALL);
    play.covered = true;
    init("PINJECT_SESSION=/s", NULL);
    notes();
    assert_false(pinject_preload.inherits);
}

/* A task that has events says what it is now, and waits for nothing; with timers each exec generation asks. */
static void test_covered_generation(void **state)
{
    (void)state;
    reset(PINJECT_SESSION_VFORK);
    play.covered = true;
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\nopen /s\natfork\n" ASKED("GENERATION 0x1") "timer 0\n");
    assert_int_equal(slot.exec_size, 10);
    reset(PINJECT_SESSION_VFORK | PINJECT_SESSION_TIMER);
    play.covered = true;
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\nopen /s\natfork\n" ASKED("PROCESS 0") "timer 0\n");
    reset(PINJECT_SESSION_VFORK);
    play.no_slot = true;
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\nopen /s\natfork\n");
    assert_int_equal(pinject_preload.state, PINJECT_FOLLOWED);
}

enum {
    UNSETTLED = PINJECT_SESSION_ALL | PINJECT_SESSION_INHERITS | PINJECT_SESSION_SYSTEM_WIDE,
    WIDE = UNSETTLED | PINJECT_SESSION_SETTLED
};

static void reset_wide(uint32_t flags, pid_t root, uint32_t user)
{
    reset(WIDE | flags);
    play.covered = true;
    segment.root = root;
    segment.user = user;
}

/* A program in a system-wide set waits for nothing and wakes nobody; but for whom it is not certain asks. */
static void test_system_wide_set(void **state)
{
    const pid_t root = getpid() + 1;
    (void)state;
    reset_wide(0, root, 4242);
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\nopen /s\natfork\n" ASKED("GENERATION 0x25") "timer 0\n");
    assert_true(pinject_preload.inherits);
    assert_int_equal(slot.exec_size, 10);
    /* All of its command line is elsewhere: a worker has to look for it while the program runs. */
    reset_wide(0, root, 4242);
    char *envp[] = {(char *)"PINJECT_SESSION=/e", NULL}, **before = environ;
    environ = envp;
    pinject_preload_init(0, NULL, NULL);
    environ = before;
    assert_notes("next\nopen /e\natfork\n" ASKED("GENERATION 0x7") "timer 0\n");
    /* The collector wants to know where its program is first. */
    reset_wide(PINJECT_SESSION_PLACES, root, 4242);
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\nopen /s\natfork\n" ASKED("GENERATION 0") "timer 0\n");
    /* Nobody waits for an answer, so nobody else would find out that the collector does not give any. */
    reset_wide(0, root, 4242);
    play.no_slot = true;
    init("PINJECT_SESSION=/s", NULL);
    assert_int_equal(requests.stalled, PINJECT_STALLED_YES);
    /* The first process, before and after its number is known; another user's. They wake a worker. */
    static const uint32_t users[] = {4242, 4242, 4243};
    const pid_t roots[] = {0, getpid(), root};
    for (unsigned i = 0; i < 3; i++) {
        reset_wide(0, roots[i], users[i]);
        init("PINJECT_SESSION=/s", NULL);
        assert_notes("next\nopen /s\natfork\n" ASKED("GENERATION 0x1") "timer 0\n");
    }
    /* It may have been made before there was a set. */
    reset_wide(0, root, 4242);
    play.flags = UNSETTLED;
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\nopen /s\natfork\n" ASKED("GENERATION 0x1") "timer 0\n");
    /* Somebody outside of the tree started it: neither it nor its parent is covered. */
    reset_wide(0, root, 4242);
    play.covered = false;
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\nopen /s\natfork\n" ASKED("PROCESS 0") "timer 0\n");
    assert_false(pinject_preload.inherits);
    segment.user = 0;
}

static void test_threads_are_followed(void **state)
{
    (void)state;
    reset(PINJECT_SESSION_VFORK | PINJECT_SESSION_PTHREAD);
    init("PINJECT_SESSION=/s", NULL);
    assert_true(pinject_preload.threads);
    reset(PINJECT_SESSION_VFORK);
    segment.root = getpid(); /* of the first process always */
    init("PINJECT_SESSION=/s", NULL);
    assert_true(pinject_preload.threads);
}

/* Children of system() see our variables only where they are followed. */
static void test_own_environ(void **state)
{
    (void)state;
    reset(PINJECT_SESSION_FORK | PINJECT_SESSION_EXEC);
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\nopen /s\nleave PINJECT_SESSION=/s\natfork\n" ASKED("PROCESS 0") "timer 0\n");
    /* A program that executes others by itself: covered from outside, and without our variables. */
    reset(PINJECT_SESSION_VFORK);
    play.raw_execs = true;
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\nopen /s\nleave PINJECT_SESSION=/s\natfork\n" ASKED("PROCESS 0") "timer 0\n" ASKED("INHERIT 0"));
    reset(PINJECT_SESSION_EXEC);
    play.raw_execs = true;
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\nopen /s\nleave PINJECT_SESSION=/s\natfork\n" ASKED("PROCESS 0") "timer 0\n");
    reset(0);
    play.raw_execs = true;
    play.open_error = -ENOENT;
    init("PINJECT_SESSION=/s", NULL);
    assert_notes("next\nopen /s\nleave all\n");
}

/* A bare LD_PRELOAD starts a collector, and its threads are followed. */
static void test_bare(void **state)
{
    (void)state;
    reset(0);
    init("LD_PRELOAD=/x/libpinject.so", NULL);
    assert_notes("next\nstart\nleave PINJECT_SESSION=/s\natfork\n" ASKED("PROCESS 0") "timer 0\n");
    assert_true(pinject_preload.threads);
    assert_false(pinject_preload.environ_join);
    reset(PINJECT_SESSION_VFORK);
    init("LD_PRELOAD=/x/libpinject.so", NULL);
    assert_notes("next\nstart\nleave PINJECT_SESSION=/s\natfork\n" ASKED("PROCESS 0") "timer 0\n");
    assert_true(pinject_preload.environ_join);
    reset(PINJECT_SESSION_VFORK);
    play.raw_execs = true;
    init("LD_PRELOAD=/x/libpinject.so", NULL);
    assert_false(pinject_preload.environ_join);
    reset(PINJECT_SESSION_VFORK);
    play.start_error = -ECHILD;
    init("LD_PRELOAD=/x/libpinject.so", NULL);
    assert_notes("next\nstart\nleave all\n");
    assert_false(pinject_preload.threads);
    assert_false(pinject_preload.environ_join);
}

/* ---- Texts ---- */

static char large[3 * PINJECT_TEXT];

static void exec_with(const char *name, int argc, char **argv)
{
    reset(PINJECT_SESSION_VFORK);
    char *envp[] = {(char *)"PINJECT_SESSION=/s", NULL};
    play.exec_name = (unsigned long)name;
    pinject_preload_init(argc, argv, envp);
    notes();
}

static void test_text_of_an_elf_file(void **state)
{
    (void)state;
    char *argv[] = {large, (char *)"end", NULL};
    exec_with(NULL, 2, arguments);
    assert_int_equal(slot.exec_size, 1);
    assert_memory_equal(slot.text, "\0prog\0-x", 9);
    assert_int_equal(slot.flags, 0);
    /* A name that is too long is cut. */
    memset(large, 'n', sizeof(large));
    large[PINJECT_PATH] = 0;
    exec_with(large, 2, arguments);
    assert_int_equal(slot.exec_size, PINJECT_PATH / 2 + 1);
    assert_int_equal(slot.text[PINJECT_PATH / 2], 0);
    assert_int_equal(slot.text[PINJECT_PATH / 2 - 1], 'n');
    assert_int_equal(slot.cmdline_size, 8);
    /* Arguments up to the last byte; one byte more is left out, and said to be. */
    large[PINJECT_TEXT - 2 - 1 - 4] = 0;
    exec_with("x", 2, argv);
    assert_int_equal(slot.flags, 0);
    assert_int_equal(slot.exec_size + slot.cmdline_size, PINJECT_TEXT);
    assert_memory_equal(slot.text + PINJECT_TEXT - 5, "\0end", 5);
    large[PINJECT_TEXT - 2 - 1 - 4] = 'n';
    large[PINJECT_TEXT - 2 - 4] = 0;
    exec_with("x", 2, argv);
    assert_int_equal(slot.flags, PINJECT_REQUEST_TEXT_CUT);
    assert_int_equal(slot.cmdline_size, PINJECT_TEXT - 2 - 4 + 1);
    /* argv is as long as its NULL says. */
    exec_with("x", 1, argv + 1);
    assert_int_equal(slot.cmdline_size, 4);
    exec_with("x", 5, arguments);
    assert_int_equal(slot.cmdline_size, 8);
    assert_int_equal(slot.flags, 0);
    exec_with("x", 1, arguments);
    assert_int_equal(slot.cmdline_size, 5);
}

static void test_inherit_exec(void **state)
{
    char *const wild[] = {(char *)"a", (char *)8, (char *)"b", NULL};
    char *empty[] = {NULL};
    (void)state;
    begin(0);
    pinject_preload_inherit_exec(true, PINJECT_REQUEST_SECURE, "/x", arguments);
    assert_notes("count\n" ASKED("INHERIT_EXEC 0x10"));
    assert_int_equal(slot.exec_size, 3);
    assert_int_equal(slot.cmdline_size, 8);
    assert_memory_equal(slot.text, "/x\0prog\0-x", 11);
    pinject_preload_inherit_exec(true, 0, "x", arguments);
    assert_memory_equal(slot.text, "x\0prog\0-x", 10);
    notes();
    pinject_preload_inherit_exec(false, 0, "", empty);
    assert_notes("count\n" ASKED("ARM 0x8"));
    assert_int_equal(slot.exec_size, 1);
    assert_int_equal(slot.cmdline_size, 0);
    assert_int_equal(slot.text[0], 0);
    /* Wild pointers are the kernel's to refuse. */
    pinject_preload_inherit_exec(true, 0, (const char *)8, NULL);
    assert_int_equal(slot.exec_size, 1);
    assert_int_equal(slot.cmdline_size, 0);
    assert_int_equal(slot.flags, 0);
    char *const *volatile wild_vector = (char *const *)8;
    pinject_preload_inherit_exec(true, 0, "/x", wild_vector);
    assert_int_equal(slot.cmdline_size, 0);
    pinject_preload_inherit_exec(true, 0, "/x", wild);
    assert_int_equal(slot.cmdline_size, 2);
    assert_int_equal(slot.flags, PINJECT_REQUEST_TEXT_CUT);
    play.no_slot = true;
    notes();
    pinject_preload_inherit_exec(true, 0, "/x", arguments);
    assert_notes("");
}

static void test_text_of_a_program(void **state)
{
    char *argv[] = {large, NULL, NULL};
    (void)state;
    begin(0);
    /* A path that is too long is left out. */
    memset(large, 'n', sizeof(large));
    large[PINJECT_PATH / 2] = 0;
    pinject_preload_inherit_exec(true, 0, large, arguments);
    assert_int_equal(slot.exec_size, PINJECT_PATH / 2 + 1);
    assert_int_equal(slot.text[PINJECT_PATH / 2 - 1], 'n');
    large[PINJECT_PATH / 2] = 'n';
    large[PINJECT_PATH / 2 + 1] = 0;
    pinject_preload_inherit_exec(true, 0, large, arguments);
    assert_int_equal(slot.exec_size, 1);
    assert_int_equal(slot.cmdline_size, 8);
    /* The last argument that fits, and one that does not. */
    large[PINJECT_PATH / 2 + 1] = 'n';
    large[PINJECT_TEXT - 3 - 1] = 0;
    pinject_preload_inherit_exec(true, 0, "/x", argv);
    assert_int_equal(slot.exec_size + slot.cmdline_size, PINJECT_TEXT);
    large[PINJECT_TEXT - 3 - 1] = 'n';
    large[PINJECT_TEXT - 3] = 0;
    pinject_preload_inherit_exec(true, 0, "/x", argv);
    assert_int_equal(slot.cmdline_size, 0);
    assert_int_equal(slot.flags, PINJECT_REQUEST_TEXT_CUT);
    large[PINJECT_TEXT - 3] = 'n';
    large[PINJECT_TEXT - 3 - 3] = 0;
    pinject_preload_inherit_exec(true, 0, "/x", argv); /* room for one byte more: none that is worth a look */
    assert_int_equal(slot.flags, 0);
    assert_int_equal(slot.exec_size + slot.cmdline_size, PINJECT_TEXT - 2);
    large[PINJECT_TEXT - 3 - 3] = 'n';
    large[PINJECT_TEXT - 3 - 2] = 0;
    pinject_preload_inherit_exec(true, 0, "/x", argv);
    assert_int_equal(slot.flags, PINJECT_REQUEST_TEXT_CUT);
    assert_int_equal(slot.exec_size + slot.cmdline_size, PINJECT_TEXT - 1);
}

static void test_arm(void **state)
{
    (void)state;
    begin(0);
    play.answer = 9;
    pinject_preload_arm("/usr/bin/some");
    assert_notes(ASKED("ARM 0") "timer 9\n");
    assert_string_equal(slot.program, "");
    begin(PINJECT_SESSION_DUMPS);
    pinject_preload_arm("/usr/bin/some");
    assert_string_equal(slot.program, "some");
    pinject_preload_arm("some");
    assert_string_equal(slot.program, "some");
    pinject_preload_arm("/a/b/0123456789abcdefgh");
    assert_string_equal(slot.program, "0123456789abcde");
    pinject_preload_arm("dir/");
    assert_string_equal(slot.program, "");
    pinject_preload_arm((const char *)8);
    assert_string_equal(slot.program, "");
    pinject_preload_arm("");
    assert_string_equal(slot.program, "");
    play.no_slot = true;
    notes();
    pinject_preload_arm("/x");
    assert_notes("");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constructor),
        cmocka_unit_test(test_no_session),
        cmocka_unit_test(test_session),
        cmocka_unit_test(test_covered_generation),
        cmocka_unit_test(test_inherits),
        cmocka_unit_test(test_system_wide_set),
        cmocka_unit_test(test_threads_are_followed),
        cmocka_unit_test(test_own_environ),
        cmocka_unit_test(test_bare),
        cmocka_unit_test(test_text_of_an_elf_file),
        cmocka_unit_test(test_inherit_exec),
        cmocka_unit_test(test_text_of_a_program),
        cmocka_unit_test(test_arm),
    };
    first_argc = pinject_preload.argc; /* what the constructor got */
    first_argv = pinject_preload.argv;
    main_argc = argc;
    main_argv = argv;
    preload_kit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
