/* SPDX-License-Identifier: MIT */
/*
 * waits HOW...: threads that wait in known ways, for stacks of running processes. Prints "ready" once each thread is
 * about to begin its call; a byte on stdin ends it, and it prints how many calls failed with EINTR.
 *   deadlock     two threads that hold a mutex each and wait for the other's
 *   error-check  one that waits for a mutex that it holds itself (of the normal type)
 *   idle=N       N threads that wait for a condition
 *   spin         one that computes
 *   epoll        one in epoll_wait() without a time limit; epoll=MS: with one
 *   sigwait      one in sigtimedwait() with a limit of an hour
 *   pipe         a child that reads from our pipe
 *   vfork        one in vfork(), whose child waits
 *   zombie       a child that has ended
 *   listen       one in accept() on 127.0.0.1
 *   deep=N       one N calls deep
 *   contend=N    N threads that take and release one mutex all the time
 *   write        one that writes 1 MiB to a pipe; at the end it is read, and the call must have written all of it
 *   leave        the first thread ends, the others continue
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 2048 };

static atomic_uint interrupted, started;
static unsigned expected;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER, own, gate_lock;
static pthread_cond_t gate = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static int limit_ms = -1, depth, pipe_ends[2], full_pipe[2];
static ssize_t written = -1;
static pthread_t writer;
static volatile bool leaves;
static pid_t spun;

static void count(long status)
{
    if (status < 0 && errno == EINTR)
        atomic_fetch_add(&interrupted, 1);
}

static void take(pthread_mutex_t *first, pthread_mutex_t *second)
{
    pthread_mutex_lock(first);
    pthread_barrier_wait(&both);
    started++;
    pthread_mutex_lock(second);
}

static void *take_left(void *argument)
{
    take(&left, &right);
    return argument;
}

static void *take_right(void *argument)
{
    take(&right, &left);
    return argument;
}

static void *take_twice(void *argument)
{
    pthread_mutex_lock(&own);
    started++;
    pthread_mutex_lock(&own);
    return argument;
}

static void *idle(void *argument)
{
    pthread_mutex_lock(&gate_lock);
    started++;
    for (;;)
        pthread_cond_wait(&gate, &gate_lock);
    return argument;
}

static void *spin(void *argument)
{
    spun = (pid_t)syscall(SYS_gettid);
    started++;
    for (volatile unsigned long i = 0;; i++)
        ;
    return argument;
}

static void *poll_events(void *argument)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_ends[0], &event);
    started++;
    for (;;)
        count(epoll_wait(epoll, &event, 1, limit_ms));
    return argument;
}

static void *wait_signal(void *argument)
{
    struct timespec hour = {.tv_sec = 3600};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    started++;
    for (;;)
        count(sigtimedwait(&set, NULL, &hour));
    return argument;
}

static void *accept_one(void *argument)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 1) < 0)
        exit(2);
    getsockname(fd, (struct sockaddr *)&address, &size);
    printf("port %d\n", ntohs(address.sin_port));
    started++;
    count(accept(fd, NULL, NULL));
    return argument;
}

static void *fork_suspended(void *argument)
{
    started++;
    if (vfork() == 0) {
        char byte;
        close(pipe_ends[1]); /* its own copy, so that it ends with its parent */
        ssize_t got = read(pipe_ends[0], &byte, 1);
        _exit(got < 0);
    }
    return argument;
}

static int descend(int levels)
{
    volatile int here = levels;
    if (levels == 0) {
        started++;
        while (!leaves)
            pause();
    }
    return levels > 0 ? descend(levels - 1) + here : 0;
}

static void *go_deep(void *argument)
{
    depth = descend(depth);
    return argument;
}

static void *contend(void *argument)
{
    started++;
    for (;;) {
        pthread_mutex_lock(&left);
        for (volatile int i = 0; i < 200000; i++)
            ;
        pthread_mutex_unlock(&left);
    }
    return argument;
}

