/* SPDX-License-Identifier: MIT */
/* What the parts of hostile.c share. */
#ifndef TARGETS_HOSTILE_H
#define TARGETS_HOSTILE_H

#include <pinject/wire.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { MAPPINGS = 64, TASKS = 512 };

/* What of the session is mapped: the segment, the channel, rings of timers. */
struct mapping {
    char *start;
    size_t size;
    bool writable;
    char path[512];
};

extern struct mapping mappings[MAPPINGS];
extern unsigned mapping_count;
extern uint64_t random_state;

uint64_t next_random(void);
uint64_t now_ms(void);
void find_mappings(void);
/* NULL: not mapped. */
const struct mapping *segment_mapping(void);
const struct mapping *channel_mapping(void);
struct pinject_requests *channel(void);
/* Sets the bit of slot NUMBER in the first two doorbells and wakes them. */
void ring(struct pinject_requests *requests, unsigned number);
/* The address of the session's socket. */
socklen_t socket_address(const char *path, struct sockaddr_un *ret);
unsigned long knock(const char *path, uint64_t limit);

/* How an attack goes on. */
struct strike {
    uint64_t limit;        /* in ms of now_ms() */
    unsigned burst_ms;     /* so long at once; 0: all the time */
    unsigned rest_ms;      /* between two bursts */
    const char *attack;    /* the only one; NULL: any but those that are asked for by name */
    const char *bait;      /* a file that nobody may open: its path stands in requests; may be NULL */
};

/* How many strokes; -1: there is no attack of that name. */
long strike(const struct strike *how);

#endif
