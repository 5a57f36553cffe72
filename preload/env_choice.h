/* SPDX-License-Identifier: MIT */
/* Which environment a new exec generation gets. */
#ifndef PINJECT_PRELOAD_ENV_CHOICE_H
#define PINJECT_PRELOAD_ENV_CHOICE_H

#include "environ.h"
#include "room.h"

/*
 * The vector for an exec generation that is to load the preload object, or not to: within ROOM, until that is used
 * again, or ENVP itself: because nothing has to change, because it is wild (the kernel shall say so), or because there
 * is no memory for another (counted). Context: anywhere, also a vfork child.
 */
char *const *pinject_env_chosen(struct pinject_room *room, char *const *envp, bool join);

#endif
