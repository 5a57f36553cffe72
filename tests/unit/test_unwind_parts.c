/* SPDX-License-Identifier: MIT */
/* Numbers, expressions and remembered rows, made by hand; test_cfi.c has the tables. */
#include "check.h"

#include "common/leb.h"
#include "unwind/cfi.h"
#include "unwind/expression.h"
#include "unwind/row_cache.h"

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static uint64_t stack[4] = {0x1122334455667788, 0x10, 0x20, 0x30};
static struct unwind_regs regs;
static struct unwind_dump dump;
static uint64_t work; /* of the last expression */

enum { BREG_SP = 0x70 + UNWIND_SP };

/* Of CODE, with its size in front. */
static bool run(const uint8_t *code, size_t size, const uint64_t *initial, uint64_t *ret)
{
    uint8_t block[128] = {(uint8_t)size};
    assert_true(size < 127);
    memcpy(block + 1, code, size);
    work = 0;
    return expression_run(cursor_of(block, size + 1), &regs, &dump, initial, &work, ret);
}

static uint64_t value(const uint8_t *code, size_t size)
{
    uint64_t result = 0;
    assert_true(run(code, size, NULL, &result));
    return result;
}

static void fails(const uint8_t *code, size_t size)
{
    uint64_t result;
    assert_false(run(code, size, NULL, &result));
}

static void test_constants(void **state)
{
    (void)state;
    assert_int_equal(value(BYTES(0x30)), 0);
    assert_int_equal(value(BYTES(0x4f)), 31);
    assert_int_equal(value(BYTES(0x08, 0xff)), 255);
    assert_int_equal(value(BYTES(0x09, 0xff)), UINT64_MAX);
    assert_int_equal(value(BYTES(0x0a, 0x34, 0x12)), 0x1234);
    assert_int_equal(value(BYTES(0x0b, 0xfe, 0xff)), (uint64_t)-2);
    assert_int_equal(value(BYTES(0x0c, 1, 0, 0, 0x80)), 0x80000001);
    assert_int_equal(value(BYTES(0x0d, 1, 0, 0, 0x80)), 0xffffffff80000001);
    assert_int_equal(value(BYTES(0x10, 0xe5, 0x8e, 0x26)), 624485);
    assert_int_equal(value(BYTES(0x11, 0x80, 0x7f)), (uint64_t)-128);
}

static void test_operators(void **state)
{
    (void)state;
    assert_int_equal(value(BYTES(0x3a, 0x36, 0x1a)), 10 & 6);
    assert_int_equal(value(BYTES(0x09, 0xf9, 0x32, 0x1b)), (uint64_t)-3); /* -7 / 2 */
    assert_int_equal(value(BYTES(0x33, 0x35, 0x1c)), (uint64_t)-2);
    assert_int_equal(value(BYTES(0x3a, 0x34, 0x1d)), 2);
    assert_int_equal(value(BYTES(0x33, 0x35, 0x1e)), 15);
    assert_int_equal(value(BYTES(0x35, 0x1f)), (uint64_t)-5);
    assert_int_equal(value(BYTES(0x30, 0x20)), UINT64_MAX);
    assert_int_equal(value(BYTES(0x33, 0x34, 0x21)), 7);
    assert_int_equal(value(BYTES(0x33, 0x23, 0x90, 0x01)), 147);
    assert_int_equal(value(BYTES(0x31, 0x34, 0x24)), 16);
    assert_int_equal(value(BYTES(0x09, 0xf0, 0x08, 60, 0x25)), 15);
    assert_int_equal(value(BYTES(0x09, 0xf0, 0x32, 0x26)), (uint64_t)-4);
    assert_int_equal(value(BYTES(0x31, 0x08, 64, 0x24)), 0);
    assert_int_equal(value(BYTES(0x36, 0x33, 0x27)), 5);
    assert_int_equal(value(BYTES(0x09, 0xff, 0x31, 0x2d)), 1); /* -1 < 1: signed */
    assert_int_equal(value(BYTES(0x09, 0xfb, 0x19)), 5);
}

