/* SPDX-License-Identifier: MIT */
/* Runs, in a child, code that a seccomp filter may kill, that may hang, or that complains on stderr. */
#ifndef COLLECTOR_DOCTOR_DOCTOR_GUARD_H
#define COLLECTOR_DOCTOR_DOCTOR_GUARD_H

#include <stdbool.h>

/* A child that takes longer hangs, however busy the machine is. */
enum { DOCTOR_PATIENCE_MS = 20000 };

struct doctor_guarded {
    int error;      /* -errno: the child could not be made; the rest is 0 */
    bool tried;     /* the child ended by itself */
    int signal;     /* that killed it; 0: none */
    bool late;      /* it took longer than the limit, and we killed it */
    char said[512]; /* its stderr, safe to print, lines joined by "; " */
};

/*
 * Runs WORK(STATE) in a child with stdout in /dev/null, for LIMIT_MS at most. It writes its results to shared memory.
 */
void doctor_guard(void (*work)(void *state), void *state, int limit_ms, struct doctor_guarded *ret);
/* The same with another program, which finds PRELOAD in LD_PRELOAD (NULL: nothing). RET_OUT[SIZE]: its stdout. */
void doctor_guard_program(const char *const *argv, const char *preload, struct doctor_guarded *ret, char *ret_out,
                          unsigned long size);

#endif
