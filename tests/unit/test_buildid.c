/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "collector/output/build_ids.h"
#include "collector/system/opener.h"
#include "common/table.h"

/* ---- In the place of the opener, in some tests: each question is noted, and answered when the test says so ---- */

enum { ASKED = 16400 };
static struct asked {
    opener_done *done;
    void *context;
    uint64_t ticket;
} asked[ASKED];
static unsigned asked_count, settled_count;
static bool is_refused; /* no question is taken */
static bool is_noted;   /* else the opener itself is asked */

uint64_t __real_opener_ask(struct opener *opener, enum opener_kind kind, const struct mapped_file *file,
                           opener_done *done, void *context);
uint64_t __wrap_opener_ask(struct opener *opener, enum opener_kind kind, const struct mapped_file *file,
                           opener_done *done, void *context);
uint64_t __wrap_opener_ask(struct opener *opener, enum opener_kind kind, const struct mapped_file *file,
                           opener_done *done, void *context)
{
    if (!is_noted)
        return __real_opener_ask(opener, kind, file, done, context);
    assert_int_equal(kind, OPENER_ID);
    if (is_refused)
        return 0;
    asked[asked_count % ASKED] = (struct asked){done, context, asked_count + 1};
    return ++asked_count;
}

bool __real_opener_settle(struct opener *opener, uint64_t ticket);
bool __wrap_opener_settle(struct opener *opener, uint64_t ticket);
bool __wrap_opener_settle(struct opener *opener, uint64_t ticket)
{
    settled_count++;
    return is_noted ? false : __real_opener_settle(opener, ticket);
}

static uint64_t last_key[2];

uint64_t __real_siphash(const uint64_t key[2], const void *bytes, size_t size);
uint64_t __wrap_siphash(const uint64_t key[2], const void *bytes, size_t size);
uint64_t __wrap_siphash(const uint64_t key[2], const void *bytes, size_t size)
{
    memcpy(last_key, key, sizeof(last_key));
    return __real_siphash(key, bytes, size);
}

/* To question NUMBER, from 1 on; as an answer of TICKET. */
static void answer(unsigned number, uint64_t ticket, int status, unsigned char byte)
{
    const struct asked *one = &asked[number - 1];
    struct opener_answer given = {.status = status, .fd = -1, .id_size = 20};
    memset(given.id, byte, sizeof(given.id));
    one->done(one->context, ticket, &given);
}

static int begin_notes(void **state)
{
    (void)state;
    is_noted = true;
    asked_count = settled_count = 0;
    return 0;
}

static int end_notes(void **state)
{
    (void)state;
    is_noted = false;
    return 0;
}

static const unsigned char note[] = {'G', 'N', 'U', 0, 0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4};

static char directory[64];

