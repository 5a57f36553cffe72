/* SPDX-License-Identifier: MIT */
/*
 * Witness: libgcc's own unwinder. The program is stepped through instruction by instruction, and at each the chain over
 * a copy of the stack must be the one that backtrace() finds from the signal handler.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "context_kit.h"
#include "unwind/unwind_file.h"
#include "unwind_kit.h"

enum { STEPS_MAX = 60000 };

static struct kit kit;
static struct {
    unsigned steps, same, complete, shown, vdso, loader;
    size_t dump;
} stepping;

/* ---- Stepping ---- */

static bool in_dso(uint64_t address, const char *name)
{
    Dl_info info;
    return dladdr((void *)address, &info) && info.dli_fname && strstr(info.dli_fname, name); /* NOLINT */
}

static void show(const struct kit_chain *chain, void *const *witness, int count)
{
    if (stepping.shown++ > 3)
        return;
    fprintf(stderr, "chain of %u (%s), witness of %d\n", chain->count, unwind_end_name(chain->end), count);
    for (unsigned i = 0; i < chain->count || (int)i < count; i++)
        fprintf(stderr, "  %#14lx %#14lx\n", i < chain->count ? chain->ips[i] : 0,
                (int)i < count ? (unsigned long)witness[i] : 0);
}

static void compare(const ucontext_t *context)
{
    static struct kit_chain chain;
    static void *frames[KIT_FRAMES];
    int count = backtrace(frames, KIT_FRAMES), at = 0;
    void *ip = (void *)context_ip(context); /* NOLINT: an address by nature */
    while (at < count && frames[at] != ip)
        at++;
    stepping.steps++;
    kit_unwind(&kit, context, stepping.dump, &chain);
    stepping.complete += chain.end == UNWIND_BOTTOM;
    stepping.vdso += in_dso((uint64_t)ip, "vdso");
    stepping.loader += in_dso((uint64_t)ip, "ld-linux");
    bool same = at < count && chain.same && chain.count == (unsigned)(count - at);
    for (int i = at; same && i < count; i++)
        same = chain.ips[i - at] == (uint64_t)frames[i];
    stepping.same += same;
    if (!same)
        show(&chain, frames + at, count - at);
}

static void begin_stepping(void)
{
    void *frame;
    backtrace(&frame, 1); /* loads libgcc */
    kit_read_maps(&kit);
    memset(&stepping, 0, sizeof(stepping));
    stepping.dump = KIT_DUMP;
    kit_begin_steps(compare, STEPS_MAX);
}

static void check_stepping(unsigned least)
{
    kit_end_steps();
    printf("%u steps, %u in the vdso, %u in the loader\n", stepping.steps, stepping.vdso, stepping.loader);
    assert_true(stepping.steps >= least);
    assert_int_equal(stepping.same, stepping.steps);
    assert_int_equal(stepping.complete, stepping.steps);
}

/* ---- What is stepped through ---- */

static volatile int sink;

