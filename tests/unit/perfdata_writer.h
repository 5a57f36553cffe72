/* SPDX-License-Identifier: MIT */
/*
 * Writes perf.data files by hand, for the tests of what reads them: of a disk or of a pipe, of either byte order.
 * Written from the format's description alone: nothing of the reader's is used.
 */
#ifndef TEST_PERFDATA_WRITER_H
#define TEST_PERFDATA_WRITER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "pinject/format.h"

enum {
    WRITER_ATTRS = 8,
    WRITER_SAMPLE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                    PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN
};

struct writer {
    bool swap, pipe;
    struct buffer data; /* records */
    struct perf_event_attr attrs[WRITER_ATTRS];
    const char *names[WRITER_ATTRS];
    uint64_t ids[WRITER_ATTRS];
    unsigned attr_count;
    struct buffer features[256];
    /* Of the trailer and of samples: */
    uint32_t pid, tid, cpu;
    uint64_t time;
    size_t record; /* where the record that is being written begins */
};

void writer_init(struct writer *writer, bool swap, bool pipe);
void writer_release(struct writer *writer);
/* An event sampled by PERIOD (0: a counter), its id is 100 + its index. With WRITER_SAMPLE and sample_id_all. */
struct perf_event_attr *writer_attr(struct writer *writer, uint32_t type, uint64_t config, uint64_t period,
                                    const char *name);
/* The whole file. */
void writer_finish(struct writer *writer, struct buffer *ret);
void writer_save(struct writer *writer, const char *path);

void writer_u16(const struct writer *writer, struct buffer *to, uint16_t value);
void writer_u32(const struct writer *writer, struct buffer *to, uint32_t value);
void writer_u64(const struct writer *writer, struct buffer *to, uint64_t value);
/* A length, TEXT, padding. */
void writer_text(const struct writer *writer, struct buffer *to, const char *text);

/* A record: begin, its payload into writer->data, end (which adds the trailer to records of the kernel's that are no
 * samples). */
void writer_begin(struct writer *writer, uint32_t type, uint16_t misc);
void writer_end(struct writer *writer);

/* All with the pid, tid, cpu and time of the writer, for event 0 where that matters. */
void writer_comm(struct writer *writer, const char *comm, bool exec);
void writer_mmap(struct writer *writer, uint64_t start, uint64_t size, uint64_t pgoff, const char *path);
void writer_kernel_mmap(struct writer *writer, uint64_t start, uint64_t size, uint64_t pgoff, const char *path);
void writer_fork(struct writer *writer, uint32_t pid, uint32_t tid);
void writer_exit(struct writer *writer);
void writer_sample(struct writer *writer, unsigned attr, uint16_t mode, uint64_t ip, uint64_t period,
                   const uint64_t *chain, uint64_t count);
void writer_round(struct writer *writer);
void writer_build_id(struct writer *writer, const char *path, const unsigned char *id, uint8_t size, uint16_t mode);

/* Items of our own section; COUNT strings follow the fixed part. FIXED is of the machine's byte order, as are the
 * items. */
void writer_item(struct writer *writer, uint32_t type, const void *fixed, size_t size, const char *const *strings,
                 unsigned count);
/* A session whose id is 16 times ID. */
void writer_session(struct writer *writer, uint8_t id, uint64_t realtime);
void writer_task(struct writer *writer, uint32_t flags, int status, uint64_t start, uint64_t end, uint64_t lost);
void writer_generation(struct writer *writer, uint32_t number, uint64_t start, const char *comm, const char *exec,
                       const char *argument);
void writer_count(struct writer *writer, uint32_t attr, uint32_t generation, uint64_t value, uint64_t enabled,
                  uint64_t running, const char *name);

#endif
