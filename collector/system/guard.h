/* SPDX-License-Identifier: MIT */
/*
 * Shared memory whose file others may truncate: then a touch raises SIGBUS. Zeros replace it: no further requests come
 * through it, and known tasks stay profiled. Only one session of a process at a time can have that, as a signal handler
 * reaches its state only by static variables.
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
 * START, which guard_add() took, is about to be unmapped: another mapping of the same SIZE may have its place.
 * Thread-safe.
 */
void guard_remove(const void *start, size_t size);
/* Restores the action of SIGBUS. Nothing is unmapped. */
void guard_end(void);

#endif
