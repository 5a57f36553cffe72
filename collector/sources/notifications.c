/* SPDX-License-Identifier: MIT */
#include "collector/sources/notifications.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "collector/sources/attach.h"

int notifications_init(struct notifications *notifications)
{
    *notifications = (struct notifications){0};
    notifications->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return notifications->eventfd < 0 ? -errno : 0;
}

void notifications_release(struct notifications *notifications)
{
    for (struct notification *notification = notifications->head, *next; notification; notification = next) {
        next = notification->next;
        attach_free(notification->events);
        notification->events = NULL;
        notification_free(notification);
    }
    notifications->head = NULL;
    if (notifications->eventfd >= 0)
        close(notifications->eventfd);
    notifications->eventfd = -1;
}

uint64_t notification_text(const struct notification *notification)
{
    uint64_t size = notification->cmdline_size;
    size += notification->maps ? strlen(notification->maps) : 0;
    return size + (notification->exec ? strlen(notification->exec) : 0);
}

static void drop_texts(struct notification *notification)
{
    free(notification->maps);
    free(notification->cmdline);
    notification->maps = notification->cmdline = NULL;
    notification->cmdline_size = 0;
}

static void count_notification(struct notifications *notifications, const struct notification *notification,
                               uint64_t bytes, bool in)
{
    const uint32_t one = in ? 1 : UINT32_MAX;
    bytes = in ? bytes : -bytes;
    __atomic_fetch_add(&notifications->count, one, __ATOMIC_RELAXED);
    __atomic_fetch_add(&notifications->bytes, bytes, __ATOMIC_RELAXED);
    if (!notification->limited)
        return;
    __atomic_fetch_add(&notifications->others, one, __ATOMIC_RELAXED);
    __atomic_fetch_add(&notifications->others_bytes, bytes, __ATOMIC_RELAXED);
}

/* NOTIFICATION is counted in already. */
static bool is_full(const struct notifications *notifications, const struct notification *notification,
                    bool texts_alone)
{
    if (__atomic_load_n(&notifications->bytes, __ATOMIC_RELAXED) > NOTIFICATIONS_BYTES ||
        (notification->limited &&
         __atomic_load_n(&notifications->others_bytes, __ATOMIC_RELAXED) > NOTIFICATIONS_BYTES / 2))
        return true;
    return !texts_alone && (__atomic_load_n(&notifications->count, __ATOMIC_RELAXED) > NOTIFICATIONS_MAX ||
                            (notification->limited &&
                             __atomic_load_n(&notifications->others, __ATOMIC_RELAXED) > NOTIFICATIONS_MAX / 2));
}

/* Counts NOTIFICATION in. False: there is no room for it. */
static bool find_room(struct notifications *notifications, struct notification *notification)
{
    const bool task = notification->events;
    if (!task && notification->pidfd >= 0) { /* only tasks with events may keep descriptors */
        close(notification->pidfd);
        notification->pidfd = -1;
    }
    uint64_t size = notification_text(notification);
    count_notification(notifications, notification, size, true);
    if (!is_full(notifications, notification, task))
        return true;
    count_notification(notifications, notification, size, false);
    __atomic_fetch_add(task ? &notifications->cut : &notifications->refused, 1, __ATOMIC_RELAXED);
    if (!task)
        return false;
    drop_texts(notification);
    count_notification(notifications, notification, notification_text(notification), true);
    return true;
}

void notifications_put(struct notifications *notifications, struct notification *notification)
{
    if (!find_room(notifications, notification)) {
        notification_free(notification);
        return;
    }
    struct notification *head = __atomic_load_n(&notifications->head, __ATOMIC_RELAXED);
    do
        notification->next = head;
    while (!__atomic_compare_exchange_n(&notifications->head, &head, notification, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
    /* If the queue was not empty a wake is already on its way. The write fails only at a count of 2^64. */
    if (!head) {
        uint64_t one = 1;
        (void)!write(notifications->eventfd, &one, sizeof(one));
    }
}

struct notification *notifications_take(struct notifications *notifications)
{
    /* First the wake, then the queue: what is put in between is taken now and costs one empty wake later. */
    uint64_t count;
    (void)!read(notifications->eventfd, &count, sizeof(count));
    /* Pairs with the release in notifications_put(). */
    struct notification *newest = __atomic_exchange_n(&notifications->head, NULL, __ATOMIC_ACQUIRE);
    struct notification *oldest = NULL;
    while (newest) {
        struct notification *next = newest->next;
        count_notification(notifications, newest, notification_text(newest), false);
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

void notification_free(struct notification *notification)
{
    if (!notification)
        return;
    if (notification->pidfd >= 0)
        close(notification->pidfd);
    free(notification->values);
    free(notification->maps);
    free(notification->exec);
    free(notification->cmdline);
    free(notification);
}
