/* SPDX-License-Identifier: MIT */
#include "analyze/view/source_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/view/map.h"
#include "analyze/view/memory.h"

#define LARGEST (32u << 20)

struct source_text {
    char *text;   /* NULL: not available */
    char **lines; /* point into text */
    size_t count, capacity;
    time_t changed;
    const char *why; /* static text: why it may not be shown */
    char *path;      /* set if it was not found */
};

struct source_texts {
    char *symfs;
    struct map_strings names;
    struct source_text *files; /* by name */
    size_t capacity;
};

struct source_texts *source_texts_new(const char *symfs)
{
    struct source_texts *texts = memory_new(1, sizeof(*texts));
    texts->symfs = memory_text(symfs ? symfs : "");
    return texts;
}

void source_texts_free(struct source_texts *texts)
{
    if (!texts)
        return;
    for (size_t i = 0; i < texts->names.count; i++) {
        free(texts->files[i].text);
        free(texts->files[i].lines);
        free(texts->files[i].path);
    }
    free(texts->files);
    map_strings_release(&texts->names);
    free(texts->symfs);
    free(texts);
}

/* NULL: no regular file, too large, or it may not be shown. */
static char *read_text(const struct source_place *place, const char *symfs, time_t *ret_changed, const char **ret_why)
{
    struct stat status;
    uint64_t size = 0;
    size_t got = 0;
    int fd = source_rights_open(place, symfs, &size, ret_why);
    if (fd < 0)
        return NULL;
    char *text = size <= LARGEST ? memory_new((size_t)size + 1, 1) : NULL;
    while (text && got < size) {
        ssize_t more = read(fd, text + got, (size_t)size - got);
        if (more <= 0)
            break;
        got += (size_t)more;
    }
    if (text && fstat(fd, &status) == 0)
        *ret_changed = status.st_mtime;
    close(fd);
    return text;
}

static void split_lines(struct source_text *file)
{
    for (char *at = file->text; at && *at;) {
        file->lines = memory_grow(file->lines, &file->capacity, file->count + 1, sizeof(*file->lines));
        file->lines[file->count++] = at;
        at = strchr(at, '\n');
        if (at)
            *at++ = '\0';
    }
    for (size_t i = 0; i < file->count; i++) {
        size_t length = strlen(file->lines[i]);
        if (length && file->lines[i][length - 1] == '\r')
            file->lines[i][length - 1] = '\0';
        for (char *at = file->lines[i]; *at; at++)
            if (*at == '\t')
                *at = ' ';
    }
}

static const struct source_text *file_of(struct source_texts *texts, const struct source_place *place)
{
    size_t before = texts->names.count;
    /* All three decide whether a file may be shown. */
    char *key = memory_print("%s\n%s\n%s", place->file, place->directory ? place->directory : "",
                             place->dso ? place->dso : "");
    uint32_t number = map_strings_add(&texts->names, key);
    free(key);
    if (texts->names.count == before)
        return &texts->files[number];
    texts->files = memory_grow(texts->files, &texts->capacity, texts->names.count, sizeof(*texts->files));
    struct source_text *file = &texts->files[number];
    *file = (struct source_text){0};
    file->text = read_text(place, texts->symfs, &file->changed, &file->why);
    if (!file->text && !file->why)
        file->path = memory_text(place->file);
    split_lines(file);
    return file;
}

const char *source_texts_line(struct source_texts *texts, const struct source_place *place, uint32_t line)
{
    const struct source_text *file = file_of(texts, place);
    return line >= 1 && line <= file->count ? file->lines[line - 1] : NULL;
}

bool source_texts_changed(struct source_texts *texts, const struct source_place *place, time_t time)
{
    return file_of(texts, place)->changed > time;
}

const char *source_texts_why(struct source_texts *texts, const struct source_place *place)
{
    return file_of(texts, place)->why;
}

size_t source_texts_missing(const struct source_texts *texts, const char **ret_first)
{
    struct map_strings paths = {0}; /* several DSOs may have the same file */
    for (size_t i = 0; i < texts->names.count; i++)
        if (texts->files[i].path && map_strings_add(&paths, texts->files[i].path) == 0)
            *ret_first = texts->files[i].path;
    const size_t count = paths.count;
    map_strings_release(&paths);
    return count;
}
