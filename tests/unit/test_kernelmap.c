/* SPDX-License-Identifier: MIT */
/* Where the kernel and its modules lie, on kernels that the test makes up. */
#include "check.h"

#include <linux/perf_event.h>

#include "collector/records/kernelmap.h"

static const char *symbols, *modules; /* NULL: there is no such file */
static unsigned opened;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
    const char *text = !strcmp(path, "/proc/kallsyms") ? symbols : !strcmp(path, "/proc/modules") ? modules : NULL;
    if (strncmp(path, "/proc/", 6) != 0)
        return __real_fopen(path, mode);
    opened++;
    return text ? fmemopen((void *)(uintptr_t)text, strlen(text), "r") : NULL;
}

/* As the layout of records has no trailer here: start, size, offset and name of each mapping. */
static char *mappings(struct kernelmap *map, bool of_modules)
{
    struct buffer buffer = BUFFER_INIT;
    const struct records_layout layout = {.count = 1};
    const struct records_stamp stamp = {0};
    static char text[4096];
    size_t at = 0;
    text[0] = '\0';
    if (of_modules)
        kernelmap_make_modules(map, &layout, &stamp, &buffer);
    else
        kernelmap_make(map, &layout, &stamp, &buffer);
    for (size_t from = 0; from < buffer.size;) {
        struct perf_event_header header;
        uint64_t words[4];
        memcpy(&header, buffer.data + from, sizeof(header));
        memcpy(words, buffer.data + from + sizeof(header), sizeof(words));
        assert_int_equal(header.type, PERF_RECORD_MMAP);
        assert_int_equal(header.misc, PERF_RECORD_MISC_KERNEL);
        assert_int_equal(words[0], UINT32_MAX);
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%llx+%llx@%llx %s\n", (unsigned long long)words[1],
                               (unsigned long long)words[2], (unsigned long long)words[3],
                               (const char *)buffer.data + from + sizeof(header) + sizeof(words));
        from += header.size;
    }
    buffer_release(&buffer);
    return text;
}

static bool mentions(struct kernelmap *map, uint64_t address)
{
    const struct {
        struct perf_event_header header;
        uint64_t words[3];
    } sample = {{.type = PERF_RECORD_SAMPLE, .size = 32}, {1, 2, address}};
    return kernelmap_in_modules(map, &sample.header);
}

static void kernel_with_modules(void **state)
{
    struct kernelmap map;
    (void)state;
    symbols = "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\nffffffff82000000 T _text\n";
    /* The addresses of the first and the last are not at the ends of the list. */
    modules = "ext4 8192 1 - Live 0xffffffffc0004000\n"
              "xfs 4096 2 a,b, Live 0xffffffffc0001000\n"
              "nothing 0 0 - Live 0xffffffffc0000000\n"
              "hidden 4096 0 - Live 0x0000000000000000\n"
              "junk\n"
              "btrfs 12288 0 - Live 0xffffffffc0008000 (E)\n"
              "zram 256 0 - Live 0xffffffffc0003000\n";
    kernelmap_init(&map);
    opened = 0;
    assert_string_equal(mappings(&map, false), "ffffffff81000000+7effffff@ffffffff81000000 [kernel.kallsyms]_text\n");
    assert_string_equal(mappings(&map, true), "ffffffffc0004000+2000@0 [ext4]\n"
                                              "ffffffffc0001000+1000@0 [xfs]\n"
                                              "ffffffffc0008000+3000@0 [btrfs]\n"
                                              "ffffffffc0003000+100@0 [zram]\n");
    assert_true(map.start == 0xffffffffc0001000 && map.end == 0xffffffffc000b000);
    assert_true(mentions(&map, 0xffffffffc0001000));
    assert_true(mentions(&map, 0xffffffffc000afff));
    assert_false(mentions(&map, 0xffffffffc0000fff));
    assert_false(mentions(&map, 0xffffffffc000b000));
    assert_int_equal(opened, 2); /* each once */
    kernelmap_release(&map);
    assert_int_equal(map.count, 0);
    assert_false(map.read);
    kernelmap_release(&map);
}

/* _stext, where there is no _text before it; the first one counts. */
static void text_has_two_names(void **state)
{
    struct kernelmap map;
    (void)state;
    symbols = "ffffffff80008000 t _head\nno line\nffffffff80010000 T _stext\nffffffff80000000 T _text\n";
    modules = NULL;
    kernelmap_init(&map);
    assert_string_equal(mappings(&map, false), "ffffffff80010000+7ffeffff@ffffffff80010000 [kernel.kallsyms]_text\n");
    assert_string_equal(mappings(&map, true), "");
    assert_false(mentions(&map, 0xffffffff80010000)); /* the kernel is in every file anyway */
    kernelmap_release(&map);
}

/* Who may not know addresses is told zeros: then nothing is known of modules either. */
static void kernel_that_tells_nothing(void **state)
{
    static const char *const texts[] = {NULL, "", "0000000000000000 T _text\n", "ffffffff81000000 T other\n"};
    (void)state;
    modules = "ext4 8192 1 - Live 0xffffffffc0004000\n";
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct kernelmap map;
        symbols = texts[i] && !*texts[i] ? "\n" : texts[i];
        kernelmap_init(&map);
        opened = 0;
        assert_false(mentions(&map, 0xffffffffc0004000));
        assert_false(mentions(&map, 0));
        assert_string_equal(mappings(&map, false), "");
        assert_string_equal(mappings(&map, true), "");
        assert_int_equal(opened, 1);
        kernelmap_release(&map);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_with_modules),
        cmocka_unit_test(text_has_two_names),
        cmocka_unit_test(kernel_that_tells_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
