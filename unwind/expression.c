/* SPDX-License-Identifier: MIT */
#include "unwind/expression.h"

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

/* The entry INDEX below the top. */
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

static void do_two(struct machine *machine, uint8_t code)
{
    uint64_t b = pop(machine), a = pop(machine), result = 0;
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    switch (code) {
    case 0x1a: result = a & b; break;
    case 0x1b: result = divide(machine, sa, sb); break;
    case 0x1c: result = a - b; break;
    case 0x1d:
        machine->failed |= b == 0;
        result = b ? a % b : 0;
        break;
    case 0x1e: result = a * b; break;
    case 0x21: result = a | b; break;
    case 0x22: result = a + b; break;
    case 0x24: result = b > 63 ? 0 : a << b; break;
    case 0x25: result = b > 63 ? 0 : a >> b; break;
    case 0x26: result = shift_right_signed(a, b); break;
    case 0x27: result = a ^ b; break;
    case 0x29: result = sa == sb; break;
    case 0x2a: result = sa >= sb; break;
    case 0x2b: result = sa > sb; break;
    case 0x2c: result = sa <= sb; break;
    case 0x2d: result = sa < sb; break;
    case 0x2e: result = sa != sb; break;
    default: machine->failed = true; break;
    }
    push(machine, result);
}

static bool do_constant(struct machine *machine, uint8_t code)
{
    struct cursor *at = &machine->code;
    switch (code) {
    case 0x03: /* addr: a link-time address, of which the bias is not known here */
        return false;
    case 0x08: push(machine, cursor_u8(at)); return true;
    case 0x09: push(machine, (uint64_t)(int64_t)(int8_t)cursor_u8(at)); return true;
    case 0x0a: push(machine, cursor_u16(at)); return true;
    case 0x0b: push(machine, (uint64_t)(int64_t)(int16_t)cursor_u16(at)); return true;
    case 0x0c: push(machine, cursor_u32(at)); return true;
    case 0x0d: push(machine, (uint64_t)(int64_t)(int32_t)cursor_u32(at)); return true;
    case 0x0e:
    case 0x0f: push(machine, cursor_u64(at)); return true;
    case 0x10: push(machine, leb_unsigned(at)); return true;
    case 0x11: push(machine, (uint64_t)leb_signed(at)); return true;
    default: return false;
    }
}

static void do_stack(struct machine *machine, uint8_t code)
{
    uint64_t a, b, c;
    switch (code) {
    case 0x12: push(machine, pick(machine, 0)); break;
    case 0x13: pop(machine); break;
    case 0x14: push(machine, pick(machine, 1)); break;
    case 0x15: push(machine, pick(machine, cursor_u8(&machine->code))); break;
    case 0x16:
        a = pop(machine), b = pop(machine);
        push(machine, a), push(machine, b);
        break;
    case 0x17:
        a = pop(machine), b = pop(machine), c = pop(machine);
        push(machine, a), push(machine, c), push(machine, b);
        break;
    default: machine->failed = true; break;
    }
}

static void do_other(struct machine *machine, uint8_t code)
{
    uint64_t value;
    int16_t by;
    switch (code) {
    case 0x06: load(machine, sizeof(uint64_t)); break;
    case 0x94: load(machine, cursor_u8(&machine->code)); break;
    case 0x19:
        value = pop(machine);
        push(machine, value >> 63 ? 0 - value : value);
        break;
    case 0x1f: push(machine, 0 - pop(machine)); break;
    case 0x20: push(machine, ~pop(machine)); break;
    case 0x23: push(machine, pop(machine) + leb_unsigned(&machine->code)); break;
    case 0x28:
        by = (int16_t)cursor_u16(&machine->code);
        if (pop(machine))
            jump(machine, by);
        break;
    case 0x2f: jump(machine, (int16_t)cursor_u16(&machine->code)); break;
    case 0x92:
        value = leb_unsigned(&machine->code);
        push_register(machine, value, leb_signed(&machine->code));
        break;
    case 0x96: break; /* nop */
    default: do_two(machine, code); break;
    }
}

static void step(struct machine *machine)
{
    uint8_t code = cursor_u8(&machine->code);
    if (code >= 0x30 && code <= 0x4f)
        push(machine, code - 0x30u);
    else if (code >= 0x70 && code <= 0x8f)
        push_register(machine, code - 0x70u, leb_signed(&machine->code));
    else if (code >= 0x12 && code <= 0x17)
        do_stack(machine, code);
    else if (!do_constant(machine, code))
        do_other(machine, code);
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
