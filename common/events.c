/* SPDX-License-Identifier: MIT */
#include "common/events.h"

#include <errno.h>
#include <pinject/kernel.h>
#include <stdio.h>
#include <string.h>

#include "common/nearest.h"
#include "common/report.h"

#define HARDWARE(config, name, alias)                                  \
    {                                                                  \
        name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, false \
    }
#define SOFTWARE(config, name, alias)                                  \
    {                                                                  \
        name, alias, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, false \
    }
#define CLOCK(config, name)                                          \
    {                                                                \
        name, NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, true \
    }

const struct event_name events_names[] = {
    HARDWARE(CPU_CYCLES, "cycles", "cpu-cycles"),
    HARDWARE(INSTRUCTIONS, "instructions", NULL),
    HARDWARE(CACHE_REFERENCES, "cache-references", NULL),
    HARDWARE(CACHE_MISSES, "cache-misses", NULL),
    HARDWARE(BRANCH_INSTRUCTIONS, "branches", "branch-instructions"),
    HARDWARE(BRANCH_MISSES, "branch-misses", NULL),
    HARDWARE(BUS_CYCLES, "bus-cycles", NULL),
    HARDWARE(STALLED_CYCLES_FRONTEND, "stalled-cycles-frontend", "idle-cycles-frontend"),
    HARDWARE(STALLED_CYCLES_BACKEND, "stalled-cycles-backend", "idle-cycles-backend"),
    HARDWARE(REF_CPU_CYCLES, "ref-cycles", NULL),
    CLOCK(TASK_CLOCK, "task-clock"),
    CLOCK(CPU_CLOCK, "cpu-clock"),
    SOFTWARE(PAGE_FAULTS, "page-faults", "faults"),
    SOFTWARE(PAGE_FAULTS_MIN, "minor-faults", NULL),
    SOFTWARE(PAGE_FAULTS_MAJ, "major-faults", NULL),
    SOFTWARE(CONTEXT_SWITCHES, "context-switches", "cs"),
    SOFTWARE(CPU_MIGRATIONS, "cpu-migrations", "migrations"),
    SOFTWARE(ALIGNMENT_FAULTS, "alignment-faults", NULL),
    SOFTWARE(EMULATION_FAULTS, "emulation-faults", NULL),
    SOFTWARE(DUMMY, "dummy", NULL),
    SOFTWARE(CGROUP_SWITCHES, "cgroup-switches", NULL),
};
const size_t events_count = sizeof(events_names) / sizeof(events_names[0]);

static bool is_word(const char *word, const char *text, size_t size)
{
    return word && strlen(word) == size && memcmp(word, text, size) == 0;
}

static const struct event_name *find_name(const char *text, size_t size)
{
    for (size_t i = 0; i < events_count; i++)
        if (is_word(events_names[i].name, text, size) || is_word(events_names[i].alias, text, size))
            return &events_names[i];
    return NULL;
}

static void report_unknown(const char *name)
{
    const char *words[2 * (sizeof(events_names) / sizeof(events_names[0]))];
    for (size_t i = 0; i < events_count; i++) {
        words[2 * i] = events_names[i].name;
        words[2 * i + 1] = events_names[i].alias;
    }
    const char *near = nearest_word(name, words, sizeof(words) / sizeof(words[0]));
    if (near)
        report_error("unknown event '%s'; did you mean '%s'?", name, near);
    else
        report_error("unknown event '%s'; events are cycles, instructions, task-clock, page-faults and others (see "
                     "'pinject-run --info')",
                     name);
}

static int parse_modifiers(const char *text, size_t size, struct event_choice *choice)
{
    bool user = false, kernel = false;
    for (size_t i = 0; i < size; i++) {
        user |= text[i] == 'u';
        kernel |= text[i] == 'k';
        if (text[i] != 'u' && text[i] != 'k') {
            report_error("event '%s': unknown modifier '%c'; use u (user space) or k (kernel)", choice->text, text[i]);
            return -EINVAL;
        }
    }
    if (!user && !kernel) {
        report_error("event '%s' ends in ':' without a modifier; write :u, :k, or the name alone", choice->text);
        return -EINVAL;
    }
    choice->exclude_user = !user;
    choice->exclude_kernel = !kernel;
    return 0;
}

int events_parse(const char *text, size_t size, struct event_choice *ret_choice)
{
    struct event_choice choice = {.event = NULL};
    size = strnlen(text, size);
    if (size == 0) {
        report_error("empty name in the list of events; write them as task-clock,page-faults");
        return -EINVAL;
    }
    if (size >= sizeof(choice.text)) {
        report_error("unknown event '%.40s...'", text);
        return -EINVAL;
    }
    memcpy(choice.text, text, size);
    const char *colon = memchr(text, ':', size);
    size_t length = colon ? (size_t)(colon - text) : size;
    choice.event = find_name(text, length);
    if (!choice.event) {
        char name[sizeof(choice.text)];
        snprintf(name, sizeof(name), "%.*s", (int)length, text);
        report_unknown(name);
        return -EINVAL;
    }
    if (colon && parse_modifiers(colon + 1, size - length - 1, &choice) < 0)
        return -EINVAL;
    *ret_choice = choice;
    return 0;
}

const struct event_name *events_find(uint32_t type, uint64_t config)
{
    for (size_t i = 0; i < events_count; i++)
        if (events_names[i].type == type && events_names[i].config == config)
            return &events_names[i];
    return NULL;
}
