/* SPDX-License-Identifier: MIT */
#include "collector/repeat.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/count_output.h"
#include "collector/count_sets.h"
#include "common/buffer.h"
#include "common/report.h"
#include "counts/count_spread.h"

enum { STATUS_OWN = 125, STATUS_NOT_FOUND = 127 };

struct repeat {
    const struct settings *settings;
    int (*run)(void *context, unsigned number, struct repeat_result *ret);
    void *context;
    struct repeat_result *results; /* shared with the children; of the complete runs */
    size_t done;
    sigset_t ends, mask; /* signals that end the series; what was blocked before */
    bool stopped;        /* by one of them */
    int status;
};

void repeat_fill(struct repeat_result *ret, const struct outcome *outcome)
{
    const struct counts *counts = &outcome->counts;
    if (!counts->store.total)
        return;
    ret->event_count = counts->event_count;
    for (size_t i = 0; i < counts->event_count; i++) {
        const struct count_event *from = &counts->events[i];
        struct repeat_event *to = &ret->events[i];
        snprintf(to->name, sizeof(to->name), "%s", from->name);
        snprintf(to->unit, sizeof(to->unit), "%s", from->unit ? from->unit : "");
        to->scale = from->scale;
        to->nanoseconds = from->nanoseconds;
        to->unsupported = from->unsupported;
        to->set = from->set;
        to->type = from->type;
        to->config = from->config;
        to->cell = counts->store.total[i];
    }
    ret->times = (struct count_times){.elapsed_ns = outcome->elapsed_ns ? outcome->elapsed_ns : outcome->wall_ns,
                                      .user_ns = outcome_time(&outcome->tree.ru_utime),
                                      .system_ns = outcome_time(&outcome->tree.ru_stime),
                                      .cpu_known = outcome->cpu_ns > 0};
    ret->tasks = counts->store.task_count;
    ret->whole_tree = outcome->whole_tree;
    ret->complete = outcome->root_ended && !WIFSIGNALED(outcome->root_status);
}

/* ---- Runs ---- */

/* Waits for CHILD. Signals from elsewhere are passed on: those of the terminal reach it, too. */
static void await(struct repeat *repeat, pid_t child)
{
    int status;
    for (;;) {
        siginfo_t info;
        if (sigwaitinfo(&repeat->ends, &info) < 0)
            continue;
        if (info.si_signo != SIGCHLD) {
            repeat->stopped = true;
            if (info.si_code <= 0)
                kill(child, info.si_signo);
        } else if (waitpid(child, &status, WNOHANG) == child) {
            break;
        }
    }
    repeat->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* False: no run follows. */
static bool run_once(struct repeat *repeat, unsigned number)
{
    struct repeat_result *result = &repeat->results[repeat->done];
    memset(result, 0, sizeof(*result));
    pid_t child = fork();
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &repeat->mask, NULL);
        _exit(repeat->run(repeat->context, number, result));
    }
    if (child < 0) {
        report_error("cannot start run %u: %s", number, strerror(errno));
        repeat->status = STATUS_OWN;
        return false;
    }
    await(repeat, child);
    repeat->done += result->complete;
    /* What does not start will not start the next time. */
    return !repeat->stopped && (result->complete || repeat->status < STATUS_OWN || repeat->status > STATUS_NOT_FOUND);
}

/* --pre and --post. */
static bool run_command(struct repeat *repeat, const char *option, const char *command)
{
    if (!command || repeat->stopped)
        return true;
    const int status = system(command);
    if (status == 0)
        return true;
    const bool ended = status > 0 && WIFSIGNALED(status);
    report_error("the command of --%s failed (%s %d), so no further run starts", option, ended ? "signal" : "status",
                 ended ? WTERMSIG(status) : WEXITSTATUS(status));
    repeat->status = STATUS_OWN;
    return false;
}

/* ---- The result ---- */

struct figures {
    struct count_event events[2 * CONFIG_EVENTS];
    struct count_spread spreads[2 * CONFIG_EVENTS];
    struct count_cell cells[2 * CONFIG_EVENTS];
};

static uint64_t round_off(double value)
{
    return value > 0 ? (uint64_t)(value + 0.5) : 0;
}

/* The mean of event INDEX over the runs that counted it. */
static void join_event(const struct repeat *repeat, size_t index, double *values, struct figures *ret)
{
    const struct repeat_event *first = &repeat->results[0].events[index];
    struct count_cell sum = {0};
    size_t known = 0;
    ret->events[index] = (struct count_event){.name = first->name,
                                              .unit = first->unit,
                                              .scale = first->scale,
                                              .set = first->set,
                                              .nanoseconds = first->nanoseconds,
                                              .unsupported = first->unsupported,
                                              .type = first->type,
                                              .config = first->config};
    for (size_t i = 0; i < repeat->done; i++) {
        const struct count_cell *cell = &repeat->results[i].events[index].cell;
        if (!count_is_known(cell))
            continue;
        values[known++] = (double)cell->scaled;
        count_add(&sum, cell, 1);
    }
    ret->spreads[index] = count_spread(values, known);
    sum.value = sum.scaled = round_off(ret->spreads[index].mean);
    sum.enabled_ns /= known ? known : 1;
    sum.running_ns /= known ? known : 1;
    ret->cells[index] = sum;
}

