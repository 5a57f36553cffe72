/* SPDX-License-Identifier: MIT */
/* The kernel's generic cache events: CACHE[-OPERATION][-RESULT], such as L1-dcache-load-misses. Pure. */
#ifndef COLLECTOR_EVENTS_EVENT_CACHE_H
#define COLLECTOR_EVENTS_EVENT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *RET_CONFIG: as perf_event_attr has it. 0; -ENOENT: it is no such name; -EINVAL: no cache has that operation. */
int event_cache_parse(const char *text, uint64_t *ret_config);
/* Name number INDEX, from 0, of all that exist: into RET[SIZE]. False: there are no more. */
bool event_cache_name(size_t index, char *ret, size_t size);

#endif