static int enter_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/pinject-unit-XXXXXX");
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int leave_directory(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

/* Little helpers to write an ELF file of either class and byte order. */
struct maker {
    unsigned char bytes[4096];
    size_t size;
    bool wide, big;
};

static void put(struct maker *maker, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        maker->bytes[maker->size + i] = (unsigned char)(value >> 8 * (maker->big ? size - 1 - i : i));
    maker->size += size;
}

static void put_word(struct maker *maker, uint64_t value)
{
    put(maker, value, maker->wide ? 8 : 4);
}

static void put_segment(struct maker *maker, uint32_t type, uint64_t offset, uint64_t size)
{
    put(maker, type, 4);
    if (maker->wide)
        put(maker, 4, 4);
    put_word(maker, offset);
    put_word(maker, 0);
    put_word(maker, 0);
    put_word(maker, size);
    put_word(maker, size);
    if (!maker->wide)
        put(maker, 4, 4);
    put_word(maker, 4);
}

static void put_note(struct maker *maker, uint32_t type, const void *bytes, size_t name_size, size_t desc_size)
{
    put(maker, name_size, 4);
    put(maker, desc_size, 4);
    put(maker, type, 4);
    memcpy(maker->bytes + maker->size, bytes, name_size + desc_size);
    maker->size += name_size + desc_size;
}

static void make(struct maker *maker, bool wide, bool big)
{
    memset(maker, 0, sizeof(*maker));
    maker->wide = wide;
    maker->big = big;
    memcpy(maker->bytes, ELFMAG, SELFMAG);
    maker->bytes[EI_CLASS] = wide ? ELFCLASS64 : ELFCLASS32;
    maker->bytes[EI_DATA] = big ? ELFDATA2MSB : ELFDATA2LSB;
    maker->size = EI_NIDENT;
    put(maker, ET_DYN, 2);
    put(maker, EM_NONE, 2);
    put(maker, 1, 4);
    put_word(maker, 0);
    put_word(maker, wide ? 64 : 52); /* phoff */
    put_word(maker, 0);
    put(maker, 0, 4);
    put(maker, wide ? 64 : 52, 2);
    put(maker, wide ? 56 : 32, 2);
    put(maker, 20, 2); /* segments: the note is beyond the first handful */
    put(maker, 0, 2);
    put(maker, 0, 2);
    put(maker, 0, 2);
    for (int i = 0; i < 19; i++)
        put_segment(maker, PT_LOAD, 0, 100);
    put_segment(maker, PT_NOTE, 2048, 24 + 24);
    maker->size = 2048;
    put_note(maker, NT_GNU_ABI_TAG, note, 4, 8);
    put_note(maker, NT_GNU_BUILD_ID, note, 4, 8);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

static bool read_made(const void *bytes, size_t size, struct buildid *ret)
{
    write_file("made", bytes, size);
    int fd = open("made", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    bool found = buildid_of_file(fd, ret);
    close(fd);
    return found;
}

static void test_classes(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct maker maker;
        struct buildid id = {0};
        make(&maker, i & 1, i & 2);
        assert_true(read_made(maker.bytes, maker.size, &id));
        assert_int_equal(id.size, 8);
        assert_memory_equal(id.bytes, note + 4, 8);
    }
}

/* Each byte at each extreme, and each length: an answer or none, and the sanitizers are content. */
static void test_hostile(void **state)
{
    (void)state;
    static const unsigned char extremes[] = {0, 1, 0x7f, 0x80, 0xff};
    for (int i = 0; i < 2; i++) {
        struct maker maker;
        struct buildid id;
        make(&maker, i, false);
        for (size_t size = 0; size < maker.size; size += size < 80 || size > 2000 ? 1 : 40)
            assert_false(read_made(maker.bytes, size, &id));
        for (size_t at = 0; at < maker.size; at += at == 80 ? 1100 : 1) {
            unsigned char kept = maker.bytes[at];
            for (size_t j = 0; j < sizeof(extremes); j++) {
                maker.bytes[at] = extremes[j];
                read_made(maker.bytes, maker.size, &id);
            }
            maker.bytes[at] = kept;
            at = at == 1180 ? 2040 : at;
        }
    }
}

/* As many segments of notes as a file can name, each as large as is read: the work for one file has a bound. */
static void test_note_segments(void **state)
{
    (void)state;
    enum { SEGMENTS = 65535, NOTES = 65536 };
    static unsigned char bytes[sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr) + NOTES];
    Elf64_Ehdr header = {.e_ident = ELFMAG, .e_phoff = sizeof(header), .e_phnum = SEGMENTS};
    Elf64_Phdr segment = {
        .p_type = PT_NOTE, .p_offset = sizeof(header) + SEGMENTS * sizeof(segment), .p_filesz = NOTES, .p_align = 4};
    struct buildid id;
    struct timespec start, end;
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
    header.e_phentsize = sizeof(segment);
    memcpy(bytes, &header, sizeof(header));
    for (unsigned i = 0; i < SEGMENTS; i++)
        memcpy(bytes + sizeof(header) + i * sizeof(segment), &segment, sizeof(segment));
    write_file("made", bytes, sizeof(bytes));
    int fd = open("made", O_RDONLY | O_CLOEXEC);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (unsigned i = 0; i < 100; i++)
        assert_false(buildid_of_file(fd, &id));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    close(fd);
    assert_true(end.tv_sec - start.tv_sec < 5); /* 3 ms, not 100 s */
}

static void test_notes(void **state)
{
    (void)state;
    struct buildid id;
    assert_false(buildid_of_notes(NULL, 0, false, 4, &id));
    uint32_t long_one[3 + 1 + 10] = {4, 40, NT_GNU_BUILD_ID};
    memcpy(&long_one[3], "GNU", 4);
    assert_true(buildid_of_notes(long_one, sizeof(long_one), false, 4, &id));
    assert_int_equal(id.size, 20);
    assert_false(buildid_of_notes(long_one, sizeof(long_one) - 1, false, 4, &id));
    long_one[1] = 0;
    assert_false(buildid_of_notes(long_one, sizeof(long_one), false, 4, &id));
    long_one[0] = UINT32_MAX;
    assert_false(buildid_of_notes(long_one, sizeof(long_one), false, 8, &id));
}

static void module_of(struct result_module *module, const char *path)
{
    static char paths[8][200];
    static unsigned next;
    char *full = paths[next++ % 8];
    struct stat status;
    snprintf(full, sizeof(paths[0]), "%s%s%s", path[0] == '/' ? "" : directory, path[0] == '/' ? "" : "/", path);
    assert_int_equal(stat(full, &status), 0);
    *module = (struct result_module){
        .path = full, .maj = major(status.st_dev), .min = minor(status.st_dev), .ino = status.st_ino};
}

/* As a task would: it maps the file at NOW, and its record is written a bit later. */
static bool find(struct buildids *buildids, const struct result_module *module, uint64_t now, struct buildid *id)
{
    const struct mapped_file file = {.maj = module->maj, .min = module->min, .ino = module->ino, .path = module->path};
    buildids_expect(buildids, &file, module->ino_generation, now);
    return buildids_find(buildids, module, id);
}

static void test_cache(void **state)
{
    (void)state;
    struct maker maker;
    struct buildid id;
    struct result_module module;
    struct buildids *buildids = buildids_new();
    assert_non_null(buildids);
    uint64_t now = 1000000000000, step = 200000000;
    make(&maker, true, false);
    write_file("dso", maker.bytes, maker.size);
    module_of(&module, "dso");
    assert_true(find(buildids, &module, now, &id));
    assert_memory_equal(id.bytes, note + 4, 8);

    /* Overwritten in place: seen after a while. */
    maker.bytes[maker.size - 1] = 99;
    write_file("dso", maker.bytes, maker.size);
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, "dso", times, 0), 0);
    assert_true(find(buildids, &module, now + step, &id));
    assert_int_equal(id.bytes[7], 99);

    /* Another inode of the same name is not what was mapped. */
    struct result_module other = module;
    other.ino++;
    assert_false(find(buildids, &other, now, &id));
    /* The same inode number, given out again: another generation. */
    other = module;
    other.ino_generation = 7;
    maker.bytes[maker.size - 1] = 55;
    write_file("dso", maker.bytes, maker.size);
    assert_true(find(buildids, &other, now + step, &id));
    assert_int_equal(id.bytes[7], 55);

    /* Deleted: what was read stays known, what was not is not to be had. */
    assert_int_equal(unlink("dso"), 0);
    assert_true(find(buildids, &module, now + 3 * step, &id));
    assert_int_equal(id.bytes[7], 99);
    other.ino_generation = 8;
    assert_false(find(buildids, &other, now + 3 * step, &id));
    buildids_free(buildids);
}

