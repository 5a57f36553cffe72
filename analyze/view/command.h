/* SPDX-License-Identifier: MIT */
/* Command lines as text: which of their words are files, and what is left where there is little room. */
#ifndef ANALYZE_VIEW_COMMAND_H
#define ANALYZE_VIEW_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/*
 * LINE (text_task_command()) in at most COLUMNS: whole where it fits; else the program's name without its directory,
 * and of its words those that name files, "..." for others; in the end cut. Owned by the caller.
 */
char *command_brief(const char *line, size_t columns, bool utf8);
/* LINE with "*" in the place of files: the same of command lines that differ in files alone. Owned by the caller. */
char *command_pattern(const char *line);
/* The file that LINE works on, or that it makes; NULL: it names none. Owned by the caller. */
char *command_file(const char *line);
/* The name of LINE's program, without its directory. Owned by the caller. */
char *command_program(const char *line);

#endif
