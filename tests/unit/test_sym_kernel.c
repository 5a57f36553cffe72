/* SPDX-License-Identifier: MIT */
/*
 * When the names of the running kernel are taken for those of the recorded one. The test says which kernel runs: its
 * release, its notes and its list of names.
 */
#include "check.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "analyze/sym/symbols.h"
#include "analyze/sym/text_names.h"

static const char *kallsyms; /* NULL: cannot be read */
static const char *saved;    /* the list in the second of the roots; NULL: there is none */
static unsigned char notes[512];
static size_t notes_size;
static bool notes_readable;

int __wrap_text_names_init(struct text_names *names, const char *path, int extra_flags, uint32_t *ret_owner);
int __wrap_uname(struct utsname *name);

/* What the rights of panalyze's file could give. */
static bool bounded, no_new_privileges;
static uid_t user = 1000;
static const char *restriction = "0\n", *users = "         0          0 4294967295\n";

static int hand_out(struct text_names *names, const char *text)
{
    names->size = strlen(text);
    names->text = strdup(text);
    assert_non_null(names->text);
    return 0;
}

uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
    return user;
}

int __wrap_prctl(int option, ...);
int __wrap_prctl(int option, ...)
{
    assert_true(option == PR_CAPBSET_READ || option == PR_GET_NO_NEW_PRIVS);
    return option == PR_CAPBSET_READ ? !bounded : no_new_privileges;
}

int __wrap_text_names_init(struct text_names *names, const char *path, int extra_flags, uint32_t *ret_owner)
{
    if (strcmp(path, "/proc/sys/kernel/kptr_restrict") == 0)
        return hand_out(names, restriction);
    if (strcmp(path, "/proc/self/uid_map") == 0)
        return users ? hand_out(names, users) : -ENOENT;

    bool of_notes = strcmp(path, "/sys/kernel/notes") == 0, of_running = strcmp(path, "/proc/kallsyms") == 0;
    const char *list = of_running ? kallsyms : strncmp(path, "/two/", 5) == 0 ? saved : NULL;
    size_t size = strlen(path), end = strlen("/kallsyms");
    assert_true(of_notes || of_running || (size > end && strcmp(path + size - end, "/kallsyms") == 0));
    if (list && !of_running)
        assert_string_equal(path, "/two/[kernel.kallsyms]/0102030405060708090a0b0c0d0e0f1011121314/kallsyms");
    assert_int_equal(extra_flags, 0);
    assert_null(ret_owner);
    if (of_notes ? !notes_readable : !list)
        return of_notes || of_running ? -EACCES : -ENOENT;
    names->size = of_notes ? notes_size : strlen(list);
    names->text = malloc(names->size + 1);
    assert_non_null(names->text);
    memcpy(names->text, of_notes ? (const char *)notes : list, names->size);
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
#define STEXT    UINT64_C(0xffffffff81000000)
#define SCHEDULE (STEXT + 0x400)
#define MODULE   UINT64_C(0xffffffffc0000000)

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
    saved = NULL;
    set_notes(20);
    return 0;
}

/* The kernel KERNEL lacks names as MISSING says, for WHY; SCHEDULE + SHIFT is in schedule() where it lacks none. */
static void expect(const struct symbols_kernel *kernel, unsigned missing, const char *why, uint64_t shift, bool modules)
{
    struct symbols *symbols;
    struct symbols_dso *dso;
    struct symbol symbol;
    assert_int_equal(symbols_new(NULL, &symbols), 0);
    dso = symbols_kernel(symbols, kernel);
    assert_int_equal(symbols_missing(dso), missing);
    if (why)
        assert_string_equal(symbols_why(dso), why);
    else
        assert_null(symbols_why(dso));
    assert_string_equal(symbols_path(dso), "[kernel.kallsyms]");
    assert_int_equal(symbols_find(dso, SCHEDULE + shift + 0x3ff, &symbol), missing == 0);
    if (missing == 0) {
        assert_string_equal(symbol.name, "schedule");
        assert_null(symbol.module);
        assert_true(symbol.start == SCHEDULE + shift && symbol.size == 0x400);
        assert_true(symbol.address == SCHEDULE + shift + 0x3ff);
        assert_true(symbols_find(dso, SCHEDULE + shift + 0x400, &symbol));
        assert_string_equal(symbol.name, "after");
    }
    bool found = symbols_find(dso, MODULE + shift, &symbol) || symbols_find(dso, MODULE, &symbol);
    assert_int_equal(found, modules);
    if (found)
        assert_string_equal(symbol.module, "ext4");
    symbols_free(symbols);
}

