/* SPDX-License-Identifier: MIT */
#include "analyze/script/script_bits.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A text in a buffer of BITS_TEXT bytes, of alternatives. */
struct words {
    char *to;
    size_t used, first; /* where the alternatives begin */
};

static void add(struct words *words, const char *text)
{
    int size = snprintf(words->to + words->used, BITS_TEXT - words->used, "%s", text);
    words->used += size > 0 && (size_t)size < BITS_TEXT - words->used ? (size_t)size : 0;
}

static void add_or(struct words *words, const char *text)
{
    if (words->used > words->first)
        add(words, " or ");
    add(words, text);
}

/* The names of the bits of BITS; NONE if there is no name. */
static void add_bits(struct words *words, uint64_t bits, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (names[i] && (bits >> i & 1))
            add_or(words, names[i]);
}

#define NUMBER_NONE 15 /* PERF_MEM_LVLNUM_NA */

static void add_number(struct words *words, uint64_t number)
{
    static const char *const names[NUMBER_NONE] = {
        [9] = "CXL", [10] = "I/O", [11] = "Any cache", [12] = "LFB/MAB", [13] = "RAM", [14] = "PMEM",
    };
    char text[8];
    snprintf(text, sizeof(text), "L%u", (unsigned)number);
    add(words, names[number] ? names[number] : text);
}

static void add_level(struct words *words, uint64_t value)
{
    /* Bits 5 to 18; N/A, hit and miss are the first three. */
    static const char *const levels[] = {
        [3] = "L1",
        [4] = "LFB/MAB",
        [5] = "L2",
        [6] = "L3",
        [7] = "Local RAM",
        [8] = "Remote RAM (1 hop)",
        [9] = "Remote RAM (2 hops)",
        [10] = "Remote Cache (1 hop)",
        [11] = "Remote Cache (2 hops)",
        [12] = "I/O",
        [13] = "Uncached",
    };
    static const char *const hops[8] = {NULL, "core, same node", "node, same socket", "socket, same board", "board"};
    const uint64_t level = value >> 5 & 0x3fff, number = value >> 33 & 15, hop = value >> 43 & 7;
    const bool numbered = number && number != NUMBER_NONE;
    if (value >> 37 & 1)
        add(words, "Remote ");
    words->first = words->used;
    /* A newer kernel says how far away it is, and leaves the older bits alone. */
    if (hops[hop])
        add(words, hops[hop]);
    if (hops[hop] && numbered)
        add(words, " ");
    /* The number is newer than the bits, and says the same in other words. */
    if (numbered)
        add_number(words, number);
    else if (!hops[hop])
        add_bits(words, level, levels, sizeof(levels) / sizeof(levels[0]));
    if (words->used == words->first)
        add(words, "N/A");
    add(words, level & 2 ? " hit" : level & 4 ? " miss" : "");
}

static void add_group(struct words *words, uint64_t bits, const char *const *names, size_t count, const char *none)
{
    add_bits(words, bits, names, count);
    if (words->used == words->first)
        add(words, none);
}

static void add_tlb(struct words *words, uint64_t bits)
{
    static const char *const names[] = {"N/A", NULL, NULL, "L1", "L2", "Walker", "Fault"};
    add_group(words, bits, names, sizeof(names) / sizeof(names[0]), "N/A");
    add(words, bits & 2 ? " hit" : bits & 4 ? " miss" : "");
}

