/* SPDX-License-Identifier: MIT */
/* From a frame to its caller by remembered rows, by frame pointers, from nowhere; and how a chain ends. */
#include "steps_kit.h"

/* ---- By remembered rows ---- */

static struct row_known *remember(uint64_t ip, int32_t cfa, uint8_t reg)
{
    known = (struct row_known){
        .address = ip - 0x400000 + CODE, .cfa = cfa, .cfa_reg = reg, .at = {[ROW_KEPT - 1] = -8}};
    return &known;
}

static void test_known_rows(void **state)
{
    (void)state;
    begin();
    struct row_known *row = remember(0x400010, 16, UNWIND_SP);
    row->at[0] = -16; /* of SAVED */
    words[0] = STACK + 64;
    words[1] = 0x400020;
    struct cfi_row *next = add_row(0x40001f, plain_row(0));
    next->cfa = (struct cfi_rule){CFI_REGISTER, SAVED, 8};
    next->rules[UNWIND_RETURN] = (struct cfi_rule){CFI_VAL_OFFSET, 0, 0};
    next->rules[UNWIND_SP] = (struct cfi_rule){CFI_VAL_OFFSET, 0, 0x8000};
    assert_int_equal(chain(3), 3);
    assert_int_equal(ips[1], 0x400020);
    assert_int_equal(ips[2], STACK + 72);
    assert_int_equal(outcome.top, STACK + 16);
    /* Popped already: the register itself; one that is not said to be saved too. */
    regs.value[SAVED] = STACK + 32;
    row->at[0] = -24;
    assert_int_equal(chain(3), 3);
    assert_int_equal(ips[2], STACK + 40);
    row->at[0] = 0;
    assert_int_equal(chain(3), 3);
    assert_int_equal(ips[2], STACK + 40);
    row->at[0] = 0x1000; /* not there: 0 */
    assert_int_equal(chain(3), 3);
    assert_int_equal(ips[2], 8);
    row->at[ROW_KEPT - 1] = 0x1000;
    assert_chain(1, UNWIND_BAD_MEMORY);
    row->bottom = true;
    assert_chain(1, UNWIND_BOTTOM);
    /* The CFA is above the stack pointer; by another register as well. */
    regs.value[UNWIND_FP] = STACK + 8;
    row = remember(0x400010, -8, UNWIND_FP);
    row->at[ROW_KEPT - 1] = 8;
    assert_chain(1, UNWIND_BAD_MEMORY);
    row->cfa = -7;
    row->at[ROW_KEPT - 1] = 7;
    assert_int_equal(chain(2), 2);
    assert_int_equal(ips[1], 0x400020);
    dump.full = true;
    row->cfa = -8;
    row->at[ROW_KEPT - 1] = 8;
    assert_chain(1, UNWIND_BAD_MEMORY);
}

/* In a frame behind the first nothing was popped, and its address is that of the call. */
static void test_known_row_of_a_caller(void **state)
{
    (void)state;
    begin();
    add_row(0x400010, plain_row(16));
    struct row_known *row = remember(0x40001f, 16, UNWIND_SP);
    row->at[0] = -24;
    words[1] = 0x400020;
    words[3] = 0x400030;
    struct cfi_row *next = add_row(0x40002f, plain_row(0));
    next->cfa = (struct cfi_rule){CFI_REGISTER, SAVED, 8};
    next->rules[UNWIND_RETURN] = (struct cfi_rule){CFI_VAL_OFFSET, 0, 0};
    assert_int_equal(chain(4), 4);
    assert_int_equal(ips[2], 0x400030);
    assert_int_equal(ips[3], 0x400028);
    assert_int_equal(outcome.top, STACK + 32);
}

/* ---- Without tables ---- */

