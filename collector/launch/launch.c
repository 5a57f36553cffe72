/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/launch/fork_inherited.h"
#include "collector/service/service.h"
#include "collector/system/priority.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/report.h"
#include "preload/exec_kind.h"

extern char **environ;

/* Our dispositions. Those that we were started with are kept for the command. They are the process', set once. */
static struct {
    int number;
    void (*handler)(int);
    struct sigaction old;
} own_signals[] = {
    {.number = SIGPIPE, .handler = SIG_IGN},
    {.number = SIGXFSZ, .handler = SIG_IGN},
    {.number = SIGCHLD, .handler = SIG_DFL}, /* else we would not learn that the command has stopped, or how it ended */
};

void launch_set_signals(void)
{
    for (size_t i = 0; i < sizeof own_signals / sizeof own_signals[0]; i++) {
        const struct sigaction action = {.sa_handler = own_signals[i].handler};
        sigaction(own_signals[i].number, &action, &own_signals[i].old);
    }
}

static void restore_signals(void)
{
    for (size_t i = 0; i < sizeof own_signals / sizeof own_signals[0]; i++)
        sigaction(own_signals[i].number, &own_signals[i].old, NULL);
}

/* A new session loses the terminal that the old one controls, so if there is one the command stays in ours. */
static bool leads_session_without_terminal(void)
{
    if (getsid(0) != getpid())
        return false;
    int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    bool none = terminal < 0 && errno == ENXIO;
    if (terminal >= 0)
        close(terminal);
    return none;
}

/* The child's report: first this, then, only if exec failed, an int with the errno. */
struct launch_report {
    uint64_t startup_ns, switches, minor_faults, major_faults;
};

/* "PRELOAD" before what LD_PRELOAD already has, unless it is there. Owned by the caller; NULL: out of memory. */
static char *preload_value(const char *preload, const char *old)
{
    char *value = NULL;
    if (!old || !old[0])
        return strdup(preload);
    size_t size = strlen(preload);
    for (const char *at = old; *at;) {
        size_t length = strcspn(at, ": ");
        if (length == size && !memcmp(at, preload, size))
            return strdup(old);
        at += length;
        at += strspn(at, ": ");
    }
    if (asprintf(&value, "%s:%s", preload, old) < 0)
        return NULL;
    return value;
}

static int set_environment(const struct pinject_segment *segment)
{
    char *value = preload_value(segment->preload, getenv("LD_PRELOAD"));
    if (!value)
        return -ENOMEM;
    int error = setenv("LD_PRELOAD", value, 1) || setenv(PINJECT_ENV_SESSION, segment->path, 1) ? -ENOMEM : 0;
    free(value);
    return error;
}

static void close_output(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        _exit(125); /* nothing of the command's output may be seen */
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
}

/* Context: the child. Never returns. */
static _Noreturn void run_child(const struct launch *launch, const struct session *session, char *const *command,
                                const sigset_t *mask, int gate, int report)
{
    char byte;
    ssize_t got;
    close(launch->gate);
    close(launch->report);
    service_restore_limits(session);
    if (launch->apart)
        setsid();
    /*
     * Another class's loader would complain, or refuse to start the command; what a static one starts would inherit the
     * variables.
     */
    int error = launch->non_injectable || session->config->whole_tree ? 0
                : set_environment(session->segment)                   ? ENOMEM
                                                                      : 0;
    do
        got = read(gate, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(125); /* the collector is gone, or gave up */
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    struct launch_report first = {.startup_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
                                  .switches = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw),
                                  .minor_faults = (uint64_t)usage.ru_minflt,
                                  .major_faults = (uint64_t)usage.ru_majflt};
    if (buffer_write(report, &first, sizeof first))
        _exit(125);
    if (session->settings->no_cmd_output)
        close_output();
    restore_signals();
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (!error) {
        execvp(command[0], command);
        error = errno;
    }
    (void)!write(report, &error, sizeof error);
    _exit(error == ENOENT ? 127 : 126);
}

int launch_start(struct launch *launch, const struct session *session, char *const *command, const sigset_t *mask)
{
    int gate[2], report[2];
    struct pinject_judge judge = {.directory = AT_FDCWD};
    *launch = (struct launch){.pid = -1, .pidfd = -1, .gate = -1, .report = -1};
    /* If it waited longer for its answers there, a whole profile is worth more than leading a session. */
    launch->apart = leads_session_without_terminal() && priority_outruns_other_sessions();
    launch->non_injectable = pinject_exec_is_non_injectable(pinject_exec_search(&judge, command[0]));
    if (pipe2(gate, O_CLOEXEC)) {
        int error = errno;
        report_error("cannot make a pipe: %s", strerror(error));
        return -error;
    }
    if (pipe2(report, O_CLOEXEC)) {
        int error = errno;
        report_error("cannot make a pipe: %s", strerror(error));
        close(gate[0]);
        close(gate[1]);
        return -error;
    }
    launch->gate = gate[1];
    launch->report = report[0];
    launch->pid = session->config->inherits
                      ? fork_inherited(session->inherited_sets, session->config->system_wide, &launch->inherited_set,
                                       &launch->readings, &launch->inherit_error)
                      : fork();
    if (launch->pid == 0)
        run_child(launch, session, command, mask, gate[0], report[1]);
    int error = launch->pid < 0 ? errno : 0;
    close(gate[0]);
    close(report[1]);
    if (!error) {
        launch->pidfd = (int)syscall(SYS_pidfd_open, launch->pid, 0);
        if (launch->pidfd < 0)
            error = errno;
    }
    if (error) {
        report_error("cannot start a process: %s", strerror(error));
        launch_release(launch);
    }
    return -error;
}

