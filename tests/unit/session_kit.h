/* SPDX-License-Identifier: MIT */
/* preload/session.c with session files that a test writes, and a fake of the session's socket. */
#ifndef UNIT_SESSION_KIT_H
#define UNIT_SESSION_KIT_H

#include "check.h"

#include "preload/preload.h"
#include "preload/session.h"
#include "preload/state.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct session_peer {
    int error;            /* of the socket */
    const char *files[2]; /* files that it passes */
    unsigned asked;
    char path[128];
    bool with_segment;
    uint32_t user;
    uint32_t own_user; /* this process's user in /proc */
    void (*when_asked)(void);
};

extern struct session_peer peer;
enum { CHANNEL_NAME = 77 };

extern char directory[64], session_path[128], requests_path[192];
extern struct pinject_segment header; /* start of the segment's file */
extern unsigned timers_ended, rings_given_up;
extern void (*when_timers_end)(void);
extern unsigned asked_for_channels;
extern uint32_t asked_for; /* user of the last one */

void write_file(const char *name, const void *bytes, size_t size, size_t whole);
void write_segment(void);
void write_requests(const char *name, uint32_t stalled);
/* Writes the channel of USER, with CHANNEL_NAME, as in the segment. */
void write_channel(uint32_t user, uint32_t stalled, char ret_path[192]);
uint64_t pid_namespace(void);
/* The number of descriptors and mappings of the session's files, which a call must release. */
unsigned held(void);
/* Nothing is open; both files exist; the socket has no listener. */
void reset(void);
int set_up(void **state);
int tear_down(void **state);

#endif
