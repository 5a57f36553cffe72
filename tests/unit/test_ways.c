/* SPDX-License-Identifier: MIT */
/*
 * The way of a sample and of a request: the functions that docs/ARCHITECTURE.md lists are called in that order. The
 * compiler has put a call of ours at the begin and the end of each function of the product (ways.cmake); which function
 * it is, and of which file, is in the test's own debug information.
 */
#include "worker_fake.h"

#include <elfutils/libdw.h>
#include <dwarf.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <ucontext.h>

#include "collector/collect.h"
#include "collector/system/monotonic.h"
#include "collector/system/opener.h"
#include "collector/system/procfs.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks_init.h"
#include "context_kit.h"
#include "preload/session.h"
#include "preload_kit.h"
#include "test_tasks_kit.h"

/* What a reader can follow: functions in a list, and files that the way goes through. */
enum { STEPS = 10, FILES = 14 };

/* ---- Functions ---- */

struct function {
    uint64_t address;
    const char *name, *file; /* of the debug information */
};

static struct function *functions; /* by address */
static size_t function_count;
static Dwarf *debug_info;
static int debug_fd;

static int compare_addresses(const void *a, const void *b)
{
    const struct function *one = a, *other = b;
    return one->address < other->address ? -1 : one->address > other->address;
}

static void add_functions(Dwarf_Die *unit)
{
    Dwarf_Die die;
    if (dwarf_child(unit, &die) != 0)
        return;
    do {
        Dwarf_Addr address;
        if (dwarf_tag(&die) != DW_TAG_subprogram || dwarf_entrypc(&die, &address) != 0)
            continue;
        /* libdw does not know the number 0, which clang gives to the unit's own file. */
        const char *name = dwarf_diename(&die), *file = dwarf_decl_file(&die);
        functions = realloc(functions, (function_count + 1) * sizeof(*functions));
        assert_non_null(functions);
        functions[function_count++] = (struct function){address, name ? name : "", file ? file : dwarf_diename(unit)};
    } while (dwarf_siblingof(&die, &die) == 0);
}

/* To where they are in memory. */
static void move_functions(void)
{
    uint64_t before = 0;
    for (size_t i = 0; i < function_count; i++)
        if (strcmp(functions[i].name, "result_record") == 0)
            before = functions[i].address;
    assert_true(before != 0);
    for (size_t i = 0; i < function_count; i++)
        functions[i].address += (uintptr_t)result_record - before;
    qsort(functions, function_count, sizeof(*functions), compare_addresses);
}

static int read_functions(void **state)
{
    Dwarf_Off offset = 0, next;
    size_t header;
    (void)state;
    debug_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    debug_info = dwarf_begin(debug_fd, DWARF_C_READ);
    assert_non_null(debug_info);
    for (; dwarf_nextcu(debug_info, offset, &next, &header, NULL, NULL, NULL) == 0; offset = next) {
        Dwarf_Die unit;
        assert_non_null(dwarf_offdie(debug_info, offset + header, &unit));
        add_functions(&unit);
    }
    move_functions();
    return 0;
}

static int drop_functions(void **state)
{
    (void)state;
    free(functions);
    dwarf_end(debug_info);
    close(debug_fd);
    return 0;
}

static const struct function *function_at(const void *address)
{
    const struct function key = {.address = (uintptr_t)address};
    return bsearch(&key, functions, function_count, sizeof(*functions), compare_addresses);
}

/* PATH: from the top of the tree. */
static bool is_file(const char *file, const char *path)
{
    const size_t size = strlen(file), end = strlen(path);
    return size > end ? file[size - end - 1] == '/' && strcmp(file + size - end, path) == 0 : strcmp(file, path) == 0;
}

/* ---- The trace ---- */

enum { CALLS = 1 << 20, DEPTH = 256 };

struct call {
    const void *function;
    unsigned thread; /* its number, from 1 */
    bool enters;
};

static struct call calls[CALLS];
static unsigned call_count, thread_count;
static bool is_traced;
static __thread unsigned thread_number;

static void set_traced(bool traced)
{
    if (traced)
        call_count = 0;
    __atomic_store_n(&is_traced, traced, __ATOMIC_SEQ_CST);
}

