/* SPDX-License-Identifier: MIT */
#include "next.h"
#include "sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include "text.h"
#include <unistd.h>

static struct pinject_next next;
static uint32_t next_known;

/* Stand-ins for a libc that lacks one: the kernel's own where there is one. */
static int failed(long error)
{
    errno = (int)-error;
    return -1;
}

static int plain_execve(const char *path, char *const argv[], char *const envp[])
{
    return failed(SYS_3(SYS_execve, path, argv, envp));
}

static int plain_execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
    return failed(SYS_5(SYS_execveat, fd, path, argv, envp, flags));
}

static int plain_fexecve(int fd, char *const argv[], char *const envp[])
{
    return plain_execveat(fd, "", argv, envp, AT_EMPTY_PATH);
}

static int no_execvpe(const char *file, char *const argv[], char *const envp[])
{
    return strchr(file, '/') ? plain_execve(file, argv, envp) : failed(-ENOSYS);
}

static int no_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                    const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    (void)pid, (void)path, (void)actions, (void)attr, (void)argv, (void)envp;
    return ENOSYS;
}

static int no_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument)
{
    (void)thread, (void)attr, (void)start, (void)argument;
    return EAGAIN;
}

static int no_thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
    (void)thread, (void)start, (void)argument;
    return thrd_error;
}

static pid_t no_fork_only(void)
{
    return failed(-ENOSYS);
}

static pid_t no_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    long result = SYS_4(SYS_wait4, pid, status, options, usage);
    return result < 0 ? failed(result) : (pid_t)result;
}

static int no_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    long result = SYS_5(SYS_waitid, type, id, info, options, 0);
    return result < 0 ? failed(result) : 0;
}

static int plain_prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
    unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    long result = SYS_5(SYS_prctl, option, a, b, c, d);
    return result < 0 ? failed(result) : (int)result;
}

static long plain_syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    long result = sys_call(number, a, b, c, d, e, f);
    return result < 0 && result >= -4095 ? failed(result) : result;
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
    return failed(-ENOSYS);
}

static int no_setreuid(uid_t real, uid_t effective)
{
    (void)real, (void)effective;
    return failed(-ENOSYS);
}

static int no_setresuid(uid_t real, uid_t effective, uid_t saved)
{
    (void)real, (void)effective, (void)saved;
    return failed(-ENOSYS);
}

static int no_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    (void)number, (void)action, (void)old;
    return failed(-ENOSYS);
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
    return failed(-ENOSYS);
}

static int no_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    (void)how, (void)set, (void)old;
    return ENOSYS;
}

/* RTLD_NEXT, never RTLD_DEFAULT: with the latter we would find ourselves, or what a wrapper of ours hides from us. */
#define RESOLVE(member, name, otherwise)                     \
    do {                                                     \
        void *found = dlsym(RTLD_NEXT, name);                \
        __typeof__(next.member) function = otherwise;        \
        if (found)                                           \
            memcpy(&function, &found, sizeof(found));        \
        else                                                 \
            missing = 1;                                     \
        __atomic_store_n(&next.member, function, __ATOMIC_RELAXED); \
    } while (0)

static void resolve(void)
{
    int missing = 0;
    RESOLVE(execve, "execve", plain_execve);
    RESOLVE(execvpe, "execvpe", no_execvpe);
    RESOLVE(fexecve, "fexecve", plain_fexecve);
    RESOLVE(execveat, "execveat", plain_execveat);
    RESOLVE(posix_spawn, "posix_spawn", no_spawn);
    RESOLVE(posix_spawnp, "posix_spawnp", no_spawn);
    RESOLVE(pthread_create, "pthread_create", no_pthread_create);
    RESOLVE(thrd_create, "thrd_create", no_thrd_create);
    RESOLVE(fork_only, "_Fork", no_fork_only);
    RESOLVE(wait4, "wait4", no_wait4);
    RESOLVE(waitid, "waitid", no_waitid);
    RESOLVE(setuid, "setuid", no_setuid);
    RESOLVE(seteuid, "seteuid", no_setuid);
    RESOLVE(setreuid, "setreuid", no_setreuid);
    RESOLVE(setresuid, "setresuid", no_setresuid);
    RESOLVE(prctl, "prctl", plain_prctl);
    RESOLVE(sigaction, "sigaction", no_sigaction);
    RESOLVE(signal, "signal", no_signal);
    RESOLVE(sigprocmask, "sigprocmask", no_sigprocmask);
    RESOLVE(pthread_sigmask, "pthread_sigmask", no_pthread_sigmask);
    RESOLVE(dl_iterate_phdr, "dl_iterate_phdr", no_iteration);
    RESOLVE(libc_start_main, "__libc_start_main", NULL);
    void *found = dlsym(RTLD_NEXT, "syscall");
    if (found)
        memcpy(&pinject_next_syscall, &found, sizeof(found));
    if (missing)
        dlerror(); /* ours is not the program's to find */
}

const struct pinject_next *pinject_next(void)
{
    /* Two threads may both resolve: they store the same. Acquire and release pair with each other. */
    if (__builtin_expect(!__atomic_load_n(&next_known, __ATOMIC_ACQUIRE), 0)) {
        int saved = errno;
        resolve();
        __atomic_store_n(&next_known, 1, __ATOMIC_RELEASE);
        errno = saved;
    }
    return &next;
}
