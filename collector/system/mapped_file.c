/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/system/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/clock.h"

/* linux/openat2.h, since Linux 5.6: older headers lack it. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
struct how_to_open {
    uint64_t flags, mode, resolve;
};
enum { NO_MAGIC_LINKS = 0x02, IN_ROOT = 0x10, CACHED = 0x20 };

/* linux/magic.h */
#define OVERLAY_MAGIC 0x794c7630
#define BTRFS_MAGIC   0x9123683e
/* linux/nsfs.h: the user namespace that owns another one */
#define OWNER_OF_NAMESPACE _IO(0xb7, 1)

enum { FLAGS = O_PATH | O_CLOEXEC | O_NOFOLLOW };

/* ---- Local disks ---- */

enum { DISKS = 32, LOOK_AGAIN_NS = 1000000000, MOUNTS_MAX = 1 << 20, FDINFO_MAX = 4096 };

/* File systems in whose reads no other process takes part. */
static bool is_local_type(const char *type)
{
    static const char *const types[] = {"ext2", "ext3", "ext4", "xfs", "f2fs", "squashfs", "erofs"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strncmp(type, types[i], strlen(types[i])) == 0 && type[strlen(types[i])] == ' ')
            return true;
    return false;
}

struct disk {
    uint32_t maj, min;
};

/* 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw */
static unsigned read_disks(struct disk *disks)
{
    struct buffer text = BUFFER_INIT;
    unsigned count = 0;
    if (buffer_read_file(&text, "/proc/self/mountinfo", MOUNTS_MAX) == 0)
        for (const char *line = (const char *)text.data; line && *line && count < DISKS;) {
            const char *end = strchr(line, '\n'), *type = strstr(line, " - ");
            struct disk disk;
            if (type && (!end || type < end) && is_local_type(type + 3) &&
                sscanf(line, "%*u %*u %" SCNu32 ":%" SCNu32, &disk.maj, &disk.min) == 2 && disk.maj != 0)
                disks[count++] = disk;
            line = end ? end + 1 : NULL;
        }
    buffer_release(&text);
    return count;
}

/* Static, since it describes the machine. What is mounted later is known a second later. */
static bool is_disk(uint32_t maj, uint32_t min)
{
    static struct disk disks[DISKS];
    static unsigned count;
    static uint64_t looked_ns;
    for (unsigned turn = 0; turn < 2; turn++) {
        for (unsigned i = 0; i < count; i++)
            if (disks[i].maj == maj && disks[i].min == min)
                return true;
        uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
        if (maj == 0 || (looked_ns && now_ns < looked_ns + LOOK_AGAIN_NS))
            return false;
        looked_ns = now_ns;
        count = read_disks(disks);
    }
    return false;
}

