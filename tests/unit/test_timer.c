/* SPDX-License-Identifier: MIT */
/* How a thread's timer begins, what it counts, and how it ends with its thread. */
#include "timer_kit.h"

#if defined(__x86_64__) || defined(__aarch64__)

static void starts(void)
{
    MUST(!pinject_timer_runs() && !pinject_sampler_find());
    page_of(2)->data_head = 77;
    head_of(2)->lost = 5;
    unsigned before = descriptors();
    errno = ERANGE;
    pinject_timer_start(3);
    MUST(errno == ERANGE);
    MUST(descriptors() == before && rings_mapped() == 1);
    MUST(pinject_timer_runs() && seen->opened == 1 && seen->counts == 1);
    MUST(head_of(2)->started == 1 && head_of(2)->error == 0 && head_of(1)->started == 0);
    const struct pinject_sampler *sampler = pinject_sampler_find();
    MUST(sampler->pid == getpid() && sampler->tid == sys_gettid() && sampler->timer > 0 && !sampler->by_overrun);
    MUST(sampler->id == 42 && sampler->flags == 3 && sampler->interval_ns == 1000000 && sampler->user_ns == 0);
    MUST(sampler->lost == 5 && sampler->told == 5 && sampler->at == 72);
    /* The ring is that of the file, its data behind its head. */
    sampler->data[0] = 0x5a;
    MUST(((unsigned char *)page_of(2))[PINJECT_RING_DATA] == 0x5a);
    sampler->head->cpu_ns = 9;
    MUST(head_of(2)->cpu_ns == 9 && (void *)sampler->page == (char *)sampler->head - PINJECT_TIMER_HEAD);
    compute_until(3);
    MUST(seen->foreign == 0);
    MUST(has_timers(1));
    /* Once: a second answer changes nothing. */
    pinject_timer_start(2);
    MUST(head_of(1)->started == 0 && head_of(2)->started == 1 && rings_mapped() == 1 && seen->opened == 1);
    pinject_timer_count();
    MUST(seen->counts == 2);
}

/* The timer counts user time: a thread that sleeps is not interrupted. */
static void counts_user_time(void)
{
    pinject_timer_start(1);
    compute_until(1);
    unsigned before = seen->expired;
    for (int i = 0; i < 20; i++)
        usleep(2000);
    MUST(seen->expired <= before + 2); /* 40 ms of wall time, hardly any of its own */
}

static void intervals(void)
{
    static const uint64_t given[] = {0, 9999, 10000, 123456789, 10000000000, 10000000001};
    static const uint64_t used[] = {10000, 10000, 10000, 123456789, 10000000000, 10000000000};
    for (int i = 0; i < 6; i++) {
        struct itimerspec times = {{9, 9}, {9, 9}};
        head_of(0)->interval_ns = given[i];
        pinject_timer_start(1);
        const struct pinject_sampler *sampler = pinject_sampler_find();
        MUST(sampler && sampler->interval_ns == used[i]);
        MUST(SYS_2(SYS_timer_gettime, sampler->timer - 1, &times) == 0);
        MUST((uint64_t)times.it_interval.tv_sec * 1000000000 + (uint64_t)times.it_interval.tv_nsec == used[i]);
        MUST(times.it_value.tv_sec || times.it_value.tv_nsec);
        pinject_timer_stop();
        MUST(!pinject_timer_runs() && !pinject_sampler_find() && rings_mapped() == 0);
        MUST(has_timers(0));
    }
    MUST(head_of(0)->started == 6);
}

static void answers_without_a_ring(void)
{
    unsigned before = descriptors();
    pinject_timer_start(0);
    pinject_timer_start(-EPERM);
    pinject_timer_start(PINJECT_RINGS_MAX + 1);
    MUST(!pinject_timer_runs() && !pinject_sampler_find() && !taken);
    pinject_timer_start(RINGS + 1); /* behind the end of the file */
    pinject_timer_start(PINJECT_RINGS_MAX);
    MUST(!pinject_timer_runs() && rings_mapped() == 0 && descriptors() == before);
    MUST(ftruncate(rings_fd, (off_t)RINGS * PINJECT_RING_STRIDE - 1) == 0);
    pinject_timer_start(RINGS);
    MUST(!pinject_timer_runs());
    pinject_timer_start(RINGS - 1);
    MUST(pinject_timer_runs());
    pinject_timer_stop();
    unlink(rings_path());
    MUST(symlink("/dev/zero", rings_path()) == 0);
    pinject_timer_start(1);
    MUST(!pinject_timer_runs() && descriptors() == before);
    unlink(rings_path());
    pinject_timer_start(1);
    MUST(!pinject_timer_runs() && seen->counts == 2);
}

