/* SPDX-License-Identifier: MIT */
/* From a frame to its caller by what a row says of every register. */
#include "steps_kit.h"

/* ---- By rows ---- */

/* The sampled address is looked up itself, each return address by the call in front of it. */
static void test_three_frames(void **state)
{
    (void)state;
    begin();
    add_row(0x400010, plain_row(16));
    add_row(0x40001f, plain_row(24));
    add_bottom(0x40002f);
    words[1] = 0x400020;
    words[4] = 0x400030;
    assert_chain(3, UNWIND_BOTTOM);
    assert_int_equal(ips[1], 0x400020);
    assert_int_equal(ips[2], 0x400030);
    assert_int_equal(outcome.top, STACK + 40);
    assert_int_equal(chain(2), 2); /* no room for more */
    assert_int_equal(outcome.end, UNWIND_TOO_DEEP);
    assert_int_equal(ips[2], UINT64_MAX);
    assert_int_equal(chain(1), 1);
    words[4] = 0; /* a return address of 0 ends it as well */
    assert_chain(2, UNWIND_BOTTOM);
}

/* What the caller's SAVED is by RULE: the next frame's CFA is found by it. */
static uint64_t saved_by(struct cfi_rule rule, bool debug)
{
    begin();
    struct cfi_row *row = add_row(0x400010, plain_row(16)), *next = add_row(0x40001f, plain_row(0));
    row->rules[SAVED] = rule;
    row->debug = debug;
    regs.value[SAVED] = STACK + 64;
    regs.value[SAVED_TOO] = STACK + 72;
    words[1] = 0x400020;
    words[0] = STACK + 80;
    words[3] = STACK + 88;
    words[7] = STACK + 96;
    next->cfa = (struct cfi_rule){CFI_REGISTER, SAVED, 8};
    next->rules[UNWIND_RETURN] = (struct cfi_rule){CFI_VAL_OFFSET, 0, 1}; /* the CFA shows in the chain */
    next->rules[UNWIND_SP] = (struct cfi_rule){CFI_VAL_OFFSET, 0, 0};
    add_bottom(0x40001f);
    chain(3);
    return ips[2] - 1 - 8;
}

static void test_rules(void **state)
{
    (void)state;
    assert_int_equal(saved_by((struct cfi_rule){CFI_SAME_VALUE, 0, 0}, false), STACK + 64);
    assert_int_equal(saved_by((struct cfi_rule){CFI_UNDEFINED, 0, 0}, false), STACK + 64);
    assert_int_equal(saved_by((struct cfi_rule){CFI_OFFSET, 0, -16}, false), STACK + 80);
    assert_int_equal(saved_by((struct cfi_rule){CFI_OFFSET, 0, -24}, false), STACK + 64); /* popped already */
    assert_int_equal(saved_by((struct cfi_rule){CFI_VAL_OFFSET, 0, 32}, false), STACK + 48);
    assert_int_equal(saved_by((struct cfi_rule){CFI_REGISTER, SAVED_TOO, 0}, false), STACK + 72);
    /* The expression at byte 1: the CFA and 8. */
    assert_int_equal(saved_by((struct cfi_rule){CFI_VAL_EXPRESSION, 0, 1}, false), STACK + 24);
    assert_ptr_equal(expression_section, &file.frames);
    assert_int_equal(saved_by((struct cfi_rule){CFI_EXPRESSION, 0, 1}, false), STACK + 88);
    assert_int_equal(saved_by((struct cfi_rule){CFI_EXPRESSION, 0, 1}, true), STACK + 96);
    assert_ptr_equal(expression_section, &file.debug);
}

/* A frame behind the first has its registers below its stack pointer too, when a signal came in its prologue. */
static void test_popped_in_the_first_frame_alone(void **state)
{
    (void)state;
    begin();
    add_row(0x400010, plain_row(16));
    struct cfi_row *row = add_row(0x40001f, plain_row(16)), *next = add_row(0x40002f, plain_row(0));
    row->rules[SAVED] = (struct cfi_rule){CFI_OFFSET, 0, -24}; /* below its rsp */
    next->cfa = (struct cfi_rule){CFI_REGISTER, SAVED, 8};
    next->rules[UNWIND_RETURN] = (struct cfi_rule){CFI_VAL_OFFSET, 0, 0};
    words[1] = 0x400020;
    words[3] = 0x400030;
    add_bottom(0);
    chain(4);
    assert_int_equal(ips[2], 0x400030);
    assert_int_equal(ips[3], 0x400020 + 8);
}

static void test_cfa_by_expression(void **state)
{
    (void)state;
    begin();
    struct cfi_row *row = add_row(0x400010, plain_row(0));
    row->cfa = (struct cfi_rule){CFI_VAL_EXPRESSION, 0, 2};
    words[1] = 0x400020;
    add_bottom(0x40001f);
    assert_chain(2, UNWIND_BOTTOM);
    assert_int_equal(ips[1], 0x400020);
    expression_fails = true;
    assert_chain(1, UNWIND_BAD_MEMORY);
    dump.full = true; /* it may be anywhere: as far away as can be */
    assert_chain(1, UNWIND_TRUNCATED);
}

