/* SPDX-License-Identifier: MIT */
/*
 * When the names of the running kernel are taken for those of the recorded one. The test says which kernel runs: its
 * release, its notes and its list of names.
 */
#include "check.h"

#include <elf.h>
#include <errno.h>
#include <sys/utsname.h>

#include "analyze/sym/symbols.h"
#include "analyze/sym/text_names.h"

static const char *kallsyms; /* NULL: cannot be read */
static unsigned char notes[512];
static size_t notes_size;
static bool notes_readable;

int __wrap_text_names_init(struct text_names *names, const char *path, int extra_flags, uint32_t *ret_owner);
int __wrap_uname(struct utsname *name);

int __wrap_text_names_init(struct text_names *names, const char *path, int extra_flags, uint32_t *ret_owner)
{
    bool of_notes = strcmp(path, "/sys/kernel/notes") == 0;
    assert_true(of_notes || strcmp(path, "/proc/kallsyms") == 0);
    assert_int_equal(extra_flags, 0);
    assert_null(ret_owner);
    if (of_notes ? !notes_readable : !kallsyms)
        return -EACCES;
    names->size = of_notes ? notes_size : strlen(kallsyms);
    names->text = malloc(names->size + 1);
    assert_non_null(names->text);
    memcpy(names->text, of_notes ? (const char *)notes : kallsyms, names->size);
    names->text[names->size] = '\0';
    return 0;
}

int __wrap_uname(struct utsname *name)
{
    memset(name, 0, sizeof(*name));
    strcpy(name->release, "6.1.0-test");
    return 0;
}

static const unsigned char running_id[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};

static const char names_of_kernel[] = "ffffffff81000000 T _stext\n"
                                      "ffffffff81000400 T schedule\n"
                                      "ffffffff81000800 T after\n"
                                      "ffffffffc0000000 t read_page\t[ext4]\n";
#define STEXT UINT64_C(0xffffffff81000000)
#define SCHEDULE (STEXT + 0x400)
#define MODULE UINT64_C(0xffffffffc0000000)

static void add_note(uint32_t name_size, uint32_t size, uint32_t type, const char *name, const void *bytes)
{
    const Elf64_Nhdr head = {.n_namesz = name_size, .n_descsz = size, .n_type = type};
    memcpy(notes + notes_size, &head, sizeof(head));
    memcpy(notes + notes_size + sizeof(head), name, name_size);
    notes_size += sizeof(head) + (name_size + 3) / 4 * 4;
    memcpy(notes + notes_size, bytes, size);
    notes_size += (size + 3) / 4 * 4;
}

static void set_notes(size_t size)
{
    memset(notes, 0xee, sizeof(notes));
    notes_size = 0;
    notes_readable = true;
    if (size)
        add_note(4, (uint32_t)size, NT_GNU_BUILD_ID, "GNU", running_id);
}

static int set_up(void **state)
{
    (void)state;
    kallsyms = names_of_kernel;
    set_notes(20);
    return 0;
}

/* The kernel KERNEL lacks names as LACKS says, for WHY; SCHEDULE + SHIFT is in schedule() where it lacks none. */
static void expect(const struct symbols_kernel *kernel, unsigned lacks, const char *why, uint64_t shift, bool modules)
{
    struct symbols *symbols;
    struct symbols_object *object;
    struct symbol symbol;
    assert_int_equal(symbols_new(NULL, &symbols), 0);
    object = symbols_kernel(symbols, kernel);
    assert_int_equal(symbols_lacks(object), lacks);
    if (why)
        assert_string_equal(symbols_why(object), why);
    else
        assert_null(symbols_why(object));
    assert_string_equal(symbols_path(object), "[kernel.kallsyms]");
    assert_int_equal(symbols_find(object, SCHEDULE + shift + 0x3ff, &symbol), lacks == 0);
    if (lacks == 0) {
        assert_string_equal(symbol.name, "schedule");
        assert_null(symbol.module);
        assert_true(symbol.start == SCHEDULE + shift && symbol.size == 0x400);
        assert_true(symbol.address == SCHEDULE + shift + 0x3ff);
        assert_true(symbols_find(object, SCHEDULE + shift + 0x400, &symbol));
        assert_string_equal(symbol.name, "after");
    }
    bool found = symbols_find(object, MODULE + shift, &symbol) || symbols_find(object, MODULE, &symbol);
    assert_int_equal(found, modules);
    if (found)
        assert_string_equal(symbol.module, "ext4");
    symbols_free(symbols);
}

