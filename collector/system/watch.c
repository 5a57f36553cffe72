/* SPDX-License-Identifier: MIT */
#include "collector/system/watch.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

int watch_add(int epoll, int fd, void *tag)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = tag};
    return fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

void watch_remove(int epoll, int fd)
{
    if (fd >= 0)
        epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
}
