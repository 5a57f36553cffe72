/* SPDX-License-Identifier: MIT */
/*
 * Starts the collector of a bare LD_PRELOAD. It must never be a child that the program could wait for, nor cause a
 * SIGCHLD. So a bare clone() makes a helper process that only __WCLONE sees; the helper makes the collector and ends at
 * once.
 */
#include "environ.h"
#include "pinject/wire.h"
#include "session.h"
#include "start.h"
#include "symbols.h"
#include "sys.h"

#include <errno.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <pinject/kernel.h>
#include <poll.h>
#include <signal.h>
#include "text.h"
#include <sys/wait.h>

enum {
    START_LIMIT_MS = 2000,
    COLLECT_FD = 3, /* the pipe, in the collector */
    ERROR_FD = 4,   /* the program's stderr there; the loader of a collector for another libc gets none */
    OUT_OF_THE_WAY = 10,
};

struct start {
    char preload[PINJECT_PATH]; /* absolute, for LD_PRELOAD */
    char collector[PINJECT_PATH];
    char preload_option[PINJECT_PATH + 16];
    char line[2 * PINJECT_PATH]; /* what the helper prints if no collector runs */
    char **envp;
    int report[2];
    bool found, verbose; /* the collector; PINJECT_VERBOSE */
};

/* Writes NUMBER in decimal, for a descriptor's link in /proc. */
static void write_number(char *out, int number)
{
    char digits[12];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count > 0)
        *out++ = digits[--count];
    *out = 0;
}

/* The preload object's path may be relative to the directory where the first process started. */
static bool find_preload(struct start *start)
{
    static const char directory[] = "/proc/self/fd/";
    char link[sizeof(directory) + 12];
    const struct link_map *self = pinject_symbols_self();
    if (!self || !self->l_name)
        return false;
    int fd = sys_open(self->l_name, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return false;
    memcpy(link, directory, sizeof(directory));
    write_number(link + sizeof(directory) - 1, fd);
    long size = sys_readlink(link, start->preload, sizeof(start->preload) - 1);
    sys_close(fd);
    if (size <= 0 || start->preload[0] != '/')
        return false;
    start->preload[size] = 0;
    return true;
}

/* Beside the preload object, or where an installation or a build tree has it. */
static bool find_collector(struct start *start)
{
    static const char *const places[] = {"pinject-run", "../bin/pinject-run", "../../bin/pinject-run",
                                         "../collector/pinject-run"};
    const char *wish = pinject_env_value(start->envp, PINJECT_ENV_COLLECTOR "=");
    if (wish && *wish) {
        size_t size = strnlen(wish, sizeof(start->collector));
        if (size >= sizeof(start->collector) || !sys_exists(wish))
            return false;
        memcpy(start->collector, wish, size + 1);
        return true;
    }
    const char *slash = strrchr(start->preload, '/');
    size_t directory = (size_t)(slash - start->preload) + 1;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (directory + strlen(places[i]) >= sizeof(start->collector))
            continue;
        memcpy(start->collector, start->preload, directory);
        memcpy(start->collector + directory, places[i], strlen(places[i]) + 1);
        if (sys_exists(start->collector))
            return true;
    }
    return false;
}

static bool is_verbose(char **envp)
{
    const char *wish = pinject_env_value(envp, "PINJECT_VERBOSE=");
    return wish && strcmp(wish, "1") == 0;
}

static long plain_clone(void)
{
    /* No exit signal; memory is copied. libc does not know of the child, so it calls no libc function that has
       state. Untraced: a debugger of the program would take it for one of its threads, and strace -f would wait for
       the collector. */
    return SYS_5(SYS_clone, CLONE_UNTRACED, 0, 0, 0, 0);
}

static _Noreturn void exit_process(int status)
{
    for (;;)
        SYS_1(SYS_exit_group, status);
}

/* Descriptors: /dev/null three times, the pipe, and the program's stderr for errors in PINJECT_*. All others are
   closed. */
