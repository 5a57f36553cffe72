/* SPDX-License-Identifier: MIT */
#include "collector/sources/deferred_munmap.h"
#include "worker_fake.h"

#include <pthread.h>
#include <sched.h>

#include "collector/records/records.h"
#include "collector/service/channels.h"
#include "collector/service/request.h"
#include "collector/sources/inherited.h"
#include "collector/system/numbers.h"
#include "deny.h"

static struct fake fake;

/* What the process tree says of itself through the pipe. */
struct late_tree {
    pid_t child, thread;
};

/* The events have at least so much of the 5 ms of fake_work(): the scheduler's clock has the switches too. */
enum { WORK_NS = 4000000 };

static void *run_thread(void *argument)
{
    *(pid_t *)argument = fake_tid();
    fake_work();
    return NULL;
}

/*
 * The root of the inherited set: at the first byte it makes a thread that ends and a child that stays until the next
 * byte.
 */
static void be_root(int from, int to)
{
    struct late_tree tree;
    pthread_t thread;
    char byte;
    MUST(read(from, &byte, 1) == 1);
    MUST(pthread_create(&thread, NULL, run_thread, &tree.thread) == 0);
    pthread_join(thread, NULL);
    tree.child = fork();
    if (tree.child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fake_work();
        MUST(read(from, &byte, 1) == 1);
        _exit(0);
    }
    MUST(write(to, &tree, sizeof(tree)) == sizeof(tree));
    MUST(waitpid(tree.child, NULL, 0) == tree.child);
}

static pid_t start(int *ret_to, int *ret_from)
{
    int to[2], from[2];
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        be_root(to[0], from[1]);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    *ret_to = to[1];
    *ret_from = from[0];
    return pid;
}

struct seen {
    unsigned forks, exits, readings;
    uint64_t clock_ns;
};

static void look_at(const struct inherited_record *kept, struct seen *seen)
{
    const struct perf_event_header *record = (const struct perf_event_header *)(const void *)kept->bytes;
    struct records_layout layout;
    records_layout_init(&layout, &fake.config);
    seen->forks += record->type == PERF_RECORD_FORK;
    seen->exits += record->type == PERF_RECORD_EXIT;
    /* Whatever CPU it came from. */
    assert_int_equal(records_event(&layout, inherited_ids(fake.session.inherited_sets), record), kept->event);
    if (record->type == PERF_RECORD_READ) {
        seen->readings++;
        if ((int)kept->event == event_config_find_clock(&fake.config))
            seen->clock_ns += records_parse_read(&layout, record).value;
    }
}

/* The memory of an unprivileged user's rings is one for all that he runs. */
static void open_inherited(pid_t root)
{
    int status = inherited_open(fake.session.inherited_sets, root, root, INHERIT_RUNS);
    if (status == -EPERM && geteuid() != 0)
        skip();
    assert_int_equal(status, 0);
}

static void everybody_in_it_is_told_of(void **state)
{
    (void)state;
    int to, from;
    struct late_tree tree;
    struct seen thread = {0}, child = {0};
    uint64_t lost = 0, before_ns = 0;
    unsigned readings = 0;
    fake_open(&fake);
    pid_t root = start(&to, &from);
    struct inherited_sets *sets = fake.session.inherited_sets;
    struct attached *own;
    assert_false(inherited_live(sets));
    /* Without them the kernel may exchange the events of root and child, and one of them has no READ. */
    assert_int_equal(attach_task(&fake.session, root, ATTACH_RUNNING, &own), 0);
    open_inherited(root);
    assert_int_equal(inherited_open(sets, root, root, INHERIT_RUNS), 0); /* once is enough */
    assert_true(inherited_live(sets));
    assert_int_equal(write(to, "a", 1), 1);
    assert_int_equal(read(from, &tree, sizeof(tree)), sizeof(tree));
    assert_true(inherited_know(sets, tree.child));
    assert_false(inherited_know(sets, root));
    assert_int_equal(write(to, "b", 1), 1);
    assert_int_equal(waitpid(root, NULL, 0), root);
    assert_false(inherited_know(sets, tree.child));
    assert_false(inherited_live(sets));
    for (struct inherited_record *kept = inherited_take(sets, UINT64_MAX, &lost), *next; kept; kept = next) {
        const struct perf_event_header *record = (const struct perf_event_header *)(const void *)kept->bytes;
        next = kept->next;
        assert_true(kept->time_ns >= before_ns);
        before_ns = kept->time_ns;
        readings = kept->readings;
        assert_int_equal(kept->root, kept->tid == root);
        if (kept->tid == tree.thread || kept->tid == tree.child)
            look_at(kept, kept->tid == tree.child ? &child : &thread);
        else if (record->type == PERF_RECORD_FORK)
            (records_parse_task(record).tid == tree.child ? &child : &thread)->forks++;
        free(kept);
    }
    assert_int_equal(lost, 0);
    assert_int_equal(child.forks, 1);
    assert_int_equal(thread.forks, 1);
    assert_int_equal(child.exits, 1);
    assert_int_equal(thread.exits, 1);
    assert_int_equal(child.readings, readings);
    assert_int_equal(thread.readings, readings);
    assert_true(child.clock_ns >= WORK_NS);
    assert_true(thread.clock_ns >= WORK_NS);
    attach_free(own);
    deferred_munmap_run(&fake.session);
    assert_true(fake.session.ring_bytes == 0);
    close(to);
    close(from);
    fake_close(&fake);
}

