/* SPDX-License-Identifier: MIT */
#include "next.h"
#include "symbols.h"
#include "sys.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include "text.h"
#include <unistd.h>

static struct pinject_next next;
static uint32_t next_known;

/* Replacements for what libc lacks: the plain system call if there is one. */
static int fail_with_errno(long error)
{
    errno = (int)-error;
    return -1;
}

static int plain_execve(const char *path, char *const argv[], char *const envp[])
{
    return fail_with_errno(SYS_3(SYS_execve, path, argv, envp));
}

static int plain_execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
    return fail_with_errno(SYS_5(SYS_execveat, fd, path, argv, envp, flags));
}

static int plain_fexecve(int fd, char *const argv[], char *const envp[])
{
    return plain_execveat(fd, "", argv, envp, AT_EMPTY_PATH);
}

static int no_execvpe(const char *file, char *const argv[], char *const envp[])
{
    return strchr(file, '/') ? plain_execve(file, argv, envp) : fail_with_errno(-ENOSYS);
}

static int no_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                    const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    (void)pid, (void)path, (void)actions, (void)attr, (void)argv, (void)envp;
    return ENOSYS;
}

static pid_t no_fork_only(void)
{
    return fail_with_errno(-ENOSYS);
}

static pid_t no_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    long result = SYS_4(SYS_wait4, pid, status, options, usage);
    return result < 0 ? fail_with_errno(result) : (pid_t)result;
}

static pid_t no_waitpid(pid_t pid, int *status, int options)
{
    return no_wait4(pid, status, options, NULL);
}

static int no_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    long result = SYS_5(SYS_waitid, type, id, info, options, 0);
    return result < 0 ? fail_with_errno(result) : 0;
}

static int plain_prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
    unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    long result = SYS_5(SYS_prctl, option, a, b, c, d);
    return result < 0 ? fail_with_errno(result) : (int)result;
}

static int no_clone(int (*run)(void *), void *stack, int flags, void *argument, ...)
{
    (void)run, (void)stack, (void)flags, (void)argument;
    return fail_with_errno(-ENOSYS);
}

static int no_system(const char *command)
{
    return command ? fail_with_errno(-ENOSYS) : 0;
}

static FILE *no_popen(const char *command, const char *mode)
{
    (void)command, (void)mode;
    errno = ENOSYS;
    return NULL;
}

static int plain_unshare(int flags)
{
    long result = SYS_1(SYS_unshare, flags);
    return result < 0 ? fail_with_errno(result) : 0;
}

static int plain_setns(int fd, int type)
{
    long result = SYS_2(SYS_setns, fd, type);
    return result < 0 ? fail_with_errno(result) : 0;
}

static long plain_syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    long result = sys_call(number, a, b, c, d, e, f);
    return result < 0 && result >= -4095 ? fail_with_errno(result) : result;
}

long (*pinject_next_syscall)(long, ...) = plain_syscall;

static int no_iteration(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
    (void)callback, (void)data;
    return 0;
}

static int no_setuid(uid_t user)
{
    (void)user;
    return fail_with_errno(-ENOSYS);
}

static int no_setreuid(uid_t real, uid_t effective)
{
    (void)real, (void)effective;
    return fail_with_errno(-ENOSYS);
}

static int no_setresuid(uid_t real, uid_t effective, uid_t saved)
{
    (void)real, (void)effective, (void)saved;
    return fail_with_errno(-ENOSYS);
}

static int no_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    (void)number, (void)action, (void)old;
    return fail_with_errno(-ENOSYS);
}

static int plain_sigaltstack(const stack_t *stack, stack_t *old)
{
    long result = SYS_2(SYS_sigaltstack, stack, old);
    return result < 0 ? fail_with_errno(result) : 0;
}

static void (*no_signal(int number, void (*handler)(int)))(int)
{
    (void)number, (void)handler;
    errno = ENOSYS;
    return SIG_ERR;
}

static int no_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    (void)how, (void)set, (void)old;
    return fail_with_errno(-ENOSYS);
}

/*
 * Before glibc 2.34 some functions are in libpthread, which a program may load long after us. Until we know them, each
 * call comes here and looks them up.
 */
