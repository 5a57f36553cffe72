/* SPDX-License-Identifier: MIT */
/* Replays the records of one file: the state of threads, processes and mappings at the time of the current record. */
#ifndef ANALYZE_MODEL_REPLAY_H
#define ANALYZE_MODEL_REPLAY_H

#include "analyze/model/loader.h"

struct thread {
    int32_t pid, tid;
    uint32_t task; /* index in loader->tasks; in the second pass in profile.tasks, LOOKUP_NONE: unknown */
    uint32_t process;
    const char *comm;
    bool ended;
    bool described; /* perf described it from /proc, and no event has come since */
};

struct process {
    int32_t pid;
    struct space space; /* mappings of code */
    struct space data;  /* loader->data_wanted: mappings of code and data */
    bool exec_wanted;   /* the next file that it maps is its executable */
    const char *exec;
};

struct group_values {
    struct group_value *items;
    uint32_t count, capacity;
    struct lookup lookup;
};

/* stat_records.c */
struct stat_thread {
    int32_t tid; /* -1: all threads of the machine */
    char comm[16];
};

struct stat_state {
    struct stat_thread *threads; /* of the last THREAD_MAP */
    uint32_t thread_count, thread_capacity;
    struct stat_change *changes; /* counts since the last STAT_ROUND */
    uint32_t change_count, change_capacity;
    bool unscaled;   /* perf stat --no-scale */
    uint64_t end_ns; /* of the last STAT_ROUND: since the start; 0: none */
};

struct replay {
    struct loader *loader;
    struct input *input;
    struct file *file;
    replay_each *each; /* NULL: the first pass */
    replay_record *record;
    void *context;
    uint32_t own; /* of our files: the one thread that everything belongs to; LOOKUP_NONE: a file of perf */
    struct thread *threads;
    uint32_t thread_count, thread_capacity;
    struct lookup thread_lookup; /* by tid; a reused tid has its last thread */
    uint32_t last_thread;        /* a cache: most samples are of the thread of the sample before */
    struct process *processes;
    uint32_t process_count, process_capacity;
    struct lookup process_lookup; /* by pid */
    struct space kernel;
    struct space_limits limits, data_limits; /* of code; of process.data */
    enum chain_machine machine; /* set at the first sample, since a pipe has the feature record before it */
    bool machine_known;
    uint32_t tasks_made;
    uint32_t *events; /* by attr: index in the store; set for this many: */
    uint32_t events_known;
    uint64_t *lost; /* two per attr: of LOST, then of LOST_SAMPLES */
    uint32_t attr_count;
    const char **build_id_paths;   /* interned, parallel to features.build_ids */
    struct lookup build_id_lookup; /* by path */
    bool mappings_refused, data_refused;
    struct group_values group; /* of PERF_SAMPLE_READ */
    struct stat_state stat;
    uint64_t records;
};

/* threads.c: threads and processes. Out of memory they return -ENOMEM or LOOKUP_NONE. */
uint32_t threads_get(struct replay *replay, int32_t pid, int32_t tid);
uint32_t threads_process(struct replay *replay, int32_t pid);
/* The thread TID; NULL: there was none so far. */
const struct thread *threads_find(const struct replay *replay, int32_t tid);
int threads_fork(struct replay *replay, struct cursor payload);
int threads_exit(struct replay *replay, struct cursor payload);
int threads_comm(struct replay *replay, const struct record *record);
/* Makes the one thread of our file, which everything in it belongs to. */
int threads_own(struct replay *replay, uint32_t task);
struct task *threads_task(struct replay *replay, const struct thread *thread);

/* Names a thread and the first exec generation of its task. COMM is interned. 0 or -ENOMEM. */
int threads_rename(struct replay *replay, uint32_t thread, const char *comm);

/* replay.c: the store's event for ATTR. LOOKUP_NONE: out of memory. */
uint32_t replay_event(struct replay *replay, const struct attr *attr);

/* stat_records.c: takes a record of perf stat record. 0 or -ENOMEM. */
int stat_take(struct replay *replay, const struct record *record);
/* After the last record. */
void stat_finish(struct replay *replay);
void stat_release(struct stat_state *state);

/* group.c */
struct group_sample {
    const struct attr *attr; /* NULL: the file has no such event */
    uint64_t value;          /* as the kernel counted */
    uint64_t period;         /* 0: it counted nothing since the last reading */
};
/* Whether SAMPLE is a sample of each event that it read: read_count of them. */
bool group_has(const struct record *sample);
/* Event number AT of SAMPLE. 0 or -ENOMEM. */
int group_member(struct group_values *values, const struct attr_list *attrs, const struct record *sample, uint64_t at,
                 struct group_sample *ret);
void group_release(struct group_values *values);

/* code_records.c: code that is in no file */
/* Whether memory mapped from PATH belongs only to one process. */
bool code_is_generated(const char *path, size_t size);
/* Keeps PATH if it has the name of a jitdump file. PATH is interned. 0 or -ENOMEM. */
int code_take_dump(struct loader *loader, int32_t pid, const char *path);
/* Takes a PERF_RECORD_KSYMBOL. 0 or -ENOMEM. */
int code_take_symbol(struct replay *replay, const struct record *record);

/* maps.c */
int maps_take(struct replay *replay, const struct record *record);
int maps_start(struct replay *replay);

#endif
