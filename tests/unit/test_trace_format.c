/* SPDX-License-Identifier: MIT */
/* The formats of tracepoints, as kernels write them and as they never do, and payloads of both byte orders. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/read/trace_format.h"

#define COMMON                                                                     \
    "format:\n"                                                                    \
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char switched[] =
    "name: sched_switch\nID: 372\n" COMMON "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\n"
    "print fmt: \"prev_comm=%s\", REC->prev_comm\n\tfield:int no_field;\toffset:0;\tsize:4;\tsigned:1;\n";
static const char executed[] = "name: sched_process_exec\nID: 365\n" COMMON
                               "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
                               "\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n\n";
static const char entered[] = "name: sys_enter\nID: 443\n" COMMON "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
                              "\tfield:unsigned long args[2];\toffset:16;\tsize:16;\tsigned:0;\n"
                              "\tfield:const char * filename;\toffset:32;\tsize:8;\tsigned:0;\n"
                              "\tfield:u8 small;\toffset:40;\tsize:1;\tsigned:0;\n"
                              "\tfield:unsigned char id_bytes[3];\toffset:41;\tsize:3;\tsigned:0;\n"
                              "\tfield:__rel_loc u32[] list;\toffset:44;\tsize:4;\tsigned:0;\n"
                              "\tfield:short minus;\toffset:48;\tsize:2;\tsigned:1;\n";

static struct arena arena;

static int release(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static void put(unsigned char *to, uint64_t value, size_t size, bool swap)
{
    for (size_t i = 0; i < size; i++)
        to[swap ? size - 1 - i : i] = (unsigned char)(value >> 8 * i);
}

static const char *text_of(const char *format, const unsigned char *raw, size_t size, bool swap)
{
    static char text[512];
    struct trace_formats formats = {.swap = swap};
    struct trace_event event;
    struct buffer to = BUFFER_INIT;
    assert_int_equal(trace_event_parse(format, strlen(format), "system", &arena, &event), 0);
    trace_event_print(&formats, &event, raw, size, &to);
    assert_false(buffer_failed(&to));
    snprintf(text, sizeof(text), "%.*s", (int)to.size, to.size ? (const char *)to.data : "");
    buffer_release(&to);
    return text;
}

static void test_payloads(void **state)
{
    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        unsigned char raw[96] = {0};
        memcpy(raw + 8, "sh\0old", 6);
        put(raw + 24, (uint64_t)-5, 4, swap);
        put(raw + 32, (uint64_t)-1, 8, swap);
        assert_string_equal(text_of(switched, raw, 40, swap), "prev_comm=sh prev_pid=-5 prev_state=-1");
        assert_string_equal(text_of(switched, raw, 39, swap), "prev_comm=sh prev_pid=-5 prev_state=?");
        assert_string_equal(text_of(switched, raw, 8, swap), "prev_comm=? prev_pid=? prev_state=?");

        put(raw + 8, 8u << 16 | 20, 4, swap);
        put(raw + 12, 77, 4, swap);
        memcpy(raw + 20, "/bin/ls", 8);
        assert_string_equal(text_of(executed, raw, 28, swap), "filename=/bin/ls pid=77");
        assert_string_equal(text_of(executed, raw, 27, swap), "filename=? pid=77");
        put(raw + 8, 0xffffffff, 4, swap);
        assert_string_equal(text_of(executed, raw, 96, swap), "filename=? pid=77");

        put(raw + 8, 257, 8, swap);
        put(raw + 16, 0xffffff9c, 8, swap);
        put(raw + 24, 7, 8, swap);
        put(raw + 32, 0x7fbab99e20b1, 8, swap);
        put(raw + 40, 255, 1, swap);
        memcpy(raw + 41, "ab\1", 3);
        put(raw + 44, 8u << 16 | 8, 4, swap);
        put(raw + 48, 0xfffe, 2, swap);
        put(raw + 56, 1, 4, swap);
        put(raw + 60, 300, 4, swap);
        assert_string_equal(text_of(entered, raw, 64, swap),
                            "id=257 args=ARRAY[ffffff9c, 07] filename=0x7fbab99e20b1 small=255 id_bytes=ab\1 "
                            "list=ARRAY[01, 12c] minus=-2");
    }
}

static void append_sized(struct buffer *to, const char *text, bool swap)
{
    put(buffer_extend(to, 8), strlen(text), 8, swap);
    buffer_append(to, text, strlen(text));
}

static void append_number(struct buffer *to, uint32_t number, bool swap)
{
    put(buffer_extend(to, 4), number, 4, swap);
}

static void make_section(struct buffer *to, bool swap)
{
    const bool big = swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    buffer_append(to, "\27\10\104tracing0.6", 14);
    buffer_append(to, big ? "\1\10" : "\0\10", 2);
    append_number(to, 4096, swap);
    buffer_append(to, "header_page", 12);
    append_sized(to, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n", swap);
    buffer_append(to, "header_event", 13);
    append_sized(to, "# compressed entry header\n", swap);
    append_number(to, 0, swap);
    append_number(to, 2, swap);
    buffer_append(to, "sched", 6);
    append_number(to, 2, swap);
    append_sized(to, switched, swap);
    append_sized(to, executed, swap);
    buffer_append(to, "raw_syscalls", 13);
    append_number(to, 1, swap);
    append_sized(to, entered, swap);
}

static void test_section(void **state)
{
    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        struct buffer bytes = BUFFER_INIT;
        struct trace_formats formats;
        make_section(&bytes, swap);
        assert_int_equal(trace_formats_read(cursor_of(bytes.data, bytes.size), &arena, &formats), 0);
        assert_string_equal(formats.version, "0.6");
        assert_int_equal(formats.page_bytes, 4096);
        assert_int_equal(formats.long_bytes, 8);
        assert_int_equal(formats.swap, swap);
        assert_false(formats.damaged);
        assert_int_equal(formats.event_count, 3);
        const struct trace_event *event = trace_formats_find(&formats, 443);
        assert_non_null(event);
        assert_string_equal(event->system, "raw_syscalls");
        assert_string_equal(event->name, "sys_enter");
        assert_int_equal(event->field_count, 7);
        assert_string_equal(event->fields[1].type, "unsigned long");
        assert_null(trace_formats_find(&formats, 1));
        assert_null(trace_formats_find(&formats, 1ull << 32 | 443));
        /* Cut off anywhere: what was before is there, and no byte beyond is read. */
        for (size_t size = 0; size < bytes.size; size++) {
            unsigned char *exact = malloc(size + !size);
            memcpy(exact, bytes.data, size);
            int status = trace_formats_read(cursor_of(exact, size), &arena, &formats);
            assert_true(status == 0 ? formats.damaged : size < 14);
            assert_true(formats.event_count < 3);
            free(exact);
        }
        buffer_release(&bytes);
    }
}

