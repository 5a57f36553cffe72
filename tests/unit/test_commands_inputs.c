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
#include "test_commands_kit.h"

#define ENDED       (PINJECT_TASK_ENDED | PINJECT_TASK_STATUS)
#define KERNEL_TEXT UINT64_C(0xffffffff81000000)
#define TIME        UINT64_C(1700000000123456789)

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
    struct perf_event_attr *cycles = writer_attr(writer, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 4000,
                                                 "cycles:u");
    cycles->freq = cycles->exclude_kernel = 1;
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, "page-faults");
    writer_attr(writer, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, "instructions");
    put_session(writer, id, TIME);
    put_task(writer, task);
    inputs_machine(writer);
    inputs_ids(writer);
    writer_kernel_mmap(writer, KERNEL_TEXT, 0x1000000, KERNEL_TEXT, "[kernel.kallsyms]_text");
    writer_comm(writer, task->comm, false);
    inputs_maps(writer);
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
static const uint64_t in_wide[] = {LIB(30) + 0x10, LIB(30) + 0x20, APP + 0x357, 0};
static const uint64_t in_no_file[] = {0x7fff00000100, APP + 0x357, 0};

static void save(struct writer *writer, const char *directory, const struct task *task, const char *suffix)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/out.%u.%u%s", directory, task->pid, task->tid, suffix);
    writer_save(writer, path);
    writer_release(writer);
}

static void put_coverage(struct writer *writer, bool complete)
{
    static const char *const missed[2][2] = {{"setuid", "sudo"}, {"static program", "busybox\t\033[1m"}};
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
                                               .flags = complete};
    /* The session that is not complete ran beside others. */
    const struct pinject_item_machine machine = {.elapsed_ns = 400 * MS, .others_ns = complete ? 30 * MS : 500 * MS};
    writer_item(writer, PINJECT_ITEM_COVERAGE, &coverage, sizeof(coverage), NULL, 0);
    writer_item(writer, PINJECT_ITEM_MACHINE, &machine, sizeof(machine), NULL, 0);
    for (unsigned i = 0; i < 2; i++) {
        const struct pinject_item_missed fixed = {.count = 1 + 2000 * i, .cpu_ns = i ? 0 : 30 * MS};
        writer_item(writer, PINJECT_ITEM_MISSED, &fixed, sizeof(fixed), missed[i], 2);
    }
    struct pinject_item_note empty = {{0}};
    writer_item(writer, PINJECT_ITEM_NOTE, &empty, sizeof(empty), &note, 1);
    writer_item(writer, PINJECT_ITEM_STACKS, &stacks, sizeof(stacks), NULL, 0);
}

static const struct task leader = {100,
                                   100,
                                   1,
                                   0,
                                   ENDED | PINJECT_TASK_ROOT | PINJECT_TASK_EXIT_COST,
                                   PINJECT_SOURCE_PERF,
                                   3 << 8,
                                   1000,
                                   1400,
                                   2,
                                   3,
                                   5,
                                   "make",
                                   "/usr/bin/make",
                                   "-j 2"};
static const struct task thread = {
    100, 101, 1, 100, PINJECT_TASK_ENDED, PINJECT_SOURCE_PERF, 0, 1010, 1200, 0, 0, 0, "worker", NULL, NULL};
static const struct task child = {200,  200, 100, 101, ENDED, PINJECT_SOURCE_INHERITED, 11,     1020,
                                  1300, 1,   0,   1,   "cc1", "/usr/lib/cc1",           "a b.c"};
static const struct task by_timer = {
    200, 201, 100, 200, PINJECT_TASK_ENDED, PINJECT_SOURCE_TIMER, 0, 1030, 1290, 0, 0, 0, "cc1", NULL, NULL};
static const struct task counted = {
    300, 300,         100,           100, PINJECT_TASK_COUNTED_ONLY, PINJECT_SOURCE_ACCOUNTING, 0, 1040, 1300, 4, 0,
    0,   "as\033[2J", "/usr/bin/as", ""};
static const struct task late = {400,  400, 200, 0, ENDED, PINJECT_SOURCE_PERF, 0,         1350,
                                 1399, 0,   0,   0, "ld",  "/usr/bin/ld",       "'quoted'"};

