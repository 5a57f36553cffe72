/* SPDX-License-Identifier: MIT */
/*
 * pinject-run as a whole, in a child of the test: what it says, its exit status, its files. The commands do not speak
 * with it: what is preloaded into them is libc, once more.
 */
#define _GNU_SOURCE
#include "check.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <pinject/pinject.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "collector/doctor/doctor.h"
#include "collector/info.h"
#include "collector/list_events.h"
#include "common/buffer.h"
#include "common/report.h"
#include "test_result_kit.h"

enum { PATIENCE_S = 100, WORDS = 16, LEFT_OPEN = 222 };

int pinject_run_main(int argc, char **argv);

static char preload[512]; /* "": it cannot be found */
static char directory[] = "/tmp/pinject-unit-XXXXXX";
static char *text_out, *text_err;

/* ---- In the place of parts that have tests of their own ---- */

int __wrap_launch_find_preload(char *ret);
int __wrap_launch_find_preload(char *ret)
{
    if (!preload[0])
        report_error("no preload object");
    strcpy(ret, preload);
    return preload[0] ? 0 : -ENOENT;
}

int __wrap_launch_look_for_preload(char *ret, char *reason, size_t size);
int __wrap_launch_look_for_preload(char *ret, char *reason, size_t size)
{
    if (getenv("TEST_UNREADABLE")) {
        strcpy(ret, "/closed");
        snprintf(reason, size, "closed");
        return -EACCES;
    }
    return __wrap_launch_find_preload(ret);
}

bool doctor_run(const struct doctor_args *args, FILE *to)
{
    fprintf(to, "doctor: '%s' '%s' %s %s\n", args->preload, args->preload_error,
            args->unreadable ? args->unreadable : "-", args->settings->command ? args->settings->command[0] : "-");
    return !getenv("TEST_UNREADABLE");
}

void info_print(const struct event_sources *sources, FILE *to)
{
    assert_string_equal(sources->devices, "/sys/bus/event_source/devices");
    fprintf(to, "info\n");
}

int list_events(const struct event_sources *sources, const char *pattern, bool with_text, FILE *to)
{
    (void)sources;
    fprintf(to, "list: %s%s\n", pattern ? pattern : "-", with_text ? ", long" : "");
    return pattern ? 1 : 0;
}

int list_events_info(const struct event_sources *sources, const char *text, FILE *to)
{
    (void)sources;
    fprintf(to, "event: %s\n", text);
    return strcmp(text, "none") == 0 ? -EINVAL : 0;
}

int list_events_check(const struct settings *settings, FILE *to)
{
    fprintf(to, "check: %u\n", settings->events.count);
    return settings->events.count > 1;
}

/* ---- Running it ---- */

struct running {
    pid_t pid;
    int status;
};

static void set_streams(const char *out)
{
    int in = open("/dev/null", O_RDONLY), to = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int err = open("stderr", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (in < 0 || to < 0 || err < 0 || dup2(in, 0) < 0 || dup2(to, 1) < 0 || dup2(err, 2) < 0)
        _exit(99);
    close(in);
    close(to);
    close(err);
}

/* In a process group of its own, so that signals can be sent to all of it. */
static struct running start(const char *out, const char *const *words)
{
    char *argv[WORDS] = {(char *)"pinject-run"};
    int argc = 1;
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)words[argc - 1];
    fflush(NULL);
    struct running running = {.pid = fork()};
    assert_true(running.pid >= 0);
    if (running.pid == 0) {
        setpgid(0, 0);
        set_streams(out);
        const unsigned before = check_open_fds();
        int status = pinject_run_main(argc, argv);
        const bool detached = strncmp(words[0], "--collect", 9) == 0; /* what it has it keeps to its end */
        exit(detached || check_open_fds() == before ? status : LEFT_OPEN);
    }
    setpgid(running.pid, running.pid);
    return running;
}

static char *read_text(const char *path)
{
    struct buffer text = BUFFER_INIT;
    assert_int_equal(buffer_read_file(&text, path, 16 << 20), 0);
    buffer_append(&text, "", 1);
    return (char *)text.data;
}

