/* SPDX-License-Identifier: MIT */
/*
 * What a command is, looked at from outside, for --doctor. Which programs take the object is decided by the object
 * itself when it meets them (preload/image.c); the rule here is the same: own class and machine, glibc's loader.
 */
#ifndef COLLECTOR_DOCTOR_IMAGE_H
#define COLLECTOR_DOCTOR_IMAGE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum doctor_kind {
    DOCTOR_IMAGE_MISSING,    /* error says why it cannot be executed */
    DOCTOR_IMAGE_UNREADABLE, /* executable, not readable: what it is cannot be seen */
    DOCTOR_IMAGE_LOOP,       /* interpreters of interpreters without end */
    DOCTOR_IMAGE_OTHER,      /* of another class or machine */
    DOCTOR_IMAGE_BROKEN,     /* an ELF file that cannot be one */
    DOCTOR_IMAGE_STATIC,
    DOCTOR_IMAGE_STATIC_PIE,
    DOCTOR_IMAGE_FOREIGN,   /* its loader is not glibc's */
    DOCTOR_IMAGE_NO_LOADER, /* its loader does not exist */
    DOCTOR_IMAGE_DYNAMIC,
};

struct doctor_image {
    enum doctor_kind kind;
    int error;           /* errno */
    char path[PATH_MAX]; /* the program: of a script, the last interpreter */
    char chain[1024];    /* how it is reached, safe to print: "./a.py > /usr/bin/env > /usr/bin/python3" */
    bool env;            /* /usr/bin/env stands between: one more exec */
    char loader[256];    /* PT_INTERP */
    unsigned elf_class, machine;
    bool go;
    mode_t mode; /* of path */
    uid_t uid;
    bool capabilities; /* the file has some */
};

/* FILE as execvp() finds it. */
void doctor_image_find(const char *file, struct doctor_image *ret);

#endif
