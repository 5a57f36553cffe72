/* SPDX-License-Identifier: MIT */
#include "analyze/read/directory.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/read/arena.h"
#include "common/perfdata.h"

#define PREFIX     "data."
#define MOST_PARTS 4096 /* perf starts at most one thread per CPU; each part keeps a descriptor open */

struct numbers {
    uint32_t *items;
    uint32_t count, capacity;
};

static int join_path(char ret[PATH_MAX], const char *directory, const char *name)
{
    int length = snprintf(ret, PATH_MAX, "%s/%s", directory, name);
    return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

bool directory_is_perf(const char *path)
{
    char data[PATH_MAX];
    struct stat status;
    struct source source;
    if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode) || join_path(data, path, "data") < 0)
        return false;
    if (stat(data, &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    if (status.st_size == 0)
        return true;
    int error = source_open(&source, data, NULL);
    /* Without permission the user gets that as the error, not "is no perf.data". */
    if (error < 0)
        return error == -EACCES;
    const unsigned char *magic = source_at(&source, 0, 8);
    const uint64_t ours = PERFDATA_MAGIC, other = __builtin_bswap64(PERFDATA_MAGIC);
    bool perf = magic && (memcmp(magic, &ours, 8) == 0 || memcmp(magic, &other, 8) == 0);
    source_release(&source);
    return perf;
}

int directory_open_data(struct source *ret_data, const char *path, struct problem *problem)
{
    char data[PATH_MAX];
    if (join_path(data, path, "data") < 0)
        return problem_set(problem, -ENAMETOOLONG, "the path of the directory is too long");
    struct problem why = {""};
    int status = source_open(ret_data, data, &why);
    if (status == -ENODATA)
        return problem_set(problem, status, "the file 'data' in this directory is empty; record again");
    return status < 0 ? problem_set(problem, status, "the file 'data' in this directory cannot be read: %s", why.text)
                      : 0;
}

static int compare_numbers(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The number of "data.NUMBER" as perf writes it, or -1. */
static long parse_part_number(const char *name)
{
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return -1;
    const char *digits = name + strlen(PREFIX);
    size_t length = strspn(digits, "0123456789");
    if (length == 0 || length > 6 || digits[length] || (digits[0] == '0' && length > 1))
        return -1;
    return strtol(digits, NULL, 10);
}

static int list_parts(struct numbers *numbers, const char *path, struct problem *problem)
{
    DIR *listing = opendir(path);
    if (!listing) {
        int error = errno;
        return problem_set(problem, -error, "%s", strerror(error));
    }
    int status = 0;
    for (struct dirent *entry; status == 0 && (entry = readdir(listing));) {
        long number = parse_part_number(entry->d_name);
        if (number < 0)
            continue;
        if (numbers->count >= MOST_PARTS)
            status = problem_set(problem, -E2BIG, "the directory has more than %d files 'data.N'", MOST_PARTS);
        else if (arena_room(&numbers->items, &numbers->capacity, numbers->count, sizeof(*numbers->items)) < 0)
            status = problem_set(problem, -ENOMEM, "out of memory");
        else
            numbers->items[numbers->count++] = (uint32_t)number;
    }
    closedir(listing);
    if (status == 0 && numbers->count > 0)
        qsort(numbers->items, numbers->count, sizeof(*numbers->items), compare_numbers);
    return status;
}

/* 0 also for an empty part, which is not taken. */
static int open_part(struct source *part, bool *ret_taken, const char *path, uint32_t number, struct problem *problem)
{
    char name[32], file[PATH_MAX];
    struct problem why = {""};
    snprintf(name, sizeof(name), PREFIX "%u", number);
    int status = join_path(file, path, name);
    if (status == 0)
        status = source_open(part, file, &why);
    *ret_taken = status == 0;
    if (status == 0 || status == -ENODATA)
        return 0;
    return problem_set(problem, status, "the file '%s' in this directory cannot be read: %s%s", name, why.text,
                       status == -EMFILE ? " (raise the limit of open files: ulimit -n)" : "");
}

int directory_open_parts(struct source **ret_parts, uint32_t *ret_count, const char *path, struct problem *problem)
{
    struct numbers numbers = {0};
    struct source *parts = NULL;
    uint32_t count = 0;
    int status = list_parts(&numbers, path, problem);
    if (status == 0 && numbers.count > 0) {
        parts = calloc(numbers.count, sizeof(*parts));
        status = parts ? 0 : problem_set(problem, -ENOMEM, "out of memory");
    }
    for (uint32_t i = 0; status == 0 && i < numbers.count; i++) {
        bool taken = false;
        status = open_part(&parts[count], &taken, path, numbers.items[i], problem);
        count += taken;
    }
    free(numbers.items);
    if (status < 0) {
        directory_release_parts(parts, count);
        return status;
    }
    *ret_parts = parts;
    *ret_count = count;
    return 0;
}

void directory_release_parts(struct source *parts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        source_release(&parts[i]);
    free(parts);
}
