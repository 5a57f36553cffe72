/* SPDX-License-Identifier: MIT */
/*
 * A bare LD_PRELOAD starts its collector. Here that is a script: it writes down what it was given, and says what a test
 * wants it to say.
 */
#include "check.h"

#include "preload/session.h"
#include "preload/start.h"
#include "preload/symbols.h"
#include "preload/sys.h"

#include <errno.h>
#include <pinject/wire.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static char directory[64];
static struct link_map self;
static char opened[PINJECT_PATH + 16];
static int open_result;
static volatile sig_atomic_t children_ended;

/* ---- The parts around ---- */

const struct link_map *pinject_symbols_self(void)
{
    return self.l_next ? NULL : &self;
}

int pinject_preload_open(const char *path)
{
    snprintf(opened, sizeof(opened), "%s", path);
    return open_result;
}

/* ---- Files ---- */

static const char *in_directory(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, 256, "%s/%s", directory, name);
    return path;
}

/*
 * What the collector does at last: SAYS, as shell commands; descriptor 3 is the pipe. It ends when it is told to. A new
 * file each time: the shell of the last one may not have read its end yet, and would go on in the middle of this one.
 */
static bool answers;

static void write_collector(const char *name, const char *says)
{
    answers = !strstr(says, "exit") && strcmp(says, ":") != 0;
    const char *path = in_directory(name);
    assert_true(unlink(path) == 0 || errno == ENOENT);
    FILE *file = fopen(path, "wx");
    assert_non_null(file);
    fprintf(file,
            "#!/bin/sh\n"
            "cd %s || exit\n"
            "open=\n"
            "for fd in 0 1 2 3 4 5 6 7 8 9 50; do\n"
            "  if [ /proc/self/fd/$fd -ef /dev/null ]; then open=\"$open $fd:null\"\n"
            "  elif [ /proc/self/fd/$fd -ef stderr ]; then open=\"$open $fd:stderr\"\n"
            "  elif [ -e /proc/self/fd/$fd ]; then open=\"$open $fd\"; fi\n"
            "done\n"
            "echo \"args $#: $1 $2\" > report\n"
            "echo \"env A=$A B=$B preload=${LD_PRELOAD-none}\" >> report\n"
            "echo \"open$open\" >> report\n"
            "while read line; do case $line in Sig*) echo \"$line\"; esac; done < /proc/self/status >> report\n"
            "echo $$ > pid\n"
            "trap '' PIPE\n"
            "%s\n"
            "read line < end\n",
            directory, says);
    fclose(file);
    assert_int_equal(chmod(path, 0700), 0);
}

static const char *report(void)
{
    static char text[8192];
    FILE *file = fopen(in_directory("report"), "r");
    size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    text[size] = 0;
    if (file)
        fclose(file);
    unlink(in_directory("report"));
    return text;
}

static int collector_pid(void)
{
    int pid = 0;
    FILE *file = fopen(in_directory("pid"), "r");
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    fclose(file);
    return pid;
}

/* The field of its /proc/PID/stat. */
static int stat_field(int number)
{
    char path[64], text[1024] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", collector_pid());
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    char *at = strrchr(text, ')') + 2;
    for (int i = 3; i < number; i++)
        at = strchr(at, ' ') + 1;
    return atoi(at);
}

/*
 * Lets the script end, and waits until it has: while it holds the FIFO open, the line for the next script would go to
 * it, and be lost.
 */
