/* SPDX-License-Identifier: MIT */
#include "analyze/export/proto.h"

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

void proto_varint(struct buffer *to, uint64_t value)
{
    unsigned char bytes[10];
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[size++] = (unsigned char)(value | 0x80);
    bytes[size++] = (unsigned char)value;
    buffer_append(to, bytes, size);
}

void proto_number(struct buffer *to, uint32_t field, uint64_t value)
{
    if (value == 0)
        return;
    proto_varint(to, field << 3 | WIRE_VARINT);
    proto_varint(to, value);
}

void proto_bytes(struct buffer *to, uint32_t field, const void *bytes, size_t size)
{
    proto_varint(to, field << 3 | WIRE_BYTES);
    proto_varint(to, size);
    buffer_append(to, bytes, size);
}

void proto_message(struct buffer *to, uint32_t field, const struct buffer *message)
{
    proto_bytes(to, field, message->data ? message->data : (const unsigned char *)"", message->size);
}
