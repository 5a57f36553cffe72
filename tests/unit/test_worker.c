/* SPDX-License-Identifier: MIT */
#include "worker_fake.h"

#include <fcntl.h>
#include <sched.h>

#include "collector/service/slots.h"

static struct fake fake;

static void open_all(void)
{
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
}

static void close_all(void)
{
    service_stop_workers(&fake.session);
    assert_null(notifications_take(&fake.session.notifications));
    fake_close(&fake);
}

static struct pinject_slot *set_text(struct pinject_slot *slot, const char *exec, const char *cmdline, size_t size)
{
    slot->exec_size = (uint32_t)strlen(exec) + 1;
    slot->cmdline_size = (uint32_t)size;
    memcpy(slot->text, exec, slot->exec_size);
    memcpy(slot->text + slot->exec_size, cmdline, size);
    return slot;
}

static void *be_a_thread(void *argument)
{
    (void)argument;
    int result = fake_ask(fake.session.own->requests, 7, PINJECT_THREAD);
    fake_work();
    return (void *)(intptr_t)result;
}

static void a_thread_has_events_when_it_starts(void **state)
{
    (void)state;
    pthread_t thread;
    void *result;
    open_all();
    assert_int_equal(pthread_create(&thread, NULL, be_a_thread, NULL), 0);
    pthread_join(thread, &result);
    assert_int_equal((intptr_t)result, 0);
    struct notification *notification = fake_notification(&fake.session);
    assert_int_equal(notification->kind, PINJECT_THREAD);
    assert_int_equal(notification->pid, getpid());
    assert_int_not_equal(notification->tid, getpid());
    assert_int_equal(notification->result, 0);
    assert_int_equal(notification->pidfd, -1);
    assert_true(notification->answered_ns >= notification->time_ns && notification->time_ns >= fake.session.start_ns);
    assert_non_null(notification->events);
    assert_non_null(notification->events->ring);
    assert_true(notification->events->ids[0] != 0);
    struct attach_value values[CONFIG_EVENTS];
    attach_read(notification->events, values);
    for (unsigned i = 0; i < fake.config.count; i++)
        if (fake.config.events[i].nanoseconds)
            assert_true(values[i].value >= 4000000); /* of 5 ms: the thread's clock has the switches too */
    fake_drop(notification);
    close_all();
}

static void a_process_tells_its_text_and_maps(void **state)
{
    (void)state;
    open_all();
    struct pinject_slot *slot = fake_claim(fake.session.own->requests, 200, PINJECT_PROCESS);
    set_text(slot, "/bin/x y", "x\0-v\0", 5)->startup_ns = 1234;
    fake_post(fake.session.own->requests, 200);
    assert_int_equal(fake_answer(slot), 0);
    struct notification *notification = fake_notification(&fake.session);
    assert_int_equal(notification->kind, PINJECT_PROCESS);
    assert_true(notification->pidfd >= 0);
    assert_true(notification->startup_ns == 1234);
    /* Not what was given to exec, but what it led to. */
    assert_non_null(strstr(notification->exec, "/test_worker"));
    assert_int_equal(notification->cmdline_size, 5);
    assert_memory_equal(notification->cmdline, "x\0-v\0", 5);
    assert_non_null(strstr(notification->maps, "test_worker"));
    assert_string_equal(notification->comm, "test_worker_pro");

    /* Asked again, it is a new exec generation of what is known. */
    slot = fake_claim(fake.session.own->requests, 3, PINJECT_PROCESS);
    set_text(slot, "/bin/y", "y", 1); /* no NUL: given one */
    fake_post(fake.session.own->requests, 3);
    assert_int_equal(fake_answer(slot), 0);
    struct notification *generation = fake_notification(&fake.session);
    assert_int_equal(generation->kind, PINJECT_GENERATION);
    assert_null(generation->events);
    assert_int_equal(generation->cmdline_size, 2);
    assert_string_equal(generation->cmdline, "y");
    assert_string_equal(generation->exec, "/bin/y"); /* what it led to is in its ring */
    fake_drop(generation);

    /* Without a ring no record tells what it led to. */
    void *ring = notification->events->ring;
    notification->events->ring = NULL;
    slot = fake_claim(fake.session.own->requests, 4, PINJECT_GENERATION);
    set_text(slot, "./y", "y", 1)->flags = PINJECT_REQUEST_NO_REPLY;
    fake_post(fake.session.own->requests, 4);
    fake_await(slot, PINJECT_FREE);
    generation = fake_notification(&fake.session);
    assert_non_null(strstr(generation->exec, "/test_worker"));
    fake_drop(generation);
    notification->events->ring = ring;
    fake_drop(notification);
    close_all();
}

