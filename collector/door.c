/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/door.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/channel.h"
#include "collector/pressure.h"
#include "collector/session.h"
#include "collector/slots.h"
#include "common/clock.h"

enum { STACK = 256 << 10, SWEEP_NS = 900 * 1000 * 1000, SLICE_NS = 100000, NICER = 15, AWAKE_MS = 500 };
enum { WAKE_AGAIN_NS = 10 * 1000 * 1000 };

/* What the doors of a channel share: nothing in its memory can be trusted to be theirs. */
struct hall {
    struct session *session;
    struct channel *channel;
    bool stop;                               /* atomic */
    uint32_t awake;                          /* doors that have run, as a futex */
    pthread_mutex_t change;                  /* held while a door hands over, and while stop is set */
    struct slots slots;
};

struct door {
    struct hall *hall;
    struct pinject_bell *bell;
    unsigned number;
    bool renew;                              /* atomic: the thread is to hand over */
    uint32_t taken;                          /* atomic: news it was woken for, and that the event loop took */
    pthread_t thread, before;                /* before: who handed over to this one, if it is a successor */
};

static void futex_wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* ---- Bells ---- */

static bool is_rung(const struct pinject_bell *bell)
{
    for (unsigned i = 0; i < PINJECT_SLOTS / 64; i++)
        if (__atomic_load_n(&bell->pending[i], __ATOMIC_SEQ_CST))
            return true;
    return false;
}

/* Too much came to nothing: whoever else uses the channel waits too, and goes on without an answer if that is long. */
static void hold(const struct door *door)
{
    struct channel *channel = door->hall->channel;
    uint64_t ns = budget_wait_ns(&channel->budget, clock_ns(CLOCK_MONOTONIC_COARSE), channel->session->cpus);
    if (ns > 0 && !__atomic_load_n(&door->hall->stop, __ATOMIC_SEQ_CST))
        nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

/* Whether something came of it. */
static bool serve_bell(struct door *door)
{
    bool done = false;
    for (unsigned i = 0; i < PINJECT_SLOTS / 64; i++) {
        if (!__atomic_load_n(&door->bell->pending[i], __ATOMIC_RELAXED))
            continue;
        /* Pairs with the object's release when it set its bit. */
        uint64_t bits = __atomic_exchange_n(&door->bell->pending[i], 0, __ATOMIC_ACQUIRE);
        for (; bits; bits &= bits - 1) {
            hold(door);
            done |= slots_serve(&door->hall->slots, i * 64 + (unsigned)__builtin_ctzll(bits));
        }
    }
    return done;
}

static bool is_held(struct channel *channel)
{
    return budget_wait_ns(&channel->budget, clock_ns(CLOCK_MONOTONIC_COARSE), channel->session->cpus) > 0;
}

static void take_news(struct door *door, unsigned word)
{
    uint64_t *pending = &door->bell->pending[word], bits = __atomic_load_n(pending, __ATOMIC_RELAXED);
    for (; bits && !is_held(door->hall->channel); bits &= bits - 1)
        if (slots_serve_news(&door->hall->slots, word * 64 + (unsigned)__builtin_ctzll(bits), pending, bits & -bits))
            __atomic_fetch_add(&door->taken, 1, __ATOMIC_RELAXED);
}

void door_take_news(struct channel *channel)
{
    for (unsigned i = 0; channel->doors && i < channel->session->bells; i++)
        for (unsigned word = 0; word < PINJECT_SLOTS / 64; word++)
            take_news(&channel->doors[i], word);
}

/*
 * Sleeps until the bell is rung. The object sets its bit, counts up and looks at sleeping; the door reads the count,
 * sets sleeping and looks at the bits: in whatever order, one sees the other, or the futex sees another count.
 */
static void sleep_on(struct door *door)
{
    struct pinject_bell *bell = door->bell;
    uint32_t count = __atomic_load_n(&bell->count, __ATOMIC_SEQ_CST);
    __atomic_store_n(&bell->sleeping, 1, __ATOMIC_SEQ_CST);
    if (!is_rung(bell) && !__atomic_load_n(&door->hall->stop, __ATOMIC_SEQ_CST) &&
        !__atomic_load_n(&door->renew, __ATOMIC_SEQ_CST)) {
        struct timespec rest = {.tv_sec = door->hall->session->sleep_s};
        syscall(SYS_futex, &bell->count, FUTEX_WAIT, count, &rest, NULL, 0);
    }
    __atomic_store_n(&bell->sleeping, 0, __ATOMIC_SEQ_CST);
}

/* As the kernel defines it; libc does not everywhere. */
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

/*
 * A door works for microseconds, and a task waits for it. A short time slice lets the scheduler (EEVDF, since Linux
 * 6.12) prefer it at its wake-up over programs that only compute; so does a lower niceness, where it is allowed. With
 * six such programs and 100 starting threads on two CPUs, answers took up to 92 ms without both, less than 5 with them.
 */
void door_ask_for_quick_wakes(void)
{
    struct scheduling scheduling = {.size = sizeof(scheduling)};
    struct sched_param lowest = {.sched_priority = 1};
    /* A session of its own (setsid, a bare LD_PRELOAD's collector) is a group of its own to the scheduler, in which no
       niceness counts against the others: 30 to 50 of 200 forked children were seen asleep before they ran, instead of
       none or one. The lowest real-time priority goes before all groups, and behind every real-time program. */
    if (sched_getscheduler(0) == SCHED_OTHER && sched_setscheduler(0, SCHED_FIFO, &lowest) == 0)
        return;
    if (syscall(SYS_sched_getattr, 0, &scheduling, sizeof(scheduling), 0) < 0 || scheduling.policy != SCHED_OTHER)
        return;
    scheduling.runtime_ns = SLICE_NS;
    int32_t nice = scheduling.nice;
    /* Below the process' own: whoever made this thread may have asked before. */
    scheduling.nice = getpriority(PRIO_PROCESS, (id_t)getpid()) - NICER;
    if (syscall(SYS_sched_setattr, 0, &scheduling, 0) == 0)
        return;
    scheduling.nice = nice;
    syscall(SYS_sched_setattr, 0, &scheduling, 0);
}

static bool has_autogroups(void)
{
    char digit = '0';
    int fd = open("/proc/sys/kernel/sched_autogroup_enabled", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, &digit, 1) != 1)
        digit = '0';
    if (fd >= 0)
        close(fd);
    return digit != '0';
}

