/* SPDX-License-Identifier: MIT */
/*
 * Judges a program before exec: can the preload object be in it? Programs that do not use our own libc must not get our
 * variables: the ld.so of another class or machine complains on the program's stderr, musl's loader refuses to start
 * it, and a static program passes them on to whatever it executes. A program that cannot be judged counts as one of
 * these. Context: also a vfork child and signal handlers; one descriptor is opened and closed. Pointers may be wild.
 */
#ifndef PINJECT_PRELOAD_EXEC_KIND_H
#define PINJECT_PRELOAD_EXEC_KIND_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum pinject_exec_kind {
    PINJECT_EXEC_MISSING, /* exec will probably fail */
    PINJECT_EXEC_TAKES,   /* takes a preload object */
    PINJECT_EXEC_STATIC,  /* it would pass our variables on to whatever it starts */
    PINJECT_EXEC_REFUSES,
    PINJECT_EXEC_UNKNOWN, /* not judged: unknown format, or we could not look at it */
    /* exec changes its user or group, or the file is unreadable: the loader and the kernel may keep us out. */
    PINJECT_EXEC_SECURE,         /* otherwise it takes a preload object, or that is unknown */
    PINJECT_EXEC_SECURE_REFUSES, /* it would not take a preload object either */
};

/* True if the preload object will not be in it. Then it gets none of our variables. */
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

/*
 * State for judging a program: 6 KiB, which no hook can expect of an unknown stack (room.h). The caller sets directory.
 */
struct pinject_judge {
    int directory; /* working directory of the task that executes: AT_FDCWD, or its descriptor */
    bool searches; /* PATH is searched: files that cannot be executed are skipped */
    char path[PATH_MAX + NAME_MAX + 2];
    char name[256];  /* of an interpreter */
    char head[1024]; /* the file's start: ELF and program headers as linkers place them */
    uint64_t status[32];
};

/* Judges the program at `path`, relative to the directory `fd`; an empty path means `fd` itself. For a script it
   judges the interpreter. */
enum pinject_exec_kind pinject_exec_at(struct pinject_judge *judge, int fd, const char *path);

/* Finds FILE in PATH as execvp() does, and judges it. */
enum pinject_exec_kind pinject_exec_search(struct pinject_judge *judge, const char *file);

#endif
