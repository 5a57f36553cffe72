/* SPDX-License-Identifier: MIT */
/* pthread_create and thrd_create: the new thread asks for its events before its start routine runs. */
/*
 * pthread_cleanup_push() is a macro that calls these three. libc has them with the version of glibc 2.34; before, they
 * were in libpthread. So the macro calls ours, which look them up when a thread begins.
 */
#define __pthread_register_cancel   pinject_register_cancel
#define __pthread_unregister_cancel pinject_unregister_cancel
#define __pthread_unwind_next       pinject_unwind_next

#include "next.h"
#include "preload.h"
#include "state.h"
#include "symbols.h"
#include "sys.h"
#include "text.h"
#include "thread_records.h"
#include "timer.h"
#include "timer_signal.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

typedef void change(__pthread_unwind_buf_t *);

/* The macro's names for them: <pthread.h> declares them only where it needs them. */
void pinject_register_cancel(__pthread_unwind_buf_t *buffer);
void pinject_unregister_cancel(__pthread_unwind_buf_t *buffer);
_Noreturn void pinject_unwind_next(__pthread_unwind_buf_t *buffer);

enum { REGISTER, UNREGISTER, UNWIND, FUNCTIONS };

static change *find_cancel_function(int which)
{
    static const char *const names[FUNCTIONS] = {
        [REGISTER] = "__pthread_register_cancel",
        [UNREGISTER] = "__pthread_unregister_cancel",
        [UNWIND] = "__pthread_unwind_next",
    };
    static change *found[FUNCTIONS];
    change *function = __atomic_load_n(&found[which], __ATOMIC_RELAXED);
    if (function)
        return function;
    void *address = pinject_symbols_find_late(pinject_next()->dl_iterate_phdr, names[which]);
    memcpy(&function, &address, sizeof(function));
    __atomic_store_n(&found[which], function, __ATOMIC_RELAXED);
    return function;
}

/* All of them or none: libc must not unwind what was not registered. */
void pinject_register_cancel(__pthread_unwind_buf_t *buffer)
{
    if (find_cancel_function(UNWIND) && find_cancel_function(UNREGISTER) && find_cancel_function(REGISTER))
        find_cancel_function(REGISTER)(buffer);
}

void pinject_unregister_cancel(__pthread_unwind_buf_t *buffer)
{
    if (find_cancel_function(UNWIND) && find_cancel_function(UNREGISTER) && find_cancel_function(REGISTER))
        find_cancel_function(UNREGISTER)(buffer);
}

void pinject_unwind_next(__pthread_unwind_buf_t *buffer)
{
    find_cancel_function(UNWIND)(buffer);
    __builtin_unreachable();
}

/* In the new thread: announces it, then gives the record back (pinject_thread_throttle()), so that nothing of ours
   is left when the program's code runs. */
__attribute__((noinline)) static struct pinject_thread_record begin_thread(void *data)
{
    struct pinject_thread_record record = *(struct pinject_thread_record *)data;
    pinject_preload_enter();
    if (pinject_signal_number() && !pinject_preload_blocked())
        pinject_timer_thread(record.masked);
    pinject_preload_thread(record.creator);
    pinject_thread_record_give(data);
    pinject_preload_leave();
    return record;
}

static void stop_timer(void *nothing)
{
    (void)nothing;
    pinject_preload_enter();
    pinject_timer_stop();
    pinject_preload_leave();
}

/*
 * A timer outlives its thread, and only the thread can read its last counts. pthread_exit and cancellation run this
 * too.
 */
__attribute__((noinline)) static void *run_posix(void *(*start)(void *), void *argument)
{
    void *result;
    pthread_cleanup_push(stop_timer, NULL);
    result = start(argument);
    pthread_cleanup_pop(1);
    return result;
}

__attribute__((noinline)) static int run_c11(thrd_start_t start, void *argument)
{
    int result;
    pthread_cleanup_push(stop_timer, NULL);
    result = start(argument);
    pthread_cleanup_pop(1);
    return result;
}

/* Without a timer both end in a tail call (built with -O2): the program's frames are where they would be without us. */
static void *begin_posix(void *data)
{
    struct pinject_thread_record record = begin_thread(data);
    if (pinject_timer_runs())
        return run_posix(record.start.posix, record.argument);
    return record.start.posix(record.argument);
}

static int begin_c11(void *data)
{
    struct pinject_thread_record record = begin_thread(data);
    if (pinject_timer_runs())
        return run_c11(record.start.c11, record.argument);
    return record.start.c11(record.argument);
}

static struct pinject_thread_record *take_record(union pinject_thread_start start, void *argument)
{
    if (pinject_preload_inherits())
        return NULL;
    if (!pinject_preload.threads || !pinject_preload_follows()) {
        if (pinject_preload.threads)
            pinject_preload_count_blocked(~0u);
        return NULL;
    }
    pinject_thread_throttle(&pinject_preload.channel.requests->stalled);
    struct pinject_thread_record *record = pinject_thread_record_take();
    if (!record) {
        __atomic_fetch_add(&pinject_preload.channel.requests->dropped, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    record->creator = sys_gettid();
    record->masked = pinject_signal_number() && pinject_signal_masked();
    record->start = start;
    record->argument = argument;
    return record;
}

static struct pinject_thread_record *prepare_record(union pinject_thread_start start, void *argument)
{
    pinject_preload_ready();
    pinject_preload_enter();
    struct pinject_thread_record *record = take_record(start, argument);
    pinject_preload_leave();
    return record;
}

PINJECT_HOOK int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument)
{
    struct pinject_thread_record *record = prepare_record((union pinject_thread_start){.posix = start}, argument);
    if (!record)
        return pinject_next()->pthread_create(thread, attr, start, argument);
    /* A tail call, so that no frame of ours is between the program and the report of where the thread was made. If
       the thread cannot be made, its record is lost. */
    if (pinject_next()->sanitized)
        return pinject_next()->pthread_create(thread, attr, begin_posix, record);
    int error = pinject_next()->pthread_create(thread, attr, begin_posix, record);
    if (error != 0)
        pinject_thread_record_give(record);
    return error;
}

PINJECT_HOOK int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
    struct pinject_thread_record *record = prepare_record((union pinject_thread_start){.c11 = start}, argument);
    if (!record)
        return pinject_next()->thrd_create(thread, start, argument);
    if (pinject_next()->sanitized)
        return pinject_next()->thrd_create(thread, begin_c11, record);
    int result = pinject_next()->thrd_create(thread, begin_c11, record);
    if (result != thrd_success)
        pinject_thread_record_give(record);
    return result;
}
