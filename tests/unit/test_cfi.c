/* SPDX-License-Identifier: MIT */
/* Call frame information made by hand: each instruction, encoding and kind of entry, and how functions are found. */
#include "check.h"

#include <dwarf.h>

#include "unwind/cfi.h"
#include "unwind/pointer.h"
#include "unwind/unwind_file.h"

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

/* A CIE, and one FDE of 0x1000-0x1100 with PROGRAM, as .debug_frame. */
static bool row_at(const uint8_t *program, size_t size, uint64_t address, struct cfi_row *ret)
{
    static const uint8_t cie[] = {
        20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16,
        1,  0, 0, 0, 0,    0,    0};
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
    static const uint8_t program[] = {DW_CFA_advance_loc | 1,
                                      DW_CFA_def_cfa_offset,
                                      16,
                                      DW_CFA_offset | 6,
                                      2,
                                      DW_CFA_advance_loc | 3,
                                      DW_CFA_def_cfa_register,
                                      6,
                                      DW_CFA_remember_state,
                                      DW_CFA_advance_loc1,
                                      0x4c,
                                      DW_CFA_def_cfa,
                                      7,
                                      8,
                                      DW_CFA_restore | 6,
                                      DW_CFA_advance_loc | 1,
                                      DW_CFA_restore_state};
    struct cfi_row row;
    (void)state;
    assert_true(row_at(program, sizeof(program), 0x1000, &row));
    assert_int_equal(row.cfa.reg, 7);
    assert_int_equal(row.cfa.number, 8);
    assert_int_equal(row.rules[16].how, CFI_OFFSET);
    assert_int_equal(row.rules[16].number, -8);
    assert_int_equal(row.rules[6].how, CFI_SAME_VALUE);
    assert_true(row_at(program, sizeof(program), 0x1001, &row));
    assert_int_equal(row.cfa.number, 16);
    assert_int_equal(row.rules[6].number, -16);
    assert_true(row_at(program, sizeof(program), 0x104f, &row));
    assert_int_equal(row.cfa.reg, 6);
    assert_true(row_at(program, sizeof(program), 0x1050, &row));
    assert_int_equal(row.cfa.reg, 7);
    assert_int_equal(row.cfa.number, 8);
    assert_int_equal(row.rules[6].how, CFI_SAME_VALUE);
    assert_true(row_at(program, sizeof(program), 0x10ff, &row));
    assert_int_equal(row.cfa.reg, 6);
    assert_int_equal(row.rules[6].number, -16);
    assert_false(row_at(program, sizeof(program), 0x1100, &row));
    assert_false(row_at(program, sizeof(program), 0xfff, &row));
    assert_false(row_at(BYTES(DW_CFA_restore_state), 0x1000, &row)); /* nothing was remembered */
    assert_false(row_at(BYTES(0x3f), 0x1000, &row));                 /* no such instruction */
    assert_false(row_at(BYTES(DW_CFA_def_cfa, 40, 8), 0x1000, &row));
}

