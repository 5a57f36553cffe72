/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "preload/environ.h"

#include <errno.h>
#include <sys/mman.h>

#define OURS    "/opt/pinject/lib/libpinject.so"
#define SESSION "PINJECT_SESSION=/dev/shm/pinject-1"

static const struct pinject_ours ours = {SESSION, OURS};

static const char *joined(const char *value)
{
    static char out[1024];
    size_t size = pinject_ld_preload_join(value, OURS, NULL);
    assert_int_equal(pinject_ld_preload_join(value, OURS, out), size);
    out[size] = 0;
    return out;
}

/* "-": nothing is left of the variable. */
static const char *left(const char *value)
{
    static char out[1024];
    bool gone, gone_again;
    size_t size = pinject_ld_preload_leave(value, OURS, NULL, &gone);
    strcpy(out, value);
    assert_int_equal(pinject_ld_preload_leave(out, OURS, out, &gone_again), size);
    assert_int_equal(gone, gone_again);
    out[size] = 0;
    return gone ? "-" : out;
}

static void test_preload_join(void **state)
{
    (void)state;
    assert_string_equal(joined(""), OURS ":");
    assert_string_equal(joined("/a.so"), OURS ":/a.so");
    assert_string_equal(joined("/a.so /b.so"), OURS ":/a.so /b.so");
    assert_string_equal(joined("/a.so " OURS), "/a.so " OURS);
    assert_string_equal(joined("/a.so:" OURS " /b.so"), "/a.so:" OURS " /b.so");
    /* A relative path would not be found after chdir; a second copy would count everything twice. */
    assert_string_equal(joined("./libpinject.so"), OURS);
    assert_string_equal(joined("/a.so:/usr/lib/libpinject.so :"), "/a.so:" OURS " :");
    assert_string_equal(joined("libpinject.so"), OURS);
    /* Others whose names end or begin alike. */
    assert_string_equal(joined("/x/mylibpinject.so"), OURS ":/x/mylibpinject.so");
    assert_string_equal(joined("/x/libpinject.so.1"), OURS ":/x/libpinject.so.1");
    assert_string_equal(joined(" : "), OURS ": : ");
}

static void test_preload_leave(void **state)
{
    (void)state;
    assert_string_equal(left(OURS), "-");
    assert_string_equal(left(OURS ":"), "");
    assert_string_equal(left(OURS ":/a.so"), "/a.so");
    assert_string_equal(left(OURS " /a.so:/b.so"), "/a.so:/b.so");
    assert_string_equal(left("/a.so:" OURS), "/a.so");
    assert_string_equal(left("/a.so " OURS ":/b.so"), "/a.so /b.so");
    assert_string_equal(left(OURS ":" OURS), "-");
    assert_string_equal(left("/a.so"), "/a.so");
    assert_string_equal(left(""), "");
    assert_string_equal(left("./libpinject.so"), "-");
    assert_string_equal(left("/a.so:/b.so :"), "/a.so:/b.so :");
}

static void test_join_then_leave_is_nothing(void **state)
{
    static const char *const values[] = {"", "/a.so", " /a.so", "/a.so ", "a:b c", ":", "::x"};
    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char value[1024];
        strcpy(value, joined(values[i]));
        assert_string_equal(left(value), values[i]);
    }
}

/* The vector after join or leave as one text: entries between '|'. "=" when nothing has to change. */
static const char *after(bool join, char *const *envp)
{
    static char out[4096];
    static void *memory[2048];
    struct pinject_env_layout layout;
    assert_int_equal(pinject_env_layout(&layout, envp, ours, join), 0);
    if (!layout.changes)
        return "=";
    assert_true(layout.bytes + 8 <= sizeof(memory));
    memset(memory, 0xa5, sizeof(memory));
    char **built = pinject_env_build(&layout, memory);
    /* Not one byte more than it asked for. */
    assert_int_equal(((unsigned char *)memory)[layout.bytes], 0xa5);
    out[0] = 0;
    for (; *built; built++) {
        strcat(out, *built);
        strcat(out, "|");
    }
    return out;
}

#define VECTOR(...) ((char *const[]){__VA_ARGS__, NULL})
#define S(text)     ((char *)(uintptr_t)(text))

