/* SPDX-License-Identifier: MIT */
/* The table of the next functions: each member is libc's function of that name, or a replacement. */
#include "check.h"

#include "preload/next.h"
#include "preload/symbols.h"
#include "preload/sys.h"

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>

/* ---- What libc has ---- */

enum { NAMES = 64 };
static struct pinject_symbol asked[NAMES];
static size_t asked_count;
static bool libc_has_all;
static const char *version; /* NULL: it is not glibc */
static void *late;          /* what a library that came later has */
static const char *late_name;

static const char *its_version(void)
{
    return version;
}

size_t pinject_symbols_find(struct pinject_symbol *symbols, size_t count)
{
    asked_count = count;
    for (size_t i = 0; i < count && i < NAMES; i++) {
        if (libc_has_all)
            symbols[i].address = (void *)(0x1000 + i);
        if (strcmp(symbols[i].name, "gnu_get_libc_version") == 0) {
            const char *(*get)(void) = its_version;
            symbols[i].address = NULL;
            if (version)
                memcpy(&symbols[i].address, &get, sizeof(get));
        }
        asked[i] = symbols[i];
    }
    errno = EIO;
    return 0;
}

void *pinject_symbols_find_late(int (*its)(int (*)(struct dl_phdr_info *, size_t, void *), void *), const char *name)
{
    late_name = name;
    return its == pinject_next()->dl_iterate_phdr ? late : NULL;
}

/* ---- All is there ---- */

static bool member_is(const char *name, const void *member)
{
    uintptr_t word;
    memcpy(&word, member, sizeof(word));
    for (size_t i = 0; i < asked_count; i++)
        if (strcmp(asked[i].name, name) == 0)
            return word == (uintptr_t)asked[i].address && word >= 0x1000;
    return false;
}

#define CHECK(name, member)                  \
    do {                                     \
        if (!member_is(name, &next->member)) \
            return #member;                  \
    } while (0)

/* The member that is wrong. */
static const char *wrong_member(void)
{
    const struct pinject_next *next = pinject_next();
    CHECK("execve", execve);
    CHECK("execvpe", execvpe);
    CHECK("fexecve", fexecve);
    CHECK("execveat", execveat);
    CHECK("posix_spawn", posix_spawn);
    CHECK("posix_spawnp", posix_spawnp);
    CHECK("pidfd_spawn", pidfd_spawn);
    CHECK("pidfd_spawnp", pidfd_spawnp);
    CHECK("pthread_create", pthread_create);
    CHECK("thrd_create", thrd_create);
    CHECK("_Fork", fork_only);
    CHECK("wait4", wait4);
    CHECK("waitpid", waitpid);
    CHECK("waitid", waitid);
    CHECK("sigaction", sigaction);
    CHECK("signal", signal);
    CHECK("sigprocmask", sigprocmask);
    CHECK("sigaltstack", sigaltstack);
    CHECK("pthread_sigmask", pthread_sigmask);
    CHECK("setuid", setuid);
    CHECK("seteuid", seteuid);
    CHECK("setreuid", setreuid);
    CHECK("setresuid", setresuid);
    CHECK("prctl", prctl);
    CHECK("clone", clone);
    CHECK("system", system);
    CHECK("popen", popen);
    CHECK("unshare", unshare);
    CHECK("setns", setns);
    CHECK("timer_create", timer_create);
    CHECK("dl_iterate_phdr", dl_iterate_phdr);
    CHECK("__libc_start_main", libc_start_main);
    static const char *const others[] = {"aio_fsync",   "aio_fsync64", "aio_read",     "aio_read64", "aio_write",
                                         "aio_write64", "lio_listio",  "lio_listio64", "mq_notify",  "getaddrinfo_a"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        void *found = pinject_next_find(others[i]);
        if (!member_is(others[i], &found) || late_name)
            return others[i]; /* no look at the loader's list, as another thread may have its lock */
    }
    if (!member_is("syscall", &pinject_next_syscall))
        return "syscall";
    if (!next->pidfd_spawns)
        return "pidfd_spawns";
    return next->sanitized ? NULL : "sanitized";
}

