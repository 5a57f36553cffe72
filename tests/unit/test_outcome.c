/* SPDX-License-Identifier: MIT */
/* What a session's outcome says of its tasks: the missed tasks line by line, CPU time of the tree, what was stolen. */
#define _GNU_SOURCE
#include "check.h"

#include <sys/mman.h>

#include "collector/outcome.h"
#include "collector/service/channels.h"
#include "collector/system/machine_time.h"
#include "collector/system/monotonic.h"
#include "collector/system/opener.h"
#include "collector/tasks/task_table.h"
#include "common/clock.h"
#include "test_tasks_kit.h"

static uint64_t at_ns, busy_ns, stolen_ns, own_ns;

/* ---- In the place of parts that count ---- */

bool __wrap_channels_counted(const struct session *session, uint32_t number, enum channel_count which, uint64_t *count,
                             char *word, size_t size);
bool __wrap_channels_counted(const struct session *session, uint32_t number, enum channel_count which, uint64_t *count,
                             char *word, size_t size)
{
    (void)session;
    *count = 100 + 10 * which + number;
    snprintf(word, size, "%s", number ? "user 7" : "");
    return number < 2;
}

uint64_t __wrap_channels_held(const struct session *session);
uint64_t __wrap_channels_held(const struct session *session)
{
    (void)session;
    return 21;
}

struct opener_counts __wrap_opener_counts(const struct opener *opener);
struct opener_counts __wrap_opener_counts(const struct opener *opener)
{
    (void)opener;
    return (struct opener_counts){.asked = 90, .hung = 31, .refused = 32, .failed = 33, .forgotten = 34};
}

/* That is hours: all else that the sum has is what this test itself has used. */
#define HELPERS_NS 10000000000000ull
uint64_t __wrap_opener_cpu_ns(const struct opener *opener);
uint64_t __wrap_opener_cpu_ns(const struct opener *opener)
{
    (void)opener;
    return HELPERS_NS;
}

void __wrap_machine_time_read(struct machine_time *ret);
void __wrap_machine_time_read(struct machine_time *ret)
{
    *ret = (struct machine_time){.at_ns = at_ns, .busy_ns = busy_ns, .stolen_ns = stolen_ns, .own_ns = own_ns};
}

/* ---- Missed tasks ---- */

static char *losses(const struct outcome *outcome)
{
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    for (unsigned i = 0; i < outcome->missed_count; i++) {
        assert_int_equal(outcome->missed[i].cpu_ns, 0); /* of none of them is it known */
        fprintf(to, "%d %s|%s\n", (int)outcome->missed[i].count, outcome->missed[i].reason, outcome->missed[i].comm);
    }
    fclose(to);
    return text;
}

static const char lines_of_all[] =
    "100 task started before the collector answered: for its start-up, only the CPU time is known|\n"
    "101 task started before the collector answered: for its start-up, only the CPU time is known|user 7\n"
    "110 request queue full: a task got no events, or an exited child was not reported|\n"
    "111 request queue full: a task got no events, or an exited child was not reported|user 7\n"
    "130 request not sent: blocked by the program's own seccomp filter|\n"
    "131 request not sent: blocked by the program's own seccomp filter|user 7\n";
static const char lines_of_foreign[] = "120 process start or exec not profiled (in another pid namespace)|\n"
                                       "121 process start or exec not profiled (in another pid namespace)|user 7\n";
static const char lines_of_session[] =
    "1 a report about a task was dropped, because the queue of reports was full|\n"
    "2 the mappings and arguments of a program were dropped, because the queue of reports was full|\n"
    "3 request processed out of order: too many requests were waiting|\n"
    "4 malformed request|\n"
    "13 request for a task that had already exited|\n"
    "5 request refused: the task is not part of this run, or belongs to another user|\n"
    "21 requests of one user were answered up to 0.1 s late, because too many of them had no use (for example, they were for tasks that had already ended)|\n"
    "6 process not profiled: the collector accepts no requests from the user of this process (too many users, or no memory)|\n"
    "7 a record about a task with inherited events was lost: ring buffer full or damaged|\n"
    "14 task not profiled: it started while the collector opened the inherited events, or its FORK record was lost|\n"
    "11 task with inherited events: its counts were lost, and its CPU time is estimated from samples|\n"
    "12 look-up in /proc given up: the look-up took too long, or no thread was free for it|\n"
    "8 request dropped: the collector has no memory or no descriptors left|\n"
    "9 executable mapping dropped: too many mappings in one process|\n"
    "41 executable mapping dropped: too many mappings in all processes of one user together|\n"
    "15 executable mapping missing in the result files of some threads: too many mappings in one process|\n"
    "10 damaged ring buffer or record|\n"
    "31 mapped file not read: the read took too long|\n"
    "32 mapped file not read: reads of other files of the same user took too long, or too many files were waiting|\n"
    "33 mapped file not read: the helper process that reads such files exited, or could not be started|\n"
    "34 build id of a mapped file dropped: too many files (pinject-run reads it again if the file still exists)|\n";

