/* SPDX-License-Identifier: MIT */
/*
 * Looks at a task, which may hang. While a task's exec closes the old program's files, the kernel lets nobody open
 * events for the task or read its maps. A file system whose server does not answer can make that last for ever, and
 * only the end of our process ends such a wait. So the event loop lets a thread look, and waits for it a limited time:
 * a tenth of a second at once, a fiftieth of the time in the long run; longer, up to a second, for a thread that gets
 * no CPU. A thread that hangs is left behind, and another one takes its place.
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
    /* Called instead of the caller, if that has not waited for the end of run(): takes and frees the result. */
    void (*abandoned)(struct errand *errand);
    pid_t pid; /* of the process that is looked at */
};

/*
 * So many threads may hang at the same time; beyond that nothing is looked at until one of them comes back. And so many
 * that look at processes of one user; beyond that none of his is looked at.
 */
enum { ERRANDS_HUNG = 8, ERRANDS_SHARE = 2 };

struct errand_worker;

struct errands {
    struct errand_worker *worker; /* NULL: none yet */
    unsigned hung;                /* atomic: threads that were left behind and have not come back */
    bool taken[ERRANDS_HUNG];     /* atomic: one place for each of them; USERS: whose process it looks at */
    uid_t users[ERRANDS_HUNG];
    uint64_t given_up; /* errands that were left behind or refused */
    int64_t patience_ns;
    uint64_t patience_at_ns;
};

/*
 * True: it has run and is the caller's again. False: abandoned() takes it, also if it was refused or there was no
 * thread, and it has not run.
 */
bool errands_do(struct errands *errands, struct errand *errand);
/* Ends the idle thread. False if a thread hangs: then what errands use must stay. */
bool errands_end(struct errands *errands);

/* As procfs_exec() and the like; NULL also when it took too long. */
char *errands_exec(struct errands *errands, pid_t pid);
char *errands_maps(struct errands *errands, pid_t pid);
char *errands_cmdline(struct errands *errands, pid_t pid, size_t *ret_size);

#endif
