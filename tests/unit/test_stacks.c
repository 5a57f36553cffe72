/* SPDX-License-Identifier: MIT */
/* Samples as the kernel sends them, with registers and stack, made of this process itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pinject/kernel.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"
#include "collector/config/probe.h"
#include "collector/stacks/stack_files.h"
#include "collector/system/monotonic.h"
#include "collector/system/opener.h"
#include "collector/tasks/task_stacks.h"
#include "collector/tasks/tasks.h"
#include "context_kit.h"

enum { PREFIX = 48, DUMP = 16384, MOST = 30000 };

static struct tasks tasks;
static struct session session;
static struct settings settings;
static struct event_config config;
static struct process *process;
static uint64_t ids[] = {7};
static struct task task;
static ucontext_t context;
static void *witness[64];
static int witness_count;
static unsigned char stack[16384];
static size_t stack_size;

static struct {
    _Alignas(8) unsigned char bytes[MOST];
    size_t size;
} raw;

static void put(const void *from, size_t size)
{
    memcpy(raw.bytes + raw.size, from, size);
    raw.size += size;
}

static void put_word(uint64_t word)
{
    put(&word, sizeof(word));
}

static void put_regs(uint64_t abi)
{
    uint64_t words[UNWIND_REGS];
    context_perf_regs(&context, words);
    put_word(abi);
    put(words, abi ? sizeof(words) : 0);
}

static void put_stack(size_t size)
{
    size_t used = size < stack_size ? size : stack_size;
    put_word(size);
    put(stack, used);
    memset(raw.bytes + raw.size, 0xee, size - used);
    raw.size += size - used;
    if (size)
        put_word(used);
}

/* A sample with CHAIN of the kernel's, COUNT entries. */
static void begin(const uint64_t *chain, size_t count)
{
    raw.size = 0;
    put_word(0);
    put_word(task.ids[0]);
    put_word(context_ip(&context));
    for (unsigned i = 0; i < 3; i++)
        put_word(100 + i);
    assert_int_equal(raw.size, PREFIX);
    put_word(count);
    put(chain, count * sizeof(*chain));
}

static const uint64_t *take_sized(size_t size, size_t *ret_count)
{
    struct perf_event_header header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, (uint16_t)size};
    memcpy(raw.bytes, &header, sizeof(header));
    const struct perf_event_header *made = tasks_unwind(&tasks, &task, 0, (const void *)raw.bytes);
    if (!made)
        return NULL;
    assert_int_equal(made->misc, header.misc);
    assert_memory_equal((const char *)made + 8, raw.bytes + 8, PREFIX - 8);
    const uint64_t *words = (const uint64_t *)(const void *)((const char *)made + PREFIX);
    assert_int_equal(made->size, PREFIX + 8 + 8 * words[0]);
    *ret_count = words[0];
    return words + 1;
}

static const uint64_t *take(size_t *ret_count)
{
    return take_sized(raw.size, ret_count);
}

/* As it is now: it is gone as soon as look() returns. */
__attribute__((noinline, no_sanitize("address"))) static void look(void)
{
    pthread_attr_t attr;
    void *start;
    size_t size;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
    assert_int_equal(pthread_attr_getstack(&attr, &start, &size), 0);
    pthread_attr_destroy(&attr);
    /* libc's: libunwind, which is linked too, has one of its own, and keeps a pipe open. */
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    int (*libc_backtrace)(void **, int) = libc ? (int (*)(void **, int))dlsym(libc, "backtrace") : NULL; /* NOLINT */
    assert_non_null(libc_backtrace);
    witness_count = libc_backtrace(witness, 64);
    dlclose(libc);
    getcontext(&context);
    const volatile unsigned char *from = (const unsigned char *)context_regs(&context).value[UNWIND_SP]; /* NOLINT */
    size_t left = (size_t)((unsigned char *)start + size - from);
    stack_size = left < DUMP ? left : DUMP;
    for (size_t i = 0; i < stack_size; i++)
        stack[i] = from[i];
}

static const uint64_t kernel[] = {PERF_CONTEXT_KERNEL,
                                  UINT64_C(0xffffffff81000010),
                                  UINT64_C(0xffffffff81000020),
                                  PERF_CONTEXT_USER,
                                  0x1000,
                                  0x2000,
                                  0x3000};

