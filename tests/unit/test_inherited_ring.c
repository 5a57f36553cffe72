/* SPDX-License-Identifier: MIT */
/* Rings that the kernel goes on filling without saying so, and others that only look so. */
#include "check.h"

#include "collector/sources/inherited_ring.h"

enum { SIZE = 4096, RECORD = 48, PER_ROUND = SIZE / RECORD };

#define MS UINT64_C(1000000)

static const uint64_t ids[CONFIG_EVENTS] = {100};
static struct records_layout layout;
static _Alignas(8) unsigned char scratch[PINJECT_RING_RECORD_MAX];

struct fake {
    struct perf_event_mmap_page page;
    unsigned char data[SIZE];
    struct inherited_ring ring;
    uint64_t at; /* where the kernel writes next, whatever it says */
};

static struct fake *fake_new(void)
{
    static struct event_config config = {.count = 1};
    struct fake *fake = calloc(1, sizeof(*fake));
    assert_non_null(fake);
    config.events[0].attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    records_layout_init(&layout, &config);
    inherited_ring_init(&fake->ring, &fake->page, fake->data, SIZE, &layout, ids);
    return fake;
}

/* The kernel writes a record, and does not tell yet. */
static void write_at(struct fake *fake, pid_t tid, uint64_t time_ns)
{
    const struct records_stamp stamp = {.pid = 1, .tid = tid, .time_ns = time_ns, .id = ids[0]};
    struct buffer record = BUFFER_INIT;
    records_make_comm(&layout, &stamp, "name", &record);
    assert_int_equal(record.size, RECORD);
    for (size_t i = 0; i < record.size; i++)
        fake->data[(fake->at + i) % SIZE] = record.data[i];
    fake->at += record.size;
    buffer_release(&record);
}

static void put(struct fake *fake, pid_t tid, uint64_t time_ns)
{
    write_at(fake, tid, time_ns);
    fake->page.data_head = fake->at;
}

/* How many there are; their tids begin with FIRST. */
static unsigned take(struct fake *fake, pid_t first)
{
    const struct perf_event_header *record;
    unsigned count = 0;
    if (!inherited_ring_begin(&fake->ring))
        return 0;
    while ((record = inherited_ring_next(&fake->ring, scratch)))
        assert_int_equal(records_parse_comm(record).tid, first + (pid_t)count++);
    inherited_ring_end(&fake->ring);
    assert_true(fake->ring.ring.broken || fake->page.data_tail == fake->page.data_head);
    return count;
}

static unsigned take_behind(struct fake *fake, uint64_t now_ns, pid_t first)
{
    const struct perf_event_header *record;
    unsigned count = 0;
    while ((record = inherited_ring_next_behind(&fake->ring, now_ns, scratch)))
        assert_int_equal(records_parse_comm(record).tid, first + (pid_t)count++);
    return count;
}

static bool has_stopped(struct fake *fake, uint64_t now_ns)
{
    return inherited_ring_has_stopped(&fake->ring, now_ns, false, scratch);
}

/* What was there one round ago is not new: wherever the round ends, however long nothing comes. */
static void old_records_are_not_new(void **state)
{
    (void)state;
    struct fake *fake = fake_new();
    for (unsigned i = 0; i < 3 * PER_ROUND; i++) {
        const uint64_t time = (1000 + i) * MS;
        put(fake, (pid_t)i, time);
        assert_int_equal(take(fake, (pid_t)i), 1);
        assert_false(has_stopped(fake, time + 1));
        assert_false(has_stopped(fake, time + 21 * MS));
        assert_false(has_stopped(fake, time + 1000 * MS));
        assert_false(inherited_ring_has_stopped(&fake->ring, time + 2000 * MS, true, scratch));
        assert_int_equal(take_behind(fake, time + 2000 * MS, 0), 0);
        fake->ring.look_ns = 0;
    }
    free(fake);
}

static void what_lies_behind_is_found(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 2 * PER_ROUND; before++) {
        struct fake *fake = fake_new();
        for (unsigned i = 0; i < before; i++) {
            put(fake, (pid_t)i, (1000 + i) * MS);
            assert_int_equal(take(fake, (pid_t)i), 1);
        }
        const uint64_t now = (1000 + before) * MS;
        assert_false(has_stopped(fake, now)); /* looked at; not again at once */
        for (unsigned i = 0; i < 5; i++)
            write_at(fake, 7 + (pid_t)i, now + i);
        assert_false(has_stopped(fake, now + 19 * MS));
        /* A writer may just be at it. */
        assert_false(has_stopped(fake, now + 20 * MS));
        assert_false(has_stopped(fake, now + 119 * MS));
        assert_true(has_stopped(fake, now + 140 * MS));
        assert_int_equal(take_behind(fake, now + 140 * MS, 7), 5);
        assert_int_equal(take_behind(fake, now + 140 * MS, 12), 0);
        free(fake);
    }
}

/* What the kernel writes has no room left soon: then a ring is not waited for so long. */
static void a_filled_one_is_not_waited_for(void **state)
{
    (void)state;
    for (unsigned part = 0; part < 2; part++) {
        struct fake *fake = fake_new();
        const unsigned count = (SIZE / 4 + RECORD - 1) / RECORD - 1 + part; /* a quarter of it, or a record less */
        put(fake, 1, 1000 * MS);
        assert_int_equal(take(fake, 1), 1);
        for (unsigned i = 0; i < count; i++)
            write_at(fake, 7 + (pid_t)i, 1001 * MS + i);
        assert_false(has_stopped(fake, 1020 * MS)); /* a writer may just be at it */
        assert_false(has_stopped(fake, 1023 * MS));
        assert_int_equal(has_stopped(fake, 1025 * MS), part);
        assert_true(has_stopped(fake, 1120 * MS));
        assert_int_equal(take_behind(fake, 1120 * MS, 7), count);
        free(fake);
    }
}