static void the_young_stay(void **state)
{
    (void)state;
    int to, from;
    struct late_tree tree;
    uint64_t lost = 0;
    fake_open(&fake);
    pid_t root = start(&to, &from);
    open_inherited(root);
    assert_int_equal(write(to, "ab", 2), 2);
    assert_int_equal(read(from, &tree, sizeof(tree)), sizeof(tree));
    assert_int_equal(waitpid(root, NULL, 0), root);
    assert_null(inherited_take(fake.session.inherited_sets, fake.session.start_ns, &lost));
    struct inherited_record *kept = inherited_take(fake.session.inherited_sets, UINT64_MAX, &lost);
    assert_non_null(kept);
    for (struct inherited_record *next; kept; kept = next) {
        next = kept->next;
        free(kept);
    }
    close(to);
    close(from);
    fake_close(&fake);
}

static void *end_at_once(void *nothing)
{
    return nothing;
}

/* On one CPU: COUNT threads that begin and end, after each byte; at an 'e' it ends. */
static void make_threads(int from, int to, int cpu, unsigned count)
{
    cpu_set_t one;
    char byte;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    MUST(sched_setaffinity(0, sizeof(one), &one) == 0);
    while (read(from, &byte, 1) == 1 && byte != 'e') {
        for (unsigned i = 0; i < count; i++) {
            pthread_t thread;
            MUST(pthread_create(&thread, NULL, end_at_once, NULL) == 0);
            pthread_join(thread, NULL);
        }
        MUST(write(to, "d", 1) == 1);
    }
}

/* What was kept, counted and freed. */
static unsigned drop_all(struct inherited_sets *sets, uint64_t *lost)
{
    unsigned count = 0;
    for (struct inherited_record *kept = inherited_take(sets, UINT64_MAX, lost), *next; kept; kept = next) {
        next = kept->next;
        free(kept);
        count++;
    }
    return count;
}