/* In a child: the table is made once. */
static void test_each_has_its_own(void **state)
{
    int status;
    (void)state;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        libc_has_all = true;
        errno = ERANGE;
        const char *wrong = wrong_member();
        bool kept = errno == ERANGE;
        size_t before = asked_count;
        asked_count = 0;
        pinject_next();
        bool once = asked_count == 0 && before == 45 && strcmp(asked[33].name, "__sanitizer_print_stack_trace") == 0;
        if (wrong)
            fprintf(stderr, "wrong: %s\n", wrong);
        _exit(!wrong && kept && once ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* In which libc wait4 is a cancellation point. In a child each, for the same reason. */
static void test_wait4_by_version(void **state)
{
    static const struct {
        const char *version;
        bool cancels;
    } cases[] = {
        {NULL, false},  {"", false},    {"2.17", false}, {"2.30", false},         {"2.30.9000", false}, {"2.4", false},
        {"2.31", true}, {"2.36", true}, {"2.100", true}, {"2.31-0ubuntu9", true}, {"3.50", false},
    };
    (void)state;
    fflush(NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            version = cases[i].version;
            _exit(pinject_next()->wait4_cancels == cases[i].cancels ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status != 0)
            fail_msg("version %s", cases[i].version ? cases[i].version : "of another libc");
    }
}

/* ---- Nothing is there ---- */

static int set_up(void **state)
{
    (void)state;
    libc_has_all = false;
    errno = ERANGE;
    const struct pinject_next *next = pinject_next();
    return errno == ERANGE && next->execve && !next->sanitized ? 0 : -1;
}

#define assert_fails(call, error)       \
    do {                                \
        errno = 0;                      \
        assert_int_equal(call, -1);     \
        assert_int_equal(errno, error); \
    } while (0)

static char *const true_argv[] = {(char *)"true", NULL}, *const no_env[] = {NULL};

/* What a child that calls RUN ends with. */
static int child(int (*run)(int), int argument)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(run(argument));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int executes(int way)
{
    const struct pinject_next *next = pinject_next();
    char *const argv[] = {(char *)"sh", (char *)"-c", (char *)"exit $X", NULL}, *const envp[] = {(char *)"X=42", NULL};
    int directory = open("/bin", O_RDONLY | O_DIRECTORY);
    switch (way) {
    case 0: next->execve("/bin/sh", argv, envp); break;
    case 1: next->execvpe("/bin/sh", argv, envp); break;
    case 2: next->fexecve(open("/bin/sh", O_RDONLY), argv, envp); break;
    case 3: next->execveat(directory, "sh", argv, envp, 0); break;
    case 4: next->execveat(directory, "sh", argv, envp, 1); break; /* a flag that the kernel does not know */
    }
    return errno == EINVAL ? 7 : 1;
}

static void test_exec(void **state)
{
    const struct pinject_next *next = pinject_next();
    (void)state;
    for (int way = 0; way < 4; way++)
        assert_int_equal(child(executes, way), 42 << 8);
    assert_int_equal(child(executes, 4), 7 << 8);
    assert_fails(next->execve("/nonexistent/x", true_argv, no_env), ENOENT);
    assert_fails(next->execvpe("/nonexistent/x", true_argv, no_env), ENOENT);
    assert_fails(next->execvpe("true", true_argv, no_env), ENOSYS);
    assert_fails(next->fexecve(-1, true_argv, no_env), EBADF);
    assert_fails(next->execveat(-1, "x", true_argv, no_env, 0), EBADF);
    assert_int_equal(next->posix_spawn(NULL, "x", NULL, NULL, true_argv, no_env), ENOSYS);
    assert_int_equal(next->posix_spawnp(NULL, "x", NULL, NULL, true_argv, no_env), ENOSYS);
    assert_false(next->pidfd_spawns);
    assert_int_equal(next->pidfd_spawn(NULL, "x", NULL, NULL, true_argv, no_env), ENOSYS);
    assert_int_equal(next->pidfd_spawnp(NULL, "x", NULL, NULL, true_argv, no_env), ENOSYS);
}

static int nothing(void *data)
{
    (void)data;
    return 0;
}

static void test_what_fails(void **state)
{
    const struct pinject_next *next = pinject_next();
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t set;
    (void)state;
    assert_fails(next->fork_only(), ENOSYS);
    assert_fails(next->clone(nothing, NULL, 0, NULL, NULL, NULL, NULL), ENOSYS);
    assert_fails(next->system("true"), ENOSYS);
    assert_int_equal(next->system(NULL), 0);
    errno = 0;
    assert_null(next->popen("true", "r"));
    assert_int_equal(errno, ENOSYS);
    assert_fails(next->setuid(0), ENOSYS);
    assert_fails(next->seteuid(0), ENOSYS);
    assert_fails(next->setreuid(0, 0), ENOSYS);
    assert_fails(next->setresuid(0, 0, 0), ENOSYS);
    assert_fails(next->sigaction(SIGUSR1, &action, NULL), ENOSYS);
    assert_fails(next->sigprocmask(SIG_BLOCK, NULL, &set), ENOSYS);
    errno = 0;
    assert_true(next->signal(SIGUSR1, SIG_DFL) == SIG_ERR);
    assert_int_equal(errno, ENOSYS);
    assert_int_equal(next->dl_iterate_phdr(NULL, NULL), 0);
}

static int exits(int status)
{
    return status;
}

static void test_waits(void **state)
{
    const struct pinject_next *next = pinject_next();
    struct rusage usage = {.ru_maxrss = -1};
    siginfo_t info = {.si_pid = 0};
    int status = 0;
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(exits(5));
    assert_int_equal(next->waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(info.si_pid, pid);
    assert_int_equal(info.si_status, 5);
    assert_int_equal(next->wait4(pid, &status, 0, &usage), pid);
    assert_int_equal(status, 5 << 8);
    assert_true(usage.ru_maxrss >= 0);
    assert_fails(next->wait4(pid, &status, WNOHANG, NULL), ECHILD);
    assert_fails(next->waitpid(pid, &status, WNOHANG), ECHILD);
    pid = fork();
    if (pid == 0) {
        pause();
        _exit(1);
    }
    errno = ERANGE;
    assert_int_equal(next->wait4(pid, &status, WNOHANG, NULL), 0);
    assert_int_equal(errno, ERANGE);
    kill(pid, SIGKILL);
    assert_int_equal(next->waitpid(pid, &status, 0), pid);
    assert_int_equal(status, SIGKILL);
    assert_fails(next->waitid(P_PID, (id_t)pid, &info, WEXITED), ECHILD);
}

/* A namespace of one's own can be entered again: where another user may not make one, 0 is all that can be said. */
static int enters_its_own(int nothing_more)
{
    (void)nothing_more;
    if (unshare(CLONE_NEWUSER | CLONE_NEWUTS) < 0)
        return 0;
    return pinject_next()->setns(open("/proc/self/ns/uts", O_RDONLY), 0);
}

static void test_kernels_own(void **state)
{
    const struct pinject_next *next = pinject_next();
    char name[16] = "";
    (void)state;
    assert_int_equal(next->prctl(PR_SET_NAME, "some-name", 0ul, 0ul, 0ul), 0);
    assert_int_equal(next->prctl(PR_GET_NAME, name, 0ul, 0ul, 0ul), 0);
    assert_string_equal(name, "some-name");
    assert_int_equal(next->prctl(PR_GET_DUMPABLE, 0ul, 0ul, 0ul, 0ul), prctl(PR_GET_DUMPABLE));
    assert_fails(next->prctl(-1, 0ul, 0ul, 0ul, 0ul), EINVAL);
    /* All of its arguments arrive: unused ones have to be 0. */
    assert_fails(next->prctl(PR_SET_NO_NEW_PRIVS, 1ul, 1ul, 0ul, 0ul), EINVAL);
    assert_fails(next->prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 1ul, 0ul), EINVAL);
    assert_fails(next->prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 1ul), EINVAL);
    stack_t stack;
    assert_int_equal(next->sigaltstack(NULL, &stack), 0);
    assert_fails(next->sigaltstack((const stack_t *)8, NULL), EFAULT);
    assert_int_equal(next->unshare(0), 0);
    assert_fails(next->unshare(1), EINVAL);
    assert_fails(next->setns(-1, 0), EBADF);
    assert_int_equal(child(enters_its_own, 0), 0);
    int fd = open("/proc/self/ns/net", O_RDONLY);
    assert_fails(next->setns(fd, CLONE_NEWPID), EINVAL); /* another kind than the descriptor's */
    close(fd);
}

static void test_syscall(void **state)
{
    int fds[2];
    char bytes[4] = "";
    (void)state;
    assert_int_equal(pinject_next_syscall(SYS_getpid), getpid());
    errno = ERANGE;
    assert_int_equal(pinject_next_syscall(SYS_kill, (long)getpid(), 0L), 0);
    assert_int_equal(errno, ERANGE);
    assert_fails(pinject_next_syscall(SYS_close, -1L), EBADF);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(pinject_next_syscall(SYS_write, (long)fds[1], "abc", 3L), 3);
    assert_int_equal(pinject_next_syscall(SYS_read, (long)fds[0], bytes, 3L), 3);
    assert_string_equal(bytes, "abc");
    close(fds[0]);
    close(fds[1]);
    /* Six arguments: the second page of a file; an address is no error. */
    FILE *file = tmpfile();
    assert_int_equal(ftruncate(fileno(file), 8192), 0);
    assert_int_equal(pwrite(fileno(file), "second", 6, 4096), 6);
    long map = pinject_next_syscall(SYS_mmap, 0L, 4096L, (long)PROT_READ, (long)MAP_SHARED, (long)fileno(file), 4096L);
    assert_memory_equal((const char *)map, "second", 6);
    assert_fails(pinject_next_syscall(SYS_mmap, 0L, 4096L, (long)PROT_READ, (long)MAP_SHARED, -1L, 4096L), EBADF);
    munmap((void *)map, 4096);
    fclose(file);
}

/* ---- libpthread comes later ---- */

static const void *seen[4];

static int late_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument)
{
    seen[0] = thread, seen[1] = attr, seen[2] = argument;
    memcpy(&seen[3], &start, sizeof(start));
    return 33;
}

