/* SPDX-License-Identifier: MIT */
/* posix_spawn: only the environment is chosen; the exec happens within libc, and the new image announces itself. */
#include "env_choice.h"
#include "image.h"
#include "next.h"
#include "object.h"

#include <errno.h>
#include <fcntl.h>

static bool image_is_followed(const char *path, bool search)
{
    pinject_object_ready();
    if (!pinject_object_follows() || !(pinject_object.flags & PINJECT_SESSION_VFORK))
        return false;
    return (search ? pinject_image_search(path) : pinject_image_at(AT_FDCWD, path)) != PINJECT_IMAGE_REFUSES;
}

PINJECT_HOOK int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    struct pinject_env_plan plan;
    char *const *chosen = PINJECT_ENV_CHOSEN(&plan, envp, image_is_followed(path, false));
    int error = pinject_next()->posix_spawn(pid, path, actions, attr, argv, chosen);
    if (error == E2BIG && chosen != envp)
        error = pinject_next()->posix_spawn(pid, path, actions, attr, argv, envp);
    return error;
}

PINJECT_HOOK int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    struct pinject_env_plan plan;
    char *const *chosen = PINJECT_ENV_CHOSEN(&plan, envp, image_is_followed(file, true));
    int error = pinject_next()->posix_spawnp(pid, file, actions, attr, argv, chosen);
    if (error == E2BIG && chosen != envp)
        error = pinject_next()->posix_spawnp(pid, file, actions, attr, argv, envp);
    return error;
}
