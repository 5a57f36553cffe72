/* SPDX-License-Identifier: MIT */
/*
 * The files that test_commands reads: one/ and two/ are sessions of ours, a few tasks each, whose programs and
 * libraries lie in tests/data/symfs; NAME.data are files like perf's own, of one feature each; lib.data has
 * samples all over the code of the libraries.
 */
#include "test_commands.h"

#include <stdio.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/perfdata.h"
#include "perfdata_writer.h"

#define USER PERF_RECORD_MISC_USER
#define KERNEL PERF_RECORD_MISC_KERNEL
#define ENDED (PINJECT_TASK_ENDED | PINJECT_TASK_STATUS)
#define MS UINT64_C(1000000)
#define APP UINT64_C(0x555500000000)
#define LIB(n) (UINT64_C(0x7f0000000000) + (uint64_t)(n) * 0x10000)
#define KERNEL_TEXT UINT64_C(0xffffffff81000000)
#define TIME UINT64_C(1700000000123456789)

static const struct library {
    const char *path;
    unsigned char id; /* the first byte of its build id; 0: it has none */
    uint64_t begin, end; /* of its code */
} libraries[] = {
    {"/usr/lib/libx.so", 0xbb, 0x2e0, 0x364},      {"/usr/lib/liblink.so", 0, 0x280, 0x304},
    {"/usr/lib/libbyid.so", 0xcc, 0x2e0, 0x368},   {"/usr/lib/libmini.so", 0xdd, 0x2e0, 0x364},
    {"/usr/lib/libbare.so", 0xee, 0x228, 0x284},   {"/usr/lib/libsplit.so", 0xff, 0x2e0, 0x366},
    {"/usr/lib/libgone.so", 0x11, 0x1000, 0x1010}, {"/opt/app/plain", 0xaa, 0x300, 0x310},
    /* These are in lib.data alone: */
    {"/usr/lib/libpkg4.so", 0xa1, 0x3a0, 0x522},   {"/usr/lib/libpkg5.so", 0xa2, 0x370, 0x504},
    {"/usr/lib/libv2.so", 0xa3, 0x3a0, 0x522},     {"/usr/lib/libclang.so", 0xa4, 0x370, 0x504},
    {"/usr/lib/lib64.so", 0xa5, 0x3a0, 0x522},     {"/usr/lib/libgnu.so", 0xa6, 0x3a0, 0x522},
    {"/usr/lib/libdwz1.so", 0xb1, 0x3a0, 0x522},   {"/usr/lib/libdwz2.so", 0xb2, 0x3a0, 0x522},
    {"/usr/lib/lib386.so", 0xb3, 0x1c0, 0x2f3},    {"/usr/lib/libarm.so", 0xb4, 0x2f8, 0x470},
};
enum { LIBRARIES = sizeof(libraries) / sizeof(libraries[0]) };

static const unsigned char *build_id(unsigned char first)
{
    static unsigned char id[20] = {0,    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                   0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00, 0x11, 0x22};
    id[0] = first;
    return id;
}

static void put_text(struct writer *writer, unsigned feature, const char *text)
{
    writer_text(writer, &writer->features[feature], text);
}

/* Nothing of the machine where the tests run. */
static void put_machine(struct writer *writer)
{
    put_text(writer, PERFDATA_HOSTNAME, "host.example");
    put_text(writer, PERFDATA_OSRELEASE, "0.0.1-test");
    put_text(writer, PERFDATA_ARCH, "x86_64");
    put_text(writer, PERFDATA_CPUDESC, "A CPU @ 1 GHz");
    writer_u32(writer, &writer->features[PERFDATA_NRCPUS], 8);
    writer_u32(writer, &writer->features[PERFDATA_NRCPUS], 4);
    writer_u64(writer, &writer->features[PERFDATA_TOTAL_MEM], 2097152);
}

