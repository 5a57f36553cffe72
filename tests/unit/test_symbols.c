/* SPDX-License-Identifier: MIT */
/* The parts of the symbol resolver that need no ELF file. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "analyze/sym/demangle_name.h"
#include "analyze/sym/elf_file.h"
#include "analyze/sym/name_table.h"
#include "analyze/sym/symbols.h"
#include "analyze/sym/text_names.h"

struct tables {
    struct name_pool pool;
    struct name_table table;
};

static void tables_init(struct tables *tables)
{
    memset(tables, 0, sizeof(*tables));
    name_table_init(&tables->table, &tables->pool, false);
}

static void tables_release(struct tables *tables)
{
    name_table_release(&tables->table);
    name_pool_release(&tables->pool);
}

static void add(struct tables *tables, const char *name, uint64_t start, uint64_t size, uint32_t flags)
{
    struct name_entry entry = {.start = start, .end = start + size, .limit = 0x10000, .raw = name, .flags = flags};

    name_table_add(&tables->table, &entry);
}

static const char *name_at(struct tables *tables, uint64_t address)
{
    struct name_entry *entry = name_table_find(&tables->table, address);

    return entry ? name_table_name(&tables->table, entry) : "-";
}

static void test_aliases(void **state)
{
    struct tables tables;

    (void)state;
    tables_init(&tables);
    add(&tables, "no_size", 0x100, 0, NAME_GLOBAL);
    add(&tables, "sized", 0x100, 16, 0);
    add(&tables, "weak_and_long", 0x200, 16, NAME_WEAK);
    add(&tables, "strong", 0x200, 16, 0);
    add(&tables, "local_and_long", 0x300, 16, 0);
    add(&tables, "global", 0x300, 16, NAME_GLOBAL);
    add(&tables, "__long_underscores", 0x400, 16, NAME_GLOBAL);
    add(&tables, "_fewer", 0x400, 16, NAME_GLOBAL);
    add(&tables, "free", 0x500, 16, NAME_GLOBAL);
    add(&tables, "cfree@GLIBC", 0x500, 16, NAME_GLOBAL);
    add(&tables, "first", 0x600, 16, NAME_GLOBAL);
    add(&tables, "other", 0x600, 16, NAME_GLOBAL);
    name_table_finish(&tables.table, NAME_BEST_ALIAS);
    assert_int_equal(tables.table.finished, 6);
    assert_string_equal(name_at(&tables, 0x100), "sized");
    assert_string_equal(name_at(&tables, 0x20f), "strong");
    assert_string_equal(name_at(&tables, 0x300), "global");
    assert_string_equal(name_at(&tables, 0x400), "_fewer");
    assert_string_equal(name_at(&tables, 0x500), "cfree@GLIBC");
    assert_string_equal(name_at(&tables, 0x600), "first");
    tables_release(&tables);
}

static void test_ends(void **state)
{
    struct tables tables;

    (void)state;
    tables_init(&tables);
    assert_string_equal(name_at(&tables, 0), "-");
    add(&tables, "last", 0xf000, 0, NAME_GLOBAL);
    add(&tables, "beyond", 0xe000, 0x1000000, NAME_GLOBAL);
    add(&tables, "label", 0x1010, 0, NAME_LABEL);
    add(&tables, "function", 0x1000, 0x20, NAME_GLOBAL);
    add(&tables, "free_label", 0x1020, 0, NAME_LABEL);
    add(&tables, "next", 0x1100, 1, NAME_GLOBAL);
    add(&tables, "wraps", 0x2000, UINT64_MAX - 0x1000, 0);
    name_table_finish(&tables.table, NAME_BEST_ALIAS);
    name_table_finish(&tables.table, NAME_BEST_ALIAS);
    assert_string_equal(name_at(&tables, 0xfff), "-");
    assert_string_equal(name_at(&tables, 0x1015), "function");
    assert_string_equal(name_at(&tables, 0x1020), "free_label");
    assert_string_equal(name_at(&tables, 0x10ff), "free_label");
    assert_string_equal(name_at(&tables, 0x1100), "next");
    assert_string_equal(name_at(&tables, 0x1101), "-");
    assert_string_equal(name_at(&tables, 0x2000), "-");
    assert_string_equal(name_at(&tables, 0xefff), "beyond");
    assert_string_equal(name_at(&tables, 0xffff), "last");
    assert_string_equal(name_at(&tables, 0x10000), "-");
    assert_string_equal(name_at(&tables, UINT64_MAX), "-");
    tables_release(&tables);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* The symbol that starts last among those that cover an address, by looking at all of them. */
