/* SPDX-License-Identifier: MIT */
/* Registers and a copy of the stack of a thread; private to pstack/. */
#ifndef PSTACK_CAPTURE_H
#define PSTACK_CAPTURE_H

#include "target.h"

/*
 * Of a thread that sleeps in the kernel, without touching it: its stack pointer and where it is, the other registers
 * are CAPTURE_UNKNOWN. LIMIT: bytes of stack. False: it runs, or may not be looked at (thread->error).
 */
bool capture_asleep(struct target *target, struct target_thread *thread, size_t limit);
/*
 * Of any thread: stops it by ptrace(2), copies, and lets it go on. A call that it was in goes on, too, also where the
 * kernel alone would let it fail with EINTR. False: thread->error says why.
 */
bool capture_stopped(struct target *target, struct target_thread *thread, size_t limit);
/* Would that call of a sleeping THREAD begin anew with its whole time limit, or fail with EINTR? */
bool capture_would_disturb(const struct target_thread *thread);

/* No address, no aligned frame: what is computed of it leads nowhere. */
#define CAPTURE_UNKNOWN UINT64_C(0x5a5a5a5a5a5a5a5b)

#endif
