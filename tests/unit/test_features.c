/* SPDX-License-Identifier: MIT */
/* What the files of a session have in common: the command line, the kernel's mapping; and where memory ends. */
#include "features_kit.h"

#include <errno.h>

#include "collector/output/identify.h"
#include "collector/records/kernelmap.h"

/* ---- In the place of the kernel's symbols, and of memory that ends ---- */

static bool has_kernel; /* its addresses are known */
static unsigned kernel_reads;
static int denied_allocation; /* the how manieth from now fails, it alone; 0: none */
static bool was_denied;

void __wrap_kernelmap_make(struct kernelmap *map, const struct records_layout *layout,
                           const struct records_stamp *stamp, struct buffer *buffer);
void __wrap_kernelmap_make(struct kernelmap *map, const struct records_layout *layout,
                           const struct records_stamp *stamp, struct buffer *buffer)
{
    assert_false(map->read);
    kernel_reads++;
    if (has_kernel)
        records_make_kernel(layout, stamp, 0x1000, 0x2000, 0x1000, "[kernel.kallsyms]_text", buffer);
}

bool __wrap_buildids_find(struct buildids *buildids, const struct result_module *module, struct buildid *ret);
bool __wrap_buildids_find(struct buildids *buildids, const struct result_module *module, struct buildid *ret)
{
    (void)buildids;
    (void)module;
    (void)ret;
    return false; /* test_identify.c has them */
}

static bool is_allowed(void)
{
    const bool denied = denied_allocation && --denied_allocation == 0;
    was_denied = was_denied || denied;
    return !denied;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return is_allowed() ? __real_calloc(count, size) : NULL;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return is_allowed() ? __real_malloc(size) : NULL;
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return is_allowed() ? __real_realloc(old, size) : NULL;
}

/* ---- The command line ---- */

static void expect_arguments(const char *text, size_t size, uint32_t count)
{
    features_begin();
    assert_int_equal(features.arguments.size, size);
    assert_memory_equal(features.arguments.data, text, size);
    assert_int_equal(features.argument_count, count);
}

static void arguments_of_the_user(void **state)
{
    (void)state;
    expect_arguments("run\0-x\0a b", 11, 3);
    typed_size = 10; /* without the last NUL, as a program may make it */
    expect_arguments("run\0-x\0a b", 11, 3);
    typed_size = 0;
    expect_arguments("", 0, 0);
    typed_size = 1;
    typed[0] = '\0';
    expect_arguments("", 1, 1);
    typed_error = -ENOENT;
    expect_arguments("", 0, 0);
}

/* 4096 bytes are told whole; of more the last ones are dots. */
static void long_arguments_are_cut(void **state)
{
    (void)state;
    memset(typed, 'a', sizeof(typed));
    typed[99] = typed[4095] = '\0';
    typed_size = 4096;
    expect_arguments(typed, 4096, 2);
    typed[4095] = 'a';
    typed[4096] = '\0';
    typed_size = 4097;
    char wanted[4096];
    memcpy(wanted, typed, 4092);
    memcpy(wanted + 4092, "...", 4);
    expect_arguments(wanted, 4096, 2);
    typed_size = sizeof(typed);
    expect_arguments(wanted, 4096, 2);
}

/* ---- The kernel's mapping ---- */

/* Start, size and name of the one record that is there, or "". */
static const char *kernel_text(void)
{
    static char text[128];
    const struct buffer *kernel = features_kernel(&features);
    uint64_t words[5];
    if (!kernel->size)
        return "";
    memcpy(words, kernel->data, sizeof(words));
    assert_int_equal((uint32_t)words[0], PERF_RECORD_MMAP);
    assert_int_equal(words[0] >> 48, kernel->size);
    assert_int_equal((uint32_t)words[1], UINT32_MAX);
    snprintf(text, sizeof(text), "%llx+%llx@%llx %s", (unsigned long long)words[2], (unsigned long long)words[3],
             (unsigned long long)words[4], (const char *)kernel->data + 40);
    return text;
}

static void the_kernel_is_mapped_where_it_is_seen(void **state)
{
    (void)state;
    has_kernel = false;
    kernel_reads = 0;
    features_begin();
    static const char hidden[] = "8000000000000000+7fffffffffffffff@0 [kernel.kallsyms]";
    assert_string_equal(kernel_text(), hidden); /* addresses are secret */
    has_kernel = true;
    assert_string_equal(kernel_text(), hidden); /* once for all */
    assert_int_equal(kernel_reads, 1);
    features_begin();
    features.kernel_known = false;
    assert_string_equal(kernel_text(), "1000+2000@1000 [kernel.kallsyms]_text");
    /* No event sees it. */
    for (unsigned i = 0; i < 3; i++)
        kit.config.events[i].attr.exclude_kernel = 1;
    features_begin();
    kernel_reads = 0;
    assert_string_equal(kernel_text(), "");
    assert_int_equal(kernel_reads, 0);
    kit.config.events[2].attr.exclude_kernel = 0; /* one is enough */
    assert_string_equal(kernel_text(), "1000+2000@1000 [kernel.kallsyms]_text");
}

/* ---- Memory ---- */

/* Whichever allocation fails: no files without names of their events, or without half of their sections. */
static void without_memory_there_are_no_files(void **state)
{
    (void)state;
    int error, number = 0;
    do {
        was_denied = false;
        denied_allocation = ++number;
        error = features_init(&features, &kit.session);
        denied_allocation = 0;
        assert_int_equal(error, was_denied ? -ENOMEM : 0);
        assert_true(was_denied ? !features.buildids && !features.packer && !features.names.data && !features.once.data
                               : features.buildids && features.packer);
        features_release(&features);
    } while (error);
    assert_true(number > 6); /* each buffer, and two that are more than that */
}

/* The items find no room: the file's error, not a file without them. */
static void sections_without_memory(void **state)
{
    (void)state;
    features_begin();
    const struct result_task task = kit_task(&kit, 5, 6);
    uint64_t bits[4];
    int number = 0;
    do {
        struct buffer to = BUFFER_INIT;
        was_denied = false;
        denied_allocation = ++number;
        buffer_release(&features.items);
        features_sections(&features, &task, NULL, NULL, 0, &to, 0, bits);
        denied_allocation = 0;
        assert_int_equal(buffer_failed(&to), was_denied);
        buffer_release(&to);
    } while (was_denied);
    assert_true(number > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(arguments_of_the_user),
        TEST(long_arguments_are_cut),
        TEST(the_kernel_is_mapped_where_it_is_seen),
        TEST(without_memory_there_are_no_files),
        TEST(sections_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
