/* SPDX-License-Identifier: MIT */
#include "analyze/view/document_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

FILE *document_file_open(const char *path)
{
    if (holds_samples(path)) {
        report_error("'%s' holds samples and is not overwritten; behind -o stands the name of the file to write", path);
        return NULL;
    }
    FILE *to = fopen(path, "we");
    if (!to)
        report_error("'%s' cannot be written: %s", path, strerror(errno));
    return to;
}

int document_file_close(FILE *to, const char *path)
{
    errno = 0;
    bool failed = fflush(to) != 0 || ferror(to);
    int error = errno;
    if (fclose(to) != 0 && !failed) {
        failed = true;
        error = errno;
    }
    if (failed)
        report_error("'%s' could not be written: %s", path, error ? strerror(error) : "unknown error");
    return failed;
}