static int finish(struct running *running)
{
    assert_int_equal(waitpid(running->pid, &running->status, 0), running->pid);
    free(text_out);
    free(text_err);
    text_out = read_text("stdout");
    text_err = read_text("stderr");
    if (!WIFEXITED(running->status))
        fail_msg("it was killed by signal %d: %s", WTERMSIG(running->status), text_err);
    return WEXITSTATUS(running->status);
}

#define RUN(...) run_words((const char *const[]){__VA_ARGS__, NULL})
static int run_words(const char *const *words)
{
    struct running running = start("stdout", words);
    return finish(&running);
}

/* The number of files, which are removed. */
static size_t remove_files(const char *pattern)
{
    glob_t found;
    int status = glob(pattern, 0, NULL, &found);
    size_t count = status == 0 ? found.gl_pathc : 0;
    for (size_t i = 0; i < count; i++)
        unlink(found.gl_pathv[i]);
    if (status == 0)
        globfree(&found);
    return count;
}

static void expect(int status, int wanted, const char *out, const char *err)
{
    if (status != wanted || strcmp(text_out, out) != 0 || strcmp(text_err, err) != 0)
        fail_msg("status %d, not %d\nstdout: %sstderr: %s", status, wanted, text_out, text_err);
}

/*
 * "#" for each number with its unit, and nothing of what the host of a virtual machine took. That time can make the
 * tasks have more than the command; then the line has no "of it".
 */
static char *plain(char *text)
{
    static const char *const units[] = {" us", " ms", " s", " kB", " MB", " bytes"};
    char *to = text, *stolen = strstr(text, ", including "), *rest = stolen ? strstr(stolen, "; profiler") : NULL;
    if (rest)
        memmove(stolen, rest, strlen(rest) + 1);
    /* A machine may be so busy that the end of a process takes a millisecond. */
    char *uncounted = strstr(text, " of this time not counted");
    rest = uncounted ? strstr(uncounted, "; profiler") : NULL;
    while (rest && *uncounted != ',')
        uncounted--;
    if (rest)
        memmove(uncounted, rest, strlen(rest) + 1);
    char *part = strstr(text, " of this time in recorded tasks");
    if (part)
        memmove(part, part + strlen(" of this time"), strlen(part + strlen(" of this time")) + 1);
    for (char *at = text; *at;) {
        if (!isdigit((unsigned char)*at)) {
            *to++ = *at++;
            continue;
        }
        while (to - text > 1 && to[-1] == ' ' && to[-2] == ' ') /* a column is as wide as its figure */
            to--;
        while (isdigit((unsigned char)*at) || (*at == '.' && isdigit((unsigned char)at[1])))
            at++;
        for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
            size_t size = strlen(units[i]);
            if (strncmp(at, units[i], size) == 0 && !isalpha((unsigned char)at[size])) {
                at += size;
                break;
            }
        }
        *to++ = '#';
    }
    *to = '\0';
    return text;
}

/* ---- Without a command ---- */

