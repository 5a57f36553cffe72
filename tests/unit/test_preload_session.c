/* SPDX-License-Identifier: MIT */
/* How an exec generation opens its session: what it believes of files, and what it asks the socket for. */
#include "session_kit.h"

#include "deny.h"

#include <signal.h>
#include <sys/syscall.h>

/* Opens, with no descriptor left, and no mapping where it fails. */
static int opens(void)
{
    unsigned before = held();
    int error = pinject_preload_open(session_path);
    assert_int_equal(held(), before + (error == 0 ? 2 : 0));
    if (error < 0) {
        assert_null(pinject_preload.channel.requests);
        assert_null(error == -EPROTO ? NULL : pinject_preload.channel.segment);
    }
    pinject_preload_close();
    assert_null(pinject_preload.channel.segment);
    assert_null(pinject_preload.channel.requests);
    assert_int_equal(held(), before);
    return error;
}

/* ---- The segment ---- */

static void test_opens(void **state)
{
    (void)state;
    reset();
    assert_int_equal(pinject_preload_open(session_path), 0);
    assert_int_equal(pinject_preload.flags, PINJECT_SESSION_ALL);
    assert_string_equal(pinject_preload.preload, "/p/libpinject.so");
    assert_memory_equal(pinject_preload.session, "PINJECT_SESSION=", 16);
    assert_string_equal(pinject_preload.session + 16, session_path);
    assert_ptr_equal(pinject_preload.ours.session, pinject_preload.session);
    assert_ptr_equal(pinject_preload.ours.preload, pinject_preload.preload);
    assert_int_equal(pinject_preload.channel.doorbells_used, 3);
    assert_int_equal(pinject_preload.channel.wait_us, 1234);
    assert_int_equal(pinject_preload.channel.segment->user, 7000);
    assert_int_equal(peer.asked, 0);
    pinject_preload.channel.requests->stalled = 9; /* it can be written to, and others see it */
    int fd = open(requests_path, O_RDONLY | O_CLOEXEC);
    uint32_t word = 0;
    assert_int_equal(read(fd, &word, sizeof(word)), sizeof(word));
    assert_int_equal(word, 9);
    close(fd);
}

/* In a program without a stdin every descriptor may be the first of all. */
static void test_no_stdin(void **state)
{
    (void)state;
    reset();
    int saved[2] = {fcntl(0, F_DUPFD_CLOEXEC, 20), fcntl(1, F_DUPFD_CLOEXEC, 20)};
    for (int closed = 1; closed <= 2; closed++) {
        reset();
        for (int fd = 0; fd < closed; fd++)
            close(fd);
        int error = pinject_preload_open(session_path), asked = (int)peer.asked;
        bool left = fcntl(0, F_GETFD) >= 0 || (closed == 2 && fcntl(1, F_GETFD) >= 0);
        for (int fd = 0; fd < closed; fd++)
            dup2(saved[fd], fd);
        assert_int_equal(error, 0);
        assert_int_equal(asked, 0);
        assert_false(left);
        pinject_preload_close();
    }
    close(saved[0]);
    close(saved[1]);
}

static void test_limits(void **state)
{
    (void)state;
    reset();
    header.wait_us = UINT32_MAX;
    header.doorbells_used = PINJECT_DOORBELLS;
    snprintf(header.preload, sizeof(header.preload), "/p q/libpinject.so");
    write_segment();
    assert_int_equal(pinject_preload_open(session_path), 0);
    assert_int_equal(pinject_preload.channel.wait_us, PINJECT_WAIT_MAX_US);
    /* Such a session_path cannot stand in LD_PRELOAD. */
    assert_int_equal(pinject_preload.flags, PINJECT_SESSION_FORK | PINJECT_SESSION_PTHREAD);
    reset();
    header.doorbells_used = 1;
    snprintf(header.preload, sizeof(header.preload), "/p:q/libpinject.so");
    memset(header.preload, 'x', sizeof(header.preload));
    header.preload[0] = '/';
    header.preload[7] = ':';
    header.preload[sizeof(header.preload) - 1] = 0; /* the longest one */
    write_segment();
    assert_int_equal(opens(), 0);
    assert_int_equal(pinject_preload.flags, PINJECT_SESSION_FORK | PINJECT_SESSION_PTHREAD);
    assert_int_equal(strlen(pinject_preload.preload), PINJECT_PATH - 1);
}

