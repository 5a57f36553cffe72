/* SPDX-License-Identifier: MIT */
/* Pointers as .eh_frame encodes them. */
#ifndef UNWIND_POINTER_H
#define UNWIND_POINTER_H

#include "common/cursor.h"

enum { POINTER_OMIT = 0xff, POINTER_PCREL = 0x10 };

/* A pointer of ENCODING (DW_EH_PE_...). HERE: the address of the cursor's next byte. Unknown encodings fail. */
uint64_t pointer_read(struct cursor *cursor, uint8_t encoding, uint64_t here);

#endif
