/* SPDX-License-Identifier: MIT */
/* The sessions of this machine, by their segments. */
#ifndef COLLECTOR_WAIT_H
#define COLLECTOR_WAIT_H

/*
 * Waits until no collector writes result files of BASE any more (absolute or in the working directory). Returns the
 * exit status: 0 also when none does. Interrupted by any signal that ends the process.
 */
int wait_for(const char *base);

/* Removes segments of this user whose collector was killed. */
void wait_sweep(void);

#endif
