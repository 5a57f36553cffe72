/* SPDX-License-Identifier: MIT */
#include "analyze/view/sink.h"

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

#define ZIP_BUFFER (64u << 10)
#define GZIP_WINDOW (15 + 16) /* zlib writes a gzip header, without name and time: equal input, equal output */
#define ATTEMPTS 100

struct sink_zip {
    z_stream stream;
    unsigned char out[ZIP_BUFFER];
};

static void put(struct sink *sink, const void *data, size_t size)
{
    if (sink->error)
        return;
    int status = buffer_write(sink->fd, data, size);
    if (status < 0)
        sink->error = -status;
    sink->bytes += size;
}

static void deflate_part(struct sink *sink, const char *data, size_t size, int flush)
{
    struct sink_zip *zip = sink->zip;
    zip->stream.next_in = (unsigned char *)data;
    zip->stream.avail_in = (uInt)size;
    do {
        zip->stream.next_out = zip->out;
        zip->stream.avail_out = sizeof(zip->out);
        deflate(&zip->stream, flush);
        put(sink, zip->out, sizeof(zip->out) - zip->stream.avail_out);
    } while (zip->stream.avail_out == 0);
}

static ssize_t take(void *cookie, const char *data, size_t size)
{
    struct sink *sink = cookie;
    for (size_t at = 0; sink->zip && at < size; at += ZIP_BUFFER)
        deflate_part(sink, data + at, size - at < ZIP_BUFFER ? size - at : ZIP_BUFFER, Z_NO_FLUSH);
    if (!sink->zip)
        put(sink, data, size);
    /* Always taken, so that stdio does not try again; the error is kept for sink_close(). */
    return (ssize_t)size;
}

static int start_writing(struct sink *sink, unsigned flags)
{
    static const cookie_io_functions_t functions = {.write = take};
    if (flags & SINK_GZIP) {
        sink->zip = memory_new(1, sizeof(*sink->zip));
        if (deflateInit2(&sink->zip->stream, 6, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
            free(sink->zip);
            sink->zip = NULL;
            return -ENOMEM;
        }
    }
    sink->to = fopencookie(sink, "w", functions);
    if (!sink->to)
        return -ENOMEM;
    setvbuf(sink->to, NULL, _IOFBF, 1 << 16);
    return 0;
}

/* The folder of PATH. Owned by the caller. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = memory_text(slash ? path : ".");
    if (slash)
        folder[slash == path ? 1 : slash - path] = '\0';
    return folder;
}

static int open_named(struct sink *sink, mode_t rights)
{
    mode_t mask = umask(0);
    umask(mask);
    sink->temporary = memory_print("%s.XXXXXX", sink->path);
    int fd = mkostemp(sink->temporary, O_CLOEXEC);
    if (fd < 0) {
        int error = errno;
        free(sink->temporary);
        sink->temporary = NULL;
        return -error;
    }
    fchmod(fd, rights & ~mask);
    return fd;
}

/* A file without a name, which nothing is left of whatever happens, else one with a name of its own. */
static int open_temporary(struct sink *sink, mode_t rights)
{
    char *folder = folder_of(sink->path);
    /* It gets its name through /proc. */
    int fd = access("/proc/self/fd", X_OK) == 0 ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, rights) : -1;
    free(folder);
    return fd >= 0 ? fd : open_named(sink, rights);
}

bool sink_holds_samples(const char *path)
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

static int open_file(struct sink *sink, const char *path, mode_t rights)
{
    struct stat status;
    bool exists = stat(path, &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        return -EISDIR;
    if (exists && !S_ISREG(status.st_mode)) {
        int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return fd < 0 ? -errno : fd;
    }
    /* The file behind a symbolic link is replaced, not the link. */
    sink->path = exists ? realpath(path, NULL) : NULL;
    if (!sink->path)
        sink->path = memory_text(path);
    return open_temporary(sink, rights);
}

static void release(struct sink *sink)
{
    if (sink->fd >= 0 && sink->fd != STDOUT_FILENO)
        close(sink->fd);
    if (sink->temporary)
        unlink(sink->temporary);
    if (sink->zip)
        deflateEnd(&sink->zip->stream);
    free(sink->zip);
    free(sink->path);
    free(sink->temporary);
    sink->zip = NULL;
    sink->path = sink->temporary = NULL;
    sink->fd = -1;
}

mode_t sink_rights(const char *const *paths, size_t count)
{
    mode_t rights = SINK_SHARED;
    struct stat status;
    for (size_t i = 0; i < count; i++)
        rights &= stat(paths[i], &status) == 0 ? status.st_mode | 0600 : 0600;
    return rights;
}

int sink_open(struct sink *sink, const char *path, unsigned flags, mode_t rights)
{
    bool standard = !path || strcmp(path, "-") == 0;
    *sink = (struct sink){.fd = STDOUT_FILENO, .name = standard ? "the output" : path};
    if (standard && (flags & (SINK_BINARY | SINK_GZIP)) && isatty(STDOUT_FILENO) == 1) {
        report_error("this format is binary, and stdout is a terminal; give a file with '-o FILE', or a pipe");
        return -EINVAL;
    }
    int status = standard ? 0 : open_file(sink, path, rights);
    if (status < 0) {
        report_error("%s: cannot be written: %s; name another place with -o", path, strerror(-status));
        sink->fd = -1;
        release(sink);
        return status;
    }
    sink->fd = standard ? STDOUT_FILENO : status;
    status = start_writing(sink, flags);
    if (status < 0) {
        report_error("out of memory");
        release(sink);
    }
    return status;
}

bool sink_is_over(const struct sink *sink)
{
    return sink->error != 0;
}

/* A name beside the final one that is free: linkat() replaces nothing. */
static int link_somewhere(struct sink *sink, const char *from)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        sink->temporary = memory_print("%s.%d.%d", sink->path, (int)getpid(), i);
        if (linkat(AT_FDCWD, from, AT_FDCWD, sink->temporary, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        int error = errno;
        free(sink->temporary);
        sink->temporary = NULL;
        if (error != EEXIST)
            return -error;
    }
    return -EEXIST;
}

static int give_name(struct sink *sink)
{
    if (!sink->temporary) {
        char from[64];
        snprintf(from, sizeof(from), "/proc/self/fd/%d", sink->fd);
        if (linkat(AT_FDCWD, from, AT_FDCWD, sink->path, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        int status = errno == EEXIST ? link_somewhere(sink, from) : -errno;
        if (status < 0)
            return status;
    }
    if (rename(sink->temporary, sink->path) < 0)
        return -errno;
    free(sink->temporary);
    sink->temporary = NULL;
    return 0;
}

int sink_close(struct sink *sink, bool good)
{
    fclose(sink->to);
    sink->to = NULL;
    if (sink->zip && !sink->error)
        deflate_part(sink, "", 0, Z_FINISH);
    if (good && !sink->error && sink->path) {
        int status = give_name(sink);
        sink->error = status < 0 ? -status : 0;
    }
    int error = sink->error;
    bool direct = !sink->path;
    if (error && !(direct && error == EPIPE))
        report_error("%s could not be written: %s%s", sink->name, strerror(error),
                     direct ? "" : "; nothing was left there");
    release(sink);
    return error == EPIPE && direct ? OUTPUT_BROKEN_PIPE : error ? 1 : 0;
}
