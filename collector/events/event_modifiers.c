/* SPDX-License-Identifier: MIT */
#include "collector/events/event_modifiers.h"

#include <string.h>

#define LETTERS "ukhGHIpPDeS"

/* perf's further letters, and why they are refused. */
static const struct {
    char letter;
    const char *why;
} others[] = {
    {'W',
     "modifier W is not supported: pinject does not split a group that cannot be counted together; leave out W or the "
     "braces"},
    {'b', "modifier b is not supported: pinject counts with perf events, not with BPF programs; leave b out"},
};

bool event_modifiers_are(const char *text)
{
    return *text && strspn(text, LETTERS "Wb") == strlen(text);
}

int event_modifiers_check(const struct event_place *place, const char *text)
{
    if (!*text)
        return event_error(place, NULL, NULL,
                           "there is no modifier after the ':'; write :u, :k, or the name without ':'");
    for (const char *at = text; *at; at++) {
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
            if (*at == others[i].letter)
                return event_error(place, NULL, NULL, "%s", others[i].why);
        if (!strchr(LETTERS, *at))
            return event_error(place, NULL, NULL,
                               "unknown modifier '%c'; use u (user space), k (kernel), h (hypervisor), G or H (guest, "
                               "host), I (not idle), p, pp, ppp or P (precise), D (pinned), e (exclusive), S (counts "
                               "of the group in each sample)",
                               *at);
    }
    return 0;
}

static void set_level(struct event_spec *spec, char letter)
{
    struct perf_event_attr *attr = &spec->attr;
    if (!(spec->says & EVENT_SAYS_LEVEL))
        attr->exclude_user = attr->exclude_kernel = attr->exclude_hv = 1;
    spec->says |= EVENT_SAYS_LEVEL;
    if (letter == 'u')
        attr->exclude_user = 0;
    else if (letter == 'k')
        attr->exclude_kernel = 0;
    else
        attr->exclude_hv = 0;
}

static void set_machine(struct perf_event_attr *attr, char letter)
{
    if (!attr->exclude_guest && !attr->exclude_host)
        attr->exclude_guest = attr->exclude_host = 1;
    if (letter == 'G')
        attr->exclude_guest = 0;
    else
        attr->exclude_host = 0;
}

bool event_modifiers_too_precise(const struct event_spec *spec, const char *text)
{
    size_t count = spec->attr.precise_ip;
    for (; *text; text++)
        count += *text == 'p';
    return count > 3;
}

void event_modifiers_apply(struct event_spec *spec, const char *text)
{
    struct perf_event_attr *attr = &spec->attr;
    const bool machine = strpbrk(text, "GH") || attr->exclude_host || attr->exclude_guest;
    for (; *text; text++) {
        if (strchr("ukh", *text))
            set_level(spec, *text);
        else if (strchr("GH", *text))
            set_machine(attr, *text);
        else if (*text == 'I')
            attr->exclude_idle = 1;
        else if (*text == 'p') {
            attr->precise_ip++;
            if (!machine) /* Intel's PEBS needs it */
                attr->exclude_guest = 1;
        } else if (*text == 'P')
            spec->says |= EVENT_SAYS_MOST_PRECISE;
        else if (*text == 'D')
            attr->pinned = spec->leader;
        else if (*text == 'e')
            attr->exclusive = spec->leader;
        else if (*text == 'S')
            spec->says |= EVENT_SAYS_VALUES;
    }
}
