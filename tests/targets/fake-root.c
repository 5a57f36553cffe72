/* SPDX-License-Identifier: MIT */
/*
 * fake-root PROGRAM [ARGS...]: runs PROGRAM, an absolute path, with an auxiliary vector that says it runs as root. Like
 * proot -0, a tracer changes the vector after the exec, before the first instruction. Ends with the program's status.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(int condition, const char *what)
{
    if (condition)
        return;
    perror(what);
    _exit(3);
}

static uint64_t peek(pid_t pid, uint64_t at)
{
    errno = 0;
    uint64_t word = (uint64_t)ptrace(PTRACE_PEEKDATA, pid, (void *)(uintptr_t)at, NULL);
    must(errno == 0, "PTRACE_PEEKDATA");
    return word;
}

/* The address after a NULL-terminated list of pointers. */
static uint64_t behind(pid_t pid, uint64_t at)
{
    while (peek(pid, at))
        at += 8;
    return at + 8;
}

static uint64_t stack_of(pid_t pid)
{
    struct user_regs_struct registers;
    struct iovec all = {&registers, sizeof(registers)};
    must(ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &all) == 0, "PTRACE_GETREGSET");
#ifdef __x86_64__
    return registers.rsp;
#else
    return registers.sp;
#endif
}

static int change_users(pid_t pid)
{
    int changed = 0;
    uint64_t at = behind(pid, behind(pid, stack_of(pid) + 8));
    for (uint64_t type; (type = peek(pid, at)) != AT_NULL; at += 16) {
        if (type != AT_UID && type != AT_EUID && type != AT_GID && type != AT_EGID)
            continue;
        must(ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)(at + 8), NULL) == 0, "PTRACE_POKEDATA");
        changed++;
    }
    return changed;
}

int main(int argc, char **argv)
{
    int status = 0;
    must(argc > 1, "fake-root PROGRAM [ARGS...]");
    pid_t pid = fork();
    if (pid == 0) {
        must(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0, "PTRACE_TRACEME");
        execv(argv[1], &argv[1]);
        must(0, argv[1]);
    }
    must(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP, "its exec");
    must(change_users(pid) == 4, "the auxiliary vector");
    must(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0, "PTRACE_DETACH");
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
