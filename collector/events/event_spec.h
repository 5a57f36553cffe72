/* SPDX-License-Identifier: MIT */
/* What the user says of one event: what -e, --filter and --priv-levels mean, before anything is opened. */
#ifndef COLLECTOR_EVENTS_EVENT_SPEC_H
#define COLLECTOR_EVENTS_EVENT_SPEC_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { EVENT_NAME = 128, EVENT_UNIT = 16, EVENTS_MAX = 48 };

enum event_says {
    EVENT_SAYS_RATE = 1,          /* attr's sample_period, or freq and sample_freq */
    EVENT_SAYS_CHAIN = 2,         /* call-graph=fp */
    EVENT_SAYS_NO_CHAIN = 4,      /* call-graph=no */
    EVENT_SAYS_LEVEL = 8,         /* user space, kernel or hypervisor */
    EVENT_SAYS_MOST_PRECISE = 16, /* P: the highest precise_ip that the kernel accepts */
    EVENT_SAYS_NAME = 32,         /* name= */
    EVENT_SAYS_COUNT = 64,        /* it is not sampled: other events have periods, it has none */
    EVENT_SAYS_VALUES = 128,      /* S: samples of its group's leader have the counts of the whole group */
};

/* How TARGET is to be understood. */
enum event_target {
    EVENT_TARGET_NONE,
    EVENT_TARGET_SYMBOL,     /* of the command: its address goes into bp_addr, which has what is to be added */
    EVENT_TARGET_FILE,       /* uprobe: path of an ELF file; config1 points to it */
    EVENT_TARGET_FUNCTION,   /* kprobe: name of a function; config1 points to it */
    EVENT_TARGET_TRACEPOINT, /* SYSTEM:NAME */
};

/* A position-independent program: each process has it where the kernel put it. */
struct event_program {
    dev_t device;
    ino_t inode;
    uint64_t headers; /* address of its program headers, as the file has it: AT_PHDR has that of a process */
};

struct event_spec {
    char name[EVENT_NAME]; /* as written, or by name=: the name in files and reports */
    /* What the text says; all else is 0. With config1 a pointer to TARGET for probes. */
    struct perf_event_attr attr;
    uint32_t says;  /* enum event_says */
    unsigned item;  /* number from 1 of what the user wrote: one with a * is several events */
    unsigned group; /* number from 1 of its {}; 0: none */
    unsigned set;   /* number from 1 of its -e */
    bool leader;    /* the first of its group, or alone */
    bool nanoseconds;
    bool traces;  /* a tracepoint or a probe: it takes a filter */
    char pmu[32]; /* name of its dynamic PMU in sysfs; "": none */
    /* From the PMU's files. */
    char unit[EVENT_UNIT]; /* of the scaled value; "": none */
    double scale;          /* 0: none */
    bool per_package, snapshot;
    char cpumask[32]; /* the PMU counts on these CPUs, not for threads; "": for threads */
    bool relative;    /* bp_addr is an address as the file of PROGRAM has it */
    struct event_program program;
    enum event_target target_kind;
    char *target; /* owned */
    char *filter; /* owned; NULL: none */
};

#endif