/* A ring of one page, as little memory is left: its reader is told before it is full. */
static void a_small_ring_is_read_in_time(void **state)
{
    (void)state;
    int to[2], from[2];
    char byte;
    uint64_t lost = 0;
    fake_open(&fake);
    int cpu = sched_getcpu();
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    pid_t root = fork();
    if (root == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* Of each a FORK, an EXIT and a READ of each event, of which a user has fewer: 30 to 45 % of a page in all. */
        make_threads(to[0], from[1], cpu, 16 / fake.config.count);
        _exit(0);
    }
    fake.session.ring_budget = 1;
    /* No sample comes in between, however long it takes: its stack has no room in such a ring. */
    for (unsigned i = 0; i < fake.config.count; i++)
        if (fake.config.events[i].attr.sample_period)
            fake.config.events[i].attr.sample_period = UINT64_MAX >> 1;
    open_inherited(root);
    struct pollfd ready = {.fd = inherited_fd(fake.session.inherited_sets), .events = POLLIN};
    assert_int_equal(write(to[1], "a", 1), 1);
    assert_int_equal(read(from[0], &byte, 1), 1);
    assert_int_equal(poll(&ready, 1, 0), 1);
    assert_true(drop_all(fake.session.inherited_sets, &lost) > 0);
    assert_int_equal(lost, 0);
    /* Many more than it has room for: the kernel says how many, as soon as there is room again. */
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(write(to[1], "a", 1), 1);
        assert_int_equal(read(from[0], &byte, 1), 1);
    }
    unsigned before = drop_all(fake.session.inherited_sets, &lost);
    assert_int_equal(write(to[1], "a", 1), 1);
    assert_int_equal(read(from[0], &byte, 1), 1);
    drop_all(fake.session.inherited_sets, &lost);
    assert_true(before > 0 && before < 40 * 16);
    assert_in_range(lost, 100, 40 * 16 * 10);
    assert_int_equal(write(to[1], "e", 1), 1);
    assert_int_equal(waitpid(root, NULL, 0), root);
    for (int i = 0; i < 2; i++) {
        close(to[i]);
        close(from[i]);
    }
    fake_close(&fake);
}

static void nobody_there(void **state)
{
    (void)state;
    fake_open(&fake);
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    assert_int_equal(inherited_open(fake.session.inherited_sets, gone, gone, INHERIT_EXECS), -ESRCH);
    assert_false(inherited_live(fake.session.inherited_sets));
    assert_false(inherited_know(fake.session.inherited_sets, -1));
    assert_false(inherited_know(fake.session.inherited_sets, INT32_MAX));
    assert_true(fake.session.ring_bytes == 0);
    fake_close(&fake);
}

/* Its process has ended, and its number is another's: no inherited set is under that one. */
static void its_number_is_anothers(void **state)
{
    (void)state;
    fake_open(&fake);
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    int pidfd = (int)syscall(SYS_pidfd_open, gone, 0);
    if (pidfd < 0)
        skip();
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)gone, &info, WEXITED | WNOWAIT), 0);
    assert_true(numbers_hold(pidfd, gone, gone)); /* a zombie */
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    assert_false(numbers_hold(pidfd, getpid(), getpid()));
    int status = inherited_open_of(fake.session.inherited_sets, getpid(), getpid(), pidfd, INHERIT_RUNS);
    if (status != -EPERM || geteuid() == 0)
        assert_int_equal(status, -ESRCH);
    assert_false(inherited_live(fake.session.inherited_sets));
    assert_true(fake.session.ring_bytes == 0);
    /* Nor under a thread of another process. */
    pid_t other = fork();
    if (other == 0)
        for (;;)
            pause();
    status = inherited_open(fake.session.inherited_sets, getpid(), other, INHERIT_RUNS);
    kill(other, SIGKILL);
    assert_int_equal(waitpid(other, NULL, 0), other);
    if (status != -EPERM || geteuid() == 0)
        assert_int_equal(status, -ESRCH);
    assert_false(inherited_live(fake.session.inherited_sets));
    close(pidfd);
    fake_close(&fake);
}

/* A thread of that number had an inherited set: it is dead, and its process lives. */
static void a_root_is_told_by_both_numbers(void **state)
{
    (void)state;
    fake_open(&fake);
    open_inherited(getpid());
    assert_int_equal(inherited_open(fake.session.inherited_sets, getpid(), getpid(), INHERIT_RUNS), 0);
    /* Of the parent it is no thread: it would have an inherited set if it were. */
    assert_int_equal(inherited_open(fake.session.inherited_sets, getppid(), getpid(), INHERIT_RUNS), -ESRCH);
    fake_close(&fake);
}

/* On a machine of many CPUs each inherited set has hundreds of them: tasks that ask have to have some as well. */
/* No memory may be shared: nothing of the inherited set stays, and nothing is counted that was never there. */
static int open_without_memory(void)
{
    const struct deny_only only = {3, MAP_SHARED};
    uint64_t before = fake.session.ring_bytes;
    int free_before = dup(2);
    close(free_before);
    deny_call(SYS_mmap, &only, ENOMEM);
    MUST(inherited_open(fake.session.inherited_sets, getpid(), getpid(), INHERIT_RUNS) == -ENOMEM);
    MUST(fake.session.ring_bytes == before);
    MUST(dup(2) == free_before);
    MUST(!inherited_live(fake.session.inherited_sets));
    return 0;
}

