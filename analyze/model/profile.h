/* SPDX-License-Identifier: MIT */
/*
 * The profile: the data of all input files, independent of how it is shown. profile_load() builds it from result files
 * of pinject and from perf.data files of perf. Its memory grows with distinct stacks, tasks and modules, not with
 * samples.
 *
 * All pointers belong to the profile and live until profile_free(). Strings are interned: equal strings are equal
 * pointers. Strings are as recorded: escape them (report_safe) before they reach a terminal.
 */
#ifndef ANALYZE_MODEL_PROFILE_H
#define ANALYZE_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_event {
    const char *name; /* "task-clock", "cycles:u" */
    uint32_t type;
    uint64_t config;
    bool nanoseconds; /* weights and counts are in nanoseconds */
    bool sampled;     /* at least one file samples it */
    bool frequency;   /* sample_value is in Hz, else a period */
    uint64_t sample_value;
    bool exclude_kernel;
    uint64_t samples; /* in all tasks */
    uint64_t weight;  /* sum of their periods */
    uint64_t lost;
    uint32_t set;     /* number of its event set, which took turns with others (--switch-timeout); 0: none */
    bool grouped;     /* its weight is what samples read of it: see struct profile_value */
    const char *unit; /* of a count times scale: "Joules"; NULL: a number of events */
    double scale;     /* 0: none */
};

struct profile_count {
    uint32_t event;      /* index into events */
    uint32_t generation; /* index into the task's exec generations, UINT32_MAX: the whole task */
    uint64_t value;      /* as the kernel counted */
    uint64_t enabled_ns;
    uint64_t running_ns;
    uint64_t scaled; /* value * enabled / running (an estimate if running < enabled); value if it never ran */
};

/* What an event counted up to a round of --print-interval since the one before; left out if the task did not run. */
struct profile_round_count {
    uint64_t time_ns; /* of the round */
    uint32_t event;
    uint64_t value, enabled_ns, running_ns;
};

struct profile_generation {
    uint64_t start_ns;
    const char *comm;
    const char *exec;           /* "" when unknown */
    const char *const *cmdline; /* cmdline_count strings */
    uint32_t cmdline_count;
};

enum profile_task_source {
    PROFILE_SOURCE_UNKNOWN,
    PROFILE_SOURCE_PERF,
    PROFILE_SOURCE_INHERITED,
    PROFILE_SOURCE_TIMER,
    PROFILE_SOURCE_ACCOUNTING,
    PROFILE_SOURCE_CPU,
};

struct profile_task {
    int32_t pid, tid, ppid;     /* ppid -1: unknown */
    int32_t parent_tid;         /* creator; 0: unknown */
    const char *file;           /* input file */
    const char *comm;           /* the last one */
    const char *exec;           /* of the last exec generation */
    const char *const *cmdline; /* of the last exec generation; a thread has that of its process */
    uint32_t cmdline_count;
    const struct profile_generation *generations;
    uint32_t generation_count;
    uint64_t start_ns, end_ns; /* in the session's clock; 0: unknown */
    bool ended;                /* it ended at end_ns */
    int exit;                  /* exit status as a shell shows it; -1: unknown */
    enum profile_task_source source;
    bool counted_only;
    bool root;
    bool tree;           /* its counts include those of all its descendants, which have no files */
    uint32_t first_exec; /* number of the exec that began the first exec generation; 0: none did (a child of fork) */
    uint64_t startup_ns, exit_ns;
    bool exit_cost;   /* exit_ns is known */
    uint64_t samples; /* of all events */
    uint64_t weight;  /* of the shown event: see profile_select_event() */
    uint64_t lost;
    const struct profile_count *counts;
    uint32_t count_count;
    const struct profile_round_count *rounds; /* by time; only with profile_options.rounds */
    uint32_t round_count;
    uint32_t index; /* in tasks */
};

struct profile_module {
    const char *path; /* as mapped: "/usr/lib/libc.so.6", "[vdso]", "//anon", "[kernel.kallsyms]", "[unknown]" */
    const unsigned char *build_id;
    size_t build_id_size; /* 0: unknown */
    bool kernel;
    int32_t pid;           /* of memory without a file ("//anon", "[heap]": JIT code), a module per process; else 0 */
    const char *symbol;    /* the kernel's name of the only function in it (a BPF program); else NULL */
    uint64_t symbol_start; /* its address */
    uint32_t index;
};

