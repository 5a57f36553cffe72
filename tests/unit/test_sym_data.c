/* SPDX-License-Identifier: MIT */
/* Which address of a mapped file is which variable of it. */
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

#include "analyze/sym/symbols.h"
#include "elf_names_kit.h"

/* Code at 0x1000 of the file and at 0x11000 in memory; data at 0x2100 and 0x13100, with zeros behind it. */
static const GElf_Phdr programs[] = {
    {.p_type = PT_LOAD, .p_flags = PF_R, .p_offset = 0, .p_vaddr = 0x10000, .p_filesz = 0x900, .p_memsz = 0x900},
    {.p_type = PT_LOAD,
     .p_flags = PF_R | PF_X,
     .p_offset = 0x1000,
     .p_vaddr = 0x11000,
     .p_filesz = 0x800,
     .p_memsz = 0x800},
    {.p_type = PT_LOAD,
     .p_flags = PF_R | PF_W,
     .p_offset = 0x2100,
     .p_vaddr = 0x13100,
     .p_filesz = 0x100,
     .p_memsz = 0x500},
    {.p_type = PT_LOAD,
     .p_flags = PF_R | PF_W,
     .p_offset = UINT64_MAX - 9,
     .p_vaddr = UINT64_MAX - 9,
     .p_filesz = 9,
     .p_memsz = 9},
};

static void write_file(void)
{
    static const struct elf_kit_file file = {.programs = programs, .program_count = 4};
    static const struct elf_kit_section more[] = {
        {".data", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0x13100, .size = 0x100},
        {".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0x13200, .size = 0x400},
    };
    begin_symbols();
    put_symbol("_ZN1a4dataE", STB_GLOBAL, STT_OBJECT, 4, 0x13110, 0x10);
    put_symbol("zeros", STB_GLOBAL, STT_OBJECT, 5, 0x13300, 0x20);
    write_symbols(&file, more, 2);
}

static void test_addresses(void **state)
{
    struct symbols *all;
    struct symbol symbol;
    uint64_t found = 1;
    (void)state;
    write_file();
    assert_int_equal(symbols_new(NULL, &all), 0);
    struct symbols_dso *dso = symbols_dso(all, path, NULL, 0);
    assert_non_null(dso);
    /* The whole segment, and a part of it, as after mprotect(). */
    const struct symbols_mapping mapping = {0x7f0000011000, 0x1000, 0x1000},
                                 part = {0x7f0000011000 + 0x400, 0x100, 0x1400};
    assert_true(symbols_virtual(dso, &mapping, 0x7f0000011234, &found));
    assert_int_equal(found, 0x11234);
    assert_true(symbols_virtual(dso, &part, 0x7f0000013118, &found));
    assert_int_equal(found, 0x13118);
    assert_true(symbols_variable(dso, found, &symbol));
    assert_string_equal(symbol.name, "a::data");
    assert_string_equal(symbol.raw_name, "_ZN1a4dataE");
    assert_true(symbol.start == 0x13110 && symbol.size == 0x10 && symbol.address == 0x13118 && symbol.from_dynsym);
    assert_true(symbols_virtual(dso, &mapping, 0x7f000001331f, &found));
    assert_true(symbols_variable(dso, found, &symbol));
    assert_string_equal(symbol.name, "zeros");
    assert_false(symbols_variable(dso, 0x13320, &symbol));
    assert_false(symbols_variable(dso, 0x13120, &symbol));
    assert_false(symbols_variable(dso, 0, &symbol));
    /* Between the segments, behind them, before them. */
    static const uint64_t outside[] = {0x7f0000011800, 0x7f00000130ff, 0x7f0000013600, 0x7f000000ffff, 0, UINT64_MAX};
    found = 5;
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
        assert_false(symbols_virtual(dso, &mapping, outside[i], &found));
    /* Mappings that are not of its code. */
    const struct symbols_mapping wrong[] = {
        {0x1000, 0x1000, 0x1800}, {0x1000, 0x1000, 0}, {0x1000, 0, 0x900}, {0, UINT64_MAX, UINT64_MAX - 5}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(symbols_virtual(dso, &wrong[i], 0x1100, &found));
    assert_int_equal(found, 5);
    symbols_free(all);
}

/* Data ends at 0x13200 of the file, so memory for zeros begins at the next page. */
static void test_zeroed(void **state)
{
    struct symbols *all;
    uint64_t found;
    (void)state;
    write_file();
    assert_int_equal(symbols_new(NULL, &all), 0);
    struct symbols_dso *dso = symbols_dso(all, path, NULL, 0);
    const struct symbols_mapping mapping = {0x11000, 0x1000, 0x1000};
    assert_true(symbols_virtual(dso, &mapping, 0x13300, &found));
    assert_true(symbols_is_zeroed(dso, found, 0x14000));
    static const uint64_t others[] = {0, 0x13000, 0x13100, 0x13200, 0x13300, 0x15000, 0x20000, UINT64_MAX};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(symbols_is_zeroed(dso, found, others[i]));
    /* A segment without zeros, no segment. */
    assert_false(symbols_is_zeroed(dso, 0x10000, 0x11000));
    assert_false(symbols_is_zeroed(dso, 0x12000, 0x12000));
    symbols_free(all);
}

/* No file, a kernel, memory: nothing has an address or a variable. */
static void test_without_a_file(void **state)
{
    static const char *const paths[] = {"/no/such/file", "[heap]", "//anon", "/dev/null"};
    const struct symbols_mapping mapping = {0, UINT64_MAX, 0};
    struct symbols *all;
    struct symbol symbol;
    uint64_t found;
    (void)state;
    assert_int_equal(symbols_new(NULL, &all), 0);
    for (size_t i = 0; i < 6; i++) {
        struct symbols_dso *dso = i < 4    ? symbols_dso(all, paths[i], NULL, 0)
                                  : i == 4 ? symbols_jit(all, 1)
                                           : symbols_kernel(all, &(struct symbols_kernel){.osrelease = "none"});
        assert_false(symbols_virtual(dso, &mapping, 0x1000, &found));
        assert_false(symbols_variable(dso, 0x1000, &symbol));
    }
    symbols_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_zeroed),
        cmocka_unit_test(test_without_a_file),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
