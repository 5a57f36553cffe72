/* SPDX-License-Identifier: MIT */
/* Tasks that timers sample: what their rings say is not trusted, their programs come by messages. */
#include "check.h"

#include <errno.h>
#include <pinject/format.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "collector/records/values.h"
#include "collector/sources/attach_table.h"
#include "collector/sources/deferred_munmap.h"
#include "collector/system/monotonic.h"
#include "collector/system/procfs.h"
#include "collector/tasks/drain.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/mappings.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/task_view.h"
#include "collector/tasks/tasks_init.h"
#include "collector/tasks/timer_fallback.h"
#include "collector/tasks/timer_records.h"
#include "test_tasks_kit.h"

#define T 2000000000ull

enum { WORDS = 7 }; /* header, id, ip, tid, time, period, nr */

static struct stage stage;

/* As stage_new(), with an event configuration of timers. */
static int set_up(void **state)
{
    (void)state;
    memset(&stage, 0, sizeof(stage));
    kit_new(&stage.kit, KIT_SAMPLING);
    stage.kit.settings.follow = PINJECT_SESSION_ALL;
    stage.kit.config.source = PINJECT_SOURCE_TIMER;
    attach_table_init(&stage.kit.session.table);
    deferred_munmap_init(&stage.kit.session.deferred_munmap);
    assert_int_equal(rings_init(&stage.kit.session.rings, "segment"), 0);
    assert_int_equal(kit_start(&stage.kit, "out"), 0);
    stage.tasks = calloc(1, sizeof(*stage.tasks));
    stage.epoll = epoll_create1(EPOLL_CLOEXEC);
    assert_int_equal(tasks_init(stage.tasks, &stage.kit.session, stage.kit.results, stage.epoll), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tasks_release(stage.tasks);
    free(stage.tasks);
    close(stage.epoll);
    rings_release(&stage.kit.session.rings);
    kit_free(&stage.kit);
    return 0;
}

static struct pinject_timer_head *head_of(const struct task *task)
{
    return rings_head(&stage.kit.session.rings, task->events->number);
}

static int refusal;

static void give_ring(struct notification *notification, bool ring)
{
    struct attached *events = attach_new(stage.kit.config.count);
    events->session = &stage.kit.session;
    events->tid = events->key = notification->tid;
    events->pid = notification->pid;
    events->end_fd = events->number = -1;
    events->timer = true;
    events->refusal = refusal;
    for (unsigned i = 0; i < events->count; i++)
        events->ids[i] = rings_next_id(&stage.kit.session.rings);
    if (ring) {
        events->number = rings_take(&stage.kit.session.rings, 1000000, 3);
        events->ring = rings_page(&stage.kit.session.rings, events->number);
        events->ring_size = PINJECT_RING_DATA;
    }
    notification->events = events;
}

static struct task *process(pid_t pid, bool ring)
{
    struct notification *notification = stage_notification(PINJECT_PROCESS, pid, pid, 1, T);
    give_ring(notification, ring);
    strcpy(notification->comm, "prog");
    notification->maps = strdup("1000-2000 r-xp 00000000 08:01 5 /bin/prog\n");
    notification->exec = strdup("/bin/prog");
    notification->cmdline = strdup("prog");
    notification->cmdline_size = 5;
    stage_notify(&stage, notification);
    struct task *task = tasks_find(stage.tasks, pid);
    if (ring)
        head_of(task)->started = 1;
    return task;
}

/* As the preload object writes. */
static void put(struct task *task, const void *record, size_t size)
{
    struct perf_event_mmap_page *page = task->events->ring;
    unsigned char *data = (unsigned char *)page + PINJECT_RING_DATA;
    for (size_t i = 0; i < size; i++)
        data[(page->data_head + i) % PINJECT_RING_DATA] = ((const unsigned char *)record)[i];
    page->data_head += size;
}

static void put_words(struct task *task, uint32_t type, const uint64_t *words, size_t count)
{
    uint64_t record[64];
    struct perf_event_header header = {.type = type, .misc = 0x7fff, .size = (uint16_t)(8 * count)};
    memcpy(record, words, 8 * count);
    memcpy(record, &header, sizeof(header));
    put(task, record, 8 * count);
}

static void put_sample(struct task *task, uint64_t time_ns, uint64_t period, uint64_t chain, size_t count)
{
    uint64_t words[64] = {0, 77, 0x1234, 0xdeadbeefcafe, time_ns, period, chain};
    put_words(task, PERF_RECORD_SAMPLE, words, count);
}

static struct kit_file end(struct task *task)
{
    struct kit_file file;
    tasks_task_ended(stage.tasks, task, true);
    stage_close(&stage);
    assert_true(kit_read("out.100.100", &file));
    return file;
}

static void test_what_a_record_says_of_itself_is_replaced(void **state)
{
    (void)state;
    struct task *task = process(100, true);
    uint64_t words[16] = {0, 77, 0x1234, 0xdeadbeefcafe, 5, 1000000, 2, (uint64_t)PERF_CONTEXT_USER, 0x1234};
    struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .misc = 1, .size = 72};
    memcpy(words, &header, sizeof(header));
    assert_true(tasks_check_timer_record(stage.tasks, task, words));
    memcpy(&header, words, sizeof(header));
    assert_int_equal(header.misc, PERF_RECORD_MISC_USER);
    assert_int_equal(words[1], task->ids[0]);
    assert_int_equal(words[3], 100 | 100ull << 32);
    assert_int_equal(words[4], T); /* not before its start */
    assert_int_equal(words[5], 1000000);
    stage_close(&stage);
}