static const char other_kernel[] = "recorded on another kernel than the one that runs now";
static const char moved[] = "the kernel was started anew since, its addresses have changed";

static void test_release(void **state)
{
    (void)state;
    expect(NULL, 0, NULL, 0, true);
    expect(&(struct symbols_kernel){0}, 0, NULL, 0, true);
    expect(&(struct symbols_kernel){.osrelease = "6.1.0-test"}, 0, NULL, 0, true);
    expect(&(struct symbols_kernel){.osrelease = "6.1.0-tes"}, SYMBOLS_OTHER_KERNEL, other_kernel, 0, false);
    expect(&(struct symbols_kernel){.osrelease = "6.1.0-test2"}, SYMBOLS_OTHER_KERNEL, other_kernel, 0, false);
    expect(&(struct symbols_kernel){.osrelease = "6.1.0-tes", .build_id = running_id, .build_id_size = 20},
           SYMBOLS_OTHER_KERNEL, other_kernel, 0, false);
}

static void test_build_id(void **state)
{
    unsigned char other[20];
    struct symbols_kernel kernel = {.build_id = running_id, .build_id_size = 20};
    (void)state;
    memcpy(other, running_id, 20);
    other[19]++;
    expect(&kernel, 0, NULL, 0, true);
    kernel.build_id = other;
    expect(&kernel, SYMBOLS_OTHER_KERNEL, other_kernel, 0, false);
    kernel.build_id_size = 0;
    expect(&kernel, 0, NULL, 0, true);
    /* Nobody can tell. */
    kernel.build_id_size = 20;
    notes_readable = false;
    expect(&kernel, 0, NULL, 0, true);
    set_notes(0);
    expect(&kernel, 0, NULL, 0, true);
    /* Of 16 bytes, which the recorder filled up with zeros. */
    set_notes(16);
    memset(other + 16, 0, 4);
    expect(&kernel, 0, NULL, 0, true);
    other[15] = 0;
    expect(&kernel, SYMBOLS_OTHER_KERNEL, other_kernel, 0, false);
}

/* Whether the notes there are have the build-id: another one is refused then. */
static void notes_tell(bool tell)
{
    static const unsigned char other[20] = {9};
    const struct symbols_kernel kernel = {.build_id = other, .build_id_size = 20};
    expect(&kernel, tell ? SYMBOLS_OTHER_KERNEL : 0, tell ? other_kernel : NULL, 0, !tell);
}