static int late_thrd(thrd_t *thread, thrd_start_t start, void *argument)
{
    seen[0] = thread, seen[1] = argument;
    memcpy(&seen[2], &start, sizeof(start));
    return 34;
}

static int late_timer(clockid_t clock, struct sigevent *event, timer_t *timer)
{
    seen[0] = (const void *)(uintptr_t)clock, seen[1] = event, seen[2] = timer;
    return 35;
}

static void set_late(const void *function)
{
    memcpy(&late, function, sizeof(late));
    memset(seen, 0, sizeof(seen));
}

static void test_late(void **state)
{
    const struct pinject_next *next = pinject_next();
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = late_create;
    int (*thrd)(thrd_t *, thrd_start_t, void *) = late_thrd;
    int (*timer)(clockid_t, struct sigevent *, timer_t *) = late_timer;
    (void)state;
    late = NULL;
    assert_int_equal(next->pthread_create(NULL, NULL, NULL, NULL), EAGAIN);
    assert_string_equal(late_name, "pthread_create");
    assert_int_equal(next->thrd_create(NULL, NULL, NULL), thrd_error);
    assert_string_equal(late_name, "thrd_create");
    assert_fails(next->timer_create(0, NULL, NULL), ENOSYS);
    assert_string_equal(late_name, "timer_create");
    assert_null(pinject_next_find("some"));
    assert_null(pinject_next_find("aio_read"));
    assert_string_equal(late_name, "aio_read");
    set_late(&create);
    assert_ptr_equal(pinject_next_find("some"), late);
    assert_string_equal(late_name, "some");
    assert_int_equal(next->pthread_create((pthread_t *)1, (const pthread_attr_t *)2, (void *(*)(void *))3, (void *)4),
                     33);
    assert_true(seen[0] == (void *)1 && seen[1] == (void *)2 && seen[3] == (void *)3 && seen[2] == (void *)4);
    set_late(&thrd);
    assert_int_equal(next->thrd_create((thrd_t *)1, nothing, (void *)3), 34);
    assert_true(seen[0] == (void *)1 && seen[1] == (void *)3 && seen[2]);
    set_late(&timer);
    assert_int_equal(next->timer_create(5, (struct sigevent *)2, (timer_t *)3), 35);
    assert_true(seen[0] == (void *)5 && seen[1] == (void *)2 && seen[2] == (void *)3);
}