static void test_headers_that_are_none(void **state)
{
    (void)state;
    for (int way = 0; way < 10; way++) {
        reset();
        int expected = -EPROTO;
        switch (way) {
        case 0: header.magic++; break;
        case 1: header.version++; break;
        case 2: header.size--; break;
        case 3: header.doorbells_used = 0; break;
        case 4: header.doorbells_used = PINJECT_DOORBELLS + 1; break;
        case 5: header.path[0] = 0; break;
        case 6: memset(header.path, '/', sizeof(header.path)); break;
        case 7: memcpy(header.preload, "p", 2); break;
        case 8: memset(header.preload, '/', sizeof(header.preload)); break;
        case 9: header.closed = 1, expected = -ESTALE; break;
        }
        write_segment();
        unsigned before = held();
        int error = pinject_preload_open(session_path);
        if (error != expected)
            fail_msg("way %d: %d instead of %d", way, error, expected);
        assert_int_equal(held(), before);
        memset(&pinject_preload.channel, 0, sizeof(pinject_preload.channel)); /* unmapped already */
    }
}

/* What is none of the collector's files, whatever stands in it. */
static void test_files_that_are_none(void **state)
{
    char other[160];
    (void)state;
    reset();
    write_file(session_path, &header, sizeof(header), sizeof(header) - 1);
    assert_int_equal(opens(), -EPROTO);
    write_file(session_path, &header, sizeof(header), sizeof(header) + 1);
    assert_int_equal(opens(), -EPROTO);
    unlink(session_path);
    assert_int_equal(mkfifo(session_path, 0600), 0);
    assert_int_equal(opens(), -EPROTO);
    unlink(session_path);
    reset();
    snprintf(other, sizeof(other), "%s/other", directory);
    assert_int_equal(rename(session_path, other), 0);
    assert_int_equal(symlink(other, session_path), 0);
    assert_int_equal(opens(), -ELOOP);
    unlink(session_path);
    unlink(other);
    /* Of a user that is neither this one nor root. */
    reset();
    if (geteuid() == 0)
        assert_int_equal(chown(session_path, 4711, 4711), 0);
    else
        pinject_preload.user++;
    assert_int_equal(opens(), -EPERM);
    if (geteuid() == 0) {
        pinject_preload.user = 4711;
        assert_int_equal(chown(requests_path, 4711, 4711), 0);
        assert_int_equal(opens(), 0);
    }
}

/* ---- The socket ---- */

static void test_asks_where_there_is_no_file(void **state)
{
    char elsewhere[160], channel[160];
    (void)state;
    reset();
    snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", directory);
    snprintf(channel, sizeof(channel), "%s/channel", directory);
    assert_int_equal(rename(session_path, elsewhere), 0);
    write_requests(channel, 5);
    assert_int_equal(opens(), -ENOENT);
    assert_int_equal(peer.asked, 1);
    assert_string_equal(peer.path, session_path);
    assert_false(peer.with_segment);
    assert_int_equal(peer.user, geteuid());
    peer.error = 0;
    peer.files[0] = elsewhere;
    peer.files[1] = channel;
    unsigned before = held();
    assert_int_equal(pinject_preload_open(session_path), 0);
    assert_int_equal(held(), before + 2);
    assert_int_equal(pinject_preload.channel.requests->stalled, 5);
    assert_int_equal(peer.asked, 2);
    pinject_preload_close();
    /* What came is checked as what was found. */
    peer.files[0] = channel;
    assert_int_equal(opens(), -EPROTO);
    /* A name that the socket cannot have. */
    assert_int_equal(pinject_preload_open("relative"), -ENOENT);
    assert_int_equal(peer.asked, 3);
    unlink(elsewhere);
    unlink(channel);
}

