/* SPDX-License-Identifier: MIT */
/*
 * A machine that a test makes up: what /proc and /sys say, the rights and limits, what perf_event_open() answers. Its
 * functions take the place of libc's in targets of machine_fake() (machine.cmake). And golden files.
 */
#ifndef UNIT_MACHINE_FAKE_H
#define UNIT_MACHINE_FAKE_H

#include "check.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/resource.h>

enum { FAKE_FILES = 40, FAKE_LIMITS = 16 };

struct machine_fake {
    /* Of /proc, /sys: what is not here does not exist. */
    struct {
        char path[96], text[256];
    } files[FAKE_FILES];
    unsigned file_count;
    struct rlimit limits[FAKE_LIMITS]; /* by number */
    int access_error;                  /* errno of access(), -1: it grants all; 0: the real one is asked */
    uint64_t free_bytes;               /* of every file system */
    unsigned long mount_flags;
    bool statvfs_fails;
    uint64_t children_us;              /* CPU time of ended children */
    int fallocate_errors[4];           /* errno of each call of fallocate(), in turn */
    unsigned fallocate_calls;
    int tmpfile_error;                 /* errno of open(O_TMPFILE); 0: the real one is asked */
    unsigned user;                     /* geteuid() */
    int stacks_status;                 /* of stacks_try() */
    int reach;                         /* -errno of perf_event_open() without attributes */
    /* perf_event_open(): 0 or -errno. NULL: all works. */
    int (*perf)(const struct perf_event_attr *attr);
};

extern struct machine_fake machine_fake;

/* Everything works: root, two CPUs, pages of 4 KiB. */
void machine_fake_init(void);
/* PATH says TEXT; NULL: it does not exist. */
void machine_fake_say(const char *path, const char *text);
void machine_fake_sysctl(const char *name, const char *text);

/*
 * Fails unless TEXT is what TEST_DATA/golden/NAME.txt says; the first line that differs is shown. PINJECT_GOLDEN=write
 * writes the file anew: look at the difference before it is committed.
 */
void check_golden(const char *name, const char *text);
/* TEXT with WORD instead of every WHAT; frees TEXT. To be freed. */
char *check_replaced(char *text, const char *what, const char *word);

#endif
