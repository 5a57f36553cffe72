/* SPDX-License-Identifier: MIT */
/*
 * truth-exec errors    what each way to start a program answers to bad input
 * truth-exec starts    each way starts this program with "show"
 * truth-exec show ...  prints arguments and environment
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char me[4096];

enum way { EXECVE, EXECV, EXECVP, EXECVPE, EXECL, EXECLP, EXECLE, FEXECVE, EXECVEAT, SPAWN, SPAWNP, WAYS };
static const char *const names[WAYS] = {"execve", "execv",   "execvp",   "execvpe",     "execl",       "execlp",
                                        "execle", "fexecve", "execveat", "posix_spawn", "posix_spawnp"};

/* Returns an error, or waits for a spawned child. */
static int call_exec(enum way way, const char *path, char **argv, char **envp)
{
    pid_t pid;
    int error, fd;
    errno = 0;
    switch (way) {
    case EXECVE: execve(path, argv, envp); return errno;
    case EXECV:
        environ = envp;
        execv(path, argv);
        return errno;
    case EXECVP:
        environ = envp;
        execvp(path, argv);
        return errno;
    case EXECVPE: execvpe(path, argv, envp); return errno;
    case EXECL:
        environ = envp;
        execl(path, argv[0], argv[1], argv[2], (char *)NULL);
        return errno;
    case EXECLP:
        environ = envp;
        execlp(path, argv[0], argv[1], argv[2], (char *)NULL);
        return errno;
    case EXECLE: execle(path, argv[0], argv[1], argv[2], (char *)NULL, envp); return errno;
    case FEXECVE:
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return errno;
        fexecve(fd, argv, envp);
        error = errno;
        close(fd);
        return error;
    case EXECVEAT: execveat(AT_FDCWD, path, argv, envp, 0); return errno;
    case SPAWN:
    case SPAWNP:
        error = (way == SPAWN ? posix_spawn : posix_spawnp)(&pid, path, NULL, NULL, argv, envp);
        if (!error)
            waitpid(pid, NULL, 0);
        return error;
    default: return -1;
    }
}

static char *args[] = {me, (char *)"show", (char *)"two words", NULL};
static char *plain[] = {
    (char *)"A=1", (char *)"PATH=/usr/bin:/bin", (char *)"NOEQUALS", (char *)"EMPTY=", (char *)"A=2", NULL};

static char **vector_without_end(void)
{
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 4096, 4096, PROT_NONE);
    char **vector = (char **)(void *)(pages + 4096) - 3;
    vector[0] = vector[1] = vector[2] = plain[0];
    return vector;
}

static void errors(void)
{
    static char long_argument[200000], *long_args[] = {me, long_argument, NULL};
    char *wild[] = {plain[0], (char *)8, NULL}, *wild_args[] = {me, (char *)16, (char *)16, NULL};
    char **saved = environ;
    memset(long_argument, 'x', sizeof(long_argument) - 1);
    for (int way = 0; way < WAYS; way++) {
        int list = way == EXECL || way == EXECLP || way == EXECLE;
        printf("%s: missing %d", names[way], call_exec(way, "/nonexistent/x", args, plain));
        printf(" directory %d", call_exec(way, "/", args, plain));
        printf(" data %d", call_exec(way, "/etc/passwd", args, plain));
        printf(" empty %d", call_exec(way, "", args, plain));
        printf(" envp %d", call_exec(way, me, args, (char **)8));
        printf(" entry %d", call_exec(way, me, args, wild));
        printf(" endless %d", call_exec(way, me, args, vector_without_end()));
        printf(" argument %d", call_exec(way, me, wild_args, plain));
        printf(" long %d\n", list ? 0 : call_exec(way, me, long_args, plain));
        environ = saved;
    }
    const char *volatile wild_path = (char *)8;
    char **volatile wild_argv = (char **)8;
    errno = 0;
    execve(wild_path, args, plain);
    printf("path %d", errno);
    execve(me, wild_argv, plain);
    printf(" argv %d", errno);
    execveat(-1, "x", args, plain, 0);
    printf(" fd %d", errno);
    fexecve(-1, args, plain);
    printf(" fexecve %d\n", errno);
}

