/* SPDX-License-Identifier: MIT */
/*
 * Calls that make tasks which cannot ask for themselves, seccomp filters, and syscall(), which is a way to both: the
 * next function gets what the hook got, and the collector is asked before where it has to be.
 */
#define _LARGEFILE64_SOURCE
#include "hook_kit.h"

#include "preload/filter.h"
#include "preload/safe_read.h"
#include "preload/sys.h"

#include <aio.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <netdb.h>
#include <sched.h>
#include <time.h>

int hook_prctl(int option, ...);
int hook_timer_create(clockid_t clock, struct sigevent *event, timer_t *timer);
int hook_mq_notify(mqd_t queue, const struct sigevent *event);
int hook_aio_read(struct aiocb *block);
int hook_aio_write(struct aiocb *block);
int hook_aio_fsync(int operation, struct aiocb *block);
int hook_lio_listio(int mode, struct aiocb *const list[], int count, struct sigevent *event);
int hook_aio_read64(struct aiocb64 *block);
int hook_aio_write64(struct aiocb64 *block);
int hook_aio_fsync64(int operation, struct aiocb64 *block);
int hook_lio_listio64(int mode, struct aiocb64 *const list[], int count, struct sigevent *event);
int hook_getaddrinfo_a(int mode, struct gaicb *list[], int count, struct sigevent *event);
int hook_system(const char *command);
FILE *hook_popen(const char *command, const char *mode);
int hook_unshare(int flags);
int hook_setns(int fd, int type);
int hook_clone(int (*run)(void *), void *stack, int flags, void *argument, ...);
void pinject_inherit_by_syscall(long number, long a, long b);
long pinject_filter_by_syscall(long number, long a, long b, long c, long d, long e);

#define WORDS(a, b, c, d, e, f) (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)

/* ---- syscall(): in this program it is the hook, also for libraries ---- */

static bool recording;

static long next_syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (recording) {
        hook_note("syscall %ld: %ld %ld %ld %ld %ld %ld", number, a, b, c, d, e, f);
        return hook_answer();
    }
    long result = sys_call(number, a, b, c, d, e, f);
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

long (*pinject_next_syscall)(long, ...) = next_syscall;

long pinject_exec_by_syscall(long number, long a, long b, long c, long d, long e);

long pinject_exec_by_syscall(long number, long a, long b, long c, long d, long e)
{
    hook_note("exec %ld: %ld %ld %ld %ld %ld", number, a, b, c, d, e);
    return 66;
}

/* ---- What a filter harms ---- */

static struct {
    bool all, safe, timers, user;
    const struct sock_filter *code;
    size_t length;
} harms;

static bool harmed(bool it, const struct sock_filter *code, size_t length)
{
    if (code != harms.code || length != harms.length)
        abort();
    return it;
}

bool pinject_filter_harms(const struct sock_filter *code, size_t length)
{
    return harmed(harms.all, code, length);
}

bool pinject_filter_harms_safe_read(const struct sock_filter *code, size_t length)
{
    return harmed(harms.safe, code, length);
}

bool pinject_filter_harms_timers(const struct sock_filter *code, size_t length)
{
    return harmed(harms.timers, code, length);
}

bool pinject_filter_harms_user(const struct sock_filter *code, size_t length)
{
    return harmed(harms.user, code, length);
}

/* ---- The next functions ---- */

static int next_prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
    unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    hook_note("prctl %d: %lu %s %lu %lu, blocked %u blind %u fixed %u", option, a,
              b > 100 ? "program"
              : b     ? "2"
                      : "0",
              c, d, pinject_preload.blocked, pinject_safe_read_blind, pinject_preload.user_fixed);
    return (int)hook_answer();
}

static int next_timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
    hook_note("timer_create %d%s%s", (int)clock, event ? " event" : "", timer ? " timer" : "");
    return (int)hook_answer();
}

static int next_system(const char *command)
{
    hook_note("system %s", hook_text(command));
    return (int)hook_answer();
}

