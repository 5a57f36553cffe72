/* SPDX-License-Identifier: MIT */
#include "collector/doctor/doctor_inject.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/doctor/doctor_probe.h"
#include "collector/launch/launch.h"
#include "collector/service/service.h"
#include "collector/sources/attach.h"
#include "collector/sources/inherited.h"
#include "collector/sources/notifications.h"
#include "collector/sources/session.h"

/* ---- Trying ---- */

static void take_notifications(struct session *session, pid_t pid, struct doctor_shared *found)
{
    for (struct notification *notification = notifications_take(&session->notifications), *next; notification;
         notification = next) {
        next = notification->next;
        if (notification->kind == PINJECT_PROCESS && notification->pid == pid) {
            found->notified = true;
            found->attached = notification->result;
            found->maps = notification->maps != NULL;
        }
        if (notification->events) {
            attach_retire(session, notification->events);
            attach_free(notification->events);
        }
        notification_free(notification);
    }
}

/*
 * Nothing is armed beforehand: the preload object sends a request from its constructor, and a worker answers, as for a
 * child of posix_spawn.
 */
static int start_shell(struct session *session, struct doctor_shared *found)
{
    static char shell[] = "/bin/sh", option[] = "-c", nothing[] = ":";
    char *const command[] = {shell, option, nothing, NULL};
    struct launch launch;
    sigset_t none;
    sigemptyset(&none);
    int status = launch_start(&launch, session, command, &none);
    if (status == 0)
        status = service_start_workers(session);
    if (status == 0)
        status = -launch_go(&launch, command[0]);
    if (status == 0)
        while (waitpid(launch.pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    service_stop_workers(session);
    take_notifications(session, launch.pid, found);
    launch_release(&launch);
    return status;
}

void doctor_inject_try(void *state)
{
    static struct session session; /* large, and used once */
    const struct doctor_facts *facts = state;
    struct doctor_shared *found = facts->shared;
    struct settings settings = *facts->args->settings;
    settings.follow = PINJECT_SESSION_ALL;
    found->config.inherits = false; /* a program that inherits its events would not wait for the answer */
    found->injection = service_init(&session, &settings, &found->config, facts->args->preload);
    if (found->injection)
        return;
    found->injection = start_shell(&session, found);
    if (found->config_status == 0)
        found->inherited = inherited_open(session.inherited_sets, getpid(), getpid(), INHERIT_EXECS);
    service_release(&session);
}

/* ---- Findings ---- */

void doctor_preload(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    const struct doctor_args *args = facts->args;
    if (args->preload[0]) {
        DOCTOR_TEXT(finding->value, "%s", args->preload);
        return;
    }
    finding->level = DOCTOR_REFUSED;
    DOCTOR_TEXT(finding->value, "%s", args->preload_error);
    if (args->unreadable)
        doctor_remedy(finding, "chmod a+r %s", doctor_word(args->unreadable));
    else if (access("/proc/self/exe", F_OK) < 0)
        doctor_remedy(finding, "mount -t proc proc /proc    # as root");
    else
        doctor_remedy(finding, "cmake --install BUILD-DIRECTORY --prefix /usr/local");
}

/* The first part of PATH that others may not traverse or read: its mode lacks BIT. False: they may. */
static bool find_closed(const char *path, char *ret, size_t size, char *ret_bit)
{
    struct stat status;
    for (const char *at = path;; at++) {
        at += strcspn(at, "/");
        bool end = !*at;
        snprintf(ret, size, "%.*s", at == path ? 1 : (int)(at - path), path);
        *ret_bit = end ? 'r' : 'x';
        if (stat(ret, &status) == 0 && !(status.st_mode & (end ? S_IROTH : S_IXOTH)))
            return true;
        if (end)
            return false;
    }
}

void doctor_preload_access(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    char closed[PATH_MAX], bit;
    const char *preload = facts->args->preload;
    if (!preload[0]) {
        finding->level = DOCTOR_NOTE;
        DOCTOR_TEXT(finding->value, "not tried: libpinject.so is missing");
    } else if (!find_closed(preload, closed, sizeof(closed), &bit)) {
        DOCTOR_TEXT(finding->value, "every user can load the preload object");
    } else {
        finding->level = DOCTOR_NOTE;
        DOCTOR_TEXT(finding->value, "other users cannot %s '%s'", bit == 'r' ? "read" : "enter", closed);
        DOCTOR_TEXT(finding->meaning,
                    "a process that changes its user loses the preload object at its next exec, and ld.so prints an "
                    "error");
        doctor_remedy(finding, "chmod o+%c %s", bit, doctor_word(closed));
    }
}

static bool explain_failed_try(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    const struct doctor_guarded *guarded = &facts->injection;
    if (guarded->tried && facts->shared->injection == 0)
        return false;
    finding->level = DOCTOR_REFUSED;
    if (!facts->args->preload[0] || !facts->perf.tried) {
        DOCTOR_TEXT(finding->value, "not tried: %s",
                    facts->perf.tried              ? "libpinject.so is missing"
                    : facts->perf.signal == SIGSYS ? "a seccomp filter kills callers of perf_event_open"
                                                   : "perf events could not be checked");
        finding->level = DOCTOR_NOTE;
    } else if (guarded->error)
        DOCTOR_TEXT(finding->value, "cannot start a process: %s", strerror(-guarded->error));
    else if (guarded->late)
        DOCTOR_TEXT(finding->value, "a shell with the preload object did not exit in time");
    else if (guarded->signal)
        DOCTOR_TEXT(finding->value, "the test process was killed: %s", strsignal(guarded->signal));
    else
        DOCTOR_TEXT(finding->value, "cannot start a test run: %s", strerror(-facts->shared->injection));
    DOCTOR_TEXT(finding->meaning, "%s", guarded->said);
    return true;
}

void doctor_injection(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    if (explain_failed_try(facts, finding))
        return;
    if (facts->shared->notified) {
        DOCTOR_TEXT(finding->value, "works: the preload object was loaded into /bin/sh and answered");
        return;
    }
    const char *preload = doctor_word(facts->args->preload);
    finding->level = DOCTOR_REFUSED;
    DOCTOR_TEXT(finding->value, "no effect: /bin/sh did not load the preload object");
    DOCTOR_TEXT(finding->meaning, "pinject cannot follow threads and children%s%s",
                facts->injection.said[0] ? "; " : "", facts->injection.said);
    doctor_remedy(finding, "LD_PRELOAD=%s /bin/sh -c :    # shows the loader's error", preload);
    doctor_remedy(finding,
                  "findmnt -o TARGET,OPTIONS -T %s    # if this shows noexec, the preload object cannot be loaded",
                  preload);
    doctor_remedy(finding, "cmake --install BUILD-DIRECTORY --prefix /usr/local    # if nothing else helps");
}

void doctor_outside(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    const struct doctor_shared *found = facts->shared;
    if (!found->notified) {
        finding->level = DOCTOR_NOTE;
        DOCTOR_TEXT(finding->value, "not tried: LD_PRELOAD does not work");
    } else if (found->user < 0 || found->config_status < 0) {
        finding->level = DOCTOR_NOTE;
        DOCTOR_TEXT(finding->value, "not tried: no event can be opened");
    } else if (found->attached < 0) {
        finding->level = DOCTOR_REFUSED;
        DOCTOR_TEXT(finding->value, "this process cannot open events for another process of the same user: %s",
                    strerror(-found->attached));
        DOCTOR_TEXT(finding->meaning, "a security module allows perf_event_open for the calling process only");
    } else if (!found->maps) {
        finding->level = DOCTOR_LIMITED;
        DOCTOR_TEXT(finding->value, "/proc/PID/maps of another process cannot be read");
        DOCTOR_TEXT(finding->meaning,
                    "for code that was mapped before the preload object ran, reports show addresses instead of names");
        doctor_remedy(finding, "mount -o remount,hidepid=0 /proc    # as root");
    } else
        DOCTOR_TEXT(finding->value,
                    "events of this user's other processes can be opened, and their /proc/PID/maps can be read");
}

void doctor_yama(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    (void)facts;
    int64_t scope = -1;
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (file) {
        if (fscanf(file, "%" SCNd64, &scope) != 1)
            scope = -1;
        fclose(file);
    }
    if (scope < 0)
        DOCTOR_TEXT(finding->value, "not active");
    else
        DOCTOR_TEXT(finding->value,
                    "kernel.yama.ptrace_scope is %" PRId64
                    "; it restricts debuggers and 'pinject-run --stacks', not profiling",
                    scope);
}
