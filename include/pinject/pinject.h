/* SPDX-License-Identifier: MIT */
/*
 * For programs that want to know whether they are being profiled. Nothing has to be linked: without libpinject.so in
 * the process every function here answers as if there were no profiler, at the cost of one comparison.
 *
 *     #include <pinject/pinject.h>
 *     if (pinject_is_active())
 *         ...
 *
 * A static or otherwise not preloaded program may use it too. From C and C++.
 */
#ifndef PINJECT_PINJECT_H
#define PINJECT_PINJECT_H

#include <stdbool.h>

#define PINJECT_VERSION_MAJOR 0
#define PINJECT_VERSION_MINOR 1
#define PINJECT_VERSION_PATCH 0
#define PINJECT_VERSION (PINJECT_VERSION_MAJOR * 10000 + PINJECT_VERSION_MINOR * 100 + PINJECT_VERSION_PATCH)
#define PINJECT_VERSION_STRING "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Exported by libpinject.so and weak here: its address is NULL where the preload object is not loaded, so call it
 * through pinject_is_active(). True when this process belongs to a profiling session that takes its records. Any
 * thread, signal handlers and vfork children too; never blocks, allocates or changes errno.
 */
bool pinject_active(void) __attribute__((weak, visibility("default")));

/* True when this process is being profiled now; false, without a call, where libpinject.so is not loaded. */
static inline bool pinject_is_active(void)
{
    return pinject_active && pinject_active();
}

#ifdef __cplusplus
}
#endif

#endif
