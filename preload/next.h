/* SPDX-License-Identifier: MIT */
/* The functions that our hooks call: libc's, or those of another preloaded DSO. */
#ifndef PINJECT_PRELOAD_NEXT_H
#define PINJECT_PRELOAD_NEXT_H

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>

#define PINJECT_HOOK __attribute__((visibility("default")))

/* Declared by libc since glibc 2.34. */
int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags);
pid_t _Fork(void);
/* Since glibc 2.39. */
int pidfd_spawn(int *pidfd, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                char *const argv[], char *const envp[]);
int pidfd_spawnp(int *pidfd, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                 char *const argv[], char *const envp[]);

struct pinject_next {
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*execveat)(int, const char *, char *const[], char *const[], int);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                       char *const[], char *const[]);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                        char *const[], char *const[]);
    int (*pidfd_spawn)(int *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                       char *const[], char *const[]);
    int (*pidfd_spawnp)(int *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                        char *const[], char *const[]);
    bool pidfd_spawns; /* libc has these two */
    int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*thrd_create)(thrd_t *, thrd_start_t, void *);
    pid_t (*fork_only)(void); /* _Fork */
    pid_t (*wait4)(pid_t, int *, int, struct rusage *);
    pid_t (*waitpid)(pid_t, int *, int);
    int (*waitid)(idtype_t, id_t, siginfo_t *, int);
    bool wait4_cancels; /* wait4 is a cancellation point, as waitpid and waitid always are */
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    int (*sigaltstack)(const stack_t *, stack_t *);
    void (*(*signal)(int, void (*)(int)))(int);
    int (*sigprocmask)(int, const sigset_t *, sigset_t *);
    int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
    int (*setuid)(uid_t);
    int (*seteuid)(uid_t);
    int (*setreuid)(uid_t, uid_t);
    int (*setresuid)(uid_t, uid_t, uid_t);
    int (*prctl)(int, ...);
    int (*clone)(int (*)(void *), void *, int, void *, ...);
    int (*system)(const char *);
    FILE *(*popen)(const char *, const char *);
    int (*unshare)(int);
    int (*setns)(int, int);
    int (*timer_create)(clockid_t, struct sigevent *, timer_t *);
    int (*dl_iterate_phdr)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    bool sanitized; /* a sanitizer's runtime is among them; it records its callers */
    int (*libc_start_main)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void),
                           void *);
};

/* Separate, because assembly code jumps through it. Before libc's function is known it is a plain system call. */
extern long (*pinject_next_syscall)(long, ...) __attribute__((visibility("hidden")));

/* For functions that few programs call. NULL: there is none. If it was not found at the start it is looked up each
   time, which takes the loader's lock: not in signal handlers, nor between fork and exec. */
void *pinject_next_find(const char *name);

/*
 * Resolved once in the constructor, so that nothing has to be resolved in a signal handler, after fork or in a vfork
 * child. Code that runs before the constructor resolves them on demand. Every entry is always set: if libc lacks a
 * function, to one that fails with ENOSYS, or that looks again whether libpthread is loaded by now.
 */
const struct pinject_next *pinject_next(void);

#endif
