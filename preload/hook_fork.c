/* SPDX-License-Identifier: MIT */
/* fork() reaches us by pthread_atfork(), also from within libc (daemon, forkpty). _Fork() runs no such handlers. */
#include "next.h"
#include "preload.h"

#include <errno.h>
#include <unistd.h>

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
