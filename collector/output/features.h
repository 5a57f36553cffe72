/* SPDX-License-Identifier: MIT */
/*
 * The parts of a result file around its records: header and attrs before them, feature sections after them. What all
 * files of a session have in common is built once. Context: the event loop's thread only.
 */
#ifndef COLLECTOR_OUTPUT_FEATURES_H
#define COLLECTOR_OUTPUT_FEATURES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/output/result_task.h"
#include "collector/records/records.h"
#include "collector/system/machine.h"
#include "common/buffer.h"
#include "common/perfdata.h"

/* A section's bytes in constant, or in once. */
struct features_part {
    unsigned bit;
    bool once; /* in the file of the first task only */
    size_t offset, size;
};

enum { FEATURES_TOPOLOGY = 5 };

struct features {
    const struct session *session;
    struct machine machine;
    size_t attr_size; /* of each attr in the files */
    size_t attrs_at;  /* offset of the attrs, after the ids */
    size_t front;     /* bytes before the data: room for all events of the event configuration */
    struct perf_event_attr attrs[CONFIG_EVENTS]; /* as the files have them */
    struct records_layout layout;
    bool values;                    /* some samples have the counts of a group (values.h) */
    struct buffer constant;         /* sections that are the same in every file */
    struct buffer once;             /* those that only the first task's file has */
    struct features_part parts[24]; /* of both, in bit order */
    unsigned part_count;
    struct features_topology {
        pthread_mutex_t lock;                          /* of read, and of parts and bytes until they are read */
        bool read, added;                              /* added: bytes and parts stand in once and in parts above */
        struct features_part parts[FEATURES_TOPOLOGY]; /* size 0: not known */
        struct buffer bytes;
    } topology;
    struct buffer names; /* EVENT_DESC's strings, one for each event */
    size_t name_at[CONFIG_EVENTS + 1];
    struct buffer kernel; /* record with the kernel's mapping */
    bool kernel_known;
    struct buffer arguments; /* what the user typed, each with its NUL */
    uint32_t argument_count;
    struct buildids *buildids;
    struct packer *packer;
    struct buffer items; /* items to be packed */
};

int features_init(struct features *features, const struct session *session);
void features_release(struct features *features);
/* Reads the sections about processors, memory nodes, caches and PMUs from sysfs: the first task's file does, if it was
 * not done before. It takes a millisecond, or more where there are many CPUs. Any thread. */
void features_read_topology(struct features *features);
/* What every file begins with: the kernel's mapping, or nothing. */
const struct buffer *features_kernel(struct features *features);
/* The events that are in the file of a task with IDS, as a bit set of the event configuration: at least the first. */
uint64_t features_events(const struct features *features, const uint64_t ids[CONFIG_EVENTS]);
/* The header of such a task's file, without data and features. */
void features_header(const struct features *features, const uint64_t ids[CONFIG_EVENTS], struct perfdata_header *ret);
/* The ids and attrs of such a file, into FRONT[features->front]. */
void features_front(const struct features *features, const uint64_t ids[CONFIG_EVENTS], unsigned char *front);
/* One READ record for each event, with what it counted beyond READ, which has it afterwards; NULL: in all. */
void features_reads(const struct features *features, const struct result_task *task, struct attach_value *read,
                    struct buffer *to);
/* Appends the table of sections and the sections, which go to OFFSET of the file, after the records that TO has from
 * DATA on. BITS: as in the header. */
void features_sections(struct features *features, const struct result_task *task,
                       const struct result_coverage *coverage, const char *note, uint64_t offset, struct buffer *to,
                       size_t data, uint64_t bits[4]);

#endif
