/* SPDX-License-Identifier: MIT */
/* The wait family and the setuid family, _Fork, and what happens before main. */
#include "hook_kit.h"

#include "preload/sys.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>

pid_t hook_wait(int *status);
pid_t hook_wait3(int *status, int options, struct rusage *usage);
pid_t hook_wait4(pid_t pid, int *status, int options, struct rusage *usage);
pid_t hook_waitpid(pid_t pid, int *status, int options);
int hook_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
int hook_setuid(uid_t user);
int hook_seteuid(uid_t user);
int hook_setreuid(uid_t real, uid_t effective);
int hook_setresuid(uid_t real, uid_t effective, uid_t saved);
pid_t hook__Fork(void);
int hook___libc_start_main(int (*run)(int, char **, char **), int argc, char **argv, void (*first)(void),
                           void (*last)(void), void (*unload)(void), void *stack);
int hook_dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);

/* ---- wait ---- */

static int next_status;
static const int *status_seen;
static const struct rusage *usage_seen;

static pid_t next_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    hook_note("wait4 %d%s %#x%s", pid, status ? " status" : "", (unsigned)options, usage ? " usage" : "");
    status_seen = status;
    usage_seen = usage;
    long result = hook_answer();
    if (result > 0 && status)
        *status = next_status;
    if (result > 0 && usage) {
        *usage = (struct rusage){.ru_utime = {2, 3}, .ru_stime = {4, 999999}};
    }
    return (pid_t)result;
}

static void begin(uint32_t flags)
{
    hook_kit_begin(flags);
    hook_next.wait4 = next_wait4;
    hook_next.wait4_cancels = true;
    hook_next.waitid = waitid;
    next_status = 7 << 8;
}

static void test_not_wanted(void **state)
{
    int status;
    struct rusage usage;
    (void)state;
    begin(PINJECT_SESSION_ALL);
    hook_kit.result = 55;
    assert_int_equal(hook_wait4(5, &status, WNOHANG, &usage), 55);
    assert_true(status_seen == &status && usage_seen == &usage);
    assert_int_equal(hook_wait3(NULL, WUNTRACED, NULL), 55);
    assert_int_equal(hook_waitpid(6, NULL, 0), 55);
    assert_int_equal(hook_wait(NULL), 55);
    assert_notes("wait4 5 status 0x1 usage\nwait4 -1 0x2\nwait4 6 0\nwait4 -1 0\n");
    /* The session is over. */
    begin(PINJECT_SESSION_REAPED);
    hook_kit.result = 55;
    hook_segment.closed = 1;
    pinject_preload.begun = 0;
    assert_int_equal(hook_wait(&status), 55);
    assert_notes("init\nwait4 -1 status 0\n");
}

static void test_reported(void **state)
{
    int status;
    struct rusage usage;
    (void)state;
    begin(PINJECT_SESSION_REAPED);
    hook_kit.result = 55;
    errno = ERANGE;
    assert_int_equal(hook_wait4(5, &status, 0, &usage), 55);
    assert_true(status_seen == &status && usage_seen == &usage);
    assert_int_equal(status, 7 << 8);
    assert_int_equal(usage.ru_utime.tv_usec, 3);
    assert_int_equal(hook_wait3(&status, WUNTRACED, &usage), 55);
    assert_notes("wait4 5 status 0 usage\nreaped 55 0x700 2000003000 4999999000\n"
                 "wait4 -1 status 0x2 usage\nreaped 55 0x700 2000003000 4999999000\n");
    /* The program asks for neither: ours. */
    assert_int_equal(hook_waitpid(6, NULL, 0), 55);
    assert_int_equal(hook_wait(NULL), 55);
    assert_notes("wait4 6 status 0 usage\nreaped 55 0x700 2000003000 4999999000\n"
                 "wait4 -1 status 0 usage\nreaped 55 0x700 2000003000 4999999000\n");
    next_status = SIGKILL | 0x80;
    assert_int_equal(hook_wait(&status), 55);
    assert_int_equal(status, SIGKILL | 0x80);
    assert_notes("wait4 -1 status 0 usage\nreaped 55 0x89 2000003000 4999999000\n");
    assert_int_equal(errno, ERANGE);
}

static void block(void)
{
    pinject_preload.blocked = 1;
}

