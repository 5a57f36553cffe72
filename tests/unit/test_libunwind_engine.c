/* SPDX-License-Identifier: MIT */
/*
 * The two engines are each other's witness, and libgcc's unwinder is that of both: this program is stepped through
 * instruction by instruction on x86-64. What libunwind cannot do is counted, by class, and nothing else may differ.
 */
#define _GNU_SOURCE
#include <dwarf.h>
#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "check.h"
#include "unwind/engine.h"
#include "unwind/libunwind_engine.h"
#include "unwind_kit.h"

static struct kit kit;
static struct libunwind_engine *engine;
struct chain {
    uint64_t ips[KIT_FRAMES];
    unsigned count;
    struct libunwind_outcome outcome;
};

static void unwind_over(const struct unwind_regs *regs, const struct unwind_dump *dump, uint64_t version,
                        struct chain *ret)
{
    ret->count = libunwind_engine_stack(engine, version, &kit.target, regs, dump, ret->ips, KIT_FRAMES, &ret->outcome);
}

/* ---- Stepping; test_engines.c has what does without ---- */

#if defined(__x86_64__)
enum { STEPS_MAX = 20000 };

static volatile struct {
    uint64_t version;
    unsigned steps, same, popped, other;
} stepping;

static bool begins_alike(const uint64_t *one, const uint64_t *other, unsigned count)
{
    return memcmp(one, other, count * sizeof(*one)) == 0;
}

static void compare(const ucontext_t *context)
{
    static struct kit_chain tables;
    static struct chain chain;
    struct unwind_regs regs;
    struct unwind_dump dump;
    kit_unwind(&kit, context, KIT_DUMP, &tables);
    kit_take(&kit, context, KIT_DUMP, &regs, &dump);
    unwind_over(&regs, &dump, stepping.version, &chain);
    stepping.steps++;
    if (chain.count == tables.count && begins_alike(chain.ips, tables.ips, chain.count) &&
        chain.outcome.end == tables.end && chain.outcome.top == tables.top)
        stepping.same++;
    /* Before a return the table still has the caller's frame pointer on the stack, below its end by then. */
    else if (chain.count <= tables.count && chain.outcome.end == UNWIND_BAD_MEMORY &&
             begins_alike(chain.ips, tables.ips, chain.count))
        stepping.popped++;
    else
        stepping.other++;
}

static volatile int sink;

