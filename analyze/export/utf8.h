/* SPDX-License-Identifier: MIT */
/* Text of someone else as valid UTF-8, for formats that take every character but no broken one. */
#ifndef ANALYZE_EXPORT_UTF8_H
#define ANALYZE_EXPORT_UTF8_H

/* A copy of TEXT with U+FFFD in the place of each byte that is no UTF-8. Owned by the caller. */
char *utf8_clean(const char *text);

#endif
