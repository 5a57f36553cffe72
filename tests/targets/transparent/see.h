/* SPDX-License-Identifier: MIT */
/*
 * Programs that look at themselves and print what they see, case by case: PROGRAM list, PROGRAM CASE. The text is the
 * same in every run of the same case, with and without the preload object: no pid, no address, no time.
 */
#ifndef SEE_H
#define SEE_H

#include <stddef.h>

struct see_case {
    const char *name;
    void (*run)(void);
};

extern char **see_argv;
extern char see_me[4096]; /* path of this program */

/* A thread, a child by each way, programs by each way: what came of it, errno, and which descriptors they had. */
void see_exercise(void);

/* The same without anything that needs exec. */
void see_threads_and_forks(void);

/* One line: what the call that just ended gave, and errno if it failed. */
void see_result(const char *what, long result);

/* A file of /proc/self, or of another directory if the name begins with '/', with its NULs as newlines. */
void see_file(const char *name);

/* The numbers of the open descriptors, by asking for each. */
void see_open_numbers(const char *what);

/* Waits for the child and says how it ended. */
void see_child(const char *what, int pid);

int see_main(int argc, char **argv, const struct see_case *cases, size_t count);

#endif
