/* SPDX-License-Identifier: MIT */
/* The life of a task: each event in each state. */
#include "check.h"

#include "collector/tasks/life.h"

static const enum task_event all_events[] = {TASK_EVENT_EXEC,  TASK_EVENT_LEAVE,   TASK_EVENT_EXIT,    TASK_EVENT_END,
                                             TASK_EVENT_CLOSE, TASK_EVENT_REVOKED, TASK_EVENT_CONTINUE};

/* Where EVENT leads, written down once more and in other words. False: it cannot come. */
static bool expect_step(struct task_state *state, enum task_event event)
{
    const bool lives = state->cause == TASK_CAUSE_NONE && state->life < TASK_ENDED;
    const bool armed = state->life == TASK_ARMED, leaving = state->life == TASK_LEAVING;
    const bool over = state->life == TASK_ENDED || state->life == TASK_STILLBORN;
    switch (event) {
    case TASK_EVENT_EXEC:
        if (armed)
            state->life = TASK_RUNNING;
        return lives && !leaving;
    case TASK_EVENT_LEAVE:
        if (!lives || armed || leaving)
            return false;
        state->life = TASK_LEAVING;
        return true;
    case TASK_EVENT_EXIT:
        if (!lives || armed || leaving)
            return false;
        state->life = TASK_EXITING;
        return true;
    case TASK_EVENT_END:
    case TASK_EVENT_CLOSE:
        if (!lives)
            return false;
        state->cause = leaving ? TASK_LEFT : event == TASK_EVENT_END ? TASK_EXITED : TASK_CLOSED;
        state->life = armed ? TASK_STILLBORN : TASK_ENDED;
        return true;
    case TASK_EVENT_REVOKED:
        if (!over || state->cause != TASK_EXITED)
            return false;
        state->cause = TASK_REVOKED;
        return true;
    case TASK_EVENT_CONTINUE:
        if (!over || state->cause != TASK_REVOKED)
            return false;
        state->cause = TASK_CONTINUED;
        return true;
    default: return false;
    }
}

static void each_event_in_each_state(void **state)
{
    (void)state;
    assert_int_equal(sizeof(all_events) / sizeof(all_events[0]), TASK_EVENTS);
    for (int life = 0; life < TASK_LIVES; life++)
        for (int cause = 0; cause < TASK_CAUSES; cause++)
            for (int event = 0; event <= TASK_EVENTS; event++) {
                const struct task_state before = {(enum task_life)life, (enum task_cause)cause};
                struct task_state got = before, wanted = before;
                const bool can = expect_step(&wanted, (enum task_event)event);
                const bool does = task_step(&got, (enum task_event)event);
                if (!can)
                    wanted = before;
                if (does != can || got.life != wanted.life || got.cause != wanted.cause)
                    fail_msg("state %d, cause %d, event %d: %s, to %d, cause %d", life, cause, event,
                             does ? "taken" : "refused", (int)got.life, (int)got.cause);
            }
}

/* From its start a task reaches these states and no others, and each of them ends, or has ended. */
static void states_that_can_be_reached(void **state)
{
    bool reached[TASK_LIVES][TASK_CAUSES] = {{false}};
    unsigned count = 2;
    (void)state;
    reached[TASK_RUNNING][TASK_CAUSE_NONE] = reached[TASK_ARMED][TASK_CAUSE_NONE] = true;
    for (bool more = true; more;) {
        more = false;
        for (int life = 0; life < TASK_LIVES; life++)
            for (int cause = 0; cause < TASK_CAUSES; cause++)
                for (int event = 0; event < TASK_EVENTS; event++) {
                    struct task_state at = {(enum task_life)life, (enum task_cause)cause};
                    if (!reached[life][cause] || !task_step(&at, (enum task_event)event) || reached[at.life][at.cause])
                        continue;
                    more = reached[at.life][at.cause] = true;
                    count++;
                }
    }
    assert_int_equal(count, 4 + 5 + 4);
    for (int life = 0; life < TASK_LIVES; life++)
        for (int cause = 0; cause < TASK_CAUSES; cause++) {
            if (!reached[life][cause])
                continue;
            assert_int_equal(life < TASK_ENDED, cause == TASK_CAUSE_NONE);
            struct task_state at = {(enum task_life)life, (enum task_cause)cause};
            assert_int_equal(task_step(&at, TASK_EVENT_CLOSE), life < TASK_ENDED);
        }
    assert_false(reached[TASK_STILLBORN][TASK_LEFT]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_event_in_each_state),
                                       cmocka_unit_test(states_that_can_be_reached)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