static void check_unwound(const uint64_t *chain, size_t count)
{
    /* The first is look() itself, at two calls of it; a sanitizer has a function before the witness. */
    int at = 1;
    while (at < witness_count && (uint64_t)witness[at] != chain[1])
        at++;
    assert_int_equal(count, 1 + witness_count - at);
    assert_int_equal(chain[0], context_ip(&context));
    for (size_t i = 1; i < count; i++)
        assert_int_equal(chain[i], (uint64_t)witness[at + (int)i - 1]);
}

static void test_kernel_chain_stays(void **state)
{
    size_t count;
    (void)state;
    begin(kernel, 7);
    put_regs(PERF_SAMPLE_REGS_ABI_64);
    put_stack(DUMP);
    const uint64_t *chain = take(&count);
    assert_non_null(chain);
    assert_memory_equal(chain, kernel, 4 * sizeof(*kernel));
    check_unwound(chain + 4, count - 4);
    assert_int_equal(task.stacks.ends[UNWIND_BOTTOM], 1);
    assert_int_equal(tasks.stacks->counts.ends[UNWIND_BOTTOM], 1);
    assert_int_equal(stacks_sum(&task.stacks), 1);
}

#if defined(__x86_64__)
/* Those of --user-regs go to the file, those that only unwinding needs do not. */
static void test_registers_that_stay(void **state)
{
    enum { IP = 8, FLAGS = 9, CS = 10, BEFORE = 9 };
    const uint64_t all[] = {PERF_SAMPLE_REGS_ABI_64, context_ip(&context), 0x246, 0x33};
    struct perf_event_attr attr;
    uint64_t words[UNWIND_REGS];
    (void)state;
    config.events[0].attr.sample_type |= PERF_SAMPLE_REGS_USER;
    config.events[0].attr.sample_regs_user = 1u << IP | 1u << FLAGS | 1u << CS;
    attr = config.events[0].attr;
    stacks_attr(&config, &config.events[0], 0, &attr);
    assert_int_equal(attr.sample_regs_user, 0xff01ff | 1u << FLAGS | 1u << CS);
    context_perf_regs(&context, words);
    for (uint64_t abi = 0; abi <= PERF_SAMPLE_REGS_ABI_64; abi++) {
        begin(kernel + 3, 4);
        put_word(abi);
        put(words, abi ? BEFORE * sizeof(*words) : 0);
        put(all + 2, abi ? 2 * sizeof(*all) : 0);
        put(words + BEFORE, abi ? (UNWIND_REGS - BEFORE) * sizeof(*words) : 0);
        put_stack(abi ? DUMP : 0);
        struct perf_event_header header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, (uint16_t)raw.size};
        memcpy(raw.bytes, &header, sizeof(header));
        const struct perf_event_header *made = tasks_unwind(&tasks, &task, 0, (const void *)raw.bytes);
        assert_non_null(made);
        const uint64_t *chain = (const uint64_t *)(const void *)((const char *)made + PREFIX);
        const size_t kept = abi ? 4 : 1;
        assert_int_equal(made->size, PREFIX + 8 + 8 * chain[0] + 8 * kept);
        assert_int_equal(chain[1 + chain[0]], abi);
        assert_memory_equal(chain + 1 + chain[0] + 1, all + 1, (kept - 1) * sizeof(*all));
        if (abi == PERF_SAMPLE_REGS_ABI_64)
            check_unwound(chain + 2, chain[0] - 1);
    }
    assert_int_equal(task.stacks.foreign, 2);
    raw.bytes[6] = (unsigned char)(PREFIX + 8 + 4 * 8 + 8 + 5 * 8); /* registers end too early */
    raw.bytes[7] = 0;
    assert_null(tasks_unwind(&tasks, &task, 0, (const void *)raw.bytes));
}
#endif

