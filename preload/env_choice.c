/* SPDX-License-Identifier: MIT */
#include "env_choice.h"
#include "object.h"
#include "reach.h"

#include <errno.h>

enum { SURELY_THERE = 4096 };

bool pinject_env_choose(struct pinject_env_plan *plan, char *const *envp, bool follow)
{
    const struct pinject_object *object = &pinject_object;
    if (object->standing == PINJECT_NOTHING)
        return false;
    int error = pinject_env_plan(plan, envp, object->ours, follow);
    if (error == 0 && plan->changes && plan->bytes > SURELY_THERE && !pinject_reach_stack(plan->bytes))
        error = -E2BIG;
    if (error == -E2BIG && follow)
        __atomic_fetch_add(&object->channel.requests->dropped, 1, __ATOMIC_RELAXED);
    return error == 0 && plan->changes;
}
