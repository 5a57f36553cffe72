/* SPDX-License-Identifier: MIT */
/*
 * preload/preload.c with everything around it faked: requests and calls of the preload object's other parts are not
 * made, but written down, one line each, also in children.
 */
#ifndef UNIT_PRELOAD_KIT_H
#define UNIT_PRELOAD_KIT_H

#include "check.h"

#include "preload/next.h"
#include "preload/preload.h"
#include "preload/state.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

struct preload_play {
    int open_error, start_error, answer;
    uint32_t flags; /* of the session that is opened */
    bool covered, no_slot, raw_execs, unreachable, secure;
    unsigned long exec_name; /* AT_EXECFN */
};

extern struct preload_play play;
extern struct pinject_segment segment;
extern struct pinject_requests requests;
extern struct pinject_slot slot; /* of the last request */
extern uint32_t begun_before_main;

void preload_kit_begin(void); /* to be called in main() */
const char *notes(void);      /* the lines since the last call */
void reset(uint32_t flags);   /* as before the constructor */
void begin(uint32_t flags);   /* a followed process */

#define assert_notes(expected) assert_string_equal(notes(), expected)
/* A request about the calling thread. */
#define ASKED(kind) kind " pid me tid me ppid parent by 0\n"

#endif
