/* SPDX-License-Identifier: MIT */
/* preload/session.c with the files of a session that a test writes, and its socket played. */
#ifndef UNIT_SESSION_KIT_H
#define UNIT_SESSION_KIT_H

#include "check.h"

#include "preload/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct session_peer {
    int error;             /* of the socket */
    const char *files[2];  /* what it hands out */
    unsigned asked;
    char path[128];
    bool with_segment;
    uint32_t user;
    uint32_t own_user;     /* this process' in /proc */
    void (*when_asked)(void);
};

extern struct session_peer peer;
enum { CHANNEL_NAME = 77 };

extern char directory[64], session_path[128], requests_path[192];
extern struct pinject_segment header; /* what the segment's file begins with */
extern unsigned timers_ended, rings_given_up;
extern void (*when_timers_end)(void);
extern unsigned asked_for_channels;
extern uint32_t asked_for; /* the last one's user */

void write_file(const char *name, const void *bytes, size_t size, size_t whole);
void write_segment(void);
void write_requests(const char *name, uint32_t stalled);
/* The channel of USER, with CHANNEL_NAME: the segment says so. */
void write_channel(uint32_t user, uint32_t stalled, char ret_path[192]);
uint64_t pid_namespace(void);
/* Descriptors and mappings of the session's files: what a call has to give back. */
unsigned held(void);
/* Nothing is open; both files are there; nobody answers at the socket. */
void reset(void);
int set_up(void **state);
int tear_down(void **state);

#endif
