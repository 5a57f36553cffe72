/* SPDX-License-Identifier: MIT */
/* Which symbols of an ELF file are names of functions. */
#include "check.h"

#include "elf_names_kit.h"

/* The table has the entry NUMBER: its name, from where to where, its flags beside NAME_DYNSYM. */
static void entry_is(size_t number, const char *name, uint64_t start, uint64_t end, uint32_t flags)
{
    const struct name_entry *entry = &names.table.entries[number];
    assert_true(number < names.table.count);
    assert_string_equal(entry->raw, name);
    assert_true(entry->start == start && entry->end == end && entry->limit == TEXT + TEXT_SIZE);
    assert_int_equal(entry->flags, flags | NAME_DYNSYM);
}

static void test_symbols(void **state)
{
    uint64_t value = 77;
    (void)state;
    begin_symbols();
    put_symbol("global", STB_GLOBAL, STT_FUNC, 1, 0x1000, 0x10);
    put_symbol("weak", STB_WEAK, STT_FUNC, 1, 0x1010, 0x10);
    put_symbol("local", STB_LOCAL, STT_FUNC, 1, 0x1021, 0x10);
    put_symbol("chosen", STB_GLOBAL, STT_GNU_IFUNC, 1, 0x1030, 0);
    put_symbol("label", STB_LOCAL, STT_NOTYPE, 1, 0x1040, 0);
    put_symbol("hidden", STB_GLOBAL, STT_NOTYPE, 1, 0x1040, 0)->st_other = STV_HIDDEN;
    put_symbol("internal", STB_GLOBAL, STT_NOTYPE, 1, 0x1040, 0)->st_other = STV_INTERNAL;
    put_symbol("protected", STB_GLOBAL, STT_NOTYPE, 1, 0x1050, 0)->st_other = STV_PROTECTED;
    put_symbol("object", STB_GLOBAL, STT_OBJECT, 1, 0x1060, 8);
    put_symbol("imported", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0x1060, 8);
    put_symbol("absolute", STB_GLOBAL, STT_FUNC, SHN_ABS, 0x1060, 8);
    put_symbol("common", STB_GLOBAL, STT_FUNC, SHN_COMMON, 0x1060, 8);
    put_symbol("", STB_GLOBAL, STT_FUNC, 1, 0x1060, 8);
    put_symbol("nameless", STB_GLOBAL, STT_FUNC, 1, 0x1060, 8)->st_name = 0;
    put_symbol("elsewhere", STB_GLOBAL, STT_FUNC, 1, 0x1100, 8);
    put_symbol("before", STB_GLOBAL, STT_FUNC, 1, 0xfff, 8);
    put_symbol("to the end", STB_GLOBAL, STT_FUNC, 1, 0x10f0, 0x10);
    put_symbol("beyond", STB_GLOBAL, STT_FUNC, 1, 0x10f8, 9);
    put_symbol("far beyond", STB_GLOBAL, STT_FUNC, 1, 0x10f9, UINT64_MAX);
    put_symbol("$x", STB_LOCAL, STT_NOTYPE, 1, 0x1070, 0);
    put_symbol("no text", STB_GLOBAL, STT_FUNC, 1, 0x1060, 8)->st_name = (Elf64_Word)strings_size + 8;
    size_t last = symbol_count;
    put_symbol("z", STB_GLOBAL, STT_FUNC, 1, 0x10ff, 1);
    symbols[last - 1].st_name = (Elf64_Word)strings_size; /* behind the last byte */
    symbols[last].st_name = (Elf64_Word)strings_size - 2; /* the last name of all */
    write_symbols(NULL, NULL, 0);
    read_names();
    entry_is(0, "global", 0x1000, 0x1010, NAME_GLOBAL);
    entry_is(1, "weak", 0x1010, 0x1020, NAME_WEAK);
    entry_is(2, "local", 0x1021, 0x1031, 0);
    entry_is(3, "chosen", 0x1030, 0x1030, NAME_IFUNC | NAME_GLOBAL);
    entry_is(4, "label", 0x1040, 0x1040, NAME_LABEL);
    entry_is(5, "protected", 0x1050, 0x1050, NAME_LABEL | NAME_GLOBAL);
    entry_is(6, "to the end", 0x10f0, 0x1100, NAME_GLOBAL);
    entry_is(7, "beyond", 0x10f8, 0x1100, NAME_GLOBAL);
    entry_is(8, "far beyond", 0x10f9, 0x1100, NAME_GLOBAL);
    entry_is(9, "$x", 0x1070, 0x1070, NAME_LABEL);
    entry_is(10, "z", 0x10ff, 0x1100, NAME_GLOBAL);
    assert_int_equal(names.table.count, 11);
    /* Of relocations. */
    const struct elf_file_section *section = elf_file_section_by_type(&names.elf, SHT_DYNSYM);
    assert_string_equal(elf_names_one(&names.elf, section, 1, &value), "global");
    assert_int_equal(value, 0x1000);
    assert_string_equal(elf_names_one(&names.elf, section, 10, &value), "imported");
    assert_string_equal(elf_names_one(&names.elf, section, last, &value), "z");
    assert_null(elf_names_one(&names.elf, section, last - 1, &value));
    assert_null(elf_names_one(&names.elf, section, last + 1, &value));
    assert_null(elf_names_one(&names.elf, section, (size_t)INT32_MAX + 1, &value));
    assert_null(elf_names_one(&names.elf, section, (UINT64_C(1) << 32) + 1, &value));
    release_names();
}

