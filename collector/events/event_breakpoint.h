/* SPDX-License-Identifier: MIT */
/* Hardware breakpoints: mem:ADDRESS or mem:SYMBOL[+N], then [/LENGTH][:rwx][:MODIFIERS]. */
#ifndef COLLECTOR_EVENTS_EVENT_BREAKPOINT_H
#define COLLECTOR_EVENTS_EVENT_BREAKPOINT_H

#include "collector/events/event_error.h"
#include "collector/events/event_spec.h"

/*
 * TEXT: what stands after "mem:"; it is cut up. *RET_MODIFIERS: what is left, NULL: nothing. 0, or -EINVAL after
 * event_error().
 */
int event_breakpoint_parse(const struct event_place *place, char *text, struct event_spec *spec,
                           const char **ret_modifiers);
/*
 * The address of a breakpoint on a symbol of the ELF file PATH (NULL: there is no command); others are left alone. 0,
 * or -EINVAL after event_error().
 */
int event_breakpoint_resolve(const struct event_place *place, const char *path, struct event_spec *spec);

#endif