static void put_ids(struct writer *writer)
{
    writer_build_id(writer, "/opt/app/app", build_id(0xaa), 20, USER);
    for (unsigned i = 0; i < LIBRARIES; i++)
        if (libraries[i].id)
            writer_build_id(writer, libraries[i].path, build_id(libraries[i].id), 20, USER);
}

static void put_maps(struct writer *writer)
{
    writer_mmap(writer, APP, 0x2000, 0, "/opt/app/app");
    for (unsigned i = 0; i < LIBRARIES; i++)
        writer_mmap(writer, LIB(i), 0x2000, 0, libraries[i].path);
    writer_mmap(writer, 0x7fff00000000, 0x1000, 0, "//anon");
}

/* ---- sessions of ours */

struct task {
    uint32_t pid, tid, ppid, parent_tid, flags, source;
    int status;
    uint64_t start_ms, end_ms, startup_ms, exit_ms, lost;
    const char *comm, *exec, *argument;
};

static void put_task(struct writer *writer, const struct task *task)
{
    const struct pinject_item_task fixed = {.pid = (int32_t)task->pid,
                                            .tid = (int32_t)task->tid,
                                            .ppid = (int32_t)task->ppid,
                                            .parent_tid = (int32_t)task->parent_tid,
                                            .flags = task->flags,
                                            .source = task->source,
                                            .status = task->status,
                                            .start_ns = task->start_ms * MS,
                                            .end_ns = task->end_ms * MS,
                                            .startup_ns = task->startup_ms * MS,
                                            .exit_ns = task->exit_ms * MS,
                                            .lost = task->lost};
    writer->pid = task->pid;
    writer->tid = task->tid;
    writer->time = task->start_ms * MS + 1;
    writer_item(writer, PINJECT_ITEM_TASK, &fixed, sizeof(fixed), NULL, 0);
}

static void put_session(struct writer *writer, unsigned char id, uint64_t realtime)
{
    const char *strings[] = {"0.1.0", "task-clock", "this machine has no hardware counters", "pinject-run", "--",
                             "make",  "-j 2"};
    struct pinject_item_session fixed = {
        .start_ns = 1000 * MS, .start_realtime_ns = realtime, .flags = 15, .root = 100, .uid = 5, .arguments = 4};
    memset(fixed.id, id, sizeof(fixed.id));
    writer_item(writer, PINJECT_ITEM_SESSION, &fixed, sizeof(fixed), strings, 7);
}

static void begin(struct writer *writer, unsigned char id, const struct task *task)
{
    writer_init(writer, false, false);
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, MS, "task-clock");
    struct perf_event_attr *cycles =
        writer_attr(writer, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 4000, "cycles:u");
    cycles->freq = cycles->exclude_kernel = 1;
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, "page-faults");
    writer_attr(writer, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, "instructions");
    put_session(writer, id, TIME);
    put_task(writer, task);
    put_machine(writer);
    put_ids(writer);
    writer_kernel_mmap(writer, KERNEL_TEXT, 0x1000000, KERNEL_TEXT, "[kernel.kallsyms]_text");
    writer_comm(writer, task->comm, false);
    put_maps(writer);
}

/* COUNT samples of EVENT, a millisecond apart, each of PERIOD. CHAIN: leaf first, up to the first 0. */
static void put_samples(struct writer *writer, unsigned event, unsigned count, uint64_t period, const uint64_t *chain)
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

/* Of main, walk and parse of the program, and what they call. */
static const uint64_t in_main[] = {APP + 0x36a, 0};
static const uint64_t in_walk[] = {APP + 0x3d6, APP + 0x3c4, APP + 0x3c4, APP + 0x357, 0};
static const uint64_t in_parse[] = {APP + 0x42f, APP + 0x363, 0};
static const uint64_t in_half[] = {APP + 0x43b, APP + 0x363, 0};
static const uint64_t in_inner[] = {LIB(0) + 0x30c, LIB(0) + 0x33c, APP + 0x378, 0};
static const uint64_t in_plt[] = {APP + 0x310, APP + 0x363, 0};
static const uint64_t in_link[] = {LIB(1) + 0x2b0, LIB(2) + 0x310, LIB(3) + 0x320, LIB(4) + 0x240, LIB(5) + 0x310, 0};
static const uint64_t in_gone[] = {LIB(6) + 0x1004, LIB(7) + 0x314, 0x1234, 0};
static const uint64_t in_kernel[] = {KERNEL_TEXT + 0x1234, KERNEL_TEXT + 0x99, APP + 0x352, 0};
static const uint64_t in_no_file[] = {0x7fff00000100, APP + 0x357, 0};

