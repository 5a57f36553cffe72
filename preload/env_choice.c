/* SPDX-License-Identifier: MIT */
#include "env_choice.h"
#include "object.h"

#include <errno.h>

char *const *pinject_env_chosen(struct pinject_room *room, char *const *envp, bool join)
{
    const struct pinject_object *object = &pinject_object;
    struct pinject_env_plan plan;
    int error = pinject_env_plan(&plan, envp, object->ours, join);
    if (error == 0 && !plan.changes)
        return envp;
    void *memory = error == 0 ? pinject_room_vector(room, plan.bytes) : NULL;
    if (memory)
        return pinject_env_build(&plan, memory);
    if (error != -EFAULT && join)
        __atomic_fetch_add(&object->channel.requests->dropped, 1, __ATOMIC_RELAXED);
    return envp;
}
