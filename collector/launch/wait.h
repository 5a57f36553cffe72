/* SPDX-License-Identifier: MIT */
/* The sessions of this machine, by their segments. */
#ifndef COLLECTOR_LAUNCH_WAIT_H
#define COLLECTOR_LAUNCH_WAIT_H

/*
 * Waits until no collector writes result files of BASE (absolute or in the working directory) any more, nor of OTHER
 * (NULL: none), which need not be a name of files. Returns the exit status: 0 also if there is no such collector. Any
 * signal that ends the process interrupts it.
 */
int wait_for(const char *base, const char *other);

/* Removes segments of this user whose collector was killed. */
void wait_sweep(void);

#endif