static void test_nested_like_brute_force(void **state)
{
    uint64_t seed = 88172645463325252u, starts[64], sizes[64];

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct tables tables;
        char names[64][24];
        size_t count = 1 + next_random(&seed) % 64;

        tables_init(&tables);
        for (size_t i = 0; i < count; i++) {
            starts[i] = i * 16 + next_random(&seed) % 16;
            sizes[i] = 1 + next_random(&seed) % (next_random(&seed) % 4 ? 16 : 512);
            snprintf(names[i], sizeof(names[i]), "n%zu", i);
        }
        for (size_t i = 0; i < count; i++) {
            size_t scattered = (i * 37) % count;

            if (count % 37 == 0)
                scattered = i;
            add(&tables, names[scattered], starts[scattered], sizes[scattered], NAME_GLOBAL);
        }
        name_table_finish(&tables.table, NAME_BEST_ALIAS);
        for (uint64_t address = 0; address < 64 * 16 + 600; address++) {
            const char *expected = "-";

            for (size_t i = 0; i < count; i++)
                if (address >= starts[i] && address - starts[i] < sizes[i])
                    expected = names[i];
            assert_string_equal(name_at(&tables, address), expected);
        }
        tables_release(&tables);
    }
}

/* As perf report (Debian 12) prints them. */
static void test_demangle(void **state)
{
    static const char *const pairs[][2] = {
        {"main", "main"},
        {"_ZN2ns3BoxIdE3getEi", "ns::Box<double>::get"},
        {"_ZNK2ns2OpclEii", "ns::Op::operator()"},
        {"_ZN2ns5applyIiZ4mainEUliE_EET_T0_S2_", "ns::apply<int, main::{lambda(int)#1}>"},
        {"_ZN2ns3locEl.isra.0", "ns::loc"},
        {"_ZSt9terminatev@@GLIBCXX_3.4", "std::terminate"},
        {"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
        {"_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
         "<alloc::string::String as core::fmt::Debug>::fmt"},
        {"_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"},
        {"_Z", "_Z"},
        {"_ZN", "_ZN"},
        {"_Rubbish", "_Rubbish"},
        {"_GLOBAL__sub_I_main", "_GLOBAL__sub_I_main"},
        {"memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14"},
    };
    struct name_pool pool = {NULL};

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        assert_string_equal(demangle_name(&pool, pairs[i][0]), pairs[i][1]);
    name_pool_release(&pool);
}

/* f<a<int, int>, b<that, that>, c<that, that>, ...>: 2^40 bytes if nobody stops it. */
static void test_demangle_bomb(void **state)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    struct name_pool pool = {NULL};
    char bomb[1024] = "_Z1fI1aIiiE";
    size_t size = strlen(bomb);

    (void)state;
    for (int level = 1; level < 40; level++) {
        int last = 2 * level - 1; /* the number of the substitution that stands for the argument before */
        char reference[8];

        if (last < 36)
            snprintf(reference, sizeof(reference), "S%c_", digits[last]);
        else
            snprintf(reference, sizeof(reference), "S%c%c_", digits[last / 36], digits[last % 36]);
        size += (size_t)snprintf(bomb + size, sizeof(bomb) - size, "2t%cI%s%sE", digits[level % 10], reference,
                                 reference);
        if (level == 3) { /* so far it is a name that works */
            char tame[sizeof(bomb) + 8];

            snprintf(tame, sizeof(tame), "%sEvT_", bomb);
            assert_non_null(strstr(demangle_name(&pool, tame), "t1<a<int, int>, a<int, int> >"));
        }
    }
    snprintf(bomb + size, sizeof(bomb) - size, "EvT_");
    assert_string_equal(demangle_name(&pool, bomb), bomb);
    name_pool_release(&pool);
}

