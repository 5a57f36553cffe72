/* SPDX-License-Identifier: MIT */
/* Why something could not be read, as one phrase for a message "FILE: phrase". */
#ifndef ANALYZE_READ_PROBLEM_H
#define ANALYZE_READ_PROBLEM_H

struct problem {
    char text[240]; /* "" while there is none */
};

/* Keeps the first phrase (later ones are consequences of it) and returns STATUS. PROBLEM may be NULL. */
int problem_set(struct problem *problem, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