/* The kernel's mask, as a word. */
static uint64_t kernel_mask(void)
{
    uint64_t word = 0;
    SYS_4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &word, 8);
    return word;
}

/* libpthread's own two signals cannot be blocked, whoever asks. */
static void test_mask(void **state)
{
    const struct pinject_next *next = pinject_next();
    sigset_t set, old;
    (void)state;
    const uint64_t before = kernel_mask();
    memset(&set, 0xff, sizeof(set));
    memset(&old, 0, sizeof(old));
    errno = ERANGE;
    assert_int_equal(next->pthread_sigmask(SIG_SETMASK, &set, &old), 0);
    const uint64_t full = kernel_mask(), never = UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1);
    assert_int_equal(next->pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
    assert_true(full == (UINT64_MAX & ~never & ~(UINT64_C(3) << 31)));
    assert_int_equal(kernel_mask(), before);
    memset(&old, 0x5a, sizeof(old));
    assert_int_equal(next->pthread_sigmask(SIG_BLOCK, NULL, &old), 0);
    assert_memory_equal(&old, &before, 8);
    assert_int_equal(next->pthread_sigmask(99, &set, NULL), EINVAL);
    assert_int_equal(errno, ERANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_has_its_own), /* before the table is made here */
        cmocka_unit_test(test_wait4_by_version),          cmocka_unit_test_setup(test_exec, set_up),
        cmocka_unit_test_setup(test_what_fails, set_up),  cmocka_unit_test_setup(test_waits, set_up),
        cmocka_unit_test_setup(test_kernels_own, set_up), cmocka_unit_test_setup(test_syscall, set_up),
        cmocka_unit_test_setup(test_late, set_up),        cmocka_unit_test_setup(test_mask, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
