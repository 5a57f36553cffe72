/* SPDX-License-Identifier: MIT */
/* pinject-run: the launcher and the collector, one process. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pinject/pinject.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/collect.h"
#include "collector/config/event_config.h"
#include "collector/config/ring_sizes.h"
#include "collector/config/sample_words.h"
#include "collector/config/sampler.h"
#include "collector/count_output.h"
#include "collector/doctor/doctor.h"
#include "collector/info.h"
#include "collector/list_events.h"
#include "collector/launch/launch.h"
#include "collector/launch/live.h"
#include "collector/launch/place.h"
#include "collector/launch/signals.h"
#include "collector/launch/wait.h"
#include "collector/output/result.h"
#include "collector/repeat.h"
#include "collector/service/service.h"
#include "collector/settings_parse.h"
#include "collector/show_stacks.h"
#include "collector/sources/attach.h"
#include "collector/sources/inherited.h"
#include "collector/sources/session.h"
#include "collector/summary.h"
#include "collector/system/accounting.h"
#include "collector/system/paths.h"
#include "common/buffer.h"
#include "common/report.h"

/* Own failures, as in env(1), timeout(1) and others. 1: --doctor has found something, or --stacks did not get all. */
enum { STATUS_LIMITED = 1, STATUS_OWN = 125, STATUS_NOT_RUN = 126, STATUS_NOT_FOUND = 127 };

struct run {
    struct settings_line line;
    struct event_config config;
    struct session session;
    struct results *results;
    struct launch launch;
    struct live live;
    struct collect_args args;
    struct outcome outcome;
    struct count_output counts;
    struct repeat_result *result; /* of one run of --repeat; NULL: there is only one */
    char preload[PINJECT_PATH];
    char outfile[PATH_MAX];                   /* absolute */
    char base[PATH_MAX], directory[PATH_MAX]; /* as the user called them */
    struct signals signals;
};

/* The default is no directory, even if there is one of its name. A name that is too long is refused when files are
 * made. */
static void find_outfile(struct run *run)
{
    struct settings *settings = &run->line.settings;
    if (strcmp(settings->outfile, SETTINGS_OUTFILE) == 0 ||
        paths_outfile(settings->outfile, run->base, run->directory, sizeof run->base))
        return;
    settings->outfile = run->base;
    settings->directory = run->directory[0] ? run->directory : NULL;
}

static int make_directory(const struct settings *settings)
{
    int error = settings->directory && mkdir(settings->directory, 0777) < 0 && errno != EEXIST ? -errno : 0;
    if (error)
        report_error("cannot make the directory '%s' for result files: %s; choose another place with --outfile",
                     settings->directory, strerror(-error));
    return error;
}

enum { LEAST_ROOM = 16 * 1024 }; /* bytes: less than the result files of two tasks */

static int make_outfile_absolute(struct run *run)
{
    struct settings *settings = &run->line.settings;
    int error = make_directory(settings);
    if (error)
        return error;
    error = paths_absolute(settings->outfile, run->outfile, sizeof run->outfile);
    if (error)
        report_error("cannot write result files to '%s': %s; choose another place with --outfile", settings->outfile,
                     error == -EINVAL ? "not a file name" : strerror(-error));
    else if (paths_room(run->outfile) < LEAST_ROOM) /* a bare session could not say so when it ends */
        report_warning("the disk for the result files '%s.PID.TID' is full: result files will be missing or not "
                       "complete; make room, or choose another place with --outfile",
                       settings->outfile);
    return error;
}

/* Prepares everything that both kinds of session need, up to the point where the command may start. */
static int prepare_run(struct run *run)
{
    struct settings *settings = &run->line.settings;
    wait_sweep();
    int error = event_config_init(&run->config, settings);
    if (error)
        return error;
    error = make_outfile_absolute(run);
    if (error) {
        event_config_release(&run->config);
        return error;
    }
    error = service_init(&run->session, settings, &run->config, run->preload);
    if (error) {
        event_config_release(&run->config);
        return error;
    }
    run->session.self = getpid();
    strcpy(run->session.segment->outfile, run->outfile);
    error = results_new(&run->session, &run->results);
    if (error) {
        service_release(&run->session);
        event_config_release(&run->config);
    }
    return error;
}

static void release_run(struct run *run)
{
    results_free(run->results);
    service_release(&run->session);
    if (!run->session.hangs)
        event_config_release(&run->config);
}

static void say_notes(const struct run *run)
{
    if (run->line.settings.verbose)
        for (unsigned i = 0; i < run->config.note_count; i++)
            report_note("%s", run->config.notes[i]);
}

