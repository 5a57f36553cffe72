/* SPDX-License-Identifier: MIT */
#include "features_kit.h"

#include "collector/system/topology.h"

struct kit kit;
struct features features;
struct machine machine;
uint64_t topology;
char typed[8192];
size_t typed_size;
int typed_error;

void __wrap_machine_read(struct machine *ret);
void __wrap_machine_read(struct machine *ret)
{
    *ret = machine;
}

/* Of each section that the machine has its number, twice. */
void __wrap_topology_append(enum perfdata_feature bit, const char *sysfs, uint32_t cpus, struct buffer *to);
void __wrap_topology_append(enum perfdata_feature bit, const char *sysfs, uint32_t cpus, struct buffer *to)
{
    assert_string_equal(sysfs, "/sys");
    assert_int_equal(cpus, machine.cpus_configured);
    if (!(topology >> bit & 1))
        return;
    buffer_u32(to, bit);
    buffer_u32(to, bit);
}

int __wrap_buffer_read_file(struct buffer *buffer, const char *path, size_t limit);
int __wrap_buffer_read_file(struct buffer *buffer, const char *path, size_t limit)
{
    assert_string_equal(path, "/proc/self/cmdline");
    assert_true(limit >= sizeof(typed));
    if (typed_error)
        return typed_error;
    buffer_append(buffer, typed, typed_size);
    return 0;
}

int features_set_up(void **state)
{
    (void)state;
    topology = 0;
    machine = (struct machine){.hostname = "host",
                               .release = "6.1.0",
                               .arch = "x86_64",
                               .cpu = "Some CPU",
                               .cpuid = "Vendor,6,1,2",
                               .cpus_configured = 8,
                               .cpus_online = 6,
                               .memory_kb = 123456};
    typed_size = sizeof("run\0-x\0a b");
    memcpy(typed, "run\0-x\0a b", typed_size);
    typed_error = 0;
    kit_new(&kit, KIT_SAMPLING);
    return 0;
}

int features_tear_down(void **state)
{
    (void)state;
    features_release(&features);
    kit_free(&kit);
    return 0;
}

void features_begin(void)
{
    features_release(&features);
    assert_int_equal(features_init(&features, &kit.session), 0);
}
