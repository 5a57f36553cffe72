/* SPDX-License-Identifier: MIT */
/* How many files the event loop writes in a round, beside events that come and descriptors that are short. */
#include "rounds_kit.h"

enum { SWEEP_MS = 100, MANY = 8193, MOST = 65537 };

static void many_done(void)
{
    set_done(MANY);
}

static void not_quite_many_done(void)
{
    set_done(MANY - 1);
}

static void many_done_no_room(void)
{
    many_done();
    no_room();
}

static void most_done_no_room(void)
{
    set_done(MOST);
    no_room();
}

static void not_quite_most_done_no_room(void)
{
    set_done(MOST - 1);
    no_room();
}

static void dear_files(void)
{
    most_done_no_room();
    file_ns = MS;
}

static void cheap_files(void)
{
    most_done_no_room();
    file_ns = 1;
}

/* Nothing else is to be done: up to eight files a round, short of descriptors or not. */
static void quiet_rounds_write_files(void **state)
{
    static const struct round given[] = {{.events = 0, .waited_ns = MS, .timeout_ms = SWEEP_MS + 1},
                                         {.events = 0, .change = some_done, .files = 8, .timeout_ms = SWEEP_MS},
                                         {.events = 0, .files = 8},
                                         {.events = 0, .change = no_room, .files = 8},
                                         {.events = 0, .change = many_done, .files = 8},
                                         {.events = 0, .change = none_done},
                                         {.events = ROUND_END}};
    (void)state;
    rounds_expect(given);
}

/* Short of descriptors, none is written while events come. */
static void events_come_before_files(void **state)
{
    static const struct round given[] = {{.events = 1, .change = some_done, .files = 1, .timeout_ms = SWEEP_MS + 1},
                                         {.events = 1, .waited_ns = 10 * MS, .change = no_room, .files = 0},
                                         {.events = 1, .waited_ns = 10 * MS, .files = 0},
                                         {.events = 0, .files = 8}, /* now there is time */
                                         {.events = 1, .waited_ns = 10 * MS, .change = room, .files = 1},
                                         {.events = 1, .waited_ns = 10 * MS, .change = none_done},
                                         {.events = ROUND_END}};
    (void)state;
    urgent = 1; /* none is written in pauses */
    rounds_expect(given);
}

/* A quarter of the time, where few wait: one file, then three times as long none. */
static void a_file_keeps_others_waiting(void **state)
{
    static const struct round given[] = {{.events = 1, .change = some_done, .files = 1, .timeout_ms = SWEEP_MS + 1},
                                         {.events = 1, .waited_ns = 18 * MS - 1, .files = 0},
                                         {.events = 1, .waited_ns = 1, .files = 1},
                                         {.events = 1, .waited_ns = 18 * MS - 1, .files = 0},
                                         {.events = 0, .files = 8}, /* no event: whatever it costs */
                                         {.events = ROUND_END}};
    (void)state;
    urgent = 1;
    file_ns = 6 * MS;
    rounds_expect(given);
}

/* Half of the time: 1 ms a round, where many wait. Short of descriptors none, unless far too many wait. */
static void many_files_come_before_events(void **state)
{
    static const struct round given[] = {
        {.events = 1, .change = not_quite_many_done, .files = 1, .timeout_ms = SWEEP_MS + 1},
        {.events = 1, .change = not_quite_many_done, .files = 0},
        {.events = 1, .change = many_done, .files = 4},
        {.events = 9, .change = many_done, .files = 4},
        {.events = 1, .change = many_done_no_room, .files = 0},
        {.events = 1, .change = not_quite_most_done_no_room, .files = 0},
        {.events = 1, .change = most_done_no_room, .files = 4},
        {.events = 1, .change = dear_files, .files = 1},
        {.events = 1, .change = cheap_files, .files = 8},
        {.events = 1, .change = none_done, .files = 0},
        {.events = ROUND_END}};
    (void)state;
    urgent = 1;
    file_ns = MS / 4;
    rounds_expect(given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(quiet_rounds_write_files),
        TEST(events_come_before_files),
        TEST(a_file_keeps_others_waiting),
        TEST(many_files_come_before_events),
    };
    return cmocka_run_group_tests(tests, rounds_enter, rounds_leave);
}
