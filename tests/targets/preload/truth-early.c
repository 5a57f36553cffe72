/* SPDX-License-Identifier: MIT */
/* truth-early: what a library's constructor did and kept is still right in main. */
#include "early.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

int main(int argc, char **argv, char **envp)
{
    (void)argc;
    const char *value = getenv("EARLY");
    printf("early %s %d thread %d child %x\n", early_value ? early_value : "-", value == early_value, early_thread,
           (unsigned)early_child);
    /* Who walks over the vectors to the auxiliary vector, as some runtimes do, arrives there. */
    char **at = envp;
    size_t count = 0;
    for (; *at; at++)
        count += strncmp(*at, "LD_PRELOAD=", 11) != 0 && strncmp(*at, "PINJECT_", 8) != 0;
    at++;
    const unsigned long *pair = (const unsigned long *)(const void *)at;
    while (pair[0] != AT_NULL && pair[0] != AT_PAGESZ)
        pair += 2;
    printf("entries %zu environ %d page %lu argv %s\n", count, environ == envp, pair[0] ? pair[1] : 0,
           strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0]);
    return 0;
}