/* Who wakes workers for nothing pays for it with the time that is left for him. */
static void wake_ups_for_nothing_cost(void **state)
{
    (void)state;
    open_all();
    const struct budget *budget = &fake.session.own->budget;
    for (int i = 0; i < FAKE_PATIENCE_S * 100 && !__atomic_load_n(&budget->wasted_ns, __ATOMIC_RELAXED); i++) {
        fake_ring(fake.session.own->requests, 0, 5); /* nothing is posted there */
        poll(NULL, 0, 10);
    }
    assert_true(budget->wasted_ns > 0);
    close_all();
}

static void a_cut_command_line_is_read_whole(void **state)
{
    (void)state;
    open_all();
    struct pinject_slot *slot = fake_claim(fake.session.own->requests, 0, PINJECT_PROCESS);
    set_text(slot, "/bin/x", "cut", 3)->flags = PINJECT_REQUEST_TEXT_CUT;
    fake_post(fake.session.own->requests, 0);
    assert_int_equal(fake_answer(slot), 0);
    struct notification *notification = fake_notification(&fake.session);
    assert_non_null(strstr(notification->cmdline, "test_worker"));
    assert_int_equal(notification->cmdline[notification->cmdline_size - 1], '\0');
    fake_drop(notification);
    close_all();
}

static void without_reply_the_slot_is_freed(void **state)
{
    (void)state;
    open_all();
    struct pinject_slot *slot = fake_claim(fake.session.own->requests, 255, PINJECT_REAPED);
    slot->flags = PINJECT_REQUEST_NO_REPLY;
    slot->pid = 4000000;
    slot->tid = 0;
    slot->status = 0x0900;
    slot->utime_ns = 111;
    slot->stime_ns = UINT64_MAX; /* cannot be */
    fake_post(fake.session.own->requests, 255);
    fake_await(slot, PINJECT_FREE);
    struct notification *notification = fake_notification(&fake.session);
    assert_int_equal(notification->kind, PINJECT_REAPED);
    assert_int_equal(notification->status, 0x0900);
    assert_true(notification->utime_ns == 0 && notification->stime_ns == 0);
    fake_drop(notification);
    close_all();
}

static void a_generation_without_events_gets_them(void **state)
{
    (void)state;
    open_all();
    struct pinject_slot *slot = fake_claim(fake.session.own->requests, 1, PINJECT_GENERATION);
    set_text(slot, "/bin/x", "x", 2)->flags = PINJECT_REQUEST_NO_REPLY;
    fake_post(fake.session.own->requests, 1);
    struct notification *notification = fake_notification(&fake.session);
    assert_int_equal(notification->kind, PINJECT_PROCESS);
    assert_non_null(notification->events);
    assert_non_null(notification->maps);
    fake_drop(notification);
    close_all();
}

static void a_snapshot_is_of_a_known_task(void **state)
{
    (void)state;
    open_all();
    assert_int_equal(fake_ask(fake.session.own->requests, 1, PINJECT_SNAPSHOT), -ESRCH);
    struct notification *notification = fake_notification(&fake.session);
    assert_int_equal(notification->result, -ESRCH);
    fake_drop(notification);
    assert_int_equal(fake_ask(fake.session.own->requests, 2, PINJECT_FORK), 0);
    struct notification *fork = fake_notification(&fake.session);
    assert_true(fork->pidfd >= 0);
    fake_work();
    assert_int_equal(fake_ask(fake.session.own->requests, 3, PINJECT_SNAPSHOT), 0);
    notification = fake_notification(&fake.session);
    assert_non_null(notification->values);
    assert_true(notification->values[0].enabled_ns > 0);
    fake_drop(notification);
    fake_drop(fork);
    close_all();
}