static void test_stack(void **state)
{
    (void)state;
    assert_int_equal(value(BYTES(0x31, 0x32, 0x13)), 1);
    assert_int_equal(value(BYTES(0x31, 0x32, 0x14)), 1);
    assert_int_equal(value(BYTES(0x31, 0x32, 0x33, 0x15, 2)), 1);
    assert_int_equal(value(BYTES(0x31, 0x33, 0x16, 0x1c)), 2);       /* 3 - 1 */
    assert_int_equal(value(BYTES(0x31, 0x32, 0x33, 0x17, 0x13)), 1); /* 1 2 3 -> 3 1 2 -> 3 1 */
    assert_int_equal(value(BYTES(0x35, 0x31, 0x28, 1, 0, 0x96, 0x96)), 5);
    assert_int_equal(value(BYTES(0x35, 0x2f, 1, 0, 0x31)), 5);
    assert_int_equal(value(BYTES(0x35, 0x31, 0x28, 1, 0, 0x36)), 5); /* the branch is taken */
    assert_int_equal(value(BYTES(0x35, 0x30, 0x28, 1, 0, 0x36)), 6); /* and not */
    assert_int_equal(value(BYTES(0x31, 0x32, 0x33, 0x17)), 2);
    assert_int_equal(value(BYTES(0x31, 0x32, 0x33, 0x17, 0x13, 0x13)), 3);
    assert_int_equal(value(BYTES(0x31, 0x32, 0x16, 0x13)), 2);
    assert_int_equal(value(BYTES(0x37, 0x12, 0x1e)), 49);
    assert_int_equal(value(BYTES(0x0e, 1, 2, 3, 4, 5, 6, 7, 8)), 0x0807060504030201);
    assert_int_equal(value(BYTES(0x0f, 1, 2, 3, 4, 5, 6, 7, 0x88)), 0x8807060504030201);
}

static void test_memory(void **state)
{
    uint64_t initial = dump.start + 8, result = 0;
    (void)state;
    assert_int_equal(value(BYTES(BREG_SP, 8, 0x06)), 0x10);
    assert_int_equal(value(BYTES(BREG_SP, 0, 0x94, 2)), 0x7788);
    assert_int_equal(value(BYTES(0x92, UNWIND_SP, 16, 0x06)), 0x20);
    assert_true(run(BYTES(0x06), &initial, &result));
    assert_int_equal(result, 0x10);
    fails(BYTES(BREG_SP, 0x78, 0x06)); /* below */
    fails(BYTES(BREG_SP, 25, 0x06));   /* its last byte is above */
    fails(BYTES(BREG_SP, 0, 0x94, 9));
}

static void test_nonsense(void **state)
{
    uint64_t result;
    (void)state;
    fails(BYTES(0x22));
    fails(BYTES(0x03, 1, 2, 3, 4, 5, 6, 7, 8)); /* an address before its bias */
    fails(BYTES(0x31, 0x18));
    fails(BYTES(0x31, 0x30, 0x1b));
    fails(BYTES(0x31, 0x30, 0x1d));
    fails(BYTES(0x2f, 0xfd, 0xff));             /* for ever */
    fails(BYTES(0x2f, 0xf0, 0xff));             /* before its begin */
    fails(BYTES(0x31, 0x2f, 100, 0));           /* behind its end */
    fails(BYTES(0x31, 0x12, 0x2f, 0xfc, 0xff)); /* the stack overflows */
    fails(BYTES(0xff));
    fails(BYTES(0x0c, 1));
    fails(BYTES(0x92, 40, 0));
    fails(BYTES(0x92, UNWIND_REGS, 0));
    fails(BYTES(0x70 + UNWIND_REGS, 0));
    fails(BYTES(0x15, 3));
    assert_false(expression_run(cursor_of("\x05\x31", 2), &regs, &dump, NULL, &work, &result));
    assert_false(expression_run(cursor_of("", 1), &regs, &dump, NULL, &work, &result));
}