static FILE *next_popen(const char *command, const char *mode)
{
    hook_note("popen %s %s", hook_text(command), hook_text(mode));
    return hook_answer() ? stdin : NULL;
}

static int next_unshare(int flags)
{
    hook_note("unshare %#x", (unsigned)flags);
    return (int)hook_answer();
}

static int next_setns(int fd, int type)
{
    hook_note("setns %d %#x", fd, (unsigned)type);
    return (int)hook_answer();
}

static int next_clone(int (*run)(void *), void *stack, int flags, void *argument, ...)
{
    va_list list;
    va_start(list, argument);
    void *a = va_arg(list, void *), *b = va_arg(list, void *), *c = va_arg(list, void *);
    va_end(list);
    hook_note("clone %d %p %#x %p %p %p %p", run != NULL, stack, (unsigned)flags, argument, a, b, c);
    return (int)hook_answer();
}

/* Those that are looked up by name, all in one: their arguments are words. */
static int next_found(long a, long b, long c, long d)
{
    (void)d;
    hook_note("  %ld %ld %ld", a & 0xfff, b & 0xfff, c & 0xfff);
    return (int)hook_answer();
}

void *pinject_next_find(const char *name)
{
    int (*function)(long, long, long, long) = next_found;
    void *found;
    hook_note("find %s", name);
    memcpy(&found, &function, sizeof(found));
    return hook_kit.no_function ? NULL : found;
}

static void begin(uint32_t flags)
{
    hook_kit_begin(flags);
    hook_next.prctl = next_prctl;
    hook_next.timer_create = next_timer_create;
    hook_next.system = next_system;
    hook_next.popen = next_popen;
    hook_next.unshare = next_unshare;
    hook_next.setns = next_setns;
    hook_next.clone = next_clone;
    memset(&harms, 0, sizeof(harms));
    pinject_safe_read_blind = 0;
    recording = true;
}

static int end(void **state)
{
    (void)state;
    recording = false;
    return 0;
}

/* ---- Threads of libc's own ---- */

static void test_timers(void **state)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL};
    timer_t timer;
    (void)state;
    begin(0);
    assert_int_equal(hook_timer_create(CLOCK_REALTIME, &event, &timer), 0);
    assert_int_equal(hook_timer_create(CLOCK_MONOTONIC, NULL, NULL), 0);
    hook_kit.result = 9;
    event.sigev_notify = SIGEV_THREAD;
    assert_int_equal(hook_timer_create(CLOCK_MONOTONIC, &event, &timer), 9);
    assert_notes("timer_create 0 event timer\ntimer_create 1\ninherit\ntimer_create 1 event timer\n");
}

static void test_by_name(void **state)
{
    char *const at = (char *)0x10000;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL};
    (void)state;
    begin(0);
    hook_kit.result = 5;
    assert_int_equal(hook_mq_notify(3, NULL), 5);
    hook_notes();
    assert_int_equal(hook_mq_notify(3, &event), 5);
    assert_memory_equal(hook_notes(), "find mq_notify\n  3 ", 19);
    event.sigev_notify = SIGEV_THREAD;
    assert_int_equal(hook_mq_notify(3, &event), 5);
    assert_memory_equal(hook_notes(), "inherit\nfind mq_notify\n  3 ", 27);
