/* SPDX-License-Identifier: MIT */
/* What the records of one file mean, as of the moment that was reached: threads, processes and their mappings. */
#ifndef ANALYZE_MODEL_REPLAY_H
#define ANALYZE_MODEL_REPLAY_H

#include "analyze/model/loader.h"

struct thread {
    int32_t pid, tid;
    uint32_t task;          /* of the loader; in the second pass of profile.tasks; LOOKUP_NONE: not known any more */
    uint32_t process;
    const char *comm;
    bool ended;
    bool described;         /* by perf, from /proc, and nothing happened to it since */
};

struct process {
    int32_t pid;
    struct space space;
    bool exec_wanted;       /* the next file that is mapped is what it executes */
    const char *exec;
};

struct group_values {
    struct group_value *items;
    uint32_t count, capacity;
    struct lookup lookup;
};

struct replay {
    struct loader *loader;
    struct input *input;
    struct file *file;
    replay_each *each;      /* NULL: the first pass */
    void *context;
    uint32_t own;           /* our own files: the one thread that everything belongs to; LOOKUP_NONE: perf's */
    struct thread *threads;
    uint32_t thread_count, thread_capacity;
    struct lookup thread_lookup;   /* by tid; of several the last one */
    uint32_t last_thread;          /* most samples follow one of the same thread */
    struct process *processes;
    uint32_t process_count, process_capacity;
    struct lookup process_lookup;  /* by pid */
    struct space kernel;
    struct space_limits limits;
    enum chain_machine machine;    /* and what depends on it: since the first sample, as a pipe says it before that */
    bool machine_known;
    uint32_t tasks_made;
    uint32_t *events;              /* by attr: of the store; so many of them: */
    uint32_t events_known;
    uint64_t *lost;                /* by attr: LOST, and behind them LOST_SAMPLES */
    uint32_t attr_count;
    const char **build_id_paths;   /* interned, parallel to features.build_ids */
    struct lookup build_id_lookup; /* by path */
    bool mappings_refused;
    struct group_values group;     /* of PERF_SAMPLE_READ */
    uint64_t records;
};

/* threads.c: threads and processes. All return -ENOMEM or LOOKUP_NONE without memory. */
uint32_t threads_get(struct replay *replay, int32_t pid, int32_t tid);
uint32_t threads_process(struct replay *replay, int32_t pid);
int threads_fork(struct replay *replay, struct cursor payload);
int threads_exit(struct replay *replay, struct cursor payload);
int threads_comm(struct replay *replay, const struct record *record);
/* The thread of our own file: everything in it belongs to it. */
int threads_own(struct replay *replay, uint32_t task);
struct task *threads_task(struct replay *replay, const struct thread *thread);

/* group.c */
struct group_sample {
    const struct attr *attr;       /* NULL: not of the file */
    uint64_t period;               /* 0: nothing happened since it was read last */
};
/* Whether SAMPLE stands for all the events that it read: read_count of them. */
bool group_has(const struct record *sample);
/* Event number AT of SAMPLE. 0 or -ENOMEM. */
int group_member(struct group_values *values, const struct attr_list *attrs, const struct record *sample, uint64_t at,
                 struct group_sample *ret);
void group_release(struct group_values *values);

/* code_records.c: code that is in no file */
/* Whether memory that is mapped from PATH belongs to one process alone. */
bool code_is_generated(const char *path, size_t size);
/* PATH is interned: a jitdump file, where its name says so. 0 or -ENOMEM. */
int code_take_dump(struct loader *loader, int32_t pid, const char *path);
/* PERF_RECORD_KSYMBOL. */
int code_take_symbol(struct replay *replay, const struct record *record);

/* maps.c */
int maps_take(struct replay *replay, const struct record *record);
int maps_start(struct replay *replay);

#endif