bool door_reaches_other_sessions(void)
{
    struct sched_param lowest = {.sched_priority = 1}, none = {.sched_priority = 0};
    if (!has_autogroups() || sched_getscheduler(0) != SCHED_OTHER)
        return true;
    if (sched_setscheduler(0, SCHED_FIFO, &lowest) < 0)
        return false;
    sched_setscheduler(0, SCHED_OTHER, &none);
    return true;
}

static void *succeed(void *argument);

/* To a thread that has its CPUs, signal mask and priority from this one. False: there is none, and this one stays. */
static bool hand_over(struct door *door)
{
    struct hall *hall = door->hall;
    bool done = false;
    __atomic_store_n(&door->renew, false, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&hall->change);
    /* Whoever stops the doors joins those that stand in the table when stop is set. */
    if (!__atomic_load_n(&hall->stop, __ATOMIC_SEQ_CST)) {
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, STACK);
        door->before = door->thread;
        done = pthread_create(&door->thread, &attr, succeed, door) == 0;
        if (!done)
            door->thread = door->before;
        pthread_attr_destroy(&attr);
    }
    pthread_mutex_unlock(&hall->change);
    return done;
}

static void take_name(const struct door *door)
{
    char name[16];
    snprintf(name, sizeof(name), "pinject-door/%u", door->number % 100);
    pthread_setname_np(pthread_self(), name);
}

