/* SPDX-License-Identifier: MIT */
#include "analyze/sym/mini_debug.h"

#include <errno.h>
#include <stdlib.h>

#ifdef PINJECT_LZMA
#include <lzma.h>

#define PLAIN_MAX  ((size_t)256 << 20)   /* uncompressed; real ones have a few hundred KiB */
#define MEMORY_MAX ((uint64_t)128 << 20) /* of the decompressor */

/* Decompresses all of BYTES[SIZE]. 0, -ENOEXEC or -ENOMEM. */
static int unpack_xz(const unsigned char *bytes, size_t size, unsigned char **ret, size_t *ret_size)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    unsigned char *plain = NULL;
    size_t capacity = 0;
    lzma_ret status = lzma_stream_decoder(&stream, MEMORY_MAX, 0);

    stream.next_in = bytes;
    stream.avail_in = size;
    while (status == LZMA_OK && stream.total_out < PLAIN_MAX) {
        unsigned char *grown = realloc(plain, 2 * capacity + 65536);

        if (!grown) {
            status = LZMA_MEM_ERROR;
            break;
        }
        plain = grown;
        capacity = 2 * capacity + 65536;
        stream.next_out = plain + stream.total_out;
        stream.avail_out = capacity - stream.total_out;
        while (status == LZMA_OK && stream.avail_out)
            status = lzma_code(&stream, LZMA_FINISH);
    }
    *ret_size = stream.total_out;
    lzma_end(&stream);
    if (status == LZMA_STREAM_END) {
        *ret = plain;
        return 0;
    }
    free(plain);
    return status == LZMA_MEM_ERROR ? -ENOMEM : -ENOEXEC;
}
#endif

int mini_debug_init(struct elf_file *ret_mini, const struct elf_file *elf)
{
    const struct elf_file_section *section = elf_file_section(elf, ".gnu_debugdata");

    if (!section)
        return -ENOENT;
#ifdef PINJECT_LZMA
    size_t size, plain_size;
    unsigned char *plain;
    const void *bytes = elf_file_data(section, &size);
    int error = bytes ? unpack_xz(bytes, size, &plain, &plain_size) : -ENOEXEC;

    if (error)
        return error;
    error = elf_file_init_memory(ret_mini, plain, plain_size);
    free(plain);
    return error;
#else
    (void)ret_mini;
    return -ENOTSUP;
#endif
}