static int late_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument)
{
    void *found = pinject_symbols_find_late(next.dl_iterate_phdr, "pthread_create");
    int (*function)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    memcpy(&function, &found, sizeof(function));
    return function ? function(thread, attr, start, argument) : EAGAIN;
}

static int late_thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
    void *found = pinject_symbols_find_late(next.dl_iterate_phdr, "thrd_create");
    int (*function)(thrd_t *, thrd_start_t, void *);
    memcpy(&function, &found, sizeof(function));
    return function ? function(thread, start, argument) : thrd_error;
}

/* In librt. */
static int late_timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
    void *found = pinject_symbols_find_late(next.dl_iterate_phdr, "timer_create");
    int (*function)(clockid_t, struct sigevent *, timer_t *);
    memcpy(&function, &found, sizeof(function));
    return function ? function(clock, event, timer) : fail_with_errno(-ENOSYS);
}

/* Like libc's: libpthread's two signals cannot be blocked. */
static int late_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    static const uint64_t never = UINT64_C(3) << (32 - 1);
    uint64_t word = 0;
    if (set) {
        memcpy(&word, set, sizeof(word));
        word &= ~never;
    }
    return (int)-SYS_4(SYS_rt_sigprocmask, how, set ? &word : NULL, old, sizeof(word));
}

/* Every member always has a function; libc's replaces it. */
static struct pinject_next next = {
    .execve = plain_execve,
    .execvpe = no_execvpe,
    .fexecve = plain_fexecve,
    .execveat = plain_execveat,
    .posix_spawn = no_spawn,
    .posix_spawnp = no_spawn,
    .pidfd_spawn = no_spawn,
    .pidfd_spawnp = no_spawn,
    .pthread_create = late_pthread_create,
    .thrd_create = late_thrd_create,
    .fork_only = no_fork_only,
    .wait4 = no_wait4,
    .waitpid = no_waitpid,
    .waitid = no_waitid,
    .setuid = no_setuid,
    .seteuid = no_setuid,
    .setreuid = no_setreuid,
    .setresuid = no_setresuid,
    .sigaction = no_sigaction,
    .sigaltstack = plain_sigaltstack,
    .signal = no_signal,
    .sigprocmask = no_sigprocmask,
    .pthread_sigmask = late_pthread_sigmask,
    .prctl = plain_prctl,
    .clone = no_clone,
    .system = no_system,
    .popen = no_popen,
    .unshare = plain_unshare,
    .setns = plain_setns,
    .timer_create = late_timer_create,
    .dl_iterate_phdr = no_iteration,
};

static const struct {
    const char *name;
    size_t offset;
} members[] = {
    {"execve", offsetof(struct pinject_next, execve)},
    {"execvpe", offsetof(struct pinject_next, execvpe)},
    {"fexecve", offsetof(struct pinject_next, fexecve)},
    {"execveat", offsetof(struct pinject_next, execveat)},
    {"posix_spawn", offsetof(struct pinject_next, posix_spawn)},
    {"posix_spawnp", offsetof(struct pinject_next, posix_spawnp)},
    {"pidfd_spawn", offsetof(struct pinject_next, pidfd_spawn)},
    {"pidfd_spawnp", offsetof(struct pinject_next, pidfd_spawnp)},
    {"pthread_create", offsetof(struct pinject_next, pthread_create)},
    {"thrd_create", offsetof(struct pinject_next, thrd_create)},
    {"_Fork", offsetof(struct pinject_next, fork_only)},
    {"wait4", offsetof(struct pinject_next, wait4)},
    {"waitpid", offsetof(struct pinject_next, waitpid)},
    {"waitid", offsetof(struct pinject_next, waitid)},
    {"setuid", offsetof(struct pinject_next, setuid)},
    {"seteuid", offsetof(struct pinject_next, seteuid)},
    {"setreuid", offsetof(struct pinject_next, setreuid)},
    {"setresuid", offsetof(struct pinject_next, setresuid)},
    {"prctl", offsetof(struct pinject_next, prctl)},
    {"clone", offsetof(struct pinject_next, clone)},
    {"system", offsetof(struct pinject_next, system)},
    {"popen", offsetof(struct pinject_next, popen)},
    {"unshare", offsetof(struct pinject_next, unshare)},
    {"setns", offsetof(struct pinject_next, setns)},
    {"timer_create", offsetof(struct pinject_next, timer_create)},
    {"sigaction", offsetof(struct pinject_next, sigaction)},
    {"sigaltstack", offsetof(struct pinject_next, sigaltstack)},
    {"signal", offsetof(struct pinject_next, signal)},
    {"sigprocmask", offsetof(struct pinject_next, sigprocmask)},
    {"pthread_sigmask", offsetof(struct pinject_next, pthread_sigmask)},
    {"dl_iterate_phdr", offsetof(struct pinject_next, dl_iterate_phdr)},
    {"__libc_start_main", offsetof(struct pinject_next, libc_start_main)},
};

