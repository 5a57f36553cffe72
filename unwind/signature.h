/* SPDX-License-Identifier: MIT */
/*
 * AArch64: return addresses may be signed (pointer authentication). The signature is in the bits above the address,
 * which are 0 in a user address: they are cleared whether there is a signature or not.
 */
#ifndef UNWIND_SIGNATURE_H
#define UNWIND_SIGNATURE_H

#include <stdint.h>

/*
 * xpaclri strips by the address size of this machine, if its processor signs at all. Addresses recorded on another
 * machine have 48 bits: a program gets more only if it asks for them.
 */
static inline uint64_t signature_strip(uint64_t address)
{
#if defined(__aarch64__)
    if (address >> 55 & 1) /* not a user address */
        return address;
    register uint64_t link __asm__("x30") = address;
    __asm__("hint 7" : "+r"(link)); /* xpaclri */
    address = link & ((UINT64_C(1) << 48) - 1);
#endif
    return address;
}

#endif
