/* SPDX-License-Identifier: MIT */
/*
 * The only way to read untrusted bytes: a bounded cursor with a sticky error. A read past the end returns 0 or NULL,
 * sets `failed` and leaves the cursor at its end. The byte order is this machine's unless `swap` is set.
 */
#ifndef COMMON_CURSOR_H
#define COMMON_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
    const unsigned char *at;
    const unsigned char *end;
    bool swap; /* the bytes are of the other byte order */
    bool failed;
};

struct cursor cursor_of(const void *data, size_t size);
size_t cursor_left(const struct cursor *cursor);
uint8_t cursor_u8(struct cursor *cursor);
uint16_t cursor_u16(struct cursor *cursor);
uint32_t cursor_u32(struct cursor *cursor);
uint64_t cursor_u64(struct cursor *cursor);
/* SIZE bytes in place, or NULL. */
const void *cursor_bytes(struct cursor *cursor, size_t size);
void cursor_skip(struct cursor *cursor, size_t size);
/* A NUL-terminated string in place, or NULL: there is no NUL. The cursor is then after the NUL. */
const char *cursor_string(struct cursor *cursor);
/* The next SIZE bytes as a cursor of their own; it is empty and failed if there are fewer. */
struct cursor cursor_part(struct cursor *cursor, size_t size);

#endif