int mapped_file_open_local(const struct mapped_file *file, struct stat *ret)
{
    char self[32];
    struct how_to_open how = {.flags = FLAGS, .resolve = NO_MAGIC_LINKS | CACHED};
    struct statx status;
    if (!is_disk(file->maj, file->min))
        return -EAGAIN;
    int place = (int)syscall(SYS_openat2, AT_FDCWD, file->path, &how, sizeof(how)), fd = -1;
    if (place < 0)
        return -EAGAIN;
    snprintf(self, sizeof(self), "/proc/self/fd/%d", place);
    /* Which disk it is on has to be known before anything asks the file system. */
    if (statx(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &status) == 0 &&
        S_ISREG(status.stx_mode) && status.stx_ino == file->ino && status.stx_dev_major == file->maj &&
        status.stx_dev_minor == file->min)
        fd = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    close(place);
    if (fd >= 0 && fstat(fd, ret) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -EAGAIN;
}

/* ---- All others ---- */

/* The mount of FD, as a number that no other mount has while FD is open. */
static bool mount_of(int fd, unsigned long *ret)
{
    char path[40];
    struct buffer text = BUFFER_INIT;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    const char *line = NULL;
    if (buffer_read_file(&text, path, FDINFO_MAX) == 0 && text.data)
        line = strstr((const char *)text.data, "mnt_id:");
    if (line)
        *ret = strtoul(line + strlen("mnt_id:"), NULL, 10);
    buffer_release(&text);
    return line;
}

/* The device of MOUNT, if PID (0: we) can see it. */
static bool find_mount(pid_t pid, unsigned long mount, struct disk *ret)
{
    char path[40] = "/proc/self/mountinfo";
    struct buffer text = BUFFER_INIT;
    bool found = false;
    if (pid)
        snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
    if (buffer_read_file(&text, path, MOUNTS_MAX) == 0)
        for (const char *line = (const char *)text.data; line && *line && !found;) {
            const char *end = strchr(line, '\n');
            found = strtoul(line, NULL, 10) == mount &&
                    sscanf(line, "%*u %*u %" SCNu32 ":%" SCNu32, &ret->maj, &ret->min) == 2;
            line = end ? end + 1 : NULL;
        }
    buffer_release(&text);
    return found;
}

/*
 * Is it the mount of our own root? In a chroot that is not the top of a mount mountinfo leaves it out, and its device
 * cannot be known.
 */
static bool is_below_root(unsigned long mount)
{
    unsigned long own;
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool same = fd >= 0 && mount_of(fd, &own) && own == mount;
    if (fd >= 0)
        close(fd);
    return same;
}

/*
 * Did the mounts that PID sees need the rights of our own user namespace? Asked after a look through PID: it can leave
 * them for some of its own, but has no right to come back.
 */
static bool has_our_mounts(pid_t pid)
{
    char path[40];
    struct stat owner, ours;
    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int user = fd < 0 ? -1 : ioctl(fd, OWNER_OF_NAMESPACE);
    bool same = user >= 0 && fstat(user, &owner) == 0 && stat("/proc/self/ns/user", &ours) == 0 &&
                owner.st_dev == ours.st_dev && owner.st_ino == ours.st_ino;
    if (user >= 0)
        close(user);
    if (fd >= 0)
        close(fd);
    return same;
}

/*
 * Is FD, of an overlay or btrfs, on the device that was mapped? Records have the device of the mount; before Linux 6.18
 * they have that of an overlay's layer, which nothing reports. Then the record is believed for mounts that a target
 * cannot have made: in a mount of its own a target gives any number to a file. But only root's collector has targets of
 * several users.
 */
static bool is_on_device(int fd, const struct mapped_file *file, bool layers)
{
    unsigned long mount;
    struct disk disk;
    if (!mount_of(fd, &mount))
        return false;
    const bool ours = find_mount(0, mount, &disk);
    if (!ours && is_below_root(mount))
        return true;
    if (!ours && (file->pid <= 0 || !find_mount(file->pid, mount, &disk)))
        return false;
    if (disk.maj == file->maj && disk.min == file->min)
        return true;
    return layers && (ours || geteuid() != 0 || has_our_mounts(file->pid));
}

/* Is FD, of STAT, what was mapped? stat and records have different devices if a file system has several below it. */
static bool is_mapped_one(int fd, const struct mapped_file *file, const struct stat *stat)
{
    struct statfs system;
    if (!S_ISREG(stat->st_mode) || stat->st_ino != file->ino)
        return false;
    if (major(stat->st_dev) == file->maj && minor(stat->st_dev) == file->min)
        return true;
    if (major(stat->st_dev) != 0 || fstatfs(fd, &system) < 0)
        return false;
    const uint32_t type = (uint32_t)system.f_type;
    return (type == OVERLAY_MAGIC || type == BTRFS_MAGIC) && is_on_device(fd, file, type == OVERLAY_MAGIC);
}

/* Takes over PLACE, a descriptor that only names a file, or -1. */
static int check_file(int place, const struct mapped_file *file, struct stat *ret)
{
    char self[32];
    int fd = -1;
    if (place < 0)
        return -1;
    if (fstat(place, ret) == 0 && is_mapped_one(place, file, ret)) {
        snprintf(self, sizeof(self), "/proc/self/fd/%d", place);
        fd = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    }
    close(place);
    return fd;
}

/* Follows links inside the process' root, as the process would. */
static int name_in_root(pid_t pid, const char *path)
{
    char name[4096 + 64];
    struct how_to_open how = {.flags = FLAGS, .resolve = IN_ROOT | NO_MAGIC_LINKS};
    snprintf(name, sizeof(name), "/proc/%d/root", (int)pid);
    int root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -1;
    int place = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
    bool refused = place < 0 && (errno == ENOSYS || errno == EPERM);
    close(root);
    if (!refused)
        return place;
    snprintf(name, sizeof(name), "/proc/%d/root%s", (int)pid, path);
    return open(name, FLAGS);
}

/* By links of the kernel's: they lead to the file, wherever it is. */
static int name_by_kernel(pid_t pid, const struct mapped_file *file, bool map)
{
    char name[96];
    if (map && !file->size)
        return -1;
    if (map) /* needs CAP_CHECKPOINT_RESTORE */
        snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, file->start,
                 file->start + file->size);
    else
        snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
    return open(name, O_PATH | O_CLOEXEC);
}

int mapped_file_open(const struct mapped_file *file, struct stat *ret)
{
    /* In our root first: it is there after the end of the process too. */
    int fd = check_file(open(file->path, FLAGS), file, ret);
    if (fd < 0 && file->pid > 0)
        fd = check_file(name_in_root(file->pid, file->path), file, ret);
    /* A deleted file exists as long as it is mapped. */
    if (fd < 0 && file->pid > 0)
        fd = check_file(name_by_kernel(file->pid, file, true), file, ret);
    if (fd < 0 && file->pid > 0)
        fd = check_file(name_by_kernel(file->pid, file, false), file, ret);
    return fd < 0 ? -ENOENT : fd;
}