__attribute__((noinline)) static int ascend(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

/* Saves registers, has a frame of variable size. */
__attribute__((noinline)) static int recurse(int depth, int a, int b)
{
    volatile char *room = __builtin_alloca((size_t)depth * 8 + 8);
    room[0] = (char)a;
    return depth == 0 ? a + b + room[0] : recurse(depth - 1, b, a) + a * b + room[0];
}

/* The vdso reads its clock again if a tick has come meanwhile: stepped through on a busy machine it does not end. */
static bool reads_clock;

__attribute__((noinline)) static int work(void)
{
    int numbers[8] = {5, 3, 7, 1, 8, 2, 9, 4};
    char text[64];
    struct timespec now;
    qsort(numbers, 8, sizeof(numbers[0]), ascend);
    snprintf(text, sizeof(text), "%d %s %.3f", numbers[0], "text", 3.25);
    if (reads_clock)
        clock_gettime(CLOCK_MONOTONIC, &now);
    return recurse(5, 1, 2) + (int)strlen(text);
}

static void step(uint64_t version)
{
    sink = work(); /* everything is bound, and libunwind's first allocations are made */
    kit_read_maps(&kit);
    stepping.version = version;
    stepping.steps = stepping.same = stepping.popped = stepping.other = 0;
    kit_begin_steps(compare, STEPS_MAX);
    sink = work();
    kit_end_steps();
    printf("%u steps: %u the same, %u behind a pop, %u others\n", stepping.steps, stepping.same, stepping.popped,
           stepping.other);
    assert_true(stepping.steps > 1000);
    assert_int_equal(stepping.other, 0);
    assert_true(stepping.popped * 10 < stepping.steps);
}

static void test_every_instruction(void **state)
{
    (void)state;
    reads_clock = true;
    step(0);
}

/* With the rows that it found before. */
static void test_caches(void **state)
{
    (void)state;
    reads_clock = false;
    step(0); /* everything is bound */
    step(0);
    const unsigned popped = stepping.popped, steps = stepping.steps;
    step(7);
    step(7); /* by rows that libunwind remembers: no chain ends earlier for that */
    assert_int_equal(stepping.popped, popped);
    assert_int_equal(stepping.steps, steps);
}
#endif

/* ---- Ends ---- */

static void take_here(struct unwind_regs *regs, struct unwind_dump *dump, size_t size)
{
    ucontext_t context;
    getcontext(&context);
    kit_take(&kit, &context, size, regs, dump);
}

/* More address spaces than there are places for. */
static void test_many_versions(void **state)
{
    (void)state;
    for (uint64_t version = 100; version < 300; version++) {
        static struct chain first, again;
        struct unwind_regs regs;
        struct unwind_dump dump;
        take_here(&regs, &dump, KIT_DUMP);
        unwind_over(&regs, &dump, version, &first);
        unwind_over(&regs, &dump, version, &again);
        assert_int_equal(first.outcome.end, UNWIND_BOTTOM);
        assert_int_equal(first.count, again.count);
        assert_memory_equal(first.ips, again.ips, first.count * sizeof(first.ips[0]));
    }
}

static void test_truncated(void **state)
{
    static struct chain whole, part;
    struct unwind_regs regs;
    struct unwind_dump dump;
    unsigned cut = 0;
    (void)state;
    take_here(&regs, &dump, KIT_DUMP);
    unwind_over(&regs, &dump, 0, &whole);
    assert_int_equal(whole.outcome.end, UNWIND_BOTTOM);
    assert_false(whole.outcome.guessed);
    assert_true(whole.count > 3);
    /* For everybody else, too. */
    uint64_t ips[KIT_FRAMES];
    struct unwind_outcome outcome;
    struct unwind_engine *both = unwind_engine_new(UNWIND_ENGINE_LIBUNWIND);
    assert_int_equal(unwind_engine_stack(both, 0, &kit.target, &regs, &dump, ips, KIT_FRAMES, &outcome), whole.count);
    assert_int_equal(outcome.end, UNWIND_BOTTOM);
    unwind_engine_free(both);
    const size_t all = dump.size;
    for (dump.size = 0; dump.size < all && dump.size < 2048; dump.size += 8) {
        dump.full = true;
        unwind_over(&regs, &dump, 0, &part);
        assert_true(part.count <= whole.count);
        assert_memory_equal(part.ips, whole.ips, part.count * sizeof(part.ips[0]));
        if (part.count < whole.count)
            assert_int_equal(part.outcome.end, UNWIND_TRUNCATED);
        cut += part.count < whole.count;
        dump.full = false;
        unwind_over(&regs, &dump, 0, &part);
        if (part.count < whole.count)
            assert_int_equal(part.outcome.end, UNWIND_BAD_MEMORY);
    }
    assert_true(cut > 0);
}

static void test_capacity(void **state)
{
    struct unwind_regs regs;
    struct unwind_dump dump;
    struct libunwind_outcome outcome;
    uint64_t ips[2];
    (void)state;
    take_here(&regs, &dump, KIT_DUMP);
    assert_int_equal(libunwind_engine_stack(engine, 0, &kit.target, &regs, &dump, ips, 2, &outcome), 2);
    assert_int_equal(outcome.end, UNWIND_TOO_DEEP);
    assert_int_equal(libunwind_engine_stack(engine, 0, &kit.target, &regs, &dump, ips, 1, &outcome), 1);
    assert_int_equal(ips[0], regs.value[UNWIND_IP]);
}

/* What libunwind takes for the end, since there is no table and no frame, is not taken for one. */
static void test_no_table(void **state)
{
    static uint64_t stack[64];
    static struct chain chain;
    unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct unwind_regs regs = {.value = {[UNWIND_IP] = (uint64_t)code + 16, [UNWIND_SP] = (uint64_t)stack}};
    const struct unwind_dump dump = {.bytes = stack, .start = (uint64_t)stack, .size = sizeof(stack)};
    (void)state;
    assert_true(code != MAP_FAILED);
    kit_read_maps(&kit);
    regs.value[UNWIND_FP] = 0x1001; /* no frame */
    unwind_over(&regs, &dump, 0, &chain);
    assert_int_equal(chain.count, 1);
    assert_int_not_equal(chain.outcome.end, UNWIND_BOTTOM);
    regs.value[UNWIND_FP] = 0; /* no frame more, as it seems: a guess, too */
    unwind_over(&regs, &dump, 0, &chain);
    assert_int_equal(chain.count, 1);
    assert_true(chain.outcome.guessed);
#if defined(__aarch64__)
    /* The link register leads to the next, and 0 is the end: seen as guesses. */
    regs.value[UNWIND_RETURN] = (uint64_t)code + 32;
    unwind_over(&regs, &dump, 0, &chain);
    assert_true(chain.count >= 2);
    assert_int_equal(chain.ips[1], (uint64_t)code + 32);
#else
    /* Frame pointers lead from one to the next, and 0 ends them: seen as guesses. */
    stack[4] = (uint64_t)&stack[8];
    stack[5] = (uint64_t)code + 32;
    stack[8] = 0;
    stack[9] = (uint64_t)code + 48;
    regs.value[UNWIND_FP] = (uint64_t)&stack[4];
    unwind_over(&regs, &dump, 0, &chain);
    assert_true(chain.count >= 3);
    assert_int_equal(chain.ips[1], (uint64_t)code + 32);
    assert_int_equal(chain.ips[2], (uint64_t)code + 48);
#endif
    assert_true(chain.outcome.guessed);
    assert_int_equal(chain.outcome.end, UNWIND_BOTTOM);
    /* For everybody else what guesses led to is not whole. */
    uint64_t ips[8];
    struct unwind_outcome outcome;
    struct unwind_engine *both = unwind_engine_new(UNWIND_ENGINE_LIBUNWIND);
    assert_int_equal(unwind_engine_stack(both, 0, &kit.target, &regs, &dump, ips, 8, &outcome), chain.count);
    assert_int_equal(outcome.end, UNWIND_NO_TABLE);
    unwind_engine_free(both);
    munmap(code, 4096);
}

/* ---- A file that means harm ---- */

enum { EH_FRAME = 0x200, CODE = 0x1000, FILE_SIZE = 0x2000, BREG_SP = 0x70 + UNWIND_SP };

struct evil {
    Elf64_Ehdr header;
    Elf64_Phdr program;
};

/* An ELF file whose only function has PROGRAM, of SIZE bytes, in its table. */
static void make_evil(unsigned char *file, const unsigned char *program, unsigned size)
{
    static const char names[] = "\0.eh_frame\0.shstrtab";
    struct evil *evil = (struct evil *)file;
    Elf64_Shdr *sections = (Elf64_Shdr *)(file + 0x400);
    unsigned char *at = file + EH_FRAME;
    memset(file, 0, FILE_SIZE);
    memcpy(evil->header.e_ident, ELFMAG, SELFMAG);
    evil->header.e_ident[EI_CLASS] = ELFCLASS64;
    evil->header.e_ident[EI_DATA] = ELFDATA2LSB;
    evil->header.e_machine = UNWIND_MACHINE;
    evil->header.e_phoff = sizeof(evil->header);
    evil->header.e_phentsize = sizeof(Elf64_Phdr);
    evil->header.e_phnum = 1;
    evil->header.e_shoff = 0x400;
    evil->header.e_shentsize = sizeof(Elf64_Shdr);
    evil->header.e_shnum = 3;
    evil->header.e_shstrndx = 2;
    evil->program = (Elf64_Phdr){
        .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = FILE_SIZE, .p_memsz = FILE_SIZE};
    const unsigned char cie[] = {16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, UNWIND_RETURN, 1, 0x1b, 0, 0, 0};
    memcpy(at, cie, sizeof(cie));
    const uint32_t length = 4 + 4 + 4 + 1 + size, back = sizeof(cie) + 4;
    int32_t start = CODE - (EH_FRAME + (int32_t)sizeof(cie) + 8);
    const uint32_t range = 0x100;
    unsigned char *fde = at + sizeof(cie);
    memcpy(fde, &length, 4);
    memcpy(fde + 4, &back, 4);
    memcpy(fde + 8, &start, 4);
    memcpy(fde + 12, &range, 4);
    fde[16] = 0;
    memcpy(fde + 17, program, size);
    sections[1] = (Elf64_Shdr){.sh_name = 1,
                               .sh_type = SHT_PROGBITS,
                               .sh_addr = EH_FRAME,
                               .sh_offset = EH_FRAME,
                               .sh_size = sizeof(cie) + 4 + length};
    memcpy(file + 0x600, names, sizeof(names));
    sections[2] = (Elf64_Shdr){.sh_name = 11, .sh_type = SHT_STRTAB, .sh_offset = 0x600, .sh_size = sizeof(names)};
}

static struct unwind_file *evil_file;

static bool find_evil(void *context, uint64_t address, struct unwind_map *ret)
{
    (void)context;
    *ret = (struct unwind_map){.start = 0x400000, .low = 0x400000, .high = 0x400000 + FILE_SIZE, .file = evil_file};
    return address >= ret->low && address < ret->high;
}

/* The chain of a stack in FILE's code. */
static unsigned walk_evil(struct unwind_files *files, const char *name, const unsigned char *file,
                          struct libunwind_outcome *ret)
{
    uint64_t stack[8] = {0, 0x400000 + CODE + 0x20}, ips[16];
    struct unwind_regs regs = {.value = {[UNWIND_SP] = (uint64_t)stack, [UNWIND_FP] = 1}}; /* no frame */
    regs.value[UNWIND_RETURN] = 0x400000 + CODE + 0x20;
    regs.value[UNWIND_IP] = 0x400000 + CODE + 4;
    const struct unwind_dump dump = {.bytes = stack, .start = (uint64_t)stack, .size = sizeof(stack)};
    const struct unwind_target target = {find_evil, NULL};
    evil_file = unwind_files_memory(files, name, file, FILE_SIZE);
    assert_non_null(evil_file);
    return libunwind_engine_stack(engine, 0, &target, &regs, &dump, ips, 16, ret);
}

/* Nothing comes of FILE's table. On AArch64 libunwind guesses one frame more then, by the link register. */
static void expect_nothing(struct unwind_files *files, const char *name, const unsigned char *file)
{
    struct libunwind_outcome outcome;
    unsigned count = walk_evil(files, name, file, &outcome);
    assert_int_equal(count, UNWIND_RETURN == UNWIND_IP ? 1 : 2);
    assert_true(outcome.guessed || count == 1);
    assert_int_not_equal(outcome.end, UNWIND_BOTTOM);
}

/* libunwind takes the number of a register for an index, whatever it is. */
static void test_register_out_of_range(void **state)
{
    static unsigned char file[FILE_SIZE] __attribute__((aligned(8)));
    (void)state;
    struct unwind_files *files = unwind_files_new();
    for (unsigned shift = 6; shift < 28; shift++) {
        const uint32_t number = 1u << shift;
        /* Register 3 lies in register NUMBER. */
        unsigned char program[] = {
            DW_CFA_def_cfa, UNWIND_SP, 8, DW_CFA_register, 3, 0, 0, 0, (unsigned char)(number >> 21)};
        char name[16];
        for (unsigned i = 0; i < 3; i++)
            program[5 + i] = (unsigned char)(0x80 | number >> 7 * i);
        make_evil(file, program, sizeof(program));
        snprintf(name, sizeof(name), "%u", number);
        expect_nothing(files, name, file);
    }
    unwind_files_free(files);
}

/* An expression that jumps to itself for ever would keep libunwind busy; what it reads is counted. */
static void test_endless_expression(void **state)
{
    static unsigned char file[FILE_SIZE] __attribute__((aligned(8)));
    static const unsigned char endless[] = {0x0f, 3, 0x2f, 0xfd, 0xff}; /* DW_CFA_def_cfa_expression: DW_OP_skip -3 */
    static const unsigned char plain[] = {0x0f, 2, BREG_SP, 8};         /* DW_CFA_def_cfa_expression */
    struct libunwind_outcome outcome;
    (void)state;
    struct unwind_files *files = unwind_files_new();
    make_evil(file, plain, sizeof(plain));
    assert_true(walk_evil(files, "plain", file, &outcome) > 1);
    make_evil(file, endless, sizeof(endless));
    expect_nothing(files, "endless", file);
    unwind_files_free(files);
}

/* Any bytes of a table, any registers: it ends. */
static void test_garbage(void **state)
{
    static unsigned char file[FILE_SIZE] __attribute__((aligned(8)));
    static const unsigned char plain[] = {0x0f, 2, BREG_SP, 8};
    uint64_t stack[64], ips[16];
    const struct unwind_target target = {find_evil, NULL};
    (void)state;
    srand(1);
    for (unsigned round = 0; round < 3000; round++) {
        struct unwind_files *files = unwind_files_new();
        char name[16];
        make_evil(file, plain, sizeof(plain));
        for (unsigned i = 0; i < 4; i++)
            file[EH_FRAME + rand() % 64] = (unsigned char)rand();
        snprintf(name, sizeof(name), "%u", round);
        evil_file = unwind_files_memory(files, name, file, FILE_SIZE);
        for (unsigned i = 0; i < 64; i++)
            stack[i] = rand() % 2 ? 0x400000 + CODE + (uint64_t)(rand() % 0x200) : (uint64_t)&stack[rand() % 64];
        struct unwind_regs regs = {
            .value = {
                [UNWIND_IP] = 0x400000 + CODE + 4, [UNWIND_SP] = (uint64_t)stack, [UNWIND_FP] = (uint64_t)&stack[9]}};
        const struct unwind_dump dump = {.bytes = stack, .start = (uint64_t)stack, .size = sizeof(stack)};
        struct libunwind_outcome outcome;
        unsigned count = libunwind_engine_stack(engine, round % 3, &target, &regs, &dump, ips, 16, &outcome);
        assert_in_range(count, 1, 16);
        unwind_files_free(files);
    }
}

/* Random programs of a row: opcodes with random operands, the state pushed and popped. */
static void test_hostile_programs(void **state)
{
    static unsigned char file[FILE_SIZE] __attribute__((aligned(8)));
    struct libunwind_outcome outcome;
    (void)state;
    srand(2);
    for (unsigned round = 0; round < 5000; round++) {
        struct unwind_files *files = unwind_files_new();
        unsigned char program[256];
        const unsigned size = 1 + (unsigned)rand() % sizeof(program);
        for (unsigned i = 0; i < size; i++)
            program[i] = (unsigned char)(rand() % 3 == 0 ? rand() : rand() % 0x18);
        make_evil(file, program, size);
        assert_in_range(walk_evil(files, "random", file, &outcome), 1, 16);
        unwind_files_free(files);
    }
}

/* libunwind opens a pipe when it is used first, and keeps it: before open_files.c looks what is open. */
__attribute__((constructor(101))) static void use_libunwind(void)
{
    uint64_t ip;
    const struct unwind_target target = {find_evil, NULL};
    const struct unwind_regs regs = {.value = {[UNWIND_IP] = 1}};
    const struct unwind_dump dump = {.bytes = "", .start = 1, .size = 0};
    struct libunwind_outcome outcome;
    struct libunwind_engine *first = libunwind_engine_new();
    if (first)
        libunwind_engine_stack(first, 0, &target, &regs, &dump, &ip, 1, &outcome);
    libunwind_engine_free(first);
}

static int set_up(void **state)
{
    (void)state;
    kit_init(&kit);
    engine = libunwind_engine_new();
    return engine ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    libunwind_engine_free(engine);
    libunwind_engine_free(NULL);
    kit_release(&kit);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        cmocka_unit_test(test_every_instruction),
        cmocka_unit_test(test_caches),
#endif
        cmocka_unit_test(test_many_versions),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_no_table),
        cmocka_unit_test(test_register_out_of_range),
        cmocka_unit_test(test_endless_expression),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_hostile_programs),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
