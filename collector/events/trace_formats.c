/* SPDX-License-Identifier: MIT */
#include "collector/events/trace_formats.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/events/event_tracepoint.h"

enum { FORMAT_MAX = 1 << 20, PATH_SIZE = 1024 };

/* Where the tracepoints are described, and what is written. */
struct writing {
    const char *directory; /* of tracefs: events */
    struct buffer *to;
};

bool trace_formats_are_needed(const struct event_list *list)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->specs[i].attr.type == PERF_TYPE_TRACEPOINT)
            return true;
    return false;
}

/* The file of tracefs: its size, 8 bytes, and its content. */
static int append_file(const struct writing *writing, const char *name)
{
    char path[PATH_SIZE];
    const size_t at = writing->to->size;
    if (snprintf(path, sizeof(path), "%s/%s", writing->directory, name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    buffer_u64(writing->to, 0);
    const int status = buffer_read_file(writing->to, path, FORMAT_MAX);
    const uint64_t size = writing->to->size - at - sizeof(size);
    if (status == 0 && !buffer_failed(writing->to))
        memcpy(writing->to->data + at, &size, sizeof(size));
    return status;
}

static bool has_word(const struct event_words *words, const char *word)
{
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->words[i], word) == 0)
            return true;
    return false;
}

/*
 * The tracepoints "SYSTEM:NAME" of LIST, in order, each once. Of one that was given as a number, tracefs has the name.
 */
static int find_names(const struct event_sources *sources, const struct event_list *list, struct event_words *ret)
{
    for (unsigned i = 0; i < list->count; i++) {
        const struct event_spec *spec = &list->specs[i];
        char found[EVENT_TRACEPOINT_NAME];
        const bool named = spec->target_kind == EVENT_TARGET_TRACEPOINT;
        if (spec->attr.type != PERF_TYPE_TRACEPOINT)
            continue;
        const int status = named ? 0 : event_tracepoint_find_id(sources, spec->attr.config, found, sizeof(found));
        if (status < 0)
            return status;
        if (!has_word(ret, named ? spec->target : found))
            event_words_add(ret, named ? spec->target : found);
    }
    event_words_sort(ret);
    return 0;
}

static size_t system_size(const char *name)
{
    return strcspn(name, ":");
}

static bool is_of_system(const char *name, const char *other)
{
    const size_t size = system_size(name);
    return size == system_size(other) && memcmp(name, other, size) == 0;
}

/* The first name after AT of another system; the end of NAMES: there is none. */
static size_t next_system(const struct event_words *names, size_t at)
{
    size_t next = at + 1;
    while (next < names->count && is_of_system(names->words[at], names->words[next]))
        next++;
    return next;
}

static int append_system(const struct writing *writing, const struct event_words *names, size_t first, size_t end)
{
    char name[PATH_SIZE];
    int status = 0;
    snprintf(name, sizeof(name), "%.*s", (int)system_size(names->words[first]), names->words[first]);
    buffer_string(writing->to, name);
    buffer_u32(writing->to, (uint32_t)(end - first));
    for (size_t i = first; status == 0 && i < end; i++) {
        const size_t size = system_size(names->words[i]);
        snprintf(name, sizeof(name), "%.*s/%s/format", (int)size, names->words[i], names->words[i] + size + 1);
        status = append_file(writing, name);
    }
    return status;
}

static int append_systems(const struct writing *writing, const struct event_words *names)
{
    uint32_t systems = 0;
    for (size_t at = 0; at < names->count; at = next_system(names, at))
        systems++;
    buffer_u32(writing->to, systems);
    int status = 0;
    for (size_t at = 0; status == 0 && at < names->count; at = next_system(names, at))
        status = append_system(writing, names, at, next_system(names, at));
    return status;
}

/* How the kernel lays out the pages of its own trace buffers, which nobody reads here, but readers parse. */
static int append_head(const struct writing *writing)
{
    static const unsigned char magic[] = {23, 8, 68, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
    const unsigned char order = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, long_size = sizeof(long);
    buffer_append(writing->to, magic, sizeof(magic));
    buffer_string(writing->to, "0.6");
    buffer_append(writing->to, &order, 1);
    buffer_append(writing->to, &long_size, 1);
    buffer_u32(writing->to, (uint32_t)sysconf(_SC_PAGESIZE));
    buffer_string(writing->to, "header_page");
    int status = append_file(writing, "header_page");
    if (status < 0)
        return status;
    buffer_string(writing->to, "header_event");
    return append_file(writing, "header_event");
}

int trace_formats_append(const struct event_sources *sources, const struct event_list *list, struct buffer *to)
{
    char directory[PATH_SIZE / 2];
    struct event_words names = {0};
    const struct writing writing = {directory, to};
    const size_t before = to->size;
    int status = event_tracepoint_directory(sources, directory, sizeof(directory));
    if (status == 0)
        status = find_names(sources, list, &names);
    if (status == 0)
        status = append_head(&writing);
    buffer_u32(to, 0); /* events of ftrace itself */
    if (status == 0)
        status = append_systems(&writing, &names);
    buffer_u32(to, 0); /* kernel symbols */
    buffer_u32(to, 0); /* texts of trace_printk() */
    buffer_u64(to, 0); /* names of tasks */
    event_words_release(&names);
    if (status == 0 && buffer_failed(to))
        status = -ENOMEM;
    if (status < 0)
        to->size = before;
    return status;
}