#define TRY(call, name, words)                                                \
    do {                                                                      \
        assert_int_equal(call, 5);                                            \
        assert_memory_equal(hook_notes(), "inherit\nfind " name "\n  " words, \
                            strlen("inherit\nfind " name "\n  " words));      \
    } while (0)
    TRY(hook_aio_read((void *)(at + 1)), "aio_read", "1 ");
    TRY(hook_aio_write((void *)(at + 2)), "aio_write", "2 ");
    TRY(hook_aio_read64((void *)(at + 3)), "aio_read64", "3 ");
    TRY(hook_aio_write64((void *)(at + 4)), "aio_write64", "4 ");
    TRY(hook_aio_fsync(5, (void *)(at + 6)), "aio_fsync", "5 6 ");
    TRY(hook_aio_fsync64(7, (void *)(at + 8)), "aio_fsync64", "7 8 ");
    TRY(hook_lio_listio(9, (void *)(at + 10), 11, NULL), "lio_listio", "9 10 11\n");
    TRY(hook_lio_listio64(12, (void *)(at + 13), 14, NULL), "lio_listio64", "12 13 14\n");
    TRY(hook_getaddrinfo_a(15, (void *)(at + 16), 17, NULL), "getaddrinfo_a", "15 16 17\n");
#undef TRY
    /* A libc without it. */
    hook_kit.no_function = true;
    errno = 0;
    assert_int_equal(hook_aio_read(NULL), -1);
    assert_int_equal(errno, ENOSYS);
    assert_notes("inherit\nfind aio_read\n");
}

/* ---- Shells ---- */

static void test_shells(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_VFORK);
    hook_kit.result = 7;
    errno = ERANGE;
    assert_int_equal(hook_system("x"), 7);
    assert_non_null(hook_popen("y", "r"));
    assert_notes("reachable?\nsystem x\nreachable?\npopen y r\n");
    /* Whether there is a shell: nothing starts. */
    assert_int_equal(hook_system(NULL), 7);
    assert_notes("system null\n");
    /* A new exec generation could not open the session: it is covered, and does not see us. */
    hook_kit.unreachable = true;
    assert_int_equal(hook_system("x"), 7);
    assert_int_equal(errno, ERANGE);
    assert_notes("reachable?\ninherit\nforget ours\nsystem x\n");
    hook_segment.closed = 1;
    assert_int_equal(hook_system("x"), 7);
    assert_notes("system x\n");
    begin(PINJECT_SESSION_EXEC | PINJECT_SESSION_FORK);
    hook_kit.unreachable = true;
    pinject_preload.begun = 0;
    assert_null(hook_popen("y", "w"));
    assert_notes("init\npopen y w\n");
}

/* ---- Other namespaces ---- */

static int nothing(void *data)
{
    (void)data;
    return 0;
}

static void test_namespaces(void **state)
{
    static const int worlds[] = {CLONE_NEWPID, CLONE_NEWNS, CLONE_NEWUSER};
    char expected[256];
    (void)state;
    begin(0);
    hook_kit.result = 3;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hook_unshare(worlds[i]), 3);
        assert_int_equal(hook_setns(8, worlds[i]), 3);
        assert_int_equal(hook_clone(nothing, (void *)1, worlds[i], (void *)2, (void *)3, (void *)4, (void *)5), 3);
        const char *before = worlds[i] == CLONE_NEWUSER ? "inherit\nuser moves\n" : "inherit\n";
        const char *failed = worlds[i] == CLONE_NEWUSER ? "user stays\n" : ""; /* 3 is no success */
        snprintf(expected, sizeof(expected), "%sunshare %#x\n%s%ssetns 8 %#x\n%s%sclone 1 0x1 %#x 0x2 0x3 0x4 0x5\n%s",
                 before, (unsigned)worlds[i], failed, before, (unsigned)worlds[i], failed, before, (unsigned)worlds[i],
                 failed);
        assert_notes(expected);
    }
    /* A descriptor of any kind may be one of those. */
    assert_int_equal(hook_setns(8, 0), 3);
    assert_notes("inherit\nuser moves\nsetns 8 0\nuser stays\n");
    /* Who is there now, stays there; the parent of one that is has not moved. */
    hook_kit.result = 0;
    assert_int_equal(hook_unshare(CLONE_NEWUSER) + hook_setns(8, 0), 0);
    assert_notes("inherit\nuser moves\nunshare 0x10000000\ninherit\nuser moves\nsetns 8 0\n");
    hook_kit.result = 3;
    assert_int_equal(hook_unshare(CLONE_NEWNET | CLONE_FS), 3);
    assert_int_equal(hook_setns(8, CLONE_NEWNET), 3);
    assert_int_equal(hook_clone(nothing, (void *)1, CLONE_VM | SIGCHLD, (void *)2, (void *)3, (void *)4, (void *)5), 3);
    snprintf(expected, sizeof(expected), "unshare %#x\nsetns 8 %#x\nclone 1 0x1 %#x 0x2 0x3 0x4 0x5\n",
             (unsigned)(CLONE_NEWNET | CLONE_FS), (unsigned)CLONE_NEWNET, (unsigned)(CLONE_VM | SIGCHLD));
    assert_notes(expected);
}

