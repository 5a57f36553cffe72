/* SPDX-License-Identifier: MIT */
/* What stands around the records of a result file, byte by byte. */
#include "features_kit.h"

#include <errno.h>
#include <pinject/format.h>
#include <pinject/pinject.h>
#include <time.h>

/* ---- Sections ---- */

/* All that stands behind the data, at OFFSET. */
static struct buffer behind;
static struct kit_section sections[256];
static uint64_t bits[4];

static void add_sections(const struct result_task *task, uint64_t offset)
{
    buffer_release(&behind);
    features_sections(&features, task, NULL, NULL, offset, &behind, 0, bits);
    assert_false(buffer_failed(&behind));
    memset(sections, 0, sizeof(sections));
    uint64_t end = 0;
    for (unsigned bit = 0, entry = 0; bit < 256; bit++) {
        struct perfdata_section section;
        if (!(bits[bit / 64] >> bit % 64 & 1))
            continue;
        memcpy(&section, behind.data + entry++ * sizeof(section), sizeof(section));
        assert_true(section.offset >= offset && (section.size > 0 || bit == PERFDATA_BRANCH_STACK));
        sections[bit] = (struct kit_section){behind.data + (section.offset - offset), section.size};
        end = section.offset + section.size > end ? section.offset + section.size : end;
    }
    assert_int_equal(end - offset, behind.size); /* nothing stands behind them */
}

static void expect_section(unsigned bit, const void *bytes, size_t size)
{
    assert_non_null(sections[bit].data);
    assert_int_equal(sections[bit].size, size);
    assert_memory_equal(sections[bit].data, bytes, size);
}

static void expect_text(unsigned bit, const char *text)
{
    char bytes[128];
    const uint32_t size = (uint32_t)strlen(text) + 1;
    memcpy(bytes, &size, sizeof(size));
    memcpy(bytes + sizeof(size), text, size);
    expect_section(bit, bytes, sizeof(size) + size);
}

static void sections_of_the_first_task(void **state)
{
    (void)state;
    features_begin();
    struct result_task task = kit_task(&kit, 5, 6);
    task.flags |= PINJECT_TASK_ROOT;
    task.first_sample_ns = 111;
    task.last_sample_ns = 222;
    add_sections(&task, 1024);
    assert_int_equal(bits[0], 0x1ff8 | 1 << 21 | 1 << 23 | 1 << 29); /* 3 to 12, and these */
    assert_int_equal(bits[PINJECT_FEATURE / 64], 1ull << PINJECT_FEATURE % 64);
    expect_text(PERFDATA_HOSTNAME, "host");
    expect_text(PERFDATA_OSRELEASE, "6.1.0");
    expect_text(PERFDATA_VERSION, "pinject-" PINJECT_VERSION_STRING);
    expect_text(PERFDATA_ARCH, "x86_64");
    expect_text(PERFDATA_CPUDESC, "Some CPU");
    expect_text(PERFDATA_CPUID, "Vendor,6,1,2");
    expect_section(PERFDATA_NRCPUS, (const uint32_t[]){8, 6}, 8);
    expect_section(PERFDATA_TOTAL_MEM, (const uint64_t[]){123456}, 8);
    expect_section(PERFDATA_CMDLINE, "\3\0\0\0\4\0\0\0run\0\3\0\0\0-x\0\4\0\0\0a b", 4 + 12 + 11);
    expect_section(PERFDATA_CLOCKID, (const uint64_t[]){1}, 8);
    expect_section(PERFDATA_SAMPLE_TIME, (const uint64_t[]){111, 222}, 16);
    const struct {
        uint32_t version, clock;
        uint64_t real, monotonic;
    } clocks = {1, CLOCK_MONOTONIC, kit.session.start_realtime_ns, kit.session.start_ns};
    expect_section(PERFDATA_CLOCK_DATA, &clocks, sizeof(clocks));
    assert_int_equal((uintptr_t)(sections[PINJECT_FEATURE].data - behind.data) % 8, 0);
    buffer_release(&behind);
}

