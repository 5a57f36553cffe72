/* SPDX-License-Identifier: MIT */
/*
 * A session of process 100, the root of an inherited set; records of inherited sets, and fakes of the kernel's and
 * /proc's facts about tasks.
 */
#ifndef UNIT_INHERITED_KIT_H
#define UNIT_INHERITED_KIT_H

#include "check.h"

#include "collector/sources/inherited.h"
#include "test_tasks_kit.h"

#define T                      2000000000ull
#define HEAD(type, misc, size) ((uint64_t)(type) | (uint64_t)(misc) << 32 | (uint64_t)(size) << 48)
#define PAIR(a, b)             ((uint64_t)(uint32_t)(a) | (uint64_t)(uint32_t)(b) << 32)

enum { SET = 7, READINGS = 3 };

struct writer {
    pid_t pid, tid;
    uint64_t inherited_set;
    unsigned event;
    bool root;
};

extern struct stage stage;
extern const struct writer root, child, thread;
extern uint64_t taken_before, lost_of_sets;
extern const char *children, *stat_text; /* of /proc */
extern uint64_t scheduled_ns;
extern int open_status, inherit_status;
extern unsigned opened, inherited_laid;
extern pid_t root_of_set, known_by_set, number_given_away;
extern pid_t forgotten, made_by, made_one; /* reported to the inherited sets */
extern bool laid_by_pidfd;                 /* the last inherited set: of a process held by a pidfd */
extern bool looks_hang;                    /* no answer comes in time */
extern bool part_alone;                    /* records announce tasks that started while the inherited set was opened */
extern unsigned errands_begun;
extern unsigned at_once;                /* samples taken as those of rings that are read to their ends */
extern struct notification last_wanted; /* the last task to be attached */
extern uint64_t clock_ns, clock_step;   /* clock_step: added by each reading of the clock */

#define PUT(writer, time, ...) \
    put(writer, time, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}))
#define TRAILER(writer, time) PAIR((writer).pid, (writer).tid), time, 901

void put(struct writer writer, uint64_t time_ns, const uint64_t *words, size_t size);
void put_fork(struct writer writer, pid_t pid, pid_t tid, uint64_t time_ns);
void put_comm(struct writer writer, const char *eight, bool exec, uint64_t time_ns);
void put_sample(struct writer writer, uint16_t misc, uint64_t time_ns);
void put_exit(struct writer writer, uint64_t time_ns);
/* The kit's read_format has no id. */
void put_reading(struct writer writer, uint64_t value, uint64_t enabled, uint64_t running, uint64_t lost);
/* Takes all records. */
void take(void);

int inherited_set_up(void **state);
int inherited_tear_down(void **state);
#define TEST(function) cmocka_unit_test_setup_teardown(function, inherited_set_up, inherited_tear_down)

#endif
