/* SPDX-License-Identifier: MIT */
/* Shared by the parts of --doctor: findings, facts from before the probes run, the probes themselves. */
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
    DOCTOR_NOTE,    /* worth knowing; a user can or need change nothing. Full profiling works */
    DOCTOR_LIMITED, /* there is a profile, but it lacks something */
    DOCTOR_REFUSED, /* nothing can be profiled */
};

struct doctor_finding {
    enum doctor_level level;
    char value[256];   /* what was found; the verdict quotes it */
    char meaning[512]; /* what it means for the profile; "": the value says it */
    char remedy[2048]; /* commands, a line each; "": there is nothing to change */
};

/* Sets a field. Shows what could control a terminal, and what does not fit, as report_safe() does. */
#define DOCTOR_TEXT(field, ...) doctor_text((field), sizeof(field), __VA_ARGS__)
void doctor_text(char *ret, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Appends to a field. */
#define DOCTOR_MORE(field, ...) doctor_text((field) + strlen(field), sizeof(field) - strlen(field), __VA_ARGS__)
/* Adds a line to the remedy. */
void doctor_remedy(struct doctor_finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* PATH as a word of a shell command, in a static buffer; "FILE" if it is too long or has control characters. */
const char *doctor_word(const char *path);

/* A parallel build or a server has so many tasks at the same time: a lower limit is reported. */
enum { DOCTOR_TASKS = 256 };

/* Results of our children (see doctor_guard.h), which write them to shared memory. Statuses are 0 or -errno. */
struct doctor_shared {
    int refusal; /* of a perf_event_open() with invalid flags: -EINVAL if the kernel itself has answered */
    int user;    /* task-clock of the own process in user space */
    int kernel;  /* the same, kernel included */
    int cycles;  /* the hardware's cycles, as far as our rights allow */
    int config_status;
    struct event_config config;
    int ring; /* mapping a ring of the configured size */
    struct doctor_cost cost;
    int timer; /* timer_create() of the thread's CPU time */
    int timer_fired;
    int memory_read; /* process_vm_readv() of itself: how timers walk stacks */
    /* A shell, started like any command: */
    int injection; /* starting it; the rest is known once it has ended: */
    bool notified, maps;
    int attached;
    int inherited; /* inherited events: inherited_open() */
};

struct doctor_status {
    uint64_t capabilities; /* effective */
    uint64_t bounding;     /* what programs may get by file capabilities */
    int seccomp;           /* 0: no filter, 1: strict, 2: filter; -1: the kernel does not tell */
    bool no_new_privileges;
};

struct doctor_facts {
    const struct doctor_args *args;
    struct doctor_status status;
    uid_t uid;
    gid_t gid;
    bool user_namespace;   /* rights and root are those of a user namespace; events ask for the machine's */
    const char *container; /* name of the program that made it: "docker", "podman"; "": unknown */
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
/* A capability on the machine, not in a user namespace. */
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
    DOCTOR_BY_SANDBOX, /* neither the kernel nor a filter answers */
    DOCTOR_NOT_IN_KERNEL,
    DOCTOR_BY_PARANOID,
    DOCTOR_BY_MODULE, /* a security module, or a filter that looks at arguments */
    DOCTOR_BY_DESCRIPTORS,
    DOCTOR_BY_OTHER,
};

/* Why perf_event_open() behaves as it does. KILLED: the child that called it got SIGSYS. */
enum doctor_cause doctor_judge_perf(const struct doctor_shared *found, bool killed, int64_t paranoid, bool perfmon,
                                    int seccomp);
/* How many tasks can have rings at the same time: BUDGET as session_ring_budget() has it. */
unsigned doctor_count_rings(uint64_t budget, size_t pages, bool dumps);
/* How many can be sampled (*RET_COUNTED: and counted) with LIMIT descriptors and EVENTS for each task. */
unsigned doctor_count_tasks(uint64_t limit, unsigned events, unsigned *ret_counted);

/* ---- Printing ---- */

/* One finding at most WIDTH columns wide; remedies are never broken, so that they can be copied. */
void doctor_print(FILE *to, const char *label, const struct doctor_finding *finding, int width, bool color);
/* TEXT (which has been made safe) in lines of WIDTH columns; the first begins at AT, further ones at INDENT. */
void doctor_wrap(FILE *to, const char *text, int at, int indent, int width);

#endif
