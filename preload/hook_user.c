/* SPDX-License-Identifier: MIT */
/*
 * The setuid family. A process that gives up its user gives up what it shares with that user's other processes, so that
 * somebody who takes it over later has nothing. It goes on with a channel of its new user, which root requests before
 * the call. A temporary seteuid() changes nothing: the process keeps the right to come back.
 */
#include "next.h"
#include "session.h"
#include "state.h"

#include <errno.h>
#include <unistd.h>

static const uid_t SAME = (uid_t)-1;

/* Before the call, while root still has its rights. */
static void before_change(uid_t real, uid_t effective, uid_t saved, bool setreuid)
{
    int before = errno;
    pinject_preload_ready();
    if (pinject_preload.state == PINJECT_FOLLOWED)
        pinject_preload_changes_user(real, effective, saved, setreuid);
    errno = before;
}

/* After the call, as a failed call changes nothing. */
static int after_change(int result)
{
    int saved = errno;
    if (pinject_preload.state == PINJECT_FOLLOWED) {
        if (result == 0)
            pinject_preload_changed_user();
        else
            pinject_preload_keeps_user();
    }
    errno = saved;
    return result;
}

PINJECT_HOOK int setuid(uid_t user)
{
    before_change(user, user, user, false);
    return after_change(pinject_next()->setuid(user));
}

PINJECT_HOOK int seteuid(uid_t user)
{
    before_change(SAME, user, SAME, false);
    return after_change(pinject_next()->seteuid(user));
}

PINJECT_HOOK int setreuid(uid_t real, uid_t effective)
{
    before_change(real, effective, SAME, true);
    return after_change(pinject_next()->setreuid(real, effective));
}

PINJECT_HOOK int setresuid(uid_t real, uid_t effective, uid_t saved)
{
    before_change(real, effective, saved, false);
    return after_change(pinject_next()->setresuid(real, effective, saved));
}