/* A chain has so much work, whether its expressions come to something or not. */
static void test_steps(void **state)
{
    (void)state;
    value(BYTES(0x31));
    assert_int_equal(work, 1);
    value(BYTES(0x31, 0x32, 0x22));
    assert_int_equal(work, 3);
    fails(BYTES(0x31, 0xff, 0x31));
    assert_int_equal(work, 2);
    fails(BYTES(0x2f, 0xfd, 0xff)); /* for ever */
    assert_in_range(work, 1000, 1001);
}

static void test_long_numbers(void **state)
{
    uint8_t padded[40];
    (void)state;
    memset(padded, 0x80, sizeof(padded));
    padded[0] = 0x81;
    padded[11] = 0;
    struct cursor cursor = cursor_of(padded, sizeof(padded));
    assert_int_equal(leb_unsigned(&cursor), 1);
    assert_false(cursor.failed);
    padded[11] = 0x80;
    cursor = cursor_of(padded, sizeof(padded));
    leb_unsigned(&cursor);
    assert_true(cursor.failed);
}

/* As behind 'push %rbp; mov %rsp, %rbp; push %rbx'; on AArch64 it would be x19. */
static struct cfi_row usual_row(void)
{
    struct cfi_row row = {.return_reg = UNWIND_RETURN, .work = 20};
    row.cfa = (struct cfi_rule){.how = CFI_REGISTER, .reg = UNWIND_FP, .number = 16};
    row.rules[UNWIND_RETURN] = (struct cfi_rule){.how = CFI_OFFSET, .number = -8};
    row.rules[UNWIND_FP] = (struct cfi_rule){.how = CFI_OFFSET, .number = -16};
    row.rules[row_cache_registers[0]] = (struct cfi_rule){.how = CFI_OFFSET, .number = -24};
    row.rules[UNWIND_SP] = (struct cfi_rule){.how = CFI_VAL_OFFSET};
    return row;
}

static void test_known_row(void **state)
{
    struct row_cache cache = {0};
    struct cfi_row row = usual_row();
    (void)state;
    assert_null(row_cache_find(&cache, 0x1000));
    row_cache_add(&cache, 0x1000, &row);
    const struct row_known *known = row_cache_find(&cache, 0x1000);
    assert_non_null(known);
    assert_int_equal(known->cfa, 16);
    assert_int_equal(known->cfa_reg, UNWIND_FP);
    assert_false(known->bottom);
    assert_int_equal(known->at[0], -24);
    assert_int_equal(known->at[ROW_FRAME], -16);
    assert_int_equal(known->at[2], 0);
    assert_int_equal(known->at[ROW_KEPT - 1], -8);
    row_cache_add(&cache, 0, &row); /* marks what is empty */
    assert_null(row_cache_find(&cache, 0));
    row.rules[UNWIND_RETURN] = (struct cfi_rule){.how = CFI_UNDEFINED};
    row_cache_add(&cache, 0x2000, &row);
    assert_true(row_cache_find(&cache, 0x2000)->bottom);
    row_cache_release(&cache);
    assert_null(row_cache_find(&cache, 0x1000));
}

/* What a line has no room for is not remembered: its table is read each time. */
static void test_unusual_rows(void **state)
{
    struct row_cache cache = {0};
    struct cfi_row rows[9];
    (void)state;
    for (unsigned i = 0; i < 9; i++)
        rows[i] = usual_row();
    rows[0].signal = true;
    rows[1].return_reg = 3;
    rows[2].cfa.how = CFI_VAL_EXPRESSION;
    rows[3].rules[row_cache_registers[0]] = (struct cfi_rule){.how = CFI_REGISTER, .reg = 12};
    rows[4].rules[row_cache_registers[0]].number = -40000;
    rows[5].rules[row_cache_registers[0]].number = 0;
    rows[6].rules[UNWIND_RESULT] = (struct cfi_rule){.how = CFI_OFFSET, .number = -32};
    rows[7].rules[UNWIND_SP] = (struct cfi_rule){.how = CFI_OFFSET, .number = -32};
    rows[8].rules[UNWIND_RETURN] = (struct cfi_rule){.how = CFI_REGISTER, .reg = 12};
    for (unsigned i = 0; i < 9; i++) {
        row_cache_add(&cache, 0x1000 + i, &rows[i]);
        assert_null(row_cache_find(&cache, 0x1000 + i));
    }
    assert_int_equal(row_cache_size(&cache), 0);
    row_cache_release(&cache);
}