/* The topology stands in the first task's file alone, in bit order around the sections of the task. */
static void topology_of_the_first_task(void **state)
{
    (void)state;
    static const unsigned told[] = {PERFDATA_CPU_TOPOLOGY, PERFDATA_NUMA_TOPOLOGY, PERFDATA_PMU_MAPPINGS,
                                    PERFDATA_CACHE, PERFDATA_MEM_TOPOLOGY};
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
        topology |= 1ull << told[i];
    features_begin();
    struct result_task task = kit_task(&kit, 5, 6);
    add_sections(&task, 0);
    assert_int_equal(bits[0] & topology, 0);
    buffer_release(&behind);
    task.flags |= PINJECT_TASK_ROOT;
    task.first_sample_ns = 111;
    add_sections(&task, 0);
    assert_int_equal(bits[0] & topology, topology);
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
        expect_section(told[i], (const uint32_t[]){told[i], told[i]}, 8);
    expect_section(PERFDATA_SAMPLE_TIME, (const uint64_t[]){111, 0}, 16);
    expect_section(PERFDATA_CLOCKID, (const uint64_t[]){1}, 8);
    buffer_release(&behind);
}

/* The first of the file's events, not of the session's, is number 0. */
static void groups_of_the_file(void **state)
{
    (void)state;
    for (unsigned i = 1; i < 3; i++) {
        kit.config.events[i].grouped = true;
        kit.config.events[i].leader = 1;
    }
    features_begin();
    struct result_task task = kit_task(&kit, 5, 6);
    add_sections(&task, 0);
    expect_section(PERFDATA_GROUP_DESC, "\1\0\0\0\15\0\0\0{anon_group}\0\1\0\0\0\2\0\0\0", 4 + 4 + 13 + 8);
    buffer_release(&behind);
    task.ids[0] = 0;
    add_sections(&task, 0);
    expect_section(PERFDATA_GROUP_DESC, "\1\0\0\0\15\0\0\0{anon_group}\0\0\0\0\0\2\0\0\0", 4 + 4 + 13 + 8);
    buffer_release(&behind);
    task.ids[2] = 0; /* alone: no group is left */
    add_sections(&task, 0);
    assert_null(sections[PERFDATA_GROUP_DESC].data);
    buffer_release(&behind);
    for (unsigned i = 1; i < 3; i++)
        kit.config.events[i].grouped = false;
}

/* What nobody needs to read the records stands in one file alone. */
static void sections_of_the_others(void **state)
{
    (void)state;
    features_begin();
    const struct result_task task = kit_task(&kit, 5, 6);
    add_sections(&task, 0);
    assert_int_equal(bits[0], 1 << 3 | 1 << 4 | 1 << 6 | 1 << 12 | 1 << 21 | 1 << 29);
    expect_text(PERFDATA_HOSTNAME, "host");
    expect_text(PERFDATA_OSRELEASE, "6.1.0");
    expect_text(PERFDATA_ARCH, "x86_64");
    buffer_release(&behind);
}

/* What the machine does not tell has no section; a command line that is not known has no arguments. */
static void what_is_not_known_is_left_out(void **state)
{
    (void)state;
    machine.cpu[0] = machine.cpuid[0] = machine.hostname[0] = '\0';
    typed_error = -EACCES;
    features_begin();
    struct result_task task = kit_task(&kit, 5, 6);
    task.flags |= PINJECT_TASK_ROOT;
    add_sections(&task, 8);
    assert_null(sections[PERFDATA_CPUDESC].data);
    assert_null(sections[PERFDATA_CPUID].data);
    assert_null(sections[PERFDATA_HOSTNAME].data);
    expect_section(PERFDATA_CMDLINE, (const uint32_t[]){0}, 4);
    expect_section(PERFDATA_NRCPUS, (const uint32_t[]){8, 6}, 8);
    buffer_release(&behind);
}

/* Of each event that the task has: the first eight bytes of its attr, how many ids, the name, the id. */
static void names_of_events(void **state)
{
    (void)state;
    features_begin();
    struct result_task task = kit_task(&kit, 5, 6);
    task.ids[1] = 0;
    add_sections(&task, 0);
    struct {
        uint32_t count, attr_size;
    } head;
    const unsigned char *at = sections[PERFDATA_EVENT_DESC].data;
    memcpy(&head, at, sizeof(head));
    assert_int_equal(head.count, 2);
    assert_int_equal(head.attr_size, 8);
    at += sizeof(head);
    for (unsigned i = 0; i < 3; i += 2) {
        const char *name = kit.config.events[i].name;
        uint32_t numbers[4];
        memcpy(numbers, at, sizeof(numbers));
        assert_int_equal(numbers[0], kit.config.events[i].attr.type);
        assert_int_equal(numbers[1], 8);
        assert_int_equal(numbers[2], 1);
        assert_int_equal(numbers[3], strlen(name) + 1);
        assert_string_equal((const char *)at + 16, name);
        at += 16 + numbers[3];
        assert_memory_equal(at, &task.ids[i], 8);
        at += 8;
    }
    assert_ptr_equal(at, sections[PERFDATA_EVENT_DESC].data + sections[PERFDATA_EVENT_DESC].size);
    /* None was opened: the first one stands there, without an id. */
    memset(task.ids, 0, sizeof(task.ids));
    add_sections(&task, 0);
    uint32_t numbers[6];
    memcpy(numbers, sections[PERFDATA_EVENT_DESC].data, sizeof(numbers));
    assert_int_equal(numbers[0], 1);
    assert_int_equal(numbers[4], 0);
    assert_int_equal(sections[PERFDATA_EVENT_DESC].size, 24 + strlen(kit.config.events[0].name) + 1);
    buffer_release(&behind);
}

