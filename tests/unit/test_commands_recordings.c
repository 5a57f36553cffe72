/* SPDX-License-Identifier: MIT */
/* The programs and libraries of tests/data/symfs in recordings, and recordings like perf's own. */
#include "test_commands_kit.h"

#include <stdio.h>
#include <string.h>

#include "common/perfdata.h"
#include "test_commands.h"

static const struct library {
    const char *path;
    unsigned char id;    /* the first byte of its build id; 0: it has none */
    uint64_t begin, end; /* of its code */
} libraries[] = {
    {"/usr/lib/libx.so", 0xbb, 0x2e0, 0x364},
    {"/usr/lib/liblink.so", 0, 0x280, 0x304},
    {"/usr/lib/libbyid.so", 0xcc, 0x2e0, 0x368},
    {"/usr/lib/libmini.so", 0xdd, 0x2e0, 0x364},
    {"/usr/lib/libbare.so", 0xee, 0x228, 0x284},
    {"/usr/lib/libsplit.so", 0xff, 0x2e0, 0x366},
    {"/usr/lib/libgone.so", 0x11, 0x1000, 0x1010},
    {"/opt/app/plain", 0xaa, 0x300, 0x310},
    /* These are in lib.data alone: */
    {"/usr/lib/libpkg4.so", 0xa1, 0x3a0, 0x522},
    {"/usr/lib/libpkg5.so", 0xa2, 0x370, 0x504},
    {"/usr/lib/libv2.so", 0xa3, 0x3a0, 0x522},
    {"/usr/lib/libclang.so", 0xa4, 0x370, 0x504},
    {"/usr/lib/lib64.so", 0xa5, 0x3a0, 0x522},
    {"/usr/lib/libgnu.so", 0xa6, 0x3a0, 0x522},
    {"/usr/lib/libdwz1.so", 0xb1, 0x3a0, 0x522},
    {"/usr/lib/libdwz2.so", 0xb2, 0x3a0, 0x522},
    {"/usr/lib/lib386.so", 0xb3, 0x1c0, 0x2f3},
    {"/usr/lib/libarm.so", 0xb4, 0x2f8, 0x470},
};
enum { LIBRARIES = sizeof(libraries) / sizeof(libraries[0]) };

static const unsigned char *build_id(unsigned char first)
{
    static unsigned char id[20] = {0,    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
                                   0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00, 0x11, 0x22};
    id[0] = first;
    return id;
}

static void put_text(struct writer *writer, unsigned feature, const char *text)
{
    writer_text(writer, &writer->features[feature], text);
}

/* Nothing of the machine where the tests run. */
void inputs_machine(struct writer *writer)
{
    put_text(writer, PERFDATA_HOSTNAME, "host.example");
    put_text(writer, PERFDATA_OSRELEASE, "0.0.1-test");
    put_text(writer, PERFDATA_ARCH, "x86_64");
    put_text(writer, PERFDATA_CPUDESC, "A CPU @ 1 GHz");
    writer_u32(writer, &writer->features[PERFDATA_NRCPUS], 8);
    writer_u32(writer, &writer->features[PERFDATA_NRCPUS], 4);
    writer_u64(writer, &writer->features[PERFDATA_TOTAL_MEM], 2097152);
}

void inputs_ids(struct writer *writer)
{
    writer_build_id(writer, "/opt/app/app", build_id(0xaa), 20, USER);
    for (unsigned i = 0; i < LIBRARIES; i++)
        if (libraries[i].id)
            writer_build_id(writer, libraries[i].path, build_id(libraries[i].id), 20, USER);
}

void inputs_maps(struct writer *writer)
{
    writer_mmap(writer, APP, 0x2000, 0, "/opt/app/app");
    for (unsigned i = 0; i < LIBRARIES; i++)
        writer_mmap(writer, LIB(i), 0x2000, 0, libraries[i].path);
    writer_mmap(writer, 0x7fff00000000, 0x1000, 0, "//anon");
}