/* Those of --intr-regs stay as they are, between the other fields behind the dump. */
static void test_registers_of_the_interrupt(void **state)
{
    enum { COUNT = 3 };
    const struct perf_event_attr before = config.events[0].attr;
    struct perf_event_attr *attr = &config.events[0].attr;
    const uint64_t type_before = tasks.layout.sample_type[0];
    (void)state;
    attr->sample_type |= PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR;
    attr->sample_regs_intr = 0x7;
    tasks.layout.sample_type[0] = attr->sample_type;
    for (uint64_t abi = 0; abi <= PERF_SAMPLE_REGS_ABI_64; abi++)
        for (int more = -1; more <= 1; more++) { /* words too few, or too many */
            const uint64_t fields[] = {0xdada, abi, 11, 12, 13}, physical = 0xfefe, words = abi ? 2 + COUNT : 2;
            begin(kernel + 3, 4);
            put_regs(PERF_SAMPLE_REGS_ABI_64);
            put_stack(DUMP);
            put(fields, words * 8);
            if (more >= 0)
                put_word(physical);
            if (more > 0)
                put_word(1);
            struct perf_event_header header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, (uint16_t)raw.size};
            memcpy(raw.bytes, &header, sizeof(header));
            const struct perf_event_header *made = tasks_unwind(&tasks, &task, 0, (const void *)raw.bytes);
            if (more) {
                assert_null(made);
                continue;
            }
            assert_non_null(made);
            const uint64_t *end = (const uint64_t *)(const void *)((const char *)made + made->size);
            assert_int_equal(end[-1], physical);
            assert_memory_equal(end - 1 - words, fields, words * 8);
        }
    *attr = before;
    tasks.layout.sample_type[0] = type_before;
}

/* The branches before a sample stay where they are: behind the chain. */
static void test_branches_stay(void **state)
{
    enum { COUNT = 3, WORDS = 2 + 4 * COUNT };
    uint64_t branches[WORDS] = {COUNT, 77};
    size_t with_counters = WORDS, plain = WORDS - COUNT;
    (void)state;
    for (size_t i = 2; i < WORDS; i++)
        branches[i] = 1000 + i;
    config.events[0].attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    tasks.layout.sample_type[0] |= PERF_SAMPLE_BRANCH_STACK;
    for (unsigned kind = 0; kind < 2; kind++) {
        const size_t words = kind ? with_counters : plain;
        config.events[0].attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX |
                                                   (kind ? PERF_SAMPLE_BRANCH_COUNTERS : 0);
        begin(kernel + 3, 4);
        put(branches, words * sizeof(*branches));
        put_regs(PERF_SAMPLE_REGS_ABI_64);
        put_stack(DUMP);
        struct perf_event_header header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, (uint16_t)raw.size};
        memcpy(raw.bytes, &header, sizeof(header));
        const struct perf_event_header *made = tasks_unwind(&tasks, &task, 0, (const void *)raw.bytes);
        assert_non_null(made);
        const uint64_t *chain = (const uint64_t *)(const void *)((const char *)made + PREFIX);
        check_unwound(chain + 2, chain[0] - 1);
        assert_int_equal(made->size, PREFIX + 8 + 8 * chain[0] + 8 * words);
        assert_memory_equal(chain + 1 + chain[0], branches, words * sizeof(*branches));
    }
    raw.bytes[PREFIX + 8 + 4 * 8 + 1] = 0xff; /* more of them than there is room */
    assert_null(tasks_unwind(&tasks, &task, 0, (const void *)raw.bytes));
    raw.bytes[PREFIX + 8 + 4 * 8 + 1] = 0;
    raw.bytes[PREFIX + 8 + 4 * 8] = COUNT + 1;
    assert_null(tasks_unwind(&tasks, &task, 0, (const void *)raw.bytes));
}

static void test_user_alone(void **state)
{
    size_t count;
    (void)state;
    begin(kernel + 3, 4);
    put_regs(PERF_SAMPLE_REGS_ABI_64);
    put_stack(DUMP);
    const uint64_t *chain = take(&count);
    assert_non_null(chain);
    assert_int_equal(chain[0], PERF_CONTEXT_USER);
    check_unwound(chain + 1, count - 1);
}

/* The chain of a dump that ends behind a return address or more; RET_SIZE: of the dump. */
static const uint64_t *take_cut(size_t *ret_count, size_t *ret_size)
{
    const uint64_t none = PERF_CONTEXT_USER, *chain;
    uint64_t cut;
    *ret_size = 0;
    do {
        *ret_size += 16;
        cut = task.stacks.ends[UNWIND_TRUNCATED];
        begin(&none, 1);
        put_regs(PERF_SAMPLE_REGS_ABI_64);
        put_stack(*ret_size);
        chain = take(ret_count);
        assert_non_null(chain);
        assert_int_equal(task.stacks.ends[UNWIND_TRUNCATED], cut + 1);
    } while (*ret_count < 3);
    assert_int_equal(task.stacks.extended, 0);
    return chain;
}

