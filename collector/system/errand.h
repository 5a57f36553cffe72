/* SPDX-License-Identifier: MIT */
/*
 * Looks at a task that may hang. The kernel lets nobody open events for a task, or read its maps, while its exec closes
 * the old program's files; a file system whose server does not answer can hold that up for ever, and such a wait ends
 * with our process alone. So the event loop has such looks done by a thread and waits for it a limited time: a tenth of
 * a second at once, a fiftieth of the time in the long run; longer, up to a second, for a thread that has no CPU to run
 * on. A thread that hangs is left behind, and another one takes its place.
 *
 * Context: one thread at a time.
 */
#ifndef COLLECTOR_SYSTEM_ERRAND_H
#define COLLECTOR_SYSTEM_ERRAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct errand {
    void (*run)(struct errand *errand);
    /* Instead of the caller, who has not waited for the end of run(): takes and frees what came of it. */
    void (*abandoned)(struct errand *errand);
    pid_t pid; /* of the process that is looked at */
};

/*
 * Threads that hang at the same time; then nothing is looked at until one of them comes back. And of those that look at
 * processes of one user; then nothing of his is.
 */
enum { ERRANDS_HUNG = 8, ERRANDS_SHARE = 2 };

struct errand_worker;

struct errands {
    struct errand_worker *worker; /* NULL: none yet */
    unsigned hung;                /* atomic: threads that were left and have not come back */
    bool taken[ERRANDS_HUNG];     /* atomic: a place for each of them, and whose process it looks at */
    uid_t users[ERRANDS_HUNG];
    uint64_t given_up;            /* errands that nobody waited for to the end, or that were refused */
    int64_t patience_ns;
    uint64_t patience_at_ns;
};

/*
 * True: it has run and is the caller's again. False: it is abandoned()'s, also where it was refused, or there was no
 * thread for it, and it has not run.
 */
bool errands_do(struct errands *errands, struct errand *errand);
/* Ends the thread that is idle. Whether none hangs: else what errands use must stay. */
bool errands_end(struct errands *errands);

/* As procfs_exec() and the like; NULL also when it took too long. */
char *errands_exec(struct errands *errands, pid_t pid);
char *errands_maps(struct errands *errands, pid_t pid);
char *errands_cmdline(struct errands *errands, pid_t pid, size_t *ret_size);

#endif
