/* SPDX-License-Identifier: MIT */
/* How long a look that hangs is waited for, by a clock that the test moves; and looks without threads or memory. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "collector/system/errand.h"
#include "collector/system/procfs.h"

#define MS 1000000ull
#define S  1000000000ull

static uint64_t now_ns;
static bool has_threads = true, has_memory = true;
static const char *states;       /* of the thread that looks, one after the other: R it runs, S it sleeps */
static uint64_t waited_ns[1024]; /* until when each pause was to last, since the look began */
static unsigned pauses;
static uint64_t began_ns;
static sem_t go_on; /* the looks that hang */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (clock != CLOCK_MONOTONIC)
        return __real_clock_gettime(clock, ret);
    *ret = (struct timespec){(time_t)(now_ns / S), (long)(now_ns % S)};
    return 0;
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument)
{
    return has_threads ? __real_pthread_create(thread, attr, run, argument) : EAGAIN;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return has_memory ? __real_calloc(count, size) : NULL;
}

/* Nobody signals: the time is over. The thread has been on a CPU by then. */
static sem_t begun;
static bool plays = true; /* else it is waited for, as long as it takes */
static unsigned spurious; /* so many pauses end for nothing */
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *end);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *end)
{
    if (!plays)
        return pthread_cond_wait(cond, mutex);
    if (spurious) {
        spurious--;
        return 0;
    }
    if (pauses == 0) {
        pthread_mutex_unlock(mutex);
        while (sem_wait(&begun))
            ;
        pthread_mutex_lock(mutex);
    }
    now_ns = (uint64_t)end->tv_sec * S + (uint64_t)end->tv_nsec;
    waited_ns[pauses++ % 1024] = now_ns - began_ns;
    return ETIMEDOUT;
}

char *__wrap_procfs_read(pid_t pid, const char *name, size_t limit, size_t *ret_size);
char *__wrap_procfs_read(pid_t pid, const char *name, size_t limit, size_t *ret_size)
{
    (void)limit, (void)ret_size;
    assert_int_equal(pid, getpid());
    assert_memory_equal(name, "task/", 5);
    assert_non_null(strstr(name, "/status"));
    const char state = *states;
    states += states[1] != '\0';
    return state == 'R' ? strdup("Name:\tx\nState:\tR (running)\n") : state == 'S' ? strdup("State:\tS\n") : NULL;
}

char *__wrap_procfs_exec(pid_t pid);
char *__wrap_procfs_exec(pid_t pid)
{
    return pid == 7 ? strdup("/bin/seven") : NULL;
}

char *__wrap_procfs_maps(pid_t pid);
char *__wrap_procfs_maps(pid_t pid)
{
    return pid == 7 ? strdup("1000-2000") : NULL;
}

char *__wrap_procfs_cmdline(pid_t pid, size_t *ret_size);
char *__wrap_procfs_cmdline(pid_t pid, size_t *ret_size)
{
    *ret_size = pid == 7 ? 6 : 0;
    return pid == 7 ? strdup("seven") : NULL;
}

/* ---- Looks ---- */

static unsigned ran, abandoned; /* atomic */

static sigset_t looks_with; /* the mask of the thread that looks */

static void note_mask(struct errand *errand)
{
    (void)errand;
    pthread_sigmask(SIG_BLOCK, NULL, &looks_with);
}

static void run(struct errand *errand)
{
    (void)errand;
    __atomic_fetch_add(&ran, 1, __ATOMIC_SEQ_CST);
}

static void hang(struct errand *errand)
{
    (void)errand;
    sem_post(&begun);
    while (sem_wait(&go_on))
        ;
}

static void abandon(struct errand *errand)
{
    (void)errand;
    __atomic_fetch_add(&abandoned, 1, __ATOMIC_SEQ_CST);
}

static int set_up(void **state)
{
    (void)state;
    now_ns = 1000 * S;
    has_threads = has_memory = true;
    states = "S";
    ran = abandoned = 0;
    return sem_init(&go_on, 0, 0) || sem_init(&begun, 0, 0);
}

/* One that hangs, after REST: it is waited for until it is given up, in so many pauses. */
static void expect_patience(struct errands *errands, uint64_t rest_ns, uint64_t wanted_ns, unsigned wanted_pauses)
{
    static struct errand errand = {hang, abandon};
    const unsigned given_up = errands->given_up, hung = errands->hung;
    now_ns += rest_ns;
    began_ns = now_ns;
    pauses = 0;
    assert_false(errands_do(errands, &errand));
    assert_int_equal(pauses, wanted_pauses);
    assert_int_equal(waited_ns[(pauses - 1) % 1024], wanted_ns);
    assert_int_equal(errands->given_up, given_up + 1);
    assert_int_equal(errands->hung, hung + 1);
    assert_null(errands->worker);
    /* It comes back late. */
    sem_post(&go_on);
    while (__atomic_load_n(&errands->hung, __ATOMIC_SEQ_CST) > hung)
        usleep(100);
}

