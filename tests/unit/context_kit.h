/* SPDX-License-Identifier: MIT */
/* Converts the registers of a ucontext_t to those of unwinding. */
#ifndef CONTEXT_KIT_H
#define CONTEXT_KIT_H

#include <ucontext.h>

#include "unwind/unwind.h"

static inline struct unwind_regs context_regs(const ucontext_t *context)
{
    struct unwind_regs regs;
#if defined(__aarch64__)
    const mcontext_t *from = &context->uc_mcontext;
    for (unsigned i = 0; i < UNWIND_SP; i++)
        regs.value[i] = from->regs[i];
    regs.value[UNWIND_SP] = from->sp;
    regs.value[UNWIND_IP] = from->pc;
#else
    static const int order[UNWIND_REGS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                           REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                           REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (unsigned i = 0; i < UNWIND_REGS; i++)
        regs.value[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
#endif
    return regs;
}

static inline uint64_t context_ip(const ucontext_t *context)
{
    return context_regs(context).value[UNWIND_IP];
}

/* As in a sample: by the bits of UNWIND_PERF_REGS. */
static inline void context_perf_regs(const ucontext_t *context, uint64_t ret[UNWIND_REGS])
{
    const struct unwind_regs regs = context_regs(context);
#if defined(__aarch64__)
    for (unsigned i = 0; i < UNWIND_REGS; i++)
        ret[i] = regs.value[i];
#else
    /* rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, rip, r8 ... */
    static const uint8_t order[UNWIND_REGS] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};
    for (unsigned i = 0; i < UNWIND_REGS; i++)
        ret[i] = regs.value[order[i]];
#endif
}

#endif