static void test_inherit_by_number(void **state)
{
    static const struct {
        long number, a, b;
        const char *notes;
    } cases[] = {
        {SYS_clone, CLONE_NEWPID, 0, "inherit\n"},
        {SYS_clone, CLONE_NEWNS | CLONE_VM, 0, "inherit\n"},
        {SYS_clone, CLONE_VM, 0, ""},
        {SYS_unshare, CLONE_NEWUSER, 0, "inherit\nuser moves\n"},
        {SYS_unshare, CLONE_NEWNET, 0, ""},
        {SYS_setns, 3, 0, "inherit\nuser moves\n"},
        {SYS_setns, 3, CLONE_NEWPID, "inherit\n"},
        {SYS_setns, 3, CLONE_NEWNET, ""},
        {SYS_io_uring_setup, 8, 0, "inherit\n"},
        {SYS_getpid, CLONE_NEWPID, CLONE_NEWPID, ""},
        {SYS_clone3, 8, 88, ""}, /* wild: the kernel says so */
    };
    uint64_t arguments[11] = {CLONE_NEWPID};
    (void)state;
    begin(0);
    errno = ERANGE;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pinject_inherit_by_syscall(cases[i].number, cases[i].a, cases[i].b);
        const char *found = hook_notes();
        if (strcmp(found, cases[i].notes) != 0)
            fail_msg("case %zu: %s", i, found);
    }
    pinject_inherit_by_syscall(SYS_clone3, (long)arguments, 88);
    assert_notes("inherit\n");
    arguments[0] = CLONE_VM;
    pinject_inherit_by_syscall(SYS_clone3, (long)arguments, 88);
    assert_notes("");
    assert_int_equal(errno, ERANGE);
}

/* All seven words reach the kernel; only some numbers are looked at. */
static void test_syscall(void **state)
{
    char expected[256];
    (void)state;
    begin(0);
    hook_kit.result = 44;
    assert_int_equal(syscall(SYS_pread64, WORDS(1, 2, 3, 4, 5, 6)), 44);
    snprintf(expected, sizeof(expected), "syscall %d: 1 2 3 4 5 6\n", SYS_pread64);
    assert_notes(expected);
    assert_int_equal(syscall(SYS_execve, WORDS(1, 2, 3, 4, 5, 6)), 66);
    assert_int_equal(syscall(SYS_execveat, WORDS(1, 2, 3, 4, 5, 6)), 66);
    snprintf(expected, sizeof(expected), "exec %d: 1 2 3 4 5\nexec %d: 1 2 3 4 5\n", SYS_execve, SYS_execveat);
    assert_notes(expected);
    assert_int_equal(syscall(SYS_clone, WORDS(CLONE_NEWPID, 2, 3, 4, 5, 6)), 44);
    snprintf(expected, sizeof(expected), "inherit\nsyscall %d: %d 2 3 4 5 6\n", SYS_clone, CLONE_NEWPID);
    assert_notes(expected);
    assert_int_equal(syscall(SYS_unshare, WORDS(CLONE_NEWPID, 2, 3, 4, 5, 6)), 44);
    snprintf(expected, sizeof(expected), "inherit\nsyscall %d: %d 2 3 4 5 6\n", SYS_unshare, CLONE_NEWPID);
    assert_notes(expected);
    assert_int_equal(syscall(SYS_setns, WORDS(1, 0, 3, 4, 5, 6)), 44);
    snprintf(expected, sizeof(expected), "inherit\nuser moves\nsyscall %d: 1 0 3 4 5 6\n", SYS_setns);
    assert_notes(expected);
    assert_int_equal(syscall(SYS_io_uring_setup, WORDS(1, 0, 3, 4, 5, 6)), 44);
    snprintf(expected, sizeof(expected), "inherit\nsyscall %d: 1 0 3 4 5 6\n", SYS_io_uring_setup);
    assert_notes(expected);
    assert_int_equal(syscall(SYS_clone3, WORDS(0, 88, 3, 4, 5, 6)), 44);
    snprintf(expected, sizeof(expected), "syscall %d: 0 88 3 4 5 6\n", SYS_clone3);
    assert_notes(expected);
    assert_int_equal(syscall(SYS_prctl, WORDS(PR_GET_NAME, 2, 3, 4, 5, 6)), 44);
    snprintf(expected, sizeof(expected), "syscall %d: %d 2 3 4 5 0\n", SYS_prctl, PR_GET_NAME);
    assert_notes(expected);
}