static void other_actions(void **state)
{
    (void)state;
    expect(RUN("--version"), 0, "pinject-run " PINJECT_VERSION_STRING "\n", "");
    expect(RUN("--info"), 0, "info\n", "");
    expect(RUN("--list-events"), 0, "list: -\n", "");
    expect(RUN("--list-events=a", "--long"), 1, "list: a, long\n", "");
    expect(RUN("--event-info=cs"), 0, "event: cs\n", "");
    expect(RUN("--event-info", "none"), 125, "event: none\n", "");
    expect(RUN("--check-events-only", "-e", "cs"), 0, "check: 1\n", "");
    expect(RUN("--check-events-only", "-e", "cs,faults", "true"), 1, "check: 2\n", "");
    expect(RUN("--long", "true"), 125, "", "pinject-run: option '--long' needs '--list-events'\n");
    expect(RUN("--info", "x"), 125, "",
           "pinject-run: unexpected argument 'x': with these options pinject-run runs no command\n");
    expect(RUN("-q"), 125, "",
           "pinject-run: no command to profile; type: pinject-run [OPTIONS] [--] COMMAND [ARGS], or pinject-run "
           "--help\n");
    assert_int_equal(RUN("--help"), 0);
    assert_string_equal(text_err, "");
    assert_true(strncmp(text_out, "Usage: pinject-run [OPTIONS] [--] COMMAND [ARGS]\nProfiles COMMAND ", 60) == 0);
    assert_int_equal(RUN("--wait=nothing"), 0);
    assert_non_null(strstr(text_err, "pinject-run: no profile is being written to "));
    expect(RUN("-q", "--wait=nothing"), 0, "", "");
    assert_int_equal(RUN("--wait=missing/"), 125);
    assert_non_null(strstr(text_err, "pinject-run: 'missing/out' cannot be used as a name for result files: No such "
                                     "file or directory\n"));
    assert_int_equal(RUN("--wait=.."), 0); /* the directory */
    assert_non_null(strstr(text_err, "/out\n"));
    expect(RUN("--collect=77"), 125, "",
           "pinject-run: --collect is an internal option, only for libpinject.so (descriptor 77 is not open)\n");
}

/*
 * What stands beside --stacks; process/stacks-live has the rest. Here it is built as for a machine that it does not
 * know.
 */
static void stacks_are_asked_for(void **state)
{
    (void)state;
    expect(RUN("--stacks", "1"), 125, "",
           "pinject-run: option '--stacks' works on x86-64 and AArch64 only; 'gdb -p PID' shows stacks "
           "here\n");
    expect(RUN("--json", "--tree", "1"), 125, "",
           "pinject-run: option '--tree' works on x86-64 and AArch64 only; 'gdb -p PID' shows stacks "
           "here\n");
    expect(RUN("--tree"), 125, "",
           "pinject-run: no PID is given; type: pinject-run --tree PID... ('pgrep NAME' finds the PID)\n");
    expect(RUN("--stacks", "--doctor", "1"), 125, "",
           "pinject-run: option '--doctor' cannot be used with '--stacks', which profiles nothing\n");
    expect(RUN("--info", "--stacks", "1"), 125, "",
           "pinject-run: option '--info' cannot be used with '--stacks', which profiles nothing\n");
    expect(RUN("-F", "99", "--tree", "1"), 125, "",
           "pinject-run: option '-F' cannot be used with '--tree', which profiles nothing\n");
    expect(
        RUN("--json", "true"), 125, "",
        "pinject-run: option '--json' needs '--stat', '--stacks' or '--tree'; for reports as JSON use 'panalyze --json'\n");
}

static void doctor_is_asked(void **state)
{
    char wanted[1024];
    (void)state;
    snprintf(wanted, sizeof(wanted),
             "doctor: '%s' 'the path of libpinject.so is too long; install pinject in a directory with a "
             "shorter path' - prog\n",
             preload);
    expect(RUN("--doctor", "prog"), 0, wanted, "");
    setenv("TEST_UNREADABLE", "1", 1);
    expect(RUN("--doctor"), 1, "doctor: '' 'closed' /closed -\n", "");
    unsetenv("TEST_UNREADABLE");
}

/* A disk that is full is no success. */
static void output_that_cannot_be_written(void **state)
{
    static const char *const actions[] = {"--version", "--help", "--info", "--doctor"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct running running = start("/dev/full", (const char *const[]){actions[i], NULL});
        int status = finish(&running);
        if (status != 125 || strcmp(text_err, "pinject-run: cannot write to stdout: No space left on device\n") != 0)
            fail_msg("%s: %d: %s", actions[i], status, text_err);
    }
}

/* ---- Commands ---- */

static bool has_events(void)
{
    static struct event_config config;
    struct settings settings = {.frequency = 999};
    bool works = event_config_init(&config, &settings) == 0 && config.source == PINJECT_SOURCE_PERF;
    event_config_release(&config);
    return works;
}

