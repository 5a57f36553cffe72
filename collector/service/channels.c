/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/service/channels.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "collector/service/worker.h"
#include "collector/sources/session.h"
#include "collector/system/guard.h"
#include "collector/system/shared_file.h"
#include "common/clock.h"
#include "common/report.h"

/*
 * After a failure no channel is made on request for so long: somebody who takes all threads could keep us busy with it.
 */
#define AGAIN_NS UINT64_C(1000000000)

struct channels *channels_new(void)
{
    struct channels *channels = calloc(1, sizeof(*channels));
    if (channels)
        pthread_mutex_init(&channels->lock, NULL);
    return channels;
}

static uint32_t count_of(const struct session *session)
{
    /* Pairs with the release in channels_get(). */
    return __atomic_load_n(&session->channels->count, __ATOMIC_ACQUIRE);
}

static void free_channel(struct channel *channel)
{
    if (channel->path[0])
        unlink(channel->path);
    if (channel->guarded)
        guard_remove(channel->requests, sizeof(*channel->requests));
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

void channels_free(struct channels *channels)
{
    if (!channels)
        return;
    for (uint32_t i = 0; i < channels->count; i++)
        free_channel(channels->list[i]);
    pthread_mutex_destroy(&channels->lock);
    free(channels);
}

/*
 * Beside the segment, under a random name that nobody can have taken, and that the segment has. If that fails, without
 * a name: the listener hands it out. Nobody else can open it before it is complete.
 */
static int create_file(struct channel *channel)
{
    if (getrandom(&channel->name, sizeof(channel->name), 0) != (ssize_t)sizeof(channel->name))
        channel->name = 0;
    int length = snprintf(channel->path, sizeof(channel->path), "%s.%u.%" PRIu64, channel->session->path, channel->user,
                          channel->name);
    if (channel->name && length > 0 && (size_t)length < sizeof(channel->path))
        channel->fd = shared_file_create(channel->path, sizeof(*channel->requests));
    if (channel->fd >= 0)
        return 0;
    channel->path[0] = '\0'; /* not ours to remove */
    channel->name = 0;
    int error = channel->fd;
    channel->fd = shared_file_nameless(sizeof(*channel->requests));
    return channel->fd >= 0 ? 0 : error;
}

/* Some file systems report another device in stat() than in maps: our own mapping shows what maps have. */
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
    channel->guarded = guard_add(map, sizeof(*channel->requests));
    if (channel->session->guarded && !channel->guarded)
        return -ENOSPC;
    read_mapping(channel);
    return 0;
}

/* The user gets the file last: nobody rings its doorbells before, so workers end at once if not all can be started. */
static int complete_channel(struct channel *channel)
{
    int error = channel->session->channels->workers_run ? worker_start_all(channel) : 0;
    if (error == 0)
        error = shared_file_give(channel->fd, channel->user, 0600);
    if (error < 0)
        worker_stop_all(channel, UINT64_MAX);
    return error;
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
        *ret_error = complete_channel(channel);
    if (*ret_error == 0)
        return channel;
    free_channel(channel);
    return NULL;
}

static struct channel *find_channel(const struct session *session, uid_t user)
{
    for (uint32_t i = 0, count = count_of(session); i < count; i++)
        if (session->channels->list[i]->user == user)
            return session->channels->list[i];
    return NULL;
}

/* May a channel for USER be made now? 0 or -errno. ASKED: on request, before a process of USER has come. */
static int may_make(const struct channels *channels, uid_t user, bool asked)
{
    if (channels->closed)
        return -ESHUTDOWN;
    if (channels->count >= (asked ? CHANNELS_ASKED : CHANNELS_MAX))
        return -EUSERS;
    if (asked && clock_ns(CLOCK_MONOTONIC) < channels->again_ns)
        return -EAGAIN;
    return shared_file_can_give(user);
}

/* The collector's threads see it by the count, preload objects by the segment. */
static void publish_channel(struct session *session, struct channel *channel)
{
    struct channels *channels = session->channels;
    session->segment->users[channels->count] = (struct pinject_user){.user = channel->user, .name = channel->name};
    channels->list[channels->count] = channel;
    __atomic_store_n(&channels->count, channels->count + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&session->segment->users_count, channels->count, __ATOMIC_RELEASE);
    __atomic_store_n(&session->users, channels->count, __ATOMIC_RELEASE);
}

