/* SPDX-License-Identifier: MIT */
/* A filter for the calling process, a child of the test, in which one system call fails. */
#ifndef UNIT_DENY_H
#define UNIT_DENY_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DENY_SKIPPED = 77 };

/* Which of its calls fail: those with this argument. NULL: all. */
struct deny_only {
    int argument;
    uint32_t value;
};

/* Call NUMBER fails with ERROR. Where there are no filters the child ends. */
__attribute__((unused)) static void deny_call(uint32_t number, const struct deny_only *only, unsigned error)
{
    enum { LOW_WORD = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4 };
    const uint32_t at = offsetof(struct seccomp_data, args) + 8 * (uint32_t)(only ? only->argument : 0) + LOW_WORD;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, only ? only->value : 0, 0, only ? 1 : 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(DENY_SKIPPED);
}

/* The status of a child that runs TEST; that of one without filters is 0. */
__attribute__((unused)) static int deny_in_child(int (*test)(void))
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(test());
    if (waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == DENY_SKIPPED ? 0 : status;
}

#endif