enum { MEMBERS = sizeof(members) / sizeof(members[0]) };

/* Functions that few programs call; before glibc 2.34 they are in librt and libanl, which a program may load later. */
static struct pinject_symbol others[] = {
    {"aio_fsync", NULL},   {"aio_fsync64", NULL}, {"aio_read", NULL},     {"aio_read64", NULL}, {"aio_write", NULL},
    {"aio_write64", NULL}, {"lio_listio", NULL},  {"lio_listio64", NULL}, {"mq_notify", NULL},  {"getaddrinfo_a", NULL},
};

enum { OTHERS = sizeof(others) / sizeof(others[0]) };

/* Function pointers are words here. */
typedef uintptr_t word __attribute__((may_alias));

static void store_address(void *function, const struct pinject_symbol *symbol)
{
    if (symbol->address)
        __atomic_store_n((word *)function, (uintptr_t)symbol->address, __ATOMIC_RELAXED);
}

/* Since glibc 2.31. VERSION: gnu_get_libc_version(), or NULL. */
static bool wait4_cancels(const void *version)
{
    const char *(*get)(void);
    unsigned minor = 0;
    memcpy(&get, &version, sizeof(get));
    const char *text = get ? get() : "";
    if (strncmp(text, "2.", 2) != 0)
        return false;
    for (text += 2; *text >= '0' && *text <= '9'; text++)
        minor = minor * 10 + (unsigned)(*text - '0');
    return minor >= 31;
}

static void resolve_all(void)
{
    enum { SYSCALL = MEMBERS, SANITIZER, VERSION, FIRST_OTHER, ALL = FIRST_OTHER + OTHERS };
    struct pinject_symbol symbols[ALL];
    for (size_t i = 0; i < MEMBERS; i++)
        symbols[i] = (struct pinject_symbol){members[i].name, NULL};
    symbols[SYSCALL] = (struct pinject_symbol){"syscall", NULL};
    symbols[SANITIZER] = (struct pinject_symbol){"__sanitizer_print_stack_trace", NULL};
    symbols[VERSION] = (struct pinject_symbol){"gnu_get_libc_version", NULL};
    for (size_t i = 0; i < OTHERS; i++)
        symbols[FIRST_OTHER + i] = (struct pinject_symbol){others[i].name, NULL};
    pinject_symbols_find(symbols, ALL);
    for (size_t i = 0; i < MEMBERS; i++)
        store_address((char *)&next + members[i].offset, &symbols[i]);
    store_address(&pinject_next_syscall, &symbols[SYSCALL]);
    for (size_t i = 0; i < OTHERS; i++)
        store_address(&others[i].address, &symbols[FIRST_OTHER + i]);
    next.sanitized = symbols[SANITIZER].address;
    next.pidfd_spawns = next.pidfd_spawn != no_spawn;
    next.wait4_cancels = wait4_cancels(symbols[VERSION].address);
}

const struct pinject_next *pinject_next(void)
{
    /* Two threads may both resolve: they store the same. Acquire and release pair with each other. */
    if (__builtin_expect(!__atomic_load_n(&next_known, __ATOMIC_ACQUIRE), 0)) {
        int saved = errno;
        resolve_all();
        __atomic_store_n(&next_known, 1, __ATOMIC_RELEASE);
        errno = saved;
    }
    return &next;
}

void *pinject_next_find(const char *name)
{
    const struct pinject_next *table = pinject_next();
    for (size_t i = 0; i < OTHERS; i++)
        if (strcmp(others[i].name, name) == 0 && __atomic_load_n(&others[i].address, __ATOMIC_RELAXED))
            return others[i].address;
    return pinject_symbols_find_late(table->dl_iterate_phdr, name);
}
