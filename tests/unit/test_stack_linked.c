/* SPDX-License-Identifier: MIT */
/* AArch64: the link register, signed return addresses, frame records, what the kernel leaves for a signal's handler. */
#include <asm/sigcontext.h>
#include <signal.h>

#include "steps_kit.h"
#include "unwind/signature.h"

#define SIGNED (UINT64_C(0x2a) << 48) /* bits above an address, as the processor makes them */

/* A function whose return address is in the link register still. */
static struct cfi_row leaf_row(int size)
{
    struct cfi_row row = plain_row(size);
    row.rules[UNWIND_RETURN] = (struct cfi_rule){CFI_SAME_VALUE, 0, 0};
    return row;
}

static void test_leaf(void **state)
{
    (void)state;
    begin();
    add_row(0x400010, leaf_row(0));
    add_row(0x40001f, plain_row(16));
    regs.value[UNWIND_RETURN] = 0x400020;
    words[1] = 0x400030;
    add_bottom(0x40002f);
    assert_chain(3, UNWIND_BOTTOM);
    assert_int_equal(ips[1], 0x400020);
    assert_int_equal(ips[2], 0x400030);
    assert_int_equal(outcome.top, STACK + 16);
    /* No other frame is one: it has called. */
    begin();
    add_row(0x400010, plain_row(16));
    words[1] = 0x400020;
    add_row(0x40001f, leaf_row(0));
    assert_chain(2, UNWIND_BAD_MEMORY);
}

static void test_known_leaf(void **state)
{
    (void)state;
    for (int size = 0; size <= 16; size += 16) {
        begin();
        known = (struct row_known){.address = CODE + 0x10, .cfa = size, .cfa_reg = UNWIND_SP};
        regs.value[UNWIND_RETURN] = 0x400020 | SIGNED;
        add_bottom(0x40001f);
        assert_chain(2, UNWIND_BOTTOM);
        assert_int_equal(ips[1], 0x400020);
        assert_int_equal(outcome.top, STACK + size);
    }
    begin();
    add_row(0x400010, plain_row(16));
    words[1] = 0x400020;
    known = (struct row_known){.address = CODE + 0x1f, .cfa = 0, .cfa_reg = UNWIND_SP};
    assert_chain(2, UNWIND_BAD_MEMORY);
}

static void test_signatures(void **state)
{
    (void)state;
    assert_int_equal(signature_strip(0x7f1234567890), 0x7f1234567890);
    assert_int_equal(signature_strip(0x7f1234567890 | SIGNED), 0x7f1234567890);
    assert_int_equal(signature_strip(UINT64_C(0xffffffff81000010)), UINT64_C(0xffffffff81000010)); /* the kernel's */
    begin();
    add_row(0x400010, plain_row(16));
    words[1] = 0x400020 | SIGNED;
    struct cfi_row *row = add_row(0x40001f, plain_row(16));
    words[3] = 0x470030 | SIGNED; /* a mapping of no file */
    regs.value[UNWIND_FP] = STACK + 32;
    words[4] = 0;
    words[5] = 0x400040 | SIGNED;
    assert_chain(4, UNWIND_BOTTOM);
    assert_int_equal(ips[1], 0x400020);
    assert_int_equal(ips[2], 0x470030);
    assert_int_equal(ips[3], 0x400040);
    row->rules[UNWIND_RETURN].how = CFI_UNDEFINED;
    assert_chain(2, UNWIND_BOTTOM);
}

/* ---- Without tables ---- */

static void test_link_register(void **state)
{
    (void)state;
    begin();
    regs.value[UNWIND_IP] = 0x470010; /* a mapping of no file */
    regs.value[UNWIND_RETURN] = 0x400020 | SIGNED;
    regs.value[UNWIND_FP] = STACK + 33; /* leads nowhere */
    add_row(0x40001f, plain_row(16));
    words[1] = 0x400030;
    add_bottom(0x40002f);
    assert_chain(3, UNWIND_BOTTOM);
    assert_int_equal(ips[1], 0x400020);
    assert_int_equal(outcome.top, STACK + 16);
    /* A PLT stub: in a file, where no table has it. */
    regs.value[UNWIND_IP] = 0x400800;
    assert_chain(3, UNWIND_BOTTOM);
    /* It leads to a call that no table knows: the function's own, perhaps. */
    regs.value[UNWIND_RETURN] = 0x400810;
    assert_chain(1, UNWIND_NO_TABLE);
    regs.value[UNWIND_RETURN] = 0x10;
    assert_chain(1, UNWIND_NO_TABLE);
    /* Nor is it asked behind a call. */
    begin();
    add_row(0x400010, plain_row(16));
    words[1] = 0x470020;
    add_row(0x40001f, plain_row(16));
    regs.value[UNWIND_RETURN] = 0x400020;
    regs.value[UNWIND_FP] = STACK + 33;
    assert_chain(2, UNWIND_NO_TABLE);
}

static void test_from_nowhere(void **state)
{
    (void)state;
    begin();
    regs.value[UNWIND_IP] = 0x10;
    regs.value[UNWIND_RETURN] = 0x400020;
    add_bottom(0x40001f);
    assert_chain(2, UNWIND_BOTTOM);
    assert_int_equal(outcome.top, STACK);
    regs.value[UNWIND_RETURN] = 0x20; /* and no further */
    assert_chain(2, UNWIND_NO_TABLE);
}

