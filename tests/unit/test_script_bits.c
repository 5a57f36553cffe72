/* SPDX-License-Identifier: MIT */
/* analyze/script: names of bits, and the list of --fields. */
#include "check.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>

#include "analyze/script/script_bits.h"
#include "analyze/script/script_fields.h"

static void test_data_source(void **state)
{
    (void)state;
    static const struct {
        union perf_mem_data_src source;
        const char *text;
    } wanted[] = {
        {{.val = 0}, "|OP No|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK N/A"},
        /* What the kernel has for a software event. */
        {{.val = 0x1e05080021}, "|OP N/A|LVL N/A|SNP N/A|TLB N/A|LCK N/A|BLK N/A"},
        {{.mem_op = PERF_MEM_OP_LOAD,
          .mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_L1,
          .mem_snoop = PERF_MEM_SNOOP_NONE,
          .mem_dtlb = PERF_MEM_TLB_HIT | PERF_MEM_TLB_L1 | PERF_MEM_TLB_L2,
          .mem_lvl_num = PERF_MEM_LVLNUM_L1},
         "|OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK N/A"},
        {{.mem_op = PERF_MEM_OP_STORE,
          .mem_lvl = PERF_MEM_LVL_MISS | PERF_MEM_LVL_L3,
          .mem_snoop = PERF_MEM_SNOOP_HITM,
          .mem_lock = PERF_MEM_LOCK_LOCKED,
          .mem_dtlb = PERF_MEM_TLB_MISS | PERF_MEM_TLB_WK,
          .mem_remote = 1,
          .mem_lvl_num = PERF_MEM_LVLNUM_RAM},
         "|OP STORE|LVL Remote RAM miss|SNP HitM|TLB Walker miss|LCK Yes|BLK N/A"},
        {{.val = 0x153449800024}, "|OP STORE|LVL Remote node, same socket I/O|SNP HitM|TLB L2 hit|LCK N/A|BLK N/A"},
        {{.val = 0x269611200450},
         "|OP EXEC|LVL board Any cache hit|SNP Hit or Peer|TLB N/A miss|LCK N/A|BLK Data or Addr"},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        char text[BITS_TEXT];
        assert_string_equal(bits_data_source(text, wanted[i].source.val), wanted[i].text);
    }
}

static void test_parts_of_an_access(void **state)
{
    (void)state;
    static const char *const wanted[ACCESS_PARTS] = {"LOAD", "L1 hit", "None", "L1 or L2 hit", "Yes", "N/A"};
    const union perf_mem_data_src source = {
        .mem_op = PERF_MEM_OP_LOAD,
        .mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_L1,
        .mem_snoop = PERF_MEM_SNOOP_NONE,
        .mem_lock = PERF_MEM_LOCK_LOCKED,
        .mem_dtlb = PERF_MEM_TLB_HIT | PERF_MEM_TLB_L1 | PERF_MEM_TLB_L2,
    };
    char text[BITS_TEXT];
    for (int part = 0; part < ACCESS_PARTS; part++)
        assert_string_equal(bits_access(text, (enum bits_access)part, source.val), wanted[part]);
}

/* The number says more than the older bits, which stand in where there is none. */
static void test_levels(void **state)
{
    (void)state;
    static const char *const numbers[16] = {"L2", "L1",  "L2",  "L3",        "L4",      "L5",  "L6",   "L7",
                                            "L8", "CXL", "I/O", "Any cache", "LFB/MAB", "RAM", "PMEM", "L2"};
    char text[BITS_TEXT], wanted[40];
    for (unsigned number = 0; number < 16; number++) {
        union perf_mem_data_src source = {.mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_L2, .mem_lvl_num = number};
        snprintf(wanted, sizeof(wanted), "%s hit", numbers[number]);
        assert_string_equal(bits_access(text, ACCESS_LEVEL, source.val), wanted);
        source.mem_lvl = PERF_MEM_LVL_NA;
        assert_string_equal(bits_access(text, ACCESS_LEVEL, source.val), number % 15 ? numbers[number] : "N/A");
        source.mem_hops = 1;
        snprintf(wanted, sizeof(wanted), "core, same node%s%s", number % 15 ? " " : "",
                 number % 15 ? numbers[number] : "");
        assert_string_equal(bits_access(text, ACCESS_LEVEL, source.val), wanted);
    }
}