static void test_frame_pointers(void **state)
{
    (void)state;
    begin();
    regs.value[UNWIND_FP] = STACK + 16;
    words[2] = STACK + 32;
    words[3] = 0x500000; /* nowhere */
    words[4] = 0;
    words[5] = 0x400040;
    assert_chain(2, UNWIND_NO_TABLE); /* behind a call there is code */
    assert_int_equal(ips[1], 0x500000);
    words[3] = 0x470020; /* a mapping of no file */
    assert_chain(3, UNWIND_BOTTOM);
    assert_int_equal(ips[2], 0x400040);
    assert_int_equal(outcome.top, STACK + 48);
    words[3] = 0x402000; /* one that is not in the file's segments */
    assert_chain(3, UNWIND_BOTTOM);
    regs.value[UNWIND_FP] = 0;
    assert_chain(1, UNWIND_BOTTOM);
    regs.value[UNWIND_FP] = STACK - 8;
    assert_chain(1, UNWIND_NO_TABLE);
    regs.value[UNWIND_FP] = STACK + 12;
    assert_chain(1, UNWIND_NO_TABLE);
    regs.value[UNWIND_FP] = STACK; /* right there */
    words[0] = 0;
    words[1] = 0x400040;
    assert_chain(2, UNWIND_BOTTOM);
    regs.value[UNWIND_FP] = STACK + DUMP_SIZE;
    assert_chain(1, UNWIND_BAD_MEMORY);
    dump.full = true;
    assert_chain(1, UNWIND_TRUNCATED);
    regs.value[UNWIND_FP] = STACK + DUMP_SIZE - 8; /* one word is there, the other is not */
    assert_chain(1, UNWIND_TRUNCATED);
}

/*
 * Generated code that only moves the stack pointer, as CPython 3.12's trampolines on x86-64: where no frame pointer
 * leads on.
 */
static void test_trampolines(void **state)
{
    (void)state;
    if (UNWIND_RETURN != UNWIND_IP)
        skip();
    begin();
    add_row(0x400010, plain_row(8));
    words[0] = 0x470020; /* a mapping of no file */
    words[2] = 0x400030;
    add_bottom(0x40002f);
    const uint64_t no_frames[] = {0, 8, STACK - 8, STACK + 12, STACK + 24, STACK + DUMP_SIZE};
    for (size_t i = 0; i < sizeof(no_frames) / sizeof(no_frames[0]); i++) {
        regs.value[UNWIND_FP] = no_frames[i]; /* words[4] is no code */
        assert_chain(3, UNWIND_BOTTOM);
        assert_int_equal(ips[1], 0x470020);
        assert_int_equal(ips[2], 0x400030);
        assert_int_equal(outcome.top, STACK + 24);
    }
    /* Nor in a file whose tables are not known. */
    words[0] = 0x480020;
    regs.value[UNWIND_FP] = 8;
    assert_chain(2, UNWIND_NO_TABLE);
    words[0] = 0x470020;
    /* A frame pointer that leads above the end of the dump may be right. */
    regs.value[UNWIND_FP] = STACK + DUMP_SIZE;
    dump.full = true;
    assert_chain(2, UNWIND_TRUNCATED);
    regs.value[UNWIND_FP] = STACK + 8 + (8 << 20); /* no stack is so large */
    assert_chain(3, UNWIND_BOTTOM);
    dump.full = false;
    /* A frame pointer that leads to code goes first. */
    regs.value[UNWIND_FP] = STACK + 24;
    words[4] = 0x400040;
    words[3] = 0;
    assert_chain(3, UNWIND_BOTTOM);
    assert_int_equal(ips[2], 0x400040);
    /* The word that is taken for a return address is one behind a call that a table knows. */
    regs.value[UNWIND_FP] = 8;
    words[2] = 0x400031;
    assert_chain(2, UNWIND_NO_TABLE);
    words[2] = 0x470030;
    assert_chain(2, UNWIND_NO_TABLE);
    words[2] = 0x10;
    assert_chain(2, UNWIND_NO_TABLE);
    words[2] = 0x400030;
    regs.value[UNWIND_IP] = 0x470020; /* the sample is not behind a call */
    words[1] = 0x400030;
    assert_chain(1, UNWIND_NO_TABLE);
}

/* A call to where no code is: the return address is on top of the stack; test_stack_linked.c has AArch64's. */
static void test_from_nowhere(void **state)
{
    (void)state;
    if (UNWIND_RETURN != UNWIND_IP)
        skip();
    begin();
    regs.value[UNWIND_IP] = 0x10;
    words[0] = 0x400020;
    add_bottom(0x40001f);
    assert_chain(2, UNWIND_BOTTOM);
    assert_int_equal(ips[1], 0x400020);
    assert_int_equal(outcome.top, STACK + 8);
    words[0] = 0x20; /* and no further */
    assert_chain(2, UNWIND_NO_TABLE);
    regs.value[UNWIND_SP] = STACK - 8;
    assert_chain(1, UNWIND_NO_TABLE);
}

