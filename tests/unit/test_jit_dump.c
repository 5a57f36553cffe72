/* SPDX-License-Identifier: MIT */
/* jitdump files: of both byte orders, growing, and hostile. */
#include "check.h"

#include <byteswap.h>
#include <fcntl.h>
#include <unistd.h>

#include "analyze/sym/jit_dump.h"
#include "analyze/sym/symbols.h"
#include "common/buffer.h"

static char path[] = "/tmp/pinject-jit-XXXXXX";

struct dump {
    bool swap;
    struct buffer bytes;
};

static void put32(struct dump *dump, uint32_t value)
{
    buffer_u32(&dump->bytes, dump->swap ? bswap_32(value) : value);
}

static void put64(struct dump *dump, uint64_t value)
{
    buffer_u64(&dump->bytes, dump->swap ? bswap_64(value) : value);
}

static void put_header(struct dump *dump, bool swap)
{
    *dump = (struct dump){.swap = swap, .bytes = BUFFER_INIT};
    const uint32_t words[] = {0x4a695444, 1, 40, 62, 0, 7};
    for (size_t i = 0; i < 6; i++)
        put32(dump, words[i]);
    put64(dump, 12345);
    put64(dump, 0);
}

static void put_load(struct dump *dump, uint64_t start, uint64_t size, const char *name, size_t code)
{
    put32(dump, 0);
    put32(dump, (uint32_t)(16 + 40 + strlen(name) + 1 + code));
    put64(dump, 1);
    put32(dump, 7);
    put32(dump, 7);
    const uint64_t words[] = {start, start, size, 1};
    for (size_t i = 0; i < 4; i++)
        put64(dump, words[i]);
    buffer_string(&dump->bytes, name);
    buffer_extend(&dump->bytes, code);
}

static void put_move(struct dump *dump, uint64_t from, uint64_t to, uint64_t size)
{
    put32(dump, 1);
    put32(dump, 16 + 48);
    put64(dump, 2);
    put64(dump, 0);
    put64(dump, to);
    const uint64_t words[] = {from, to, size, 1};
    for (size_t i = 0; i < 4; i++)
        put64(dump, words[i]);
}

struct names {
    struct name_pool pool;
    struct name_table table;
};

static enum jit_dump_result read_bytes(struct names *names, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
    *names = (struct names){0};
    name_table_init(&names->table, &names->pool, false);
    enum jit_dump_result result = jit_dump_read(path, &names->table);
    name_table_finish(&names->table, NAME_LAST_WINS);
    return result;
}

static const char *name_at(struct names *names, uint64_t address)
{
    struct name_entry *entry = name_table_find(&names->table, address);
    return entry ? name_table_name(&names->table, entry) : "-";
}

static void release(struct names *names)
{
    name_table_release(&names->table);
    name_pool_release(&names->pool);
}

static void test_names(void **state)
{
    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        struct dump dump;
        struct names names;
        put_header(&dump, swap);
        put_load(&dump, 0x1000, 0x20, "first", 0x20);
        put_load(&dump, 0x2000, 0x20, "second", 1 << 20); /* more code than is looked at at once */
        put_load(&dump, 0x1000, 0x10, "JS:*third file.js:1:2", 0x10);
        put_move(&dump, 0x2000, 0x3000, 0x20);
        assert_int_equal(read_bytes(&names, dump.bytes.data, dump.bytes.size), JIT_DUMP_READ);
        assert_string_equal(name_at(&names, 0x100f), "JS:*third file.js:1:2");
        assert_string_equal(name_at(&names, 0x1010), "-");
        assert_string_equal(name_at(&names, 0x2000), "second");
        assert_string_equal(name_at(&names, 0x301f), "second");
        release(&names);
        buffer_release(&dump.bytes);
    }
}