/* Another thread installs a filter that blocks the process while this one waits. */
static void test_blocked_meanwhile(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_REAPED);
    hook_kit.result = 55;
    hook_kit.meanwhile = block;
    assert_int_equal(hook_wait(NULL), 55);
    assert_notes("wait4 -1 status 0 usage\n");
}

static void test_nobody_ended(void **state)
{
    int status;
    (void)state;
    begin(PINJECT_SESSION_REAPED);
    assert_int_equal(hook_waitpid(6, &status, WNOHANG), 0);
    hook_kit.result = -1;
    hook_kit.error = ECHILD;
    assert_int_equal(hook_waitpid(6, &status, 0), -1);
    assert_int_equal(errno, ECHILD);
    assert_notes("wait4 6 status 0x1 usage\nwait4 6 status 0 usage\n");
    hook_kit.result = 55;
    next_status = SIGSTOP << 8 | 0x7f;
    assert_int_equal(hook_waitpid(6, &status, WUNTRACED), 55);
    next_status = 0xffff; /* continued */
    assert_int_equal(hook_waitpid(6, &status, WCONTINUED), 55);
    assert_notes("wait4 6 status 0x2 usage\nwait4 6 status 0x8 usage\n");
}

/* ---- waitid, of real children ---- */

static pid_t child_that(int exit_status, int by_signal)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (by_signal)
            raise(by_signal);
        _exit(exit_status);
    }
    assert_true(pid > 0);
    return pid;
}

static void assert_reaped(pid_t pid, unsigned status)
{
    char expected[64];
    snprintf(expected, sizeof(expected), "reaped %d %#x ", pid, status);
    const char *found = hook_notes();
    assert_memory_equal(found, expected, strlen(expected));
    assert_null(strstr(strchr(found, '\n') + 1, "reaped"));
}

static void test_waitid(void **state)
{
    siginfo_t info;
    (void)state;
    begin(PINJECT_SESSION_REAPED);
    pid_t pid = child_that(7, 0);
    memset(&info, 0x5a, sizeof(info));
    errno = ERANGE;
    assert_int_equal(hook_waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
    assert_int_equal(errno, ERANGE);
    assert_int_equal(info.si_pid, pid);
    assert_int_equal(info.si_status, 7);
    assert_int_equal(info.si_code, CLD_EXITED);
    assert_int_equal(info.si_signo, SIGCHLD);
    /* What the kernel writes, and no byte more. */
    assert_int_equal(((unsigned char *)&info)[sizeof(info) - 1], 0x5a);
    assert_reaped(pid, 0x700);
    pid = child_that(0, SIGKILL);
    assert_int_equal(hook_waitid(P_ALL, 0, NULL, WEXITED), 0);
    assert_reaped(pid, SIGKILL);
    assert_int_equal(hook_waitid(P_PID, (id_t)pid, &info, WEXITED), -1);
    assert_int_equal(errno, ECHILD);
    assert_notes("");
}

/* A dead child's status is the kernel's, also when a core was written or could have been. */
static int dump_code;

static int next_waitid_dumped(idtype_t type, id_t id, siginfo_t *info, int options)
{
    int result = waitid(type, id, info, options);
    info->si_code = dump_code;
    return result;
}

static void test_waitid_of_a_dump(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_REAPED);
    hook_next.waitid = next_waitid_dumped;
    dump_code = CLD_DUMPED;
    pid_t pid = child_that(0, SIGKILL);
    assert_int_equal(hook_waitid(P_PID, (id_t)pid, NULL, WEXITED), 0);
    assert_reaped(pid, SIGKILL | 0x80);
    dump_code = CLD_STOPPED;
    pid = child_that(0, SIGKILL);
    assert_int_equal(hook_waitid(P_PID, (id_t)pid, NULL, WEXITED), 0);
    assert_notes("");
}

/* Nobody has ended yet: zeros, as the kernel has it. */
static void test_waitid_of_nobody(void **state)
{
    siginfo_t info;
    int fds[2];
    char byte;
    (void)state;
    begin(PINJECT_SESSION_REAPED);
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[1]);
        _exit((int)read(fds[0], &byte, 1));
    }
    close(fds[0]);
    memset(&info, 0x5a, sizeof(info));
    assert_int_equal(hook_waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG), 0);
    assert_int_equal(info.si_pid, 0);
    assert_int_equal(info.si_signo, 0);
    assert_int_equal(hook_waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOHANG), 0);
    siginfo_t *volatile wild = (siginfo_t *)8;
    assert_int_equal(hook_waitid(P_PID, (id_t)pid, wild, WEXITED | WNOHANG), -1);
    assert_int_equal(errno, EFAULT);
    errno = ERANGE;
    assert_int_equal(hook_waitid(P_PID, 1, &info, WEXITED), -1);
    assert_int_equal(errno, ECHILD);
    assert_notes("");
    close(fds[1]);
    /* The child is taken although the place is wild, and told of. */
    errno = 0;
    assert_int_equal(hook_waitid(P_PID, (id_t)pid, wild, WEXITED), -1);
    assert_int_equal(errno, EFAULT);
    assert_reaped(pid, 0);
}