static void commands_that_do_not_start(void **state)
{
    char saved[sizeof(preload)];
    (void)state;
    expect(RUN("--", "no-such-command"), 127, "", "pinject-run: cannot run 'no-such-command': command not found\n");
    expect(RUN("./no-such"), 127, "", "pinject-run: cannot run './no-such': No such file or directory\n");
    expect(RUN("--started", "mark", "/dev/null"), 126, "", "pinject-run: cannot run '/dev/null': Permission denied\n");
    assert_int_equal(access("mark", F_OK), -1);
    expect(RUN("--started", "missing/mark", "true"), 125, "",
           "pinject-run: cannot create 'missing/mark': No such file or directory\n");
    expect(RUN("-o", "missing/out", "true"), 125, "",
           "pinject-run: cannot write result files to 'missing/out': No such file or directory; choose another place "
           "with --outfile\n");
    expect(RUN("-o", "missing/directory/", "true"), 125, "",
           "pinject-run: cannot make the directory 'missing/directory' for result files: No such file or directory; "
           "choose "
           "another place with --outfile\n");
    assert_int_equal(RUN("-e", "no-such-event", "-o", "directory/", "true"), 125);
    assert_int_equal(access("directory", F_OK), -1); /* nothing to write in it */
    assert_int_equal(RUN("-F", "999999999", "true"), 125);
    assert_non_null(strstr(text_err, "is above this machine's limit"));
    strcpy(saved, preload);
    preload[0] = '\0';
    expect(RUN("true"), 125, "", "pinject-run: no preload object\n");
    strcpy(preload, saved);
    assert_int_equal(remove_files("out.*"), 0);
}

static void status_is_the_commands(void **state)
{
    (void)state;
    expect(RUN("-q", "/bin/sh", "-c", "echo said; exit 3"), 3, "said\n", "");
    expect(RUN("-q", "/bin/sh", "-c", "kill -KILL $$"), 128 + SIGKILL, "", "");
    expect(RUN("-q", "/bin/sh", "-c", "kill -TERM $$"), 128 + SIGTERM, "", "");
    expect(RUN("-q", "--started", "mark", "true"), 0, "", "");
    assert_int_equal(access("mark", F_OK), 0);
    assert_int_equal(unlink("mark"), 0);
    remove_files("out.*");
}

static int run_bare(const char *script)
{
    fflush(NULL);
    struct running running = {.pid = fork()};
    if (running.pid == 0) {
        setpgid(0, 0);
        set_streams("stdout");
        execl("/bin/sh", "sh", "-c", script, NULL);
        _exit(98);
    }
    return finish(&running);
}

/* As it was started: what pinject-run sets for itself is not passed on, and its own variables are. */
static void command_gets_what_was_there(void **state)
{
    static const char script[] = "ulimit -n; ulimit -l; ulimit -Hn; grep -E '^(Sig(Blk|Ign)|Seccomp)' "
                                 "/proc/self/status; "
                                 "ls /proc/self/fd; umask; pwd";
    (void)state;
    signal(SIGUSR2, SIG_IGN);
    assert_int_equal(run_bare(script), 0);
    char *bare = strdup(text_out);
    expect(RUN("-q", "/bin/sh", "-c", script), 0, bare, "");
    signal(SIGUSR2, SIG_DFL);
    free(bare);
    assert_int_equal(RUN("-q", "/bin/sh", "-c",
                         "echo $LD_PRELOAD; case $PINJECT_SESSION in /*/pinject-*) echo set;; "
                         "esac"),
                     0);
    assert_true(strncmp(text_out, preload, strlen(preload)) == 0);
    assert_string_equal(text_out + strlen(preload), "\nset\n");
    /* What is there already comes behind ours; ours is not put there twice. */
    char *other = NULL;
    assert_true(asprintf(&other, "/nowhere/x:%s", preload) > 0);
    setenv("LD_PRELOAD", other, 1);
    RUN("-q", "/bin/sh", "-c", "echo $LD_PRELOAD 2>&-");
    text_out[strcspn(text_out, "\n")] = '\0';
    unsetenv("LD_PRELOAD");
    assert_string_equal(text_out, other);
    free(other);
    remove_files("out.*");
}