static void test_build_ids(void **state)
{
    unsigned char file[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    unsigned char padded[20] = {0}, other[20] = {1, 2, 4};

    (void)state;
    memcpy(padded, file, 16);
    assert_true(elf_file_same_build_id(file, 16, file, 16));
    assert_true(elf_file_same_build_id(padded, 20, file, 16));
    assert_false(elf_file_same_build_id(other, 20, file, 16));
    assert_true(elf_file_same_build_id(file, 20, file, 32));
    assert_false(elf_file_same_build_id(file, 16, file, 32));
    padded[19] = 1;
    assert_false(elf_file_same_build_id(padded, 20, file, 16));
    assert_false(elf_file_same_build_id(file, 20, file, 0));
}

/* A text file of CONTENT[SIZE], opened and gone again. */
static void text_of(struct text_names *names, const char *content, size_t size)
{
    char path[] = "/tmp/pinject-symbols-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, size), (ssize_t)size);
    close(fd);
    assert_int_equal(text_names_init(names, path, 0, NULL), 0);
    unlink(path);
}

static void test_kallsyms(void **state)
{
    static const char content[] = "0000000000000000 A fixed_percpu_data\n"
                                  "ffffffff81000000 T _stext\n"
                                  "ffffffff81000000 T _text\n"
                                  "ffffffff81000100 t helper\n"
                                  "rubbish\n"
                                  "ffffffff81000200\n"
                                  "ffffffff81000200 \n"
                                  "ffffffff81000200 T\n"
                                  "ffffffff81000200 T \n"
                                  "fffffffffffffffff81000200 T too_long\n"
                                  "ffffffff81000300 r rodata\n"
                                  "ffffffff81000400 T last_of_core\n"
                                  "ffffffffc0000000 t in_module\t[ext4]\n"
                                  "ffffffffc0000040 T also\t[ext4]\n"
                                  "ffffffffc0010000 t bpf_prog_1\t[bpf]";
    struct kallsyms_facts facts;
    struct text_names names;
    struct tables tables;

    (void)state;
    tables_init(&tables);
    text_of(&names, content, sizeof(content) - 1);
    text_names_add_kallsyms(&names, &tables.table, "_stext", &facts);
    assert_false(facts.hidden);
    assert_true(facts.reference == 0xffffffff81000000);
    assert_string_equal(name_at(&tables, 0xffffffff810000ff), "_text");
    assert_string_equal(name_at(&tables, 0xffffffff81000100), "helper");
    assert_string_equal(name_at(&tables, 0xffffffff810003ff), "helper");
    assert_string_equal(name_at(&tables, 0xffffffff81000400), "last_of_core");
    assert_string_equal(name_at(&tables, 0xffffffff81100000), "-");
    assert_string_equal(name_at(&tables, 0xffffffffc000003f), "in_module");
    assert_string_equal(name_table_find(&tables.table, 0xffffffffc0000040)->module, "ext4");
    assert_string_equal(name_table_find(&tables.table, 0xffffffffc0010010)->module, "bpf");
    text_names_release(&names);
    tables_release(&tables);
}

static void test_kallsyms_hidden(void **state)
{
    static const char content[] = "0000000000000000 T _stext\n0000000000000000 t helper\n";
    struct kallsyms_facts facts;
    struct text_names names;
    struct tables tables;

    (void)state;
    tables_init(&tables);
    text_of(&names, content, sizeof(content) - 1);
    text_names_add_kallsyms(&names, &tables.table, NULL, &facts);
    assert_true(facts.hidden);
    assert_int_equal(tables.table.finished, 0);
    text_names_release(&names);
    tables_release(&tables);
}

static void test_jit_lines(void **state)
{
    static const char content[] = "1000 10 old name\n"
                                  "0x1000 20 new name with spaces\n"
                                  "\n1 2\nx y z\n2000 0 empty\n2000 ffffffffffffffff wraps\n"
                                  "3000 8 zero\0hidden\n"
                                  "4000 8 unended";
    struct text_names names;
    struct tables tables;

    (void)state;
    tables_init(&tables);
    text_of(&names, content, sizeof(content) - 1);
    text_names_add_jit(&names, &tables.table);
    assert_int_equal(tables.table.finished, 3);
    assert_string_equal(name_at(&tables, 0x101f), "new name with spaces");
    assert_string_equal(name_at(&tables, 0x1020), "-");
    assert_string_equal(name_at(&tables, 0x3000), "zero");
    assert_string_equal(name_at(&tables, 0x4007), "unended");
    text_names_release(&names);
    tables_release(&tables);
}

/* The real place, by this process's own pid. */
static void test_jit_map(void **state)
{
    struct symbols *symbols;
    struct symbols_dso *dso;
    struct symbol symbol;
    char path[64];
    FILE *map;

    (void)state;
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
    unlink(path);
    map = fopen(path, "wx");
    if (!map)
        skip();
    fputs("7f0000001000 80 LazyCompile:~foo script.js:1\n", map);
    assert_int_equal(fclose(map), 0);
    assert_int_equal(symbols_new(NULL, &symbols), 0);
    dso = symbols_jit(symbols, (uint32_t)getpid());
    assert_true(symbols_find(dso, 0x7f0000001010, &symbol));
    assert_string_equal(symbol.name, "LazyCompile:~foo script.js:1");
    assert_true(symbol.start == 0x7f0000001000 && symbol.size == 0x80 && symbol.address == 0x7f0000001010);
    assert_null(symbols_why(dso));
    symbols_free(symbols);

    /* A link could lead to a file that says anything. */
    unlink(path);
    assert_int_equal(symlink("/proc/self/maps", path), 0);
    assert_int_equal(symbols_new(NULL, &symbols), 0);
    dso = symbols_jit(symbols, (uint32_t)getpid());
    assert_false(symbols_find(dso, 0x7f0000001010, &symbol));
    assert_non_null(symbols_why(dso));
    symbols_free(symbols);
    unlink(path);
}

static void test_other_kernel(void **state)
{
    static const unsigned char build_id[20] = {0xde, 0xad};
    const struct symbols_options no_kernel = {.no_kernel = true};
    struct symbols_kernel kernel = {.osrelease = "0.0.1-never"};
    struct symbols *symbols;
    struct symbols_dso *dso;
    struct utsname name;

    (void)state;
    assert_int_equal(symbols_new(NULL, &symbols), 0);
    dso = symbols_kernel(symbols, &kernel);
    assert_int_equal(symbols_missing(dso), SYMBOLS_OTHER_KERNEL);
    assert_int_equal(symbols_count(dso), 0);
    assert_ptr_equal(dso, symbols_kernel(symbols, &kernel));
    assert_int_equal(uname(&name), 0);
    kernel.osrelease = name.release;
    assert_ptr_not_equal(dso, symbols_kernel(symbols, &kernel));
    dso = symbols_kernel(symbols, NULL);
    assert_true((symbols_missing(dso) & SYMBOLS_RESTRICTED) || symbols_count(dso) > 1000);
    if (symbols_count(dso) && access("/sys/kernel/notes", R_OK) == 0) {
        kernel.build_id = build_id;
        kernel.build_id_size = sizeof(build_id);
        assert_int_equal(symbols_missing(symbols_kernel(symbols, &kernel)), SYMBOLS_OTHER_KERNEL);
        kernel.build_id_size = 0;
        kernel.reference_name = "_stext";
        kernel.reference_address = 0xffffffff00001000;
        assert_int_equal(symbols_missing(symbols_kernel(symbols, &kernel)), SYMBOLS_OTHER_KERNEL);
    }
    symbols_free(symbols);
    assert_int_equal(symbols_new(&no_kernel, &symbols), 0);
    assert_int_equal(symbols_count(symbols_kernel(symbols, NULL)), 0);
    assert_non_null(symbols_why(symbols_kernel(symbols, NULL)));
    symbols_free(symbols);
}

static uint64_t kallsyms_address(const char *wanted)
{
    FILE *file = fopen("/proc/kallsyms", "r");
    unsigned long long address, found = 0;
    char line[1024], name[512];

    while (!found && file && fgets(line, sizeof(line), file))
        if (sscanf(line, "%llx %*c %511s", &address, name) == 2 && !strcmp(name, wanted))
            found = address;
    if (file)
        fclose(file);
    return found;
}

/* After a reboot the same kernel lies elsewhere: recorded addresses are moved back when the build-id proves that it is
 * it. */
static void test_moved_kernel(void **state)
{
    struct {
        uint32_t name_size, size, type;
        char name[4];
        unsigned char id[20];
    } note;
    struct symbols_kernel description = {.reference_name = "_stext", .build_id = note.id, .build_id_size = 20};
    struct symbols *symbols;
    struct symbols_dso *kernel, *moved;
    struct symbol then, now;
    FILE *file = fopen("/sys/kernel/notes", "r");
    size_t got = file ? fread(&note, 1, sizeof(note), file) : 0;
    uint64_t address = 0;

    (void)state;
    if (file)
        fclose(file);
    assert_int_equal(symbols_new(NULL, &symbols), 0);
    kernel = symbols_kernel(symbols, NULL);
    if (got != sizeof(note) || note.type != 3 || note.size != 20 || memcmp(note.name, "GNU", 4) ||
        symbols_missing(kernel) || !(address = kallsyms_address("_stext")) ||
        !symbols_find(kernel, address + 0x100000, &now)) {
        symbols_free(symbols);
        skip();
    }
    description.reference_address = address + 0x3000000;
    moved = symbols_kernel(symbols, &description);
    assert_int_equal(symbols_missing(moved), 0);
    assert_true(symbols_find(moved, address + 0x3100000, &then));
    assert_string_equal(then.name, now.name);
    assert_true(then.start == now.start + 0x3000000 && then.address == now.address + 0x3000000);
    assert_true(then.size == now.size);
    symbols_free(symbols);
}

/* Every name that /proc/kallsyms shows for an address, by reading it in another way. */
static void test_kernel_like_kallsyms(void **state)
{
    FILE *file = fopen("/proc/kallsyms", "r");
    unsigned long long address, last = 0;
    struct symbols *symbols;
    struct symbols_dso *kernel;
    char line[1024], type;
    size_t found = 0, count = 0;

    (void)state;
    assert_int_equal(symbols_new(NULL, &symbols), 0);
    kernel = symbols_kernel(symbols, NULL);
    if (!file || symbols_missing(kernel)) {
        if (file)
            fclose(file);
        symbols_free(symbols);
        skip();
    }
    while (fgets(line, sizeof(line), file)) {
        struct symbol symbol;

        /* Modules and BPF programs come and go between two readings. */
        if (sscanf(line, "%llx %c", &address, &type) == 2 && !strchr(line, '[') && strchr("tTW", type) && address &&
            address != last && count++ % 50 == 0) {
            assert_true(symbols_find(kernel, address, &symbol));
            assert_true(symbol.start == address && symbol.address == address);
            found++;
        }
        last = address;
    }
    fclose(file);
    assert_true(found > 20);
    symbols_free(symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_demangle),
        cmocka_unit_test(test_demangle_bomb),
        cmocka_unit_test(test_build_ids),
        cmocka_unit_test(test_nested_like_brute_force),
        cmocka_unit_test(test_kallsyms),
        cmocka_unit_test(test_kallsyms_hidden),
        cmocka_unit_test(test_jit_lines),
        cmocka_unit_test(test_jit_map),
        cmocka_unit_test(test_other_kernel),
        cmocka_unit_test(test_moved_kernel),
        cmocka_unit_test(test_kernel_like_kallsyms),
    };

    return cmocka_run_group_tests_name("symbols", tests, NULL, NULL);
}
