/* SPDX-License-Identifier: MIT */
/*
 * Measures the stack use of calls, and runs programs with little stack.
 *
 *   stack-use calls              prints "NAME BYTES" for each function that the preload object wraps
 *   stack-use handler SIZE PROGRAM...   executes PROGRAM in a handler on an alternate stack of SIZE bytes
 *   stack-use child VARIABLES PROGRAM...   the same in a child of clone(CLONE_VM | CLONE_VFORK) with a stack of 16 KiB
 *                                and that many variables; prints "kept" if nothing below its stack was written
 *   stack-use children COUNT VARIABLES PROGRAM...   COUNT children of vfork one after the other; prints by how many KiB
 *                                the address space grew since the first ones
 *   stack-use threads COUNT VARIABLES   COUNT threads, each with 10 children of vfork that check their environment
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { STACK = 256 << 10, PAINT = 0xa5, CHILD_STACK = 16 << 10, BELOW = 64 << 10 };

static unsigned char stack[STACK] __attribute__((aligned(4096)));
static char **large;    /* environment */
static char denied[64]; /* a static program that may not be executed: exec reads it, and fails */
static char *arguments[] = {denied, NULL};

/* Paints the stack up to its own frame, which is where the frame of a measured call will be. */
static __attribute__((noinline)) void paint(void)
{
    memset(stack, PAINT, (size_t)((unsigned char *)__builtin_frame_address(0) - stack) - 64);
}

static size_t used_below(const unsigned char *top)
{
    const unsigned char *at = stack;
    while (at < top && *at == PAINT)
        at++;
    return (size_t)(top - at);
}

/* ---- Calls ---- */

static void nothing(void)
{
}
static void call_execve(void)
{
    execve(denied, arguments, environ);
}
static void call_execve_large(void)
{
    execve(denied, arguments, large);
}
static void call_execv(void)
{
    execv(denied, arguments);
}
static void call_execvp(void)
{
    execvp(denied, arguments);
}
static void call_execvp_search(void)
{
    execvp("denied", arguments);
}
static void call_execvpe(void)
{
    execvpe("denied", arguments, large);
}
static void call_execl(void)
{
    execl(denied, denied, "1", "2", (char *)NULL);
}
static void call_execlp(void)
{
    execlp(denied, denied, "1", "2", (char *)NULL);
}
static void call_execle(void)
{
    execle(denied, denied, "1", "2", (char *)NULL, large);
}
static void call_execveat(void)
{
    execveat(AT_FDCWD, denied, arguments, large, 0);
}
static void call_syscall_exec(void)
{
    syscall(SYS_execve, denied, arguments, large);
}

static int descriptor;
static void call_fexecve(void)
{
    fexecve(descriptor, arguments, large);
}

static pid_t child;
static char *noop[] = {(char *)(uintptr_t) "true", NULL};
static void call_spawn(void)
{
    posix_spawn(&child, "/bin/true", NULL, NULL, noop, environ);
}
static void call_spawn_large(void)
{
    posix_spawn(&child, "/bin/true", NULL, NULL, noop, large);
}
static void call_spawnp(void)
{
    posix_spawnp(&child, "true", NULL, NULL, noop, large);
}
static void call_spawn_denied(void)
{
    posix_spawn(&child, denied, NULL, NULL, arguments, large);
}

static void call_spawn_chdir(void)
{
    static posix_spawn_file_actions_t actions;
    static int begun;
    if (!begun++) {
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addchdir_np(&actions, "/");
        posix_spawn_file_actions_addchdir_np(&actions, "bin");
    }
    posix_spawn(&child, "./true", &actions, NULL, noop, large);
}

static void *run_posix(void *data)
{
    return data;
}
static int run_c11(void *data)
{
    return data != NULL;
}

static pthread_t thread;
static thrd_t c11_thread;
static void call_pthread_create(void)
{
    pthread_create(&thread, NULL, run_posix, NULL);
}
static void call_thrd_create(void)
{
    thrd_create(&c11_thread, run_c11, NULL);
}

static int status;
static siginfo_t info;
static struct rusage usage;
static void call_wait(void)
{
    wait(&status);
}
static void call_waitpid(void)
{
    waitpid(child, &status, 0);
}
static void call_wait3(void)
{
    wait3(&status, 0, &usage);
}
static void call_wait4(void)
{
    wait4(child, &status, 0, NULL);
}
static void call_waitid(void)
{
    waitid(P_PID, (id_t)child, &info, WEXITED);
}
static void call_waitid_none(void)
{
    waitid(P_ALL, 0, &info, WEXITED | WNOHANG);
}

