/* SPDX-License-Identifier: MIT */
/* Rows of counts: what goes in comes out, added up by thread, process or command, in order, also without memory. */
#include "check.h"

#include <errno.h>

#include "counts/count_store.h"

enum { EVENTS = 3 };

static bool broken; /* no more memory */

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return broken ? NULL : __real_realloc(old, size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return broken ? NULL : __real_calloc(count, size);
}

static void add(struct count_store *store, const char *comm, int pid, int tid, uint64_t start_ns, uint64_t clock)
{
    const struct count_cell cells[EVENTS] = {
        {true, false, clock, clock, 10 * clock, 10 * clock},
        {true, true, 7, 21, 3000, 1000}, /* counted for a third of the time */
        {0},
    };
    struct count_row row = {.pid = pid, .tid = tid, .start_ns = start_ns, .cells = cells};
    snprintf(row.comm, sizeof(row.comm), "%s", comm);
    count_store_add(store, &row);
}

static void expect(struct count_store *store, size_t index, const char *comm, int pid, int tid, uint64_t tasks,
                   uint64_t clock)
{
    struct count_row row;
    count_store_row(store, index, &row);
    assert_string_equal(row.comm, comm);
    assert_int_equal(row.pid, pid);
    assert_int_equal(row.tid, tid);
    assert_int_equal(row.tasks, tasks);
    assert_int_equal(row.cells[0].value, clock);
    assert_int_equal(row.cells[0].running_ns, 10 * clock);
    assert_false(row.cells[0].estimate);
    assert_int_equal(row.cells[1].value, 7 * tasks);
    assert_int_equal(row.cells[1].scaled, 21 * tasks);
    assert_int_equal(row.cells[1].enabled_ns, 3000 * tasks);
    assert_int_equal(row.cells[1].running_ns, 1000 * tasks);
    assert_true(row.cells[1].estimate);
    assert_false(row.cells[2].present);
}

/* Three processes; the number 20 comes again, and a thread has the number of an older process. */
static void fill(struct count_store *store, enum count_by by)
{
    assert_int_equal(count_store_init(store, by, EVENTS, 0), 0);
    add(store, "make", 10, 10, 1, 500);
    add(store, "cc1", 20, 20, 2, 1ull << 40);
    add(store, "cc1", 20, 21, 3, 1);
    add(store, "as", 20, 20, 9, 40);
    add(store, "make", 10, 11, 4, 30);
    add(store, "as", 20, 22, 10, 600);
    assert_int_equal(count_store_sort(store), 0);
    assert_int_equal(store->task_count, 6);
    assert_int_equal(store->total[0].value, (1ull << 40) + 1171);
    assert_int_equal(store->total[1].scaled, 6 * 21);
}

static void test_threads(void **state)
{
    struct count_store store;
    (void)state;
    fill(&store, COUNT_BY_THREAD);
    assert_int_equal(store.rows, 6);
    expect(&store, 0, "cc1", 20, 20, 1, 1ull << 40);
    expect(&store, 1, "as", 20, 22, 1, 600);
    expect(&store, 2, "make", 10, 10, 1, 500);
    expect(&store, 5, "cc1", 20, 21, 1, 1);
    count_store_release(&store);
}

static void test_processes(void **state)
{
    struct count_store store;
    (void)state;
    fill(&store, COUNT_BY_PROCESS);
    assert_int_equal(store.rows, 3);
    expect(&store, 0, "cc1", 20, -1, 2, (1ull << 40) + 1);
    expect(&store, 1, "as", 20, -1, 2, 640);
    expect(&store, 2, "make", 10, -1, 2, 530);
    count_store_release(&store);
}

static void test_commands(void **state)
{
    struct count_store store;
    (void)state;
    fill(&store, COUNT_BY_COMM);
    assert_int_equal(store.rows, 3);
    expect(&store, 0, "cc1", -1, -1, 2, (1ull << 40) + 1);
    expect(&store, 1, "as", -1, -1, 2, 640);
    expect(&store, 2, "make", -1, -1, 2, 530);
    count_store_release(&store);
    fill(&store, COUNT_ALL);
    assert_int_equal(store.rows, 0);
    count_store_release(&store);
}