/* A register that cannot be read is 0, unless it is the return address or the stack pointer. */
static void test_missing_memory(void **state)
{
    (void)state;
    begin();
    struct cfi_row *row = add_row(0x400010, plain_row(16));
    row->rules[SAVED] = (struct cfi_rule){CFI_OFFSET, 0, 0x1000};
    regs.value[SAVED] = STACK + 64;
    words[1] = 0x400020;
    struct cfi_row *next = add_row(0x40001f, plain_row(0));
    next->cfa = (struct cfi_rule){CFI_REGISTER, SAVED, 5};
    next->rules[UNWIND_RETURN] = (struct cfi_rule){CFI_VAL_OFFSET, 0, 0};
    next->rules[UNWIND_SP] = (struct cfi_rule){CFI_VAL_OFFSET, 0, 0x8000};
    assert_chain(3, UNWIND_NO_TABLE);
    assert_int_equal(ips[2], 5);
    row->rules[UNWIND_SP] = (struct cfi_rule){CFI_OFFSET, 0, 0x1000};
    assert_chain(1, UNWIND_BAD_MEMORY);
    row->rules[UNWIND_SP] = (struct cfi_rule){CFI_VAL_OFFSET, 0, 0};
    row->rules[UNWIND_RETURN] = (struct cfi_rule){CFI_OFFSET, 0, 0x1000};
    assert_chain(1, UNWIND_BAD_MEMORY);
    dump.full = true;
    assert_chain(1, UNWIND_TRUNCATED);
    row->rules[UNWIND_RETURN] = (struct cfi_rule){CFI_OFFSET, 0, -0x1000}; /* below the dump: no matter how full */
    regs.value[UNWIND_SP] = STACK + 0x100;
    row->cfa.number = -0x200;
    assert_chain(1, UNWIND_BAD_MEMORY);
    /* The word that is cut by its end, and the last whole one. */
    begin();
    dump.full = true;
    dump.size = 60;
    row = add_row(0x400010, plain_row(64));
    assert_chain(1, UNWIND_TRUNCATED);
    row->rules[UNWIND_RETURN].number = -12; /* it lies in it, but is no word there */
    assert_chain(1, UNWIND_BAD_MEMORY);
}

/* Each frame lies above the one that it calls; a signal's may come from another stack. */
static void test_stack_goes_up(void **state)
{
    (void)state;
    begin();
    struct cfi_row *row = add_row(0x400010, plain_row(16));
    row->rules[UNWIND_SP] = (struct cfi_rule){CFI_VAL_OFFSET, 0, -16};
    words[1] = 0x400020;
    add_bottom(0x400020); /* behind a signal: not a call */
    dump.full = true;
    assert_chain(1, UNWIND_BAD_MEMORY);
    row->rules[UNWIND_SP].number = -15;
    regs.value[UNWIND_FP] = STACK + 12; /* and no further */
    assert_chain(2, UNWIND_NO_TABLE);
    row->rules[UNWIND_SP].number = -16;
    row->signal = true;
    assert_chain(2, UNWIND_BOTTOM);
    assert_int_equal(ips[1], 0x400020);
}

/* A table may keep the return address in another register. */
static void test_return_register(void **state)
{
    (void)state;
    begin();
    struct cfi_row *row = add_row(0x400010, plain_row(16));
    row->return_reg = SAVED;
    row->rules[SAVED] = (struct cfi_rule){CFI_OFFSET, 0, -16};
    row->rules[UNWIND_RETURN] = (struct cfi_rule){CFI_OFFSET, 0, 0x1000};
    words[0] = 0x400020;
    add_bottom(0x40001f);
    assert_chain(2, UNWIND_BOTTOM);
    assert_int_equal(ips[1], 0x400020);
    row->rules[SAVED].how = CFI_UNDEFINED;
    assert_chain(1, UNWIND_BOTTOM);
}

/* The innermost frame has no bytes of stack where its return address is in a register; no other is without. */
static void test_frame_without_stack(void **state)
{
    (void)state;
    begin();
    struct cfi_row *row = add_row(0x400010, plain_row(0));
    row->rules[UNWIND_RETURN] = (struct cfi_rule){CFI_REGISTER, SAVED, 0};
    regs.value[SAVED] = 0x400020;
    add_bottom(0x40001f);
    assert_chain(2, UNWIND_BOTTOM);
    assert_int_equal(ips[1], 0x400020);
    row->cfa.number = -8;
    assert_chain(1, UNWIND_BAD_MEMORY);
    begin();
    add_row(0x400010, plain_row(16));
    row = add_row(0x40001f, plain_row(0));
    row->rules[UNWIND_RETURN] = (struct cfi_rule){CFI_REGISTER, SAVED, 0};
    words[1] = 0x400020;
    regs.value[SAVED] = 0x400010;
    assert_chain(2, UNWIND_BAD_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_frames),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_popped_in_the_first_frame_alone),
        cmocka_unit_test(test_frame_without_stack),
        cmocka_unit_test(test_cfa_by_expression),
        cmocka_unit_test(test_missing_memory),
        cmocka_unit_test(test_stack_goes_up),
        cmocka_unit_test(test_return_register),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
