/* SPDX-License-Identifier: MIT */
/*
 * Protocol buffers, as much of them as one writer needs: numbers, strings, messages in messages. Written by hand, since
 * all of it is a variable-length number in front of bytes; a generator would cost a build dependency and more lines.
 */
#ifndef ANALYZE_EXPORT_PROTO_H
#define ANALYZE_EXPORT_PROTO_H

#include <stdint.h>

#include "common/buffer.h"

void proto_varint(struct buffer *to, uint64_t value);
/* A field; 0 is what a reader takes a missing one for, and is not written. */
void proto_number(struct buffer *to, uint32_t field, uint64_t value);
/* A string, or a message that was built in BYTES; written even when it is empty. */
void proto_bytes(struct buffer *to, uint32_t field, const void *bytes, size_t size);
void proto_message(struct buffer *to, uint32_t field, const struct buffer *message);

#endif