/* WEIGHT makes the second session differ from the first. */
static void save_session(const char *directory, unsigned char id, unsigned weight)
{
    struct writer writer;
    begin(&writer, id, &leader);
    writer_generation(&writer, 0, 1000 * MS, "sh", "/bin/sh", "sh");
    writer_generation(&writer, 1, 1005 * MS, "make", "/usr/bin/make", "make");
    writer_count(&writer, 0, 0, 4 * MS, 5 * MS, 5 * MS, "task-clock");
    writer_count(&writer, 0, 1, 40 * MS, 50 * MS, 50 * MS, "task-clock");
    writer_count(&writer, 0, UINT32_MAX, 44 * MS, 55 * MS, 55 * MS, "task-clock");
    writer_count(&writer, 2, UINT32_MAX, 1234567, 55 * MS, 55 * MS, "page-faults");
    writer_count(&writer, 3, UINT32_MAX, 1000, 100, 25, "instructions");
    writer_count(&writer, UINT32_MAX, 1, 17, 100, 0, "cache-misses");
    put_coverage(&writer, weight == 1);
    inputs_samples(&writer, 0, 3, MS, in_no_file);
    writer_comm(&writer, "make", true);
    inputs_maps(&writer);
    inputs_samples(&writer, 0, 12 * weight, MS, in_main);
    inputs_samples(&writer, 0, 7, MS, in_walk);
    inputs_samples(&writer, 0, 5, MS, in_kernel);
    inputs_samples(&writer, 1, 4, 5000, in_parse);
    writer_exit(&writer);
    save(&writer, directory, &leader, "");

    begin(&writer, id, &thread);
    writer_count(&writer, 0, UINT32_MAX, 30 * MS, 31 * MS, 31 * MS, "task-clock");
    inputs_samples(&writer, 0, 20, MS, in_parse);
    inputs_samples(&writer, 0, 10 / weight, MS, in_half);
    inputs_samples(&writer, 1, 9, 7000, in_walk);
    save(&writer, directory, &thread, "");

    begin(&writer, id, &child);
    writer_generation(&writer, 0, 1020 * MS, "cc1", "/usr/lib/cc1", child.argument);
    writer_count(&writer, 0, UINT32_MAX, 61 * MS, 62 * MS, 31 * MS, "task-clock");
    writer_count(&writer, 2, UINT32_MAX, 0, 55 * MS, 55 * MS, "page-faults");
    inputs_samples(&writer, 0, 25, MS, in_inner);
    inputs_samples(&writer, 0, 2, 2 * MS, in_plt);
    inputs_samples(&writer, 0, 6 * weight * weight, MS, in_link);
    inputs_samples(&writer, 0, 4, MS, in_gone);
    save(&writer, directory, &child, "");

    begin(&writer, id, &by_timer);
    inputs_samples(&writer, 0, weight == 1 ? 8 : 40, MS, in_walk);
    writer.time = 0; /* some records have none */
    writer_comm(&writer, "cc1", false);
    save(&writer, directory, &by_timer, "");

    begin(&writer, id, &counted);
    writer_generation(&writer, 0, 1040 * MS, counted.comm, counted.exec, counted.argument);
    writer_count(&writer, 0, UINT32_MAX, 9 * MS, 9 * MS, 9 * MS, "task-clock");
    save(&writer, directory, &counted, ".as");

    begin(&writer, id, &late);
    writer_generation(&writer, 0, 1350 * MS, "ld", "/usr/bin/ld", late.argument);
    if (weight > 1)
        inputs_samples(&writer, 0, 9, MS, in_gone);
    save(&writer, directory, &late, "~1");
}

/* Only timers, without the kernel, still running; names of all kinds, exec generations in files of their own. */
static void save_third(void)
{
    static const struct task wide = {500,
                                     500,
                                     1,
                                     0,
                                     PINJECT_TASK_ROOT,
                                     PINJECT_SOURCE_TIMER,
                                     0,
                                     1000,
                                     1100,
                                     0,
                                     0,
                                     7,
                                     "gr\303\266\303\237e",
                                     "/opt/\346\274\242/\346\274\242",
                                     "\377\302\200 x"};
    static const struct task parts[2] = {{600, 600, 500, 500, PINJECT_TASK_SPLIT | PINJECT_TASK_ENDED,
                                          PINJECT_SOURCE_TIMER, 0, 1010, 1030, 1, 0, 0, "first", "/bin/first", "1"},
                                         {600, 600, 500, 500, PINJECT_TASK_SPLIT | ENDED | PINJECT_TASK_EXIT_COST,
                                          PINJECT_SOURCE_TIMER, 1 << 8, 1030, 1090, 0, 2, 0, "second", "/bin/second",
                                          "2"}};
    const char *strings[] = {"0.1.0", "task-clock", "perf events may not be used"};
    struct pinject_item_session session = {
        .start_ns = 1000 * MS, .start_realtime_ns = TIME, .root = 500, .bare = 1, .exclude_kernel = 1};
    const struct pinject_item_coverage coverage = {.attributed_ns = 30 * MS, .tasks = 2, .files = 3};
    memset(session.id, 0xc3, sizeof(session.id));
    for (unsigned i = 0; i < 3; i++) {
        const struct task *task = i ? &parts[i - 1] : &wide;
        struct writer writer;
        writer_init(&writer, false, false);
        writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, MS, "task-clock")->exclude_kernel = 1;
        writer_item(&writer, PINJECT_ITEM_SESSION, &session, sizeof(session), strings, 3);
        put_task(&writer, task);
        inputs_machine(&writer);
        writer_generation(&writer, 0, task->start_ms * MS, task->comm, task->exec, task->argument);
        writer_count(&writer, 0, 0, (10 + i) * MS, 20 * MS, 20 * MS, "task-clock");
        if (i == 0)
            writer_item(&writer, PINJECT_ITEM_COVERAGE, &coverage, sizeof(coverage), NULL, 0);
        for (unsigned j = 0; j < 25 && i == 0; j++) {
            char name[16];
            const char *missed[] = {"clone", name};
            const struct pinject_item_missed fixed = {.count = j, .cpu_ns = j * MS};
            snprintf(name, sizeof(name), "gone%u", j);
            writer_item(&writer, PINJECT_ITEM_MISSED, &fixed, sizeof(fixed), missed, 2);
        }
        writer_comm(&writer, task->comm, true);
        inputs_maps(&writer);
        writer_mmap(&writer, LIB(30), 0x2000, 0,
                    "/opt/gr\303\266\303\237e/lib\346\274\242\345\255\227-with-a-long-name.so");
        inputs_samples(&writer, 0, 2, MS, in_wide);
        inputs_samples(&writer, 0, 9 + i, MS, i ? in_inner : in_walk);
        save(&writer, "three", task, i == 2 ? ".second" : i == 1 ? ".first" : "");
    }
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
    static const char *const directories[] = {"one", "two", "three", "empty", "bin", "work"};
    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
        if (mkdir(directories[i], 0777) < 0)
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
    save_third();
    inputs_like_perf();
    save_text("text", "hello, world\n");
    save_text("none", "");
    save_objdump();
    return 0;
}