/* Memory of code that was thrown away is used again: the latest code is what is there. */
static void test_reuse(void **state)
{
    (void)state;
    struct dump dump;
    struct names names;
    put_header(&dump, false);
    put_load(&dump, 0x1000, 0x100, "before", 8);
    put_load(&dump, 0x1100, 0x20, "inside", 8);
    put_load(&dump, 0x1140, 0x20, "inside too", 8);
    put_load(&dump, 0x1080, 0x1000, "over", 8);
    put_load(&dump, 0x1140, 0x10, "later", 8);
    put_load(&dump, 0x4000, 0x10, "elsewhere", 8);
    assert_int_equal(read_bytes(&names, dump.bytes.data, dump.bytes.size), JIT_DUMP_READ);
    assert_string_equal(name_at(&names, 0x107f), "before");
    assert_string_equal(name_at(&names, 0x1080), "over");
    assert_string_equal(name_at(&names, 0x1110), "over");
    assert_string_equal(name_at(&names, 0x1145), "later");
    assert_string_equal(name_at(&names, 0x1155), "over");
    assert_string_equal(name_at(&names, 0x4000), "elsewhere");
    release(&names);
    buffer_release(&dump.bytes);
}

/* Against what a byte of memory holds after one piece of code after the other was written to it. */
static void test_reuse_at_random(void **state)
{
    (void)state;
    enum { MEMORY = 256, PIECES = 12 };
    uint32_t seed = 12345;
    for (int round = 0; round < 300; round++) {
        struct names names = {0};
        char texts[PIECES][16];
        size_t memory[MEMORY + 64] = {0}, starts[PIECES + 1];
        name_table_init(&names.table, &names.pool, false);
        for (size_t i = 0; i < PIECES; i++) {
            seed = seed * 1664525 + 1013904223;
            uint64_t start = seed >> 24, size = 1 + (seed >> 8) % 60;
            starts[i + 1] = start;
            snprintf(texts[i], sizeof(texts[i]), "f%zu", i);
            struct name_entry entry = {.start = start, .end = start + size, .limit = UINT64_MAX, .raw = texts[i]};
            name_table_add(&names.table, &entry);
            for (uint64_t at = start; at < start + size; at++)
                memory[at] = i + 1;
        }
        name_table_finish(&names.table, NAME_LAST_WINS);
        for (uint64_t at = 0; at < MEMORY; at++)
            /* Code whose beginning is there still has its name, all of it that is there. */
            if (memory[at] && memory[starts[memory[at]]] == memory[at])
                assert_string_equal(name_at(&names, at), texts[memory[at] - 1]);
        release(&names);
    }
}

/* Whatever is cut off, what stands before it is there. */
static void test_cut(void **state)
{
    (void)state;
    struct dump dump;
    put_header(&dump, false);
    put_load(&dump, 0x1000, 0x20, "first", 8);
    size_t whole = dump.bytes.size;
    put_load(&dump, 0x2000, 0x20, "second", 8);
    for (size_t size = 0; size <= dump.bytes.size; size++) {
        struct names names;
        enum jit_dump_result result = read_bytes(&names, dump.bytes.data, size);
        assert_int_equal(result, size < 40 ? JIT_DUMP_DAMAGED : JIT_DUMP_READ);
        assert_string_equal(name_at(&names, 0x1000), size >= whole ? "first" : "-");
        release(&names);
    }
    buffer_release(&dump.bytes);
}

static void test_hostile(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 1, 15, 16, 17, 55, 56, 57, UINT32_MAX};
    struct names names;
    struct dump dump;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        put_header(&dump, false);
        put_load(&dump, 0x1000, UINT64_MAX, "wraps", 8);
        put_load(&dump, 0x1000, 0, "empty", 8);
        put_move(&dump, 0x5000, UINT64_MAX, 8);
        put_load(&dump, 0x1000, 8, "", 0);
        size_t at = dump.bytes.size;
        put_load(&dump, 0x7000, 8, "last", 8);
        memcpy(dump.bytes.data + at + 4, &sizes[i], 4);
        enum jit_dump_result result = read_bytes(&names, dump.bytes.data, dump.bytes.size);
        /* One that goes beyond the end is being written; one that ends in its own middle makes nonsense of the next. */
        if (sizes[i] < 16 || sizes[i] == UINT32_MAX)
            assert_int_equal(result, sizes[i] < 16 ? JIT_DUMP_DAMAGED : JIT_DUMP_READ);
        assert_string_equal(name_at(&names, 0x1000), "-");
        assert_string_equal(name_at(&names, 0x7000), sizes[i] == 57 ? "l" : "-");
        release(&names);
        buffer_release(&dump.bytes);
    }
    assert_int_equal(read_bytes(&names, "not a dump, but long enough for its header", 42), JIT_DUMP_DAMAGED);
    release(&names);
}

