/* SPDX-License-Identifier: MIT */
/* pinject-run --doctor: probes what a profile needs, and says what each refusal means and which command changes it. */
#ifndef COLLECTOR_DOCTOR_DOCTOR_H
#define COLLECTOR_DOCTOR_DOCTOR_H

#include <stdio.h>

#include "collector/config/settings.h"

struct doctor_args {
    const struct settings *settings; /* command: NULL, or what is to be profiled; it is examined, not run */
    const char *preload;             /* path of libpinject.so, "": it was not found */
    const char *preload_error;       /* then: why */
    const char *unreadable;          /* then: its path, where that is the reason; or NULL */
};

/*
 * Opens events, maps a ring, starts a shell with the preload object preloaded; leaves nothing behind. Returns whether
 * full profiling works. The caller checks that TO was written.
 */
bool doctor_run(const struct doctor_args *args, FILE *to);

#endif