static void asked_twice_is_answered_twice(void **state)
{
    (void)state;
    open_all();
    assert_int_equal(fake_ask(fake.session.own->requests, 1, PINJECT_ARM), 0);
    struct notification *notification = fake_notification(&fake.session);
    assert_int_equal(fake_ask(fake.session.own->requests, 1, PINJECT_ARM), 0);
    service_stop_workers(&fake.session);
    assert_null(notifications_take(&fake.session.notifications));
    fake_drop(notification);
    fake_close(&fake);
}

static void nonsense_is_answered_and_counted(void **state)
{
    (void)state;
    static const struct {
        uint32_t kind;
        int32_t pid, tid, ppid;
        uint32_t exec_size, cmdline_size;
    } cases[] = {
        {0, 1, 1, 1, 0, 0},
        {PINJECT_KINDS, 1, 1, 1, 0, 0},
        {PINJECT_THREAD, 0, 1, 1, 0, 0},
        {PINJECT_THREAD, 1, -1, 1, 0, 0},
        {PINJECT_THREAD, 1, PINJECT_TASKS, 1, 0, 0},
        {PINJECT_THREAD, INT32_MAX, 1, 1, 0, 0},
        {PINJECT_THREAD, 1, 1, -1, 0, 0},
        {PINJECT_PROCESS, 1, 1, 1, PINJECT_TEXT + 1, 0},
        {PINJECT_PROCESS, 1, 1, 1, PINJECT_TEXT, 1},
        {PINJECT_PROCESS, 1, 1, 1, 1, UINT32_MAX},
        {PINJECT_GENERATION, 1, 1, 1, 3, 3}, /* no NUL behind the path */
    };
    enum { CASES = sizeof(cases) / sizeof(cases[0]) };
    open_all();
    for (unsigned i = 0; i < CASES; i++) {
        struct pinject_slot *slot = fake_claim(fake.session.own->requests, i, cases[i].kind);
        slot->pid = cases[i].pid;
        slot->tid = cases[i].tid;
        slot->ppid = cases[i].ppid;
        slot->exec_size = cases[i].exec_size;
        slot->cmdline_size = cases[i].cmdline_size;
        memset(slot->text, 'x', sizeof(slot->text));
        fake_post(fake.session.own->requests, i);
        assert_int_equal(fake_answer(slot), -EINVAL);
    }
    assert_true(__atomic_load_n(&fake.session.malformed, __ATOMIC_RELAXED) == CASES);
    close_all();
}

static void an_abandoned_request_still_gets_events(void **state)
{
    (void)state;
    fake_open(&fake);
    struct pinject_slot *slot = fake_claim(fake.session.own->requests, 9, PINJECT_FORK);
    fake_post(fake.session.own->requests, 9);
    fake_set_phase(slot, PINJECT_ABANDONED); /* nobody was there in time */
    __atomic_store_n(&fake.session.own->requests->stalled, 1, __ATOMIC_RELAXED);
    assert_int_equal(service_start_workers(&fake.session), 0);
    struct notification *notification = fake_notification(&fake.session);
    assert_non_null(notification->events);
    fake_await(slot, PINJECT_FREE);
    assert_int_equal(__atomic_load_n(&fake.session.own->requests->stalled, __ATOMIC_RELAXED), 0);
    fake_drop(notification);
    close_all();
}

