/* SPDX-License-Identifier: MIT */
/* Files of targets are read by another process; openers made up here hang, crash and answer late. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include "collector/output/build_ids.h"
#include "collector/system/opener.h"
#include "deny.h"
#include "unwind/unwind.h"

static char directory[64];

static int enter_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/pinject-unit-XXXXXX");
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int leave_directory(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- What is opened ---- */

/* What PATH names now, as the kernel would tell of it. */
static struct mapped_file mapped(const char *path)
{
    static char paths[64][160];
    static unsigned next;
    char *full = paths[next++ % 64];
    struct stat status = {0};
    snprintf(full, sizeof(paths[0]), "%s%s%s", path[0] == '/' ? "" : directory, path[0] == '/' ? "" : "/", path);
    stat(full, &status);
    return (struct mapped_file){
        .pid = getpid(), .maj = major(status.st_dev), .min = minor(status.st_dev), .ino = status.st_ino, .path = full};
}

static struct mapped_file itself(void)
{
    static char exe[200];
    assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
    return mapped(exe);
}

static int open_one(const struct mapped_file *file)
{
    struct stat status;
    return mapped_file_open(file, &status);
}

static void only_the_file_that_was_mapped(void **state)
{
    (void)state;
    struct mapped_file file = itself();
    int fd = open_one(&file);
    assert_true(fd >= 0);
    close(fd);
    struct mapped_file other = file;
    other.ino++;
    assert_int_equal(open_one(&other), -ENOENT);
    other = file;
    other.maj++;
    assert_int_equal(open_one(&other), -ENOENT);
    /* It went away, and something else came: the process still has it. */
    other = file;
    other.path = "/nowhere/at/all";
    fd = open_one(&other);
    assert_true(fd >= 0);
    close(fd);
    other.pid = 0;
    assert_int_equal(open_one(&other), -ENOENT);
}

/* A FIFO whose other end sees nobody come, a device, a link, a directory. */
static void nothing_but_regular_files(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(symlink("/bin/sh", "link"), 0);
    assert_int_equal(mkdir("directory", 0700), 0);
    struct mapped_file file = mapped("fifo"), device = mapped("/dev/null"), dir = mapped("directory");
    assert_int_equal(open_one(&file), -ENOENT);
    /* Had it been opened for reading, this one would not be refused. */
    assert_int_equal(open("fifo", O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1);
    assert_int_equal(open_one(&device), -ENOENT);
    assert_int_equal(open_one(&dir), -ENOENT);
    file = mapped("link");
    assert_int_equal(open_one(&file), -ENOENT);
    /* In no other root either. */
    file = mapped("fifo");
    file.pid = getpid();
    file.start = 0x1000;
    file.size = 0x1000;
    assert_int_equal(open_one(&file), -ENOENT);
}

static bool put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return done;
}

/* Ours, with all rights in it, and mounts of its own. */
static bool enter_namespace(void)
{
    char users[32], groups[32];
    snprintf(users, sizeof(users), "0 %u 1", geteuid());
    snprintf(groups, sizeof(groups), "0 %u 1", getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && put("/proc/self/setgroups", "deny") &&
           put("/proc/self/uid_map", users) && put("/proc/self/gid_map", groups) &&
           mount("t", "/tmp", "tmpfs", 0, NULL) == 0;
}

static bool make_overlays(const char *layers)
{
    static const char *const directories[] = {"/tmp/l", "/tmp/k", "/tmp/one", "/tmp/other"};
    for (unsigned i = 0; i < 4; i++)
        if (mkdir(directories[i], 0700) < 0)
            return false;
    int fd = creat("/tmp/l/file", 0600);
    return fd >= 0 && close(fd) == 0 && mount("o", directories[2], "overlay", 0, layers) == 0 &&
           mount("o", directories[3], "overlay", 0, layers) == 0;
}

/* In a user namespace: two mounts of one overlay, whose files have the same numbers. Says which devices these have. */
static void mount_overlays(int say)
{
    static const char layers[] = "userxattr,lowerdir=/tmp/l:/tmp/k";
    char line[512];
    unsigned long numbers[4] = {0};
    int got = 0;
    if (enter_namespace() && make_overlays(layers)) {
        FILE *mounts = fopen("/proc/self/mountinfo", "re");
        while (mounts && got < 4 && fgets(line, sizeof(line), mounts))
            if (strstr(line, " /tmp/one ") || strstr(line, " /tmp/other "))
                got += 2 * (sscanf(line, "%*u %*u %lu:%lu", &numbers[got], &numbers[got + 1]) == 2);
        if (mounts)
            fclose(mounts);
    }
    if (write(say, numbers, sizeof(numbers)) < 0)
        _exit(1);
    for (;;)
        pause();
}

static void overlays_of_a_target(void **state)
{
    (void)state;
    int pipes[2];
    unsigned long numbers[4] = {0};
    struct stat status;
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0)
        mount_overlays(pipes[1]);
    assert_int_equal(read(pipes[0], numbers, sizeof(numbers)), sizeof(numbers));
    struct mapped_file file = {
        .pid = pid, .maj = (uint32_t)numbers[0], .min = (uint32_t)numbers[1], .path = "/tmp/one/file"};
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/root/tmp/one/file", (int)pid);
    const bool mounted = numbers[3] && stat(path, &status) == 0;
    file.ino = mounted ? status.st_ino : 1;
    const int same = mounted ? open_one(&file) : -1;
    file.path = "/tmp/other/file";
    const int other = mounted ? open_one(&file) : -1;
    file.maj = 8; /* of a layer, as older kernels say */
    file.min = 1;
    const int layer = mounted ? open_one(&file) : -1;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(pipes[0]);
    close(pipes[1]);
    if (!mounted) {
        print_message("no overlay can be mounted in a user namespace here\n");
        skip();
    }
    assert_true(same >= 0);
    close(same);
    /* Only root's collector has targets of several users. */
    if (geteuid() == 0) {
        assert_int_equal(other, -ENOENT);
        assert_int_equal(layer, -ENOENT);
        return;
    }
    assert_true(other >= 0 && layer >= 0);
    close(other);
    close(layer);
}

