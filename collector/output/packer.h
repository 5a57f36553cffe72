/* SPDX-License-Identifier: MIT */
/* Our own items take half the room when packed: command lines repeat themselves. Context: the event loop's thread. */
#ifndef COLLECTOR_OUTPUT_PACKER_H
#define COLLECTOR_OUTPUT_PACKER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buffer.h"

struct packer;
struct packer *packer_new(void); /* NULL: no memory */
void packer_free(struct packer *packer);
/* Appends ITEMS as one item PINJECT_ITEM_PACKED to TO, whose bytes before DATA_END (from DATA on) end the file's data.
 * False: nothing was appended, it would not be less. */
bool packer_append(struct packer *packer, const struct buffer *items, struct buffer *to, size_t data, size_t data_end);

#endif
