/* SPDX-License-Identifier: MIT */
/*
 * What a program to be executed is, before it is: most but those of our own libc must not get our variables. Another
 * class's or machine's ld.so complains on the program's stderr, musl's loader refuses to start it, and a static program
 * hands them on to whatever it executes. A program that cannot be judged counts as one of those.
 * Context: also a vfork child and signal handlers; one descriptor is opened and closed. Pointers may be wild.
 */
#ifndef PINJECT_PRELOAD_EXEC_KIND_H
#define PINJECT_PRELOAD_EXEC_KIND_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum pinject_exec_kind {
    PINJECT_EXEC_MISSING,   /* exec will fail, or so it seems */
    PINJECT_EXEC_TAKES,     /* takes a preload object */
    PINJECT_EXEC_STATIC,    /* what it starts would inherit our variables, whatever that is */
    PINJECT_EXEC_REFUSES,
    PINJECT_EXEC_UNKNOWN, /* not judged: no format that we know, or it could not be looked at */
    /* exec changes its user or group, or the file cannot be read: the loader and the kernel may keep us out. */
    PINJECT_EXEC_SECURE,         /* else it would take it, or that is unknown */
    PINJECT_EXEC_SECURE_REFUSES, /* nor would it take it */
};

/* Whether the preload object will not be in it, for which it gets none of our variables. */
static inline bool pinject_exec_is_non_injectable(enum pinject_exec_kind exec_kind)
{
    return exec_kind == PINJECT_EXEC_STATIC || exec_kind == PINJECT_EXEC_REFUSES || exec_kind == PINJECT_EXEC_UNKNOWN ||
           exec_kind == PINJECT_EXEC_SECURE_REFUSES;
}

static inline bool pinject_exec_takes(enum pinject_exec_kind exec_kind)
{
    return exec_kind == PINJECT_EXEC_TAKES || exec_kind == PINJECT_EXEC_SECURE;
}

static inline bool pinject_exec_is_secure(enum pinject_exec_kind exec_kind)
{
    return exec_kind == PINJECT_EXEC_SECURE || exec_kind == PINJECT_EXEC_SECURE_REFUSES;
}

/* A look at a program: 6 KiB, which no hook can ask of an unknown stack (room.h). The caller sets directory. */
struct pinject_judge {
    int directory;      /* working directory of whoever executes: AT_FDCWD, or its descriptor */
    bool searches;   /* PATH is searched: what cannot be executed is passed over */
    char path[PATH_MAX + NAME_MAX + 2];
    char name[256];  /* of an interpreter */
    char head[1024]; /* a file's start: ELF and program headers as linkers lay them out */
    uint64_t status[32];
};

/* The program at `path`, seen from the directory `fd`; an empty path means `fd` itself. Scripts stand for their
   interpreter. */
enum pinject_exec_kind pinject_exec_at(struct pinject_judge *judge, int fd, const char *path);

/* As execvp() finds it in PATH. */
enum pinject_exec_kind pinject_exec_search(struct pinject_judge *judge, const char *file);

#endif
