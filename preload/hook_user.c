/* SPDX-License-Identifier: MIT */
/*
 * The setuid family: a process that gives up its user gives up what it shares with that user's other processes, so
 * that whoever takes it over later holds nothing. It goes on over a channel of its new user, which root asks for before
 * it goes. seteuid() for a while changes nothing: the process keeps the right to come back.
 */
#include "next.h"
#include "object.h"

#include <errno.h>
#include <unistd.h>

static const uid_t SAME = (uid_t)-1;

/* Before the call, if it is to do what it does to root. */
static void changes(uid_t real, uid_t effective, uid_t saved, bool setreuid)
{
    int before = errno;
    pinject_object_ready();
    if (pinject_object.standing == PINJECT_FOLLOWED)
        pinject_object_changes_user(real, effective, saved, setreuid);
    errno = before;
}

/* After the call, as a failed one changes nothing. */
static int changed(int result)
{
    int saved = errno;
    if (pinject_object.standing == PINJECT_FOLLOWED) {
        if (result == 0)
            pinject_object_changed_user();
        else
            pinject_object_keeps_user();
    }
    errno = saved;
    return result;
}

PINJECT_HOOK int setuid(uid_t user)
{
    changes(user, user, user, false);
    return changed(pinject_next()->setuid(user));
}

PINJECT_HOOK int seteuid(uid_t user)
{
    changes(SAME, user, SAME, false);
    return changed(pinject_next()->seteuid(user));
}

PINJECT_HOOK int setreuid(uid_t real, uid_t effective)
{
    changes(real, effective, SAME, true);
    return changed(pinject_next()->setreuid(real, effective));
}

PINJECT_HOOK int setresuid(uid_t real, uid_t effective, uid_t saved)
{
    changes(real, effective, saved, false);
    return changed(pinject_next()->setresuid(real, effective, saved));
}
