/* SPDX-License-Identifier: MIT */
#include "analyze/view/document_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/report.h"

static bool holds_samples(const char *path)
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

static ssize_t take(void *cookie, const char *data, size_t size)
{
    struct document_file *file = cookie;
    int status = file->error ? 0 : buffer_write(file->fd, data, size);
    if (status < 0)
        file->error = -status;
    /* Always taken, so that stdio does not try again; the error is kept. */
    return (ssize_t)size;
}

int document_file_open(struct document_file *file, const char *path)
{
    static const cookie_io_functions_t functions = {.write = take};
    if (holds_samples(path)) {
        report_error("'%s' holds samples and is not overwritten; behind -o stands the name of the file to write",
                     path);
        return -EEXIST;
    }
    *file = (struct document_file){.path = path};
    file->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int error = file->fd < 0 ? errno : 0;
    file->to = error ? NULL : fopencookie(file, "w", functions);
    if (file->to)
        return 0;
    error = error ? error : ENOMEM;
    if (file->fd >= 0)
        close(file->fd);
    report_error("'%s' cannot be written: %s", path, strerror(error));
    return -error;
}

int document_file_close(struct document_file *file)
{
    bool failed = fclose(file->to) != 0;
    if (close(file->fd) < 0 && !file->error)
        file->error = errno;
    if (file->error)
        report_error("'%s' could not be written: %s", file->path, strerror(file->error));
    else if (failed)
        report_error("'%s' could not be written", file->path);
    return file->error || failed;
}