static const char other_kernel[] = "the samples are of another kernel than the one that runs now";
static const char moved[] = "the kernel's addresses have changed: the machine was rebooted after the recording";

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

static void hidden(const char *advice)
{
    char expected[PATH_MAX + 256];
    snprintf(expected, sizeof(expected), "/proc/kallsyms hides the addresses; %s", advice);
    expect(NULL, SYMBOLS_RESTRICTED, expected, 0, false);
}

/* The least that helps: rights of panalyze alone, where the kernel lets it start with them, and they have an effect. */
static void test_hidden_addresses(void **state)
{
    static const char otherwise[] =
        "run panalyze as root, or set kernel.kptr_restrict to 0 and kernel.perf_event_paranoid to 1";
    char self[PATH_MAX] = "", advice[PATH_MAX + 128];
    (void)state;
    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    snprintf(advice, sizeof(advice), "run panalyze as root, or type once as root: setcap cap_syslog+ep %s", self);
    kallsyms = "0000000000000000 T _stext\n0000000000000000 T schedule\n";
    hidden(advice);
    restriction = "1\n";
    hidden(advice);
    restriction = "2\n";
    expect(NULL, SYMBOLS_RESTRICTED,
           "/proc/kallsyms hides the addresses from everybody; set kernel.kptr_restrict to 1 and run panalyze as "
           "root, or set kernel.kptr_restrict to 0 and kernel.perf_event_paranoid to 1",
           0, false);
    restriction = "0\n";
    bounded = true;
    hidden(otherwise);
    bounded = false;
    no_new_privileges = true;
    hidden(otherwise);
    no_new_privileges = false;
    users = "0 1000 1\n";
    expect(NULL, SYMBOLS_RESTRICTED,
           "/proc/kallsyms hides the addresses in a user namespace; run panalyze as root outside of the namespace", 0,
           false);
    users = NULL;
    hidden(advice);
    user = 0;
    expect(
        NULL, SYMBOLS_RESTRICTED,
        "/proc/kallsyms hides the addresses: root has no CAP_SYSLOG here (a container?); run panalyze with "
        "CAP_SYSLOG (docker run --cap-add SYSLOG), or set kernel.kptr_restrict to 0 and kernel.perf_event_paranoid to "
        "1",
        0, false);
    user = 1000;
}

