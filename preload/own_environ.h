/* SPDX-License-Identifier: MIT */
/* The environment of this very process: taking our variables out of it, as if they had never been there. */
#ifndef PINJECT_PRELOAD_OWN_ENVIRON_H
#define PINJECT_PRELOAD_OWN_ENVIRON_H

#include "environ.h"

/*
 * In the constructor: from the vector that the kernel made, from environ when it is another one by now, and from the
 * bytes that /proc/PID/environ shows.
 */
void pinject_own_environ_leave(char **initial, struct pinject_ours ours);

/* In a child of fork, its only thread: from environ alone. */
void pinject_own_environ_forget(struct pinject_ours ours);

/* Before main: environ gets our variables. It becomes a vector of ours that lives as long as the process. */
void pinject_own_environ_join(struct pinject_ours ours);

#endif
