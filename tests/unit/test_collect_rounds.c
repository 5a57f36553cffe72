/* SPDX-License-Identifier: MIT */
/*
 * How long the event loop waits and lets events gather, when it sweeps and gives memory back, when a bare session ends.
 */
#include "rounds_kit.h"

#include "collector/tasks/task_table.h"

enum { SWEEP_MS = 100 };

static void three_done(void)
{
    set_done(3);
}

static void nothing_urgent(void)
{
    urgent = 0;
}

static void rings_are_scarce(void)
{
    fake.session.ring_budget = 4000;
    fake.session.ring_bytes = 1001;
}

static void rings_are_not_quite_scarce(void)
{
    fake.session.ring_budget = 4000;
    fake.session.ring_bytes = 1000;
}

static void rings_have_no_bound(void)
{
    fake.session.ring_budget = UINT64_MAX;
    fake.session.ring_bytes = UINT64_MAX - 1;
}

static void many_requests(void)
{
    fake.session.notifications.count = 1000000;
}

static void no_requests(void)
{
    fake.session.notifications.count = 0;
}

static void something_unread(void)
{
    static struct task unread;
    tasks->unread = &unread; /* nobody reads it in this test */
}

static void all_read(void)
{
    tasks->unread = NULL;
}

/* Somebody ended who has no file. */
static void one_discarded(void)
{
    struct task *task = calloc(1, sizeof(*task));
    task->ring_fd = -1;
    tasks_discard(tasks, task);
}

/* ---- Pauses ---- */

/* After one event 5 ms, after more 1 ms; files are written meanwhile. After none there is no pause. */
static void events_gather(void **state)
{
    static const struct round given[] = {
        {.events = 1, .timeout_ms = 101},
        {.events = 1, .rested_ns = 5 * MS, .timeout_ms = 101},
        {.events = 2, .rested_ns = 5 * MS, .timeout_ms = 96},
        {.events = 7, .rested_ns = 1 * MS, .timeout_ms = 91},
        {.events = 0, .rested_ns = 1 * MS, .timeout_ms = 90},
        {.events = 1, .timeout_ms = 89},
        {.events = 1, .rested_ns = 5 * MS, .timeout_ms = 89, .change = some_done, .files = 1},
        {.events = 2, .gathered = 49, .files = 1}, /* one of 50 was the round's own */
        {.events = 1, .gathered = 9, .change = three_done, .files = 1},
        {.events = 1, .gathered = 2, .rested_ns = 5 * MS - 3 * MS / 10, .change = none_done}, /* and then it rests */
        {.events = ROUND_END}};
    (void)state;
    rounds_expect(given);
}

/* No pause where somebody waits for what we hold. */
static void pauses_end(void **state)
{
    static const struct round given[] = {
        {.events = 1, .change = rings_are_scarce, .timeout_ms = 101},
        {.events = 1, .change = rings_are_not_quite_scarce, .timeout_ms = 101},
        {.events = 1, .change = rings_have_no_bound, .rested_ns = 5 * MS, .timeout_ms = 101},
        {.events = 1, .change = no_room, .rested_ns = 5 * MS, .timeout_ms = 96},
        {.events = 1, .change = room, .timeout_ms = 91},
        {.events = 1, .change = many_requests, .rested_ns = 5 * MS, .timeout_ms = 91},
        {.events = 1, .change = no_requests, .timeout_ms = 86},
        {.events = 1, .change = something_unread, .rested_ns = 5 * MS, .timeout_ms = 86},
        {.events = 1, .change = all_read, .timeout_ms = 0}, /* nor is anything waited for */
        {.change = one_discarded, .rested_ns = 5 * MS, .timeout_ms = 81},
        {.timeout_ms = 76},
        {.events = ROUND_END}};
    (void)state;
    rounds_expect(given);
}

/* Signals are met at once, though files wait: none is written before. */
static void urgent_comes_before_files(void **state)
{
    static const struct round given[] = {{.events = 1, .change = some_done, .files = 1, .timeout_ms = SWEEP_MS + 1},
                                         {.events = 1, .gathered = 0, .change = nothing_urgent, .files = 0},
                                         {.events = 0, .gathered = 50, .change = none_done},
                                         {.events = ROUND_END}};
    (void)state;
    urgent = 1;
    rounds_expect(given);
}

