/* SPDX-License-Identifier: MIT */
/* panalyze script of a made-up recording that has what no machine here can record: branches, weights, a group, ... */
#include "check.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/model/loader.h"
#include "analyze/script/script.h"
#include "analyze/script/script_fields.h"
#include "common/perfdata.h"
#include "perfdata_writer.h"

#define PAGE_SIZES    (3ull << 22)
#define WEIGHT_STRUCT (1ull << 24)
#define FIELDS                                                                                           \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |   \
     PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_RAW | \
     PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | WEIGHT_STRUCT |         \
     PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR |    \
     PERF_SAMPLE_CGROUP | PAGE_SIZES | PERF_SAMPLE_AUX)

static void put(struct writer *writer, uint64_t value)
{
    writer_u64(writer, &writer->data, value);
}

static void put_pair(struct writer *writer, uint32_t first, uint32_t second)
{
    writer_u32(writer, &writer->data, first);
    writer_u32(writer, &writer->data, second);
}

static void put_sample(struct writer *writer)
{
    writer_begin(writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    put(writer, 100);
    put(writer, 0x401000);
    put_pair(writer, 10, 11);
    put(writer, writer->time);
    put(writer, 0x7000);
    put(writer, 55);
    put_pair(writer, 3, 0);
    put(writer, 4000);
    /* One value, its times, id and losses. */
    for (uint64_t i = 0; i < 5; i++)
        put(writer, i == 3 ? 100 : 70 + i);
    writer_u32(writer, &writer->data, 12);
    buffer_append(&writer->data, "twelve bytes", 12);
    put(writer, 2);
    put(writer, 9);
    put(writer, 0x401010);
    put(writer, 0x401020);
    put(writer, 1 | 1 << 3 | 17 << 4 | 1 << 20);
    put(writer, 0x401030);
    put(writer, 0x401040);
    put(writer, 1 << 1 | 1 << 2 | 6 << 20);
    put(writer, 1);
    put(writer, 0xa);
    put(writer, 0xb);
    put(writer, 8);
    put(writer, 0xdd);
    put(writer, 8);
    put(writer, 0x0006000500000004ull);
    put(writer, 0x1e05080021);
    put(writer, 2);
    put(writer, 2);
    put(writer, 0xc);
    put(writer, 0x8000);
    put(writer, 7);
    put(writer, 4096);
    put(writer, 2 << 20);
    put(writer, 8);
    buffer_append(&writer->data, "aux data", 8);
    writer_end(writer);
}

static void put_records(struct writer *writer)
{
    writer_begin(writer, PERF_RECORD_CGROUP, 0);
    put(writer, 7);
    buffer_string(&writer->data, "/user\033[1m");
    writer_end(writer);
    writer_comm(writer, "work", true);
    writer_begin(writer, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT);
    writer_end(writer);
    writer_begin(writer, PERF_RECORD_TEXT_POKE, 0);
    put(writer, 0x10);
    writer_u16(writer, &writer->data, 1);
    writer_u16(writer, &writer->data, 3);
    buffer_append(&writer->data, "abcd", 4);
    writer_end(writer);
    writer_begin(writer, PERF_RECORD_READ, 0);
    put_pair(writer, 10, 11);
    for (uint64_t i = 0; i < 5; i++)
        put(writer, 80 + i);
    writer_end(writer);
    writer_begin(writer, PERF_RECORD_NAMESPACES, 0);
    put_pair(writer, 10, 11);
    put(writer, 1000); /* more than it has */
    writer_end(writer);
    writer_begin(writer, PERFDATA_RECORD_THREAD_MAP, 0);
    put(writer, 1);
    put(writer, 10);
    buffer_append(&writer->data, "work\0\0\0\0\0\0\0\0\0\0\0", 16);
    writer_end(writer);
    writer_begin(writer, 40, 0);
    put(writer, 0x0102);
    writer_end(writer);
}

static void make(struct writer *writer, struct buffer *bytes)
{
    writer_init(writer, false, false);
    struct perf_event_attr *attr = writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 4000, "faults");
    attr->sample_type = FIELDS;
    attr->read_format = 1 | 2 | 4 | 16;
    attr->branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX;
    attr->sample_regs_user = 3;
    attr->sample_regs_intr = 1 << 8;
    writer_text(writer, &writer->features[PERFDATA_ARCH], "x86_64");
    writer->pid = 10;
    writer->tid = 11;
    writer->cpu = 3;
    writer->time = 5000001000;
    put_records(writer);
    writer->time += 2000000;
    put_sample(writer);
    writer_finish(writer, bytes);
    const char *save = getenv("PINJECT_SAVE"); /* to make a seed of tests/fuzz of it */
    if (save)
        writer_save(writer, save);
}

/* What script prints; owned by the caller. */
static char *print_with(struct settings settings, const char *fields, int wanted)
{
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    struct profile *profile;
    char *text = NULL;
    size_t size;
    make(&writer, &bytes);
    assert_int_equal(profile_load_memory(bytes.data, bytes.size, NULL, &profile), 0);
    if (fields)
        assert_int_equal(script_fields_parse(fields, &settings.fields), 0);
    struct output output = {.to = open_memstream(&text, &size)};
    struct view view = {.settings = &settings, .profile = profile, .output = &output};
    view.names = names_new(profile, &settings);
    view.selection = select_new(profile, &settings, view.names, false);
    assert_int_equal(script_view(&view), wanted);
    fclose(output.to);
    select_free(view.selection);
    names_free(view.names);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
    return text;
}

