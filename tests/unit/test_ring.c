/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <pinject/ring.h>

enum { SIZE = 256 };

struct fake {
    struct perf_event_mmap_page page;
    unsigned char data[SIZE];
    struct pinject_ring ring;
};

static _Alignas(8) unsigned char scratch[PINJECT_RING_RECORD_MAX];

static struct fake *fake_new(void)
{
    struct fake *fake = calloc(1, sizeof(*fake));
    assert_non_null(fake);
    pinject_ring_init(&fake->ring, &fake->page, fake->data, SIZE);
    return fake;
}

/* What the kernel does: bytes first, the head after them. */
static void put(struct fake *fake, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        fake->data[(fake->page.data_head + i) % SIZE] = ((const unsigned char *)bytes)[i];
    fake->page.data_head += size;
}

static void put_record(struct fake *fake, uint32_t type, uint16_t size, unsigned char fill)
{
    unsigned char bytes[SIZE];
    struct perf_event_header header = {.type = type, .size = size};
    memset(bytes, fill, sizeof(bytes));
    memcpy(bytes, &header, sizeof(header));
    put(fake, bytes, size);
}

static void test_empty(void **state)
{
    (void)state;
    struct fake *fake = fake_new();
    assert_false(pinject_ring_begin(&fake->ring));
    assert_null(pinject_ring_next(&fake->ring, scratch));
    assert_false(fake->ring.broken);
    free(fake);
}

static void test_records_in_order(void **state)
{
    (void)state;
    struct fake *fake = fake_new();
    put_record(fake, 1, 16, 0xaa);
    put_record(fake, 2, 24, 0xbb);
    assert_true(pinject_ring_begin(&fake->ring));
    const struct perf_event_header *record = pinject_ring_next(&fake->ring, scratch);
    assert_non_null(record);
    assert_int_equal(record->type, 1);
    assert_int_equal(((const unsigned char *)record)[15], 0xaa);
    record = pinject_ring_next(&fake->ring, scratch);
    assert_int_equal(record->type, 2);
    assert_int_equal(record->size, 24);
    assert_null(pinject_ring_next(&fake->ring, scratch));
    assert_int_equal(fake->page.data_tail, 0); /* nothing is given back before the end of the round */
    pinject_ring_end(&fake->ring);
    assert_int_equal(fake->page.data_tail, 40);
    assert_false(pinject_ring_begin(&fake->ring));
    free(fake);
}

/* Records that are written during a round belong to the next one. */
static void test_head_is_loaded_once(void **state)
{
    (void)state;
    struct fake *fake = fake_new();
    put_record(fake, 1, 16, 0);
    assert_true(pinject_ring_begin(&fake->ring));
    put_record(fake, 2, 16, 0);
    assert_non_null(pinject_ring_next(&fake->ring, scratch));
    assert_null(pinject_ring_next(&fake->ring, scratch));
    pinject_ring_end(&fake->ring);
    assert_true(pinject_ring_begin(&fake->ring));
    assert_int_equal(pinject_ring_next(&fake->ring, scratch)->type, 2);
    free(fake);
}

static void check_wraps(bool immutable)
{
    struct fake *fake = fake_new();
    unsigned copied = 0;
    fake->ring.immutable = immutable;
    for (unsigned round = 0; round < 100; round++) {
        uint16_t size = (uint16_t)(8 + 8 * (round % 31));
        put_record(fake, round, size, (unsigned char)round);
        assert_true(pinject_ring_begin(&fake->ring));
        const struct perf_event_header *record = pinject_ring_next(&fake->ring, scratch);
        assert_non_null(record);
        assert_int_equal(record->type, round);
        assert_int_equal(record->size, size);
        copied += (const void *)record == scratch;
        for (unsigned i = sizeof(*record); i < size; i++)
            assert_int_equal(((const unsigned char *)record)[i], round);
        assert_null(pinject_ring_next(&fake->ring, scratch));
        pinject_ring_end(&fake->ring);
    }
    assert_true(fake->page.data_head > 10 * SIZE);
    /* Of an immutable ring only those that go over its end. */
    if (immutable)
        assert_in_range(copied, 5, 100 * 128 / SIZE + 1);
    else
        assert_int_equal(copied, 100);
    free(fake);
}

static void test_wraps(void **state)
{
    (void)state;
    check_wraps(false);
    check_wraps(true);
}

static void test_full(void **state)
{
    (void)state;
    struct fake *fake = fake_new();
    put_record(fake, 7, SIZE, 1);
    assert_true(pinject_ring_begin(&fake->ring));
    assert_int_equal(pinject_ring_next(&fake->ring, scratch)->size, SIZE);
    free(fake);
}

static void check_broken(uint16_t size, uint64_t head)
{
    struct fake *fake = fake_new();
    struct perf_event_header header = {.type = 1, .size = size};
    memcpy(fake->data, &header, sizeof(header));
    fake->page.data_head = head;
    if (pinject_ring_begin(&fake->ring))
        assert_null(pinject_ring_next(&fake->ring, scratch));
    assert_true(fake->ring.broken);
    assert_false(pinject_ring_begin(&fake->ring));
    free(fake);
}

static void test_makes_no_sense(void **state)
{
    (void)state;
    check_broken(0, 64); /* would never end */
    check_broken(7, 64);
    check_broken(12, 64); /* the next one would not be aligned */
    check_broken(72, 64); /* beyond the head */
    check_broken(65528, SIZE);
    check_broken(8, 4);        /* half a header */
    check_broken(8, SIZE + 8); /* more than fits */
    check_broken(8, UINT64_MAX - 7);
}

static void test_size_is_a_power_of_two(void **state)
{
    (void)state;
    struct perf_event_mmap_page page = {.data_head = 8};
    unsigned char data[24] = {0};
    struct pinject_ring ring;
    pinject_ring_init(&ring, &page, data, 24);
    assert_false(pinject_ring_begin(&ring));
    pinject_ring_init(&ring, &page, data, 0);
    assert_false(pinject_ring_begin(&ring));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_records_in_order),
        cmocka_unit_test(test_head_is_loaded_once),
        cmocka_unit_test(test_wraps),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_makes_no_sense),
        cmocka_unit_test(test_size_is_a_power_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
