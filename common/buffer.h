/* SPDX-License-Identifier: MIT */
/*
 * A growable byte buffer with a sticky failure: after a failed allocation every further call does nothing and
 * buffer_failed() is true, so a writer checks once, at the end.
 */
#ifndef COMMON_BUFFER_H
#define COMMON_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
    unsigned char *data; /* owned; NULL while empty */
    size_t size;         /* bytes in use */
    size_t capacity;
    bool failed;
};

#define BUFFER_INIT       \
    {                     \
        NULL, 0, 0, false \
    }

void buffer_init(struct buffer *buffer);
void buffer_release(struct buffer *buffer);
/* Clears the content and the failure; keeps the memory. */
void buffer_clear(struct buffer *buffer);
bool buffer_failed(const struct buffer *buffer);

void buffer_append(struct buffer *buffer, const void *bytes, size_t size);
/* Appends SIZE zero bytes and returns their address (valid until the next call), or NULL when failed. */
void *buffer_extend(struct buffer *buffer, size_t size);
void buffer_u32(struct buffer *buffer, uint32_t value);
void buffer_u64(struct buffer *buffer, uint64_t value);
/* Appends TEXT and a NUL. */
void buffer_string(struct buffer *buffer, const char *text);
void buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Pads with zero bytes to a multiple of ALIGNMENT (a power of two). */
void buffer_align(struct buffer *buffer, size_t alignment);

/* Writes all of DATA at OFFSET (pwrite, restarted). 0 or -errno. */
int buffer_pwrite(int fd, const void *data, size_t size, uint64_t offset);
/* Writes all of DATA (write, restarted on EINTR and short writes). 0 or -errno. */
int buffer_write(int fd, const void *data, size_t size);
/*
 * Appends a whole file of at most LIMIT bytes (also procfs files, whose size is 0), and a NUL that `size` does not
 * count. 0 or -errno (-EFBIG); after an error nothing is appended.
 */
int buffer_read_file(struct buffer *buffer, const char *path, size_t limit);

#endif
