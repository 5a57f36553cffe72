/* SPDX-License-Identifier: MIT */
/*
 * Programs that forbid themselves all that they do not need, with a filter that ends, signals or answers what is not on
 * their list. The list has what these cases call by themselves, and nothing that they do not.
 */
#include "see.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
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
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static const int needed[] = {
    SYS_read,
    SYS_write,
    SYS_openat,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_lseek,
    SYS_mmap,
    SYS_mprotect,
    SYS_munmap,
    SYS_brk,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_pread64,
    SYS_execve,
    SYS_wait4,
    SYS_clone,
    SYS_clone3,
    SYS_exit,
    SYS_exit_group,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_prlimit64,
    SYS_getrandom,
    SYS_futex,
    SYS_madvise,
    SYS_pipe2,
    SYS_dup3,
    SYS_fcntl,
    SYS_readlinkat,
    SYS_ioctl,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getpid,
    SYS_getppid,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_uname,
    SYS_tgkill,
#if defined(__x86_64__)
    SYS_arch_prctl,
    SYS_access,
    SYS_dup2,
    SYS_readlink,
    SYS_vfork,
    SYS_fork,
    SYS_getcwd,
#endif
};

enum { HEAD = 4, COUNT = sizeof(needed) / sizeof(needed[0]) };

static struct sock_fprog list_of_needed(uint32_t otherwise, int also)
{
    static struct sock_filter code[HEAD + COUNT + 4];
    size_t at = 0;
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i <= COUNT; i++) {
        size_t left = COUNT - i;
        uint32_t number = (uint32_t)(i < COUNT ? needed[i] : also);
        code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, (uint8_t)(left + 1), 0);
    }
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return (struct sock_fprog){(unsigned short)at, code};
}

/* As libseccomp, as libc, and with the instruction itself: that nobody sees. */
enum way { BY_PRCTL, BY_SYSCALL, BY_SYSCALL_PRCTL, FOR_ALL_THREADS, WITH_A_LISTENER };

/* Newer than the oldest headers. */
#ifndef SECCOMP_FILTER_FLAG_NEW_LISTENER
#define SECCOMP_FILTER_FLAG_NEW_LISTENER (1UL << 3)
#endif

static int install(enum way way, struct sock_fprog *program)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    switch (way) {
    case BY_PRCTL: return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0);
    case BY_SYSCALL: return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
    case BY_SYSCALL_PRCTL: return (int)syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0);
    case FOR_ALL_THREADS: return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program);
    case WITH_A_LISTENER: {
        int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, program);
        return fd > 0 ? close(fd) : -1;
    }
    }
    return -1;
}

static void under(enum way way, uint32_t otherwise, void (*run)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct sock_fprog program = list_of_needed(otherwise, SYS_read);
        see_result("filter", install(way, &program));
        run();
        exit(0);
    }
    see_child("filtered", pid);
}

static void killing(void)
{
    for (int way = BY_PRCTL; way <= WITH_A_LISTENER; way++)
        under(way, SECCOMP_RET_KILL_PROCESS, see_exercise);
    under(BY_PRCTL, SECCOMP_RET_KILL_THREAD, see_exercise);
}

static void report_trap(int number, siginfo_t *info, void *context)
{
    static const char text[] = "a call that nobody made\n";
    (void)number, (void)context;
    if (write(1, text, sizeof(text) - 1) < 0)
        _exit(9);
    (void)info;
}

static void trapping(void)
{
    struct sigaction action = {.sa_sigaction = report_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL);
    under(BY_PRCTL, SECCOMP_RET_TRAP, see_exercise);
    under(BY_SYSCALL, SECCOMP_RET_TRAP, see_threads_and_forks);
}

static void answering(void)
{
    under(BY_PRCTL, SECCOMP_RET_ERRNO | EPERM, see_exercise);
    under(BY_SYSCALL, SECCOMP_RET_ERRNO | ENOSYS, see_exercise);
}

/* What containers do: a few calls are refused, all others go on. */
static void in_a_box(void)
{
    static struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 3, 0),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 2, 0),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 1, 0),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)};
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    see_result("filter", install(BY_SYSCALL, &program));
    see_exercise();
}

/* Not a list of what is needed, but of what may not be: nothing of it is called here. */
static void without_some(void)
{
    static struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 7, 0),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 6, 0),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_create, 5, 0),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_settime, 4, 0),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_delete, 3, 0),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigqueueinfo, 2, 0),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_tgsigqueueinfo, 1, 0),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    see_result("filter", install(BY_SYSCALL, &program));
    see_exercise();
}

