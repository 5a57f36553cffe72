/* SPDX-License-Identifier: MIT */
/* What a program sees of itself when it starts, in a thread, in a child and after exec. */
#include "see.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

extern char **environ;

/* Memory, times and numbers of tasks are another matter; the rest is the kernel's view of the process. */
static void see_status(void)
{
    static const char *const left_out[] = {"Tgid",
                                           "Pid",
                                           "PPid",
                                           "NStgid",
                                           "NSpid",
                                           "NSpgid",
                                           "NSsid",
                                           "VmPeak",
                                           "VmSize",
                                           "VmHWM",
                                           "VmRSS",
                                           "RssAnon",
                                           "RssFile",
                                           "RssShmem",
                                           "VmData",
                                           "VmLib",
                                           "VmPTE",
                                           "SigQ",
                                           "voluntary_ctxt_switches",
                                           "nonvoluntary_ctxt_switches"};
    char line[4096];
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof(line), file)) {
        int skip = 0;
        for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
            skip |= strncmp(line, left_out[i], strlen(left_out[i])) == 0 && line[strlen(left_out[i])] == ':';
        if (!skip)
            fputs(line, stdout);
    }
    if (file)
        fclose(file);
    fflush(stdout);
}

static void see_descriptors(void)
{
    for (int fd = 0; fd < 4096; fd++) {
        char name[64], link[4096];
        int flags = fcntl(fd, F_GETFD);
        if (flags < 0)
            continue;
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        ssize_t size = readlink(name, link, sizeof(link) - 1);
        link[size > 0 ? size : 0] = 0;
        link[strcspn(link, "[")] = 0; /* the number of a pipe */
        printf("%d: %s flags %d status %x at %ld\n", fd, link, flags, (unsigned)fcntl(fd, F_GETFL),
               (long)lseek(fd, 0, SEEK_CUR));
    }
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    printf("next: %d\n", fd);
    close(fd);
    fflush(stdout);
}

static void see_tasks(void)
{
    DIR *directory = opendir("/proc/self/task");
    int count = 0;
    while (directory) {
        struct dirent *entry = readdir(directory);
        if (!entry)
            break;
        count += entry->d_name[0] != '.';
    }
    closedir(directory);
    printf("tasks: %d\n", count);
    fflush(stdout);
}

static void see_signals(void)
{
    struct {
        uint64_t handler, flags, restorer, mask;
    } action;
    for (int number = 1; number <= 64; number++)
        if (syscall(SYS_rt_sigaction, number, NULL, &action, 8) == 0 && (action.handler || action.flags || action.mask))
            printf("signal %d: %s flags %lx mask %lx\n", number, action.handler > 1 ? "handler" : "ignored",
                   (unsigned long)action.flags, (unsigned long)action.mask);
    uint64_t mask = 0, pending = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &mask, 8);
    syscall(SYS_rt_sigpending, &pending, 8);
    stack_t stack;
    sigaltstack(NULL, &stack);
    printf("mask %lx pending %lx stack %d %zu\n", (unsigned long)mask, (unsigned long)pending, stack.ss_flags,
           stack.ss_size);
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
        struct itimerval timer;
        getitimer(which, &timer);
        printf("timer %d: %ld %ld\n", which, (long)timer.it_value.tv_sec + timer.it_value.tv_usec,
               (long)timer.it_interval.tv_sec + timer.it_interval.tv_usec);
    }
    see_file("timers");
}