/* ---- How long it waits ---- */

static void timers_sample(void)
{
    tasks->timer_live = 1;
}

static void no_timers(void)
{
    tasks->timer_live = 0;
}

/* Until the next sweep is due: 100 ms after the last, 25 where timers sample. */
static void sweeps_have_their_time(void **state)
{
    static const struct round given[] = {{.waited_ns = SWEEP_MS * MS - 1, .timeout_ms = SWEEP_MS + 1},
                                         {.waited_ns = 1, .timeout_ms = 1}, /* swept */
                                         {.waited_ns = 70 * MS, .timeout_ms = SWEEP_MS + 1},
                                         {.waited_ns = 30 * MS, .timeout_ms = 31}, /* swept */
                                         {.change = timers_sample, .timeout_ms = SWEEP_MS + 1},
                                         {.waited_ns = 24 * MS, .timeout_ms = 26},
                                         {.waited_ns = 1 * MS, .timeout_ms = 2},   /* swept */
                                         {.waited_ns = 30 * MS, .timeout_ms = 26}, /* swept */
                                         {.waited_ns = 26 * MS, .change = no_timers, .timeout_ms = 26},
                                         {.waited_ns = 100 * MS, .timeout_ms = 75}, /* swept */
                                         {.waited_ns = 250 * MS, .timeout_ms = SWEEP_MS + 1},
                                         {.events = ROUND_END}};
    (void)state;
    rounds_expect(given);
}

/* ---- The end of a bare session ---- */

static void somebody_came(void)
{
    tasks->notifications = 1;
    tasks->live_count = 1;
}

static void all_have_gone(void)
{
    tasks->live_count = 0;
}

static void somebody_waits(void)
{
    static struct notification request; /* for whom nobody looks in this test */
    static struct waiting one = {.notification = &request};
    tasks->waiting = &one;
}

static void nobody_waits(void)
{
    tasks->waiting = NULL;
}

/* The rounds up to the first one that does not come. */
static unsigned rounds_until_deserted(const struct round *given)
{
    rounds_run(given);
    return round_number;
}

static void nobody_comes(void **state)
{
    static const struct round given[] = {{.waited_ns = 10 * S}, {.waited_ns = 1}, {.events = ROUND_END}};
    (void)state;
    assert_int_equal(rounds_until_deserted(given), 2);
}

static void all_go(void **state)
{
    static const struct round given[] = {
        {.waited_ns = 20 * S, .change = somebody_came},
        {.waited_ns = 20 * S},                         /* it is there */
        {.waited_ns = 1 * S, .change = all_have_gone}, /* from here on nobody */
        {.waited_ns = 299 * MS},
        {.waited_ns = 1 * MS, .change = somebody_came}, /* just in time */
        {.waited_ns = 20 * S},
        {.waited_ns = 1 * S, .change = all_have_gone},
        {.waited_ns = 200 * MS, .change = somebody_waits}, /* for one that is not known yet */
        {.waited_ns = 20 * S},
        {.waited_ns = 1 * S, .change = nobody_waits},
        {.waited_ns = 300 * MS},
        {.waited_ns = 1},
        {.events = ROUND_END}};
    (void)state;
    assert_int_equal(rounds_until_deserted(given), 12);
    assert_int_equal(seen[3].timeout_ms, 2);
    assert_int_equal(seen[5].timeout_ms, 100);
    for (unsigned i = 7; i < 12; i++)
        assert_int_equal(seen[i].timeout_ms, 2);
}

/* ---- The end of the command ---- */

/* The rounds GIVEN of a session whose command has ended: how many there are. */
static unsigned rounds_after(const struct round *given)
{
    siginfo_t info;
    fflush(NULL);
    pid_t root = fork();
    assert_true(root >= 0);
    if (root == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)root, &info, WEXITED | WNOWAIT), 0);
    rounds_run_root(root, given);
    assert_int_equal(waitpid(root, NULL, WNOHANG), -1); /* its end was met */
    return round_number;
}

