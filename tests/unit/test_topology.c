/* SPDX-License-Identifier: MIT */
/* Sections of a machine whose sysfs the test makes up: two packages, two nodes, a CPU that is off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/system/topology.h"

static char sysfs[] = "/tmp/topology.XXXXXX";

static void say(const char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes TEXT into a file below sysfs, and makes its directories. */
static void say(const char *text, const char *format, ...)
{
    char path[512];
    int start = snprintf(path, sizeof(path), "%s/", sysfs);
    va_list list;
    va_start(list, format);
    vsnprintf(path + start, sizeof(path) - (size_t)start, format, list);
    va_end(list);
    for (char *slash = path + start; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(sysfs + sizeof(sysfs) - 7, "XXXXXX");
    return mkdtemp(sysfs) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", sysfs);
    return system(command);
}

static void expect(enum perfdata_feature bit, const void *bytes, size_t size)
{
    struct buffer to = BUFFER_INIT;
    topology_append(bit, sysfs, 4, &to);
    assert_int_equal(to.size, size);
    if (size)
        assert_memory_equal(to.data, bytes, size);
    buffer_release(&to);
}

#define U32(n) (n) & 255, (n) >> 8 & 255, (n) >> 16 & 255, (n) >> 24 & 255
#define U64(n) U32(n), U32(0)

/* Texts with perf's padding. */
static void add_list(struct buffer *to, uint32_t count, ...)
{
    va_list list;
    va_start(list, count);
    buffer_u32(to, count);
    for (uint32_t i = 0; i < count; i++) {
        const char *text = va_arg(list, const char *);
        buffer_u32(to, 64);
        memcpy(buffer_extend(to, 64), text, strlen(text));
    }
    va_end(list);
}

static void test_processors(void **state)
{
    (void)state;
    static const char *const lists[] = {"0-1", "0-1", NULL, "3"};
    for (unsigned i = 0; i < 4; i++) {
        if (!lists[i])
            continue;
        const char *package = i == 3 ? "1\n" : "0\n";
        char text[32];
        snprintf(text, sizeof(text), "%s\n", lists[i]);
        say(text, "devices/system/cpu/cpu%u/topology/package_cpus_list", i);
        say(text, "devices/system/cpu/cpu%u/topology/die_cpus_list", i);
        snprintf(text, sizeof(text), "%u\n", i);
        /* The older name. */
        say(text, "devices/system/cpu/cpu%u/topology/thread_siblings_list", i);
        say(text, "devices/system/cpu/cpu%u/topology/core_id", i);
        say(package, "devices/system/cpu/cpu%u/topology/physical_package_id", i);
        say("5\n", "devices/system/cpu/cpu%u/topology/die_id", i);
    }
    struct buffer wanted = BUFFER_INIT;
    static const uint32_t ids[] = {0, 0, 1, 0, UINT32_MAX, UINT32_MAX, 3, 1}, dies[] = {5, 5, UINT32_MAX, 5};
    add_list(&wanted, 2, "0-1", "3", NULL);
    add_list(&wanted, 3, "0", "1", "3");
    buffer_append(&wanted, ids, sizeof(ids));
    add_list(&wanted, 2, "0-1", "3", NULL);
    buffer_append(&wanted, dies, sizeof(dies));
    expect(PERFDATA_CPU_TOPOLOGY, wanted.data, wanted.size);
    buffer_release(&wanted);
}

static void test_caches(void **state)
{
    (void)state;
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        for (unsigned index = 0; index < 2; index++) {
            char own[8];
            snprintf(own, sizeof(own), "%u\n", cpu);
            say(index ? "1\n" : "3\n", "devices/system/cpu/cpu%u/cache/index%u/level", cpu, index);
            say("64\n", "devices/system/cpu/cpu%u/cache/index%u/coherency_line_size", cpu, index);
            say("128\n", "devices/system/cpu/cpu%u/cache/index%u/number_of_sets", cpu, index);
            say("8\n", "devices/system/cpu/cpu%u/cache/index%u/ways_of_associativity", cpu, index);
            say(index ? "Data\n" : "Unified\n", "devices/system/cpu/cpu%u/cache/index%u/type", cpu, index);
            say(index ? "64K\n" : "8M\n", "devices/system/cpu/cpu%u/cache/index%u/size", cpu, index);
            say(index ? own : "0-1\n", "devices/system/cpu/cpu%u/cache/index%u/shared_cpu_list", cpu, index);
        }
    }
    static const unsigned char wanted[] = {
        U32(1), U32(3), U32(1), U32(64), U32(128), U32(8), U32(5), 'D',    'a',    't',     'a',      0,
        U32(4), '6',    '4',    'K',     0,        U32(2), '0',    0,      U32(1), U32(64), U32(128), U32(8),
        U32(5), 'D',    'a',    't',     'a',      0,      U32(4), '6',    '4',    'K',     0,        U32(2),
        '1',    0,      U32(3), U32(64), U32(128), U32(8), U32(8), 'U',    'n',    'i',     'f',      'i',
        'e',    'd',    0,      U32(3),  '8',      'M',    0,      U32(4), '0',    '-',     '1',      0};
    expect(PERFDATA_CACHE, wanted, sizeof(wanted));
}

