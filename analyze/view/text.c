/* SPDX-License-Identifier: MIT */
#include "analyze/view/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "analyze/model/profile.h"
#include "analyze/view/memory.h"
#include "common/report.h"

char *text_clean(const char *text, bool utf8)
{
    size_t size = strlen(text), room = size * 4 + 4;
    char *safe = memory_new(room, 1);
    report_safe(safe, room, text, size);
    if (utf8)
        return safe;
    char *plain = memory_new(strlen(safe) * 4 + 1, 1), *to = plain;
    for (const unsigned char *from = (const unsigned char *)safe; *from; from++) {
        if (*from < 0x80)
            *to++ = (char)*from;
        else
            to += sprintf(to, "\\%03o", *from);
    }
    free(safe);
    return plain;
}

/* The columns of the character at TEXT; *ret_size: its bytes, at least 1. */
static size_t character_columns(const char *text, bool utf8, size_t *ret_size)
{
    *ret_size = 1;
    if (!utf8 || (unsigned char)*text < 0x80)
        return 1;
    mbstate_t state = {0};
    wchar_t wide = 0;
    size_t size = mbrtowc(&wide, text, strlen(text), &state);
    if (size == (size_t)-1 || size == (size_t)-2 || size == 0)
        return 1;
    *ret_size = size;
    int columns = wcwidth(wide);
    return columns < 0 ? 1 : (size_t)columns;
}

size_t text_columns(const char *clean, bool utf8)
{
    size_t columns = 0, size = 0;
    for (; *clean; clean += size)
        columns += character_columns(clean, utf8, &size);
    return columns;
}

void text_cut(char *clean, size_t columns, bool utf8)
{
    if (text_columns(clean, utf8) <= columns)
        return;
    size_t dots = columns < 3 ? columns : 3, used = 0, size = 0;
    char *at = clean;
    for (; *at; at += size) {
        size_t wide = character_columns(at, utf8, &size);
        if (used + wide > columns - dots)
            break;
        used += wide;
    }
    /* The removed text was at least as wide as the dots, so it had at least as many bytes. */
    memcpy(at, "...", dots);
    at[dots] = '\0';
}

char *text_time(char *ret, uint64_t nanoseconds)
{
    double seconds = (double)nanoseconds / 1e9;
    if (nanoseconds == 0)
        snprintf(ret, TEXT_AMOUNT, "0 s");
    else if (seconds >= 99.995)
        snprintf(ret, TEXT_AMOUNT, "%.1f s", seconds);
    else if (seconds >= 0.9995)
        snprintf(ret, TEXT_AMOUNT, "%.2f s", seconds);
    else if (seconds >= 0.09995)
        snprintf(ret, TEXT_AMOUNT, "%.0f ms", seconds * 1e3);
    else if (seconds >= 0.009995)
        snprintf(ret, TEXT_AMOUNT, "%.1f ms", seconds * 1e3);
    else
        snprintf(ret, TEXT_AMOUNT, seconds >= 9.5e-6 ? "%.2f ms" : "%.4f ms", seconds * 1e3);
    return ret;
}

char *text_count(char *ret, uint64_t count)
{
    char digits[24];
    int size = snprintf(digits, sizeof(digits), "%" PRIu64, count), at = 0;
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            ret[at++] = ',';
        ret[at++] = digits[i];
    }
    ret[at] = '\0';
    return ret;
}

char *text_weight(char *ret, uint64_t weight, bool nanoseconds)
{
    return nanoseconds ? text_time(ret, weight) : text_count(ret, weight);
}

double text_share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

char *text_percent(char *ret, uint64_t part, uint64_t whole)
{
    if (whole)
        snprintf(ret, TEXT_AMOUNT, "%.2f %%", text_share(part, whole));
    else
        snprintf(ret, TEXT_AMOUNT, "-");
    return ret;
}

char *text_bytes(char *ret, uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000) {
        snprintf(ret, TEXT_AMOUNT, "%" PRIu64 " bytes", bytes);
        return ret;
    }
    double amount = (double)bytes / 1000;
    size_t unit = 0;
    while (amount >= 999.95 && unit < 5) {
        amount /= 1000;
        unit++;
    }
    snprintf(ret, TEXT_AMOUNT, "%.1f %s", amount, units[unit]);
    return ret;
}

char *text_plural(char *ret, uint64_t count, const char *one, const char *many)
{
    size_t used = strlen(text_count(ret, count));
    snprintf(ret + used, TEXT_AMOUNT - used, " %s", count == 1 ? one : many);
    return ret;
}

const char *text_base(const char *path)
{
    if (path[0] != '/' || path[1] == '/')
        return path;
    const char *slash = strrchr(path, '/');
    return slash[1] ? slash + 1 : path;
}

static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
    for (const char *at = word; *at; at++)
        if ((unsigned char)*at < 0x80 && !strchr(plain, *at))
            return false;
    return *word != '\0';
}

char *text_command(const char *const *words, size_t count)
{
    size_t room = 1;
    for (size_t i = 0; i < count; i++)
        room += strlen(words[i]) * 4 + 3;
    char *line = memory_new(room, 1), *to = line;
    for (size_t i = 0; i < count; i++) {
        if (i)
            *to++ = ' ';
        if (is_plain(words[i])) {
            to = stpcpy(to, words[i]);
            continue;
        }
        *to++ = '\'';
        for (const char *from = words[i]; *from; from++) {
            if (*from == '\'')
                to = stpcpy(to, "'\\''");
            else
                *to++ = *from;
        }
        *to++ = '\'';
    }
    *to = '\0';
    return line;
}

char *text_task_command(const struct profile_task *task)
{
    return task->cmdline_count ? text_command(task->cmdline, task->cmdline_count) : memory_text(task->comm);
}

char *text_task(const struct profile_task *task)
{
    return task->tid != task->pid ? memory_print("{%s}", task->comm) : text_task_command(task);
}