/* Calls that take nobody away are the next one's alone. */
static int next_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    hook_note("waitid %d %d%s %#x", (int)type, (int)id, info ? " info" : "", (unsigned)options);
    return (int)hook_answer();
}

static void test_waitid_passed_on(void **state)
{
    siginfo_t info;
    (void)state;
    begin(PINJECT_SESSION_REAPED);
    hook_next.waitid = next_waitid;
    hook_kit.result = -1;
    hook_kit.error = EINVAL;
    assert_int_equal(hook_waitid(P_PID, 5, &info, WSTOPPED), -1);
    assert_int_equal(hook_waitid(P_PID, 5, &info, WEXITED | WNOWAIT), -1);
    pinject_preload.flags = 0;
    assert_int_equal(hook_waitid(P_PGID, 5, NULL, WEXITED), -1);
    assert_int_equal(errno, EINVAL);
    assert_notes("waitid 1 5 info 0x2\nwaitid 1 5 info 0x1000004\nwaitid 2 5 0x4\n");
}

/* Another thread takes the child between the two calls: the next round waits for the next child. */
static pid_t faster;

static int next_waitid_too_slow(idtype_t type, id_t id, siginfo_t *info, int options)
{
    int result = waitid(type, id, info, options);
    if (faster && result == 0 && info->si_pid == faster) {
        assert_int_equal(waitpid(faster, NULL, 0), faster);
        faster = 0;
        hook_note("taken");
    }
    return result;
}

static void test_waitid_of_two_threads(void **state)
{
    siginfo_t info;
    (void)state;
    begin(PINJECT_SESSION_REAPED);
    hook_next.waitid = next_waitid_too_slow;
    faster = child_that(1, 0);
    assert_int_equal(hook_waitid(P_PID, (id_t)faster, &info, WEXITED), -1);
    assert_int_equal(errno, ECHILD);
    assert_notes("taken\n");
    pid_t first = child_that(1, 0);
    assert_int_equal(waitid(P_PID, (id_t)first, &info, WEXITED | WNOWAIT), 0);
    faster = first;
    pid_t second = child_that(2, 0);
    /* Either may be found first; the one that is left is the answer. */
    assert_int_equal(hook_waitid(P_ALL, 0, &info, WEXITED), 0);
    if (info.si_pid == second && faster)
        assert_int_equal(hook_waitid(P_ALL, 0, &info, WEXITED), -1);
    assert_non_null(strstr(hook_notes(), "reaped"));
}

/* ---- waitpid and wait of a libc whose wait4 is no cancellation point ---- */

static pid_t next_waitpid(pid_t pid, int *status, int options)
{
    hook_note("waitpid %d%s %#x", pid, status ? " status" : "", (unsigned)options);
    return (pid_t)hook_answer();
}

static void begin_old(uint32_t flags)
{
    begin(flags);
    hook_next.wait4_cancels = false;
    hook_next.waitpid = next_waitpid;
}

static void *wait_for_child(void *data)
{
    return hook_waitpid(*(pid_t *)data, NULL, 0) == *(pid_t *)data ? data : NULL;
}

/* A thread that waits for a child that lives can be cancelled. */
static void test_old_waits_are_cancelled(void **state)
{
    pthread_t thread;
    void *result;
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* gcc's runtime takes the frames that a cancelled thread left for live ones */
#endif
    begin_old(PINJECT_SESSION_REAPED);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(30); /* else a thread that cannot be cancelled would hang this test */
        pause();
        _exit(1);
    }
    assert_int_equal(pthread_create(&thread, NULL, wait_for_child, &pid), 0);
    assert_int_equal(pthread_cancel(thread), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_notes("");
    kill(pid, SIGKILL);
    assert_int_equal(hook_waitpid(pid, NULL, 0), pid);
    assert_reaped(pid, SIGKILL);
}

