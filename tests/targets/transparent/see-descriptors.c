/* SPDX-License-Identifier: MIT */
/* Programs that rule over their descriptors. */
#include "see.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void after_closefrom(void)
{
    closefrom(3);
    see_open_numbers("closefrom");
    see_exercise();
    see_open_numbers("end");
}

static void after_close_range(void)
{
    see_result("cloexec", close_range(3, ~0u, CLOSE_RANGE_CLOEXEC));
    see_result("close", close_range(3, ~0u, 0));
    see_result("unshare", close_range(3, ~0u, CLOSE_RANGE_UNSHARE));
    see_exercise();
    see_open_numbers("end");
}

/* The old way of a daemon. */
static void after_close_loop(void)
{
    int closed = 0;
    for (int fd = 3; fd < 65536; fd++)
        closed += close(fd) == 0;
    printf("closed %d\n", closed);
    see_exercise();
}

static void after_dup_over_all(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC), count = 0;
    for (int to = 3; to < 1000; to++)
        count += dup2(fd, to) == to;
    printf("over %d\n", count);
    see_threads_and_forks();
    closefrom(3);
    see_exercise();
}

static void numbers_in_order(void)
{
    for (int i = 0; i < 8; i++)
        printf("%d ", open("/dev/null", O_RDONLY | O_CLOEXEC));
    int ends[2];
    see_result("pipe", pipe(ends) == 0 ? ends[0] * 100 + ends[1] : -1);
    see_threads_and_forks();
    see_result("next", open("/dev/null", O_RDONLY | O_CLOEXEC));
}

/* Started once more without some of 0, 1, 2; what the new program prints goes to a file. */
static void without(unsigned missing)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int file = open("printed", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
        dup2(file, 9);
        close(file);
        for (int fd = 0; fd < 3; fd++)
            if (missing >> fd & 1)
                close(fd);
        execl(see_me, see_me, "inner-without", (char *)NULL);
        _exit(errno);
    }
    see_child("without", pid);
    see_file("/proc/self/cwd/printed");
}

static void inner_without(void)
{
    int first = open("/dev/null", O_RDONLY);
    dprintf(9, "first %d, it leads to:", first);
    for (int fd = 0; fd < 9; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            dprintf(9, " %d", fd);
    pid_t pid = fork();
    if (pid == 0) {
        for (int fd = 0; fd < 9; fd++)
            if (fcntl(fd, F_GETFD) >= 0)
                dprintf(9, " %d", fd);
        execl(see_me, see_me, "last", (char *)NULL);
    }
    see_child("inner-without", pid);
    dprintf(9, " end\n");
}

static void last(void)
{
    for (int fd = 0; fd < 9; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            dprintf(9, " last %d", fd);
}

static void none_at_start(void)
{
    for (unsigned missing = 1; missing < 8; missing++)
        without(missing);
}

static void with_limit(rlim_t most)
{
    struct rlimit limit = {most, most};
    printf("limit %d\n", (int)most);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        see_result("setrlimit", setrlimit(RLIMIT_NOFILE, &limit));
        see_result("open", open("/dev/null", O_RDONLY | O_CLOEXEC));
        see_threads_and_forks();
        if (most > 3)
            see_exercise();
        _exit(0);
    }
    see_child("limited", pid);
}

static void few(void)
{
    with_limit(64);
    with_limit(8);
    with_limit(5);
    with_limit(3);
    with_limit(0);
}

/*
 * Descriptors in flight are limited too, for all processes of a user together. Others may hold some for a moment, so it
 * tries again. It sends a pipe: a socket in its own queue stays in flight for a while after the process has exited.
 */
static void in_flight(void)
{
    int ends[2], other[2], sent = 0;
    struct rlimit limit = {20, 20};
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) || pipe2(other, O_CLOEXEC) ||
        setrlimit(RLIMIT_NOFILE, &limit))
        return;
    time_t until = time(NULL) + 10;
    while (sent < 9 && time(NULL) < until) {
        char byte = 0;
        union {
            struct cmsghdr header;
            char room[CMSG_SPACE(sizeof(int))];
        } control;
        struct iovec vector = {&byte, 1};
        struct msghdr message = {
            .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
        memset(&control, 0, sizeof(control));
        control.header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &other[0], sizeof(int));
        if (sendmsg(ends[0], &message, MSG_NOSIGNAL) == 1)
            sent++;
        else
            sched_yield();
    }
    printf("sent %d\n", sent);
    see_exercise();
}

int main(int argc, char **argv)
{
    static const struct see_case cases[] = {
        {"closefrom", after_closefrom},
        {"close-range", after_close_range},
        {"close-loop", after_close_loop},
        {"dup-over-all", after_dup_over_all},
        {"numbers", numbers_in_order},
        {"none-at-start", none_at_start},
        {"few", few},
        {"in-flight", in_flight},
        {"inner-without", inner_without},
        {"last", last},
    };
    return see_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
