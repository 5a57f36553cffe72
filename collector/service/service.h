/* SPDX-License-Identifier: MIT */
/* The shared segment's server: makes a session, serves the requests of its processes, ends it. */
#ifndef COLLECTOR_SERVICE_SERVICE_H
#define COLLECTOR_SERVICE_SERVICE_H

#include <stdint.h>

#include "collector/sources/session.h"

/*
 * Creates the segment (a file with an unguessable name in /dev/shm, else in TMPDIR, /tmp; mode 0600, root's 0644), the
 * channel of this user and the queue, and raises RLIMIT_NOFILE and RLIMIT_MEMLOCK of the collector to the hard limits
 * (service_restore_limits() in the child gives the command the old ones). Catches SIGBUS of that memory until
 * service_release(): one session at a time has that.
 * PRELOAD: absolute path of the preload object. 0 or -errno after report_error().
 */
int service_init(struct session *session, const struct settings *settings, const struct event_config *config,
                 const char *preload);
/* Context: the forked child before exec. */
void service_restore_limits(const struct session *session);
/* Starts / stops the worker threads. Stopping answers what is waiting, sets closed, and joins. */
int service_start_workers(struct session *session);
void service_stop_workers(struct session *session);
/* After a storm: see worker_renew_all(). */
void service_renew_workers(struct session *session);
/* Queues the notifications of what preload objects told without waking anybody (worker_take_notifications()). */
void service_take_notifications(struct session *session);
/* Bytes of rings that this user may lock with RLIMIT_MEMLOCK at MEMLOCK; UINT64_MAX: no limit. */
uint64_t service_ring_budget(uint64_t memlock);
/* Removes the segment file and frees everything. Of one that is zeroed, or released already: nothing. */
void service_release(struct session *session);

#endif
