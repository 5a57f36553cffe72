/* SPDX-License-Identifier: MIT */
/* Text for output: harmless names, columns, amounts. */
#ifndef ANALYZE_VIEW_TEXT_H
#define ANALYZE_VIEW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_task;

/* Size of a buffer for any amount below. */
#define TEXT_AMOUNT 48

/* A copy of TEXT without control characters and invalid bytes; only ASCII unless UTF8. Owned by the caller. */
char *text_clean(const char *text, bool utf8);
/* The number of columns of CLEAN on a terminal. */
size_t text_columns(const char *clean, bool utf8);
/* Shortens CLEAN in place to at most COLUMNS; ends it in "..." if something was cut. */
void text_cut(char *clean, size_t columns, bool utf8);

/* These write into RET[TEXT_AMOUNT] and return it. */
char *text_time(char *ret, uint64_t nanoseconds); /* "9.52 s", "12.3 ms" */
char *text_count(char *ret, uint64_t count);      /* "1,234,567" */
char *text_weight(char *ret, uint64_t weight, bool nanoseconds);
char *text_percent(char *ret, uint64_t part, uint64_t whole); /* "12.34 %"; "-" if WHOLE is 0 */
char *text_bytes(char *ret, uint64_t bytes);                  /* "4.2 MB" */
double text_share(uint64_t part, uint64_t whole);             /* in percent; 0 if WHOLE is 0 */
/* "1 task", "1,234 tasks" */
char *text_plural(char *ret, uint64_t count, const char *one, const char *many);

/* The part after the last slash; PATH itself for "[vdso]", "//anon" and the like. */
const char *text_base(const char *path);
/* The words as one line, quoted so that a shell splits it into the same words. Owned by the caller. */
char *text_command(const char *const *words, size_t count);
/* The command line of TASK, or its name if that is not known. text_task() gives "{name}" for a thread that is not the
 * first. */
char *text_task_command(const struct profile_task *task);
char *text_task(const struct profile_task *task);

#endif
