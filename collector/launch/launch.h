/* SPDX-License-Identifier: MIT */
/*
 * Starts the command. It is forked before the collector has threads, held at a gate until its events are armed, then
 * executed with everything (signals, limits, descriptors, process group, leadership of a session) as pinject-run itself
 * found it.
 */
#ifndef COLLECTOR_LAUNCH_LAUNCH_H
#define COLLECTOR_LAUNCH_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/sources/session.h"

struct launch {
    pid_t pid;
    int pidfd;
    int gate;            /* the child waits for a byte */
    int report;          /* the child's CPU time, then the error of a failed exec */
    uint64_t startup_ns; /* CPU time of the child before exec */
    uint64_t startup_switches, startup_minor_faults, startup_major_faults;
    /* event_config.inherits: the inherited set that the child is in, and its READ records; 0: it needs its own events */
    uint64_t inherited_set;
    unsigned readings;
    int inherit_error; /* 0, or -errno of that set */
    bool apart;        /* we lead our session; so the command leads one of its own */
    /* static, another class or libc: the command gets neither the preload object nor our variables */
    bool non_injectable;
};

/*
 * A closed reader of our stderr, or the user's limit of the file size, may cost us a message or a file, but not the
 * run. The command gets what was set before. First call of main().
 */
void launch_set_signals(void);
/* MASK: the signal mask that the command gets. 0 or -errno after report_error(). */
int launch_start(struct launch *launch, const struct session *session, char *const *command, const sigset_t *mask);
/*
 * Opens the gate and waits for the exec. 0 when the command runs; else the positive errno of its exec, after
 * report_error(), and the child is gone.
 */
int launch_go(struct launch *launch, const char *command);
/* Ends a child that still waits at the gate. Closes everything. */
void launch_release(struct launch *launch);

/*
 * Looks for libpinject.so beside this program (build tree, installed tree): an absolute path in RET[PINJECT_PATH]. 0,
 * or -errno after report_error(): not there, or its path has a blank or a colon, which LD_PRELOAD cannot hold.
 */
int launch_find_preload(char *ret);
/* The same, with the error's text in REASON[SIZE], which is left alone if the path is too long. */
int launch_look_for_preload(char *ret, char *reason, size_t size);

#endif