/* In a child, that becomes the program. */
static void in_child(int (*run)(void *), void *data)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(run(data));
    int status;
    waitpid(pid, &status, 0);
    printf("status %x\n", (unsigned)status);
}

static int run_way(void *data)
{
    return call_exec((enum way)(intptr_t)data, me, args, plain);
}

static int run_null(void *data)
{
    (void)data;
    execve(me, args, NULL);
    return errno;
}

/* More entries than fit a small stack, and than we ever copy. */
static int run_many(void *data)
{
    size_t count = (size_t)(intptr_t)data;
    char **envp = calloc(count + 1, sizeof(*envp)), *count_args[] = {me, (char *)"count", NULL};
    for (size_t i = 0; i < count; i++)
        envp[i] = (char *)"E=1";
    execve(me, count_args, envp);
    return errno;
}

static void *exec_in_thread(void *data)
{
    run_many(data);
    return NULL;
}

static int run_thread(void *data)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 16384);
    if (pthread_create(&thread, &attr, exec_in_thread, data))
        return 1;
    pthread_join(thread, NULL);
    return 2;
}

static void handler(int number)
{
    (void)number;
    execve(me, args, plain);
}

static int run_handler(void *data)
{
    (void)data;
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    return 1;
}

/* execvp runs what has no magic by a shell. */
static int run_script(void *data)
{
    int fd = open("script", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    if (write(fd, "echo script \"$@\"\n", 17) != 17)
        return 1;
    close(fd);
    char *argv[] = {(char *)"script", (char *)"a b", NULL};
    if (data)
        execvp("./script", argv);
    else
        execlp("./script", "script", "c", (char *)NULL);
    return errno;
}

static void by_vfork(void)
{
    fflush(stdout);
    for (int way = 0; way < SPAWN; way++) {
        char **saved = environ;
        pid_t pid = vfork();
        if (pid == 0)
            _exit(call_exec(way, me, args, plain));
        environ = saved;
        int status;
        waitpid(pid, &status, 0);
        printf("vfork %s status %x\n", names[way], (unsigned)status);
        fflush(stdout);
    }
    pid_t pid = vfork();
    if (pid == 0) {
        execve("/nonexistent/x", args, plain);
        execve("/etc/passwd", args, plain);
        execve(me, args, plain);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
}

static void starts(void)
{
    for (intptr_t way = 0; way < WAYS; way++) {
        printf("%s\n", names[way]);
        in_child(run_way, (void *)way);
    }
    in_child(run_null, NULL);
    in_child(run_many, (void *)1000);
    in_child(run_many, (void *)15000);
    in_child(run_many, (void *)30000);
    in_child(run_many, (void *)1000000);
    in_child(run_thread, (void *)600);
    in_child(run_thread, (void *)15000);
    in_child(run_handler, NULL);
    in_child(run_script, NULL);
    in_child(run_script, args);
    by_vfork();
    fflush(stdout);
    if (system("echo system; env | sort") != 0)
        puts("system failed");
    FILE *pipe = popen("echo popen; env | sort", "r");
    for (int byte; pipe && (byte = getc(pipe)) != EOF;)
        putchar(byte);
    if (pipe)
        pclose(pipe);
}

int main(int argc, char **argv)
{
    ssize_t size = readlink("/proc/self/exe", me, sizeof(me) - 1);
    if (size <= 0 || argc < 2)
        return 64;
    if (strcmp(argv[1], "errors") == 0)
        errors();
    else if (strcmp(argv[1], "starts") == 0)
        starts();
    size_t count = 0;
    for (char **at = environ; *at; at++)
        count += strncmp(*at, "LD_PRELOAD=", 11) != 0 && strncmp(*at, "PINJECT_", 8) != 0;
    if (strcmp(argv[1], "count") == 0)
        printf("entries %zu\n", count);
    if (strcmp(argv[1], "show") != 0)
        return 0;
    printf("%d:", argc);
    for (int i = 1; i < argc; i++)
        printf(" '%s'", argv[i]);
    for (char **at = environ; *at; at++)
        printf(" [%s]", *at);
    puts("");
    return 3;
}
