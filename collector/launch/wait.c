/* SPDX-License-Identifier: MIT */
#include "collector/launch/wait.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pinject/wire.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/output/files.h"
#include "collector/system/paths.h"
#include "common/report.h"

/* RUIN_S: a file without a lock is taken for a ruin only if it is older. LOOK_MS: between two looks if no lock can
 * be waited for. */
enum { RUIN_S = 60, LOOK_MS = 20 };

/* The checked head of a segment. */
struct found {
    int fd;
    char outfile[PINJECT_PATH];
    uint32_t flags;
    time_t changed;
};

/* Reads the head of a segment file; anybody can make a file with such a name. */
static bool read_segment(int dir, const char *name, struct found *ret)
{
    struct stat status;
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    struct {
        uint64_t magic;
        uint32_t version, size;
    } head = {0};
    _Static_assert(sizeof head == offsetof(struct pinject_segment, id), "head of the segment");
    int32_t collector = 0;
    bool good = !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head && head.magic == PINJECT_WIRE_MAGIC &&
                head.version == PINJECT_WIRE_VERSION && head.size == sizeof(struct pinject_segment) &&
                pread(fd, &collector, sizeof collector, offsetof(struct pinject_segment, collector)) ==
                    (ssize_t)sizeof collector &&
                pread(fd, &ret->flags, sizeof ret->flags, offsetof(struct pinject_segment, flags)) ==
                    (ssize_t)sizeof ret->flags &&
                pread(fd, ret->outfile, sizeof ret->outfile, offsetof(struct pinject_segment, outfile)) ==
                    (ssize_t)sizeof ret->outfile;
    if (!good || collector <= 0) {
        close(fd);
        return false;
    }
    ret->fd = fd;
    ret->changed = status.st_mtime;
    ret->outfile[sizeof ret->outfile - 1] = '\0';
    return true;
}

/*
 * The collector of a live session holds a lock on its segment. Its pid proves nothing: in another pid namespace it is
 * another process', and it is reused. True also if that is unknown.
 */
