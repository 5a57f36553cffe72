/* SPDX-License-Identifier: MIT */
/* The loader's internal state. struct profile is the public part. */
#ifndef ANALYZE_MODEL_LOADER_H
#define ANALYZE_MODEL_LOADER_H

#include "analyze/model/chain.h"
#include "analyze/model/dumps.h"
#include "analyze/model/profile.h"
#include "analyze/model/store.h"
#include "analyze/model/thread_pool.h"
#include "analyze/read/file.h"
#include "analyze/read/item.h"

/* One event of a task, from READ records. Inherited events are one per CPU, so several readings have the same event. */
struct task_reading {
    uint64_t id, value, enabled_ns, running_ns;
    uint32_t event;
    bool multiplexed; /* it counted for running_ns of enabled_ns */
};

struct task {
    struct profile_task shown;
    struct task_generation {
        struct profile_generation shown;
        uint32_t number;
    } * generations;
    uint32_t generation_count, generation_capacity;
    struct profile_count *counts; /* generation is its number here; an index once finished */
    uint32_t count_count, count_capacity;
    struct task_reading *readings;
    uint32_t reading_count, reading_capacity;
    struct profile_round_count *rounds;
    uint32_t round_count, round_capacity;
    bool own_counts;           /* the file being read has count items: READ records add nothing */
    bool split;                /* it has a file per exec generation */
    uint32_t first_generation; /* of the file being read */
};

/* One input file. */
struct input {
    const char *path;
    const void *bytes; /* memory to read instead of the file, or NULL */
    size_t size;
    uint64_t device, inode;
    uint32_t session; /* index into loader->sessions; LOOKUP_NONE: not readable */
    bool own;         /* one of our files, with a task item */
    bool lost;        /* one of our files, which lost its items: it was truncated */
    int32_t pid, tid; /* of our files: with start_ns, the order of a task's files; of lost ones, of the first record */
    uint64_t start_ns;
    uint64_t bytes_to_read; /* for progress */
    uint64_t limit;         /* bytes of data that profile_load() read */
    uint32_t *tasks;        /* in the order in which its records created them */
    uint32_t task_count, task_capacity;
};

struct session_seen {
    uint8_t id[16];
    bool ours;
    bool lost; /* stands for all of our files that lost their items, and belong to no other session */
    uint64_t start_realtime_ns;
    bool complete;             /* ours: it has ended, as one of its files says */
    uint64_t start_ns, end_ns; /* ours: CLOCK_MONOTONIC; the end is that of the last task of these files */
    uint32_t files;
    const char *path; /* of the first file */
    size_t base;      /* ours, and lost files: so many bytes of PATH are before .PID.TID */
};

struct loader {
    struct profile profile; /* first member: profile_free() gets this address */
    struct store store;
    struct chain chain;
    struct dumps dumps;
    uint64_t states; /* last state number of an address space */
    bool counts_only;
    bool data_wanted; /* mappings of data are kept, too */
    bool branches_shown;
    enum profile_merge merged;
    const bool *wanted;         /* tasks that the second pass gives; NULL: all */
    profile_progress *progress; /* or NULL */
    void *progress_context;
    uint64_t bytes_done, bytes_total; /* of the files before the one being read; of all files */
    struct thread_pool *pool;         /* looks up stacks; NULL: no stacks are wanted, or all are found */
    uint64_t guest_samples;           /* of the file being read */
    uint64_t first_sample_ns;         /* earliest time of a sample; 0: none has a time */
    struct input *inputs;
    uint32_t input_count;
    struct session_seen *sessions;
    uint32_t session_count, session_capacity;
    struct task **tasks; /* allocated one by one, so that adding a task moves none */
    uint32_t task_count, task_capacity;
    struct lookup task_lookup; /* tasks of our files, by pid and tid */
    uint32_t *place_of_task;   /* by index in tasks: the index in profile.tasks */
    struct profile_missed *missed;
    uint32_t missed_count, missed_capacity;
    struct profile_jit_dump *jit_dumps;
    uint32_t jit_dump_count, jit_dump_capacity;
    const char **notes;
    uint32_t note_count, note_capacity;
    struct profile_value *values; /* of the group that the sample being taken read; 0 of them: it read none */
    uint32_t value_count, value_capacity;
    bool rounds_wanted;
    uint64_t *round_times; /* in order, each once */
    uint32_t round_time_count, round_time_capacity;
};

/* task.c */
struct task *task_new(struct loader *loader, uint32_t *ret_index);
void task_free(struct task *task);
/*
 * The exec generation NUMBER, which is created if needed; beyond the limit, the last one. NULL: out of memory.
 */
