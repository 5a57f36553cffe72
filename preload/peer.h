/* SPDX-License-Identifier: MIT */
/*
 * The collector's socket, and who this process is to the kernel. Nothing here changes errno; a descriptor is open for as
 * long as the call takes.
 */
#ifndef PINJECT_PRELOAD_PEER_H
#define PINJECT_PRELOAD_PEER_H

#include "pinject/wire.h"

/*
 * Asks the collector of the session PATH for its files: RET_FDS[0] is the segment, for reading, RET_FDS[1] the channel
 * of this process' user, who is USER; the caller closes them. Waits for PINJECT_WAIT_MAX_US at most. SEGMENT: what is
 * known of the session, or NULL. 0 or -errno: there is no such collector (in this network namespace), it belongs to
 * another user than root and us, it does not know this process, or a seccomp filter that it is not under may forbid to
 * ask.
 */
int pinject_peer_ask(const char *path, const struct pinject_segment *segment, uint32_t user, int ret_fds[2]);

/*
 * This process' real user, as the kernel's /proc has it; UINT32_MAX: unknown. A tracer that plays root (proot -0)
 * changes what system calls and the auxiliary vector say of it.
 */
uint32_t pinject_peer_own_user(void);

#endif
