/* SPDX-License-Identifier: MIT */
/* Where a mapped file is looked for, and what is believed to be it: on a machine that the test makes up. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>

#include "collector/system/mapped_file.h"
#include "common/buffer.h"

enum { PID = 4711, INO = 33, MAJ = 8, MIN = 2 };
#define PATH    "/x/lib.so"
#define ROOT    "/proc/4711/root"
#define MAP     "/proc/4711/map_files/7000-9000"
#define EXE     "/proc/4711/exe"
#define OVERLAY 0x794c7630
#define BTRFS   0x9123683e

/* The machine: which paths lead to the file, separated by spaces, and what a look at it says. */
static struct {
    const char *there;
    struct stat stat;
    long type;         /* of the file system; -1: it does not tell */
    int in_root_error; /* of openat2() */
    bool cannot_read;
    const char *mounts; /* NULL: no /proc */
    const char *mounts_of_process;
    unsigned mount, mount_of_root; /* of the file; of "/". 0: not told */
    bool owner_differs, no_owner;  /* of the process' mount namespace, from our user namespace */
    uid_t user;
    time_t now;
    struct statx statx;
    bool not_cached;
} machine;

static char said[1024];
static int fds_open, root_fd = -1, user_fd = -1;

static void say(const char *what)
{
    strncat(said, what, sizeof(said) - strlen(said) - 2);
    strcat(said, "\n");
}

