/* SPDX-License-Identifier: MIT */
#include "collector/output/packer.h"

#include <pinject/format.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Enough for a few kilobytes, and quick: clearing a larger table takes longer than packing them. */
enum { LEVEL = 5, WINDOW_BITS = 13, MEMORY_LEVEL = 5, DICTIONARY = 2048 };

_Static_assert(DICTIONARY <= PINJECT_DICTIONARY_MAX, "format: dictionary");

struct packer {
    z_stream stream;
};

struct packer *packer_new(void)
{
    struct packer *packer = calloc(1, sizeof(*packer));
    if (packer &&
        deflateInit2(&packer->stream, LEVEL, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(packer);
        return NULL;
    }
    return packer;
}

void packer_free(struct packer *packer)
{
    if (packer)
        deflateEnd(&packer->stream);
    free(packer);
}

static bool pack(z_stream *stream, const void *dictionary, size_t dictionary_size)
{
    if (deflateReset(stream) != Z_OK)
        return false;
    if (dictionary_size && deflateSetDictionary(stream, dictionary, (uInt)dictionary_size) != Z_OK)
        return false;
    return deflate(stream, Z_FINISH) == Z_STREAM_END;
}

bool packer_append(struct packer *packer, const struct buffer *items, struct buffer *to, size_t data, size_t data_end)
{
    const size_t known = data_end - data < DICTIONARY ? data_end - data : DICTIONARY, start = to->size;
    struct pinject_item_packed fixed = {.item = {.type = PINJECT_ITEM_PACKED},
                                        .unpacked = (uint32_t)items->size,
                                        .method = 1,
                                        .dictionary = (uint16_t)known};
    if (items->size <= sizeof(fixed) || items->size > PINJECT_PACKED_MAX)
        return false;
    /* Room only for a gain: what does not fit is none. */
    const size_t room = (items->size - sizeof(fixed)) & ~(size_t)7;
    unsigned char *at = buffer_extend(to, sizeof(fixed) + room);
    if (!at)
        return false;
    z_stream *stream = &packer->stream;
    stream->next_in = items->data;
    stream->avail_in = (uInt)items->size;
    stream->next_out = at + sizeof(fixed);
    stream->avail_out = (uInt)room;
    const bool packed = pack(stream, to->data + data_end - known, known);
    to->size = start;
    if (!packed)
        return false;
    fixed.item.size = (uint32_t)(sizeof(fixed) + ((room - stream->avail_out + 7) & ~(size_t)7));
    memcpy(at, &fixed, sizeof(fixed));
    to->size += fixed.item.size;
    return true;
}