static void test_records_without_sense_are_dropped_and_counted(void **state)
{
    (void)state;
    struct task *task = process(100, true);
    put_sample(task, T + 10, 1000000, 0, WORDS);
    put_sample(task, T + 20, 1000000, 1, WORDS); /* an entry less than it says */
    put_sample(task, T + 20, 1000000, 1000000, WORDS);
    put_sample(task, T + 20, 1000000, UINT64_MAX, WORDS);
    put_sample(task, T + 20, 1000000, 0, WORDS - 1); /* no chain */
    put_sample(task, T + 20, 1000000, 0, 3);
    put_sample(task, T + 20, UINT64_MAX, 0, WORDS); /* more time than there was */
    put_sample(task, T + 20, 0, 0, WORDS);
    static const uint32_t types[] = {
        PERF_RECORD_COMM, PERF_RECORD_MMAP2, PERF_RECORD_FORK, PERF_RECORD_EXIT, PERF_RECORD_READ, 64, 250};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        uint64_t words[32] = {0};
        put_words(task, types[i], words, 30);
    }
    tasks_drain(stage.tasks, task);
    assert_int_equal(task->samples, 1);
    assert_int_equal(stage.tasks->broken_rings, 7 + 7);
    assert_false(task->end_ns);
    struct kit_file file = end(task);
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 1);
    assert_int_equal(file.records[PERF_RECORD_EXIT], 0);
    kit_file_free(&file);
}

static void test_broken_ring_is_given_up(void **state)
{
    (void)state;
    struct task *task = process(100, true);
    struct perf_event_mmap_page *page = task->events->ring;
    put_sample(task, T + 10, 1000000, 0, WORDS);
    page->data_head += 1ull << 40;
    tasks_drain(stage.tasks, task);
    assert_true(task->broken);
    page->data_head = 0;
    tasks_drain(stage.tasks, task);
    assert_int_equal(task->samples, 0);
    struct kit_file file = end(task);
    kit_file_free(&file);
}

