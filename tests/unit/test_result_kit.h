/* SPDX-License-Identifier: MIT */
/* A session without targets, with fake records; a strict reader of the files, and perf as a second reader. */
#ifndef TEST_RESULT_KIT_H
#define TEST_RESULT_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/output/result.h"
#include "collector/sources/session.h"
#include "common/perfdata.h"

struct kit {
    char directory[64]; /* a new one, which is the working directory */
    struct settings settings;
    struct event_config config;
    struct session session;
    struct results *results;
};

enum kit_mode { KIT_SAMPLING, KIT_STAT };

/*
 * The event configuration has task-clock (sampling) and the counters page-faults and context-switches; with KIT_STAT it
 * has a dummy and three counters.
 */
void kit_new(struct kit *kit, enum kit_mode mode);
/* Starts the session's results with BASE. */
int kit_start(struct kit *kit, const char *base);
void kit_free(struct kit *kit);

/* A task with one exec generation and counts; its ids are 1000 * tid + 1 ... */
struct result_task kit_task(const struct kit *kit, pid_t pid, pid_t tid);
void kit_comm(const struct kit *kit, struct result *result, const struct result_task *task, const char *comm);
/* The mapping of the test's own code. */
void kit_map_self(const struct kit *kit, struct result *result, const struct result_task *task);
/* COUNT samples in kit_hot(). */
void kit_samples(const struct kit *kit, struct result *result, struct result_task *task, unsigned count);

struct kit_section {
    const unsigned char *data; /* NULL: the section is missing */
    uint64_t size;
};

/* A file as read by a strict reader, which checks every offset. */
struct kit_file {
    unsigned char *bytes; /* owned */
    size_t size;
    struct perfdata_header header;
    unsigned attrs;
    uint64_t sample_type[CONFIG_EVENTS], ids[CONFIG_EVENTS];
    unsigned records[256], total; /* by type; the kernel's mapping is a MMAP, with or without its build-id */
    struct kit_section sections[256];
    unsigned char *items; /* of our own section, unpacked; owned */
    size_t items_size;
};
/* Reads PATH. False, with a reason on stdout: it is not a complete file. */
bool kit_read(const char *path, struct kit_file *ret);
void kit_file_free(struct kit_file *file);
/* The INDEX-th item of TYPE in our own section, or NULL. */
const void *kit_item(const struct kit_file *file, uint32_t type, unsigned index);

bool kit_has_perf(void);
/* Runs perf with ARGUMENTS (for a shell). Returns its output, for free(). Fails the test unless its status is 0 and it
 * prints no warnings. */
char *kit_perf(const char *arguments);
/* The standard error of CALL(ARGUMENT), for free(). */
char *kit_stderr(void (*call)(void *), void *argument);

#endif
