/* SPDX-License-Identifier: MIT */
/* Which environment a new image gets. */
#ifndef PINJECT_PRELOAD_ENV_CHOICE_H
#define PINJECT_PRELOAD_ENV_CHOICE_H

#include "environ.h"

/*
 * Plans for an image that is followed or not. False: pass envp on as it is, because nothing has to change, because it
 * is wild (the kernel shall say so), or because it is too large for the stack (then the image goes unfollowed, and is
 * counted). True: bring plan->bytes of stack to pinject_env_build(). Context: anywhere, also a vfork child.
 */
bool pinject_env_choose(struct pinject_env_plan *plan, char *const *envp, bool follow);

/* The vector to pass on, on the caller's stack. A macro, because the memory has to be the caller's. */
#define PINJECT_ENV_CHOSEN(plan, envp, follow) \
    (pinject_env_choose((plan), (envp), (follow)) ? pinject_env_build((plan), __builtin_alloca((plan)->bytes)) : (envp))

#endif
