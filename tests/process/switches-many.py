# SPDX-License-Identifier: MIT
# labels: collector
# timeout: 120
"""Two processes that wait for each other most of the time: what the scheduler charges for switching is theirs."""
from harness import *

# The pipes are the whole work; both stay on one CPU, so that each byte is a switch.
PING = """#define _GNU_SOURCE
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    int to[2], from[2];
    char byte = 0;
    cpu_set_t all, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof(all), &all);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    sched_setaffinity(0, sizeof(one), &one);
    if (pipe(to) || pipe(from))
        return 1;
    pid_t child = fork();
    for (int i = 0; i < 120000; i++)
        if (child ? write(to[1], &byte, 1) + read(from[0], &byte, 1) : read(to[0], &byte, 1) + write(from[1], &byte, 1))
            continue;
    if (!child)
        _exit(0);
    return waitpid(child, 0, 0) != child;
}
"""


def test_ping():
    need_perf_events()
    need("cc")
    pathlib.Path("ping.c").write_text(PING)
    run(["cc", "-O1", "-o", "ping", "ping.c"]).ok()
    done = pinject_run("--follow-all", "--", "sh", "-c", "./ping; exit 3")
    check_equal(done.status, 3, done)
    tree = panalyze_json("tree", *results())
    check_equal(len(tree["tasks"]), 3, done.err)
    with measured():
        check(adds_up(tree), tree["coverage"])


if __name__ == "__main__":
    main()
