/* SPDX-License-Identifier: MIT */
/*
 * What a program to be executed is, before it is: most but those of our own libc must not get our variables. Another
 * class's or machine's ld.so complains on the program's stderr, musl's loader refuses to start it, and a static program
 * hands them on to whatever it executes. A program that cannot be judged counts as one of those.
 * Context: also a vfork child and signal handlers; one descriptor is opened and closed. Pointers may be wild.
 */
#ifndef PINJECT_PRELOAD_IMAGE_H
#define PINJECT_PRELOAD_IMAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum pinject_image {
    PINJECT_IMAGE_MISSING,  /* exec will fail, or so it seems */
    PINJECT_IMAGE_TAKES,    /* takes a preloaded object */
    PINJECT_IMAGE_STATIC,   /* what it starts would inherit our variables, whatever that is */
    PINJECT_IMAGE_REFUSES,
    PINJECT_IMAGE_UNKNOWN,  /* not judged: no format that we know, or it could not be looked at */
    /* exec changes its user or group, or the file cannot be read: the loader and the kernel may keep us out. */
    PINJECT_IMAGE_SECURE,        /* else it would take it, or that is unknown */
    PINJECT_IMAGE_SECURE_CLOSED, /* nor would it take it */
};

/* Whether the object will not be in it, for which it gets none of our variables. */
static inline bool pinject_image_is_closed(enum pinject_image image)
{
    return image == PINJECT_IMAGE_STATIC || image == PINJECT_IMAGE_REFUSES || image == PINJECT_IMAGE_UNKNOWN ||
           image == PINJECT_IMAGE_SECURE_CLOSED;
}

static inline bool pinject_image_takes(enum pinject_image image)
{
    return image == PINJECT_IMAGE_TAKES || image == PINJECT_IMAGE_SECURE;
}

static inline bool pinject_image_is_secure(enum pinject_image image)
{
    return image == PINJECT_IMAGE_SECURE || image == PINJECT_IMAGE_SECURE_CLOSED;
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

/* The image at `path`, seen from the directory `fd`; an empty path means `fd` itself. Scripts stand for their
   interpreter. */
enum pinject_image pinject_image_at(struct pinject_judge *judge, int fd, const char *path);

/* As execvp() finds it in PATH. */
enum pinject_image pinject_image_search(struct pinject_judge *judge, const char *file);

#endif