static void test_asks_for_the_channel(void **state)
{
    char channel[160];
    (void)state;
    reset();
    snprintf(channel, sizeof(channel), "%s/channel", directory);
    write_requests(channel, 5);
    unlink(requests_path);
    unsigned before = held();
    assert_int_equal(pinject_preload_open(session_path), -ENOENT);
    assert_int_equal(held(), before);
    assert_int_equal(peer.asked, 1);
    assert_true(peer.with_segment);
    assert_string_equal(peer.path, session_path);
    assert_int_equal(peer.user, geteuid());
    peer.error = 0;
    peer.files[0] = session_path;
    peer.files[1] = channel;
    assert_int_equal(pinject_preload_open(session_path), 0);
    assert_int_equal(held(), before + 2);
    assert_int_equal(pinject_preload.channel.requests->stalled, 5);
    assert_int_equal(opens(), 0);
    peer.files[1] = session_path; /* no channel */
    assert_int_equal(opens(), -EPROTO);
    /* One with the right name that is none is as good as missing; so is a link. */
    peer.files[1] = channel;
    peer.asked = 0;
    write_file(requests_path, "", 0, 1);
    assert_int_equal(opens(), 0);
    assert_int_equal(peer.asked, 1);
    unlink(requests_path);
    assert_int_equal(symlink(channel, requests_path), 0);
    assert_int_equal(opens(), 0);
    assert_int_equal(peer.asked, 2);
    unlink(requests_path);
    unlink(channel);
}

/* A tracer gave it another user in its auxiliary vector: whom the kernel knows decides. */
static void test_user_that_a_tracer_plays(void **state)
{
    uint32_t user = geteuid() ? geteuid() : 4711;
    (void)state;
    reset();
    if (geteuid() == 0) {
        assert_int_equal(chown(session_path, user, user), 0);
        assert_int_equal(chown(requests_path, user, user), 0);
    }
    pinject_preload.user = 0;
    assert_int_equal(opens(), -EPERM);
    peer.own_user = user + 1; /* nobody's of these */
    assert_int_equal(opens(), -EPERM);
    pinject_preload.user = 0;
    peer.own_user = user;
    assert_int_equal(opens(), 0);
    assert_int_equal(pinject_preload.user, user);
    assert_int_equal(peer.asked, 0);
}

/* Root's session, and another user's process: the channel has that user's number. As root alone. */
static void test_channel_of_another_user(void **state)
{
    char channel[192], root[192];
    (void)state;
    if (geteuid() != 0)
        return;
    reset();
    pinject_preload.user = 1203;
    write_channel(1203, 5, channel);
    assert_int_equal(opens(), -EPERM); /* somebody else made it, and no socket answers */
    assert_int_equal(peer.asked, 1);
    assert_int_equal(peer.user, 1203);
    assert_int_equal(chown(channel, 1203, 1203), 0);
    assert_int_equal(pinject_preload_open(session_path), 0);
    assert_int_equal(pinject_preload.channel.requests->stalled, 5);
    assert_int_equal(peer.asked, 1);
    pinject_preload_close();
    pinject_preload.user = 0;
    header.user = 0;
    write_segment();
    write_channel(0, 6, root);
    assert_int_equal(pinject_preload_open(session_path), 0);
    assert_int_equal(pinject_preload.channel.requests->stalled, 6);
    unlink(root);
    unlink(channel);
}

/* ---- Namespaces, dead collectors ---- */

