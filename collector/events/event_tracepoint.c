/* SPDX-License-Identifier: MIT */
#include "collector/events/event_tracepoint.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"

enum { PATH_SIZE = EVENT_TRACEPOINT_NAME };

int event_tracepoint_directory(const struct event_sources *sources, char *ret_directory, size_t size)
{
    int status = -ENOENT;
    for (unsigned i = 0; i < 2 && sources->tracing[i]; i++) {
        snprintf(ret_directory, size, "%s/events", sources->tracing[i]);
        if (access(ret_directory, R_OK | X_OK) == 0)
            return 0;
        if (status == -ENOENT)
            status = -errno;
    }
    return status;
}

void event_tracepoint_explain(int status, char *ret, size_t size)
{
    if (status == -ENOENT)
        snprintf(
            ret, size,
            "tracefs is not mounted, or this kernel has no tracefs; to mount it, type as root: mount -t tracefs nodev "
            "/sys/kernel/tracing");
    else if (status == -EACCES || status == -EPERM)
        snprintf(ret, size, "tracefs cannot be read (%s); tracepoints need root", strerror(-status));
    else
        snprintf(ret, size, "tracefs cannot be read (%s)", strerror(-status));
}

static bool is_tracepoint(const char *directory, const char *system, const char *name)
{
    char path[PATH_SIZE];
    return snprintf(path, sizeof(path), "%s/%s/%s/id", directory, system, name) < (int)sizeof(path) &&
           access(path, F_OK) == 0;
}

static void find_in(const char *directory, const char *system, const char *pattern, struct event_words *words)
{
    char path[PATH_SIZE], word[PATH_SIZE];
    struct event_words names = {0};
    if (snprintf(path, sizeof(path), "%s/%s", directory, system) < (int)sizeof(path))
        event_words_add_directory(&names, path);
    event_words_sort(&names);
    for (size_t i = 0; i < names.count; i++) {
        if ((pattern && fnmatch(pattern, names.words[i], 0) != 0) || !is_tracepoint(directory, system, names.words[i]))
            continue;
        snprintf(word, sizeof(word), "%s:%s", system, names.words[i]);
        event_words_add(words, word);
    }
    event_words_release(&names);
}

int event_tracepoint_find(const struct event_sources *sources, const char *system, const char *pattern,
                          struct event_words *words)
{
    char directory[PATH_SIZE];
    struct event_words systems = {0};
    int status = event_tracepoint_directory(sources, directory, sizeof(directory));
    if (status < 0)
        return status;
    event_words_add_directory(&systems, directory);
    event_words_sort(&systems);
    for (size_t i = 0; i < systems.count; i++)
        if (!system || fnmatch(system, systems.words[i], 0) == 0)
            find_in(directory, systems.words[i], pattern, words);
    event_words_release(&systems);
    return 0;
}

int event_tracepoint_id(const struct event_sources *sources, const char *system, const char *name, uint64_t *ret)
{
    char directory[PATH_SIZE], path[PATH_SIZE + 256], *end;
    struct buffer text = BUFFER_INIT;
    int status = event_tracepoint_directory(sources, directory, sizeof(directory));
    if (status == 0 && (!event_pmu_is_name(system) || !event_pmu_is_name(name)))
        status = -ENOENT;
    if (status == 0) {
        snprintf(path, sizeof(path), "%s/%s/%s/id", directory, system, name);
        status = buffer_read_file(&text, path, 64);
    }
    if (status == 0 && text.size == 0)
        status = -EINVAL;
    if (status == 0) {
        errno = 0;
        *ret = strtoull((const char *)text.data, &end, 10);
        status = errno || end == (char *)text.data || (*end && *end != '\n') ? -EINVAL : 0;
    }
    buffer_release(&text);
    return status;
}

int event_tracepoint_find_id(const struct event_sources *sources, uint64_t id, char *ret, size_t size)
{
    struct event_words all = {0};
    int status = event_tracepoint_find(sources, NULL, NULL, &all);
    bool found = false;
    for (size_t i = 0; status == 0 && !found && i < all.count; i++) {
        uint64_t number = 0;
        snprintf(ret, size, "%s", all.words[i]);
        char *colon = strchr(ret, ':');
        *colon = '\0';
        found = event_tracepoint_id(sources, ret, colon + 1, &number) == 0 && number == id;
        *colon = ':';
    }
    event_words_release(&all);
    return status == 0 && !found ? -ENOENT : status;
}