static void test_entry_point(void **state)
{
    (void)state;
    begin();
    regs.value[UNWIND_FP] = STACK + 12; /* would lead nowhere */
    file.entry = CODE + 0x10;
    assert_chain(1, UNWIND_BOTTOM);
    file.entry = CODE + 0x11;
    assert_chain(1, UNWIND_NO_TABLE);
    regs.value[UNWIND_IP] = 0x400100;
    file.entry = CODE + 0x100 - 63;
    assert_chain(1, UNWIND_BOTTOM);
    file.entry = CODE + 0x100 - 64;
    assert_chain(1, UNWIND_NO_TABLE);
    file.entry = 0;
    assert_chain(1, UNWIND_NO_TABLE);
}

/* A new thread in front of its table: what clone() returned tells it from its creator. */
static void test_split(void **state)
{
    (void)state;
    begin();
    split_at = CODE + 0x10;
    split = plain_row(16);
    words[1] = 0x400020;
    add_bottom(0x40001f);
    assert_chain(1, UNWIND_BOTTOM);
    regs.value[UNWIND_RESULT] = 1;
    assert_chain(2, UNWIND_BOTTOM);
    assert_int_equal(ips[1], 0x400020);
    /* A caller cannot stand there. */
    begin();
    regs.value[UNWIND_RESULT] = 1;
    regs.value[UNWIND_FP] = STACK + 9;
    add_row(0x400010, plain_row(16));
    words[1] = 0x400020;
    split_at = CODE + 0x1f;
    assert_chain(2, UNWIND_NO_TABLE);
}

enum { MOST = 1 << 20 }; /* work for one chain */

/* A file may be made so that each frame is dear: a chain has so much work, and no more. */
static void test_work(void **state)
{
    (void)state;
    begin();
    struct cfi_row *row = add_row(0x400010, plain_row(16));
    row->work = MOST / 2;
    words[1] = 0x400020;
    add_bottom(0x40001f)->work = MOST / 2;
    assert_chain(2, UNWIND_BOTTOM);
    row->work++;
    assert_chain(2, UNWIND_NO_TABLE);
}

/* So it is where no row comes out: frame pointers would lead on from one dear frame to the next. */
static void test_work_for_nothing(void **state)
{
    (void)state;
    begin();
    regs.value[UNWIND_FP] = STACK + 16;
    words[2] = STACK + 32;
    words[3] = 0x400020;
    words[4] = 0;
    words[5] = 0x400040;
    assert_chain(3, UNWIND_BOTTOM);
    miss_work = MOST / 3;
    assert_chain(3, UNWIND_BOTTOM);
    miss_work = MOST / 3 + 1;
    assert_chain(3, UNWIND_NO_TABLE);
    miss_work = MOST + 1;
    assert_chain(1, UNWIND_NO_TABLE);
    /* Between two tables as well. */
    miss_work = 0;
    split_work = MOST + 1;
    assert_chain(1, UNWIND_NO_TABLE);
    split_work = MOST;
    assert_chain(3, UNWIND_BOTTOM);
}

static void test_work_of_expressions(void **state)
{
    (void)state;
    begin();
    struct cfi_row *row = add_row(0x400010, plain_row(16));
    row->rules[SAVED] = (struct cfi_rule){CFI_VAL_EXPRESSION, 0, 1};
    row->rules[SAVED_TOO] = (struct cfi_rule){CFI_EXPRESSION, 0, 1};
    words[1] = 0x400020;
    add_bottom(0x40001f);
    expression_work = MOST / 2;
    assert_chain(2, UNWIND_BOTTOM);
    expression_work++;
    assert_chain(2, UNWIND_NO_TABLE);
}

