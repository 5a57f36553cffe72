/* SPDX-License-Identifier: MIT */
/*
 * Fault-safe reads of vectors and strings that a program passes to execve. They may be wild, and then the kernel
 * answers EFAULT; we must not crash before it can. Context: anywhere, also a vfork child and a signal handler. Memory
 * that another thread unmaps while we read is that program's race, as it would be for libc.
 */
#ifndef PINJECT_PRELOAD_SAFE_READ_H
#define PINJECT_PRELOAD_SAFE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Number of filters that forbid the check by the kernel: then all memory counts as readable, as it does for libc. */
extern uint32_t pinject_safe_read_blind;

/* Pages that were found readable; {0} initially. */
struct pinject_safe_read {
    uint32_t next;
    uintptr_t pages[4];
};

/* Can every byte of [address, address + size) be read? */
bool pinject_safe_read(struct pinject_safe_read *safe, const void *address, size_t size);

/* Length of a string; -EFAULT if it leaves readable memory, -E2BIG if it is longer than `limit`. */
long pinject_safe_length(struct pinject_safe_read *safe, const char *string, size_t limit);

#endif
