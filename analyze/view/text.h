/* SPDX-License-Identifier: MIT */
/* Text for people: names made harmless, columns, amounts. */
#ifndef ANALYZE_VIEW_TEXT_H
#define ANALYZE_VIEW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_task;

/* Room for any amount below. */
#define TEXT_AMOUNT 48

/* A copy of TEXT without control characters and invalid bytes; all ASCII unless UTF8. Owned by the caller. */
char *text_clean(const char *text, bool utf8);
/* How many columns CLEAN takes on a terminal. */
size_t text_columns(const char *clean, bool utf8);
/* Shortens CLEAN in place to at most COLUMNS, ending in "..." where something went. */
void text_cut(char *clean, size_t columns, bool utf8);

/* These write into RET[TEXT_AMOUNT] and return it. */
char *text_time(char *ret, uint64_t nanoseconds); /* "9.52 s", "12.3 ms" */
char *text_count(char *ret, uint64_t count);      /* "1,234,567" */
char *text_weight(char *ret, uint64_t weight, bool nanoseconds);
char *text_percent(char *ret, uint64_t part, uint64_t whole); /* "12.34 %"; "-" of nothing */
char *text_bytes(char *ret, uint64_t bytes);                  /* "4.2 MB" */
double text_share(uint64_t part, uint64_t whole);             /* in percent, 0 of nothing */
/* "1 task", "1,234 tasks" */
char *text_plural(char *ret, uint64_t count, const char *one, const char *many);

/* What stands behind the last slash; TEXT itself for "[vdso]", "//anon" and the like. */
const char *text_base(const char *path);
/* The words as one line that a shell would take apart into the same words. Owned by the caller. */
char *text_command(const char *const *words, size_t count);
/* The command line of TASK, or its name where that is not known; text_task(): of a further thread "{name}". */
char *text_task_command(const struct profile_task *task);
char *text_task(const struct profile_task *task);

#endif