/* The collector learns why there are no samples; the counts are there once. */
static void no_signal(void)
{
    seen->take_error = -EBUSY;
    pinject_timer_start(1);
    MUST(head_of(0)->error == -EBUSY && head_of(0)->started == 0);
    MUST(!pinject_timer_runs() && rings_mapped() == 0 && seen->counts == 2 && seen->opened == 0);
    seen->take_error = 0;
    seen->take_fails_late = true;
    pinject_timer_start(2);
    MUST(head_of(1)->error == -EINVAL && !pinject_timer_runs());
    seen->take_fails_late = false;
    pinject_timer_start(3);
    MUST(head_of(2)->error == 0 && pinject_timer_runs());
}

static void test_start(void **state)
{
    (void)state;
    in_child(starts);
    in_child(counts_user_time);
    in_child(intervals);
    in_child(answers_without_a_ring);
    in_child(no_signal);
}

/* ---- Threads ---- */

static void ends_in_time(void)
{
    pinject_timer_start(2);
    MUST(pinject_timer_runs());
    compute_until(1);
    pinject_preload.blocked = 1; /* no call may be made */
    pinject_timer_stop();
    MUST(pinject_timer_runs());
    pinject_preload.blocked = 0;
    unsigned before = seen->counts;
    pinject_timer_stop();
    MUST(seen->counts == before + 1);
    MUST(!pinject_timer_runs() && !pinject_sampler_find());
    pinject_timer_stop(); /* nothing is left to stop */
}

static void ends_without_a_word(void)
{
    pinject_timer_start(3);
    MUST(pinject_timer_runs());
}

static void begins_anew(void)
{
    pinject_timer_thread(false); /* in the place in memory of the one before, or not */
    MUST(!pinject_sampler_find() && !pinject_timer_runs());
    MUST(seen->set_masked == 0);
    pinject_timer_thread(true);
    MUST(seen->set_masked == 1);
}

static void threads(void)
{
    pinject_timer_start(1);
    in_thread(ends_in_time);
    MUST(pinject_timer_runs() && rings_mapped() == 1);
    MUST(has_timers(1));
    in_thread(ends_without_a_word);
    in_thread(begins_anew);
    MUST(pinject_timer_runs());
}

/* What the thread before left in its place is taken away by the next one there. */
static void takes_over(void)
{
    pinject_timer_start(1);
    const struct pinject_sampler *old = pinject_sampler_find();
    MUST(old && rings_mapped() == 1);
    pinject_timer_thread(false);
    MUST(!pinject_sampler_find() && rings_mapped() == 0);
    MUST(has_timers(0));
    pinject_sampler_own(); /* one without a ring */
    pinject_timer_thread(false);
    MUST(!pinject_sampler_find());
}

/* A child of vfork finds its parent's sampler, and leaves it alone. */
static void is_anothers(void)
{
    pinject_timer_start(1);
    struct pinject_sampler *sampler = pinject_sampler_find();
    sampler->tid++;
    unsigned before = seen->counts;
    MUST(!pinject_timer_runs());
    pinject_timer_count();
    pinject_timer_stop();
    MUST(!pinject_timer_before_exec());
    pinject_timer_after_exec(true);
    MUST(seen->counts == before && sampler == pinject_sampler_find() && sampler->page);
    sampler->tid--;
    MUST(pinject_timer_runs());
}

static void test_threads(void **state)
{
    (void)state;
    in_child(threads);
    in_child(takes_over);
    in_child(is_anothers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

#else

int main(void)
{
    return 77; /* no timers there */
}

#endif