static void test_no_files(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "//anon",    "",          "[heap]", "[stack]", "[vsyscall]", "relative", "/memfd:jit (deleted)",
        "/dev/zero", "/dev/null", "/"};
    struct buildids *buildids = buildids_new();
    struct buildid id;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct result_module module = {.path = paths[i], .ino = 3};
        assert_false(find(buildids, &module, 1, &id));
        assert_false(find(buildids, &module, 1, &id));
    }
    /* A FIFO whose writer never comes must not stop us. */
    assert_int_equal(mkfifo("fifo", 0600), 0);
    struct result_module module;
    module_of(&module, "fifo");
    assert_false(find(buildids, &module, 1, &id));
    buildids_free(buildids);
}

static void test_many(void **state)
{
    (void)state;
    struct buildids *buildids = buildids_new();
    struct buildid id;
    for (unsigned i = 1; i < 40000; i++) {
        struct result_module module = {.path = "/nowhere/at/all", .ino = i};
        assert_false(find(buildids, &module, 1, &id));
    }
    buildids_free(buildids);
}

/* A file by its number, mapped at NOW: how often it has been asked about since. */
static unsigned expected(struct buildids *buildids, unsigned number, uint64_t now)
{
    const struct mapped_file file = {.maj = 8, .min = 1, .ino = number, .path = "/lib/one"};
    unsigned before = asked_count;
    buildids_expect(buildids, &file, 0, now);
    return asked_count - before;
}

