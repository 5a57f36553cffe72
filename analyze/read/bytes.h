/* SPDX-License-Identifier: MIT */
/* Reads numbers without bounds checks: the caller has checked. For hot paths, where a cursor per field is too slow. */
#ifndef ANALYZE_READ_BYTES_H
#define ANALYZE_READ_BYTES_H

#include <byteswap.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t bytes_u16(const unsigned char *at, bool swap)
{
    uint16_t value;
    memcpy(&value, at, sizeof(value));
    return swap ? bswap_16(value) : value;
}

static inline uint32_t bytes_u32(const unsigned char *at, bool swap)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return swap ? bswap_32(value) : value;
}

static inline uint64_t bytes_u64(const unsigned char *at, bool swap)
{
    uint64_t value;
    memcpy(&value, at, sizeof(value));
    return swap ? bswap_64(value) : value;
}

#endif