static int exit_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int let_go(struct run *run)
{
    const char *mark = run->line.started;
    int fd = mark ? open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1, error = errno;
    if (mark && fd < 0) {
        report_error("cannot create '%s': %s", mark, strerror(error));
        return ECHILD;
    }
    if (fd >= 0)
        close(fd);
    error = launch_go(&run->launch, run->line.settings.command[0]);
    if (error && mark)
        unlink(mark);
    return error;
}

/*
 * KVM on Intel CPUs could lose the guest's DR6 (mended in Linux 6.14: "Load DR6 with guest value only before entering
 * .vcpu_run() loop"). The guest's kernel then takes the hit of a breakpoint for an INT1 instruction of the program.
 */
static void explain_trap(const struct event_config *config, int status)
{
    unsigned i = 0;
    while (i < config->count && config->events[i].attr.type != PERF_TYPE_BREAKPOINT)
        i++;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP && i < config->count)
        report_warning("SIGTRAP killed the command. Breakpoint events such as '%s' can cause this in a virtual machine "
                       "on an Intel CPU, if the host's Linux is older than 6.14. If the command also ends like this "
                       "without these events, the cause is another one",
                       config->events[i].name);
}

/* The events that the command should inherit were refused. */
static void give_own_events(struct run *run)
{
    sampler_give_up(&run->config, run->launch.inherit_error);
    ring_sizes_choose(&run->config, &run->line.settings); /* the tasks have other rates now */
    run->session.segment->flags &= ~(uint32_t)(PINJECT_SESSION_INHERITS | PINJECT_SESSION_SYSTEM_WIDE |
                                               PINJECT_SESSION_SETTLED);
    if (run->line.settings.verbose && run->config.note_count)
        report_note("%s", run->config.notes[run->config.note_count - 1]);
}

/* With a system-wide set, the kernel's accounting has what the command's process did before its exec. */
static void tell_startup(struct run *run)
{
    const struct launch *launch = &run->launch;
    const struct accounting_task before = {.tid = launch->pid,
                                           .cpu_ns = launch->startup_ns,
                                           .switches = launch->startup_switches,
                                           .minor_faults = launch->startup_minor_faults,
                                           .major_faults = launch->startup_major_faults};
    inherited_set_before(run->session.inherited_sets, &before);
}

/* Lets the command go, collects until its end, reports the result. Returns the exit status. */
static int run_command(struct run *run)
{
    const bool inherits = run->launch.inherited_set;
    int error = 0;
    if (run->config.inherits && !inherits)
        give_own_events(run);
    run->args.root_inherited_set = run->launch.inherited_set;
    run->args.root_readings = run->launch.readings;
    if (!inherits)
        error = attach_task(&run->session, run->launch.pid, ATTACH_ON_EXEC, &run->args.root_events);
    if (error) {
        report_warning("the command cannot be profiled: %s; 'pinject-run --doctor' says what to change",
                       strerror(-error));
        run->args.root_events = NULL;
    }
    if (run->config.whole_tree && run->args.root_events) {
        run->args.root_non_injectable = run->line.settings.command;
        event_config_close_keepers(&run->config); /* in our threads they would only slow switches down */
        run->session.tree_end_fd = attach_tree_end(run->args.root_events, &run->session.tree_end_ring);
    } else if (run->launch.non_injectable && inherits) {
        run->args.root_non_injectable = run->line.settings.command;
    } else if (run->launch.non_injectable && run->args.root_events) {
        run->args.root_non_injectable = run->line.settings.command;
        run->args.root_inherit_error = inherited_open(run->session.inherited_sets, run->launch.pid, run->launch.pid,
                                                      INHERIT_EXECS);
    }
    run->session.segment->root = run->launch.pid;
    run->args.root_start_ns = run->session.start_ns;
    error = service_start_workers(&run->session);
    if (error)
        return STATUS_OWN;
    error = let_go(run);
    if (error) {
        service_stop_workers(&run->session);
        if (run->args.root_events) {
            attach_retire(&run->session, run->args.root_events);
            attach_free(run->args.root_events);
        }
        return error == ENOENT ? STATUS_NOT_FOUND : error == ECHILD ? STATUS_OWN : STATUS_NOT_RUN;
    }
    run->args.root_startup_ns = run->launch.startup_ns;
    tell_startup(run);
    live_start(&run->live, &run->session, &run->signals.old_mask);
    error = collect_run(&run->args, &run->outcome);
    service_stop_workers(&run->session);
    live_end(&run->live, run->signals.ends);
    if (run->result)
        repeat_fill(run->result, &run->outcome);
    const int unprinted = count_output_print(&run->counts, &run->session, &run->outcome);
    summary_print(&run->session, run->results, &run->outcome, &run->line.settings);
    if (run->outcome.root_ended)
        explain_trap(&run->config, run->outcome.root_status);
    const bool failed = error || unprinted;
    if (run->line.settings.strict && (summary_incomplete(&run->session, run->results, &run->outcome) || failed))
        return STATUS_OWN;
    return run->outcome.root_ended ? exit_status(run->outcome.root_status) : error ? STATUS_OWN : 0;
}