struct task_generation *task_generation_at(struct task *task, uint32_t number);
int task_add_count(struct task *task, const struct profile_count *count);
/* ADD: to an earlier one of the same event and id; else it replaces that. */
int task_add_reading(struct task *task, const struct task_reading *reading, bool add);
/* Turns the readings so far into counts of GENERATION (UINT32_MAX: the whole task). */
int task_take_readings(struct task *task, uint32_t generation);

/* rounds.c: READING of TASK in a file of ours, of TIME_NS. 0 or -ENOMEM. */
int rounds_take(struct loader *loader, struct task *task, uint64_t time_ns, const struct task_reading *reading);

/* ours.c: the items of our feature section */
bool ours_session(const struct file *file, struct pinject_item_session *ret);
bool ours_task(const struct file *file, struct pinject_item_task *ret);
const char *ours_first_comm(const struct file *file);
/* Does FILE say that its session has ended? */
bool ours_complete(const struct file *file);
/*
 * Takes the task of FILE (*ret_task is LOOKUP_NONE if FILE has no task item) with its exec generations and counts. 0 or
 * -ENOMEM.
 */
int ours_take(struct loader *loader, const struct file *file, uint32_t *ret_task);
/* Takes the session's items: session, coverage, missed tasks, ... 0 or -ENOMEM. */
int ours_take_session(struct loader *loader, const struct file *file);

/* event.c */
/* The store's event for ATTR, or for COUNT. LOOKUP_NONE: out of memory. */
uint32_t event_of_attr(struct store *store, const struct attr *attr);
uint32_t event_of_count(struct store *store, const struct file *file, const struct pinject_item_count *count,
                        const char *name);

/* replay.c */
/* Gets each sample with its task, event and mappings; its stack is in loader->chain. Only for the second pass. */
typedef int replay_each(void *context, uint32_t task, uint32_t event, const char *comm, const struct record *sample,
                        const struct chain_place *place);
/* Gets each other record; TASK is LOOKUP_NONE and COMM "" where it has none, or one that is not known. */
typedef int replay_record(void *context, uint32_t task, const char *comm, const struct record *record);
struct replay_calls {
    replay_each *each;
    replay_record *record; /* or NULL */
    void *context;
};
/* Replays the records of FILE. In the first pass (CALLS NULL) everything goes into LOADER. 0, -ENOMEM, or what a call
 * returned. */
int replay_file(struct loader *loader, struct input *input, struct file *file, const struct replay_calls *calls);

/* warning.c */
/* Adds a note to the session, unless it has it already. 0 or -ENOMEM. */
int warning_add(struct loader *loader, const char *text);
/* Adds notes on what FILE, a perf.data file that was read, has and the report does not show. 0 or -ENOMEM. */
int warning_file(struct loader *loader, const struct file *file);

/* session.c */
/* Takes facts about the session from the features of FILE; the first file that has a fact counts. */
int session_take(struct loader *loader, const struct file *file, bool ours);
void session_of_file(const struct file *file, struct session_seen *ret, bool *ret_ours);

/* finish.c */
int finish_profile(struct loader *loader);
/* Updates the profile's view of arrays that grew while samples were read again. */
void loader_show(struct loader *loader);

/* load.c */
struct loader *loader_new(void);
void loader_free(struct loader *loader);
int loader_open(const struct input *input, struct file *file, struct problem *problem);
/*
 * Opens a loaded file again. 0; -ESTALE after a message: it cannot be read any more, or another file has its name; it
 * is counted in files_bad; or -ENOMEM.
 */
int loader_open_again(struct loader *loader, const struct input *input, struct file *file);
/* Opens INPUT to find its session. 0, or -errno with the reason in PROBLEM. */
int loader_look(struct loader *loader, struct input *input, struct problem *problem);
/* Reads INPUT into the profile. TALK: problems with its data are reported on stderr. */
int loader_take(struct loader *loader, struct input *input, struct file *file, bool talk);
/* Describes what is wrong with the data of FILE after it was read; "": nothing. */
void loader_describe(const struct file *file, struct problem *ret);
/* profile_load() of bytes in memory, which must outlive the profile; for tests. */
int profile_load_memory(const void *bytes, size_t size, const struct profile_options *options, struct profile **ret);

/* choose.c */
/* Finds the session that is meant; *ret_session is its index. 0, or -EINVAL after a message. */
int choose_session(struct loader *loader, const char *wanted, uint32_t *ret_session);
void choose_text(const uint8_t *id, size_t bytes, char *ret);
/* How many bytes of the path of INPUT, whose task is known, are before .PID.TID; 0: it has no such name. */
size_t choose_base(const struct input *input);

#endif