static void test_old_waits(void **state)
{
    int status = 0, *volatile wild = (int *)8;
    (void)state;
    begin_old(PINJECT_SESSION_REAPED);
    pid_t pid = child_that(7, 0);
    errno = ERANGE;
    assert_int_equal(hook_waitpid(pid, &status, 0), pid);
    assert_int_equal(errno, ERANGE);
    assert_int_equal(status, 7 << 8);
    assert_reaped(pid, 0x700);
    pid = child_that(0, SIGKILL);
    assert_int_equal(hook_wait(NULL), pid);
    assert_reaped(pid, SIGKILL);
    pid = child_that(3, 0);
    assert_int_equal(setpgid(pid, pid), 0); /* getpgrp() is 0 if its leader is in another pid namespace */
    assert_int_equal(hook_waitpid(-pid, &status, 0), pid);
    assert_reaped(pid, 0x300);
    pid = child_that(0, SIGSTOP);
    assert_int_equal(hook_waitpid(pid, &status, WUNTRACED), pid);
    assert_int_equal(status, SIGSTOP << 8 | 0x7f);
    assert_int_equal(hook_waitpid(pid, &status, WNOHANG), 0);
    assert_notes("");
    kill(pid, SIGKILL);
    /* The kernel takes the child before it finds the place wild. */
    assert_int_equal(hook_waitpid(pid, wild, 0), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(hook_waitpid(pid, &status, 0), -1);
    assert_int_equal(errno, ECHILD);
    assert_notes("");
}

/* What waitid takes otherwise, and what is not to be reported, goes to waitpid. */
static void test_old_waits_passed_on(void **state)
{
    int status;
    (void)state;
    begin_old(PINJECT_SESSION_REAPED);
    hook_kit.result = 55;
    assert_int_equal(hook_waitpid(0, &status, WNOHANG), 55);
    assert_int_equal(hook_waitpid(INT_MIN, NULL, 0), 55);
    assert_int_equal(hook_waitpid(5, NULL, WEXITED), 55);
    assert_int_equal(hook_waitpid(5, NULL, WNOWAIT), 55);
    assert_notes("waitpid 0 status 0x1\nwaitpid -2147483648 0\nwaitpid 5 0x4\nwaitpid 5 0x1000000\n");
    pinject_preload.flags = 0;
    assert_int_equal(hook_waitpid(5, &status, 0), 55);
    assert_int_equal(hook_wait(&status), 55);
    assert_notes("waitpid 5 status 0\nwaitpid -1 status 0\n");
}

/* As with waitid: another thread takes the child in between. */
static void test_old_waits_of_two_threads(void **state)
{
    (void)state;
    begin_old(PINJECT_SESSION_REAPED);
    hook_next.waitid = next_waitid_too_slow;
    pid_t pid = faster = child_that(1, 0);
    assert_int_equal(hook_waitpid(pid, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
    assert_notes("taken\n");
}

/* ---- The setuid family ---- */

static int next_setuid(uid_t user)
{
    hook_note("setuid %d", (int)user);
    return (int)hook_answer();
}

static int next_seteuid(uid_t user)
{
    hook_note("seteuid %d", (int)user);
    return (int)hook_answer();
}

static int next_setreuid(uid_t real, uid_t effective)
{
    hook_note("setreuid %d %d", (int)real, (int)effective);
    return (int)hook_answer();
}

static int next_setresuid(uid_t real, uid_t effective, uid_t saved)
{
    hook_note("setresuid %d %d %d", (int)real, (int)effective, (int)saved);
    return (int)hook_answer();
}

static void begin_user(uint32_t state)
{
    begin(0);
    hook_next.setuid = next_setuid;
    hook_next.seteuid = next_seteuid;
    hook_next.setreuid = next_setreuid;
    hook_next.setresuid = next_setresuid;
    pinject_preload.state = state;
    errno = ERANGE;
}

static void test_users(void **state)
{
    (void)state;
    begin_user(PINJECT_FOLLOWED);
    assert_int_equal(hook_setuid(5), 0);
    assert_int_equal(hook_seteuid(6), 0);
    assert_int_equal(hook_setreuid(7, 8), 0);
    assert_int_equal(hook_setresuid(9, 10, 11), 0);
    assert_int_equal(errno, ERANGE);
    assert_notes("changes 5 5 5\nsetuid 5\nchanged user\n"
                 "changes -1 6 -1\nseteuid 6\nchanged user\n"
                 "changes 7 8 -1 as setreuid\nsetreuid 7 8\nchanged user\n"
                 "changes 9 10 11\nsetresuid 9 10 11\nchanged user\n");
    hook_kit.result = -1;
    hook_kit.error = EPERM;
    assert_int_equal(hook_setuid(5), -1);
    assert_int_equal(errno, EPERM);
    assert_notes("changes 5 5 5\nsetuid 5\nkeeps user\n");
    begin_user(PINJECT_LEFT);
    assert_int_equal(hook_setuid(5), 0);
    assert_notes("setuid 5\n");
    begin_user(PINJECT_NOTHING);
    pinject_preload.begun = 0;
    assert_int_equal(hook_setuid(5), 0);
    assert_notes("init\nsetuid 5\n");
}

/* ---- _Fork ---- */

static pid_t next_fork(void)
{
    hook_note("fork");
    return (pid_t)hook_answer();
}

static void test_fork(void **state)
{
    (void)state;
    begin(0);
    hook_next.fork_only = next_fork;
    pinject_preload.begun = 0;
    errno = ERANGE;
    assert_int_equal(hook__Fork(), 0); /* as the child sees it */
    assert_int_equal(errno, ERANGE);
    assert_notes("init\nbefore fork\nfork\nforked\n");
    hook_kit.result = 77;
    assert_int_equal(hook__Fork(), 77);
    assert_notes("before fork\nfork\n");
    hook_kit.result = -1;
    hook_kit.error = EAGAIN;
    assert_int_equal(hook__Fork(), -1);
    assert_int_equal(errno, EAGAIN);
    assert_notes("before fork\nfork\n");
}

/* ---- Before main ---- */

static int run(int argc, char **argv, char **envp)
{
    (void)argc, (void)argv, (void)envp;
    return 0;
}

static void nothing(void)
{
}

static int next_start(int (*run_main)(int, char **, char **), int argc, char **argv, void (*first)(void),
                      void (*last)(void), void (*unload)(void), void *stack)
{
    hook_note("main %d %d", run_main == run && !first && last == nothing && !unload && stack == &status_seen, argc);
    return argv ? (int)hook_answer() : 0;
}

static unsigned visited;
static bool saw_itself;
extern const char test_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
    visited++;
    if (info->dlpi_phdr == (const void *)(test_start + 64) || info->dlpi_addr == (uintptr_t)test_start)
        saw_itself = true;
    return size > 0 && data == &visited && visited == 2 ? 5 : 0;
}

/* The preload object is in the loader's list for nobody before main, and for all after. */
static void test_main(void **state)
{
    char *argv[] = {NULL};
    (void)state;
    begin(0);
    hook_next.libc_start_main = next_start;
    hook_next.dl_iterate_phdr = dl_iterate_phdr;
    hook_kit.result = 3;
    assert_int_equal(hook_dl_iterate_phdr(visit, &visited), 5);
    assert_int_equal(visited, 2);
    assert_false(saw_itself);
    assert_int_equal(hook___libc_start_main(run, 4, argv, NULL, nothing, NULL, &status_seen), 3);
    assert_notes("main 1 4\n");
    visited = 0;
    hook_dl_iterate_phdr(visit, &visited);
    assert_true(saw_itself);
    pinject_preload.environ_join = true;
    pinject_preload.begun = 0;
    assert_int_equal(hook___libc_start_main(run, 4, argv, NULL, nothing, NULL, &status_seen), 3);
    assert_notes("init\njoin ours\nmain 1 4\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_wanted),
        cmocka_unit_test(test_reported),
        cmocka_unit_test(test_blocked_meanwhile),
        cmocka_unit_test(test_nobody_ended),
        cmocka_unit_test(test_waitid),
        cmocka_unit_test(test_waitid_of_a_dump),
        cmocka_unit_test(test_waitid_of_nobody),
        cmocka_unit_test(test_waitid_passed_on),
        cmocka_unit_test(test_waitid_of_two_threads),
        cmocka_unit_test(test_old_waits_are_cancelled),
        cmocka_unit_test(test_old_waits),
        cmocka_unit_test(test_old_waits_passed_on),
        cmocka_unit_test(test_old_waits_of_two_threads),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_main),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
