/* SPDX-License-Identifier: MIT */
/*
 * Messages to the user, on stderr, one line each: "PROGRAM: text". Not for signal handlers. Each message is one
 * write(2), so lines of several processes or threads do not mix; beyond that it is not thread-safe. Control characters
 * in arguments (file names, comm) are shown as \ooo, so a hostile name cannot control the terminal.
 */
#ifndef COMMON_REPORT_H
#define COMMON_REPORT_H

#include <stdbool.h>

/* Sets the name in front of each message. NAME is not copied and must stay valid. */
void report_program(const char *name);

/* With QUIET, report_note() prints nothing; errors and warnings are always shown. */
void report_quiet(bool quiet);

/* "PROGRAM: text", of a warning "PROGRAM: warning: text". */
void report_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Copies TEXT (up to its NUL, at most SIZE bytes) into RET[RET_SIZE], with control characters and invalid UTF-8 as
 * \ooo; always terminated; truncated with "..." if it does not fit. Returns RET.
 */
char *report_safe(char *ret, unsigned long ret_size, const char *text, unsigned long size);

/*
 * The size of the character at TEXT[SIZE], if it may go to a terminal as it is; 0: it is a control character, changes
 * the direction of writing, or is not UTF-8.
 */
unsigned long report_printable(const char *text, unsigned long size);

#endif
