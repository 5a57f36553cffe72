/* SPDX-License-Identifier: MIT */
#include "collector/events/event_error.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/nearest.h"
#include "common/report.h"

enum { WORDS_MAX = 8192, SHOWN = 60 };

void event_words_add(struct event_words *words, const char *word)
{
    if (words->count == words->room) {
        const size_t room = words->room ? 2 * words->room : 64;
        char **more = room > WORDS_MAX ? NULL : realloc(words->words, room * sizeof(*more));
        if (!more)
            return;
        words->words = more;
        words->room = room;
    }
    words->words[words->count] = strdup(word);
    words->count += words->words[words->count] != NULL;
}

void event_words_add_directory(struct event_words *words, const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory)))
        if (!strchr(entry->d_name, '.'))
            event_words_add(words, entry->d_name);
    if (directory)
        closedir(directory);
}

static int by_name(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

void event_words_sort(struct event_words *words)
{
    if (words->count)
        qsort(words->words, words->count, sizeof(words->words[0]), by_name);
}

void event_words_release(struct event_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->words[i]);
    free(words->words);
    *words = (struct event_words){0};
}

int event_error(const struct event_place *place, const char *word, const struct event_words *words, const char *problem,
                ...)
{
    char text[512];
    va_list list;
    va_start(list, problem);
    vsnprintf(text, sizeof(text), problem, list);
    va_end(list);
    const char *near = words && word ? nearest_word(word, (const char *const *)words->words, words->count) : NULL;
    const size_t size = strlen(place->text);
    report_error("event %u, '%.*s%s': %s%s%s%s", place->number, (int)(size > SHOWN ? SHOWN - 3 : SHOWN), place->text,
                 size > SHOWN ? "..." : "", text, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return -EINVAL;
}
