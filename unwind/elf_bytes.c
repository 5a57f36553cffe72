/* SPDX-License-Identifier: MIT */
#include "unwind/elf_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool copy_bytes(const struct elf_bytes *elf, uint64_t offset, const void *from, size_t size)
{
    for (size_t done = 0; elf->copy && done < size;) {
        ssize_t put = pwrite(elf->copy, (const char *)from + done, size - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

bool elf_bytes_read(const struct elf_bytes *elf, uint64_t offset, void *to, size_t size)
{
    if (offset > elf->size || size > elf->size - offset)
        return false;
    if (elf->bytes) {
        memcpy(to, elf->bytes + offset, size);
        return true;
    }
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(elf->fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return copy_bytes(elf, offset, to, size);
}

void *elf_bytes_load(const struct elf_bytes *elf, uint64_t offset, uint64_t size, uint64_t limit)
{
    if (size == 0 || size > limit || offset > elf->size || size > elf->size - offset)
        return NULL;
    void *bytes = malloc((size_t)size);
    if (bytes && !elf_bytes_read(elf, offset, bytes, (size_t)size)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}