static void test_counts_and_loss(void **state)
{
    (void)state;
    struct task *task = process(100, true);
    uint64_t lost[6] = {0, 1, 12, 0, T + 30, 1};
    task->events->base_ns = 1000;
    *head_of(task) = (struct pinject_timer_head){.cpu_ns = 51000, .faults = 7, .switches = 9, .lost = 12, .started = 1};
    put_words(task, PERF_RECORD_LOST, lost, 6);
    lost[2] = UINT64_MAX;
    put_words(task, PERF_RECORD_LOST, lost, 6);
    struct kit_file file = end(task);
    const struct pinject_item_task *item = kit_item(&file, PINJECT_ITEM_TASK, 0);
    assert_int_equal(item->source, PINJECT_SOURCE_TIMER);
    assert_int_equal(item->lost, 12);
    const struct pinject_item_count *clock = kit_item(&file, PINJECT_ITEM_COUNT, 0);
    const struct pinject_item_count *faults = kit_item(&file, PINJECT_ITEM_COUNT, 1);
    assert_int_equal(clock->value, 50000);
    assert_int_equal(faults->value, 7);
    assert_int_equal(file.records[PERF_RECORD_LOST], 1);
    kit_file_free(&file);
}

/* The collector sets the task and the event of a LOST record, whatever the target wrote. */
static void test_loss_has_its_task(void **state)
{
    (void)state;
    struct task *task = process(100, true);
    struct {
        struct perf_event_header header;
        uint64_t words[5];
    } lost = {{PERF_RECORD_LOST, 7, sizeof(lost)}, {77, 12, UINT64_MAX, T + 30, 78}};
    assert_true(tasks_check_timer_record(stage.tasks, task, &lost));
    const uint64_t id = task->ids[attach_timer_event(stage.tasks->config)];
    assert_int_equal(lost.header.misc, 0);
    assert_true(lost.words[0] == id && lost.words[1] == 12 && lost.words[4] == id);
    assert_true(lost.words[2] == ((uint64_t)100 << 32 | 100));
    assert_true(lost.words[3] == T + 30);
    struct kit_file file = end(task);
    kit_file_free(&file);
}

/* With --sample-cpu, --data, -j and --user-regs the kernel's samples have more fields: a timer does not know them. */
static void test_fields_of_the_kernel_are_unknown(void **state)
{
    (void)state;
    struct task *task = process(100, true);
    const int event = attach_timer_event(stage.tasks->config);
    struct perf_event_attr *attr = &stage.kit.config.events[event].attr;
    const struct perf_event_attr before = *attr;
    attr->sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
                         PERF_SAMPLE_PHYS_ADDR;
    uint64_t words[20] = {0, 77, 0x1234, 0, T + 30, 50000, 2, (uint64_t)PERF_CONTEXT_USER, 0x1234};
    struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = 72};
    memcpy(words, &header, sizeof(header));
    memset(words + 9, 0xee, sizeof(words) - 72);
    assert_true(tasks_check_timer_record(stage.tasks, task, words));
    memcpy(&header, words, sizeof(header));
    assert_int_equal(header.size, 72 + 5 * 8);
    assert_true(words[4] == T + 30 && words[5] == 0 && words[6] == UINT32_MAX);
    assert_true(words[7] == 50000 && words[8] == 2 && words[10] == 0x1234);
    assert_true(words[11] == 0 && words[12] == 0 && words[13] == 0 && words[14] == 0xeeeeeeeeeeeeeeee);
    header = (struct perf_event_header){.type = PERF_RECORD_LOST, .size = 48};
    const uint64_t lost[6] = {0, 77, 12, 0, T + 31, 78};
    memcpy(words, lost, sizeof(lost));
    memcpy(words, &header, sizeof(header));
    assert_true(tasks_check_timer_record(stage.tasks, task, words));
    memcpy(&header, words, sizeof(header));
    assert_int_equal(header.size, 56);
    assert_true(words[2] == 12 && words[4] == T + 31 && words[5] == UINT32_MAX && words[6] == task->ids[event]);
    /* On the way from the ring: it is complete before it is measured by the kernel's records. */
    uint64_t *type = &stage.tasks->layout.sample_type[event];
    const uint64_t type_before = *type;
    *type = attr->sample_type;
    const uint64_t broken = stage.tasks->broken_rings, lost_before = task->lost_records;
    header.size = 48;
    memcpy(stage.tasks->scratch, lost, sizeof(lost));
    memcpy(stage.tasks->scratch, &header, sizeof(header));
    assert_true(tasks_take_record(stage.tasks, task, (const void *)stage.tasks->scratch));
    assert_int_equal(stage.tasks->broken_rings, broken);
    assert_int_equal(task->lost_records, lost_before + 12);
    *type = type_before;
    /* No branches (with the index of the newest), no registers: behind the chain. */
    *attr = before;
    attr->sample_type |= PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER;
    attr->branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX;
    attr->sample_regs_user = 0xff;
    uint64_t chain[13] = {0, 77, 0x1234, 0, T + 32, 50000, 2, (uint64_t)PERF_CONTEXT_USER, 0x1234, 1, 1, 1, 1};
    header = (struct perf_event_header){.type = PERF_RECORD_SAMPLE, .size = 72};
    memcpy(chain, &header, sizeof(header));
    assert_true(tasks_check_timer_record(stage.tasks, task, chain));
    memcpy(&header, chain, sizeof(header));
    assert_int_equal(header.size, 72 + 3 * 8);
    assert_true(chain[8] == 0x1234 && chain[9] == 0 && chain[10] == 0 && chain[11] == 0 && chain[12] == 1);
    /* The same of the registers of the interrupt, between two other fields. */
    *attr = before;
    attr->sample_type |= PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR;
    attr->sample_regs_intr = 0xff;
    header = (struct perf_event_header){.type = PERF_RECORD_SAMPLE, .size = 72};
    memcpy(chain, &header, sizeof(header));
    chain[9] = chain[10] = chain[11] = chain[12] = 1;
    assert_true(tasks_check_timer_record(stage.tasks, task, chain));
    memcpy(&header, chain, sizeof(header));
    assert_int_equal(header.size, 72 + 3 * 8);
    assert_true(chain[8] == 0x1234 && chain[9] == 0 && chain[10] == 0 && chain[11] == 0 && chain[12] == 1);
    *attr = before;
    struct kit_file file = end(task);
    kit_file_free(&file);
}

