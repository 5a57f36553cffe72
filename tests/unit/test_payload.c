/* SPDX-License-Identifier: MIT */
/* analyze/read/payload.h: each type of record, in both byte orders, and cut off anywhere. */
#include "check.h"

#include "analyze/read/payload.h"
#include "common/perfdata.h"
#include "perfdata_writer.h"

/* What a record has, as text: "pid=1 ids=2[{id=3}{id=4}]". */
struct seen {
    char text[1024];
    size_t used;
    int depth;
};

static void add(struct seen *seen, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct seen *seen, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int size = vsnprintf(seen->text + seen->used, sizeof(seen->text) - seen->used, format, list);
    va_end(list);
    assert_true(size >= 0 && (size_t)size < sizeof(seen->text) - seen->used);
    seen->used += (size_t)size;
}

static void keep(void *context, const struct payload_field *field)
{
    struct seen *seen = context;
    switch (field->kind) {
    case PAYLOAD_NUMBER: add(seen, "%s=%llu ", field->name, (unsigned long long)field->number); return;
    case PAYLOAD_SIGNED: add(seen, "%s=%lld ", field->name, (long long)field->number); return;
    case PAYLOAD_HEX: add(seen, "%s=%#llx ", field->name, (unsigned long long)field->number); return;
    case PAYLOAD_REAL: {
        double real;
        memcpy(&real, &field->number, sizeof(real));
        add(seen, "%s=%g ", field->name, real);
        return;
    }
    case PAYLOAD_TEXT: add(seen, "%s='%.*s' ", field->name, (int)field->size, (const char *)field->bytes); return;
    case PAYLOAD_LIST:
        add(seen, "%s=%llu[", field->name, (unsigned long long)field->number);
        seen->depth++;
        return;
    case PAYLOAD_ITEM:
        add(seen, "; ");
        assert_int_equal(seen->depth, 1);
        return;
    case PAYLOAD_LIST_END:
        add(seen, "] ");
        seen->depth--;
        return;
    case PAYLOAD_BYTES:
        add(seen, "%s=", field->name);
        for (size_t i = 0; i < field->size; i++)
            add(seen, "%02x", field->bytes[i]);
        add(seen, " ");
    }
}

/* A payload as words: "4:1 8:2 2:3" are numbers of so many bytes, "s:text" a text with its NUL, "b:..." bytes, "z:12"
 * zeros. */
static void put_words(struct writer *writer, const char *words)
{
    struct buffer *data = &writer->data;
    char *copy = strdup(words), *rest = copy;
    for (char *word; (word = strsep(&rest, " "));) {
        const char *value = word + 2;
        switch (word[0]) {
        case '1': buffer_append(data, &(uint8_t){(uint8_t)strtoull(value, NULL, 0)}, 1); break;
        case '2': writer_u16(writer, data, (uint16_t)strtoull(value, NULL, 0)); break;
        case '4': writer_u32(writer, data, (uint32_t)strtoull(value, NULL, 0)); break;
        case '8': writer_u64(writer, data, strtoull(value, NULL, 0)); break;
        case 's': buffer_string(data, value); break;
        case 'b': buffer_append(data, value, strlen(value)); break;
        case 'z': buffer_extend(data, strtoull(value, NULL, 0)); break;
        default: fail();
        }
    }
    free(copy);
}

