/* SPDX-License-Identifier: MIT */
/* Which file's tables apply at an address of a process; part of stacks.c. Context: the event loop's thread. */
#ifndef COLLECTOR_STACKS_STACK_FILES_H
#define COLLECTOR_STACKS_STACK_FILES_H

#include "unwind/unwind.h"

struct stack_owner;
struct stacks;

struct stack_search {
    struct stacks *stacks;
    const struct stack_owner *owner;
};

/* Forgets all DSOs. */
void stack_files_release(struct stacks *stacks);
/* Makes room for tables. Not while a stack is unwound. */
void stack_files_make_room(struct stacks *stacks);
/* An unwind_find; SEARCH is a struct stack_search. */
bool stack_files_find(void *search, uint64_t address, struct unwind_map *ret);

#endif
