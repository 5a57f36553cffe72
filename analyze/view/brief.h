/* SPDX-License-Identifier: MIT */
/* Long names of functions, shortened where they say least. */
#ifndef ANALYZE_VIEW_BRIEF_H
#define ANALYZE_VIEW_BRIEF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * CLEAN (text_clean()) in at most COLUMNS: whole where it fits; else with "(...)" for what stands in the brackets of a
 * call, then with "<...>" for arguments of templates, then without its namespaces ("...f"), and in the end cut. Owned
 * by the caller. flame.js does the same.
 */
char *brief_name(const char *clean, size_t columns, bool utf8);
/* The same of a path: with "..." for its first directories; its last part stays whole. */
char *brief_path(const char *clean, size_t columns, bool utf8);

#endif
