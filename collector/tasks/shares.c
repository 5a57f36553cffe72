/* SPDX-License-Identifier: MIT */
#include "collector/tasks/shares.h"

struct share *shares_of(struct shares *shares, uid_t user)
{
    for (unsigned i = 0; i < shares->count; i++)
        if (shares->users[i].user == user)
            return &shares->users[i];
    if (shares->count == SHARES - 1)
        return &shares->users[SHARES - 2];
    struct share *share = &shares->users[shares->count++];
    *share = (struct share){.user = user};
    return share;
}

uint64_t shares_refused(const struct shares *shares)
{
    uint64_t refused = shares->own.quota.refused;
    for (unsigned i = 0; i < shares->count; i++)
        refused += shares->users[i].quota.refused;
    return refused;
}