/* A little older ones between fresh ones do not matter; those of an earlier round are not counted. */
static void what_fills_it_is_fresh(void **state)
{
    (void)state;
    for (unsigned fresh = 0; fresh < 2; fresh++) {
        struct fake *fake = fake_new();
        for (unsigned i = 0; i < PER_ROUND; i++) {
            put(fake, (pid_t)i, (1000 + i) * MS);
            assert_int_equal(take(fake, (pid_t)i), 1);
        }
        const uint64_t now = 2000 * MS;
        for (unsigned i = 0; i < PER_ROUND / 2; i++)
            write_at(fake, 7 + (pid_t)i, !fresh && i > 2 ? 900 * MS : i % 3 == 1 ? 900 * MS : now + i);
        assert_false(has_stopped(fake, now + 20 * MS));
        assert_int_equal(has_stopped(fake, now + 26 * MS), fresh);
        free(fake);
    }
}

/* What is there since one round ago is older by 3 ns for each byte of the ring, or more. */
static void a_record_may_be_a_little_older(void **state)
{
    enum { OLDER_NS = 3 * SIZE };
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct fake *fake = fake_new();
        put(fake, 1, 1000 * MS);
        assert_int_equal(take(fake, 1), 1);
        write_at(fake, 2, 1000 * MS - OLDER_NS + i);
        assert_false(has_stopped(fake, 1030 * MS));
        assert_int_equal(has_stopped(fake, 1131 * MS), i);
        free(fake);
    }
}

/* It was only late: told in the end, what lay there is read once, and nothing has stopped. */
static void a_late_writer_is_waited_for(void **state)
{
    (void)state;
    struct fake *fake = fake_new();
    put(fake, 1, 1000 * MS);
    assert_int_equal(take(fake, 1), 1);
    write_at(fake, 2, 1001 * MS);
    assert_false(has_stopped(fake, 1002 * MS));
    fake->page.data_head = fake->at;
    assert_int_equal(take(fake, 2), 1);
    assert_false(has_stopped(fake, 1200 * MS));
    /* The time begins anew with the next. */
    write_at(fake, 3, 1201 * MS);
    assert_false(has_stopped(fake, 1230 * MS));
    assert_true(has_stopped(fake, 1331 * MS));
    free(fake);
}

/* The first of them was stamped on another CPU that was taken away: those behind it are young. */
static void an_old_one_before_young_ones(void **state)
{
    (void)state;
    struct fake *fake = fake_new();
    put(fake, 1, 1000 * MS);
    assert_int_equal(take(fake, 1), 1);
    write_at(fake, 2, 900 * MS);
    write_at(fake, 3, 1001 * MS);
    assert_true(inherited_ring_has_stopped(&fake->ring, 1002 * MS, true, scratch));
    assert_int_equal(take_behind(fake, 1002 * MS, 2), 2);
    free(fake);
}

/* No more than the kernel had room for: then it wrote nothing. */
static void a_full_ring_is_read_once(void **state)
{
    (void)state;
    struct fake *fake = fake_new();
    put(fake, 1, 1000 * MS);
    assert_int_equal(take(fake, 1), 1);
    for (unsigned i = 0; i < PER_ROUND; i++)
        write_at(fake, 2 + (pid_t)i, 1001 * MS + i);
    assert_true(inherited_ring_has_stopped(&fake->ring, 1100 * MS, true, scratch));
    assert_int_equal(take_behind(fake, 1100 * MS, 2), PER_ROUND);
    free(fake);
}

/* Two records at one place. */
static void a_damaged_ring_has_stopped(void **state)
{
    (void)state;
    struct fake *fake = fake_new();
    put(fake, 1, 1000 * MS);
    put(fake, 2, 1001 * MS);
    fake->data[RECORD + 6] = 7;
    assert_int_equal(take(fake, 1), 1);
    assert_true(has_stopped(fake, 1002 * MS));
    assert_int_equal(take_behind(fake, 1002 * MS, 0), 0);
    free(fake);
}

/* A time that has not come is none. */
static void records_of_the_future_are_none(void **state)
{
    (void)state;
    struct fake *fake = fake_new();
    write_at(fake, 1, 2000 * MS);
    assert_false(inherited_ring_has_stopped(&fake->ring, 1000 * MS, true, scratch));
    assert_int_equal(take_behind(fake, 1000 * MS, 0), 0);
    free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_records_are_not_new),        cmocka_unit_test(what_lies_behind_is_found),
        cmocka_unit_test(a_filled_one_is_not_waited_for), cmocka_unit_test(what_fills_it_is_fresh),
        cmocka_unit_test(a_record_may_be_a_little_older), cmocka_unit_test(a_late_writer_is_waited_for),
        cmocka_unit_test(an_old_one_before_young_ones),   cmocka_unit_test(a_full_ring_is_read_once),
        cmocka_unit_test(a_damaged_ring_has_stopped),     cmocka_unit_test(records_of_the_future_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
