/* SPDX-License-Identifier: MIT */
#include "common/follow.h"

#include <errno.h>
#include <pinject/wire.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/report.h"

/* The first name of a flag is the one that follow_text() writes. */
static const struct {
    const char *name;
    unsigned flags;
} names[] = {
    {"fork", PINJECT_SESSION_FORK},
    {"vfork", PINJECT_SESSION_VFORK},
    {"threads", PINJECT_SESSION_PTHREAD},
    {"exec", PINJECT_SESSION_EXEC},
    {"pthread", PINJECT_SESSION_PTHREAD},
    {"all", PINJECT_SESSION_ALL},
    {"none", 0},
};
enum { NAMES = sizeof(names) / sizeof(names[0]), SINGLE = 4 };

int follow_parse(const char *list, unsigned *ret_flags)
{
    unsigned flags = 0;
    for (const char *at = list;; at++) {
        size_t size = strcspn(at, ","), i = 0;
        while (i < NAMES && (strlen(names[i].name) != size || memcmp(names[i].name, at, size) != 0))
            i++;
        if (i == NAMES) {
            report_error("cannot follow '%.*s'; use all, none, threads, fork, vfork or exec, separated by commas",
                         (int)size, at);
            return -EINVAL;
        }
        flags |= names[i].flags;
        at += size;
        if (!*at)
            break;
    }
    *ret_flags = flags;
    return 0;
}

bool follow_is_all(unsigned flags)
{
    return (flags & PINJECT_SESSION_ALL) == PINJECT_SESSION_ALL;
}

char *follow_text(char *ret, unsigned flags)
{
    size_t used = 0;
    snprintf(ret, FOLLOW_TEXT, "%s", follow_is_all(flags) ? "all" : "none");
    for (size_t i = 0; i < SINGLE && !follow_is_all(flags); i++)
        if (flags & names[i].flags)
            used += (size_t)snprintf(ret + used, FOLLOW_TEXT - used, "%s%s", used ? "," : "", names[i].name);
    return ret;
}