static void see_attributes(void)
{
    int value = -1;
    printf("umask %o nice %d policy %d personality %x\n", (unsigned)umask(022), getpriority(PRIO_PROCESS, 0),
           sched_getscheduler(0), (unsigned)personality(0xffffffff));
    printf("dumpable %d keepcaps %d slack %d no-new-privs %d seccomp %d securebits %x tsc %d thp %d\n",
           prctl(PR_GET_DUMPABLE), prctl(PR_GET_KEEPCAPS), prctl(PR_GET_TIMERSLACK),
           prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_SECCOMP), (unsigned)prctl(PR_GET_SECUREBITS),
           prctl(PR_GET_TSC, &value) == 0 ? value : -1, prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
    prctl(PR_GET_PDEATHSIG, &value);
    printf("death signal %d", value);
    prctl(PR_GET_CHILD_SUBREAPER, &value);
    printf(" adopts %d ioprio %ld\n", value, syscall(SYS_ioprio_get, 1, 0));
    printf("leads its group %d its session %d\n", getpgrp() == getpid(), getsid(0) == getpid());
    struct rlimit limit;
    for (int which = 0; which < (int)RLIMIT_NLIMITS; which++)
        if (getrlimit((__rlimit_resource_t)which, &limit) == 0)
            printf("limit %d: %lx %lx\n", which, (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
    cpu_set_t cpus;
    int failed = sched_getaffinity(0, sizeof(cpus), &cpus);
    printf("cpus %d %d\n", failed, failed ? 0 : CPU_COUNT(&cpus));
    see_file("oom_score_adj");
    see_file("coredump_filter");
    see_file("cgroup");
    see_file("timerslack_ns");
    static const char *const links[] = {"cwd",    "root",    "exe",    "ns/mnt", "ns/pid",
                                        "ns/net", "ns/user", "ns/ipc", "ns/uts"};
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        char path[64], link[4096];
        snprintf(path, sizeof(path), "/proc/self/%s", links[i]);
        ssize_t size = readlink(path, link, sizeof(link) - 1);
        printf("%s: %.*s\n", links[i], (int)(size > 0 ? size : 0), link);
    }
    fflush(stdout);
}

/* The vectors that the kernel made, and whether they still stand in one piece. */
static void see_vectors(void)
{
    see_file("cmdline");
    see_file("environ");
    see_file("comm");
    size_t count = 0;
    const char *at = see_argv[0];
    int gaps = 0;
    for (char **arg = see_argv; *arg; at += strlen(*arg++) + 1)
        gaps += at != *arg;
    for (char **entry = environ; *entry; at += strlen(*entry++) + 1) {
        puts(*entry);
        count += strncmp(*entry, "LD_PRELOAD=", 11) != 0 && strncmp(*entry, "PINJECT_SESSION=", 16) != 0;
        gaps += at != *entry;
    }
    printf("entries %zu gaps %d executed as %s name %s\n", count, gaps, (const char *)getauxval(AT_EXECFN),
           program_invocation_name);
    fflush(stdout);
}

/* What is the same in every process: neither addresses nor random bytes. */
static void see_auxv(void)
{
    char **end = see_argv;
    for (int nulls = 0; nulls < 2; end++)
        nulls += *end == NULL;
    for (const ElfW(auxv_t) *entry = (const void *)end; entry->a_type != AT_NULL; entry++) {
        switch (entry->a_type) {
        case AT_SYSINFO_EHDR:
        case AT_PHDR:
        case AT_BASE:
        case AT_ENTRY:
        case AT_RANDOM:
        case AT_PLATFORM:
        case AT_EXECFN: printf("auxv %lu: an address\n", (unsigned long)entry->a_type); break;
        default: printf("auxv %lu: %lx\n", (unsigned long)entry->a_type, (unsigned long)entry->a_un.a_val);
        }
    }
    fflush(stdout);
}

static void see_all(void)
{
    see_status();
    see_descriptors();
    see_tasks();
    see_signals();
    see_attributes();
}

static int joins;

/* Its state, and the signals that libc blocks while it makes a thread, are in what is seen. */
static void wait_until_first_thread_joins(void)
{
    char text[256] = "";
    while (!__atomic_load_n(&joins, __ATOMIC_ACQUIRE))
        sched_yield();
    while (!strstr(text, ") S ")) {
        int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
        ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        text[size > 0 ? size : 0] = '\0';
        close(fd);
        sched_yield();
    }
}

static pid_t thread_id;

static void *see_all_in_thread(void *data)
{
    thread_id = (pid_t)syscall(SYS_gettid);
    wait_until_first_thread_joins();
    see_all();
    return data;
}

/* pthread_join() returns when the kernel has cleared the thread's id, somewhat before it counts it no more. */
static void wait_until_gone(pid_t tid)
{
    while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
        sched_yield();
}

static void in_a_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, see_all_in_thread, NULL);
    __atomic_store_n(&joins, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    wait_until_gone(thread_id);
    see_all();
}

static void in_a_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        see_all();
        _exit(0);
    }
    see_child("child", pid);
    see_all();
}

/* Twice, as the second exec generation comes without a launcher's help. */
static void after_exec(void)
{
    static char *argv[] = {NULL, (char *)"all", NULL};
    argv[0] = see_me;
    pid_t pid = vfork();
    if (pid == 0) {
        execv(see_me, argv);
        _exit(1);
    }
    see_child("child", pid);
    argv[1] = (char *)"vectors";
    execv(see_me, argv);
}

static void see_heap(void)
{
    static const char mark;
    struct mallinfo2 info = mallinfo2();
    printf("heap: in use %zu, free %zu, mapped %zu\n", info.uordblks, info.fordblks, info.hblks);
    printf("mark: %d\n", mark);
}

static int print_dso(struct dl_phdr_info *info, size_t size, void *data)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    printf("dso %s tls %zu\n", slash ? slash + 1 : info->dlpi_name, info->dlpi_tls_modid);
    ++*(int *)data;
    return 0;
}

static void see_dsos(void)
{
    int count = 0;
    dl_iterate_phdr(print_dso, &count);
    printf("dsos: %d\n", count);
}

/* The files behind the mappings, each once. */
static void see_maps(void)
{
    char line[4400], last[4400] = "";
    FILE *file = fopen("/proc/self/maps", "re");
    while (file && fgets(line, sizeof(line), file)) {
        const char *name = strpbrk(line, "/[");
        if (!name || strcmp(name, last) == 0)
            continue;
        strcpy(last, name);
        const char *slash = strrchr(name, '/');
        const char *flags = strchr(line, ' ');
        printf("map %.4s %s", slash && strncmp(flags + 4, "s", 1) ? "" : flags + 1, slash ? slash + 1 : name);
    }
    fclose(file);
}

static void see_size(void)
{
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, "VmSize:", 7) == 0)
            fputs(line, stdout);
    if (file)
        fclose(file);
}

static void see_parent(void)
{
    char name[64];
    snprintf(name, sizeof(name), "/proc/%d/comm", getppid());
    see_file("comm");
    FILE *file = fopen(name, "re");
    for (int byte; file && (byte = getc(file)) != EOF;)
        putchar(byte);
}

static void see_children_usage(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("faults of children: %ld\n", usage.ru_minflt);
}

int main(int argc, char **argv)
{
    static const struct see_case cases[] = {
        {"status", see_status},
        {"descriptors", see_descriptors},
        {"tasks", see_tasks},
        {"signals", see_signals},
        {"attributes", see_attributes},
        {"vectors", see_vectors},
        {"auxv", see_auxv},
        {"heap", see_heap},
        {"all", see_all},
        {"thread", in_a_thread},
        {"child", in_a_child},
        {"exec", after_exec},
        {"dsos", see_dsos},
        {"maps", see_maps},
        {"size", see_size},
        {"parent", see_parent},
        {"children-usage", see_children_usage},
    };
    return see_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