static void *thread_under(void *data)
{
    (void)data;
    struct sock_fprog program = list_of_needed(SECCOMP_RET_KILL_PROCESS, SYS_read);
    see_result("filter of a thread", install(FOR_ALL_THREADS, &program));
    return NULL;
}

/* One thread installs the filter for all. */
static void by_a_thread(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, thread_under, NULL);
        pthread_join(thread, NULL);
        see_exercise();
        exit(0);
    }
    see_child("filtered", pid);
}

static int to_child[2];

/* The first thread sleeps: as it has nothing else to do, in wait(). */
static bool first_thread_waits(void)
{
    char path[64], state = 'S';
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%*d %*s %c", &state) != 1)
        state = 'S';
    if (file)
        fclose(file);
    return state == 'S';
}

static void *thread_that_ends_a_child(void *data)
{
    struct sock_fprog program = list_of_needed(SECCOMP_RET_KILL_PROCESS, SYS_read);
    while (!first_thread_waits())
        sched_yield();
    see_result("filter of a thread", install(FOR_ALL_THREADS, &program));
    return write(to_child[1], "x", 1) == 1 ? data : NULL;
}

/* The filter is installed while another thread waits for a child. */
static void while_another_waits(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        char byte;
        if (pipe(to_child) < 0)
            _exit(2);
        pid_t child = fork();
        if (child == 0)
            _exit(read(to_child[0], &byte, 1) == 1 ? 7 : 1);
        pthread_create(&thread, NULL, thread_that_ends_a_child, NULL);
        see_child("waited for", child);
        pthread_join(thread, NULL);
        exit(0);
    }
    see_child("filtered", pid);
}

/* Twice, and from one exec generation to the next. */
static void stacked(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct sock_fprog program = list_of_needed(SECCOMP_RET_KILL_PROCESS, SYS_prctl);
        see_result("first", install(BY_PRCTL, &program));
        see_exercise();
        program = list_of_needed(SECCOMP_RET_KILL_PROCESS, SYS_read);
        see_result("second", install(BY_PRCTL, &program));
        see_exercise();
        fflush(stdout);
        execl(see_me, see_me, "inside", (char *)NULL);
        _exit(1);
    }
    see_child("filtered", pid);
}

static void inside(void)
{
    see_exercise();
}

/* What is refused changes nothing. */
static void refused(void)
{
    struct sock_filter code[1] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog none = {0, code}, wild = {1, (struct sock_filter *)8}, invalid = {1, code};
    struct sock_fprog *volatile nowhere = (struct sock_fprog *)8;
    code[0].code = 0xffff;
    see_result("null", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL));
    see_result("flags", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0xffff, &none));
    see_result("mode", syscall(SYS_seccomp, 77, 0, NULL));
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    see_result("empty", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none, 0, 0));
    see_result("wild", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &wild, 0, 0));
    see_result("nowhere", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nowhere, 0, 0));
    see_result("invalid", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &invalid, 0, 0));
    see_result("prctl", prctl(12345, 1, 2, 3, 4));
    see_result("syscall", syscall(98765, 1, 2, 3, 4, 5, 6));
    see_exercise();
}

static void strict(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        static const char text[] = "strict\n";
        long failed = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        if (write(1, text, sizeof(text) - 1) < 0)
            failed = 1;
        syscall(SYS_exit, failed);
    }
    see_child("strict", pid);
}

/* A child that is forked by a bare system call, and one that shares the caller's memory. */
static void calls_that_return_twice(void)
{
    fflush(stdout);
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(3);
    see_child("clone", pid);
#ifdef SYS_fork
    pid = (pid_t)syscall(SYS_fork);
    if (pid == 0)
        _exit(4);
    see_child("fork", pid);
#endif
    errno = 5;
    printf("%ld\n", syscall(SYS_getpid) - getpid());
    see_result("close", syscall(SYS_close, -1));
}

int main(int argc, char **argv)
{
    static const struct see_case cases[] = {
        {"killing", killing},
        {"trapping", trapping},
        {"answering", answering},
        {"in-a-box", in_a_box},
        {"without-some", without_some},
        {"by-a-thread", by_a_thread},
        {"while-another-waits", while_another_waits},
        {"stacked", stacked},
        {"inside", inside},
        {"refused", refused},
        {"strict", strict},
        {"returns-twice", calls_that_return_twice},
    };
    return see_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
