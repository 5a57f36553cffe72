/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/channel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/door.h"
#include "collector/guard.h"
#include "collector/session.h"
#include "collector/shared_file.h"

void channels_init(struct channels *channels)
{
    memset(channels, 0, sizeof(*channels));
    pthread_mutex_init(&channels->lock, NULL);
}

static uint32_t count_of(const struct session *session)
{
    /* Pairs with the release in channels_get(). */
    return __atomic_load_n(&session->channels.count, __ATOMIC_ACQUIRE);
}

static void free_channel(struct channel *channel)
{
    if (channel->path[0])
        unlink(channel->path);
    if (channel->requests)
        munmap(channel->requests, sizeof(*channel->requests));
    if (channel->fd >= 0)
        close(channel->fd);
    free(channel);
}

void channels_unlink(const struct channels *channels)
{
    for (uint32_t i = 0; i < channels->count; i++)
        if (channels->list[i]->path[0])
            unlink(channels->list[i]->path);
}

void channels_release(struct channels *channels)
{
    for (uint32_t i = 0; i < channels->count; i++)
        free_channel(channels->list[i]);
    channels->count = 0;
    pthread_mutex_destroy(&channels->lock);
}

/* A file beside the segment; where somebody else made one of that name, one without a name, which the listener hands
   out. */
static int create_file(struct channel *channel)
{
    int length = snprintf(channel->path, sizeof(channel->path), "%s.%u", channel->session->path, channel->user);
    if (length > 0 && (size_t)length < sizeof(channel->path))
        channel->fd = shared_file_create(channel->path, sizeof(*channel->requests), channel->user, 0600);
    if (channel->fd >= 0)
        return 0;
    channel->path[0] = '\0'; /* not ours to remove */
    int error = channel->fd;
    channel->fd = shared_file_nameless(sizeof(*channel->requests), channel->user, 0600);
    return channel->fd >= 0 ? 0 : error;
}

/* File systems tell another device in stat() than in maps: what our own mapping says holds for all. */
static void read_mapping(struct channel *channel)
{
    char line[PINJECT_PATH + 128], start[32];
    FILE *maps = fopen("/proc/self/maps", "re");
    int length = snprintf(start, sizeof(start), "%" PRIxPTR "-", (uintptr_t)channel->requests);
    while (maps && fgets(line, sizeof(line), maps)) {
        char device[24], inode[24];
        if (strncmp(line, start, (size_t)length) != 0 || sscanf(line, "%*s %*s %*s %23s %23s", device, inode) != 2)
            continue;
        snprintf(channel->mapping, sizeof(channel->mapping), " %s %s ", device, inode);
        break;
    }
    if (maps)
        fclose(maps);
}

