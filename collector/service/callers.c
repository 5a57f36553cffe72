/* SPDX-License-Identifier: MIT */
#include "collector/service/callers.h"

#include <string.h>
#include <unistd.h>

void callers_init(struct callers *callers)
{
    memset(callers, 0, sizeof(*callers));
}

static struct caller_peer take(struct callers *callers, struct caller *caller)
{
    struct caller_peer peer = caller->peers[caller->first];
    caller->first = (caller->first + 1) % CALLERS_HELD;
    caller->held--;
    callers->held--;
    return peer;
}

void callers_release(struct callers *callers)
{
    for (unsigned i = 0; i < callers->count; i++)
        while (callers->list[i].held)
            close(take(callers, &callers->list[i]).fd);
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

void callers_hold(struct callers *callers, struct caller *caller, int peer, uint64_t now_ns)
{
    if (caller->held && (caller->held == CALLERS_HELD || callers->held == CALLERS_ALL))
        close(take(callers, caller).fd);
    if (callers->held == CALLERS_ALL) {
        close(peer);
        return;
    }
    caller->peers[(caller->first + caller->held++) % CALLERS_HELD] = (struct caller_peer){peer, now_ns};
    callers->held++;
}

int callers_next(struct callers *callers, uint64_t now_ns, struct caller **ret)
{
    for (unsigned i = 0; i < callers->count; i++) {
        struct caller *caller = &callers->list[callers->turn++ % callers->count];
        while (caller->held) {
            struct caller_peer peer = take(callers, caller);
            *ret = caller;
            if (now_ns - peer.since_ns < CALLERS_LATE_NS)
                return peer.fd;
            close(peer.fd);
        }
    }
    return -1;
}
