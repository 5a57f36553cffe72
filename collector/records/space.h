/* SPDX-License-Identifier: MIT */
/*
 * The executable mappings of an address space, and with --data all others, merged over the rings of its threads. A fork
 * shares the list with its parent until one of them changes it, so that a storm of forks stays cheap. There is no record
 * of munmap(2): a mapping exists until a newer one covers it.
 */
#ifndef COLLECTOR_RECORDS_SPACE_H
#define COLLECTOR_RECORDS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Beyond that the oldest are forgotten, first those without a file: for programs that generate code without end. Each
 * new one is compared with all of them, and a target can make one in a microsecond.
 */
enum { SPACE_MAPPINGS = 4096 };

/* The same of data: the oldest make room for new ones, and code never does. They are not counted. */
enum { SPACE_DATA = 1024 };

/*
 * Bytes of mappings with their paths, of 4 KiB each at most, in all spaces of a quota. A thousand programs that share
 * nothing, with 300 libraries each, have so many.
 */
enum { SPACE_BYTES = 48 << 20, SPACE_DATA_BYTES = SPACE_BYTES / 8 };

struct space_quota {
    uint64_t bytes;   /* of the mappings that are in spaces */
    uint64_t data;    /* of them, of mappings of data */
    uint64_t refused; /* mappings that exceeded it */
};

/* Shared and, except for its quota, immutable. */
struct mapping {
    unsigned references;
    struct space_quota *quota; /* the one that counts it, which outlives it; NULL: none */
    uint32_t maj, min;
    uint32_t prot, flags; /* as mmap(2) */
    bool data;            /* it is not executable */
    uint64_t time_ns;
    uint64_t start, size, offset;
    uint64_t ino, ino_generation;
    char path[];
};

/* The place of a mapping. They are side by side, so that a search over all of them is quick. */
struct mapping_range {
    uint64_t start, size;
};

struct mapping_list {
    unsigned references;
    size_t count, capacity;
    size_t data;                  /* how many are of data */
    struct mapping **items;       /* oldest first */
    struct mapping_range *ranges; /* of each */
};

struct space {
    struct mapping_list *list; /* NULL: nothing is mapped */
    struct space_quota *quota; /* of new mappings; NULL: no bound. Not ours, stays when it is released */
    bool data;                 /* space_add_maps() takes mappings of data, too; stays when it is released */
    uint64_t forgotten;        /* mappings that were dropped for want of room; stays when it is released */
    uint64_t version;          /* changes with the mappings; equal ones of any two spaces mean the same mappings */
};

/* A copy of VALUES with PATH; NULL when out of memory. The caller owns one reference. */
struct mapping *mapping_new(const struct mapping *values, const char *path);
struct mapping *mapping_get(struct mapping *mapping);
void mapping_put(struct mapping *mapping);
/* The same file (or name), wherever it is mapped. */
bool mapping_same_dso(const struct mapping *a, const struct mapping *b);

void space_init(struct space *space);
void space_release(struct space *space);
/* TO becomes what SPACE is, and SPACE is empty. */
void space_move(struct space *space, struct space *to);
/*
 * Adds MAPPING, with a reference of its own, and forgets what it covers. 0; -ENOMEM; -ENOSPC: the quota is used up and
 * counts that.
 */
int space_add(struct space *space, struct mapping *mapping);
/* COPY (initialized, empty) becomes what SPACE was at TIME_NS, in the same quota. 0 or -ENOMEM. */
int space_fork(const struct space *space, uint64_t time_ns, struct space *copy);
/*
 * Adds the mappings of MAPS, the text of /proc/PID/maps: those that are executable, and with space.data the others, too.
 * Invalid lines are skipped. 0 or -ENOMEM.
 */
int space_add_maps(struct space *space, const char *maps, uint64_t time_ns);
/* The newest mapping of ADDRESS, if it is one of data; or NULL. */
const struct mapping *space_find_data(const struct space *space, uint64_t address);
/* The newest executable mapping of ADDRESS, or NULL. From *LOW to *HIGH, exclusive, it is the newest one; both may be NULL. */
const struct mapping *space_find(const struct space *space, uint64_t address, uint64_t *low, uint64_t *high);
/* Is there one at the place of MAPPING, with the same offset? DSO: and of the same file. */
bool space_has(const struct space *space, const struct mapping *mapping, bool dso);
/* True if MAPPING changes nothing: the same DSO has been at the same place before, with nothing newer over it. */
bool space_knows(const struct space *space, const struct mapping *mapping);
size_t space_count(const struct space *space);
struct mapping *space_at(const struct space *space, size_t index);

#endif
