/* SPDX-License-Identifier: MIT */
/*
 * What the kernel lets us open, found out by opening it on the calling thread, and why it does not. Thread-safe;
 * nothing is kept but what is returned.
 */
#ifndef COLLECTOR_CONFIG_PROBE_H
#define COLLECTOR_CONFIG_PROBE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What every event of ours has in common. */
struct perf_event_attr probe_attr(uint32_t type, uint64_t config);
/* Opens it, stopped, on the calling thread: an fd, the caller's to close, or -errno. */
int probe_open(const struct perf_event_attr *attr);
/*
 * The same of one event, without what kernels before Linux 6.0 do not know, and closed again: 0 or -errno. PERIOD 0: it
 * counts only.
 */
int probe_event(uint32_t type, uint64_t config, bool user_only, uint64_t period);
/* What a -errno of these means: the machine does not have it; not for us; nothing is, for nobody. */
bool probe_is_missing(int status);
bool probe_is_refused(int status);
bool probe_is_refused_for_all(int status);
/* Why perf_event_open() gave STATUS, and the way out. */
void probe_explain(int status, char *ret, size_t size);
/* /proc/sys/kernel/NAME as a number; OTHERWISE where it cannot be read. */
int64_t probe_read_sysctl(const char *name, int64_t otherwise);
/* Whether the text of /proc/self/uid_map is that of a user namespace that somebody made; and whether ours is. Its
 * rights, root's too, do not count for perf events. */
bool probe_is_user_namespace(const char *map);
bool probe_user_namespace(void);

#endif