static void call_prctl(void)
{
    prctl(PR_GET_NAME, denied, 0, 0, 0);
}
static void call_sigaction(void)
{
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
}
static void call_signal(void)
{
    signal(SIGUSR2, SIG_DFL);
}
static void call_sigprocmask(void)
{
    sigprocmask(SIG_BLOCK, NULL, NULL);
}
static void call_pthread_sigmask(void)
{
    pthread_sigmask(SIG_BLOCK, NULL, NULL);
}
static void call_getpid(void)
{
    syscall(SYS_getpid);
}

static void call_system(void)
{
    status = system("exit 0");
}

static void call_popen(void)
{
    FILE *file = popen("exit 0", "r");
    if (file)
        pclose(file);
}

static int end_child(void *data)
{
    return data != NULL;
}
static unsigned char child_stack[CHILD_STACK] __attribute__((aligned(16)));

static void call_clone(void)
{
    child = clone(end_child, child_stack + sizeof(child_stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
}

static void call_timer_create(void)
{
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &(struct sigevent){.sigev_notify = SIGEV_NONE}, &timer) == 0)
        timer_delete(timer);
}

static void call_unshare(void)
{
    unshare(CLONE_NEWNS | CLONE_THREAD);
} /* refused: this process has threads */
static void call_setns(void)
{
    setns(-1, 0);
}
static void call_syscall_unshare(void)
{
    syscall(SYS_unshare, CLONE_NEWNS | CLONE_THREAD);
}
static void call_seteuid(void)
{
    status = seteuid(geteuid());
}
static void call_setresuid(void)
{
    status = setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1);
}

