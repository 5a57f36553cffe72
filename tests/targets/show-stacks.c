/* SPDX-License-Identifier: MIT */
/* show-stacks [--tree] [--json] [--libunwind] PID...: what pstack/ says of these processes. */
#include <stdlib.h>
#include <string.h>

#include "pstack/pstack.h"

int main(int argc, char **argv)
{
    struct pstack_options options = {0};
    pid_t pids[64];
    for (int i = 1; i < argc; i++) {
        options.tree |= strcmp(argv[i], "--tree") == 0;
        options.json |= strcmp(argv[i], "--json") == 0;
        options.libunwind |= strcmp(argv[i], "--libunwind") == 0;
        if (argv[i][0] != '-' && options.pid_count < 64)
            pids[options.pid_count++] = (pid_t)atoi(argv[i]);
    }
    options.pids = pids;
    int status = pstack_print(&options, stdout);
    return status < 0 ? 125 : fflush(stdout) ? 1 : status;
}