static bool is_locked(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    return fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

typedef void each_segment(void *context, int dir, const char *name, const struct found *found);

static void visit_segments(each_segment *call, void *context)
{
    for (unsigned i = 0; i < PATHS_SEGMENT_PLACES; i++) {
        const char *place = paths_segment_place(i);
        DIR *dir = place ? opendir(place) : NULL;
        struct dirent *entry;
        struct found found;
        while (dir && (entry = readdir(dir)))
            if (!strncmp(entry->d_name, PATHS_SEGMENT_PREFIX, strlen(PATHS_SEGMENT_PREFIX)) &&
                read_segment(dirfd(dir), entry->d_name, &found)) {
                call(context, dirfd(dir), entry->d_name, &found);
                close(found.fd);
            }
        if (dir)
            closedir(dir);
    }
}

struct waiting {
    const char *base;
    unsigned met;
};

static void wait_one(void *context, int dir, const char *name, const struct found *found)
{
    (void)dir;
    (void)name;
    struct waiting *waiting = context;
    if (strcmp(found->outfile, waiting->base))
        return;
    if (!(found->flags & PINJECT_SESSION_LOCKED) || !is_locked(found->fd))
        return; /* ended, or killed */
    /* Our lock would be in the way of a collector that has not locked it yet, so it comes only now. */
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
    while (fcntl(found->fd, F_OFD_SETLKW, &lock) < 0 && errno == EINTR)
        ;
    waiting->met++;
}

/* Segments of other users cannot be read. The directory shows whether their sessions write there. */
static void wait_for_directory(struct waiting *waiting)
{
    while (files_base_is_used(waiting->base)) {
        struct timespec rest = {.tv_nsec = LOOK_MS * 1000000};
        nanosleep(&rest, NULL);
        waiting->met++;
    }
}

int wait_for(const char *base, const char *other)
{
    unsigned met = 0;
    for (const char *one = base; one; one = one == base ? other : NULL) {
        char path[PATH_MAX];
        int error = paths_absolute(one, path, sizeof path);
        if (error && one == other)
            break;
        if (error) {
            report_error("'%s' cannot be used as a name for result files: %s", one, strerror(-error));
            return 125;
        }
        struct waiting waiting = {path, 0};
        visit_segments(wait_one, &waiting);
        wait_for_directory(&waiting);
        met += waiting.met;
    }
    if (!met)
        report_note("no profile is being written to %s", base);
    return 0;
}

/* What follows the name of a segment: for a channel a user and a number, for rings a number, with dots between. */
static bool is_of_session(const char *end)
{
    if (!strncmp(end, PINJECT_RINGS_SUFFIX, strlen(PINJECT_RINGS_SUFFIX)))
        end += strlen(PINJECT_RINGS_SUFFIX);
    return end[0] == '.' && end[1] && strspn(end, "0123456789.") == strlen(end);
}

/* Removes the channels and rings of a session that is gone. */
static void remove_files(int dir, const char *segment)
{
    size_t size = strlen(segment);
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = copy >= 0 ? fdopendir(copy) : NULL;
    struct dirent *entry;
    if (!files && copy >= 0)
        close(copy);
    while (files && (entry = readdir(files))) {
        if (!strncmp(entry->d_name, segment, size) && is_of_session(entry->d_name + size))
            unlinkat(dir, entry->d_name, 0);
    }
    if (files)
        closedir(files);
}

static void sweep_one(void *context, int dir, const char *name, const struct found *found)
{
    (void)context;
    /* A session that has just begun has no lock yet. */
    if (is_locked(found->fd) || (!(found->flags & PINJECT_SESSION_LOCKED) && time(NULL) - found->changed <= RUIN_S))
        return;
    /* First: without the segment they would not be found. */
    remove_files(dir, name);
    unlinkat(dir, name, 0);
}

/* Is a file with a segment's name left by a session that was killed before it had a head: cut short, not written? */
static bool is_ruin(int dir, const char *name)
{
    struct stat status;
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    /* A live session holds a lock, except in its first moments. */
    bool ruin = !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink == 1 &&
                time(NULL) - status.st_mtime > RUIN_S && !is_locked(fd);
    close(fd);
    return ruin;
}

static bool is_segment_name(const char *name)
{
    const char *id = name + strlen(PATHS_SEGMENT_PREFIX);
    return !strncmp(name, PATHS_SEGMENT_PREFIX, strlen(PATHS_SEGMENT_PREFIX)) && strlen(id) == 32 &&
           strspn(id, "0123456789abcdef") == 32;
}

/*
 * Is NAME a channel or a file of rings whose segment is gone? Such a file is left by a collector that was killed while it removed its
 * files, or by a thread of it that hung. remove_files() does not find them, as it starts from the segment. Root gives
 * channels to the users for whom they are, and removes those of all users.
 */
static bool is_orphan(int dir, const char *name)
{
    char segment[sizeof(PATHS_SEGMENT_PREFIX) + 32];
    struct stat status;
    if (strncmp(name, PATHS_SEGMENT_PREFIX, strlen(PATHS_SEGMENT_PREFIX)))
        return false;
    snprintf(segment, sizeof segment, "%.*s", (int)sizeof segment - 1, name);
    return is_segment_name(segment) && is_of_session(name + strlen(segment)) &&
           faccessat(dir, segment, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT &&
           !fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) && S_ISREG(status.st_mode) &&
           (status.st_uid == geteuid() || geteuid() == 0) && status.st_nlink == 1 &&
           time(NULL) - status.st_mtime > RUIN_S;
}

static void sweep_ruins(void)
{
    struct found found;
    for (unsigned i = 0; i < PATHS_SEGMENT_PLACES; i++) {
        const char *place = paths_segment_place(i);
        DIR *dir = place ? opendir(place) : NULL;
        struct dirent *entry;
        while (dir && (entry = readdir(dir)))
            if (is_segment_name(entry->d_name) && read_segment(dirfd(dir), entry->d_name, &found))
                close(found.fd);
            else if (is_segment_name(entry->d_name) && is_ruin(dirfd(dir), entry->d_name)) {
                remove_files(dirfd(dir), entry->d_name);
                unlinkat(dirfd(dir), entry->d_name, 0);
            } else if (is_orphan(dirfd(dir), entry->d_name))
                unlinkat(dirfd(dir), entry->d_name, 0);
        if (dir)
            closedir(dir);
    }
}

void wait_sweep(void)
{
    visit_segments(sweep_one, NULL);
    sweep_ruins();
}