static const struct record_case {
    uint32_t type;
    uint16_t misc;
    uint64_t read_format;
    const char *name, *words, *text;
    size_t least; /* bytes that it needs; 0: all but the last one of a text */
} cases[] = {
    {PERF_RECORD_MMAP, 0, 0, "MMAP", "4:-1 4:2 8:0x1000 8:0x2000 8:0x3000 s:[k]x",
     "pid=-1 tid=2 addr=0x1000 len=0x2000 pgoff=0x3000 filename='[k]x' ", 32},
    {PERF_RECORD_LOST, 0, 0, "LOST", "8:5 8:6", "id=5 lost=6 ", 16},
    {PERF_RECORD_COMM, 0, 0, "COMM", "4:1 4:2 s:name", "pid=1 tid=2 comm='name' ", 8},
    {PERF_RECORD_EXIT, 0, 0, "EXIT", "4:1 4:2 4:3 4:4 8:5", "pid=1 ppid=2 tid=3 ptid=4 time=5 ", 24},
    {PERF_RECORD_THROTTLE, 0, 0, "THROTTLE", "8:1 8:2 8:3", "time=1 id=2 stream_id=3 ", 24},
    {PERF_RECORD_UNTHROTTLE, 0, 0, "UNTHROTTLE", "8:1 8:2 8:3", "time=1 id=2 stream_id=3 ", 24},
    {PERF_RECORD_FORK, 0, 0, "FORK", "4:1 4:2 4:3 4:4 8:5", "pid=1 ppid=2 tid=3 ptid=4 time=5 ", 24},
    {PERF_RECORD_READ, 0, 0, "READ", "4:1 4:2 8:3", "pid=1 tid=2 value=3 ", 16},
    {PERF_RECORD_READ, 0, 0x17, "READ", "4:1 4:2 8:3 8:4 8:5 8:6 8:7",
     "pid=1 tid=2 value=3 time_enabled=4 time_running=5 id=6 lost=7 ", 48},
    {PERF_RECORD_READ, 0, 0x1f, "READ", "4:1 4:2 8:2 8:4 8:5 8:6 8:7 8:8 8:9 8:10 8:11",
     "pid=1 tid=2 time_enabled=4 time_running=5 values=2[; value=6 id=7 lost=8 ; value=9 id=10 lost=11 ] ", 80},
    {PERF_RECORD_MMAP2, 0, 0, "MMAP2", "4:1 4:2 8:16 8:32 8:48 4:8 4:1 8:77 8:3 4:5 4:2 s:/bin/x",
     "pid=1 tid=2 addr=0x10 len=0x20 pgoff=0x30 maj=0x8 min=0x1 ino=77 ino_generation=3 prot=0x5 flags=0x2 "
     "filename='/bin/x' ",
     64},
    {PERF_RECORD_MMAP2, 1 << 14, 0, "MMAP2", "4:1 4:2 8:16 8:32 8:48 1:3 z:3 b:abc z:17 4:5 4:2 s:/bin/x",
     "pid=1 tid=2 addr=0x10 len=0x20 pgoff=0x30 build_id=616263 prot=0x5 flags=0x2 filename='/bin/x' ", 64},
    {PERF_RECORD_MMAP2, 1 << 14, 0, "MMAP2", "4:1 4:2 8:16 8:32 8:48 1:255 z:3 z:20 4:5 4:2 s:x",
     "pid=1 tid=2 addr=0x10 len=0x20 pgoff=0x30 build_id=0000000000000000000000000000000000000000 prot=0x5 flags=0x2 "
     "filename='x' ",
     64},
    {PERF_RECORD_AUX, 0, 0, "AUX", "8:1 8:2 8:3", "aux_offset=0x1 aux_size=0x2 flags=0x3 ", 24},
    {PERF_RECORD_ITRACE_START, 0, 0, "ITRACE_START", "4:1 4:2", "pid=1 tid=2 ", 8},
    {PERF_RECORD_LOST_SAMPLES, 0, 0, "LOST_SAMPLES", "8:9", "lost=9 ", 8},
    {PERF_RECORD_SWITCH, 0, 0, "SWITCH", "z:0", "", 0},
    {PERF_RECORD_SWITCH_CPU_WIDE, 0, 0, "SWITCH_CPU_WIDE", "4:1 4:-1", "next_prev_pid=1 next_prev_tid=-1 ", 8},
    {PERF_RECORD_NAMESPACES, 0, 0, "NAMESPACES", "4:1 4:2 8:2 8:3 8:4 8:5 8:6",
     "pid=1 tid=2 namespaces=2[; name='net' dev=0x3 inode=0x4 ; name='uts' dev=0x5 inode=0x6 ] ", 48},
    {PERF_RECORD_KSYMBOL, 0, 0, "KSYMBOL", "8:16 4:32 2:1 2:1 s:bpf_x",
     "addr=0x10 len=32 ksym_type=1 flags=0x1 name='bpf_x' ", 16},
    {PERF_RECORD_BPF_EVENT, 0, 0, "BPF_EVENT", "2:1 2:2 4:3 b:12345678", "type=1 flags=0x2 id=3 tag=3132333435363738 ",
     16},
    {PERF_RECORD_CGROUP, 0, 0, "CGROUP", "8:7 s:/a", "id=7 path='/a' ", 8},
    {PERF_RECORD_TEXT_POKE, 0, 0, "TEXT_POKE", "8:16 2:2 2:3 b:abcde",
     "addr=0x10 old_len=2 new_len=3 old=6162 new=636465 ", 17},
    {21, 0, 0, "AUX_OUTPUT_HW_ID", "8:16", "hw_id=0x10 ", 8},
    {PERFDATA_RECORD_ATTR, 0, 0, "ATTR", "4:1 4:64 8:2 8:3 8:4 8:5 z:24 8:101 8:102",
     "type=1 size=64 config=0x2 sample_period=3 sample_type=0x4 read_format=0x5 ids=2[; id=101 ; id=102 ] ", 64},
    {PERFDATA_RECORD_EVENT_TYPE, 0, 0, "EVENT_TYPE", "8:1 b:cycles z:58", "event_id=1 name='cycles' ", 72},
    {PERFDATA_RECORD_TRACING_DATA, 0, 0, "TRACING_DATA", "4:9", "size=9 ", 4},
    {PERFDATA_RECORD_BUILD_ID, 1 << 15, 0, "BUILD_ID", "4:-1 b:abc z:17 1:3 z:3 s:/bin/x",
     "pid=-1 build_id=616263 filename='/bin/x' ", 28},
    {PERFDATA_RECORD_FINISHED_ROUND, 0, 0, "FINISHED_ROUND", "z:0", "", 0},
    {PERFDATA_RECORD_ID_INDEX, 0, 0, "ID_INDEX", "8:1 8:2 8:3 8:-1 8:5", "entries=1[; id=2 idx=3 cpu=-1 tid=5 ] ", 40},
    {PERFDATA_RECORD_ID_INDEX, 0, 0, "ID_INDEX", "8:1 8:2 8:3 8:-1 8:5 8:6 8:7",
     "entries=1[; id=2 idx=3 cpu=-1 tid=5 ] machines=1[; machine_pid=6 vcpu=7 ] ", 0},
    {PERFDATA_RECORD_AUXTRACE_INFO, 0, 0, "AUXTRACE_INFO", "4:1 4:0 8:2", "type=1 reserved=0 priv=1[; value=0x2 ] ", 8},
    {PERFDATA_RECORD_AUXTRACE, 0, 0, "AUXTRACE", "8:1 8:2 8:3 4:4 4:5 4:-1 4:0",
     "size=0x1 offset=0x2 reference=0x3 idx=4 tid=5 cpu=-1 ", 36},
    {PERFDATA_RECORD_AUXTRACE_ERROR, 0, 0, "AUXTRACE_ERROR", "4:1 4:2 4:3 4:4 4:5 4:1 8:6 8:7 b:lost z:60 4:8 4:9",
     "type=1 code=2 cpu=3 pid=4 tid=5 fmt=1 ip=0x6 time=7 msg='lost' machine_pid=8 vcpu=9 ", 104},
    {PERFDATA_RECORD_THREAD_MAP, 0, 0, "THREAD_MAP", "8:1 8:2 b:name z:12", "threads=1[; pid=2 comm='name' ] ", 32},
    {PERFDATA_RECORD_CPU_MAP, 0, 0, "CPU_MAP", "2:0 2:2 2:1 2:-1", "map_type=0 cpus=2[; cpu=1 ; cpu=-1 ] ", 8},
    {PERFDATA_RECORD_CPU_MAP, 0, 0, "CPU_MAP", "2:1 2:1 2:4 4:15", "map_type=1 mask=1[; bits=0xf ] ", 10},
    {PERFDATA_RECORD_CPU_MAP, 0, 0, "CPU_MAP", "2:1 2:1 2:8 z:4 8:15", "map_type=1 mask=1[; bits=0xf ] ", 18},
    {PERFDATA_RECORD_CPU_MAP, 0, 0, "CPU_MAP", "2:2 1:0 1:0 2:1 2:3", "map_type=2 any_cpu=0 start_cpu=1 end_cpu=3 ", 8},
    {PERFDATA_RECORD_CPU_MAP, 0, 0, "CPU_MAP", "2:9 b:ab", "map_type=9 data=6162 ", 2},
    {PERFDATA_RECORD_STAT_CONFIG, 0, 0, "STAT_CONFIG", "8:2 8:0 8:3 8:99 8:4",
     "terms=2[; tag=0 aggr_mode=3 ; tag=99 val=4 ] ", 40},
    {PERFDATA_RECORD_STAT, 0, 0, "STAT", "8:1 4:2 4:3 8:4 8:5 8:6", "id=1 cpu=2 thread=3 val=4 ena=5 run=6 ", 40},
    {PERFDATA_RECORD_STAT_ROUND, 0, 0, "STAT_ROUND", "8:1 8:2", "type=1 time=2 ", 16},
    {PERFDATA_RECORD_EVENT_UPDATE, 0, 0, "EVENT_UPDATE", "8:2 8:7 s:cycles", "type=2 id=7 name='cycles' ", 16},
    {PERFDATA_RECORD_EVENT_UPDATE, 0, 0, "EVENT_UPDATE", "8:0 8:7 s:ms", "type=0 id=7 unit='ms' ", 16},
    {PERFDATA_RECORD_EVENT_UPDATE, 0, 0, "EVENT_UPDATE", "8:1 8:7 8:0x3fe0000000000000", "type=1 id=7 scale=0.5 ", 24},
    {PERFDATA_RECORD_EVENT_UPDATE, 0, 0, "EVENT_UPDATE", "8:3 8:7 2:0 2:1 2:5",
     "type=3 id=7 map_type=0 cpus=1[; cpu=5 ] ", 22},
    {PERFDATA_RECORD_EVENT_UPDATE, 0, 0, "EVENT_UPDATE", "8:9 8:7 b:a", "type=9 id=7 data=61 ", 16},
    {PERFDATA_RECORD_TIME_CONV, 0, 0, "TIME_CONV", "8:1 8:2 8:3", "time_shift=1 time_mult=2 time_zero=3 ", 24},
    {PERFDATA_RECORD_TIME_CONV, 0, 0, "TIME_CONV", "8:1 8:2 8:3 8:4 8:5 1:1 1:0 z:6",
     "time_shift=1 time_mult=2 time_zero=3 time_cycles=4 time_mask=0x5 cap_user_time_zero=1 cap_user_time_short=0 ", 0},
    {PERFDATA_RECORD_HEADER_FEATURE, 0, 0, "HEADER_FEATURE", "8:3 b:abc", "feat_id=3 data=616263 ", 8},
    {PERFDATA_RECORD_COMPRESSED, 0, 0, "COMPRESSED", "b:abc", "data=616263 ", 0},
    {PERFDATA_RECORD_FINISHED_INIT, 0, 0, "FINISHED_INIT", "z:0", "", 0},
    {83, 0, 0, "COMPRESSED2", "8:3 b:abc", "data_size=3 data=616263 ", 8},
    {95, 0, 0, NULL, "b:abc", "bytes=616263 ", 0},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static bool walk(const struct record_case *wanted, const struct writer *writer, size_t size, struct seen *ret)
{
    const struct attr attr = {.perf = {.read_format = wanted->read_format}};
    unsigned char *copy = malloc(size ? size : 1);
    memcpy(copy, writer->data.data, size);
    const struct record record = {.type = wanted->type,
                                  .misc = wanted->misc,
                                  .swap = writer->swap,
                                  .attr = &attr,
                                  .payload = copy,
                                  .payload_size = size};
    *ret = (struct seen){.used = 0};
    bool whole = payload_fields(&record, keep, ret);
    free(copy);
    assert_int_equal(ret->depth, 0);
    return whole;
}

static void test_types(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++)
        for (int swap = 0; swap < 2; swap++) {
            struct writer writer;
            struct seen seen;
            writer_init(&writer, swap, false);
            put_words(&writer, cases[i].words);
            assert_true(walk(&cases[i], &writer, writer.data.size, &seen));
            assert_string_equal(seen.text, cases[i].text);
            for (size_t size = 0; size < writer.data.size; size++) {
                bool whole = walk(&cases[i], &writer, size, &seen);
                if (cases[i].least && whole != (size >= cases[i].least))
                    fail_msg("case %zu with %zu bytes: %s", i, size, seen.text);
            }
            writer_release(&writer);
        }
}

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        const char *name = payload_type_name(cases[i].type);
        if (cases[i].name)
            assert_string_equal(name, cases[i].name);
        else
            assert_null(name);
    }
    /* Each of the kernel's records and of perf's has a case here. */
    for (uint32_t type = 1; type <= 83; type++) {
        bool there = type == PERF_RECORD_SAMPLE || (type > 21 && type < PERFDATA_RECORD_ATTR);
        for (size_t i = 0; i < CASES; i++)
            there |= cases[i].type == type;
        if (!there)
            fail_msg("no case of type %u", type);
    }
}

