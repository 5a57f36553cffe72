/* SPDX-License-Identifier: MIT */
/*
 * What the kernel lets us open, found by opening it on the calling thread, and why not. Thread-safe; keeps nothing but
 * what it returns.
 */
#ifndef COLLECTOR_CONFIG_PROBE_H
#define COLLECTOR_CONFIG_PROBE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What all our events have in common. */
struct perf_event_attr probe_attr(uint32_t type, uint64_t config);
/* Opens it, stopped, on the calling thread: an fd, which the caller closes, or -errno. */
int probe_open(const struct perf_event_attr *attr);
/* The same in the group of the event GROUP, an fd; -1: in none. */
int probe_open_in(const struct perf_event_attr *attr, int group);
/* For an address below every value of vm.mmap_min_addr but 0, which is a multiple of each length of a breakpoint. */
enum { PROBE_NOWHERE = 0x800 };
/* Sets what the kernel sets in ATTR when it opens an event, so that PERF_EVENT_IOC_MODIFY_ATTRIBUTES finds no difference. */
void probe_fill_attr(struct perf_event_attr *attr);
/* Can a breakpoint with ATTR be moved to another address? Linux before 4.17 cannot. 0 or -errno. */
int probe_move(const struct perf_event_attr *attr);
/* Sets the filter of a tracepoint's event FD: 0 or -errno. */
int probe_filter(int fd, const char *filter);
/*
 * The same for one event, without what kernels before Linux 6.0 lack, and closed again: 0 or -errno. PERIOD 0: it only
 * counts.
 */
int probe_event(uint32_t type, uint64_t config, bool user_only, uint64_t period);
/*
 * Does a breakpoint of the calling thread count? Some virtual machines let one open them that never fire. True too if
 * none can be opened: then opening says why.
 */
bool probe_breakpoints_fire(void);
/*
 * Do inherited events have the counts of their group in their samples, and report a task's counts at its end as they
 * do without? Linux before 6.12 refuses the former; 5.13 to 6.18.1 never report counts at the end. Starts up to two
 * child processes.
 */
bool probe_inherits_values(void);
/* Does an inherited event report the counts of a task that ends? Linux 5.13 to 6.18.1 does not. Starts a process. */
bool probe_reports_ends(void);
/* What a -errno of these means: the machine does not have the event; we may not open it; nobody may open any. */
bool probe_is_missing(int status);
bool probe_is_refused(int status);
bool probe_is_refused_for_all(int status);
/* Why perf_event_open() gave STATUS, and a remedy. */
void probe_explain(int status, char *ret, size_t size);
/* /proc/sys/kernel/NAME as a number; OTHERWISE if it cannot be read. */
int64_t probe_read_sysctl(const char *name, int64_t otherwise);
/* Is the text of /proc/self/uid_map that of a user namespace that somebody made; and is ours? Rights in it, root's
 * too, do not count for perf events. */
bool probe_is_user_namespace(const char *map);
bool probe_user_namespace(void);

/* May this process have events that see all tasks of a CPU? */
bool probe_sees_cpus(void);
/* Why there can be no system-wide set (--sampler=cpu); NULL: there can. Takes a quarter of a millisecond. */
const char *probe_system_wide(void);

#endif