/* An event of a set that had no turn in some tasks: these are taken to be like the others. */
static void test_unseen(void **state)
{
    static const struct count_event events[] = {{.name = "a", .set = 1}, {.name = "b", .set = 2}, {.name = "c"}};
    (void)state;
    for (unsigned round = 0; round < 2 * (COUNT_BY_PROCESS + 1); round++) {
        const enum count_by by = (enum count_by)(round / 2);
        struct count_store store;
        struct count_row row = {.pid = 7, .tid = 7, .comm = "x"};
        assert_int_equal(count_store_init(&store, by, EVENTS, 0), 0);
        for (int i = 0; i < 4; i++) {
            const bool counts = (i < 2) == (round % 2 == 0); /* in two of four tasks, the first ones or the last ones */
            const struct count_cell cells[EVENTS] = {
                {true, true, counts ? 10 : 0, counts ? 30 : 0, 300, counts ? 100 : 0},
                {true, true, 0, 0, 300, 0}, /* in none */
                {true, false, 5, 5, 300, 300},
            };
            row.cells = cells;
            row.tid = 7 + i;
            count_store_add(&store, &row);
        }
        assert_int_equal(count_store_sort(&store), 0);
        const struct count_cell *cells = store.total;
        for (size_t i = 0; i <= (by == COUNT_BY_COMM || by == COUNT_BY_PROCESS); i++) {
            assert_int_equal(cells[0].value, 20);
            assert_int_equal(cells[0].scaled, 120);
            assert_int_equal(cells[0].enabled_ns, 1200);
            assert_int_equal(cells[0].running_ns, 200);
            assert_false(count_is_known(&cells[1]));
            assert_int_equal(cells[2].scaled, 20);
            assert_true(count_had_turn(events, cells, EVENTS, 0));
            assert_false(count_had_turn(events, cells, EVENTS, 1));
            assert_true(count_had_turn(events, cells, EVENTS, 2));
            if (store.rows)
                count_store_row(&store, 0, &row);
            cells = row.cells;
        }
        count_store_release(&store);
    }
}

/* A program may give each of its tasks another name. */
static void test_many_commands(void **state)
{
    struct count_store store;
    struct count_row row;
    char name[16];
    (void)state;
    assert_int_equal(count_store_init(&store, COUNT_BY_COMM, EVENTS, 0), 0);
    for (int i = 0; i < COUNT_COMMS + 100; i++) {
        snprintf(name, sizeof(name), "x%d", i);
        add(&store, name, i + 1, i + 1, 1, 1);
    }
    assert_int_equal(count_store_sort(&store), 0);
    assert_int_equal(store.rows, COUNT_COMMS + 1);
    count_store_row(&store, 0, &row);
    assert_string_equal(row.comm, "(others)");
    assert_int_equal(row.tasks, 100);
    assert_int_equal(store.lost, 0);
    count_store_release(&store);
}

/* 100,000 tasks take some MB. */
static void test_size(void **state)
{
    struct count_store store;
    (void)state;
    assert_int_equal(count_store_init(&store, COUNT_BY_THREAD, EVENTS, 0), 0);
    for (int i = 1; i <= 100000; i++)
        add(&store, "worker-of-a-pool", i, i, 1000000000000ull + (uint64_t)i, 1000000 + (uint64_t)i);
    assert_true(store.tasks.size < 6000000);
    assert_int_equal(count_store_sort(&store), 0);
    assert_int_equal(store.rows, 100000);
    expect(&store, 0, "worker-of-a-poo", 100000, 100000, 1, 1100000);
    count_store_release(&store);
}

static void test_no_memory(void **state)
{
    struct count_store store;
    (void)state;
    for (enum count_by by = COUNT_BY_THREAD; by <= COUNT_BY_PROCESS; by++) {
        assert_int_equal(count_store_init(&store, by, EVENTS, 0), 0);
        add(&store, "a", 1, 1, 1, 5);
        broken = true;
        for (int i = 2; i < 1000; i++)
            add(&store, i % 2 ? "b" : "c", i, i, 1, 1);
        broken = false;
        assert_int_equal(store.task_count, 999);
        assert_int_equal(store.total[0].value, 5 + 998);
        assert_true(store.lost > 900 && store.lost <= 998);
        assert_int_equal(count_store_sort(&store), 0);
        assert_int_equal(store.rows, by == COUNT_BY_COMM ? 1 : 999 - store.lost);
        expect(&store, 0, "a", by == COUNT_BY_COMM ? -1 : 1, by == COUNT_BY_THREAD ? 1 : -1, 1, 5);
        count_store_release(&store);
    }
    broken = true;
    assert_int_equal(count_store_init(&store, COUNT_BY_THREAD, EVENTS, 0), -ENOMEM);
    add(&store, "a", 1, 1, 1, 5); /* has no effect */
    broken = false;
    count_store_release(&store);
}

static void test_large_numbers(void **state)
{
    struct count_cell to = {.present = true, .value = UINT64_MAX - 1, .scaled = 3}, from = {.value = 2, .scaled = 4};
    (void)state;
    count_begin(&to, 1);
    count_add(&to, &from, 1);
    assert_true(to.value == UINT64_MAX);
    assert_int_equal(to.scaled, 7);
    assert_int_equal(count_scale(1000000, 40, 10), 4000000);
    assert_int_equal(count_scale(1000000, 40, 0), 1000000);
    assert_int_equal(count_scale(1000000, 40, 41), 1000000);
    assert_true(count_scale(UINT64_MAX / 2, 40, 10) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),   cmocka_unit_test(test_processes),     cmocka_unit_test(test_unseen),
        cmocka_unit_test(test_commands),  cmocka_unit_test(test_size),          cmocka_unit_test(test_many_commands),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_large_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
