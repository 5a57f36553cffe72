/* SPDX-License-Identifier: MIT */
/* Our own feature section in a result file: pinject/format.h. */
#ifndef COLLECTOR_OUTPUT_ITEMS_H
#define COLLECTOR_OUTPUT_ITEMS_H

#include "collector/output/result_task.h"
#include "common/buffer.h"

/*
 * Appends the items of TASK's file. ARGUMENTS: COUNT strings, each with its NUL: what the user typed. EVENTS: bit set
 * of the configured events that are attrs of the file. COVERAGE and NOTE may be NULL. A multiple of 8 bytes when TO
 * began with one.
 */
void items_append(const struct session *session, const struct buffer *arguments, uint32_t count, uint64_t events,
                  const struct result_task *task, const struct result_coverage *coverage, const char *note,
                  struct buffer *to);

#endif