static void expect_losses(struct stage *stage, const char *foreign)
{
    struct outcome outcome = {0};
    char wanted[8192];
    outcome_fill(&outcome, stage->tasks, false);
    char *text = losses(&outcome);
    snprintf(wanted, sizeof(wanted), "%s%s%s", lines_of_all, foreign, lines_of_session);
    assert_string_equal(text, wanted);
    free(text);
    outcome_release(&outcome);
    assert_null(outcome.missed);
    assert_int_equal(outcome.missed_count, 0);
    outcome_release(&outcome);
}

static void losses_have_a_line_each(void **state)
{
    struct stage stage;
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct session *session = &stage.kit.session;
    session->notifications.refused = 1;
    session->notifications.cut = 2;
    stage.tasks->hurried = 3;
    session->malformed = 4;
    session->ended = 13;
    session->denied = 5;
    session->users_refused = 6;
    stage.tasks->inherited_lost = 7;
    stage.tasks->unannounced.count = 14;
    stage.tasks->estimated = 11;
    stage.tasks->session->errands.given_up = 12;
    session->no_memory = 8;
    stage.tasks->mappings_forgotten = 9;
    stage.tasks->mappings_untold = 15;
    stage.tasks->shares.own.quota.refused = 11;
    shares_of(&stage.tasks->shares, 1)->quota.refused = 10;
    shares_of(&stage.tasks->shares, 2)->quota.refused = 20;
    stage.tasks->broken_rings = 10;
    expect_losses(&stage, lines_of_foreign); /* nothing is covered by inheritance */
    session->inherited = 1;                  /* that says of these tasks nothing */
    expect_losses(&stage, lines_of_foreign);
    stage.tasks->inherited_generations = 120 + 121;
    expect_losses(&stage, "");
    stage.tasks->inherited_generations = 119;
    expect_losses(&stage, "1 process start or exec not profiled (in another pid namespace)|\n"
                          "121 process start or exec not profiled (in another pid namespace)|user 7\n");
    stage.tasks->inherited_generations = 120 + 21;
    expect_losses(&stage, "100 process start or exec not profiled (in another pid namespace)|user 7\n");
    session->uninherited = 1;
    expect_losses(&stage, lines_of_foreign);
    session->uninherited = 0;
    stage.kit.config.source = PINJECT_SOURCE_TIMER;
    expect_losses(&stage, lines_of_foreign);
    stage.kit.config.source = PINJECT_SOURCE_PERF;
    stage_free(&stage);
}

/* ---- Figures ---- */

