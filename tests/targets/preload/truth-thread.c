/* SPDX-License-Identifier: MIT */
/* truth-thread: threads with every attribute, end and error. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

static void *echo(void *data)
{
    return data;
}

static void *leave_by_exit(void *data)
{
    pthread_exit(data);
}

static int cleaned;

static void clean_up(void *data)
{
    cleaned += (int)(intptr_t)data;
}

static sem_t ready;

static void *wait_for_cancel(void *data)
{
    pthread_cleanup_push(clean_up, data);
    sem_post(&ready);
    for (;;)
        pause();
    pthread_cleanup_pop(1);
    return NULL;
}

/* Names of the functions below this one on the stack: the same depth and DSOs as without a profiler. */
__attribute__((noinline)) static void *depth(void *data)
{
    void *frames[64];
    int count = backtrace(frames, 64);
    for (int i = 0; i < count; i++) {
        Dl_info info;
        const char *name = dladdr(frames[i], &info) && info.dli_fname ? info.dli_fname : "?";
        const char *slash = strrchr(name, '/');
        printf(" %s", slash ? slash + 1 : name);
    }
    puts("");
    __asm__ volatile("" : : "r"(data) : "memory");
    return data;
}

static void *state(void *data)
{
    pthread_attr_t attr;
    size_t stack, guard;
    int detached, policy, old;
    struct sched_param param;
    sigset_t mask;
    char name[32];
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstacksize(&attr, &stack);
    pthread_attr_getguardsize(&attr, &guard);
    pthread_attr_getdetachstate(&attr, &detached);
    pthread_attr_destroy(&attr);
    pthread_getschedparam(pthread_self(), &policy, &param);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    pthread_getname_np(pthread_self(), name, sizeof(name));
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old);
    printf("stack %zu guard %zu detached %d policy %d usr1 %d usr2 %d name %s cancel %d errno %d\n", stack, guard,
           detached == PTHREAD_CREATE_DETACHED, policy, sigismember(&mask, SIGUSR1), sigismember(&mask, SIGUSR2), name,
           old, errno);
    sem_post(&ready);
    return data;
}

static void attributes(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_attr_init(&attr);
    pthread_create(&thread, NULL, state, NULL);
    pthread_join(thread, NULL);
    pthread_attr_setstacksize(&attr, 16384);
    pthread_attr_setguardsize(&attr, 8192);
    pthread_create(&thread, &attr, state, NULL);
    pthread_join(thread, NULL);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sem_wait(&ready), sem_wait(&ready);
    pthread_create(&thread, &attr, state, NULL);
    sem_wait(&ready);
    sigaddset(&set, SIGUSR1);
    sigdelset(&set, SIGUSR2);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_JOINABLE);
    pthread_attr_setsigmask_np(&attr, &set);
    pthread_create(&thread, &attr, state, NULL);
    pthread_join(thread, NULL);
    sem_wait(&ready);
}

static int c11(void *data)
{
    return (int)(intptr_t)data;
}

static int c11_exit(void *data)
{
    thrd_exit((int)(intptr_t)data);
}

static sem_t gate;

static void *hold(void *data)
{
    sem_post(&ready);
    sem_wait(&gate);
    return data;
}

/* More at a time than any pool of ours has room for. */
static void crowd(void)
{
    enum { CROWD = 600 };
    static pthread_t threads[CROWD];
    pthread_attr_t attr;
    intptr_t sum = 0;
    int made = 0;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    for (intptr_t i = 0; i < CROWD; i++)
        made += pthread_create(&threads[i], &attr, hold, (void *)i) == 0;
    for (int i = 0; i < made; i++)
        sem_wait(&ready);
    for (int i = 0; i < made; i++)
        sem_post(&gate);
    for (int i = 0; i < made; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (intptr_t)result;
    }
    printf("crowd of %d, sum %ld\n", made, (long)sum);
}

static void *makes_another(void *data)
{
    pthread_t thread;
    if (data && pthread_create(&thread, NULL, makes_another, (char *)data - 1) == 0)
        pthread_join(thread, NULL);
    return data;
}

int main(void)
{
    pthread_t thread;
    thrd_t c11_thread;
    void *result = NULL;
    int code = 0;
    sem_init(&ready, 0, 0);
    sem_init(&gate, 0, 0);
    errno = 77;
    printf("create %d", pthread_create(&thread, NULL, echo, (void *)5));
    printf(" errno %d\n", errno);
    printf("join %d", pthread_join(thread, &result));
    printf(" result %ld\n", (long)(intptr_t)result);
    pthread_create(&thread, NULL, leave_by_exit, (void *)6);
    pthread_join(thread, &result);
    printf("pthread_exit %ld\n", (long)(intptr_t)result);
    pthread_create(&thread, NULL, wait_for_cancel, (void *)8);
    sem_wait(&ready);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("cancelled %d cleaned %d\n", result == PTHREAD_CANCELED, cleaned);
    pthread_create(&thread, NULL, depth, NULL);
    pthread_join(thread, NULL);
    attributes();
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, (size_t)1 << 46);
    printf("too large %d\n", pthread_create(&thread, &attr, echo, NULL));
    printf("thrd_create %d", thrd_create(&c11_thread, c11, (void *)9));
    printf(" join %d", thrd_join(c11_thread, &code));
    printf(" code %d", code);
    thrd_create(&c11_thread, c11_exit, (void *)10);
    thrd_join(c11_thread, &code);
    printf(" exit %d\n", code);
    crowd();
    pthread_create(&thread, NULL, makes_another, (void *)20);
    pthread_join(thread, &result);
    printf("chain %ld\n", (long)(intptr_t)result);
    return 0;
}
