/* SPDX-License-Identifier: MIT */
/* --live: where it shows, what it starts there, and how that ends. A script, or this program, stands for panalyze. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "collector/launch/live.h"
#include "common/report.h"

static char directory[64];
static struct settings settings;
static struct session session;
static struct live live;
static sigset_t mask;

ssize_t __real_readlink(const char *path, char *ret, size_t size);
ssize_t __wrap_readlink(const char *path, char *ret, size_t size);
ssize_t __wrap_readlink(const char *path, char *ret, size_t size)
{
    if (strcmp(path, "/proc/self/exe") != 0)
        return __real_readlink(path, ret, size);
    return snprintf(ret, size, "%s/pinject-run", directory);
}

/* What panalyze does, in sh. Its stdout is where it shows. */
static void write_panalyze(const char *script)
{
    FILE *file = fopen("panalyze", "we");
    assert_non_null(file);
    assert_true(fprintf(file, "#!/bin/sh\n%s\n", script) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod("panalyze", 0755), 0);
}

static const char *read_all(int fd)
{
    static char text[4096];
    size_t size = 0;
    ssize_t got;
    while (size < sizeof(text) - 1 && (got = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
        size += (size_t)got;
    text[size] = '\0';
    return text;
}

static const char *shown(void)
{
    int fd = open("shown", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    const char *text = read_all(fd);
    close(fd);
    return text;
}

/* Goes on once TEXT is shown. */
static void await(const char *text)
{
    for (unsigned i = 0; i < 4000 && !strstr(shown(), text); i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_non_null(strstr(shown(), text));
}

static int set_up(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/pinject-unit-XXXXXX");
    if (!mkdtemp(directory) || chdir(directory))
        return -1;
    settings = (struct settings){.live = true, .live_to = "shown", .outfile = "base", .mode = 0640};
    session.settings = &settings;
    session.id[0] = 0x0807060504030201;
    session.id[1] = 0xff0e0d0c0b0a0900;
    sigemptyset(&mask);
    write_panalyze("cat <&3");
    return 0;
}

static int tear_down(void **state)
{
    char command[100];
    (void)state;
    live_release(&live);
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

/* ---- Where it shows ---- */

static int init(void)
{
    check_capture();
    return live_init(&live, &settings);
}

static void not_asked_for(void **state)
{
    (void)state;
    settings.live = false;
    const unsigned before = check_open_fds();
    assert_int_equal(live_init(&live, &settings), 0);
    assert_int_equal(live.to, -1);
    live_start(&live, &session, &mask);
    assert_int_equal(live.pid, 0);
    live_end(&live, -1);
    live_release(&live);
    assert_int_equal(check_open_fds(), before);
}

static void a_file_is_made_or_emptied(void **state)
{
    struct stat status;
    (void)state;
    umask(0077);
    assert_int_equal(live_init(&live, &settings), 0);
    assert_false(live.screen);
    assert_int_equal(stat("shown", &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640); /* as the session's other files */
    assert_int_equal(fcntl(live.to, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(live.to, F_GETFD), FD_CLOEXEC);
    assert_int_equal(write(live.to, "text", 4), 4);
    live_release(&live);
    assert_int_equal(live.to, -1);
    assert_int_equal(chmod("shown", 0604), 0);
    assert_int_equal(live_init(&live, &settings), 0);
    assert_int_equal(stat("shown", &status), 0);
    assert_int_equal(status.st_mode & 07777, 0604); /* it is somebody's */
    assert_int_equal(status.st_size, 0);
}

static void no_place(void **state)
{
    (void)state;
    settings.live_to = "missing/file";
    int status = init();
    assert_string_equal(check_captured(),
                        "pinject-run: --live: 'missing/file' cannot be written: No such file or directory\n");
    assert_int_equal(status, -ENOENT);
    assert_int_equal(mkfifo("fifo", 0600), 0); /* nobody reads it: that is not waited for */
    settings.live_to = "fifo";
    status = init();
    assert_string_equal(check_captured(), "pinject-run: --live: 'fifo' cannot be written: No such device or address\n");
    assert_int_equal(status, -ENXIO);
    /* The terminal, in a process that has none. */
    settings.live_to = NULL;
    check_capture();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        _exit(live_init(&live, &settings) == -ENXIO ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_string_equal(check_captured(), "pinject-run: --live: no terminal (No such device or address); --live=FILE "
                                          "writes the view to FILE\n");
    assert_int_equal(status, 0);
}

static void no_panalyze(void **state)
{
    (void)state;
    assert_int_equal(chmod("panalyze", 0644), 0);
    int status = init();
    assert_string_equal(check_captured(),
                        "pinject-run: --live needs panalyze in the same directory as pinject-run: Permission denied; "
                        "install pinject again\n");
    assert_int_equal(status, -EACCES);
    assert_int_equal(unlink("panalyze"), 0);
    status = init();
    assert_non_null(strstr(check_captured(), "as pinject-run: No such file or directory"));
    assert_int_equal(status, -ENOENT);
    assert_int_equal(access("shown", F_OK), -1);
    /* It goes away later: that costs the screen. */
    write_panalyze("");
    assert_int_equal(live_init(&live, &settings), 0);
    assert_int_equal(unlink("panalyze"), 0);
    check_capture();
    live_start(&live, &session, &mask);
    assert_string_equal(check_captured(), "pinject-run: warning: --live: panalyze cannot be started: No such file or "
                                          "directory; the command runs without a live view\n");
    assert_true(live.pid == 0 && live.until == -1 && live.pidfd == -1);
    live_end(&live, -1);
}

/* ---- What is started ---- */

/* This program in the place of panalyze: a shell would change its signals. */
static int be_panalyze(int argc, char **argv)
{
    char text[64] = "", byte;
    sigset_t blocked;
    for (int i = 1; i < argc; i++)
        printf("%s\n", argv[i]);
    (void)!readlink("/proc/self/fd/0", text, sizeof(text) - 1);
    printf("stdin %s\nblocked", text);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int number = 1; number < 32; number++)
        if (sigismember(&blocked, number))
            printf(" %d", number);
    printf("\nignored");
    for (int number = 1; number < 32; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            printf(" %d", number);
    }
    printf("\nwaits\n");
    fflush(stdout);
    while (read(3, &byte, 1) > 0)
        ;
    printf("nice %d\n", getpriority(PRIO_PROCESS, 0));
    return 0;
}

static void what_panalyze_gets(void **state)
{
    static const int numbers[] = {SIGPIPE, SIGXFSZ, SIGUSR2};
    struct sigaction before[3], ignore = {.sa_handler = SIG_IGN};
    char self[4096] = "", wanted[512];
    (void)state;
    assert_true(__real_readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    assert_int_equal(unlink("panalyze"), 0);
    assert_int_equal(symlink(self, "panalyze"), 0);
    const unsigned files = check_open_fds();
    for (int number = 1; number < 32; number++) /* as a user may start us */
        if (number != SIGCHLD)
            signal(number, SIG_DFL);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(sigaction(numbers[i], &ignore, &before[i]), 0);
    sigaddset(&mask, SIGUSR1);
    assert_int_equal(live_init(&live, &settings), 0);
    int keyboard = fcntl(0, F_DUPFD_CLOEXEC, 10), other = open("panalyze", O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup2(other, 0), 0);
    close(other);
    live_start(&live, &session, &mask);
    for (unsigned i = 0; i < 3; i++)
        sigaction(numbers[i], &before[i], NULL);
    assert_true(keyboard < 0 || dup2(keyboard, 0) == 0);
    close(keyboard);
    assert_true(live.pid > 0 && live.until >= 0);
    assert_int_equal(fcntl(live.until, F_GETFD), FD_CLOEXEC);
    await("waits");
    assert_int_equal(waitpid(live.pid, NULL, WNOHANG), 0); /* as long as the session lasts */
    check_capture();
    live_end(&live, -1);
    assert_string_equal(check_captured(), "");
    assert_int_equal(live.pid, 0);
    live_end(&live, -1);
    live_release(&live);
    assert_int_equal(check_open_fds(), files);
    int nice = getpriority(PRIO_PROCESS, 0) + 5;
    snprintf(wanted, sizeof(wanted),
             "top\n--base=base\n--session=0102030405060708%s\n--until=3\nstdin /dev/null\nblocked %d %d %d\n"
             "ignored %d\nwaits\nnice %d\n",
             "00090a0b0c0d0eff", SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, nice > 19 ? 19 : nice);
    assert_string_equal(shown(), wanted);
}

/* Started with closed streams: what is opened gets their numbers first. */
static void closed_streams(void **state)
{
    (void)state;
    const unsigned files = check_open_fds();
    write_panalyze("echo shown; cat <&3; cat; echo end");
    for (unsigned closed = 1; closed < 8; closed++) {
        int kept[3];
        for (int fd = 0; fd < 3; fd++) {
            kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
            if (closed & 1u << fd)
                close(fd);
        }
        int status = live_init(&live, &settings);
        live_start(&live, &session, &mask);
        live_end(&live, -1);
        live_release(&live);
        for (int fd = 0; fd < 3; fd++)
            if (kept[fd] >= 0) {
                dup2(kept[fd], fd);
                close(kept[fd]);
            }
        assert_int_equal(status, 0);
        assert_string_equal(shown(), "shown\nend\n");
    }
    assert_int_equal(check_open_fds(), files);
}

/* ---- How it ends ---- */

/* What is said at the end, which is urgent where HURRY. */
static const char *end_of(const char *script, bool hurry)
{
    int urgent = eventfd(hurry, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_true(urgent >= 0);
    write_panalyze(script);
    assert_int_equal(live_init(&live, &settings), 0);
    live_start(&live, &session, &mask);
    await("here");
    check_capture();
    live_end(&live, urgent);
    close(urgent);
    assert_int_equal(live.pid, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* it was waited for */
    live_release(&live);
    return check_captured();
}

static void ends_are_waited_for(void **state)
{
    (void)state;
    const struct rlimit none = {0, 0}; /* no core files */
    setrlimit(RLIMIT_CORE, &none);
    /* Its last look may take a while. */
    assert_string_equal(end_of("echo here; cat <&3; sleep 0.2; echo done", false), "");
    assert_string_equal(shown(), "here\ndone\n");
    assert_string_equal(end_of("echo here; exit 3", false), "");
    assert_string_equal(end_of("echo here; kill -SEGV $$", false),
                        "pinject-run: warning: --live: signal 11 ended panalyze, "
                        "so the live view stopped\n");
    /* Who is asked to go and goes, stopped or not, says nothing. */
    assert_string_equal(end_of("trap 'echo asked; exit 0' TERM; echo here; while :; do sleep 0.01; done", true), "");
    assert_string_equal(shown(), "here\nasked\n");
    assert_string_equal(end_of("echo here; exec sleep 1000", true), "");
    assert_string_equal(end_of("echo here; kill -STOP $$; exec sleep 1000", true), "");
    /* Who was not asked does. */
    assert_string_equal(end_of("echo here; kill -TERM $$", false),
                        "pinject-run: warning: --live: signal 15 ended panalyze, so the live view stopped\n");
    /* Who does not go is killed. */
    assert_string_equal(end_of("trap '' TERM; echo here; exec sleep 1000", true),
                        "pinject-run: warning: --live: signal 9 ended panalyze, so the live view stopped\n");
}

/* ---- Terminals ---- */

static int open_terminal(int *ret_slave)
{
    static char name[64];
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (master < 0 || grantpt(master) || unlockpt(master) || ptsname_r(master, name, sizeof(name)))
        skip(); /* a chroot without /dev/pts */
    *ret_slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(*ret_slave >= 0);
    settings.live_to = name;
    return master;
}

/* live_init(), with OUT and ERROR as its stdout and stderr; what it refuses on ERROR, MASTER's terminal, is in *RET. */
static int init_with(int master, int out, int error, const char **ret)
{
    int saved[] = {fcntl(1, F_DUPFD_CLOEXEC, 10), fcntl(2, F_DUPFD_CLOEXEC, 10)};
    fflush(NULL);
    dup2(out, 1);
    dup2(error, 2);
    int status = live_init(&live, &settings);
    dup2(saved[0], 1);
    dup2(saved[1], 2);
    close(saved[0]);
    close(saved[1]);
    *ret = status == 0 ? "" : check_terminal(master, error);
    return status;
}

static void output_does_not_mix(void **state)
{
    int slave, other, master = open_terminal(&other), null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const char *said;
    (void)state;
    close(master);
    close(other);
    int apart = open_terminal(&other); /* another one, before ours: its name is forgotten */
    master = open_terminal(&slave);
    assert_int_equal(init_with(master, null, null, &said), 0);
    assert_true(live.screen);
    live_release(&live);
    assert_int_equal(init_with(master, other, other, &said), 0);
    live_release(&live);
    assert_int_equal(init_with(master, slave, slave, &said), -EBUSY);
    assert_int_equal(live.to, -1);
    assert_non_null(strstr(said, "the command's output and errors go to this terminal too"));
    assert_non_null(strstr(said, "--live ... >log 2>&1, or watch"));
    assert_non_null(strstr(said, "panalyze top base.*"));
    assert_int_equal(init_with(master, null, slave, &said), -EBUSY);
    assert_non_null(strstr(said, "the command's errors go to this terminal too"));
    assert_non_null(strstr(said, "--live ... 2>log, or watch"));
    assert_int_equal(init_with(apart, slave, other, &said), -EBUSY);
    assert_non_null(strstr(said, "the command's output goes to this terminal too"));
    assert_non_null(strstr(said, "--live ... >log, or watch"));
    close(slave);
    close(other);
    close(master);
    close(apart);
    close(null);
}

/* It died on the screen, which is left for it. */
static void screen_is_left(void **state)
{
    int slave, master = open_terminal(&slave), null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const char *said;
    (void)state;
    write_panalyze("kill -SEGV $$");
    assert_int_equal(init_with(master, null, null, &said), 0);
    live_start(&live, &session, &mask);
    check_capture();
    live_end(&live, -1);
    assert_string_equal(check_captured(), "pinject-run: warning: --live: signal 11 ended panalyze, "
                                          "so the live view stopped\n");
    assert_string_equal(check_terminal(master, slave), "\033[0m\033[?25h\033[?1049l");
    live_release(&live);
    write_panalyze("exit 0"); /* it has left the screen itself */
    assert_int_equal(init_with(master, null, null, &said), 0);
    live_start(&live, &session, &mask);
    live_end(&live, -1);
    assert_string_equal(check_terminal(master, slave), "");
    live_release(&live);
    close(slave);
    close(master);
    close(null);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(int argc, char **argv)
{
    if (strcmp(argv[0], "panalyze") == 0)
        return be_panalyze(argc, argv);
    report_program("pinject-run");
    const struct CMUnitTest tests[] = {
        TEST(not_asked_for),       TEST(a_file_is_made_or_emptied), TEST(no_place),
        TEST(no_panalyze),         TEST(what_panalyze_gets),        TEST(closed_streams),
        TEST(ends_are_waited_for), TEST(output_does_not_mix),       TEST(screen_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