/* The first byte of its id; -1: there is none. */
static int known(struct buildids *buildids, unsigned number)
{
    const struct result_module module = {.maj = 8, .min = 1, .ino = number, .path = "/lib/one"};
    struct buildid id;
    return buildids_find(buildids, &module, &id) ? id.bytes[0] : -1;
}

static void test_questions(void **state)
{
    (void)state;
    const uint64_t now = 5000000000, fresh = 100000000;
    struct buildids *buildids = buildids_new();
    assert_int_equal(expected(buildids, 1, now), 1);
    assert_int_equal(expected(buildids, 1, now + fresh - 1), 0); /* it is fresh */
    assert_int_equal(expected(buildids, 1, now + fresh), 0);     /* the answer is on its way */
    assert_int_equal(settled_count, 0);
    assert_int_equal(known(buildids, 1), -1); /* it was waited for */
    assert_int_equal(settled_count, 1);
    answer(1, 99, 0, 0x99); /* of another question */
    assert_int_equal(known(buildids, 1), -1);
    assert_int_equal(settled_count, 2);
    answer(1, 1, 0, 0x11);
    assert_int_equal(known(buildids, 1), 0x11);
    assert_int_equal(settled_count, 2);                              /* it is here */
    assert_int_equal(expected(buildids, 1, now + 2 * fresh - 1), 0); /* it was looked at when it was mapped last */
    assert_int_equal(expected(buildids, 1, now + 2 * fresh), 1);
    answer(2, 2, -ENOENT, 0x22); /* it is gone: what was known stays */
    assert_int_equal(known(buildids, 1), 0x11);
    assert_int_equal(expected(buildids, 1, now + 3 * fresh), 1);
    answer(3, 2, 0, 0x33); /* late, of the one before */
    assert_int_equal(known(buildids, 1), 0x11);
    answer(3, 3, 0, 0x44);
    assert_int_equal(known(buildids, 1), 0x44);
    /* Who was not expected is asked about when it is looked for. */
    assert_int_equal(asked_count, 3);
    assert_int_equal(known(buildids, 2), -1);
    assert_int_equal(asked_count, 4);
    answer(4, 4, 0, 0x55);
    assert_int_equal(known(buildids, 2), 0x55);
    assert_int_equal(asked_count, 4);
    buildids_free(buildids);
}

/* A question that was refused is asked again: after a while, or when the answer is wanted. */
static void test_refused(void **state)
{
    (void)state;
    const uint64_t now = 5000000000, fresh = 100000000;
    struct buildids *buildids = buildids_new();
    is_refused = true;
    assert_int_equal(expected(buildids, 1, now), 0);
    assert_int_equal(expected(buildids, 2, now), 0);
    assert_int_equal(known(buildids, 1), -1);
    is_refused = false;
    assert_int_equal(expected(buildids, 1, now + fresh), 1);
    answer(1, 1, 0, 0x11);
    assert_int_equal(known(buildids, 1), 0x11);
    assert_int_equal(known(buildids, 2), -1);
    assert_int_equal(asked_count, 2);
    answer(2, 2, 0, 0x22);
    assert_int_equal(known(buildids, 2), 0x22);
    assert_int_equal(asked_count, 2);
    buildids_free(buildids);
}

