/* SPDX-License-Identifier: MIT */
/* posix_spawn: only the environment is chosen; the exec happens within libc, and the new image announces itself. */
#include "env_choice.h"
#include "image.h"
#include "next.h"
#include "object.h"
#include "timer_signal.h"

#include <errno.h>
#include <fcntl.h>

/* Not followed: as if it were missing. */
static enum pinject_image image_to_follow(const char *path, bool search)
{
    pinject_object_ready();
    pinject_object_count_sealed(PINJECT_SESSION_VFORK);
    if (!pinject_object_follows() || !(pinject_object.flags & PINJECT_SESSION_VFORK))
        return PINJECT_IMAGE_MISSING;
    enum pinject_image image = search ? pinject_image_search(path) : pinject_image_at(AT_FDCWD, path);
    /* It may become one until libc looks. */
    return pinject_object_admits(image == PINJECT_IMAGE_MISSING ? PINJECT_IMAGE_TAKES : image);
}

static bool is_preloaded(enum pinject_image image)
{
    return image != PINJECT_IMAGE_REFUSES && image != PINJECT_IMAGE_MISSING;
}

/* It runs already: it cannot ask for itself. */
static void announce(enum pinject_image image, const pid_t *pid)
{
    int saved = errno;
    if (pinject_image_is_closed(image))
        pinject_object_spawned(*pid);
    errno = saved;
}

PINJECT_HOOK int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    struct pinject_env_plan plan;
    pid_t own_pid, *pid_to = pid ? pid : &own_pid;
    enum pinject_image image = image_to_follow(path, false);
    char *const *chosen = PINJECT_ENV_CHOSEN(&plan, envp, is_preloaded(image));
    bool changed = pinject_signal_before_exec();
    int error = pinject_next()->posix_spawn(pid_to, path, actions, attr, argv, chosen);
    if (error == E2BIG && is_preloaded(image))
        error = pinject_next()->posix_spawn(pid_to, path, actions, attr, argv, PINJECT_ENV_CHOSEN(&plan, envp, false));
    pinject_signal_after_exec(changed);
    if (error == 0)
        announce(image, pid_to);
    return error;
}

PINJECT_HOOK int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    struct pinject_env_plan plan;
    pid_t own_pid, *pid_to = pid ? pid : &own_pid;
    enum pinject_image image = image_to_follow(file, true);
    char *const *chosen = PINJECT_ENV_CHOSEN(&plan, envp, is_preloaded(image));
    bool changed = pinject_signal_before_exec();
    int error = pinject_next()->posix_spawnp(pid_to, file, actions, attr, argv, chosen);
    if (error == E2BIG && is_preloaded(image))
        error = pinject_next()->posix_spawnp(pid_to, file, actions, attr, argv, PINJECT_ENV_CHOSEN(&plan, envp, false));
    pinject_signal_after_exec(changed);
    if (error == 0)
        announce(image, pid_to);
    return error;
}
