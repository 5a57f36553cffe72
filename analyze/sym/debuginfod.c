/* SPDX-License-Identifier: MIT */
#include "analyze/sym/debuginfod.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/dlsym.h"

/* Declared here, since the header is in a package that nothing else needs. */
typedef struct debuginfod_client client;
typedef int progress(client *, long, long);

struct debuginfod {
    void *library;
    void (*end)(client *);
    int (*find)(client *, const unsigned char *, int, char **);
    client *client;
    uint64_t left_ns;
    pthread_mutex_t lock; /* over client and left_ns */
};

/* Static, since older versions of the library pass the callback no data of ours; it runs in the thread that asked. */
static __thread uint64_t deadline_ns;

/* Called several times a second while the library waits. A result other than 0 ends the wait. */
static int check_deadline(client *of, long done, long all)
{
    (void)of;
    (void)done;
    (void)all;
    return clock_ns(CLOCK_MONOTONIC) > deadline_ns;
}

static int open_library(struct debuginfod *debuginfod)
{
    client *(*begin)(void);
    void (*set_progress)(client *, progress *);

    debuginfod->library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!debuginfod->library || !dlsym_function(debuginfod->library, "debuginfod_begin", &begin) ||
        !dlsym_function(debuginfod->library, "debuginfod_end", &debuginfod->end) ||
        !dlsym_function(debuginfod->library, "debuginfod_find_debuginfo", &debuginfod->find) ||
        !dlsym_function(debuginfod->library, "debuginfod_set_progressfn", &set_progress))
        return -ENOENT;
    debuginfod->client = begin();
    if (!debuginfod->client)
        return -ENOMEM;
    set_progress(debuginfod->client, check_deadline);
    return 0;
}

int debuginfod_new(unsigned seconds, struct debuginfod **ret)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    struct debuginfod *debuginfod;
    int error;

    if (!urls || !urls[strspn(urls, " \t\n")])
        return -EDESTADDRREQ;
    debuginfod = calloc(1, sizeof(*debuginfod));
    if (!debuginfod)
        return -ENOMEM;
    pthread_mutex_init(&debuginfod->lock, NULL);
    debuginfod->left_ns = (uint64_t)seconds * 1000000000;
    error = open_library(debuginfod);
    if (error)
        debuginfod_free(debuginfod);
    else
        *ret = debuginfod;
    return error;
}

void debuginfod_free(struct debuginfod *debuginfod)
{
    if (!debuginfod)
        return;
    if (debuginfod->client)
        debuginfod->end(debuginfod->client);
    /* No dlclose(): libcurl and its TLS library have handlers that run at the end of threads and of the process. */
    pthread_mutex_destroy(&debuginfod->lock);
    free(debuginfod);
}

int debuginfod_find(struct debuginfod *debuginfod, const unsigned char *build_id, size_t build_id_size, char **ret_path,
                    const char **ret_why)
{
    uint64_t begin = clock_ns(CLOCK_MONOTONIC), used;
    int fd = -ETIME;

    pthread_mutex_lock(&debuginfod->lock);
    deadline_ns = begin + debuginfod->left_ns;
    if (debuginfod->left_ns)
        fd = debuginfod->find(debuginfod->client, build_id, (int)build_id_size, ret_path);
    used = clock_ns(CLOCK_MONOTONIC) - begin;
    debuginfod->left_ns = used < debuginfod->left_ns ? debuginfod->left_ns - used : 0;
    if (fd < 0)
        *ret_why = !debuginfod->left_ns ? "the debuginfod servers were too slow"
                   : fd == -ENOENT      ? "no debuginfod server has the debug information of this file"
                                        : "the request to the debuginfod servers failed";
    pthread_mutex_unlock(&debuginfod->lock);
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}
