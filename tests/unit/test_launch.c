/* SPDX-License-Identifier: MIT */
/* The command at its gate: what it gets, what is said where it does not run, and what is left of it then. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "collector/launch/launch.h"
#include "common/report.h"
#include "exec_kind.h"

static char directory[] = "/tmp/pinject-unit-XXXXXX";
static struct pinject_segment *segment;
static struct session session;
static struct event_config config;
static const struct settings settings;
static struct launch launch;
static sigset_t mask;
static int shown[2]; /* here the command writes */

/* ---- In the place of a kernel that refuses ---- */

static int pipes_left, forks_left; /* -1: as many as are wanted */
static bool has_pidfd, reaches;
static bool no_memory; /* of the child, too */

int __real_pipe2(int ends[2], int flags);
int __wrap_pipe2(int ends[2], int flags);
int __wrap_pipe2(int ends[2], int flags)
{
    errno = EMFILE;
    return pipes_left-- == 0 ? -1 : __real_pipe2(ends, flags);
}

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
    errno = EAGAIN;
    return forks_left-- == 0 ? -1 : __real_fork();
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long first, long second);
long __wrap_syscall(long number, long first, long second)
{
    assert_int_equal(number, SYS_pidfd_open);
    if (has_pidfd)
        return __real_syscall(number, first, second);
    errno = ENOSYS;
    return -1;
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
    return no_memory ? NULL : __real_strdup(text);
}

bool __wrap_priority_outruns_other_sessions(void);
bool __wrap_priority_outruns_other_sessions(void)
{
    return reaches;
}

/* Some bytes at a time, each after a signal. */
static bool reads_in_parts;
ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size)
{
    static bool interrupted;
    interrupted = !interrupted;
    errno = EINTR;
    if (reads_in_parts && interrupted)
        return -1;
    return __real_read(fd, to, reads_in_parts && size > 3 ? 3 : size);
}

/* ---- The stage ---- */

static int set_up(void **state)
{
    (void)state;
    pipes_left = forks_left = -1;
    has_pidfd = reaches = true;
    no_memory = reads_in_parts = false;
    segment = calloc(1, sizeof(*segment));
    strcpy(segment->preload, "libc.so.6"); /* which is there anyway */
    strcpy(segment->path, "/dev/shm/some-session");
    config = (struct event_config){.count = 1};
    session = (struct session){.segment = segment, .settings = &settings, .config = &config};
    getrlimit(RLIMIT_NOFILE, &session.old_nofile);
    getrlimit(RLIMIT_MEMLOCK, &session.old_memlock);
    setenv("PATH", "/usr/bin:/bin", 1); /* without directories that others may not enter */
    unsetenv("LD_PRELOAD");
    unsetenv("PINJECT_SESSION");
    sigemptyset(&mask);
    return __real_pipe2(shown, O_CLOEXEC);
}

static int tear_down(void **state)
{
    (void)state;
    close(shown[0]);
    close(shown[1]);
    free(segment);
    return 0;
}

static void expect_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
}

/* Of the SCRIPT, which writes to descriptor 9. */
static char **shell(const char *script)
{
    static char name[] = "/bin/sh", option[] = "-c", text[512];
    static char *command[] = {name, option, text, NULL};
    snprintf(text, sizeof(text), "%s", script);
    return command;
}

static void start(char *const *command)
{
    assert_int_equal(dup2(shown[1], 9), 9); /* without close-on-exec */
    assert_int_equal(launch_start(&launch, &session, command, &mask), 0);
    close(9);
}

/* What SCRIPT writes, once it has ended with STATUS. */
static const char *result(const char *script, int status)
{
    static char text[512];
    size_t size = 0;
    ssize_t got;
    int ended;
    start(shell(script));
    assert_int_equal(launch_go(&launch, "sh"), 0);
    close(shown[1]);
    while (size < sizeof(text) - 1 && (got = __real_read(shown[0], text + size, sizeof(text) - 1 - size)) > 0)
        size += (size_t)got;
    text[size] = '\0';
    assert_int_equal(waitpid(launch.pid, &ended, 0), launch.pid);
    assert_int_equal(ended, status);
    close(shown[0]);
    assert_int_equal(__real_pipe2(shown, O_CLOEXEC), 0);
    launch.pid = -1;
    launch_release(&launch);
    return text;
}

/* ---- Commands that run ---- */