/* ---- In front ---- */

static void attrs_are_as_perf_wants_them(void **state)
{
    (void)state;
    const uint64_t all = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    kit.config.events[1].attr.freq = 1;
    kit.config.events[1].attr.sample_period = 4000;
    features_begin();
    for (unsigned i = 0; i < 3; i++) {
        const struct perf_event_attr *attr = &features.attrs[i];
        assert_int_equal(attr->size, PERF_ATTR_SIZE_VER3);
        assert_int_equal(attr->type, kit.config.events[i].attr.type);
        assert_int_equal(attr->config, kit.config.events[i].attr.config);
        assert_int_equal(attr->read_format, 1 | 2 | 4 | 16); /* times, id, lost */
        assert_int_equal(attr->sample_id_all, 1);
        /* The events that count have what perf asks of all, and no period. */
        assert_int_equal(attr->sample_type,
                         i ? all | kit.config.events[0].attr.sample_type : kit.config.events[0].attr.sample_type);
        assert_int_equal(attr->sample_freq, i ? 0 : 999);
        assert_int_equal(attr->freq, i == 0);
    }
    kit.config.events[0].attr.sample_type = PERF_SAMPLE_CPU;
    features_begin();
    assert_int_equal(features.attrs[0].sample_type, PERF_SAMPLE_CPU);
    assert_int_equal(features.attrs[1].sample_type, all | PERF_SAMPLE_CPU);
    struct result_task task = kit_task(&kit, 5, 6);
    add_sections(&task, 1024);
    assert_null(sections[PERFDATA_BRANCH_STACK].data);
    kit.config.events[0].attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
    features_begin();
    add_sections(&task, 1024);
    expect_section(PERFDATA_BRANCH_STACK, "", 0);
    kit.config.events[0].attr.sample_type = PERF_SAMPLE_REGS_USER;
    kit.config.events[0].attr.sample_regs_user = 5;
    features_begin();
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(features.attrs[i].sample_regs_user, 5);
    assert_int_equal(features.attr_size, PERF_ATTR_SIZE_VER3);
    /* A field behind those that files have otherwise. */
    kit.config.events[0].attr.sample_type = PERF_SAMPLE_REGS_INTR;
    kit.config.events[0].attr.sample_regs_intr = 6;
    features_begin();
    const size_t front = features.front;
    assert_int_equal(features.attr_size, PERF_ATTR_SIZE_VER4);
    for (unsigned i = 0; i < 3; i++)
        assert_true(features.attrs[i].sample_regs_intr == 6 && features.attrs[i].size == PERF_ATTR_SIZE_VER4);
    kit.config.events[0].attr.sample_regs_intr = 0;
    features_begin();
    assert_int_equal(front - features.front, 3 * (PERF_ATTR_SIZE_VER4 - PERF_ATTR_SIZE_VER3));
}

static void front_has_the_events_that_were_opened(void **state)
{
    (void)state;
    features_begin();
    static const uint64_t ids[CONFIG_EVENTS] = {0, 71, 72}, none[CONFIG_EVENTS] = {0};
    const size_t entry = PERF_ATTR_SIZE_VER3 + sizeof(struct perfdata_section);
    unsigned char front[4096];
    struct perfdata_header header;
    struct perfdata_section section;
    struct perf_event_attr attr;
    assert_int_equal(features_events(&features, ids), 6);
    assert_int_equal(features_events(&features, none), 1);
    assert_int_equal(features.front, sizeof(header) + 3 * 8 + 3 * entry);
    memset(front, 0xee, sizeof(front));
    features_front(&features, ids, front);
    memcpy(&header, front, sizeof(header));
    assert_true(header.magic == PERFDATA_MAGIC && header.size == sizeof(header) && header.attr_size == entry);
    assert_true(header.attrs.offset == sizeof(header) + 24 && header.attrs.size == 2 * entry);
    assert_true(header.data.offset == features.front && header.data.size == 0);
    assert_memory_equal(front + sizeof(header), ids, 24);
    for (unsigned i = 0; i < 2; i++) {
        const unsigned char *at = front + header.attrs.offset + i * entry;
        memcpy(&attr, at, PERF_ATTR_SIZE_VER3);
        memcpy(&section, at + PERF_ATTR_SIZE_VER3, sizeof(section));
        assert_memory_equal(&attr, &features.attrs[i + 1], PERF_ATTR_SIZE_VER3);
        assert_true(section.offset == sizeof(header) + 8 * (i + 1) && section.size == 8);
    }
    assert_int_equal(front[header.attrs.offset + 2 * entry], 0xee);
    features_front(&features, none, front);
    memcpy(&header, front, sizeof(header));
    assert_int_equal(header.attrs.size, entry);
    memcpy(&section, front + header.attrs.offset + PERF_ATTR_SIZE_VER3, sizeof(section));
    assert_int_equal(section.size, 0);
}