static int run_session(struct run *run)
{
    if (launch_find_preload(run->preload))
        return STATUS_OWN;
    if (run->line.settings.stacks_after_ns && !show_stacks_of_tree()) {
        report_error("--stacks-after works on x86-64 and AArch64 only");
        return STATUS_OWN;
    }
    if (!run->result) /* else it was found */
        find_outfile(run);
    if (live_init(&run->live, &run->line.settings))
        return STATUS_OWN;
    if (count_output_open(&run->counts, &run->line.settings)) {
        live_release(&run->live);
        return STATUS_OWN;
    }
    if (prepare_run(run)) {
        count_output_close(&run->counts);
        live_release(&run->live);
        return STATUS_OWN;
    }
    say_notes(run);
    int status = STATUS_OWN, error;
    struct signals *signals = &run->signals;
    error = signals_init(signals);
    if (!error && !launch_start(&run->launch, &run->session, run->line.settings.command, &signals->old_mask)) {
        signals_set_root(signals, run->launch.pid, run->launch.apart);
        signals->stacks = show_stacks_of_tree() != NULL;
        run->args = (struct collect_args){.session = &run->session,
                                          .results = run->results,
                                          .root = run->launch.pid,
                                          .root_pidfd = run->launch.pidfd,
                                          .signals = signals,
                                          .stacks = show_stacks_of_tree(),
                                          .counts = &run->counts};
        status = run_command(run);
        launch_release(&run->launch);
        outcome_release(&run->outcome);
    }
    if (!error)
        signals_release(signals);
    live_release(&run->live);
    count_output_close(&run->counts);
    release_run(run);
    return status;
}

/* One of several runs: its files are BASE-NUMBER.PID.TID. */
static int run_again(void *context, unsigned number, struct repeat_result *result)
{
    struct run *run = context;
    struct settings *settings = &run->line.settings;
    static char name[PATH_MAX]; /* in a process that makes one run; it lives as long */
    find_outfile(run);
    if ((size_t)snprintf(name, sizeof name, "%s-%u", settings->outfile, number) >= sizeof name) {
        report_error("cannot write result files to '%s': the name is too long; choose another one with --outfile",
                     settings->outfile);
        return STATUS_OWN;
    }
    settings->outfile = name;
    settings->run = number;
    settings->quiet = true;
    report_quiet(true);
    run->result = result;
    return run_session(run);
}

/* Tells the preload object that started us where the session is, or why there is none. */
static void answer_preload_object(int fd, const char *text)
{
    char line[PINJECT_PATH + 2];
    int size = snprintf(line, sizeof line, "%s\n", text);
    if (size > 0 && (size_t)size < sizeof line)
        buffer_write(fd, line, (size_t)size);
    close(fd);
}

/*
 * Nobody reads the output of a detached collector once the program runs. Before that the user has to see an error in
 * PINJECT_*.
 */
static void detach_output(const struct settings *settings)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    for (int fd = 0; fd < 3; fd++)
        if (fd < 2 || !settings->verbose)
            dup2(null, fd);
    if (null > 2)
        close(null);
}

/* The program's stderr has the number after the pipe's (preload/start.c). */
static void attach_stderr(int fd)
{
    if (fcntl(fd, F_GETFD) < 0)
        return;
    dup2(fd, 2);
    close(fd);
}

