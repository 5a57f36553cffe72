/* SPDX-License-Identifier: MIT */
/* The PLT stubs, as the machines and linkers have them. */
#include "check.h"

#include "elf_names_kit.h"

struct code {
    unsigned char at[512];
    size_t size;
};

static void put(struct code *code, uint64_t number, unsigned size)
{
    assert_true(code->size + size <= sizeof(code->at));
    for (unsigned i = 0; i < size; i++)
        code->at[code->size++] = (unsigned char)(number >> 8 * i);
}

static void fill(struct code *code, unsigned size)
{
    while (code->size < size)
        put(code, 0x90, 1);
}

/* Symbols 1 to 4: three imported ones, and a chosen one at 0x1010. */
static void put_imports(void)
{
    begin_symbols();
    put_symbol("one", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, 0);
    put_symbol("two", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, 0);
    put_symbol("three", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, 0);
    put_symbol("chosen", STB_GLOBAL, STT_FUNC, 1, 0x1010, 0x10);
}

static void read_stubs(const struct elf_kit_file *file, const struct elf_kit_section *more, size_t count)
{
    write_symbols(file, more, count);
    read_names();
    name_table_finish(&names.table, NAME_BEST_ALIAS);
    elf_names_add_plt(&names.table, &names.elf);
    name_table_finish(&names.table, NAME_BEST_ALIAS);
    assert_false(names.table.failed);
}

/* At ADDRESS begins a stub of SIZE with NAME; "-": none is there. */
static void stub_is(uint64_t address, uint64_t size, const char *name)
{
    const struct name_entry *entry = name_table_find(&names.table, address);
    assert_string_equal(entry ? entry->raw : "-", name);
    if (!entry)
        return;
    assert_true(entry->start == address && entry->end == address + size);
    assert_int_equal(entry->flags, strcmp(name, ".plt") ? NAME_PLT | NAME_GLOBAL : NAME_PLT);
    assert_true(!name_table_find(&names.table, address + size) ||
                name_table_find(&names.table, address + size)->start == address + size);
}

