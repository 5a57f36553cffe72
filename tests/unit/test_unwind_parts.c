/* SPDX-License-Identifier: MIT */
/* Numbers, expressions and rows of call frame information made by hand. */
#include "check.h"

#include "unwind/cfi.h"
#include "unwind/expression.h"
#include "unwind/leb.h"
#include "unwind/row_cache.h"

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static uint64_t stack[4] = {0x1122334455667788, 0x10, 0x20, 0x30};
static struct unwind_regs regs;
static struct unwind_dump dump;

/* Of CODE, with its size in front. */
static bool run(const uint8_t *code, size_t size, const uint64_t *initial, uint64_t *ret)
{
    uint8_t block[128] = {(uint8_t)size};
    assert_true(size < 127);
    memcpy(block + 1, code, size);
    return expression_run(cursor_of(block, size + 1), &regs, &dump, initial, ret);
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
}

static void test_memory(void **state)
{
    uint64_t initial = dump.start + 8, result = 0;
    (void)state;
    assert_int_equal(value(BYTES(0x77, 8, 0x06)), 0x10);
    assert_int_equal(value(BYTES(0x77, 0, 0x94, 2)), 0x7788);
    assert_int_equal(value(BYTES(0x92, 7, 16, 0x06)), 0x20);
    assert_true(run(BYTES(0x06), &initial, &result));
    assert_int_equal(result, 0x10);
    fails(BYTES(0x77, 0x78, 0x06)); /* below */
    fails(BYTES(0x77, 25, 0x06));   /* its last byte is above */
    fails(BYTES(0x77, 0, 0x94, 9));
}

