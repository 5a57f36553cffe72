/* SPDX-License-Identifier: MIT */
/* What test_commands and the files that it reads share. */
#ifndef TEST_COMMANDS_H
#define TEST_COMMANDS_H

#include <stdbool.h>

#include "common/buffer.h"

enum { COMMANDS_WORDS = 40, COMMANDS_BYTES = 64 << 20 };

struct line {
    char *words[COMMANDS_WORDS + 1];
    int count;
};

/* Of analyze/main.c. */
int panalyze_main(int argc, char **argv);

/* The variables that command lines see, anew. */
void commands_environment(void);

/* A new file, empty. */
int commands_open(const char *name);

/* False: LINE is for panalyze. What it prints goes to TO. */
bool commands_step(const struct line *line, struct buffer *to);

/* Gives PATH the time, 0: of all inputs. */
void commands_date(const char *path, long seconds);

/* Writes the input files into the directory where this process is. 0 or -1. */
int commands_inputs(void);

#endif
