/* SPDX-License-Identifier: MIT */
/* Symbols of an ELF file that an event is set on. Reads the file on each call; thread-safe. */
#ifndef COLLECTOR_EVENTS_EVENT_SYMBOL_H
#define COLLECTOR_EVENTS_EVENT_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/events/event_error.h"
#include "collector/events/event_spec.h"

struct event_symbol {
    uint64_t address; /* as the file has it */
    uint64_t offset;  /* of it in the file; UINT64_MAX: none, it is not in the file (.bss) */
    bool fixed;       /* the program is at the addresses that the file has; else where the kernel puts it */
    bool loader;      /* it has a dynamic loader (PT_INTERP) */
    struct event_program program;
};

/*
 * 0 or -errno: -ENOENT: PATH has no function or object NAME, and WORDS gets those that it has; -ENOEXEC: it is no ELF
 * file.
 */
int event_symbol_find(const char *path, const char *name, struct event_symbol *ret, struct event_words *words);

#endif
