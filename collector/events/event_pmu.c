/* SPDX-License-Identifier: MIT */
#include "collector/events/event_pmu.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"

enum { FILE_MAX = 4096, PATH_SIZE = 512 };

const struct event_sources event_sources_system = {
    .devices = "/sys/bus/event_source/devices",
    .tracing = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"},
};

bool event_pmu_is_name(const char *name)
{
    const size_t size = strlen(name);
    if (!size || size > 100 || *name == '.')
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("_-.", *name))
            return false;
    return true;
}

/* The first line of a file: 0, -EFBIG if RET[SIZE] is too small, or another -errno. */
__attribute__((format(printf, 3, 4))) static int read_line(char *ret, size_t size, const char *format, ...)
{
    char path[PATH_SIZE];
    struct buffer text = BUFFER_INIT;
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(path, sizeof(path), format, list);
    va_end(list);
    int status = length < 0 || (size_t)length >= sizeof(path) ? -ENAMETOOLONG : buffer_read_file(&text, path, FILE_MAX);
    if (status == 0) {
        const size_t line = text.data ? strcspn((const char *)text.data, "\n") : 0;
        status = line < size ? 0 : -EFBIG;
        if (status == 0 && line)
            memcpy(ret, text.data, line);
        if (status == 0)
            ret[line] = '\0';
    }
    buffer_release(&text);
    return status;
}

int event_pmu_find(const struct event_sources *sources, const char *name, struct event_pmu *ret)
{
    struct event_pmu pmu = {.type = 0};
    char number[32], *end;
    if (!event_pmu_is_name(name) || strlen(name) >= sizeof(pmu.name))
        return -ENOENT;
    snprintf(pmu.name, sizeof(pmu.name), "%s", name);
    if (snprintf(pmu.path, sizeof(pmu.path), "%s/%s", sources->devices, name) >= (int)sizeof(pmu.path))
        return -ENAMETOOLONG;
    int status = read_line(number, sizeof(number), "%s/type", pmu.path);
    if (status < 0)
        return status;
    errno = 0;
    const unsigned long type = strtoul(number, &end, 10);
    if (errno || end == number || *end || type > UINT32_MAX || !isdigit((unsigned char)number[0]))
        return -EINVAL;
    pmu.type = (uint32_t)type;
    /* "cpus" instead is of a core type of a hybrid CPU, which counts for threads. */
    if (read_line(pmu.cpumask, sizeof(pmu.cpumask), "%s/cpumask", pmu.path) < 0)
        pmu.cpumask[0] = '\0';
    *ret = pmu;
    return 0;
}

static bool take_number(const char **text, unsigned long *ret)
{
    char *end;
    if (!isdigit((unsigned char)**text))
        return false;
    *ret = strtoul(*text, &end, 10);
    *text = end;
    return true;
}

int event_pmu_parse_format(const char *text, struct event_format *ret)
{
    static const char *const fields[] = {"config:", "config1:", "config2:", "config3:"};
    struct event_format format = {.field = 0};
    while (format.field < 4 && strncmp(text, fields[format.field], strlen(fields[format.field])) != 0)
        format.field++;
    if (format.field == 4)
        return -EINVAL;
    text += strlen(fields[format.field]);
    do {
        unsigned long first, last;
        if (!take_number(&text, &first))
            return -EINVAL;
        last = first;
        if (*text == '-' && (text++, !take_number(&text, &last)))
            return -EINVAL;
        if (first > last || last > 63)
            return -EINVAL;
        for (; first <= last; first++)
            format.bits |= UINT64_C(1) << first;
    } while (*text++ == ',');
    if (text[-1])
        return -EINVAL;
    *ret = format;
    return 0;
}

int event_pmu_format(const struct event_pmu *pmu, const char *term, struct event_format *ret)
{
    char line[256];
    if (!event_pmu_is_name(term))
        return -ENOENT;
    int status = read_line(line, sizeof(line), "%s/format/%s", pmu->path, term);
    return status < 0 ? status : event_pmu_parse_format(line, ret);
}

int event_format_put(const struct event_format *format, uint64_t value, uint64_t fields[4], uint64_t *ret_highest)
{
    const unsigned count = (unsigned)__builtin_popcountll(format->bits);
    const uint64_t highest = count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
    *ret_highest = highest;
    if (value > highest)
        return -ERANGE;
    uint64_t *field = &fields[format->field];
    *field &= ~format->bits;
    for (unsigned bit = 0; bit < 64; bit++)
        if (format->bits & UINT64_C(1) << bit) {
            *field |= (value & 1) << bit;
            value >>= 1;
        }
    return 0;
}

int event_pmu_alias(const struct event_pmu *pmu, const char *name, struct event_alias *ret)
{
    struct event_alias alias = {.scale = 0};
    char line[64], *end;
    if (!event_pmu_is_name(name) || strchr(name, '.'))
        return -ENOENT;
    int status = read_line(alias.terms, sizeof(alias.terms), "%s/events/%s", pmu->path, name);
    if (status < 0)
        return status;
    if (read_line(alias.unit, sizeof(alias.unit), "%s/events/%s.unit", pmu->path, name) < 0)
        alias.unit[0] = '\0';
    if (read_line(line, sizeof(line), "%s/events/%s.scale", pmu->path, name) == 0) {
        const double scale = strtod(line, &end);
        alias.scale = end != line && !*end && scale > 0 && scale < 1e300 ? scale : 0;
    }
    alias.per_package = read_line(line, sizeof(line), "%s/events/%s.per-pkg", pmu->path, name) == 0;
    alias.snapshot = read_line(line, sizeof(line), "%s/events/%s.snapshot", pmu->path, name) == 0;
    *ret = alias;
    return 0;
}

void event_pmu_names(const struct event_sources *sources, struct event_words *words)
{
    event_words_add_directory(words, sources->devices);
}

static void add_names(const struct event_pmu *pmu, const char *directory, struct event_words *words)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "%s/%s", pmu->path, directory);
    event_words_add_directory(words, path);
}

void event_pmu_terms(const struct event_pmu *pmu, struct event_words *words)
{
    add_names(pmu, "format", words);
}

void event_pmu_events(const struct event_pmu *pmu, struct event_words *words)
{
    add_names(pmu, "events", words);
}

int event_pmu_of_event(const struct event_sources *sources, const char *name, struct event_pmu *ret)
{
    struct event_words names = {0};
    int status = -ENOENT;
    event_pmu_names(sources, &names);
    event_words_sort(&names);
    for (size_t i = 0; status < 0 && i < names.count; i++) {
        struct event_pmu pmu;
        struct event_alias alias;
        if (event_pmu_find(sources, names.words[i], &pmu) == 0 && event_pmu_alias(&pmu, name, &alias) == 0) {
            *ret = pmu;
            status = 0;
        }
    }
    event_words_release(&names);
    return status;
}
