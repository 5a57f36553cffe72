/* SPDX-License-Identifier: MIT */
#include "collector/callers.h"

#include <string.h>
#include <unistd.h>

void callers_init(struct callers *callers)
{
    memset(callers, 0, sizeof(*callers));
}

static int take(struct caller *caller)
{
    int peer = caller->peers[caller->first];
    caller->first = (caller->first + 1) % CALLERS_HELD;
    caller->held--;
    return peer;
}

void callers_release(struct callers *callers)
{
    for (unsigned i = 0; i < callers->count; i++)
        while (callers->list[i].held)
            close(take(&callers->list[i]));
    callers->count = 0;
}

void callers_new_second(struct callers *callers)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < callers->count; i++) {
        if (!callers->list[i].held)
            continue;
        callers->list[i].used_ns = 0;
        if (kept != i)
            callers->list[kept] = callers->list[i];
        kept++;
    }
    callers->count = kept;
    callers->used_ns = 0;
}

struct caller *callers_find(struct callers *callers, uid_t user)
{
    for (unsigned i = 0; i < callers->count; i++)
        if (callers->list[i].user == user)
            return &callers->list[i];
    if (callers->count == CALLERS_USERS)
        return &callers->list[CALLERS_USERS - 1];
    struct caller *caller = &callers->list[callers->count++];
    *caller = (struct caller){.user = user};
    return caller;
}

bool callers_is_dear(const struct callers *callers, const struct caller *caller, uint64_t allowed_ns)
{
    return callers->used_ns > allowed_ns && caller->used_ns >= allowed_ns / callers->count;
}

bool callers_hold(struct caller *caller, int peer)
{
    if (caller->held == CALLERS_HELD)
        return false;
    caller->peers[(caller->first + caller->held++) % CALLERS_HELD] = peer;
    return true;
}

int callers_next(struct callers *callers, struct caller **ret)
{
    for (unsigned i = 0; i < callers->count; i++) {
        struct caller *caller = &callers->list[callers->turn++ % callers->count];
        if (!caller->held)
            continue;
        *ret = caller;
        return take(caller);
    }
    return -1;
}
