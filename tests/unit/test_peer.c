/* SPDX-License-Identifier: MIT */
/* The preload object's side of the session's socket, against a listener that is a child of this test. */
#include "check.h"

#include "preload/peer.h"
#include "preload/sys.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static struct pinject_segment segment;
static char name[64], path[128];
static pid_t listener;

/* ---- The listener ---- */

enum answer { TWO_FILES, ONE_FILE, THREE_FILES, NO_FILE, NO_WORD, SILENT };

static void say(int fd, enum answer answer)
{
    int fds[3] = {open("/dev/null", O_RDONLY), open("/dev/zero", O_RDONLY), open("/dev/full", O_RDONLY)};
    struct iovec part = {(char *)"x", 1};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(fds))];
    } control;
    size_t files = answer == ONE_FILE ? 1 : answer == THREE_FILES ? 3 : 2;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(files * sizeof(int))};
    memset(&control, 0, sizeof(control));
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(files * sizeof(int));
    memcpy(CMSG_DATA(&control.header), fds, files * sizeof(int));
    if (answer == NO_FILE)
        message.msg_control = NULL, message.msg_controllen = 0;
    if (answer != NO_WORD && answer != SILENT)
        sendmsg(fd, &message, MSG_NOSIGNAL);
    if (answer == SILENT)
        pause();
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    close(fd);
}

static socklen_t address_of(struct sockaddr_un *address, const char *its)
{
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    int size = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "pinject:%s", its);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size);
}

/* As USER; 0: as this process. */
static void listen_as(uint32_t user, const char *its, enum answer answer)
{
    struct sockaddr_un address;
    socklen_t size = address_of(&address, its);
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    listener = fork();
    if (listener == 0) {
        alarm(300);
        if (user && SYS_3(SYS_setresuid, user, user, user) < 0)
            _exit(1);
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 4) < 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        close(ready[1]);
        for (;;)
            say(accept(fd, NULL, NULL), answer);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
}

static void stop(void)
{
    kill(listener, SIGKILL);
    assert_int_equal(waitpid(listener, NULL, 0), listener);
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 64; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Seccomp filters of this process, as the kernel says; UINT32_MAX: it does not. */
static uint32_t filters(void)
{
    char line[256];
    unsigned count = UINT32_MAX;
    FILE *file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof(line), file))
        sscanf(line, "Seccomp_filters: %u", &count);
    fclose(file);
    return count;
}

/* Once: no descriptor stays, but for the two. */
static int ask_once(int fds[2])
{
    unsigned before = descriptors();
    errno = ERANGE;
    int error = pinject_peer_ask(path, &segment, geteuid(), fds);
    assert_int_equal(errno, ERANGE);
    assert_int_equal(descriptors(), before + (error == 0 ? 2 : 0));
    return error;
}

/* On a busy machine an answer may come too late for one that waits 50 ms, but not each time. */
static int ask(int fds[2])
{
    int error = -EAGAIN;
    for (int i = 0; i < 200 && error == -EAGAIN; i++)
        error = ask_once(fds);
    return error;
}

static int ask_as(uint32_t user, const struct pinject_segment *its, int fds[2])
{
    int error = -EAGAIN;
    for (int i = 0; i < 200 && error == -EAGAIN; i++)
        error = pinject_peer_ask(path, its, user, fds);
    return error;
}

static int set_up(void **state)
{
    (void)state;
    snprintf(name, sizeof(name), "test-peer-%d", getpid());
    snprintf(path, sizeof(path), "/dev/shm/some.directory/%s", name);
    segment.filters = filters();
    return 0;
}

/* ---- Tests ---- */

static void test_two_files(void **state)
{
    int fds[2] = {-1, -1};
    char byte = 1;
    (void)state;
    listen_as(0, name, TWO_FILES);
    assert_int_equal(ask(fds), 0);
    assert_int_equal(read(fds[0], &byte, 1), 0);
    assert_int_equal(read(fds[1], &byte, 1), 1);
    assert_int_equal(byte, 0);
    assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(fds[1], F_GETFD), FD_CLOEXEC);
    close(fds[0]);
    close(fds[1]);
    strcpy(path, name); /* a name without a directory */
    assert_int_equal(ask(fds), 0);
    close(fds[0]);
    close(fds[1]);
    /* In a program without stdin the socket gets its number. */
    const int saved = fcntl(0, F_DUPFD_CLOEXEC, 100);
    close(0);
    int error = ask(fds);
    assert_true(saved < 0 || dup2(saved, 0) == 0);
    close(saved);
    assert_int_equal(error, 0);
    close(fds[0]);
    close(fds[1]);
    set_up(NULL);
    stop();
}

