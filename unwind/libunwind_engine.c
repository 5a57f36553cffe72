/* SPDX-License-Identifier: MIT */
/*
 * The engine on libunwind's remote interface: its parser of .eh_frame, its interpreter, its caches. It reads only
 * through access_mem() below: from the dump, and from tables of the files that unwind.h keeps. The reads of one chain
 * are counted, so that a hostile table or expression cannot keep it busy for long.
 */
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/expression.h"
#include "unwind/libunwind_engine.h"
#include "unwind/signal_frame.h"
#include "unwind/signature.h"
#include "unwind/unwind_file.h"

/* Not in libunwind's public header; perf and others call it by name for remote tables, as intended. */
#define search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
int search_unwind_table(unw_addr_space_t, unw_word_t ip, unw_dyn_info_t *, unw_proc_info_t *, int need, void *context);

#if defined(__x86_64__)
#define FRAME_POINTER UNW_X86_64_RBP
#elif defined(__aarch64__)
#define FRAME_POINTER UNW_AARCH64_X29
#endif

/* mov x8, #139; svc #0: the code by which libunwind recognizes AArch64's signal trampoline. */
#define TRAMPOLINE_CODE UINT64_C(0xd4000001d2801168)

/* Reads per chain, of a byte or a word each; the longest chains in gcc need 30,000. */
enum { READS_MAX = 1 << 20 };
/* Address spaces whose rows are kept, of 40 KiB each. */
enum { SPACES = 64, WORD = sizeof(unw_word_t) };
/* The address at which libunwind sees the table of functions: no program has memory there. */
#define TABLE_ADDRESS (UINT64_C(1) << 63)

struct space {
    unw_addr_space_t space; /* NULL: not made yet */
    uint64_t version, used;
};

struct libunwind_engine {
    struct space spaces[SPACES];
    uint64_t time;
};

struct walk {
    const struct unwind_target *target;
    const struct unwind_regs *regs;
    const struct unwind_dump *dump;
    struct unwind_map map;    /* last one that was looked up */
    struct unwind_file *file; /* the file of `map`, whose table libunwind reads now; NULL: none */
    uint64_t bias;            /* from addresses of the file to those of the process */
    uint64_t missed;          /* the address that could not be read; 0: none */
    uint64_t trampoline;      /* the current frame is a signal trampoline at this address; 0: it is not */
    unsigned reads;
    bool parses;   /* libunwind reads an entry of a table */
    bool no_table; /* the current frame has none */
};

/* ---- What libunwind reads ---- */

/* The word at OFFSET; bytes outside of BYTES[SIZE] read as 0. False: all of them are outside. */
static bool word_of(const unsigned char *bytes, size_t size, uint64_t offset, unw_word_t *ret)
{
    unsigned char word[WORD] = {0};
    bool any = false;
    for (unsigned i = 0; i < WORD; i++) {
        bool there = offset + i < size;
        word[i] = there ? bytes[offset + i] : 0;
        any |= there;
    }
    memcpy(ret, word, WORD);
    return any;
}

/* A table entry: the start of the function and its FDE, both relative to the section. */
static unw_word_t table_word(const struct cfi *cfi, uint64_t index)
{
    const struct cfi_fde *fde = &cfi->fdes[index];
    return (uint32_t)(fde->start - cfi->address) | (uint64_t)fde->at << 32;
}

static bool read_table(const struct walk *walk, uint64_t address, unw_word_t *ret)
{
    const struct cfi *cfi = walk->file ? &walk->file->frames : NULL;
    if (!cfi || !cfi->bytes)
        return false;
    if (address >= TABLE_ADDRESS) {
        uint64_t index = (address - TABLE_ADDRESS) / WORD;
        if (index >= cfi->count)
            return false;
        *ret = table_word(cfi, index);
        return true;
    }
    return word_of(cfi->bytes, cfi->size, address - walk->bias - cfi->address, ret);
}