/* The frame record of code without a table does not say where its frame ends: that of its caller does. */
static void test_frame_records(void **state)
{
    (void)state;
    begin();
    regs.value[UNWIND_IP] = 0x470010;
    regs.value[UNWIND_FP] = STACK + 16;
    words[2] = STACK + 64;
    words[3] = 0x400020;
    struct cfi_row *row = add_row(0x40001f, plain_row(48));
    row->rules[UNWIND_FP] = (struct cfi_rule){CFI_OFFSET, 0, -48};
    row->rules[UNWIND_RETURN] = (struct cfi_rule){CFI_OFFSET, 0, -40};
    words[8] = 0;
    words[9] = 0x400030;
    add_bottom(0x40002f);
    assert_chain(3, UNWIND_BOTTOM);
    assert_int_equal(ips[2], 0x400030);
    assert_int_equal(outcome.top, STACK + 64 + 48);
    /* So it is by a row that was found before. */
    row->rules[UNWIND_RETURN].how = CFI_UNDEFINED;
    known = (struct row_known){
        .address = CODE + 0x1f, .cfa = 48, .cfa_reg = UNWIND_SP, .at = {[ROW_FRAME] = -48, [ROW_KEPT - 1] = -40}};
    assert_chain(3, UNWIND_BOTTOM);
    assert_int_equal(ips[2], 0x400030);
    assert_int_equal(outcome.top, STACK + 64 + 48);
    /* One that does not lead to code is none. */
    words[9] = 0x31;
    assert_chain(2, UNWIND_NO_TABLE);
    words[9] = 0x400030;
    /* A caller without a record begins right above, where its return address is. */
    known.at[ROW_FRAME] = 0;
    assert_chain(2, UNWIND_NO_TABLE);
    words[5] = 0x400030;
    assert_chain(3, UNWIND_BOTTOM);
    assert_int_equal(outcome.top, STACK + 32 + 48);
    words[5] = 0;
    known.at[ROW_FRAME] = -16;
    assert_chain(2, UNWIND_NO_TABLE);
    /* One whose CFA is by another register is found. */
    known.at[ROW_FRAME] = 0;
    known.cfa_reg = UNWIND_FP;
    assert_chain(3, UNWIND_BOTTOM);
    /* A record below what the stack pointer is at least. */
    known = (struct row_known){0};
    row->rules[UNWIND_RETURN].how = CFI_OFFSET;
    words[2] = STACK - 64;
    assert_chain(2, UNWIND_NO_TABLE);
}

/* ---- What a signal interrupted ---- */

enum { FRAME_REGS = 312 / 8, FRAME_SP = FRAME_REGS + 31, FRAME_PC, FRAME_RECORD = 592 / 8 };

/* At AT of the stack: SP and PC are those of what was interrupted. */
static void put_signal_frame(unsigned at, uint64_t sp, uint64_t pc, uint64_t link)
{
    const struct _aarch64_ctx record = {FPSIMD_MAGIC, sizeof(struct fpsimd_context)};
    words[at + FRAME_REGS + UNWIND_RETURN] = link;
    words[at + FRAME_SP] = sp;
    words[at + FRAME_PC] = pc;
    memcpy(&words[at + FRAME_RECORD], &record, sizeof(record));
}

static void test_signal_frame(void **state)
{
    (void)state;
    /* Where the trampoline lies: in a file without a table there, in memory of no file, nowhere. */
    static const uint64_t places[] = {0x400800, 0x470800, 0x10};
    for (unsigned i = 0; i < 3; i++) {
        begin();
        dump.size = sizeof(words);
        add_row(0x400010, plain_row(16)); /* the handler */
        words[1] = places[i];
        put_signal_frame(2, STACK + 800, 0x400040, 0x400020 | SIGNED);
        add_row(0x400040, leaf_row(16)); /* which is no call */
        add_bottom(0x40001f);
        assert_chain(4, UNWIND_BOTTOM);
        assert_int_equal(ips[1], places[i]);
        assert_int_equal(ips[2], 0x400040);
        assert_int_equal(ips[3], 0x400020);
        assert_int_equal(outcome.top, STACK + 816);
        /* Its record is not there, or not all of it. */
        words[2 + FRAME_RECORD]++;
        chain(8);
        assert_int_not_equal(ips[2], 0x400040);
        words[2 + FRAME_RECORD]--;
        dump.size = 16 + 592;
        chain(8);
        assert_int_not_equal(ips[2], 0x400040);
    }
}

/* The tables of old kernels lead to the caller of what was interrupted. */
static void test_signal_frame_with_table(void **state)
{
    (void)state;
    begin();
    dump.size = sizeof(words);
    regs.value[UNWIND_IP] = 0x400800;
    struct cfi_row *row = add_row(0x400800, plain_row(16));
    words[1] = 0x400030;
    put_signal_frame(0, STACK + 800, 0x400040, 0);
    add_bottom(0x40002f);
    add_bottom(0x400040);
    assert_chain(2, UNWIND_BOTTOM); /* it is no frame of a signal's: SP may lie there by chance */
    assert_int_equal(ips[1], 0x400030);
    row->signal = true;
    assert_chain(2, UNWIND_BOTTOM);
    assert_int_equal(ips[1], 0x400040);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaf),         cmocka_unit_test(test_known_leaf),
        cmocka_unit_test(test_signatures),   cmocka_unit_test(test_link_register),
        cmocka_unit_test(test_from_nowhere), cmocka_unit_test(test_frame_records),
        cmocka_unit_test(test_signal_frame), cmocka_unit_test(test_signal_frame_with_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