static void save(struct writer *writer, const char *folder, const struct task *task, const char *suffix)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/out.%u.%u%s", folder, task->pid, task->tid, suffix);
    writer_save(writer, path);
    writer_release(writer);
}

static void put_coverage(struct writer *writer, bool complete)
{
    static const char *const unseen[2][2] = {{"setuid", "sudo"}, {"static program", "busybox\t\033[1m"}};
    const char *note = "3 of 5 files of symbols were too large, so that their functions have no names: "
                       "--max-symbols takes more of them.";
    const struct pinject_item_coverage coverage = {.cpu_ns = 200 * MS,
                                                   .attributed_ns = 160 * MS,
                                                   .tasks = 7,
                                                   .files = 6,
                                                   .collector_ns = 5 * MS,
                                                   .complete = complete};
    const struct pinject_item_stacks stacks = {.bottom = 90,
                                               .truncated = 5,
                                               .too_deep = 1,
                                               .no_table = 2,
                                               .bad_memory = 3,
                                               .extended = 4,
                                               .chosen = 6,
                                               .behind = 7,
                                               .foreign = 8,
                                               .dump = 8192,
                                               .automatic = complete};
    writer_item(writer, PINJECT_ITEM_COVERAGE, &coverage, sizeof(coverage), NULL, 0);
    for (unsigned i = 0; i < 2; i++) {
        const struct pinject_item_unseen fixed = {.count = 1 + 2000 * i, .cpu_ns = i ? 0 : 30 * MS};
        writer_item(writer, PINJECT_ITEM_UNSEEN, &fixed, sizeof(fixed), unseen[i], 2);
    }
    struct pinject_item_note empty = {{0}};
    writer_item(writer, PINJECT_ITEM_NOTE, &empty, sizeof(empty), &note, 1);
    writer_item(writer, PINJECT_ITEM_STACKS, &stacks, sizeof(stacks), NULL, 0);
}

static const struct task leader = {100, 100, 1, 0, ENDED | PINJECT_TASK_ROOT | PINJECT_TASK_EXIT_COST,
                                   PINJECT_SOURCE_PERF, 3 << 8, 1000, 1400, 2, 3, 5, "make", "/usr/bin/make", "-j 2"};
static const struct task thread = {100, 101, 1, 100, PINJECT_TASK_ENDED, PINJECT_SOURCE_PERF, 0, 1010, 1200, 0, 0, 0,
                                   "worker", NULL, NULL};
static const struct task child = {200, 200, 100, 101, ENDED, PINJECT_SOURCE_NET, 11, 1020, 1300, 1, 0, 1, "cc1",
                                  "/usr/lib/cc1", "a b.c"};
static const struct task timed = {200, 201, 100, 200, PINJECT_TASK_ENDED, PINJECT_SOURCE_TIMER, 0, 1030, 1290, 0, 0, 0,
                                  "cc1", NULL, NULL};
static const struct task counted = {300, 300, 100, 100, PINJECT_TASK_COUNTED_ONLY, PINJECT_SOURCE_ACCOUNTING, 0, 1040,
                                    1300, 4, 0, 0, "as\033[2J", "/usr/bin/as", ""};
static const struct task late = {400, 400, 200, 0, ENDED, PINJECT_SOURCE_PERF, 0, 1350, 1399, 0, 0, 0, "ld",
                                 "/usr/bin/ld", "'quoted'"};