__attribute__((noinline)) static int ascend(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

/* Saves registers, has a frame of variable size. */
__attribute__((noinline)) static int recurse(int depth, int a, int b, int c)
{
    volatile char *room = __builtin_alloca((size_t)depth * 8 + 8);
    room[0] = (char)a;
    if (depth == 0)
        return a + b + c + room[0];
    int inner = recurse(depth - 1, b, c, a);
    return inner + recurse(depth / 2 - 1 < 0 ? 0 : depth / 2 - 1, c, a, b) + a * b - c + room[0];
}

__attribute__((noinline)) static int work(void)
{
    int numbers[8] = {5, 3, 7, 1, 8, 2, 9, 4};
    char text[64];
    struct timespec now;
    qsort(numbers, 8, sizeof(numbers[0]), ascend);
    snprintf(text, sizeof(text), "%d %s %.3f", numbers[0], "text", 3.25);
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct tm *broken = gmtime(&now.tv_sec); /* called for the first time: the loader binds it */
    return recurse(5, 1, 2, 3) + (int)strlen(text) + (broken ? broken->tm_min : 0);
}

static void test_every_instruction(void **state)
{
    (void)state;
    begin_stepping();
    sink = work();
    check_stepping(1000);
}

/* In the system call libc's vfork() keeps its return address in a register: its frame has no bytes of stack. */
static void test_vfork(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* whose own vfork() has no unwind table: the witness ends there */
#endif
    begin_stepping();
    pid_t child = vfork();
    if (child == 0)
        _exit(0);
    kit_end_steps();
    assert_int_equal(waitpid(child, NULL, 0), child);
    check_stepping(10);
}

static void *step_in_thread(void *argument)
{
    (void)argument;
    kit_release(&kit);
    kit_init(&kit);
    begin_stepping();
    sink = recurse(4, 1, 2, 3);
    kit_end_steps();
    return NULL;
}

static void test_thread(void **state)
{
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, step_in_thread, NULL), 0);
    pthread_join(thread, NULL);
    check_stepping(200);
    kit_release(&kit);
    kit_init(&kit);
}

/* A dump that ends early: the same chain as far as it goes. */
static void test_truncated(void **state)
{
    static struct kit_chain whole, part;
    static ucontext_t context;
    static unsigned cut;
    (void)state;
    assert_int_equal(getcontext(&context), 0);
    kit_unwind(&kit, &context, KIT_DUMP, &whole);
    assert_int_equal(whole.end, UNWIND_BOTTOM);
    assert_true(whole.count > 3);
    for (size_t size = 0; size < 4096; size += 8) {
        kit_unwind(&kit, &context, size, &part);
        assert_true(part.same && part.count <= whole.count);
        assert_memory_equal(part.ips, whole.ips, part.count * sizeof(part.ips[0]));
        assert_int_equal(part.end,
                         part.count == whole.count && part.end != UNWIND_TRUNCATED ? UNWIND_BOTTOM : UNWIND_TRUNCATED);
        cut += part.end == UNWIND_TRUNCATED;
    }
    assert_true(cut > 0);
}

/* ---- Signal frames ---- */

static struct kit_chain signalled;
static void *signal_frames[KIT_FRAMES];
static int signal_count;

__attribute__((noinline)) static void look(void)
{
    ucontext_t context;
    getcontext(&context);
    kit_unwind(&kit, &context, KIT_DUMP, &signalled);
    signal_count = backtrace(signal_frames, KIT_FRAMES);
}

static void on_user(int number)
{
    (void)number;
    look();
}

/*
 * COUNT frames of the chain against the witness: how many are behind them there. The first frame is look() itself, at
 * two calls of it; a sanitizer has put a function of its own before the witness.
 */
static int check_frames(unsigned count)
{
    int at = 0;
    while (at < signal_count && (uint64_t)signal_frames[at] != signalled.ips[1])
        at++;
    assert_in_range(count, 2, signal_count - at + 1);
    for (unsigned i = 1; i < count; i++)
        assert_int_equal(signalled.ips[i], (uint64_t)signal_frames[at + (int)i - 1]);
    return signal_count - at + 1 - (int)count;
}

static void check_signalled(void)
{
    assert_int_equal(check_frames(signalled.count), 0);
}

static void test_signal_frame(void **state)
{
    struct sigaction action = {.sa_handler = on_user};
    (void)state;
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    check_signalled();
    assert_int_equal(signalled.end, UNWIND_BOTTOM);
    assert_true(signalled.count > 6);
}

/* A call that does not return may be its function's last instruction: what it would return to is another function. */
static jmp_buf back;

__attribute__((noinline, noreturn)) static void leave(void)
{
    look();
    longjmp(back, 1);
}

__attribute__((noinline)) static int leave_by_call(int a)
{
    volatile char room[40];
    room[0] = (char)a;
    if (room[0])
        leave();
    return 2;
}

