/* SPDX-License-Identifier: MIT */
#include "analyze/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/view/memory.h"
#include "common/report.h"

/* Where the digits start that end before END. */
static size_t before_digits(const char *name, size_t end)
{
    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    return end;
}

/* Whether NAME is BASE.PID.TID or BASE.PID.TID.EXEC, perhaps with ~1 behind it; BASE NULL: any. */
static bool is_result(const char *name, const char *base)
{
    int numbers = 0;
    size_t end = strlen(name), again = before_digits(name, end);
    if (again < end && again > 0 && name[again - 1] == '~')
        end = again - 1;
    while (numbers < 3) {
        size_t digits = before_digits(name, end);
        if (digits == end || digits < 2 || name[digits - 1] != '.')
            break;
        end = digits - 1;
        numbers++;
    }
    if (numbers < 2)
        return false;
    return !base || (strlen(base) == end && strncmp(name, base, end) == 0);
}

static void add(struct inputs *inputs, char *path)
{
    inputs->paths = memory_grow(inputs->paths, &inputs->capacity, inputs->count + 1, sizeof(*inputs->paths));
    inputs->paths[inputs->count++] = path;
}

static int compare(const void *left, const void *right)
{
    return strverscmp(*(char *const *)left, *(char *const *)right);
}

/* Adds the result files of FOLDER, in the order of their numbers. How many, or -errno. */
static long add_folder(struct inputs *inputs, const char *folder, const char *base)
{
    size_t before = inputs->count;
    bool here = strcmp(folder, ".") == 0;
    DIR *directory = opendir(folder);
    if (!directory)
        return -errno;
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct stat status;
        if (!is_result(entry->d_name, base))
            continue;
        const char *slash = here || folder[strlen(folder) - 1] == '/' ? "" : "/";
        char *path = memory_print("%s%s%s", here ? "" : folder, slash, entry->d_name);
        /* A fifo would be waited for. */
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
            add(inputs, path);
        else
            free(path);
    }
    closedir(directory);
    if (inputs->count > before)
        qsort(inputs->paths + before, inputs->count - before, sizeof(*inputs->paths), compare);
    return (long)(inputs->count - before);
}

static int find_here(struct inputs *inputs)
{
    long found = add_folder(inputs, ".", "out");
    if (found > 0) {
        report_note("no file named: taking out.* of this folder (%ld)", found);
        return 0;
    }
    if (access("perf.data", R_OK) == 0) {
        report_note("no file named: taking perf.data of this folder");
        add(inputs, memory_text("perf.data"));
        return 0;
    }
    report_error("no file named, and no result files (out.PID.TID) in this folder; "
                 "'pinject-run --follow-all -- COMMAND' writes some, then type 'panalyze out.*'");
    return -ENOENT;
}

int inputs_find(struct inputs *inputs, const char *const *operands, size_t count)
{
    *inputs = (struct inputs){0};
    if (count == 0)
        return find_here(inputs);
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        if (stat(operands[i], &status) < 0 || !S_ISDIR(status.st_mode)) {
            add(inputs, memory_text(operands[i]));
            continue;
        }
        long found = add_folder(inputs, operands[i], NULL);
        if (found < 0)
            report_error("the folder '%s' cannot be read: %s", operands[i], strerror((int)-found));
        else if (found == 0)
            report_error("the folder '%s' has no result files (NAME.PID.TID)", operands[i]);
        if (found <= 0) {
            inputs_release(inputs);
            return -ENOENT;
        }
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
