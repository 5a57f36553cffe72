/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "unwind/expression.h"
#include "unwind/signal_frame.h"
#include "unwind/signature.h"
#include "unwind/unwind_file.h"

/* Limits, so that a wrong step does not look like a long stack. */
enum { FRAMES_BY_POINTER = 4096, ENTRY_SIZE = 64 };

/*
 * Bytes of programs plus steps of expressions, per chain: a hostile file may make each frame expensive. The most that a
 * chain needed in compilers, Python and node was 20 KiB, in a function of gcc.
 */
enum { WORK_MAX = 1 << 20 };
/* The usual size of a main thread's stack; others are usually not larger. */
enum { STACK_MAX = 8 << 20 };
/* Mappings to remember: frames alternate between few, of the program and its libraries. */
enum { MAPS = 4 };

/* AArch64: a call puts the return address in the link register. Elsewhere it is on the stack. */
enum { LINKED = UNWIND_RETURN != UNWIND_IP };

enum step { STEP_ON, STEP_BOTTOM, STEP_MEMORY, STEP_NO_TABLE };

struct walk {
    const struct unwind_target *target;
    const struct unwind_dump *dump;
    struct unwind_regs regs;
    struct unwind_map maps[MAPS]; /* last ones that were looked up */
    unsigned next_map;
    uint64_t work;   /* so far, in units of WORK_MAX */
    uint64_t missed; /* the address that could not be read */
    bool loose;      /* the stack pointer may be higher, since the callee has no table */
    bool exact;      /* the address is the interrupted instruction, no return address */
    bool leaf;
};

static bool read_stack(struct walk *walk, uint64_t address, uint64_t *ret)
{
    if (dump_read(walk->dump, address, ret))
        return true;
    walk->missed = address;
    return false;
}

/* Moves to the caller, whose address is IP. */
static enum step step_to(struct walk *walk, uint64_t ip, bool loose)
{
    walk->regs.value[UNWIND_IP] = signature_strip(ip);
    walk->loose = loose;
    walk->exact = walk->leaf = false;
    return STEP_ON;
}

/* AArch64: steps over the trampoline that a signal handler returns to. */
static bool step_by_signal_frame(struct walk *walk)
{
    if (walk->loose || !signal_frame_read(walk->dump, walk->regs.value[UNWIND_SP], &walk->regs))
        return false;
    walk->exact = walk->leaf = true;
    return true;
}

/* ---- What is mapped ---- */

static const struct unwind_map *find_map(struct walk *walk, uint64_t address)
{
    for (unsigned i = 0; i < MAPS; i++)
        if (address >= walk->maps[i].low && address < walk->maps[i].high)
            return &walk->maps[i];
    struct unwind_map *map = &walk->maps[walk->next_map];
    *map = (struct unwind_map){0};
    bool found = walk->target->find(walk->target->context, address, map);
    if (!found)
        map->low = map->high = 0;
    if (found && map->file)
        unwind_file_use(map->file);
    walk->next_map = (walk->next_map + (map->high != 0)) % MAPS;
    return found ? map : NULL;
}

/* False: too much work for one chain. */
static bool charge_work(struct walk *walk, const struct cfi_row *row)
{
    walk->work += row->work;
    return walk->work <= WORK_MAX;
}

/* Does a table cover the call before ADDRESS? */
static bool is_return_address(struct walk *walk, uint64_t address)
{
    const struct unwind_map *map = find_map(walk, address - 1);
    struct cfi_row row;
    uint64_t in_file;
    if (!map || !map->file || !unwind_file_address(map->file, address - 1 - map->start + map->offset, &in_file))
        return false;
    if (row_cache_find(&map->file->rows, in_file))
        return true;
    bool found = unwind_file_row(map->file, in_file, &row);
    return charge_work(walk, &row) && found;
}

/* ---- By tables ---- */

static bool run_expression(struct walk *walk, const struct cfi *cfi, int32_t at, const uint64_t *initial, uint64_t *ret)
{
    struct cursor code = cursor_of(cfi->bytes, cfi->size);
    cursor_skip(&code, (size_t)at);
    /* If it fails, its address counts as the highest one. */
    walk->missed = UINT64_MAX;
    return expression_run(code, &walk->regs, walk->dump, initial, &walk->work, ret);
}

/* Does SLOT have a return address into code, with STRICT into code with a table? True also if the dump does not have
 * SLOT. */
static bool is_return_slot(struct walk *walk, uint64_t slot, bool strict)
{
    uint64_t address;
    if (!dump_read(walk->dump, slot, &address))
        return true;
    address = signature_strip(address);
    return strict ? is_return_address(walk, address) : find_map(walk, address - 1) != NULL;
}