/* Lists that no record can hold, and those of an event that is not known. */
static void test_wrong_counts(void **state)
{
    (void)state;
    static const struct record_case wrong[] = {
        {PERF_RECORD_NAMESPACES, 0, 0, "", "4:1 4:2 8:0x1000000000000001 8:1 8:1", "pid=1 tid=2 ", 0},
        {PERFDATA_RECORD_ID_INDEX, 0, 0, "", "8:-1 8:1 8:1 8:1 8:1", "", 0},
        {PERFDATA_RECORD_THREAD_MAP, 0, 0, "", "8:-1 8:1", "", 0},
        {PERFDATA_RECORD_STAT_CONFIG, 0, 0, "", "8:0x1000000000000000", "", 0},
        {PERFDATA_RECORD_CPU_MAP, 0, 0, "", "2:0 2:65535 2:1", "map_type=0 ", 0},
        {PERFDATA_RECORD_CPU_MAP, 0, 0, "", "2:1 2:1 2:3 8:1", "map_type=1 ", 0},
        {PERFDATA_RECORD_CPU_MAP, 0, 0, "", "2:1 2:1 2:0 8:1", "map_type=1 ", 0},
        {PERFDATA_RECORD_ATTR, 0, 0, "", "4:1 4:63 z:64", "", 0},
        {PERFDATA_RECORD_ATTR, 0, 0, "", "4:1 4:-1 z:64", "", 0},
        {PERF_RECORD_TEXT_POKE, 0, 0, "", "8:16 2:2 2:65535 b:ab", "addr=0x10 old_len=2 new_len=65535 old=6162 ", 0},
        {PERF_RECORD_READ, 0, 8, "", "4:1 4:2 8:-1 8:3", "pid=1 tid=2 ", 0},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct writer writer;
        struct seen seen;
        writer_init(&writer, false, false);
        put_words(&writer, wrong[i].words);
        assert_false(walk(&wrong[i], &writer, writer.data.size, &seen));
        assert_string_equal(seen.text, wrong[i].text);
        writer_release(&writer);
    }
}

static void keep_flag(void *context, const char *name)
{
    add(context, "%s ", name);
}

static void test_flags(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        uint16_t misc;
        const char *text;
    } wanted[] = {
        {PERF_RECORD_COMM, 1 << 13, "exec "},
        {PERF_RECORD_SWITCH, 3 << 13, "out preempt "},
        {PERF_RECORD_MMAP, 3 << 12, "data parse_timeout "},
        {PERF_RECORD_MMAP2, 1 << 14, "build_id "},
        {PERF_RECORD_LOST_SAMPLES, 1 << 15, "bpf "},
        {PERF_RECORD_EXIT, UINT16_MAX, ""},
        {PERF_RECORD_SWITCH_CPU_WIDE, 1 << 13, "out "},
        {PERF_RECORD_COMM, 7, ""},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        struct seen seen = {.used = 0};
        payload_flags(&(struct record){.type = wanted[i].type, .misc = wanted[i].misc}, keep_flag, &seen);
        assert_string_equal(seen.text, wanted[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_wrong_counts),
        cmocka_unit_test(test_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