static void test_variables(void **state)
{
    static const struct elf_kit_section more[] = {
        {".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0x2000, .size = 0x100},
        {".comment", SHT_PROGBITS, 0, 0x3000, .size = 0x100},
    };
    (void)state;
    begin_symbols();
    put_symbol("global", STB_GLOBAL, STT_OBJECT, 4, 0x2000, 0x10);
    put_symbol("weak", STB_WEAK, STT_OBJECT, 4, 0x2010, 1);
    put_symbol("in text", STB_LOCAL, STT_OBJECT, 1, 0x1000, 8);
    put_symbol("function", STB_GLOBAL, STT_FUNC, 1, 0x1000, 8);
    put_symbol("label", STB_GLOBAL, STT_NOTYPE, 4, 0x2020, 8);
    put_symbol("of a thread", STB_GLOBAL, STT_TLS, 4, 0x2020, 8);
    put_symbol("without a size", STB_GLOBAL, STT_OBJECT, 4, 0x2020, 0);
    put_symbol("imported", STB_GLOBAL, STT_OBJECT, SHN_UNDEF, 0x2020, 8);
    put_symbol("absolute", STB_GLOBAL, STT_OBJECT, SHN_ABS, 0x2020, 8);
    put_symbol("not in memory", STB_GLOBAL, STT_OBJECT, 5, 0x3000, 8);
    put_symbol("no such section", STB_GLOBAL, STT_OBJECT, 99, 0x2020, 8);
    put_symbol("before", STB_GLOBAL, STT_OBJECT, 4, 0x1fff, 8);
    put_symbol("behind", STB_GLOBAL, STT_OBJECT, 4, 0x2100, 8);
    put_symbol("", STB_GLOBAL, STT_OBJECT, 4, 0x2020, 8);
    put_symbol("far beyond", STB_LOCAL, STT_OBJECT, 4, 0x20f0, UINT64_MAX);
    put_symbol("no text", STB_GLOBAL, STT_OBJECT, 4, 0x2020, 8)->st_name = (Elf64_Word)strings_size + 8;
    write_symbols(NULL, more, 2);
    read_names();
    names.table.count = 0;
    elf_names_add_variables(&names.table, &names.elf, elf_file_section_by_type(&names.elf, SHT_DYNSYM), NAME_DYNSYM);
    static const struct {
        const char *name;
        uint64_t start, end;
        uint32_t flags;
    } wanted[] = {{"global", 0x2000, 0x2010, NAME_GLOBAL},
                  {"weak", 0x2010, 0x2011, NAME_WEAK},
                  {"in text", 0x1000, 0x1008, 0},
                  {"far beyond", 0x20f0, 0x2100, 0}};
    assert_int_equal(names.table.count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct name_entry *entry = &names.table.entries[i];
        assert_string_equal(entry->raw, wanted[i].name);
        assert_true(entry->start == wanted[i].start && entry->end == wanted[i].end);
        assert_int_equal(entry->flags, wanted[i].flags | NAME_DYNSYM);
    }
    release_names();
}

/* Strings that are none: of another type, of no section, without an end. */
static void test_bad_strings(void **state)
{
    (void)state;
    for (int bad = 0; bad < 5; bad++) {
        begin_symbols();
        put_symbol("one", STB_GLOBAL, STT_FUNC, 1, 0x1000, 0x10);
        struct elf_kit_section sections[] = {
            {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, .size = TEXT_SIZE},
            {".dynsym", SHT_DYNSYM, SHF_ALLOC, 0x800, sizeof(Elf64_Sym), .link = 3, .bytes = symbols,
             .size = symbol_count * sizeof(Elf64_Sym), .as = ELF_T_SYM},
            {".dynstr", SHT_STRTAB, SHF_ALLOC, 0xc00, .bytes = strings, .size = strings_size},
        };
        if (bad == 1)
            sections[2].type = SHT_PROGBITS;
        if (bad == 2)
            sections[1].link = 9;
        if (bad == 3)
            sections[1].link = 0;
        if (bad == 4)
            sections[2].size--;
        elf_kit_write(path, NULL, sections, 3);
        read_names();
        assert_int_equal(names.table.count, bad ? 0 : 1);
        release_names();
    }
}

/* What tells a disassembler where code is names nothing; elsewhere such a name is one. */
static void test_mapping_symbols(void **state)
{
    static const struct {
        int machine;
        const char *name;
        bool kept;
    } cases[] = {
        {EM_AARCH64, "$x", false}, {EM_AARCH64, "$x.12", false}, {EM_AARCH64, "$", true}, {EM_AARCH64, "$xy", true},
        {EM_AARCH64, "x", true},   {EM_ARM, "$t", false},        {EM_ARM, "$t.1", false}, {EM_ARM, "$tt", true},
        {EM_RISCV, "$x", false},   {EM_RISCV, "$xrv64", false},  {EM_X86_64, "$x", true}, {EM_RISCV, "$", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool small = cases[i].machine == EM_ARM;
        struct elf_kit_file file = {.class = small ? ELFCLASS32 : ELFCLASS64, .machine = cases[i].machine};
        begin_symbols();
        put_symbol(cases[i].name, STB_LOCAL, STT_NOTYPE, 1, 0x1000, 0);
        write_symbols(&file, NULL, 0);
        read_names();
        if ((names.table.count == 1) != cases[i].kept)
            fail_msg("%s of machine %d", cases[i].name, cases[i].machine);
        release_names();
    }
}

/* An odd address says Thumb, for functions of ARM alone; either byte order. */
static void test_thumb(void **state)
{
    (void)state;
    for (int order = ELFDATA2LSB; order <= ELFDATA2MSB; order++) {
        struct elf_kit_file file = {ELFCLASS32, order, EM_ARM, NULL, 0};
        begin_symbols();
        put_symbol("thumb", STB_GLOBAL, STT_FUNC, 1, 0x1011, 0x10);
        put_symbol("label", STB_LOCAL, STT_NOTYPE, 1, 0x1021, 0);
        write_symbols(&file, NULL, 0);
        read_names();
        entry_is(0, "thumb", 0x1010, 0x1020, NAME_GLOBAL);
        entry_is(1, "label", 0x1021, 0x1021, NAME_LABEL);
        assert_int_equal(names.table.count, 2);
        release_names();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbols),         cmocka_unit_test(test_variables), cmocka_unit_test(test_bad_strings),
        cmocka_unit_test(test_mapping_symbols), cmocka_unit_test(test_thumb),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
