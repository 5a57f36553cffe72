/* SPDX-License-Identifier: MIT */
/* What the program that we are in is. */
#ifndef PINJECT_PRELOAD_PROGRAM_H
#define PINJECT_PRELOAD_PROGRAM_H

#include <stdbool.h>

/* Whether it executes programs by system calls of its own, with an environment of its own: Go does, with cgo too. */
bool pinject_program_execs_by_itself(void);

#endif
