/* SPDX-License-Identifier: MIT */
#include "analyze/view/archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/view/memory.h"
#include "analyze/view/text.h"
#include "common/report.h"

#define TAR_BLOCK 512

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), length = strlen(end);
    return size > length && strcmp(text + size - length, end) == 0;
}

bool archive_is_found(const char *name)
{
    return ends_with(name, ARCHIVE_SUFFIX) || strcmp(name, &ARCHIVE_SUFFIX[1]) == 0;
}

/* The length in NAME, a tar file's name, of the name of the directory in it; 0: it is no such name. */
static size_t packed_size(const char *name)
{
    static const char *const ends[] = {".tar", ".tar.gz", ".tgz"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (ends_with(name, ends[i]))
            return strlen(name) - strlen(ends[i]);
    return 0;
}

/* Whether NAME is the name of a tar file whose directory panalyze would find. */
static bool is_packed(const char *name)
{
    char *plain = memory_print("%.*s", (int)packed_size(name), name);
    bool is = archive_is_found(plain);
    free(plain);
    return is;
}

/* Users who may read the files may also search the directory. */
static mode_t directory_rights(const struct archive *archive)
{
    return archive->rights | (archive->rights & 0444) >> 2;
}

static int report_write_error(const struct archive *archive, int error)
{
    report_error("the archive '%s' could not be written: %s; give another name with -o", archive->to, strerror(-error));
    return error;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool archive_is(const char *path)
{
    if (is_packed(base_of(path)))
        return true;
    char *index = memory_print("%s/" ARCHIVE_INDEX, path);
    bool is = access(index, F_OK) == 0;
    free(index);
    return is;
}

char **archive_find(char **list, size_t *count, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash ? memory_print("%.*s", (int)(slash - path) + 1, path) : memory_text("./");
    DIR *listing = opendir(directory);
    size_t capacity = *count;
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        if (!archive_is_found(entry->d_name))
            continue;
        char *found = memory_print("%s%s", directory, entry->d_name);
        if (archive_is(found)) {
            list = memory_grow(list, &capacity, *count + 1, sizeof(*list));
            list[(*count)++] = found;
        } else {
            free(found);
        }
    }
    if (listing)
        closedir(listing);
    free(directory);
    return list;
}

/*
 * Whether the tar file NAME is unpacked in the directory PLACE. In earlier versions symbols.tar has symbols.symbols.
 */
static bool is_unpacked(const char *place, const char *name)
{
    bool found = false;
    for (int i = 0; i < 2 && !found; i++) {
        char *path = memory_print("%s%.*s%s", place, (int)packed_size(name), name, i ? ARCHIVE_SUFFIX : "");
        found = access(path, F_OK) == 0;
        free(path);
    }
    return found;
}

char *archive_find_packed(const char *path)
{
    const int size = (int)(base_of(path) - path);
    char *place = memory_print("%.*s", size, path), *first = NULL;
    DIR *listing = opendir(size ? place : ".");
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        const char *name = entry->d_name;
        if (!is_packed(name) || (first && strcmp(name, first) > 0) || is_unpacked(place, name))
            continue;
        free(first);
        first = memory_text(name);
    }
    if (listing)
        closedir(listing);
    char *found = first ? memory_print("%s%s", place, first) : NULL;
    free(first);
    free(place);
    return found;
}

char *archive_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    for (const char *at = slash ? slash : path; (at = strchr(at, '.')); at++) {
        size_t first = strspn(at + 1, "0123456789");
        size_t second = at[1 + first] == '.' ? strspn(at + first + 2, "0123456789") : 0;
        if (first && second && at > path && at[-1] != '/')
            return memory_print("%.*s" ARCHIVE_SUFFIX, (int)(at - path), path);
    }
    return memory_print("%s" ARCHIVE_SUFFIX, path);
}

char *archive_results(const char *path, size_t count)
{
    char *base = archive_name(path);
    size_t size = strlen(base) - strlen(ARCHIVE_SUFFIX);
    bool several = count > 1 && size < strlen(path);
    base[size] = '\0';
    const char *word = several ? base : path;
    char *quoted = text_command(&word, 1), *ret = memory_print("%s%s", quoted, several ? ".*" : "");
    free(quoted);
    free(base);
    return ret;
}

/* Refuses a directory that is no archive and not empty. */
static int check_directory(const char *path)
{
    char *index = memory_print("%s/" ARCHIVE_INDEX, path);
    bool known = access(index, F_OK) == 0;
    bool other = false;
    DIR *listing = known ? NULL : opendir(path);
    free(index);
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        other |= strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (listing)
        closedir(listing);
    if (!other)
        return 0;
    report_error("the directory '%s' contains files, but no archive of symbols; give another directory with --output",
                 path);
    return -EEXIST;
}