static void test_not_read(void **state)
{
    (void)state;
    struct names names = {0};
    char link_path[64];
    name_table_init(&names.table, &names.pool, false);
    assert_int_equal(jit_dump_read("/nonexistent/jit-1.dump", &names.table), JIT_DUMP_MISSING);
    assert_int_equal(jit_dump_read("/dev/null", &names.table), JIT_DUMP_MISSING);
    assert_int_equal(jit_dump_read("/tmp", &names.table), JIT_DUMP_MISSING);
    snprintf(link_path, sizeof(link_path), "%s.link", path);
    assert_int_equal(symlink(path, link_path), 0);
    assert_int_equal(jit_dump_read(link_path, &names.table), JIT_DUMP_MISSING);
    unlink(link_path);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_int_equal(jit_dump_read(path, &names.table), JIT_DUMP_FOREIGN);
    }
    release(&names);
}

/* Other records are passed over, also one that is nothing but its head; nothing counts behind the end. */
static void test_other_records(void **state)
{
    (void)state;
    struct names names;
    struct dump dump;
    put_header(&dump, false);
    for (uint32_t id = 2; id < 5; id += 2) { /* debug information, unwinding information */
        put32(&dump, id);
        put32(&dump, 16);
        put64(&dump, 3);
    }
    put_load(&dump, 0x1000, 0x20, "first", 8);
    size_t bare = dump.bytes.size;
    put32(&dump, 3); /* the end */
    put32(&dump, 16);
    put64(&dump, 3);
    put_load(&dump, 0x2000, 0x20, "second", 8);
    assert_int_equal(read_bytes(&names, dump.bytes.data, dump.bytes.size), JIT_DUMP_READ);
    assert_string_equal(name_at(&names, 0x1000), "first");
    assert_string_equal(name_at(&names, 0x2000), "-");
    release(&names);
    dump.bytes.data[bare] = 4;
    assert_int_equal(read_bytes(&names, dump.bytes.data, dump.bytes.size), JIT_DUMP_READ);
    assert_string_equal(name_at(&names, 0x2000), "second");
    release(&names);
    buffer_release(&dump.bytes);
}

/* ---- as a DSO: the perf map and the dump */

static uint32_t no_process; /* one beyond the largest pid */
static char map_path[64];

static void write_map(const char *text)
{
    FILE *map = fopen(map_path, "w");
    assert_non_null(map);
    fputs(text, map);
    assert_int_equal(fclose(map), 0);
}

/* Generated code with the dumps FIRST and SECOND (NULL: none) has the names EXPECTED at 0x1000, 0x2000 and 0x9000, out
 * of FILE, and lacks as much. */
static void dso_has(const char *symfs, const char *first, const char *second, const char *expected, const char *file,
                    unsigned missing, const char *why)
{
    const struct symbols_options options = {.symfs = symfs};
    const uint64_t addresses[] = {0x1000, 0x2000, 0x9000};
    struct symbols *symbols;
    struct symbol symbol;
    char text[100] = "";
    assert_int_equal(symbols_new(&options, &symbols), 0);
    struct symbols_dso *dso = symbols_jit(symbols, no_process);
    if (first)
        symbols_jit_dump(dso, first);
    if (second)
        symbols_jit_dump(dso, second);
    for (size_t i = 0; i < 3; i++)
        sprintf(text + strlen(text), "%s ", symbols_find(dso, addresses[i], &symbol) ? symbol.name : "-");
    assert_string_equal(text, expected);
    assert_int_equal(symbols_missing(dso), missing);
    if (why)
        assert_string_equal(symbols_why(dso), why);
    else
        assert_null(symbols_why(dso));
    if (file)
        assert_string_equal(symbols_file(dso), file);
    else
        assert_null(symbols_file(dso));
    symbols_jit_dump(dso, "/nonexistent/other.dump"); /* too late */
    assert_int_equal(symbols_missing(dso), missing);
    symbols_free(symbols);
}