static struct channel *get_channel(struct session *session, uid_t user, bool asked, int *ret_error)
{
    struct channels *channels = session->channels;
    pthread_mutex_lock(&channels->lock);
    struct channel *channel = find_channel(session, user);
    *ret_error = channel ? 0 : may_make(channels, user, asked);
    if (!channel && *ret_error == 0) {
        channel = new_channel(session, user, ret_error);
        if (channel)
            publish_channel(session, channel);
        else if (asked)
            channels->again_ns = clock_ns(CLOCK_MONOTONIC) + AGAIN_NS;
    }
    pthread_mutex_unlock(&channels->lock);
    return channel;
}

struct channel *channels_get(struct session *session, uid_t user, int *ret_error)
{
    struct channel *channel = get_channel(session, user, false, ret_error);
    if (!channel)
        __atomic_fetch_add(&session->users_refused, 1, __ATOMIC_RELAXED);
    return channel;
}

int channels_prepare(struct session *session, uid_t user)
{
    int error;
    get_channel(session, user, true, &error);
    return error;
}

int channels_start_workers(struct session *session)
{
    struct channels *channels = session->channels;
    int error = 0;
    pthread_mutex_lock(&channels->lock);
    for (uint32_t i = 0; i < channels->count && error == 0; i++)
        error = worker_start_all(channels->list[i]);
    if (error < 0)
        report_error("cannot start a thread: %s; raise 'ulimit -u'", strerror(-error));
    channels->workers_run = error == 0;
    for (uint32_t i = 0; i < channels->count && error == 0; i++)
        worker_await_all(channels->list[i]);
    pthread_mutex_unlock(&channels->lock);
    return error;
}

void channels_stop_workers(struct session *session)
{
    /* Not under the lock: a worker may be about to make another channel; that is refused. */
    pthread_mutex_lock(&session->channels->lock);
    session->channels->closed = true;
    session->channels->workers_run = false;
    pthread_mutex_unlock(&session->channels->lock);
    uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + session->stop_s * UINT64_C(1000000000);
    for (uint32_t i = 0, count = count_of(session); i < count; i++)
        worker_ask_to_stop(session->channels->list[i]);
    for (uint32_t i = 0, count = count_of(session); i < count; i++)
        worker_stop_all(session->channels->list[i], end_ns);
}

void channels_renew_workers(struct session *session)
{
    for (uint32_t i = 0, count = count_of(session); i < count; i++)
        worker_renew_all(session->channels->list[i]);
}

void channels_take_notifications(struct session *session)
{
    for (uint32_t i = 0, count = count_of(session); i < count; i++)
        worker_take_notifications(session->channels->list[i]);
}

bool channels_have_requests(const struct session *session)
{
    for (uint32_t i = 0, count = count_of(session); i < count; i++)
        for (unsigned doorbell = 0; doorbell < session->doorbells; doorbell++)
            for (unsigned word = 0; word < PINJECT_SLOTS / 64; word++)
                if (__atomic_load_n(&session->channels->list[i]->requests->doorbells[doorbell].pending[word],
                                    __ATOMIC_RELAXED))
                    return true;
    return false;
}

uint64_t channels_held(const struct session *session)
{
    uint64_t sum = 0;
    for (uint32_t i = 0, count = count_of(session); i < count; i++)
        sum += __atomic_load_n(&session->channels->list[i]->budget.held, __ATOMIC_RELAXED);
    return sum;
}

static uint32_t counter_of(const struct pinject_requests *requests, enum channel_count which)
{
    switch (which) {
    case CHANNEL_UNANSWERED: return __atomic_load_n(&requests->unanswered, __ATOMIC_RELAXED);
    case CHANNEL_DROPPED: return __atomic_load_n(&requests->dropped, __ATOMIC_RELAXED);
    case CHANNEL_FOREIGN: return __atomic_load_n(&requests->foreign, __ATOMIC_RELAXED);
    case CHANNEL_BLOCKED: return __atomic_load_n(&requests->blocked, __ATOMIC_RELAXED);
    }
    return 0;
}

bool channels_counted(const struct session *session, uint32_t number, enum channel_count which, uint64_t *ret_count,
                      char *ret_word, size_t size)
{
    if (number >= count_of(session))
        return false;
    const struct channel *channel = session->channels->list[number];
    *ret_count = counter_of(channel->requests, which);
    ret_word[0] = '\0';
    if (!channel->own)
        snprintf(ret_word, size, "programs of uid %u reported this loss", channel->user);
    return true;
}
