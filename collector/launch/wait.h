/* SPDX-License-Identifier: MIT */
/* The sessions of this machine, by their segments. */
#ifndef COLLECTOR_LAUNCH_WAIT_H
#define COLLECTOR_LAUNCH_WAIT_H

/*
 * Waits until no collector writes result files of BASE any more (absolute or in the working directory), nor of OTHER
 * (NULL: none), which need be no name of files. Returns the
 * exit status: 0 also when none does. Interrupted by any signal that ends the process.
 */
int wait_for(const char *base, const char *other);

/* Removes segments of this user whose collector was killed. */
void wait_sweep(void);

#endif
