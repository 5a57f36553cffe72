/* SPDX-License-Identifier: MIT */
/*
 * The live tasks of a session that have events or a timer, by tid. Workers use it to see whether a task is known, and
 * to read counters of tasks that they have not opened. It does not own the tasks; attach.h has its functions.
 * Thread-safe.
 */
#ifndef COLLECTOR_SOURCES_ATTACH_TABLE_H
#define COLLECTOR_SOURCES_ATTACH_TABLE_H

#include <pthread.h>

#include "collector/sources/session.h"

struct attached;
struct session;
/* Under the table's lock: the entry of the live task TID, or NULL. One whose task has ended leaves the table. */
struct attached *attach_table_find(struct session *session, pid_t tid);
void attach_table_init(struct attach_table *table);
/* All tasks must have left it. */
void attach_table_release(struct attach_table *table);
/* Private to attach.c: enters ATTACHED and marks it as covered. -EEXIST: a live task has its tid. */
int attach_table_enter(struct session *session, struct attached *attached);

#endif
