/* SPDX-License-Identifier: MIT */
#include "analyze/view/source_text.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/sym/elf_file.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"

/* ---- Which files may be shown ---- */

/* PATH and ROOT must not have symbolic links, "." or "..". */
static bool is_below(const char *path, const char *root)
{
    size_t size = strlen(root);
    if (strcmp(root, "/") == 0)
        return true;
    return strncmp(path, root, size) == 0 && path[size] == '/';
}

/* The path of the file that was opened. */
static bool real_path(int fd, char ret[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, ret, PATH_MAX);
    if (size <= 0 || size >= PATH_MAX || ret[0] != '/')
        return false;
    ret[size] = '\0';
    return true;
}

static bool is_versioned(const char *directory)
{
    static const char *const marks[] = {".git", ".hg", ".svn", ".bzr", ".jj"};
    bool found = false;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && !found; i++) {
        char *mark = memory_print("%s/%s", directory, marks[i]);
        found = access(mark, F_OK) == 0;
        free(mark);
    }
    return found;
}

/* Cuts off the last part. False: this reaches the root, the home directory, or a directory above that. */
static bool go_up(char *directory, const char *home)
{
    char *slash = strrchr(directory, '/');
    if (!slash || slash == directory)
        return false;
    *slash = '\0';
    return !home || (strcmp(home, directory) != 0 && !is_below(home, directory));
}

/* The directory of the project with the compilation directory DIRECTORY; NULL: unknown. Owned by the caller. */
static char *project_of(const char *directory)
{
    char *start = directory && directory[0] == '/' ? realpath(directory, NULL) : NULL;
    const char *variable = getenv("HOME");
    char *home = variable && variable[0] == '/' ? realpath(variable, NULL) : NULL;
    char *project = NULL;
    if (start && strcmp(start, "/") != 0) {
        char *at = memory_text(start);
        bool found = is_versioned(at);
        while (!found && go_up(at, home))
            found = is_versioned(at);
        if (!found) {
            free(at);
            at = memory_text(start);
            found = go_up(at, home);
        }
        project = found ? memory_text(at) : memory_text(start);
        free(at);
    }
    free(home);
    free(start);
    return project;
}

/* Directories without source files, but with secret ones. */
static bool is_system(const char *path)
{
    static const char *const roots[] = {"/etc", "/proc", "/sys", "/dev", "/run", "/boot"};
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
        if (is_below(path, roots[i]))
            return true;
    return false;
}

static bool is_in_project(const char *path, const char *directory)
{
    char *project = project_of(directory);
    /* Hidden files and directories may have keys and histories. */
    bool inside = project && is_below(path, project) && !strstr(path + strlen(project), "/.");
    free(project);
    return inside;
}

/* Whether some users may read the DSO, but not this file. */
static bool is_more_private(int fd, const char *dso)
{
    struct stat file, code;
    return fstat(fd, &file) < 0 || !dso || stat(dso, &code) < 0 || (code.st_mode & 0044 & ~file.st_mode);
}

static int refuse_source(int fd, const char *why, const char **ret_why)
{
    close(fd);
    *ret_why = why;
    return -EACCES;
}

static int open_below(const char *symfs, const char *file, uint64_t *ret_size, const char **ret_why)
{
    char path[PATH_MAX], *full = memory_print("%s/%s", symfs, file), *root = realpath(symfs, NULL);
    int fd = root ? elf_file_open_regular(full, 0, ret_size) : -ENOENT;
    if (fd >= 0 && (!real_path(fd, path) || !is_below(path, root)))
        fd = refuse_source(fd, "the path leads out of the --symfs directory", ret_why);
    free(root);
    free(full);
    return fd;
}

int source_rights_open(const struct source_place *place, const char *symfs, uint64_t *ret_size, const char **ret_why)
{
    char path[PATH_MAX];
    *ret_why = NULL;
    int fd = symfs[0] ? open_below(symfs, place->file, ret_size, ret_why) : -ENOENT;
    if (fd >= 0 || *ret_why)
        return fd;
    /* A relative path, with an unknown directory. */
    if (place->file[0] != '/')
        return -ENOENT;
    fd = elf_file_open_regular(place->file, 0, ret_size);
    if (fd < 0)
        return fd;
    if (!real_path(fd, path) || is_system(path) || (!is_below(path, "/usr") && !is_in_project(path, place->directory)))
        return refuse_source(fd, "the file is outside of the compiled project; --symfs=/ shows the file", ret_why);
    if (is_more_private(fd, place->dso))
        return refuse_source(fd, "the file has stricter read permissions than the program; --symfs=/ shows the file",
                             ret_why);
    return fd;
}

/* ---- Their lines ---- */

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
