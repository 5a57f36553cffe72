/* SPDX-License-Identifier: MIT */
/* The environment of this process: removes our variables, as if they had never been there. */
#ifndef PINJECT_PRELOAD_OWN_ENVIRON_H
#define PINJECT_PRELOAD_OWN_ENVIRON_H

#include "environ.h"

/*
 * In the constructor. Removes them from the vector that the kernel made, from environ if that is another one by now,
 * and from the bytes that /proc/PID/environ shows.
 */
void pinject_own_environ_leave(char **initial, struct pinject_ours ours);

/*
 * Removes them from environ alone: in a child of fork, after a seccomp filter, before a shell that libc starts. Takes
 * no lock.
 */
void pinject_own_environ_forget(struct pinject_ours ours);

/* Before main: puts our variables into environ, which becomes a vector of ours that lives as long as the process. */
void pinject_own_environ_join(struct pinject_ours ours);

#endif
