/* SPDX-License-Identifier: MIT */
#include "analyze/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/read/directory.h"
#include "analyze/read/standard_input.h"
#include "analyze/view/archive.h"
#include "analyze/view/memory.h"
#include "common/report.h"

/* The end of ".DIGITS.DIGITS" at the start of NAME; NULL: NAME does not start so. */
static const char *skip_numbers(const char *name)
{
    for (int i = 0; i < 2; i++) {
        size_t digits = *name == '.' ? strspn(name + 1, "0123456789") : 0;
        if (!digits)
            return NULL;
        name += 1 + digits;
    }
    return name;
}

/* Whether NAME, the rest after the numbers of a result file's name, is empty, .EXEC, or like ~1. */
static bool is_result_end(const char *name)
{
    if (*name == '.')
        return name[1] != '\0';
    return !*name || (*name == '~' && name[1] && name[1 + strspn(name + 1, "0123456789")] == '\0');
}

/* Whether NAME is BASE.PID.TID, BASE.PID.TID.EXEC or like BASE.PID.TID~1; BASE NULL: any base. */
static bool is_result(const char *name, const char *base)
{
    size_t length = base ? strlen(base) : 1;
    if (strlen(name) < length || (base && strncmp(name, base, length) != 0))
        return false;
    do {
        const char *end = skip_numbers(name + length);
        if (end && is_result_end(end))
            return true;
        length++;
    } while (!base && name[length]);
    return false;
}

static void add_input(struct inputs *inputs, char *path)
{
    inputs->paths = memory_grow(inputs->paths, &inputs->capacity, inputs->count + 1, sizeof(*inputs->paths));
    inputs->paths[inputs->count++] = path;
}

static int compare_inputs(const void *left, const void *right)
{
    return strverscmp(*(char *const *)left, *(char *const *)right);
}

/* Adds the result files of DIRECTORY, in the order of their numbers. Returns their number, or -errno. */
static long add_directory(struct inputs *inputs, const char *directory, const char *base)
{
    size_t before = inputs->count;
    bool here = strcmp(directory, ".") == 0;
    DIR *listing = opendir(directory);
    if (!listing)
        return -errno;
    for (struct dirent *entry; (entry = readdir(listing));) {
        struct stat status;
        if (!is_result(entry->d_name, base))
            continue;
        const char *slash = here || directory[strlen(directory) - 1] == '/' ? "" : "/";
        char *path = memory_print("%s%s%s", here ? "" : directory, slash, entry->d_name);
        /* Opening a FIFO would block. */
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
            add_input(inputs, path);
        else
            free(path);
    }
    closedir(listing);
    if (inputs->count > before)
        qsort(inputs->paths + before, inputs->count - before, sizeof(*inputs->paths), compare_inputs);
    return (long)(inputs->count - before);
}

static int find_here(struct inputs *inputs)
{
    long found = add_directory(inputs, ".", "out");
    if (found > 0) {
        report_note("no file given: reading %ld result file%s (out.*) in this directory", found, found == 1 ? "" : "s");
        return 0;
    }
    if (access("perf.data", R_OK) == 0) {
        report_note("no file given: reading perf.data in this directory");
        add_input(inputs, memory_text("perf.data"));
        return 0;
    }
    report_error("no file given, and this directory has no result files (out.PID.TID); record with 'pinject-run "
                 "--follow-all -- COMMAND', then type 'panalyze out.*'");
    return -ENOENT;
}

int inputs_find(struct inputs *inputs, const char *const *operands, size_t count)
{
    *inputs = (struct inputs){0};
    if (count == 0)
        return find_here(inputs);
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        /* The shell's out.* matches it, too. */
        if (archive_is(operands[i]))
            continue;
        if (standard_input_is(operands[i]) || stat(operands[i], &status) < 0 || !S_ISDIR(status.st_mode)) {
            add_input(inputs, memory_text(operands[i]));
            continue;
        }
        long found = add_directory(inputs, operands[i], NULL);
        if (found == 0 && directory_is_perf(operands[i])) {
            add_input(inputs, memory_text(operands[i]));
            continue;
        }
        if (found < 0)
            report_error("the directory '%s' cannot be read: %s", operands[i], strerror((int)-found));
        else if (found == 0)
            report_error("the directory '%s' has no result files (NAME.PID.TID)", operands[i]);
        if (found <= 0) {
            inputs_release(inputs);
            return -ENOENT;
        }
    }
    if (inputs->count)
        return 0;
    report_error("'%s' is an archive of symbols, not a result file; give the result files too", operands[0]);
    return -ENOENT;
}

/* The last part of PATH. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Adds all result files of PATH's directory with the first SIZE bytes of its last part as base. Returns their number,
 * or -errno. */
static long add_base_files(struct inputs *inputs, const char *path, size_t size)
{
    const char *name = name_of(path);
    char *directory = name > path ? memory_print("%.*s", (int)(name - path), path) : memory_text(".");
    char *base = memory_print("%.*s", (int)size, name);
    long found = add_directory(inputs, directory, base);
    free(base);
    free(directory);
    return found;
}

/* The length of BASE in NAME, a BASE.PID.TID; 0: it is no such name. */
static size_t base_length(const char *name)
{
    for (size_t length = 1; *name && name[length]; length++) {
        const char *end = skip_numbers(name + length);
        if (end && is_result_end(end))
            return length;
    }
    return 0;
}

/* Whether one of OPERANDS[COUNT] is of the same place as PATH. */
static bool is_place_known(const char *const *operands, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (inputs_same_place(path, operands[i]))
            return true;
    return false;
}

bool inputs_same_place(const char *a, const char *b)
{
    size_t size = base_length(name_of(a)), before = (size_t)(name_of(a) - a);
    if (!size)
        return strcmp(a, b) == 0;
    return base_length(name_of(b)) == size && (size_t)(name_of(b) - b) == before && strncmp(a, b, before + size) == 0;
}

int inputs_follow(struct inputs *inputs, const char *base, const char *const *operands, size_t count)
{
    *inputs = (struct inputs){0};
    if (base) {
        long found = add_base_files(inputs, base, strlen(base));
        if (found <= 0)
            report_error("there are no result files %s.* yet", base);
        return found > 0 ? 0 : -ENOENT;
    }
    if (count == 0)
        return inputs_find(inputs, operands, count);
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        size_t size = base_length(name_of(operands[i]));
        if (standard_input_is(operands[i])) {
            report_error(
                "'panalyze top' cannot follow the standard input ('-'); give the result files of a running program");
            inputs_release(inputs);
            return -EINVAL;
        }
        if (stat(operands[i], &status) == 0 && S_ISDIR(status.st_mode))
            add_directory(inputs, operands[i], NULL);
        else if (!size)
            add_input(inputs, memory_text(operands[i]));
        else if (!is_place_known(operands, i, operands[i]))
            add_base_files(inputs, operands[i], size);
    }
    if (inputs->count == 0) {
        report_error("there are no result files yet");
        return -ENOENT;
    }
    return 0;
}

void inputs_release(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        free(inputs->paths[i]);
    free(inputs->paths);
    *inputs = (struct inputs){0};
}
