/* SPDX-License-Identifier: MIT */
#include "common/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"

#define LINE 4096

/* Process-wide on purpose: messages come from every module, and there is one stderr and one name. */
static const char *program = "pinject";
static bool quiet;

void report_program(const char *name)
{
    program = name;
}

void report_quiet(bool wanted)
{
    quiet = wanted;
}

unsigned long report_printable(const char *at, unsigned long size)
{
    const unsigned char *text = (const unsigned char *)at;
    unsigned char first = size ? text[0] : 0;
    if (first < 0x80)
        return first >= 0x20 && first != 0x7f;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || length > size)
        return 0;
    uint32_t code = first & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    /* C1 control characters, and bidirectional controls. */
    if (code < 0xa0 || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069))
        return 0;
    return length;
}

char *report_safe(char *ret, unsigned long ret_size, const char *text, unsigned long size)
{
    if (ret_size == 0)
        return ret;
    size = strnlen(text, size);
    size_t at = 0, cut = 0; /* cut: the last place between characters where "..." fits */
    for (size_t i = 0; i < size;) {
        char octal[5];
        const char *unit = text + i;
        size_t taken = report_printable(text + i, size - i), length = taken;
        if (!taken) {
            snprintf(octal, sizeof(octal), "\\%03o", (unsigned char)text[i]);
            unit = octal;
            taken = 1;
            length = 4;
        }
        if (length >= ret_size - at) {
            size_t dots = ret_size - 1 - cut < 3 ? ret_size - 1 - cut : 3;
            memcpy(ret + cut, "...", dots);
            at = cut + dots;
            break;
        }
        memcpy(ret + at, unit, length);
        at += length;
        i += taken;
        if (at + 4 <= ret_size)
            cut = at;
    }
    ret[at] = '\0';
    return ret;
}

__attribute__((format(printf, 2, 0))) static void say(const char *kind, const char *format, va_list list)
{
    int saved = errno;
    char text[LINE], safe[LINE], line[LINE + 256];
    int length = vsnprintf(text, sizeof(text), format, list);
    if (length < 0)
        snprintf(text, sizeof(text), "%s", format);
    report_safe(safe, sizeof(safe), text, sizeof(text));
    int size = snprintf(line, sizeof(line) - 1, "%.128s: %s%s", program, kind, safe);
    if (size > 0) {
        line[size] = '\n';
        /* An error on stderr cannot be reported anywhere. */
        (void)buffer_write(2, line, (size_t)size + 1);
    }
    errno = saved;
}

void report_error(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say("", format, list);
    va_end(list);
}

void report_warning(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say("warning: ", format, list);
    va_end(list);
}

void report_note(const char *format, ...)
{
    if (quiet)
        return;
    va_list list;
    va_start(list, format);
    say("", format, list);
    va_end(list);
}