/* It grows to what is asked for, up to its limit, and says nothing wrong of any. */
static void test_many_rows(void **state)
{
    struct row_cache cache = {0};
    size_t found[2] = {0};
    const unsigned counts[] = {4096, 1 << 20};
    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 1; i <= counts[round]; i++) {
            struct cfi_row row = usual_row();
            row.cfa.number = (int32_t)i;
            if (!row_cache_find(&cache, i * 7))
                row_cache_add(&cache, i * 7, &row);
        }
        for (unsigned i = 1; i <= counts[round]; i++) {
            const struct row_known *known = row_cache_find(&cache, i * 7);
            assert_true(!known || known->cfa == (int32_t)i);
            found[round] += known != NULL;
        }
    }
    assert_in_range(found[0], 2048, 4096);
    assert_in_range(found[1], 16384, 32768);
    assert_int_equal(row_cache_size(&cache), ROW_LINES << 20);
    row_cache_release(&cache);
}

/* A return address that is not saved is on no x86-64; on AArch64 it is in the link register. */
static void test_link_register(void **state)
{
    struct row_cache cache = {0};
    struct cfi_row row = usual_row();
    (void)state;
    row.rules[UNWIND_RETURN] = (struct cfi_rule){.how = CFI_SAME_VALUE};
    row_cache_add(&cache, 0x1000, &row);
    const struct row_known *known = row_cache_find(&cache, 0x1000);
    assert_int_equal(known != NULL, UNWIND_RETURN != UNWIND_IP);
    assert_true(!known || known->at[ROW_KEPT - 1] == 0);
    row_cache_release(&cache);
}

/* The place of each register among perf's. */
static void test_registers_of_perf(void **state)
{
#if defined(__aarch64__)
    static const uint8_t places[UNWIND_REGS] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                                17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
    const uint64_t both = UINT64_C(3) << 31;
#else
    static const uint8_t places[UNWIND_REGS] = {0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8};
    const uint64_t both = 0x180;
#endif
    uint64_t words[UNWIND_REGS];
    struct unwind_regs ret;
    (void)state;
    for (unsigned i = 0; i < UNWIND_REGS; i++)
        words[i] = 100 + i;
    assert_int_equal(__builtin_popcountll(UNWIND_PERF_REGS), UNWIND_REGS);
    assert_true(unwind_regs_of_perf(UNWIND_PERF_REGS, words, UNWIND_REGS, &ret));
    for (unsigned i = 0; i < UNWIND_REGS; i++)
        assert_int_equal(ret.value[i], 100u + places[i]);
    assert_false(unwind_regs_of_perf(UNWIND_PERF_REGS, words, UNWIND_REGS - 1, &ret));
    assert_false(unwind_regs_of_perf(0xff, words, UNWIND_REGS, &ret)); /* without the address */
    assert_true(unwind_regs_of_perf(both, words, 2, &ret));
    assert_int_equal(ret.value[UNWIND_SP], 100);
    assert_int_equal(ret.value[UNWIND_IP], 101);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants), cmocka_unit_test(test_operators),
        cmocka_unit_test(test_stack),     cmocka_unit_test(test_memory),
        cmocka_unit_test(test_nonsense),  cmocka_unit_test(test_long_numbers),
        cmocka_unit_test(test_known_row), cmocka_unit_test(test_unusual_rows),
        cmocka_unit_test(test_many_rows), cmocka_unit_test(test_registers_of_perf),
        cmocka_unit_test(test_steps),     cmocka_unit_test(test_link_register),
    };
    dump = (struct unwind_dump){.bytes = stack, .start = 0x7ff000, .size = sizeof(stack)};
    regs.value[UNWIND_SP] = dump.start;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