/* What is opened without a helper is on a disk of this machine, and is what was mapped. */
static void local_files(void **state)
{
    (void)state;
    struct stat status, wanted;
    struct mapped_file file = itself(), other;
    int fd = mapped_file_open_local(&file, &status);
    assert_true(fd >= 0 || fd == -EAGAIN);
    if (fd >= 0) {
        assert_int_equal(stat(file.path, &wanted), 0);
        assert_int_equal(status.st_ino, wanted.st_ino);
        close(fd);
    }
    other = file;
    other.ino++;
    assert_int_equal(mapped_file_open_local(&other, &status), -EAGAIN);
    other = file;
    other.min++;
    assert_int_equal(mapped_file_open_local(&other, &status), -EAGAIN);
    /* The same file by another name that only we have: a link of the kernel's. */
    other = file;
    other.path = "/proc/self/exe";
    assert_int_equal(mapped_file_open_local(&other, &status), -EAGAIN);
    assert_int_equal(mkfifo("another", 0600), 0);
    other = mapped("another");
    assert_int_equal(mapped_file_open_local(&other, &status), -EAGAIN);
    other = mapped("/proc/version");
    assert_int_equal(mapped_file_open_local(&other, &status), -EAGAIN);
    other = mapped("/dev/null");
    assert_int_equal(mapped_file_open_local(&other, &status), -EAGAIN);
}

/* ---- Who answers ---- */

struct seen {
    unsigned count;
    uint64_t ticket;
    int status;
    struct opener_answer last;
};

static void note(void *context, uint64_t ticket, const struct opener_answer *answer)
{
    struct seen *seen = context;
    assert_true(answer->status == 0 || answer->fd == -1); /* there is no file, nor one to close */
    seen->count++;
    seen->ticket = ticket;
    seen->status = answer->status;
    seen->last = *answer;
}