void inputs_samples(struct writer *writer, unsigned event, unsigned count, uint64_t period, const uint64_t *chain)
{
    uint64_t full[20];
    for (unsigned i = 0; i < count; i++) {
        unsigned depth = 0, at = 0;
        bool kernel = chain[0] >> 63;
        if (kernel)
            full[depth++] = PERF_CONTEXT_KERNEL;
        while (chain[at] >> 63)
            full[depth++] = chain[at++];
        full[depth++] = PERF_CONTEXT_USER;
        while (chain[at])
            full[depth++] = chain[at++];
        writer->cpu = i % 3;
        writer_sample(writer, event, kernel ? KERNEL : USER, chain[0], period, full, depth);
        writer->time += MS;
    }
}

/* More samples than one thread takes alone, of a few processes in turn, whose mappings change in the middle. */
static void save_large(void)
{
    struct writer writer;
    writer_init(&writer, false, false);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1000, "cpu-clock");
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1, "page-faults");
    inputs_machine(&writer);
    inputs_ids(&writer);
    for (uint32_t i = 0; i < 54000; i++) {
        const uint64_t chain[] = {PERF_CONTEXT_USER, APP + 0x330 + i % 300, LIB(i % 5) + 0x301 + i % 97,
                                  i % 4001 ? APP + 0x357 : 0x1234};
        writer.pid = 10 * (1 + i % 3);
        writer.tid = writer.pid + i % 2;
        writer.time += 10;
        if (i < 3 || i == 30000) {
            char comm[16];
            snprintf(comm, sizeof(comm), "p%u", i);
            writer_comm(&writer, comm, true);
            inputs_maps(&writer);
        }
        writer_sample(&writer, i % 10 == 9, USER, chain[1], 1 + i % 7, chain, 3 + (i % 8 == 0));
        if (i % 1000 == 0)
            writer_round(&writer);
    }
    writer_save(&writer, "large.data");
    commands_date("large.data", 0);
    writer_release(&writer);
}

/* One sample at each seventh byte of the code of each library and of the program. */
static void save_addresses(void)
{
    struct writer writer;
    uint64_t chain[2] = {0};
    writer_init(&writer, false, false);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1000, "cpu-clock");
    inputs_machine(&writer);
    inputs_ids(&writer);
    writer_comm(&writer, "app", true);
    inputs_maps(&writer);
    for (chain[0] = APP + 0x300; chain[0] < APP + 0x460; chain[0] += 7)
        inputs_samples(&writer, 0, 1, 1, chain);
    for (unsigned i = 0; i < LIBRARIES; i++)
        for (chain[0] = LIB(i) + libraries[i].begin - 2; chain[0] < LIB(i) + libraries[i].end + 2; chain[0] += 7)
            inputs_samples(&writer, 0, 1, 1, chain);
    writer_save(&writer, "lib.data");
    commands_date("lib.data", 0);
    writer_release(&writer);
}

