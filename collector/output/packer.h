/* SPDX-License-Identifier: MIT */
/* Packs our own items to half of their size: command lines repeat themselves. Context: the event loop's thread. */
#ifndef COLLECTOR_OUTPUT_PACKER_H
#define COLLECTOR_OUTPUT_PACKER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buffer.h"

struct packer;
struct packer *packer_new(void); /* NULL: no memory */
void packer_free(struct packer *packer);
/* Appends ITEMS to TO as one item PINJECT_ITEM_PACKED. TO's bytes before DATA_END (from DATA on) end the file's
 * data. False: nothing was appended, as it would not be smaller. */
bool packer_append(struct packer *packer, const struct buffer *items, struct buffer *to, size_t data, size_t data_end);

#endif