/* Goes on until a question is answered, as the loop does. */
static void take_until(struct opener *opener, const struct seen *seen, unsigned count)
{
    uint64_t end = now_ns() + UINT64_C(60000000000);
    while (seen->count < count && now_ns() < end) {
        opener_take(opener);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(seen->count, count);
}

static void answers(void **state)
{
    (void)state;
    struct opener *opener = opener_new();
    struct seen seen = {0};
    struct buildid id = {0};
    struct mapped_file file = itself(), none = mapped("none");
    uint64_t ticket = opener_ask(opener, OPENER_ID, &file, note, &seen);
    assert_true(opener_settle(opener, ticket));
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.ticket, ticket);
    int fd = open(itself().path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(buildid_of_file(fd, &id), seen.last.id_size > 0);
    close(fd);
    assert_int_equal(seen.last.id_size, id.size);
    assert_memory_equal(seen.last.id, id.bytes, id.size);
    ticket = opener_ask(opener, OPENER_ID, &none, note, &seen);
    assert_true(opener_settle(opener, ticket));
    assert_int_equal(seen.status, -ENOENT);
    /* Many at once, in order. */
    for (unsigned i = 0; i < 500; i++)
        opener_ask(opener, OPENER_ID, i % 2 ? &file : &none, note, &seen);
    take_until(opener, &seen, 502);
    assert_int_equal(opener_counts(opener).asked, 502);
    assert_int_equal(opener_counts(opener).hung + opener_counts(opener).refused + opener_counts(opener).failed, 0);
    assert_true(opener_cpu_ns(opener) > 0);
    opener_free(opener);
    opener_free(NULL);
}

/* A helper of a kernel before close_range(): it answers, and has nothing of what was open. */
static int ask_without_close_range(void)
{
    int fds[2];
    char byte;
    struct seen seen = {0};
    deny_call(SYS_close_range, NULL, ENOSYS);
    if (pipe(fds) < 0)
        return 1;
    struct opener *opener = opener_new();
    struct mapped_file none = mapped("none");
    opener_ask(opener, OPENER_ID, &none, note, &seen);
    take_until(opener, &seen, 1);
    close(fds[1]);
    struct pollfd end = {.fd = fds[0], .events = POLLIN};
    bool alone = poll(&end, 1, 60000) == 1 && read(fds[0], &byte, 1) == 0;
    struct opener_counts counts = opener_counts(opener);
    opener_free(opener);
    return !alone || seen.status != -ENOENT || counts.failed || counts.refused;
}

static void descriptors_are_closed_one_by_one(void **state)
{
    (void)state;
    assert_int_equal(deny_in_child(ask_without_close_range), 0);
}

static void no_helper_for_local_files(void **state)
{
    (void)state;
    struct stat status;
    struct seen seen = {0};
    struct mapped_file file = itself();
    int fd = mapped_file_open_local(&file, &status);
    if (fd < 0)
        skip(); /* this lies on no disk, or the kernel is older than 5.12 */
    close(fd);
    struct opener *opener = opener_new();
    for (enum opener_kind kind = OPENER_ID; kind <= OPENER_TABLES; kind++) {
        assert_true(opener_settle(opener, opener_ask(opener, kind, &file, note, &seen)));
        assert_int_equal(seen.status, 0);
        assert_int_equal(seen.last.ino, file.ino);
        assert_int_equal(seen.last.fd >= 0, kind == OPENER_TABLES);
    }
    assert_int_equal(seen.count, 2);
    assert_int_equal(opener_cpu_ns(opener), 0);
    opener_ask(opener, OPENER_TABLES, &file, note, &seen); /* nobody takes it */
    opener_free(opener);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static struct unwind_files *copies;

static void keep_tables(void *context, uint64_t ticket, const struct opener_answer *answer)
{
    (void)ticket;
    const struct unwind_stat stat = {answer->dev, answer->ino, answer->size, answer->mtime_ns, answer->ctime_ns};
    assert_int_equal(answer->status, 0);
    *(struct unwind_file **)context = unwind_files_copy(copies, &stat, answer->fd);
}

/* ---- Who does not ---- */

static int open_strangely(const struct mapped_file *file, struct stat *ret)
{
    if (strstr(file->path, "hang"))
        for (;;)
            pause();
    while (strstr(file->path, "compute"))
        ;
    if (strstr(file->path, "crash"))
        _exit(1);
    return mapped_file_open(file, ret);
}

/* What arrives is what is read of the file itself. */
static void expect_tables(bool by_helper)
{
    size_t count = 0;
    struct opener *opener = opener_new();
    if (by_helper)
        opener_replace(opener, open_strangely);
    struct unwind_files *direct = unwind_files_new();
    struct unwind_file *file = NULL;
    copies = unwind_files_new();
    struct mapped_file self = itself();
    assert_true(opener_settle(opener, opener_ask(opener, OPENER_TABLES, &self, keep_tables, &file)));
    int fd = open(itself().path, O_RDONLY | O_CLOEXEC);
    bool expected = unwind_files_fd(direct, fd);
    close(fd);
    assert_int_equal(file != NULL, expected);
    assert_int_equal(unwind_files_size(copies, NULL), unwind_files_size(direct, &count));
    assert_int_equal(count, 1);
    unwind_files_free(copies);
    unwind_files_free(direct);
    opener_free(opener);
}

static void tables(void **state)
{
    (void)state;
    expect_tables(false);
    expect_tables(true);
}

/* Others are answered meanwhile, nobody waits for long, and it is given up in the end. */
static void one_hangs(void **state)
{
    (void)state;
    struct opener *opener = opener_new();
    struct seen hung = {0}, fine = {0};
    struct mapped_file bad = mapped("hang"), good = itself();
    opener_replace(opener, open_strangely);
    good.pid = 1; /* another user's, where this runs as one without rights */
    uint64_t start = now_ns(), ticket = opener_ask(opener, OPENER_ID, &bad, note, &hung);
    for (unsigned i = 0; i < 10; i++)
        opener_ask(opener, OPENER_ID, &good, note, &fine);
    assert_false(opener_settle(opener, ticket));
    assert_true(now_ns() - start < UINT64_C(5000000000)); /* a fifth of a second, where the machine is free */
    uint64_t again = now_ns();
    for (unsigned i = 0; i < 100; i++)
        assert_false(opener_settle(opener, ticket));
    assert_true(now_ns() - again < UINT64_C(2000000000)); /* the patience is used up */
    take_until(opener, &hung, 1);
    assert_int_equal(hung.status, -ETIMEDOUT);
    assert_int_equal(opener_counts(opener).hung, 1);
    take_until(opener, &fine, 10);
    opener_free(opener);
}

/* The same of one that does not sleep, so that it looks as if it waited for a CPU: others' questions go on. */
static void one_computes(void **state)
{
    (void)state;
    struct opener *opener = opener_new();
    struct seen hung = {0}, fine = {0};
    struct mapped_file bad = mapped("compute"), good = itself();
    opener_replace(opener, open_strangely);
    good.pid = 0; /* another user's */
    uint64_t ticket = opener_ask(opener, OPENER_ID, &bad, note, &hung);
    for (unsigned i = 0; i < 10; i++)
        opener_ask(opener, OPENER_ID, &good, note, &fine);
    assert_false(opener_settle(opener, ticket));
    take_until(opener, &fine, 10);
    opener_free(opener);
}

/* One that is killed at once gives its place back; the end waits for none of them. */
static void many_hang(void **state)
{
    (void)state;
    struct opener *opener = opener_new();
    struct seen hung = {0};
    struct mapped_file bad = mapped("hang");
    opener_replace(opener, open_strangely);
    for (unsigned i = 0; i < OPENER_QUEUE_SHARE; i++)
        assert_true(opener_ask(opener, OPENER_ID, &bad, note, &hung) > 0);
    assert_int_equal(opener_ask(opener, OPENER_ID, &bad, note, &hung), 0);
    assert_int_equal(opener_counts(opener).refused, 1);
    take_until(opener, &hung, 2);
    uint64_t start = now_ns();
    bool open_before = fcntl(0, F_GETFD) >= 0;
    opener_free(opener);
    assert_int_equal(fcntl(0, F_GETFD) >= 0, open_before); /* those that were not answered have nothing to close */
    assert_true(now_ns() - start < UINT64_C(10000000000));
    while (waitpid(-1, NULL, 0) > 0) /* none is left that would not end */
        ;
}

static void one_crashes(void **state)
{
    (void)state;
    struct opener *opener = opener_new();
    struct seen crashed = {0}, fine = {0};
    struct mapped_file bad = mapped("crash"), good = itself();
    opener_replace(opener, open_strangely);
    opener_ask(opener, OPENER_ID, &bad, note, &crashed);
    for (unsigned i = 0; i < 5; i++)
        opener_ask(opener, OPENER_ID, &good, note, &fine);
    take_until(opener, &crashed, 1);
    take_until(opener, &fine, 5);
    assert_int_equal(crashed.status, -EIO);
    assert_int_equal(fine.status, 0);
    assert_int_equal(opener_counts(opener).failed, 1);
    opener_free(opener);
}

/* Build ids: what does not answer has none, and the file that is to be written is written. */
static void a_build_id_that_never_comes(void **state)
{
    (void)state;
    struct buildids *buildids = buildids_new();
    struct mapped_file file = mapped("hang");
    struct result_module module = {.path = file.path, .ino = 7};
    struct buildid id;
    file.ino = 7;
    opener_replace(buildids_opener(buildids), open_strangely);
    uint64_t start = now_ns();
    buildids_expect(buildids, &file, 0, 1);
    for (unsigned i = 0; i < 1000; i++)
        assert_false(buildids_find(buildids, &module, &id));
    assert_true(now_ns() - start < UINT64_C(10000000000));
    buildids_free(buildids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_file_that_was_mapped),
        cmocka_unit_test(nothing_but_regular_files),
        cmocka_unit_test(overlays_of_a_target),
        cmocka_unit_test(local_files),
        cmocka_unit_test(no_helper_for_local_files),
        cmocka_unit_test(answers),
        cmocka_unit_test(descriptors_are_closed_one_by_one),
        cmocka_unit_test(tables),
        cmocka_unit_test(one_hangs),
        cmocka_unit_test(one_computes),
        cmocka_unit_test(many_hang),
        cmocka_unit_test(one_crashes),
        cmocka_unit_test(a_build_id_that_never_comes),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