/* With a group's values the kernel's samples have those: a timer's says that it has none. */
static void test_values_of_the_group_are_unknown(void **state)
{
    (void)state;
    struct task *task = process(100, true);
    const int event = attach_timer_event(stage.tasks->config);
    uint64_t *type = &stage.tasks->layout.sample_type[event];
    const uint64_t before = *type;
    struct values values = {0};
    *type |= PERF_SAMPLE_READ;
    const size_t entry = stage.tasks->layout.read_format & PERF_FORMAT_LOST ? 3 : 2;
    for (uint64_t i = 1; i <= 2; i++) {
        uint64_t words[20] = {0, 77, 0x1234, 0, T + 30, 50000, 2, (uint64_t)PERF_CONTEXT_USER, 0x1234};
        struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = 72};
        memcpy(words, &header, sizeof(header));
        assert_true(tasks_check_timer_record(stage.tasks, task, words));
        memcpy(&header, words, sizeof(header));
        assert_int_equal(header.size, 72 + 8 * (3 + entry));
        assert_true(values_settle(&values, &stage.tasks->layout, stage.tasks->config, task->ids, NULL, false, words,
                                  header.size));
        assert_true(words[5] == 50000 && words[6] == 1 && words[7] == 0 && words[8] == 0);
        assert_true(words[9] == i * 50000 && words[10] == task->ids[event]);
        assert_true(words[9 + entry] == 2 && words[11 + entry] == 0x1234);
    }
    values_release(&values);
    *type = before;
    struct kit_file file = end(task);
    kit_file_free(&file);
}

