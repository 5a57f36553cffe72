/* SPDX-License-Identifier: MIT */
/* What dlsym(RTLD_NEXT) finds, found without it; here the program itself is the DSO. */
#include "check.h"
#include "preload/symbols.h"

#include <dlfcn.h>
#include <string.h>

/* Of the two libraries, linked with each kind of hash table; the third is loaded by the test. */
int old_hash_function(void);
int gnu_hash_function(void);

static void test_as_dlsym(void **state)
{
    /* posix_spawn, and others in time, have an old version beside the default one. */
    static const char *const names[] = {
        "execve",
        "execvpe",
        "fexecve",
        "posix_spawn",
        "posix_spawnp",
        "pthread_create",
        "wait4",
        "waitid",
        "prctl",
        "sigaction",
        "signal",
        "sigprocmask",
        "pthread_sigmask",
        "dl_iterate_phdr",
        "__libc_start_main",
        "syscall",
        "__pthread_register_cancel",
        "old_hash_function",
        "gnu_hash_function",
        "test_common",
        "memcpy_no",
    };
    enum { COUNT = sizeof(names) / sizeof(names[0]) };
    struct pinject_symbol symbols[COUNT];
    size_t missing = 0;
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        symbols[i] = (struct pinject_symbol){names[i], NULL};
    size_t left = pinject_symbols_find(symbols, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        void *expected = dlsym(RTLD_NEXT, names[i]);
        missing += !expected;
        if (symbols[i].address != expected)
            print_error("%s: %p instead of %p\n", names[i], symbols[i].address, expected);
        assert_ptr_equal(symbols[i].address, expected);
    }
    assert_int_equal(left, missing);
    assert_int_equal(missing, 1);
    assert_int_equal(old_hash_function() + gnu_hash_function(), 3);
}

static void test_known_ones_stay(void **state)
{
    struct pinject_symbol symbols[] = {{"wait4", state}, {"waitid", NULL}};
    assert_int_equal(pinject_symbols_find(symbols, 2), 0);
    assert_ptr_equal(symbols[0].address, state);
    assert_ptr_equal(symbols[1].address, dlsym(RTLD_NEXT, "waitid"));
}

/* As libpthread below glibc 2.34. */
static void test_library_that_comes_late(void **state)
{
    struct pinject_symbol symbol = {"late_function", NULL};
    (void)state;
    assert_int_equal(pinject_symbols_find(&symbol, 1), 1);
    assert_null(pinject_symbols_find_late(dl_iterate_phdr, "late_function"));
    void *library = dlopen(TEST_LATE, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    assert_ptr_equal(pinject_symbols_find_late(dl_iterate_phdr, "late_function"), dlsym(library, "late_function"));
    assert_int_equal(pinject_symbols_find(&symbol, 1), 0);
    assert_ptr_equal(symbol.address, dlsym(library, "late_function"));
    dlclose(library);
}

/* Found again through us, we would call ourselves. */
int pinject_own_function(void);

__attribute__((visibility("default"))) int pinject_own_function(void)
{
    return 0;
}

static void test_never_itself(void **state)
{
    struct pinject_symbol symbol = {"pinject_own_function", NULL};
    (void)state;
    assert_non_null(dlsym(RTLD_DEFAULT, symbol.name));
    assert_int_equal(pinject_symbols_find(&symbol, 1), 1);
    assert_null(pinject_symbols_find_late(dl_iterate_phdr, symbol.name));
}

static void test_own_name(void **state)
{
    const struct link_map *self = pinject_symbols_self();
    (void)state;
    assert_non_null(self);
    assert_string_equal(self->l_name, ""); /* of a program */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_dlsym),     cmocka_unit_test(test_known_ones_stay),
        cmocka_unit_test(test_never_itself), cmocka_unit_test(test_library_that_comes_late),
        cmocka_unit_test(test_own_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
