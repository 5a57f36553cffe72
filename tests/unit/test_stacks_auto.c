/* SPDX-License-Identifier: MIT */
/* --call-graph auto: which processes are trusted to have frame pointers, and what their chains lack. The unwinder is
 * the test's: it says what is asked for. Then how much of a stack is dumped. */
#include <unistd.h>

#include "check.h"

#include "collector/config/probe.h"
#include "collector/stacks/stack_predictor.h"
#include "collector/tasks/task_stacks.h"
#include "collector/tasks/tasks.h"

enum { PREFIX = 48, BYTES = 512, TRIES = 64, AGAIN = 16 };

static struct tasks tasks;
static struct session session;
static struct settings settings;
static struct event_config config;
static struct process process;
static uint64_t ids[] = {7};
static struct task task;

/* ---- In the place of the unwinder ---- */

static uint64_t unwound[8];
static unsigned unwound_count, unwinds;
static struct unwind_outcome outcome;

unsigned __wrap_unwind_stack(const struct unwind_target *target, const struct unwind_regs *regs,
                             const struct unwind_dump *dump, uint64_t *ips, unsigned capacity,
                             struct unwind_outcome *ret);
unsigned __wrap_unwind_stack(const struct unwind_target *target, const struct unwind_regs *regs,
                             const struct unwind_dump *dump, uint64_t *ips, unsigned capacity,
                             struct unwind_outcome *ret)
{
    assert_non_null(target);
    assert_true(capacity == STACKS_FRAMES && dump->size == BYTES && dump->full);
    assert_int_equal(dump->start, regs->value[UNWIND_SP]);
    unwinds++;
    memcpy(ips, unwound, sizeof(unwound));
    *ret = outcome;
    return unwound_count;
}

static struct stack_sizes program; /* what is known of the stacks of the task's program */
static unsigned predictor_told;
static uint64_t need_bytes;
static bool need_cut;

void __wrap_stack_sizes_add_stack(struct stack_sizes *sizes, uint64_t bytes, bool cut);
void __wrap_stack_sizes_add_stack(struct stack_sizes *sizes, uint64_t bytes, bool cut)
{
    if (!sizes)
        return;
    assert_ptr_equal(sizes, &program);
    predictor_told++;
    need_bytes = bytes;
    need_cut = cut;
}

static uint64_t now_ns, step_ns; /* the clock goes on by a step with each look */

uint64_t __wrap_monotonic_ns(void);
uint64_t __wrap_monotonic_ns(void)
{
    return now_ns += step_ns;
}

/* ---- Samples ---- */

static const uint64_t frames[] = {0x1000, 0x2000, 0x3000};

/* One with a chain of COUNT of the frames behind two entries of the kernel's; what the user has of it. */
static const uint64_t *take(unsigned count, size_t *ret_count)
{
    static _Alignas(8) unsigned char bytes[2048 + BYTES];
    uint64_t words[64] = {0, task.ids[0]};
    size_t at = PREFIX / 8;
    words[at++] = 3 + count;
    words[at++] = PERF_CONTEXT_KERNEL;
    words[at++] = 0xffffffff81000000;
    words[at++] = PERF_CONTEXT_USER;
    for (unsigned i = 0; i < count; i++)
        words[at++] = frames[i];
    words[at++] = PERF_SAMPLE_REGS_ABI_64;
    words[at + UNWIND_SP] = 0x7000;
    for (unsigned i = 0; i < UNWIND_REGS; i++)
        words[at++] = 0x7000;
    words[at++] = BYTES;
    memset(bytes, 0, sizeof(bytes));
    memcpy(bytes, words, 8 * at);
    size_t size = 8 * at + BYTES;
    const uint64_t used = BYTES;
    memcpy(bytes + size, &used, 8);
    size += 8;
    struct perf_event_header header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, (uint16_t)size};
    memcpy(bytes, &header, sizeof(header));
    const struct perf_event_header *made = tasks_unwind(&tasks, &task, 0, (const void *)bytes);
    assert_non_null(made);
    const uint64_t *chain = (const uint64_t *)(const void *)((const char *)made + PREFIX);
    assert_true(chain[0] >= 2);
    *ret_count = chain[0] > 3 ? chain[0] - 3 : 0;
    return chain + 4;
}

/* The unwinder finds these. */
static void find(unsigned count, const uint64_t *ips)
{
    memcpy(unwound, ips, count * sizeof(*ips));
    unwound_count = count;
}

