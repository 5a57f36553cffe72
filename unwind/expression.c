/* SPDX-License-Identifier: MIT */
#include "unwind/expression.h"

#include <dwarf.h>
#include <string.h>

#include "common/leb.h"

enum { STACK = 32, STEPS = 1000 };

struct machine {
    struct cursor code;
    const unsigned char *begin;
    const struct unwind_regs *regs;
    const struct unwind_dump *dump;
    uint64_t stack[STACK];
    unsigned depth;
    bool failed;
};

static bool dump_copy(const struct unwind_dump *dump, uint64_t address, void *to, size_t size)
{
    if (address < dump->start || address - dump->start > dump->size || size > dump->size - (address - dump->start))
        return false;
    memcpy(to, (const char *)dump->bytes + (address - dump->start), size);
    return true;
}

bool dump_read(const struct unwind_dump *dump, uint64_t address, uint64_t *ret)
{
    return dump_copy(dump, address, ret, sizeof(*ret));
}

static void push(struct machine *machine, uint64_t value)
{
    machine->failed |= machine->depth == STACK;
    if (!machine->failed)
        machine->stack[machine->depth++] = value;
}

static uint64_t pop(struct machine *machine)
{
    machine->failed |= machine->depth == 0;
    return machine->failed ? 0 : machine->stack[--machine->depth];
}

/* The entry at INDEX below the top of the stack. */
static uint64_t pick(struct machine *machine, unsigned index)
{
    machine->failed |= index >= machine->depth;
    return machine->failed ? 0 : machine->stack[machine->depth - 1 - index];
}

static void push_register(struct machine *machine, uint64_t reg, int64_t offset)
{
    machine->failed |= reg >= UNWIND_REGS;
    push(machine, machine->failed ? 0 : machine->regs->value[reg] + (uint64_t)offset);
}

static void load(struct machine *machine, size_t size)
{
    uint64_t value = 0, address = pop(machine);
    machine->failed |= size > sizeof(value) || !dump_copy(machine->dump, address, &value, size);
    push(machine, value);
}

static void jump(struct machine *machine, int16_t by)
{
    struct cursor *code = &machine->code;
    if (by < machine->begin - code->at || by > code->end - code->at)
        machine->failed = true;
    else
        code->at += by;
}

static uint64_t shift_right_signed(uint64_t value, uint64_t by)
{
    uint64_t fill = value >> 63 ? UINT64_MAX : 0;
    return by == 0 ? value : by > 63 ? fill : value >> by | (fill << (64 - by));
}

static uint64_t divide(struct machine *machine, int64_t a, int64_t b)
{
    machine->failed |= b == 0;
    return machine->failed ? 0 : b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
}

static void execute_binary(struct machine *machine, uint8_t code)
{
    uint64_t b = pop(machine), a = pop(machine), result = 0;
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    switch (code) {
    case DW_OP_and: result = a & b; break;
    case DW_OP_div: result = divide(machine, sa, sb); break;
    case DW_OP_minus: result = a - b; break;
    case DW_OP_mod:
        machine->failed |= b == 0;
        result = b ? a % b : 0;
        break;
    case DW_OP_mul: result = a * b; break;
    case DW_OP_or: result = a | b; break;
    case DW_OP_plus: result = a + b; break;
    case DW_OP_shl: result = b > 63 ? 0 : a << b; break;
    case DW_OP_shr: result = b > 63 ? 0 : a >> b; break;
    case DW_OP_shra: result = shift_right_signed(a, b); break;
    case DW_OP_xor: result = a ^ b; break;
    case DW_OP_eq: result = sa == sb; break;
    case DW_OP_ge: result = sa >= sb; break;
    case DW_OP_gt: result = sa > sb; break;
    case DW_OP_le: result = sa <= sb; break;
    case DW_OP_lt: result = sa < sb; break;
    case DW_OP_ne: result = sa != sb; break;
    default: machine->failed = true; break;
    }
    push(machine, result);
}