static int open_tar(struct archive *archive)
{
    const char *base = base_of(archive->to), *end = strstr(base, ".tar");
    bool packed = ends_with(archive->to, ".tar.gz") || ends_with(archive->to, ".tgz");
    archive->is_tar = true;
    if (!end)
        end = base + strlen(base) - strlen(".tgz");
    archive->directory = memory_print("%.*s", (int)(end - base), base);
    if (!archive_is_found(archive->directory)) {
        char *longer = memory_print("%s" ARCHIVE_SUFFIX, archive->directory);
        free(archive->directory);
        archive->directory = longer;
    }
    int error = output_file_open(&archive->tar, archive->to, packed ? OUTPUT_FILE_GZIP : 0, archive->rights);
    if (error) {
        free(archive->directory);
        archive->directory = NULL;
    }
    return error;
}

int archive_open(struct archive *archive, const char *to, mode_t rights)
{
    *archive = (struct archive){.to = to, .rights = rights};
    if (ends_with(to, ".tar") || ends_with(to, ".tar.gz") || ends_with(to, ".tgz"))
        return open_tar(archive);
    if (strstr(to, ".tar.")) {
        report_error(
            "cannot write the archive '%s': give a directory, or a file name that ends in .tar, .tar.gz or .tgz", to);
        return -EINVAL;
    }
    if (mkdir(to, directory_rights(archive)) < 0 && errno != EEXIST)
        return report_write_error(archive, -errno);
    return check_directory(to);
}

/* Writes NUMBER in octal digits with a final NUL, SIZE bytes in all. */
static void write_octal(char *to, size_t size, uint64_t number)
{
    to[--size] = '\0';
    while (size--) {
        to[size] = (char)('0' + (number & 7));
        number >>= 3;
    }
}

static int put_tar(struct archive *archive, const char *place, const void *bytes, size_t size)
{
    static const char zeros[TAR_BLOCK];
    char head[TAR_BLOCK] = "";
    unsigned sum = 0;
    size_t pad = (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
    FILE *to = archive->tar.to;
    snprintf(head, 100, "%s", place);
    snprintf(head + 345, 155, "%s", archive->directory);
    write_octal(head + 100, 8, archive->rights & 0644);
    write_octal(head + 108, 8, 0);
    write_octal(head + 116, 8, 0);
    write_octal(head + 124, 12, size);
    write_octal(head + 136, 12, 0);
    head[156] = '0';
    memcpy(head + 257, "ustar\00000", 8);
    memset(head + 148, ' ', 8);
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)head[i];
    write_octal(head + 148, 7, sum);
    if (strlen(place) >= 100 || strlen(archive->directory) >= 155 || size > INT32_MAX)
        return -ENAMETOOLONG;
    fwrite(head, 1, TAR_BLOCK, to);
    fwrite(bytes, 1, size, to);
    fwrite(zeros, 1, pad, to);
    return 0;
}

static void make_directories(const struct archive *archive, char *path)
{
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(path, directory_rights(archive));
        *at = '/';
    }
}

/* Writes the file under a temporary name first, so that readers see all of it or nothing. */
static int put_file(struct archive *archive, const char *place, const void *bytes, size_t size)
{
    char *path = memory_print("%s/%s", archive->to, place), *temporary = memory_print("%s~", path);
    int error = 0;
    make_directories(archive, path);
    unlink(temporary);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, archive->rights);
    if (fd < 0)
        error = -errno;
    for (size_t done = 0; !error && done < size;) {
        ssize_t part = write(fd, (const char *)bytes + done, size - done);
        if (part < 0 && errno != EINTR)
            error = -errno;
        done += part > 0 ? (size_t)part : 0;
    }
    if (fd >= 0 && close(fd) < 0 && !error)
        error = -errno;
    if (!error && rename(temporary, path) < 0)
        error = -errno;
    if (error && fd >= 0)
        unlink(temporary);
    free(temporary);
    free(path);
    return error;
}

int archive_put(struct archive *archive, const char *place, const void *bytes, size_t size)
{
    int error = archive->directory ? put_tar(archive, place, bytes, size) : put_file(archive, place, bytes, size);
    if (error)
        return report_write_error(archive, error);
    archive->bytes += size;
    archive->files++;
    return 0;
}

void archive_remove(const struct archive *archive, const char *place)
{
    char *path = archive->directory ? NULL : memory_print("%s/%s", archive->to, place);
    if (path)
        unlink(path);
    free(path);
}

int archive_close(struct archive *archive, int error)
{
    static const char end[2 * TAR_BLOCK];
    if (archive->directory) {
        fwrite(end, 1, sizeof(end), archive->tar.to);
        int written = output_file_close(&archive->tar, !error);
        archive->bytes = archive->tar.bytes;
        error = error ? error : written ? -EIO : 0;
    }
    free(archive->directory);
    archive->directory = NULL;
    return error;
}