static void be_door(struct door *door)
{
    uint64_t swept = clock_ns(CLOCK_MONOTONIC_COARSE), cpu_ns = 0;
    uint32_t taken = __atomic_load_n(&door->taken, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&door->hall->stop, __ATOMIC_SEQ_CST)) {
        /* Once for all that is posted: each of them waits no longer for the others. */
        pressure_wait(door->hall->session);
        uint64_t before = cpu_ns;
        bool done = serve_bell(door);
        cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        uint32_t taken_before = taken;
        taken = __atomic_load_n(&door->taken, __ATOMIC_RELAXED);
        /* Woken for nothing: the wake-up is dearer than the look. */
        if (!done && before && taken == taken_before)
            budget_waste(&door->hall->channel->budget, clock_ns(CLOCK_MONOTONIC_COARSE), cpu_ns - before);
        hold(door);
        uint64_t now = door->number == 0 ? clock_ns(CLOCK_MONOTONIC_COARSE) : swept;
        if (now - swept >= SWEEP_NS) {
            slots_sweep(&door->hall->slots);
            swept = now;
        }
        if (__atomic_load_n(&door->renew, __ATOMIC_SEQ_CST) && hand_over(door))
            return;
        sleep_on(door);
    }
    serve_bell(door);
}

static void *door_main(void *argument)
{
    struct door *door = argument;
    door_ask_for_quick_wakes();
    take_name(door);
    __atomic_fetch_add(&door->hall->awake, 1, __ATOMIC_SEQ_CST);
    futex_wake(&door->hall->awake);
    be_door(door);
    return NULL;
}

static void *succeed(void *argument)
{
    struct door *door = argument;
    take_name(door);
    pthread_join(door->before, NULL);
    be_door(door);
    return NULL;
}

/* ---- Starting and stopping ---- */

/* libc's set has room for 1024 of them. */
struct cpus {
    cpu_set_t sets[PINJECT_CPUS / CPU_SETSIZE];
};

/* Those of the process' first thread: the one that calls may be a door, on its CPU. */
static void allowed_cpus(struct cpus *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (sched_getaffinity(getpid(), sizeof(*ret), ret->sets) < 0 || CPU_COUNT_S(sizeof(*ret), ret->sets) == 0)
        CPU_SET_S(0, sizeof(*ret), ret->sets);
}

void door_assign_bells(struct session *session)
{
    struct pinject_segment *segment = session->segment;
    struct cpus cpus;
    allowed_cpus(&cpus);
    unsigned used = 0;
    for (unsigned cpu = 0; cpu < PINJECT_CPUS; cpu++)
        if (CPU_ISSET_S(cpu, sizeof(cpus), cpus.sets))
            segment->bell_of_cpu[cpu] = (uint8_t)(used++ % PINJECT_BELLS);
    segment->bells_used = used < PINJECT_BELLS ? used : PINJECT_BELLS;
    session->bells = segment->bells_used;
}

/* The CPUs of a bell: those that door_assign_bells() gave it. */
static void pin(pthread_attr_t *attr, const struct cpus *allowed, unsigned bell)
{
    struct cpus mine;
    memset(&mine, 0, sizeof(mine));
    unsigned used = 0;
    for (unsigned cpu = 0; cpu < PINJECT_CPUS; cpu++)
        if (CPU_ISSET_S(cpu, sizeof(*allowed), allowed->sets) && used++ % PINJECT_BELLS == bell)
            CPU_SET_S(cpu, sizeof(mine), mine.sets);
    if (CPU_COUNT_S(sizeof(mine), mine.sets) > 0)
        pthread_attr_setaffinity_np(attr, sizeof(mine), mine.sets);
}

static int start(struct door *door, const struct cpus *allowed)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pin(&attr, allowed, door->number);
    int error = pthread_create(&door->thread, &attr, door_main, door);
    pthread_attr_destroy(&attr);
    /* A CPU may have gone since: then anywhere. */
    if (error == EINVAL)
        error = pthread_create(&door->thread, NULL, door_main, door);
    return -error;
}

static struct hall *new_hall(struct channel *channel)
{
    struct hall *hall = calloc(1, sizeof(*hall));
    if (!hall)
        return NULL;
    hall->session = channel->session;
    hall->channel = channel;
    pthread_mutex_init(&hall->change, NULL);
    slots_init(&hall->slots, channel);
    return hall;
}

/* Whatever it waits for, it looks again. */
static void wake(struct door *door)
{
    __atomic_fetch_add(&door->bell->count, 1, __ATOMIC_SEQ_CST);
    futex_wake(&door->bell->count);
}

void door_renew_all(struct channel *channel)
{
    for (unsigned i = 0; channel->doors && i < channel->session->bells; i++) {
        __atomic_store_n(&channel->doors[i].renew, true, __ATOMIC_SEQ_CST);
        wake(&channel->doors[i]);
    }
}

