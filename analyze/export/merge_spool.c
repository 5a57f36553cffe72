/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/export/merge.h"
#include "analyze/view/memory.h"
#include "common/fnv.h"

#define MOST_MAPPINGS 4096       /* remembered per process */
#define COMM_EXEC     (1u << 13) /* PERF_RECORD_MISC_COMM_EXEC */

int merge_spool_open(struct merge_spool *spool, const char *directory)
{
    *spool = (struct merge_spool){0};
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        char *name = memory_print("%s/panalyze-XXXXXX", directory);
        fd = mkostemp(name, O_CLOEXEC);
        int error = errno;
        if (fd >= 0)
            unlink(name);
        free(name);
        if (fd < 0)
            return -error;
    }
    spool->to = fdopen(fd, "w+");
    if (!spool->to) {
        close(fd);
        return -ENOMEM;
    }
    setvbuf(spool->to, NULL, _IOFBF, 1 << 18);
    return 0;
}

void merge_spool_add(struct merge_spool *spool, uint64_t time_ns, const void *record, size_t size)
{
    /* A record without a time stays after the record before it. */
    if (time_ns == 0)
        time_ns = spool->last_ns;
    spool->last_ns = time_ns;
    errno = 0;
    if ((fwrite(&time_ns, sizeof(time_ns), 1, spool->to) != 1 || fwrite(record, size, 1, spool->to) != 1) &&
        !spool->error)
        spool->error = errno ? errno : EIO;
    spool->size += sizeof(time_ns) + size;
}

void merge_spool_end_file(struct merge_spool *spool)
{
    spool->ends = memory_grow(spool->ends, &spool->end_capacity, spool->end_count + 1, sizeof(*spool->ends));
    spool->ends[spool->end_count++] = spool->size;
    spool->last_ns = 0;
}

int merge_spool_finish(struct merge_spool *spool)
{
    errno = 0;
    if (fflush(spool->to) != 0 && !spool->error)
        spool->error = errno ? errno : EIO;
    if (spool->error || spool->size == 0)
        return -spool->error;
    void *bytes = mmap(NULL, spool->size, PROT_READ, MAP_PRIVATE, fileno(spool->to), 0);
    if (bytes == MAP_FAILED)
        return -errno;
    spool->bytes = bytes;
    return 0;
}

void merge_spool_close(struct merge_spool *spool)
{
    if (spool->bytes)
        munmap((void *)spool->bytes, spool->size);
    if (spool->to)
        fclose(spool->to);
    free(spool->ends);
    *spool = (struct merge_spool){0};
}

/* The next record of one file. */
struct run {
    uint64_t at, end, time_ns;
    size_t number;
};

struct mapping {
    uint64_t start, end, hash;
};

/* The mappings of an address space that were written. */
struct space {
    struct mapping *mappings;
    size_t count, capacity;
};

struct merging {
    const struct merge_spool *spool;
    struct run *heap; /* the earliest on top */
    size_t heap_count;
    struct map processes; /* (pid) */
    struct space *spaces; /* by process */
    size_t space_capacity;
};

