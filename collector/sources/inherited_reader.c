/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/sources/inherited_reader.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "collector/sources/inherited_private.h"
#include "collector/system/priority.h"

enum {
    STACK = 256 << 10,
    EVENTS = 64,
    PAUSE_NS = 1000 * 1000,
    /* Nobody is woken for a ring that has stopped. So, after one was read, all are looked at a few more times. */
    AGAIN_MS = 10,
    AGAIN = 10,
};

static int add(int epoll, int fd, void *tag)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = tag};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int inherited_reader_init(struct inherited_reader *reader)
{
    reader->rings = epoll_create1(EPOLL_CLOEXEC);
    reader->loop = epoll_create1(EPOLL_CLOEXEC);
    reader->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    reader->filled = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (reader->rings < 0 || reader->loop < 0 || reader->stop < 0 || reader->filled < 0)
        return -errno;
    const int error = add(reader->loop, reader->filled, NULL);
    return error ? error : add(reader->loop, reader->rings, NULL);
}

void inherited_reader_release(struct inherited_reader *reader)
{
    const int fds[] = {reader->rings, reader->loop, reader->stop, reader->filled};
    for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static void *read_rings(void *argument)
{
    struct inherited_sets *sets = argument;
    const struct inherited_reader *reader = &sets->reader;
    struct epoll_event events[EVENTS];
    priority_ask_for_quick_wakes();
    pthread_setname_np(pthread_self(), "pinject-inherit");
    for (unsigned again = 0;;) {
        const int count = epoll_wait(reader->rings, events, EVENTS, again ? AGAIN_MS : -1);
        for (int i = 0; i < count; i++)
            if (events[i].data.ptr == reader)
                return NULL;
        again = count > 0 ? AGAIN : again - (again > 0);
        if (inherited_read(sets))
            eventfd_write(reader->filled, 1);
        else if (count > 0) /* the events of a set do not end at the same moment on all CPUs */
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
}

void inherited_reader_start(struct inherited_reader *reader, struct inherited_sets *sets)
{
    pthread_attr_t attr;
    sigset_t all, before;
    if (reader->runs || add(reader->rings, reader->stop, reader) < 0)
        return;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    reader->runs = pthread_create(&reader->thread, &attr, read_rings, sets) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (reader->runs)
        epoll_ctl(reader->loop, EPOLL_CTL_DEL, reader->rings, NULL);
    else
        epoll_ctl(reader->rings, EPOLL_CTL_DEL, reader->stop, NULL);
}

void inherited_reader_stop(struct inherited_reader *reader)
{
    if (!reader->runs)
        return;
    eventfd_write(reader->stop, 1);
    pthread_join(reader->thread, NULL);
    reader->runs = false;
}

void inherited_reader_clear(struct inherited_reader *reader)
{
    eventfd_t count;
    (void)eventfd_read(reader->filled, &count);
}