/* Half a second for those who end with it, and not longer than something comes. */
static void who_ends_with_the_command_is_let_in(void **state)
{
    static const struct round nothing[] = {{.waited_ns = 100 * MS}, {.waited_ns = 1}, {.waited_ns = 1 * S}};
    static const struct round notified[] = {{.waited_ns = 100 * MS},
                                            {.events = 1},
                                            {.change = somebody_waits},
                                            {.change = nobody_waits},
                                            {.waited_ns = 1 * S}};
    static const struct round long_ago[] = {
        {.waited_ns = 100 * MS}, {.events = 1, .waited_ns = 494 * MS}, {.events = 1, .waited_ns = MS - 1},
        {.events = 1},           {.events = 1, .waited_ns = 1 * S},    {.waited_ns = 1 * S}};
    static const struct round interrupted[] = {{.waited_ns = 100 * MS},
                                               {.events = ROUND_END},
                                               {.events = ROUND_END},
                                               {.waited_ns = 1 * S},
                                               {.waited_ns = 1 * S}};
    (void)state;
    assert_int_equal(rounds_after(nothing), 2);
    assert_int_equal(rounds_after(notified), 4);
    assert_int_equal(rounds_after(long_ago), 4);
    assert_int_equal(rounds_after(interrupted), 3);
}

/* ---- What it waits for ---- */

static bool waits_for_all;

static void look_what_it_waits_for(void)
{
    waits_for_all = rounds_wait_for_all();
}

static void all_sources_wake_it(void **state)
{
    static const struct round given[] = {{.change = look_what_it_waits_for}, {.events = ROUND_END}};
    (void)state;
    rounds_run(given);
    assert_true(waits_for_all);
}

/* ---- Memory ---- */

static void set_seen(uint64_t count, uint64_t live)
{
    tasks->seen = count;
    tasks->live_count = live;
    tasks->notifications = 1;
}

static void few_seen(void)
{
    set_seen(1023, 1);
}

static void crowd_that_lives(void)
{
    set_seen(1024, 513);
}

static void crowd_that_ended(void)
{
    set_seen(1024, 512);
}

static void crowd_that_waits(void)
{
    set_seen(1024, 1);
    set_done(100);
}

static void next_crowd(void)
{
    set_seen(2048, 1);
}

/* Once after each thousand of tasks of which most have ended, in sweeps: in the first all threads hand over. */
static void memory_is_given_back(void **state)
{
    static const struct {
        void (*change)(void);
        uint64_t waited_ns;
        unsigned renewed, given_back;
    } steps[] = {
        {few_seen, 100 * MS, 0, 0},
        {crowd_that_lives, 100 * MS, 0, 0},
        {crowd_that_waits, 100 * MS, 0, 0},
        {none_done, 1 * MS, 0, 0},
        {crowd_that_ended, 98 * MS, 0, 0}, /* no sweep is due */
        {NULL, 1 * MS, 1, 0},
        {NULL, 99 * MS, 1, 0},
        {NULL, 1 * MS, 1, 1},
        {NULL, 100 * MS, 1, 1},
        {next_crowd, 100 * MS, 2, 1},
        {NULL, 100 * MS, 2, 2},
    };
    enum { STEPS = sizeof(steps) / sizeof(steps[0]) };
    (void)state;
    for (unsigned last = 0; last < STEPS; last++) { /* as it stands after each of them */
        struct round given[STEPS + 1] = {{0}};
        for (unsigned i = 0; i <= last; i++)
            given[i] = (struct round){.waited_ns = steps[i].waited_ns, .change = steps[i].change};
        given[last + 1] = (struct round){.events = ROUND_END};
        rounds_run(given);
        if (renewed != steps[last].renewed || trimmed != renewed || given_back != steps[last].given_back)
            fail_msg("after step %u: renewed %u, trimmed %u, given back %u", last, renewed, trimmed, given_back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(events_gather),
        TEST(pauses_end),
        TEST(urgent_comes_before_files),
        TEST(sweeps_have_their_time),
        TEST(nobody_comes),
        TEST(all_go),
        TEST(who_ends_with_the_command_is_let_in),
        TEST(all_sources_wake_it),
        TEST(memory_is_given_back),
    };
    return cmocka_run_group_tests(tests, rounds_enter, rounds_leave);
}