static void expect_chain(unsigned given, unsigned count, const uint64_t *ips)
{
    size_t got;
    const uint64_t *chain = take(given, &got);
    assert_int_equal(got, count);
    assert_memory_equal(chain, ips, count * sizeof(*ips));
}

/* So many samples, in each of which frame pointers find all but the last MISSING frames. */
static void agree(unsigned count, unsigned missing)
{
    static const uint64_t whole[] = {0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000};
    find(3 + missing, whole);
    for (unsigned i = 0; i < count; i++)
        expect_chain(3, 3 + missing, whole);
}

static void differ(unsigned count)
{
    static const uint64_t other[] = {0x1000, 0x2222, 0x3000};
    find(3, other);
    for (unsigned i = 0; i < count; i++)
        expect_chain(3, 3, other);
}

static int set_up(void **state)
{
    (void)state;
    memset(&task, 0, sizeof(task));
    memset(&tasks, 0, sizeof(tasks));
    memset(&config, 0, sizeof(config));
    memset(&process, 0, sizeof(process));
    config.count = config.sampling = 1;
    config.dump = session.dumps.now = 16384;
    session.dumps.limits = (struct dump_limits){0};
    config.dump_auto = true;
    config.events[0].attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    config.events[0].attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
    config.events[0].samples = true;
    session.config = &config;
    session.settings = &settings;
    tasks.session = &session;
    tasks.config = &config;
    tasks.now_ns = 10000000000;
    records_layout_init(&tasks.layout, &config);
    task.process = &process;
    task.ids = ids;
    outcome = (struct unwind_outcome){.end = UNWIND_BOTTOM, .top = 0x7000};
    unwinds = predictor_told = 0;
    return tasks_begin_stacks(&tasks);
}

static int tear_down(void **state)
{
    (void)state;
    stacks_free(tasks.stacks);
    free(process.trust);
    return 0;
}

/* ---- Trust ---- */

static void chains_that_agree_are_trusted(void **state)
{
    static const uint64_t more[] = {0x1000, 0x2000, 0x3000, 0x4000};
    (void)state;
    agree(TRIES - 1, 1);
    assert_int_equal(process.trust->compared, TRIES - 1);
    agree(1, 1);
    assert_int_equal(unwinds, TRIES);
    assert_int_equal(process.trust->wrong, 0);
    /* From now on one of sixteen is compared; the others get what was missing behind their last frame. */
    for (unsigned i = 1; i <= 3 * AGAIN; i++) {
        expect_chain(3, 4, more);
        assert_int_equal(unwinds, TRIES + i / AGAIN);
    }
    assert_int_equal(task.stacks.chosen, 3 * (AGAIN - 1));
    assert_int_equal(tasks.stacks->counts.chosen, 3 * (AGAIN - 1));
    assert_int_equal(task.stacks.ends[UNWIND_BOTTOM], TRIES + 3);
    assert_int_equal(tasks.stacks->counts.ends[UNWIND_BOTTOM], TRIES + 3);
    /* One that ends elsewhere is as it is. */
    process.trust->taken = 0;
    expect_chain(2, 2, more);
    expect_chain(0, 0, more);
}

static void chains_that_differ_are_not(void **state)
{
    (void)state;
    differ(1);
    assert_int_equal(process.trust->wrong, 1);
    agree(TRIES - 2, 0);
    assert_int_equal(process.trust->compared, TRIES - 1);
    agree(1, 0); /* one of 64 is less than one of 50 */
    unsigned before = unwinds;
    agree(1, 0);
    assert_int_equal(unwinds, before);
    differ(0);
    process.trust->wrong = 2; /* two of 64 are too many */
    agree(1, 0);
    assert_int_equal(unwinds, before + 1);
    process.trust->compared = 100; /* of a hundred they are as many as may be */
    process.trust->taken = 0;
    agree(1, 0);
    assert_int_equal(unwinds, before + 1);
    process.trust->compared = 99;
    agree(1, 0);
    assert_int_equal(unwinds, before + 2);
}