/* Who did not wait has executed its program: events that wait for that would count nothing. */
static void armed_too_late(void **state)
{
    (void)state;
    static const char script[] = "echo; read a; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo; read b";
    struct attach_value values[CONFIG_EVENTS];
    int to[2], from[2];
    char byte;
    open_all();
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(to[0], 0);
        dup2(from[1], 1);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(99);
    }
    assert_int_equal(read(from[0], &byte, 1), 1);
    assert_int_equal(fake_ask(fake.session.own->requests, 8, PINJECT_PROCESS), 0); /* the child's parent is known */
    struct notification *own = fake_notification(&fake.session);
    struct pinject_slot *slot = fake_claim(fake.session.own->requests, 9, PINJECT_ARM);
    slot->pid = slot->tid = child;
    slot->ppid = getpid();
    slot->startup_ns = 1;
    slot->flags = PINJECT_REQUEST_NO_REPLY | PINJECT_REQUEST_NO_WAIT;
    fake_post(fake.session.own->requests, 9);
    struct notification *notification = fake_notification(&fake.session);
    assert_int_equal(notification->result, 0);
    assert_int_equal(notification->kind, PINJECT_PROCESS);
    assert_non_null(strstr(notification->exec, "sh"));
    assert_memory_equal(notification->cmdline, "sh\0-c", sizeof("sh\0-c"));
    assert_string_equal(notification->comm, "sh");
    assert_true(notification->startup_ns > 1);
    assert_int_equal(write(to[1], "a\n", 2), 2);
    assert_int_equal(read(from[0], &byte, 1), 1);
    attach_read(notification->events, values);
    assert_true(event_config_clock(fake.session.config, values) > 1000000);
    assert_int_equal(write(to[1], "b\n", 2), 2);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (int i = 0; i < 2; i++) {
        close(to[i]);
        close(from[i]);
    }
    fake_drop(notification);
    fake_drop(own);
    close_all();
}

static void a_doorbell_that_nobody_rang(void **state)
{
    (void)state;
    open_all();
    struct pinject_slot *slot = fake_claim(fake.session.own->requests, 100, PINJECT_FORK);
    fake_set_phase(slot, PINJECT_POSTED);
    assert_int_equal(fake_answer(slot), 0);
    fake_drop(fake_notification(&fake.session));
    close_all();
}

/* Nobody rang for them: the loop takes them when it looks, and leaves alone what a worker must do. */
static void notifications_lie_until_the_loop_looks(void **state)
{
    (void)state;
    fake_open(&fake);
    struct pinject_requests *requests = fake.session.own->requests;
    worker_take_notifications(fake.session.own); /* no workers yet: nothing to look through */
    assert_int_equal(service_start_workers(&fake.session), 0);
    while (!__atomic_load_n(&requests->doorbells[0].sleeping, __ATOMIC_SEQ_CST))
        sched_yield();
    struct pinject_slot *reaped = fake_claim(requests, 65, PINJECT_REAPED);
    reaped->flags = PINJECT_REQUEST_NO_REPLY;
    reaped->pid = 4000000;
    fake_set_phase(reaped, PINJECT_POSTED);
    /* With the bit alone, nobody wakes: a worker sleeps for a second at most, and would serve it then. */
    __atomic_fetch_or(&requests->doorbells[0].pending[1], UINT64_C(1) << 1, __ATOMIC_RELEASE);
    struct pinject_slot *forked = fake_claim(requests, 66, PINJECT_FORK);
    fake_set_phase(forked, PINJECT_POSTED);
    __atomic_fetch_or(&requests->doorbells[0].pending[1], UINT64_C(1) << 2, __ATOMIC_RELEASE);
    worker_take_notifications(fake.session.own);
    assert_int_equal(PINJECT_STATE_PHASE(__atomic_load_n(&reaped->state, __ATOMIC_ACQUIRE)), PINJECT_FREE);
    struct notification *notification = fake_notification(&fake.session);
    assert_int_equal(notification->kind, PINJECT_REAPED);
    fake_drop(notification);
    assert_int_equal(fake_answer(forked), 0);
    fake_drop(fake_notification(&fake.session));
    close_all();
}

