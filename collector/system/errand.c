/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/system/errand.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/system/procfs.h"
#include "common/clock.h"

#define PATIENCE_NS INT64_C(100000000)
#define LEAST_NS    INT64_C(1000000)     /* without patience: normally a look takes microseconds */
#define BUSY_NS     UINT64_C(1000000000) /* at most, for a thread that gets no CPU */
#define AGAIN_NS    UINT64_C(5000000)
enum { STACK = 256 << 10, PATIENCE_SHARE = 50, STATUS_MAX = 8192 };

struct errand_worker {
    struct errands *errands;
    pid_t tid; /* under the lock; 0: the thread has not run yet */
    pthread_mutex_t lock;
    pthread_cond_t todo, done;
    struct errand *errand; /* NULL: nothing to do */
    bool left, stop;
    unsigned place; /* in errands.taken, once it is left behind */
};

static void free_worker(struct errand_worker *worker)
{
    pthread_cond_destroy(&worker->todo);
    pthread_cond_destroy(&worker->done);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}

static void *run_errands(void *argument)
{
    struct errand_worker *worker = argument;
    pthread_setname_np(pthread_self(), "pinject-look");
    pthread_mutex_lock(&worker->lock);
    worker->tid = gettid();
    for (;;) {
        while (!worker->errand && !worker->stop)
            pthread_cond_wait(&worker->todo, &worker->lock);
        if (!worker->errand)
            break;
        struct errand *errand = worker->errand;
        pthread_mutex_unlock(&worker->lock);
        errand->run(errand);
        pthread_mutex_lock(&worker->lock);
        if (worker->left) {
            errand->abandoned(errand);
            __atomic_store_n(&worker->errands->taken[worker->place], false, __ATOMIC_SEQ_CST);
            __atomic_fetch_sub(&worker->errands->hung, 1, __ATOMIC_SEQ_CST);
            break;
        }
        worker->errand = NULL;
        pthread_cond_signal(&worker->done);
    }
    pthread_mutex_unlock(&worker->lock);
    free_worker(worker);
    return NULL;
}

static bool start_thread(struct errand_worker *worker)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, old;
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    sigfillset(&all);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    bool done = pthread_create(&thread, &attr, run_errands, worker) == 0;
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return done;
}

static struct errand_worker *new_worker(struct errands *errands)
{
    struct errand_worker *worker = calloc(1, sizeof(*worker));
    if (!worker)
        return NULL;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&worker->todo, NULL);
    pthread_cond_init(&worker->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&worker->lock, NULL);
    worker->errands = errands;
    if (start_thread(worker))
        return worker;
    free_worker(worker);
    return NULL;
}

static int64_t renew_patience(struct errands *errands, uint64_t now)
{
    uint64_t since = errands->patience_at_ns ? now - errands->patience_at_ns : PATIENCE_NS * PATIENCE_SHARE;
    errands->patience_ns += (int64_t)(since / PATIENCE_SHARE);
    errands->patience_at_ns = now;
    if (errands->patience_ns > PATIENCE_NS)
        errands->patience_ns = PATIENCE_NS;
    return errands->patience_ns > LEAST_NS ? errands->patience_ns : LEAST_NS;
}

/* It does not hang but waits for a CPU: there is much more work than CPUs. */
static bool is_runnable(const struct errand_worker *worker)
{
    char name[48];
    if (!worker->tid)
        return true;
    snprintf(name, sizeof(name), "task/%d/status", (int)worker->tid);
    char *text = procfs_read(getpid(), name, STATUS_MAX, NULL);
    bool runs = text && strstr(text, "\nState:\tR");
    free(text);
    return runs;
}

/* Under the lock. */
static bool wait_for(struct errand_worker *worker, uint64_t began_ns, uint64_t patience_ns)
{
    for (uint64_t end_ns = began_ns + patience_ns; worker->errand;) {
        const struct timespec end = {(time_t)(end_ns / 1000000000u), (long)(end_ns % 1000000000u)};
        if (pthread_cond_timedwait(&worker->done, &worker->lock, &end) != ETIMEDOUT)
            continue;
        uint64_t now = clock_ns(CLOCK_MONOTONIC);
        if (!worker->errand || now - began_ns >= BUSY_NS || !is_runnable(worker))
            break;
        end_ns = now + AGAIN_NS;
    }
    return !worker->errand;
}

