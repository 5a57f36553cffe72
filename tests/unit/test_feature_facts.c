/* SPDX-License-Identifier: MIT */
/* The facts of feature sections, out of sections written by hand: of both byte orders, of a disk and of a pipe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/read/feature_facts.h"
#include "analyze/read/file.h"
#include "common/perfdata.h"
#include "perfdata_writer.h"

static struct writer writer;

static struct buffer *section(uint32_t number)
{
    return &writer.features[number];
}

static void numbers32(uint32_t feature, unsigned count, ...)
{
    va_list list;
    va_start(list, count);
    for (unsigned i = 0; i < count; i++)
        writer_u32(&writer, section(feature), va_arg(list, uint32_t));
    va_end(list);
}

static void numbers64(uint32_t feature, unsigned count, ...)
{
    va_list list;
    va_start(list, count);
    for (unsigned i = 0; i < count; i++)
        writer_u64(&writer, section(feature), va_arg(list, uint64_t));
    va_end(list);
}

static void texts(uint32_t feature, unsigned count, ...)
{
    va_list list;
    va_start(list, count);
    for (unsigned i = 0; i < count; i++)
        writer_text(&writer, section(feature), va_arg(list, const char *));
    va_end(list);
}

static void fill_machine(void)
{
    numbers32(PERFDATA_NRCPUS, 2, 4u, 2u);
    texts(PERFDATA_CPUID, 1, "GenuineIntel,6,151,2");
    numbers32(PERFDATA_CPU_TOPOLOGY, 1, 1u);
    texts(PERFDATA_CPU_TOPOLOGY, 1, "0-3");
    numbers32(PERFDATA_CPU_TOPOLOGY, 1, 2u);
    texts(PERFDATA_CPU_TOPOLOGY, 2, "0,2", "1,3");
    numbers32(PERFDATA_CPU_TOPOLOGY, 8, 0u, 0u, 1u, 0u, 0u, 1u, 1u, 1u);
    numbers32(PERFDATA_CPU_TOPOLOGY, 1, 1u);
    texts(PERFDATA_CPU_TOPOLOGY, 1, "0-3");
    numbers32(PERFDATA_CPU_TOPOLOGY, 4, 5u, 6u, 7u, 8u);
    numbers32(PERFDATA_NUMA_TOPOLOGY, 2, 1u, 3u);
    numbers64(PERFDATA_NUMA_TOPOLOGY, 2, (uint64_t)1000, (uint64_t)400);
    texts(PERFDATA_NUMA_TOPOLOGY, 1, "0-3");
    numbers32(PERFDATA_CACHE, 6, 1u, 1u, 2u, 64u, 1024u, 16u);
    texts(PERFDATA_CACHE, 3, "Unified", "1280K", "0-1");
    numbers64(PERFDATA_MEM_TOPOLOGY, 6, (uint64_t)1, (uint64_t)1 << 27, (uint64_t)1, (uint64_t)0, (uint64_t)70,
              (uint64_t)70);
    numbers64(PERFDATA_MEM_TOPOLOGY, 2, ~(uint64_t)0 << 32 | 1, (uint64_t)0x23);
    numbers32(PERFDATA_HYBRID_TOPOLOGY, 1, 2u);
    texts(PERFDATA_HYBRID_TOPOLOGY, 4, "cpu_core", "0-1", "cpu_atom", "2-3");
}

static void fill_pmus(void)
{
    numbers32(PERFDATA_PMU_MAPPINGS, 2, 2u, 4u);
    texts(PERFDATA_PMU_MAPPINGS, 1, "cpu");
    numbers32(PERFDATA_PMU_MAPPINGS, 1, 9u);
    texts(PERFDATA_PMU_MAPPINGS, 1, "msr");
    numbers32(PERFDATA_GROUP_DESC, 1, 1u);
    texts(PERFDATA_GROUP_DESC, 1, "{anon_group}");
    numbers32(PERFDATA_GROUP_DESC, 2, 0u, 2u);
    numbers32(PERFDATA_CPU_PMU_CAPS, 1, 2u);
    texts(PERFDATA_CPU_PMU_CAPS, 4, "branches", "32", "max_precise", "3");
    numbers32(PERFDATA_PMU_CAPS, 2, 2u, 1u);
    texts(PERFDATA_PMU_CAPS, 3, "max_precise", "3", "cpu_core");
    numbers32(PERFDATA_PMU_CAPS, 1, 1u);
    texts(PERFDATA_PMU_CAPS, 3, "max_precise", "2", "cpu_atom");
}

static void fill_rest(void)
{
    unsigned char info[24] = {0};
    numbers64(PERFDATA_AUXTRACE, 3, (uint64_t)1, (uint64_t)4096, (uint64_t)512);
    numbers64(PERFDATA_SAMPLE_TIME, 2, (uint64_t)11, (uint64_t)22);
    numbers64(PERFDATA_CLOCKID, 1, (uint64_t)1);
    numbers64(PERFDATA_DIR_FORMAT, 1, (uint64_t)1);
    numbers32(PERFDATA_BPF_PROG_INFO, 3, 1u, (uint32_t)sizeof(info) + 8, 4u);
    numbers64(PERFDATA_BPF_PROG_INFO, 1, (uint64_t)0);
    numbers32(PERFDATA_BPF_PROG_INFO, 2, 26u, 77u);
    buffer_append(section(PERFDATA_BPF_PROG_INFO), "\x12\x34\x56\x78\x9a\xbc\xde\xf0", 8);
    numbers32(PERFDATA_BPF_PROG_INFO, 4, 300u, 200u, 0u, 0u);
    numbers32(PERFDATA_BPF_PROG_INFO, 1, 0u);
    numbers32(PERFDATA_BPF_BTF, 3, 1u, 5u, 4u);
    buffer_append(section(PERFDATA_BPF_BTF), "\x9f\xeb\x01\x00", 4);
    numbers32(PERFDATA_COMPRESSED, 5, 0u, 1u, 3u, 4u, 528384u);
    numbers32(PERFDATA_CLOCK_DATA, 2, 1u, 1u);
    numbers64(PERFDATA_CLOCK_DATA, 2, (uint64_t)1700000000000000000, (uint64_t)123);
    texts(PERFDATA_BRANCH_STACK, 1, "");
}

static void append_facts(const struct feature_facts *facts, char *to, size_t size)
{
    size_t at = 0;
    for (uint32_t i = 0; i < facts->count && at < size; i++) {
        const struct feature_fact *fact = &facts->items[i];
        bool first = i == 0 || fact[-1].feature != fact->feature;
        const char *between = !first && fact[-1].item == fact->item ? "," : ";";
        if (first)
            at += (size_t)snprintf(to + at, size - at, "\n%s:", feature_name(fact->feature));
        else
            at += (size_t)snprintf(to + at, size - at, "%s", between);
        if (fact->text)
            at += (size_t)snprintf(to + at, size - at, " %s %s", fact->name, fact->text);
        else
            at += (size_t)snprintf(to + at, size - at, " %s %llu", fact->name, (unsigned long long)fact->number);
    }
}

static int ignore(void *context, const struct record *record)
{
    (void)context, (void)record;
    return 0;
}

static void read_facts(char *to, size_t size)
{
    struct buffer bytes = BUFFER_INIT;
    struct problem problem = {""};
    struct file file;
    struct feature_facts facts = {0};
    writer_finish(&writer, &bytes);
    assert_int_equal(file_open_memory(&file, bytes.data, bytes.size, &problem), 0);
    assert_int_equal(file_records(&file, UINT64_MAX, ignore, NULL), 0);
    assert_int_equal(feature_facts_read(&file.features, &file.arena, &facts), 0);
    to[0] = '\0';
    append_facts(&facts, to, size);
    feature_facts_release(&facts);
    file_release(&file);
    buffer_release(&bytes);
}

static const char all[] =
    "\nNRCPUS: available 4, online 2"
    "\nCPUID: text GenuineIntel,6,151,2"
    "\nCPU_TOPOLOGY: package_cpus 0-3; core_cpus 0,2; core_cpus 1,3; die_cpus 0-3; cpu 0, core 0, die 5, package 0; "
    "cpu 1, core 1, die 6, package 0; cpu 2, core 0, die 7, package 1; cpu 3, core 1, die 8, package 1"
    "\nNUMA_TOPOLOGY: node 3, total_kb 1000, free_kb 400, cpus 0-3"
    "\nPMU_MAPPINGS: pmu cpu, type 4; pmu msr, type 9"
    "\nGROUP_DESC: group {anon_group}, leader 0, members 2"
    "\nAUXTRACE: offset 4096, size 512"
    "\nCACHE: level 2, line_bytes 64, sets 1024, ways 16, type Unified, size 1280K, cpus 0-1"
    "\nSAMPLE_TIME: first_ns 11, last_ns 22"
    "\nMEM_TOPOLOGY: block_bytes 134217728; node 0, blocks 0,32-65,69"
    "\nCLOCKID: resolution_ns 1"
    "\nDIR_FORMAT: version 1"
    "\nBPF_PROG_INFO: program 77, type 26, tag 123456789abcdef0, jited_bytes 300, translated_bytes 200"
    "\nBPF_BTF: btf 5, bytes 4"
    "\nCOMPRESSED: version 0, type zstd, level 3, ratio 4, buffer_bytes 528384"
    "\nCPU_PMU_CAPS: name branches, value 32; name max_precise, value 3"
    "\nCLOCK_DATA: version 1, clock_id 1, clock monotonic, wall_clock_ns 1700000000000000000, clock_ns 123"
    "\nHYBRID_TOPOLOGY: pmu cpu_core, cpus 0-1; pmu cpu_atom, cpus 2-3"
    "\nPMU_CAPS: pmu cpu_core; name max_precise, value 3; pmu cpu_atom; name max_precise, value 2";

static void test_all_sections(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        char text[8192];
        writer_init(&writer, i & 1, i & 2);
        writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000000, "task-clock");
        fill_machine();
        fill_pmus();
        fill_rest();
        read_facts(text, sizeof(text));
        assert_string_equal(text, all);
        writer_release(&writer);
    }
}

/* Older versions of perf wrote less of the topology. */
static void test_older_topology(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "\nNRCPUS: available 2, online 2\nCPU_TOPOLOGY: package_cpus 0-1; core_cpus 0; core_cpus 1",
        "\nNRCPUS: available 2, online 2\nCPU_TOPOLOGY: package_cpus 0-1; core_cpus 0; core_cpus 1; "
        "cpu 0, core 7, package 1; cpu 1, core 8, package 1"};
    for (int ids = 0; ids < 2; ids++) {
        char text[1024];
        writer_init(&writer, false, false);
        writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000000, "task-clock");
        numbers32(PERFDATA_NRCPUS, 2, 2u, 2u);
        numbers32(PERFDATA_CPU_TOPOLOGY, 1, 1u);
        texts(PERFDATA_CPU_TOPOLOGY, 1, "0-1");
        numbers32(PERFDATA_CPU_TOPOLOGY, 1, 2u);
        texts(PERFDATA_CPU_TOPOLOGY, 2, "0", "1");
        if (ids)
            numbers32(PERFDATA_CPU_TOPOLOGY, 4, 7u, 1u, 8u, 1u);
        read_facts(text, sizeof(text));
        assert_string_equal(text, wanted[ids]);
        writer_release(&writer);
    }
}

