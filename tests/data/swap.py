#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns a perf.data file of this machine's byte order into one of the other: what a big-endian machine would write."""
import struct
import sys


def words(data, size):
    if len(data) % size:
        sys.exit("not whole words")
    return b"".join(data[i:i + size][::-1] for i in range(0, len(data), size))


def mirrored(data):
    return bytes(int(f"{byte:08b}"[::-1], 2) for byte in data)


def attr(data):
    out = words(data[0:8], 4) + words(data[8:40], 8) + mirrored(data[40:48]) + words(data[48:56], 4)
    out += words(data[56:80], 8) + words(data[80:88], 4) + words(data[88:96], 8)
    if len(data) > 96:
        out += words(data[96:104], 4)
    if len(data) > 104:
        out += words(data[104:108], 4) + data[108:110][::-1] + data[110:112][::-1]
    if len(data) > 112:
        out += words(data[112:120], 4)
    return out + words(data[len(out):], 8)


def fields(data, kinds):
    """The fields KINDS at the beginning of DATA, those of two 32-bit numbers (TID, CPU) in halves; where they end."""
    out, at = b"", 0
    for bit in kinds:
        if SAMPLE_TYPE >> bit & 1 and at < len(data):
            out += words(data[at:at + 8], 4 if bit in (1, 7) else 8)
            at += 8
    return out, at


def trailer(data):
    return fields(data, (1, 2, 6, 9, 7, 16))[0]


def split_trailer(payload, size):
    return payload[:len(payload) - size], payload[len(payload) - size:]


def read_words(payload, at):
    """How many words PERF_SAMPLE_READ takes."""
    each, times = 1 + (READ_FORMAT >> 2 & 1) + (READ_FORMAT >> 4 & 1), (READ_FORMAT & 1) + (READ_FORMAT >> 1 & 1)
    if READ_FORMAT >> 3 & 1:
        return 1 + times + each * struct.unpack_from("<Q", payload, at)[0]
    return times + each


def sample(payload):
    # In the kernel's order: IDENTIFIER IP TID TIME ADDR ID STREAM_ID CPU PERIOD READ CALLCHAIN RAW BRANCH REGS ...
    out, at = fields(payload, (16, 0, 1, 2, 3, 6, 9, 7, 8))
    count = read_words(payload, at) if SAMPLE_TYPE >> 4 & 1 else 0
    if SAMPLE_TYPE >> 5 & 1:
        count += 1 + struct.unpack_from("<Q", payload, at + 8 * count)[0]
    out, at = out + words(payload[at:at + 8 * count], 8), at + 8 * count
    if SAMPLE_TYPE >> 10 & 1:
        (size,) = struct.unpack_from("<I", payload, at)
        out, at = out + struct.pack(">I", size) + payload[at + 4:at + 4 + size], at + 4 + size
    if SAMPLE_TYPE >> 13 & 1:
        sys.exit("stack dumps are bytes of the machine that they were recorded on")
    return out + words(payload[at:], 8)


def record(kind, payload):
    if kind == 9:
        return sample(payload)
    if kind >= 64:
        if kind in (69,):
            return words(payload, 8)
        if kind in (68, 82):
            return payload
        return None  # of no interest: left out
    body, rest = split_trailer(payload, TRAILER)
    if kind in (1, 10):
        fixed = words(body[:8], 4) + words(body[8:32], 8)
        if kind == 10:
            fixed += words(body[32:40], 4) + words(body[40:56], 8) + words(body[56:64], 4)
        body = fixed + body[len(fixed):]
    elif kind == 3:
        body = words(body[:8], 4) + body[8:]
    elif kind in (4, 7):
        body = words(body[:16], 4) + words(body[16:24], 8)
    else:
        return None
    return body + trailer(rest)


def records(data):
    out, at = b"", 0
    while at < len(data):
        kind, misc, size = struct.unpack_from("<IHH", data, at)
        payload = record(kind, data[at + 8:at + size])
        if payload is not None:
            out += struct.pack(">IHH", kind, misc, size) + payload
        at += size
    return out


def strings(data, at, count):
    out = b""
    for _ in range(count):
        (size,) = struct.unpack_from("<I", data, at)
        out += struct.pack(">I", size) + data[at + 4:at + 4 + size]
        at += 4 + size
    return out, at


def event_desc(data):
    count, size = struct.unpack_from("<II", data, 0)
    out, at = struct.pack(">II", count, size), 8
    for _ in range(count):
        out += attr(data[at:at + size])
        at += size
        (ids,) = struct.unpack_from("<I", data, at)
        text, at = strings(data, at + 4, 1)
        out += struct.pack(">I", ids) + text + words(data[at:at + 8 * ids], 8)
        at += 8 * ids
    return out


def build_ids(data):
    out, at = b"", 0
    while at < len(data):
        kind, misc, size, pid = struct.unpack_from("<IHHi", data, at)
        out += struct.pack(">IHHi", kind, misc, size, pid) + data[at + 12:at + size]
        at += size
    return out


def feature(number, data):
    if number == 2:
        return build_ids(data)
    if number in (3, 4, 5, 6, 8, 9):
        return strings(data, 0, 1)[0]
    if number == 7:
        return words(data, 4)
    if number in (10, 21):
        return words(data, 8)
    if number == 11:
        (count,) = struct.unpack_from("<I", data, 0)
        return struct.pack(">I", count) + strings(data, 4, count)[0]
    if number == 12:
        return event_desc(data)
    return None


source = open(sys.argv[1], "rb").read()
magic, size, entry, attrs_at, attrs_size, data_at, data_size = struct.unpack_from("<7Q", source, 0)
bits = int.from_bytes(source[72:104], "little")
first = source[attrs_at:attrs_at + entry - 16]
SAMPLE_TYPE = struct.unpack_from("<Q", first, 24)[0]
READ_FORMAT = struct.unpack_from("<Q", first, 32)[0]
TRAILER = 8 * bin(SAMPLE_TYPE & (1 << 1 | 1 << 2 | 1 << 6 | 1 << 9 | 1 << 7 | 1 << 16)).count("1")

attrs, ids = b"", b""
count = attrs_size // entry
ids_start = 104
for i in range(count):
    one = source[attrs_at + i * entry:attrs_at + (i + 1) * entry]
    offset, length = struct.unpack_from("<QQ", one, entry - 16)
    attrs += attr(one[:-16]) + struct.pack(">QQ", ids_start + len(ids), length)
    ids += words(source[offset:offset + length], 8)
body = records(source[data_at:data_at + data_size])
start = ids_start + len(ids) + len(attrs)
table, kept, number = [], 0, 0
for number in range(256):
    if bits >> number & 1:
        offset, length = struct.unpack_from("<QQ", source, data_at + data_size + 16 * len(table))
        table.append((number, feature(number, source[offset:offset + length])))
table = [(number, content) for number, content in table if content is not None]
for number, _ in table:
    kept |= 1 << number
at = start + len(body) + 16 * len(table)
tail = b""
for _, content in table:
    tail += struct.pack(">QQ", at, len(content))
    at += len(content)
out = struct.pack(">9Q", magic, 104, entry, ids_start + len(ids), len(attrs), start, len(body), 0, 0)
out += b"".join(struct.pack(">Q", kept >> 64 * i & (1 << 64) - 1) for i in range(4))
open(sys.argv[2], "wb").write(out + ids + attrs + body + tail + b"".join(content for _, content in table))
