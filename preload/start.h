/* SPDX-License-Identifier: MIT */
/* A bare LD_PRELOAD: the first preload object starts the collector itself. */
#ifndef PINJECT_PRELOAD_START_H
#define PINJECT_PRELOAD_START_H

/* Starts a detached collector and opens its session; 0 or -errno. In the constructor only. */
int pinject_start(char **envp);

#endif
