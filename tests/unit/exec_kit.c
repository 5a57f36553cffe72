/* SPDX-License-Identifier: MIT */
#include "exec_kit.h"

#include "preload/sys.h"

char *const arguments[3] = {(char *)"name", (char *)"one", NULL};
char *const empty_env[1] = {NULL};
char *const other_env[2] = {(char *)"A=b", NULL};
char *const joined_env[4] = {(char *)"A=b", (char *)"PINJECT_SESSION=/s", (char *)"LD_PRELOAD=/p/libpinject.so", NULL};

/* ---- The next functions ---- */

static int next_execve(const char *path, char *const argv[], char *const envp[])
{
    hook_note("execve %s %s", hook_text(path), hook_vector(argv));
    hook_note("  in %s", hook_vector(envp));
    return (int)hook_answer();
}

static int next_execvpe(const char *file, char *const argv[], char *const envp[])
{
    hook_note("execvpe %s %s", hook_text(file), hook_vector(argv));
    hook_note("  in %s", hook_vector(envp));
    return (int)hook_answer();
}

static int next_fexecve(int fd, char *const argv[], char *const envp[])
{
    hook_note("fexecve %d %s", fd, hook_vector(argv));
    hook_note("  in %s", hook_vector(envp));
    return (int)hook_answer();
}

static int next_execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
    hook_note("execveat %d %s %s %#x", fd, hook_text(path), hook_vector(argv), (unsigned)flags);
    hook_note("  in %s", hook_vector(envp));
    return (int)hook_answer();
}

static long next_syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    if (number == SYS_execveat) {
        int fd = (int)va_arg(list, long);
        const char *path = va_arg(list, const char *);
        hook_note("syscall execveat %d %s %s", fd, hook_text(path), hook_vector(va_arg(list, char *const *)));
    } else {
        const char *path = va_arg(list, const char *);
        hook_note("syscall %s %s %s", number == SYS_execve ? "execve" : "?", hook_text(path),
                  hook_vector(va_arg(list, char *const *)));
    }
    hook_note("  in %s", hook_vector(va_arg(list, char *const *)));
    if (number == SYS_execveat)
        hook_note("  flags %#lx", (unsigned long)va_arg(list, long));
    va_end(list);
    return hook_answer();
}

long (*pinject_next_syscall)(long, ...) = next_syscall;

int spawned_pid;
bool no_pid;

static int next_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    hook_note("spawn %s%s%s %s", hook_text(path), actions ? " actions" : "", attr ? " attr" : "", hook_vector(argv));
    hook_note("  in %s", hook_vector(envp));
    no_pid = !pid;
    if (pid && !hook_kit.error_once)
        *pid = spawned_pid;
    int once = hook_kit.error_once;
    long result = hook_answer();
    return once ? once : (int)result; /* the error is what it returns */
}

int next_spawn_of_much(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    bool ours = false;
    (void)path, (void)actions, (void)attr, (void)argv;
    for (; *envp; envp++)
        ours |= strncmp(*envp, "PINJECT_SESSION=", 16) == 0;
    hook_note("spawn with%s ours", ours ? "" : "out");
    *pid = spawned_pid;
    return 0;
}

static int next_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    hook_note("by name:");
    return next_spawn(pid, file, actions, attr, argv, envp);
}

static int next_pidfd(int *pidfd, const char *path, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    hook_note("pidfd:");
    return next_spawn(pidfd, path, actions, attr, argv, envp);
}

static int next_pidfd_by_name(int *pidfd, const char *file, const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    hook_note("pidfd by name:");
    return next_spawn(pidfd, file, actions, attr, argv, envp);
}

/* ---- Its working directory ---- */

struct pinject_spawn_directory directory;
int directory_error;

int pinject_spawn_directory_find(const posix_spawn_file_actions_t *actions,
                                 struct pinject_spawn_directory *ret_directory)
{
    (void)actions;
    *ret_directory = directory;
    return directory_error;
}

void pinject_spawn_directory_close(struct pinject_spawn_directory *it)
{
    hook_note("close directory %d", it->fd == AT_FDCWD ? -1 : it->fd);
}

bool pinject_spawn_names_descriptor(const char *path)
{
    return strcmp(path, "/dev/fd/3") == 0;
}

void exec_begin(uint32_t flags)
{
    hook_kit_begin(flags);
    hook_kit.envp = other_env;
    hook_kit.result = -1;
    hook_kit.error = ENOENT;
    hook_next.execve = next_execve;
    hook_next.execvpe = next_execvpe;
    hook_next.fexecve = next_fexecve;
    hook_next.execveat = next_execveat;
    hook_next.posix_spawn = next_spawn;
    hook_next.posix_spawnp = next_spawnp;
    hook_next.pidfd_spawn = next_pidfd;
    hook_next.pidfd_spawnp = next_pidfd_by_name;
    hook_next.pidfd_spawns = true;
    directory = (struct pinject_spawn_directory){AT_FDCWD, false, false};
    directory_error = 0;
    spawned_pid = 4321;
}
