/* SPDX-License-Identifier: MIT */
/* Untrusted text as valid UTF-8, for formats that accept all characters but no invalid bytes. */
#ifndef ANALYZE_EXPORT_UTF8_H
#define ANALYZE_EXPORT_UTF8_H

/* A copy of TEXT with U+FFFD instead of each byte that is not UTF-8. Owned by the caller. */
char *utf8_clean(const char *text);

#endif
