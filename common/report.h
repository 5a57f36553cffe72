/* SPDX-License-Identifier: MIT */
/*
 * Messages to the user. Everything goes to stderr, one line each, "PROGRAM: text". Not for signal handlers, not
 * thread-safe beyond what write(2) of one line gives: each message is one write, so that lines of several processes do
 * not mix. Control characters in arguments (file names, comm) are shown as \ooo: a hostile name cannot drive the
 * terminal.
 */
#ifndef COMMON_REPORT_H
#define COMMON_REPORT_H

#include <stdbool.h>

/* Sets the name in front of each message. NAME is not copied and must live on. */
void report_program(const char *name);

/* With quiet set, report_note() says nothing; errors and warnings are always shown. */
void report_quiet(bool quiet);

/* "PROGRAM: text" */
void report_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Copies TEXT (at most SIZE bytes or up to its NUL) into RET[RET_SIZE] with control characters and invalid UTF-8 as
 * \ooo; always terminated, truncated with "..." where it does not fit. Returns RET.
 */
char *report_safe(char *ret, unsigned long ret_size, const char *text, unsigned long size);

/*
 * Bytes of the character at TEXT[SIZE] that may go to a terminal as it is; 0: none, it is a control character, turns
 * the direction of writing, or is no UTF-8.
 */
unsigned long report_printable(const char *text, unsigned long size);

#endif
