/* SPDX-License-Identifier: MIT */
/*
 * AArch64: the frame that the kernel puts on the stack for a signal handler, and that __kernel_rt_sigreturn removes.
 * That trampoline has no unwind table, or one that leads past the interrupted instruction; the frame at its stack
 * pointer is recognized by a record that each such frame has. Private to the library.
 */
#ifndef UNWIND_SIGNAL_FRAME_H
#define UNWIND_SIGNAL_FRAME_H

#include "unwind/unwind.h"

/* Is there one at STACK? *ret: the registers of the interrupted code. Always false on x86-64, which has tables. */
bool signal_frame_read(const struct unwind_dump *dump, uint64_t stack, struct unwind_regs *ret);

#endif
