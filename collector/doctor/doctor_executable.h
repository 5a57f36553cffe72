/* SPDX-License-Identifier: MIT */
/*
 * Examines a command from outside, for --doctor. The preload object itself decides which programs take it, when it
 * meets them (preload/exec_kind.c). The rule here is the same: own class and machine, glibc's loader.
 */
#ifndef COLLECTOR_DOCTOR_DOCTOR_EXECUTABLE_H
#define COLLECTOR_DOCTOR_DOCTOR_EXECUTABLE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum doctor_kind {
    DOCTOR_EXECUTABLE_MISSING,    /* error says why it cannot be executed */
    DOCTOR_EXECUTABLE_UNREADABLE, /* executable but not readable: its kind is unknown */
    DOCTOR_EXECUTABLE_LOOP,       /* an endless chain of interpreters */
    DOCTOR_EXECUTABLE_OTHER,      /* of another class or machine */
    DOCTOR_EXECUTABLE_BROKEN,     /* an invalid ELF file */
    DOCTOR_EXECUTABLE_STATIC,
    DOCTOR_EXECUTABLE_STATIC_PIE,
    DOCTOR_EXECUTABLE_FOREIGN,   /* its loader is not glibc's */
    DOCTOR_EXECUTABLE_NO_LOADER, /* its loader does not exist */
    DOCTOR_EXECUTABLE_DYNAMIC,
};

struct doctor_executable {
    enum doctor_kind kind;
    int error;           /* errno */
    char path[PATH_MAX]; /* the program: of a script, the last interpreter */
    char chain[1024];    /* how it is reached, safe to print: "./a.py -> /usr/bin/env -> /usr/bin/python3" */
    bool env;            /* /usr/bin/env is in between: one more exec */
    char loader[256];    /* PT_INTERP */
    unsigned elf_class, machine;
    bool go;
    mode_t mode; /* of path */
    uid_t uid;
    bool capabilities; /* the file has some */
};

/* FILE as execvp() finds it. */
void doctor_executable_find(const char *file, struct doctor_executable *ret);

#endif
