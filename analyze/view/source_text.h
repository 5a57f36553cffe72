/* SPDX-License-Identifier: MIT */
/* Lines of source files, each file read once. */
#ifndef ANALYZE_VIEW_SOURCE_TEXT_H
#define ANALYZE_VIEW_SOURCE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "analyze/view/source_rights.h"

struct source_texts;

/* SYMFS: in front of every path, or NULL. */
struct source_texts *source_texts_new(const char *symfs);
void source_texts_free(struct source_texts *texts);
/* LINE (from 1) of the file of PLACE, NULL: not to be had. Lives until source_texts_free(). */
const char *source_texts_line(struct source_texts *texts, const struct source_place *place, uint32_t line);
/* Whether the file, if it was read, was changed after TIME. */
bool source_texts_changed(struct source_texts *texts, const struct source_place *place, time_t time);
/* Why a file that is there is not shown; NULL: it is, or is not there. */
const char *source_texts_why(struct source_texts *texts, const struct source_place *place);
/* How many of the files that were wanted are not there, and the path of the first, which lives as long as TEXTS. */
size_t source_texts_missing(const struct source_texts *texts, const char **ret_first);

#endif