static void no_memory_for_rings(void **state)
{
    (void)state;
    fake_open(&fake);
    assert_int_equal(deny_in_child(open_without_memory), 0);
    fake_close(&fake);
}

static void half_of_the_descriptors_stay(void **state)
{
    (void)state;
    enum { LIMIT = 700, ROOTS = LIMIT };
    static pid_t roots[ROOTS];
    unsigned count = 0, refused = 0, most = 0;
    uint64_t ids[CONFIG_EVENTS] = {0};
    fake_open(&fake);
    fake.session.fd_limit = LIMIT;
    const unsigned before = check_open_fds();
    for (int status = 0; count < ROOTS && !refused; count++) {
        roots[count] = fork();
        assert_true(roots[count] >= 0);
        if (roots[count] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
        unsigned now = check_open_fds();
        most = now > most ? now : most;
        status = inherited_open(fake.session.inherited_sets, roots[count], roots[count], INHERIT_RUNS);
        refused = status == -EMFILE;
        if (status == -EPERM && geteuid() != 0) /* the memory that may be locked ends before */
            break;
        assert_true(status == 0 || refused);
        if (count == 0)
            memcpy(ids, inherited_ids(fake.session.inherited_sets), sizeof(ids));
        /* of the first inherited set, for all */
        assert_memory_equal(inherited_ids(fake.session.inherited_sets), ids, sizeof(ids));
    }
    if (refused) {
        /* Each inherited set but the refused one has a pidfd, which is no event. */
        assert_in_range(most - before - (count - 1), LIMIT / 4, LIMIT / 2);
        assert_true(check_open_fds() <= most);
    }
    for (unsigned i = 0; i < count; i++) {
        kill(roots[i], SIGKILL);
        waitpid(roots[i], NULL, 0);
    }
    assert_false(inherited_know(fake.session.inherited_sets, roots[0])); /* reads them to their ends */
    assert_false(inherited_live(fake.session.inherited_sets));
    assert_int_equal(check_open_fds(), before);
    fake_close(&fake);
}

/* A task that is about to make threads which cannot ask; one that has no events may not ask for it either. */
static void asked_for(void **state)
{
    (void)state;
    int to, from;
    struct late_tree tree;
    fake_open(&fake);
    pid_t root = start(&to, &from);
    struct request request = {.slot = {.kind = PINJECT_INHERIT, .pid = root, .tid = root}};
    struct notification *notification;
    struct attached *own;
    assert_int_equal(request_begin(fake.session.channels->list[0], &request, &notification), -ESRCH);
    assert_false(inherited_live(fake.session.inherited_sets));
    assert_int_equal(fake.session.uninherited, 1);
    assert_int_equal(attach_task(&fake.session, root, ATTACH_RUNNING, &own), 0);
    int status = request_begin(fake.session.channels->list[0], &request, &notification);
    if (status == -EPERM && geteuid() != 0)
        skip();
    assert_int_equal(status, 0);
    assert_null(notification);
    assert_int_equal(request_begin(fake.session.channels->list[0], &request, &notification), 0);
    assert_int_equal(fake.session.inherited, 2);
    assert_int_equal(write(to, "a", 1), 1);
    assert_int_equal(read(from, &tree, sizeof(tree)), sizeof(tree));
    assert_true(inherited_know(fake.session.inherited_sets, tree.child));
    assert_int_equal(write(to, "b", 1), 1);
    assert_int_equal(waitpid(root, NULL, 0), root);
    close(to);
    close(from);
    attach_free(own);
    fake_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_in_it_is_told_of),
        cmocka_unit_test(the_young_stay),
        cmocka_unit_test(a_small_ring_is_read_in_time),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(its_number_is_anothers),
        cmocka_unit_test(a_root_is_told_by_both_numbers),
        cmocka_unit_test(no_memory_for_rings),
        cmocka_unit_test(half_of_the_descriptors_stay),
        cmocka_unit_test(asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