static char *print(const char *fields, bool all, bool json, int wanted)
{
    return print_with((struct settings){.all = all, .json = json, .symfs = "/opt/no-such"}, fields, wanted);
}

static void expect(const char *fields, bool all, const char *wanted)
{
    char *text = print(fields, all, false, 0);
    assert_string_equal(text, wanted);
    free(text);
}

/* The period is the count since the last sample, as in every sample that reads its event. */
static void test_fields(void **state)
{
    (void)state;
    expect("comm,pid,tid,cpu,time,period,event", false,
           "work      10/11      [003]     5.002001:         70 faults: \n");
    expect("tid,ip,sym,dso", false, "     11           401000 [unknown] ([unknown]) \n");
    expect("id,stream_id,read", false, "id:100 stream_id:55 value:70 id:100 lost:74 enabled:71 running:72 \n");
    expect("read,values", false, "value:70 id:100 lost:74 enabled:71 running:72 values: faults=70(+70) \n");
    expect("addr,phys_addr,data_page_size,code_page_size", false, "            7000             8000 4K 2M \n");
    expect("weight,ins_lat,retire_lat,transaction", false,
           "               4                5                6 transaction:0x2 \n");
    /* A path cannot change the terminal. */
    expect("cgroup", false, "/user\\033[1m \n");
    expect("iregs,uregs,ustack", false, " ABI:2    IP:0xc  ABI:1    AX:0xa    BX:0xb ustack:8/8 \n");
    expect("brstack", false, " 0x401010/0x401020/M/-/A/17/COND  0x401030/0x401040/P/X/-/0/RET \n");
    expect("brstacksym", false, " [unknown]/[unknown]/M/-/A/17/COND  [unknown]/[unknown]/P/X/-/0/RET \n");
    expect("ip,dso,brstacksym", false,
           "          401000 ([unknown])  [unknown]([unknown])/[unknown]([unknown])/M/-/A/17/COND  "
           "[unknown]([unknown])/[unknown]([unknown])/P/X/-/0/RET \n");
    expect("raw,aux", false, "raw:7477656c7665206279746573 aux:6175782064617461 \n");
}

static void test_all(void **state)
{
    (void)state;
    expect("event", true,
           "PERF_RECORD_THREAD_MAP threads=1 [ pid=10 comm=work ]\n"
           ":11 10/11 [003] 5.000001: PERF_RECORD_CGROUP id=7 path=/user\\033[1m\n"
           "work 10/11 [003] 5.000001: PERF_RECORD_COMM exec pid=10 tid=11 comm=work\n"
           "work 10/11 [003] 5.000001: PERF_RECORD_SWITCH out\n"
           "work 10/11 [003] 5.000001: PERF_RECORD_TEXT_POKE addr=0x10 old_len=1 new_len=3 old=61 new=626364\n"
           "work 10/11 [003] 5.000001: PERF_RECORD_READ pid=10 tid=11 value=80 time_enabled=81 time_running=82 id=83 "
           "lost=84\n"
           "work 10/11 [003] 5.000001: PERF_RECORD_NAMESPACES pid=10 tid=11 (cut off)\n"
           "work 10/11 [003] 5.000001: PERF_RECORD_40 bytes=0201000000000000\n"
           "faults: \n");
}

static void test_json(void **state)
{
    (void)state;
    static const char *const parts[] = {"\"record\":\"SAMPLE\"",
                                        "\"stream_id\":55",
                                        "\"brstack_hw_idx\":9",
                                        "\"from\":4198416",
                                        "\"cycles\":17",
                                        "\"uregs\":{\"abi\":1,\"AX\":10,\"BX\":11}",
                                        "\"iregs\":{\"abi\":2,\"IP\":12}",
                                        "\"cgroup\":7",
                                        "\"data_page_size\":4096",
                                        "\"raw\":\"7477656c7665206279746573\"",
                                        "\"lost\":74",
                                        "\"values\":[{\"event\":\"faults\",\"total\":70,\"delta\":70}]",
                                        "\"cut_off\":true",
                                        "\"misc_flags\":[\"out\"]",
                                        "\"threads\":[{\"pid\":10,\"comm\":\"work\"}]",
                                        "\"ins_lat\":5"};
    char *text = print(NULL, true, true, 0), *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ' && *from != '\n')
            *to++ = *from;
    *to = '\0';
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (!strstr(text, parts[i]))
            fail_msg("no %s in %s", parts[i], text);
    free(text);
    text = print("brstacksym", false, true, 0);
    assert_non_null(strstr(text, "\"from_sym\""));
    assert_non_null(strstr(text, "\"to_dso\""));
    free(text);
    text = print("time,srcline,ip", false, true, 0);
    assert_null(strstr(text, "comm"));
    assert_null(strstr(text, "from_sym"));
    assert_null(strstr(text, "SAMPLE"));
    free(text);
}

/* The columns of pfmon: number, pid, tid, CPU, address, time, event, set, minus the period; then the group's values. */
static void test_compact(void **state)
{
    (void)state;
    char *text = print_with((struct settings){.compact = true}, NULL, 0);
    assert_string_equal(text, "0              10       11  3 0x401000 0x000000012a247a68   0     0              -70 "
                              "0x0000000000000046\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compact),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
