/* SPDX-License-Identifier: MIT */
#include "analyze/view/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "analyze/view/memory.h"
#include "analyze/view/output.h"
#include "common/buffer.h"
#include "common/report.h"

#define ZIP_BUFFER  (64u << 10)
#define GZIP_WINDOW (15 + 16) /* a gzip header without name and time: equal input gives equal output */
#define ATTEMPTS    100

struct output_file_zip {
    z_stream stream;
    unsigned char out[ZIP_BUFFER];
};

static void write_to_file(struct output_file *out, const void *data, size_t size)
{
    if (out->error)
        return;
    int status = buffer_write(out->fd, data, size);
    if (status < 0)
        out->error = -status;
    out->bytes += size;
}

static void deflate_part(struct output_file *out, const char *data, size_t size, int flush)
{
    struct output_file_zip *zip = out->zip;
    zip->stream.next_in = (unsigned char *)data;
    zip->stream.avail_in = (uInt)size;
    do {
        zip->stream.next_out = zip->out;
        zip->stream.avail_out = sizeof(zip->out);
        deflate(&zip->stream, flush);
        write_to_file(out, zip->out, sizeof(zip->out) - zip->stream.avail_out);
    } while (zip->stream.avail_out == 0);
}

static ssize_t write_or_deflate(void *cookie, const char *data, size_t size)
{
    struct output_file *out = cookie;
    for (size_t at = 0; out->zip && at < size; at += ZIP_BUFFER)
        deflate_part(out, data + at, size - at < ZIP_BUFFER ? size - at : ZIP_BUFFER, Z_NO_FLUSH);
    if (!out->zip)
        write_to_file(out, data, size);
    /* Reports success, so that stdio does not retry; output_file_close() reports the error. */
    return (ssize_t)size;
}

static int start_writing(struct output_file *out, unsigned flags)
{
    static const cookie_io_functions_t functions = {.write = write_or_deflate};
    if (flags & OUTPUT_FILE_GZIP) {
        out->zip = memory_new(1, sizeof(*out->zip));
        if (deflateInit2(&out->zip->stream, 6, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
            free(out->zip);
            out->zip = NULL;
            return -ENOMEM;
        }
    }
    out->to = fopencookie(out, "w", functions);
    if (!out->to)
        return -ENOMEM;
    setvbuf(out->to, NULL, _IOFBF, 1 << 16);
    return 0;
}

/* The directory of PATH. Owned by the caller. */
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *directory = memory_text(slash ? path : ".");
    if (slash)
        directory[slash == path ? 1 : slash - path] = '\0';
    return directory;
}

static int open_named(struct output_file *out, mode_t rights)
{
    mode_t mask = umask(0);
    umask(mask);
    out->temporary = memory_print("%s.XXXXXX", out->path);
    int fd = mkostemp(out->temporary, O_CLOEXEC);
    if (fd < 0) {
        int error = errno;
        free(out->temporary);
        out->temporary = NULL;
        return -error;
    }
    fchmod(fd, rights & ~mask);
    return fd;
}

/* Opens a file without a name, which never leaves anything behind; else one with a temporary name. */
static int open_temporary(struct output_file *out, mode_t rights)
{
    char *directory = directory_of(out->path);
    /* It later gets its name through /proc. */
    int fd = access("/proc/self/fd", X_OK) == 0 ? open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, rights) : -1;
    free(directory);
    return fd >= 0 ? fd : open_named(out, rights);
}

bool output_file_holds_samples(const char *path)
{
    struct stat status;
    char magic[8] = {0};
    if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, magic, sizeof(magic));
    close(fd);
    return size == sizeof(magic) && (memcmp(magic, "PERFILE2", 8) == 0 || memcmp(magic, "2ELIFREP", 8) == 0);
}