static void test_list_of_names(void **state)
{
    (void)state;
    kallsyms = NULL;
    expect(NULL, SYMBOLS_RESTRICTED, "/proc/kallsyms cannot be read", 0, false);
    kallsyms = "";
    expect(NULL, SYMBOLS_RESTRICTED, "/proc/kallsyms has no names", 0, false);
    struct symbols *symbols;
    const struct symbols_options options = {.no_kernel = true};
    kallsyms = names_of_kernel;
    assert_int_equal(symbols_new(&options, &symbols), 0);
    assert_int_equal(symbols_missing(symbols_kernel(symbols, NULL)), SYMBOLS_NO_FILE);
    assert_string_equal(symbols_why(symbols_kernel(symbols, NULL)), "the names of the kernel are not looked up");
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

/* ---- lists that were saved */

static const char *const roots[] = {"/one", "/two"};

static struct symbols *with_roots(const struct symbols_kernel *kernel, struct symbols_dso **ret)
{
    const struct symbols_options options = {.debug_paths = roots, .debug_path_count = 2};
    struct symbols *symbols;
    assert_int_equal(symbols_new(&options, &symbols), 0);
    *ret = symbols_kernel(symbols, kernel);
    return symbols;
}

/* ADDRESS is in the function NAME, or in none. */
static void expect_name(struct symbols_dso *dso, uint64_t address, const char *name)
{
    struct symbol symbol;
    bool found = symbols_find(dso, address, &symbol);
    assert_int_equal(found, name != NULL);
    if (found)
        assert_string_equal(symbol.name, name);
}

/* The list of another kernel, which is in an archive, gives the names that it has, and no others. */
static void test_saved_list(void **state)
{
    static const char list[] = "ffffffff81000000 T _stext\n"
                               "ffffffff81000100 t (not saved)\n"
                               "ffffffff81000400 T other\n"
                               "ffffffff81000800 T (not saved)\n"
                               "ffffffffc0000000 t read_page\t[ext4]\n"
                               "ffffffffc0000400 t (not saved)\t[ext4]\n";
    struct symbols_kernel kernel = {.osrelease = "5.0",
                                    .build_id = running_id,
                                    .build_id_size = 20,
                                    .reference_name = "_stext",
                                    .reference_address = STEXT};
    struct symbols_dso *dso;
    (void)state;
    saved = list;
    struct symbols *symbols = with_roots(&kernel, &dso);
    assert_int_equal(symbols_missing(dso), 0);
    assert_null(symbols_why(dso));
    expect_name(dso, STEXT + 0xff, "_stext");
    expect_name(dso, STEXT + 0x100, NULL);
    expect_name(dso, SCHEDULE, "other");
    expect_name(dso, SCHEDULE + 0x3ff, "other");
    expect_name(dso, SCHEDULE + 0x400, NULL);
    expect_name(dso, MODULE + 0x3ff, "read_page");
    expect_name(dso, MODULE + 0x400, NULL);
    assert_non_null(strstr(symbols_kernel_file(dso), "/two/"));
    symbols_free(symbols);
    /* The running kernel knows more, unless it does not show it, or lies elsewhere. */
    for (int i = 0; i < 3; i++) {
        kernel.osrelease = NULL;
        kallsyms = i == 1 ? "0000000000000000 T _stext\n" : names_of_kernel;
        kernel.reference_address = i == 2 ? STEXT + 0x1000 : STEXT;
        symbols = with_roots(&kernel, &dso);
        assert_int_equal(symbols_missing(dso), 0);
        expect_name(dso, SCHEDULE + (i == 2 ? 0x1000 : 0), i ? "other" : "schedule");
        expect_name(dso, MODULE, i == 2 ? NULL : "read_page");
        assert_int_equal(strcmp(symbols_kernel_file(dso), "/proc/kallsyms") == 0, i == 0);
        symbols_free(symbols);
    }
}

static void test_damaged_list(void **state)
{
    static const char *const lists[] = {"", "nothing", "0000000000000000 T _stext\n", "ffffffff81000400 T schedule\n",
                                        "ffffffff81000000 t _stext\t[ext4]\nffffffff81000400 T schedule\n"};
    const struct symbols_kernel kernel = {.osrelease = "5.0",
                                          .build_id = running_id,
                                          .build_id_size = 20,
                                          .reference_name = "_stext",
                                          .reference_address = STEXT};
    struct symbols_dso *dso;
    char *text;
    size_t size;
    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        saved = lists[i];
        struct symbols *symbols = with_roots(&kernel, &dso);
        assert_int_equal(symbols_missing(dso), SYMBOLS_BROKEN);
        assert_string_equal(symbols_why(dso), "the saved list of the kernel's symbols is damaged");
        expect_name(dso, SCHEDULE, NULL);
        symbols_free(symbols);
    }
    saved = NULL;
    struct symbols *symbols = with_roots(&kernel, &dso);
    assert_int_equal(symbols_missing(dso), SYMBOLS_OTHER_KERNEL);
    assert_null(symbols_kernel_file(dso));
    assert_int_equal(symbols_kernel_cut(dso, NULL, 0, &text, &size), -ENODATA);
    symbols_free(symbols);
}

/* What KERNEL keeps of its list for ADDRESSES[COUNT]. */
static void expect_cut(const struct symbols_kernel *kernel, const uint64_t *addresses, size_t count,
                       const char *expected)
{
    struct symbols_dso *dso;
    struct symbols *symbols = with_roots(kernel, &dso);
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(symbols_kernel_cut(dso, addresses, count, &text, &size), 0);
    assert_string_equal(text, expected);
    assert_int_equal(size, strlen(expected));
    free(text);
    symbols_free(symbols);
}