/* A dump that ends, and a kernel's chain that goes on from the last frame. */
static void test_extended(void **state)
{
    size_t count, whole, size;
    uint64_t frames[] = {PERF_CONTEXT_USER, 0, 0x7777, 0x8888};
    (void)state;
    const uint64_t *chain = take_cut(&whole, &size);
    frames[1] = chain[whole - 1];
    begin(frames, 4);
    put_regs(PERF_SAMPLE_REGS_ABI_64);
    put_stack(size);
    chain = take(&count);
    assert_int_equal(count, whole + 2);
    assert_int_equal(chain[count - 1], 0x8888);
    assert_int_equal(chain[count - 2], 0x7777);
    assert_int_equal(task.stacks.extended, 1);
}

/* A function that calls itself returns to one address many times: those below the dump are frames too. */
static void test_extended_recursion(void **state)
{
    enum { DEEPER = 3 };
    size_t count, whole, size;
    uint64_t frames[64] = {PERF_CONTEXT_USER};
    (void)state;
    const uint64_t *chain = take_cut(&whole, &size), last = chain[whole - 1];
    size_t entries = whole - 1;
    for (unsigned i = 0; i <= DEEPER; i++)
        frames[entries++] = last;
    frames[entries++] = 0x7777;
    begin(frames, entries);
    put_regs(PERF_SAMPLE_REGS_ABI_64);
    put_stack(size);
    chain = take(&count);
    assert_int_equal(count, whole + DEEPER + 1);
    assert_int_equal(chain[count - 1], 0x7777);
    assert_int_equal(chain[count - 2], last);
}

/* A frame larger than the dump: of the chain only the sampled address is known, which is in every kernel's chain. */
static void test_extended_alone(void **state)
{
    enum { ENOUGH = 64 }; /* comparisons until a process is trusted to have frame pointers */
    size_t count;
    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        const uint64_t frames[] = {PERF_CONTEXT_USER, context_ip(&context), 0x7777};
        if (round == 1) {
            process->trust = calloc(1, sizeof(*process->trust));
            assert_non_null(process->trust);
            process->trust->compared = ENOUGH;
        }
        if (round > 0)
            process->trust->wrong = round == 1 ? 0 : ENOUGH / 2;
        begin(frames, 3);
        put_regs(PERF_SAMPLE_REGS_ABI_64);
        put_stack(8);
        const uint64_t *chain = take(&count);
        assert_non_null(chain);
        assert_int_equal(task.stacks.ends[UNWIND_TRUNCATED], round + 1);
        assert_int_equal(count, round == 1 ? 3 : 2);
        assert_int_equal(chain[count - 1], frames[count - 1]);
    }
    assert_int_equal(task.stacks.extended, 1);
}

static void test_frame_pointers_instead(void **state)
{
    size_t count;
    (void)state;
    begin(kernel, 7);
    put_regs(PERF_SAMPLE_REGS_ABI_32);
    put_stack(DUMP);
    const uint64_t *chain = take(&count);
    assert_int_equal(count, 7);
    assert_memory_equal(chain, kernel, sizeof(kernel));
    assert_int_equal(task.stacks.foreign, 1);
    begin(kernel, 7);
    put_regs(PERF_SAMPLE_REGS_ABI_64);
    put_stack(DUMP);
    task.fill.behind = true;
    chain = take(&count);
    task.fill.behind = false;
    assert_int_equal(count, 7);
    assert_memory_equal(chain, kernel, sizeof(kernel));
    assert_int_equal(task.stacks.behind, 1);
}

/* A thread of the kernel, or one that is ending. */
static void test_no_user_part(void **state)
{
    size_t count;
    (void)state;
    begin(kernel, 3);
    put_regs(PERF_SAMPLE_REGS_ABI_NONE);
    put_stack(0);
    const uint64_t *chain = take(&count);
    assert_int_equal(count, 3);
    assert_memory_equal(chain, kernel, 3 * sizeof(*kernel));
    assert_int_equal(stacks_sum(&task.stacks), 0);
}

static void test_nonsense(void **state)
{
    size_t count;
    (void)state;
    begin(kernel, 7);
    put_regs(PERF_SAMPLE_REGS_ABI_64);
    put_stack(DUMP);
    for (size_t size = 64; size < raw.size; size += 8)
        assert_null(take_sized(size, &count));
    assert_non_null(take(&count));
    uint64_t word = DUMP + 8; /* more was copied than there is room for */
    memcpy(raw.bytes + raw.size - 8, &word, 8);
    assert_null(take(&count));
    for (word = 7; word < UINT64_MAX / 3; word = word * 3 + 1) {
        begin(kernel, 7);
        memcpy(raw.bytes + PREFIX, &word, 8);
        put_regs(PERF_SAMPLE_REGS_ABI_64);
        put_stack(DUMP);
        assert_true(word == 7 || !take(&count));
    }
}

