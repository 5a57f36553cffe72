/* SPDX-License-Identifier: MIT */
/* analyze/model/space.c against a model with one entry per address. */
#include "check.h"

#include <errno.h>

#include "analyze/model/space.h"

enum { SPACES = 4, ADDRESSES = 48, NOTHING = -1 };

/* What each address has: the module, and the offset in its file. */
struct model {
    int module[ADDRESSES];
    uint64_t offset[ADDRESSES];
};

struct pair {
    struct space space;
    struct model now, before;
};

static uint64_t states;
static struct space_limits limits;

static void clear(struct model *model)
{
    for (int i = 0; i < ADDRESSES; i++)
        model->module[i] = NOTHING;
}

static void begin(struct pair *pairs, uint64_t most)
{
    states = 0;
    limits = (struct space_limits){&states, most};
    memset(pairs, 0, SPACES * sizeof(*pairs));
    for (int i = 0; i < SPACES; i++) {
        clear(&pairs[i].now);
        clear(&pairs[i].before);
    }
}

static void expect_at(const struct space *space, const struct model *now, const struct model *before, int address)
{
    const struct mapping *found = space_find(space, (uint64_t)address);
    const struct model *model = now->module[address] != NOTHING ? now : before;
    if (model->module[address] == NOTHING) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_int_equal(found->module, model->module[address]);
    assert_true(found->start <= (uint64_t)address && (uint64_t)address < found->end);
    assert_int_equal((uint64_t)address - found->start + found->pgoff, model->offset[address]);
}

static void expect_all(const struct pair *pair, const struct space *space)
{
    for (int i = 0; i < ADDRESSES; i++)
        expect_at(space, &pair->now, &pair->before, i);
    assert_null(space_find(space, ADDRESSES));
    assert_null(space_find(space, UINT64_MAX));
}

static void map(struct pair *pair, int start, int end, uint64_t pgoff, int module)
{
    const struct mapping mapping = {(uint64_t)start, (uint64_t)end, pgoff, (uint32_t)module};
    uint64_t before = pair->space.state;
    assert_int_equal(space_map(&pair->space, &limits, &mapping), 0);
    assert_int_equal(pair->space.state, start < end ? states : before);
    assert_true(start >= end || pair->space.state != before);
    for (int i = start; i < end; i++) {
        pair->now.module[i] = module;
        pair->now.offset[i] = pgoff + (uint64_t)(i - start);
    }
}

static void share(struct pair *child, const struct pair *parent)
{
    space_share(&child->space, &parent->space, &limits);
    assert_int_equal(child->space.state, parent->space.state);
    child->now = parent->now;
    child->before = parent->before;
}

static void reset(struct pair *pair)
{
    uint64_t before = states;
    space_reset(&pair->space, &limits);
    assert_int_equal(pair->space.state, before + 1);
    pair->before = pair->now;
    clear(&pair->now);
}

static void release(struct pair *pairs)
{
    for (int i = 0; i < SPACES; i++) {
        space_release(&pairs[i].space);
        assert_null(space_find(&pairs[i].space, 0));
        assert_int_equal(pairs[i].space.state, 0);
    }
}

/* Every place of a second mapping beside, over and in a first one. */
static void test_two(void **state)
{
    (void)state;
    for (int start = 0; start < 12; start++) {
        for (int end = start; end < 12; end++) {
            struct pair pairs[SPACES];
            begin(pairs, 1000);
            map(&pairs[0], 3, 8, 100, 1);
            map(&pairs[0], start, end, 500, 2);
            expect_all(&pairs[0], &pairs[0].space);
            release(pairs);
        }
    }
}

static unsigned next(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % below;
}

static void step(struct pair *pairs, unsigned *seed)
{
    struct pair *one = &pairs[next(seed, SPACES)], *other = &pairs[next(seed, SPACES)];
    unsigned what = next(seed, 16);
    if (what == 0) {
        reset(one);
    } else if (what <= 2) {
        if (one != other)
            share(one, other);
    } else {
        int start = (int)next(seed, ADDRESSES), size = (int)next(seed, what < 12 ? 4 : ADDRESSES);
        map(one, start, start + size < ADDRESSES ? start + size : ADDRESSES, next(seed, 1000), (int)next(seed, 5));
    }
}