static int open_channel(struct channel *channel)
{
    int error = create_file(channel);
    if (error < 0)
        return error;
    void *map = mmap(NULL, sizeof(*channel->requests), PROT_READ | PROT_WRITE, MAP_SHARED, channel->fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    channel->requests = map;
    guard_add(map, sizeof(*channel->requests));
    read_mapping(channel);
    return channel->session->channels.doors_open ? door_start_all(channel) : 0;
}

static struct channel *new_channel(struct session *session, uid_t user, int *ret_error)
{
    struct channel *channel = calloc(1, sizeof(*channel));
    *ret_error = -ENOMEM;
    if (!channel)
        return NULL;
    channel->session = session;
    channel->user = user;
    channel->own = user == geteuid();
    channel->fd = -1;
    *ret_error = open_channel(channel);
    if (*ret_error == 0)
        return channel;
    free_channel(channel);
    return NULL;
}

static struct channel *find(const struct session *session, uid_t user)
{
    for (uint32_t i = 0, count = count_of(session); i < count; i++)
        if (session->channels.list[i]->user == user)
            return session->channels.list[i];
    return NULL;
}

static struct channel *get(struct session *session, uid_t user, uint32_t most, int *ret_error)
{
    struct channels *channels = &session->channels;
    *ret_error = 0;
    pthread_mutex_lock(&channels->lock);
    struct channel *channel = find(session, user);
    if (!channel && channels->count < most)
        channel = new_channel(session, user, ret_error);
    else if (!channel)
        *ret_error = -EUSERS;
    if (channel && channel != find(session, user)) {
        channels->list[channels->count] = channel;
        __atomic_store_n(&channels->count, channels->count + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&channels->lock);
    return channel;
}

struct channel *channels_get(struct session *session, uid_t user, int *ret_error)
{
    struct channel *channel = get(session, user, CHANNELS_MAX, ret_error);
    if (!channel)
        __atomic_fetch_add(&session->channels.refused, 1, __ATOMIC_RELAXED);
    return channel;
}

int channels_prepare(struct session *session, uid_t user)
{
    int error;
    get(session, user, CHANNELS_ASKED, &error);
    return error;
}

int channels_open_doors(struct session *session)
{
    struct channels *channels = &session->channels;
    int error = 0;
    pthread_mutex_lock(&channels->lock);
    for (uint32_t i = 0; i < channels->count && error == 0; i++)
        error = door_start_all(channels->list[i]);
    channels->doors_open = error == 0;
    for (uint32_t i = 0; i < channels->count && error == 0; i++)
        door_await_all(channels->list[i]);
    pthread_mutex_unlock(&channels->lock);
    return error;
}

void channels_close_doors(struct session *session)
{
    /* Not under the lock: a door may be about to make another channel, which gets no doors any more. */
    pthread_mutex_lock(&session->channels.lock);
    session->channels.doors_open = false;
    pthread_mutex_unlock(&session->channels.lock);
    for (uint32_t i = 0, count = count_of(session); i < count; i++)
        door_stop_all(session->channels.list[i]);
}

void channels_renew_doors(struct session *session)
{
    for (uint32_t i = 0, count = count_of(session); i < count; i++)
        door_renew_all(session->channels.list[i]);
}

void channels_take_news(struct session *session)
{
    for (uint32_t i = 0, count = count_of(session); i < count; i++)
        door_take_news(session->channels.list[i]);
}

bool channels_are_rung(const struct session *session)
{
    for (uint32_t i = 0, count = count_of(session); i < count; i++)
        for (unsigned bell = 0; bell < session->bells; bell++)
            for (unsigned word = 0; word < PINJECT_SLOTS / 64; word++)
                if (__atomic_load_n(&session->channels.list[i]->requests->bells[bell].pending[word], __ATOMIC_RELAXED))
                    return true;
    return false;
}

bool channels_are_alone(const struct session *session)
{
    return count_of(session) <= 1;
}

uint64_t channels_held(const struct session *session)
{
    uint64_t sum = 0;
    for (uint32_t i = 0, count = count_of(session); i < count; i++)
        sum += __atomic_load_n(&session->channels.list[i]->budget.held, __ATOMIC_RELAXED);
    return sum;
}

static uint32_t counter(const struct pinject_requests *requests, enum channel_count which)
{
    switch (which) {
    case CHANNEL_UNANSWERED:
        return __atomic_load_n(&requests->unanswered, __ATOMIC_RELAXED);
    case CHANNEL_DROPPED:
        return __atomic_load_n(&requests->dropped, __ATOMIC_RELAXED);
    case CHANNEL_FOREIGN:
        return __atomic_load_n(&requests->foreign, __ATOMIC_RELAXED);
    case CHANNEL_SEALED:
        return __atomic_load_n(&requests->sealed, __ATOMIC_RELAXED);
    }
    return 0;
}

bool channels_counted(const struct session *session, uint32_t number, enum channel_count which, uint64_t *ret_count,
                      char *ret_word, size_t size)
{
    if (number >= count_of(session))
        return false;
    const struct channel *channel = session->channels.list[number];
    *ret_count = counter(channel->requests, which);
    snprintf(ret_word, size, channel->own ? "" : "as programs of uid %u say", channel->user);
    return true;
}