static void test_join(void **state)
{
    (void)state;
    assert_string_equal(after(true, NULL), SESSION "|LD_PRELOAD=" OURS "|");
    assert_string_equal(after(true, VECTOR(NULL)), SESSION "|LD_PRELOAD=" OURS "|");
    assert_string_equal(after(true, VECTOR(S("A=1"), S("B=2"))), "A=1|B=2|" SESSION "|LD_PRELOAD=" OURS "|");
    assert_string_equal(after(true, VECTOR(S("LD_PRELOAD=/a.so"), S("B"))), "LD_PRELOAD=" OURS ":/a.so|B|" SESSION "|");
    assert_string_equal(after(true, VECTOR(S(SESSION), S("LD_PRELOAD=" OURS))), "=");
    assert_string_equal(after(true, VECTOR(S(SESSION), S("A"))), SESSION "|A|LD_PRELOAD=" OURS "|");
    assert_string_equal(after(true, VECTOR(S("LD_PRELOAD=" OURS), S("A"))), "LD_PRELOAD=" OURS "|A|" SESSION "|");
    assert_string_equal(after(true, VECTOR(S(SESSION), S("LD_PRELOAD=./libpinject.so"))),
                        SESSION "|LD_PRELOAD=" OURS "|");
    /* It is there behind others, and so is another copy of it, whose name is as long. */
    assert_string_equal(after(true, VECTOR(S(SESSION), S("LD_PRELOAD=/a.so:" OURS))), "=");
    assert_string_equal(after(true, VECTOR(S(SESSION), S("LD_PRELOAD=/a.so /b.so " OURS " /c.so"))), "=");
    assert_string_equal(after(true, VECTOR(S(SESSION), S("LD_PRELOAD=/opt/pinject/lob/libpinject.so"))),
                        SESSION "|LD_PRELOAD=" OURS "|");
    assert_string_equal(after(true, VECTOR(S(SESSION), S("LD_PRELOAD=/a.so:/opt/pinject/lob/libpinject.so:/b.so"))),
                        SESSION "|LD_PRELOAD=/a.so:" OURS ":/b.so|");
}

static void test_join_takes_the_variable_that_ld_so_obeys(void **state)
{
    (void)state;
    assert_string_equal(after(true, VECTOR(S("LD_PRELOAD=/a.so"), S("LD_PRELOAD=/b.so"))),
                        "LD_PRELOAD=/a.so|LD_PRELOAD=" OURS ":/b.so|" SESSION "|");
    assert_string_equal(after(true, VECTOR(S("LD_PRELOAD=" OURS), S(SESSION), S("LD_PRELOAD="))),
                        "LD_PRELOAD=" OURS "|" SESSION "|LD_PRELOAD=" OURS ":|");
}

static void test_strange_entries(void **state)
{
    (void)state;
    /* No '=', no name, names that only begin like ours. */
    assert_string_equal(
        after(true, VECTOR(S("LD_PRELOAD"), S(""), S("="), S("LD_PRELOADX=1"), S("PINJECT_SESSION"), S("L"), S("P"))),
        "LD_PRELOAD||=|LD_PRELOADX=1|PINJECT_SESSION|L|P|" SESSION "|LD_PRELOAD=" OURS "|");
    assert_string_equal(after(false, VECTOR(S("LD_PRELOAD"), S(""), S("PINJECT_SESSION"), S("PINJECT_FREQ=9"))), "=");
}

/* ldd: the loader would list our preload object, too. */
static void test_no_join_where_preloads_are_listed(void **state)
{
    (void)state;
    assert_string_equal(after(true, VECTOR(S("LD_TRACE_LOADED_OBJECTS=1"), S("A=1"))), "=");
    assert_string_equal(after(true, VECTOR(S(SESSION), S("LD_PRELOAD=" OURS ":/a.so"), S("LD_TRACE_LOADED_OBJECTS="))),
                        "LD_PRELOAD=/a.so|LD_TRACE_LOADED_OBJECTS=|");
    assert_string_equal(after(true, VECTOR(S("LD_TRACE_LOADED_OBJECTS"), S("LD_TRACE_LOADED_OBJECTSX=1"), S("LD_"))),
                        "LD_TRACE_LOADED_OBJECTS|LD_TRACE_LOADED_OBJECTSX=1|LD_|" SESSION "|LD_PRELOAD=" OURS "|");
}

static void test_leave(void **state)
{
    (void)state;
    assert_string_equal(after(false, NULL), "=");
    assert_string_equal(after(false, VECTOR(S("A=1"), S("LD_PRELOAD=/a.so"))), "=");
    assert_string_equal(after(false, VECTOR(S("A=1"), S(SESSION), S("LD_PRELOAD=" OURS), S("B=2"))), "A=1|B=2|");
    assert_string_equal(
        after(false, VECTOR(S(SESSION), S(SESSION), S("LD_PRELOAD=" OURS), S("LD_PRELOAD=" OURS ":/a.so"))),
        "LD_PRELOAD=/a.so|");
}

static void test_another_session_is_left_alone(void **state)
{
    char *const envp[] = {S("PINJECT_SESSION=/dev/shm/other"), S("LD_PRELOAD=/other/libpinject.so"), NULL};
    (void)state;
    assert_string_equal(after(true, envp), "=");
    assert_string_equal(after(false, envp), "=");
}

