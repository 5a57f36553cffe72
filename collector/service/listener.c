/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/service/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "collector/service/callers.h"
#include "collector/service/channels.h"
#include "collector/service/origin.h"
#include "collector/service/worker.h"
#include "collector/sources/session.h"
#include "collector/system/priority.h"
#include "common/clock.h"

/*
 * Anybody on the machine may connect. An answer takes 25 to 65 us, a refusal a tenth of that. If more CPU time than
 * FREE_NS for each CPU is used in a second, users who had an equal part of it get their answers REST_NS apart. Others
 * are answered within a rest, so the queue never waits for long.
 */
enum {
    STACK = 256 << 10,
    QUEUE = 64,
    FREE_NS = 5000000,
    REST_NS = 2000000,
    REST_MOST_NS = 16000000, /* a preload object waits for PINJECT_WAIT_US */
    RESTS_PER_WORK = 59,     /* rest so many times as long as the round took: 1.7 % of a CPU... */
    ROUND_NS = 1000000,      /* ... and 6 % if the longest rest follows the longest round */
    BATCH = 8,               /* peers between two looks at the clock */
};

struct listener *listener_new(void)
{
    struct listener *listener = malloc(sizeof(*listener));
    if (listener)
        *listener = (struct listener){.socket = -1, .segment = -1, .stop = -1, .free_ns = FREE_NS};
    return listener;
}

static int bind_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *name = strrchr(path, '/');
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%s", PINJECT_SOCKET_PREFIX,
                          name ? name + 1 : path);
    if (length < 0 || (size_t)length >= sizeof(address.sun_path) - 1)
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, QUEUE) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

void listener_open(struct listener *listener, struct session *session)
{
    listener->session = session;
    listener->segment = open(session->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
    listener->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (listener->segment >= 0 && listener->stop >= 0)
        listener->socket = bind_socket(session->path);
}

/* Sends one byte, since descriptors need data to go with. It goes or it does not: the queue is empty. */
static void send_files(int peer, int segment, int requests)
{
    char byte = 0;
    struct iovec part = {&byte, 1};
    int fds[2] = {segment, requests};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(fds))];
    } control = {.room = {0}};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(header), fds, sizeof(fds));
    sendmsg(peer, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Its user is the one that it had when it connected: a process that changes afterwards has to connect again. */
static void serve_peer(struct listener *listener, int peer)
{
    struct session *session = listener->session;
    struct ucred who;
    struct origin origin;
    socklen_t size = sizeof(who);
    int error;
    if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 || who.pid <= 0 ||
        origin_read(who.pid, -1, &origin) < 0)
        return;
    if (!origin_is_ours(session, who.pid, &origin)) {
        __atomic_fetch_add(&session->denied, 1, __ATOMIC_RELAXED);
        return;
    }
    struct channel *channel = channels_get(session, who.uid, &error);
    if (!channel)
        return;
    worker_await_all(channel);
    send_files(peer, listener->segment, channel->fd);
}

/* Closes PEER. BEGUN: the listener's CPU time when the current second began. */
static void answer_peer(struct listener *listener, struct callers *callers, struct caller *caller, int peer,
                        uint64_t begun)
{
    uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID), now;
    serve_peer(listener, peer);
    close(peer);
    now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    callers->used_ns = now - begun;
    caller->used_ns += now - before;
}

/*
 * Takes all peers in the queue, so that none waits behind those that have to, or as many as there is time for. False:
 * no descriptor for a peer.
 */
static bool take_queue(struct listener *listener, struct callers *callers, uint64_t allowed, uint64_t begun)
{
    uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ROUND_NS;
    for (unsigned i = 0; i <= QUEUE && (i % BATCH || clock_ns(CLOCK_THREAD_CPUTIME_ID) < end); i++) {
        struct ucred who;
        socklen_t size = sizeof(who);
        int peer = accept4(listener->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (peer < 0)
            return errno == EAGAIN || errno == ECONNABORTED;
        if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0) {
            close(peer);
            continue;
        }
        struct caller *caller = callers_find(callers, who.uid);
        if (!callers_is_dear(callers, caller, allowed))
            answer_peer(listener, callers, caller, peer, begun);
        else
            callers_hold(callers, caller, peer, clock_ns(CLOCK_MONOTONIC));
    }
    return true;
}

static void rest_after(uint64_t worked_ns)
{
    uint64_t ns = worked_ns * RESTS_PER_WORK;
    ns = ns < REST_NS ? REST_NS : ns < REST_MOST_NS ? ns : REST_MOST_NS;
    nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

static void *listen_main(void *argument)
{
    struct listener *listener = argument;
    struct pollfd polled[] = {{.fd = listener->socket, .events = POLLIN}, {.fd = listener->stop, .events = POLLIN}};
    uint64_t allowed = listener->free_ns * listener->session->cpus, second = 0, begun = 0;
    struct callers callers;
    struct caller *caller;
    int peer = -1;
    pthread_setname_np(pthread_self(), "pinject-listen");
    priority_ask_for_quick_wakes(); /* a process that has become another user waits for its channel */
    callers_init(&callers);
    for (;;) {
        if (poll(polled, 2, peer < 0 ? -1 : 0) < 0 && errno != EINTR)
            break;
        if (polled[1].revents)
            break;
        uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE) / 1000000000u, cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        if (now != second) {
            callers_new_second(&callers);
            second = now;
            begun = cpu;
        }
        bool room = take_queue(listener, &callers, allowed, begun);
        peer = callers_next(&callers, clock_ns(CLOCK_MONOTONIC), &caller);
        if (peer >= 0)
            answer_peer(listener, &callers, caller, peer, begun);
        uint64_t used = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        callers.used_ns = used - begun;
        if (callers.used_ns > allowed || !room)
            rest_after(used - cpu);
    }
    callers_release(&callers);
    return NULL;
}

void listener_start(struct listener *listener)
{
    pthread_attr_t attr;
    sigset_t all, old;
    if (listener->socket < 0 || listener->running)
        return;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    listener->running = pthread_create(&listener->thread, &attr, listen_main, listener) == 0;
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void listener_stop(struct listener *listener)
{
    uint64_t word = 1;
    if (!listener->running)
        return;
    if (write(listener->stop, &word, sizeof(word)) < 0)
        return; /* it cannot be: the counter is at 1 at most */
    pthread_join(listener->thread, NULL);
    listener->running = false;
    if (read(listener->stop, &word, sizeof(word)) < 0)
        return;
}

static void close_all(struct listener *listener)
{
    int *const fds[] = {&listener->socket, &listener->segment, &listener->stop};
    for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

void listener_free(struct listener *listener)
{
    if (!listener)
        return;
    close_all(listener);
    free(listener);
}