static void filter_by(int way)
{
    static struct sock_filter list[200];
    for (int i = 0; i < 199; i++)
        list[i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
    list[199] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {200, list};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (way == 0)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    else
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static void call_filter(void)
{
    filter_by(0);
}
static void call_filter_syscall(void)
{
    filter_by(1);
}

/* ---- Measuring ---- */

static void make_child(void)
{
    child = fork();
    if (child == 0)
        _exit(0);
}

static void reap(void)
{
    waitpid(child, NULL, 0);
}
static void join(void)
{
    pthread_join(thread, NULL);
}
static void join_c11(void)
{
    thrd_join(c11_thread, NULL);
}

struct measured {
    const char *name;
    void (*call)(void);
    void (*before)(void);
    void (*after)(void);
};

static size_t depth;

/* Measures the second call: the first one does all one-time work. */
static __attribute__((noinline)) void measure_one(const struct measured *measured)
{
    for (int round = 0; round < 2; round++) {
        if (measured->before)
            measured->before();
        paint();
        measured->call();
        depth = used_below(__builtin_frame_address(0));
        if (measured->after)
            measured->after();
    }
}

/* Also measures in the child, on its copy of the stack. The depth comes through a pipe. */
static __attribute__((noinline)) void measure_fork(const char *name, pid_t (*make)(void))
{
    int pipes[2];
    size_t in_child = 0;
    if (pipe(pipes) != 0)
        _exit(99);
    paint();
    pid_t pid = make();
    depth = used_below(__builtin_frame_address(0));
    if (pid == 0) {
        if (write(pipes[1], &depth, sizeof(depth)) < 0)
            _exit(99);
        _exit(0);
    }
    if (read(pipes[0], &in_child, sizeof(in_child)) != sizeof(in_child))
        _exit(99);
    waitpid(pid, NULL, 0);
    printf("%s %zu\n%s-child %zu\n", name, depth, name, in_child);
    close(pipes[0]);
    close(pipes[1]);
}

static unsigned char new_stack[STACK] __attribute__((aligned(4096)));

static void *find_depth(void *data)
{
    const unsigned char *at = new_stack, *top = __builtin_frame_address(0);
    while (at < top && *at == PAINT)
        at++;
    *(size_t *)data = (size_t)(top - at);
    return NULL;
}

/* The stack that a new thread used below the frame of its start routine, by calls that have returned. */
static void measure_thread(void)
{
    size_t used = 0;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, new_stack, sizeof(new_stack));
    memset(new_stack, PAINT, sizeof(new_stack));
    if (pthread_create(&thread, &attr, find_depth, &used) == 0)
        join();
    printf("new-thread %zu\n", used);
}

static void *measure(void *unused)
{
    static const struct measured calls[] = {
        {"nothing", nothing, NULL, NULL},
        {"execve", call_execve, NULL, NULL},
        {"execve-2000", call_execve_large, NULL, NULL},
        {"execv", call_execv, NULL, NULL},
        {"execvp", call_execvp, NULL, NULL},
        {"execvp-search", call_execvp_search, NULL, NULL},
        {"execvpe", call_execvpe, NULL, NULL},
        {"execl", call_execl, NULL, NULL},
        {"execlp", call_execlp, NULL, NULL},
        {"execle", call_execle, NULL, NULL},
        {"execveat", call_execveat, NULL, NULL},
        {"fexecve", call_fexecve, NULL, NULL},
        {"syscall-execve", call_syscall_exec, NULL, NULL},
        {"posix_spawn", call_spawn, NULL, reap},
        {"posix_spawn-2000", call_spawn_large, NULL, reap},
        {"posix_spawnp", call_spawnp, NULL, reap},
        {"posix_spawn-denied", call_spawn_denied, NULL, NULL},
        {"posix_spawn-chdir", call_spawn_chdir, NULL, reap},
        {"pthread_create", call_pthread_create, NULL, join},
        {"thrd_create", call_thrd_create, NULL, join_c11},
        {"wait", call_wait, make_child, NULL},
        {"waitpid", call_waitpid, make_child, NULL},
        {"wait3", call_wait3, make_child, NULL},
        {"wait4", call_wait4, make_child, NULL},
        {"waitid", call_waitid, make_child, NULL},
        {"waitid-none", call_waitid_none, NULL, NULL},
        {"system", call_system, NULL, NULL},
        {"popen", call_popen, NULL, NULL},
        {"clone", call_clone, NULL, reap},
        {"timer_create", call_timer_create, NULL, NULL},
        {"unshare", call_unshare, NULL, NULL},
        {"setns", call_setns, NULL, NULL},
        {"syscall-unshare", call_syscall_unshare, NULL, NULL},
        {"seteuid", call_seteuid, NULL, NULL},
        {"setresuid", call_setresuid, NULL, NULL},
        {"prctl", call_prctl, NULL, NULL},
        {"syscall", call_getpid, NULL, NULL},
        {"sigaction", call_sigaction, NULL, NULL},
        {"signal", call_signal, NULL, NULL},
        {"sigprocmask", call_sigprocmask, NULL, NULL},
        {"pthread_sigmask", call_pthread_sigmask, NULL, NULL},
        {"prctl-seccomp", call_filter, NULL, NULL},
        {"syscall-seccomp", call_filter_syscall, NULL, NULL},
    };
    (void)unused;
    measure_fork("fork", fork);
    measure_fork("_Fork", _Fork);
    measure_thread();
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        measure_one(&calls[i]);
        printf("%s %zu\n", calls[i].name, depth);
    }
    return NULL;
}

static void make_large(size_t count)
{
    large = calloc(count + 1, sizeof(*large));
    for (size_t i = 0; large && i < count; i++)
        if (asprintf(&large[i], "VARIABLE_%zu=%zu", i, i) < 0)
            _exit(99);
}

static int calls(void)
{
    char path[5000];
    pthread_attr_t attr;
    snprintf(denied, sizeof(denied), "./denied");
    /* A long PATH; its last part is the working directory. */
    memset(path, 'x', sizeof(path));
    memcpy(path, "PATH=/nonexistent:", 18);
    strcpy(path + 3000, ":");
    putenv(path);
    make_large(2000);
    descriptor = open(denied, O_RDONLY | O_CLOEXEC);
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, stack, sizeof(stack));
    if (pthread_create(&(pthread_t){0}, &attr, measure, NULL) != 0)
        return 1;
    pthread_exit(NULL);
}

/* ---- Little stack ---- */

static char **program;

static void execute(int signal)
{
    (void)signal;
    execve(program[0], program, environ);
    _exit(98);
}

static int in_handler(size_t size)
{
    /* The stack is at the end of memory that cannot be accessed. */
    char *memory = mmap(NULL, STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t pages = (size + 4095) & ~(size_t)4095;
    if (memory == MAP_FAILED || mprotect(memory + STACK - pages, pages, PROT_READ | PROT_WRITE) != 0)
        return 99;
    stack_t alternate = {.ss_sp = memory + STACK - pages, .ss_size = size};
    if (sigaltstack(&alternate, NULL) != 0)
        return 97;
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = execute, .sa_flags = SA_ONSTACK}, NULL);
    raise(SIGUSR1);
    return 96;
}

