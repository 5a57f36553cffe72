/* SPDX-License-Identifier: MIT */
/* Which environment a new exec generation gets. */
#ifndef PINJECT_PRELOAD_ENV_CHOICE_H
#define PINJECT_PRELOAD_ENV_CHOICE_H

#include "environ.h"
#include "room.h"

/*
 * Returns the environment for an exec generation that loads the preload object (JOIN) or does not. The vector is in
 * ROOM and valid until the room's vector is used again, or it is ENVP itself: nothing has to change, ENVP is wild (the
 * kernel will report that), or there is no memory (counted if JOIN). Context: anywhere, also a vfork child.
 */
char *const *pinject_env_chosen(struct pinject_room *room, char *const *envp, bool join);

#endif
