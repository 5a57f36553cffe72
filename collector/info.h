/* SPDX-License-Identifier: MIT */
/* pinject-run --info: what this machine offers to the user who asks, what it refuses, and what would change that. */
#ifndef COLLECTOR_INFO_H
#define COLLECTOR_INFO_H

#include <stdio.h>

/* Opens (and closes) one event of each kind on itself. The caller checks that TO was written. */
void info_print(FILE *to);

#endif
