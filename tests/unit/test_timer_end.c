/* SPDX-License-Identifier: MIT */
/* What becomes of timers at exec, fork, exit, under a filter and with another user; and the table of samplers. */
#include "timer_kit.h"

#if defined(__x86_64__) || defined(__aarch64__)

/* ---- exec ---- */

static void executes(void)
{
    pinject_timer_start(2);
    unsigned before = seen->counts;
    MUST(pinject_timer_before_exec());
    MUST(head_of(1)->execs == 1 && seen->counts == before + 1);
    pinject_timer_after_exec(false);
    MUST(head_of(1)->execs == 1);
    pinject_preload.blocked = 1;
    pinject_timer_after_exec(true);
    MUST(head_of(1)->execs == 1);
    MUST(!pinject_timer_before_exec());
    pinject_preload.blocked = 0;
    pinject_timer_after_exec(true);
    MUST(head_of(1)->execs == 0);
    pinject_timer_stop();
    MUST(!pinject_timer_before_exec());
}

static void exec(void)
{
    pinject_timer_start(1);
    MUST(!pinject_timer_before_exec()); /* the first thread goes on with its own ring */
    MUST(head_of(0)->execs == 0);
    in_thread(executes);
}

static void test_exec(void **state)
{
    (void)state;
    in_child(exec);
}

/* ---- fork, the end ---- */

static int forked_status(void (*test)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        test();
        _exit(0);
    }
    MUST(waitpid(pid, &status, 0) == pid);
    return status;
}

static void is_forked(void)
{
    MUST(rings_mapped() == 0);
    pinject_timer_forked();
    MUST(!pinject_sampler_find() && !pinject_timer_runs());
    MUST(seen->forgotten == 0 && seen->set_masked == (masked ? 1 : 0));
    pinject_timer_start(2);
    MUST(pinject_timer_runs());
    compute_until(1);
}

static void forks(void)
{
    pinject_timer_start(1);
    MUST(forked_status(is_forked) == 0);
    masked = true;
    MUST(forked_status(is_forked) == 0);
    taken = false; /* no number, no mask of it */
    masked = true;
    pinject_timer_leave();
    MUST(seen->released == 1);
}

/* Another thread makes what all timers have in common: the child finds it half done, and makes it anew. */
static void is_forked_meanwhile(void)
{
    pinject_timer_forked();
    MUST(seen->forgotten == 1 && !pinject_timer_runs());
    pinject_timer_forked();
    MUST(seen->forgotten == 1); /* the turn is free now */
    pinject_timer_start(2);
    MUST(pinject_timer_runs());
    compute_until(1);
}

static void fork_meanwhile(void)
{
    when_taken = NULL;
    MUST(forked_status(is_forked_meanwhile) == 0);
}

static void forks_while_it_begins(void)
{
    when_taken = fork_meanwhile;
    pinject_timer_start(1);
    MUST(seen->forgotten == 1 && pinject_timer_runs());
    MUST(head_of(0)->started == 1 && head_of(1)->started == 1);
}

/* A thread that does not get its turn goes on without a timer; a later one has one. */
static void start_without_a_turn(void)
{
    uint64_t since = sys_clock_ns(CLOCK_MONOTONIC);
    pinject_timer_start(2);
    MUST(!pinject_timer_runs() && head_of(1)->started == 0);
    MUST(sys_clock_ns(CLOCK_MONOTONIC) - since >= 9000000);
}

static void start_meanwhile(void)
{
    when_taken = NULL;
    in_thread(start_without_a_turn);
}

static void start_later(void)
{
    pinject_timer_start(3);
    MUST(pinject_timer_runs());
    pinject_timer_stop();
}

static void two_begin_at_once(void)
{
    when_taken = start_meanwhile;
    pinject_timer_start(1);
    MUST(pinject_timer_runs());
    in_thread(start_later);
    MUST(head_of(2)->started == 1);
}