static void note_call(const void *function, bool enters)
{
    if (!__atomic_load_n(&is_traced, __ATOMIC_SEQ_CST))
        return;
    if (!thread_number)
        thread_number = __atomic_add_fetch(&thread_count, 1, __ATOMIC_SEQ_CST);
    const unsigned at = __atomic_fetch_add(&call_count, 1, __ATOMIC_SEQ_CST);
    if (at < CALLS)
        calls[at] = (struct call){function, thread_number, enters};
}

void __cyg_profile_func_enter(void *function, void *caller) __attribute__((no_instrument_function));
void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    note_call(function, true);
}

void __cyg_profile_func_exit(void *function, void *caller) __attribute__((no_instrument_function));
void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)caller;
    note_call(function, false);
}

/* ---- Ways ---- */

struct step {
    char name[64], file[96];
};

struct way {
    unsigned count;
    struct step steps[STEPS];
};

struct files {
    unsigned count;
    const char *names[256];
};

/* A call goes back up if it is of a function in a file that is on the stack already, but not its caller's. */
struct walk {
    unsigned steps;                  /* that are called, each after the one before it */
    struct files files, all_files;   /* on the stack at any step; entered between the first step and the last */
    unsigned calls_up, all_calls_up; /* the same */
};

struct stack {
    unsigned depth;
    struct frame {
        const struct function *function;
        bool counted;
    } frames[DEPTH];
};

/* The numbered list behind <!-- way of a NAME -->. */
static struct way read_way(const char *name)
{
    struct way way = {0};
    char begin[64], line[256];
    bool inside = false, ended = false;
    FILE *file = fopen(TEST_ARCHITECTURE, "re");
    assert_non_null(file);
    snprintf(begin, sizeof(begin), "<!-- way of a %s -->\n", name);
    while (!ended && fgets(line, sizeof(line), file)) {
        struct step step;
        unsigned number;
        ended = inside && strcmp(line, "<!-- end of the way -->\n") == 0;
        if (inside && sscanf(line, "%u. `%63[^`]` (`%95[^`]`)", &number, step.name, step.file) == 3) {
            assert_int_equal(number, way.count + 1);
            assert_true(way.count < STEPS);
            way.steps[way.count++] = step;
        }
        inside |= strcmp(line, begin) == 0;
    }
    fclose(file);
    assert_true(ended && way.count > 1);
    return way;
}

static void add_file(struct files *files, const char *file)
{
    unsigned i = 0;
    while (i < files->count && strcmp(files->names[i], file) != 0)
        i++;
    assert_true(i < sizeof(files->names) / sizeof(files->names[0]));
    files->names[i] = file;
    files->count += i == files->count;
}

/* Is the call of the frame at DEPTH one back up? */
static bool goes_up(const struct stack *stack, unsigned depth)
{
    const char *file = stack->frames[depth].function->file;
    bool above = false;
    for (unsigned i = 0; i + 1 < depth; i++)
        above |= strcmp(stack->frames[i].function->file, file) == 0;
    return above && strcmp(stack->frames[depth - 1].function->file, file) != 0;
}

static void count_stack(struct walk *walk, struct stack *stack)
{
    for (unsigned i = 0; i < stack->depth; i++) {
        if (stack->frames[i].counted)
            continue;
        stack->frames[i].counted = true;
        add_file(&walk->files, stack->frames[i].function->file);
        walk->calls_up += goes_up(stack, i);
    }
}

static bool is_step(const struct step *step, const struct function *function)
{
    return strcmp(function->name, step->name) == 0 && is_file(function->file, step->file);
}

/* How far the calls follow WAY. */
static struct walk walk(const struct way *way)
{
    struct walk walk = {0};
    struct stack *stacks = calloc(thread_count + 1, sizeof(*stacks));
    assert_non_null(stacks);
    assert_in_range(call_count, 1, CALLS);
    for (unsigned i = 0; i < call_count; i++) {
        struct stack *stack = &stacks[calls[i].thread];
        const struct function *function = function_at(calls[i].function);
        assert_non_null(function);
        if (!calls[i].enters) {
            stack->depth -= stack->depth > 0; /* else it was entered before the trace began */
            continue;
        }
        assert_true(stack->depth < DEPTH);
        stack->frames[stack->depth++] = (struct frame){function, false};
        const bool is_next = walk.steps < way->count && is_step(&way->steps[walk.steps], function);
        if (is_next || (walk.steps > 0 && walk.steps < way->count)) {
            add_file(&walk.all_files, function->file);
            walk.all_calls_up += goes_up(stack, stack->depth - 1);
        }
        if (is_next) {
            count_stack(&walk, stack);
            walk.steps++;
        }
    }
    free(stacks);
    return walk;
}

