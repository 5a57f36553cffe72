/* SPDX-License-Identifier: MIT */
#include "state.h"
#include "sys.h"
#include "timer.h"
#include "timer_signal.h"

#include <errno.h>
#include "text.h"
#include <sys/auxv.h>

enum {
    THREAD_ID = 4,     /* SIGEV_THREAD_ID */
    USER_TIME = 4 | 1, /* CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_VIRT: user time of a thread */
    INTERVAL_MIN_NS = 10000,
    TURNS = 100,
    TURN_NS = 100000,
    SUFFIX = sizeof(PINJECT_RINGS_SUFFIX) - 1,
    END = SUFFIX + 21 + 1, /* appended to the segment's path: a dot and the digits of a name, a NUL */
    HANDLER = 1024,        /* bytes of stack for the handler itself */
#if defined(__x86_64__)
    FRAME_MAX = 4096, /* half of SIGSTKSZ from when that was a constant */
#else
    FRAME_MAX = 8192,
#endif
};
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51 /* newer than the oldest headers */
#endif
#define INTERVAL_MAX_NS 10000000000ull
/* The calling thread's user time: what clock_getcpuclockid(3) makes. */
#define USER_CLOCK ((clockid_t)(~0u << 3 | USER_TIME))

/* Set for good: see pinject_timer_end_all(). */
static bool ended, filtered; /* no timer begins any more; a filter may kill for their system calls */

/* Lock of the thread that makes what all timers of the process share. */
static uint32_t turn;
static char rings_path[PINJECT_PATH + END]; /* a thread's small stack has no room for it */

/* The kernel's struct sigevent. */
struct event {
    void *value;
    int32_t signal, notify, tid, rest[11];
};
_Static_assert(sizeof(void *) != 8 || sizeof(struct event) == 64, "struct sigevent of the kernel");

