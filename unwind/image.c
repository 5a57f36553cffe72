/* SPDX-License-Identifier: MIT */
#include "unwind/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    return true;
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
