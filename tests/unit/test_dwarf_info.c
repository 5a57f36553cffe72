/* SPDX-License-Identifier: MIT */
/* Which unit an address belongs to, and the rows of line tables, of debug information that is written by hand. */
#include "check.h"

#include <dwarf.h>
#include <errno.h>

#include "analyze/sym/dwarf_info.h"
#include "elf_kit.h"

struct bytes {
    unsigned char at[65536];
    size_t size;
};

static void put(struct bytes *bytes, uint64_t number, unsigned size)
{
    assert_true(bytes->size + size <= sizeof(bytes->at));
    for (unsigned i = 0; i < size; i++)
        bytes->at[bytes->size++] = (unsigned char)(number >> 8 * i);
}

static void put_text(struct bytes *bytes, const char *text)
{
    for (const char *at = text; *at; at++)
        put(bytes, (unsigned char)*at, 1);
    put(bytes, 0, 1);
}

enum { UNIT = 1, BARE, FUNCTION, OTHER, ADDRESSED, REFERS, CHILDLESS };

static const unsigned char abbreviations[] = {UNIT,
                                              DW_TAG_compile_unit,
                                              1,
                                              DW_AT_low_pc,
                                              DW_FORM_addr,
                                              DW_AT_high_pc,
                                              DW_FORM_data4,
                                              DW_AT_stmt_list,
                                              DW_FORM_sec_offset,
                                              0,
                                              0,
                                              BARE,
                                              DW_TAG_compile_unit,
                                              1,
                                              DW_AT_stmt_list,
                                              DW_FORM_sec_offset,
                                              0,
                                              0,
                                              FUNCTION,
                                              DW_TAG_subprogram,
                                              0,
                                              DW_AT_name,
                                              DW_FORM_string,
                                              DW_AT_low_pc,
                                              DW_FORM_addr,
                                              DW_AT_high_pc,
                                              DW_FORM_data4,
                                              0,
                                              0,
                                              OTHER,
                                              DW_TAG_partial_unit,
                                              1,
                                              DW_AT_low_pc,
                                              DW_FORM_addr,
                                              DW_AT_high_pc,
                                              DW_FORM_data4,
                                              DW_AT_stmt_list,
                                              DW_FORM_sec_offset,
                                              0,
                                              0,
                                              ADDRESSED,
                                              DW_TAG_compile_unit,
                                              1,
                                              DW_AT_low_pc,
                                              DW_FORM_addr,
                                              DW_AT_stmt_list,
                                              DW_FORM_sec_offset,
                                              0,
                                              0,
                                              REFERS,
                                              DW_TAG_subprogram,
                                              0,
                                              DW_AT_specification,
                                              DW_FORM_ref_addr,
                                              DW_AT_low_pc,
                                              DW_FORM_addr,
                                              DW_AT_high_pc,
                                              DW_FORM_data4,
                                              0,
                                              0,
                                              CHILDLESS,
                                              DW_TAG_compile_unit,
                                              0,
                                              DW_AT_low_pc,
                                              DW_FORM_addr,
                                              DW_AT_high_pc,
                                              DW_FORM_data4,
                                              0,
                                              0,
                                              0};

static struct bytes info, lines;
static char path[] = "/tmp/pinject-dwarf-info-XXXXXX";