static void set_descriptors(const struct start *start)
{
    int null = sys_open("/dev/null", O_RDWR);
    int report = (int)SYS_3(SYS_fcntl, start->report[1], F_DUPFD, OUT_OF_THE_WAY);
    bool is_pipe = start->report[0] == 2 || start->report[1] == 2; /* the program has no stderr */
    null = (int)SYS_3(SYS_fcntl, null, F_DUPFD, OUT_OF_THE_WAY);
    if (report < 0 || null < 0)
        exit_process(127);
    SYS_3(SYS_dup3, report, COLLECT_FD, 0);
    if (is_pipe || SYS_3(SYS_dup3, 2, ERROR_FD, 0) < 0)
        SYS_3(SYS_dup3, null, ERROR_FD, 0);
    for (int fd = 0; fd < 3; fd++)
        SYS_3(SYS_dup3, null, fd, 0);
    if (start->verbose)
        SYS_3(SYS_dup3, ERROR_FD, 2, 0); /* also the loader's messages */
    if (SYS_3(SYS_close_range, ERROR_FD + 1, ~0u, 0) < 0)
        for (int fd = ERROR_FD + 1; fd < 65536; fd++)
            sys_close(fd);
}

/* The collector must not get the program's dispositions and mask. In the kernel's layout of sigaction all zero is
   SIG_DFL. */
static void reset_signals(void)
{
    static const uint64_t nothing[8];
    for (int number = 1; number <= 64; number++)
        SYS_4(SYS_rt_sigaction, number, nothing, 0, 8);
    SYS_4(SYS_rt_sigprocmask, SIG_SETMASK, nothing, 0, 8);
}

/* This memory is a copy: the vector may be edited. */
static void drop_preload(char **envp)
{
    size_t kept = 0;
    for (size_t i = 0; envp[i]; i++)
        if (strncmp(envp[i], "LD_PRELOAD=", 11) != 0)
            envp[kept++] = envp[i];
    envp[kept] = NULL;
}

/* What does not fit is left out; characters that could control a terminal become '?'. */
static void append_text(struct start *start, const char *text)
{
    size_t at = strlen(start->line);
    for (; *text && at + 1 < sizeof(start->line); text++)
        start->line[at++] = (unsigned char)*text < ' ' || *text == 127 ? '?' : *text;
    start->line[at] = 0;
}

static void append_error(struct start *start, int error)
{
    static const struct {
        int error;
        const char *text;
    } reasons[] = {
        {EPERM, "Operation not permitted"},
        {EACCES, "Permission denied"},
        {ENOENT, "its ELF loader is missing"},
        {ENOEXEC, "not a program for this machine"},
    };
    char number[12];
    if (error == EPERM && SYS_4(SYS_getxattr, start->collector, "security.capability", 0, 0) > 0) {
        append_text(start,
                    "its file has capabilities that this process cannot get (to remove them, as root: setcap -r FILE)");
        return;
    }
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (reasons[i].error == error) {
            append_text(start, reasons[i].text);
            return;
        }
    }
    write_number(number, error);
    append_text(start, "errno ");
    append_text(start, number);
}

/*
 * The preload object never prints; this is the helper, a process of its own that could not become a collector. The
 * program waits until the pipe is closed, so the line comes before the program's own. Signals are blocked: the limit of
 * the size of files must not make it dump core.
 */
static void report_failure(struct start *start, int error)
{
    static const uint64_t all = UINT64_MAX;
    append_text(start, "pinject-run: nothing is profiled: ");
    if (start->found) {
        append_text(start, start->collector);
        append_text(start, " cannot be executed: ");
        append_error(start, error);
    } else {
        append_text(start, "cannot find the program pinject-run that belongs to ");
        append_text(start, start->preload);
        append_text(start, "; set PINJECT_COLLECTOR to its path");
    }
    size_t size = strlen(start->line);
    start->line[size < sizeof(start->line) - 1 ? size++ : size - 1] = '\n';
    SYS_4(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, 8);
    SYS_3(SYS_write, ERROR_FD, start->line, size);
}

