/* SPDX-License-Identifier: MIT */
/* Numbers of variable length, as DWARF has them, and pointers as .eh_frame encodes them. */
#ifndef UNWIND_LEB_H
#define UNWIND_LEB_H

#include "common/cursor.h"

/* Bits beyond 64 are dropped. */
uint64_t leb_unsigned(struct cursor *cursor);
int64_t leb_signed(struct cursor *cursor);

enum { LEB_OMIT = 0xff, LEB_PCREL = 0x10 };

/* A pointer of ENCODING (DW_EH_PE_...). HERE: the address of the cursor's next byte. What is not known fails. */
uint64_t leb_pointer(struct cursor *cursor, uint8_t encoding, uint64_t here);

#endif