/* A chain is wrong that lacks more than two frames, has one more, or none. */
static void what_is_wrong(void **state)
{
    static const uint64_t ips[] = {0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000};
    static const struct {
        unsigned given, found, wrong;
    } cases[] = {{3, 3, 0}, {3, 5, 0}, {3, 6, 1}, {3, 2, 1}, {0, 2, 1}, {1, 1, 0}, {1, 3, 0}, {1, 4, 1}};
    size_t count;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        free(process.trust);
        process.trust = NULL;
        find(cases[i].found, ips);
        take(cases[i].given, &count);
        assert_int_equal(process.trust->compared, 1);
        assert_int_equal(process.trust->wrong, cases[i].wrong);
    }
    /* What is not whole says nothing, and neither does anything where nobody asked for auto. */
    free(process.trust);
    process.trust = NULL;
    outcome.end = UNWIND_TRUNCATED;
    take(3, &count);
    assert_null(process.trust);
    outcome.end = UNWIND_BOTTOM;
    config.dump_auto = false;
    take(3, &count);
    assert_null(process.trust);
}

/* The first ends are remembered, two of them. */
static void ends_of_chains(void **state)
{
    static const uint64_t ips[] = {0x1000, 0x2000, 0x3000, 0x4000, 0x5000};
    size_t count;
    (void)state;
    find(3, ips);
    take(3, &count);
    assert_int_equal(process.trust->tails[0].after, 0); /* nothing is missing */
    find(5, ips);
    take(3, &count);
    find(3, ips);
    take(2, &count);
    const struct stack_tail *tails = process.trust->tails;
    assert_true(tails[0].after == 0x3000 && tails[0].count == 2 && tails[0].ips[0] == 0x4000);
    assert_int_equal(tails[0].ips[1], 0x5000);
    assert_true(tails[1].after == 0x2000 && tails[1].count == 1 && tails[1].ips[0] == 0x3000);
    find(4, ips);
    take(3, &count); /* it is known already: what was seen first stays */
    assert_true(tails[0].count == 2 && tails[1].after == 0x2000);
    find(2, ips);
    take(1, &count); /* a third one takes the place of the second */
    assert_true(tails[0].after == 0x3000 && tails[1].after == 0x1000 && tails[1].ips[0] == 0x2000);
}

static void what_was_long_ago_counts_less(void **state)
{
    (void)state;
    agree(1, 0);
    process.trust->compared = 16 * TRIES - 2;
    process.trust->wrong = 501; /* so that each is compared */
    agree(1, 0);
    assert_int_equal(process.trust->compared, 16 * TRIES - 1);
    agree(1, 0);
    assert_int_equal(process.trust->compared, 8 * TRIES);
    assert_int_equal(process.trust->wrong, 250);
}

/* ---- How much is dumped ---- */

static void predictor_is_told(void **state)
{
    struct attached events = {.sizes = &program};
    size_t count;
    (void)state;
    find(3, frames);
    take(3, &count);
    assert_int_equal(predictor_told, 0); /* the task has no events, so its program is not known */
    task.events = &events;
    outcome.top = 0x7000 + 100;
    take(3, &count);
    assert_true(predictor_told == 1 && need_bytes == 100 && !need_cut);
    outcome.top = 0x7000 + BYTES;
    take(3, &count);
    assert_true(predictor_told == 2 && need_bytes == BYTES && !need_cut);
    outcome.top++; /* on another stack */
    take(3, &count);
    outcome.top = 0x6fff;
    take(3, &count);
    assert_int_equal(predictor_told, 2);
    outcome.end = UNWIND_TRUNCATED;
    take(3, &count);
    assert_true(predictor_told == 3 && need_bytes == BYTES && need_cut);
    task.events = NULL;
}

/* COUNT chains, the first CUT of them cut. */
static void take_cut(unsigned count, unsigned cut)
{
    size_t got;
    find(3, frames);
    for (unsigned i = 0; i < count; i++) {
        outcome.end = i < cut ? UNWIND_TRUNCATED : UNWIND_BOTTOM;
        take(3, &got);
    }
}

static void dumps_grow(void **state)
{
    (void)state;
    config.dump_auto = false;
    take_cut(128, 1); /* less than one of a hundred */
    assert_int_equal(session.dumps.now, 16384);
    take_cut(127, 2);
    assert_int_equal(session.dumps.now, 16384);
    take_cut(1, 0);
    assert_int_equal(session.dumps.now, 32768);
    assert_int_equal(tasks.stacks->raised, 1);
    take_cut(256, 256); /* and no more */
    assert_int_equal(session.dumps.now, 32768);
    assert_int_equal(tasks.stacks->raised, 1);
    session.dumps.now = 16384;
    config.dump_fixed = true; /* the user has chosen */
    take_cut(128, 128);
    assert_int_equal(session.dumps.now, 16384);
    config.dump_fixed = false;
    struct attached events = {.dump_limit = 8192};
    task.events = &events; /* of a user whose dumps are smaller than others' */
    take_cut(128, 128);
    assert_int_equal(session.dumps.now, 16384);
    events.dump_limit = 0;
    tasks.stacks->lowered = 1; /* once upon a time, of some user */
    take_cut(128, 128);
    assert_int_equal(session.dumps.now, 32768);
    task.events = NULL;
}

