/* SPDX-License-Identifier: MIT */
/* Bytes of an ELF file, from a descriptor or in memory. No file is mapped: truncating it would cause a SIGBUS. */
#ifndef UNWIND_ELF_BYTES_H
#define UNWIND_ELF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_bytes {
    const unsigned char *bytes; /* NULL: reads from fd */
    int fd;
    uint64_t size;
    int copy; /* descriptor to which reads are copied, at the same offset; 0: none */
};

/* Reads all SIZE bytes at OFFSET, or returns false. */
bool elf_bytes_read(const struct elf_bytes *elf, uint64_t offset, void *to, size_t size);
/* The same into new memory, for free(). NULL: not there, too large (SIZE > LIMIT), SIZE is 0, or out of memory. */
void *elf_bytes_load(const struct elf_bytes *elf, uint64_t offset, uint64_t size, uint64_t limit);

#endif
