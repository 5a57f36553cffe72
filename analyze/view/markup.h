/* SPDX-License-Identifier: MIT */
/* Writes untrusted text into XML: the document stays well-formed and shows the text. */
#ifndef ANALYZE_VIEW_MARKUP_H
#define ANALYZE_VIEW_MARKUP_H

#include <stdio.h>

/* For content and for attributes in double quotes. Characters that text_clean() removes are shown as \033, characters
 * that XML forbids as U+FFFD. */
void markup_text(FILE *to, const char *text);

#endif
