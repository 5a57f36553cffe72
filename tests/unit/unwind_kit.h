/* SPDX-License-Identifier: MIT */
/* This process as an unwind target: its mappings, and its stack as in a sample. */
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
    unsigned char *stack_end; /* of the thread that called kit_init() */
    unsigned char dump[KIT_DUMP];
};

struct kit_chain {
    uint64_t ips[KIT_FRAMES];
    unsigned count;
    enum unwind_end end;
    uint64_t top;
    bool same; /* a second unwinding gave the same result */
};

void kit_init(struct kit *kit);
void kit_release(struct kit *kit);
/* Adds mappings that are new since. */
void kit_read_maps(struct kit *kit);
/* The registers of CONTEXT and a copy of at most DUMP bytes of stack, valid until the next call. */
void kit_take(struct kit *kit, const ucontext_t *context, size_t dump, struct unwind_regs *ret_regs,
              struct unwind_dump *ret_dump);
/*
 * x86-64: until kit_end_steps(), calls EACH before every instruction of this thread, at most MOST times, from a handler
 * of SIGTRAP.
 */
void kit_begin_steps(void (*each)(const ucontext_t *context), unsigned most);
void kit_end_steps(void);
/* Unwinds CONTEXT over at most DUMP bytes. Calls no functions that tests single-step. */
void kit_unwind(struct kit *kit, const ucontext_t *context, size_t dump, struct kit_chain *ret);

#endif
