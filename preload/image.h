/* SPDX-License-Identifier: MIT */
/*
 * What a program to be executed is, before it is: some must not get our LD_PRELOAD. Another class's or machine's ld.so
 * would complain on the program's stderr, and musl's loader would refuse to start it. Context: also a vfork child and
 * signal handlers; one descriptor is opened and closed. Pointers may be wild.
 */
#ifndef PINJECT_PRELOAD_IMAGE_H
#define PINJECT_PRELOAD_IMAGE_H

#include <stdbool.h>

enum pinject_image {
    PINJECT_IMAGE_MISSING,  /* exec will fail, or so it seems */
    PINJECT_IMAGE_TAKES,    /* takes a preloaded object, or it is unknown */
    PINJECT_IMAGE_STATIC,   /* does not care: it is not injected, what it starts may be */
    PINJECT_IMAGE_SECURE,   /* setuid, setgid or not readable: the loader and the kernel may keep us out */
    PINJECT_IMAGE_REFUSES,
};

/* Whether the object will not be in it. */
static inline bool pinject_image_is_closed(enum pinject_image image)
{
    return image == PINJECT_IMAGE_STATIC || image == PINJECT_IMAGE_REFUSES;
}

/* The image at `path`, seen from the folder `fd` (AT_FDCWD); an empty path means `fd` itself. Scripts stand for
   their interpreter. */
enum pinject_image pinject_image_at(int fd, const char *path);

/* As execvp() finds it in PATH. */
enum pinject_image pinject_image_search(const char *file);

#endif