/*
 * The CFA: REG + NUMBER. If the stack pointer is uncertain, the frame record, at FRAME_AT from the CFA, gives the CFA;
 * else the stack pointer is taken as it is, the lowest possible value. In both cases a return address must be saved
 * there. FRAME_AT and RETURN_AT: 0 if not saved.
 */
static bool find_plain_cfa(struct walk *walk, unsigned reg, int32_t number, int32_t frame_at, int32_t return_at,
                           uint64_t *ret)
{
    const uint64_t stack = walk->regs.value[UNWIND_SP], saved = (uint64_t)(int64_t)return_at;
    *ret = walk->regs.value[reg] + (uint64_t)(int64_t)number;
    if (!LINKED || !walk->loose || reg != UNWIND_SP)
        return true;
    const uint64_t by_record = walk->regs.value[UNWIND_FP] - (uint64_t)(int64_t)frame_at;
    if (frame_at && return_at == frame_at + 8 && by_record > *ret && by_record % 16 == 0 &&
        by_record - stack < STACK_MAX && is_return_slot(walk, by_record + saved, false)) {
        *ret = by_record;
        return true;
    }
    return return_at && is_return_slot(walk, *ret + saved, true);
}

static int32_t saved_offset(const struct cfi_rule *rule)
{
    return rule->how == CFI_OFFSET ? rule->number : 0;
}

static bool find_cfa(struct walk *walk, const struct cfi *cfi, const struct cfi_row *row, uint64_t *ret)
{
    if (row->cfa.how == CFI_VAL_EXPRESSION)
        return run_expression(walk, cfi, row->cfa.number, NULL, ret);
    return find_plain_cfa(walk, row->cfa.reg, row->cfa.number, saved_offset(&row->rules[UNWIND_FP]),
                          saved_offset(&row->rules[UNWIND_RETURN]), ret);
}

/* The caller's value of register INDEX. False: its place cannot be read. */
static bool find_register(struct walk *walk, const struct cfi *cfi, const struct cfi_row *row, unsigned index,
                          uint64_t cfa, uint64_t *ret)
{
    const struct cfi_rule *rule = &row->rules[index];
    uint64_t address = cfa + (uint64_t)(int64_t)rule->number;
    switch (rule->how) {
    case CFI_OFFSET:
        if (walk->leaf && address < walk->regs.value[UNWIND_SP]) {
            /* Already popped; tables do not say that before a return. */
            *ret = walk->regs.value[index];
            return true;
        }
        return read_stack(walk, address, ret);
    case CFI_VAL_OFFSET: *ret = address; return true;
    case CFI_REGISTER: *ret = walk->regs.value[rule->reg]; return true;
    case CFI_EXPRESSION:
        return run_expression(walk, cfi, rule->number, &cfa, &address) && read_stack(walk, address, ret);
    case CFI_VAL_EXPRESSION: return run_expression(walk, cfi, rule->number, &cfa, ret);
    default: *ret = walk->regs.value[index]; return true;
    }
}

static enum step step_by_row(struct walk *walk, const struct cfi *cfi, const struct cfi_row *row)
{
    uint64_t cfa = 0;
    struct unwind_regs caller;
    if (row->rules[row->return_reg].how == CFI_UNDEFINED)
        return STEP_BOTTOM;
    if (!find_cfa(walk, cfi, row, &cfa))
        return walk->loose ? STEP_NO_TABLE : STEP_MEMORY;
    for (unsigned i = 0; i < UNWIND_REGS; i++) {
        bool found = find_register(walk, cfi, row, i, cfa, &caller.value[i]);
        if (!found && (i == row->return_reg || i == UNWIND_SP))
            return STEP_MEMORY;
        if (!found)
            caller.value[i] = 0;
    }
    /*
     * Each frame is above the one it calls, except for a signal frame, which may be on another stack. The innermost
     * frame may have size 0, if its return address is in a register, as in vfork().
     */
    const struct cfi_rule *rule = &row->rules[row->return_reg];
    const bool empty = walk->leaf && (rule->how == CFI_REGISTER || (LINKED && rule->how == CFI_SAME_VALUE));
    if (!row->signal && caller.value[UNWIND_SP] < walk->regs.value[UNWIND_SP] + !empty) {
        walk->missed = 0;
        return STEP_MEMORY;
    }
    walk->regs = caller;
    step_to(walk, caller.value[row->return_reg], false);
    walk->exact = walk->leaf = row->signal;
    return STEP_ON;
}

