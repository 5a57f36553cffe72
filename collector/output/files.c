/* SPDX-License-Identifier: MIT */
#include "collector/output/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pinject/wire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fnv.h"
#include "common/perfdata.h"
#include "common/report.h"
#include "common/table.h"

/* Of the 255 bytes of a file name the last 64 are for .PID.TID.EXEC~N. */
enum { PREFIX_MAX = NAME_MAX - 64, GIVEN_SIZE = 2 * PINJECT_TASKS };

struct files_name {
    UT_hash_handle hh;
    uint32_t given;
    char text[]; /* after the base's '.' */
};

/* How much of BASE is the name of its directory, including the '/'. */
static size_t directory_size(const char *base)
{
    const char *slash = strrchr(base, '/');
    return slash ? (size_t)(slash - base) + 1 : 0;
}

static int open_directory_of(const char *base, int how)
{
    char directory[PATH_MAX] = ".";
    size_t size = directory_size(base);
    if (size >= sizeof(directory))
        return -ENAMETOOLONG;
    if (size)
        snprintf(directory, sizeof(directory), "%.*s", (int)size, base);
    int fd = open(directory, how | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int open_directory(struct files *files)
{
    files->directory_fd = open_directory_of(files->base, O_RDONLY);
    if (files->directory_fd == -EACCES) /* files can be made in it all the same */
        files->directory_fd = open_directory_of(files->base, O_PATH);
    if (files->directory_fd < 0)
        return files->directory_fd;
    files->reserve = fcntl(files->directory_fd, F_DUPFD_CLOEXEC, 0);
    return files->reserve < 0 ? -errno : 0;
}

/*
 * While it lives, this session holds a lock on one byte of the directory, which the name of its files chooses. Others
 * that share the directory see it from any pid namespace. It costs one descriptor however many files there are, nothing
 * is left when we are killed, and unlike locks of the files it covers those that are closed and complete. It is a read
 * lock, so that all sessions can have it; a query for a write lock finds them.
 */
static struct flock lock_of(const char *base, short type)
{
    const char *name = base + directory_size(base);
    uint64_t key = fnv(FNV_BEGIN, name, strlen(name));
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(key >> 2), .l_len = 1};
}

static void lock_base(const struct files *files)
{
    struct flock lock = lock_of(files->base, F_RDLCK);
    (void)fcntl(files->directory_fd, F_OFD_SETLK, &lock);
}

/* Does anybody but the holder of DIRECTORY_FD have it? */
static bool is_used(int directory_fd, const char *base)
{
    struct flock lock = lock_of(base, F_WRLCK);
    return fcntl(directory_fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool files_base_is_used(const char *base)
{
    int directory_fd = open_directory_of(base, O_RDONLY);
    bool used = directory_fd >= 0 && is_used(directory_fd, base);
    if (directory_fd >= 0)
        close(directory_fd);
    return used;
}

/* Gives the file FD, which has no name, the name NAME; a file system may refuse. */
static int link_at(const struct files *files, int fd, const char *name)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, files->directory_fd, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* Asks the file system itself: rights, read-only mounts and quotas have too many rules. */
static int try_directory(struct files *files)
{
    char name[NAME_MAX + 1];
    snprintf(name, sizeof(name), "%s.%d.test", files->base + files->directory, (int)getpid());
    int fd = openat(files->directory_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    int status = fd < 0 ? -errno : link_at(files, fd, name);
    files->unnamed = status == 0;
    if (fd >= 0)
        close(fd);
    if (status == -EEXIST)
        return 0;
    if (status < 0) {
        fd = openat(files->directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
            return errno == EEXIST ? 0 : -errno;
        close(fd);
    }
    return unlinkat(files->directory_fd, name, 0) < 0 ? -errno : 0;
}

static int refuse_base(const struct files *files, int status)
{
    const char *base = files->base, *prefix = base + files->directory;
    int directory = files->directory ? (int)files->directory : 1;
    const char *shown = files->directory ? base : ".";
    if (status == -EISDIR)
        report_error("'%s' is a directory; add a name for the result files, like '-o %s%sout'", base, base,
                     *prefix ? "/" : "");
    else if (status == -ENAMETOOLONG)
        report_error("'%.60s...' is too long as a name for result files; choose a shorter name with -o", base);
    else if (status == -ENOENT)
        report_error(
            "cannot write result files '%s.*': there is no directory '%.*s'; create it, or choose another with -o",
            base, directory, shown);
    else
        report_error("cannot write result files '%s.*' in '%.*s': %s; choose another place with -o", base, directory,
                     shown, strerror(-status));
    return status;
}

static int check_base(const struct files *files)
{
    const char *prefix = files->base + files->directory;
    if (strlen(prefix) > PREFIX_MAX || strlen(files->base) >= PATH_MAX)
        return -ENAMETOOLONG;
    /* "out/", "..": the user meant the directory. A directory with the name of the files is not in their way. */
    return !*prefix || strcmp(prefix, ".") == 0 || strcmp(prefix, "..") == 0 ? -EISDIR : 0;
}

int files_init(struct files *files, const char *base, mode_t mode)
{
    *files = (struct files){.directory_fd = -1, .reserve = -1, .mode = mode};
    if (!*base) {
        report_error("result files need a name, like '-o out'");
        return -EINVAL;
    }
    files->base = strdup(base);
    files->directory = directory_size(base);
    /* Pages of zeros cost nothing until a number is used. */
    files->given = mmap(NULL, GIVEN_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (files->given == MAP_FAILED)
        files->given = NULL;
    int status = files->base ? check_base(files) : -ENOMEM;
    if (status == 0)
        status = open_directory(files);
    if (status == 0)
        status = try_directory(files);
    if (status == -ENOMEM)
        report_error("out of memory");
    else if (status < 0)
        refuse_base(files, status);
    if (status < 0)
        files_release(files);
    else
        lock_base(files);
    return status;
}

void files_release(struct files *files)
{
    if (files->directory_fd >= 0)
        close(files->directory_fd);
    if (files->reserve >= 0)
        close(files->reserve);
    free(files->base);
    struct files_name *name, *next;
    HASH_ITER(hh, files->names, name, next)
    {
        HASH_DEL(files->names, name);
        free(name);
    }
    if (files->given)
        munmap(files->given, GIVEN_SIZE);
    *files = (struct files){.directory_fd = -1, .reserve = -1};
}

static struct files_name *find_name(struct files *files, const char *text)
{
    size_t size = strlen(text);
    struct files_name *name;
    HASH_FIND(hh, files->names, text, size, name);
    if (name)
        return name;
    name = calloc(1, sizeof(*name) + size);
    if (!name)
        return NULL;
    memcpy(name->text, text, size);
    HASH_ADD_KEYPTR(hh, files->names, name->text, size, name);
    if (TABLE_HAS(name))
        return name;
    free(name);
    return NULL;
}

/* How often TEXT was given before; counts it. TID: the task, -1 if TEXT names a program too. */
static int count_name(struct files *files, pid_t tid, const char *text, uint32_t *ret)
{
    /* Two bytes for each number, however many tasks had it: a session's memory does not grow with its tasks. */
    const bool by_tid = files->given && tid >= 0 && tid < PINJECT_TASKS;
    if (by_tid && files->given[tid] < UINT16_MAX) {
        *ret = files->given[tid]++;
        return 0;
    }
    struct files_name *name = find_name(files, text);
    if (!name)
        return -ENOMEM;
    *ret = name->given++ + (by_tid ? UINT16_MAX : 0);
    return 0;
}

/* The last part of the path EXEC, safe for a file name and for a terminal that lists it. */
static void safe_exec(const char *exec, char *ret, size_t size)
{
    const char *slash = strrchr(exec, '/');
    const char *name = slash && slash[1] ? slash + 1 : exec;
    size_t at = 0, taken;
    for (; *name; name += taken) {
        const size_t safe = *name == '/' ? 0 : report_printable(name, strnlen(name, 4));
        taken = safe ? safe : 1;
        /* Do not cut a character in two. */
        if (at + taken > size - 1)
            break;
        if (safe)
            memcpy(ret + at, name, safe);
        else
            ret[at] = '_';
        at += taken;
    }
    ret[at] = '\0';
}

int files_name(struct files *files, pid_t pid, pid_t tid, const char *exec, char **ret)
{
    char safe[36] = "", again[12] = "", text[64];
    uint32_t given;
    if (exec)
        safe_exec(exec, safe, sizeof(safe));
    snprintf(text, sizeof(text), "%d.%d%s%s", (int)pid, (int)tid, exec ? "." : "", safe);
    int status = count_name(files, *safe ? -1 : tid, text, &given);
    if (status < 0)
        return status;
    if (given)
        snprintf(again, sizeof(again), "~%u", given);
    size_t size = strlen(files->base) + strlen(text) + strlen(again) + 2;
    char *path = malloc(size);
    if (!path)
        return -ENOMEM;
    snprintf(path, size, "%s.%s%s", files->base, text, again);
    *ret = path;
    return 0;
}

static int open_in(struct files *files, const char *name, int flags)
{
    flags |= O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    int fd = openat(files->directory_fd, name, flags, 0600);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && files->reserve >= 0) {
        close(files->reserve);
        files->reserve = -1;
        fd = openat(files->directory_fd, name, flags, 0600);
    }
    return fd < 0 ? -errno : fd;
}

static int open_at(struct files *files, const char *path, int flags)
{
    return open_in(files, path + files->directory, flags);
}

/* Is PATH an older result file of ours, or an empty one that was meant to become one (*RET_EMPTY)? */
static bool is_replaceable(struct files *files, const char *path, bool *ret_empty)
{
    struct stat status;
    uint64_t magic = 0;
    /* Checked before it is opened: opening a device may have consequences. */
    if (fstatat(files->directory_fd, path + files->directory, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISREG(status.st_mode) || status.st_uid != geteuid())
        return false;
    *ret_empty = status.st_size == 0;
    if (*ret_empty)
        return true;
    int fd = open_at(files, path, O_RDONLY);
    if (fd < 0)
        return false;
    bool ours = pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == PERFDATA_MAGIC;
    close(fd);
    files_closed(files);
    return ours;
}

int files_open_unnamed(struct files *files)
{
    if (!files->unnamed)
        return -EOPNOTSUPP;
    int fd = open_in(files, ".", O_WRONLY | O_TMPFILE);
    /* Whatever the umask is. A file system without rights fails here. */
    if (fd >= 0)
        (void)fchmod(fd, files->mode);
    return fd;
}

/* Gives PATH to *FD, or creates it. */
static int take_name(struct files *files, const char *path, int *fd)
{
    if (*fd >= 0)
        return link_at(files, *fd, path + files->directory);
    int created = open_at(files, path, O_WRONLY | O_CREAT | O_EXCL);
    if (created < 0)
        return created;
    (void)fchmod(created, files->mode);
    *fd = created;
    return 0;
}

/* As perf does: PATH becomes PATH.old and replaces an earlier one. Returns whether PATH is free. */
static bool move_aside(struct files *files, const char *path)
{
    char old[PATH_MAX];
    bool empty;
    struct stat status;
    if (snprintf(old, sizeof(old), "%s.old", path) >= (int)sizeof(old))
        return false;
    const char *from = path + files->directory, *to = old + files->directory;
    const bool is_free = fstatat(files->directory_fd, to, &status, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
    if ((!is_free && !is_replaceable(files, old, &empty)) ||
        renameat(files->directory_fd, from, files->directory_fd, to) < 0)
        return false;
    files->moved++;
    return true;
}

int files_create(struct files *files, const char *path, int *fd)
{
    bool empty;
    int status = take_name(files, path, fd);
    if (status != -EEXIST || !is_replaceable(files, path, &empty))
        return status;
    if (is_used(files->directory_fd, files->base))
        return -EBUSY;
    /* Moved or unlinked, not truncated: its readers keep the old one. */
    if (empty ? unlinkat(files->directory_fd, path + files->directory, 0) < 0 && errno != ENOENT
              : !move_aside(files, path))
        return -EEXIST;
    return take_name(files, path, fd);
}

int files_reopen(struct files *files, const char *path, dev_t dev, ino_t ino, int *ret_fd)
{
    struct stat status;
    int fd = open_at(files, path, O_WRONLY);
    if (fd < 0)
        return fd == -ENOENT || fd == -ELOOP ? -ESTALE : fd;
    if (fstat(fd, &status) < 0 || status.st_dev != dev || status.st_ino != ino || !S_ISREG(status.st_mode)) {
        close(fd);
        files_closed(files);
        return -ESTALE;
    }
    *ret_fd = fd;
    return 0;
}

bool files_is_there(struct files *files, const char *path, int fd)
{
    struct stat file, named;
    return fstat(fd, &file) == 0 && file.st_nlink > 0 &&
           fstatat(files->directory_fd, path + files->directory, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_dev == file.st_dev && named.st_ino == file.st_ino;
}

void files_remove(struct files *files, const char *path)
{
    unlinkat(files->directory_fd, path + files->directory, 0);
}

void files_closed(struct files *files)
{
    if (files->reserve < 0)
        files->reserve = fcntl(files->directory_fd, F_DUPFD_CLOEXEC, 0);
}
