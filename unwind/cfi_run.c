/* SPDX-License-Identifier: MIT */
/* Runs the programs of call frame information. Each instruction takes at least a byte, so their size bounds a run. */
#include <dwarf.h>

#include "common/leb.h"
#include "unwind/cfi_parse.h"
#include "unwind/pointer.h"

enum { STATES = 16 };

struct run {
    const struct cfi *cfi;
    const struct cfi_function *function;
    struct cursor cursor;
    struct cfi_row row, initial, states[STATES];
    unsigned depth;
    uint64_t at, address; /* the current row is valid from `at` on; the row of `address` is wanted */
    bool failed, blanked;
};

/* True: the current row is the wanted one. */
static bool advance(struct run *run, uint64_t delta)
{
    delta *= run->function->cie.code_align;
    if (delta > run->address - run->at)
        return true;
    run->at += delta;
    return false;
}

static bool move_to(struct run *run, uint64_t address)
{
    if (address > run->address)
        return true;
    run->failed |= address < run->at;
    run->at = address;
    return false;
}

static int32_t narrow_to_int32(struct run *run, int64_t number)
{
    run->failed |= number < INT32_MIN || number > INT32_MAX;
    return (int32_t)number;
}

static int64_t factored(const struct run *run, int64_t number)
{
    return (int64_t)((uint64_t)number * (uint64_t)run->function->cie.data_align);
}

/* Rules of registers that are not tracked (vectors, flags) are ignored. */
static void set_rule(struct run *run, uint64_t reg, enum cfi_how how, int64_t number)
{
    if (reg < UNWIND_REGS)
        run->row.rules[reg] = (struct cfi_rule){.how = (uint8_t)how, .number = narrow_to_int32(run, number)};
}

static void set_register(struct run *run, uint64_t reg, uint64_t other)
{
    set_rule(run, reg, CFI_REGISTER, 0);
    if (reg < UNWIND_REGS)
        run->row.rules[reg].reg = (uint8_t)other;
    run->failed |= reg < UNWIND_REGS && other >= UNWIND_REGS;
}

static void restore_rule(struct run *run, uint64_t reg)
{
    if (reg < UNWIND_REGS)
        run->row.rules[reg] = run->initial.rules[reg];
}

static void set_cfa(struct run *run, uint64_t reg, int64_t number)
{
    run->failed |= reg >= UNWIND_REGS;
    run->row.cfa = (struct cfi_rule){.how = CFI_REGISTER, .reg = (uint8_t)reg, .number = narrow_to_int32(run, number)};
}

/* The offset of the block at the cursor, which is moved past the block. */
static int64_t take_block(struct run *run)
{
    int64_t at = run->cursor.at - run->cfi->bytes;
    uint64_t size = leb_unsigned(&run->cursor);
    cursor_skip(&run->cursor, size);
    return at;
}

static void remember_state(struct run *run)
{
    run->failed |= run->depth == STATES;
    if (!run->failed)
        run->states[run->depth++] = run->row;
}

static void restore_state(struct run *run)
{
    run->failed |= run->depth == 0;
    if (!run->failed)
        run->row = run->states[--run->depth];
}

/* Instructions that set the rule of REG. */
static void execute_rule(struct run *run, uint8_t code, uint64_t reg)
{
    struct cursor *cursor = &run->cursor;
    switch (code) {
    case DW_CFA_offset_extended: set_rule(run, reg, CFI_OFFSET, factored(run, (int64_t)leb_unsigned(cursor))); break;
    case DW_CFA_restore_extended: restore_rule(run, reg); break;
    case DW_CFA_undefined: set_rule(run, reg, CFI_UNDEFINED, 0); break;
    case DW_CFA_same_value: set_rule(run, reg, CFI_SAME_VALUE, 0); break;
    case DW_CFA_register: set_register(run, reg, leb_unsigned(cursor)); break;
    case DW_CFA_expression: set_rule(run, reg, CFI_EXPRESSION, take_block(run)); break;
    case DW_CFA_offset_extended_sf: set_rule(run, reg, CFI_OFFSET, factored(run, leb_signed(cursor))); break;
    case DW_CFA_val_offset: set_rule(run, reg, CFI_VAL_OFFSET, factored(run, (int64_t)leb_unsigned(cursor))); break;
    case DW_CFA_val_offset_sf: set_rule(run, reg, CFI_VAL_OFFSET, factored(run, leb_signed(cursor))); break;
    case DW_CFA_val_expression: set_rule(run, reg, CFI_VAL_EXPRESSION, take_block(run)); break;
    case DW_CFA_GNU_negative_offset_extended:
        set_rule(run, reg, CFI_OFFSET, (int64_t)(0 - (uint64_t)factored(run, (int64_t)leb_unsigned(cursor))));
        break;
    default: /* unknown, so its size is, too */ run->failed = true; break;
    }
}

