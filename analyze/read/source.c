/* SPDX-License-Identifier: MIT */
#include "analyze/read/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/read/standard_input.h"

#define SMALL   (256u << 10) /* read at once; most result files are smaller */
#define AHEAD   (64u << 10)
#define LARGEST (64u << 20) /* limit of one read; nothing in a file is larger */

static const char *kind_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR: return "a directory";
    case S_IFIFO: return "a pipe";
    case S_IFSOCK: return "a socket";
    case S_IFCHR: return "a character device";
    case S_IFBLK: return "a block device";
    default: return "not a regular file";
    }
}

static int check_kind(struct source *source, struct problem *problem)
{
    struct stat status;
    if (fstat(source->fd, &status) < 0) {
        int error = errno;
        return problem_set(problem, -error, "%s", strerror(error));
    }
    if (!S_ISREG(status.st_mode))
        return problem_set(problem, S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL, "this is %s; give a regular file",
                           kind_name(status.st_mode));
    if (status.st_size == 0)
        return problem_set(problem, -ENODATA, "the file is empty; record again");
    source->size = (uint64_t)status.st_size;
    source->device = status.st_dev;
    source->inode = status.st_ino;
    source->modified_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    return 0;
}

static int open_path(const char *path, struct problem *problem)
{
    if (standard_input_is(path))
        return standard_input_open(problem);
    /* O_NONBLOCK: open() must not wait for the writer of a FIFO, which is then refused. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int error = errno;
    return fd < 0 ? problem_set(problem, -error, "%s", strerror(error)) : fd;
}

int source_open(struct source *source, const char *path, struct problem *problem)
{
    *source = (struct source){.fd = -1, .ahead = AHEAD, .window = (const unsigned char *)""};
    int status = open_path(path, problem);
    if (status < 0)
        return status;
    source->fd = status;
    status = check_kind(source, problem);
    if (status < 0) {
        source_release(source);
        return status;
    }
    if (source->size <= SMALL)
        source->whole = source_slow(source, 0, (size_t)source->size) != NULL;
    return 0;
}

void source_of_memory(struct source *source, const void *bytes, size_t size)
{
    *source = (struct source){.fd = -1, .size = size, .whole = true, .window = bytes ? bytes : "", .window_size = size};
}

void source_release(struct source *source)
{
    if (source->fd >= 0)
        close(source->fd);
    free(source->owned);
    *source = (struct source){.fd = -1, .window = (const unsigned char *)""};
}

static size_t read_at(int fd, unsigned char *to, size_t size, uint64_t offset)
{
    size_t got = 0;
    while (got < size) {
        ssize_t count = pread(fd, to + got, size - got, (off_t)(offset + got));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        got += (size_t)count;
    }
    return got;
}

const unsigned char *source_slow(struct source *source, uint64_t offset, size_t size)
{
    if (source->fd < 0 || source->whole || offset > source->size || size > source->size - offset || size > LARGEST)
        return NULL;
    size_t wanted = size < source->ahead ? source->ahead : size;
    if (wanted > source->size - offset)
        wanted = (size_t)(source->size - offset);
    if (wanted > source->capacity) {
        unsigned char *grown = realloc(source->owned, wanted);
        if (!grown)
            return NULL;
        source->owned = grown;
        source->capacity = wanted;
    }
    source->window = source->owned;
    source->window_offset = offset;
    source->window_size = read_at(source->fd, source->owned, wanted, offset);
    return size <= source->window_size ? source->window : NULL;
}