static struct count_spread join_times(const struct repeat *repeat, double *values, struct count_times *ret)
{
    double user = 0, system = 0;
    for (size_t i = 0; i < repeat->done; i++) {
        const struct count_times *times = &repeat->results[i].times;
        values[i] = (double)times->elapsed_ns;
        user += (double)times->user_ns / (double)repeat->done;
        system += (double)times->system_ns / (double)repeat->done;
    }
    const struct count_spread spread = count_spread(values, repeat->done);
    *ret = (struct count_times){.elapsed_ns = round_off(spread.mean),
                                .user_ns = round_off(user),
                                .system_ns = round_off(system),
                                .cpu_known = true};
    return spread;
}

static void print_figures(const struct repeat *repeat, struct figures *figures, double *values, FILE *to)
{
    const struct settings *settings = repeat->settings;
    const struct repeat_result *first = &repeat->results[0];
    struct count_store store;
    char *command = count_output_command(settings);
    struct count_report report = {.events = figures->events,
                                  .event_count = first->event_count,
                                  .store = &store,
                                  .spreads = figures->spreads,
                                  .runs = repeat->done,
                                  .whole_tree = first->whole_tree,
                                  .command = command};
    const struct count_style style = {
        .form = settings->count_form, .digits = settings->count_digits, .separator = settings->separator};
    report.elapsed_spread = join_times(repeat, values, &report.times);
    if (count_store_init(&store, COUNT_ALL, first->event_count, 0) == 0) {
        const struct count_row row = {.cells = figures->cells};
        for (size_t i = 0; i < first->event_count; i++)
            join_event(repeat, i, values, figures);
        count_store_add(&store, &row);
        store.task_count = first->tasks;
        count_print(&report, &style, to);
        count_sets_warn(figures->events, figures->cells, first->event_count, settings->switch_ns);
    }
    count_store_release(&store);
    free(command);
}

static int print_result(const struct repeat *repeat, const struct count_output *output)
{
    char *text = NULL;
    size_t size = 0;
    struct figures *figures = calloc(1, sizeof(*figures));
    double *values = calloc(repeat->done, sizeof(*values));
    FILE *to = figures && values ? open_memstream(&text, &size) : NULL;
    int error = to ? 0 : -ENOMEM;
    if (to)
        print_figures(repeat, figures, values, to);
    if (to && fclose(to) != 0)
        error = -ENOMEM;
    if (!error)
        error = buffer_write(output->fd, text, size);
    free(text);
    free(values);
    free(figures);
    if (error)
        report_error("cannot write the counts: %s", strerror(-error));
    return error;
}

/* Runs and --pre, --post. */
static void run_all(struct repeat *repeat)
{
    const struct settings *settings = repeat->settings;
    unsigned number = 0;
    bool goes_on = true;
    while (goes_on && number < settings->repeat && !repeat->stopped) {
        goes_on = run_command(repeat, "pre", settings->pre) && run_once(repeat, ++number) &&
                  run_command(repeat, "post", settings->post);
    }
    if (repeat->done < settings->repeat)
        report_warning("%zu of %" PRIu64 " runs are complete%s", repeat->done, settings->repeat,
                       repeat->stopped ? ": a signal stopped the series, so the other runs are left out" : "");
}

int repeat_runs(struct settings *settings, int (*run)(void *context, unsigned number, struct repeat_result *ret),
                void *context)
{
    struct repeat repeat = {.settings = settings, .run = run, .context = context};
    struct count_output output;
    const size_t size = settings->repeat * sizeof(*repeat.results);
    if (count_output_open(&output, settings))
        return STATUS_OWN;
    repeat.results = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (repeat.results == MAP_FAILED) {
        report_error("out of memory; use a smaller --repeat");
        count_output_close(&output);
        return STATUS_OWN;
    }
    static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD};
    sigemptyset(&repeat.ends);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaddset(&repeat.ends, signals[i]);
    sigprocmask(SIG_BLOCK, &repeat.ends, &repeat.mask);
    run_all(&repeat);
    if (repeat.done && print_result(&repeat, &output) && settings->strict)
        repeat.status = STATUS_OWN;
    sigprocmask(SIG_SETMASK, &repeat.mask, NULL);
    munmap(repeat.results, size);
    count_output_close(&output);
    return repeat.status;
}
