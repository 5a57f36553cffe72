/* SPDX-License-Identifier: MIT */
/*
 * pinject-run --stacks and --tree: where every thread of running processes is, and what it waits for. A thread that
 * sleeps in the kernel is looked at without being touched: /proc/PID/task/TID/syscall has its stack pointer, and its
 * stack lies still. Only one that runs, or whose callers cannot be found without its registers, is stopped by
 * ptrace(2), for as long as it takes to copy its stack. docs/STACKS.md.
 *
 * Context: one call at a time. A thread of its own is the tracer; nobody else may wait for children of any kind
 * (waitpid(-1)) meanwhile, which would take what is reported of it.
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
    bool tree;                 /* with all that they started, and so on */
    bool json;
    int unwinder;              /* enum unwind_engine_kind */
};

/*
 * Writes the answer to TO. 0; 1: some of it could not be had, which the answer says; -ENOMEM; -EAGAIN: no thread can be
 * started; -EIO: TO took not all.
 */
int pstack_print(const struct pstack_options *options, FILE *to);

#endif