/* WEIGHT makes the second session differ from the first. */
static void save_session(const char *folder, unsigned char id, unsigned weight)
{
    struct writer writer;
    begin(&writer, id, &leader);
    writer_image(&writer, 0, 1000 * MS, "sh", "/bin/sh", "sh");
    writer_image(&writer, 1, 1005 * MS, "make", "/usr/bin/make", "make");
    writer_count(&writer, 0, 0, 4 * MS, 5 * MS, 5 * MS, "task-clock");
    writer_count(&writer, 0, 1, 40 * MS, 50 * MS, 50 * MS, "task-clock");
    writer_count(&writer, 0, UINT32_MAX, 44 * MS, 55 * MS, 55 * MS, "task-clock");
    writer_count(&writer, 2, UINT32_MAX, 1234567, 55 * MS, 55 * MS, "page-faults");
    writer_count(&writer, 3, UINT32_MAX, 1000, 100, 25, "instructions");
    writer_count(&writer, UINT32_MAX, 1, 17, 100, 0, "cache-misses");
    put_coverage(&writer, weight == 1);
    put_samples(&writer, 0, 3, MS, in_no_file);
    writer_comm(&writer, "make", true);
    put_maps(&writer);
    put_samples(&writer, 0, 12 * weight, MS, in_main);
    put_samples(&writer, 0, 7, MS, in_walk);
    put_samples(&writer, 0, 5, MS, in_kernel);
    put_samples(&writer, 1, 4, 5000, in_parse);
    writer_exit(&writer);
    save(&writer, folder, &leader, "");

    begin(&writer, id, &thread);
    writer_count(&writer, 0, UINT32_MAX, 30 * MS, 31 * MS, 31 * MS, "task-clock");
    put_samples(&writer, 0, 20, MS, in_parse);
    put_samples(&writer, 0, 10 / weight, MS, in_half);
    put_samples(&writer, 1, 9, 7000, in_walk);
    save(&writer, folder, &thread, "");

    begin(&writer, id, &child);
    writer_image(&writer, 0, 1020 * MS, "cc1", "/usr/lib/cc1", child.argument);
    writer_count(&writer, 0, UINT32_MAX, 61 * MS, 62 * MS, 31 * MS, "task-clock");
    writer_count(&writer, 2, UINT32_MAX, 0, 55 * MS, 55 * MS, "page-faults");
    put_samples(&writer, 0, 25, MS, in_inner);
    put_samples(&writer, 0, 2, 2 * MS, in_plt);
    put_samples(&writer, 0, 6 * weight * weight, MS, in_link);
    put_samples(&writer, 0, 4, MS, in_gone);
    save(&writer, folder, &child, "");

    begin(&writer, id, &timed);
    put_samples(&writer, 0, weight == 1 ? 8 : 40, MS, in_walk);
    save(&writer, folder, &timed, "");

    begin(&writer, id, &counted);
    writer_image(&writer, 0, 1040 * MS, counted.comm, counted.exec, counted.argument);
    writer_count(&writer, 0, UINT32_MAX, 9 * MS, 9 * MS, 9 * MS, "task-clock");
    save(&writer, folder, &counted, ".as");

    begin(&writer, id, &late);
    writer_image(&writer, 0, 1350 * MS, "ld", "/usr/bin/ld", late.argument);
    if (weight > 1)
        put_samples(&writer, 0, 9, MS, in_gone);
    save(&writer, folder, &late, "~1");
}

/* ---- like perf's own */

/* One sample at each seventh byte of the code of each library and of the program. */
static void save_addresses(void)
{
    struct writer writer;
    uint64_t chain[2] = {0};
    writer_init(&writer, false, false);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1000, "cpu-clock");
    put_machine(&writer);
    put_ids(&writer);
    writer_comm(&writer, "app", true);
    put_maps(&writer);
    for (chain[0] = APP + 0x300; chain[0] < APP + 0x460; chain[0] += 7)
        put_samples(&writer, 0, 1, 1, chain);
    for (unsigned i = 0; i < LIBRARIES; i++)
        for (chain[0] = LIB(i) + libraries[i].begin - 2; chain[0] < LIB(i) + libraries[i].end + 2; chain[0] += 7)
            put_samples(&writer, 0, 1, 1, chain);
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
    put_machine(&writer);
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
    writer_exit(&writer);
    writer_round(&writer);
    writer_save(&writer, path);
    commands_date(path, 0);
    writer_release(&writer);
}