static void expect_way(const char *name)
{
    const struct way way = read_way(name);
    const struct walk found = walk(&way);
    if (found.steps < way.count)
        fail_msg("%s: %s (%s) is not called after %s", name, way.steps[found.steps].name, way.steps[found.steps].file,
                 found.steps ? way.steps[found.steps - 1].name : "the begin");
    print_message("%s: %u functions, with their callers of %u files, %u calls back up; in all %u and %u\n", name,
                  way.count, found.files.count, found.calls_up, found.all_files.count, found.all_calls_up);
    assert_in_range(found.files.count, 1, FILES);
    assert_int_equal(found.calls_up, 0);
    /* Another order, or another file, is found to be wrong. */
    for (unsigned i = 0; i + 1 < way.count; i++) {
        struct way wrong = way;
        wrong.steps[i] = way.steps[i + 1];
        wrong.steps[i + 1] = way.steps[i];
        assert_in_range(walk(&wrong).steps, 0, way.count - 1);
    }
    struct way elsewhere = way;
    strcpy(elsewhere.steps[1].file, "collector/main.c");
    assert_int_equal(walk(&elsewhere).steps, 1);
}

/* ---- A sample ---- */

enum { DUMP = 32768, LATER = 2000 * 1000 * 1000 };

static struct stage stage;
static struct signals signals;
static struct collect_args args;
static struct task *task;
static int signal_fd; /* what is written there ends the session */
static unsigned round_number;
static uint64_t later_ns, unwound;
static bool may_trace;

static struct {
    ucontext_t context;
    unsigned char stack[DUMP];
    size_t size;
} sampled;

int __real_tasks_init(struct tasks *ret, struct session *session, struct results *results, int epoll);
int __wrap_tasks_init(struct tasks *ret, struct session *session, struct results *results, int epoll);
int __wrap_tasks_init(struct tasks *ret, struct session *session, struct results *results, int epoll)
{
    stage.tasks = ret;
    return __real_tasks_init(ret, session, results, epoll);
}

uint64_t __real_monotonic_ns(void);
uint64_t __wrap_monotonic_ns(void);
uint64_t __wrap_monotonic_ns(void)
{
    return __real_monotonic_ns() + later_ns;
}

/* At the end of a round. A round that was traced in part could have a sweep, which goes part of the way. */
void __real_opener_take(struct opener *opener);
void __wrap_opener_take(struct opener *opener);
void __wrap_opener_take(struct opener *opener)
{
    __real_opener_take(opener);
    if (may_trace)
        set_traced(true);
    may_trace = false;
}

/* This thread as it is now. */
__attribute__((noinline, no_sanitize("address"))) static void sample_this(void)
{
    pthread_attr_t attr;
    void *start;
    size_t size;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
    assert_int_equal(pthread_attr_getstack(&attr, &start, &size), 0);
    pthread_attr_destroy(&attr);
    getcontext(&sampled.context);
    const uint64_t sp = context_regs(&sampled.context).value[UNWIND_SP];
    const volatile unsigned char *from = (const unsigned char *)(uintptr_t)sp; /* NOLINT */
    const size_t left = (size_t)((unsigned char *)start + size - from);
    sampled.size = left < DUMP ? left / 8 * 8 : DUMP;
    for (size_t i = 0; i < sampled.size; i++)
        sampled.stack[i] = from[i];
}

static void notify(void)
{
    struct notification *notification = stage_notification(PINJECT_PROCESS, getpid(), getpid(), getppid(),
                                                           monotonic_ns());
    stage_events(&stage, notification, 1000);
    strcpy(notification->comm, "ways");
    notification->maps = procfs_maps(getpid());
    notification->exec = procfs_exec(getpid());
    stage_notify(&stage, notification);
    task = tasks_find(stage.tasks, getpid());
}

