/* SPDX-License-Identifier: MIT */
/* How an exec generation joins its session, and what a change of its user does to it. Nothing here changes errno. */
#ifndef PINJECT_PRELOAD_SESSION_H
#define PINJECT_PRELOAD_SESSION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Maps and checks the session's segment and this user's channel: 0, -ENOENT ... if it is none of ours, -EXDEV in
 * another pid namespace.
 */
int pinject_preload_open(const char *path);
/* Unmaps both. */
void pinject_preload_close(void);
/*
 * Could a new exec generation load the preload object and open the session? Not after chroot, under landlock, or if
 * neither the session's files nor its socket can be reached. Context: also a vfork child.
 */
bool pinject_preload_reachable(void);
/*
 * The process is about to call a setuid() function with these users, UINT32_MAX: unchanged. If root gives up its rights
 * for good by that, this requests the channel of the new user, who would have to wait for the socket otherwise.
 * SETREUID: SAVED is computed as setreuid() does. Afterwards one of the two below must be called. Context: as below.
 */
void pinject_preload_changes_user(uint32_t real, uint32_t effective, uint32_t saved, bool setreuid);
/* The call failed. */
void pinject_preload_keeps_user(void);
/*
 * The process may have given up its user's rights for good. Then private memory replaces that user's channel, and the
 * channel of the new user takes its place. Does nothing in a vfork child. Other threads may be in the middle of a
 * request: they go on without an answer.
 */
void pinject_preload_changed_user(void);
/* In a child of fork: the same, because another thread of the parent may have been about to call it. */
void pinject_preload_look_at_user(void);
/*
 * The process may be about to enter another user namespace: then its next change of user gives up its channel. Returns
 * the previous setting.
 */
bool pinject_preload_user_moves(bool moves);
/* In a child of fork: resets what another thread of the parent was doing. */
void pinject_session_forked(void);

#endif
