/* SPDX-License-Identifier: MIT */
/* Properties of the program that we are in. */
#ifndef PINJECT_PRELOAD_PROGRAM_H
#define PINJECT_PRELOAD_PROGRAM_H

#include <stdbool.h>

/* True if it executes programs by its own system calls, with its own environment: Go does, with cgo too. */
bool pinject_program_execs_by_itself(void);

#endif
