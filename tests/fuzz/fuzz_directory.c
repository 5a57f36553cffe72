/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer entry: a directory of perf record --threads. The input has two 32-bit sizes, those of `data` and `data.0`,
 * then the bytes of `data`, `data.0` and, up to the end, `data.1`.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/model/profile.h"
#include "tests/fuzz/fuzz.h"

static char directory[] = "/tmp/pinject-fuzz-directory-XXXXXX";
static const char *const names[] = {"data", "data.0", "data.1"};

static void path_of(char ret[64], size_t file)
{
    snprintf(ret, 64, "%s/%s", directory, names[file]);
}

static void clean_up(void)
{
    char path[64];
    for (size_t i = 0; i < 3; i++) {
        path_of(path, i);
        unlink(path);
    }
    rmdir(directory);
}

static void make_directory(void)
{
    static bool made;
    if (!made && !mkdtemp(directory))
        exit(1);
    if (!made)
        atexit(clean_up);
    made = true;
}

static void save(size_t file, const uint8_t *bytes, size_t size)
{
    char path[64];
    path_of(path, file);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        exit(1);
    close(fd);
}

static int each(void *context, const struct profile_sample *sample)
{
    (void)context;
    return strlen(sample->comm) == SIZE_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t sizes[2];
    if (size < sizeof(sizes))
        return 0;
    make_directory();
    memcpy(sizes, data, sizeof(sizes));
    data += sizeof(sizes);
    size -= sizeof(sizes);
    size_t parts[3];
    parts[0] = sizes[0] < size ? sizes[0] : size;
    parts[1] = sizes[1] < size - parts[0] ? sizes[1] : size - parts[0];
    parts[2] = size - parts[0] - parts[1];
    for (size_t i = 0; i < 3; i++) {
        save(i, data, parts[i]);
        data += parts[i];
    }
    struct profile *profile = NULL;
    const char *path = directory;
    if (profile_load(&path, 1, NULL, &profile) < 0)
        return 0;
    profile_samples(profile, each, NULL);
    profile_free(profile);
    return 0;
}