/* ---- Filters ---- */

static struct sock_filter code[2] = {{BPF_RET, 0, 0, SECCOMP_RET_ALLOW}, {BPF_RET, 0, 0, SECCOMP_RET_ALLOW}};
static struct sock_fprog program = {2, code};

static int set_filter(const void *its)
{
    harms.code = code;
    harms.length = 2;
    return hook_prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER, its, 0ul, 0ul);
}

#define COUNTS pinject_preload.blocked, pinject_safe_read_blind, pinject_preload.user_fixed
#define assert_counts(a, b, c)                                       \
    do {                                                             \
        const unsigned found_[] = {COUNTS}, expected_[] = {a, b, c}; \
        assert_memory_equal(found_, expected_, sizeof(found_));      \
    } while (0)

static void test_other_prctl(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_VFORK);
    hook_kit.result = 5;
    assert_int_equal(hook_prctl(PR_SET_NAME, 1ul, 2ul, 3ul, 4ul), 5);
    assert_notes("prctl 15: 1 2 3 4, blocked 0 blind 0 fixed 0\n");
}

/* A harmless one changes nothing; the others what they harm, from before they are there. */
static void test_filters(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_VFORK);
    errno = ERANGE;
    assert_int_equal(set_filter(&program), 0);
    assert_notes("prctl 22: 2 program 0 0, blocked 0 blind 0 fixed 0\n");
    harms.user = true;
    assert_int_equal(set_filter(&program), 0);
    assert_notes("prctl 22: 2 program 0 0, blocked 0 blind 0 fixed 1\n");
    assert_counts(0, 0, 1);
    harms.user = false;
    harms.timers = true;
    assert_int_equal(set_filter(&program), 0);
    assert_notes("timers end\nprctl 22: 2 program 0 0, blocked 0 blind 0 fixed 1\n");
    assert_counts(0, 0, 1);
    harms.timers = false;
    harms.safe = true;
    assert_int_equal(set_filter(&program), 0);
    assert_notes("timers end\nprctl 22: 2 program 0 0, blocked 0 blind 1 fixed 1\n");
    harms.all = true;
    assert_int_equal(set_filter(&program), 0);
    assert_notes("timers end\nprctl 22: 2 program 0 0, blocked 1 blind 2 fixed 1\nforget ours\n");
    assert_counts(1, 2, 1);
    assert_int_equal(errno, ERANGE);
    /* Where children of system() are not followed anyway environ knows nothing of us. */
    pinject_preload.flags = PINJECT_SESSION_EXEC;
    assert_int_equal(set_filter(&program), 0);
    assert_notes("timers end\nprctl 22: 2 program 0 0, blocked 2 blind 3 fixed 1\n");
    /* Refused: nothing has changed. */
    pinject_preload.flags = PINJECT_SESSION_VFORK;
    harms.user = true;
    hook_kit.result = -1;
    hook_kit.error = EINVAL;
    assert_int_equal(set_filter(&program), -1);
    assert_int_equal(errno, EINVAL);
    assert_notes("timers end\nprctl 22: 2 program 0 0, blocked 3 blind 4 fixed 2\n");
    assert_counts(2, 3, 1);
    /* Where all exec generations begin timers, none may know of us under such a filter. */
    begin(PINJECT_SESSION_VFORK | PINJECT_SESSION_TIMER);
    harms.timers = true;
    assert_int_equal(set_filter(&program), 0);
    assert_notes("timers end\nprctl 22: 2 program 0 0, blocked 1 blind 0 fixed 0\nforget ours\n");
}

