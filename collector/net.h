/* SPDX-License-Identifier: MIT */
/*
 * Nets: inherited events under a task whose program cannot be injected. Every thread and process that comes from it has
 * them too, for good, whatever it executes. One set per CPU, since the kernel maps no ring of an inherited event that
 * follows a task over all CPUs. Thread-safe.
 *
 * The task itself has events of its own (attach.h), which keeps the kernel from exchanging its events with those of its
 * children; what the net says of it is left out.
 */
#ifndef COLLECTOR_NET_H
#define COLLECTOR_NET_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/plan.h"

struct session;
struct nets;

/* A record of a net. Its identifier is that of nets_ids(), whatever CPU it comes from. */
struct net_record {
    struct net_record *next;
    uint64_t time_ns;
    uint64_t order;              /* as it was read */
    uint64_t net;                /* number of its net */
    pid_t pid, tid;              /* that wrote it */
    unsigned event;              /* of the plan */
    unsigned readings;           /* READ records that each task of its net writes at its end */
    bool root;                   /* written by the task under which the net was put */
    bool part;                   /* FORK of one that began while the net was laid: its events are of some CPUs alone */
    _Alignas(8) unsigned char bytes[];
};

/* NULL: out of memory, reported. */
struct nets *nets_new(struct session *session);
/* NULL is accepted. */
void nets_free(struct nets *nets);
/* Becomes readable when records wait, or a net has ended. Owned by NETS. */
int nets_fd(const struct nets *nets);
/* Ids of the plan's events in all records, plan.count of them. Constant once a net was opened. */
const uint64_t *nets_ids(const struct nets *nets);
bool nets_live(const struct nets *nets);

/* What the task below which a net is put does meanwhile. */
enum nets_root {
    NETS_RUNS,  /* it may make others, which have a part of the net */
    NETS_WAITS, /* for the answer: what it makes, it makes afterwards */
    NETS_EXECS, /* the net counts from inside its next execve on */
};
/*
 * Puts a net under task TID of process PID. 0, also when TID is in a net already, or where timers sample; or -errno:
 * -EMFILE, -EPERM, -ENOMEM (no memory for its rings, or there are as many as there may be), -ESRCH
 */
static inline int nets_open(struct nets *nets, pid_t pid, pid_t tid, enum nets_root root);
/* The same, of the process that PIDFD has; -1: unknown. -ESRCH when the numbers are another's. */
int nets_open_of(struct nets *nets, pid_t pid, pid_t tid, int pidfd, enum nets_root root);
static inline int nets_open(struct nets *nets, pid_t pid, pid_t tid, enum nets_root root)
{
    return nets_open_of(nets, pid, tid, -1, root);
}
/*
 * Is TID alive and in a net (but not at its root, nor in a part of one)? Exact: whoever asks for itself was announced
 * before.
 */
bool nets_know(struct nets *nets, pid_t tid);
/*
 * The kernel loses records when a ring is full, of ends too: such a number stays in its net, whoever has it next.
 * TID has ended, and no record told of it:
 */
void nets_forget(struct nets *nets, pid_t tid);
/* CREATOR's own events tell that it made TID: that is in a net only if CREATOR is. NETS may be NULL. */
void nets_made_by(struct nets *nets, pid_t creator, pid_t tid);
/*
 * What was written before BEFORE_NS, by time, linked by next. Each is the caller's, to be freed with free(). What was
 * lost for want of room in a ring is added to *LOST, and what was read and not kept: of each net as many bytes of
 * samples are kept as its rings have, 64 KiB for each at least, and of all records twice as many.
 */
struct net_record *nets_take(struct nets *nets, uint64_t before_ns, uint64_t *lost);

#endif