static pid_t dead_process(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

/* A process that holds the lock, until it is killed. */
static pid_t lock_holder(void)
{
    int fds[2];
    char byte;
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        int fd = open(session_path, O_RDWR);
        if (fcntl(fd, F_SETLK, &lock) == 0 && write(fds[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(fds[0], &byte, 1), 1);
    close(fds[0]);
    close(fds[1]);
    return pid;
}

static uint32_t foreign_count(void)
{
    uint32_t count = 99;
    int fd = open(requests_path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, &count, sizeof(count), offsetof(struct pinject_requests, foreign)), sizeof(count));
    close(fd);
    return count;
}

static void test_other_namespace(void **state)
{
    (void)state;
    reset();
    header.pid_namespace++;
    write_segment();
    unsigned before = held();
    assert_int_equal(pinject_preload_open(session_path), -EXDEV);
    assert_int_equal(held(), before);
    assert_int_equal(foreign_count(), 1);
    /* The lock decides, where the collector says that it has one: its holder has the collector's number here. */
    pid_t holder = lock_holder();
    header.flags |= PINJECT_SESSION_LOCKED;
    header.collector = holder;
    int fd = open(session_path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, &header, 256, 0), 256);
    assert_int_equal(opens(), 0);
    /* Another number: one of another namespace. */
    header.collector = holder + 1;
    assert_int_equal(pwrite(fd, &header, 256, 0), 256);
    assert_int_equal(pinject_preload_open(session_path), -EXDEV);
    kill(holder, SIGKILL);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    /* Nobody has it: the collector is gone, if no process has its number. */
    header.collector = holder;
    header.pid_namespace = pid_namespace();
    assert_int_equal(pwrite(fd, &header, 256, 0), 256);
    assert_int_equal(opens(), -ESTALE);
    header.collector = getpid();
    assert_int_equal(pwrite(fd, &header, 256, 0), 256);
    assert_int_equal(opens(), 0);
    /* No lock was promised. */
    header.collector = dead_process();
    header.flags &= ~(uint32_t)PINJECT_SESSION_LOCKED;
    assert_int_equal(pwrite(fd, &header, 256, 0), 256);
    assert_int_equal(opens(), 0);
    close(fd);
}

/* ---- Calls that the program's filter denies ---- */

/* Whose a file is cannot be known: it is not believed. */
static int open_without_statx(void)
{
    unsigned before = held();
    deny_call(SYS_statx, NULL, ENOSYS);
    int error = pinject_preload_open(session_path);
    return -error + (held() != before ? 100 : 0) + (pinject_preload.channel.segment ? 200 : 0);
}

/* Without /proc the session's path, which could be opened, decides. */
static int open_without_proc(void)
{
    const struct deny_only only = {0, (uint32_t)AT_FDCWD};
    deny_call(SYS_statx, &only, ENOENT);
    return pinject_preload_open(session_path) == 0 && pinject_preload.channel.requests ? 0 : 1;
}

/* No memory can be shared: nothing stays. */
static int open_without_mmap(void)
{
    int free_before = dup(0), free_after;
    close(free_before);
    deny_call(SYS_mmap, NULL, EPERM);
    int error = pinject_preload_open(session_path);
    free_after = dup(0);
    return -error + (free_after != free_before ? 100 : 0) + (pinject_preload.channel.segment ? 200 : 0);
}

static void test_denied(void **state)
{
    (void)state;
    reset();
    int status = deny_in_child(open_without_statx);
    assert_true(status == 0 || status == ENOSYS << 8);
    header.pid_namespace++;
    write_segment();
    assert_int_equal(pinject_preload_open(session_path), -EXDEV);
    assert_int_equal(deny_in_child(open_without_proc), 0);
    reset();
    status = deny_in_child(open_without_mmap);
    assert_true(status == 0 || status == EPERM << 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opens),
        cmocka_unit_test(test_no_stdin),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_headers_that_are_none),
        cmocka_unit_test(test_files_that_are_none),
        cmocka_unit_test(test_asks_where_there_is_no_file),
        cmocka_unit_test(test_asks_for_the_channel),
        cmocka_unit_test(test_user_that_a_tracer_plays),
        cmocka_unit_test(test_channel_of_another_user),
        cmocka_unit_test(test_other_namespace),
        cmocka_unit_test(test_denied),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
