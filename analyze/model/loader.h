/* SPDX-License-Identifier: MIT */
/* The loader's own state; struct profile is what it shows of it. */
#ifndef ANALYZE_MODEL_LOADER_H
#define ANALYZE_MODEL_LOADER_H

#include "analyze/model/chain.h"
#include "analyze/model/dumps.h"
#include "analyze/model/profile.h"
#include "analyze/model/store.h"
#include "analyze/model/thread_pool.h"
#include "analyze/read/file.h"
#include "analyze/read/item.h"

/* One event of a task as READ records give it: an inherited event per CPU is several of the same name. */
struct task_reading {
    uint64_t id, value, enabled_ns, running_ns;
    uint32_t event;
};

struct task {
    struct profile_task shown;
    struct task_generation {
        struct profile_generation shown;
        uint32_t number;
    } *generations;
    uint32_t generation_count, generation_capacity;
    struct profile_count *counts; /* exec generation is a number here, an index when finished */
    uint32_t count_count, count_capacity;
    struct task_reading *readings;
    uint32_t reading_count, reading_capacity;
    bool own_counts;                /* the file that is read has items for them: READ records say nothing new */
    bool split;                     /* a file per exec generation */
    uint32_t first_generation;      /* of the file that is read */
};

/* One input file. */
struct input {
    const char *path;
    const void *bytes;              /* instead of the file, or NULL */
    size_t size;
    uint64_t device, inode;
    uint32_t session;               /* of loader->sessions; LOOKUP_NONE: not readable */
    bool own;                       /* one of our own files, with its task */
    int32_t pid, tid;               /* of our own files: the order in which a task's files are read */
    uint64_t start_ns;
    uint64_t bytes_to_read;         /* for progress */
    uint64_t limit;                 /* bytes of data that profile_load() read */
    uint32_t *tasks;                /* in the order in which its records made them */
    uint32_t task_count, task_capacity;
};

struct session_seen {
    uint8_t id[16];
    bool ours;
    uint64_t start_realtime_ns;
    uint32_t files;
    const char *path; /* of the first one */
};

struct loader {
    struct profile profile;         /* first: profile_free() gets this address */
    struct store store;
    struct chain chain;
    struct dumps dumps;
    uint64_t states;                /* of address spaces */
    bool counts_only;
    enum profile_merge merged;
    const bool *wanted;             /* the second pass is about these tasks alone, NULL: about all */
    profile_progress *progress;     /* or NULL */
    void *progress_context;
    uint64_t bytes_done, bytes_total; /* of the files before the one that is read, of all */
    struct thread_pool *pool;       /* that finds stacks; NULL where none are wanted, and once all are found */
    uint64_t guest_samples;         /* of the file that is read */
    uint64_t first_sample_ns;    /* the earliest time of a sample; 0: none has one */
    struct input *inputs;
    uint32_t input_count;
    struct session_seen *sessions;
    uint32_t session_count, session_capacity;
    struct task **tasks;            /* each of its own memory, so that adding one moves none */
    uint32_t task_count, task_capacity;
    struct lookup task_lookup;      /* ours, by pid, tid and start */
    uint32_t *place_of_task;        /* from the order of making to that of profile.tasks */
    struct profile_missed *missed;
    uint32_t missed_count, missed_capacity;
    struct profile_jit_dump *jit_dumps;
    uint32_t jit_dump_count, jit_dump_capacity;
    const char **notes;
    uint32_t note_count, note_capacity;
};

/* task.c */
struct task *task_new(struct loader *loader, uint32_t *ret_index);
void task_free(struct task *task);
/*
 * The exec generation NUMBER, made when it is not there; the last one stands for those that are too many. NULL without
 * memory.
 */
struct task_generation *task_generation_at(struct task *task, uint32_t number);
int task_add_count(struct task *task, const struct profile_count *count);
int task_add_reading(struct task *task, const struct task_reading *reading);
/* The readings so far become counts of GENERATION (UINT32_MAX: the whole task). */
int task_take_readings(struct task *task, uint32_t generation);

/* ours.c: the items of our own section */
bool ours_session(const struct file *file, struct pinject_item_session *ret);
bool ours_task(const struct file *file, struct pinject_item_task *ret);
const char *ours_first_comm(const struct file *file);
/*
 * The task of FILE (*ret_task LOOKUP_NONE when it has no item of one), with exec generations and counts; what it says
 * of the session. 0 or -ENOMEM.
 */
int ours_take(struct loader *loader, const struct file *file, uint32_t *ret_task);
/* The strings of the SESSION item. */
int ours_take_session(struct loader *loader, const struct file *file);

/* event.c */
/* The event of ATTR as the store knows it, or LOOKUP_NONE without memory. */
uint32_t event_of_attr(struct store *store, const struct attr *attr);
uint32_t event_of_count(struct store *store, const struct file *file, const struct pinject_item_count *count,
                        const char *name);

/* replay.c */
/* A sample that was placed; the chain is in loader->chain. Only for the second pass. */
typedef int replay_each(void *context, uint32_t task, uint32_t event, const char *comm, const struct record *sample);
/* First pass (EACH NULL): everything goes into LOADER. 0, -ENOMEM, or what EACH returned. */
int replay_file(struct loader *loader, struct input *input, struct file *file, replay_each *each, void *context);

/* warning.c */
/* A note of the session; each is kept once. 0 or -ENOMEM. */
int warning_add(struct loader *loader, const char *text);
/* What FILE, one of perf's that was read, has that is not shown. 0 or -ENOMEM. */
int warning_file(struct loader *loader, const struct file *file);

/* session.c */
/* What the features of FILE say of the session, first come first served. */
int session_take(struct loader *loader, const struct file *file, bool ours);
void session_of_file(const struct file *file, struct session_seen *ret, bool *ret_ours);

/* finish.c */
int finish_profile(struct loader *loader);
/* What grew while samples were read again. */
void loader_show(struct loader *loader);

/* load.c */
struct loader *loader_new(void);
void loader_free(struct loader *loader);
int loader_open(const struct input *input, struct file *file, struct problem *problem);
/*
 * Opens what was loaded once more. -ESTALE: it cannot be read any more, or another file has that name; said on stderr,
 * and counted in files_bad; -ENOMEM.
 */
int loader_open_again(struct loader *loader, const struct input *input, struct file *file);
/* Looks at INPUT: whose session it is. 0, or -errno with the reason in PROBLEM. */
int loader_look(struct loader *loader, struct input *input, struct problem *problem);
/* Reads INPUT for good; says on stderr what is wrong with its data when TALK. */
int loader_take(struct loader *loader, struct input *input, struct file *file, bool talk);
/* What is wrong with the data of FILE after it was read, or "". */
void loader_describe(const struct file *file, struct problem *ret);
/* profile_load() of bytes in memory, which live as long as the profile; for tests. */
int profile_load_memory(const void *bytes, size_t size, const struct profile_options *options, struct profile **ret);

/* choose.c */
/* Which session is meant: its index in *ret_session. -EINVAL after a message. */
int choose_session(struct loader *loader, const char *wanted, uint32_t *ret_session);
void choose_text(const uint8_t *id, size_t bytes, char *ret);

#endif
