/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <string.h>

#include "collector/doctor/doctor_probe.h"
#include "common/report.h"

enum { LEVEL = 9, LABEL = 17, TEXT = 2 + LEVEL + LABEL };

enum { FORMATTED = 8192, WORD = 1024 };

static void format_safe(char *ret, size_t size, const char *format, va_list list) __attribute__((format(printf, 3, 0)));

static void format_safe(char *ret, size_t size, const char *format, va_list list)
{
    char text[FORMATTED];
    int length = vsnprintf(text, sizeof(text), format, list);
    report_safe(ret, size, length < 0 ? "" : text, sizeof(text));
}

void doctor_text(char *ret, size_t size, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    format_safe(ret, size, format, list);
    va_end(list);
}

void doctor_remedy(struct doctor_finding *finding, const char *format, ...)
{
    va_list list;
    size_t used = strlen(finding->remedy);
    if (used > 0 && used + 1 < sizeof(finding->remedy))
        finding->remedy[used++] = '\n';
    va_start(list, format);
    format_safe(finding->remedy + used, sizeof(finding->remedy) - used, format, list);
    va_end(list);
}

const char *doctor_word(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    static char word[WORD]; /* used at once, by the only thread */
    char safe[WORD];
    size_t at = 0, length = strlen(path);
    if (length > 0 && length < WORD && strspn(path, plain) == length)
        return strcpy(word, path);
    if (length == 0 || length >= WORD || strcmp(report_safe(safe, sizeof(safe), path, length), path) != 0)
        return "FILE";
    word[at++] = '\'';
    for (; *path && at + 8 < sizeof(word); path++) {
        const char *unit = *path == '\'' ? "'\\''" : (char[]){*path, '\0'};
        strcpy(word + at, unit);
        at += strlen(unit);
    }
    strcpy(word + at, "'");
    return *path ? "FILE" : word;
}

/* Columns of the UTF-8 text: every character counts as one. */
static int columns(const char *text, size_t size)
{
    int count = 0;
    for (size_t i = 0; i < size; i++)
        count += (text[i] & 0xc0) != 0x80;
    return count;
}

void doctor_wrap(FILE *to, const char *text, int at, int indent, int width)
{
    bool first = true;
    while (*text) {
        size_t size = strcspn(text, " ");
        int wide = columns(text, size);
        if (!first && at + 1 + wide > width) {
            fprintf(to, "\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', to);
            at++;
        }
        fwrite(text, 1, size, to);
        at += wide;
        first = false;
        text += size;
        text += strspn(text, " ");
    }
    fputc('\n', to);
}

void doctor_print(FILE *to, const char *label, const struct doctor_finding *finding, int width, bool color)
{
    static const struct {
        const char *name, *color;
    } levels[] = {
        [DOCTOR_OK] = {"ok", "32"},
        [DOCTOR_NOTE] = {"note", "36"},
        [DOCTOR_LIMITED] = {"limited", "33"},
        [DOCTOR_REFUSED] = {"refused", "31"},
    };
    char text[sizeof(finding->value) + sizeof(finding->meaning) + 4];
    const char *name = levels[finding->level].name;
    if (color)
        fprintf(to, "  \033[%sm%-*s\033[0m%-*s", levels[finding->level].color, LEVEL, name, LABEL, label);
    else
        fprintf(to, "  %-*s%-*s", LEVEL, name, LABEL, label);
    snprintf(text, sizeof(text), "%s%s%s", finding->value, finding->value[0] && finding->meaning[0] ? "; " : "",
             finding->meaning);
    doctor_wrap(to, text, TEXT, TEXT, width);
    for (const char *line = finding->remedy; *line;) {
        size_t size = strcspn(line, "\n");
        fprintf(to, "%*s> %.*s\n", TEXT - 2, "", (int)size, line);
        line += size + (line[size] == '\n');
    }
}
