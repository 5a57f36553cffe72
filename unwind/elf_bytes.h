/* SPDX-License-Identifier: MIT */
/* Bytes of an ELF file: from a descriptor, or in memory. No file is mapped: one that is cut meanwhile would kill. */
#ifndef UNWIND_ELF_BYTES_H
#define UNWIND_ELF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_bytes {
    const unsigned char *bytes; /* NULL: FD */
    int fd;
    uint64_t size;
    int copy;                   /* what is read is written there too, at the same offset; 0: nowhere */
};

/* All SIZE bytes at OFFSET, or false. */
bool elf_bytes_read(const struct elf_bytes *elf, uint64_t offset, void *to, size_t size);
/* The same, allocated; NULL: not there, too large (SIZE > LIMIT) or no memory. SIZE 0: NULL. */
void *elf_bytes_load(const struct elf_bytes *elf, uint64_t offset, uint64_t size, uint64_t limit);

#endif