static void summary_of_a_command(void **state)
{
    (void)state;
    if (!has_events())
        skip();
    assert_int_equal(RUN("-e", "task-clock", "-g", "none", "--stat", "/bin/sh", "-c", ":"), 0);
    assert_string_equal(plain(text_err), "\n Counts of '/bin/sh -c :' (all tasks together):\n\n"
                                         " # msec task-clock               # #  CPUs utilized\n\n"
                                         " # seconds time elapsed\n # seconds user\n # seconds sys\n\n"
                                         "pinject-run: all tasks are counted together; --per-thread, --per-process and "
                                         "--per-comm count each task by itself\n"
                                         "pinject-run: CPU time #; profiler overhead: #\n"
                                         "pinject-run: # file out.* (#); next: panalyze counts out.*\n");
    assert_int_equal(remove_files("out.*"), 1);
}

static const char *strings_of(const void *item, size_t fixed)
{
    return (const char *)item + fixed;
}

/* The file of the only task: what it was, how it ended, and what the session was. */
static void file_of_a_command(void **state)
{
    struct kit_file file;
    struct stat status;
    glob_t found;
    char path[128];
    (void)state;
    if (!has_events())
        skip();
    assert_int_equal(RUN("-q", "-e", "task-clock", "--mode=0640", "/bin/sh", "-c", "exit 4"), 4);
    assert_int_equal(glob("out.*", 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
    globfree(&found);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    assert_true(kit_read(path, &file));
    const struct pinject_item_task *task = kit_item(&file, PINJECT_ITEM_TASK, 0);
    const struct pinject_item_generation *generation = kit_item(&file, PINJECT_ITEM_GENERATION, 0);
    const struct pinject_item_session *session = kit_item(&file, PINJECT_ITEM_SESSION, 0);
    const struct pinject_item_coverage *coverage = kit_item(&file, PINJECT_ITEM_COVERAGE, 0);
    assert_true(task && generation && session && coverage);
    assert_null(kit_item(&file, PINJECT_ITEM_GENERATION, 1));
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "out.%d.%d", task->pid, task->tid);
    assert_string_equal(path, wanted);
    assert_int_equal(task->pid, task->tid);
    assert_int_equal(task->status, 4 << 8);
    assert_int_equal(task->source, PINJECT_SOURCE_PERF);
    assert_int_equal(task->flags & (PINJECT_TASK_ENDED | PINJECT_TASK_STATUS | PINJECT_TASK_ROOT | PINJECT_TASK_SPLIT |
                                    PINJECT_TASK_COUNTED_ONLY),
                     PINJECT_TASK_ENDED | PINJECT_TASK_STATUS | PINJECT_TASK_ROOT);
    assert_true(session->start_ns <= task->start_ns && task->start_ns < task->end_ns);
    assert_true(task->startup_ns > 0 && task->startup_ns < task->end_ns - session->start_ns + 1000000000);
    assert_int_equal(session->root, task->pid);
    assert_int_equal(session->bare, 0);
    assert_int_equal(session->uid, geteuid());
    assert_int_equal(coverage->tasks, 1);
    assert_int_equal(coverage->files, 1);
    assert_int_equal(coverage->complete, 1);
    assert_true(coverage->attributed_ns > 0 && coverage->cpu_ns >= coverage->attributed_ns / 2);
    assert_true(coverage->collector_ns > 0);
    assert_string_equal(strings_of(generation, sizeof(*generation)), "sh");
    kit_file_free(&file);
    assert_int_equal(unlink(path), 0);
}

/* ---- Children that do not ask ---- */

static void wait_for_files(const char *pattern, size_t count)
{
    for (int i = 0; i < PATIENCE_S * 100; i++) {
        glob_t found;
        if (glob(pattern, 0, NULL, &found) == 0) {
            size_t there = found.gl_pathc;
            globfree(&found);
            if (there >= count)
                return;
        }
        poll(NULL, 0, 10);
    }
    fail_msg("there are no %zu files %s", count, pattern);
}

static void strict_names_what_is_missing(void **state)
{
    (void)state;
    if (!has_events())
        skip();
    assert_int_equal(RUN("-q", "--strict", "-e", "task-clock", "/bin/sh", "-c", "exit 2"), 2);
    assert_string_equal(text_err, "");
    /* The child has ended long before anybody could look for it. */
    assert_int_equal(RUN("-q", "--strict", "--follow-all", "/bin/sh", "-c", "(exit 5); exit 2"), 125);
    assert_non_null(strstr(text_err, "pinject-run: --strict: not seen (1 time): child exited before it was found"));
    /* To leave it out on purpose is no loss. */
    assert_int_equal(RUN("-q", "--strict", "--follow=none", "/bin/sh", "-c", "(exit 5); exit 2"), 2);
    assert_string_equal(text_err, "");
    remove_files("out.*");
}

/*
 * Who does not ask is found, with what it makes, unless a full ring loses the record: here a shell, and one below it.
 */
static void children_are_found(void **state)
{
    (void)state;
    if (!has_events())
        skip();
    assert_int_equal(mkfifo("go", 0600) | mkfifo("further", 0600), 0);
    struct running running = start(
        "stdout", (const char *const[]){"-e", "task-clock", "-c", "100000", "--follow-all", "/bin/sh", "-c",
                                        "(read x < go; (read y < further; exit 7); exit 6) & wait $!", NULL});
    int go = open("go", O_WRONLY); /* it is there, and waits */
    assert_true(go >= 0);
    wait_for_files("out.*", 2);
    assert_int_equal(write(go, "x\n", 2), 2);
    close(go);
    int further = open("further", O_WRONLY);
    assert_true(further >= 0);
    wait_for_files("out.*", 3);
    assert_int_equal(write(further, "y\n", 2), 2);
    close(further);
    assert_int_equal(finish(&running), 6);
    text_err[strcspn(text_err, "(")] = '\0';
    assert_string_equal(text_err, "pinject-run: 3 tasks ");
    assert_int_equal(remove_files("out.*"), 3);
    assert_int_equal(unlink("go") | unlink("further"), 0);
}

/* ---- Signals ---- */

#define READY "echo > ready; "
static void await_ready(void)
{
    int fd = open("ready", O_RDONLY); /* until the command has come there */
    char byte;
    assert_true(fd >= 0 && read(fd, &byte, 1) == 1);
    close(fd);
}

/* What is sent to pinject-run is the command's; what its whole group got is not sent once more. */
static void signals_reach_the_command(void **state)
{
    static const char script[] = "trap 'echo one >> got' USR1; trap 'echo end >> got; exit 9' TERM; " READY
                                 "while :; do read x < never; done 2>&-";
    (void)state;
    assert_int_equal(mkfifo("ready", 0600) | mkfifo("never", 0600), 0);
    struct running running = start("stdout", (const char *const[]){"-q", "/bin/sh", "-c", script, NULL});
    await_ready();
    assert_int_equal(kill(running.pid, SIGUSR1), 0);
    wait_for_files("got", 1);
    assert_int_equal(kill(-running.pid, SIGTERM), 0);
    assert_int_equal(finish(&running), 9);
    char *got = read_text("got");
    assert_string_equal(got, "one\nend\n");
    free(got);
    assert_int_equal(unlink("ready") | unlink("never") | unlink("got"), 0);
    remove_files("out.*");
}

static void stops_as_the_command_does(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("ready", 0600), 0);
    struct running running = start(
        "stdout", (const char *const[]){"-q", "/bin/sh", "-c", "kill -STOP $$; " READY "exit 8", NULL});
    int status;
    assert_int_equal(waitpid(running.pid, &status, WUNTRACED), running.pid);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(WSTOPSIG(status), SIGSTOP);
    assert_int_equal(kill(-running.pid, SIGCONT), 0);
    await_ready();
    assert_int_equal(finish(&running), 8);
    assert_int_equal(unlink("ready"), 0);
    remove_files("out.*");
}

