/* SPDX-License-Identifier: MIT */
#include "analyze/view/markup.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/text.h"

/* U+FFFE and U+FFFF: the only characters that text_clean() keeps and XML forbids. AT: valid UTF-8. */
static bool is_bad(const unsigned char *at)
{
    return at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe;
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
