/* SPDX-License-Identifier: MIT */
/* The names that libpfm4 knows for this CPU, if pinject was built with it: "INST_RETIRED:ANY_P:u", in any case. */
#ifndef COLLECTOR_EVENTS_EVENT_PFM_H
#define COLLECTOR_EVENTS_EVENT_PFM_H

#include <stdio.h>

#include "collector/events/event_error.h"
#include "collector/events/event_spec.h"

/*
 * Encodes the whole TEXT, modifiers too, with user space and the kernel unless it says otherwise. 0; -ENOENT: there is
 * no such event, or no libpfm4; -EINVAL: there is one, *RET_WHY says what is wrong. Not thread-safe.
 */
int event_pfm_encode(const char *text, struct event_spec *spec, const char **ret_why);
/* "4.13"; NULL: built without it, or it does not work here. */
const char *event_pfm_version(void);

/* An event or, with UMASK, one of its unit masks. */
struct event_pfm_name {
    const char *pmu, *pmu_description;
    int counters;              /* for general use of that PMU; 0: unknown */
    const char *event, *umask; /* UMASK NULL: the event itself */
    const char *description;
    uint64_t code;
};
/* Calls SHOW for each of the PMUs that this machine has. */
void event_pfm_list(void (*show)(void *to, const struct event_pfm_name *name), void *to);
/* Names for suggestions. */
void event_pfm_words(struct event_words *words);

#endif