static bool execute_constant(struct machine *machine, uint8_t code)
{
    struct cursor *at = &machine->code;
    switch (code) {
    case DW_OP_addr: /* a link-time address; the load bias is not known here */ return false;
    case DW_OP_const1u: push(machine, cursor_u8(at)); return true;
    case DW_OP_const1s: push(machine, (uint64_t)(int64_t)(int8_t)cursor_u8(at)); return true;
    case DW_OP_const2u: push(machine, cursor_u16(at)); return true;
    case DW_OP_const2s: push(machine, (uint64_t)(int64_t)(int16_t)cursor_u16(at)); return true;
    case DW_OP_const4u: push(machine, cursor_u32(at)); return true;
    case DW_OP_const4s: push(machine, (uint64_t)(int64_t)(int32_t)cursor_u32(at)); return true;
    case DW_OP_const8u:
    case DW_OP_const8s: push(machine, cursor_u64(at)); return true;
    case DW_OP_constu: push(machine, leb_unsigned(at)); return true;
    case DW_OP_consts: push(machine, (uint64_t)leb_signed(at)); return true;
    default: return false;
    }
}

static void execute_stack(struct machine *machine, uint8_t code)
{
    uint64_t a, b, c;
    switch (code) {
    case DW_OP_dup: push(machine, pick(machine, 0)); break;
    case DW_OP_drop: pop(machine); break;
    case DW_OP_over: push(machine, pick(machine, 1)); break;
    case DW_OP_pick: push(machine, pick(machine, cursor_u8(&machine->code))); break;
    case DW_OP_swap:
        a = pop(machine), b = pop(machine);
        push(machine, a), push(machine, b);
        break;
    case DW_OP_rot:
        a = pop(machine), b = pop(machine), c = pop(machine);
        push(machine, a), push(machine, c), push(machine, b);
        break;
    default: machine->failed = true; break;
    }
}

static void execute_other(struct machine *machine, uint8_t code)
{
    uint64_t value;
    int16_t by;
    switch (code) {
    case DW_OP_deref: load(machine, sizeof(uint64_t)); break;
    case DW_OP_deref_size: load(machine, cursor_u8(&machine->code)); break;
    case DW_OP_abs:
        value = pop(machine);
        push(machine, value >> 63 ? 0 - value : value);
        break;
    case DW_OP_neg: push(machine, 0 - pop(machine)); break;
    case DW_OP_not: push(machine, ~pop(machine)); break;
    case DW_OP_plus_uconst: push(machine, pop(machine) + leb_unsigned(&machine->code)); break;
    case DW_OP_bra:
        by = (int16_t)cursor_u16(&machine->code);
        if (pop(machine))
            jump(machine, by);
        break;
    case DW_OP_skip: jump(machine, (int16_t)cursor_u16(&machine->code)); break;
    case DW_OP_bregx:
        value = leb_unsigned(&machine->code);
        push_register(machine, value, leb_signed(&machine->code));
        break;
    case DW_OP_nop: break;
    default: execute_binary(machine, code); break;
    }
}

static void step(struct machine *machine)
{
    uint8_t code = cursor_u8(&machine->code);
    if (code >= DW_OP_lit0 && code <= DW_OP_lit31)
        push(machine, (uint64_t)code - DW_OP_lit0);
    else if (code >= DW_OP_breg0 && code <= DW_OP_breg31)
        push_register(machine, (uint64_t)code - DW_OP_breg0, leb_signed(&machine->code));
    else if (code >= DW_OP_dup && code <= DW_OP_rot)
        execute_stack(machine, code);
    else if (!execute_constant(machine, code))
        execute_other(machine, code);
}

bool expression_run(struct cursor expression, const struct unwind_regs *regs, const struct unwind_dump *dump,
                    const uint64_t *initial, uint64_t *work, uint64_t *ret)
{
    uint64_t size = leb_unsigned(&expression);
    struct machine machine = {.code = cursor_part(&expression, size), .regs = regs, .dump = dump};
    machine.begin = machine.code.at;
    if (initial)
        push(&machine, *initial);
    for (unsigned i = 0; cursor_left(&machine.code) && !machine.failed && !machine.code.failed; i++) {
        machine.failed |= i == STEPS;
        ++*work;
        step(&machine);
    }
    if (machine.failed || machine.code.failed || !machine.depth)
        return false;
    *ret = machine.stack[machine.depth - 1];
    return true;
}