/* A fiftieth of the time, and a tenth of a second at once. */
static void patience_is_used_up(void **state)
{
    struct errands errands = {0};
    (void)state;
    expect_patience(&errands, 0, 100 * MS, 1);
    expect_patience(&errands, 50 * MS, 3 * MS, 1); /* with the time that it waited */
    expect_patience(&errands, 500 * MS, 10060000, 1);
    expect_patience(&errands, 20 * MS, 1 * MS, 1); /* never less: there were 0.6012 */
    expect_patience(&errands, 4000 * MS, 80020000 - 398800, 1);
    expect_patience(&errands, 60 * S, 100 * MS, 1); /* never more */
    expect_patience(&errands, 60 * S, 100 * MS, 1);
    assert_int_equal(abandoned, 7);
    assert_true(errands_end(&errands));
}

/* A thread that has no CPU does not hang: it is looked at again each 5 ms, for a second. */
static void who_waits_for_a_cpu_is_waited_for(void **state)
{
    struct errands errands = {0};
    (void)state;
    states = "RRRS";
    expect_patience(&errands, 0, 115 * MS, 4);
    states = "R";
    expect_patience(&errands, 60 * S, 1000 * MS, 181);
    states = "-"; /* nothing is known of it */
    expect_patience(&errands, 600 * S, 100 * MS, 1);
    states = "S";
    spurious = 3;
    expect_patience(&errands, 600 * S, 100 * MS, 1);
    assert_int_equal(spurious, 0);
    assert_true(errands_end(&errands));
}

/* Not by the caller: whatever hangs then hangs for ever. It is counted. */
static void without_threads_nobody_looks(void **state)
{
    struct errands errands = {0};
    struct errand errand = {run, abandon};
    (void)state;
    has_threads = false;
    assert_false(errands_do(&errands, &errand));
    has_threads = true;
    has_memory = false;
    assert_false(errands_do(&errands, &errand));
    assert_int_equal(ran, 0);
    assert_true(abandoned == 2 && errands.given_up == 2 && errands.hung == 0);
    assert_null(errands.worker);
    assert_true(errands_end(&errands));
}

/* Signals are for the event loop; a fault of the thread is its own. */
static void the_thread_that_looks_takes_no_signals(void **state)
{
    struct errands errands = {0};
    struct errand errand = {note_mask, abandon};
    sigset_t before, after;
    (void)state;
    plays = false;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    const bool done = errands_do(&errands, &errand);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    plays = true;
    assert_true(done);
    static const int blocked[] = {SIGTERM, SIGINT, SIGCHLD, SIGPIPE, SIGUSR1}, faults[] = {SIGBUS, SIGSEGV, SIGABRT};
    for (size_t i = 0; i < 5; i++) {
        assert_true(sigismember(&looks_with, blocked[i]));
        assert_int_equal(sigismember(&after, blocked[i]), sigismember(&before, blocked[i]));
    }
    for (size_t i = 0; i < 3; i++)
        assert_false(sigismember(&looks_with, faults[i]));
    assert_true(errands_end(&errands));
}

static void what_files_of_a_process_say(void **state)
{
    struct errands errands = {0};
    size_t size = 99;
    (void)state;
    plays = false;
    char *exec = errands_exec(&errands, 7), *maps = errands_maps(&errands, 7);
    char *cmdline = errands_cmdline(&errands, 7, &size);
    assert_string_equal(exec, "/bin/seven");
    assert_string_equal(maps, "1000-2000");
    assert_string_equal(cmdline, "seven");
    assert_int_equal(size, 6);
    free(exec);
    free(maps);
    free(cmdline);
    assert_null(errands_exec(&errands, 8));
    assert_null(errands_maps(&errands, 8));
    assert_null(errands_cmdline(&errands, 8, &size));
    assert_int_equal(size, 0);
    has_memory = false;
    assert_null(errands_exec(&errands, 7));
    assert_int_equal(errands.given_up, 0);
    plays = true;
    assert_true(errands_end(&errands));
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(patience_is_used_up),          TEST(who_waits_for_a_cpu_is_waited_for),
        TEST(without_threads_nobody_looks), TEST(the_thread_that_looks_takes_no_signals),
        TEST(what_files_of_a_process_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