static int execute_with_large(void *data)
{
    (void)data;
    execve(program[0], program, large);
    _exit(98);
}

static int in_child(size_t variables)
{
    static unsigned char memory[BELOW + CHILD_STACK] __attribute__((aligned(16)));
    make_large(variables);
    memset(memory, PAINT, sizeof(memory));
    pid_t pid = clone(execute_with_large, memory + sizeof(memory), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    int result;
    if (pid < 0 || waitpid(pid, &result, 0) != pid)
        return 99;
    size_t at = 0;
    while (at < sizeof(memory) && memory[at] == PAINT)
        at++;
    fprintf(stderr, "%s, status %d\n", at >= BELOW ? "kept" : "overwritten", result);
    return 0;
}

static __attribute__((noinline)) pid_t vfork_child(const char *path, char **words, char **variables)
{
    pid_t pid = vfork();
    if (pid == 0) {
        execve(path, words, variables);
        _exit(98);
    }
    return pid;
}

static long address_space(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%ld", &pages) != 1)
        _exit(99);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int in_children(int count, size_t variables)
{
    long before = 0;
    make_large(variables);
    for (int i = 0; i < count; i++) {
        if (i == 10)
            before = address_space();
        pid_t pid = vfork_child(program[0], program, large);
        int result;
        if (pid < 0 || waitpid(pid, &result, 0) != pid || result != 0)
            return 99;
    }
    printf("%ld KiB\n", address_space() - before);
    return 0;
}

/* ---- Many at a time ---- */

enum { EACH = 10, LONGEST = 24 };

static size_t variables_of_all;
static char self[] = "/proc/self/exe";

/* Each variable must have the same number. */
static int check_variables(const char *number, size_t count)
{
    char expected[2 * LONGEST];
    size_t found = 0;
    for (char **at = environ; *at; at++) {
        snprintf(expected, sizeof(expected), "N%zu=%s", found, number);
        found += !strcmp(*at, expected);
    }
    return found == count ? 0 : 98;
}

static void *start_children(void *data)
{
    char number[LONGEST], count[LONGEST];
    char **vector = calloc(variables_of_all + 1, sizeof(*vector));
    char *texts = malloc(variables_of_all * LONGEST + 1);
    char *words[] = {self, (char *)(uintptr_t) "check", number, count, NULL};
    uintptr_t failed = 0;
    snprintf(number, sizeof(number), "%zu", (size_t)(uintptr_t)data);
    snprintf(count, sizeof(count), "%zu", variables_of_all);
    for (size_t i = 0; vector && texts && i < variables_of_all; i++) {
        vector[i] = texts + i * LONGEST;
        snprintf(vector[i], LONGEST, "N%u=%.3s", (unsigned)i, number);
    }
    for (int i = 0; vector && i < EACH; i++) {
        int result = 0;
        pid_t pid = i % 2 ? vfork_child(self, words, vector) : 0;
        if (i % 2 == 0 && posix_spawn(&pid, self, NULL, NULL, words, vector) != 0)
            failed++;
        else if (waitpid(pid, &result, 0) != pid || result != 0)
            failed++;
    }
    free(vector);
    free(texts);
    return (void *)failed;
}

static int in_threads(size_t count, size_t variables)
{
    pthread_t threads[256];
    uintptr_t failed = 0;
    void *result;
    variables_of_all = variables;
    for (size_t i = 0; i < count && i < 256; i++)
        pthread_create(&threads[i], NULL, start_children, (void *)i);
    for (size_t i = 0; i < count && i < 256; i++)
        failed += pthread_join(threads[i], &result) == 0 ? (uintptr_t)result : 1;
    printf("%zu failed\n", (size_t)failed);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && !strcmp(argv[1], "calls"))
        return calls();
    if (argc < 4)
        return 64;
    if (!strcmp(argv[1], "check"))
        return check_variables(argv[2], strtoul(argv[3], NULL, 10));
    if (!strcmp(argv[1], "threads"))
        return in_threads(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    program = argv + 3;
    if (!strcmp(argv[1], "handler"))
        return in_handler(strtoul(argv[2], NULL, 10));
    if (!strcmp(argv[1], "child"))
        return in_child(strtoul(argv[2], NULL, 10));
    program++;
    return in_children(atoi(argv[2]), strtoul(argv[3], NULL, 10));
}