/* The same by a cached row. */
static enum step step_by_known(struct walk *walk, const struct row_known *row)
{
    uint64_t *value = walk->regs.value, callee = value[UNWIND_SP];
    struct row_known kept;
    if (row->bottom)
        return STEP_BOTTOM;
    if (LINKED && walk->loose) { /* other look-ups may invalidate the row */
        kept = *row;
        row = &kept;
    }
    const int32_t return_at = row->at[ROW_KEPT - 1];
    uint64_t cfa;
    if (!find_plain_cfa(walk, row->cfa_reg, row->cfa, row->at[ROW_FRAME], return_at, &cfa))
        return STEP_NO_TABLE;
    for (unsigned i = 0; i < ROW_KEPT; i++) {
        uint64_t address = cfa + (uint64_t)(int64_t)row->at[i], *saved = &value[row_cache_registers[i]];
        if (!row->at[i] || (walk->leaf && address < callee)) /* already popped */
            continue;
        if (!read_stack(walk, address, saved)) {
            if (row_cache_registers[i] == UNWIND_RETURN)
                return STEP_MEMORY;
            *saved = 0;
        }
    }
    const bool empty = LINKED && walk->leaf && !return_at;
    if (cfa < callee + !empty) {
        walk->missed = 0;
        return STEP_MEMORY;
    }
    value[UNWIND_SP] = cfa;
    return step_to(walk, value[UNWIND_RETURN], false);
}

/* ---- By frame pointers ---- */

/* On AArch64 the frame record is somewhere in its frame, elsewhere at its upper end. */
static enum step step_by_pointer(struct walk *walk)
{
    uint64_t frame = walk->regs.value[UNWIND_FP], caller, address;
    if (frame == 0)
        return STEP_BOTTOM;
    if (frame < walk->regs.value[UNWIND_SP] || frame % 8)
        return STEP_NO_TABLE;
    if (!read_stack(walk, frame, &caller) || !read_stack(walk, frame + 8, &address))
        return STEP_MEMORY;
    walk->regs.value[UNWIND_FP] = caller;
    walk->regs.value[UNWIND_SP] = frame + 16;
    return step_to(walk, address, LINKED);
}

/* After a call to an address without code: the return address is on top of the stack, or in the link register. */
static enum step step_from_nowhere(struct walk *walk)
{
    uint64_t address = walk->regs.value[UNWIND_RETURN];
    if (step_by_signal_frame(walk))
        return STEP_ON;
    if (!walk->leaf || (!LINKED && !read_stack(walk, walk->regs.value[UNWIND_SP], &address)))
        return STEP_NO_TABLE;
    walk->regs.value[UNWIND_SP] += LINKED ? 0 : 8;
    return step_to(walk, address, false);
}

static bool is_entry(const struct unwind_file *file, uint64_t address)
{
    return file->entry && address >= file->entry && address - file->entry < ENTRY_SIZE;
}

/*
 * Code without a table. On AArch64 an interrupted function may not have called anything yet, or never does (a PLT
 * stub): then the link register has the return address. If it is left from a call of its own, it points into this code,
 * which no table covers.
 */
static enum step step_without_table(struct walk *walk)
{
    if (step_by_signal_frame(walk))
        return STEP_ON;
    const uint64_t link = signature_strip(walk->regs.value[UNWIND_RETURN]);
    if (LINKED && walk->leaf && is_return_address(walk, link))
        return step_to(walk, link, true);
    return step_by_pointer(walk);
}

static enum step step_by_tables(struct walk *walk, struct unwind_file *file, uint64_t address)
{
    const struct row_known *known = row_cache_find(&file->rows, address);
    struct cfi_row row;
    if (known)
        return step_by_known(walk, known);
    bool found = unwind_file_row(file, address, &row);
    if (!charge_work(walk, &row))
        return STEP_NO_TABLE;
    if (found && row.signal && step_by_signal_frame(walk))
        return STEP_ON;
    if (found)
        return step_by_row(walk, row.debug ? &file->debug : &file->frames, &row);
    found = walk->leaf && cfi_find_split(&file->frames, address, &row);
    if (walk->leaf && !charge_work(walk, &row))
        return STEP_NO_TABLE;
    if (found)
        return walk->regs.value[UNWIND_RESULT] ? step_by_row(walk, &file->frames, &row) : STEP_BOTTOM;
    return is_entry(file, address) ? STEP_BOTTOM : step_without_table(walk);
}

/* Does the frame pointer lead to a return address, or beyond the end of a full dump? */
static bool is_frame(struct walk *walk)
{
    uint64_t frame = walk->regs.value[UNWIND_FP], stack = walk->regs.value[UNWIND_SP], address;
    if (frame < stack || frame % 8)
        return false;
    if (dump_read(walk->dump, frame + 8, &address))
        return find_map(walk, address - 1);
    return walk->dump->full && frame - stack < STACK_MAX;
}