/* Each section, cut off at each byte: no fact is invented, and the end is told. */
static void test_cut_sections(void **state)
{
    (void)state;
    for (uint32_t feature = PERFDATA_CPU_TOPOLOGY; feature <= PERFDATA_PMU_CAPS; feature++) {
        size_t whole = SIZE_MAX;
        for (size_t cut = 1; cut <= whole && whole > 0; cut++) {
            char text[8192], last[64];
            writer_init(&writer, false, false);
            writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000000, "task-clock");
            fill_machine();
            fill_pmus();
            fill_rest();
            whole = section(feature)->size;
            if (whole > 0)
                section(feature)->size -= cut <= whole ? cut : whole;
            read_facts(text, sizeof(text));
            snprintf(last, sizeof(last), "\n%s:", feature_name(feature));
            const char *found = strstr(text, last);
            size_t size = found ? strcspn(found + 1, "\n") : 0;
            bool told = found && memmem(found + 1, size, "problem the section ends early", 30);
            /* What older versions of perf wrote of the topology is a whole section. */
            bool shorter = feature == PERFDATA_CPU_TOPOLOGY || section(feature)->size == 0 ||
                           feature == PERFDATA_BRANCH_STACK;
            if (!told && !shorter) {
                print_message("%s, cut by %zu bytes:%s\n", feature_name(feature), cut, text);
                fail();
            }
            writer_release(&writer);
        }
    }
}

/* A count of four billion items is no reason to allocate or to loop. */
static void test_large_counts(void **state)
{
    (void)state;
    for (uint32_t feature = PERFDATA_CPU_TOPOLOGY; feature <= PERFDATA_PMU_CAPS; feature++) {
        char text[8192];
        writer_init(&writer, false, true);
        writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000000, "task-clock");
        numbers32(PERFDATA_NRCPUS, 2, UINT32_MAX, UINT32_MAX);
        numbers32(feature, 6, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX);
        read_facts(text, sizeof(text));
        writer_release(&writer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_sections),
        cmocka_unit_test(test_older_topology),
        cmocka_unit_test(test_cut_sections),
        cmocka_unit_test(test_large_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