/*
 * The place of an instruction pointer. For a caller the chain has the return address, which may belong to the next line
 * or even the next function. The frame's offset is one less, inside the call instruction, so that look-ups by offset
 * are right. Add `caller` to get the recorded address (as perf script shows it).
 */
struct profile_frame {
    const struct profile_module *module; /* NULL: no mapping known at that time */
    uint64_t offset; /* in the file (ip - start + pgoff); the address itself for the kernel, without a module, and
                        where module->pid is set. One less if caller */
    uint64_t ip;     /* one of its addresses, as recorded */
    bool kernel;
    bool caller;    /* a return address: 1 was subtracted */
    uint32_t index; /* in frames */
};

/* A call chain: frames[0] is the leaf, where the sample hit; the last one is the outermost caller. */
struct profile_stack {
    const uint32_t *frames; /* indices into frames */
    uint32_t depth;         /* at least 1 */
    bool truncated;         /* callers are missing: the recorder's limit was reached */
};

/* The sum of samples that are equal in task, event, stack and comm. */
struct profile_entry {
    uint32_t task; /* task, event, stack: indices */
    uint32_t event;
    uint32_t stack;
    const char *comm; /* at the time of the sample */
    uint64_t samples;
    uint64_t weight;
};

struct profile_missed {
    const char *reason;
    const char *comm;
    uint64_t count;
    uint64_t cpu_ns;
};

/* A jitdump file (jit-PID.dump), which describes the JIT code of a process. */
struct profile_jit_dump {
    int32_t pid;
    const char *path;
};

/* Which events the recorder opened for the tasks: their own, or those of --sampler. */
enum profile_sampler {
    PROFILE_SAMPLER_TASK,
    PROFILE_SAMPLER_INHERIT,
    PROFILE_SAMPLER_CPU,
    PROFILE_SAMPLER_AUTO, /* the first, and from some time on the third */
};

/* The period of a clock whose periods the recorder makes longer, with rate_auto: 999 Hz. */
enum { PROFILE_RATE_AUTO_NS = 1000000000 / 999 };

struct profile_session {
    uint8_t id[16];
    bool ours;           /* false: a file of perf, or with items_lost */
    bool items_lost;     /* truncated files of pinject, and none that says which run it was */
    const char *version; /* of the recorder */
    uint64_t start_ns, start_realtime_ns;
    const char *const *arguments; /* the command line */
    uint32_t argument_count;
    uint32_t flags; /* enum pinject_session_flags */
    int32_t root;
    bool bare;
    bool exclude_kernel;
    enum profile_sampler sampler;
    bool rate_auto;           /* the recorder chose the rate of a sampled clock (-F auto) */
    const char *event_reason; /* why the default event is not cycles, or "" */
    const char *hostname, *osrelease, *arch, *cpudesc;
    uint32_t cpus;
    uint64_t memory_bytes;
    const char *clock; /* "monotonic" */
    /* For the symbols of the kernel: */
    const unsigned char *kernel_build_id;
    size_t kernel_build_id_size;
    const char *kernel_reference; /* "_text" or "_stext", NULL: unknown */
    uint64_t kernel_reference_address;
    /* Coverage; coverage_known is false without an item; coverage_complete is false while the session runs. */
    bool coverage_known, coverage_complete;
    uint64_t cpu_ns, attributed_ns, collector_ns, recorded_tasks, recorded_files;
    uint64_t incomplete_files, unwritten_samples; /* could not be written (a full disk) */
    uint64_t user_ns, kernel_ns;                  /* CPU time of the tree, from rusage; 0: not known */
    uint64_t machine_ns, others_ns; /* elapsed time, and CPU time of other programs meanwhile; 0: not known */
    /* Call stacks with a user part, if they were unwound (-g dwarf, auto): all of them, and those that reach the
     * outermost frame, by unwind tables or by frame pointers of a process that was found to have them. */
    uint64_t stacks, whole_stacks;
    const struct profile_missed *missed;
    uint32_t missed_count;
    const char *const *notes;
    uint32_t note_count;
};

/* What else, besides stack and event, samples of one entry have in common. */
enum profile_merge {
    PROFILE_BY_TASK,  /* task and comm */
    PROFILE_BY_COMM,  /* comm */
    PROFILE_BY_STACK, /* nothing else */
};