static void test_clock_of_a_liar(void **state)
{
    (void)state;
    struct task *task = process(100, true);
    struct attach_value values[CONFIG_EVENTS];
    head_of(task)->cpu_ns = head_of(task)->lost = UINT64_MAX;
    attach_read(task->events, values);
    assert_true(values[0].value <= monotonic_ns());
    assert_true(values[0].lost <= monotonic_ns() / 100000);
    task->events->base_ns = 1000;
    head_of(task)->cpu_ns = UINT64_C(1) << 63;
    attach_read(task->events, values);
    assert_true(values[0].value <= monotonic_ns());
    head_of(task)->error = INT32_MIN;
    head_of(task)->started = 0;
    struct kit_file file = end(task);
    const struct pinject_item_task *item = kit_item(&file, PINJECT_ITEM_TASK, 0);
    assert_int_equal(item->source, PINJECT_SOURCE_ACCOUNTING);
    kit_file_free(&file);
}

/* Its exec is not known yet, but /proc tells of the next program already. */
static void test_mappings_of_the_next_program(void **state)
{
    (void)state;
    struct process *own = process(getpid(), true)->process;
    stage.tasks->now_ns = monotonic_ns();
    assert_true(tasks_look_at_maps(stage.tasks, own));
    assert_int_equal(space_count(&own->space), 1);
    assert_string_equal(space_at(&own->space, 0)->path, "/bin/prog");
    /* One of its mappings is there still. */
    char *maps = procfs_maps(getpid());
    struct space now;
    space_init(&now);
    assert_non_null(maps);
    assert_int_equal(space_add_maps(&now, maps, T), 0);
    assert_int_equal(space_add(&own->space, space_at(&now, 0)), 0);
    own->maps_ns = own->maps_next_ns = stage.tasks->maps_next_ns = 0;
    assert_true(tasks_look_at_maps(stage.tasks, own));
    assert_int_equal(space_count(&own->space), 1 + space_count(&now));
    space_release(&now);
    free(maps);
}

static void test_generations(void **state)
{
    (void)state;
    struct task *task = process(100, true);
    put_sample(task, T + 10, 1000000, 0, WORDS);
    struct notification *notification = stage_notification(PINJECT_GENERATION, 100, 100, 1, T + 20);
    strcpy(notification->comm, "ls");
    notification->maps = strdup("5000-6000 r-xp 00000000 08:01 6 /bin/ls\n");
    notification->exec = strdup("/bin/ls");
    notification->cmdline = strdup("ls");
    notification->cmdline_size = 3;
    stage_notify(&stage, notification);
    assert_int_equal(task->generation_count, 2);
    assert_int_equal(space_count(&task->process->space), 1);
    assert_string_equal(task->generations[1].comm, "ls");
    /* It goes on to where no timer is, which then turns out to have one: the same exec generation. */
    for (int i = 0; i < 2; i++) {
        notification = stage_notification(i ? PINJECT_GENERATION : PINJECT_INHERIT_EXEC, 100, 100, 1,
                                          T + 30 + (unsigned)i);
        strcpy(notification->comm, i ? "passwd" : "ls");
        notification->exec = strdup("/usr/bin/passwd");
        notification->cmdline = strdup("passwd");
        notification->cmdline_size = 7;
        stage_notify(&stage, notification);
        assert_int_equal(task->generation_count, 3);
        assert_int_equal(task->coverage, i ? TASK_BY_TIMER : TASK_NOT_SAMPLED);
    }
    struct kit_file file = end(task);
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 1);
    kit_file_free(&file);
}

static void test_without_a_ring(void **state)
{
    (void)state;
    struct task *task = process(100, false);
    stage_reaped(&stage, 1, 100, 0, 900000000, T + 50);
    struct kit_file file = end(task);
    const struct pinject_item_task *item = kit_item(&file, PINJECT_ITEM_TASK, 0);
    assert_int_equal(item->source, PINJECT_SOURCE_ACCOUNTING);
    assert_true(item->flags & PINJECT_TASK_COUNTED_ONLY);
    assert_int_equal(item->exit_ns, 900000000);
    kit_file_free(&file);
}