static void the_command_waits_at_its_gate(void **state)
{
    const unsigned before = check_open_fds();
    int status;
    (void)state;
    start(shell("echo x >&9; exit 3"));
    assert_true(launch.pid > 0 && launch.pidfd >= 0 && launch.gate >= 0 && launch.report >= 0);
    assert_false(launch.apart && launch.non_injectable);
    struct pollfd there = {.fd = shown[0], .events = POLLIN};
    assert_int_equal(poll(&there, 1, 0), 0);
    assert_int_equal(waitpid(launch.pid, NULL, WNOHANG), 0);
    reads_in_parts = true;
    assert_int_equal(launch_go(&launch, "sh"), 0);
    assert_true(launch.gate == -1 && launch.report == -1);
    assert_in_range(launch.startup_ns, 1, 10000000000);
    struct pollfd ended = {.fd = launch.pidfd, .events = POLLIN};
    assert_int_equal(poll(&ended, 1, 60000), 1); /* it is the command's */
    assert_int_equal(waitpid(launch.pid, &status, 0), launch.pid);
    assert_int_equal(status, 3 << 8);
    assert_int_equal(poll(&there, 1, 0), 1);
    launch.pid = -1;
    launch_release(&launch);
    assert_int_equal(check_open_fds(), before);
    assert_true(launch.pid == -1 && launch.pidfd == -1 && launch.gate == -1 && launch.report == -1);
    launch_release(&launch); /* of nothing */
}

/* With --stat, which counts all tasks together, the kernel follows what the command starts. */
static void whole_tree_needs_no_preload_object(void **state)
{
    (void)state;
    config.whole_tree = true;
    assert_string_equal(result("echo \"x$LD_PRELOAD$PINJECT_SESSION\" >&9", 0), "x\n");
    setenv("LD_PRELOAD", "libc.so.6", 1);
    assert_string_equal(result("echo \"$LD_PRELOAD\" >&9", 0), "libc.so.6\n");
}

static void expect_preload(const char *before, const char *after)
{
    char wanted[256];
    if (before)
        setenv("LD_PRELOAD", before, 1);
    snprintf(wanted, sizeof(wanted), "%s /dev/shm/some-session\n", after);
    assert_string_equal(result("echo \"$LD_PRELOAD $PINJECT_SESSION\" >&9; unset LD_PRELOAD", 0), wanted);
}

/* The preload object comes first, unless it is there. No such file: the loader says so, and goes on. */
static void the_command_gets_our_variables(void **state)
{
    (void)state;
    strcpy(segment->preload, "/opt/lib.so");
    int saved = dup(2), none = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(none, 2);
    expect_preload(NULL, "/opt/lib.so");
    expect_preload("", "/opt/lib.so");
    expect_preload("/other.so", "/opt/lib.so:/other.so");
    expect_preload("/opt/lib.so", "/opt/lib.so");
    expect_preload("/opt/lib.so:/other.so", "/opt/lib.so:/other.so");
    expect_preload("/other.so:/opt/lib.so", "/other.so:/opt/lib.so");
    expect_preload("/a.so  /opt/lib.so /other.so", "/a.so  /opt/lib.so /other.so");
    expect_preload("::/opt/lib.so::", "::/opt/lib.so::");
    expect_preload("/opt/lib.so.1", "/opt/lib.so:/opt/lib.so.1");
    expect_preload("/my/opt/lib.so:/opt/lib.s", "/opt/lib.so:/my/opt/lib.so:/opt/lib.s");
    expect_preload("/opt/lib_so", "/opt/lib.so:/opt/lib_so");
    dup2(saved, 2);
    close(saved);
    close(none);
}

/* Its own dispositions and mask, and the limits that were there before ours. */
static void the_command_gets_what_was_there(void **state)
{
    (void)state;
    static const char script[] = "set -- $(grep -E 'SigIgn|SigBlk' /proc/self/status); echo $2 $4 $(ulimit -Sn) >&9";
    const int signals[] = {SIGPIPE, SIGXFSZ, SIGCHLD};
    struct sigaction action;
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    signal(SIGUSR1, SIG_IGN);
    launch_set_signals();
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(sigaction(signals[i], NULL, &action), 0);
        assert_true(action.sa_handler == (signals[i] == SIGCHLD ? SIG_DFL : SIG_IGN));
    }
    sigaddset(&mask, SIGUSR2);
    session.old_nofile.rlim_cur = 100;
    const char *got = result(script, 0);
    unsigned long long blocked, ignored;
    unsigned limit;
    assert_int_equal(sscanf(got, "%llx %llx %u", &blocked, &ignored, &limit), 3);
    assert_int_equal(limit, 100);
    assert_true(blocked == 1ull << (SIGUSR2 - 1));
    assert_true(ignored >> (SIGUSR1 - 1) & 1);
    assert_false(ignored >> (SIGPIPE - 1) & 1);
    assert_false(ignored >> (SIGXFSZ - 1) & 1);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
    launch_set_signals(); /* what was there for the next tests */
}

/* Who leads a session without a terminal gives the command one of its own, where the workers reach it. */
static void a_session_of_its_own(void **state)
{
    (void)state;
    for (int leads = 0; leads < 2; leads++) {
        for (int reached = 0; reached < 2; reached++) {
            fflush(NULL);
            pid_t child = fork();
            if (child == 0) {
                if (leads && setsid() < 0)
                    _exit(99);
                reaches = reached;
                if (launch_start(&launch, &session, shell("exit 0"), &mask) || launch_go(&launch, "sh"))
                    _exit(98);
                const bool apart = getsid(launch.pid) == launch.pid;
                waitpid(launch.pid, NULL, 0);
                launch.pid = -1;
                _exit(apart == launch.apart ? apart : 97);
            }
            int status;
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_int_equal(status, (leads && reached) << 8);
        }
    }
}

