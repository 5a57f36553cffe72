/* SPDX-License-Identifier: MIT */
/*
 * Shared memory whose file others may cut short: a touch of it is a SIGBUS then. Zeros take its place: no further
 * requests come through it, the tasks that are known stay profiled. One session of a process at a time has that, as
 * a signal handler has no other way to it than static variables.
 */
#ifndef COLLECTOR_SYSTEM_GUARD_H
#define COLLECTOR_SYSTEM_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Catches SIGBUS. False: it cannot be caught, or another session has it. */
bool guard_begin(void);
/* START was mapped, with SIZE bytes. Thread-safe. False: there is no room, or guard_begin() was not called. */
bool guard_add(void *start, size_t size);
/*
 * START, which guard_add() took, is about to be unmapped: another mapping of that SIZE may have its place. Thread-safe.
 */
void guard_remove(const void *start, size_t size);
/* SIGBUS is what it was. Nothing is unmapped. */
void guard_end(void);

#endif