/* A worker has the number of a ring before the ring is there: till then nothing that stands in it is this task's. */
static void test_ring_that_is_on_its_way(void **state)
{
    (void)state;
    struct task *task = process(100, false);
    struct attached *events = task->events;
    struct rings *rings = &stage.kit.session.rings;
    tasks_look_at_timer(stage.tasks, task);
    assert_false(task->timer_started);
    assert_true(tasks_has_no_sampler(stage.tasks, task));
    events->number = rings_take(rings, 1000000, 3);
    rings_head(rings, events->number)->started = 1;
    tasks_look_at_timer(stage.tasks, task);
    assert_false(task->timer_started);
    assert_true(tasks_has_no_sampler(stage.tasks, task));
    events->ring_size = PINJECT_RING_DATA;
    events->ring = rings_page(rings, events->number);
    tasks_look_at_timer(stage.tasks, task);
    assert_true(task->timer_started);
    assert_false(tasks_has_no_sampler(stage.tasks, task));
    head_of(task)->started = 0;
    tasks_look_at_timer(stage.tasks, task);
    assert_false(task->timer_started);
    /* Where the events are gone, what was seen last holds. */
    head_of(task)->started = 7;
    tasks_look_at_timer(stage.tasks, task);
    head_of(task)->started = 0;
    task->events = NULL;
    tasks_look_at_timer(stage.tasks, task);
    assert_true(task->timer_started);
    assert_false(tasks_has_no_sampler(stage.tasks, task));
    /* Nothing is sampled in a session that counts. */
    stage.kit.config.events[0].samples = false;
    tasks_look_at_timer(stage.tasks, task);
    assert_true(task->timer_started && tasks_has_no_sampler(stage.tasks, task));
    stage.kit.config.events[0].samples = true;
    task->events = events;
    stage_close(&stage);
}

/* What the preload object says went wrong is an error's number, or at least an error. */
static void test_errors_of_the_preload_object(void **state)
{
    static const struct {
        int32_t said, error;
    } cases[] = {{0, 0},    {-EBUSY, -EBUSY},  {-4095, -4095},   {-4096, -EIO},
                 {1, -EIO}, {INT32_MIN, -EIO}, {INT32_MAX, -EIO}};
    (void)state;
    struct task *task = process(100, true);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        head_of(task)->started = 0;
        head_of(task)->error = cases[i].said;
        task->ring_error = 99;
        task->process->uncounted = false;
        tasks_end_timer(stage.tasks, task);
        assert_int_equal(task->ring_error, cases[i].error);
        assert_true(task->process->uncounted);
    }
    /* A timer ran, whatever else stands there. */
    head_of(task)->started = 1;
    task->ring_error = 99;
    task->process->uncounted = false;
    tasks_end_timer(stage.tasks, task);
    assert_int_equal(task->ring_error, 99);
    assert_false(task->process->uncounted);
    /* Without a ring it is the collector's own error. */
    void *ring = task->events->ring;
    task->events->ring = NULL;
    task->events->ring_error = -ENOSPC;
    task->timer_started = false;
    tasks_end_timer(stage.tasks, task);
    assert_int_equal(task->ring_error, -ENOSPC);
    task->events->ring = ring;
    stage_close(&stage);
}

static void test_child_that_did_not_ask(void **state)
{
    (void)state;
    struct task *task = process(100, true);
    stage_reaped(&stage, 100, 101, 0, 5000000, T + 50);
    stage.tasks->now_ns += 1000000000; /* nobody comes */
    tasks_notify(stage.tasks, NULL);
    unsigned count = 0;
    struct kit_file file = end(task);
    struct result_missed *missed = missed_take(&stage.tasks->missed, &count);
    assert_int_equal(count, 1);
    assert_int_equal(missed[0].cpu_ns, 5000000);
    free((char *)missed[0].reason);
    free((char *)missed[0].comm);
    free(missed);
    kit_file_free(&file);
}