static uint64_t u64_at(const unsigned char *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

static int32_t i32_at(const unsigned char *bytes)
{
    int32_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

static struct space *space_of(struct merging *merging, int32_t pid)
{
    size_t before = merging->processes.count;
    uint32_t index = map_add(&merging->processes, (uint32_t)pid, 0);
    merging->spaces = memory_grow(merging->spaces, &merging->space_capacity, merging->processes.count,
                                  sizeof(*merging->spaces));
    if (index == before)
        merging->spaces[index] = (struct space){0};
    return &merging->spaces[index];
}

/*
 * Each thread's file repeats the mappings from before its start: with a thousand threads a thousand times. Returns
 * whether the mapping RECORD was written already, and remembers it.
 */
static bool is_known_mapping(struct merging *merging, const struct perf_event_header *header,
                             const unsigned char *record)
{
    const size_t fixed = 8 + 8 + 8 + 8 + 8; /* header, pid and tid, address, length, offset */
    if (header->size < fixed)
        return false;
    struct space *space = space_of(merging, i32_at(record + 8));
    const unsigned char *path = record + fixed + (header->type == PERF_RECORD_MMAP2 ? 32 : 0);
    size_t room = path < record + header->size ? (size_t)(record + header->size - path) : 0;
    size_t body = room ? (size_t)(path - (record + 16)) + strnlen((const char *)path, room) : header->size - (size_t)16;
    struct mapping made = {u64_at(record + 16), u64_at(record + 16) + u64_at(record + 24),
                           fnv(FNV_BEGIN, record + 16, body) + header->misc};
    for (size_t i = 0; i < space->count;) {
        struct mapping *old = &space->mappings[i];
        if (old->start >= made.end || old->end <= made.start)
            i++;
        else if (old->start == made.start && old->end == made.end && old->hash == made.hash)
            return true;
        else
            *old = space->mappings[--space->count];
    }
    /* With so many mappings the search costs more than it saves: forget them and write them again. */
    if (space->count >= MOST_MAPPINGS)
        space->count = 0;
    space->mappings = memory_grow(space->mappings, &space->capacity, space->count + 1, sizeof(made));
    space->mappings[space->count++] = made;
    return false;
}

/* Whether to write RECORD. Keeps track of address spaces. */
static bool is_wanted(struct merging *merging, const struct perf_event_header *header, const unsigned char *record)
{
    bool pair = header->size >= 16, quad = header->size >= 24;
    switch (header->type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2: return !is_known_mapping(merging, header, record);
    case PERF_RECORD_COMM:
        if (pair && (header->misc & COMM_EXEC))
            space_of(merging, i32_at(record + 8))->count = 0;
        return true;
    case PERF_RECORD_FORK:
        /* pid and ppid differ: a new process */
        if (quad && i32_at(record + 8) != i32_at(record + 12))
            space_of(merging, i32_at(record + 8))->count = 0;
        return true;
    case PERF_RECORD_EXIT:
        if (quad && i32_at(record + 8) == i32_at(record + 16))
            space_of(merging, i32_at(record + 8))->count = 0;
        return true;
    default: return true;
    }
}

static bool is_earlier(const struct run *a, const struct run *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

static void sift_down(struct merging *merging, size_t at)
{
    struct run *heap = merging->heap;
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < merging->heap_count; child++)
            if (is_earlier(&heap[child], &heap[least]))
                least = child;
        if (least == at)
            return;
        struct run other = heap[at];
        heap[at] = heap[least];
        heap[least] = other;
        at = least;
    }
}

static void start_heap(struct merging *merging)
{
    const struct merge_spool *spool = merging->spool;
    merging->heap = memory_new(spool->end_count, sizeof(*merging->heap));
    for (size_t i = 0; i < spool->end_count; i++) {
        struct run run = {i ? spool->ends[i - 1] : 0, spool->ends[i], 0, i};
        if (run.at == run.end)
            continue;
        run.time_ns = u64_at(spool->bytes + run.at);
        merging->heap[merging->heap_count++] = run;
    }
    for (size_t i = merging->heap_count / 2; i-- > 0;)
        sift_down(merging, i);
}

/* Moves to the next record of the file on top, or removes the file at its end. */
static void advance_merging(struct merging *merging, size_t size)
{
    struct run *top = &merging->heap[0];
    top->at += sizeof(uint64_t) + size;
    if (top->at < top->end)
        top->time_ns = u64_at(merging->spool->bytes + top->at);
    else
        *top = merging->heap[--merging->heap_count];
    sift_down(merging, 0);
}

int merge_spool_write(const struct merge_spool *spool, FILE *to, uint64_t *ret_size)
{
    struct merging merging = {.spool = spool};
    *ret_size = 0;
    start_heap(&merging);
    while (merging.heap_count) {
        const unsigned char *record = spool->bytes + merging.heap[0].at + sizeof(uint64_t);
        struct perf_event_header header;
        memcpy(&header, record, sizeof(header));
        if (is_wanted(&merging, &header, record)) {
            *ret_size += header.size;
            if (to)
                fwrite(record, header.size, 1, to);
        }
        advance_merging(&merging, header.size);
    }
    for (size_t i = 0; i < merging.processes.count; i++)
        free(merging.spaces[i].mappings);
    map_release(&merging.processes);
    free(merging.spaces);
    free(merging.heap);
    return 0;
}