/* What the kernel will refuse is not looked at; nor is anything where there is no session. */
static void test_filters_not_judged(void **state)
{
    struct sock_fprog other = program;
    (void)state;
    begin(PINJECT_SESSION_VFORK);
    harms.all = harms.user = true;
    hook_kit.result = -1;
    assert_int_equal(set_filter((const void *)8), -1);
    other.len = 0;
    assert_int_equal(set_filter(&other), -1);
    other.len = BPF_MAXINSNS + 1;
    assert_int_equal(set_filter(&other), -1);
    other = (struct sock_fprog){2, (struct sock_filter *)8};
    assert_int_equal(set_filter(&other), -1);
    pinject_preload.state = PINJECT_NOTHING;
    pinject_preload.begun = 0;
    assert_int_equal(set_filter(&program), -1);
    assert_notes("prctl 22: 2 2 0 0, blocked 0 blind 0 fixed 0\n"
                 "prctl 22: 2 program 0 0, blocked 0 blind 0 fixed 0\n"
                 "prctl 22: 2 program 0 0, blocked 0 blind 0 fixed 0\n"
                 "prctl 22: 2 program 0 0, blocked 0 blind 0 fixed 0\n"
                 "init\nprctl 22: 2 program 0 0, blocked 0 blind 0 fixed 0\n");
}

/* Strict mode leaves read, write and exit: no exec comes, so that environ stays. */
static void test_strict(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_VFORK);
    assert_int_equal(hook_prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_STRICT, 0ul, 0ul, 0ul), 0);
    assert_notes("timers end\nprctl 22: 1 0 0 0, blocked 1 blind 1 fixed 0\n");
    hook_kit.result = 0;
    assert_int_equal(syscall(SYS_seccomp, WORDS(SECCOMP_SET_MODE_STRICT, 0, 0, 0, 0, 0)), 0);
    assert_counts(2, 2, 0);
    hook_notes();
}

