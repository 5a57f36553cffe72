/* SPDX-License-Identifier: MIT */
/* Shared by hostile.c and hostile_strike.c. */
#ifndef TARGETS_HOSTILE_H
#define TARGETS_HOSTILE_H

#include <pinject/wire.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { MAPPINGS = 64, TASKS = 512 };

/* A mapping of the session: the segment, the channel, or rings of timers. */
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

/* How to attack. */
struct strike {
    uint64_t limit;     /* in ms of now_ms() */
    unsigned burst_ms;  /* length of a burst; 0: no pauses */
    unsigned rest_ms;   /* pause between two bursts */
    const char *attack; /* the only one; NULL: any, except those that must be asked for by name */
    const char *bait;   /* a file that must not be opened, for the paths in requests; may be NULL */
};

/* Returns the number of strokes; -1: there is no attack of that name. */
long strike(const struct strike *how);

#endif