/* Each instruction that names a rule; data are aligned by -8. */
static void test_rules(void **state)
{
    static const struct {
        uint8_t program[8];
        uint8_t size, reg, how, other;
        int32_t number;
    } cases[] = {
        {{DW_CFA_offset | 3, 3}, 2, 3, CFI_OFFSET, 0, -24},
        {{DW_CFA_offset_extended, 12, 4}, 3, 12, CFI_OFFSET, 0, -32},
        {{DW_CFA_undefined, 3}, 2, 3, CFI_UNDEFINED, 0, 0},
        {{DW_CFA_offset | 3, 3, DW_CFA_same_value, 3}, 4, 3, CFI_SAME_VALUE, 0, 0},
        {{DW_CFA_register, 3, 12}, 3, 3, CFI_REGISTER, 12, 0},
        {{DW_CFA_register, 16, 0}, 3, 16, CFI_REGISTER, 0, 0},
        {{DW_CFA_offset_extended_sf, 3, 0x7e}, 3, 3, CFI_OFFSET, 0, 16},
        {{DW_CFA_val_offset, 3, 2}, 3, 3, CFI_VAL_OFFSET, 0, -16},
        {{DW_CFA_val_offset_sf, 3, 0x7f}, 3, 3, CFI_VAL_OFFSET, 0, 8},
        {{DW_CFA_GNU_negative_offset_extended, 3, 2}, 3, 3, CFI_OFFSET, 0, 16},
        {{DW_CFA_restore_extended, 16}, 2, 16, CFI_OFFSET, 0, -8},
        {{DW_CFA_offset | 3, 3, DW_CFA_restore_extended, 3}, 4, 3, CFI_SAME_VALUE, 0, 0},
        {{DW_CFA_offset | 3, 3, DW_CFA_restore | 3}, 3, 3, CFI_SAME_VALUE, 0, 0},
        {{DW_CFA_undefined, 16, DW_CFA_restore_extended, 16}, 4, 16, CFI_OFFSET, 0, -8},
        {{DW_CFA_offset | 16, 5, DW_CFA_restore | 16}, 3, 16, CFI_OFFSET, 0, -8},
        {{DW_CFA_GNU_args_size, 24, DW_CFA_offset | 3, 3}, 4, 3, CFI_OFFSET, 0, -24},
        /* An expression lies in the section: 24 bytes of CIE, and 24 of the FDE, in front of the program. */
        {{DW_CFA_expression, 3, 2, 0x31, 0x32}, 5, 3, CFI_EXPRESSION, 0, 24 + 24 + 2},
        {{DW_CFA_val_expression, 3, 2, 0x31, 0x32}, 5, 3, CFI_VAL_EXPRESSION, 0, 24 + 24 + 2},
        {{DW_CFA_val_expression, 3, 1, 0x31, DW_CFA_offset | 6, 1}, 6, 6, CFI_OFFSET, 0, -8},
        {{DW_CFA_offset | 42, 3, DW_CFA_offset | 6, 1}, 4, 6, CFI_OFFSET, 0, -8}, /* a register that is not followed */
        /* Only an advance ends a row: what says the CFA, or remembers, does not. */
        {{DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 3, 3}, 5, 3, CFI_OFFSET, 0, -24},
        {{DW_CFA_def_cfa_register, 7, DW_CFA_offset | 3, 3}, 4, 3, CFI_OFFSET, 0, -24},
        {{DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 3, 3}, 4, 3, CFI_OFFSET, 0, -24},
        {{DW_CFA_def_cfa_expression, 1, 0x31, DW_CFA_offset | 3, 3}, 5, 3, CFI_OFFSET, 0, -24},
        {{DW_CFA_def_cfa_sf, 7, 0x7f, DW_CFA_offset | 3, 3}, 5, 3, CFI_OFFSET, 0, -24},
        {{DW_CFA_def_cfa_offset_sf, 0x7e, DW_CFA_offset | 3, 3}, 4, 3, CFI_OFFSET, 0, -24},
        {{DW_CFA_remember_state, DW_CFA_offset | 3, 3}, 3, 3, CFI_OFFSET, 0, -24},
        {{DW_CFA_remember_state, DW_CFA_restore_state, DW_CFA_offset | 3, 3}, 4, 3, CFI_OFFSET, 0, -24},
        {{DW_CFA_nop, DW_CFA_offset | 3, 3}, 3, 3, CFI_OFFSET, 0, -24},
    };
    struct cfi_row row;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(row_at(cases[i].program, cases[i].size, 0x1000, &row));
        const struct cfi_rule *rule = &row.rules[cases[i].reg];
        assert_int_equal(rule->how, cases[i].how);
        assert_int_equal(rule->reg, cases[i].other);
        assert_int_equal(rule->number, cases[i].number);
    }
    assert_false(row_at(BYTES(DW_CFA_register, 3, UNWIND_REGS), 0x1000, &row));
    assert_true(row_at(BYTES(DW_CFA_register, UNWIND_REGS, UNWIND_REGS), 0x1000, &row));
    assert_true(row_at(BYTES(DW_CFA_register, 3, UNWIND_REGS - 1), 0x1000, &row));
    assert_false(row_at(BYTES(DW_CFA_expression, 3, 20, 0x31), 0x1000, &row)); /* it ends behind the section */
}

