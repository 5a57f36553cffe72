/* SPDX-License-Identifier: MIT */
/*
 * The program that shows long output page by page. The caller must ignore SIGPIPE. If the pager is missing, or exits
 * without reading anything, no output is lost: pager_take_back() returns it.
 */
#ifndef ANALYZE_VIEW_PAGER_H
#define ANALYZE_VIEW_PAGER_H

#include <stddef.h>
#include <sys/types.h>

struct pager {
    pid_t pid;     /* 0: none, or ended */
    int read_end;  /* kept open, so that unread output can be taken back */
    int write_end; /* non-blocking */
    int pid_fd;    /* readable when the pager has exited; -1: not available */
    size_t written;
};

enum pager_state {
    PAGER_TOOK,   /* it took everything */
    PAGER_QUIT,   /* the user quit it */
    PAGER_FAILED, /* it did not read a byte, or was not found: pager_take_back() */
};

/* Starts COMMAND (the value of $PAGER). 0, or -errno (-ENOENT: there is no such program). */
int pager_start(struct pager *pager, const char *command);
enum pager_state pager_write(struct pager *pager, const char *data, size_t size);
/* After the last write: waits for the pager to end. */
enum pager_state pager_finish(struct pager *pager);
/* After PAGER_FAILED: reads back up to SIZE bytes of what was written; 0 at the end. */
size_t pager_take_back(struct pager *pager, char *ret, size_t size);
void pager_release(struct pager *pager);

#endif
