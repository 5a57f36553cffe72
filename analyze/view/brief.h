/* SPDX-License-Identifier: MIT */
/* Shortens long names of functions at their least useful parts. */
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

#endif
