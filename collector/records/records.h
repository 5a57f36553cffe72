/* SPDX-License-Identifier: MIT */
/*
 * perf records: where their fields are under the event configuration's attributes, whether they are valid, and how to
 * make new ones.
 */
#ifndef COLLECTOR_RECORDS_RECORDS_H
#define COLLECTOR_RECORDS_RECORDS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/config/event_config.h"
#include "collector/config/sample_fields.h"
#include "collector/records/space.h"
#include "common/buffer.h"

/* Offsets in a MMAP2 record: 24 bytes that say which file it is, and the path. */
enum { RECORDS_MAPPED_FILE = 40, RECORDS_MAPPED_PATH = 72 };

/* The fields of a sample before PERIOD, each of 8 bytes. */
#define RECORDS_FIELDS_TO_PERIOD                                                                       \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | \
     PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU)

struct records_layout {
    unsigned count;
    uint64_t sample_type[CONFIG_EVENTS];
    uint64_t read_format; /* of all events; PERF_FORMAT_GROUP, of leaders with values, is left out (values.h) */
    bool lost_known;      /* the counters report lost samples */
};

/* The writer of a record: task, event and time. */
struct records_stamp {
    pid_t pid, tid;
    uint64_t time_ns;
    uint64_t id;    /* of the event that owns the task's ring */
    unsigned event; /* its index in the event configuration */
};

/* The fields of COMM, FORK, EXIT and MMAP2 that we use. Pointers go into the record. */
struct records_comm {
    pid_t pid, tid;
    bool exec;
    const char *name;
};
struct records_task {
    pid_t pid, ppid, tid, ptid;
    uint64_t time_ns;
};
struct records_mmap {
    pid_t pid, tid;
    const char *path;
    struct mapping values; /* without time and path */
};

void records_layout_init(struct records_layout *layout, const struct event_config *config);

/* The size in bytes of the fields of TYPE, each of which has 8: of sample_type, without those of variable size. */
size_t records_fields_size(uint64_t type);
/* The IDENTIFIER of RECORD; 0: it has none. */
uint64_t records_id(const struct records_layout *layout, const struct perf_event_header *record);
/* Index of the event with ID, which is not 0; IDS as in struct attached. -1: none has it. */
int records_find_event(const struct records_layout *layout, const uint64_t *ids, uint64_t id);
/*
 * Index of the event that wrote RECORD, by its IDENTIFIER; IDS as in struct attached. Event 0 if there is no
 * identifier.
 */
unsigned records_event(const struct records_layout *layout, const uint64_t *ids,
                       const struct perf_event_header *record);
/* Time of the record, 0: it has none (or is too short for it). */
uint64_t records_time(const struct records_layout *layout, unsigned event, const struct perf_event_header *record);
/* The address of data (PERF_SAMPLE_ADDR) of a sample; 0: it has none. */
uint64_t records_address(const struct records_layout *layout, unsigned event, const struct perf_event_header *record);
/* The period of a sample that records_check() accepted, 0: it has none. */
uint64_t records_period(const struct records_layout *layout, unsigned event, const struct perf_event_header *record);
/* Sets it, if the sample has one. */
void records_set_period(const struct records_layout *layout, unsigned event, uint64_t period,
                        struct perf_event_header *record);
/* The writer of RECORD, by its TID field; 0 and 0: it has none. */
void records_writer(const struct records_layout *layout, unsigned event, const struct perf_event_header *record,
                    pid_t *ret_pid, pid_t *ret_tid);
/* Writes ID over RECORD's identifier of its event. Only for records that records_check() accepted. */
void records_set_id(const struct records_layout *layout, uint64_t id, struct perf_event_header *record);
/* Is RECORD long enough for its type, and are its strings terminated? Unknown types are accepted. */
bool records_check(const struct records_layout *layout, const struct perf_event_header *record);

/* Only for records that records_check() accepted. */
struct records_comm records_parse_comm(const struct perf_event_header *record);
struct records_task records_parse_task(const struct perf_event_header *record);
struct records_mmap records_parse_mmap(const struct perf_event_header *record);
/* Of READ, with the read_format of probe_attr(), without a group. */
struct records_reading {
    uint64_t value, enabled_ns, running_ns, lost;
};
struct records_reading records_parse_read(const struct records_layout *layout, const struct perf_event_header *record);
/* Of LOST and LOST_SAMPLES. */
uint64_t records_parse_lost(const struct perf_event_header *record);
/* Is a word of the record (an instruction pointer, an entry of the chain) in [START, END)? */
bool records_mentions(const struct perf_event_header *record, uint64_t start, uint64_t end);

/* Made records, appended to BUFFER in the form of the file: with the sample_id that the attributes ask for. */
void records_make_comm(const struct records_layout *layout, const struct records_stamp *stamp, const char *comm,
                       struct buffer *buffer);
void records_make_mmap(const struct records_layout *layout, const struct records_stamp *stamp,
                       const struct mapping *mapping, struct buffer *buffer);
/* A READ record, as the kernel writes it at the end of a task. */
void records_make_read(const struct records_layout *layout, const struct records_stamp *stamp,
                       const struct records_reading *reading, struct buffer *buffer);
/* A mapping of the kernel: pid -1. */
void records_make_kernel(const struct records_layout *layout, const struct records_stamp *stamp, uint64_t start,
                         uint64_t size, uint64_t offset, const char *name, struct buffer *buffer);

#endif
