/* SPDX-License-Identifier: MIT */
#include "collector/launch/witness.h"

#include <errno.h>
#include <linux/futex.h>
#include <pinject/kernel.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 500 };

/* Shared with the witness. Futex words: a question and its answer have the same number. */
struct witness_page {
    uint32_t asked;
    uint32_t answered;
    int32_t signal; /* before asked */
    int32_t sender; /* before answered; -1: no such signal */
};

static void wake_waiter(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void sleep_while(uint32_t *word, uint32_t value, const struct timespec *limit)
{
    syscall(SYS_futex, word, FUTEX_WAIT, value, limit, NULL, 0);
}

static int32_t take_pending(int number)
{
    const struct timespec none = {0};
    siginfo_t info;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    return sigtimedwait(&set, &info, &none) == number ? info.si_pid : -1;
}

/* Keeps nothing open, so that no pipe of the command waits for our end. */
static _Noreturn void testify(struct witness_page *page, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    syscall(SYS_close_range, 0, ~0u, 0);
    for (uint32_t done = 0; getppid() == parent;) {
        sleep_while(&page->asked, done, NULL);
        uint32_t asked = __atomic_load_n(&page->asked, __ATOMIC_ACQUIRE);
        if (asked == done)
            continue;
        page->sender = take_pending(page->signal);
        __atomic_store_n(&page->answered, done = asked, __ATOMIC_RELEASE);
        wake_waiter(&page->answered);
    }
    _exit(0);
}

void witness_start(struct witness *witness)
{
    pid_t parent = getpid();
    *witness = (struct witness){0};
    struct witness_page *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    witness->page = page;
    witness->pid = fork();
    if (witness->pid == 0)
        testify(page, parent);
    if (witness->pid < 0)
        witness->pid = 0;
}

bool witness_has(struct witness *witness, const struct signalfd_siginfo *info)
{
    struct witness_page *page = witness->page;
    const struct timespec patience = {.tv_nsec = PATIENCE_MS * 1000000L};
    if (!witness->pid)
        return false;
    page->signal = (int32_t)info->ssi_signo;
    uint32_t asked = __atomic_add_fetch(&page->asked, 1, __ATOMIC_RELEASE);
    wake_waiter(&page->asked);
    uint32_t answered = __atomic_load_n(&page->answered, __ATOMIC_ACQUIRE);
    if (answered != asked) {
        sleep_while(&page->answered, answered, &patience);
        answered = __atomic_load_n(&page->answered, __ATOMIC_ACQUIRE);
    }
    return answered == asked && page->sender == (int32_t)info->ssi_pid;
}

void witness_end(struct witness *witness)
{
    if (witness->pid) {
        kill(witness->pid, SIGKILL);
        while (waitpid(witness->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (witness->page)
        munmap(witness->page, sizeof(*witness->page));
    *witness = (struct witness){0};
}