/* Instructions whose first operand is a register. */
static void execute_register(struct run *run, uint8_t code)
{
    struct cursor *cursor = &run->cursor;
    uint64_t reg = leb_unsigned(cursor);
    switch (code) {
    case DW_CFA_def_cfa: set_cfa(run, reg, (int64_t)leb_unsigned(cursor)); break;
    case DW_CFA_def_cfa_register:
        run->failed |= run->row.cfa.how != CFI_REGISTER;
        set_cfa(run, reg, run->row.cfa.number);
        break;
    case DW_CFA_def_cfa_sf: set_cfa(run, reg, factored(run, leb_signed(cursor))); break;
    default: execute_rule(run, code, reg); break;
    }
}

static void set_cfa_offset(struct run *run, int64_t number)
{
    run->failed |= run->row.cfa.how != CFI_REGISTER;
    run->row.cfa.number = narrow_to_int32(run, number);
}

/* True: the row is complete. */
static bool execute_other(struct run *run, uint8_t code)
{
    struct cursor *cursor = &run->cursor;
    switch (code) {
    case DW_CFA_nop: return false;
    case DW_CFA_set_loc:
        return move_to(run, pointer_read(cursor, run->function->cie.encoding,
                                         run->cfi->address + (uint64_t)(cursor->at - run->cfi->bytes)));
    case DW_CFA_advance_loc1: return advance(run, cursor_u8(cursor));
    case DW_CFA_advance_loc2: return advance(run, cursor_u16(cursor));
    case DW_CFA_advance_loc4: return advance(run, cursor_u32(cursor));
    case DW_CFA_remember_state: remember_state(run); return false;
    case DW_CFA_restore_state: restore_state(run); return false;
    case DW_CFA_def_cfa_offset: set_cfa_offset(run, (int64_t)leb_unsigned(cursor)); return false;
    case DW_CFA_def_cfa_expression:
        run->row.cfa = (struct cfi_rule){.how = CFI_VAL_EXPRESSION, .number = narrow_to_int32(run, take_block(run))};
        return false;
    case DW_CFA_def_cfa_offset_sf: set_cfa_offset(run, factored(run, leb_signed(cursor))); return false;
#if defined(__aarch64__)
    /*
     * On AArch64: DW_CFA_AARCH64_negate_ra_state. Signatures are always stripped, so it has no effect. libunwind 1.6
     * does not know it: replace it by a nop.
     */
    case DW_CFA_GNU_window_save:
        run->cfi->bytes[cursor->at - run->cfi->bytes - 1] = 0;
        run->blanked = true;
        return false;
#endif
    case DW_CFA_GNU_args_size: leb_unsigned(cursor); return false;
    default: execute_register(run, code); return false;
    }
}

static void execute_program(struct run *run, struct cursor program)
{
    run->cursor = program;
    bool complete = false;
    while (!complete && !run->failed && !run->cursor.failed && cursor_left(&run->cursor)) {
        uint8_t code = cursor_u8(&run->cursor), low = code & 0x3f;
        switch (code & 0xc0) {
        case DW_CFA_advance_loc: complete = advance(run, low); break;
        case DW_CFA_offset: set_rule(run, low, CFI_OFFSET, factored(run, (int64_t)leb_unsigned(&run->cursor))); break;
        case DW_CFA_restore: restore_rule(run, low); break;
        default: complete = execute_other(run, code); break;
        }
    }
    run->failed |= run->cursor.failed;
}

bool cfi_run(const struct cfi *cfi, const struct cfi_function *function, uint64_t address, struct cfi_row *ret)
{
    struct run run;
    run.cfi = cfi;
    run.function = function;
    run.depth = 0;
    run.at = function->start;
    run.address = address;
    run.failed = run.blanked = false;
    run.row = (struct cfi_row){
        .return_reg = (uint8_t)function->cie.return_reg, .signal = function->cie.signal, .debug = cfi->debug};
    run.row.cfa.how = CFI_UNDEFINED;
    run.row.rules[UNWIND_SP] = (struct cfi_rule){.how = CFI_VAL_OFFSET};
    run.initial = run.row;
    execute_program(&run, function->cie.program);
    run.at = function->start;
    run.initial = run.row;
    if (!run.failed)
        execute_program(&run, function->program);
    if (run.failed || run.row.cfa.how == CFI_UNDEFINED)
        return false;
    *ret = run.row;
    ret->blanked = run.blanked;
    return true;
}