static void test_call_without_return(void **state)
{
    (void)state;
    if (setjmp(back) == 0)
        sink = leave_by_call(1);
    check_signalled();
    assert_int_equal(signalled.end, UNWIND_BOTTOM);
}

/* What was interrupted lies on a stack that no dump has: the chain ends there, and says so. */
static void test_other_stack(void **state)
{
    struct sigaction action = {.sa_handler = on_user, .sa_flags = SA_ONSTACK};
    stack_t stack = {.ss_size = 128 << 10}, before;
    unsigned char *end = kit.stack_end;
    (void)state;
    stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(sigaltstack(&stack, &before), 0);
    sigaction(SIGUSR1, &action, NULL);
    kit.stack_end = (unsigned char *)stack.ss_sp + stack.ss_size;
    raise(SIGUSR1);
    kit.stack_end = end;
    assert_int_equal(sigaltstack(&before, NULL), 0);
    assert_int_equal(signalled.end, UNWIND_BAD_MEMORY);
    assert_true(signalled.count > 2);
    assert_true(check_frames(signalled.count) > 3);
    munmap(stack.ss_sp, stack.ss_size);
}

/* ---- Code without tables ---- */

static void test_generated_code(void **state)
{
    /* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    void (*generated)(void (*)(void));
    unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_true(at != MAP_FAILED);
    memcpy(at, code, sizeof(code));
    memcpy(&generated, &at, sizeof(generated));
    kit_read_maps(&kit);
    generated(look);
    assert_true(signalled.count > 4);
    assert_int_equal(signalled.ips[1], (uint64_t)at + 6);
    assert_true(in_dso(signalled.ips[2], "test_unwind"));
    assert_int_equal(signalled.end, UNWIND_BOTTOM);
    munmap(at, 4096);
}

static int set_up(void **state)
{
    (void)state;
    kit_init(&kit);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kit_release(&kit);
    return 0;
}

/* ---- The index of functions ---- */

/* All functions of FILE are where a walk through its section finds them, and end there. */
static unsigned check_index(const struct unwind_file *file)
{
    const struct cfi *indexed = &file->frames;
    struct cfi walked = {.bytes = malloc(indexed->size), .size = indexed->size, .address = indexed->address};
    assert_non_null(walked.bytes);
    memcpy(walked.bytes, indexed->bytes, indexed->size);
    assert_int_equal(cfi_index(&walked), 0);
    assert_int_equal(indexed->count, walked.count);
    for (size_t i = 0; i < walked.count; i++) {
        const uint64_t start = walked.fdes[i].start, end = start + walked.fdes[i].size;
        uint64_t found_start, found_size;
        assert_true(cfi_find_function(indexed, end - 1, &found_start, &found_size));
        assert_int_equal(found_start, start);
        assert_int_equal(found_size, end - start);
    }
    unsigned count = (unsigned)walked.count;
    cfi_release(&walked);
    return count;
}

static void test_index_by_header(void **state)
{
    const struct unwind_file *last = NULL;
    unsigned lazy = 0, functions = 0;
    (void)state;
    for (unsigned i = 0; i < kit.count; i++) {
        const struct unwind_file *file = kit.mappings[i].map.file;
        if (!file || file == last || !file->frames.count)
            continue;
        for (size_t at = 0; at < file->frames.count; at++)
            lazy += file->frames.fdes[at].size == 0;
        functions += check_index(file);
        last = file;
    }
    assert_true(functions > 2000); /* libc's alone */
    assert_true(lazy > functions / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_instruction),
        cmocka_unit_test(test_thread),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_signal_frame),
        cmocka_unit_test(test_other_stack),
        cmocka_unit_test(test_generated_code),
        cmocka_unit_test(test_call_without_return),
        cmocka_unit_test(test_index_by_header),
        cmocka_unit_test(test_vfork),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
