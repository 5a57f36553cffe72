/* SPDX-License-Identifier: MIT */
#include "collector/doctor/doctor.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collector/doctor/doctor_probe.h"
#include "common/buffer.h"
#include "common/report.h"

static const struct row {
    const char *label; /* a heading if there is no probe */
    doctor_probe *probe;
    bool command;        /* only if a command is given */
    const char *missing; /* what a profile lacks if this is limited, for the verdict. NULL: it never is */
} rows[] = {
    {"events", NULL, false, NULL},
    {"perf events", doctor_perf_events, false, "with timers instead of perf events"},
    {"kernel code", doctor_kernel_samples, false, "without kernel code"},
    {"hardware", doctor_hardware, false, "without hardware events"},
    {"events used", doctor_sampler, false, NULL},
    {"sample rate", doctor_rate, false, NULL},
    {"sample cost", doctor_sample_cost, false, NULL},
    {"kernel names", doctor_kernel_names, false, "without the names of kernel functions"},
    {"timers", doctor_timers, false, "without timers"},
    {"accounting", doctor_accounting, false, NULL},
    {"clock", doctor_clock, false, NULL},
    {"limits", NULL, false, NULL},
    {"locked memory", doctor_rings, false, "only a few tasks can be sampled at a time"},
    {"open files", doctor_descriptors, false, "only a few tasks can be profiled at a time"},
    {"tasks", doctor_tasks, false, NULL},
    {"shared memory", doctor_segment, false, NULL},
    {"result files", doctor_output, false, "little disk space is left for result files"},
    {"injection", NULL, false, NULL},
    {"preload object", doctor_preload, false, NULL},
    {"other users", doctor_preload_access, false, NULL},
    {"LD_PRELOAD", doctor_injection, false, NULL},
    {"attaching", doctor_outside, false, "without the names of some functions"},
    {"Yama", doctor_yama, false, NULL},
    {"the command", NULL, true, NULL},
    {"file", doctor_command_file, true, "only env is profiled, not the program that it starts"},
    {"program", doctor_command_executable, true, "the preload object cannot be loaded"},
    {"rights", doctor_command_rights, true, "the command is not sampled"},
    {"loader", doctor_command_loader, true, "the preload object cannot be loaded"},
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

/*
 * "Full profiling works.", "For 'make': profiling works, but without kernel code: CAUSE; little disk space is
 * left for result files: CAUSE.", "Profiling does not work: shared memory: CAUSE."
 */
static void print_verdict(FILE *to, const struct doctor_facts *facts, const struct report *report, int width)
{
    static const char *const verdicts[] = {
        [DOCTOR_OK] = "full profiling works",
        [DOCTOR_NOTE] = "full profiling works",
        [DOCTOR_LIMITED] = "profiling works, but ",
        [DOCTOR_REFUSED] = "profiling does not work: ",
    };
    char name[128];
    struct buffer text = BUFFER_INIT;
    char *const *command = facts->args->settings->command;
    if (command)
        buffer_printf(&text, "For '%s': ", report_safe(name, sizeof(name), command[0], strlen(command[0])));
    buffer_printf(&text, "%s", verdicts[report->worst]);
    if (!command && text.data)
        text.data[0] = (unsigned char)toupper(text.data[0]);
    const char *before = "";
    for (size_t i = 0; i < ROWS && report->worst >= DOCTOR_LIMITED; i++) {
        if (report->findings[i].level != report->worst)
            continue;
        const char *missing = report->worst == DOCTOR_LIMITED && rows[i].missing ? rows[i].missing : rows[i].label;
        buffer_printf(&text, "%s%s: %s", before, missing, report->findings[i].value);
        before = "; ";
    }
    buffer_append(&text, ".", 2);
    doctor_wrap(to, text.data && !buffer_failed(&text) ? (const char *)text.data : "out of memory", 0, 0, width);
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
    bool choice = false;
    for (size_t i = 0; i < ROWS; i++)
        choice |= strstr(report->findings[i].remedy, "# or") != NULL;
    if (report->worst >= DOCTOR_LIMITED)
        fprintf(to, "\nTo fix this, run the commands after '>'%s.\n",
                choice ? "; a command with '# or' is an alternative to the one above" : "");
}

bool doctor_run(const struct doctor_args *args, FILE *to)
{
    static struct report report; /* large, and used once */
    static struct doctor_facts facts;
    int status = doctor_facts_init(&facts, args);
    if (status < 0) {
        report_error("--doctor cannot check anything: %s", strerror(-status));
        return false;
    }
    report = (struct report){.worst = DOCTOR_OK};
    find_all(&facts, &report);
    print_all(to, &facts, &report);
    doctor_facts_release(&facts);
    return report.worst < DOCTOR_LIMITED;
}