/* Reads exactly SIZE bytes, or fewer at the end. */
static size_t read_all(int fd, void *to, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, (char *)to + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

/* ERROR: of execvp(). */
static void report_refusal(const char *command, int error)
{
    struct stat status;
    char safe[256];
    const bool looked_up = !strchr(command, '/');
    const bool plain = error == EACCES && !looked_up && stat(command, &status) == 0 && S_ISREG(status.st_mode) &&
                       !(status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH));
    report_error("cannot run '%s': %s%s", report_safe(safe, sizeof safe, command, strlen(command)),
                 error == ENOENT && looked_up ? "command not found" : strerror(error),
                 plain ? "; it is not executable (chmod +x)" : "");
}

int launch_go(struct launch *launch, const char *command)
{
    struct launch_report first;
    int error = 0;
    if (buffer_write(launch->gate, "", 1) || read_all(launch->report, &first, sizeof first) != sizeof first) {
        report_error("the process for '%s' ended before it could run the command", command);
        error = ECHILD;
    } else if (read_all(launch->report, &error, sizeof error) == sizeof error) {
        report_refusal(command, error);
    } else {
        error = 0;
        launch->startup_ns = first.startup_ns;
        launch->startup_switches = first.switches;
        launch->startup_minor_faults = first.minor_faults;
        launch->startup_major_faults = first.major_faults;
    }
    close(launch->gate);
    close(launch->report);
    launch->gate = launch->report = -1;
    if (error) {
        waitpid(launch->pid, NULL, 0);
        launch->pid = -1;
    }
    return error;
}

void launch_release(struct launch *launch)
{
    if (launch->gate >= 0)
        close(launch->gate); /* the child at the gate reads the end and exits */
    if (launch->report >= 0) {
        close(launch->report);
        if (launch->pid > 0)
            waitpid(launch->pid, NULL, 0);
    }
    if (launch->pidfd >= 0)
        close(launch->pidfd);
    *launch = (struct launch){.pid = -1, .pidfd = -1, .gate = -1, .report = -1};
}

/* Where the preload object is, relative to this program's directory. */
static const char *const preload_places[] = {
#ifdef PINJECT_LIBDIR_FROM_BINDIR
    PINJECT_LIBDIR_FROM_BINDIR "/libpinject.so",
#endif
    "../lib/libpinject.so",
    "../lib64/libpinject.so",
    "libpinject.so",
};

int launch_look_for_preload(char *ret, char *reason, size_t size)
{
    char self[PATH_MAX], tried[2 * PATH_MAX], found[PATH_MAX], unreadable[PATH_MAX] = "";
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) {
        snprintf(reason, size, "cannot read /proc/self/exe: %s; is /proc mounted?", strerror(errno));
        return -ENOENT;
    }
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < sizeof preload_places / sizeof preload_places[0]; i++) {
        snprintf(tried, sizeof tried, "%s/%s", self, preload_places[i]);
        if (!realpath(tried, found))
            continue;
        if (access(found, R_OK)) {
            strcpy(unreadable, found);
            continue;
        }
        if (strpbrk(found, ": \t\n")) {
            snprintf(reason, size,
                     "LD_PRELOAD cannot contain the path '%s', which has a blank or a colon; install pinject elsewhere",
                     found);
            return -EINVAL;
        }
        if (strlen(found) >= PINJECT_PATH)
            return -ENAMETOOLONG;
        strcpy(ret, found);
        return 0;
    }
    if (unreadable[0] && strlen(unreadable) < PINJECT_PATH) {
        snprintf(reason, size, "'%s' cannot be read; type: chmod a+r '%s'", unreadable, unreadable);
        strcpy(ret, unreadable);
        return -EACCES;
    }
    snprintf(reason, size,
             "cannot find libpinject.so (looked in %s, and in ../lib and ../lib64 from there); install pinject again",
             self);
    return -ENOENT;
}

int launch_find_preload(char *ret)
{
    char reason[2 * PATH_MAX + 256] =
        "the path of libpinject.so is too long; install pinject in a directory with a shorter path";
    int error = launch_look_for_preload(ret, reason, sizeof reason);
    if (error)
        report_error("%s", reason);
    return error;
}