static void test_cut(void **state)
{
    static const char list[] = "ffffffff81000400 T schedule\n"
                               "ffffffff81000400 t alias\n"
                               "ffffffff81000400 r no_code\n"
                               "ffffffff81000800 T after\n"
                               "ffffffff81000900 W last\n"
                               "0000000000000000 T nowhere\n"
                               "ffffffff81000000 T _stext\n"
                               "no line\n"
                               "ffffffffc0000000 t read_page\t[ext4]\n"
                               "ffffffffc0000100 t write_page\t[ext4]\n"
                               "ffffffffc0000200 t of_another\t[xfs]\n";
    const uint64_t one[] = {SCHEDULE + 0x10};
    const uint64_t several[] = {MODULE + 0x1ff, STEXT + 0x900, STEXT + 0x800, MODULE + 0x1ff};
    const uint64_t end[] = {MODULE + 0x200, UINT64_MAX}, before[] = {STEXT - 1, 0};
    struct symbols_kernel kernel = {.osrelease = "6.1.0-test"};
    (void)state;
    kallsyms = list;
    expect_cut(&kernel, NULL, 0, "");
    expect_cut(&kernel, before, 2, "");
    expect_cut(&kernel, one, 1,
               "ffffffff81000400 T schedule\nffffffff81000400 t alias\n"
               "ffffffff81000800 T (not saved)\n");
    expect_cut(&kernel, several, 4,
               "ffffffff81000800 T after\nffffffff81000900 W last\n"
               "ffffffffc0000000 t (not saved)\t[ext4]\n"
               "ffffffffc0000100 t write_page\t[ext4]\n"
               "ffffffffc0000200 t (not saved)\t[xfs]\n");
    expect_cut(&kernel, end, 2, "ffffffffc0000200 t of_another\t[xfs]\n");
    /* As it was recorded: elsewhere, and without modules, which no one knows the places of. */
    kernel = (struct symbols_kernel){
        .build_id = running_id, .build_id_size = 20, .reference_name = "_stext", .reference_address = STEXT + 0x100000};
    const uint64_t moved_there[] = {SCHEDULE + 0x100000, STEXT + 0x100900};
    expect_cut(&kernel, moved_there, 2,
               "ffffffff81100000 T _stext\nffffffff81100400 T schedule\n"
               "ffffffff81100400 t alias\nffffffff81100800 T (not saved)\n"
               "ffffffff81100900 W last\n");
}

/* The names out of a part are those out of all of the list; the part of a part is itself. */
static void test_part_names_the_same(void **state)
{
    const uint64_t addresses[] = {SCHEDULE, MODULE};
    struct symbols_kernel kernel = {
        .build_id = running_id, .build_id_size = 20, .reference_name = "_stext", .reference_address = STEXT};
    struct symbols_dso *dso;
    char *text, *again;
    size_t size;
    (void)state;
    struct symbols *symbols = with_roots(&kernel, &dso);
    assert_int_equal(symbols_kernel_cut(dso, addresses, 2, &text, &size), 0);
    symbols_free(symbols);
    saved = text;
    kallsyms = NULL;
    symbols = with_roots(&kernel, &dso);
    for (uint64_t at = 0; at < 0x2000; at += 0x100) {
        expect_name(dso, STEXT + at, at < 0x400 ? "_stext" : at < 0x800 ? "schedule" : NULL);
        expect_name(dso, MODULE + at, at < 0x1000 ? "read_page" : NULL);
    }
    assert_int_equal(symbols_kernel_cut(dso, addresses, 2, &again, &size), 0);
    assert_string_equal(again, text);
    symbols_free(symbols);
    free(again);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_release, set_up),
        cmocka_unit_test_setup(test_build_id, set_up),
        cmocka_unit_test_setup(test_notes, set_up),
        cmocka_unit_test_setup(test_list_of_names, set_up),
        cmocka_unit_test_setup(test_moved_kernel, set_up),
        cmocka_unit_test_setup(test_saved_list, set_up),
        cmocka_unit_test_setup(test_damaged_list, set_up),
        cmocka_unit_test_setup(test_cut, set_up),
        cmocka_unit_test_setup(test_part_names_the_same, set_up),
        cmocka_unit_test_setup(test_hidden_addresses, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
