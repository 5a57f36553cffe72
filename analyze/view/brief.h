/* SPDX-License-Identifier: MIT */
/* Shortens long names of functions, paths and command lines at their least useful parts. */
#ifndef ANALYZE_VIEW_BRIEF_H
#define ANALYZE_VIEW_BRIEF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * CLEAN (text_clean()) in at most COLUMNS: whole if it fits. If not, these steps follow until it fits: "(...)" instead
 * of parameters, "<...>" instead of template arguments, no namespaces ("...f"), a cut end. Owned by the caller.
 * flame.js does the same.
 */
char *brief_name(const char *clean, size_t columns, bool utf8);
/* The same for a path: "..." replaces its first directories, its last part stays whole. */
char *brief_path(const char *clean, size_t columns, bool utf8);

/* Command lines as text: finds the files in them, and shortens them. */

/*
 * LINE (text_task_command()) in at most COLUMNS: whole if it fits; else the program's name without its directory, the
 * words that name files, and "..." for the others; cut if that is still too long. Owned by the caller.
 */
char *command_brief(const char *line, size_t columns, bool utf8);
/* LINE with "*" for each file: the same text for command lines that differ only in files. Owned by the caller. */
char *command_pattern(const char *line);
/* The file that LINE processes or creates; NULL: it names none. Owned by the caller. */
char *command_file(const char *line);
/* The name of LINE's program, without its directory. Owned by the caller. */
char *command_program(const char *line);

#endif