static void test_dso(void **state)
{
    static const char no_dump[] = "a JIT compiler generated the code, and the jitdump file is gone or cannot be read";
    static const char no_map[] = "the code was in memory without a file, and the program left no perf map in /tmp";
    static const char gone[] = "/nonexistent/jit-1.dump";
    (void)state;
    struct dump dump;
    struct names names;
    no_process = (1u << 23) + (uint32_t)getpid();
    snprintf(map_path, sizeof(map_path), "/tmp/perf-%u.map", (unsigned)no_process);
    unlink(map_path);
    put_header(&dump, false);
    put_load(&dump, 0x1000, 0x20, "first", 8);
    put_load(&dump, 0x2000, 0x20, "second", 8);
    read_bytes(&names, dump.bytes.data, dump.bytes.size);
    release(&names);
    dso_has(NULL, NULL, NULL, "- - - ", NULL, SYMBOLS_ANONYMOUS, no_map);
    dso_has(NULL, gone, NULL, "- - - ", NULL, SYMBOLS_ANONYMOUS, no_dump);
    dso_has(NULL, path, NULL, "first second - ", path, 0, NULL);
    dso_has(NULL, path, gone, "first second - ", path, 0, NULL);
    dso_has(NULL, gone, path, "- - - ", NULL, SYMBOLS_ANONYMOUS, no_dump);
    dso_has("/tmp", path + 4, NULL, "first second - ", path, 0, NULL);
    dso_has("/tmp", path, NULL, "- - - ", NULL, SYMBOLS_ANONYMOUS, no_dump);
    write_map("9000 10 mapped\n2000 10 older\n");
    dso_has(NULL, NULL, NULL, "- older mapped ", map_path, 0, NULL);
    dso_has(NULL, gone, NULL, "- older mapped ", map_path, 0, NULL);
    dso_has(NULL, path, NULL, "first second mapped ", path, 0, NULL);
    if (geteuid() == 0) {
        static const char foreign[] = "the program's perf map in /tmp belongs to another user";
        assert_int_equal(chown(map_path, 65534, 65534), 0);
        dso_has(NULL, NULL, NULL, "- - - ", NULL, SYMBOLS_NO_FILE, foreign);
        dso_has(NULL, path, NULL, "first second - ", path, SYMBOLS_NO_FILE, foreign);
        assert_int_equal(chown(map_path, 0, 0), 0);
        assert_int_equal(chown(path, 65534, 65534), 0);
        dso_has(NULL, path, NULL, "- older mapped ", map_path, SYMBOLS_NO_FILE,
                "the jitdump file belongs to another user");
        assert_int_equal(chown(path, 0, 0), 0);
    }
    unlink(map_path);
    put32(&dump, 0);
    put32(&dump, 3); /* shorter than its own head */
    put64(&dump, 0);
    read_bytes(&names, dump.bytes.data, dump.bytes.size);
    release(&names);
    dso_has(NULL, path, NULL, "first second - ", NULL, SYMBOLS_BROKEN,
            "the jitdump file is damaged; names come from its readable part");
    buffer_release(&dump.bytes);
    /* Files have none. */
    struct symbols *symbols;
    struct symbol symbol;
    assert_int_equal(symbols_new(NULL, &symbols), 0);
    struct symbols_dso *dso = symbols_dso(symbols, "//anon", NULL, 0);
    symbols_jit_dump(dso, path);
    assert_false(symbols_find(dso, 0x1000, &symbol));
    symbols_free(symbols);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),    cmocka_unit_test(test_reuse),   cmocka_unit_test(test_reuse_at_random),
        cmocka_unit_test(test_cut),      cmocka_unit_test(test_hostile), cmocka_unit_test(test_other_records),
        cmocka_unit_test(test_dso), /* the next one gives the file away */
        cmocka_unit_test(test_not_read),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
