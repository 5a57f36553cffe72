/* SPDX-License-Identifier: MIT */
/*
 * For programs that want to know whether they are being profiled. No library has to be linked: without libpinject.so in
 * the process every function here answers as if there were no profiler, at the cost of one comparison.
 *
 *     #include <pinject/pinject.h>
 *     if (pinject_is_active())
 *         ...
 *
 * Static programs, and others without the preload object, may use it too. Works in C and C++.
 */
#ifndef PINJECT_PINJECT_H
#define PINJECT_PINJECT_H

#include <stdbool.h>

#define PINJECT_VERSION_MAJOR  0
#define PINJECT_VERSION_MINOR  1
#define PINJECT_VERSION_PATCH  0
#define PINJECT_VERSION        (PINJECT_VERSION_MAJOR * 10000 + PINJECT_VERSION_MINOR * 100 + PINJECT_VERSION_PATCH)
#define PINJECT_VERSION_STRING "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Exported by libpinject.so and weak here: its address is NULL if the preload object is not loaded, so call it through
 * pinject_is_active(). True when this process belongs to a running profiling session. Context: any thread, signal
 * handlers, vfork children. Never blocks, allocates or changes errno.
 */
bool pinject_active(void) __attribute__((weak, visibility("default")));

/* True when this process is being profiled now. Without libpinject.so it makes no call and returns false. */
static inline bool pinject_is_active(void)
{
    return pinject_active && pinject_active();
}

#ifdef __cplusplus
}
#endif

#endif
