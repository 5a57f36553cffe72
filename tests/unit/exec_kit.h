/* SPDX-License-Identifier: MIT */
/* For tests of the exec family and posix_spawn: fakes of libc's functions that hooks call; they note their calls. */
#ifndef TESTS_EXEC_KIT_H
#define TESTS_EXEC_KIT_H

#include "hook_kit.h"

#include "preload/spawn_directory.h"

int hook_execve(const char *path, char *const argv[], char *const envp[]);
int hook_execv(const char *path, char *const argv[]);
int hook_execvpe(const char *file, char *const argv[], char *const envp[]);
int hook_execvp(const char *file, char *const argv[]);
int hook_fexecve(int fd, char *const argv[], char *const envp[]);
int hook_execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags);
int hook_execl(const char *path, const char *first, ...);
int hook_execlp(const char *file, const char *first, ...);
int hook_execle(const char *path, const char *first, ...);
long pinject_exec_by_syscall(long number, long a, long b, long c, long d, long e);
int hook_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);
int hook_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);
int hook_pidfd_spawn(int *pidfd, const char *path, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);
int hook_pidfd_spawnp(int *pidfd, const char *file, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);

#define OURS "PINJECT_SESSION=/s,LD_PRELOAD=/p/libpinject.so"

extern char *const arguments[3];
extern char *const empty_env[1], *const other_env[2], *const joined_env[4];

/* Of posix_spawn: the pid that it returns; whether its last caller passed NULL for it. */
extern int spawned_pid;
extern bool no_pid;
/* Notes only whether our variables are in the environment. */
int next_spawn_of_much(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);

/* The working directory that file actions set for a child. */
extern struct pinject_spawn_directory directory;
extern int directory_error;

/* Starts each test: all functions fail with ENOENT. FLAGS: of the session. */
void exec_begin(uint32_t flags);

#endif
