/* SPDX-License-Identifier: MIT */
#include "collector/sources/deferred_munmap.h"
#include "worker_fake.h"

#include "collector/config/probe.h"
#include "collector/service/service.h"

#include <fcntl.h>
#include <linux/sched.h>

static struct fake fake;

/* A child that waits, does some work for each 'w' it is sent, calls exec for 'x', and ends with the pipe. */
struct child {
    pid_t pid;
    int to, from;
};

/*
 * What the events have at least of the 5 ms of fake_work(): the scheduler's clock has the switches too, and there may
 * be many.
 */
enum { WORK_NS = 4000000 };

static char *own_path;

static void serve(int from, int to)
{
    char order;
    while (read(from, &order, 1) == 1) {
        if (order == 'w')
            fake_work();
        if (order == 'x') {
            char in[16], out[16];
            snprintf(in, sizeof(in), "%d", from);
            snprintf(out, sizeof(out), "%d", to);
            execl(own_path, own_path, "serve", in, out, NULL);
            _exit(9);
        }
        MUST(write(to, "k", 1) == 1);
    }
}

static struct child start(pid_t wanted)
{
    int to[2], from[2];
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    struct clone_args args = {.exit_signal = SIGCHLD};
    if (wanted) {
        args.set_tid = (uint64_t)(uintptr_t)&wanted;
        args.set_tid_size = 1;
    }
    struct child child = {(pid_t)syscall(SYS_clone3, &args, sizeof(args)), to[1], from[0]};
    if (child.pid == 0) {
        close(to[1]);
        close(from[0]);
        serve(to[0], from[1]);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    return child;
}

static void order(const struct child *child, char what)
{
    char byte;
    assert_int_equal(write(child->to, &what, 1), 1);
    assert_int_equal(read(child->from, &byte, 1), 1);
}

static void end(struct child *child)
{
    close(child->to);
    close(child->from);
    assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

static uint64_t clock_of(const struct attached *attached)
{
    struct attach_value values[CONFIG_EVENTS];
    attach_read(attached, values);
    for (unsigned i = 0; i < fake.config.count; i++)
        if (fake.config.events[i].nanoseconds)
            return values[i].value;
    return 0;
}

static void counts_from_now_on(void **state)
{
    (void)state;
    struct attached *attached, *again;
    struct attach_value values[CONFIG_EVENTS];
    fake_open(&fake);
    struct child child = start(0);
    assert_int_equal(attach_task(&fake.session, child.pid, ATTACH_RUNNING, &attached), 0);
    assert_true(fake_covered(&fake.session, child.pid));
    assert_non_null(attached->ring);
    assert_int_equal(attached->error, 0);
    for (unsigned i = 0; i < attached->count; i++)
        assert_true(attached->fds[i] >= 0 && attached->ids[i] > 0);
    assert_int_equal(attach_task(&fake.session, child.pid, ATTACH_RUNNING, &again), -EEXIST);
    order(&child, 'w');
    uint64_t before = clock_of(attached);
    assert_in_range(before, WORK_NS, 50000000000);
    assert_int_equal(attach_snapshot(&fake.session, child.pid, values), 0);
    assert_true(values[0].enabled_ns > 0);
    end(&child);
    assert_true(clock_of(attached) >= before); /* after its death */
    attach_retire(&fake.session, attached);
    attach_retire(&fake.session, attached);
    assert_false(fake_covered(&fake.session, child.pid));
    assert_int_equal(attach_snapshot(&fake.session, child.pid, values), -ESRCH);
    attach_free(attached);
    attach_free(NULL);
    deferred_munmap_run(&fake.session);
    assert_true(fake.session.ring_bytes == 0);
    assert_int_equal(attach_task(&fake.session, child.pid, ATTACH_RUNNING, &attached), -ESRCH);
    fake_close(&fake);
}

static void armed_counts_from_exec_on(void **state)
{
    (void)state;
    struct attached *attached;
    fake_open(&fake);
    struct child child = start(0);
    assert_int_equal(attach_task(&fake.session, child.pid, ATTACH_ON_EXEC, &attached), 0);
    order(&child, 'w');
    assert_int_equal(clock_of(attached), 0);
    order(&child, 'x'); /* the new exec generation says that it is there */
    order(&child, 'w');
    assert_true(clock_of(attached) >= WORK_NS);
    end(&child);
    attach_free(attached);
    fake_close(&fake);
}

static void a_number_that_is_used_again(void **state)
{
    (void)state;
    struct attached *old, *new;
    fake_open(&fake);
    struct child child = start(0);
    assert_int_equal(attach_task(&fake.session, child.pid, ATTACH_RUNNING, &old), 0);
    pid_t pid = child.pid;
    end(&child);
    assert_false(attach_knows(&fake.session, pid, pid, NULL));
    child = start(pid);
    if (child.pid < 0) { /* needs the right to choose a pid */
        close(child.to);
        close(child.from);
        attach_free(old);
        fake_close(&fake);
        skip();
    }
    assert_int_equal(attach_task(&fake.session, pid, ATTACH_RUNNING, &new), 0);
    attach_retire(&fake.session, old); /* late, as the event loop may be */
    assert_true(attach_knows(&fake.session, pid, pid, NULL));
    assert_true(fake_covered(&fake.session, pid));
    attach_free(old);
    end(&child);
    attach_free(new);
    fake_close(&fake);
}

static void *exec_from_a_thread(void *argument)
{
    const int *fds = argument;
    char byte;
    pid_t tid = fake_tid();
    MUST(write(fds[1], &tid, sizeof(tid)) == sizeof(tid));
    MUST(read(fds[0], &byte, 1) == 1);
    char in[16], out[16];
    snprintf(in, sizeof(in), "%d", fds[0]);
    snprintf(out, sizeof(out), "%d", fds[1]);
    execl(own_path, own_path, "serve", in, out, NULL);
    _exit(9);
}

static void a_thread_that_execs_becomes_the_process(void **state)
{
    (void)state;
    int to[2], from[2];
    pid_t tid;
    struct attached *leader, *thread, *again;
    static int fds[2]; /* the thread's, whose starter waits for it */
    fake_open(&fake);
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t id;
        close(to[1]);
        close(from[0]);
        fds[0] = to[0];
        fds[1] = from[1];
        MUST(pthread_create(&id, NULL, exec_from_a_thread, fds) == 0);
        pthread_join(id, NULL);
        _exit(9);
    }
    close(to[0]);
    close(from[1]);
    struct child child = {pid, to[1], from[0]};
    assert_int_equal(read(child.from, &tid, sizeof(tid)), sizeof(tid));
    assert_int_equal(attach_open(&fake.session, pid, pid, NULL, ATTACH_RUNNING, &leader), 0);
    assert_int_equal(attach_open(&fake.session, pid, tid, NULL, ATTACH_THREAD, &thread), 0);
    assert_true(attach_knows(&fake.session, pid, tid, NULL));
    order(&child, 'x');
    assert_true(attach_knows(&fake.session, pid, pid, NULL)); /* by the thread's events */
    assert_int_equal(attach_open(&fake.session, pid, pid, NULL, ATTACH_RUNNING, &again), -EEXIST);
    assert_false(attach_knows(&fake.session, pid, tid, NULL));
    assert_false(fake_covered(&fake.session, tid));
    uint64_t before = clock_of(thread);
    order(&child, 'w');
    assert_true(clock_of(thread) >= before + WORK_NS);
    attach_retire(&fake.session, leader);
    assert_true(fake_covered(&fake.session, pid));
    attach_free(leader);
    end(&child);
    attach_free(thread);
    assert_false(fake_covered(&fake.session, pid));
    fake_close(&fake);
}

/* The same as fake_open(), in a child. */
static void must_open(void)
{
    fake.settings = (struct settings){.frequency = 999, .follow = PINJECT_SESSION_ALL};
    MUST(event_config_init(&fake.config, &fake.settings) == 0);
    MUST(service_init(&fake.session, &fake.settings, &fake.config, "/x") == 0);
}

static void check_few_descriptors(void)
{
    struct attached *attached;
    must_open();
    while (dup(2) < 399)
        ;
    fake.session.fd_limit = 520;
    MUST(attach_task(&fake.session, getpid(), ATTACH_RUNNING, &attached) == 0);
    MUST(attached->error == -EMFILE && attached->ring);
    MUST(attached->fds[0] == 400 && attached->ids[0] != 0);
    MUST(attached->fds[1] == -1 && attached->ids[1] == 0);
    attach_free(attached);
    /* From three quarters on they are short: here of 540, where that is 405, and of 536. */
    MUST(dup(2) == 400 && dup(2) == 401);
    fake.session.fd_limit = 540;
    MUST(attach_task(&fake.session, getpid(), ATTACH_RUNNING, &attached) == 0);
    MUST(attached->fds[0] == 402 && attached->error == 0);
    attach_free(attached);
    fake.session.fd_limit = 536;
    MUST(attach_task(&fake.session, getpid(), ATTACH_RUNNING, &attached) == 0);
    MUST(attached->fds[0] == 402 && attached->error == -EMFILE);
    attach_free(attached);
    close(400);
    close(401);
    fake.session.fd_limit = 450; /* what is left is for files */
    MUST(attach_task(&fake.session, getpid(), ATTACH_RUNNING, &attached) == -EMFILE);
    MUST(!fake_covered(&fake.session, getpid()));
    fake.session.fd_limit = 20000;
    struct rlimit limit = {402, 402};
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    MUST(attach_task(&fake.session, getpid(), ATTACH_RUNNING, &attached) == 0);
    MUST(attached->error == (fake.config.count > 2 ? -EMFILE : 0));
    attach_free(attached);
    limit = (struct rlimit){400, 400};
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    MUST(attach_task(&fake.session, getpid(), ATTACH_RUNNING, &attached) == -EMFILE);
    fake_close(&fake);
}

static void few_descriptors(void **state)
{
    (void)state;
    fake_unprivileged(check_few_descriptors);
}

/* Started without stdin, the first event gets its number: it is one like the others. */
static void descriptor_of_stdin(void **state)
{
    (void)state;
    struct attached *attached;
    fake_open(&fake);
    if (fake.config.source != PINJECT_SOURCE_PERF) {
        fake_close(&fake);
        skip();
    }
    struct attach_value before[CONFIG_EVENTS], after[CONFIG_EVENTS];
    int saved = fcntl(0, F_DUPFD_CLOEXEC, 100);
    close(0);
    assert_int_equal(attach_open(&fake.session, getpid(), getpid(), NULL, ATTACH_ON_EXEC, &attached), 0);
    attach_complete(attached);
    int first = attached->fds[0];
    uint64_t id = attached->ids[0];
    attach_read(attached, before);
    attach_enable(attached);
    fake_work();
    attach_read(attached, after);
    unsigned descriptors = attached->descriptors, taken = (unsigned)fake.session.pressure.descriptors;
    unsigned open = attached->end_fd >= 0;
    for (unsigned i = 0; i < attached->count; i++)
        open += attached->fds[i] >= 0;
    attach_free(attached);
    bool closed = fcntl(0, F_GETFD) < 0;
    assert_true(saved < 0 || dup2(saved, 0) == 0);
    close(saved);
    assert_int_equal(first, 0);
    assert_true(id > 0 && before[0].enabled_ns == 0);
    assert_true(after[0].enabled_ns >= WORK_NS);
    assert_int_equal(descriptors, open);
    assert_int_equal(taken, open);
    assert_int_equal(fake.session.pressure.descriptors, 0);
    assert_true(closed);
    fake_close(&fake);
}

/* Threads until no memory is left for rings: they are counted all the same. */
enum { CROWD = 60 };
static pid_t crowd[CROWD];
static pthread_barrier_t arrived;
static pthread_mutex_t leaving = PTHREAD_MUTEX_INITIALIZER;

static void *stand(void *argument)
{
    *(pid_t *)argument = fake_tid();
    pthread_barrier_wait(&arrived);
    pthread_mutex_lock(&leaving);
    pthread_mutex_unlock(&leaving);
    return NULL;
}

static void check_memory(void)
{
    struct rlimit none = {0, 0};
    pthread_t threads[CROWD];
    MUST(setrlimit(RLIMIT_MEMLOCK, &none) == 0);
    must_open();
    if (fake.session.ring_budget == UINT64_MAX)
        _exit(77);
    uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    MUST(fake.session.ring_budget == (uint64_t)probe_read_sysctl("perf_event_mlock_kb", 0) * 1024 * cpus);
    fake.session.ring_budget = UINT64_MAX; /* as if another profiler of this user had what we count on */
    pthread_barrier_init(&arrived, NULL, CROWD + 1);
    pthread_mutex_lock(&leaving);
    for (int i = 0; i < CROWD; i++)
        MUST(pthread_create(&threads[i], NULL, stand, &crowd[i]) == 0);
    pthread_barrier_wait(&arrived);
    struct attached *attached[CROWD];
    unsigned without = 0;
    for (int i = 0; i < CROWD; i++) {
        MUST(attach_open(&fake.session, getpid(), crowd[i], NULL, ATTACH_RUNNING, &attached[i]) == 0);
        without += !attached[i]->ring;
    }
    /* The number of CPUs decides how many fit, and what else this user runs. */
    if (!without || attached[CROWD - 1]->ring)
        _exit(77);
    MUST(attached[CROWD - 1]->ring_error == -EPERM && attached[CROWD - 1]->fds[0] >= 0);
    if (attached[CROWD - 1]->end_fd < 0)
        _exit(77); /* Linux before 6.9 */
    struct pollfd end = {.fd = attached[CROWD - 1]->end_fd, .events = POLLIN};
    MUST(poll(&end, 1, 0) == 0);
    pthread_mutex_unlock(&leaving);
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    MUST(poll(&end, 1, FAKE_PATIENCE_S * 1000) == 1);
    MUST(!attach_knows(&fake.session, getpid(), crowd[CROWD - 1], NULL));
    for (int i = 0; i < CROWD; i++)
        attach_free(attached[i]);
    deferred_munmap_run(&fake.session);
    MUST(fake.session.ring_bytes == 0);
    service_release(&fake.session);
}

static void no_memory_for_rings(void **state)
{
    (void)state;
    fake_unprivileged(check_memory);
}

static void rings_shrink_with_the_budget(void **state)
{
    (void)state;
    struct attached *attached;
    fake_open(&fake);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    fake.session.ring_budget = 128 * 5 * page;
    assert_int_equal(attach_task(&fake.session, getpid(), ATTACH_RUNNING, &attached), 0);
    assert_int_equal(attached->ring_size, 4 * page);
    attach_free(attached);
    fake.session.ring_bytes = fake.session.ring_budget;
    assert_int_equal(attach_task(&fake.session, getpid(), ATTACH_RUNNING, &attached), 0);
    assert_int_equal(attached->ring_size, page);
    attach_free(attached);
    fake_close(&fake);
}

/* The part of a stack that a task's samples bring, and with it the ring, is what others of its name needed. */
static void dumps_by_name(void **state)
{
    static const struct {
        const char *name;
        uint32_t dump;
    } cases[] = {{"deep", 32768}, {"small", 8192}, {"new", 16384}, {"", 16384}, {NULL, 16384}};
    struct attached *attached;
    (void)state;
    fake_open(&fake);
    if (fake.config.source != PINJECT_SOURCE_PERF) {
        fake_close(&fake);
        skip();
    }
    if (!fake.session.dumps.predictor) /* the session's from here on */
        fake.session.dumps.predictor = stack_predictor_new();
    for (unsigned i = 0; i < 100; i++) {
        stack_sizes_add_stack(stack_predictor_find(fake.session.dumps.predictor, "deep"), 20000, false);
        stack_sizes_add_stack(stack_predictor_find(fake.session.dumps.predictor, "small"), 2000, false);
    }
    fake.config.dump = fake.session.dumps.now = 16384;
    fake.config.ring_pages = (16384 << 4) / (size_t)sysconf(_SC_PAGESIZE); /* for 16 such samples, no more */
    fake.session.ring_budget = UINT64_MAX;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(attach_open(&fake.session, getpid(), getpid(), cases[i].name, ATTACH_RUNNING, &attached), 0);
        assert_int_equal(attached->dump, cases[i].dump);
        assert_int_equal(attached->sizes != NULL, i < 3);
        attach_free(attached);
    }
    /* Little room: smaller rings, with smaller dumps. */
    fake.session.ring_budget = 1;
    assert_int_equal(attach_open(&fake.session, getpid(), getpid(), "deep", ATTACH_RUNNING, &attached), 0);
    assert_true(attached->dump < 8192);
    attach_free(attached);
    deferred_munmap_run(&fake.session);
    fake_close(&fake);
}

int main(int argc, char **argv)
{
    own_path = argv[0];
    if (argc == 4 && strcmp(argv[1], "serve") == 0) {
        MUST(write(atoi(argv[3]), "k", 1) == 1);
        serve(atoi(argv[2]), atoi(argv[3]));
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_from_now_on),
        cmocka_unit_test(armed_counts_from_exec_on),
        cmocka_unit_test(a_number_that_is_used_again),
        cmocka_unit_test(a_thread_that_execs_becomes_the_process),
        cmocka_unit_test(few_descriptors),
        cmocka_unit_test(descriptor_of_stdin),
        cmocka_unit_test(no_memory_for_rings),
        cmocka_unit_test(rings_shrink_with_the_budget),
        cmocka_unit_test(dumps_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