static void end(void)
{
    int fd = open(in_directory("end"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "\n", 1), 1);
    close(fd);
    struct pollfd script = {.fd = (int)syscall(SYS_pidfd_open, collector_pid(), 0), .events = POLLIN};
    if (script.fd < 0) {
        assert_int_equal(errno, ESRCH);
        return;
    }
    while (poll(&script, 1, -1) != 1)
        assert_int_equal(errno, EINTR);
    close(script.fd);
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 64; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

#define ENV(...) ((char *[]){__VA_ARGS__, NULL})

static char wish[256];

/* Nothing stays open here. */
static int start_once(char **envp)
{
    unsigned before = descriptors();
    opened[0] = 0;
    errno = ERANGE;
    int result = pinject_start(envp);
    assert_int_equal(errno, ERANGE);
    assert_int_equal(descriptors(), before);
    return result;
}

/* On a busy machine a script may take longer than it is waited for, but not each time. */
static int start_patiently(char **envp)
{
    for (int i = 0;; i++) {
        uint64_t began = sys_clock_ns(CLOCK_MONOTONIC);
        int result = start_once(envp);
        if (result != -ECHILD || !answers || i == 9 || sys_clock_ns(CLOCK_MONOTONIC) - began < 1900000000)
            return result;
        end();
    }
}

/* With the collector of that name by PINJECT_COLLECTOR. */
static int start_with(const char *collector, char *ld_preload)
{
    snprintf(wish, sizeof(wish), "PINJECT_COLLECTOR=%s", collector ? in_directory(collector) : "");
    return start_patiently(ENV((char *)"A=1", ld_preload, wish, (char *)"B=2"));
}

static char ld_preload[] = "LD_PRELOAD=/x/libpinject.so";

static int set_up(void **state)
{
    char text[256];
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/pinject-start-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(text, sizeof(text), "cd %s && mkfifo end && mkdir lib lib/deep bin collector && touch lib/o lib/deep/o o",
             directory);
    return system(text);
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

static int begin(void **state)
{
    static char preload[256];
    (void)state;
    snprintf(preload, sizeof(preload), "%s", in_directory("lib/o"));
    self = (struct link_map){.l_name = preload};
    open_result = 0;
    children_ended = 0;
    answers = true;
    return 0;
}

/* ---- What it is given ---- */

static void on_child(int number)
{
    (void)number;
    children_ended++;
}

static void test_started(void **state)
{
    char expected[512];
    sigset_t set, old;
    (void)state;
    write_collector("c", "echo /some/session >&3");
    signal(SIGUSR1, SIG_IGN);
    signal(SIGCHLD, on_child);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, &old);
    int error = fcntl(2, F_DUPFD_CLOEXEC, 20), file = open(in_directory("stderr"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(dup2(file, 2), 2);
    close(file);
    int inherited[] = {fcntl(0, F_DUPFD, 5), fcntl(0, F_DUPFD, 50)};
    open_result = -33;
    int result = start_with("c", ld_preload);
    assert_string_equal(opened, "/some/session");
    dup2(error, 2);
    close(error);
    assert_int_equal(result, -33);
    close(inherited[0]);
    close(inherited[1]);
    sigprocmask(SIG_SETMASK, &old, NULL);
    signal(SIGUSR1, SIG_DFL);
    const char *text = report();
    snprintf(expected, sizeof(expected),
             "args 2: --collect=3 --preload=%s\nenv A=1 B=2 preload=none\n"
             "open 0:null 1:null 2:null 3 4:stderr\n",
             in_directory("lib/o"));
    assert_memory_equal(text, expected, strlen(expected));
    assert_non_null(strstr(text, "SigBlk:\t0000000000000000\n"));
    assert_non_null(strstr(text, "SigIgn:\t0000000000000000\n"));
    /* Nobody's child, and in a session of its own. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(children_ended, 0);
    assert_true(stat_field(4) != getpid());
    assert_true(stat_field(6) != getsid(0));
    signal(SIGCHLD, SIG_DFL);
    end();
}

/* A program without a stderr: the first free number is the pipe's then, and is not taken for one. */
static void test_no_stderr(void **state)
{
    (void)state;
    for (int first = 2; first >= 0; first--) { /* nor the others */
        int saved[3];
        for (int fd = first; fd < 3; fd++) {
            saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 20);
            close(fd);
        }
        int result = start_with("c", ld_preload);
        for (int fd = first; fd < 3; fd++) {
            dup2(saved[fd], fd);
            close(saved[fd]);
        }
        assert_int_equal(result, 0);
        assert_non_null(strstr(report(), "open 0:null 1:null 2:null 3 4:null\n"));
        end();
    }
}

/* A program that adopts orphans does not adopt the collector, and goes on adopting others. */
static void test_adopter(void **state)
{
    int adopts = 0;
    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(start_with("c", ld_preload), 0);
    assert_true(stat_field(4) != getpid());
    assert_int_equal(prctl(PR_GET_CHILD_SUBREAPER, &adopts), 0);
    assert_int_equal(adopts, 1);
    end();
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
    assert_int_equal(start_with("c", ld_preload), 0);
    assert_int_equal(prctl(PR_GET_CHILD_SUBREAPER, &adopts), 0);
    assert_int_equal(adopts, 0);
    end();
}

/* Process 1 adopts all orphans: it gets no collector, and no child that it could wait for. */
static int start_as_the_first(void)
{
    char verbose[] = "PINJECT_VERBOSE=1", quiet[] = "PINJECT_VERBOSE=0";
    int file = open(in_directory("said"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct stat status;
    if (getpid() != 1 || dup2(file, 2) != 2)
        return 2;
    snprintf(wish, sizeof(wish), "PINJECT_COLLECTOR=%s", in_directory("c"));
    if (pinject_start(ENV(ld_preload, wish)) != -EOPNOTSUPP ||
        pinject_start(ENV(ld_preload, wish, quiet)) != -EOPNOTSUPP || fstat(file, &status) != 0 || status.st_size != 0)
        return 3;
    if (pinject_start(ENV(ld_preload, wish, verbose)) != -EOPNOTSUPP || fstat(file, &status) != 0 ||
        status.st_size == 0)
        return 4;
    return waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD ? 0 : 5;
}

static void test_process_1(void **state)
{
    int status;
    (void)state;
    write_collector("c", "echo /some/session >&3");
    report(); /* of the last test's */
    fflush(NULL);
    pid_t outer = fork();
    if (outer == 0) {
        if (unshare(geteuid() == 0 ? CLONE_NEWPID : CLONE_NEWUSER | CLONE_NEWPID) < 0)
            _exit(77);
        pid_t inner = fork();
        if (inner == 0)
            _exit(start_as_the_first());
        _exit(inner > 0 && waitpid(inner, &status, 0) == inner && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    assert_int_equal(waitpid(outer, &status, 0), outer);
    if (status == 77 << 8)
        skip(); /* no pid namespace can be made here */
    assert_int_equal(status, 0);
    assert_string_equal(report(), "");
}

/* ---- What it says ---- */

static void test_no_session(void **state)
{
    (void)state;
    /* No; nothing; a line without an end; one that is no path; one that is too long. */
    static const char *const says[] = {"echo '!' >&3", "exit 0", "printf /some >&3; exit 0", "echo some >&3",
                                       "head -c 5000 /dev/zero | tr '\\0' / >&3"};
    for (int i = 0; i < 5; i++) {
        const char name[] = {'n', (char)('0' + i), 0}; /* who comes late shall not find the next one's words */
        write_collector(name, says[i]);
        assert_int_equal(start_with(name, ld_preload), -ECHILD);
        assert_string_equal(opened, "");
        if (!strstr(says[i], "exit"))
            end();
    }
    /* The longest one. */
    write_collector("n", "head -c 4095 /dev/zero | tr '\\0' / >&3; echo >&3");
    assert_int_equal(start_with("n", ld_preload), 0);
    assert_int_equal(strlen(opened), PINJECT_PATH - 1);
    end();
}

static void test_in_pieces(void **state)
{
    (void)state;
    write_collector("n", "printf /so >&3; printf me >&3; printf '/session\\n' >&3");
    assert_int_equal(start_with("n", ld_preload), 0);
    assert_string_equal(opened, "/some/session");
    end();
}

static void on_alarm(int number)
{
    (void)number;
    alarm(1);
}

/* A collector that says nothing is waited for two seconds, whatever signals come. */
static void test_not_sampled(void **state)
{
    struct sigaction action = {.sa_handler = on_alarm}, old;
    (void)state;
    write_collector("n", ":");
    sigaction(SIGALRM, &action, &old);
    alarm(1);
    uint64_t began = sys_clock_ns(CLOCK_MONOTONIC);
    assert_int_equal(start_with("n", ld_preload), -ECHILD);
    uint64_t waited = sys_clock_ns(CLOCK_MONOTONIC) - began;
    /* In this order: a signal that comes now shall not ask for the next. */
    signal(SIGALRM, SIG_IGN);
    alarm(0);
    sigaction(SIGALRM, &old, NULL);
    assert_true(waited >= 2000000000 && waited < 60000000000);
    end();
}

/* ---- Where the preload object and the collector are ---- */

static void test_preload(void **state)
{
    static char name[16];
    char here[256], expected[256];
    (void)state;
    assert_non_null(getcwd(here, sizeof(here)));
    assert_int_equal(chdir(directory), 0);
    strcpy(name, "./o");
    self.l_name = name;
    assert_int_equal(start_with("c", ld_preload), 0);
    snprintf(expected, sizeof(expected), "--preload=%s\n", in_directory("o"));
    assert_non_null(strstr(report(), expected));
    end();
    strcpy(name, "./gone");
    assert_int_equal(start_with("c", ld_preload), -ENOENT);
    self.l_name = NULL;
    assert_int_equal(start_with("c", ld_preload), -ENOENT);
    self.l_next = &self; /* no entry at all */
    assert_int_equal(start_with("c", ld_preload), -ENOENT);
    assert_int_equal(chdir(here), 0);
}

static void test_collector_is_found(void **state)
{
    static char preload[256];
    static const char *const places[] = {"lib/deep/pinject-run", "lib/bin", "bin/pinject-run", "lib/collector"};
    (void)state;
    /* From lib/deep: beside, ../bin, ../../bin, ../collector. */
    assert_int_equal(mkdir(in_directory("lib/bin"), 0700), 0);
    assert_int_equal(mkdir(in_directory("lib/collector"), 0700), 0);
    snprintf(preload, sizeof(preload), "%s", in_directory("lib/deep/o"));
    self.l_name = preload;
    assert_int_equal(start_with(NULL, ld_preload), -ENOENT);
    write_collector("lib/collector/pinject-run", "echo /fourth >&3");
    assert_int_equal(start_with(NULL, ld_preload), 0);
    assert_string_equal(opened, "/fourth");
    end();
    write_collector("bin/pinject-run", "echo /third >&3");
    assert_int_equal(start_with(NULL, ld_preload), 0);
    assert_string_equal(opened, "/third");
    end();
    write_collector("lib/bin/pinject-run", "echo /second >&3");
    assert_int_equal(start_with(NULL, ld_preload), 0);
    assert_string_equal(opened, "/second");
    end();
    write_collector(places[0], "echo /first >&3");
    assert_int_equal(start_with(NULL, ld_preload), 0);
    assert_string_equal(opened, "/first");
    end();
    assert_int_equal(start_patiently(ENV((char *)"A=b")), 0); /* no such variable */
    end();
    /* A wish that is not there is not replaced by another. */
    assert_int_equal(start_with("gone", ld_preload), -ENOENT);
    static char large[PINJECT_PATH + 64];
    int size = snprintf(large, sizeof(large), "PINJECT_COLLECTOR=");
    memset(large + size, '/', PINJECT_PATH - 1);
    strcpy(large + size + PINJECT_PATH - 1 - 1, in_directory("c") + strlen(directory) + 1);
    assert_int_equal(pinject_start(ENV(large)), -ENOENT); /* as long as can be, and not there */
    memset(large + size, '/', PINJECT_PATH);
    large[size + PINJECT_PATH] = 0;
    assert_int_equal(pinject_start(ENV(large)), -ENOENT);
}

/* ---- What the helper says where the collector cannot be executed ---- */

static char said_text[4 * PINJECT_PATH];

/*
 * What comes on stderr, and what pinject_start() returns, with this collector and another variable. On a busy machine
 * the helper may take longer than it is waited for, but not each time.
 */
static int start_and_read(const char *collector, char *variable)
{
    int old = fcntl(2, F_DUPFD_CLOEXEC, 20), result = 0;
    int file = open(in_directory("stderr"), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
    assert_int_equal(dup2(file, 2), 2);
    snprintf(wish, sizeof(wish), "PINJECT_COLLECTOR=%s", in_directory(collector));
    for (int i = 0; i < 10; i++) {
        uint64_t began = sys_clock_ns(CLOCK_MONOTONIC);
        assert_int_equal(ftruncate(file, 0), 0);
        result = start_once(ENV(ld_preload, wish, variable));
        if (sys_clock_ns(CLOCK_MONOTONIC) - began < 1900000000)
            break;
    }
    dup2(old, 2);
    close(old);
    ssize_t size = pread(file, said_text, sizeof(said_text) - 1, 0);
    said_text[size > 0 ? size : 0] = 0;
    close(file);
    assert_string_equal(opened, "");
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    assert_int_equal(children_ended, 0);
    return result;
}

static void write_program(const char *name, const char *text, unsigned mode)
{
    FILE *file = fopen(in_directory(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(in_directory(name), mode), 0);
}

static void said_of(const char *collector, char *variable, const char *reason)
{
    char expected[512];
    assert_int_equal(start_and_read(collector, variable), -ECHILD);
    snprintf(expected, sizeof(expected), "pinject-run: nothing is profiled: %s cannot be executed: %s\n",
             in_directory(collector), reason);
    assert_string_equal(said_text, expected);
}

static void test_said(void **state)
{
    static char none[] = "A=1", one[] = "PINJECT_VERBOSE=1";
    (void)state;
    signal(SIGCHLD, on_child);
    write_program("closed", "#!/bin/sh\n", 0600);
    said_of("closed", none, "Permission denied");
    said_of("closed", one, "Permission denied");
    write_program("garbage", "\177nothing", 0700);
    said_of("garbage", none, "not a program for this machine");
    write_program("script", "#!/nonexistent/shell\n", 0700);
    said_of("script", none, "its ELF loader is missing");
    static char large[4 << 20] = "A="; /* longer than any argument or variable may be */
    memset(large + 2, 'x', sizeof(large) - 3);
    said_of("script", large, "errno 7");
    signal(SIGCHLD, SIG_DFL);
}

/* Other programs may have the preload object and no collector: that is said where somebody asks. */
static void test_said_of_no_collector(void **state)
{
    static char none[] = "PINJECT_VERBOSE=0", one[] = "PINJECT_VERBOSE=1";
    char expected[512];
    (void)state;
    assert_int_equal(start_and_read("gone", none), -ENOENT);
    assert_string_equal(said_text, "");
    assert_int_equal(start_and_read("gone", one), -ENOENT);
    snprintf(expected, sizeof(expected),
             "pinject-run: nothing is profiled: cannot find the program pinject-run that belongs to %s; set "
             "PINJECT_COLLECTOR to its path\n",
             in_directory("lib/o"));
    assert_string_equal(said_text, expected);
}

/* The loader of the collector may have something to say, before the collector can. */
static void test_loader_is_heard(void **state)
{
    (void)state;
    write_collector("c", "exit 0");
    start_and_read("c", (char *)"PINJECT_VERBOSE=1");
    assert_non_null(strstr(report(), "open 0:null 1:null 2:stderr 3 4:stderr\n"));
}

/* No terminal is driven by a name; stderr that takes nothing costs nobody anything. */
static void test_said_safely(void **state)
{
    static char none[] = "A=1";
    struct rlimit old, no = {0, 0};
    (void)state;
    write_program("a\033[2J\nb", "", 0600);
    assert_int_equal(start_and_read("a\033[2J\nb", none), -ECHILD);
    assert_non_null(strstr(said_text, "/a?[2J?b cannot be executed: Permission denied\n"));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    no.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &no), 0);
    int result = start_and_read("a\033[2J\nb", none);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(result, -ECHILD);
    assert_string_equal(said_text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_started, begin),
        cmocka_unit_test_setup(test_no_stderr, begin),
        cmocka_unit_test_setup(test_adopter, begin),
        cmocka_unit_test_setup(test_process_1, begin),
        cmocka_unit_test_setup(test_no_session, begin),
        cmocka_unit_test_setup(test_in_pieces, begin),
        cmocka_unit_test_setup(test_not_sampled, begin),
        cmocka_unit_test_setup(test_preload, begin),
        cmocka_unit_test_setup(test_collector_is_found, begin),
        cmocka_unit_test_setup(test_said, begin),
        cmocka_unit_test_setup(test_said_of_no_collector, begin),
        cmocka_unit_test_setup(test_loader_is_heard, begin),
        cmocka_unit_test_setup(test_said_safely, begin),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