/* As the kernel writes it: IDENTIFIER, IP, TID, TIME, PERIOD, CALLCHAIN, REGS_USER, STACK_USER. */
static void put_sample(void)
{
    static uint64_t words[16 + UNWIND_REGS + DUMP / 8];
    const uint64_t ip = context_ip(&sampled.context), tid = (uint32_t)getpid() | (uint64_t)(uint32_t)getpid() << 32;
    const uint64_t head[] = {0,  task->ids[0],           ip, tid, monotonic_ns(), 1000000, 2, PERF_CONTEXT_USER,
                             ip, PERF_SAMPLE_REGS_ABI_64};
    size_t count = sizeof(head) / sizeof(head[0]);
    memcpy(words, head, sizeof(head));
    context_perf_regs(&sampled.context, words + count);
    count += UNWIND_REGS;
    words[count++] = sampled.size;
    memcpy(words + count, sampled.stack, sampled.size);
    count += sampled.size / 8;
    words[count++] = sampled.size;
    const struct perf_event_header header = {
        .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .size = (uint16_t)(8 * count)};
    memcpy(words, &header, sizeof(header));
    stage_put(task, words, 8 * count);
}

/* The kernel reports, one after the other: nothing, a sample in the task's ring, nothing for long, a signal. */
int __wrap_epoll_wait(int epoll, struct epoll_event *events, int size, int timeout);
int __wrap_epoll_wait(int epoll, struct epoll_event *events, int size, int timeout)
{
    const struct signalfd_siginfo info = {.ssi_signo = SIGTERM};
    (void)epoll;
    (void)size;
    (void)timeout;
    switch (round_number++) {
    case 0:
        notify();
        may_trace = true;
        return 0;
    case 1:
        put_sample();
        events[0] = (struct epoll_event){.events = EPOLLIN, .data.ptr = task};
        return 1;
    case 2: later_ns = LATER; return 0;
    default:
        set_traced(false);
        unwound = stage.tasks->stacks->counts.ends[UNWIND_BOTTOM];
        (void)!write(signal_fd, &info, sizeof(info));
        events[0] = (struct epoll_event){.events = EPOLLIN, .data.ptr = &args.signals};
        return 1;
    }
}

static void sample_goes_its_way(void **state)
{
    struct outcome outcome;
    struct kit_file file;
    char path[64];
    int pipe_fds[2];
    (void)state;
    kit_new(&stage.kit, KIT_SAMPLING);
    stage.kit.config.dump = DUMP;
    assert_int_equal(service_init(&stage.kit.session, &stage.kit.settings, &stage.kit.config, "/nowhere/libpinject.so"),
                     0);
    stage.kit.session.dumps.now = DUMP;
    assert_int_equal(kit_start(&stage.kit, "out"), 0);
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK), 0);
    signal_fd = pipe_fds[1];
    signals = (struct signals){.ends = pipe_fds[0], .others = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    sample_this();
    args = (struct collect_args){
        .session = &stage.kit.session, .results = stage.kit.results, .root_pidfd = -1, .signals = &signals};
    assert_int_equal(collect_run(&args, &outcome), 0);
    assert_int_equal(unwound, 1);
    snprintf(path, sizeof(path), "out.%d.%d", (int)getpid(), (int)getpid());
    assert_true(kit_read(path, &file));
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 1);
    kit_file_free(&file);
    outcome_release(&outcome);
    service_release(&stage.kit.session);
    kit_free(&stage.kit);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    close(signals.others);
    later_ns = 0;
    expect_way("sample");
}

/* ---- A request ---- */

static struct fake fake;

/* As if it had mapped the session's files. */
int pinject_preload_open(const char *path)
{
    if (!fake.session.own)
        return -ENOENT;
    assert_string_equal(path, "/session");
    pinject_preload.channel = (struct pinject_channel){fake.session.segment, fake.session.own->requests,
                                                       fake.session.doorbells, PINJECT_WAIT_US};
    pinject_preload.flags = PINJECT_SESSION_VFORK;
    return 0;
}

static void request_goes_its_way(void **state)
{
    char *argv[] = {(char *)"ways", NULL}, *envp[] = {(char *)"PINJECT_SESSION=/session", NULL};
    (void)state;
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    preload_kit_begin();
    reset(0);
    set_traced(true);
    pinject_preload_init(1, argv, envp);
    struct notification *notification = fake_notification(&fake.session);
    set_traced(false);
    service_stop_workers(&fake.session);
    assert_int_equal(pinject_preload.state, PINJECT_FOLLOWED);
    assert_int_equal(notification->kind, PINJECT_PROCESS);
    fake_drop(notification);
    fake_close(&fake);
    expect_way("request");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_goes_its_way),
        cmocka_unit_test(request_goes_its_way),
    };
    return cmocka_run_group_tests(tests, read_functions, drop_functions);
}
