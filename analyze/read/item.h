/* SPDX-License-Identifier: MIT */
/* Parses the items of our feature section (pinject/format.h). The bytes are not trusted. */
#ifndef ANALYZE_READ_ITEM_H
#define ANALYZE_READ_ITEM_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/read/arena.h"
#include "common/cursor.h"
#include "pinject/format.h"

struct item {
    uint32_t type;      /* enum pinject_item_type */
    struct cursor body; /* what follows struct pinject_item */
};

/* Decompresses a packed SECTION into ARENA. DATA: the end of the file's data, at most PINJECT_DICTIONARY_MAX bytes,
 * which is the dictionary. *ret is NULL where the bytes make no sense. 0, -ENOENT: it is not packed, or -ENOMEM. */
int item_unpack(struct cursor section, struct cursor data, struct arena *arena, const unsigned char **ret,
                size_t *ret_size);
/* The next item. False at the end, and where the section is damaged. */
bool item_next(struct cursor *section, struct item *ret);

/* Each reads the fixed part of the body; its strings come next. False: too short. ret->item is not set. */
bool item_session(struct item *item, struct pinject_item_session *ret);
bool item_task(struct item *item, struct pinject_item_task *ret);
bool item_generation(struct item *item, struct pinject_item_generation *ret);
bool item_count(struct item *item, struct pinject_item_count *ret);
bool item_unit(struct item *item, struct pinject_item_unit *ret);
bool item_coverage(struct item *item, struct pinject_item_coverage *ret);
bool item_machine(struct item *item, struct pinject_item_machine *ret);
bool item_times(struct item *item, struct pinject_item_times *ret);
bool item_unwritten(struct item *item, struct pinject_item_unwritten *ret);
bool item_missed(struct item *item, struct pinject_item_missed *ret);
bool item_stacks(struct item *item, struct pinject_item_stacks *ret);

/* The next string, "" when there is none. */
const char *item_string(struct item *item);

#endif