static void gives_up(void)
{
    pinject_timer_start(1);
    const struct pinject_sampler *sampler = pinject_sampler_find();
    pinject_timer_give_up_rings();
    MUST(rings_mapped() == 0 && sampler->head->started == 0);
    sampler->head->started = 9;
    MUST(head_of(0)->started == 1);
    sampler->data[PINJECT_RING_DATA - 1] = 1; /* all of it is there */
    pinject_timer_stop();
    pinject_timer_give_up_rings();
}

static void ends_all(void)
{
    pinject_timer_start(1);
    unsigned before = seen->counts;
    pinject_preload.blocked = 1; /* too late */
    pinject_timer_end_all(true);
    MUST(seen->counts == before);
    compute_until(1);
    pinject_preload.blocked = 0;
    pinject_timer_end_all(true);
    MUST(seen->counts == before + 1 && pinject_sampler_find()->timer == 0);
    before = seen->expired;
    compute(20);
    MUST(seen->expired <= before + 1); /* one was on its way */
    pinject_timer_end_all(true);
    /* What only timers need may end the program by now. */
    before = seen->counts;
    MUST(pinject_timer_ended());
    pinject_timer_count();
    pinject_timer_leave();
    pinject_timer_stop();
    MUST(seen->counts == before && seen->released == 0);
    pinject_timer_start(2);
    MUST(!pinject_timer_runs() && head_of(1)->started == 0);
}

/* There is no filter: what is left is taken back. */
static void ends_without_a_filter(void)
{
    pinject_timer_start(1);
    unsigned before = seen->counts;
    pinject_timer_end_all(false);
    MUST(seen->counts == before + 1 && pinject_sampler_find()->timer == 0 && !pinject_timer_ended());
    pinject_timer_leave();
    MUST(seen->released == 1);
    pinject_timer_stop();
    pinject_timer_start(2);
    MUST(!pinject_timer_runs());
    pinject_timer_end_all(true); /* now there is */
    MUST(pinject_timer_ended());
}

unsigned long __real_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type)
{
    unsigned long value = __real_getauxval(type);
    errno = ENOENT; /* as on kernels that do not tell */
    return value;
}

/* Room for the largest frame is enough, for the smallest is not. */
static void has_little_stack(void)
{
    static char bytes[16384];
    stack_t stack = {.ss_sp = bytes, .ss_size = 2048};
    pinject_timer_alternate(2048); /* there is no timer yet */
    pinject_timer_start(1);
    errno = ERANGE;
    pinject_timer_alternate(sizeof(bytes));
    MUST(pinject_sampler_find()->timer > 0 && errno == ERANGE);
    pinject_timer_alternate(2048);
    MUST(pinject_sampler_find()->timer == 0 && pinject_timer_runs());
    MUST(has_timers(0));
    pinject_timer_stop();
    /* As a child of fork has it. */
    MUST(syscall(SYS_sigaltstack, &stack, NULL) == 0);
    pinject_timer_start(2);
    MUST(!pinject_timer_runs() && head_of(1)->error == -ENOMEM);
    stack.ss_size = sizeof(bytes);
    MUST(syscall(SYS_sigaltstack, &stack, NULL) == 0);
    pinject_timer_start(2);
    MUST(pinject_timer_runs());
}

static void executes_later(void)
{
    pinject_timer_start(2);
    pinject_timer_end_all(true);
    unsigned before = seen->counts;
    MUST(pinject_timer_before_exec() && head_of(1)->execs == 1 && seen->counts == before);
}

static void execs_after_the_end(void)
{
    pinject_timer_start(1);
    in_thread(executes_later);
}

/* A filter comes while a thread begins: its timer does not stay. */
static void end_meanwhile(void)
{
    when_counted = NULL;
    pinject_timer_end_all(true);
}

static void ends_while_it_begins(void)
{
    when_counted = end_meanwhile;
    pinject_timer_start(1);
    MUST(pinject_sampler_find()->timer == 0);
    MUST(has_timers(0));
}

/* Only the process itself, not a child of vfork, ends the timers of all. */
static void ends_not_its_parents(void)
{
    pinject_timer_start(1);
    pinject_preload.pid++;
    pinject_timer_end_all(true);
    pinject_preload.pid--;
    compute_until(1);
    MUST(pinject_sampler_find()->timer > 0);
}