static uint32_t own_limit(void)
{
    return dump_limits_find(&session.dumps.limits, getpid());
}

/* Nearly full twice running, and more was lost. */
static void dumps_shrink(void **state)
{
    (void)state;
    static const uint32_t steps[] = {8192, 4096, 2048, 1024, 512, 512};
    uint64_t lost = 0;
    task.pid = getpid();
    for (int i = 0; i < 6; i++) {
        tasks_begin_round(&tasks, &task, 49152, 65536); /* three quarters are not too full */
        assert_false(task.fill.behind);
        tasks_begin_round(&tasks, &task, 49153, 65536);
        assert_false(task.fill.behind);
        task.lost_records = ++lost;
        tasks_begin_round(&tasks, &task, 49153, 65536);
        assert_true(task.fill.behind);
        assert_int_equal(own_limit(), steps[i]);
        assert_int_equal(tasks.stacks->lowered, i < 5 ? i + 1 : 5);
        tasks_begin_round(&tasks, &task, 65536, 65536); /* nothing was lost since */
        task.lost_records = ++lost;
        tasks.now_ns += 499999999;
        tasks_begin_round(&tasks, &task, 65536, 65536); /* it was done just now */
        assert_int_equal(own_limit(), steps[i]);
        tasks.now_ns++;
        tasks_begin_round(&tasks, &task, 0, 65536);
        assert_false(task.fill.behind);
    }
    assert_int_equal(session.dumps.now, 16384); /* of others */
    assert_int_equal(tasks.stacks->lowest, 512);
    session.dumps.limits = (struct dump_limits){0};
    session.dumps.now = 2004;
    tasks_begin_round(&tasks, &task, 65536, 65536);
    task.lost_records = ++lost;
    tasks_begin_round(&tasks, &task, 65536, 65536);
    assert_int_equal(own_limit(), 1000); /* whole words */
    session.dumps.limits = (struct dump_limits){0};
    config.dump_fixed = true; /* the user has chosen */
    task.lost_records = ++lost;
    tasks_begin_round(&tasks, &task, 65536, 65536);
    assert_int_equal(own_limit(), 0);
    struct tasks none = {.session = &session};
    task.fill.behind = false;
    tasks_begin_round(&none, &task, 65536, 65536); /* nothing is dumped */
    assert_false(task.fill.behind);
}

/* In a round, of rings that are read to their ends: one user's stacks take so long. What others have stays theirs. */
static void a_user_has_his_time(void **state)
{
    static const uint64_t whole[] = {0x1000, 0x2000, 0x3000, 0x4000};
    struct share share = {.user = 1}, other = {.user = 2};
    (void)state;
    config.dump_auto = false;
    find(4, whole);
    process.share = &share;
    tasks.round = 1;
    tasks.at_once = true;
    step_ns = STACKS_AT_ONCE_NS / 4;
    for (unsigned i = 0; i < 4; i++)
        expect_chain(3, 4, whole);
    for (unsigned i = 0; i < 9; i++)
        expect_chain(3, 3, frames);
    assert_int_equal(unwinds, 4);
    assert_true(tasks.stacks->counts.behind == 9 && task.stacks.behind == 9);
    process.share = &other;
    expect_chain(3, 4, whole);
    process.share = &share;
    tasks.at_once = false; /* there is another bound */
    expect_chain(3, 4, whole);
    tasks.at_once = true;
    expect_chain(3, 3, frames);
    tasks.round++;
    expect_chain(3, 4, whole);
    assert_int_equal(share.unwound_ns, step_ns);
    process.share = NULL;
    step_ns = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(chains_that_agree_are_trusted),
        TEST(chains_that_differ_are_not),
        TEST(what_is_wrong),
        TEST(ends_of_chains),
        TEST(what_was_long_ago_counts_less),
        TEST(predictor_is_told),
        TEST(dumps_grow),
        TEST(dumps_shrink),
        TEST(a_user_has_his_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