static void test_other_answers(void **state)
{
    static const struct {
        enum answer answer;
        int error;
    } cases[] = {{ONE_FILE, -EMFILE}, {NO_FILE, -EPROTO}, {NO_WORD, -EPROTO}};
    int fds[2] = {-1, -1};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        listen_as(0, name, cases[i].answer);
        assert_int_equal(ask(fds), cases[i].error);
        assert_int_equal(fds[0], -1);
        stop();
    }
    /* Of more files two are taken: the kernel closes what has no room. */
    listen_as(0, name, THREE_FILES);
    assert_int_equal(ask(fds), 0);
    close(fds[0]);
    close(fds[1]);
    stop();
}

static void test_nobody(void **state)
{
    int fds[2];
    (void)state;
    assert_int_equal(ask(fds), -ECONNREFUSED);
    /* The longest name, and one byte more. */
    struct sockaddr_un address;
    memset(path, 'n', sizeof(path));
    size_t room = sizeof(address.sun_path) - 2 - strlen("pinject:");
    path[room] = 0;
    assert_int_equal(ask(fds), -ECONNREFUSED);
    path[room] = 'n';
    path[room + 1] = 0;
    assert_int_equal(ask(fds), -ENAMETOOLONG);
    set_up(NULL);
}

/* One that says nothing, and one whose queue is full, are waited for as long as an answer is. */
static void test_silence(void **state)
{
    struct sockaddr_un address;
    int fds[2];
    (void)state;
    listen_as(0, name, SILENT);
    uint64_t began = sys_clock_ns(CLOCK_MONOTONIC);
    assert_int_equal(ask_once(fds), -EAGAIN);
    uint64_t waited = sys_clock_ns(CLOCK_MONOTONIC) - began;
    assert_true(waited >= PINJECT_WAIT_US * 1000ull - 8000000);
    /* On a busy machine it may take longer once, but not each time. */
    for (int i = 0; i < 20 && waited >= 900000000; i++) {
        began = sys_clock_ns(CLOCK_MONOTONIC);
        assert_int_equal(ask_once(fds), -EAGAIN);
        waited = sys_clock_ns(CLOCK_MONOTONIC) - began;
    }
    assert_true(waited < 900000000);
    stop();
    socklen_t size = address_of(&address, name);
    int full = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), clients[8];
    assert_int_equal(bind(full, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(full, 0), 0);
    for (int i = 0; i < 8; i++) {
        clients[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        connect(clients[i], (struct sockaddr *)&address, size);
    }
    began = sys_clock_ns(CLOCK_MONOTONIC);
    assert_int_equal(ask_once(fds), -EAGAIN);
    waited = sys_clock_ns(CLOCK_MONOTONIC) - began;
    assert_true(waited >= PINJECT_WAIT_US * 1000ull - 8000000 && waited < 30000000000);
    for (int i = 0; i < 8; i++)
        close(clients[i]);
    close(full);
}

/* By name anybody could listen: root and the own user are believed. */
static void test_who_listens(void **state)
{
    int fds[2];
    (void)state;
    if (geteuid() == 0) {
        listen_as(1203, name, TWO_FILES);
        assert_int_equal(ask(fds), -EPERM);
        assert_int_equal(ask_as(1204, &segment, fds), -EPERM);
        assert_int_equal(ask_as(1203, &segment, fds), 0);
    } else {
        listen_as(0, name, TWO_FILES);
        assert_int_equal(ask_as(geteuid() + 1, &segment, fds), -EPERM);
        assert_int_equal(ask_as(geteuid(), &segment, fds), 0);
    }
    close(fds[0]);
    close(fds[1]);
    stop();
    listen_as(0, name, TWO_FILES);
    if (geteuid() == 0) {
        assert_int_equal(ask_as(1203, &segment, fds), 0);
        close(fds[0]);
        close(fds[1]);
    }
    stop();
}

/* Under a filter that is younger than the collector's nobody is asked: it may kill who makes a socket. */
static int ask_filtered(unsigned more, uint32_t told, bool has_segment)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    int status, fds[2];
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        for (unsigned i = 0; i < more; i++)
            if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
                _exit(77);
        segment.filters = told;
        int error = ask_as(geteuid(), has_segment ? &segment : NULL, fds);
        _exit(-error);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void test_filters(void **state)
{
    uint32_t own = filters();
    (void)state;
    if (own == UINT32_MAX)
        return; /* a kernel that does not count them */
    listen_as(0, name, TWO_FILES);
    for (unsigned more = 1; more < 13; more += 11) { /* 1 and 12: numbers of one digit and of two */
        assert_int_equal(ask_filtered(more, own + more, true), 0);
        assert_int_equal(ask_filtered(more, own + more - 1, true), EPERM);
        assert_int_equal(ask_filtered(more, own + more + 1, true), EPERM);
        assert_int_equal(ask_filtered(more, UINT32_MAX, true), EPERM);
        assert_int_equal(ask_filtered(more, own + more, false), EPERM);
    }
    if (own == 0) {
        assert_int_equal(ask_filtered(0, UINT32_MAX, true), 0);
        assert_int_equal(ask_filtered(0, 0, false), 0);
    }
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_files), cmocka_unit_test(test_other_answers), cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_silence),   cmocka_unit_test(test_who_listens),   cmocka_unit_test(test_filters),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
