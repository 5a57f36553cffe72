/* SPDX-License-Identifier: MIT */
/*
 * AArch64: what the kernel puts on the stack for a signal's handler, and __kernel_rt_sigreturn takes away. That
 * trampoline has no unwind table, or one that leads past the interrupted instruction; what lies at its stack pointer is
 * known by the record that each such frame has. Private to the library.
 */
#ifndef UNWIND_SIGNAL_FRAME_H
#define UNWIND_SIGNAL_FRAME_H

#include "unwind/unwind.h"

/* Is there one at STACK? *RET are the registers of what was interrupted. Always false on x86-64, which has tables. */
bool signal_frame_read(const struct unwind_dump *dump, uint64_t stack, struct unwind_regs *ret);

#endif