static int collect_session(struct run *run)
{
    int fd = (int)run->line.collect_fd;
    const char *preload = run->line.preload ? run->line.preload : "";
    if (fcntl(fd, F_SETFD, FD_CLOEXEC)) {
        report_error("--collect is an internal option, only for libpinject.so (descriptor %d is not open)", fd);
        return STATUS_OWN;
    }
    attach_stderr(fd + 1);
    int error = strlen(preload) < sizeof run->preload ? 0 : -ENAMETOOLONG;
    if (!error)
        strcpy(run->preload, preload);
    if (!error)
        error = settings_parse_environment(&run->line);
    report_quiet(run->line.settings.quiet || !run->line.settings.verbose);
    find_outfile(run);
    if (!error)
        error = count_output_open(&run->counts, &run->line.settings);
    if (!error)
        error = prepare_run(run);
    if (error) {
        count_output_close(&run->counts);
        answer_preload_object(fd, "!");
        return STATUS_OWN;
    }
    error = signals_init(&run->signals);
    if (!error)
        error = service_start_workers(&run->session);
    if (!error) {
        answer_preload_object(fd, run->session.segment->path);
        detach_output(&run->line.settings);
        place_leave();
        run->args = (struct collect_args){.session = &run->session,
                                          .results = run->results,
                                          .root_pidfd = -1,
                                          .signals = &run->signals,
                                          .counts = &run->counts};
        error = collect_run(&run->args, &run->outcome);
        service_stop_workers(&run->session);
        count_output_print(&run->counts, &run->session, &run->outcome);
        if (run->line.settings.verbose)
            summary_print(&run->session, run->results, &run->outcome, &run->line.settings);
        outcome_release(&run->outcome);
    }
    count_output_close(&run->counts);
    release_run(run);
    return error ? STATUS_OWN : 0;
}

/* stdout may be a full disk. */
static int flush_output(void)
{
    if (!fflush(stdout) && !ferror(stdout))
        return 0;
    report_error("cannot write to stdout: %s", strerror(errno));
    return STATUS_OWN;
}

static int examine_machine(struct run *run)
{
    char reason[2 * PATH_MAX + 256] =
        "the path of libpinject.so is too long; install pinject in a directory with a shorter path";
    int status = launch_look_for_preload(run->preload, reason, sizeof reason);
    find_outfile(run);
    const struct doctor_args args = {.settings = &run->line.settings,
                                     .preload = status ? "" : run->preload,
                                     .preload_error = reason,
                                     .unreadable = status == -EACCES ? run->preload : NULL};
    /* In one piece: it is no error if a reader takes only the first line. */
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    bool full = doctor_run(&args, stdout);
    int error = flush_output();
    return error ? error : full ? 0 : STATUS_LIMITED;
}

static int print_stacks(const struct settings_line *line)
{
    int status = show_stacks(line), error = flush_output();
    return error || status < 0 ? STATUS_OWN : status ? STATUS_LIMITED : 0;
}

/* The event loop frees what workers allocate: with an arena for each thread that costs locks and page faults. */
static void tune_allocator(void)
{
    mallopt(M_ARENA_MAX, 1);
}

/* 1: it is not as was asked. */
static int print_events(const struct settings_line *line)
{
    int status;
    if (line->action == SETTINGS_LIST_EVENTS)
        status = list_events(&event_sources_system, line->pattern, line->with_text, stdout);
    else if (line->action == SETTINGS_EVENT_INFO)
        status = list_events_info(&event_sources_system, line->event, stdout);
    else
        status = list_events_check(&line->settings, stdout);
    const int written = flush_output();
    return written ? written : status < 0 ? STATUS_OWN : status;
}

int main(int argc, char **argv)
{
    static struct run run; /* large; the only state of the program, passed down */
    report_program("pinject-run");
    launch_set_signals();
    tune_allocator();
    if (settings_parse(&run.line, argc, argv))
        return STATUS_OWN;
    report_quiet(run.line.settings.quiet);
    switch (run.line.action) {
    case SETTINGS_COLLECT: return collect_session(&run);
    case SETTINGS_WAIT:
        if (run.line.wait_base)
            run.line.settings.outfile = run.line.wait_base;
        const char *base = run.line.settings.outfile;
        find_outfile(&run);
        /* The directory of that name may have been made since the session began. */
        return wait_for(run.line.settings.outfile, run.line.settings.directory && !strchr(base, '/') ? base : NULL);
    case SETTINGS_INFO: info_print(&event_sources_system, stdout); return flush_output();
    case SETTINGS_LIST_EVENTS:
    case SETTINGS_EVENT_INFO:
    case SETTINGS_CHECK_EVENTS: return print_events(&run.line);
    case SETTINGS_LIST_REGS: sample_words_print_registers(stdout); return flush_output();
    case SETTINGS_DOCTOR: return examine_machine(&run);
    case SETTINGS_STACKS: return print_stacks(&run.line);
    case SETTINGS_VERSION: printf("pinject-run %s\n", PINJECT_VERSION_STRING); return flush_output();
    case SETTINGS_HELP: settings_help(stdout, run.line.help_all); return flush_output();
    default: return run.line.settings.repeat ? repeat_runs(&run.line.settings, run_again, &run) : run_session(&run);
    }
}