/* ---- Counts ---- */

static struct buffer reads;

/* The values of the READ records, as text. */
static const char *read_values(const struct result_task *task)
{
    static char text[256];
    text[0] = '\0';
    buffer_release(&reads);
    features_reads(&features, task, NULL, &reads);
    for (size_t at = 0; at < reads.size;) {
        struct perf_event_header header;
        uint64_t value;
        memcpy(&header, reads.data + at, sizeof(header));
        memcpy(&value, reads.data + at + 16, sizeof(value));
        assert_int_equal(header.type, PERF_RECORD_READ);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%llu ", (unsigned long long)value);
        at += header.size;
    }
    return text;
}

static void counts_of_a_file(void **state)
{
    (void)state;
    features_begin();
    struct result_task task = kit_task(&kit, 5, 6);
    assert_string_equal(read_values(&task), "7000 7001 7002 ");
    task.ids[1] = 0; /* not opened */
    assert_string_equal(read_values(&task), "7000 7002 ");
    /* A file of one program has that one's counts, where they are known. */
    struct result_generation generations[2] = {*task.generations, *task.generations};
    generations[0].counted = true;
    generations[0].values[0].value = 41;
    generations[0].values[2].value = 43;
    task.generations = generations;
    assert_string_equal(read_values(&task), "7000 7002 ");
    task.flags |= PINJECT_TASK_SPLIT;
    assert_string_equal(read_values(&task), "41 43 ");
    generations[0].counted = false;
    assert_string_equal(read_values(&task), "");
    task.generation_count = 2;
    assert_string_equal(read_values(&task), "7000 7002 ");
    /* The event that is there for the records alone counts nothing. */
    kit.config.dummy = true;
    assert_string_equal(read_values(&task), "7002 ");
    kit.config.dummy = false;
    buffer_release(&reads);
}

/* With each field that may stand behind a record, in the kernel's order. */
static void counts_say_of_whom_they_are(void **state)
{
    (void)state;
    static const uint64_t types[] = {PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
                                     PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU, PERF_SAMPLE_CALLCHAIN};
    static const uint64_t wanted[][13] = {{9, 5ull | 6ull << 32, 7000, 100, 90, 6001, 3, 5ull | 6ull << 32, 5000, 6001},
                                          {9, 5ull | 6ull << 32, 7000, 100, 90, 6001, 3, 6001, 6001, UINT32_MAX},
                                          {9, 5ull | 6ull << 32, 7000, 100, 90, 6001, 3}};
    features_begin();
    kit.config.count = 1;
    struct result_task task = kit_task(&kit, 5, 6);
    task.end_ns = 5000;
    task.values[0] = (struct attach_value){.value = 7000, .enabled_ns = 100, .running_ns = 90, .lost = 3};
    for (unsigned i = 0; i < 3; i++) {
        const size_t size = i < 2 ? 80 : 56;
        features.attrs[0].sample_type = types[i];
        read_values(&task);
        const struct perf_event_header header = {.type = PERF_RECORD_READ, .size = (uint16_t)size};
        assert_int_equal(reads.size, size);
        assert_memory_equal(reads.data, &header, sizeof(header));
        assert_memory_equal(reads.data + 8, &wanted[i][1], size - 8);
    }
    kit.config.count = 3;
    buffer_release(&reads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sections_of_the_first_task),
        TEST(topology_of_the_first_task),
        TEST(groups_of_the_file),
        TEST(sections_of_the_others),
        TEST(what_is_not_known_is_left_out),
        TEST(names_of_events),
        TEST(attrs_are_as_perf_wants_them),
        TEST(front_has_the_events_that_were_opened),
        TEST(counts_of_a_file),
        TEST(counts_say_of_whom_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
