/* SPDX-License-Identifier: MIT */
/*
 * The live tasks of a session that have events, or a timer of their own, by tid: so that workers know whom they have
 * met, and read counters of whom they have not opened. It does not own them; attach.h says what it is asked.
 * Thread-safe.
 */
#ifndef COLLECTOR_SOURCES_ATTACH_TABLE_H
#define COLLECTOR_SOURCES_ATTACH_TABLE_H

#include <pthread.h>

#include "collector/sources/session.h"

struct attached;
void attach_table_init(struct attach_table *table);
/* Its tasks have left it. */
void attach_table_release(struct attach_table *table);
/* Private to attach.c: ATTACHED enters, and is marked as covered. -EEXIST: its tid is there and lives. */
int attach_table_enter(struct session *session, struct attached *attached);

#endif
