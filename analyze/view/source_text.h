/* SPDX-License-Identifier: MIT */
/* Lines of source files. Each file is read once. */
#ifndef ANALYZE_VIEW_SOURCE_TEXT_H
#define ANALYZE_VIEW_SOURCE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "analyze/view/source_rights.h"

struct source_texts;

/* SYMFS: prefix of every path, or NULL. */
struct source_texts *source_texts_new(const char *symfs);
void source_texts_free(struct source_texts *texts);
/* LINE (from 1) of the file of PLACE; NULL: not available. Valid until source_texts_free(). */
const char *source_texts_line(struct source_texts *texts, const struct source_place *place, uint32_t line);
/* Whether the file, if it was read, was changed after TIME. */
bool source_texts_changed(struct source_texts *texts, const struct source_place *place, time_t time);
/* Why an existing file is not shown; NULL: it is shown, or does not exist. */
const char *source_texts_why(struct source_texts *texts, const struct source_place *place);
/* The number of wanted files that do not exist, and the path of the first, which lives as long as TEXTS. */
size_t source_texts_missing(const struct source_texts *texts, const char **ret_first);

#endif
