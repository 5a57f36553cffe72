/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "collector/channel.h"
#include "collector/door.h"
#include "collector/origin.h"
#include "collector/session.h"
#include "common/clock.h"

/*
 * Whoever is on the machine may connect: an answer takes 25 to 65 us. What takes more CPU time in a second than FREE_NS
 * for each CPU of the machine waits, REST_NS each.
 */
enum { STACK = 256 << 10, QUEUE = 128, FREE_NS = 5000000, REST_NS = 2000000 };

void listener_init(struct listener *listener)
{
    *listener = (struct listener){.socket = -1, .segment = -1, .stop = -1, .free_ns = FREE_NS};
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

/* One byte, so that there is something to send the descriptors with. It goes or it does not: the queue is empty. */
static void send_files(int peer, int segment, int requests)
{
    char byte = 0;
    struct iovec part = {&byte, 1};
    int fds[2] = {segment, requests};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(fds))];
    } control = {.room = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(header), fds, sizeof(fds));
    sendmsg(peer, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Its user is the one that it had when it connected: whoever changes afterwards has to come again. */
static void serve(struct listener *listener, int peer)
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
    const struct channel *channel = channels_get(session, who.uid, &error);
    if (channel)
        send_files(peer, listener->segment, channel->fd);
}

static void *listen_main(void *argument)
{
    struct listener *listener = argument;
    struct pollfd polled[] = {{.fd = listener->socket, .events = POLLIN}, {.fd = listener->stop, .events = POLLIN}};
    uint64_t allowed = listener->free_ns * listener->session->cpus, second = 0, used = 0;
    pthread_setname_np(pthread_self(), "pinject-listen");
    door_ask_for_quick_wakes(); /* a process that has become another user waits for its channel */
    for (;;) {
        if (poll(polled, 2, -1) < 0 && errno != EINTR)
            break;
        if (polled[1].revents)
            break;
        int peer = accept4(listener->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (peer >= 0) {
            serve(listener, peer);
            close(peer);
        }
        uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE) / 1000000000u, cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        if (now != second) {
            second = now;
            used = cpu;
        }
        /* Also when there is no descriptor for a peer: it stays in the queue. */
        if (cpu - used > allowed || (peer < 0 && errno != EAGAIN && errno != ECONNABORTED))
            nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
    }
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

void listener_release(struct listener *listener)
{
    const int fds[] = {listener->socket, listener->segment, listener->stop};
    for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    listener_init(listener);
}