/* DW_CFA_AARCH64_negate_ra_state has the number of DW_CFA_GNU_window_save. It says nothing of where a register lies. */
static void test_signed_return_addresses(void **state)
{
    static const uint8_t program[] = {DW_CFA_advance_loc | 1,
                                      DW_CFA_GNU_window_save,
                                      DW_CFA_remember_state,
                                      DW_CFA_offset | 3,
                                      3,
                                      DW_CFA_GNU_window_save,
                                      DW_CFA_advance_loc | 1,
                                      DW_CFA_restore_state,
                                      DW_CFA_GNU_window_save,
                                      DW_CFA_offset | 6,
                                      2};
    struct cfi_row row = {0};
    (void)state;
#if defined(__aarch64__)
    assert_true(row_at(program, 1, 0x1000, &row));
    assert_false(row.blanked);
    assert_true(row_at(program, sizeof(program), 0x1001, &row));
    assert_true(row.blanked);
    assert_int_equal(row.rules[3].number, -24);
    assert_true(row_at(program, sizeof(program), 0x1002, &row));
    assert_int_equal(row.rules[3].how, CFI_SAME_VALUE);
    assert_int_equal(row.rules[6].number, -16);
#else
    assert_true(row_at(program, sizeof(program), 0x1000, &row));
    assert_false(row_at(program, sizeof(program), 0x1001, &row)); /* no instruction of x86-64's */
#endif
}

static void expect_cfa(const uint8_t *program, size_t size, uint64_t address, uint8_t how, uint8_t reg, int32_t number)
{
    struct cfi_row row;
    assert_true(row_at(program, size, address, &row));
    assert_int_equal(row.cfa.how, how);
    assert_int_equal(row.cfa.reg, reg);
    assert_int_equal(row.cfa.number, number);
}

/* The CFA, and how the address advances. */
static void test_frames(void **state)
{
    struct cfi_row row;
    (void)state;
    expect_cfa(BYTES(DW_CFA_def_cfa, 6, 32), 0x1000, CFI_REGISTER, 6, 32);
    expect_cfa(BYTES(DW_CFA_def_cfa_register, 6), 0x1000, CFI_REGISTER, 6, 8);
    expect_cfa(BYTES(DW_CFA_def_cfa_offset, 0x80, 1), 0x1000, CFI_REGISTER, 7, 128);
    expect_cfa(BYTES(DW_CFA_def_cfa_sf, 6, 0x7e), 0x1000, CFI_REGISTER, 6, 16);
    expect_cfa(BYTES(DW_CFA_def_cfa_offset_sf, 0x7d), 0x1000, CFI_REGISTER, 7, 24);
    expect_cfa(BYTES(DW_CFA_def_cfa_expression, 1, 0x31), 0x1000, CFI_VAL_EXPRESSION, 0, 24 + 24 + 1);
    /* There is no register to add to. */
    assert_false(row_at(BYTES(DW_CFA_def_cfa_expression, 1, 0x31, DW_CFA_def_cfa_offset, 8), 0x1000, &row));
    assert_false(row_at(BYTES(DW_CFA_def_cfa_expression, 1, 0x31, DW_CFA_def_cfa_register, 6), 0x1000, &row));
    assert_false(row_at(BYTES(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 0x08), 0x1000, &row)); /* 2^31 */
    expect_cfa(BYTES(DW_CFA_def_cfa_offset, 0xff, 0xff, 0xff, 0xff, 0x07), 0x1000, CFI_REGISTER, 7, INT32_MAX);
    static const struct {
        uint8_t program[11], size;
        uint16_t from;
    } steps[] = {
        {{DW_CFA_advance_loc | 5, DW_CFA_def_cfa_offset, 16}, 3, 5},
        {{DW_CFA_advance_loc1, 0x60, DW_CFA_def_cfa_offset, 16}, 4, 0x60},
        {{DW_CFA_advance_loc2, 0x80, 0, DW_CFA_def_cfa_offset, 16}, 5, 0x80},
        {{DW_CFA_advance_loc4, 0x90, 0, 0, 0, DW_CFA_def_cfa_offset, 16}, 7, 0x90},
        {{DW_CFA_set_loc, 0x70, 0x10, 0, 0, 0, 0, 0, 0, DW_CFA_def_cfa_offset, 16}, 11, 0x70},
    };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        expect_cfa(steps[i].program, steps[i].size, 0x1000u + steps[i].from - 1, CFI_REGISTER, 7, 8);
        expect_cfa(steps[i].program, steps[i].size, 0x1000u + steps[i].from, CFI_REGISTER, 7, 16);
    }
    assert_false(row_at(BYTES(DW_CFA_set_loc, 0xff, 0x0f, 0, 0, 0, 0, 0, 0), 0x1000, &row)); /* back */
    uint8_t deep[17];
    memset(deep, DW_CFA_remember_state, sizeof(deep));
    assert_true(row_at(deep, 16, 0x1000, &row));
    assert_false(row_at(deep, 17, 0x1000, &row));
}