/* One user's processes must not take the threads that all need. */
static bool is_refused(const struct errands *errands, const struct errand *errand)
{
    unsigned hung = __atomic_load_n(&errands->hung, __ATOMIC_SEQ_CST), his = 0;
    if (hung < ERRANDS_SHARE || hung >= ERRANDS_HUNG)
        return hung >= ERRANDS_HUNG;
    const uid_t user = procfs_uid(errand->pid);
    for (unsigned i = 0; i < ERRANDS_HUNG; i++)
        his += __atomic_load_n(&errands->taken[i], __ATOMIC_SEQ_CST) && errands->users[i] == user;
    return his >= ERRANDS_SHARE;
}

/* Under the lock of WORKER. There is a free place: no more than ERRANDS_HUNG hang. */
static void leave_worker(struct errands *errands, struct errand_worker *worker)
{
    unsigned place = 0;
    while (place + 1 < ERRANDS_HUNG && __atomic_load_n(&errands->taken[place], __ATOMIC_SEQ_CST))
        place++;
    errands->users[place] = procfs_uid(worker->errand->pid);
    __atomic_store_n(&errands->taken[place], true, __ATOMIC_SEQ_CST);
    worker->place = place;
    worker->left = true;
    errands->worker = NULL;
    __atomic_fetch_add(&errands->hung, 1, __ATOMIC_SEQ_CST);
}

bool errands_do(struct errands *errands, struct errand *errand)
{
    const bool refused = is_refused(errands, errand);
    if (!refused && !errands->worker)
        errands->worker = new_worker(errands);
    struct errand_worker *worker = errands->worker;
    if (refused || !worker) { /* never by the caller: if that hung too, no thread would be left */
        errands->given_up++;
        errand->abandoned(errand);
        return false;
    }
    uint64_t began = clock_ns(CLOCK_MONOTONIC);
    uint64_t patient = (uint64_t)renew_patience(errands, began);
    pthread_mutex_lock(&worker->lock);
    worker->errand = errand;
    pthread_cond_signal(&worker->todo);
    bool done = wait_for(worker, began, patient);
    if (!done) {
        leave_worker(errands, worker);
        errands->given_up++;
        errands->patience_ns -= (int64_t)(clock_ns(CLOCK_MONOTONIC) - began);
    }
    pthread_mutex_unlock(&worker->lock);
    return done;
}

bool errands_end(struct errands *errands)
{
    struct errand_worker *worker = errands->worker;
    errands->worker = NULL;
    if (worker) {
        pthread_mutex_lock(&worker->lock);
        worker->stop = true;
        pthread_cond_signal(&worker->todo);
        pthread_mutex_unlock(&worker->lock);
    }
    return __atomic_load_n(&errands->hung, __ATOMIC_SEQ_CST) == 0;
}

/* ---- Files of /proc ---- */

struct look {
    struct errand errand;
    char *(*read)(struct look *look);
    pid_t pid;
    char *text;
    size_t size;
};

static void run_look(struct errand *errand)
{
    struct look *look = (struct look *)errand;
    look->text = look->read(look);
}

static void abandon_look(struct errand *errand)
{
    struct look *look = (struct look *)errand;
    free(look->text);
    free(look);
}

static char *read_exec(struct look *look)
{
    return procfs_exec(look->pid);
}

static char *read_maps(struct look *look)
{
    return procfs_maps(look->pid);
}

static char *read_cmdline(struct look *look)
{
    return procfs_cmdline(look->pid, &look->size);
}

static char *look_at(struct errands *errands, pid_t pid, char *(*read)(struct look *look), size_t *ret_size)
{
    struct look *look = calloc(1, sizeof(*look));
    if (!look)
        return NULL;
    *look = (struct look){.errand = {run_look, abandon_look, pid}, .read = read, .pid = pid};
    if (!errands_do(errands, &look->errand))
        return NULL;
    char *text = look->text;
    if (ret_size)
        *ret_size = look->size;
    free(look);
    return text;
}

char *errands_exec(struct errands *errands, pid_t pid)
{
    return look_at(errands, pid, read_exec, NULL);
}

char *errands_maps(struct errands *errands, pid_t pid)
{
    return look_at(errands, pid, read_maps, NULL);
}

char *errands_cmdline(struct errands *errands, pid_t pid, size_t *ret_size)
{
    return look_at(errands, pid, read_cmdline, ret_size);
}
