/* SPDX-License-Identifier: MIT */
/* Text of someone else inside of XML: whatever it holds, the document stays well-formed and shows what is there. */
#ifndef ANALYZE_VIEW_MARKUP_H
#define ANALYZE_VIEW_MARKUP_H

#include <stdio.h>

/* For content and for attributes in double quotes. What text_clean() takes for harmful is shown as \033, and what XML
 * forbids is U+FFFD. */
void markup_text(FILE *to, const char *text);

#endif