/*
 * Whether it has ended until END_NS, of CLOCK_MONOTONIC. A door hangs as long as the exec of a task that it looks at
 * (errand.h). It is woken again and again: a follower who writes the old count back just before it sleeps lets it
 * sleep on. Past END_NS it is not waited for: there may be thousands.
 */
static bool join(struct door *door, uint64_t end_ns)
{
    for (;;) {
        uint64_t now = clock_ns(CLOCK_MONOTONIC), left = now < end_ns ? end_ns - now : 0;
        uint64_t soon = clock_ns(CLOCK_REALTIME) + (left < WAKE_AGAIN_NS ? left : WAKE_AGAIN_NS);
        struct timespec until = {.tv_sec = (time_t)(soon / 1000000000u), .tv_nsec = (long)(soon % 1000000000u)};
        wake(door);
        if (pthread_timedjoin_np(door->thread, NULL, &until) == 0)
            return true;
        if (clock_ns(CLOCK_MONOTONIC) >= end_ns)
            return false;
    }
}

/* The first COUNT doors. */
static void ask_to_stop(struct channel *channel, unsigned count)
{
    struct hall *hall = channel->doors[0].hall;
    pthread_mutex_lock(&hall->change);
    __atomic_store_n(&hall->stop, true, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&hall->change);
    for (unsigned i = 0; i < count; i++)
        wake(&channel->doors[i]);
}

void door_ask_to_stop(struct channel *channel)
{
    if (channel->doors)
        ask_to_stop(channel, channel->session->bells);
}

/* Joins the first COUNT doors. */
static void stop(struct channel *channel, unsigned count, uint64_t end_ns)
{
    struct hall *hall = channel->doors[0].hall;
    bool ended = true;
    ask_to_stop(channel, count);
    for (unsigned i = 0; i < count; i++)
        ended &= join(&channel->doors[i], end_ns);
    if (!ended) { /* all of it stays */
        channel->session->hangs = true;
        channel->left = channel->doors;
        channel->doors = NULL;
        return;
    }
    slots_destroy(&hall->slots);
    pthread_mutex_destroy(&hall->change);
    free(hall);
    free(channel->doors);
    channel->doors = NULL;
}

/*
 * A new thread waits for its CPU as any other does, longer on a busy machine than a program waits for its first answer:
 * what ended soon then was not profiled at all (3 of 100, with a bare LD_PRELOAD beside five busy programs).
 */
void door_await_all(struct channel *channel)
{
    if (!channel->doors)
        return;
    struct hall *hall = channel->doors[0].hall;
    uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE), end = now + AWAKE_MS * UINT64_C(1000000);
    uint32_t awake;
    for (; (awake = __atomic_load_n(&hall->awake, __ATOMIC_SEQ_CST)) < channel->session->bells && now < end;
         now = clock_ns(CLOCK_MONOTONIC_COARSE)) {
        struct timespec rest = {.tv_nsec = (long)(end - now)};
        syscall(SYS_futex, &hall->awake, FUTEX_WAIT, awake, &rest, NULL, 0);
    }
}

int door_start_all(struct channel *channel)
{
    struct cpus allowed;
    allowed_cpus(&allowed);
    struct hall *hall = new_hall(channel);
    channel->doors = hall ? calloc(channel->session->bells, sizeof(*channel->doors)) : NULL;
    if (!channel->doors) {
        free(hall);
        return -ENOMEM;
    }
    sigset_t all, old;
    sigfillset(&all);
    /* A fault of its own must find its handler: a blocked one kills the process (segment cut short, see session.c). */
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    int status = 0;
    unsigned started = 0;
    for (; started < channel->session->bells && status == 0; started++) {
        struct door *door = &channel->doors[started];
        *door = (struct door){.hall = hall, .bell = &channel->requests->bells[started], .number = started};
        status = start(door, &allowed);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (status < 0) /* nobody rings, so those that run end at once */
        stop(channel, started - 1, UINT64_MAX);
    return status;
}

void door_stop_all(struct channel *channel, uint64_t end_ns)
{
    if (!channel->doors)
        return;
    stop(channel, channel->session->bells, end_ns);
    slots_refuse(channel);
}