static void *write_all(void *argument)
{
    static char bytes[1 << 20];
    started++;
    written = write(full_pipe[1], bytes, sizeof(bytes));
    return argument;
}

/* Reads what write_all() writes, and prints how much that call has written. */
static void drain(void)
{
    static char bytes[1 << 16];
    for (size_t all = 0, got; all < 1 << 20; all += got)
        if ((ssize_t)(got = (size_t)read(full_pipe[0], bytes, sizeof(bytes))) <= 0)
            break;
    pthread_join(writer, NULL);
    printf("%ld written\n", (long)written);
}

static void *finish(void *argument);

static void begin(void *(*run)(void *), const char *name)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, run == idle ? 64 << 10 : 8 << 20);
    if (pthread_create(&thread, &attr, run, NULL) != 0)
        exit(2);
    pthread_setname_np(thread, name);
    writer = run == write_all ? thread : writer;
    expected++;
}

static void begin_child(void (*run)(void))
{
    if (fork() == 0) {
        run();
        _exit(0);
    }
}

static void read_pipe(void)
{
    char byte;
    close(pipe_ends[1]);
    if (read(pipe_ends[0], &byte, 1) < 0)
        _exit(1);
}

static void end_at_once(void)
{
}

static void begin_way(const char *how)
{
    const char *value = strchr(how, '=');
    int number = value ? atoi(value + 1) : 0;
    size_t size = value ? (size_t)(value - how) : strlen(how);
    if (strcmp(how, "deadlock") == 0) {
        begin(take_left, "left-first");
        begin(take_right, "right-first");
    } else if (strcmp(how, "error-check") == 0) {
        begin(take_twice, "twice");
    } else if (strncmp(how, "idle", size) == 0) {
        for (int i = 0; i < number && i < THREADS_MAX; i++)
            begin(idle, "idle");
    } else if (strcmp(how, "spin") == 0) {
        begin(spin, "spin");
    } else if (strncmp(how, "epoll", size) == 0) {
        limit_ms = value ? number : -1;
        begin(poll_events, "epoll");
    } else if (strcmp(how, "sigwait") == 0) {
        begin(wait_signal, "sigwait");
    } else if (strcmp(how, "pipe") == 0) {
        begin_child(read_pipe);
    } else if (strcmp(how, "vfork") == 0) {
        begin(fork_suspended, "vfork");
    } else if (strcmp(how, "zombie") == 0) {
        begin_child(end_at_once);
    } else if (strcmp(how, "listen") == 0) {
        begin(accept_one, "listen");
    } else if (strncmp(how, "contend", size) == 0) {
        for (int i = 0; i < number && i < THREADS_MAX; i++)
            begin(contend, "contend");
    } else if (strcmp(how, "write") == 0) {
        begin(write_all, "write");
    } else if (strcmp(how, "leave") == 0) {
        leaves = true;
        begin(finish, "finish");
    } else if (strncmp(how, "deep", size) == 0) {
        depth = number;
        begin(go_deep, "deep");
    } else {
        exit(2);
    }
}

static void end(void)
{
    char byte;
    ssize_t got = read(0, &byte, 1);
    if (writer)
        drain();
    printf("%u interrupted\n", (unsigned)interrupted);
    fflush(stdout);
    _exit(got < 0);
}

static void *finish(void *argument)
{
    started++;
    end();
    return argument;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    pthread_barrier_init(&both, NULL, 2);
    pthread_mutex_init(&own, NULL);
    pthread_mutex_init(&gate_lock, NULL);
    if (pipe(pipe_ends) < 0 || pipe(full_pipe) < 0)
        return 2;
    for (int i = 1; i < argc; i++)
        begin_way(argv[i]);
    while (started < expected)
        sched_yield();
    puts("ready");
    if (leaves)
        pthread_exit(NULL);
    end();
}
