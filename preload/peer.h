/* SPDX-License-Identifier: MIT */
/*
 * The collector's socket, and the user that this process has in the kernel. Nothing here changes errno; a descriptor is
 * open only during the call.
 */
#ifndef PINJECT_PRELOAD_PEER_H
#define PINJECT_PRELOAD_PEER_H

#include "pinject/wire.h"

/*
 * Asks the collector of the session PATH for its files: RET_FDS[0] is the segment, for reading, RET_FDS[1] the channel
 * of this process' user, USER. The caller closes them. Waits for PINJECT_WAIT_US at most. SEGMENT: what is known of
 * the session, or NULL. 0 or -errno: there is no such collector (in this network namespace), it belongs to a user other
 * than root and us, it does not know this process, or there is a seccomp filter that the collector is not under and
 * that may forbid the question.
 */
int pinject_peer_ask(const char *path, const struct pinject_segment *segment, uint32_t user, int ret_fds[2]);

/*
 * This process' real user from /proc; UINT32_MAX: unknown. A tracer that emulates root (proot -0) changes what system
 * calls and the auxiliary vector report.
 */
uint32_t pinject_peer_own_user(void);

#endif
