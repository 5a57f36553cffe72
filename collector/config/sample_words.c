/* SPDX-License-Identifier: MIT */
#include "collector/config/sample_words.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pinject/kernel.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "common/nearest.h"
#include "common/report.h"

struct word {
    const char *name;
    uint64_t bits;
};

enum { WORDS_MAX = 40, TEXT = 512 };

#define BIT(number) (UINT64_C(1) << (number))

/* DS, ES, FS and GS have numbers, but the kernel refuses them on x86-64. */
#if defined(__aarch64__)
#define X(number)                \
    {                            \
        "x" #number, BIT(number) \
    }
static const struct word registers[] = {
    X(0),
    X(1),
    X(2),
    X(3),
    X(4),
    X(5),
    X(6),
    X(7),
    X(8),
    X(9),
    X(10),
    X(11),
    X(12),
    X(13),
    X(14),
    X(15),
    X(16),
    X(17),
    X(18),
    X(19),
    X(20),
    X(21),
    X(22),
    X(23),
    X(24),
    X(25),
    X(26),
    X(27),
    X(28),
    X(29),
    {"lr", BIT(30)},
    {"sp", BIT(31)},
    {"pc", BIT(32)},
    {NULL, 0},
};
#else
static const struct word registers[] = {
    {"ax", BIT(0)},   {"bx", BIT(1)},   {"cx", BIT(2)},   {"dx", BIT(3)},    {"si", BIT(4)},   {"di", BIT(5)},
    {"bp", BIT(6)},   {"sp", BIT(7)},   {"ip", BIT(8)},   {"flags", BIT(9)}, {"cs", BIT(10)},  {"ss", BIT(11)},
    {"r8", BIT(16)},  {"r9", BIT(17)},  {"r10", BIT(18)}, {"r11", BIT(19)},  {"r12", BIT(20)}, {"r13", BIT(21)},
    {"r14", BIT(22)}, {"r15", BIT(23)}, {NULL, 0},
};
#endif

static const struct word branches[] = {
    {"any", PERF_SAMPLE_BRANCH_ANY},
    {"any_call", PERF_SAMPLE_BRANCH_ANY_CALL},
    {"any_ret", PERF_SAMPLE_BRANCH_ANY_RETURN},
    {"ind_call", PERF_SAMPLE_BRANCH_IND_CALL},
    {"ind_jmp", PERF_SAMPLE_BRANCH_IND_JUMP},
    {"call", PERF_SAMPLE_BRANCH_CALL},
    {"cond", PERF_SAMPLE_BRANCH_COND},
    {"stack", PERF_SAMPLE_BRANCH_CALL_STACK},
    {"abort_tx", PERF_SAMPLE_BRANCH_ABORT_TX},
    {"in_tx", PERF_SAMPLE_BRANCH_IN_TX},
    {"no_tx", PERF_SAMPLE_BRANCH_NO_TX},
    {"u", PERF_SAMPLE_BRANCH_USER},
    {"k", PERF_SAMPLE_BRANCH_KERNEL},
    {"hv", PERF_SAMPLE_BRANCH_HV},
    {"no_flags", PERF_SAMPLE_BRANCH_NO_FLAGS},
    {"no_cycles", PERF_SAMPLE_BRANCH_NO_CYCLES},
    {"save_type", PERF_SAMPLE_BRANCH_TYPE_SAVE},
    {"hw_index", PERF_SAMPLE_BRANCH_HW_INDEX},
    {"priv", PERF_SAMPLE_BRANCH_PRIV_SAVE},
    {"counter", PERF_SAMPLE_BRANCH_COUNTERS},
    {NULL, 0},
};

static const struct word *find_word(const struct word *words, const char *name, size_t size)
{
    while (words->name && (strlen(words->name) != size || strncasecmp(words->name, name, size) != 0))
        words++;
    return words->name ? words : NULL;
}

static int refuse_word(const struct word *words, const char *option, const char *what, const char *name, size_t size)
{
    const char *names[WORDS_MAX];
    char word[32], all[TEXT] = "";
    size_t count = 0, used = 0;
    snprintf(word, sizeof(word), "%.*s", (int)size, name);
    for (; words[count].name && used < sizeof(all); count++) {
        names[count] = words[count].name;
        used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", count ? ", " : "", names[count]);
    }
    const char *near = nearest_word(word, names, count);
    if (near)
        report_error("option '--%s' knows no %s '%s'; did you mean '%s'?", option, what, word, near);
    else
        report_error("option '--%s' knows no %s '%s'; it knows %s", option, what, word, all);
    return -EINVAL;
}

static int parse_list(const struct word *words, const char *option, const char *what, const char *list, uint64_t *ret)
{
    uint64_t bits = 0;
    for (const char *at = list;; at++) {
        const size_t size = strcspn(at, ",");
        const struct word *word = find_word(words, at, size);
        if (!word)
            return refuse_word(words, option, what, at, size);
        bits |= word->bits;
        at += size;
        if (!*at)
            break;
    }
    *ret = bits;
    return 0;
}

uint64_t sample_words_all_registers(void)
{
    uint64_t bits = 0;
    for (const struct word *word = registers; word->name; word++)
        bits |= word->bits;
    return bits;
}

int sample_words_registers(const char *option, const char *list, uint64_t *ret)
{
    return parse_list(registers, option, "register", list, ret);
}

void sample_words_print_registers(FILE *to)
{
    for (const struct word *word = registers; word->name; word++)
        fprintf(to, "%s%s", word == registers ? "" : " ", word->name);
    fputc('\n', to);
}

int sample_words_branches(const char *list, uint64_t *ret)
{
    const uint64_t levels = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
    const int status = parse_list(branches, "branch-filter", "kind of branch", list, ret);
    if (status == 0 && !(*ret & ~levels))
        *ret |= PERF_SAMPLE_BRANCH_ANY;
    return status;
}
