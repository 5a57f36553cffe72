/* SPDX-License-Identifier: MIT */
#include "unwind/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool copy(const struct image *image, uint64_t offset, const void *from, size_t size)
{
    for (size_t done = 0; image->copy && done < size;) {
        ssize_t put = pwrite(image->copy, (const char *)from + done, size - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

bool image_read(const struct image *image, uint64_t offset, void *to, size_t size)
{
    if (offset > image->size || size > image->size - offset)
        return false;
    if (image->bytes) {
        memcpy(to, image->bytes + offset, size);
        return true;
    }
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(image->fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return copy(image, offset, to, size);
}

void *image_load(const struct image *image, uint64_t offset, uint64_t size, uint64_t limit)
{
    if (size == 0 || size > limit || offset > image->size || size > image->size - offset)
        return NULL;
    void *bytes = malloc((size_t)size);
    if (bytes && !image_read(image, offset, bytes, (size_t)size)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}
