/* SPDX-License-Identifier: MIT */
/*
 * The dynamic PMUs that sysfs describes: their formats, events and limits. What the files say is not trusted. Reads
 * files on each call; thread-safe.
 */
#ifndef COLLECTOR_EVENTS_EVENT_PMU_H
#define COLLECTOR_EVENTS_EVENT_PMU_H

#include "collector/events/event_error.h"
#include "collector/events/event_spec.h"

/* Where the kernel describes events. A test has its own. */
struct event_sources {
    const char *devices;    /* directory of a directory for each PMU */
    const char *tracing[2]; /* where tracefs may be mounted; the first that can be read counts; NULL: none */
};
extern const struct event_sources event_sources_system;

struct event_pmu {
    char name[32];
    char path[192]; /* of its directory */
    uint32_t type;
    char cpumask[32]; /* as in struct event_spec */
};

/* The bits of config, config1, config2 or config3 that a term sets, from the lowest. */
struct event_format {
    unsigned field; /* 0 to 3 */
    uint64_t bits;
};

/* The text of an event of sysfs ("event=0x3c,umask=0x1"), and what is said of its values. */
struct event_alias {
    char terms[256];
    char unit[EVENT_UNIT];
    double scale; /* 0: not said */
    bool per_package, snapshot;
};

/* May NAME be looked up as a file? It has only letters, digits, '_', '-', '.' and does not begin with a dot. */
bool event_pmu_is_name(const char *name);
/* 0 or -errno: -ENOENT: there is no PMU of that NAME; -EINVAL: its files make no sense. */
int event_pmu_find(const struct event_sources *sources, const char *name, struct event_pmu *ret);
/* The same for a term and an event of PMU. */
int event_pmu_format(const struct event_pmu *pmu, const char *term, struct event_format *ret);
int event_pmu_alias(const struct event_pmu *pmu, const char *name, struct event_alias *ret);
/* "config:0-7,21" */
int event_pmu_parse_format(const char *text, struct event_format *ret);
/*
 * Puts VALUE into FIELDS[4], in the place of what was there. -ERANGE: it has more bits than FORMAT, *RET_HIGHEST is
 * the highest.
 */
int event_format_put(const struct event_format *format, uint64_t value, uint64_t fields[4], uint64_t *ret_highest);
/* Names for suggestions and lists: of all PMUs, of a PMU's terms, of its events. */
void event_pmu_names(const struct event_sources *sources, struct event_words *words);
void event_pmu_terms(const struct event_pmu *pmu, struct event_words *words);
void event_pmu_events(const struct event_pmu *pmu, struct event_words *words);
/* The first PMU that has an event NAME: 0 or -ENOENT. */
int event_pmu_of_event(const struct event_sources *sources, const char *name, struct event_pmu *ret);

#endif
