/* SPDX-License-Identifier: MIT */
#include "collector/tasks/life.h"

#include <stddef.h>

/* Where an event leads. A pair of state and event that has no line here is a contradiction. */
static const struct {
    struct task_state from;
    enum task_event event;
    struct task_state to;
} steps[] = {
    {{TASK_ARMED, TASK_CAUSE_NONE}, TASK_EVENT_EXEC, {TASK_RUNNING, TASK_CAUSE_NONE}},
    {{TASK_ARMED, TASK_CAUSE_NONE}, TASK_EVENT_END, {TASK_STILLBORN, TASK_EXITED}},
    {{TASK_ARMED, TASK_CAUSE_NONE}, TASK_EVENT_CLOSE, {TASK_STILLBORN, TASK_CLOSED}},
    {{TASK_RUNNING, TASK_CAUSE_NONE}, TASK_EVENT_EXEC, {TASK_RUNNING, TASK_CAUSE_NONE}},
    {{TASK_RUNNING, TASK_CAUSE_NONE}, TASK_EVENT_LEAVE, {TASK_LEAVING, TASK_CAUSE_NONE}},
    {{TASK_RUNNING, TASK_CAUSE_NONE}, TASK_EVENT_EXIT, {TASK_EXITING, TASK_CAUSE_NONE}},
    {{TASK_RUNNING, TASK_CAUSE_NONE}, TASK_EVENT_END, {TASK_ENDED, TASK_EXITED}},
    {{TASK_RUNNING, TASK_CAUSE_NONE}, TASK_EVENT_CLOSE, {TASK_ENDED, TASK_CLOSED}},
    /* Records of several CPUs' rings may come late. */
    {{TASK_EXITING, TASK_CAUSE_NONE}, TASK_EVENT_EXEC, {TASK_EXITING, TASK_CAUSE_NONE}},
    {{TASK_EXITING, TASK_CAUSE_NONE}, TASK_EVENT_LEAVE, {TASK_LEAVING, TASK_CAUSE_NONE}},
    {{TASK_EXITING, TASK_CAUSE_NONE}, TASK_EVENT_EXIT, {TASK_EXITING, TASK_CAUSE_NONE}},
    {{TASK_EXITING, TASK_CAUSE_NONE}, TASK_EVENT_END, {TASK_ENDED, TASK_EXITED}},
    {{TASK_EXITING, TASK_CAUSE_NONE}, TASK_EVENT_CLOSE, {TASK_ENDED, TASK_CLOSED}},
    {{TASK_LEAVING, TASK_CAUSE_NONE}, TASK_EVENT_END, {TASK_ENDED, TASK_LEFT}},
    {{TASK_LEAVING, TASK_CAUSE_NONE}, TASK_EVENT_CLOSE, {TASK_ENDED, TASK_LEFT}},
    {{TASK_ENDED, TASK_EXITED}, TASK_EVENT_REVOKED, {TASK_ENDED, TASK_REVOKED}},
    {{TASK_STILLBORN, TASK_EXITED}, TASK_EVENT_REVOKED, {TASK_STILLBORN, TASK_REVOKED}},
    {{TASK_ENDED, TASK_REVOKED}, TASK_EVENT_CONTINUE, {TASK_ENDED, TASK_CONTINUED}},
    {{TASK_STILLBORN, TASK_REVOKED}, TASK_EVENT_CONTINUE, {TASK_STILLBORN, TASK_CONTINUED}},
};

bool task_step(struct task_state *state, enum task_event event)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (steps[i].from.life == state->life && steps[i].from.cause == state->cause && steps[i].event == event) {
            *state = steps[i].to;
            return true;
        }
    return false;
}
