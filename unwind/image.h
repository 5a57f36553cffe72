/* SPDX-License-Identifier: MIT */
/* Bytes of an ELF file: from a descriptor, or in memory. No file is mapped: one that is cut meanwhile would kill. */
#ifndef UNWIND_IMAGE_H
#define UNWIND_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image {
    const unsigned char *bytes; /* NULL: FD */
    int fd;
    uint64_t size;
    int copy;                   /* what is read is written there too, at the same offset; 0: nowhere */
};

/* All SIZE bytes at OFFSET, or false. */
bool image_read(const struct image *image, uint64_t offset, void *to, size_t size);
/* The same, allocated; NULL: not there, too large (SIZE > LIMIT) or no memory. SIZE 0: NULL. */
void *image_load(const struct image *image, uint64_t offset, uint64_t size, uint64_t limit);

#endif