static void save_bytes(const char *path, const struct buffer *bytes)
{
    FILE *to = fopen(path, "w");
    if (!to || fwrite(bytes->data, 1, bytes->size, to) != bytes->size || fclose(to) != 0)
        abort();
    commands_date(path, 0);
}

/* Of another kernel than the one that may run here, whose names would be shown: another release, another build id. */
static void change_kernel(struct buffer *bytes)
{
    static const char release[] = "6.18.44-", path[] = "[kernel.kallsyms]";
    enum { ID = 24, ID_SIZE = 4 };
    for (size_t at = ID; at + sizeof(path) <= bytes->size; at++) {
        if (memcmp(bytes->data + at, release, sizeof(release) - 1) == 0)
            bytes->data[at] = '0';
        if (memcmp(bytes->data + at, path, sizeof(path) - 1) == 0 && bytes->data[at - ID_SIZE] == 20)
            bytes->data[at - ID] ^= 0xff;
    }
}

static void save_text(const char *path, const char *text)
{
    FILE *to = fopen(path, "w");
    if (!to || fputs(text, to) < 0 || fclose(to) != 0)
        abort();
}

/* Prints what make.sh has recorded, and keeps what it was asked for. */
static void save_objdump(void)
{
    save_text("bin/objdump", "#!/bin/sh\nprintf '%s\\n' \"$*\" >> objdump.log\n"
                             "for file; do :; done\nexec cat \"$file.objdump\"\n");
    save_text("bin/broken", "#!/bin/sh\necho \"objdump: $7: is broken\" >&2\nexit 3\n");
    save_text("bin/killed", "#!/bin/sh\nkill -9 $$\n");
    static const char *const programs[] = {"bin/objdump", "bin/broken", "bin/killed"};
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        if (chmod(programs[i], 0755) < 0)
            abort();
}

/* The time of a file is that of its recording, where it does not say another. */
void commands_date(const char *path, long seconds)
{
    const struct timespec time = {.tv_sec = seconds ? seconds : 1700000000}, times[2] = {time, time};
    if (utimensat(AT_FDCWD, path, times, 0) < 0)
        abort();
}

int commands_inputs(void)
{
    static const char *const recorded[] = {"fp", "dwarf", "zstd", "pipe", "fields", "ours-1", "ours-2", "swapped"};
    static const char *const folders[] = {"one", "two", "both", "empty", "bin", "work"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (mkdir(folders[i], 0777) < 0)
            return -1;
    for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++) {
        char from[512], name[64];
        struct buffer bytes = BUFFER_INIT;
        snprintf(from, sizeof(from), "%s/%s.data", TEST_DATA, recorded[i]);
        snprintf(name, sizeof(name), "%s.data", recorded[i]);
        if (buffer_read_file(&bytes, from, 1 << 20) < 0)
            return -1;
        change_kernel(&bytes);
        save_bytes(name, &bytes);
        buffer_release(&bytes);
    }
    /* A checkout has any times: who is newer is said in the output. */
    if (system("cp -r '" TEST_DATA "/symfs' sym && find sym -exec touch -d @1700000000 '{}' +") != 0)
        return -1;
    save_session("one", 0xa1, 1);
    save_session("two", 0xb2, 2);
    save_addresses();
    save_records(false, false, "records.data");
    save_records(true, false, "records-swapped.data");
    save_records(false, true, "records-pipe.data");
    save_text("text", "hello, world\n");
    save_text("none", "");
    save_objdump();
    return 0;
}
