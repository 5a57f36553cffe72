/* SPDX-License-Identifier: MIT */
/* Which of several names a function has, and lists of names in files that are hard to read. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "analyze/sym/name_table.h"
#include "analyze/sym/text_names.h"

/* ---- files whose reading the test leads */

static struct {
    int errors[4]; /* of the next calls; 0: it reads */
    size_t most;   /* bytes at once; 0: all */
    unsigned calls;
} reading;

ssize_t __real_read(int fd, void *ret, size_t size);
ssize_t __wrap_read(int fd, void *ret, size_t size);

ssize_t __wrap_read(int fd, void *ret, size_t size)
{
    int error = reading.calls < 4 ? reading.errors[reading.calls] : 0;
    reading.calls++;
    if (error) {
        errno = error;
        return -1;
    }
    return __real_read(fd, ret, reading.most && reading.most < size ? reading.most : size);
}

static char path[] = "/tmp/pinject-name-table-XXXXXX";

static int set_up(void **state)
{
    int fd = mkstemp(path);
    (void)state;
    memset(&reading, 0, sizeof(reading));
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_text(const char *text, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* A signal in between, or a file that comes piece by piece, changes nothing. */
static void test_interrupted(void **state)
{
    static const char text[] = "1000 10 one\n2000 10 two\n";
    struct text_names names;
    uint32_t owner = 77777;
    (void)state;
    write_text(text, sizeof(text) - 1);
    for (size_t most = 0; most < 30; most++) {
        memset(&reading, 0, sizeof(reading));
        reading.errors[0] = reading.errors[2] = EINTR;
        reading.most = most;
        assert_int_equal(text_names_init(&names, path, 0, most ? &owner : NULL), 0);
        assert_int_equal(names.size, sizeof(text) - 1);
        assert_string_equal(names.text, text);
        assert_int_equal(owner, most ? geteuid() : 77777);
        assert_true(reading.calls >= 4);
        text_names_release(&names);
        assert_true(!names.text && !names.size);
    }
}

static void test_unreadable(void **state)
{
    struct text_names names;
    uint32_t owner = 77777;
    (void)state;
    write_text("abc", 3);
    for (int failing = 0; failing < 2; failing++) {
        memset(&reading, 0, sizeof(reading));
        reading.errors[failing] = EIO;
        assert_int_equal(text_names_init(&names, path, 0, &owner), -EIO);
        assert_true(!names.text && !names.size);
        assert_int_equal(owner, 77777);
    }
    memset(&reading, 0, sizeof(reading));
    assert_int_equal(text_names_init(&names, "/does/not/exist", 0, &owner), -ENOENT);
    assert_null(names.text);
    assert_int_equal(text_names_init(&names, "/dev/null", 0, &owner), -EINVAL);
    assert_int_equal(reading.calls, 0);
}

/* Larger than what was thought: it grew meanwhile, or says 0 as files of /proc do. */
static void test_sizes(void **state)
{
    static const size_t sizes[] = {0, 1, 65534, 65535, 65536, 131070, 131071, 300000};
    static char text[300000];
    struct text_names names;
    (void)state;
    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memset(&reading, 0, sizeof(reading));
        write_text(text, sizes[i]);
        assert_int_equal(text_names_init(&names, path, 0, NULL), 0);
        assert_int_equal(names.size, sizes[i]);
        assert_int_equal(strlen(names.text), sizes[i]);
        text_names_release(&names);
    }
    memset(&reading, 0, sizeof(reading));
    reading.most = 7;
    assert_int_equal(text_names_init(&names, "/proc/self/maps", 0, NULL), 0);
    assert_true(names.size > 500 && names.text[names.size] == '\0' && names.text[names.size - 1] == '\n');
    text_names_release(&names);
}

/* ---- names */

struct tables {
    struct name_pool pool;
    struct name_table table;
};

static void tables_init(struct tables *tables, bool no_demangle)
{
    memset(tables, 0, sizeof(*tables));
    name_table_init(&tables->table, &tables->pool, no_demangle);
}

static void tables_release(struct tables *tables)
{
    name_table_release(&tables->table);
    assert_true(!tables->table.entries && !tables->table.count && tables->table.pool == &tables->pool);
    name_pool_release(&tables->pool);
}

static void add(struct tables *tables, const char *name, uint64_t start, uint64_t size, uint32_t flags)
{
    struct name_entry entry = {.start = start, .end = start + size, .limit = UINT64_MAX, .raw = name, .flags = flags};
    name_table_add(&tables->table, &entry);
}

/* The name at ADDRESS and where it ends; "-": none. */
static void expect_at(struct tables *tables, uint64_t address, const char *name, uint64_t end)
{
    struct name_entry *entry = name_table_find(&tables->table, address);
    assert_string_equal(entry ? name_table_name(&tables->table, entry) : "-", name);
    assert_true(!entry || entry->end == end);
}

/* As perf has it: what no rule tells apart keeps the first one. */
static void test_best_alias(void **state)
{
    static const struct {
        const char *first, *second;
        uint32_t first_flags, second_flags;
        bool second_wins;
    } cases[] = {
        {"same", "same", 0, 0, false},
        {"SyS_read", "SyS_read", 0, 0, false}, /* the same one twice */
        {"SyS_read", "sys_read", 0, 0, true},
        {"sys_read", "SyS_read", 0, 0, false},
        {"compat_SyS_read", "compat_sys_read", 0, 0, true},
        {"compat_sys_read", "compat_SyS_read", 0, 0, false},
        {"SyS_read_it", "sys_read", 0, 0, false}, /* the longer one comes first */
        {"compat_Sy_read", "compat_xx_read", 0, 0, false},
        {"Sys_read", "sys_read", 0, 0, false},
        {"short", "longer", 0, 0, true},
        {"longer", "short", 0, 0, false},
        {"__longer", "_short", 0, 0, true},
        {"_short", "__longer", 0, 0, false},
        {"_", "__", 0, 0, false},
        {"local", "shown", 0, NAME_GLOBAL, true},
        {"shown", "local_name", NAME_GLOBAL, 0, false},
        {"weak_name", "strong", NAME_WEAK, 0, true},
        {"strong", "weak_name", 0, NAME_WEAK, false},
        {"weak_name", "other", NAME_WEAK | NAME_GLOBAL, 0, true}, /* weak counts before global */
        {"_ZN1aC1Ev", "abc", 0, 0, false},                        /* as they are shown: a::a */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tables tables;
        tables_init(&tables, false);
        /* Equal ones are told apart by where they end. */
        add(&tables, cases[i].first, 0x1000, 0x10, cases[i].first_flags);
        add(&tables, cases[i].second, 0x1000, 0x20, cases[i].second_flags);
        name_table_finish(&tables.table, NAME_BEST_ALIAS);
        assert_int_equal(tables.table.finished, 1);
        struct name_entry *entry = name_table_find(&tables.table, 0x1000);
        assert_non_null(entry);
        if ((entry->end == 0x1020) != cases[i].second_wins)
            fail_msg("of %s and %s it is %s", cases[i].first, cases[i].second, entry->raw);
        tables_release(&tables);
    }
}

static void test_flags_of_names(void **state)
{
    (void)state;
    for (int raw = 0; raw < 2; raw++) {
        struct tables tables;
        tables_init(&tables, raw);
        add(&tables, "_ZN2ns3fooEv", 0x1000, 0x10, 0);
        add(&tables, "_ZN2ns3barEv", 0x1010, 0x10, NAME_PLT);
        add(&tables, "puts", 0x1020, 0x10, NAME_PLT);
        name_table_finish(&tables.table, NAME_BEST_ALIAS);
        for (int again = 0; again < 2; again++) {
            expect_at(&tables, 0x1000, raw ? "_ZN2ns3fooEv" : "ns::foo", 0x1010);
            expect_at(&tables, 0x1010, raw ? "_ZN2ns3barEv@plt" : "ns::bar@plt", 0x1020);
            expect_at(&tables, 0x1020, "puts@plt", 0x1030);
        }
        struct name_entry *entry = name_table_find(&tables.table, 0x1020);
        assert_ptr_equal(name_table_name(&tables.table, entry), name_table_name(&tables.table, entry));
        tables_release(&tables);
        assert_int_equal(tables.table.no_demangle, raw);
    }
}

/* Generated code: later code is put where earlier code was. */
static void test_last_wins(void **state)
{
    struct tables tables;
    (void)state;
    tables_init(&tables, false);
    add(&tables, "gone", 0x1010, 0x10, 0);  /* wholly under "over" */
    add(&tables, "begin", 0x0ff0, 0x20, 0); /* its beginning is left */
    add(&tables, "over", 0x1000, 0x40, 0);
    add(&tables, "in it", 0x1008, 0x08, 0); /* later than "over" */
    add(&tables, "touches", 0x1040, 0x10, 0);
    add(&tables, "first", 0x1050, 0x10, 0);
    add(&tables, "second", 0x1050, 0x08, 0);
    name_table_finish(&tables.table, NAME_LAST_WINS);
    expect_at(&tables, 0x0fef, "-", 0);
    expect_at(&tables, 0x0ff0, "begin", 0x1010);
    expect_at(&tables, 0x0fff, "begin", 0x1010);
    expect_at(&tables, 0x1000, "over", 0x1040);
    expect_at(&tables, 0x1008, "in it", 0x1010);
    expect_at(&tables, 0x100f, "in it", 0x1010);
    expect_at(&tables, 0x1010, "over", 0x1040);
    expect_at(&tables, 0x101f, "over", 0x1040);
    expect_at(&tables, 0x103f, "over", 0x1040);
    expect_at(&tables, 0x1040, "touches", 0x1050);
    expect_at(&tables, 0x1050, "second", 0x1058);
    expect_at(&tables, 0x1058, "-", 0);
    assert_int_equal(tables.table.finished, 5);
    tables_release(&tables);
}

/* Any pieces in any order: what begins where a later piece lies is gone, and of equal starts the last one is there. */
static void test_overwritten_like_brute_force(void **state)
{
    uint64_t seed = 88172645463325252u;
    static const char name[] = "n";
    (void)state;
    for (int round = 0; round < 100; round++) {
        uint64_t starts[60], sizes[60];
        struct tables tables;
        size_t expected = 0;
        tables_init(&tables, true);
        for (int i = 0; i < 60; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            starts[i] = 0x1000 + seed % 400;
            sizes[i] = 1 + (seed >> 32) % 60;
            add(&tables, name, starts[i], sizes[i], 0);
        }
        name_table_finish(&tables.table, NAME_LAST_WINS);
        for (int i = 0; i < 60; i++) {
            bool gone = false;
            for (int j = i + 1; j < 60; j++)
                gone = gone || (starts[i] >= starts[j] && starts[i] - starts[j] < sizes[j]);
            expected += !gone;
            struct name_entry *entry = name_table_find(&tables.table, starts[i]);
            assert_true(gone || (entry && entry->start == starts[i] && entry->end == starts[i] + sizes[i]));
        }
        assert_int_equal(tables.table.finished, expected);
        tables_release(&tables);
    }
}

/* ---- what is in the lists */

static void names_of(struct tables *tables, struct text_names *names, const char *text, const char *reference,
                     struct kallsyms_facts *ret_facts)
{
    memset(&reading, 0, sizeof(reading));
    write_text(text, strlen(text));
    assert_int_equal(text_names_init(names, path, 0, NULL), 0);
    tables_init(tables, false);
    if (ret_facts)
        text_names_add_kallsyms(names, &tables->table, reference, ret_facts);
    else
        text_names_add_jit(names, &tables->table);
}

/* Where the names of the kernel and of its modules end. */
static void test_kernel_names(void **state)
{
    static const char text[] = "1000 T core\n"
                               "1010 t core_b\n"
                               "1010 T ref\t[mod]\n" /* of a module: not the kernel's */
                               "1800 T ref\n"
                               "3000 t one\t[mod]\n"
                               "3010 t two\t[mod]\n"
                               "4000 t three\t[other]\n"
                               "4000 d data\t[other\n"
                               "9000 W weak\n"
                               "9800 B last\n";
    struct kallsyms_facts facts;
    struct text_names names;
    struct tables tables;
    (void)state;
    names_of(&tables, &names, text, "ref", &facts);
    assert_false(facts.hidden);
    assert_true(facts.reference == 0x1800);
    expect_at(&tables, 0xfff, "-", 0);
    expect_at(&tables, 0x1000, "core", 0x1010);
    assert_string_equal(name_table_find(&tables.table, 0x1010)->module, "mod");
    expect_at(&tables, 0x1010, "ref", 0x1800);
    expect_at(&tables, 0x1800, "ref", 0x3000); /* the end of the page behind it */
    assert_null(name_table_find(&tables.table, 0x1800)->module);
    expect_at(&tables, 0x3000, "one", 0x3010);
    expect_at(&tables, 0x3010, "two", 0x4000);                   /* another module begins there */
    assert_null(name_table_find(&tables.table, 0x4000)->module); /* without an end of its name */
    expect_at(&tables, 0x4000, "data", 0x9000);
    expect_at(&tables, 0x9000, "weak", 0x9800);
    assert_int_equal(name_table_find(&tables.table, 0x9000)->flags, NAME_WEAK);
    assert_int_equal(name_table_find(&tables.table, 0x1000)->flags, NAME_GLOBAL);
    assert_int_equal(name_table_find(&tables.table, 0x3000)->flags, 0);
    expect_at(&tables, 0x9800, "last", 0xb000);
    expect_at(&tables, 0xafff, "last", 0xb000);
    expect_at(&tables, 0xb000, "-", 0);
    text_names_release(&names);
    tables_release(&tables);
    names_of(&tables, &names, "", "ref", &facts);
    assert_true(!facts.hidden && !facts.reference);
    text_names_release(&names);
    tables_release(&tables);
}

/* Numbers of 64 bits, with or without 0x, in either case; nothing else is a number. */
static void test_numbers(void **state)
{
    static const char text[] = "0X1aBc 0x10 upper\n"
                               "fffffffffffffff0 f top\n"
                               "fffffffffffffff0 10 wraps\n"
                               "10000000000000000 10 too long\n"
                               "00000000000002000 10 zeros\n"
                               " 3000 10 space\n"
                               "3000\t10 tab\n"
                               "3000  10 two spaces\n"
                               "3000 10\n"
                               "3000 10 \n"
                               "3000 g0 no number\n"
                               "3000 0 empty\n"
                               "4000 10  leading space\n";
    struct text_names names;
    struct tables tables;
    (void)state;
    names_of(&tables, &names, text, NULL, NULL);
    assert_int_equal(tables.table.finished, 4);
    expect_at(&tables, 0x1abc, "upper", 0x1acc);
    expect_at(&tables, 0x2000, "zeros", 0x2010);
    expect_at(&tables, 0x3000, "-", 0);
    expect_at(&tables, 0x4000, " leading space", 0x4010);
    expect_at(&tables, UINT64_MAX - 1, "top", UINT64_MAX);
    text_names_release(&names);
    tables_release(&tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_best_alias),
        cmocka_unit_test(test_flags_of_names),
        cmocka_unit_test(test_last_wins),
        cmocka_unit_test(test_overwritten_like_brute_force),
        cmocka_unit_test(test_kernel_names),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