static void test_nonsense(void **state)
{
    uint64_t result;
    (void)state;
    fails(BYTES(0x22));
    fails(BYTES(0x31, 0x30, 0x1b));
    fails(BYTES(0x31, 0x30, 0x1d));
    fails(BYTES(0x2f, 0xfd, 0xff));       /* for ever */
    fails(BYTES(0x2f, 0xf0, 0xff));       /* before its begin */
    fails(BYTES(0x31, 0x2f, 100, 0));     /* behind its end */
    fails(BYTES(0x31, 0x12, 0x2f, 0xfc, 0xff)); /* the stack overflows */
    fails(BYTES(0xff));
    fails(BYTES(0x0c, 1));
    fails(BYTES(0x92, 40, 0));
    fails(BYTES(0x15, 3));
    assert_false(expression_run(cursor_of("\x05\x31", 2), &regs, &dump, NULL, &result));
    assert_false(expression_run(cursor_of("", 1), &regs, &dump, NULL, &result));
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

/* A CIE, and one FDE of 0x1000-0x1100 with PROGRAM, as .debug_frame. */
static bool row_at(const uint8_t *program, size_t size, uint64_t address, struct cfi_row *ret)
{
    static const uint8_t cie[] = {20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16,
                                  0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0};
    struct cfi cfi = {.bytes = malloc(256), .debug = true};
    uint32_t head[] = {(uint32_t)(20 + size), 0};
    uint64_t range[] = {0x1000, 0x100};
    memcpy(cfi.bytes, cie, sizeof(cie));
    memcpy(cfi.bytes + sizeof(cie), head, sizeof(head));
    memcpy(cfi.bytes + sizeof(cie) + 8, range, sizeof(range));
    memcpy(cfi.bytes + sizeof(cie) + 24, program, size);
    cfi.size = sizeof(cie) + 24 + size;
    assert_int_equal(cfi_index(&cfi), 0);
    assert_int_equal(cfi.count, 1);
    bool found = cfi_find_row(&cfi, address, ret);
    cfi_release(&cfi);
    return found;
}

static void test_rows(void **state)
{
    /* push %rbp: +1; mov %rsp, %rbp: +3; remembered; leave at 0x50; back at 0x51 */
    static const uint8_t program[] = {0x41, 0x0e, 16,   0x86, 2, 0x43, 0x0d, 6,   0x0a,
                                      0x02, 0x4c, 0x0c, 7,    8, 0xc6, 0x41, 0x0b};
    struct cfi_row row;
    (void)state;
    assert_true(row_at(program, sizeof(program), 0x1000, &row));
    assert_int_equal(row.cfa.reg, 7);
    assert_int_equal(row.cfa.number, 8);
    assert_int_equal(row.rules[16].how, CFI_AT_CFA);
    assert_int_equal(row.rules[16].number, -8);
    assert_int_equal(row.rules[6].how, CFI_SAME);
    assert_true(row_at(program, sizeof(program), 0x1001, &row));
    assert_int_equal(row.cfa.number, 16);
    assert_int_equal(row.rules[6].number, -16);
    assert_true(row_at(program, sizeof(program), 0x104f, &row));
    assert_int_equal(row.cfa.reg, 6);
    assert_true(row_at(program, sizeof(program), 0x1050, &row));
    assert_int_equal(row.cfa.reg, 7);
    assert_int_equal(row.cfa.number, 8);
    assert_int_equal(row.rules[6].how, CFI_SAME);
    assert_true(row_at(program, sizeof(program), 0x10ff, &row));
    assert_int_equal(row.cfa.reg, 6);
    assert_int_equal(row.rules[6].number, -16);
    assert_false(row_at(program, sizeof(program), 0x1100, &row));
    assert_false(row_at(program, sizeof(program), 0xfff, &row));
    assert_false(row_at(BYTES(0x0b), 0x1000, &row)); /* nothing was remembered */
    assert_false(row_at(BYTES(0x3f), 0x1000, &row)); /* no such instruction */
    assert_false(row_at(BYTES(0x0c, 40, 8), 0x1000, &row));
}

/* A section with COUNT functions; the one at BOTTOM has no caller. */
static struct cfi make_section(const uint64_t (*ranges)[2], unsigned count, unsigned bottom)
{
    static const uint8_t cie[] = {20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16,
                                  0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0};
    size_t size = sizeof(cie);
    struct cfi cfi = {.bytes = malloc(size + count * 28), .debug = true};
    assert_non_null(cfi.bytes);
    memcpy(cfi.bytes, cie, size);
    for (unsigned i = 0; i < count; i++) {
        uint32_t head[] = {24, 0};
        uint8_t program[4] = {i == bottom ? 0x07 : 0, i == bottom ? 16 : 0};
        memcpy(cfi.bytes + size, head, sizeof(head));
        memcpy(cfi.bytes + size + 8, ranges[i], sizeof(ranges[i]));
        memcpy(cfi.bytes + size + 24, program, sizeof(program));
        size += 28;
    }
    cfi.size = size;
    assert_int_equal(cfi_index(&cfi), 0);
    assert_int_equal(cfi.count, count);
    return cfi;
}

/* As in clone(): [0x1000, 0x1010), the system call, [0x1018, 0x1020) of a thread without a caller. */
static void test_split(void **state)
{
    static const uint64_t ranges[][2] = {{0x1000, 0x10}, {0x1018, 8}, {0x1100, 0x10}};
    struct cfi cfi = make_section(ranges, 3, 1);
    struct cfi_row row;
    (void)state;
    assert_true(cfi_find_split(&cfi, 0x1010, &row));
    assert_int_equal(row.cfa.number, 8);
    assert_true(cfi_find_split(&cfi, 0x1017, &row));
    assert_false(cfi_find_split(&cfi, 0x100f, &row));
    assert_false(cfi_find_split(&cfi, 0x1018, &row));
    assert_false(cfi_find_split(&cfi, 0x1050, &row)); /* the next one has a caller, and is far away */
    assert_false(cfi_find_split(&cfi, 0x2000, &row));
    assert_false(cfi_find_split(&cfi, 0x10, &row));
    cfi_release(&cfi);
}

static void finds(const struct cfi *cfi, uint64_t address, const uint64_t range[2])
{
    uint64_t start, size;
    bool found = cfi_find_function(cfi, address, &start, &size);
    assert_int_equal(found, range != NULL);
    if (found) {
        assert_int_equal(start, range[0]);
        assert_int_equal(size, range[1]);
    }
}

/* Close together, or as far apart as addresses are: each is found, and nothing between them. */
static void test_functions(void **state)
{
    static uint64_t ranges[2000][2];
    (void)state;
    for (unsigned scale = 4; scale <= 52; scale += 12) {
        uint64_t at = 0x1000, seed = scale;
        for (unsigned i = 0; i < 2000; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            ranges[i][0] = at + (seed >> 40 & 1) + 1;
            ranges[i][1] = 1 + (seed >> 33 & 31);
            at = ranges[i][0] + ranges[i][1] + (i % 100 == 0 ? UINT64_C(1) << scale : 0);
        }
        struct cfi cfi = make_section((const uint64_t(*)[2])ranges, 2000, 0);
        for (unsigned i = 0; i < 2000; i++) {
            finds(&cfi, ranges[i][0], ranges[i]);
            finds(&cfi, ranges[i][0] + ranges[i][1] - 1, ranges[i]);
            finds(&cfi, ranges[i][0] - 1, NULL);
            finds(&cfi, i % 100 == 0 ? ranges[i][0] + ranges[i][1] : 1, NULL);
        }
        finds(&cfi, UINT64_MAX, NULL);
        cfi_release(&cfi);
    }
}

/* A header is believed if it is the section's own, in order, and leads into it; else the section is walked. */
static void test_headers(void **state)
{
    static const uint64_t ranges[][2] = {{0x1000, 0x10}, {0x1018, 8}, {0x1100, 0x10}};
    struct {
        uint8_t head[4];
        int32_t frames;
        uint32_t count;
        int32_t entries[3][2];
    } header = {{1, 0x1b, 0x03, 0x3b}, 0x3ffc, 3, {{-0x7000, 0x4018}, {-0x6fe8, 0x4034}, {-0x6f00, 0x4050}}}, broken;
    struct cfi cfi = make_section(ranges, 3, 1);
    const unsigned char *bytes = (const unsigned char *)&broken;
    uint64_t start, size;
    (void)state;
    free(cfi.fdes);
    free(cfi.blocks);
    cfi.fdes = NULL;
    cfi.blocks = NULL;
    cfi.count = cfi.block_count = 0;
    cfi.address = 0xc000;
    for (unsigned i = 0; i < 7; i++) {
        broken = header;
        if (i < 4)
            broken.head[i] ^= i == 1 ? 0xff : 2; /* version, encodings */
        else if (i == 4)
            broken.frames++;
        else if (i == 5)
            broken.count = 4;
        else
            broken.entries[2][0] = broken.entries[0][0] - 1;
        assert_false(cfi_index_by_header(&cfi, bytes, sizeof(broken), 0x8000));
        assert_null(cfi.fdes);
    }
    broken = header;
    broken.entries[1][1] = 0x4018 + 3 * 28 + 1;
    assert_false(cfi_index_by_header(&cfi, bytes, sizeof(broken), 0x8000));
    for (size_t cut = 0; cut < sizeof(header); cut++)
        assert_false(cfi_index_by_header(&cfi, (const unsigned char *)&header, cut, 0x8000));
    assert_true(cfi_index_by_header(&cfi, (const unsigned char *)&header, sizeof(header), 0x8000));
    assert_int_equal(cfi.count, 3);
    assert_true(cfi_find_function(&cfi, 0x101f, &start, &size));
    assert_int_equal(start, 0x1018);
    assert_int_equal(size, 8);
    assert_false(cfi_find_function(&cfi, 0x1020, &start, &size));
    cfi_release(&cfi);
    /* What it says of a function, the function's own entry has to say too. */
    cfi = make_section(ranges, 3, 1);
    free(cfi.fdes);
    free(cfi.blocks);
    cfi.address = 0xc000;
    header.entries[1][0]--;
    assert_true(cfi_index_by_header(&cfi, (const unsigned char *)&header, sizeof(header), 0x8000));
    assert_false(cfi_find_function(&cfi, 0x1018, &start, &size));
    cfi_release(&cfi);
}

/* As behind 'push %rbp; mov %rsp, %rbp; push %rbx' */
static struct cfi_row usual_row(void)
{
    struct cfi_row row = {.return_reg = UNWIND_RIP, .work = 20};
    row.cfa = (struct cfi_rule){.how = CFI_REGISTER, .reg = UNWIND_RBP, .number = 16};
    row.rules[UNWIND_RIP] = (struct cfi_rule){.how = CFI_AT_CFA, .number = -8};
    row.rules[UNWIND_RBP] = (struct cfi_rule){.how = CFI_AT_CFA, .number = -16};
    row.rules[3] = (struct cfi_rule){.how = CFI_AT_CFA, .number = -24};
    row.rules[UNWIND_RSP] = (struct cfi_rule){.how = CFI_IS_CFA};
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
    assert_int_equal(known->cfa_reg, UNWIND_RBP);
    assert_false(known->bottom);
    assert_int_equal(known->at[0], -24);
    assert_int_equal(known->at[1], -16);
    assert_int_equal(known->at[2], 0);
    assert_int_equal(known->at[ROW_KEPT - 1], -8);
    row_cache_add(&cache, 0, &row); /* marks what is empty */
    assert_null(row_cache_find(&cache, 0));
    row.rules[UNWIND_RIP] = (struct cfi_rule){.how = CFI_UNDEFINED};
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
    rows[2].cfa.how = CFI_IS_EXPRESSION;
    rows[3].rules[3] = (struct cfi_rule){.how = CFI_REGISTER, .reg = 12};
    rows[4].rules[3].number = -40000;
    rows[5].rules[3].number = 0;
    rows[6].rules[UNWIND_RAX] = (struct cfi_rule){.how = CFI_AT_CFA, .number = -32};
    rows[7].rules[UNWIND_RSP] = (struct cfi_rule){.how = CFI_AT_CFA, .number = -32};
    rows[8].rules[UNWIND_RIP] = (struct cfi_rule){.how = CFI_SAME};
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
    assert_int_equal(row_cache_size(&cache), 1 << 20);
    row_cache_release(&cache);
}

static void test_registers_of_perf(void **state)
{
    uint64_t words[17];
    struct unwind_regs ret;
    (void)state;
    for (unsigned i = 0; i < 17; i++)
        words[i] = 100 + i;
    assert_true(unwind_regs_of_perf(UNWIND_PERF_REGS, words, 17, &ret));
    assert_int_equal(ret.value[3], 101);           /* rbx is perf's second */
    assert_int_equal(ret.value[UNWIND_RBP], 106);
    assert_int_equal(ret.value[UNWIND_RSP], 107);
    assert_int_equal(ret.value[UNWIND_RIP], 108);
    assert_int_equal(ret.value[15], 116);
    assert_false(unwind_regs_of_perf(UNWIND_PERF_REGS, words, 16, &ret));
    assert_false(unwind_regs_of_perf(0xff, words, 17, &ret)); /* without rip */
    assert_true(unwind_regs_of_perf(0x180, words, 2, &ret));
    assert_int_equal(ret.value[UNWIND_RSP], 100);
    assert_int_equal(ret.value[UNWIND_RIP], 101);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants),    cmocka_unit_test(test_operators), cmocka_unit_test(test_stack),
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_nonsense),  cmocka_unit_test(test_long_numbers),
        cmocka_unit_test(test_rows),         cmocka_unit_test(test_registers_of_perf), cmocka_unit_test(test_split),
        cmocka_unit_test(test_functions),    cmocka_unit_test(test_headers),
        cmocka_unit_test(test_known_row),    cmocka_unit_test(test_unusual_rows), cmocka_unit_test(test_many_rows),
    };
    dump = (struct unwind_dump){.bytes = stack, .start = 0x7ff000, .size = sizeof(stack)};
    regs.value[UNWIND_RSP] = dump.start;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
