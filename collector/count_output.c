/* SPDX-License-Identifier: MIT */
#include "collector/count_output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pinject/pinject.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/count_sets.h"
#include "collector/system/machine.h"
#include "common/buffer.h"
#include "common/report.h"

int count_output_open(struct count_output *output, const struct settings *settings)
{
    /* A bare session has no stderr of its own; see docs/ENVIRONMENT.md. */
    *output = (struct count_output){.fd = settings->bare && !settings->verbose ? -1 : STDERR_FILENO};
    if (settings->run) /* repeat.c prints */
        output->fd = -1;
    if (!settings->counts_file || settings->run)
        return 0;
    const int how = settings->append ? O_APPEND : O_TRUNC;
    output->fd = open(settings->counts_file, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | how, settings->mode);
    output->own = output->fd >= 0;
    if (output->own)
        return 0;
    int error = errno;
    report_error("cannot write counts to '%s': %s; choose another file with --counts-file", settings->counts_file,
                 strerror(error));
    return -error;
}

void count_output_close(struct count_output *output)
{
    if (output->own)
        close(output->fd);
    *output = (struct count_output){.fd = -1};
}

char *count_output_command(const struct settings *settings)
{
    char *const *command = settings->command;
    struct buffer text = BUFFER_INIT;
    for (; command && *command; command++)
        buffer_printf(&text, "%s%s", text.size ? " " : "", *command);
    buffer_append(&text, "", 1);
    if (!buffer_failed(&text))
        return (char *)text.data;
    buffer_release(&text);
    return NULL;
}

static void print_line(const char *name, const char *value, FILE *to)
{
    char safe[512];
    fprintf(to, "# %-9s %s\n", name, report_safe(safe, sizeof(safe), value, strlen(value)));
}

static void print_header(const struct session *session, const char *command, FILE *to)
{
    struct machine machine;
    char text[160];
    const time_t start = (time_t)(session->start_realtime_ns / 1000000000);
    struct tm tm;
    machine_read(&machine);
    if (localtime_r(&start, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S%z", &tm))
        print_line("started", text, to);
    print_line("pinject", PINJECT_VERSION_STRING, to);
    print_line("host", machine.hostname, to);
    snprintf(text, sizeof(text), "Linux %s %s", machine.release, machine.arch);
    print_line("kernel", text, to);
    snprintf(text, sizeof(text), "%" PRIu32 " online of %" PRIu32 "%s%s", machine.cpus_online, machine.cpus_configured,
             machine.cpu[0] ? ", " : "", machine.cpu);
    print_line("CPUs", text, to);
    snprintf(text, sizeof(text), "%" PRIu64 " kB", machine.memory_kb);
    print_line("memory", text, to);
    snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, session->id[0], session->id[1]);
    print_line("session", text, to);
    print_line("command", command, to);
}

static uint64_t elapsed_of(const struct session *session, const struct outcome *outcome)
{
    return outcome->elapsed_ns && !session->settings->linger ? outcome->elapsed_ns : outcome->wall_ns;
}

/* As time(1) does. */
static void print_times(const struct session *session, const struct outcome *outcome, FILE *to)
{
    const uint64_t times[] = {elapsed_of(session, outcome), outcome_time(&outcome->tree.ru_utime),
                              outcome_time(&outcome->tree.ru_stime)};
    static const char *const names[] = {"real", "user", "sys"};
    for (unsigned i = 0; i < 3; i++)
        if (i == 0 || outcome->cpu_ns)
            fprintf(to, "%s %" PRIu64 ".%06" PRIu64 "\n", names[i], times[i] / 1000000000,
                    times[i] % 1000000000 / 1000);
}

static struct count_style style_of(const struct settings *settings)
{
    return (struct count_style){.form = settings->count_form,
                                .digits = settings->count_digits,
                                .by = settings->count_by,
                                .separator = settings->separator};
}

void count_output_interval(const struct count_output *output, const struct session *session, struct counts *interval,
                           uint64_t now_ns, uint64_t length_ns)
{
    const struct count_style style = style_of(session->settings);
    const struct counts_run run = {.at_ns = now_ns > session->start_ns ? now_ns - session->start_ns : 1,
                                   .elapsed_ns = length_ns};
    char *text = NULL;
    size_t size = 0;
    FILE *to = output && output->fd >= 0 && !count_store_sort(&interval->store) ? open_memstream(&text, &size) : NULL;
    if (to) {
        counts_print(interval, session->config, &run, &style, to);
        if (fclose(to) == 0)
            buffer_write(output->fd, text, size);
    }
    free(text);
    counts_release(interval);
    counts_init(interval, session->config, style.by);
}

static void print_counts(const struct session *session, struct outcome *outcome, const char *command, FILE *to)
{
    const struct settings *settings = session->settings;
    const struct counts_run run = {.intervals = settings->interval_ns > 0,
                                   .command = command,
                                   .elapsed_ns = elapsed_of(session, outcome),
                                   .cpu_known = outcome->cpu_ns > 0 && !settings->bare,
                                   .tree = outcome->tree};
    const struct count_style style = style_of(settings);
    if (settings->with_header)
        print_header(session, command, to);
    counts_print(&outcome->counts, session->config, &run, &style, to);
}

/* Of event sets, where the counts are printed: warnings that come after them. */
static void warn_of_sets(const struct session *session, const struct outcome *outcome)
{
    const struct counts *counts = &outcome->counts;
    const uint64_t switch_ns = session->settings->switch_ns;
    if (!session->config->turn_count || !counts->store.total)
        return;
    count_sets_warn(counts->events, counts->store.total, counts->event_count, switch_ns);
    count_sets_warn_length(outcome->turn_ns, switch_ns);
}

int count_output_print(const struct count_output *output, const struct session *session, struct outcome *outcome)
{
    const struct settings *settings = session->settings;
    char *text = NULL, *command = count_output_command(settings);
    size_t size = 0;
    FILE *to = output->fd >= 0 && (settings->stat || settings->show_time) ? open_memstream(&text, &size) : NULL;
    int error = 0;
    const uint64_t end_ns = session->start_ns + outcome->wall_ns;
    if (settings->stat && settings->interval_ns && outcome->interval.store.total)
        count_output_interval(output, session, &outcome->interval, end_ns,
                              end_ns > outcome->interval_ns ? end_ns - outcome->interval_ns : 0);
    if (to) {
        if (settings->stat)
            error = count_store_sort(&outcome->counts.store);
        if (settings->stat)
            print_counts(session, outcome, command ? command : "", to);
        if (settings->show_time)
            print_times(session, outcome, to);
        if (fclose(to) != 0)
            error = -ENOMEM;
        if (!error)
            error = buffer_write(output->fd, text, size);
    } else if (output->fd >= 0 && (settings->stat || settings->show_time)) {
        error = -ENOMEM;
    }
    if (output->fd >= 0)
        warn_of_sets(session, outcome);
    free(command);
    free(text);
    if (error)
        report_error("cannot write the counts to '%s': %s", settings->counts_file ? settings->counts_file : "stderr",
                     strerror(-error));
    return error;
}