static int set_up(void **state)
{
    int fd = mkstemp(path);
    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static void begin(void)
{
    info.size = lines.size = 0;
}

/* A unit of the kind CODE from LOW on with one function of the same bounds, and the line table at LINES_AT. */
static void put_unit(int code, const char *name, uint64_t low, uint32_t size, uint32_t lines_at)
{
    size_t start = info.size;
    put(&info, 0, 4);
    put(&info, 4, 2);
    put(&info, 0, 4);
    put(&info, 8, 1);
    put(&info, (uint64_t)code, 1);
    if (code != BARE)
        put(&info, low, 8);
    if (code == UNIT || code == OTHER)
        put(&info, size, 4);
    put(&info, lines_at, 4);
    put(&info, FUNCTION, 1);
    put_text(&info, name);
    put(&info, low, 8);
    put(&info, size, 4);
    put(&info, 0, 1);
    size_t end = info.size;
    info.size = start;
    put(&info, end - start - 4, 4);
    info.size = end;
}

/* A unit with one function whose name stands at OF, an offset in all of the DIEs. */
static void put_referring(uint64_t low, uint32_t size, uint32_t of, uint32_t lines_at)
{
    size_t start = info.size;
    put_unit(UNIT, "", low, size, lines_at);
    info.size -= 1 + 4 + 8 + 1 + 1;
    put(&info, REFERS, 1);
    put(&info, of, 4);
    put(&info, low, 8);
    put(&info, size, 4);
    put(&info, 0, 1);
    size_t end = info.size;
    info.size = start;
    put(&info, end - start - 4, 4);
    info.size = end;
}

/* A line table with a row of LINE at each of LOW, LOW + 0x10, ... below LOW + SIZE; where it is. */
static uint32_t put_lines(const char *file, uint64_t low, uint32_t size, unsigned line)
{
    static const unsigned char lengths[12] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    size_t start = lines.size;
    put(&lines, 0, 4);
    put(&lines, 4, 2);
    put(&lines, 6 + sizeof(lengths) + 1 + strlen(file) + 1 + 3 + 1, 4);
    put(&lines, 0x010101, 3);
    put(&lines, (unsigned char)-5, 1);
    put(&lines, 14, 1);
    put(&lines, 13, 1);
    for (size_t i = 0; i < sizeof(lengths); i++)
        put(&lines, lengths[i], 1);
    put(&lines, 0, 1); /* no directories */
    put_text(&lines, file);
    put(&lines, 0, 3);
    put(&lines, 0, 1);
    put(&lines, 0x020900, 3); /* DW_LNE_set_address */
    put(&lines, low, 8);
    put(&lines, DW_LNS_advance_line, 1);
    put(&lines, line - 1, 1);
    for (uint32_t at = 0; at < size; at += 0x10) {
        put(&lines, DW_LNS_copy, 1);
        put(&lines, DW_LNS_advance_pc, 1);
        put(&lines, 0x10, 1);
    }
    put(&lines, 0x010100, 3); /* DW_LNE_end_sequence */
    size_t end = lines.size;
    lines.size = start;
    put(&lines, end - start - 4, 4);
    lines.size = end;
    return (uint32_t)start;
}

static GElf_Phdr loads[] = {{.p_type = PT_LOAD, .p_flags = PF_X | PF_R, .p_vaddr = 0x1000, .p_memsz = 0x8000},
                            {.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x10000, .p_memsz = 0x1000}};
/* Code is where the segments say, since no sections do. */
static const struct elf_file text = {.fd = -1, .loads = loads, .load_count = 2};
static const struct debug_roots roots = {NULL, 0, ""};
static const struct dwarf_places places = {path, path, &roots};

static struct dwarf *read_all(struct name_pool *pool)
{
    const struct elf_kit_section sections[] = {
        {".debug_info", SHT_PROGBITS, .bytes = info.at, .size = info.size},
        {".debug_abbrev", SHT_PROGBITS, .bytes = abbreviations, .size = sizeof(abbreviations)},
        {".debug_line", SHT_PROGBITS, .bytes = lines.at, .size = lines.size}};
    struct elf_file debug;
    struct dwarf *dwarf;
    elf_kit_write(path, NULL, sections, 3);
    assert_int_equal(elf_file_init(&debug, path), 0);
    assert_int_equal(dwarf_new(&debug, &text, &places, pool, &dwarf), 0);
    return dwarf;
}

/* At ADDRESS lies the function NAME; "-": none. */
static void expect_at(struct dwarf *dwarf, uint64_t address, const char *name)
{
    static struct dwarf_frame frames[DWARF_FRAMES_MAX];
    size_t count = dwarf_find(dwarf, address, frames);
    if (strcmp(count && frames[0].name ? frames[0].name : "-", name) != 0)
        fail_msg("0x%x: '%s', not '%s'", (unsigned)address, count && frames[0].name ? frames[0].name : "-", name);
}

static void test_units(void **state)
{
    struct name_pool pool = {NULL};
    (void)state;
    begin();
    uint32_t none = put_lines("none.c", 0x1000, 0, 1);
    put_unit(UNIT, "short", 0x2000, 0x10, none);
    put_unit(UNIT, "long", 0x2000, 0x100, none); /* the shorter one of the two counts where both are */
    put_unit(UNIT, "first", 0x1000, 0x10, none);
    put_unit(OTHER, "partial", 0x3000, 0x10, none); /* no unit of its own */
    put_unit(UNIT, "longer", 0x4000, 0x200, none);
    put_unit(UNIT, "inside", 0x4010, 0x20, none);
    put_unit(UNIT, "empty", 0x5000, 0, none);
    put_unit(UNIT, "before code", 0xfff, 0x10, none);
    put_unit(UNIT, "last code", 0x8fff, 0x10, none);
    put_unit(UNIT, "behind code", 0x9000, 0x10, none);
    put_unit(UNIT, "data", 0x10000, 0x10, none);
    struct dwarf *dwarf = read_all(&pool);
    expect_at(dwarf, 0xfff, "-");
    expect_at(dwarf, 0x1000, "first");
    expect_at(dwarf, 0x100f, "first");
    expect_at(dwarf, 0x1010, "-");
    expect_at(dwarf, 0x2000, "short");
    expect_at(dwarf, 0x200f, "short");
    expect_at(dwarf, 0x2010, "long");
    expect_at(dwarf, 0x20ff, "long");
    expect_at(dwarf, 0x2100, "-");
    expect_at(dwarf, 0x3000, "-");
    expect_at(dwarf, 0x400f, "longer");
    expect_at(dwarf, 0x4010, "inside");
    expect_at(dwarf, 0x4030, "longer");
    expect_at(dwarf, 0x5000, "-");
    expect_at(dwarf, 0x8fff, "last code");
    expect_at(dwarf, 0x9000, "last code");
    expect_at(dwarf, 0x900f, "-");
    expect_at(dwarf, 0x10000, "-");
    expect_at(dwarf, UINT64_MAX, "-");
    assert_int_equal(dwarf_missing(dwarf), 0);
    dwarf_free(dwarf);
    dwarf_free(NULL);
    name_pool_release(&pool);
}

/* A unit may have lines alone, or nothing: that is no damage. */
static void test_unit_without_children(void **state)
{
    static struct dwarf_frame frames[DWARF_FRAMES_MAX];
    struct name_pool pool = {NULL};
    (void)state;
    begin();
    put_lines("none.c", 0x1000, 0, 1);
    put(&info, 7 + 1 + 8 + 4, 4);
    put(&info, 4, 2);
    put(&info, 0, 4);
    put(&info, 8, 1);
    put(&info, CHILDLESS, 1);
    put(&info, 0x1000, 8);
    put(&info, 0x10, 4);
    unsigned fds = check_open_fds();
    struct dwarf *dwarf = read_all(&pool);
    assert_int_equal(check_open_fds(), fds);
    assert_int_equal(dwarf_find(dwarf, 0x1000, frames), 0);
    assert_int_equal(dwarf_missing(dwarf), 0);
    dwarf_free(dwarf);
    name_pool_release(&pool);
}

/* Where a function was declared in another unit, before or behind its own. */
static void test_names_of_other_units(void **state)
{
    struct name_pool pool = {NULL};
    (void)state;
    begin();
    uint32_t none = put_lines("none.c", 0x1000, 0, 1);
    enum { HEAD = 4 + 7, FIRST = HEAD + 1 + 8 + 4 + 4 }; /* the first function of a unit */
    put_unit(UNIT, "named", 0x1000, 0x10, none);
    put_referring(0x2000, 0x10, FIRST, none);
    size_t second = info.size;
    put_referring(0x3000, 0x10, (uint32_t)second, none); /* to a unit's head */
    put_referring(0x4000, 0x10, 1u << 30, none);
    size_t last = info.size;
    put_referring(0x5000, 0x10, 0, none);
    size_t behind = info.size;
    info.size = last;
    put_referring(0x5000, 0x10, (uint32_t)behind + FIRST, none);
    assert_int_equal(info.size, behind);
    put_unit(UNIT, "behind", 0x6000, 0x10, none);
    struct dwarf *dwarf = read_all(&pool);
    expect_at(dwarf, 0x1000, "named");
    expect_at(dwarf, 0x2000, "named");
    expect_at(dwarf, 0x3000, "-");
    expect_at(dwarf, 0x4000, "-");
    expect_at(dwarf, 0x5000, "behind");
    expect_at(dwarf, 0x6000, "behind");
    dwarf_free(dwarf);
    name_pool_release(&pool);
}

/* Of units that begin behind the one that holds an address only so many are passed over. */
static void test_many_units(void **state)
{
    (void)state;
    for (unsigned between = 62; between < 66; between++) {
        struct name_pool pool = {NULL};
        begin();
        uint32_t none = put_lines("none.c", 0x1000, 0, 1);
        put_unit(UNIT, "around", 0x1000, 0x4000, none);
        for (unsigned i = 0; i < between; i++)
            put_unit(UNIT, "inside", 0x2000 + 0x10 * i, 8, none);
        struct dwarf *dwarf = read_all(&pool);
        expect_at(dwarf, 0x1fff, "around");
        expect_at(dwarf, 0x2008, "around");
        expect_at(dwarf, 0x2000 + 0x10 * (between - 1), "inside");
        expect_at(dwarf, 0x4000, between < 64 ? "around" : "-");
        dwarf_free(dwarf);
        name_pool_release(&pool);
    }
}

/* What the unit DIE of a unit says of its tables, in whatever order. */
static void test_bases(void **state)
{
    static const uint16_t names[] = {DW_AT_str_offsets_base, DW_AT_addr_base, DW_AT_rnglists_base,
                                     DW_AT_GNU_ranges_base,  DW_AT_stmt_list, DW_AT_GNU_dwo_id};
    enum { COUNT = sizeof(names) / sizeof(names[0]) };
    (void)state;
    for (unsigned first = 0; first < COUNT; first++) {
        for (unsigned step = 1; step < COUNT; step += COUNT - 2) { /* forwards, backwards */
            struct bytes table = {.size = 0};
            begin();
            put(&info, 7 + 1 + 4 * COUNT, 4);
            put(&info, 4, 2);
            put(&info, 0, 4);
            put(&info, 8, 1);
            put(&info, 1, 1);
            put(&table, 1 | DW_TAG_compile_unit << 8, 3);
            for (unsigned i = 0; i < COUNT; i++) {
                unsigned which = (first + i * step) % COUNT;
                put(&table, (names[which] & 0x7f) | 0x80, 1);
                put(&table, names[which] >> 7 & 0x7f, 1);
                if (names[which] >> 14) { /* a number of three bytes */
                    table.at[table.size - 1] |= 0x80;
                    put(&table, names[which] >> 14, 1);
                }
                put(&table, DW_FORM_data4, 1);
                put(&info, 100 + which, 4);
            }
            put(&table, 0, 3);
            struct dwarf_file *file = calloc(1, sizeof(*file));
            assert_non_null(file);
            file->sections.part[DWARF_INFO] = (struct dwarf_slice){info.at, info.size};
            file->sections.part[DWARF_ABBREV] = (struct dwarf_slice){table.at, table.size};
            file->work = 100;
            assert_int_equal(dwarf_units_init(file), 0);
            const struct dwarf_unit *unit = &file->units[0];
            assert_int_equal(unit->tag, DW_TAG_compile_unit);
            assert_true(unit->str_offsets_base == 100 && unit->has_str_offsets_base);
            assert_true(unit->addr_base == 101);
            assert_true(unit->rnglists_base == 102 && unit->has_rnglists_base);
            assert_true(unit->gnu_ranges_base == 103);
            assert_true(unit->lines_offset == 104 && unit->has_lines);
            assert_true(unit->dwo_id == 105);
            dwarf_file_free(file);
        }
    }
}

/* ---- rows */

static char rows[1000];

static void add_row(void *context, uint64_t address, const char *directory, const char *file, uint32_t line)
{
    (void)context;
    (void)directory;
    sprintf(rows + strlen(rows), "%s%x %s:%u", *rows ? ", " : "", (unsigned)address, file ? file : "-",
            file ? line : 0);
}

static void rows_are(struct dwarf *dwarf, uint64_t start, uint64_t end, const char *expected)
{
    rows[0] = '\0';
    dwarf_rows(dwarf, start, end, add_row, NULL);
    assert_string_equal(rows, expected);
}

static void put_three(void)
{
    begin();
    uint32_t a = put_lines("a.c", 0x1000, 0x20, 11), b = put_lines("b.c", 0x2000, 0x20, 22),
             c = put_lines("c.s", 0x3000, 0x20, 33);
    put_unit(UNIT, "a", 0x1000, 0x20, a);
    put_unit(UNIT, "b", 0x2000, 0x20, b);
    put_unit(BARE, "c", 0x3000, 0x20, c); /* of an assembler: it has lines alone */
}

static void test_rows(void **state)
{
    struct name_pool pool = {NULL};
    (void)state;
    put_three();
    struct dwarf *dwarf = read_all(&pool);
    rows_are(dwarf, 0x1000, 0x1020, "1000 a.c:11, 1010 a.c:11");
    rows_are(dwarf, 0x1000, 0x1021, "1000 a.c:11, 1010 a.c:11, 1020 -:0");
    rows_are(dwarf, 0x1001, 0x1010, "");
    rows_are(dwarf, 0x1010, 0x1011, "1010 a.c:11");
    rows_are(dwarf, 0x1020, 0x2000, "");
    rows_are(dwarf, 0x101f, 0x2001, "1020 -:0, 2000 b.c:22");
    rows_are(dwarf, 0x2020, 0x3001, "3000 c.s:33");
    rows_are(dwarf, 0x3020, UINT64_MAX, "");
    rows_are(dwarf, 0, 0x1000, "");
    rows_are(dwarf, 0, UINT64_MAX,
             "1000 a.c:11, 1010 a.c:11, 1020 -:0, 2000 b.c:22, 2010 b.c:22, 2020 -:0, 3000 c.s:33, 3010 c.s:33, "
             "3020 -:0");
    dwarf_free(dwarf);
    name_pool_release(&pool);
}

/* A unit of an assembler is found by its lines; one that says where it is has no other code. */
static void test_units_without_ranges(void **state)
{
    static struct dwarf_frame frames[DWARF_FRAMES_MAX];
    struct name_pool pool = {NULL};
    (void)state;
    put_three();
    uint32_t d = put_lines("d.c", 0x4000, 0x20, 44);
    put_unit(ADDRESSED, "d", 0x4000, 0x20, d);
    struct dwarf *dwarf = read_all(&pool);
    expect_at(dwarf, 0x2fff, "-");
    expect_at(dwarf, 0x3000, "c");
    expect_at(dwarf, 0x301f, "c");
    expect_at(dwarf, 0x3020, "-");
    expect_at(dwarf, 0x4000, "-");
    assert_int_equal(dwarf_find(dwarf, 0x3010, frames), 1);
    assert_string_equal(frames[0].path, "c.s");
    assert_int_equal(frames[0].line, 33);
    dwarf_free(dwarf);
    name_pool_release(&pool);
}

/* A line table that is damaged is told of; the functions are known all the same. */
static void test_damaged_lines(void **state)
{
    static struct dwarf_frame frames[DWARF_FRAMES_MAX];
    struct name_pool pool = {NULL};
    (void)state;
    put_three();
    put_unit(UNIT, "damaged", 0x5000, 0x20, (uint32_t)lines.size + 5);
    struct dwarf *dwarf = read_all(&pool);
    expect_at(dwarf, 0x1000, "a");
    assert_int_equal(dwarf_missing(dwarf), 0);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(dwarf_find(dwarf, 0x5000, frames), 1);
        assert_string_equal(frames[0].name, "damaged");
        assert_true(!frames[0].path && !frames[0].line && !frames[0].column);
        assert_int_equal(dwarf_missing(dwarf), DWARF_MISSING_PART);
    }
    rows_are(dwarf, 0x5000, 0x6000, "");
    dwarf_free(dwarf);
    name_pool_release(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_names_of_other_units),
        cmocka_unit_test(test_many_units),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_bases),
        cmocka_unit_test(test_damaged_lines),
        cmocka_unit_test(test_units_without_ranges),
        cmocka_unit_test(test_unit_without_children),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
