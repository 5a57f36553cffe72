/* SPDX-License-Identifier: MIT */
/* The feature sections of one file, or the feature records of a pipe's: facts about the recording and its machine. */
#ifndef ANALYZE_READ_FEATURE_H
#define ANALYZE_READ_FEATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/read/arena.h"
#include "analyze/read/attr.h"

enum { FEATURE_BITS = 256, FEATURE_ID_SIZE = 20, FEATURE_KEPT = 32 /* sections below are kept as they are */ };

struct feature_build_id {
    const char *path;
    unsigned char id[FEATURE_ID_SIZE];
    uint8_t size;
    bool kernel;
};

struct features {
    struct arena *arena; /* holds everything below */
    uint64_t present[FEATURE_BITS / 64];
    const char *hostname, *osrelease, *version, *arch, *cpudesc, *cpuid; /* "" when unknown */
    uint32_t cpus, cpus_available;                                       /* online; that the machine can have */
    uint64_t memory_kb;
    const char **arguments; /* of the recorder */
    uint32_t argument_count;
    struct feature_build_id *build_ids; /* plain memory */
    uint32_t build_id_count, build_id_capacity;
    uint64_t sample_first_ns, sample_last_ns;
    uint64_t wall_ns, clock_ns; /* the same moment: CLOCK_REALTIME and the samples' clock; 0: unknown */
    uint32_t compression;       /* 1: zstd */
    struct cursor data_end;     /* last bytes of the data: the dictionary of a packed section, set before that */
    struct cursor sections[FEATURE_KEPT]; /* see feature_facts.h; BUILD_ID and EVENT_DESC are not kept */
    const unsigned char *pinject;         /* our own section, see pinject/format.h */
    size_t pinject_size;
};

void features_init(struct features *features, struct arena *arena);
void features_release(struct features *features);

/* NULL: it has no name. */
const char *feature_name(uint32_t number);
static inline bool feature_present(const struct features *features, uint32_t number)
{
    return number < FEATURE_BITS && (features->present[number / 64] >> (number % 64) & 1);
}

/*
 * Parses section NUMBER with its CONTENT; of a broken section, what can be read. Names of events go to ATTRS. 0 or
 * -ENOMEM.
 */
int feature_take(struct features *features, struct attr_list *attrs, uint32_t number, struct cursor content);
/* Parses one struct build_id_event without its header. 0 or -ENOMEM. */
int feature_take_build_id(struct features *features, struct cursor content, uint16_t misc);

#endif