static _Noreturn void become_collector(struct start *start)
{
    static char name[] = "pinject-run", option[] = "--collect=3";
    char *argv[] = {name, option, start->preload_option, NULL};
    SYS_0(SYS_setsid);
    if (plain_clone() != 0)
        exit_process(0);
    set_descriptors(start);
    reset_signals();
    drop_preload(start->envp);
    int error = ENOENT;
    if (start->found)
        error = (int)-SYS_3(SYS_execve, start->collector, argv, start->envp);
    report_failure(start, error);
    exit_process(127);
}

/* A subreaper must not adopt our orphans. */
static void launch_collector(struct start *start)
{
    int adopts = 0;
    SYS_2(SYS_prctl, PR_GET_CHILD_SUBREAPER, &adopts);
    if (adopts)
        SYS_2(SYS_prctl, PR_SET_CHILD_SUBREAPER, 0);
    long pid = plain_clone();
    if (pid == 0)
        become_collector(start);
    while (pid > 0 && SYS_4(SYS_wait4, pid, 0, __WCLONE, 0) == -EINTR)
        continue;
    if (adopts)
        SYS_2(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
}

/* Reads one line: the path of the session, or "!". False: the collector is gone, too slow, or said no. */
static bool read_report(int fd, char *line, size_t size)
{
    uint64_t limit = sys_clock_ns(CLOCK_MONOTONIC) + START_LIMIT_MS * 1000000ull;
    size_t at = 0;
    while (at < size) {
        uint64_t now = sys_clock_ns(CLOCK_MONOTONIC);
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        struct timespec rest = {0, 0};
        if (now >= limit)
            return false;
        rest.tv_sec = (time_t)((limit - now) / 1000000000u);
        rest.tv_nsec = (long)((limit - now) % 1000000000u);
        if (SYS_5(SYS_ppoll, &poll_fd, 1, &rest, 0, 0) <= 0)
            continue;
        long got = sys_read(fd, line + at, size - at);
        if (got <= 0 && got != -EINTR)
            return false;
        at += got > 0 ? (size_t)got : 0;
        if (at > 0 && line[at - 1] == '\n') {
            line[at - 1] = 0;
            return line[0] == '/';
        }
    }
    return false;
}

/* The collector becomes an orphan, which process 1 of a pid namespace adopts, whatever it asks for. */
static bool adopts_all(char **envp)
{
    static const char why[] = "libpinject.so: not profiled: this is process 1, and the collector would become its "
                              "child; use pinject-run\n";
    const char *verbose = pinject_env_value(envp, "PINJECT_VERBOSE=");
    if (sys_getpid() != 1)
        return false;
    if (verbose && *verbose && strcmp(verbose, "0") != 0)
        SYS_3(SYS_write, 2, why, sizeof(why) - 1);
    return true;
}

int pinject_start(char **envp)
{
    static struct start start; /* once per process; too large for the stack of an unknown program */
    char path[PINJECT_PATH + 2];
    if (adopts_all(envp))
        return -EOPNOTSUPP;
    start.envp = envp;
    start.verbose = is_verbose(envp);
    if (!find_preload(&start))
        return -ENOENT;
    start.found = find_collector(&start);
    if (!start.found && !start.verbose)
        return -ENOENT;
    pinject_text_join(start.preload_option, sizeof(start.preload_option), "--preload=", start.preload);
    int error = (int)SYS_2(SYS_pipe2, start.report, O_CLOEXEC);
    if (error < 0)
        return error;
    launch_collector(&start);
    sys_close(start.report[1]);
    bool ready = read_report(start.report[0], path, sizeof(path));
    sys_close(start.report[0]);
    if (!start.found)
        return -ENOENT;
    return ready ? pinject_preload_open(path) : -ECHILD;
}
