/* SPDX-License-Identifier: MIT */
#include "collector/sources/covered.h"

#include "collector/sources/session.h"

void covered_mark(struct session *session, pid_t tid, bool covered)
{
    if (!session->segment || tid <= 0 || tid >= PINJECT_TASKS)
        return;
    uint64_t *word = &session->segment->covered[tid / 64], bit = UINT64_C(1) << (tid % 64);
    if (covered)
        __atomic_fetch_or(word, bit, __ATOMIC_RELEASE);
    else
        __atomic_fetch_and(word, ~bit, __ATOMIC_RELEASE);
}