/* All records that are only counted, or noted. */
static void save_records(bool swap, bool pipe, const char *path)
{
    struct writer writer;
    writer_init(&writer, swap, pipe);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1000, "cpu-clock");
    inputs_machine(&writer);
    writer_comm(&writer, "a", true);
    writer_mmap(&writer, 0x1000, 0x2000, 0x3000, "/a");
    writer_fork(&writer, 20, 20);
    writer_fork(&writer, 10, 11);
    writer.time += 100;
    writer_sample(&writer, 0, USER, 0x1001, 1000, NULL, 0);
    writer.tid = 11;
    writer_sample(&writer, 0, USER, 0x1002, 1000, NULL, 0);
    writer.pid = writer.tid = 20;
    writer_sample(&writer, 0, USER, 0x2fff, 1000, NULL, 0);
    writer_sample(&writer, 0, USER, 0x3000, 1000, NULL, 0);
    writer_sample(&writer, 0, PERF_RECORD_MISC_HYPERVISOR, 0x3000, 1000, NULL, 0);
    writer_comm(&writer, "b", true);
    writer_mmap(&writer, 0x1000, 0x2000, 0, "/b");
    writer_sample(&writer, 0, USER, 0x1001, 2000, NULL, 0);
    writer_begin(&writer, PERF_RECORD_LOST, 0);
    writer_u64(&writer, &writer.data, 100);
    writer_u64(&writer, &writer.data, 5);
    writer_end(&writer);
    writer_begin(&writer, PERF_RECORD_LOST_SAMPLES, 0);
    writer_u64(&writer, &writer.data, 3);
    writer_end(&writer);
    for (uint32_t type = PERF_RECORD_THROTTLE; type <= PERF_RECORD_UNTHROTTLE; type++) {
        writer_begin(&writer, type, 0);
        writer_u64(&writer, &writer.data, writer.time);
        writer_u64(&writer, &writer.data, 100);
        writer_u64(&writer, &writer.data, 100);
        writer_end(&writer);
    }
    for (uint32_t type = PERF_RECORD_AUX; type <= PERF_RECORD_TEXT_POKE; type++) {
        if (type == PERF_RECORD_LOST_SAMPLES || type == PERF_RECORD_KSYMBOL || type == PERF_RECORD_BPF_EVENT)
            continue;
        writer_begin(&writer, type, 0);
        for (unsigned i = 0; i < 6; i++)
            writer_u64(&writer, &writer.data, 0);
        writer_end(&writer);
    }
    writer_begin(&writer, 200, 0);
    writer_end(&writer);
    writer_sample(&writer, 0, PERF_RECORD_MISC_GUEST_USER, 0x1001, 1000, NULL, 0);
    writer_sample(&writer, 0, PERF_RECORD_MISC_GUEST_KERNEL, 0x1001, 1000, NULL, 0);
    for (uint32_t type = PERFDATA_RECORD_ATTR; type <= PERFDATA_RECORD_FINISHED_INIT && !pipe; type++) {
        writer_begin(&writer, type, 0);
        buffer_extend(&writer.data, type == PERFDATA_RECORD_COMPRESSED ? 0 : 48);
        writer_end(&writer);
    }
    writer_exit(&writer);
    writer_round(&writer);
    writer_save(&writer, path);
    commands_date(path, 0);
    writer_release(&writer);
}

/* A sample that reads the counts of both events. */
static void put_reading_sample(struct writer *writer, uint64_t ip, uint64_t clock, uint64_t faults)
{
    struct buffer *data = &writer->data;
    writer_begin(writer, PERF_RECORD_SAMPLE, USER);
    writer_u64(writer, data, 100);
    writer_u64(writer, data, ip);
    writer_u32(writer, data, writer->pid);
    writer_u32(writer, data, writer->tid);
    writer_u64(writer, data, writer->time);
    writer_u64(writer, data, writer->cpu);
    writer_u64(writer, data, 2);
    writer_u64(writer, data, clock);
    writer_u64(writer, data, 100);
    writer_u64(writer, data, faults);
    writer_u64(writer, data, 101);
    writer_end(writer);
    writer->time += MS;
}

/* perf record -e '{task-clock,page-faults}:S' */
static void save_group(void)
{
    static const uint64_t places[] = {0x42f, 0x42f, 0x36a, 0x3d6, 0x42f, 0x43b, 0x36a};
    struct writer writer;
    writer_init(&writer, false, false);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, MS, "task-clock");
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, "page-faults");
    for (unsigned i = 0; i < 2; i++) {
        writer.attrs[i].sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                      PERF_SAMPLE_CPU | PERF_SAMPLE_READ;
        writer.attrs[i].read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    }
    inputs_machine(&writer);
    inputs_ids(&writer);
    writer_comm(&writer, "app", true);
    inputs_maps(&writer);
    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        put_reading_sample(&writer, APP + places[i], (i + 1) * MS + i, 5 + 10 * (i / 2));
    writer_save(&writer, "group.data");
    commands_date("group.data", 0);
    writer_release(&writer);
}

void inputs_like_perf(void)
{
    save_group();
    save_addresses();
    save_large();
    save_records(false, false, "records.data");
    save_records(true, false, "records-swapped.data");
    save_records(false, true, "records-pipe.data");
}
