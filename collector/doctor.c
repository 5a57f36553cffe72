/* SPDX-License-Identifier: MIT */
#include "collector/doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collector/doctor_probe.h"
#include "common/buffer.h"
#include "common/report.h"

static const struct row {
    const char *label; /* without a probe: a heading */
    doctor_probe *probe;
    bool command; /* only where a command is given */
} rows[] = {
    {"events", NULL, false},
    {"perf events", doctor_perf_events, false},
    {"kernel samples", doctor_kernel_samples, false},
    {"hardware", doctor_hardware, false},
    {"what is measured", doctor_sampler, false},
    {"sample rate", doctor_rate, false},
    {"a sample", doctor_sample_cost, false},
    {"kernel names", doctor_kernel_names, false},
    {"timers", doctor_timers, false},
    {"accounting", doctor_accounting, false},
    {"clock", doctor_clock, false},
    {"limits", NULL, false},
    {"locked memory", doctor_rings, false},
    {"open files", doctor_descriptors, false},
    {"tasks", doctor_tasks, false},
    {"shared memory", doctor_segment, false},
    {"result files", doctor_output, false},
    {"injection", NULL, false},
    {"object", doctor_object, false},
    {"other users", doctor_object_reach, false},
    {"LD_PRELOAD", doctor_injection, false},
    {"from outside", doctor_outside, false},
    {"yama", doctor_yama, false},
    {"the command", NULL, true},
    {"file", doctor_command_file, true},
    {"program", doctor_command_image, true},
    {"rights", doctor_command_rights, true},
    {"its loader", doctor_command_loader, true},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

struct report {
    struct doctor_finding findings[ROWS];
    enum doctor_level worst;
};

static void find_all(const struct doctor_facts *facts, struct report *report)
{
    for (size_t i = 0; i < ROWS; i++) {
        struct doctor_finding *finding = &report->findings[i];
        if (!rows[i].probe || (rows[i].command && !facts->args->settings->command))
            continue;
        rows[i].probe(facts, finding);
        if (finding->level > report->worst)
            report->worst = finding->level;
    }
}

/* What stands against full profiling, the worst of it: "locked memory: ...; kernel samples: ...". */
static void print_verdict(FILE *to, const struct doctor_facts *facts, const struct report *report, int width)
{
    static const char *const verdicts[] = {
        [DOCTOR_OK] = "full profiling works",
        [DOCTOR_NOTE] = "full profiling works",
        [DOCTOR_LIMITED] = "profiling works, but not in full",
        [DOCTOR_REFUSED] = "profiling does not work",
    };
    char name[128];
    struct buffer text = BUFFER_INIT;
    char *const *command = facts->args->settings->command;
    if (command)
        buffer_printf(&text, "For '%s': %s", report_safe(name, sizeof(name), command[0], strlen(command[0])),
                      verdicts[report->worst]);
    else
        buffer_printf(&text, "Here %s", verdicts[report->worst]);
    const char *before = ": ";
    for (size_t i = 0; i < ROWS && report->worst >= DOCTOR_LIMITED; i++) {
        if (report->findings[i].level != report->worst)
            continue;
        buffer_printf(&text, "%s%s: %s", before, rows[i].label, report->findings[i].value);
        before = "; ";
    }
    buffer_append(&text, ".", 2);
    doctor_wrap(to, text.data && !buffer_failed(&text) ? (const char *)text.data : verdicts[report->worst], 0, 0,
                width);
    buffer_release(&text);
}

static int choose_width(FILE *to)
{
    struct winsize size = {0};
    return !ioctl(fileno(to), TIOCGWINSZ, &size) && size.ws_col > 60 ? size.ws_col : 100;
}

static bool wants_color(FILE *to)
{
    const char *none = getenv("NO_COLOR"), *kind = getenv("TERM");
    return isatty(fileno(to)) == 1 && !(none && *none) && kind && strcmp(kind, "dumb") != 0;
}

static void print_all(FILE *to, const struct doctor_facts *facts, const struct report *report)
{
    int width = choose_width(to);
    bool color = wants_color(to);
    print_verdict(to, facts, report, width);
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].command && !facts->args->settings->command)
            continue;
        if (rows[i].probe)
            doctor_print(to, rows[i].label, &report->findings[i], width, color);
        else
            fprintf(to, "\n%s\n", rows[i].label);
    }
    if (report->worst >= DOCTOR_LIMITED)
        fprintf(to, "\nLines with '>' are the commands that change it.\n");
}

bool doctor_run(const struct doctor_args *args, FILE *to)
{
    static struct report report; /* large, and used once */
    static struct doctor_facts facts;
    int status = doctor_facts_init(&facts, args);
    if (status < 0) {
        report_error("cannot try anything: %s", strerror(-status));
        return false;
    }
    report = (struct report){.worst = DOCTOR_OK};
    find_all(&facts, &report);
    print_all(to, &facts, &report);
    doctor_facts_release(&facts);
    return report.worst < DOCTOR_LIMITED;
}