static bool find_map(struct walk *walk, uint64_t address)
{
    if (address >= walk->map.low && address < walk->map.high)
        return true;
    struct unwind_map map = {0};
    if (!walk->target->find(walk->target->context, address, &map))
        return false;
    walk->map = map;
    return true;
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write, void *context)
{
    struct walk *walk = context;
    (void)space;
    if (write || ++walk->reads > READS_MAX)
        return -UNW_EINVAL;
    /* The table comes first: a stack at the same address must not change tables that were checked. */
    if (read_table(walk, address, value))
        return 0;
    if (dump_read(walk->dump, address, value)) {
        *value = signature_strip(*value); /* unwinding only needs addresses from the stack */
        return 0;
    }
    /*
     * It reads code to see whether it exists, and whether it is a signal trampoline. It reads the address of the
     * personality routine, often a word of data, which is not needed: it gets 0.
     */
    const bool trampoline = walk->trampoline && address == walk->trampoline;
    if (walk->parses || trampoline || find_map(walk, address)) {
        *value = trampoline ? TRAMPOLINE_CODE : 0;
        return 0;
    }
    walk->missed = address;
    return -UNW_EINVAL;
}

/* Register numbers are DWARF's, as in libunwind, not perf's. */
static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write, void *context)
{
    const struct walk *walk = context;
    (void)space;
    if (write || number < 0 || number >= UNWIND_REGS)
        return -UNW_EBADREG;
    *value = number == UNWIND_RETURN ? signature_strip(walk->regs->value[number]) : walk->regs->value[number];
    return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write, void *context)
{
    (void)space, (void)number, (void)value, (void)write, (void)context;
    return -UNW_EINVAL;
}

/* Sets the file whose tables are read for IP, also for expressions of cached rows. False: there is none. */
static bool enter_file(struct walk *walk, uint64_t ip)
{
    uint64_t in_file;
    walk->file = NULL;
    if (!find_map(walk, ip) || !walk->map.file ||
        !unwind_file_address(walk->map.file, ip - walk->map.start + walk->map.offset, &in_file) ||
        !walk->map.file->frames.bytes)
        return false;
    unwind_file_use(walk->map.file);
    walk->file = walk->map.file;
    walk->bias = ip - in_file;
    return true;
}

/*
 * Does our own parser accept the row? libunwind indexes an array by the register of DW_CFA_register without a check.
 */
static bool is_sound(struct walk *walk, uint64_t address)
{
    struct cfi_row row;
    bool found = cfi_find_row(&walk->file->frames, address, &row);
    walk->reads += row.work;
    if (!found || !row.blanked)
        return found;
    /* Entries of a hostile table may overlap, so the changed bytes must be checked again. */
    found = cfi_find_row(&walk->file->frames, address, &row);
    walk->reads += row.work;
    return found && !row.blanked;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info, int need, void *context)
{
    struct walk *walk = context;
    walk->no_table = true;
    if (!enter_file(walk, ip) || !is_sound(walk, ip - walk->bias))
        return -UNW_ENOINFO;
    const struct cfi *cfi = &walk->file->frames;
    unw_dyn_info_t table = {.start_ip = 0, .end_ip = UINT64_MAX, .format = UNW_INFO_FORMAT_REMOTE_TABLE};
    table.u.rti.segbase = walk->bias + cfi->address;
    table.u.rti.table_data = TABLE_ADDRESS;
    table.u.rti.table_len = cfi->count;
    walk->parses = true;
    int status = search_unwind_table(space, ip, &table, info, need, context);
    walk->parses = false;
    walk->no_table = status < 0;
    return status;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *context)
{
    (void)space, (void)info, (void)context;
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *address, void *context)
{
    (void)space, (void)address, (void)context;
    return -UNW_ENOINFO;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *context)
{
    (void)space, (void)cursor, (void)context;
    return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t space, unw_word_t address, char *name, size_t size, unw_word_t *offset,
                         void *context)
{
    (void)space, (void)address, (void)name, (void)size, (void)offset, (void)context;
    return -UNW_EINVAL;
}

/* Is the frame at IP, with stack pointer STACK, a signal trampoline, described only by the kernel's record there? */
static bool is_trampoline(struct walk *walk, uint64_t ip, uint64_t stack)
{
    struct unwind_regs interrupted;
    struct cfi_row row;
    if (!signal_frame_read(walk->dump, stack, &interrupted))
        return false;
    return !enter_file(walk, ip) || !cfi_find_row(&walk->file->frames, ip - walk->bias, &row) || row.signal;
}