struct profile {
    struct profile_session session;
    const struct profile_event *events;
    uint32_t event_count;
    uint32_t event;             /* the shown one: see profile_select_event() */
    struct profile_task *tasks; /* in order of start */
    uint32_t task_count;
    const struct profile_module *const *modules;
    uint32_t module_count;
    const struct profile_jit_dump *jit_dumps;
    uint32_t jit_dump_count;
    const struct profile_frame *frames;
    uint32_t frame_count;
    const struct profile_stack *stacks;
    uint32_t stack_count;
    const struct profile_entry *entries;
    uint32_t entry_count;
    /* Sums by task and event over all stacks (all have stacks[0], whose only frame is nowhere), in the order of their
     * first samples. */
    const struct profile_entry *sums;
    uint32_t sum_count;
    const uint64_t *rounds; /* times of the rounds of --print-interval, in order; only with profile_options.rounds */
    uint32_t round_count;
    /* In a report's document (json_document.h) entries and sums do not say which command they belong to: */
    bool document;
    const struct profile_entry *commands;
    uint32_t command_count;
    enum profile_merge merged; /* unless PROFILE_BY_TASK, entries are of all tasks and have the first as their task */
    uint64_t lost;
    uint32_t files_read, files_bad, files_other_session; /* other_session: left out */
    uint32_t files_truncated;                            /* of files_read: records are missing at their end */
    /* Private state of the loader. */
    void *loader;
};

/* Called from time to time while files are read: DONE of TOTAL bytes. */
typedef void profile_progress(void *context, uint64_t done, uint64_t total);

struct profile_options {
    /* --session: prefix of the id in hex, NULL: the newest. "all" is refused: sessions are never mixed. */
    const char *session;
    const char *event;          /* --event: name of the shown event, NULL: the first sampled one */
    bool rounds;                /* the counters at the rounds of --print-interval are wanted */
    bool data;                  /* mappings of data are kept, too, for profile_sample_data() */
    bool branches;              /* branch stacks are shown: no note says that another view shows them */
    bool counts_only;           /* samples are not needed (tree, counts): chains may be skipped */
    unsigned threads;           /* that look up stacks; 0: one per CPU. The result does not depend on it */
    profile_progress *progress; /* or NULL */
    void *progress_context;
    enum profile_merge merged;
    bool merged_foreign;  /* `merged` is only for files that are not ours; ours get PROFILE_BY_TASK */
    uint64_t merge_above; /* with more bytes of files PROFILE_BY_TASK becomes PROFILE_BY_STACK; 0: never.
                                    profile_add_entries() then gives single tasks */
    /* Where programs are, to unwind their stacks (perf record --call-graph dwarf), as for symbolization: */
    const char *symfs; /* prefix of every recorded path, or NULL */
    const char *const *debug_paths;
    size_t debug_path_count;
    int unwinder; /* enum unwind_engine_kind */
};

/*
 * Reads PATHS[COUNT]. A bad file is reported on stderr (name, reason), skipped, and counted in files_bad. If the files
 * are of several sessions, the newest session is taken, and a note says so. 0, -ENOENT: no file could be read, -EINVAL
 * after a message: a wrong option, -ENOMEM.
 */
int profile_load(const char *const *paths, size_t count, const struct profile_options *options, struct profile **ret);
void profile_free(struct profile *profile);

/*
 * Makes the event NAME (NULL: the first sampled one that has samples) the shown one: sets profile->event and the weight
 * of every task. 0, or -EINVAL after a message that lists the events. profile_load() calls it with options->event.
 */
int profile_select_event(struct profile *profile, const char *name);

/* The id as hex digits, for --session. RET has room for 33 bytes. */
void profile_session_text(const struct profile_session *session, char *ret);

struct record;
struct chain_place;

/* What a sample read of an event of its group (PERF_SAMPLE_READ). */
struct profile_value {
    uint32_t event;
    uint64_t total; /* as the kernel counted */
    uint64_t delta; /* since the sample before that read the event, in the same thread if the event is inherited */
};

/* One sample as recorded, for script. Valid only during the call. */
struct profile_sample {
    const struct profile_task *task;
    uint32_t event;
    uint64_t time_ns;
    uint32_t cpu; /* UINT32_MAX: unknown */
    uint64_t ip;
    uint64_t period;
    const char *comm;
    const uint32_t *frames; /* indices into profile->frames, leaf first */
    const uint64_t *ips;    /* of the frames, as recorded (return addresses of callers) */
    uint32_t depth;
    /* All values that it read. A sample that reads a group is given once for each event that counted something. */
    const struct profile_value *values;
    uint32_t value_count; /* 0: none */
    const char *trace;    /* "NAME=VALUE NAME=VALUE" of a tracepoint whose fields the file describes; NULL: not known */
    const struct record *record;     /* analyze/read/sample_fields.h has the rest of it */
    const struct chain_place *place; /* for profile_sample_code() and profile_sample_data() */
};

