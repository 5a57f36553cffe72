/* SPDX-License-Identifier: MIT */
#include "analyze/export/utf8.h"

#include <string.h>

#include "common/json.h"
#include "analyze/view/memory.h"

char *utf8_clean(const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t size = strlen(text);
    char *clean = memory_new(3 * size + 1, 1), *to = clean;
    for (const char *at = text; *at;) {
        size_t length = json_character((const unsigned char *)at);
        if (length)
            memcpy(to, at, length);
        else
            memcpy(to, replacement, 3);
        to += length ? length : 3;
        at += length ? length : 1;
    }
    return clean;
}