static void test_notes(void **state)
{
    static const unsigned char long_id[65] = {1};
    Elf64_Nhdr head;
    (void)state;
    notes_tell(true);
    /* Behind others of any size. */
    set_notes(0);
    add_note(6, 1, 7, "Linux", "x");
    add_note(4, 20, 7, "GNU", running_id);
    add_note(4, 20, NT_GNU_BUILD_ID, "XEN", running_id);
    add_note(5, 20, NT_GNU_BUILD_ID, "GNUX", running_id);
    add_note(0, 0, NT_GNU_BUILD_ID, "", "");
    notes_tell(false);
    add_note(4, 65, NT_GNU_BUILD_ID, "GNU", long_id);
    notes_tell(false);
    add_note(4, 20, NT_GNU_BUILD_ID, "GNU", running_id);
    notes_tell(true);
    /* Cut off anywhere. */
    for (size_t less = 1; less <= 36; less++) {
        notes_size -= 1;
        notes_tell(false);
    }
    set_notes(0);
    add_note(4, 64, NT_GNU_BUILD_ID, "GNU", long_id);
    notes_tell(true);
    /* Sizes that lie. */
    for (size_t at = 0; at <= 4; at += 4) {
        for (uint32_t lie = UINT32_MAX - 4; lie >= UINT32_MAX - 4; lie++) {
            set_notes(20);
            memcpy(notes + at, &lie, sizeof(lie));
            notes_tell(false);
        }
    }
    set_notes(20);
    memcpy(&head, notes, sizeof(head));
    head.n_descsz = 21; /* rounded up to more than there is */
    memcpy(notes, &head, sizeof(head));
    notes_tell(false);
}

static void test_list_of_names(void **state)
{
    (void)state;
    kallsyms = NULL;
    expect(NULL, SYMBOLS_RESTRICTED, "/proc/kallsyms cannot be read", 0, false);
    kallsyms = "";
    expect(NULL, SYMBOLS_RESTRICTED, "/proc/kallsyms has no names", 0, false);
    kallsyms = "0000000000000000 T _stext\n0000000000000000 T schedule\n";
    expect(NULL, SYMBOLS_RESTRICTED, "/proc/kallsyms hides the addresses; run panalyze as root, or with "
           "kernel.kptr_restrict 0 and kernel.perf_event_paranoid 1", 0, false);
    struct symbols *symbols;
    const struct symbols_options options = {.no_kernel = true};
    kallsyms = names_of_kernel;
    assert_int_equal(symbols_new(&options, &symbols), 0);
    assert_int_equal(symbols_lacks(symbols_kernel(symbols, NULL)), SYMBOLS_NO_FILE);
    assert_string_equal(symbols_why(symbols_kernel(symbols, NULL)), "kernel names are turned off");
    symbols_free(symbols);
}

/* Another address of the same symbol: only where the build-id proves that it is the same kernel. */
static void test_moved_kernel(void **state)
{
    struct symbols_kernel kernel = {.reference_name = "_stext", .reference_address = STEXT};
    (void)state;
    expect(&kernel, 0, NULL, 0, true);
    kernel.reference_address = STEXT + 0x200000;
    expect(&kernel, SYMBOLS_OTHER_KERNEL, moved, 0x200000, false);
    kernel.osrelease = "6.1.0-test";
    expect(&kernel, SYMBOLS_OTHER_KERNEL, moved, 0x200000, false);
    kernel.build_id = running_id;
    kernel.build_id_size = 20;
    expect(&kernel, 0, NULL, 0x200000, false);
    kernel.reference_address = STEXT - 0x200000;
    expect(&kernel, 0, NULL, (uint64_t)0 - 0x200000, false);
    kernel.reference_address = STEXT;
    expect(&kernel, 0, NULL, 0, true);
    /* Recorded with a build-id, but this kernel does not tell its own. */
    notes_readable = false;
    expect(&kernel, 0, NULL, 0, true);
    kernel.reference_address = STEXT + 0x200000;
    expect(&kernel, SYMBOLS_OTHER_KERNEL, moved, 0x200000, false);
    /* Nothing to compare. */
    kernel.reference_address = 0;
    expect(&kernel, 0, NULL, 0, true);
    kernel.reference_address = STEXT + 0x200000;
    kernel.reference_name = NULL;
    expect(&kernel, 0, NULL, 0, true);
    kernel.reference_name = "_text";
    expect(&kernel, 0, NULL, 0, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_release, set_up),      cmocka_unit_test_setup(test_build_id, set_up),
        cmocka_unit_test_setup(test_notes, set_up),        cmocka_unit_test_setup(test_list_of_names, set_up),
        cmocka_unit_test_setup(test_moved_kernel, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
