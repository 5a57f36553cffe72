/* SPDX-License-Identifier: MIT */
/* A process begins: a child of _Fork(), and what happens between the constructors and main. */
#include "next.h"
#include "own_environ.h"
#include "preload.h"
#include "state.h"

#include <errno.h>
#include <link.h>
#include <unistd.h>

/* fork() reaches us by pthread_atfork(), also from within libc (daemon, forkpty). _Fork() runs no such handlers. */
PINJECT_HOOK pid_t _Fork(void)
{
    pinject_preload_ready();
    pinject_preload_before_fork();
    pid_t pid = pinject_next()->fork_only();
    if (pid == 0) {
        int saved = errno;
        pinject_preload_forked();
        errno = saved;
    }
    return pid;
}

/* Set once, before main, when there is only one thread. */
static uint32_t main_begun;

int __libc_start_main(int (*run)(int, char **, char **), int argc, char **argv, void (*begin)(void), void (*end)(void),
                      void (*unload)(void), void *stack);

/*
 * In a bare LD_PRELOAD that follows children, environ must have PINJECT_SESSION for system() and popen(), which use
 * environ within libc. The constructor is too early: libc sets environ after it (-z initfirst), from the vector on the
 * stack, which has no room for another entry. Here all constructors have run, and main has not.
 */
PINJECT_HOOK int __libc_start_main(int (*run)(int, char **, char **), int argc, char **argv, void (*begin)(void),
                                   void (*end)(void), void (*unload)(void), void *stack)
{
    pinject_preload_ready();
    if (pinject_preload.environ_join)
        pinject_own_environ_join(pinject_preload.ours);
    __atomic_store_n(&main_begun, 1, __ATOMIC_RELAXED);
    /* A tail call: no frame of ours is below main. */
    return pinject_next()->libc_start_main(run, argc, argv, begin, end, unload, stack);
}

extern const char pinject_elf_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));

struct visit {
    int (*callback)(struct dl_phdr_info *, size_t, void *);
    void *data;
};

static int visit_others(struct dl_phdr_info *info, size_t size, void *data)
{
    const struct visit *visit = data;
    return info->dlpi_addr == (uintptr_t)pinject_elf_start ? 0 : visit->callback(info, size, visit->data);
}

/*
 * AddressSanitizer refuses to start a program if another library comes before its own, as every preloaded one does.
 * That check is over when main begins; until then we are not in the list. Before that no stack with a frame of ours is
 * unwound.
 */
PINJECT_HOOK int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
    if (__atomic_load_n(&main_begun, __ATOMIC_RELAXED))
        return pinject_next()->dl_iterate_phdr(callback, data);
    struct visit visit = {callback, data};
    return pinject_next()->dl_iterate_phdr(visit_others, &visit);
}
