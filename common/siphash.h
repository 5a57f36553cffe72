/* SPDX-License-Identifier: MIT */
/* A hash for tables whose keys others choose: who does not know KEY cannot find keys that meet (SipHash-2-4). */
#ifndef COMMON_SIPHASH_H
#define COMMON_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t siphash(const uint64_t key[2], const void *bytes, size_t size);

#endif