static void test_memory(void **state)
{
    (void)state;
    say("8000000\n", "devices/system/memory/block_size_bytes");
    say("x\n", "devices/system/node/online");
    for (unsigned node = 0; node < 11; node += 10) {
        say(node ? "3\n" : "0-1\n", "devices/system/node/node%u/cpulist", node);
        say(node ? "none" : "Node 0 MemTotal:     5334816 kB\nNode 0 MemFree:    17 kB\n",
            "devices/system/node/node%u/meminfo", node);
    }
    for (unsigned block = 0; block < 3; block++)
        say("", "devices/system/node/node0/memory%u/state", block * 66);
    static const unsigned char nodes[] = {U32(2), U32(0),  U64(5334816), U64(17), U32(4), '0', '-', '1',
                                          0,      U32(10), U64(0),       U64(0),  U32(2), '3', 0};
    expect(PERFDATA_NUMA_TOPOLOGY, nodes, sizeof(nodes));
    static const unsigned char memory[] = {U64(1), U64(0x8000000), U64(2),  U64(0),  U64(133), U64(133),
                                           U64(1), U64(4),         U64(16), U64(10), U64(0),   U64(0)};
    expect(PERFDATA_MEM_TOPOLOGY, memory, sizeof(memory));
}

static void test_pmus(void **state)
{
    (void)state;
    say("4\n", "bus/event_source/devices/cpu/type");
    say("1\n", "bus/event_source/devices/a_software/type");
    say("x\n", "bus/event_source/devices/strange/type");
    say("9\n", "bus/event_source/devices/no_type/format/a");
    static const unsigned char wanted[] = {U32(2), U32(1), U32(11), 'a', '_',    's',    'o', 'f', 't', 'w',
                                           'a',    'r',    'e',     0,   U32(4), U32(4), 'c', 'p', 'u', 0};
    expect(PERFDATA_PMU_MAPPINGS, wanted, sizeof(wanted));
}

/* Without sysfs, and with files that are too long or no numbers, sections are left out. */
static void test_nothing(void **state)
{
    (void)state;
    static const enum perfdata_feature all[] = {PERFDATA_CPU_TOPOLOGY, PERFDATA_NUMA_TOPOLOGY, PERFDATA_PMU_MAPPINGS,
                                                PERFDATA_CACHE, PERFDATA_MEM_TOPOLOGY};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        expect(all[i], NULL, 0);
    char lengthy[600];
    memset(lengthy, '0', sizeof(lengthy) - 1);
    lengthy[sizeof(lengthy) - 1] = '\0';
    for (unsigned cpu = 0; cpu < 4; cpu++) {
        say(cpu ? "-1\n" : lengthy, "devices/system/cpu/cpu%u/topology/package_cpus_list", cpu);
        say(cpu ? "" : "99999999999999999999999\n", "devices/system/cpu/cpu%u/topology/core_cpus_list", cpu);
        say("\n", "devices/system/cpu/cpu%u/cache/index0/shared_cpu_list", cpu);
    }
    say("", "devices/system/node/nodeX/memory1");
    say("", "devices/system/node/node99999999/memory1");
    say("0\n", "devices/system/memory/block_size_bytes");
    say("-1\n", "bus/event_source/devices/cpu/type");
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        expect(all[i], NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_processors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_caches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pmus, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
