/* SPDX-License-Identifier: MIT */
/* What the nets consist of, and their opening: for net.c and net_open.c alone. */
#ifndef COLLECTOR_NET_PARTS_H
#define COLLECTOR_NET_PARTS_H

#include <pthread.h>

#include "collector/net.h"
#include "collector/net_records.h"
#include "collector/net_ring.h"
#include "collector/records.h"

/* The events of a net on one CPU. */
struct net_cpu {
    int number;
    int ring_fd;                 /* while it is opened; -1: none */
    int fds[PLAN_EVENTS];        /* -1: refused */
    uint64_t ids[PLAN_EVENTS];
    struct net_ring ring;
    void *map;                   /* NULL: none */
    size_t map_size;
};

struct net {
    struct net *next;
    uint64_t number;
    pid_t pid, tid;              /* its root: 0 when the number is another's */
    int pidfd;                   /* of pid; -1: unknown */
    uint64_t whole_ns;           /* who was made by its root before that has a part of it */
    bool root_ran;               /* until then: it may have been making somebody */
    uint64_t waited_ns;          /* it had waited for a CPU so long by then */
    uint64_t first_ns;           /* when it made the first task behind that; 0: it has not */
    unsigned readings;
    uint64_t room, kept;         /* bytes of records: that may be kept, and that were since the last were taken */
    uint64_t members;            /* that are told to be in it, at least those who are */
    unsigned cpu_count;
    struct net_cpu cpus[];
};

struct nets {
    struct session *session;
    struct records_layout layout;
    pthread_mutex_t lock;
    int epoll;
    unsigned live;               /* atomic */
    uint64_t fds, rings, bytes;  /* atomic: of all of them */
    uint64_t numbers;            /* of nets so far */
    uint64_t begun;              /* atomic: how often somebody began to read all rings, under the lock */
    struct net *first;
    uint64_t ids[PLAN_EVENTS];
    uint32_t *inside;            /* per live tid: the number of its net, written under the lock, atomic; 0: in none */
    pid_t highest;               /* of them */
    struct net_records records;  /* read, not taken */
    uint64_t kept;               /* the sum of those of all nets */
    bool untold;                 /* this reading met what may have come in another order: note_again() */
    uint64_t lost;
    _Alignas(8) unsigned char scratch[PINJECT_RING_RECORD_MAX];
};

/* Is there room for one more net, with the smallest ring on each of CPUS? */
bool net_has_room(const struct nets *nets, uint64_t cpus);
/* All rings, then all events of NET, for CONFIGURED CPUs at most. 0 or -errno: net_close() in any case. */
int net_open(struct nets *nets, struct net *net, unsigned configured, bool on_exec);
/* Closes and unmaps what NET has open. */
void net_close(struct nets *nets, struct net *net);
/* The ring of CPU, by its first event, of PAGES or less. 0 or -errno. */
int net_map_ring(struct nets *nets, struct net_cpu *cpu, int fd, size_t pages);
void net_unmap_ring(struct nets *nets, struct net_cpu *cpu);

#endif