static void test_falls_behind(void **state)
{
    (void)state;
    tasks_begin_round(&tasks, &task, 50000, 65536);
    assert_false(task.fill.behind);
    tasks_begin_round(&tasks, &task, 50000, 65536);
    assert_true(task.fill.behind);
    assert_int_equal(dump_limits_find(&session.dumps.limits, getpid()), 0);
    task.lost_records = 5;
    task.pid = getpid();
    tasks.now_ns += UINT64_C(10000000000);
    tasks_begin_round(&tasks, &task, 60000, 65536);
    assert_int_equal(dump_limits_find(&session.dumps.limits, getpid()), 8192);
    assert_int_equal(session.dumps.now, 16384);
    tasks_begin_round(&tasks, &task, 100, 65536);
    assert_false(task.fill.behind);
    assert_int_equal(tasks.stacks->lowered, 1);
}

/* Stacks that are often cut: more of them for those who come. */
static void test_dump_grows(void **state)
{
    size_t count;
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        begin(kernel, 7);
        put_regs(PERF_SAMPLE_REGS_ABI_64);
        put_stack(64);
        assert_non_null(take(&count));
    }
    assert_int_equal(session.dumps.now, 32768);
    assert_int_equal(tasks.stacks->raised, 1);
}

static void test_dump_fits_ring(void **state)
{
    (void)state;
    assert_int_equal(dump_size(&config, &session.dumps, 0, NULL, SIZE_MAX), 16384);
    assert_int_equal(dump_size(&config, &session.dumps, 0, NULL, 128 << 10), 8192);
    assert_int_equal(dump_size(&config, &session.dumps, 0, NULL, 4096), 512);
    struct perf_event_attr attr = config.events[0].attr;
    stacks_attr(&config, &config.events[0], 0, &attr);
    assert_int_equal(attr.sample_stack_user, 16384);
    assert_true(attr.sample_type & PERF_SAMPLE_STACK_USER);
    config.events[0].attr.exclude_user = 1; /* of the kernel alone: nothing to unwind */
    attr = config.events[0].attr;
    stacks_attr(&config, &config.events[0], 0, &attr);
    assert_false(attr.sample_type & PERF_SAMPLE_STACK_USER);
}

/* ---- Which mapping holds at an address ---- */

static void map(uint64_t start, uint64_t size, uint64_t offset, const char *path)
{
    const struct mapping values = {.start = start, .size = size, .offset = offset, .prot = 5, .flags = 2};
    struct mapping *mapping = mapping_new(&values, path);
    assert_non_null(mapping);
    assert_int_equal(space_add(&process->space, mapping), 0);
    mapping_put(mapping);
}

/* It is mapped from LOW to HIGH, what is mapped there begins at START with the offset START / 16. */
static void expect_map(uint64_t address, uint64_t start, uint64_t low, uint64_t high)
{
    const struct stack_owner owner = tasks_stack_owner(&tasks, &task);
    struct stack_search search = {tasks.stacks, &owner};
    struct unwind_map found;
    if (!stack_files_find(&search, address, &found) || found.start != start || found.offset != start / 16 ||
        found.low != low || found.high != high || found.file)
        fail_msg("%#lx: %#lx, %#lx to %#lx", (long)address, (long)found.start, (long)found.low, (long)found.high);
}

/* Nothing is: that is known of this one address alone. */
static void expect_none(uint64_t address)
{
    const struct stack_owner owner = tasks_stack_owner(&tasks, &task);
    struct stack_search search = {tasks.stacks, &owner};
    struct unwind_map found;
    assert_false(stack_files_find(&search, address, &found));
    assert_int_equal(found.low, address);
    assert_int_equal(found.high, address + 1);
}

