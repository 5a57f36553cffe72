/* SPDX-License-Identifier: MIT */
/*
 * Unit tests of hooks: preload/hook_*.c is compiled with its functions named hook_NAME, and linked to this instead of
 * the rest of the preload object. Every call of a hook is written down, one line per call, in order, also in children.
 * A test compares the lines, so that a call too many, too few, or with other arguments fails it.
 */
#ifndef UNIT_HOOK_KIT_H
#define UNIT_HOOK_KIT_H

#include "check.h"

#include "preload/next.h"
#include "preload/preload.h"
#include "preload/room.h"
#include "preload/state.h"

#include <errno.h>

/* The results of the preload object's other parts, and of the next functions. */
struct hook_kit {
    long result;    /* of the next function */
    int error;      /* errno that it sets; 0: none */
    int error_once; /* the same, only for its first call (result -1, or the error, if it is returned) */
    enum pinject_exec_kind exec_kind;
    bool unreachable; /* a new exec generation could not open the session */
    bool covered, timer_runs, used, masked, paused;
    int signal;                       /* 0: none is taken */
    bool signal_changes, timer_tells; /* at an exec */
    bool no_room, no_vector, no_record, no_function;
    char *const *envp;       /* of the test: "same" in the lines */
    void (*meanwhile)(void); /* called by the next function */
};

extern struct hook_kit hook_kit;
extern struct pinject_segment hook_segment;
extern struct pinject_requests hook_requests;
extern struct pinject_next hook_next; /* functions that are not faked here are NULL */

/* Starts with a followed process of a session with FLAGS, and no lines. */
void hook_kit_begin(uint32_t flags);
void hook_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The lines since the last call. */
const char *hook_notes(void);
/* Texts for lines: NULL as "null", a vector as "{a,b}". */
const char *hook_text(const char *text);
const char *hook_vector(char *const *vector);
/* Returns the result of a next function, and sets errno. */
long hook_answer(void);

#define assert_notes(expected) assert_string_equal(hook_notes(), expected)

#endif
