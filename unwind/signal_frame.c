/* SPDX-License-Identifier: MIT */
#include "unwind/signal_frame.h"

#if defined(__aarch64__)
#include <asm/sigcontext.h>
#include <signal.h>
#include <ucontext.h>

#include "unwind/expression.h"

/* struct rt_sigframe of the kernel: siginfo, then ucontext. */
#define CONTEXT   sizeof(siginfo_t)
#define REGISTERS (CONTEXT + offsetof(ucontext_t, uc_mcontext.regs))
#define RECORDS   (CONTEXT + offsetof(ucontext_t, uc_mcontext.__reserved))

_Static_assert(REGISTERS == 312 && RECORDS == 592, "the kernel's ABI");
_Static_assert(offsetof(ucontext_t, uc_mcontext.pc) - offsetof(ucontext_t, uc_mcontext.regs) == 8 * UNWIND_IP,
               "x0 to x30, sp, pc: in the order of DWARF's numbers");

bool signal_frame_read(const struct unwind_dump *dump, uint64_t stack, struct unwind_regs *ret)
{
    const uint64_t first = FPSIMD_MAGIC | (uint64_t)sizeof(struct fpsimd_context) << 32;
    struct unwind_regs found;
    uint64_t record;
    if (!dump_read(dump, stack + RECORDS, &record) || record != first)
        return false;
    for (unsigned i = 0; i < UNWIND_REGS; i++)
        if (!dump_read(dump, stack + REGISTERS + 8 * i, &found.value[i]))
            return false;
    *ret = found;
    return true;
}
#else
bool signal_frame_read(const struct unwind_dump *dump, uint64_t stack, struct unwind_regs *ret)
{
    (void)dump, (void)stack, (void)ret;
    return false;
}
#endif
