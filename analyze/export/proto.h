/* SPDX-License-Identifier: MIT */
/*
 * A minimal writer of protocol buffers: numbers, strings, nested messages. Written by hand, since the format is just
 * variable-length numbers in front of bytes; a generator would cost a build dependency and more lines.
 */
#ifndef ANALYZE_EXPORT_PROTO_H
#define ANALYZE_EXPORT_PROTO_H

#include <stdint.h>

#include "common/buffer.h"

void proto_varint(struct buffer *to, uint64_t value);
/* A numeric field; 0 is the default of a missing field and is not written. */
void proto_number(struct buffer *to, uint32_t field, uint64_t value);
/* A string, or a message in BYTES; written also if it is empty. */
void proto_bytes(struct buffer *to, uint32_t field, const void *bytes, size_t size);
void proto_message(struct buffer *to, uint32_t field, const struct buffer *message);

#endif
