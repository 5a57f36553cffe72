/* SPDX-License-Identifier: MIT */
#include "analyze/read/unzstd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef PINJECT_ZSTD
#include <zstd.h>
#endif

/* Up to 64 KiB of a record may be left over; the rest is for new bytes. */
#define CAPACITY (512u << 10)
/* The most similar records shrink to a hundredth; a decompression bomb grows 30000 times. */
#define GROWTH      1000u
#define GROWTH_FREE (64u << 20)

void unzstd_taken(struct unzstd *unzstd, size_t done)
{
    unzstd->filled -= done;
    memmove(unzstd->bytes, unzstd->bytes + done, unzstd->filled);
}

#ifdef PINJECT_ZSTD

bool unzstd_available(void)
{
    return true;
}

void unzstd_release(struct unzstd *unzstd)
{
    ZSTD_freeDStream(unzstd->stream);
    free(unzstd->bytes);
    *unzstd = (struct unzstd){0};
}

static int start_frame(struct unzstd *unzstd)
{
    unzstd->stream = ZSTD_createDStream();
    unzstd->bytes = malloc(CAPACITY);
    if (!unzstd->stream || !unzstd->bytes)
        return -ENOMEM;
    unzstd->capacity = CAPACITY;
    return ZSTD_isError(ZSTD_initDStream(unzstd->stream)) ? -ENOMEM : 0;
}

int unzstd_more(struct unzstd *unzstd, const unsigned char **input, size_t *size)
{
    if (!unzstd->stream && start_frame(unzstd) < 0) {
        unzstd_release(unzstd);
        return -ENOMEM;
    }
    ZSTD_inBuffer in = {*input, *size, 0};
    ZSTD_outBuffer out = {unzstd->bytes, unzstd->capacity, unzstd->filled};
    if (out.pos == out.size)
        return -EBADMSG;
    size_t status = ZSTD_decompressStream(unzstd->stream, &out, &in);
    if (ZSTD_isError(status))
        return -EBADMSG;
    bool further = in.pos > 0 || out.pos > unzstd->filled;
    unzstd->taken += in.pos;
    unzstd->given += out.pos - unzstd->filled;
    if (unzstd->given > GROWTH_FREE && unzstd->given - GROWTH_FREE > GROWTH * unzstd->taken)
        return -E2BIG;
    *input += in.pos;
    *size -= in.pos;
    unzstd->filled = out.pos;
    return further;
}

#else

bool unzstd_available(void)
{
    return false;
}

void unzstd_release(struct unzstd *unzstd)
{
    *unzstd = (struct unzstd){0};
}

int unzstd_more(struct unzstd *unzstd, const unsigned char **input, size_t *size)
{
    (void)unzstd;
    (void)input;
    (void)size;
    return -ENOTSUP;
}

#endif
