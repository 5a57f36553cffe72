/* SPDX-License-Identifier: MIT */
#include "common/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMALLEST 256

void buffer_init(struct buffer *buffer)
{
    *buffer = (struct buffer)BUFFER_INIT;
}

void buffer_release(struct buffer *buffer)
{
    free(buffer->data);
    buffer_init(buffer);
}

void buffer_clear(struct buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
}

bool buffer_failed(const struct buffer *buffer)
{
    return buffer->failed;
}

/* Makes room for MORE bytes after those in use. */
static bool reserve(struct buffer *buffer, size_t more)
{
    if (buffer->failed)
        return false;
    if (more <= buffer->capacity - buffer->size)
        return true;
    if (more > SIZE_MAX / 2 - buffer->size) {
        buffer->failed = true;
        return false;
    }
    size_t capacity = buffer->capacity < SMALLEST ? SMALLEST : buffer->capacity;
    while (capacity - buffer->size < more)
        capacity *= 2;
    unsigned char *data = realloc(buffer->data, capacity);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t size)
{
    if (size == 0 || !reserve(buffer, size))
        return;
    memcpy(buffer->data + buffer->size, bytes, size);
    buffer->size += size;
}

void *buffer_extend(struct buffer *buffer, size_t size)
{
    /* At least one byte, so that extending an empty buffer by 0 bytes also returns an address. */
    if (!reserve(buffer, size ? size : 1))
        return NULL;
    void *at = buffer->data + buffer->size;
    memset(at, 0, size);
    buffer->size += size;
    return at;
}

void buffer_u32(struct buffer *buffer, uint32_t value)
{
    buffer_append(buffer, &value, sizeof(value));
}

void buffer_u64(struct buffer *buffer, uint64_t value)
{
    buffer_append(buffer, &value, sizeof(value));
}

void buffer_string(struct buffer *buffer, const char *text)
{
    buffer_append(buffer, text, strlen(text) + 1);
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (length < 0)
        buffer->failed = true;
    /* The NUL that vsnprintf writes needs room but is not counted. */
    if (length < 0 || !reserve(buffer, (size_t)length + 1))
        return;
    va_start(list, format);
    vsnprintf((char *)buffer->data + buffer->size, (size_t)length + 1, format, list);
    va_end(list);
    buffer->size += (size_t)length;
}

void buffer_align(struct buffer *buffer, size_t alignment)
{
    size_t over = buffer->size & (alignment - 1);
    if (over)
        buffer_extend(buffer, alignment - over);
}

int buffer_pwrite(int fd, const void *data, size_t size, uint64_t offset)
{
    const unsigned char *at = data;
    while (size > 0) {
        ssize_t done = pwrite(fd, at, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        if (done == 0)
            return -ENOSPC;
        at += done;
        size -= (size_t)done;
        offset += (uint64_t)done;
    }
    return 0;
}

int buffer_write(int fd, const void *data, size_t size)
{
    const unsigned char *at = data;
    while (size > 0) {
        ssize_t done = write(fd, at, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        if (done == 0)
            return -ENOSPC;
        at += done;
        size -= (size_t)done;
    }
    return 0;
}

static int read_all(struct buffer *buffer, int fd, size_t limit)
{
    size_t start = buffer->size;
    for (;;) {
        /* procfs files have no size: read up to the end, or one byte past the limit, to notice a larger file. */
        if (!reserve(buffer, 4096))
            return -ENOMEM;
        ssize_t got = read(fd, buffer->data + buffer->size, buffer->capacity - buffer->size - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        buffer->size += (size_t)got;
        if (buffer->size - start > limit)
            return -EFBIG;
    }
    buffer->data[buffer->size] = '\0';
    return 0;
}

int buffer_read_file(struct buffer *buffer, const char *path, size_t limit)
{
    size_t start = buffer->size;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;
    int status = read_all(buffer, fd, limit);
    close(fd);
    if (status < 0)
        buffer->size = start;
    return status;
}