/* Spaces that are shared, written to and left behind: each has what was put into it, and no other one's. */
static void test_many(void **state)
{
    (void)state;
    unsigned seed = 5;
    for (int turn = 0; turn < 30; turn++) {
        struct pair pairs[SPACES];
        begin(pairs, 1u << 20);
        for (int i = 0; i < 60; i++) {
            step(pairs, &seed);
            for (int j = 0; j < SPACES; j++)
                expect_all(&pairs[j], &pairs[j].space);
        }
        release(pairs);
    }
}

static void expect_neighbours(const struct space *space, uint64_t address, int below, int above)
{
    const struct mapping *found = space_below(space, address);
    assert_int_equal(found ? (int)found->module : -1, below);
    found = space_above(space, address);
    assert_int_equal(found ? (int)found->module : -1, above);
}

static void test_neighbours(void **state)
{
    (void)state;
    struct pair pairs[SPACES];
    begin(pairs, 1000);
    expect_neighbours(&pairs[0].space, 5, -1, -1);
    map(&pairs[0], 2, 4, 0, 1);
    map(&pairs[0], 4, 6, 0, 2);
    map(&pairs[0], 8, 9, 0, 3);
    expect_neighbours(&pairs[0].space, 0, -1, 1);
    expect_neighbours(&pairs[0].space, 2, -1, 2);
    expect_neighbours(&pairs[0].space, 3, -1, 2);
    expect_neighbours(&pairs[0].space, 4, 1, 3);
    expect_neighbours(&pairs[0].space, 6, 2, 3);
    expect_neighbours(&pairs[0].space, 7, 2, 3);
    expect_neighbours(&pairs[0].space, 8, 2, -1);
    expect_neighbours(&pairs[0].space, UINT64_MAX, 3, -1);
    /* What was before an exec has no neighbours. */
    reset(&pairs[0]);
    expect_neighbours(&pairs[0].space, 5, -1, -1);
    release(pairs);
}

/* A copy stays what it was; it is of the arena, and its bytes are counted. */
static void test_copies(void **state)
{
    (void)state;
    struct pair pairs[SPACES];
    struct arena arena = ARENA_INIT;
    begin(pairs, 1000);
    size_t bytes = 7;
    const struct space *none = space_copy(&pairs[0].space, &arena, &bytes);
    assert_non_null(none);
    assert_int_equal(bytes, 7);
    assert_null(space_find(none, 5));
    map(&pairs[0], 1, 9, 10, 1);
    reset(&pairs[0]);
    map(&pairs[0], 4, 20, 50, 2);
    map(&pairs[0], 6, 8, 70, 3);
    const struct pair then = pairs[0];
    const struct space *copy = space_copy(&pairs[0].space, &arena, &bytes);
    assert_non_null(copy);
    assert_int_equal(copy->state, pairs[0].space.state);
    assert_true(bytes >= 7 + 4 * sizeof(struct mapping));
    map(&pairs[0], 0, ADDRESSES, 0, 4);
    reset(&pairs[0]);
    expect_all(&then, copy);
    expect_all(&pairs[0], &pairs[0].space);
    release(pairs);
    expect_all(&then, copy);
    arena_release(&arena);
}

/* Without an end behind its start it is none, wherever it is. */
static void test_empty(void **state)
{
    (void)state;
    struct pair pairs[SPACES];
    begin(pairs, 1000);
    const struct mapping empty[] = {{5, 5, 0, 1}, {6, 5, 0, 1}, {0, 0, 0, 1}, {UINT64_MAX, 0, 0, 1}};
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
        assert_int_equal(space_map(&pairs[0].space, &limits, &empty[i]), 0);
    assert_int_equal(states, 0);
    expect_all(&pairs[0], &pairs[0].space);
    const struct mapping last = {UINT64_MAX - 1, UINT64_MAX, 0, 1};
    assert_int_equal(space_map(&pairs[0].space, &limits, &last), 0);
    assert_non_null(space_find(&pairs[0].space, UINT64_MAX - 1));
    assert_null(space_find(&pairs[0].space, UINT64_MAX - 2));
    release(pairs);
}