static uint64_t pointer(const uint8_t *bytes, size_t size, uint8_t encoding, uint64_t here)
{
    struct cursor cursor = cursor_of(bytes, size);
    uint64_t value = pointer_read(&cursor, encoding, here);
    assert_false(cursor.failed);
    assert_int_equal(cursor_left(&cursor), 0);
    return value;
}

/* DW_EH_PE_...: absptr, uleb128, udata2, 4, 8, sleb128, sdata2, 4, 8; alone, and relative to where they stand. */
static void test_pointers(void **state)
{
    static const uint8_t bytes[] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const struct {
        uint8_t format, size;
        uint64_t value;
    } cases[] = {
        {0x00, 8, (uint64_t)-2}, {0x02, 2, 0xfffe},       {0x03, 4, 0xfffffffe},   {0x04, 8, (uint64_t)-2},
        {0x0a, 2, (uint64_t)-2}, {0x0b, 4, (uint64_t)-2}, {0x0c, 8, (uint64_t)-2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(pointer(bytes, cases[i].size, cases[i].format, 0x1000), cases[i].value);
        assert_int_equal(pointer(bytes, cases[i].size, cases[i].format | POINTER_PCREL, 0x1000),
                         cases[i].value + 0x1000);
        struct cursor cursor = cursor_of(bytes, cases[i].size - 1u);
        pointer_read(&cursor, cases[i].format, 0);
        assert_true(cursor.failed);
    }
    assert_int_equal(pointer(BYTES(0xfe, 0x7f), 0x01, 0), 0x3ffe);
    assert_int_equal(pointer(BYTES(0xfe, 0x7f), 0x09, 0), (uint64_t)-2);
    assert_int_equal(pointer(BYTES(0xfe, 0x7f), 0x09 | POINTER_PCREL, 0x1000), 0xffe);
    assert_int_equal(pointer(NULL, 0, POINTER_OMIT, 0x1000), 0);
    static const uint8_t unknown[] = {0x05, 0x08, 0x0f, 0x20, 0x30, 0x40, 0x50};
    for (size_t i = 0; i < sizeof(unknown); i++) {
        struct cursor cursor = cursor_of(bytes, sizeof(bytes));
        assert_int_equal(pointer_read(&cursor, unknown[i], 0x1000), 0);
        assert_true(cursor.failed);
    }
}

/* A section .eh_frame at 0x8000 with a function at 0x9000: its CIE has VERSION, AUGMENTATION and DATA for it. */
static bool augmented(uint8_t version, const char *augmentation, const uint8_t *data, size_t size, struct cfi_row *ret)
{
    struct cfi cfi = {.bytes = calloc(1, 256), .address = 0x8000};
    uint8_t *at = cfi.bytes + 8;
    const bool omitted = augmentation[0] != 'z';
    uint32_t word;
    *at++ = version;
    at += strlen(strcpy((char *)at, augmentation)) + 1;
    if (version == 4)
        *at++ = 8, *at++ = 0;
    memcpy(at, (const uint8_t[]){1, 0x78, 16}, 3);
    at += 3;
    if (!omitted)
        *at++ = (uint8_t)size;
    memcpy(at, data, size);
    at += size;
    memcpy(at, (const uint8_t[]){DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1}, 5);
    at += 5;
    word = (uint32_t)(at - cfi.bytes) - 4;
    memcpy(cfi.bytes, &word, 4);
    /* The FDE: 16 bytes, 4 of them for the start relative to itself (sdata4), one for its own augmentation. */
    uint8_t *fde = at;
    word = 13;
    memcpy(fde, &word, 4);
    word = (uint32_t)(fde + 4 - cfi.bytes);
    memcpy(fde + 4, &word, 4);
    word = (uint32_t)(0x9000 - (0x8000 + (fde + 8 - cfi.bytes)));
    memcpy(fde + 8, &word, 4);
    word = 0x40;
    memcpy(fde + 12, &word, 4);
    cfi.size = (size_t)(fde + 17 - cfi.bytes);
    assert_int_equal(cfi_index(&cfi), 0);
    bool found = cfi_find_row(&cfi, 0x9010, ret);
    cfi_release(&cfi);
    return found;
}

static void test_augmentations(void **state)
{
    struct cfi_row row;
    (void)state;
    assert_true(augmented(1, "zR", BYTES(0x1b), &row));
    assert_int_equal(row.cfa.number, 8);
    assert_false(row.signal);
    assert_true(augmented(1, "zRS", BYTES(0x1b), &row));
    assert_true(row.signal);
    assert_true(augmented(1, "zPLR", BYTES(0x9b, 1, 2, 3, 4, 0x1b, 0x1b), &row));
    assert_true(augmented(1, "zPLR", BYTES(0x02, 1, 2, 0x1b, 0x1b), &row));
    assert_true(augmented(1, "zRB", BYTES(0x1b), &row));
    assert_true(augmented(1, "zR?", BYTES(0x1b, 1, 2, 3), &row)); /* what is not known is left out */
    assert_false(augmented(1, "zPR", BYTES(0x0d, 0x1b), &row));
    assert_false(augmented(1, "zPLR", BYTES(0x9b, 1, 2, 3, 4, 0x1b), &row)); /* one byte is missing */
    assert_false(augmented(1, "eh", BYTES(0x1b), &row));
    assert_true(augmented(3, "zR", BYTES(0x1b), &row));
    assert_true(augmented(4, "zR", BYTES(0x1b), &row));
    assert_false(augmented(2, "zR", BYTES(0x1b), &row));
    assert_false(augmented(5, "zR", BYTES(0x1b), &row));
    /* Each function may have a CIE of its own: a name that is longer than any known is not read. */
    assert_true(augmented(1, "zRBBBBBBBBBBBBB", BYTES(0x1b), &row));
    assert_false(augmented(1, "zRBBBBBBBBBBBBBB", BYTES(0x1b), &row));
    assert_false(augmented(1, "zRBBBBBBBBBBBBBBBBBBBBBBBBBBBB", BYTES(0x1b), &row));
}

/* A section with COUNT functions; the one at BOTTOM has no caller. */
static struct cfi make_section(const uint64_t (*ranges)[2], unsigned count, unsigned bottom)
{
    static const uint8_t cie[] = {
        20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16,
        1,  0, 0, 0, 0,    0,    0};
    size_t size = sizeof(cie);
    struct cfi cfi = {.bytes = malloc(size + count * 28), .debug = true};
    assert_non_null(cfi.bytes);
    memcpy(cfi.bytes, cie, size);
    for (unsigned i = 0; i < count; i++) {
        uint32_t head[] = {24, 0};
        uint8_t program[4] = {i == bottom ? DW_CFA_undefined : DW_CFA_nop, i == bottom ? 16 : 0};
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

/* What it takes to find a row, or that there is none, is told in any case: a chain has so much work. */
static void test_work(void **state)
{
    static const uint64_t ranges[][2] = {{0x1000, 0x10}, {0x1018, 8}, {0x1100, 0x10}};
    enum { CIE = 11, FDE = 4 }; /* bytes of their programs */
    struct unwind_file file = {.frames = make_section(ranges, 3, 1), .debug = make_section(ranges, 3, 1)};
    struct cfi_row row;
    (void)state;
    assert_true(cfi_find_row(&file.frames, 0x1000, &row));
    assert_int_equal(row.work, CIE + FDE);
    assert_true(cfi_find_split(&file.frames, 0x1010, &row));
    assert_int_equal(row.work, 2 * (CIE + FDE));
    assert_false(cfi_find_split(&file.frames, 0x1008, &row));
    assert_int_equal(row.work, 0);
    assert_false(unwind_file_row(&file, 0x1010, &row));
    assert_int_equal(row.work, 0);
    /* The last byte of the first function's program is none that is known. */
    file.frames.bytes[24 + 27] = 0x3f;
    assert_false(cfi_find_row(&file.frames, 0x1000, &row));
    assert_int_equal(row.work, CIE + FDE);
    assert_false(cfi_find_split(&file.frames, 0x1010, &row));
    assert_int_equal(row.work, 2 * (CIE + FDE));
    assert_true(unwind_file_row(&file, 0x1000, &row));
    assert_true(row.debug && row.work == 2 * (CIE + FDE));
    file.debug.bytes[24 + 27] = 0x3f;
    assert_false(unwind_file_row(&file, 0x1000, &row));
    assert_int_equal(row.work, 2 * (CIE + FDE));
    cfi_release(&file.frames);
    cfi_release(&file.debug);
    row_cache_release(&file.rows);
}

/* No more entries are walked than a large program has, whatever they are. */
static void test_many_entries(void **state)
{
    static const uint64_t ranges[][2] = {{0x1000, 0x10}, {0x2000, 0x10}};
    enum { ENTRIES = 1 << 19, ONE = 24 + 28 };
    (void)state;
    for (unsigned zeros = ENTRIES - 3; zeros <= ENTRIES - 2; zeros++) {
        struct cfi made = make_section(ranges, 2, 2), cfi = {.debug = true, .size = made.size + 4 * (size_t)zeros};
        cfi.bytes = calloc(1, cfi.size);
        assert_non_null(cfi.bytes);
        memcpy(cfi.bytes, made.bytes, ONE);
        memcpy(cfi.bytes + cfi.size - 28, made.bytes + ONE, 28);
        assert_int_equal(cfi_index(&cfi), 0);
        assert_int_equal(cfi.count, zeros == ENTRIES - 3 ? 2 : 1);
        cfi_release(&cfi);
        cfi_release(&made);
    }
}

static void test_many_entries_by_header(void **state)
{
    enum { ENTRIES = 1 << 21, HEAD = 12 };
    const uint64_t size = HEAD + 8 * ((uint64_t)ENTRIES + 1);
    const uint32_t head[] = {0x3b030301, 0x4000, ENTRIES + 1};
    (void)state;
    struct cfi cfi = {.bytes = malloc(64), .size = 64, .address = 0x4000};
    unsigned char *header = calloc(1, size);
    assert_true(header && cfi.bytes);
    memcpy(header, head, sizeof(head));
    /* All of a function at 0x4000, whose entry is the first. */
    assert_false(cfi_index_by_header(&cfi, header, size, 0x4000));
    assert_null(cfi.fdes);
    memcpy(header + 8, &(const uint32_t){ENTRIES}, 4);
    assert_true(cfi_index_by_header(&cfi, header, size, 0x4000));
    assert_int_equal(cfi.count, ENTRIES);
    free(header);
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

/* What a linker dropped is left at address 0. */
static void test_dropped_function(void **state)
{
    static const uint64_t ranges[][2] = {{0x500, 0x10}, {0x1000, 0x10}};
    struct cfi cfi = make_section(ranges, 2, 1);
    (void)state;
    memset(cfi.bytes + 24 + 8, 0, 8);
    free(cfi.fdes);
    free(cfi.blocks);
    cfi.fdes = NULL;
    cfi.blocks = NULL;
    cfi.count = cfi.block_count = 0;
    assert_int_equal(cfi_index(&cfi), 0);
    assert_int_equal(cfi.count, 1);
    finds(&cfi, 8, NULL);
    finds(&cfi, 0x1000, ranges[1]);
    cfi_release(&cfi);
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
    /* Nor is what could be an entry behind a head that is none. */
    broken = header;
    broken.head[0] = 2;
    broken.count = 0x4018;
    assert_false(cfi_index_by_header(&cfi, bytes, sizeof(broken), 0x8000));
    broken = header;
    broken.frames++;
    broken.entries[0][0] = 0x4018;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_signed_return_addresses),
        cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_augmentations),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_dropped_function),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_many_entries),
        cmocka_unit_test(test_many_entries_by_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