static bool is_there(const char *path)
{
    size_t length = strlen(path);
    for (const char *at = machine.there; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
        if (strcspn(at, " ") == length && strncmp(at, path, length) == 0)
            return true;
    return false;
}

static int new_fd(void)
{
    int fd = memfd_create("file", MFD_CLOEXEC);
    assert_true(fd >= 0);
    fds_open++;
    return fd;
}

/* ---- In the place of others ---- */

int __real_open(const char *path, int flags, unsigned mode);
int __wrap_open(const char *path, int flags, unsigned mode);
int __wrap_open(const char *path, int flags, unsigned mode)
{
    (void)mode;
    if (strncmp(path, "/proc/self/fd/", 14) == 0) {
        assert_int_equal(flags, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        assert_true(fcntl(atoi(path + 14), F_GETFD) >= 0);
        say("read");
        return machine.cannot_read ? -1 : new_fd();
    }
    if (strcmp(path, "/") == 0) {
        assert_int_equal(flags, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return root_fd = new_fd();
    }
    if (strcmp(path, "/proc/4711/ns/mnt") == 0) {
        say("whose mounts");
        return new_fd();
    }
    say(path);
    if (strcmp(path, ROOT) == 0)
        assert_int_equal(flags, O_PATH | O_DIRECTORY | O_CLOEXEC);
    else /* nothing that would notice us */
        assert_int_equal(flags & ~O_NOFOLLOW, O_PATH | O_CLOEXEC);
    /* Links of the kernel's are followed, those of a target are not. */
    bool kernels = strcmp(path, MAP) == 0 || strcmp(path, EXE) == 0 || strcmp(path, ROOT) == 0;
    assert_int_equal(!(flags & O_NOFOLLOW), kernels);
    return is_there(path) ? new_fd() : -1;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    fds_open--;
    root_fd = fd == root_fd ? -1 : root_fd;
    user_fd = fd == user_fd ? -1 : user_fd;
    return __real_close(fd);
}

long __wrap_syscall(long number, int directory, const char *path, const uint64_t *how, size_t size);
long __wrap_syscall(long number, int directory, const char *path, const uint64_t *how, size_t size)
{
    assert_int_equal(number, SYS_openat2);
    assert_int_equal(size, 24);
    assert_int_equal(how[0], O_PATH | O_CLOEXEC | O_NOFOLLOW);
    assert_int_equal(how[1], 0);
    if (directory == AT_FDCWD) {
        assert_int_equal(how[2], 0x22); /* no magic links, from the cache alone */
        say("cached");
        errno = EAGAIN;
        return machine.not_cached ? -1 : new_fd();
    }
    assert_int_equal(how[2], 0x12); /* no magic links, in this root */
    assert_string_equal(path, PATH);
    say("in root");
    errno = machine.in_root_error ? machine.in_root_error : ENOENT;
    return !machine.in_root_error && is_there("root") ? new_fd() : -1;
}

int __wrap_fstat(int fd, struct stat *ret);
int __wrap_fstat(int fd, struct stat *ret)
{
    assert_true(fd >= 0);
    *ret = machine.stat;
    if (fd == user_fd)
        *ret = (struct stat){.st_dev = 4, .st_ino = 77 + machine.owner_differs};
    return 0;
}

int __wrap_stat(const char *path, struct stat *ret);
int __wrap_stat(const char *path, struct stat *ret)
{
    assert_string_equal(path, "/proc/self/ns/user");
    *ret = (struct stat){.st_dev = 4, .st_ino = 77};
    return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
    assert_true(fd >= 0);
    assert_int_equal(request, 0xb701); /* NS_GET_USERNS */
    return machine.no_owner ? -1 : (user_fd = new_fd());
}

uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
    return machine.user;
}

int __wrap_fstatfs(int fd, struct statfs *ret);
int __wrap_fstatfs(int fd, struct statfs *ret)
{
    assert_true(fd >= 0);
    *ret = (struct statfs){.f_type = (__typeof__(ret->f_type))machine.type};
    return machine.type < 0 ? -1 : 0;
}

int __wrap_statx(int fd, const char *path, int flags, unsigned mask, struct statx *ret);
int __wrap_statx(int fd, const char *path, int flags, unsigned mask, struct statx *ret)
{
    assert_true(fd >= 0 && !path[0]);
    assert_int_equal(flags, AT_EMPTY_PATH | AT_STATX_DONT_SYNC); /* no file system is asked */
    assert_true(mask & STATX_TYPE && mask & STATX_INO);
    *ret = machine.statx;
    return 0;
}

int __wrap_buffer_read_file(struct buffer *buffer, const char *path, size_t limit);
int __wrap_buffer_read_file(struct buffer *buffer, const char *path, size_t limit)
{
    const char *text = machine.mounts;
    char fdinfo[64];
    if (strncmp(path, "/proc/self/fdinfo/", 18) == 0) {
        const unsigned mount = atoi(path + 18) == root_fd ? machine.mount_of_root : machine.mount;
        assert_true(fcntl(atoi(path + 18), F_GETFD) >= 0);
        snprintf(fdinfo, sizeof(fdinfo), "pos:\t0\nflags:\t012100000\nmnt_id:\t%u\nino:\t33\n", mount);
        text = mount ? fdinfo : "pos:\t0\n";
    } else {
        const bool own = strcmp(path, "/proc/self/mountinfo") == 0;
        assert_true(own || strcmp(path, "/proc/4711/mountinfo") == 0);
        assert_int_equal(limit, 1 << 20);
        say(own ? "mounts" : "its mounts");
        text = own ? machine.mounts : machine.mounts_of_process;
    }
    if (!text)
        return -ENOENT;
    buffer_append(buffer, text, strlen(text) + 1);
    return 0;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
    assert_int_equal(id, CLOCK_MONOTONIC);
    *ret = (struct timespec){.tv_sec = machine.now};
    return 0;
}

/* ---- Anywhere ---- */

static const struct mapped_file wanted = {PID, MAJ, MIN, INO, 0x7000, 0x2000, PATH};

static int set_up(void **state)
{
    (void)state;
    memset(&machine, 0, sizeof(machine));
    machine.stat.st_mode = S_IFREG | 0644;
    machine.stat.st_ino = INO;
    machine.stat.st_dev = makedev(MAJ, MIN);
    machine.type = 0xef53;
    said[0] = '\0';
    fds_open = 0;
    return 0;
}

/* Is FILE found, and is it found so? */
static void expect(const struct mapped_file *file, bool found, const char *way)
{
    struct stat stat = {0};
    said[0] = '\0';
    int fd = mapped_file_open(file, &stat);
    assert_string_equal(said, way);
    assert_int_equal(fd >= 0, found);
    if (!found)
        assert_int_equal(fd, -ENOENT);
    else
        assert_int_equal(stat.st_ino, INO);
    assert_int_equal(fds_open, found); /* all others are closed */
    if (found)
        close(fd);
}

static void places_in_turn(void **state)
{
    struct mapped_file file = wanted;
    (void)state;
    machine.there = PATH " " MAP " " EXE " " ROOT " root";
    expect(&file, true, PATH "\nread\n");
    machine.there = MAP " " EXE " " ROOT " root";
    expect(&file, true, PATH "\n" ROOT "\nin root\nread\n");
    machine.there = MAP " " EXE " " ROOT;
    expect(&file, true, PATH "\n" ROOT "\nin root\n" MAP "\nread\n"); /* deleted, and mapped still */
    machine.there = EXE;
    expect(&file, true, PATH "\n" ROOT "\n" MAP "\n" EXE "\nread\n");
    machine.there = NULL;
    expect(&file, false, PATH "\n" ROOT "\n" MAP "\n" EXE "\n");
    /* Where it lies is not known; who has it is not known. */
    file.size = 0;
    machine.there = EXE;
    expect(&file, true, PATH "\n" ROOT "\n" EXE "\nread\n");
    file = wanted;
    file.pid = 0;
    expect(&file, false, PATH "\n");
    file.pid = -1;
    expect(&file, false, PATH "\n");
}

/* A kernel, or a filter, without openat2(): the path below the root, whose last link is not followed. */
static void without_openat2(void **state)
{
    (void)state;
    static const int errors[] = {ENOSYS, EPERM};
    machine.there = ROOT " " ROOT PATH;
    for (int i = 0; i < 2; i++) {
        machine.in_root_error = errors[i];
        expect(&wanted, true, PATH "\n" ROOT "\nin root\n" ROOT PATH "\nread\n");
    }
    machine.in_root_error = ELOOP;
    expect(&wanted, false, PATH "\n" ROOT "\nin root\n" MAP "\n" EXE "\n");
}

static void nothing_else_is_taken(void **state)
{
    struct mapped_file file = wanted;
    (void)state;
    file.pid = 0;
    machine.there = PATH;
    machine.cannot_read = true;
    expect(&file, false, PATH "\nread\n");
    machine.cannot_read = false;
    machine.stat.st_ino = INO + 1;
    expect(&file, false, PATH "\n");
    machine.stat.st_ino = INO;
    machine.stat.st_mode = S_IFIFO | 0644;
    expect(&file, false, PATH "\n");
    machine.stat.st_mode = S_IFREG;
    machine.stat.st_dev = makedev(MAJ, MIN + 1);
    expect(&file, false, PATH "\n");
    machine.stat.st_dev = makedev(MAJ + 1, MIN);
    expect(&file, false, PATH "\n");
    /* Of those with several file systems below them any of theirs may be it, and of no others. */
    machine.stat.st_dev = makedev(0, 40);
    expect(&file, false, PATH "\n");
    machine.type = 0x01021994; /* tmpfs */
    expect(&file, false, PATH "\n");
    machine.type = -1;
    expect(&file, false, PATH "\n");
    machine.stat.st_dev = makedev(MAJ + 1, 40);
    machine.type = OVERLAY;
    expect(&file, false, PATH "\n");
    machine.type = BTRFS;
    expect(&file, false, PATH "\n");
}

#define MOUNT                                \
    "70 22 8:1 / / rw - ext4 /dev/sda1 rw\n" \
    "7 22 9:9 / /a rw - ext4 /dev/sda1 rw\n"

/* stat tells a device of neither the record nor the mount: the mount's is compared. */
static void devices_of_mounts(void **state)
{
    static const long types[] = {OVERLAY, BTRFS};
    struct mapped_file file = wanted;
    (void)state;
    machine.there = PATH;
    machine.stat.st_dev = makedev(0, 40);
    machine.mount = 71;
    file.pid = 0;
    for (int i = 0; i < 2; i++) {
        machine.type = types[i];
        machine.mounts = MOUNT "71 22 8:2 / /x rw - overlay overlay rw\n";
        expect(&file, true, PATH "\nmounts\nread\n");
        machine.mounts = MOUNT "71 22 8:2 / /x rw"; /* the last line, which has no end */
        expect(&file, true, PATH "\nmounts\nread\n");
        /* Not to be known: no such mount, its line says nothing, the kernel does not tell which, no /proc. */
        machine.mounts = MOUNT "711 22 8:2 / /x rw\n";
        expect(&file, false, PATH "\nmounts\n");
        machine.mounts = MOUNT "71 22 x / /x rw\n";
        expect(&file, false, PATH "\nmounts\n");
        machine.mounts = NULL;
        expect(&file, false, PATH "\nmounts\n");
        machine.mounts = MOUNT "71 22 8:2 / /x rw\n";
        machine.mount = 0;
        expect(&file, false, PATH "\n");
        machine.mount = 71;
        /* But the one in which our own root lies. */
        machine.mounts = MOUNT;
        machine.mount_of_root = 71;
        expect(&file, true, PATH "\nmounts\nread\n");
        machine.mount_of_root = 70;
        expect(&file, false, PATH "\nmounts\n");
    }
    /* Another device: the layer's of an overlay, on an older kernel. btrfs has none. */
    machine.mounts = MOUNT "71 22 0:50 / /x rw\n";
    expect(&file, false, PATH "\nmounts\n");
    machine.type = OVERLAY;
    expect(&file, true, PATH "\nmounts\nread\n");
}

/* What a process mounted for itself, with any number for a file. */
static void devices_of_others_mounts(void **state)
{
    (void)state;
    machine.there = ROOT " root";
    machine.stat.st_dev = makedev(0, 40);
    machine.type = OVERLAY;
    machine.mount = 71;
    machine.mounts = MOUNT;
    machine.mounts_of_process = MOUNT "71 22 8:2 / /x rw\n";
    expect(&wanted, true, PATH "\n" ROOT "\nin root\nmounts\nits mounts\nread\n");
#define LOOKS PATH "\n" ROOT "\nin root\nmounts\nits mounts\n"
#define REST  MAP "\n" EXE "\n"
    machine.mounts_of_process = MOUNT;
    expect(&wanted, false, LOOKS REST);
    /* Another device than the record's is an overlay's layer only where it needed our rights to mount it. */
    machine.mounts_of_process = MOUNT "71 22 0:50 / /x rw\n";
    machine.owner_differs = true;
    expect(&wanted, false, LOOKS "whose mounts\n" REST);
    machine.no_owner = true;
    expect(&wanted, false, LOOKS "whose mounts\n" REST);
    machine.owner_differs = machine.no_owner = false;
    expect(&wanted, true, LOOKS "whose mounts\nread\n");
    /* All targets of another collector than root's are one user's. */
    machine.owner_differs = true;
    machine.user = 1000;
    expect(&wanted, true, LOOKS "read\n");
    machine.type = BTRFS;
    expect(&wanted, false, LOOKS REST);
}

/* ---- On disks of this machine ---- */

static void expect_local(uint32_t maj, uint32_t min, const char *way)
{
    struct mapped_file file = wanted;
    struct stat stat = {0};
    size_t length = strlen(way);
    bool found = length >= 5 && strcmp(way + length - 5, "read\n") == 0 && !machine.cannot_read;
    said[0] = '\0';
    file.maj = maj;
    file.min = min;
    int fd = mapped_file_open_local(&file, &stat);
    assert_string_equal(said, way);
    assert_int_equal(fd >= 0, found);
    assert_int_equal(fds_open, found);
    if (found)
        close(fd);
    else
        assert_int_equal(fd, -EAGAIN);
}

static void set_device(uint32_t maj, uint32_t min)
{
    machine.statx.stx_dev_major = maj;
    machine.statx.stx_dev_minor = min;
}

/* In one test: what is mounted is the machine's, and remembered. */
static void files_of_local_disks(void **state)
{
    (void)state;
    machine.now = 1000;
    machine.statx.stx_mode = S_IFREG;
    machine.statx.stx_ino = INO;
    set_device(8, 2);
    machine.mounts = NULL;
    expect_local(8, 2, "mounts\n");
    expect_local(8, 2, ""); /* not looked at again in the same second */
    expect_local(0, 2, "");
    machine.mounts = "22 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
                     "23 1 8:3 / /usr rw shared:1 - ext4x /dev/sda3 rw\n"
                     "24 1 0:40 / /tmp rw - tmpfs none rw\n"
                     "25 1 8:4 / /a rw - xfs /dev/sda4 rw\n"
                     "26 1 8:5 / /nfs rw\n"
                     "27 1 0:41 / /b rw - ext4 none rw\n"
                     "none - ext4\n"
                     "28 1 259:7 / /c rw - erofs /dev/sda7 rw";
    machine.now++;
    expect_local(8, 2, "mounts\ncached\nread\n");
    expect_local(8, 2, "cached\nread\n");
    set_device(8, 4);
    expect_local(8, 4, "cached\nread\n");
    set_device(259, 7); /* the last line, which has no end */
    expect_local(259, 7, "cached\nread\n");
    expect_local(8, 3, "");
    expect_local(8, 7, "");
    expect_local(7, 2, "");
    expect_local(0, 40, "");
    expect_local(0, 41, "");
    machine.now += 5;
    expect_local(8, 5, "mounts\n"); /* the type of the next line is not its own */
    set_device(8, 2);
    /* Whatever is another file, or may wait, is left to others. */
    machine.not_cached = true;
    expect_local(8, 2, "cached\n");
    machine.not_cached = false;
    machine.cannot_read = true;
    expect_local(8, 2, "cached\nread\n");
    machine.cannot_read = false;
    set_device(8, 3);
    expect_local(8, 2, "cached\n");
    set_device(9, 2);
    expect_local(8, 2, "cached\n");
    set_device(8, 2);
    machine.statx.stx_ino++;
    expect_local(8, 2, "cached\n");
    machine.statx.stx_ino--;
    machine.statx.stx_mode = S_IFCHR;
    expect_local(8, 2, "cached\n");
    machine.statx.stx_mode = S_IFREG;
    expect_local(8, 2, "cached\nread\n");
    /* File systems whose reads are this machine's alone. */
    static const char *const types[] = {"ext2", "ext3", "ext4", "xfs", "f2fs", "squashfs", "erofs"};
    for (unsigned i = 0; i < 7; i++) {
        static char line[64];
        snprintf(line, sizeof(line), "1 1 60:%u / /m rw - %s /dev/x rw\n", i, types[i]);
        machine.mounts = line;
        machine.now++;
        set_device(60, i);
        expect_local(60, i, "mounts\ncached\nread\n");
    }
    /* More disks than there is room for: the first of them. */
    static char many[40 * 64];
    for (int i = 0; i < 40; i++)
        sprintf(many + strlen(many), "%d 1 50:%d / /m rw - squashfs /dev/x rw\n", i, i);
    machine.mounts = many;
    machine.now++;
    set_device(50, 31);
    expect_local(50, 31, "mounts\ncached\nread\n");
    set_device(50, 0);
    expect_local(50, 0, "cached\nread\n");
    expect_local(8, 2, "");
    expect_local(50, 32, "");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(places_in_turn, set_up),           cmocka_unit_test_setup(without_openat2, set_up),
        cmocka_unit_test_setup(nothing_else_is_taken, set_up),    cmocka_unit_test_setup(devices_of_mounts, set_up),
        cmocka_unit_test_setup(devices_of_others_mounts, set_up), cmocka_unit_test_setup(files_of_local_disks, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
