/* SPDX-License-Identifier: MIT */
/* Which functions are named first, where each has everything that it called: those that are the others' reason. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/view/diff.h"

/* The functions of a program: start > main > {parse > {hash > strlen}, sort}. */
enum { START, MAIN, PARSE, HASH, STRLEN, SORT, FUNCTIONS };
enum { MOST_STACKS = 16 };

static struct compare_row functions[FUNCTIONS], stacks[MOST_STACKS];
static struct compare compare;

static void begin(void)
{
    const size_t runs[2] = {1, 1};
    compare_init(&compare, runs, true);
    for (size_t i = 0; i < FUNCTIONS; i++)
        functions[i] = (struct compare_row){.changed = true};
    compare.tables[COMPARE_FUNCTION].rows = functions;
    compare.tables[COMPARE_FUNCTION].count = FUNCTIONS;
    stacks[0] = (struct compare_row){0}; /* of the command: nothing is in it */
    compare.tables[COMPARE_STACK].rows = stacks;
    compare.tables[COMPARE_STACK].count = 1;
}

/* PATH[DEPTH], from the outermost function on, which had BEFORE and has AFTER. */
static void add(const uint32_t *path, size_t depth, uint64_t before, uint64_t after)
{
    struct compare_table *table = &compare.tables[COMPARE_STACK];
    uint32_t around = 0;
    uint64_t seen = 0;
    for (size_t i = 0; i < depth; i++) {
        assert_true(table->count < MOST_STACKS);
        stacks[table->count] = (struct compare_row){.first = around + 1, .second = path[i]};
        around = (uint32_t)table->count++;
        if (!(seen >> path[i] & 1)) {
            functions[path[i]].sums[0].weight += before;
            functions[path[i]].sums[1].weight += after;
        }
        seen |= UINT64_C(1) << path[i];
    }
    stacks[around].sums[0].weight = before;
    stacks[around].sums[1].weight = after;
    compare.sides[0].all.weight += before;
    compare.sides[1].all.weight += after;
}

#define ADD(before, after, ...) \
    add((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), before, after)

/* The names, in the order of ROWS[COUNT] = EXPECTED; NAMED of them are worth a name. */
static void check(uint32_t *rows, size_t count, size_t named, const uint32_t *expected)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        for (int side = 0; side < 2; side++)
            functions[i].shares[side] = 100 * (double)functions[i].sums[side].weight /
                                        (double)compare.sides[side].all.weight;
    assert_int_equal(deepest_first(&compare, rows, count), named);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(rows[i], expected[i]);
    compare.tables[COMPARE_FUNCTION].rows = compare.tables[COMPARE_STACK].rows = NULL;
    compare_release(&compare);
}

static void test_the_reason_is_first(void **state)
{
    (void)state;
    begin();
    ADD(80, 260, START, MAIN, PARSE, HASH);
    ADD(0, 110, START, MAIN, PARSE, HASH, STRLEN);
    ADD(200, 260, START, MAIN, PARSE);
    ADD(400, 400, START, MAIN, SORT);
    /* By size. parse is hash for the most part, strlen is a part of hash; main and start have what parse has. */
    uint32_t rows[] = {START, MAIN, PARSE, HASH, STRLEN};
    check(rows, 5, 3, (const uint32_t[]){HASH, STRLEN, PARSE, START, MAIN});
}

/* main alone does more: nothing explains it. */
static void test_main_can_be_the_reason(void **state)
{
    (void)state;
    begin();
    ADD(100, 300, START, MAIN);
    ADD(100, 110, START, MAIN, SORT);
    uint32_t rows[] = {START, MAIN, SORT};
    check(rows, 3, 2, (const uint32_t[]){MAIN, SORT, START});
}

/* Two that call each other, and one that grows where another one shrinks: what is deeper counts, whatever the sum. */
static void test_calls_of_each_other(void **state)
{
    (void)state;
    begin();
    ADD(100, 300, MAIN, SORT, PARSE, HASH, PARSE, HASH);
    ADD(100, 100, MAIN);
    uint32_t rows[] = {SORT, PARSE, HASH};
    check(rows, 3, 3, (const uint32_t[]){PARSE, HASH, SORT});
    begin();
    ADD(100, 400, MAIN, PARSE, HASH);
    ADD(300, 10, MAIN, PARSE, SORT);
    ADD(500, 500, MAIN);
    uint32_t others[] = {HASH, SORT, PARSE};
    check(others, 3, 3, (const uint32_t[]){HASH, SORT, PARSE});
    assert_int_equal(deepest_first(&compare, NULL, 0), 0);
}

/* Of more functions than are looked at none is lost. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 100 };
    static struct compare_row many[MANY];
    uint32_t rows[MANY], seen[MANY] = {0};
    begin();
    compare.tables[COMPARE_FUNCTION].rows = many;
    compare.tables[COMPARE_FUNCTION].count = MANY;
    for (uint32_t i = 0; i < MANY; i++) {
        many[i].sums[1].weight = 1000 - i;
        rows[i] = i;
    }
    for (uint32_t i = 1; i < 10; i++)
        stacks[i] = (struct compare_row){.first = i, .second = 10 * i, .sums = {{0, 0}, {1, 1000 - i}}};
    compare.tables[COMPARE_STACK].count = 10;
    assert_int_equal(deepest_first(&compare, rows, MANY), MANY);
    for (size_t i = 0; i < MANY; i++)
        seen[rows[i]]++;
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(seen[i], 1);
    compare.tables[COMPARE_FUNCTION].rows = compare.tables[COMPARE_STACK].rows = NULL;
    compare_release(&compare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_reason_is_first),
        cmocka_unit_test(test_main_can_be_the_reason),
        cmocka_unit_test(test_calls_of_each_other),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
