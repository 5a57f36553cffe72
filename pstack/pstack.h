/* SPDX-License-Identifier: MIT */
/*
 * pinject-run --stacks and --tree: shows where every thread of running processes is, and what it waits for. A thread
 * that sleeps in the kernel is read without touching it: /proc/PID/task/TID/syscall has its stack pointer, and its
 * stack does not change. A thread that runs, or whose callers cannot be found without its registers, is stopped by
 * ptrace(2) while its stack is copied. See docs/STACKS.md.
 *
 * Context: one call at a time. A separate thread is the tracer. No other thread may wait for any child (waitpid(-1))
 * meanwhile, since it would take the tracer's reports.
 */
#ifndef PSTACK_PSTACK_H
#define PSTACK_PSTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct pstack_options {
    const pid_t *pids;
    size_t pid_count;
    bool tree; /* with all their descendants */
    bool json;
    int unwinder; /* enum unwind_engine_kind */
};

/*
 * Writes the answer to TO. 0; 1: some of it is missing, as the answer says; -ENOMEM; -EAGAIN: no thread can be started;
 * -EIO: TO could not be written.
 */
int pstack_print(const struct pstack_options *options, FILE *to);

#endif
