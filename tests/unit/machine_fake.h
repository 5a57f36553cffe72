/* SPDX-License-Identifier: MIT */
/*
 * A fake machine: the contents of /proc and /sys, rights and limits, and results of perf_event_open(). Its functions
 * replace libc's in targets of machine_fake() (machine.cmake). Also: golden files.
 */
#ifndef UNIT_MACHINE_FAKE_H
#define UNIT_MACHINE_FAKE_H

#include "check.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/resource.h>

enum { FAKE_FILES = 40, FAKE_LIMITS = 16 };

struct machine_fake {
    /* Of /proc and /sys: other files do not exist. */
    struct {
        char path[96], text[256];
    } files[FAKE_FILES];
    unsigned file_count;
    struct rlimit limits[FAKE_LIMITS]; /* by number */
    int access_error;                  /* errno of access(); -1: it grants all; 0: the real one is called */
    uint64_t free_bytes;               /* of every file system */
    unsigned long mount_flags;
    bool statvfs_fails;
    uint64_t children_us;    /* CPU time of ended children */
    int fallocate_errors[4]; /* errno of each call of fallocate(), in turn */
    unsigned fallocate_calls;
    int tmpfile_error; /* errno of open(O_TMPFILE); 0: the real one is called */
    unsigned user;     /* geteuid() */
    int stacks_status; /* of stacks_try() */
    bool no_inherited_values;
    int refusal; /* -errno of perf_event_open() without attributes */
    int group;   /* the group's fd in the last call of perf_event_open() */
    /* perf_event_open(): 0 or -errno. NULL: it always succeeds. */
    int (*perf)(const struct perf_event_attr *attr);
};

extern struct machine_fake machine_fake;

/* Everything works: root, two CPUs, pages of 4 KiB. */
void machine_fake_init(void);
/* Makes TEXT the content of PATH; NULL: it does not exist. */
void machine_fake_say(const char *path, const char *text);
void machine_fake_sysctl(const char *name, const char *text);

/*
 * Fails, and shows the first line that differs, unless TEXT equals TEST_DATA/golden/NAME.txt. PINJECT_GOLDEN=write
 * rewrites the file: look at the difference before it is committed.
 */
void check_golden(const char *name, const char *text);
/* TEXT with WORD instead of every WHAT; frees TEXT. The caller frees the result. */
char *check_replaced(char *text, const char *what, const char *word);

#endif
