/* SPDX-License-Identifier: MIT */
/* This process as something to unwind: its mappings, and its stack as a sample would have it. */
#ifndef UNWIND_KIT_H
#define UNWIND_KIT_H

#include <ucontext.h>

#include "unwind/unwind.h"

enum { KIT_MAPPINGS = 256, KIT_DUMP = 64 << 10, KIT_FRAMES = 512 };

struct kit_mapping {
    uint64_t end;
    struct unwind_map map;
};

struct kit {
    struct unwind_files *files;
    struct unwind_target target;
    struct kit_mapping mappings[KIT_MAPPINGS];
    unsigned count;
    unsigned char *stack_end;            /* of the thread that called kit_init() */
    unsigned char dump[KIT_DUMP];
};

struct kit_chain {
    uint64_t ips[KIT_FRAMES];
    unsigned count;
    enum unwind_end end;
    uint64_t top;
    bool same;                           /* a second time gave the same */
};

void kit_init(struct kit *kit);
void kit_release(struct kit *kit);
/* What was mapped since. */
void kit_read_maps(struct kit *kit);
/* The registers of CONTEXT and a copy of at most DUMP bytes of stack, good until the next call. */
void kit_take(struct kit *kit, const ucontext_t *context, size_t dump, struct unwind_regs *ret_regs,
              struct unwind_dump *ret_dump);
/*
 * x86-64: from here to kit_end_steps() calls EACH in front of every instruction of this thread, at most MOST times,
 * from a handler of SIGTRAP.
 */
void kit_begin_steps(void (*each)(const ucontext_t *context), unsigned most);
void kit_end_steps(void);
/* The chain of CONTEXT over at most DUMP bytes. Calls nothing that is stepped through by a test. */
void kit_unwind(struct kit *kit, const ucontext_t *context, size_t dump, struct kit_chain *ret);

#endif