/* ---- */

/* Of a program that has it loaded already it changes nothing. */
static void find_libc(void)
{
    char line[512], *path;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (!preload[0] && fgets(line, sizeof(line), maps)) {
        path = strchr(line, '/');
        line[strcspn(line, "\n")] = '\0';
        if (path && strstr(path, "/libc.so.6"))
            strcpy(preload, path);
    }
    fclose(maps);
}

static int set_up(void **state)
{
    (void)state;
    find_libc();
    setenv("PATH", "/usr/bin:/bin", 1);
    return !preload[0] || !mkdtemp(directory) || chdir(directory);
}

static int tear_down(void **state)
{
    (void)state;
    free(text_out);
    free(text_err);
    return unlink("stdout") || unlink("stderr") || chdir("/") || rmdir(directory);
}

/* ---- As libpinject.so starts it ---- */

static bool is_link_to(pid_t pid, const char *name, const char *target)
{
    char link[64], text[512];
    snprintf(link, sizeof(link), "/proc/%d/%s", (int)pid, name);
    ssize_t size = readlink(link, text, sizeof(text) - 1);
    text[size > 0 ? size : 0] = '\0';
    return strcmp(text, target) == 0;
}

/* It gets there some time after its answer. */
static bool becomes_link_to(pid_t pid, const char *name, const char *target)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < PATIENCE_S * 1000 && kill(pid, 0) == 0; i++) {
        if (is_link_to(pid, name, target))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

/*
 * Its streams and its place are not the program's: who waits for their end, or removes the directory, is not held up.
 */
static void a_detached_collector(void **state)
{
    enum { NUMBER = 40 };
    (void)state;
    for (int verbose = 0; verbose < 2; verbose++) {
        char option[32], answer[PATH_MAX] = "";
        int ends[2];
        snprintf(option, sizeof(option), "--collect=%d", NUMBER);
        setenv("PINJECT_VERBOSE", verbose ? "1" : "0", 1);
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(dup2(ends[1], NUMBER), NUMBER);
        close(ends[1]);
        struct running running = start("stdout", (const char *const[]){option, "--preload=/p/libpinject.so", NULL});
        close(NUMBER);
        size_t size = 0;
        for (ssize_t got; (got = read(ends[0], answer + size, sizeof(answer) - 1 - size)) > 0;)
            size += (size_t)got;
        close(ends[0]); /* the end was seen: it keeps no copy */
        assert_true(size > 1 && answer[0] == '/' && answer[size - 1] == '\n');
        answer[size - 1] = '\0';
        assert_int_equal(access(answer, F_OK), 0);
        bool away = becomes_link_to(running.pid, "cwd", "/");
        bool in = becomes_link_to(running.pid, "fd/0", "/dev/null");
        bool out = becomes_link_to(running.pid, "fd/1", "/dev/null");
        bool err = verbose ? is_link_to(running.pid, "fd/2", "/dev/null")
                           : becomes_link_to(running.pid, "fd/2", "/dev/null");
        kill(running.pid, SIGTERM);
        int status = finish(&running);
        assert_true(away && in && out);
        assert_int_equal(err, !verbose);
        assert_int_equal(status, 0);
        assert_string_equal(text_out, "");
        assert_int_equal(text_err[0] != 0, verbose);
        assert_int_equal(access(answer, F_OK), -1);
    }
    unsetenv("PINJECT_VERBOSE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_detached_collector),          cmocka_unit_test(other_actions),
        cmocka_unit_test(stacks_are_asked_for),          cmocka_unit_test(doctor_is_asked),
        cmocka_unit_test(output_that_cannot_be_written), cmocka_unit_test(commands_that_do_not_start),
        cmocka_unit_test(status_is_the_commands),        cmocka_unit_test(command_gets_what_was_there),
        cmocka_unit_test(summary_of_a_command),          cmocka_unit_test(file_of_a_command),
        cmocka_unit_test(strict_names_what_is_missing),  cmocka_unit_test(children_are_found),
        cmocka_unit_test(signals_reach_the_command),     cmocka_unit_test(stops_as_the_command_does),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
