/* SPDX-License-Identifier: MIT */
/*
 * The build id of an ELF file: from its notes, found by its program headers alone. The file is hostile (any bytes).
 * Thread-safe.
 */
#ifndef COLLECTOR_SYSTEM_BUILD_ID_H
#define COLLECTOR_SYSTEM_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buildid {
    uint8_t size;      /* 0: none */
    uint8_t bytes[20]; /* longer ones are cut, as perf does */
};

/* In NOTES[SIZE]; SWAP: other byte order; ALIGN: 4 or 8. */
bool buildid_of_notes(const void *notes, size_t size, bool swap, size_t align, struct buildid *ret);
/* Of the ELF file FD, whatever its class and byte order. Reads a bounded part of it. */
bool buildid_of_file(int fd, struct buildid *ret);

#endif
