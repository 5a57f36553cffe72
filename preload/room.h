/* SPDX-License-Identifier: MIT */
/*
 * Memory for an exec: to look at the program, and for its environment. A stack may end a few hundred bytes below (a
 * handler on a small sigaltstack, a child of vfork on 16 KiB), and anything may lie there. So hooks use rooms: few, of
 * the process, each claimed by one task at a time.
 *
 * A child of vfork that has executed its program gives nothing back: the memory is its parent's. It has the kernel do
 * so: set_tid_address(2) names a word that the kernel clears when a task leaves its memory, by exec, exit or a signal.
 * The owner's number is that word. (Threads and children of fork have such a word for libc already; they need none, as
 * their exec leaves no memory behind.) Where that is not possible a room is free again when its owner has ended.
 *
 * A handler of the program may leave a hook by siglongjmp. Its room is taken over, when there is no other, by the same
 * thread, once the frame that claimed it is surely gone: something else stands where its mark was.
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
    PINJECT_ROOM_STACK = 10240,  /* what pinject_room_call() brings */
    PINJECT_ROOM_VECTOR = 12288, /* the environment, as long as it is no larger */
};

struct pinject_room {
    struct pinject_judge judge;
    char stack[PINJECT_ROOM_STACK] __attribute__((aligned(64)));
    char vector[PINJECT_ROOM_VECTOR] __attribute__((aligned(64)));
    struct pinject_room_entry *entry;
    uint64_t mask;    /* of signals, during pinject_room_call() */
    void *more;       /* a larger vector; one that is not too large stays for the next owner. NULL: none */
    size_t more_size;
    bool watched;     /* the kernel clears the owner */
};

/*
 * MARK: a variable in the frame of the caller, which leaves it as it is until the release. NULL: all are taken, after a
 * wait of some milliseconds, or there is no memory.
 */
struct pinject_room *pinject_room_claim(uint32_t *mark);
/* NULL is accepted. */
void pinject_room_release(struct pinject_room *room);

/* SIZE bytes for a vector, aligned for pointers; those given before are gone. NULL: there is no memory. */
void *pinject_room_vector(struct pinject_room *room, size_t size);

/*
 * Calls CALL on the room's stack, with all signals blocked: a handler would find too little of it. In a blocked
 * process, which must not change its mask, on the caller's.
 */
void pinject_room_call(struct pinject_room *room, void (*call)(void *), void *data);

/* In a child of fork, its only thread: those who had them are not here. */
void pinject_rooms_reset(void);

#endif