/* Targets choose paths. Without the key they cannot make paths collide in the table. */
static void test_keys(void **state)
{
    (void)state;
    memset(last_key, 0, sizeof(last_key));
    struct buildids *buildids = buildids_new();
    known(buildids, 1);
    assert_memory_equal(last_key, table_key(), sizeof(last_key));
    buildids_free(buildids);
}

/*
 * Too many of one: all are forgotten at once, but for those of whom the answer is on its way. Then there is room for
 * many.
 */
static void test_forgets(void **state)
{
    (void)state;
    enum { MOST = 16384, OPEN = 3 };
    struct buildids *buildids = buildids_new();
    for (unsigned i = 1; i <= MOST; i++) {
        assert_int_equal(known(buildids, i), -1);
        if (i > OPEN)
            answer(i, i, 0, 7);
    }
    assert_int_equal(asked_count, MOST);
    assert_int_equal(known(buildids, OPEN + 1), 7);
    assert_int_equal(known(buildids, MOST), 7);
    assert_int_equal(asked_count, MOST);
    assert_int_equal(opener_counts(buildids_opener(buildids)).forgotten, 0);
    assert_int_equal(known(buildids, MOST + 1), -1); /* one more */
    assert_int_equal(opener_counts(buildids_opener(buildids)).forgotten, MOST - OPEN);
    assert_int_equal(asked_count, MOST + 1);
    for (unsigned i = 1; i <= OPEN; i++)
        answer(i, i, 0, 8);
    for (unsigned i = 1; i <= OPEN; i++)
        assert_int_equal(known(buildids, i), 8);
    assert_int_equal(asked_count, MOST + 1);
    /* These are with the OPEN ones and the one more as many as there may be: nothing is forgotten. */
    for (unsigned i = OPEN + 1; i < MOST; i++)
        assert_int_equal(known(buildids, i), -1);
    assert_int_equal(asked_count, MOST + 1 + MOST - OPEN - 1);
    for (unsigned i = 1; i <= OPEN; i++)
        assert_int_equal(known(buildids, i), 8);
    assert_int_equal(known(buildids, OPEN + 1), -1);
    assert_int_equal(known(buildids, MOST - 1), -1);
    assert_int_equal(asked_count, MOST + 1 + MOST - OPEN - 1);
    buildids_free(buildids);
}

/* By readelf, of ourselves; and what only this machine knows. */
static void test_this_machine(void **state)
{
    (void)state;
    struct buildids *buildids = buildids_new();
    struct buildid id;
    struct result_module module, vdso = {.path = "[vdso]"}, kernel = {.path = "[kernel.kallsyms]"};
    char self[4096], command[4200], wanted[64] = "", found[64] = "";
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    assert_true(length > 0);
    self[length] = '\0';
    struct stat status;
    assert_int_equal(stat(self, &status), 0);
    module = (struct result_module){
        .path = self, .maj = major(status.st_dev), .min = minor(status.st_dev), .ino = status.st_ino};
    snprintf(command, sizeof(command), "readelf -n '%s' 2>/dev/null | sed -n 's/.*Build ID: //p'", self);
    FILE *pipe = popen(command, "re");
    assert_non_null(pipe);
    if (fscanf(pipe, "%63s", wanted) == 1) {
        assert_true(find(buildids, &module, 1, &id));
        for (unsigned i = 0; i < id.size; i++)
            snprintf(found + 2 * i, 3, "%02x", id.bytes[i]);
        assert_string_equal(found, wanted);
    }
    pclose(pipe);
    if (access("/sys/kernel/notes", R_OK) == 0)
        assert_true(find(buildids, &kernel, 1, &id));
    if (find(buildids, &vdso, 1, &id))
        assert_int_equal(id.size, 20);
    buildids_free(buildids);
    buildids_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_note_segments),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_no_files),
        cmocka_unit_test(test_many),
        cmocka_unit_test_setup_teardown(test_questions, begin_notes, end_notes),
        cmocka_unit_test_setup_teardown(test_refused, begin_notes, end_notes),
        cmocka_unit_test_setup_teardown(test_keys, begin_notes, end_notes),
        cmocka_unit_test_setup_teardown(test_forgets, begin_notes, end_notes),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
