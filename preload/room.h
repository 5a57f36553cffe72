/* SPDX-License-Identifier: MIT */
/*
 * Memory for an exec hook: to judge the program, and for its environment. The stack may have only a few hundred bytes
 * left (a handler on a small sigaltstack, a vfork child on 16 KiB), and anything may be below it. So hooks use rooms: a
 * few per process, each claimed by one task at a time.
 *
 * A vfork child that has executed its program releases nothing: the memory is its parent's. So the kernel does it:
 * set_tid_address(2) names a word that the kernel clears when a task leaves its memory, by exec, exit or a signal. The
 * owner's tid is that word. (Threads and children of fork already have such a word for libc; they need none, as their
 * exec leaves no memory behind.) Where that is not possible, a room is free again when its owner has ended.
 *
 * A handler of the program may leave a hook by siglongjmp. If no other room is free, the same thread takes that room
 * over once the frame that claimed it is surely gone: its mark was overwritten.
 *
 * Context: anywhere, also a vfork child and a signal handler. errno stays.
 */
#ifndef PINJECT_PRELOAD_ROOM_H
#define PINJECT_PRELOAD_ROOM_H

#include "exec_kind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PINJECT_ROOM_STACK = 10240,  /* bytes of stack for pinject_room_call() */
    PINJECT_ROOM_VECTOR = 12288, /* bytes for the environment; a larger one is mapped */
};

struct pinject_room {
    struct pinject_judge judge;
    char stack[PINJECT_ROOM_STACK] __attribute__((aligned(64)));
    char vector[PINJECT_ROOM_VECTOR] __attribute__((aligned(64)));
    struct pinject_room_entry *entry;
    uint64_t mask; /* the signal mask during pinject_room_call() */
    void *more;    /* a larger vector; kept for the next owner unless it is too large. NULL: none */
    size_t more_size;
    bool watched; /* the kernel clears the owner word */
};

/*
 * MARK: a variable in the caller's frame, which the caller does not change before the release. NULL: all rooms are
 * taken, after a wait of some milliseconds, or there is no memory.
 */
struct pinject_room *pinject_room_claim(uint32_t *mark);
/* NULL is accepted. */
void pinject_room_release(struct pinject_room *room);

/* SIZE bytes for a vector, aligned for pointers; the previous vector becomes invalid. NULL: no memory. */
void *pinject_room_vector(struct pinject_room *room, size_t size);

/*
 * Calls CALL on the room's stack with all signals blocked, because a handler would find too little stack there. In a
 * process blocked by seccomp, which must not change its mask, on the caller's stack.
 */
void pinject_room_call(struct pinject_room *room, void (*call)(void *), void *data);

/* In a child of fork, its only thread: frees all rooms, since their owners are not here. */
void pinject_rooms_reset(void);

#endif
