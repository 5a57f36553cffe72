/* SPDX-License-Identifier: MIT */
/* Registers and the system call of a thread that has stopped for ptrace(2); private to pstack/. */
#ifndef PSTACK_REGISTERS_H
#define PSTACK_REGISTERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "unwind/unwind.h"

struct registers {
    struct unwind_regs regs;
    bool in_call; /* the stop interrupted a system call: `call` with `args` */
    long call;
    uint64_t args[6];
};

/* 0 or -errno; -ENOEXEC: the registers of a 32-bit program. */
int registers_read(pid_t tid, struct registers *ret);
/*
 * Makes the kernel restart a call that would fail with EINTR only because we stopped it, unless a signal comes. SIGNAL:
 * the one delivered to the thread when it continues; 0: none.
 */
void registers_restart_call(pid_t tid, int signal);

#endif