/* The loop takes a program of a system-wide set if it says all itself, and asks nobody whether its process is there. */
static void the_loop_takes_programs_of_a_set(void **state)
{
    static const struct {
        uint32_t flags;
        bool wide, inherits, own, taken;
    } all[] = {
        {PINJECT_REQUEST_ASYNCHRONOUS, true, false, true, true},
        {PINJECT_REQUEST_ASYNCHRONOUS, false, true, true, true},
        {PINJECT_REQUEST_ASYNCHRONOUS, false, false, true, false},
        {PINJECT_REQUEST_ASYNCHRONOUS, true, true, false, false},
        {PINJECT_REQUEST_ASYNCHRONOUS | PINJECT_REQUEST_TEXT_CUT, true, true, true, false},
        {0, true, true, true, false},
    };
    (void)state;
    fake_open(&fake);
    struct channel *channel = fake.session.own;
    assert_int_equal(service_start_workers(&fake.session), 0);
    while (!__atomic_load_n(&channel->requests->doorbells[0].sleeping, __ATOMIC_SEQ_CST))
        sched_yield();
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        channel->own = all[i].own;
        __atomic_store_n(&fake.session.system_wide_set, all[i].wide, __ATOMIC_RELEASE);
        fake.config.inherits = all[i].inherits;
        struct pinject_slot *slot = fake_claim(channel->requests, 65 + i, PINJECT_GENERATION);
        set_text(slot, "/bin/x", "x", 2)->flags = PINJECT_REQUEST_NO_REPLY | all[i].flags;
        slot->pid = slot->tid = 4000000; /* gone */
        fake_set_phase(slot, PINJECT_POSTED);
        __atomic_fetch_or(&channel->requests->doorbells[0].pending[1], UINT64_C(1) << (i + 1), __ATOMIC_RELEASE);
        worker_take_notifications(channel);
        const uint32_t phase = PINJECT_STATE_PHASE(__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE));
        assert_int_equal(phase == PINJECT_FREE, all[i].taken);
        if (!all[i].taken) {
            __atomic_store_n(&channel->requests->doorbells[0].pending[1], 0, __ATOMIC_RELEASE);
            fake_set_phase(slot, PINJECT_FREE);
            continue;
        }
        struct notification *notification = fake_notification(&fake.session);
        assert_int_equal(notification->kind, PINJECT_GENERATION);
        assert_int_equal(notification->result, 0);
        assert_true(notification->gone); /* so it says nothing of another user's process */
        assert_string_equal(notification->exec, "/bin/x");
        fake_drop(notification);
    }
    channel->own = true;
    fake.config.inherits = false;
    __atomic_store_n(&fake.session.system_wide_set, 0, __ATOMIC_RELEASE);
    close_all();
}

static unsigned move_sleepers(uint32_t *from, uint32_t *to)
{
    return (unsigned)syscall(SYS_futex, from, FUTEX_REQUEUE, 0, (void *)1, to, 0);
}

/* Any follower can move a sleeping worker to another futex, and back when it has not heard that it was woken. */
static void *move_until_woken(void *argument)
{
    struct pinject_doorbell *doorbell = argument;
    uint32_t other = 0, count = __atomic_load_n(&doorbell->count, __ATOMIC_SEQ_CST);
    while (move_sleepers(&doorbell->count, &other) == 0)
        sched_yield();
    __atomic_store_n(&doorbell->sleeping, 2, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&doorbell->count, __ATOMIC_SEQ_CST) == count)
        sched_yield();
    usleep(5000);
    while (move_sleepers(&other, &doorbell->count) == 0)
        sched_yield();
    return NULL;
}

static void a_worker_that_misses_a_wake_up_ends(void **state)
{
    (void)state;
    fake_open(&fake);
    fake.session.stop_s = FAKE_PATIENCE_S;
    fake.session.sleep_s = 3 * FAKE_PATIENCE_S;
    struct pinject_doorbell *doorbell = &fake.session.own->requests->doorbells[0];
    pthread_t mover;
    assert_int_equal(service_start_workers(&fake.session), 0);
    assert_int_equal(pthread_create(&mover, NULL, move_until_woken, doorbell), 0);
    while (__atomic_load_n(&doorbell->sleeping, __ATOMIC_SEQ_CST) != 2)
        sched_yield();
    service_stop_workers(&fake.session);
    assert_false(fake.session.hangs);
    pthread_join(mover, NULL);
    fake_close(&fake);
}

static void slots_of_the_dead_are_freed(void **state)
{
    (void)state;
    static const uint32_t phases[] = {PINJECT_CLAIMED, PINJECT_ANSWERED, PINJECT_TAKEN, 77};
    fflush(NULL);
    pid_t dead = fork();
    if (dead == 0)
        _exit(0);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    open_all();
    struct pinject_slot *alive = fake_claim(fake.session.own->requests, 10, PINJECT_FORK);
    for (unsigned i = 0; i < 4; i++) {
        __atomic_store_n(&fake_claim(fake.session.own->requests, i, PINJECT_FORK)->owner, dead, __ATOMIC_RELAXED);
        fake_set_phase(&fake.session.own->requests->slots[i], phases[i]);
    }
    for (unsigned i = 0; i < 4; i++)
        fake_await(&fake.session.own->requests->slots[i], PINJECT_FREE);
    assert_int_equal(PINJECT_STATE_PHASE(__atomic_load_n(&alive->state, __ATOMIC_RELAXED)), PINJECT_CLAIMED);
    close_all();
}

