/* SPDX-License-Identifier: MIT */
/* Descriptors that wake the event loop: readable ones, by epoll(7). TAG comes back with the event. */
#ifndef COLLECTOR_SYSTEM_WATCH_H
#define COLLECTOR_SYSTEM_WATCH_H

/* 0 or -errno. FD -1: there is none, which is no error. */
int watch_add(int epoll, int fd, void *tag);
/* FD -1 is accepted. */
void watch_remove(int epoll, int fd);

#endif
