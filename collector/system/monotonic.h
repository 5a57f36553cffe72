/* SPDX-License-Identifier: MIT */
/* The clock of a session, in ns: that of the records too. A function of its own, so that tests set the time. */
#ifndef COLLECTOR_SYSTEM_MONOTONIC_H
#define COLLECTOR_SYSTEM_MONOTONIC_H

#include <stdint.h>

uint64_t monotonic_ns(void);

#endif