static void test_filters_by_number(void **state)
{
    char expected[256];
    (void)state;
    begin(PINJECT_SESSION_VFORK);
    harms.code = code;
    harms.length = 2;
    harms.all = true;
    assert_int_equal(syscall(SYS_seccomp, WORDS(SECCOMP_SET_MODE_FILTER, 3, &program, 4, 5, 6)), 0);
    /* For all threads: those within are waited for, once it is known that no more come. */
    snprintf(expected, sizeof(expected), "timers end\nsettle, blocked 1\nsyscall %d: 1 3 %ld 4 5 0\nforget ours\n",
             SYS_seccomp, (long)&program);
    assert_notes(expected);
    assert_counts(1, 0, 0);
    assert_int_equal(syscall(SYS_prctl, WORDS(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 4, 5, 6)), 0);
    snprintf(expected, sizeof(expected), "timers end\nsyscall %d: 22 2 %ld 4 5 0\nforget ours\n", SYS_prctl,
             (long)&program);
    assert_notes(expected);
    assert_counts(2, 0, 0);
    assert_int_equal(syscall(SYS_prctl, WORDS(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0, 0)), 0);
    assert_counts(3, 1, 0);
    hook_notes();
    /*
     * Nobody is waited for where the process was blocked by seccomp before, for one thread, or by one that allows all.
     */
    for (int i = 0; i < 3; i++) {
        pinject_preload.blocked = i == 0;
        harms.all = i != 2;
        assert_int_equal(syscall(SYS_seccomp, WORDS(SECCOMP_SET_MODE_FILTER, i == 1 ? 2 : 1, &program, 4, 5, 6)), 0);
        assert_null(strstr(hook_notes(), "settle"));
    }
    harms.all = true;
    pinject_preload.blocked = 3;
    /* Questions. A number that the thread synchronisation of a filter gives is a failure. */
    assert_int_equal(syscall(SYS_seccomp, WORDS(SECCOMP_GET_ACTION_AVAIL, 3, &program, 4, 5, 6)), 0);
    snprintf(expected, sizeof(expected), "syscall %d: 2 3 %ld 4 5 0\n", SYS_seccomp, (long)&program);
    assert_notes(expected);
    hook_kit.result = 77;
    assert_int_equal(syscall(SYS_seccomp, WORDS(SECCOMP_SET_MODE_FILTER, 1, &program, 0, 0, 0)), 77);
    assert_counts(3, 1, 0);
}

/* The descriptor of a listener is no failure; -ESRCH of one for all threads is. */
static void test_filters_with_a_listener(void **state)
{
    enum { TSYNC = 1, LISTENER = 8, TSYNC_ESRCH = 16 };
    (void)state;
    begin(PINJECT_SESSION_VFORK);
    harms.code = code;
    harms.length = 2;
    harms.all = true;
    hook_kit.result = 3;
    assert_int_equal(syscall(SYS_seccomp, WORDS(SECCOMP_SET_MODE_FILTER, LISTENER, &program, 0, 0, 0)), 3);
    assert_non_null(strstr(hook_notes(), "forget ours\n"));
    assert_counts(1, 0, 0);
    hook_kit.result = 0;
    assert_int_equal(syscall(SYS_seccomp, WORDS(SECCOMP_SET_MODE_FILTER, LISTENER, &program, 0, 0, 0)), 0);
    assert_counts(2, 0, 0);
    hook_kit.result = 3;
    const long all = TSYNC | LISTENER | TSYNC_ESRCH;
    assert_int_equal(syscall(SYS_seccomp, WORDS(SECCOMP_SET_MODE_FILTER, all, &program, 0, 0, 0)), 3);
    assert_counts(3, 0, 0);
    hook_kit.result = -1;
    hook_kit.error = ESRCH;
    assert_int_equal(syscall(SYS_seccomp, WORDS(SECCOMP_SET_MODE_FILTER, all, &program, 0, 0, 0)), -1);
    assert_int_equal(errno, ESRCH);
    assert_counts(3, 0, 0);
    /* By prctl's number the same word is the mode. */
    hook_kit.result = 3;
    assert_int_equal(syscall(SYS_prctl, WORDS(PR_SET_SECCOMP, LISTENER, &program, 0, 0, 0)), 3);
    assert_counts(3, 0, 0);
    hook_notes();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_timers, end),
        cmocka_unit_test_teardown(test_by_name, end),
        cmocka_unit_test_teardown(test_shells, end),
        cmocka_unit_test_teardown(test_namespaces, end),
        cmocka_unit_test_teardown(test_inherit_by_number, end),
        cmocka_unit_test_teardown(test_syscall, end),
        cmocka_unit_test_teardown(test_other_prctl, end),
        cmocka_unit_test_teardown(test_filters, end),
        cmocka_unit_test_teardown(test_filters_not_judged, end),
        cmocka_unit_test_teardown(test_strict, end),
        cmocka_unit_test_teardown(test_filters_by_number, end),
        cmocka_unit_test_teardown(test_filters_with_a_listener, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