/* As many as the limits allow, however often they are shared; what is refused changes nothing. */
static void test_limits(void **state)
{
    (void)state;
    struct pair pairs[SPACES];
    begin(pairs, 10);
    int count = 0;
    const struct mapping more = {30, 31, 0, 1};
    while (limits.mappings >= 2) {
        map(&pairs[0], 2 * count, 2 * count + 1, 0, 1);
        count++;
    }
    assert_int_equal(count, 9);
    assert_int_equal(space_map(&pairs[0].space, &limits, &more), -ENOSPC);
    assert_int_equal(pairs[0].space.state, states);
    assert_int_equal(states, 9);
    /* Shared they cost nothing, until one is written to. */
    share(&pairs[1], &pairs[0]);
    assert_int_equal(limits.mappings, 1);
    assert_int_equal(space_map(&pairs[1].space, &limits, &more), -ENOSPC);
    expect_all(&pairs[0], &pairs[0].space);
    expect_all(&pairs[1], &pairs[1].space);
    limits.mappings = 10;
    assert_int_equal(space_map(&pairs[1].space, &limits, &more), -ENOSPC); /* 9 of its own, and 2 */
    limits.mappings = 11;
    map(&pairs[1], 30, 31, 0, 1);
    assert_int_equal(limits.mappings, 1);
    expect_all(&pairs[0], &pairs[0].space);
    expect_all(&pairs[1], &pairs[1].space);
    /* What nobody has any more can be had again. */
    share(&pairs[1], &pairs[0]);
    assert_int_equal(limits.mappings, 11);
    reset(&pairs[1]);
    reset(&pairs[1]);
    assert_int_equal(limits.mappings, 11);
    reset(&pairs[0]);
    assert_int_equal(limits.mappings, 11);
    reset(&pairs[0]);
    assert_int_equal(limits.mappings, 20);
    release(pairs);
}

/* As a program that maps a file over pieces of others, again and again. */
static void test_covered_mappings_can_be_had_again(void **state)
{
    (void)state;
    struct pair pairs[SPACES];
    begin(pairs, 20);
    for (int turn = 0; turn < 20; turn++) {
        for (int at = 0; at < 10; at++)
            map(&pairs[0], 2 * at, 2 * at + 1, 0, 1 + at);
        assert_int_equal(limits.mappings, 10);
        map(&pairs[0], 0, 20, 0, 1);
        assert_int_equal(limits.mappings, 19);
        map(&pairs[0], 5, 6, 0, 2); /* in the middle of one: three */
        assert_int_equal(limits.mappings, 17);
        map(&pairs[0], 0, 20, 0, 3);
        expect_all(&pairs[0], &pairs[0].space);
        reset(&pairs[0]);
        reset(&pairs[0]);
        assert_int_equal(limits.mappings, 20);
    }
    release(pairs);
}

/* More of one process than any kernel allows. */
static void test_most_of_one(void **state)
{
    (void)state;
    struct pair pairs[SPACES];
    const uint64_t most = 65536;
    begin(pairs, 1u << 20);
    for (uint64_t i = 0; i < most; i++) {
        const struct mapping one = {2 * i, 2 * i + 1, 0, 1};
        assert_int_equal(space_map(&pairs[0].space, &limits, &one), 0);
    }
    const struct mapping more = {2 * most, 2 * most + 1, 0, 1};
    assert_int_equal(space_map(&pairs[0].space, &limits, &more), -ENOSPC);
    assert_non_null(space_find(&pairs[0].space, 2 * (most - 1)));
    assert_null(space_find(&pairs[0].space, 2 * (most - 1) + 1));
    assert_null(space_find(&pairs[0].space, 2 * most));
    release(pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_covered_mappings_can_be_had_again),
        cmocka_unit_test(test_most_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