/* Ours: of this process up to now, which had used BEFORE_NS, and of its helpers. */
static void expect_own_cpu(uint64_t got_ns, uint64_t before_ns)
{
    assert_in_range(got_ns, HELPERS_NS + before_ns, HELPERS_NS + clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

static void tasks_are_counted(void **state)
{
    struct stage stage;
    struct outcome outcome = {0};
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    stage_process(&stage, 100, 1, 2000000000, 7000);
    stage_thread(&stage, 100, 101, 2000000001, 500);
    tasks->root_process = tasks_find_process(tasks, 100);
    tasks->root_process->space.forgotten = 4;
    tasks->alive = 5;
    tasks->inherited_tasks = 17;
    tasks->missed.uncounted = 6;
    tasks->samples = 11;
    tasks->lost = 12;
    tasks->counted_only = 13;
    tasks->without_sample = 14;
    tasks->saturated = 17;
    tasks->timer_fallbacks = 15;
    tasks->timer_fallbacks_counted = 16;
    tasks->refusal = -13;
    tasks->attributed_ns = 7500;
    stage.kit.session.start_ns = monotonic_ns() - 1000000000;
    uint64_t used_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    outcome_fill(&outcome, tasks, false);
    assert_int_equal(outcome.tasks, 2);
    assert_int_equal(outcome.processes, 1);
    assert_int_equal(outcome.threads, 1);
    assert_int_equal(outcome.active_max, 2);
    assert_int_equal(outcome.alive, 5);
    assert_int_equal(outcome.inherited, 17);
    assert_int_equal(outcome.uncounted, 6);
    assert_int_equal(outcome.attributed_ns, 7500);
    assert_int_equal(outcome.cpu_ns, 0);
    assert_false(outcome.root_ended);
    assert_int_equal(outcome.stacks_behind, 0);
    assert_string_equal(outcome.stacks, "");
    char *text = losses(&outcome);
    assert_non_null(strstr(text, "4 executable mapping dropped"));
    free(text);
    assert_int_equal(outcome.samples, 0); /* the root's are not there yet */
    expect_own_cpu(outcome.collector_ns, used_ns);
    used_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    outcome_complete(&outcome, tasks);
    expect_own_cpu(outcome.collector_ns, used_ns); /* with what has been written since */
    assert_true(outcome.samples == 11 && outcome.lost == 12 && outcome.counted_only == 13);
    assert_true(outcome.without_sample == 14 && outcome.timer_fallbacks == 15 && outcome.timer_fallbacks_counted == 16);
    assert_int_equal(outcome.saturated, 17);
    assert_int_equal(outcome.refusal, -13);
    assert_in_range(outcome.wall_ns, 1000000000, 300000000000);
    /* The status of a bare session's root is what its parent told. */
    outcome_release(&outcome);
    outcome = (struct outcome){0};
    tasks->root_process->status_known = true;
    tasks->root_process->status = 0x300;
    outcome_fill(&outcome, tasks, false);
    assert_false(outcome.root_ended);
    outcome_release(&outcome);
    stage.kit.session.tree_fd = -1;
    outcome_fill(&outcome, tasks, true);
    assert_true(outcome.root_ended);
    assert_int_equal(outcome.root_status, 0x300);
    outcome_release(&outcome);
    stage_free(&stage);
}

/* The CPU time of the tree by the kernel's accounting, SECONDS of it, in milliseconds. */
static uint64_t tree_ms(struct stage *stage, long seconds, uint64_t attributed_ms)
{
    struct outcome outcome = {.tree = {.ru_utime.tv_sec = seconds}};
    stage->tasks->attributed_ns = attributed_ms * 1000000;
    outcome_fill(&outcome, stage->tasks, false);
    outcome_release(&outcome);
    return outcome.cpu_ns / 1000000;
}

static void tree_of_a_command(void **state)
{
    struct stage stage;
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    assert_int_equal(tree_ms(&stage, 2, 1900), 2000);
    assert_int_equal(tree_ms(&stage, 0, 1900), 0); /* nothing is told */
    stage.kit.session.cpus = 2;
    stage.kit.session.start_ns = monotonic_ns() - 3600000000000;
    stage.tasks->orphans_ns = 500 * 1000000ull;
    assert_int_equal(tree_ms(&stage, 2, 1900), 2500);
    /* What processes tell of their children is no more than two CPUs had in an hour. */
    stage.tasks->orphans_ns = 9000 * 1000000000ull;
    assert_in_range(tree_ms(&stage, 2, 1900), 7200000, 8000000);
    assert_int_equal(tree_ms(&stage, 8001, 1900), 8001000);
    stage.tasks->orphans_ns = 500 * 1000000ull;
    /* What nobody waited for completes it, as far as tasks have more. */
    stage.tasks->unwaited_ns = 300 * 1000000ull;
    assert_int_equal(tree_ms(&stage, 2, 2500), 2500);
    assert_int_equal(tree_ms(&stage, 2, 2600), 2600);
    assert_int_equal(tree_ms(&stage, 2, 2900), 2800);
    /* Where all tasks are counted together, the events have those for which nobody waited. */
    stage.tasks->orphans_ns = stage.tasks->unwaited_ns = 0;
    assert_int_equal(tree_ms(&stage, 2, 2900), 2000);
    stage.kit.config.whole_tree = true;
    assert_int_equal(tree_ms(&stage, 2, 2900), 2900);
    assert_int_equal(tree_ms(&stage, 2, 1900), 2000);
    stage_free(&stage);
}

static void tree_of_a_bare_session(void **state)
{
    struct stage stage;
    struct outcome outcome = {0};
    uint64_t clock = 5000;
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    stage.tasks->tree_startup_ns = 300;
    stage.tasks->exit_ns = 20;
    stage.tasks->orphans_ns = 1;
    stage.kit.session.tree_fd = -1;
    outcome_fill(&outcome, stage.tasks, true);
    assert_int_equal(outcome.cpu_ns, 0);
    outcome_release(&outcome);
    stage.kit.session.tree_fd = memfd_create("clock", MFD_CLOEXEC);
    outcome_fill(&outcome, stage.tasks, true);
    assert_int_equal(outcome.cpu_ns, 0); /* it tells nothing */
    outcome_release(&outcome);
    assert_int_equal(pwrite(stage.kit.session.tree_fd, &clock, sizeof(clock), 0), sizeof(clock));
    outcome_fill(&outcome, stage.tasks, true);
    assert_int_equal(outcome.cpu_ns, 5320);
    outcome_release(&outcome);
    close(stage.kit.session.tree_fd);
    stage_free(&stage);
}

/* The CPU time that tasks have beyond their tree's, as the list of missed tasks says; 0: it says nothing. */
static uint64_t false_times_ns(struct stage *stage, uint64_t attributed_ns)
{
    struct outcome outcome = {.tree = {.ru_utime.tv_sec = 1}};
    uint64_t ns = 0;
    stage->tasks->attributed_ns = attributed_ns;
    outcome_fill(&outcome, stage->tasks, false);
    for (unsigned i = 0; i < outcome.missed_count; i++)
        if (!strncmp(outcome.missed[i].reason, "false times: ", 13))
            ns += outcome.missed[i].cpu_ns;
    outcome_release(&outcome);
    return ns;
}

static void false_times_are_told(void **state)
{
    struct stage stage;
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    stolen_ns = 0;
    /* The tree is completed by 10 us of rounding first. */
    assert_int_equal(false_times_ns(&stage, 1120011000), 0);
    assert_int_equal(false_times_ns(&stage, 1120011001), 120001001);
    stage_free(&stage);
}

/* What the host took is in the tasks' clocks alone. */
static void stolen_time_is_told(void **state)
{
    struct stage stage;
    struct outcome outcome = {.tree.ru_stime.tv_sec = 1};
    (void)state;
    stolen_ns = 1000000000; /* before the session */
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    stolen_ns = 1040000000;
    stage.tasks->attributed_ns = 1030000000;
    outcome_fill(&outcome, stage.tasks, false);
    assert_int_equal(outcome.cpu_ns, 1030000000);
    assert_int_equal(outcome.stolen_ns, 30000000);
    assert_string_equal(outcome.stolen,
                        "CPU time includes 30.0 ms of steal time (taken by the host of this virtual machine)");
    outcome_release(&outcome);
    outcome = (struct outcome){.tree.ru_stime.tv_sec = 1};
    stage.tasks->attributed_ns = 1000999999; /* too little to be said */
    outcome_fill(&outcome, stage.tasks, false);
    assert_int_equal(outcome.cpu_ns, 1000999999);
    assert_int_equal(outcome.stolen_ns, 0);
    assert_string_equal(outcome.stolen, "");
    outcome_release(&outcome);
    outcome = (struct outcome){.tree.ru_stime.tv_sec = 1};
    stage.tasks->attributed_ns = 1001000000;
    outcome_fill(&outcome, stage.tasks, false);
    assert_int_equal(outcome.stolen_ns, 1000000);
    outcome_release(&outcome);
    outcome = (struct outcome){.tree.ru_stime.tv_sec = 1};
    stolen_ns = 900000000; /* the machine's count went back */
    stage.tasks->attributed_ns = 1030000000;
    outcome_fill(&outcome, stage.tasks, false);
    assert_true(outcome.cpu_ns < 1001000000);
    assert_int_equal(outcome.stolen_ns, 0);
    outcome_release(&outcome);
    stage_free(&stage);
}

/* The machine's busy time without the tree's and our own. */
static void others_are_told(void **state)
{
    struct stage stage;
    struct outcome outcome = {.tree.ru_stime.tv_sec = 1};
    (void)state;
    at_ns = 100;
    busy_ns = 5000000000;
    own_ns = 2000000000;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    own_ns = 0; /* by then is not asked for */
    at_ns += 2000000000;
    busy_ns += HELPERS_NS + 4000000000;
    outcome_fill(&outcome, stage.tasks, false);
    assert_int_equal(outcome.machine_ns, 2000000000);
    /* Without a second of the tree, and this test's own behind the two seconds that it had before. */
    assert_in_range(outcome.others_ns, 4000000000, 5000000000);
    outcome_release(&outcome);
    /* Of a tree without a known time nobody knows it; nor from a count that went back. */
    outcome = (struct outcome){0};
    outcome_fill(&outcome, stage.tasks, false);
    assert_int_equal(outcome.machine_ns, 0);
    outcome_release(&outcome);
    outcome = (struct outcome){.tree.ru_stime.tv_sec = 1};
    busy_ns = 4999999999;
    outcome_fill(&outcome, stage.tasks, false);
    assert_int_equal(outcome.machine_ns, 0);
    outcome_release(&outcome);
    stage_free(&stage);
    at_ns = busy_ns = 0;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    busy_ns = 1;
    outcome = (struct outcome){.tree.ru_stime.tv_sec = 1};
    outcome_fill(&outcome, stage.tasks, false);
    assert_int_equal(outcome.machine_ns, 0);
    outcome_release(&outcome);
    stage_free(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_have_a_line_each), cmocka_unit_test(tasks_are_counted),
        cmocka_unit_test(tree_of_a_command),       cmocka_unit_test(tree_of_a_bare_session),
        cmocka_unit_test(stolen_time_is_told),     cmocka_unit_test(others_are_told),
        cmocka_unit_test(false_times_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
