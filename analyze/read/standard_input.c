/* SPDX-License-Identifier: MIT */
#include "analyze/read/standard_input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/perfdata.h"

#define PIECE (256u << 10)

/* The file that was made of the standard input, until the process ends; -1: it is not read yet. */
static int kept = -1;

bool standard_input_is(const char *path)
{
    return strcmp(path, "-") == 0;
}

static const char *temporary_directory(void)
{
    const char *directory = getenv("TMPDIR");
    return directory && *directory ? directory : "/tmp";
}

static int open_temporary(struct problem *problem)
{
    const char *directory = temporary_directory();
    char name[PATH_MAX];
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    /* Some file systems have no files without a name. */
    int length = snprintf(name, sizeof(name), "%s/panalyze-XXXXXX", directory);
    if (length > 0 && (size_t)length < sizeof(name))
        fd = mkostemp(name, O_CLOEXEC);
    else
        errno = ENAMETOOLONG;
    if (fd >= 0) {
        unlink(name);
        return fd;
    }
    int error = errno;
    return problem_set(problem, -error,
                       "panalyze copies the standard input to a temporary file, and cannot create one in '%s': %s; set "
                       "TMPDIR to another directory, or give a file",
                       directory, strerror(error));
}

/* At most SIZE bytes; fewer only at the end. */
static ssize_t read_piece(int fd, unsigned char *bytes, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t count = read(fd, bytes + got, size - got);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -errno;
        if (count == 0)
            break;
        got += (size_t)count;
    }
    return (ssize_t)got;
}

static int write_piece(int fd, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t count = write(fd, bytes, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count < 0 ? -errno : -EIO;
        bytes += count;
        size -= (size_t)count;
    }
    return 0;
}

static int refuse_read(struct problem *problem, int status)
{
    return problem_set(problem, status, "the standard input cannot be read: %s", strerror(-status));
}

static bool is_perf_data(const unsigned char *bytes, ssize_t size)
{
    const uint64_t ours = PERFDATA_MAGIC, other = __builtin_bswap64(PERFDATA_MAGIC);
    return size < 8 || memcmp(bytes, &ours, 8) == 0 || memcmp(bytes, &other, 8) == 0 ||
           memcmp(bytes, "PERFFILE", 8) == 0;
}

static int copy_input(int to, unsigned char *bytes, struct problem *problem)
{
    bool first = true;
    for (;;) {
        /* The first bytes alone, so that endless input that is no perf.data ends here. */
        ssize_t size = read_piece(STDIN_FILENO, bytes, first ? 8 : PIECE);
        if (size < 0)
            return refuse_read(problem, (int)size);
        if (first && !is_perf_data(bytes, size))
            return problem_set(problem, -ENOEXEC, "the standard input is not a perf.data file");
        if (size == 0)
            return first ? problem_set(problem, -ENODATA,
                                       "the standard input is empty: the program before the pipe recorded nothing")
                         : 0;
        first = false;
        int status = write_piece(to, bytes, (size_t)size);
        if (status < 0)
            return problem_set(problem, status,
                               "panalyze copies the standard input to a temporary file, and cannot write that file in "
                               "'%s': %s; set TMPDIR to a directory with more room, or record into a file",
                               temporary_directory(), strerror(-status));
    }
}

static int keep_input(struct problem *problem)
{
    int fd = open_temporary(problem);
    if (fd < 0)
        return fd;
    unsigned char *bytes = malloc(PIECE);
    int status = bytes ? copy_input(fd, bytes, problem) : problem_set(problem, -ENOMEM, "out of memory");
    free(bytes);
    if (status < 0) {
        close(fd);
        return status;
    }
    return fd;
}

static int take_input(struct problem *problem)
{
    struct stat status;
    if (isatty(STDIN_FILENO))
        return problem_set(problem, -EINVAL,
                           "the standard input is a terminal, not a recording; type 'perf record -o - COMMAND | "
                           "panalyze -', or 'panalyze - < FILE'");
    if (fstat(STDIN_FILENO, &status) < 0)
        return refuse_read(problem, -errno);
    if (!S_ISREG(status.st_mode) || lseek(STDIN_FILENO, 0, SEEK_CUR) != 0)
        return keep_input(problem);
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    return fd < 0 ? refuse_read(problem, -errno) : fd;
}

int standard_input_open(struct problem *problem)
{
    if (kept < 0) {
        int fd = take_input(problem);
        if (fd < 0)
            return fd;
        kept = fd;
    }
    int fd = fcntl(kept, F_DUPFD_CLOEXEC, 3);
    return fd < 0 ? refuse_read(problem, -errno) : fd;
}
