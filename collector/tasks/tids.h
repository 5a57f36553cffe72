/* SPDX-License-Identifier: MIT */
/* A set of task numbers. A number that no task can have is in none. */
#ifndef COLLECTOR_TASKS_TIDS_H
#define COLLECTOR_TASKS_TIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tids {
    uint64_t *words; /* a bit for each number */
    size_t count;    /* numbers in the set */
};

/* 0 or -errno. */
int tids_init(struct tids *tids);
void tids_release(struct tids *tids);
bool tids_has(const struct tids *tids, pid_t tid);
void tids_add(struct tids *tids, pid_t tid);
/* Was it in the set? */
bool tids_remove(struct tids *tids, pid_t tid);

#endif