struct profile_mapping {
    uint64_t start, end, pgoff;          /* end: after the last byte */
    const struct profile_module *module; /* NULL: there is no such mapping */
};

/* The mappings around an address of the user's data. */
struct profile_data {
    struct profile_mapping at;     /* that contains it; of code only, unless profile_options.data is set */
    struct profile_mapping before; /* that ends where `at` begins */
    /* Of code: the one that contains it, the nearest one below, and the nearest one above. */
    struct profile_mapping code[3];
};

/* Where a code ADDRESS, such as that of a branch, lay at the time of SAMPLE. The frame is not in profile->frames, and
 * its index is not set. */
struct profile_frame profile_sample_code(const struct profile *profile, const struct profile_sample *sample,
                                         uint64_t address);
/* Whether the addresses of SAMPLE are those of a guest. The code of a guest is in the module "[guest]". */
bool profile_sample_is_guest(const struct profile_sample *sample);
/* What lay at and around ADDRESS at the time of SAMPLE, which is no sample of a guest. */
struct profile_data profile_sample_data(const struct profile *profile, const struct profile_sample *sample,
                                        uint64_t address);
/* Whether ADDRESS is one of the kernel's: on every 64-bit machine it has the upper half. */
static inline bool profile_is_kernel(uint64_t address)
{
    return address >> 63;
}

/* A record that is no sample. Valid only during the call. */
struct profile_record {
    const struct profile_task *task; /* that made it; NULL: the record does not say, or the task is not known */
    const char *comm;                /* of the task at that time; "": not known */
    const struct record *record;     /* analyze/read/payload.h has its fields */
};

/* Reads the files again and calls EACH for every sample of the session, in order of time within a task; EACH returns 0
 * to go on. Returns what EACH returned, or -errno. A file that is gone or has changed is reported and counted in
 * files_bad; samples only have frames and events that profile_load() found. */
typedef int profile_each(void *context, const struct profile_sample *sample);
int profile_samples(struct profile *profile, profile_each *each, void *context);
/* The same, and calls EACH_RECORD for all other records, each at its place; records without a time come when they are
 * read. */
typedef int profile_each_record(void *context, const struct profile_record *record);
int profile_records(struct profile *profile, profile_each *each, profile_each_record *each_record, void *context);

/*
 * Reads the files of a merged profile again, and appends the entries of the shown event of the tasks with WANTED[index]
 * (NULL: all). Pointers to entries and stacks become invalid. Data that a file did not have before is left out and
 * reported. 0 or -ENOMEM.
 */
int profile_add_entries(struct profile *profile, const bool *wanted);

/* What a feature section says: see analyze/read/feature_facts.h. */
struct profile_fact {
    const char *section; /* "NUMA_TOPOLOGY" */
    uint32_t item;       /* of the section; facts of an item are neighbours */
    const char *name;
    const char *text; /* NULL: a number */
    uint64_t number;
};

/* The contents of one file, for `panalyze info`; nothing else is read. */
struct profile_file {
    const char *path;
    uint64_t size, data_size;
    uint32_t parts; /* of a directory of perf: files beside its `data` */
    bool ours, swapped, pipe;
    uint64_t records[96];     /* by record type; the last counts all other types */
    uint64_t truncated_bytes; /* bytes at the end that are no whole record */
    const struct profile_session *session;
    const struct profile_event *events;
    uint32_t event_count;
    const struct profile_task *tasks;
    uint32_t task_count;
    const char *const *feature_names;
    uint32_t feature_count;
    const struct profile_fact *facts; /* in the order of the sections */
    uint32_t fact_count;
    uint64_t missing_bytes; /* of the data, by the header, beyond the end of the file: a cut-off copy */
    const char *problem;    /* what is wrong with it, or "" */
    void *loader;           /* private */
};
/* 0, or -errno after report_error(). */
int profile_file_load(const char *path, struct profile_file **ret);
void profile_file_free(struct profile_file *file);

#endif