static void add_access(struct words *words, enum bits_access part, uint64_t value)
{
    static const char *const operations[] = {"N/A", "LOAD", "STORE", "PFETCH", "EXEC"};
    static const char *const snoops[] = {"N/A", "None", "Hit", "Miss", "HitM", "Fwd", "Peer"};
    static const char *const locks[] = {"N/A", "Yes"};
    static const char *const blocks[] = {"N/A", "Data", "Addr"};
    words->first = words->used;
    switch (part) {
    case ACCESS_OPERATION: add_group(words, value & 31, operations, 5, "No"); return;
    case ACCESS_LEVEL: add_level(words, value); return;
    case ACCESS_SNOOP: add_group(words, (value >> 19 & 31) | (value >> 38 & 3) << 5, snoops, 7, "N/A"); return;
    case ACCESS_TLB: add_tlb(words, value >> 26 & 127); return;
    case ACCESS_LOCK: add_group(words, value >> 24 & 3, locks, 2, "No"); return;
    case ACCESS_BLOCK: add_group(words, value >> 40 & 1 ? 1 : value >> 40 & 6, blocks, 3, "N/A"); return;
    case ACCESS_PARTS: return;
    }
}

char *bits_access(char *ret, enum bits_access part, uint64_t value)
{
    struct words words = {.to = ret};
    ret[0] = '\0';
    add_access(&words, part, value);
    return ret;
}

char *bits_data_source(char *ret, uint64_t value)
{
    static const char *const titles[ACCESS_PARTS] = {"|OP ", "|LVL ", "|SNP ", "|TLB ", "|LCK ", "|BLK "};
    struct words words = {.to = ret};
    ret[0] = '\0';
    for (int part = 0; part < ACCESS_PARTS; part++) {
        add(&words, titles[part]);
        add_access(&words, (enum bits_access)part, value);
    }
    return ret;
}

char *bits_page_size(char *ret, uint64_t bytes)
{
    static const char units[] = "BKMGTPE";
    unsigned unit = 0;
    if (bytes == 0)
        return strcpy(ret, "N/A");
    while (bytes % 1024 == 0 && units[unit + 1]) {
        bytes /= 1024;
        unit++;
    }
    snprintf(ret, BITS_TEXT, "%llu%c", (unsigned long long)bytes, units[unit]);
    return ret;
}

char *bits_register(char *ret, const char *machine, unsigned bit)
{
    static const char *const x86[] = {"AX", "BX", "CX", "DX", "SI", "DI", "BP",  "SP",  "IP",  "FLAGS", "CS",  "SS",
                                      "DS", "ES", "FS", "GS", "R8", "R9", "R10", "R11", "R12", "R13",   "R14", "R15"};
#if defined(__aarch64__)
    const int ours_arm = 1;
#else
    const int ours_arm = 0;
#endif
    int arm = machine[0] ? strcmp(machine, "aarch64") == 0 || strcmp(machine, "arm64") == 0 : ours_arm;
    int intel = machine[0] ? strcmp(machine, "x86_64") == 0 || (machine[0] == 'i' && strstr(machine, "86")) : !ours_arm;
    if (intel && bit < sizeof(x86) / sizeof(x86[0]))
        snprintf(ret, BITS_TEXT, "%s", x86[bit]);
    else if (intel && bit >= 32)
        snprintf(ret, BITS_TEXT, "XMM%u%s", (bit - 32) / 2, bit % 2 ? "_1" : "_0");
    else if (arm && bit < 33)
        snprintf(ret, BITS_TEXT, bit < 30 ? "X%u" : bit == 30 ? "LR" : bit == 31 ? "SP" : "PC", bit);
    else
        snprintf(ret, BITS_TEXT, "r%u", bit);
    return ret;
}

const char *bits_branch_type(unsigned type, unsigned new_type)
{
    static const char *const types[16] = {
        [1] = "COND",  [2] = "UNCOND",  [3] = "IND",     [4] = "CALL",      [5] = "IND_CALL",
        [6] = "RET",   [7] = "SYSCALL", [8] = "SYSRET",  [9] = "COND_CALL", [10] = "COND_RET",
        [11] = "ERET", [12] = "IRQ",    [13] = "SERROR", [14] = "NO_TX"};
    static const char *const later[16] = {"FAULT_ALGN", "FAULT_DATA", "FAULT_INST"};
    const char *name = type == 15 ? new_type < 16 ? later[new_type] : NULL : type < 16 ? types[type] : NULL;
    return name ? name : "-";
}
