/* SPDX-License-Identifier: MIT */
/*
 * AArch64: return addresses may be signed (pointer authentication). The signature lies in the bits above the address,
 * where a program's own addresses are 0: it is taken off whether there is one or not.
 */
#ifndef UNWIND_SIGNATURE_H
#define UNWIND_SIGNATURE_H

#include <stdint.h>

/*
 * The processor knows how many bits its kernel's addresses have, where it signs at all; what was recorded on another
 * one has 48: more are given only to who asks for them.
 */
static inline uint64_t signature_strip(uint64_t address)
{
#if defined(__aarch64__)
    if (address >> 55 & 1) /* not a program's */
        return address;
    register uint64_t link __asm__("x30") = address;
    __asm__("hint 7" : "+r"(link)); /* xpaclri */
    address = link & ((UINT64_C(1) << 48) - 1);
#endif
    return address;
}

#endif
