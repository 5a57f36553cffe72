/* SPDX-License-Identifier: MIT */
/*
 * seccomp-deny [--errno NAME] [--kill] [--syscall NAME]... [--when ARGUMENT=VALUE] -- COMMAND [ARGS]
 *
 * Runs COMMAND under a filter that refuses system calls (perf_event_open unless others are named) with an errno
 * (EPERM), as container runtimes do, or kills the process. NAME may be a number. With --when only calls whose ARGUMENT
 * (0 to 5) has VALUE in its low 32 bits are refused: --syscall perf_event_open --when 4=8 lets a call with invalid
 * flags reach the kernel, as when the kernel itself refuses. Programs of another architecture (32-bit) are not
 * filtered.
 * 125: the filter cannot be set up; 126, 127: as env(1).
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv)
#define OWN_ARCH AUDIT_ARCH_RISCV64
#endif

enum { DENIED = 32, FILTER = DENIED + 8 };

struct name {
    const char *name;
    long number;
};

#define CALL(name)        \
    {                     \
#name, SYS_##name \
    }
static const struct name calls[] = {
    CALL(perf_event_open),
    CALL(timer_create),
    CALL(timer_settime),
    CALL(process_vm_readv),
    CALL(openat),
    CALL(mmap),
    CALL(statx),
    CALL(fcntl),
    CALL(futex),
    CALL(kill),
    CALL(tgkill),
    CALL(pidfd_open),
    CALL(prctl),
    CALL(rt_sigaction),
    CALL(rt_sigprocmask),
    CALL(clone),
    CALL(wait4),
    CALL(waitid),
    CALL(getpid),
    CALL(gettid),
    CALL(getppid),
    CALL(clock_gettime),
    CALL(memfd_create),
    CALL(close_range),
    CALL(ftruncate),
    CALL(fallocate),
    CALL(sched_getaffinity),
    CALL(sched_setaffinity),
    CALL(socket),
    CALL(setsid),
    CALL(execve),
    CALL(execveat),
    CALL(getrusage),
    CALL(setrlimit),
    CALL(prlimit64),
    CALL(eventfd2),
    CALL(epoll_create1),
    CALL(signalfd4),
    CALL(setpriority),
    CALL(sched_setattr),
    CALL(mremap),
};

static const struct name errors[] = {
    {"EPERM", EPERM},   {"EACCES", EACCES}, {"ENOSYS", ENOSYS}, {"EINVAL", EINVAL}, {"ENOENT", ENOENT},
    {"ENOMEM", ENOMEM}, {"EMFILE", EMFILE}, {"EAGAIN", EAGAIN}, {"EBUSY", EBUSY},   {"ENOSPC", ENOSPC},
};

struct wish {
    uint32_t action;
    long denied[DENIED];
    unsigned count;
    bool when;
    unsigned argument;
    uint32_t value;
};

static _Noreturn void fail(const char *what, const char *which)
{
    fprintf(stderr, "seccomp-deny: %s%s\n", what, which);
    exit(125);
}

static long number_of(const char *text, long most, const char *what)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 0);
    if (errno || end == text || *end || number < 0 || number > most)
        fail(what, text);
    return number;
}

static long find(const struct name *names, size_t count, const char *text, const char *what)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i].name, text) == 0)
            return names[i].number;
    return number_of(text, 4095, what);
}

static void take_when(struct wish *wish, const char *text)
{
    if (text[0] < '0' || text[0] > '5' || text[1] != '=')
        fail("--when needs ARGUMENT=VALUE, not ", text);
    wish->when = true;
    wish->argument = (unsigned)(text[0] - '0');
    wish->value = (uint32_t)number_of(text + 2, INT32_MAX, "no number: ");
}

/* The index of COMMAND in ARGV. */
static int parse(struct wish *wish, int argc, char **argv)
{
    int at = 1;
    wish->action = SECCOMP_RET_ERRNO | EPERM;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        bool kill = strcmp(argv[at], "--kill") == 0;
        const char *option = argv[at], *value = kill || at + 1 == argc ? "" : argv[++at];
        if (kill)
            wish->action = SECCOMP_RET_KILL_PROCESS;
        else if (strcmp(option, "--errno") == 0)
            wish->action = SECCOMP_RET_ERRNO |
                           (uint32_t)find(errors, sizeof errors / sizeof errors[0], value, "unknown errno ");
        else if (strcmp(option, "--when") == 0)
            take_when(wish, value);
        else if (strcmp(option, "--syscall") == 0 && wish->count < DENIED)
            wish->denied[wish->count++] = find(calls, sizeof calls / sizeof calls[0], value, "unknown call ");
        else
            fail("unknown, or one too many: ", option);
    }
    if (at + 1 >= argc)
        fail("no command", "");
    if (wish->count == 0)
        wish->denied[wish->count++] = SYS_perf_event_open;
    return at + 1;
}

static void install(const struct wish *wish)
{
    struct sock_filter code[FILTER];
    unsigned short size = 0;
    const unsigned char count = (unsigned char)wish->count;
#define PUT(...) code[size++] = (struct sock_filter)__VA_ARGS__
    PUT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
#ifdef OWN_ARCH
    PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 0, (unsigned char)(count + 1)));
#endif
    PUT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (unsigned i = 0; i < count; i++)
        PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)wish->denied[i], (unsigned char)(count - i), 0));
    PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    if (wish->when) {
        unsigned low = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0;
        PUT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, args[wish->argument]) + low));
        PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wish->value, 1, 0));
        PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
    PUT(BPF_STMT(BPF_RET | BPF_K, wish->action));
#undef PUT
    const struct sock_fprog program = {size, code};
    /* A privileged user's command may still gain privileges. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0)
        return;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        fail("the kernel takes no filter: ", strerror(errno));
}

int main(int argc, char **argv)
{
    static struct wish wish;
    int command = parse(&wish, argc, argv);
    install(&wish);
    execvp(argv[command], argv + command);
    int error = errno;
    fprintf(stderr, "seccomp-deny: %s: %s\n", argv[command], strerror(error));
    return error == ENOENT ? 127 : 126;
}