/* Bounded: a thread that does not get it within 10 ms goes on without a timer. */
static bool take_turn(void)
{
    for (int i = 0; i < TURNS; i++) {
        uint32_t nobody = 0;
        if (__atomic_compare_exchange_n(&turn, &nobody, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return true;
        sys_sleep_ns(TURN_NS);
    }
    return false;
}

/* "PATH.rings.NAME"; turn is taken. */
static int write_rings_path(void)
{
    const struct pinject_segment *segment = pinject_preload.channel.segment;
    /* Pairs with the release in the collector's publish_rings(). */
    const uint64_t name = segment ? __atomic_load_n(&segment->rings, __ATOMIC_ACQUIRE) : 0;
    char end[END], *at = end + sizeof(end);
    if (rings_path[0])
        return 0;
    if (!name)
        return -ENOENT;
    *--at = 0;
    at = pinject_text_number(at, name) - SUFFIX;
    memcpy(at, PINJECT_RINGS_SUFFIX, SUFFIX);
    pinject_text_join(rings_path, sizeof(rings_path), pinject_preload.session + sizeof(PINJECT_ENV_SESSION "=") - 1,
                      at);
    return 0;
}

/*
 * Makes what the first timer of the process needs; the process may have many threads by then. 0, or -errno: there can
 * be no timer. *RET_SIGNAL: 0 or -errno of taking the signal, which is reported.
 */
static int prepare_signal(int *ret_signal)
{
    if (!take_turn())
        return -EAGAIN;
    int error = pinject_samplers_init();
    if (error == 0)
        error = write_rings_path();
    if (error == 0)
        *ret_signal = pinject_signal_take();
    __atomic_store_n(&turn, 0, __ATOMIC_RELEASE);
    return error;
}

static void *map_ring(uint32_t ring)
{
    int fd = sys_open(rings_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return (void *)(intptr_t)fd;
    struct statx status;
    uint64_t at = (uint64_t)ring * PINJECT_RING_STRIDE;
    int error = sys_statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &status);
    if (error == 0 && status.stx_size < at + PINJECT_RING_STRIDE)
        error = -EPROTO; /* a touch beyond the end would kill */
    void *map = error < 0 ? (void *)(intptr_t)error
                          : (void *)SYS_6(SYS_mmap, 0, PINJECT_RING_STRIDE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
    sys_close(fd);
    /* A child of fork must not write there. */
    if (!sys_failed(map))
        SYS_3(SYS_madvise, map, PINJECT_RING_STRIDE, MADV_DONTFORK);
    return map;
}

static void init_sampler(struct pinject_sampler *sampler, void *map)
{
    struct pinject_timer_head *head = (struct pinject_timer_head *)(void *)((char *)map + PINJECT_TIMER_HEAD);
    uint64_t interval = __atomic_load_n(&head->interval_ns, __ATOMIC_RELAXED);
    sampler->head = head;
    sampler->data = (unsigned char *)map + PINJECT_RING_DATA;
    sampler->id = __atomic_load_n(&head->id, __ATOMIC_RELAXED);
    sampler->flags = __atomic_load_n(&head->flags, __ATOMIC_RELAXED);
    sampler->interval_ns = interval < INTERVAL_MIN_NS   ? INTERVAL_MIN_NS
                           : interval > INTERVAL_MAX_NS ? INTERVAL_MAX_NS
                                                        : interval;
    sampler->lost = sampler->told = __atomic_load_n(&head->lost, __ATOMIC_RELAXED);
    sampler->pid = sys_getpid();
    sampler->tid = sys_gettid();
    sampler->user_ns = 0;
    sampler->timer = 0;
    sampler->paused = false;
    sampler->page = (struct perf_event_mmap_page *)map;
    /*
     * An exec generation continues where the one before it ended. Whatever value is there, we only write within the
     * ring.
     */
    sampler->at = __atomic_load_n(&sampler->page->data_head, __ATOMIC_RELAXED) & ~(uint64_t)7;
}

static int make_timer(struct pinject_sampler *sampler)
{
    struct event event = {.value = sampler, .signal = pinject_timer_signal(), .notify = THREAD_ID, .tid = sampler->tid};
    int timer, error = (int)SYS_3(SYS_timer_create, USER_CLOCK, &event, &timer);
    sampler->by_overrun = error == -EINVAL;
    if (error == -EINVAL) /* a kernel (or its emulation) without that clock: use the clock with kernel time */
        error = (int)SYS_3(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer);
    if (error < 0)
        return error;
    __atomic_store_n(&sampler->timer, timer + 1, __ATOMIC_RELAXED);
    return pinject_timer_set(timer, sampler->interval_ns);
}

static void end_timer(struct pinject_sampler *sampler)
{
    int32_t timer = __atomic_exchange_n(&sampler->timer, 0, __ATOMIC_RELAXED);
    if (timer > 0)
        SYS_1(SYS_timer_delete, timer - 1);
}

static bool is_own_sampler(const struct pinject_sampler *sampler)
{
    return sampler && sampler->page && sampler->tid == sys_gettid();
}

bool pinject_timer_runs(void)
{
    return is_own_sampler(pinject_sampler_find());
}

bool pinject_timer_ended(void)
{
    return __atomic_load_n(&filtered, __ATOMIC_RELAXED) || pinject_preload_blocked();
}

/* Not under a filter that ended the timers: it may kill for it. */
static void read_counts(struct pinject_sampler *sampler)
{
    if (!pinject_timer_ended())
        pinject_sampler_count(sampler);
}

/* Ends the timer, reads the counts, unmaps the ring. */
static void leave_ring(struct pinject_sampler *sampler)
{
    void *map = sampler->page;
    end_timer(sampler);
    read_counts(sampler);
    /* The compiler keeps the order, and the handler runs in this thread: from here on it finds no ring. */
    __atomic_store_n(&sampler->page, NULL, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    sys_unmap(map, PINJECT_RING_STRIDE);
}

/*
 * The kernel puts the signal's frame on the alternate stack, and kills a program if it does not fit. The frame size is
 * capped: the kernel's maximum includes state that few programs use (AMX). 0: the kernel does not tell.
 */
static bool is_too_small(size_t stack)
{
    int saved = errno;
    size_t frame = getauxval(AT_MINSIGSTKSZ);
    errno = saved;
    return stack < (frame && frame < FRAME_MAX ? frame : FRAME_MAX) + HANDLER;
}

void pinject_timer_alternate(size_t size)
{
    struct pinject_sampler *sampler = pinject_timer_ended() ? NULL : pinject_sampler_find();
    if (is_own_sampler(sampler) && is_too_small(size))
        end_timer(sampler);
}

/* The alternate stack of the calling thread; in a child of fork, that of the thread that forked. */
static bool has_small_stack(void)
{
    stack_t stack = {.ss_flags = SS_DISABLE};
    SYS_2(SYS_sigaltstack, NULL, &stack);
    return !(stack.ss_flags & SS_DISABLE) && is_too_small(stack.ss_size);
}

/* ERROR: of taking the signal. */
static int begin_timer(struct pinject_sampler *sampler, int error)
{
    pinject_sampler_count(sampler);
    if (error == 0)
        error = has_small_stack() ? -ENOMEM : make_timer(sampler);
    if (error < 0)
        return error;
    __atomic_fetch_add(&sampler->head->started, 1, __ATOMIC_RELAXED);
    pinject_signal_open();
    if (__atomic_load_n(&ended, __ATOMIC_RELAXED)) /* meanwhile */
        end_timer(sampler);
    return 0;
}

void pinject_timer_start(int answer)
{
    int signal_error = 0;
    if (answer <= 0 || answer > PINJECT_RINGS_MAX || __atomic_load_n(&ended, __ATOMIC_RELAXED) ||
        prepare_signal(&signal_error) < 0)
        return;
    struct pinject_sampler *sampler = pinject_sampler_own();
    if (!sampler || sampler->page)
        return;
    void *map = map_ring((uint32_t)answer - 1);
    if (sys_failed(map))
        return;
    init_sampler(sampler, map);
    int error = begin_timer(sampler, signal_error);
    if (error == 0)
        return;
    __atomic_store_n(&sampler->head->error, error, __ATOMIC_RELAXED);
    leave_ring(sampler);
}

void pinject_timer_thread(bool masked)
{
    struct pinject_sampler *old = pinject_sampler_find();
    if (old) { /* of a thread that ended behind libc's back */
        end_timer(old);
        if (old->page)
            sys_unmap(old->page, PINJECT_RING_STRIDE);
        pinject_sampler_drop(old);
    }
    if (masked)
        pinject_signal_set_masked(true);
}

void pinject_timer_count(void)
{
    struct pinject_sampler *sampler = pinject_timer_ended() ? NULL : pinject_sampler_find();
    if (is_own_sampler(sampler))
        pinject_sampler_count(sampler);
}

bool pinject_timer_before_exec(void)
{
    struct pinject_sampler *sampler = pinject_preload_blocked() ? NULL : pinject_sampler_find();
    if (!is_own_sampler(sampler) || sampler->tid == sampler->pid)
        return false;
    read_counts(sampler);
    __atomic_store_n(&sampler->head->execs, 1, __ATOMIC_RELAXED);
    return true;
}

void pinject_timer_after_exec(bool told)
{
    struct pinject_sampler *sampler = told && !pinject_preload_blocked() ? pinject_sampler_find() : NULL;
    if (is_own_sampler(sampler))
        __atomic_store_n(&sampler->head->execs, 0, __ATOMIC_RELAXED);
}

void pinject_timer_stop(void)
{
    struct pinject_sampler *sampler = pinject_sampler_find();
    if (pinject_preload_blocked() || !sampler || sampler->tid != sys_gettid())
        return;
    if (sampler->page)
        leave_ring(sampler);
    pinject_sampler_drop(sampler);
}

void pinject_timer_forked(void)
{
    bool masked = pinject_signal_number() && pinject_signal_masked();
    pinject_samplers_clear();
    if (__atomic_exchange_n(&turn, 0, __ATOMIC_RELAXED)) /* held by a thread that is not here, and did not finish */
        pinject_signal_forget();
    if (masked)
        pinject_signal_set_masked(true);
}

void pinject_timer_leave(void)
{
    if (!pinject_timer_ended())
        pinject_signal_release();
}

void pinject_timer_end_all(bool filter)
{
    /* A first filter may forbid these calls; at a second one they are already done. */
    if (pinject_timer_ended())
        return;
    if (sys_getpid() != pinject_preload.pid)
        return; /* a child of vfork: the timers are its parent's */
    if (!__atomic_load_n(&ended, __ATOMIC_RELAXED)) {
        pinject_timer_count();
        __atomic_store_n(&ended, true, __ATOMIC_RELAXED);
        pinject_samplers_each(end_timer);
    }
    if (filter)
        __atomic_store_n(&filtered, true, __ATOMIC_RELAXED);
}

static void give_up_ring(struct pinject_sampler *sampler)
{
    void *page = __atomic_load_n(&sampler->page, __ATOMIC_RELAXED);
    if (page) /* a handler may be using it: it finds memory at every moment */
        SYS_6(SYS_mmap, page, PINJECT_RING_STRIDE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
              0);
}

void pinject_timer_give_up_rings(void)
{
    pinject_samplers_each(give_up_ring);
}

/* The last counts of a thread that ends the process by exit(). */
__attribute__((destructor)) static void count_at_exit(void)
{
    pinject_timer_count();
}