static int parse(const char *text)
{
    struct trace_event event;
    int status = trace_event_parse(text, strlen(text), "system", &arena, &event);
    if (status == 0) {
        struct buffer to = BUFFER_INIT;
        static const unsigned char raw[8] = {255, 255, 255, 255, 255, 255, 255, 255};
        trace_event_print(&(struct trace_formats){0}, &event, raw, sizeof(raw), &to);
        buffer_release(&to);
    }
    return status;
}

static void test_hostile_formats(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "",
        "name: a\n",
        "name:\nID: 1\n",
        "ID: 1\n",
        "name: a\nID: 4294967296\n",
        "name: a\nID: -1\n",
        "name: a\nID: 1\n\tfield:",
        "name: a\nID: 1\n\tfield:int a;\toffset:0;\n",
        "name: a\nID: 1\n\tfield:int a;\toffset:x;\tsize:4;\n",
        "name: a\nID: 1\n\tfield:a;\toffset:0;\tsize:4;\n",
        "name: a\nID: 1\n\tfield:[4];\toffset:0;\tsize:4;\n",
        "name: a\nID: 1\n\tfield:];\toffset:0;\tsize:4;\n",
        "name: a\nID: 1\n\tfield:;\toffset:0;\tsize:4;\n",
        "name: a\nID: 1\n\tfield:int a;\toffset:99999999999999999999;\tsize:4;\n",
    };
    static const char *const taken[] = {
        "name: a\nID: 1\n\tfield:int a;\toffset:4294967295;\tsize:4294967295;\tsigned:1;\n",
        "name: a\nID: 1\n\tfield:int a;\toffset:0;\tsize:0;\tsigned:1;\n",
        "name: a\nID: 1\n\tfield:int a[0];\toffset:0;\tsize:8;\n",
        "name: a\nID: 1\n\tfield:int a[4294967295];\toffset:0;\tsize:8;\n",
        "name: a\nID: 1\n\tfield:u64 a[3];\toffset:0;\tsize:7;\n",
        "name: a\nID: 1\n\tfield:__data_loc char[] a;\toffset:0;\tsize:8;\n",
        "name: a\nID: 1\n\tfield:__rel_loc u64[] a;\toffset:4;\tsize:4;\n",
        "name: a\nID: 1\n\tfield:const char *a;\toffset:0;\tsize:3;\n",
        "name: a\nID: 0",
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (parse(refused[i]) == 0)
            fail_msg("taken: %s", refused[i]);
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        if (parse(taken[i]) < 0)
            fail_msg("refused: %s", taken[i]);
}

static void test_other_sections(void **state)
{
    (void)state;
    struct trace_formats formats;
    assert_int_equal(trace_formats_read(cursor_of("", 0), &arena, &formats), -EBADMSG);
    assert_int_equal(trace_formats_read(cursor_of("\27\10\104tracinG0.6\0", 15), &arena, &formats), -EBADMSG);
    struct buffer bytes = BUFFER_INIT;
    make_section(&bytes, false);
    put(bytes.data + 14 + 6 + 12, UINT64_MAX, 8, false);
    assert_int_equal(trace_formats_read(cursor_of(bytes.data, bytes.size), &arena, &formats), 0);
    assert_true(formats.damaged);
    assert_int_equal(formats.event_count, 0);
    buffer_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_payloads, release),
        cmocka_unit_test_teardown(test_section, release),
        cmocka_unit_test_teardown(test_hostile_formats, release),
        cmocka_unit_test_teardown(test_other_sections, release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