/* A session with events, of which the kernel refused this task's. */
static void test_one_among_others(void **state)
{
    (void)state;
    stage.kit.config.source = PINJECT_SOURCE_PERF;
    refusal = -EACCES;
    struct task *task = process(100, true);
    refusal = 0;
    assert_int_equal(stage.tasks->timer_live, 1);
    put_sample(task, T + 10, 1000000, 0, WORDS);
    tasks_drain(stage.tasks, task);
    struct kit_file file = end(task);
    const struct pinject_item_task *item = kit_item(&file, PINJECT_ITEM_TASK, 0);
    assert_int_equal(item->source, PINJECT_SOURCE_TIMER);
    assert_int_equal(item->samples, 1);
    assert_false(item->flags & PINJECT_TASK_COUNTED_ONLY);
    const char *note = (const char *)kit_item(&file, PINJECT_ITEM_NOTE, 0) + sizeof(struct pinject_item_note);
    assert_string_equal(note, "sampled by a timer: the kernel refused events (Permission denied), because the "
                              "task is not dumpable or belongs to another user");
    assert_int_equal(stage.tasks->timer_fallbacks, 1);
    assert_int_equal(stage.tasks->timer_fallbacks_counted, 0);
    assert_int_equal(stage.tasks->timer_live, 0);
    kit_file_free(&file);
}

/* Its child is announced by nobody either, and a child of vfork has events only after its exec. */
static void test_child_of_one_among_others(void **state)
{
    (void)state;
    stage.kit.config.source = PINJECT_SOURCE_PERF;
    struct task *task = process(100, true);
    struct notification *notification = stage_notification(PINJECT_ARM, 101, 101, 100, T + 10);
    notification->result = -EACCES;
    stage_notify(&stage, notification);
    assert_non_null(missed_find(&stage.tasks->missed, 101));
    assert_int_equal(stage.tasks->missed.count, 0);
    notification = stage_notification(PINJECT_PROCESS, 101, 101, 100, T + 20);
    stage_events(&stage, notification, 5000);
    stage_notify(&stage, notification);
    assert_null(missed_find(&stage.tasks->missed, 101));
    tasks_task_ended(stage.tasks, tasks_find(stage.tasks, 101), true);
    stage_reaped(&stage, 100, 101, 0, 5000, T + 40);
    struct kit_file file = end(task);
    assert_int_equal(stage.tasks->missed.count, 0);
    kit_file_free(&file);
}

/* An exec generation that lost its events in the exec asks anew: one process, whose time is in the totals once. */
static void test_one_that_goes_on(void **state)
{
    (void)state;
    stage.kit.config.source = PINJECT_SOURCE_PERF;
    struct notification *notification = stage_notification(PINJECT_PROCESS, 100, 100, 1, T);
    stage_events(&stage, notification, 7000000);
    notification->pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    stage_notify(&stage, notification);
    struct task *before = tasks_find(stage.tasks, 100);
    before->process->secure = true;
    program_put(before->process->program); /* as its exec's record does */
    before->process->program = NULL;
    tasks_task_ended(stage.tasks, before, true);
    assert_int_equal(before->state.cause, TASK_REVOKED);
    notification = stage_notification(PINJECT_PROCESS, 100, 100, 1, T + 20);
    give_ring(notification, true);
    notification->events->base_ns = 7500000;
    notification->startup_ns = 7500000;
    stage_notify(&stage, notification);
    struct task *task = tasks_find(stage.tasks, 100);
    assert_true(task != before && task_is_by_timer(task));
    assert_int_equal(task->startup_ns, 500000);
    head_of(task)->started = 1;
    head_of(task)->cpu_ns = 9500000;
    stage_reaped(&stage, 1, 100, 0, 10000000, T + 50);
    tasks_task_ended(stage.tasks, task, true);
    stage_close(&stage);
    assert_int_equal(stage.tasks->attributed_ns, 10000000);
    assert_int_equal(stage.tasks->missed.count, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_a_record_says_of_itself_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_records_without_sense_are_dropped_and_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_ring_is_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counts_and_loss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fields_of_the_kernel_are_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values_of_the_group_are_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_loss_has_its_task, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clock_of_a_liar, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mappings_of_the_next_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_generations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_a_ring, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_child_that_did_not_ask, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ring_that_is_on_its_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors_of_the_preload_object, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_among_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_child_of_one_among_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_that_goes_on, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