static void test_x86_64(void **state)
{
    const Elf64_Rela plt[] = {{0x3000, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0},
                              {0x3008, ELF64_R_INFO(2, R_X86_64_JUMP_SLOT), 0}},
                     others[] = {{0x3020, ELF64_R_INFO(0, R_X86_64_IRELATIVE), 0x1018}, /* in the middle */
                                 {0x3018, ELF64_R_INFO(0, R_X86_64_IRELATIVE), 0x1010},
                                 {0x3028, ELF64_R_INFO(0, R_X86_64_RELATIVE), 0x1010},
                                 {0x3010, ELF64_R_INFO(3, R_X86_64_GLOB_DAT), 0}},
                     text[] = {{0x3030, ELF64_R_INFO(3, R_X86_64_GLOB_DAT), 0}};
    struct code code = {.size = 0};
    (void)state;
    put_imports();
    put(&code, 0x35ff, 6); /* 0x2000: what all others share */
    fill(&code, 0x10);
    put(&code, 0x25ff, 2);
    put(&code, 0x3000 - 0x2016, 4);
    fill(&code, 0x20);
    put(&code, 0xfa1e0ff3, 4); /* endbr64; bnd jmp */
    put(&code, 0x25fff2, 3);
    put(&code, 0x3010 - 0x202b, 4);
    fill(&code, 0x30);
    put(&code, 0xfa1e0ff3, 4); /* endbr64; push 1 */
    put(&code, 0x168, 5);
    fill(&code, 0x40);
    put(&code, 0x68, 5); /* push 0 */
    fill(&code, 0x50);
    put(&code, 0x268, 5); /* push of what is not there */
    fill(&code, 0x60);
    put(&code, 0x35ff, 6); /* not the first one */
    fill(&code, 0x70);
    put(&code, 0x25ff, 2);
    put(&code, 0x3018 - 0x2076, 4);
    fill(&code, 0x80);
    put(&code, 0x25ff, 2);
    put(&code, 0x3020 - 0x2086, 4);
    fill(&code, 0x90);
    put(&code, 0x25ff, 2);
    put(&code, 0x3028 - 0x2096, 4);
    fill(&code, 0xa0);
    put(&code, 0x25ff, 2);
    put(&code, 0x3030 - 0x20a6, 4);
    fill(&code, 0xb0);
    put(&code, 0xa3ff, 2); /* as i386 has it */
    put(&code, 0, 4);
    fill(&code, 0xc0);
    put(&code, 0x25ff, 2); /* cut off behind the jump */
    put(&code, 0x3008 - 0x20c6, 4);
    const struct elf_kit_section more[] = {
        {".rela.dyn", SHT_RELA, SHF_ALLOC, 0x400, sizeof(Elf64_Rela), 2, others, sizeof(others), ELF_T_RELA},
        {".rela.plt", SHT_RELA, SHF_ALLOC, 0x500, sizeof(Elf64_Rela), 2, plt, sizeof(plt), ELF_T_RELA},
        {".rela.text", SHT_RELA, 0, 0, sizeof(Elf64_Rela), 2, text, sizeof(text), ELF_T_RELA},
        {".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000, 16, .bytes = code.at, .size = code.size},
        {".plt.sec", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2200, 8, .bytes = code.at + 0x10, .size = 5},
        {".plt.got", SHT_PROGBITS, SHF_ALLOC, 0x2300, 16, .bytes = code.at + 0x30, .size = 16},
    };
    read_stubs(NULL, more, sizeof(more) / sizeof(more[0]));
    stub_is(0x2000, 16, ".plt");
    stub_is(0x2010, 16, "one");
    stub_is(0x2020, 16, "three");
    stub_is(0x2030, 16, "two");
    stub_is(0x2040, 16, "one");
    stub_is(0x2050, 0, "-");
    stub_is(0x2060, 0, "-");
    stub_is(0x2070, 16, "chosen");
    stub_is(0x2080, 0, "-");
    stub_is(0x2090, 0, "-");
    stub_is(0x20a0, 0, "-");
    stub_is(0x20b0, 0, "-");
    stub_is(0x20c0, 6, "two");
    stub_is(0x2200, 0, "-"); /* too short for a jump */
    stub_is(0x2300, 0, "-"); /* no code */
    release_names();
}

/* Entries have 8, 16 or 32 bytes; anything else that the file says is taken for 16. */
static void test_sizes_of_stubs(void **state)
{
    static const uint64_t sizes[][2] = {{8, 8}, {16, 16}, {32, 32}, {0, 16}, {1, 16}, {24, 16}, {1u << 31, 16}};
    const Elf64_Rela plt[] = {{0x3000, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0},
                              {0x3008, ELF64_R_INFO(2, R_X86_64_JUMP_SLOT), 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned step = (unsigned)sizes[i][1];
        struct code code = {.size = 0};
        put_imports();
        put(&code, 0x68, 5);
        fill(&code, step);
        put(&code, 0x168, 5);
        fill(&code, 2 * step);
        const struct elf_kit_section more[] = {
            {".rela.plt", SHT_RELA, SHF_ALLOC, 0x500, sizeof(Elf64_Rela), 2, plt, sizeof(plt), ELF_T_RELA},
            {".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000, sizes[i][0], .bytes = code.at,
             .size = code.size}};
        read_stubs(NULL, more, 2);
        stub_is(0x2000, step, "one");
        stub_is(0x2000 + step, step, "two");
        stub_is(0x2000 + 2 * step, 0, "-");
        release_names();
    }
}

static void test_i386(void **state)
{
    static const Elf32_Rel plt[] = {{0x3000, ELF32_R_INFO(1, R_386_JMP_SLOT)},
                                    {0x3004, ELF32_R_INFO(2, R_386_JMP_SLOT)}};
    static const struct elf_kit_file file = {ELFCLASS32, ELFDATA2LSB, EM_386, NULL, 0};
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct code code = {.size = 0};
        put_imports();
        put(&code, 0x25ff, 2);
        put(&code, 0x3000, 4);
        fill(&code, 0x10);
        put(&code, 0xfb1e0ff3, 4); /* endbr32; jmp *0x14(%ebx) */
        put(&code, 0xa3ff, 2);
        put(&code, 0x14, 4);
        fill(&code, 0x20);
        put(&code, 0x68, 5);
        fill(&code, 0x30);
        const struct elf_kit_section more[] = {
            {".rel.plt", SHT_REL, SHF_ALLOC, 0x500, sizeof(Elf32_Rel), 2, plt, sizeof(plt), ELF_T_REL},
            {".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000, 16, .bytes = code.at, .size = code.size},
            /* %ebx holds the address of .got.plt, of .got where there is none. */
            {kind == 2 ? ".data" : ".got", SHT_PROGBITS, SHF_ALLOC, kind ? 0x2ff0 : 0x2fe0, .size = 4},
            {kind ? ".data" : ".got.plt", SHT_PROGBITS, SHF_ALLOC, 0x2ff0, .size = 4}};
        read_stubs(&file, more, 4);
        stub_is(0x2000, 16, "one");
        stub_is(0x2010, kind == 2 ? 0 : 16, kind == 2 ? "-" : "two");
        stub_is(0x2020, 0, "-"); /* the index of a push means something else here */
        release_names();
    }
}

static uint32_t adrp(int64_t pages)
{
    return 0x90000010 | (uint32_t)(pages & 3) << 29 | (uint32_t)(pages >> 2 & 0x7ffff) << 5;
}

static uint32_t load(unsigned offset)
{
    return 0xf9400211 | offset / 8 << 10;
}

static void test_aarch64(void **state)
{
    enum { BTI = 0xd503245f, ADD = 0x91000210, BRANCH = 0xd61f0220 };
    const Elf64_Rela plt[] = {{0x3000, ELF64_R_INFO(1, R_AARCH64_JUMP_SLOT), 0},
                              {0x405678, ELF64_R_INFO(2, R_AARCH64_JUMP_SLOT), 0},
                              {0x3010, ELF64_R_INFO(0, R_AARCH64_IRELATIVE), 0x1010}};
    static const struct elf_kit_file file = {ELFCLASS64, ELFDATA2LSB, EM_AARCH64, NULL, 0};
    struct code code = {.size = 0};
    (void)state;
    put_imports();
    for (int i = 0; i < 8; i++)
        put(&code, 0xd503201f, 4);
    put(&code, adrp(-2), 4); /* 0x5020 */
    put(&code, load(0), 4);
    put(&code, ADD, 4);
    put(&code, BRANCH, 4);
    put(&code, BTI, 4); /* 0x5030 */
    put(&code, adrp(0x400), 4);
    put(&code, load(0x678), 4);
    put(&code, ADD, 4);
    put(&code, BRANCH, 4);
    put(&code, adrp(-2), 4); /* 0x5044 */
    put(&code, load(0x10), 4);
    put(&code, BRANCH, 4);
    put(&code, load(0), 4); /* 0x5050: of no page */
    put(&code, BRANCH, 4);
    put(&code, adrp(-2), 4);
    put(&code, BRANCH, 4);
    const struct elf_kit_section more[] = {
        {".rela.plt", SHT_RELA, SHF_ALLOC, 0x500, sizeof(Elf64_Rela), 2, plt, sizeof(plt), ELF_T_RELA},
        {".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x5000, 16, .bytes = code.at, .size = code.size},
        {".plt.2", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x5800, 16, .bytes = code.at + 0x20, .size = 16}};
    read_stubs(&file, more, 3);
    stub_is(0x5000, 0, "-");
    stub_is(0x5020, 16, "one");
    stub_is(0x5030, 20, "two");
    stub_is(0x5044, 12, "chosen");
    stub_is(0x5050, 0, "-");
    stub_is(0x5058, 0, "-");
    stub_is(0x5800, 16, "one");
    release_names();
}

/* Where the code says nothing, stubs stand in the order of their relocations, at the end of .plt. */
static void test_in_order(void **state)
{
    static const struct {
        unsigned step, size;
        const char *name;
        uint64_t first; /* where the first stub is; 0: none */
    } cases[] = {
        {16, 64, ".plt", 0x2020}, {16, 32, ".plt", 0x2000},  {16, 31, ".plt", 0},
        {4, 32, ".plt", 0x2018},  {64, 128, ".plt", 0x2000}, {3, 32, ".plt", 0},
        {65, 256, ".plt", 0},     {16, 64, ".plt.got", 0},   {0, 64, ".plt", 0},
    };
    const Elf64_Rela plt[] = {{0x3000, ELF64_R_INFO(1, R_RISCV_JUMP_SLOT), 0},
                              {0x3008, ELF64_R_INFO(2, R_RISCV_JUMP_SLOT), 0}};
    static const struct elf_kit_file file = {ELFCLASS64, ELFDATA2LSB, EM_RISCV, NULL, 0};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put_imports();
        const struct elf_kit_section more[] = {
            {".rela.plt", SHT_RELA, SHF_ALLOC, 0x500, sizeof(Elf64_Rela), 2, plt, sizeof(plt), ELF_T_RELA},
            {cases[i].name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000, cases[i].step, .size = cases[i].size}};
        read_stubs(&file, more, 2);
        if (cases[i].first) {
            stub_is(cases[i].first, cases[i].step, "one");
            stub_is(cases[i].first + cases[i].step, cases[i].step, "two");
        }
        if (cases[i].first != 0x2000)
            stub_is(0x2000, 0, "-");
        release_names();
    }
}

/* Thousands of sections that all mean the same bytes cost no more than 16 do. */
static void test_many_sections(void **state)
{
    struct elf_kit_section more[34] = {{NULL}};
    Elf64_Rela relocations[17];
    struct code codes[17] = {{.size = 0}};
    (void)state;
    put_imports();
    for (size_t i = 0; i < 17; i++) {
        relocations[i] = (Elf64_Rela){0x3000 + 8 * i, ELF64_R_INFO(1, R_X86_64_GLOB_DAT), 0};
        more[i] = (struct elf_kit_section){".rela.dyn",     SHT_RELA,           SHF_ALLOC, 0x400, sizeof(Elf64_Rela), 2,
                                           &relocations[i], sizeof(Elf64_Rela), ELF_T_RELA};
        /* All but the last two through the slot of their own; these through the 16th and the first one. */
        size_t slot = i < 15 ? i : i == 15 ? 15 : 0;
        put(&codes[i], 0x25ff, 2);
        put(&codes[i], 0x3000 + 8 * slot - (0x2000 + 0x20 * i + 6), 4);
        more[17 + i] = (struct elf_kit_section){
            ".plt", SHT_PROGBITS,         SHF_ALLOC | SHF_EXECINSTR, 0x2000 + 0x20 * i,
            16,     .bytes = codes[i].at, .size = codes[i].size};
    }
    read_stubs(NULL, more, 34);
    for (size_t i = 0; i < 16; i++)
        stub_is(0x2000 + 0x20 * i, 6, "one");
    stub_is(0x2200, 0, "-");
    release_names();
    /* The slot of the 17th. */
    codes[0].size = 0;
    put(&codes[0], 0x25ff, 2);
    put(&codes[0], 0x3080 - 0x2006, 4);
    read_stubs(NULL, more, 34);
    stub_is(0x2000, 0, "-");
    stub_is(0x2020, 6, "one");
    release_names();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x86_64),  cmocka_unit_test(test_sizes_of_stubs), cmocka_unit_test(test_i386),
        cmocka_unit_test(test_aarch64), cmocka_unit_test(test_in_order),       cmocka_unit_test(test_many_sections),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