/* ---- Address spaces ---- */

struct libunwind_engine *libunwind_engine_new(void)
{
    return calloc(1, sizeof(struct libunwind_engine));
}

void libunwind_engine_free(struct libunwind_engine *engine)
{
    for (unsigned i = 0; engine && i < SPACES; i++)
        if (engine->spaces[i].space)
            unw_destroy_addr_space(engine->spaces[i].space);
    free(engine);
}

/* The address space with the cached rows of VERSION; NULL: out of memory. */
static unw_addr_space_t find_space(struct libunwind_engine *engine, uint64_t version)
{
    static unw_accessors_t accessors = {.find_proc_info = find_proc_info,
                                        .put_unwind_info = put_unwind_info,
                                        .get_dyn_info_list_addr = get_dyn_info_list_addr,
                                        .access_mem = access_mem,
                                        .access_reg = access_reg,
                                        .access_fpreg = access_fpreg,
                                        .resume = resume,
                                        .get_proc_name = get_proc_name};
    struct space *found = &engine->spaces[0];
    for (unsigned i = 0; i < SPACES && (found->version != version || !found->space); i++)
        if (engine->spaces[i].used < found->used || (engine->spaces[i].space && engine->spaces[i].version == version))
            found = &engine->spaces[i];
    if (!found->space) {
        found->space = unw_create_addr_space(&accessors, 0);
        if (!found->space)
            return NULL;
        unw_set_caching_policy(found->space, UNW_CACHE_GLOBAL);
    } else if (found->version != version || version == 0) {
        unw_flush_cache(found->space, 0, 0);
    }
    found->version = version;
    found->used = ++engine->time;
    return found->space;
}

/* ---- Stacks ---- */

/*
 * Why unw_step() returned STATUS. Without a table it also reports memory that it cannot read as the end, but only a
 * frame pointer of 0 is one.
 */
static enum unwind_end end_of(const struct walk *walk, int status, unw_word_t frame)
{
    const struct unwind_dump *dump = walk->dump;
    if (status == 0 && (!walk->no_table || frame == 0))
        return UNWIND_BOTTOM;
    if (!walk->missed)
        return UNWIND_NO_TABLE;
    bool above = walk->missed >= dump->start && walk->missed - dump->start >= dump->size - (dump->size < 8 ? 0 : 7);
    return dump->full && above ? UNWIND_TRUNCATED : UNWIND_BAD_MEMORY;
}

unsigned libunwind_engine_stack(struct libunwind_engine *engine, uint64_t version, const struct unwind_target *target,
                                const struct unwind_regs *regs, const struct unwind_dump *dump, uint64_t *ips,
                                unsigned capacity, struct libunwind_outcome *ret)
{
    struct walk walk = {.target = target, .regs = regs, .dump = dump};
    unw_addr_space_t space = find_space(engine, version);
    unw_cursor_t cursor;
    unw_word_t ip;
    unsigned count = 0;
    ips[count++] = regs->value[UNWIND_IP];
    *ret = (struct libunwind_outcome){.end = UNWIND_NO_TABLE, .top = regs->value[UNWIND_SP]};
    if (!space || unw_init_remote(&cursor, space, &walk) < 0)
        return count;
    ret->end = UNWIND_TOO_DEEP;
    while (count < capacity) {
        unw_word_t frame = 1; /* if it is not known */
        walk.missed = 0;
        walk.no_table = false;
        unw_get_reg(&cursor, UNW_REG_SP, &ret->top);
        unw_get_reg(&cursor, FRAME_POINTER, &frame);
        walk.trampoline = is_trampoline(&walk, ips[count - 1], ret->top) ? ips[count - 1] : 0;
        enter_file(&walk, ips[count - 1] - (count > 1)); /* for a return address: the byte before it */
        int status = unw_step(&cursor);
        if (status > 0 && (unw_get_reg(&cursor, UNW_REG_IP, &ip) < 0 || ip == 0))
            status = 0;
        ret->guessed |= walk.no_table; /* the end of the chain can be a guess as well */
        if (status <= 0) {
            ret->end = end_of(&walk, status, frame);
            break;
        }
        ips[count++] = ip;
    }
    return count;
}
