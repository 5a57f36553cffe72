/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "test_view_fake.h"

#include <linux/perf_event.h>
#include <locale.h>

#define MS UINT64_C(1000000)

static const struct profile_module app = {.path = "/opt/no-such/app", .index = 0};
static const struct profile_module *const modules[] = {&app};

static const struct profile_frame frames[] = {
    {.module = &app, .offset = 0x100, .ip = 0x400100, .index = 0},
    {.module = &app, .offset = 0x200, .ip = 0x400200, .index = 1},
    {.module = &app, .offset = 0x300, .ip = 0x400300, .index = 2},
    {.module = NULL, .offset = 0xdead000, .ip = 0xdead000, .index = 3},
};

static const uint32_t parse_main[] = {1, 0}, only_main[] = {0}, recursion[] = {2, 2, 2, 0}, nowhere[] = {3};
static const struct profile_stack stacks[] = {
    {parse_main, 2, false}, {only_main, 1, false}, {recursion, 4, false}, {nowhere, 1, false}};

static const char make[] = "make", worker[] = "worker", cc1[] = "cc1";
static const struct profile_entry entries[] = {
    {0, 0, 0, make, 10, 10 * MS}, {1, 0, 1, worker, 5, 5 * MS}, {2, 0, 2, cc1, 80, 80 * MS}, {2, 0, 3, cc1, 5, 5 * MS}};

static const struct profile_event events[] = {
    {.name = "task-clock",
     .type = PERF_TYPE_SOFTWARE,
     .config = PERF_COUNT_SW_TASK_CLOCK,
     .nanoseconds = true,
     .sampled = true,
     .samples = 100,
     .weight = 100 * MS},
    {.name = "page-faults", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS}};

static const struct profile_count make_counts[] = {{0, UINT32_MAX, 12 * MS, 9, 9, 12 * MS}};
static const struct profile_count cc1_counts[] = {{1, 0, 50, 100, 50, 100}, {0, 0, 90 * MS, 5, 5, 90 * MS}};

static const char *const make_words[] = {"make", "-j2"}, *const cc1_words[] = {"cc1", "a b.c", "\033[2J\xff"};
static const struct profile_generation make_generations[] = {{1000, make, "/usr/bin/make", make_words, 2}};
static const struct profile_generation cc1_generations[] = {{3000, make, "/usr/bin/make", make_words, 2},
                                                            {3500, cc1, "/usr/lib/cc1", cc1_words, 3}};

static const struct profile_missed missed[] = {{"setuid", "su", 3, 2 * MS}};

static const struct profile_task tasks[] = {
    {.pid = 10,
     .tid = 10,
     .ppid = 1,
     .file = "out.10.10",
     .comm = make,
     .exec = "/usr/bin/make",
     .cmdline = make_words,
     .cmdline_count = 2,
     .generations = make_generations,
     .generation_count = 1,
     .start_ns = 1000,
     .end_ns = 900 * MS,
     .ended = true,
     .exit = 2,
     .source = PROFILE_SOURCE_PERF,
     .root = true,
     .startup_ns = 1 * MS,
     .exit_ns = 2 * MS,
     .exit_cost = true,
     .samples = 10,
     .weight = 10 * MS,
     .counts = make_counts,
     .count_count = 1,
     .index = 0},
    {.pid = 10,
     .tid = 11,
     .ppid = 1,
     .parent_tid = 10,
     .file = "out.10.11",
     .comm = worker,
     .exec = "/usr/bin/make",
     .cmdline = make_words,
     .cmdline_count = 2,
     .start_ns = 2000,
     .end_ns = 3000,
     .exit = -1,
     .source = PROFILE_SOURCE_TIMER,
     .samples = 5,
     .weight = 5 * MS,
     .index = 1},
    {.pid = 20,
     .tid = 20,
     .ppid = 10,
     .parent_tid = 10,
     .file = "out.20.20",
     .comm = cc1,
     .exec = "/usr/lib/cc1",
     .cmdline = cc1_words,
     .cmdline_count = 3,
     .generations = cc1_generations,
     .generation_count = 2,
     .start_ns = 3000,
     .end_ns = 800 * MS,
     .ended = true,
     .exit = 0,
     .source = PROFILE_SOURCE_PERF,
     .samples = 85,
     .weight = 85 * MS,
     .lost = 4,
     .counts = cc1_counts,
     .count_count = 2,
     .index = 2},
};

void fake_new(struct fake *fake)
{
    static struct profile_task copy[3];
    memcpy(copy, tasks, sizeof(copy));
    *fake = (struct fake){0};
    fake->profile = (struct profile){
        .session = {.ours = true,
                    .version = "test",
                    .start_ns = 1000,
                    .arguments = make_words,
                    .argument_count = 2,
                    .root = 10,
                    .event_reason = "",
                    .coverage_known = true,
                    .coverage_complete = true,
                    .cpu_ns = 110 * MS,
                    .attributed_ns = 105 * MS,
                    .missed = missed,
                    .missed_count = 1},
        .events = events,
        .event_count = 2,
        .tasks = copy,
        .task_count = 3,
        .modules = modules,
        .module_count = 1,
        .frames = frames,
        .frame_count = 4,
        .stacks = stacks,
        .stack_count = 4,
        .entries = entries,
        .entry_count = 4,
        .lost = 4,
        .files_read = 3,
    };
    fake->settings.color = COLOR_NEVER;
}

char *fake_run(struct fake *fake, int (*view)(struct view *), int *ret_status)
{
    struct output output;
    char *text = NULL;
    size_t size = 0;
    fake->view = (struct view){.settings = &fake->settings, .profile = &fake->profile, .output = &output};
    fake->view.names = names_new(&fake->profile, &fake->settings);
    fake->view.selection = select_new(&fake->profile, &fake->settings, fake->view.names, false);
    output = (struct output){.to = open_memstream(&text, &size)};
    fake->view.inlined = fake->inlined;
    if (fake->inlined)
        view_symbolize(&fake->view);
    *ret_status = view(&fake->view);
    fclose(output.to);
    select_free(fake->view.selection);
    names_free(fake->view.names);
    return text;
}

char *fake_diff(struct fake *const *fakes, const size_t counts[2], int *ret_status)
{
    char *text = NULL;
    size_t size = 0, count = counts[0] + counts[1];
    struct output output = {.to = open_memstream(&text, &size)};
    struct view *views = calloc(count, sizeof(*views));
    const struct view_runs runs = {views, {counts[0], counts[1]}};
    assert_non_null(views);
    for (size_t i = 0; i < count; i++) {
        struct view *view = &views[i];
        *view = (struct view){.settings = &fakes[0]->settings, .profile = &fakes[i]->profile, .output = &output};
        view->names = names_new(view->profile, view->settings);
        view->selection = select_new(view->profile, view->settings, view->names, false);
        view->runs = &runs;
    }
    *ret_status = view_diff(&views[0]);
    fclose(output.to);
    for (size_t i = 0; i < count; i++) {
        select_free(views[i].selection);
        names_free(views[i].names);
    }
    free(views);
    return text;
}

char *run(struct fake *fake, int (*view)(struct view *))
{
    int status = -1;
    char *text = fake_run(fake, view, &status);
    assert_int_equal(status, 0);
    return text;
}

void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

void has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%s' is in:\n%s", part, text);
}
