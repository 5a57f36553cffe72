/* SPDX-License-Identifier: MIT */
/*
 * fork-tree DEPTH WIDTH MS: every process burns MS, and those above level DEPTH fork WIDTH children and wait for them.
 * Each prints "pid N ppid N level N cpu_ns N" in one write.
 */
#include <sys/wait.h>

#include "burn.h"

static uint64_t depth, width, ns;

static int grow(uint64_t level)
{
    for (uint64_t i = 0; level < depth && i < width; i++) {
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0)
            return grow(level + 1);
    }
    spin_both(ns);
    int worst = 0, status;
    while (wait(&status) > 0)
        worst |= status;
    char line[128];
    int size = snprintf(line, sizeof(line), "pid %d ppid %d level %llu cpu_ns %llu\n", (int)getpid(), (int)getppid(),
                        (unsigned long long)level, (unsigned long long)burn_cpu());
    if (write(1, line, (size_t)size) != size)
        return 1;
    return worst != 0;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 64;
    depth = burn_number(argv[1], "DEPTH");
    width = burn_number(argv[2], "WIDTH");
    ns = burn_number(argv[3], "MS") * MS;
    return grow(0);
}
