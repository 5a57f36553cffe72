/* SPDX-License-Identifier: MIT */
#include "steps_kit.h"

enum { ROWS = 8 };

/* ---- The file and its tables ---- */

struct unwind_file file;
static struct {
    uint64_t address;
    struct cfi_row row;
} rows[ROWS];
static unsigned row_count;
unsigned finds, uses;
struct row_known known;
struct cfi_row split;
uint64_t split_at;
const struct cfi *expression_section;
bool expression_fails, with_limits;
uint32_t miss_work, split_work, expression_work;
uint64_t words[WORDS];
struct unwind_dump dump;

#if defined(__aarch64__)
const uint8_t row_cache_registers[ROW_KEPT] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, UNWIND_FP, UNWIND_RETURN};
#else
const uint8_t row_cache_registers[ROW_KEPT] = {3, UNWIND_FP, 12, 13, 14, 15, UNWIND_RETURN};
#endif

bool unwind_file_address(const struct unwind_file *its, uint64_t offset, uint64_t *ret_address)
{
    *ret_address = offset - OFFSET + CODE;
    return its == &file && offset >= OFFSET && offset < OFFSET + 0x1000;
}

bool unwind_file_row(struct unwind_file *its, uint64_t address, struct cfi_row *ret)
{
    for (unsigned i = 0; i < row_count && its == &file; i++)
        if (rows[i].address == address) {
            *ret = rows[i].row;
            return true;
        }
    ret->work = miss_work;
    return false;
}

void unwind_file_use(struct unwind_file *its)
{
    assert_ptr_equal(its, &file);
    uses++;
}

const struct row_known *row_cache_find(struct row_cache *cache, uint64_t address)
{
    return cache == &file.rows && known.address && known.address == address ? &known : NULL;
}

bool cfi_find_split(const struct cfi *cfi, uint64_t address, struct cfi_row *ret)
{
    *ret = split;
    ret->work = split_work;
    return cfi == &file.frames && split_at && address == split_at;
}

/* An expression is a number here: its value is that, and what it begins with. */
bool expression_run(struct cursor expression, const struct unwind_regs *its, const struct unwind_dump *stack,
                    const uint64_t *initial, uint64_t *work, uint64_t *ret)
{
    const unsigned char *at = cursor_bytes(&expression, 1);
    expression_section = at && at >= file.debug.bytes && at < file.debug.bytes + file.debug.size ? &file.debug
                                                                                                 : &file.frames;
    *work += expression_work;
    if (expression_fails || !at || !its || stack != &dump)
        return false;
    *ret = (initial ? *initial : its->value[UNWIND_SP]) + *at;
    return true;
}

bool dump_read(const struct unwind_dump *its, uint64_t address, uint64_t *ret)
{
    if (its != &dump || address < STACK || address + 8 > STACK + dump.size || address % 8)
        return false;
    *ret = words[(address - STACK) / 8];
    return true;
}

static bool find(void *context, uint64_t address, struct unwind_map *ret)
{
    finds++;
    if (context != &file || address < 0x400000 || address >= 0x480000)
        return false;
    /* Each 64 KiB are a mapping, all of the same place in the file; the last one is of none. */
    uint64_t start = address & ~UINT64_C(0xffff);
    *ret = (struct unwind_map){
        .start = start, .offset = OFFSET, .file = start < 0x470000 ? &file : NULL, .anonymous = start == 0x470000};
    if (with_limits)
        ret->low = start, ret->high = start + 0x10000;
    return true;
}

/* ---- A chain ---- */

static const struct unwind_target target = {find, &file};
struct unwind_regs regs;
uint64_t ips[8];
struct unwind_outcome outcome;
static unsigned char expressions[2][4] = {{1, 8, 16, 24}, {2, 40, 48, 56}};

void begin(void)
{
    memset(&file, 0, sizeof(file));
    file.frames = (struct cfi){.bytes = expressions[0], .size = 4};
    file.debug = (struct cfi){.bytes = expressions[1], .size = 4};
    memset(&known, 0, sizeof(known));
    memset(&regs, 0, sizeof(regs));
    row_count = finds = uses = 0;
    split_at = 0;
    miss_work = split_work = expression_work = 0;
    expression_fails = with_limits = false;
    expression_section = NULL;
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = 0x1000 + i;
    dump = (struct unwind_dump){words, STACK, DUMP_SIZE, false};
    regs.value[UNWIND_SP] = STACK;
    regs.value[UNWIND_IP] = 0x400010;
}

struct cfi_row plain_row(int size)
{
    struct cfi_row row = {.return_reg = UNWIND_RETURN};
    row.cfa = (struct cfi_rule){CFI_REGISTER, UNWIND_SP, size};
    row.rules[UNWIND_RETURN] = (struct cfi_rule){CFI_OFFSET, 0, -8};
    row.rules[UNWIND_SP] = (struct cfi_rule){CFI_VAL_OFFSET, 0, 0};
    return row;
}

struct cfi_row *add_row(uint64_t ip, struct cfi_row row)
{
    rows[row_count].address = ip - 0x400000 + CODE;
    rows[row_count].row = row;
    return &rows[row_count++].row;
}

unsigned chain(unsigned capacity)
{
    memset(ips, 0xff, sizeof(ips));
    memset(&outcome, 0xff, sizeof(outcome));
    return unwind_stack(&target, &regs, &dump, ips, capacity, &outcome);
}

struct cfi_row *add_bottom(uint64_t ip)
{
    struct cfi_row row = plain_row(8);
    row.rules[UNWIND_RETURN].how = CFI_UNDEFINED;
    return add_row(ip, row);
}
