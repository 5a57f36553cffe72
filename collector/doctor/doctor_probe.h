/* SPDX-License-Identifier: MIT */
/* What the parts of --doctor share: findings, what is known before the probes run, the probes themselves. */
#ifndef COLLECTOR_DOCTOR_DOCTOR_PROBE_H
#define COLLECTOR_DOCTOR_DOCTOR_PROBE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "collector/config/event_config.h"
#include "collector/doctor/doctor.h"
#include "collector/doctor/doctor_cost.h"
#include "collector/doctor/doctor_executable.h"
#include "collector/doctor/doctor_guard.h"

enum doctor_level {
    DOCTOR_OK,
    DOCTOR_NOTE,    /* worth knowing; nothing that a user could or must change. Full profiling all the same */
    DOCTOR_LIMITED, /* a profile comes out, but less is in it */
    DOCTOR_REFUSED, /* nothing can be profiled */
};

struct doctor_finding {
    enum doctor_level level;
    char value[256];   /* what was found; the verdict quotes it */
    char meaning[512]; /* what it means for the profile; "": the value says it */
    char remedy[2048]; /* commands, a line each; "": there is nothing to change */
};

/* Sets a field; what could drive a terminal, and what does not fit, is shown as report_safe() does. */
#define DOCTOR_TEXT(field, ...) doctor_text((field), sizeof(field), __VA_ARGS__)
void doctor_text(char *ret, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Appends to one. */
#define DOCTOR_MORE(field, ...) doctor_text((field) + strlen(field), sizeof(field) - strlen(field), __VA_ARGS__)
/* Adds a line to the remedy. */
void doctor_remedy(struct doctor_finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* PATH as a word of a shell's command, in a static buffer; "FILE" when it is too long or has control characters. */
const char *doctor_word(const char *path);

/* Fewer tasks alive at the same time than a parallel build or a server has: then a limit is named as one. */
enum { DOCTOR_TASKS = 256 };

/* Found by children of ours (see doctor_guard.h), who write it into shared memory. Statuses are 0 or -errno. */
struct doctor_shared {
    int refusal; /* of a perf_event_open() whose flags make no sense: -EINVAL when the kernel itself has answered */
    int user;    /* task-clock of the own process in user space */
    int kernel;  /* the same, kernel included */
    int cycles;  /* the hardware's cycles, as far as the rights go */
    int config_status;
    struct event_config config;
    int ring;  /* mapping the planned ring */
    struct doctor_cost cost;
    int timer; /* timer_create() of the thread's CPU time */
    int timer_fired;
    int memory_read; /* process_vm_readv() of itself: how timers walk stacks */
    /* A shell, started as every command is: */
    int injection; /* of starting it; then, once it has ended: */
    bool arrived, maps;
    int attached;
    int inherited; /* inherited events: inherited_open() */
};

struct doctor_status {
    uint64_t capabilities; /* effective */
    uint64_t bounding;     /* what programs may get by their files' capabilities */
    int seccomp;           /* 0: no filter, 1: strict, 2: filter; -1: the kernel does not tell */
    bool no_new_privileges;
};

struct doctor_facts {
    const struct doctor_args *args;
    struct doctor_status status;
    uid_t uid;
    gid_t gid;
    bool user_namespace;   /* rights and root are of a user namespace; events ask for those of the machine */
    const char *container; /* name of the program that made it: "docker", "podman"; "": none is known */
    int64_t paranoid;      /* INT64_MIN: there is no such file */
    char self[PATH_MAX];   /* this program */
    struct doctor_shared *shared;
    struct doctor_guarded perf, config, cost, timer, injection;
    struct doctor_executable executable; /* of the command */
};

/* -ENOMEM when nothing could be found out. */
int doctor_facts_init(struct doctor_facts *facts, const struct doctor_args *args);
void doctor_facts_release(struct doctor_facts *facts);
/* Out of the text of /proc/self/status. */
struct doctor_status doctor_parse_status(const char *text);
/* Of the machine, not of a user namespace. */
bool doctor_has_capability(const struct doctor_facts *facts, unsigned number);

typedef void doctor_probe(const struct doctor_facts *facts, struct doctor_finding *finding);
doctor_probe doctor_perf_events, doctor_kernel_samples, doctor_hardware, doctor_sampler, doctor_rate,
    doctor_sample_cost, doctor_kernel_names;
doctor_probe doctor_timers, doctor_clock, doctor_accounting;
doctor_probe doctor_rings, doctor_descriptors, doctor_tasks, doctor_segment, doctor_output;
doctor_probe doctor_preload, doctor_preload_access, doctor_injection, doctor_outside, doctor_yama;
doctor_probe doctor_command_file, doctor_command_executable, doctor_command_rights, doctor_command_loader;

/* ---- Pure parts ---- */

enum doctor_cause {
    DOCTOR_WORKS,
    DOCTOR_USER_ONLY,
    DOCTOR_BY_SECCOMP,
    DOCTOR_BY_SECCOMP_KILL,
    DOCTOR_BY_SANDBOX, /* something that is neither the kernel nor a filter answers */
    DOCTOR_NOT_IN_KERNEL,
    DOCTOR_BY_PARANOID,
    DOCTOR_BY_MODULE, /* a security module, or a filter that looks at arguments */
    DOCTOR_BY_DESCRIPTORS,
    DOCTOR_BY_OTHER,
};

/* Why perf_event_open() does what it does. KILLED: the child that called it got SIGSYS. */
enum doctor_cause doctor_judge_perf(const struct doctor_shared *found, bool killed, int64_t paranoid, bool perfmon,
                                    int seccomp);
/* How many tasks that are alive together have rings: BUDGET as service_ring_budget() has it. */
unsigned doctor_count_rings(uint64_t budget, size_t pages, bool dumps);
/* How many are sampled (*RET_COUNTED: and counted) with LIMIT descriptors and EVENTS for each task. */
unsigned doctor_count_tasks(uint64_t limit, unsigned events, unsigned *ret_counted);

/* ---- Printing ---- */

/* One finding at most WIDTH columns wide; remedies are never broken, so that they can be copied. */
void doctor_print(FILE *to, const char *label, const struct doctor_finding *finding, int width, bool color);
/* TEXT (which has been made safe) in lines of WIDTH columns; the first begins at AT, further ones at INDENT. */
void doctor_wrap(FILE *to, const char *text, int at, int indent, int width);

#endif