/* ---- Commands that do not ---- */

static void refuse_pipe(int number)
{
    pipes_left = number;
    assert_int_equal(launch_start(&launch, &session, shell("exit 0"), &mask), -EMFILE);
}

static void what_cannot_be_started_leaves_nothing(void **state)
{
    const unsigned before = check_open_fds();
    (void)state;
    check_capture();
    refuse_pipe(0);
    refuse_pipe(1);
    forks_left = 0;
    assert_int_equal(launch_start(&launch, &session, shell("exit 0"), &mask), -EAGAIN);
    forks_left = -1;
    has_pidfd = false; /* its child ends at the gate */
    assert_int_equal(launch_start(&launch, &session, shell("echo x >&9"), &mask), -ENOSYS);
    assert_string_equal(check_captured(), "pinject-run: cannot make a pipe: Too many open files\n"
                                          "pinject-run: cannot make a pipe: Too many open files\n"
                                          "pinject-run: cannot start a process: Resource temporarily unavailable\n"
                                          "pinject-run: cannot start a process: Function not implemented\n");
    assert_true(launch.pid == -1 && launch.pidfd == -1 && launch.gate == -1 && launch.report == -1);
    expect_no_child();
    assert_int_equal(check_open_fds(), before);
}

static void expect_error(const char *name, int error, const char *message)
{
    char *command[] = {(char *)(uintptr_t)name, NULL};
    start(command);
    check_capture();
    int status = launch_go(&launch, name);
    assert_string_equal(check_captured(), message);
    assert_int_equal(status, error);
    assert_int_equal(launch.pid, -1);
    expect_no_child();
    launch_release(&launch);
}

static void programs_that_cannot_be_executed(void **state)
{
    const unsigned before = check_open_fds();
    (void)state;
    expect_error("no-such-program", ENOENT, "pinject-run: cannot run 'no-such-program': command not found\n");
    expect_error("/no/such/program", ENOENT, "pinject-run: cannot run '/no/such/program': No such file or directory\n");
    expect_error("/dev/null", EACCES, "pinject-run: cannot run '/dev/null': Permission denied\n");
    expect_error("a\033b", ENOENT, "pinject-run: cannot run 'a\\033b': command not found\n");
    assert_int_equal(check_open_fds(), before);
}

static void no_memory_for_its_environment(void **state)
{
    (void)state;
    no_memory = true;
    expect_error("/bin/true", ENOMEM, "pinject-run: cannot run '/bin/true': Cannot allocate memory\n");
    /* Nor is it asked for where the command gets none of our variables. */
    int status;
    char name[] = "./no-elf";
    char *command[] = {name, NULL};
    FILE *file = fopen(name, "we");
    assert_non_null(file);
    fputs("exit 4\n", file); /* no format at all: libc gives it to sh */
    fclose(file);
    assert_int_equal(chmod(name, 0755), 0);
    start(command);
    assert_true(launch.non_injectable);
    assert_int_equal(launch_go(&launch, name), 0);
    assert_int_equal(waitpid(launch.pid, &status, 0), launch.pid);
    assert_int_equal(status, 4 << 8);
    launch.pid = -1;
    launch_release(&launch);
    assert_int_equal(unlink(name), 0);
}

static void a_child_that_was_killed(void **state)
{
    (void)state;
    start(shell("exit 0"));
    kill(launch.pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)launch.pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    check_capture();
    assert_int_equal(launch_go(&launch, "sh"), ECHILD);
    assert_string_equal(check_captured(), "pinject-run: the process for 'sh' ended before it could run the command\n");
    assert_int_equal(launch.pid, -1);
    expect_no_child();
    launch_release(&launch);
}

/* The child that nobody lets in executes nothing. */
static void a_child_that_is_given_up(void **state)
{
    const unsigned before = check_open_fds();
    (void)state;
    start(shell("echo x >&9"));
    launch_release(&launch);
    expect_no_child();
    struct pollfd there = {.fd = shown[0], .events = POLLIN};
    assert_int_equal(poll(&there, 1, 0), 0);
    assert_int_equal(check_open_fds(), before);
}

static int enter_directory(void **state)
{
    (void)state;
    report_program("pinject-run");
    launch_set_signals();
    close(9); /* whoever starts the tests may have had it open */
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int leave_directory(void **state)
{
    (void)state;
    return chdir("/") == 0 ? rmdir(directory) : -1;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_command_waits_at_its_gate),
        TEST(the_command_gets_our_variables),
        TEST(the_command_gets_what_was_there),
        TEST(whole_tree_needs_no_preload_object),
        TEST(a_session_of_its_own),
        TEST(what_cannot_be_started_leaves_nothing),
        TEST(programs_that_cannot_be_executed),
        TEST(no_memory_for_its_environment),
        TEST(a_child_that_was_killed),
        TEST(a_child_that_is_given_up),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
