/* SPDX-License-Identifier: MIT */
/* Fetches debug files from servers, by build-id: libdebuginfod, where it is installed. Only if the user asks for it. */
#ifndef ANALYZE_SYM_DEBUGINFOD_H
#define ANALYZE_SYM_DEBUGINFOD_H

#include <stddef.h>

struct debuginfod;

/* SECONDS: limit for all look-ups together. 0; -ENOENT: libdebuginfod is not installed; -EDESTADDRREQ:
 * DEBUGINFOD_URLS names no server; -ENOMEM. */
int debuginfod_new(unsigned seconds, struct debuginfod **ret);
void debuginfod_free(struct debuginfod *debuginfod);

/*
 * Fetches the debug file of BUILD_ID; *ret_path (malloced) is in libdebuginfod's cache. 0, or -errno with *ret_why as
 * static text. Any thread; a lock serializes the calls.
 */
int debuginfod_find(struct debuginfod *debuginfod, const unsigned char *build_id, size_t build_id_size, char **ret_path,
                    const char **ret_why);

#endif