static void test_wild_pointers(void **state)
{
    struct pinject_env_layout layout;
    long page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_int_equal(mprotect(pages + page, (size_t)page, PROT_NONE), 0);
    assert_int_equal(pinject_env_layout(&layout, (char *const *)8, ours, true), -EFAULT);
    assert_int_equal(pinject_env_layout(&layout, (char *const *)-8, ours, true), -EFAULT);
    assert_int_equal(pinject_env_layout(&layout, VECTOR(S("A"), (char *)1), ours, true), -EFAULT);
    assert_int_equal(pinject_env_layout(&layout, VECTOR((char *)-1), ours, false), -EFAULT);
    /* A vector without end, a name and a value that run out of memory. */
    char **vector = (char **)(pages + page) - 2;
    vector[0] = vector[1] = S("A=1");
    assert_int_equal(pinject_env_layout(&layout, vector, ours, true), -EFAULT);
    memcpy(pages + page - 5, "LD_PR", 5);
    assert_int_equal(pinject_env_layout(&layout, VECTOR(pages + page - 5), ours, true), -EFAULT);
    memcpy(pages + page - 13, "LD_PRELOAD=/a", 13);
    assert_int_equal(pinject_env_layout(&layout, VECTOR(pages + page - 13), ours, true), -EFAULT);
    /* Up to the last byte is fine. */
    memcpy(pages + page - 14, "LD_PRELOAD=/a", 14);
    assert_string_equal(after(true, VECTOR(pages + page - 14)), "LD_PRELOAD=" OURS ":/a|" SESSION "|");
    munmap(pages, (size_t)page * 2);
}

static void test_limits(void **state)
{
    struct pinject_env_layout layout;
    size_t count = PINJECT_ENV_ENTRIES + 1;
    char **vector = calloc(count + 1, sizeof(*vector));
    char *value = malloc(PINJECT_ENV_STRING + 2);
    (void)state;
    for (size_t i = 0; i < count; i++)
        vector[i] = S("A=1");
    assert_int_equal(pinject_env_layout(&layout, vector, ours, true), -E2BIG);
    vector[count - 1] = NULL;
    assert_int_equal(pinject_env_layout(&layout, vector, ours, true), 0);
    memset(value, 'x', PINJECT_ENV_STRING + 1);
    memcpy(value, "LD_PRELOAD=", 11);
    value[PINJECT_ENV_STRING + 1] = 0;
    assert_int_equal(pinject_env_layout(&layout, VECTOR(value), ours, true), -E2BIG);
    value[PINJECT_ENV_STRING] = 0;
    assert_int_equal(pinject_env_layout(&layout, VECTOR(value), ours, true), 0);
    free(value);
    free(vector);
}

static void test_leave_in_place(void **state)
{
    char preload[] = "LD_PRELOAD=" OURS ":/a.so", buffer[64];
    char *envp[] = {S("A=1"), S(SESSION), preload, S("B=2"), NULL};
    (void)state;
    assert_int_equal(pinject_env_leave_in_place(envp, ours, buffer, sizeof(buffer)), 1);
    assert_string_equal(envp[0], "A=1");
    assert_ptr_equal(envp[1], buffer);
    assert_string_equal(envp[1], "LD_PRELOAD=/a.so");
    assert_string_equal(envp[2], "B=2");
    assert_null(envp[3]);
    assert_null(envp[4]);
    assert_string_equal(preload, "LD_PRELOAD=" OURS ":/a.so");

    char *again[] = {preload, S("PINJECT_SESSION=/unknown"), NULL};
    assert_int_equal(pinject_env_leave_in_place(again, (struct pinject_ours){NULL, NULL}, NULL, 0), 1);
    assert_ptr_equal(again[0], preload);
    assert_string_equal(preload, "LD_PRELOAD=/a.so");
    assert_null(again[1]);
}

static void test_value(void **state)
{
    char longer[] = "NAMES=1", empty[] = "EMPTY=", value[] = "NAME=2", again[] = "NAME=3";
    char *environment[] = {longer, empty, value, again, NULL};
    (void)state;
    assert_string_equal(pinject_env_value(environment, "NAME="), "2");
    assert_string_equal(pinject_env_value(environment, "EMPTY="), "");
    assert_null(pinject_env_value(environment, "NAM="));
    assert_null(pinject_env_value(environment + 4, "NAME="));
    assert_null(pinject_env_value(NULL, "NAME="));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value),
        cmocka_unit_test(test_preload_join),
        cmocka_unit_test(test_preload_leave),
        cmocka_unit_test(test_join_then_leave_is_nothing),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_join_takes_the_variable_that_ld_so_obeys),
        cmocka_unit_test(test_strange_entries),
        cmocka_unit_test(test_no_join_where_preloads_are_listed),
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_another_session_is_left_alone),
        cmocka_unit_test(test_wild_pointers),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_leave_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