/* Mappings of one block, one right behind another: each address has its own, whichever was asked for before. */
static void test_neighbours(void **state)
{
    static const uint64_t edges[] = {0x50000, 0x51000, 0x52000, 0x53000, 0x55000};
    (void)state;
    tasks.maps_next_ns = UINT64_MAX; /* /proc is not asked */
    map(0x51000, 0x1000, 0x5100, "[one]");
    map(0x52000, 0x1000, 0x5200, "[two]");
    map(0x53000, 0x2000, 0x5300, "[three]");
    for (int round = 0; round < 2; round++)
        for (int i = 1; i < 4; i++) {
            expect_map(edges[i], edges[i], edges[i], edges[i + 1]);
            expect_map(edges[i + 1] - 1, edges[i], edges[i], edges[i + 1]);
            if (i < 3)
                expect_map(edges[i + 1], edges[i + 1], edges[i + 1], edges[i + 2]);
            expect_map(edges[i], edges[i], edges[i], edges[i + 1]);
        }
    for (int i = 0; i < 3; i++) {
        expect_none(0x50ffe + (unsigned)i % 2);
        expect_map(0x51000, 0x51000, 0x51000, 0x52000);
        expect_none(0x50fff);
        expect_map(0x54fff, 0x53000, 0x53000, 0x55000);
        expect_none(0x55000);
        expect_none(0x55001);
        expect_none(0x55000);
    }
    expect_none(0);
    expect_none(UINT64_MAX - 1);
}

/* What is mapped later holds at once. */
static void test_mapped_later(void **state)
{
    (void)state;
    tasks.maps_next_ns = UINT64_MAX;
    map(0x51000, 0x3000, 0x5100, "[one]");
    expect_map(0x52800, 0x51000, 0x51000, 0x54000);
    expect_none(0x54000);
    map(0x52000, 0x1000, 0x5200, "[two]");
    expect_map(0x52800, 0x52000, 0x52000, 0x53000);
    map(0x54000, 0x1000, 0x5400, "[three]");
    expect_map(0x54000, 0x54000, 0x54000, 0x55000);
    space_release(&process->space);
    space_init(&process->space);
    expect_none(0x52800);
    expect_none(0x54000);
}

/* Two address spaces whose versions have one place in the table, and one that has none yet. */
static void test_versions(void **state)
{
    (void)state;
    tasks.maps_next_ns = UINT64_MAX;
    map(0x51000, 0x3000, 0x5100, "[one]");
    const uint64_t version = process->space.version;
    expect_map(0x52800, 0x51000, 0x51000, 0x54000);
    space_release(&process->space);
    space_init(&process->space);
    map(0x50000, 0x8000, 0x5000, "[two]");
    process->space.version = version + STACKS_BLOCKS;
    expect_map(0x52800, 0x50000, 0x50000, 0x58000);
    space_release(&process->space);
    space_init(&process->space);
    memset(tasks.stacks->blocks, 0, sizeof(tasks.stacks->blocks));
    for (unsigned i = 0; i < STACKS_BLOCKS; i++)
        tasks.stacks->blocks[i].map.high = UINT64_MAX; /* of version 0 */
    process->space.version = 0;
    expect_none(0x52800);
}

static int set_up(void **state)
{
    (void)state;
    memset(&task, 0, sizeof(task));
    memset(&tasks, 0, sizeof(tasks));
    memset(&config, 0, sizeof(config));
    config.count = config.sampling = 1;
    config.dump = session.dumps.now = 16384;
    config.events[0].attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    config.events[0].attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
    config.events[0].samples = true;
    session.config = &config;
    session.settings = &settings;
    tasks.session = &session;
    tasks.config = &config;
    tasks.now_ns = monotonic_ns();
    records_layout_init(&tasks.layout, &config);
    process = process_new(getpid(), getppid(), tasks.now_ns);
    process_set_share(process, &tasks.shares.own);
    task.process = process;
    task.pid = task.tid = getpid();
    task.ids = ids;
    look();
    if (tasks_begin_stacks(&tasks) < 0)
        return -1;
    tasks.stacks->opener = opener_new();
    return tasks.stacks->opener ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    opener_free(tasks.stacks->opener);
    stacks_free(tasks.stacks);
    process_free(process);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        TEST(test_registers_that_stay),
#endif
        TEST(test_registers_of_the_interrupt),
        TEST(test_branches_stay),
        TEST(test_kernel_chain_stays),
        TEST(test_user_alone),
        TEST(test_extended),
        TEST(test_frame_pointers_instead),
        TEST(test_no_user_part),
        TEST(test_nonsense),
        TEST(test_falls_behind),
        TEST(test_dump_grows),
        TEST(test_dump_fits_ring),
        TEST(test_extended_recursion),
        TEST(test_neighbours),
        TEST(test_mapped_later),
        TEST(test_versions),
        TEST(test_extended_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
