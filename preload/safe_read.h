/* SPDX-License-Identifier: MIT */
/*
 * Reading vectors and strings that a program hands to execve: they may be wild, and then the kernel answers EFAULT; we
 * must not crash before it can. Context: anywhere, also a vfork child and a signal handler. Memory that another thread
 * unmaps while we read is that program's race, as it would be for libc.
 */
#ifndef PINJECT_PRELOAD_SAFE_READ_H
#define PINJECT_PRELOAD_SAFE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts the filters that forbid to ask the kernel: then all is taken for readable, as libc takes it. */
extern uint32_t pinject_safe_read_blind;

/* Pages that were found readable; {0} to begin with. */
struct pinject_safe_read {
    uint32_t next;
    uintptr_t pages[4];
};

/* Whether every byte of [address, address + size) can be read. */
bool pinject_safe_read(struct pinject_safe_read *safe, const void *address, size_t size);

/* Length of a string, or -EFAULT when it leaves readable memory, -E2BIG when it is longer than `limit`. */
long pinject_safe_length(struct pinject_safe_read *safe, const char *string, size_t limit);

#endif
