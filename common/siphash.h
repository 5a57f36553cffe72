/* SPDX-License-Identifier: MIT */
/* SipHash-2-4: a hash for tables with untrusted keys. Without KEY an attacker cannot find keys that collide. */
#ifndef COMMON_SIPHASH_H
#define COMMON_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t siphash(const uint64_t key[2], const void *bytes, size_t size);

#endif
