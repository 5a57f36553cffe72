/* SPDX-License-Identifier: MIT */
#include "env_choice.h"
#include "preload.h"

#include <errno.h>

char *const *pinject_env_chosen(struct pinject_room *room, char *const *envp, bool join)
{
    const struct pinject_preload *preload = &pinject_preload;
    struct pinject_env_layout layout;
    int error = pinject_env_layout(&layout, envp, preload->ours, join);
    if (error == 0 && !layout.changes)
        return envp;
    void *memory = error == 0 ? pinject_room_vector(room, layout.bytes) : NULL;
    if (memory)
        return pinject_env_build(&layout, memory);
    if (error != -EFAULT && join)
        __atomic_fetch_add(&preload->channel.requests->dropped, 1, __ATOMIC_RELAXED);
    return envp;
}