static bool has_pages(const struct pinject_requests *requests)
{
    /* Of the process, not of the file behind it: those of /proc/self/pagemap that are present. */
    uint64_t entries[sizeof(requests->slots) / 4096];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = sizeof(requests->slots) / page, present = 0;
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (fd < 0) /* a kernel without CONFIG_PROC_PAGE_MONITOR */
        skip();
    ssize_t size = (ssize_t)(count * sizeof(entries[0]));
    assert_int_equal(pread(fd, entries, (size_t)size, (off_t)((uintptr_t)requests->slots / page * sizeof(entries[0]))),
                     size);
    close(fd);
    for (size_t i = 0; i < count; i++)
        present += entries[i] >> 63;
    return present > 0;
}

/* Where nothing is claimed, a sweep looks at nothing, and the slots' pages are given back; what comes then is seen. */
static void a_sweep_is_idle_until_a_slot_is_claimed(void **state)
{
    (void)state;
    static struct slots slots;
    fflush(NULL);
    pid_t dead = fork();
    if (dead == 0)
        _exit(0);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    fake_open(&fake);
    struct pinject_requests *requests = fake.session.own->requests;
    slots_init(&slots, fake.session.own);
    for (int times = 0; times < 2; times++) {
        struct pinject_slot *slot = fake_claim(requests, 70, PINJECT_FORK);
        __atomic_store_n(&slot->owner, dead, __ATOMIC_RELAXED);
        slots_sweep(&slots);
        assert_int_equal(PINJECT_STATE_PHASE(__atomic_load_n(&slot->state, __ATOMIC_RELAXED)), PINJECT_CLAIMED);
        slots_sweep(&slots); /* it has not moved: the dead will not post it */
        assert_int_equal(PINJECT_STATE_PHASE(__atomic_load_n(&slot->state, __ATOMIC_RELAXED)), PINJECT_FREE);
        assert_true(has_pages(requests));
        slots_sweep(&slots); /* sees that it has moved */
        slots_sweep(&slots);
        assert_false(has_pages(requests));
        slots_sweep(&slots);
        assert_false(has_pages(requests));
    }
    slots_destroy(&slots);
    fake_close(&fake);
}

static void who_comes_late_is_told(void **state)
{
    (void)state;
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    struct pinject_slot *slot = fake_claim(fake.session.own->requests, 5, PINJECT_FORK);
    fake_set_phase(slot, PINJECT_POSTED); /* and died before it rang, or rings just now */
    service_stop_workers(&fake.session);
    assert_int_equal(fake_answer(slot), -ECANCELED);
    assert_int_equal(__atomic_load_n(&fake.session.segment->closed, __ATOMIC_SEQ_CST), 1);
    fake_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_has_events_when_it_starts),
        cmocka_unit_test(a_process_tells_its_text_and_maps),
        cmocka_unit_test(wake_ups_for_nothing_cost),
        cmocka_unit_test(a_cut_command_line_is_read_whole),
        cmocka_unit_test(without_reply_the_slot_is_freed),
        cmocka_unit_test(a_generation_without_events_gets_them),
        cmocka_unit_test(a_snapshot_is_of_a_known_task),
        cmocka_unit_test(asked_twice_is_answered_twice),
        cmocka_unit_test(nonsense_is_answered_and_counted),
        cmocka_unit_test(an_abandoned_request_still_gets_events),
        cmocka_unit_test(armed_too_late),
        cmocka_unit_test(a_doorbell_that_nobody_rang),
        cmocka_unit_test(notifications_lie_until_the_loop_looks),
        cmocka_unit_test(the_loop_takes_programs_of_a_set),
        cmocka_unit_test(a_worker_that_misses_a_wake_up_ends),
        cmocka_unit_test(slots_of_the_dead_are_freed),
        cmocka_unit_test(a_sweep_is_idle_until_a_slot_is_claimed),
        cmocka_unit_test(who_comes_late_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