/*
 * JIT code usually has frame pointers. CPython 3.12's perf trampolines for x86-64 have none: they are "sub $8, %rsp;
 * call *%rcx", and the interpreter that they call may use the register for something else.
 */
static enum step step_by_trampoline(struct walk *walk)
{
    uint64_t stack = walk->regs.value[UNWIND_SP] + 8, address;
    if (LINKED || walk->exact || is_frame(walk) || !dump_read(walk->dump, stack, &address) ||
        !is_return_address(walk, address))
        return step_without_table(walk);
    walk->regs.value[UNWIND_SP] = stack + 8;
    return step_to(walk, address, false);
}

static enum step step(struct walk *walk)
{
    uint64_t ip = walk->regs.value[UNWIND_IP] - !walk->exact, address;
    const struct unwind_map *map = find_map(walk, ip);
    if (!map)
        return step_from_nowhere(walk);
    if (map->anonymous)
        return step_by_trampoline(walk);
    if (!map->file || !unwind_file_address(map->file, ip - map->start + map->offset, &address))
        return step_without_table(walk);
    return step_by_tables(walk, map->file, address);
}

static enum unwind_end end_of_memory(const struct walk *walk)
{
    const struct unwind_dump *dump = walk->dump;
    bool above = walk->missed >= dump->start && walk->missed - dump->start >= dump->size - (dump->size < 8 ? 0 : 7);
    return dump->full && above ? UNWIND_TRUNCATED : UNWIND_BAD_MEMORY;
}

unsigned unwind_stack(const struct unwind_target *target, const struct unwind_regs *regs,
                      const struct unwind_dump *dump, uint64_t *ips, unsigned capacity, struct unwind_outcome *ret)
{
    struct walk walk = {.target = target, .dump = dump, .regs = *regs, .exact = true, .leaf = true};
    unsigned count = 0;
    bool ended = false;
    ret->end = UNWIND_TOO_DEEP;
    ips[count++] = regs->value[UNWIND_IP];
    while (!ended && count < capacity) {
        ret->top = walk.regs.value[UNWIND_SP];
        enum step taken = step(&walk);
        ended = taken != STEP_ON || walk.regs.value[UNWIND_IP] == 0;
        if (!ended)
            ips[count++] = walk.regs.value[UNWIND_IP];
        else if (taken == STEP_MEMORY)
            ret->end = end_of_memory(&walk);
        else
            ret->end = taken == STEP_NO_TABLE ? UNWIND_NO_TABLE : UNWIND_BOTTOM;
    }
    return count;
}

unsigned unwind_frames(const struct unwind_regs *regs, const struct unwind_dump *dump, uint64_t *ips, unsigned capacity)
{
    struct walk walk = {.dump = dump, .regs = *regs};
    unsigned count = 0;
    ips[count++] = regs->value[UNWIND_IP];
    while (count < capacity && count < FRAMES_BY_POINTER && step_by_pointer(&walk) == STEP_ON &&
           walk.regs.value[UNWIND_IP])
        ips[count++] = walk.regs.value[UNWIND_IP];
    return count;
}

const char *unwind_end_name(enum unwind_end end)
{
    static const char *const names[UNWIND_ENDS] = {
        [UNWIND_BOTTOM] = "complete",
        [UNWIND_TRUNCATED] = "truncated",
        [UNWIND_TOO_DEEP] = "with too many frames",
        [UNWIND_NO_TABLE] = "in code without unwind tables",
        [UNWIND_BAD_MEMORY] = "corrupt",
    };
    return (unsigned)end < UNWIND_ENDS ? names[end] : "unknown";
}

/* The DWARF number of a register of perf; on AArch64 both are equal. */
static int dwarf_number(unsigned perf)
{
#if defined(__aarch64__)
    return perf < UNWIND_REGS ? (int)perf : -1;
#else
    static const int8_t numbers[] = {0,  3,  2,  1,  4, 5, 6,  7,  16, -1, -1, -1,
                                     -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14, 15};
    return perf < sizeof(numbers) ? numbers[perf] : -1;
#endif
}

bool unwind_regs_of_perf(uint64_t mask, const uint64_t *words, size_t count, struct unwind_regs *ret)
{
    bool stack = false, ip = false;
    size_t at = 0;
    memset(ret, 0, sizeof(*ret));
    for (unsigned i = 0; i < 64; i++) {
        if (!(mask >> i & 1))
            continue;
        if (at == count)
            return false;
        const int number = dwarf_number(i);
        if (number >= 0)
            ret->value[number] = words[at];
        stack |= number == UNWIND_SP;
        ip |= number == UNWIND_IP;
        at++;
    }
    return stack && ip;
}
