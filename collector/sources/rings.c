/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/sources/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/sources/session.h"
#include "collector/system/guard.h"
#include "common/report.h"

/* Fewer are not worth it. If the size of files is limited there are fewer than wanted. */
enum { RINGS_MIN = 16 };
/* Addresses, not memory; few have them all the time. */
enum { LATE_RINGS = 1024 };

void rings_init_none(struct rings *rings)
{
    memset(rings, 0, sizeof(*rings));
    rings->fd = -1;
}

size_t rings_size(const struct rings *rings)
{
    return (size_t)rings->count * PINJECT_RING_STRIDE;
}

static int give_up(struct rings *rings, int error)
{
    rings_release(rings);
    return -error;
}

/* Maps as many rings as the file size and our address space allow. */
static int map_all(struct rings *rings)
{
    for (;; rings->count /= 2) {
        if (ftruncate(rings->fd, (off_t)rings_size(rings)) == 0) {
            void *map = mmap(NULL, rings_size(rings), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, rings->fd, 0);
            rings->map = map == MAP_FAILED ? NULL : map;
        }
        if (rings->map)
            return 0;
        if ((errno != EFBIG && errno != ENOMEM) || rings->count <= RINGS_MIN)
            return -errno;
    }
}

int rings_open(struct rings *rings, const char *segment_path, uint32_t count)
{
    rings_init_none(rings);
    if (getrandom(&rings->name, sizeof(rings->name), 0) != (ssize_t)sizeof(rings->name) || !rings->name)
        return -EAGAIN;
    snprintf(rings->path, sizeof(rings->path), "%s%s.%" PRIu64, segment_path, PINJECT_RINGS_SUFFIX, rings->name);
    rings->fd = open(rings->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
    if (rings->fd < 0) {
        int error = errno;
        rings->path[0] = '\0'; /* not ours to remove */
        return -error;
    }
    /* The umask may have removed even our own rights. */
    if (fchmod(rings->fd, 0600) < 0)
        return give_up(rings, errno);
    rings->count = count;
    int status = map_all(rings);
    return status < 0 ? give_up(rings, -status) : 0;
}

int rings_init(struct rings *rings, const char *segment_path)
{
    int status = rings_open(rings, segment_path, PINJECT_RINGS_MAX);
    if (status < 0)
        report_error("cannot create the ring buffers '%s%s': %s; set TMPDIR to a directory with more room%s",
                     segment_path, PINJECT_RINGS_SUFFIX, strerror(-status),
                     status == -EFBIG ? ", and allow larger files (ulimit -f)" : "");
    return status;
}

void rings_unlink(const struct rings *rings)
{
    if (rings->path[0])
        unlink(rings->path);
}

void rings_release(struct rings *rings)
{
    if (rings->map)
        munmap(rings->map, rings_size(rings));
    if (rings->fd >= 0)
        close(rings->fd);
    rings_unlink(rings);
    rings_init_none(rings);
}

struct perf_event_mmap_page *rings_page(const struct rings *rings, int number)
{
    return (struct perf_event_mmap_page *)(void *)(rings->map + (size_t)number * PINJECT_RING_STRIDE);
}

struct pinject_timer_head *rings_head(const struct rings *rings, int number)
{
    return (struct pinject_timer_head *)(void *)((unsigned char *)rings_page(rings, number) + PINJECT_TIMER_HEAD);
}

uint64_t rings_next_id(struct rings *rings)
{
    return __atomic_add_fetch(&rings->next_id, 1, __ATOMIC_RELAXED);
}

static bool set_bit(struct rings *rings, uint32_t number)
{
    uint64_t bit = UINT64_C(1) << (number % 64);
    return !(__atomic_fetch_or(&rings->used[number / 64], bit, __ATOMIC_ACQUIRE) & bit);
}

static void clear_bit(struct rings *rings, uint32_t number)
{
    /* Pairs with the acquire of its next taker: its memory was given back before. */
    __atomic_fetch_and(&rings->used[number / 64], ~(UINT64_C(1) << (number % 64)), __ATOMIC_RELEASE);
}

/*
 * Allocated, not only present: on a full file system the first touch of a page kills the task that touches it, the
 * target.
 */
static int reserve_ring(const struct rings *rings, int number)
{
    off_t at = (off_t)number * PINJECT_RING_STRIDE;
    if (fallocate(rings->fd, 0, at, sysconf(_SC_PAGESIZE)) == 0 &&
        fallocate(rings->fd, 0, at + PINJECT_RING_DATA, PINJECT_RING_DATA) == 0)
        return 0;
    return -errno;
}

static void give_memory_back(const struct rings *rings, int number)
{
    fallocate(rings->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)number * PINJECT_RING_STRIDE,
              PINJECT_RING_STRIDE);
}

/* A file system that cannot punch holes leaves what the last owner wrote. */
static void clean_ring(const struct rings *rings, int number, uint64_t interval_ns, uint64_t flags)
{
    struct perf_event_mmap_page *page = rings_page(rings, number);
    struct pinject_timer_head *head = rings_head(rings, number);
    __atomic_store_n(&page->data_head, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&page->data_tail, 0, __ATOMIC_RELAXED);
    page->data_offset = PINJECT_RING_DATA;
    page->data_size = PINJECT_RING_DATA;
    *head = (struct pinject_timer_head){.interval_ns = interval_ns, .flags = flags};
}

int rings_take(struct rings *rings, uint64_t interval_ns, uint64_t flags)
{
    for (uint32_t number = 0; rings->map && number < rings->count; number++) {
        if (__atomic_load_n(&rings->used[number / 64], __ATOMIC_RELAXED) == UINT64_MAX) {
            number |= 63;
            continue;
        }
        if (!set_bit(rings, number))
            continue;
        int status = reserve_ring(rings, (int)number);
        if (status < 0) {
            give_memory_back(rings, (int)number);
            clear_bit(rings, number);
            return status;
        }
        clean_ring(rings, (int)number, interval_ns, flags);
        return (int)number;
    }
    return -ENOSPC;
}

void rings_give(struct rings *rings, int number)
{
    give_memory_back(rings, number);
    clear_bit(rings, (uint32_t)number);
}

/* ---- The rings of a session ---- */

static void publish_rings(struct session *session)
{
    guard_add(session->rings.map, rings_size(&session->rings));
    /* Pairs with the acquire in the preload object's write_rings_path(). */
    __atomic_store_n(&session->segment->rings, session->rings.name, __ATOMIC_RELEASE);
}

int rings_begin(struct session *session)
{
    int status = rings_init(&session->rings, session->path);
    if (status == 0)
        publish_rings(session);
    return status;
}

int rings_need(struct session *session)
{
    if (session->config->source == PINJECT_SOURCE_TIMER)
        return 0;
    pthread_mutex_lock(&session->rings_lock);
    if (!rings_are_needed(session)) {
        session->rings_error = rings_open(&session->rings, session->path, LATE_RINGS);
        if (session->rings_error == 0)
            publish_rings(session);
        __atomic_store_n(&session->rings_asked, 1, __ATOMIC_RELEASE);
    }
    int error = session->rings_error;
    pthread_mutex_unlock(&session->rings_lock);
    return error;
}

bool rings_are_needed(const struct session *session)
{
    /* Pairs with the release in rings_need(). */
    return __atomic_load_n(&session->rings_asked, __ATOMIC_ACQUIRE);
}
