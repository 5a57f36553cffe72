/* SPDX-License-Identifier: MIT */
/* Takes registers and a copy of the stack of a thread; private to pstack/. */
#ifndef PSTACK_CAPTURE_H
#define PSTACK_CAPTURE_H

#include "target.h"

enum { CAPTURE_PENDING = 64 };

/* A thread that we trace and that has not stopped yet. */
struct capture_pending {
    pid_t tid;
    bool child; /* a child of this process, which waits for its end */
};

/* The kernel detaches the pending threads when the tracing thread ends. */
struct capture {
    struct capture_pending pending[CAPTURE_PENDING];
    size_t pending_count;
};

/*
 * Copies the stack of a thread that sleeps in the kernel, without touching it. Its stack pointer and instruction
 * pointer are known, the other registers are CAPTURE_UNKNOWN. LIMIT: bytes of stack. False: it runs (thread->error is
 * 0), or thread->error says why it cannot be read.
 */
bool capture_asleep(struct target *target, struct target_thread *thread, size_t limit);
/*
 * Stops any thread by ptrace(2), copies, and lets it continue. A system call that would fail with EINTR is restarted.
 * False: thread->error says why. All calls for one CAPTURE come from one thread, which then ends.
 */
bool capture_stopped(struct capture *capture, struct target *target, struct target_thread *thread, size_t limit);
/* Detaches pending threads that have stopped by now. */
void capture_settle(struct capture *capture);
/* Would a stop change what the call of a sleeping THREAD returns, or when? */
bool capture_would_disturb(const struct target *target, const struct target_thread *thread);

/* The value of unknown registers: no valid address, not aligned, so that values computed from it lead nowhere. */
#define CAPTURE_UNKNOWN UINT64_C(0x5a5a5a5a5a5a5a5b)

#endif