/* The mappings met last are not asked for again. */
static void test_mappings(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        begin();
        with_limits = way;
        /* Five frames in two mappings, to and fro: 0x40.... and 0x41.... lie alike. */
        regs.value[UNWIND_IP] = 0x400010;
        add_row(0x400010, plain_row(8));
        add_row(0x40001f, plain_row(8));
        words[0] = 0x410020;
        words[1] = 0x400020;
        words[2] = 0x410020;
        words[3] = 0x400020;
        words[4] = 0;
        assert_chain(5, UNWIND_BOTTOM);
        assert_int_equal(finds, way ? 2 : 5);
    }
    /* Of five the first is forgotten. */
    begin();
    with_limits = true;
    add_row(0x400010, plain_row(8));
    add_row(0x40001f, plain_row(8));
    for (unsigned i = 0; i < 5; i++)
        words[i] = 0x400020 + 0x10000 * ((i + 1) % 5);
    words[5] = 0x440020;
    words[6] = 0;
    assert_chain(7, UNWIND_BOTTOM);
    assert_int_equal(finds, 6);
    assert_int_equal(uses, 6); /* for who frees what is of no use */
}

/* ---- By frame pointers alone ---- */

static void test_frames(void **state)
{
    static uint64_t many[5000];
    (void)state;
    begin();
    regs.value[UNWIND_FP] = STACK + 16;
    words[2] = STACK + 32;
    words[3] = 0x11;
    words[4] = STACK + 48;
    words[5] = 0x22;
    words[6] = 0;
    words[7] = 0;
    assert_int_equal(unwind_frames(&regs, &dump, ips, 8), 3);
    assert_int_equal(ips[0], 0x400010);
    assert_int_equal(ips[1], 0x11);
    assert_int_equal(ips[2], 0x22);
    ips[2] = 7;
    assert_int_equal(unwind_frames(&regs, &dump, ips, 2), 2);
    assert_int_equal(ips[2], 7);
    assert_int_equal(unwind_frames(&regs, &dump, ips, 1), 1);
    words[7] = 0x33; /* the outermost one */
    assert_int_equal(unwind_frames(&regs, &dump, many, 5000), 4);
}

static void test_names(void **state)
{
    (void)state;
    for (int end = 0; end < UNWIND_ENDS; end++) {
        const char *name = unwind_end_name((enum unwind_end)end);
        assert_non_null(name);
        assert_string_not_equal(name, "unknown");
    }
    assert_string_equal(unwind_end_name((enum unwind_end)UNWIND_ENDS), "unknown");
    assert_string_equal(unwind_end_name(UNWIND_BOTTOM), "complete");
}

/* What a call returns is in perf's first register; one that perf has and DWARF has not is passed over. */
static void test_registers(void **state)
{
    static const uint64_t given[] = {7, 8, 9, 10, 11};
    struct unwind_regs ret;
    (void)state;
#if defined(__aarch64__)
    const uint64_t both = UINT64_C(1) << 31 | UINT64_C(1) << 32, mask = 1u << 0 | 1u << 29 | both;
    assert_true(unwind_regs_of_perf(mask | UINT64_C(1) << 46, given, 5, &ret));
    assert_int_equal(ret.value[UNWIND_FP], 8);
    assert_int_equal(ret.value[UNWIND_SP], 9);
    assert_int_equal(ret.value[UNWIND_IP], 10);
    assert_int_equal(ret.value[UNWIND_RETURN], 0);
#else
    const uint64_t both = 1u << 7 | 1u << 8, mask = 1u << 0 | both | 1u << 9;
    assert_true(unwind_regs_of_perf(mask | 1u << 16, given, 5, &ret));
    assert_int_equal(ret.value[UNWIND_SP], 8);
    assert_int_equal(ret.value[UNWIND_IP], 9);
    assert_int_equal(ret.value[8], 11);
#endif
    assert_int_equal(ret.value[UNWIND_RESULT], 7);
    assert_int_equal(ret.value[1], 0);
    assert_true(unwind_regs_of_perf(both | UINT64_C(1) << 63, given, 3, &ret));
    assert_false(unwind_regs_of_perf(both | UINT64_C(1) << 63, given, 2, &ret));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_rows),
        cmocka_unit_test(test_known_row_of_a_caller),
        cmocka_unit_test(test_frame_pointers),
        cmocka_unit_test(test_trampolines),
        cmocka_unit_test(test_from_nowhere),
        cmocka_unit_test(test_entry_point),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_work_for_nothing),
        cmocka_unit_test(test_work_of_expressions),
        cmocka_unit_test(test_mappings),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