static void exits(void)
{
    pinject_timer_start(1);
    unsigned before = seen->counts;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        pinject_timer_forked();
        pinject_timer_start(2);
        seen->counts = before;
        exit(0);
    }
    MUST(waitpid(pid, &status, 0) == pid && seen->counts == before + 1);
    pid = fork();
    if (pid == 0) {
        pinject_timer_forked();
        pinject_timer_start(2);
        seen->counts = before;
        pinject_preload.blocked = 1;
        exit(0);
    }
    MUST(waitpid(pid, &status, 0) == pid && seen->counts == before);
}

static void test_end(void **state)
{
    (void)state;
    in_child(forks);
    in_child(forks_while_it_begins);
    in_child(two_begin_at_once);
    in_child(gives_up);
    in_child(ends_all);
    in_child(ends_without_a_filter);
    in_child(execs_after_the_end);
    in_child(has_little_stack);
    in_child(ends_while_it_begins);
    in_child(ends_not_its_parents);
    in_child(exits);
}

/* ---- The table ---- */

static struct pinject_sampler *visited;
static unsigned visits;

static void visit(struct pinject_sampler *sampler)
{
    visited = sampler;
    visits++;
}

static void table(void)
{
    pinject_samplers_each(visit); /* there is none yet */
    pinject_samplers_clear();
    MUST(visits == 0 && !pinject_sampler_find() && !pinject_sampler_own() && !pinject_sampler_is(NULL));
    MUST(pinject_samplers_init() == 0 && pinject_samplers_init() == 0);
    MUST(!pinject_sampler_find());
    struct pinject_sampler *own = pinject_sampler_own();
    MUST(own && own == pinject_sampler_own() && own == pinject_sampler_find() && own->tid == sys_gettid());
    MUST(pinject_sampler_is(own) && pinject_sampler_is(own + 1) && !pinject_sampler_is((char *)own + 1));
    MUST(!pinject_sampler_is(own + 4096) && !pinject_sampler_is(own - 4096) && !pinject_sampler_is(NULL));
    pinject_samplers_each(visit);
    MUST(visits == 1 && visited == own);
    own->masked = true;
    own->timer = 9;
    pinject_sampler_drop(own);
    MUST(!pinject_sampler_find());
    MUST(pinject_sampler_own() == own && !own->masked && own->timer == 0);
    pinject_samplers_clear();
    MUST(!pinject_sampler_find());
}

static pthread_barrier_t all_there;
static struct pinject_sampler *of_thread[64];

static void *takes_one(void *data)
{
    struct pinject_sampler **own = data;
    *own = pinject_sampler_own();
    pthread_barrier_wait(&all_there);
    MUST(pinject_sampler_find() == *own);
    return NULL;
}

/* Threads whose places meet have one each: their stacks lie so that their keys meet all in one. */
static void table_of_many(void)
{
    enum { STACK = 1 << 18, APART = 1 << 30, THREADS = 20 };
    pthread_t threads_of[THREADS];
    MUST(pinject_samplers_init() == 0);
    pthread_barrier_init(&all_there, NULL, THREADS);
    char *place = mmap(NULL, (size_t)THREADS * APART, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MUST(place != MAP_FAILED);
    for (int i = 0; i < THREADS; i++) {
        pthread_attr_t attr;
        char *stack = place + (size_t)i * APART;
        MUST(mprotect(stack, STACK, PROT_READ | PROT_WRITE) == 0);
        pthread_attr_init(&attr);
        MUST(pthread_attr_setstack(&attr, stack, STACK) == 0);
        MUST(pthread_create(&threads_of[i], &attr, takes_one, &of_thread[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_join(threads_of[i], NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < i; k++)
            MUST(of_thread[i] && of_thread[i] != of_thread[k]);
    pinject_samplers_each(visit);
    MUST(visits == THREADS);
    pinject_samplers_clear();
    visits = 0;
    pinject_samplers_each(visit);
    MUST(visits == 0);
}

static void test_table(void **state)
{
    (void)state;
    in_child(table);
    in_child(table_of_many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

#else

int main(void)
{
    return 77; /* no timers there */
}

#endif