/* Every bit, and all of them: the text stays in its room. */
static void test_any_data_source(void **state)
{
    (void)state;
    char text[BITS_TEXT];
    for (unsigned bit = 0; bit < 64; bit++) {
        assert_true(strlen(bits_data_source(text, 1ull << bit)) < BITS_TEXT - 1);
        assert_non_null(strstr(text, "|BLK "));
    }
    bits_data_source(text, UINT64_MAX);
    assert_true(strlen(text) < BITS_TEXT);
}

static void test_page_size(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } wanted[] = {{0, "N/A"},      {1, "1B"},       {4096, "4K"},       {65536, "64K"},    {2 << 20, "2M"},
                  {1 << 30, "1G"}, {5000, "5000B"}, {1ull << 60, "1E"}, {1ull << 63, "8E"}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        char text[BITS_TEXT];
        assert_string_equal(bits_page_size(text, wanted[i].bytes), wanted[i].text);
    }
}

static void test_registers(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        unsigned bit;
        const char *text;
    } wanted[] = {
        {"x86_64", 0, "AX"},   {"x86_64", 7, "SP"},    {"x86_64", 8, "IP"},      {"x86_64", 23, "R15"},
        {"x86_64", 24, "r24"}, {"i686", 6, "BP"},      {"x86_64", 32, "XMM0_0"}, {"x86_64", 63, "XMM15_1"},
        {"aarch64", 0, "X0"},  {"arm64", 29, "X29"},   {"aarch64", 30, "LR"},    {"aarch64", 31, "SP"},
        {"aarch64", 32, "PC"}, {"aarch64", 46, "r46"}, {"riscv64", 2, "r2"},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        char text[BITS_TEXT];
        assert_string_equal(bits_register(text, wanted[i].machine, wanted[i].bit), wanted[i].text);
    }
}

static void test_branches(void **state)
{
    (void)state;
    assert_string_equal(bits_branch_type(0, 0), "-");
    assert_string_equal(bits_branch_type(1, 0), "COND");
    assert_string_equal(bits_branch_type(6, 9), "RET");
    assert_string_equal(bits_branch_type(15, 1), "FAULT_DATA");
    assert_string_equal(bits_branch_type(15, 15), "-");
    assert_string_equal(bits_branch_type(255, 255), "-");
}

static void test_fields(void **state)
{
    (void)state;
    uint64_t set = 1;
    assert_int_equal(script_fields_parse("comm", &set), 0);
    assert_int_equal(set, FIELD_BIT(FIELD_COMM));
    assert_int_equal(script_fields_parse("code_page_size,ip,sym,symoff,time,time", &set), 0);
    assert_int_equal(set, FIELD_BIT(FIELD_CODE_PAGE_SIZE) | FIELD_BIT(FIELD_IP) | FIELD_BIT(FIELD_SYM) |
                              FIELD_BIT(FIELD_SYMOFF) | FIELD_BIT(FIELD_TIME));
    static const char *const wrong[] = {"",    ",",   "comm,",   "comm,,ip",  "Comm",  "comm ip",
                                        "sym", "dso", "srcline", "ip,symoff", "hw:ip", "+ip"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(script_fields_parse(wrong[i], &set), -EINVAL);
    for (int i = 0; i < FIELD_COUNT; i++)
        assert_non_null(script_field_name((enum script_field)i));
    assert_int_equal(script_field_needs(FIELD_COMM), 0);
    assert_int_equal(script_field_needs(FIELD_INS_LAT), 1 << 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_source),     cmocka_unit_test(test_levels),
        cmocka_unit_test(test_any_data_source), cmocka_unit_test(test_parts_of_an_access),
        cmocka_unit_test(test_page_size),       cmocka_unit_test(test_registers),
        cmocka_unit_test(test_branches),        cmocka_unit_test(test_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
