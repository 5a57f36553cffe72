/* SPDX-License-Identifier: MIT */
#include "analyze/view/markup.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/text.h"

/* Whether the character at AT (valid UTF-8) may not stand in the document: U+0080-9F, U+202A-202E, U+2066-2069,
 * surrogates, U+FFFE and U+FFFF. */
static bool is_bad(const unsigned char *at)
{
    if (at[0] == 0xc2)
        return at[1] < 0xa0;
    if (at[0] == 0xed)
        return at[1] >= 0xa0;
    if (at[0] == 0xef)
        return at[1] == 0xbf && at[2] >= 0xbe;
    return at[0] == 0xe2 &&
           ((at[1] == 0x80 && at[2] >= 0xaa && at[2] <= 0xae) || (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9));
}

static size_t size_of(unsigned char first)
{
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

static void put(FILE *to, char character)
{
    switch (character) {
    case '&':
        fputs("&amp;", to);
        break;
    case '<':
        fputs("&lt;", to);
        break;
    case '>':
        fputs("&gt;", to);
        break;
    case '"':
        fputs("&quot;", to);
        break;
    default:
        fputc(character, to);
    }
}

void markup_text(FILE *to, const char *text)
{
    char *clean = text_clean(text, true);
    for (const char *at = clean; *at;) {
        size_t size = size_of((unsigned char)*at);
        if (size == 1)
            put(to, *at);
        else if (is_bad((const unsigned char *)at))
            fputs("\xef\xbf\xbd", to);
        else
            fwrite(at, 1, size, to);
        at += size;
    }
    free(clean);
}