static int open_file(struct output_file *out, const char *path, mode_t rights)
{
    struct stat status;
    bool exists = stat(path, &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        return -EISDIR;
    if (exists && !S_ISREG(status.st_mode)) {
        int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return fd < 0 ? -errno : fd;
    }
    /* Replaces the target of a symbolic link, not the link. */
    out->path = exists ? realpath(path, NULL) : NULL;
    if (!out->path)
        out->path = memory_text(path);
    return open_temporary(out, rights);
}

static void release_file(struct output_file *out)
{
    if (out->fd >= 0 && out->fd != STDOUT_FILENO)
        close(out->fd);
    if (out->temporary)
        unlink(out->temporary);
    if (out->zip)
        deflateEnd(&out->zip->stream);
    free(out->zip);
    free(out->path);
    free(out->temporary);
    out->zip = NULL;
    out->path = out->temporary = NULL;
    out->fd = -1;
}

mode_t output_file_rights(const char *const *paths, size_t count)
{
    mode_t rights = OUTPUT_FILE_SHARED;
    struct stat status;
    for (size_t i = 0; i < count; i++)
        rights &= stat(paths[i], &status) == 0 ? status.st_mode | 0600 : 0600;
    return rights;
}

int output_file_open(struct output_file *out, const char *path, unsigned flags, mode_t rights)
{
    bool standard = !path || strcmp(path, "-") == 0;
    *out = (struct output_file){.fd = STDOUT_FILENO, .name = standard ? "the output" : path};
    if (standard && (flags & (OUTPUT_FILE_BINARY | OUTPUT_FILE_GZIP)) && isatty(STDOUT_FILENO) == 1) {
        report_error("refusing to write a binary format to a terminal; use -o FILE, or a pipe");
        return -EINVAL;
    }
    int status = standard ? 0 : open_file(out, path, rights);
    if (status < 0) {
        report_error("%s: the file cannot be written: %s; give another file name with -o", path, strerror(-status));
        out->fd = -1;
        release_file(out);
        return status;
    }
    out->fd = standard ? STDOUT_FILENO : status;
    status = start_writing(out, flags);
    if (status < 0) {
        report_error("out of memory");
        release_file(out);
    }
    return status;
}

bool output_file_is_over(const struct output_file *out)
{
    return out->error != 0;
}

/* Links to an unused name beside the final one, since linkat() cannot replace a file. */
static int link_somewhere(struct output_file *out, const char *from)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        out->temporary = memory_print("%s.%d.%d", out->path, (int)getpid(), i);
        if (linkat(AT_FDCWD, from, AT_FDCWD, out->temporary, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        int error = errno;
        free(out->temporary);
        out->temporary = NULL;
        if (error != EEXIST)
            return -error;
    }
    return -EEXIST;
}

static int publish_file(struct output_file *out)
{
    if (!out->temporary) {
        char from[64];
        snprintf(from, sizeof(from), "/proc/self/fd/%d", out->fd);
        if (linkat(AT_FDCWD, from, AT_FDCWD, out->path, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        int status = errno == EEXIST ? link_somewhere(out, from) : -errno;
        if (status < 0)
            return status;
    }
    if (rename(out->temporary, out->path) < 0)
        return -errno;
    free(out->temporary);
    out->temporary = NULL;
    return 0;
}

int output_file_close(struct output_file *out, bool good)
{
    fclose(out->to);
    out->to = NULL;
    if (out->zip && !out->error)
        deflate_part(out, "", 0, Z_FINISH);
    if (good && !out->error && out->path) {
        int status = publish_file(out);
        out->error = status < 0 ? -status : 0;
    }
    int error = out->error;
    bool direct = !out->path;
    if (error && !(direct && error == EPIPE))
        report_error("%s could not be written: %s%s", out->name, strerror(error),
                     direct ? "" : "; the incomplete output is discarded");
    release_file(out);
    return error == EPIPE && direct ? OUTPUT_BROKEN_PIPE : error ? 1 : 0;
}
