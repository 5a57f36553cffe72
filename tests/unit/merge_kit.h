/* SPDX-License-Identifier: MIT */
/* Recordings for tests of `export perf`, which merges them. */
#ifndef TEST_MERGE_KIT_H
#define TEST_MERGE_KIT_H

#include "profile_kit.h"

#include "analyze/export/export.h"
#include "analyze/export/merge.h"

static inline const char *save(struct writer *writer, const char *name)
{
    const char *path = in_directory(name);
    writer_save(writer, path);
    writer_release(writer);
    return path;
}

/* Each call begins another thread of one process, since files of several recordings are not shown together. */
static inline void begin_event(struct writer *writer, uint64_t config, const char *name)
{
    static uint32_t threads;
    writer_init(writer, false, false);
    writer_attr(writer, PERF_TYPE_SOFTWARE, config, 1, name);
    writer->tid += threads++;
    writer_session(writer, 0xaa, 1000);
    writer_task(writer, ENDED, 0, 500, 5000, 0);
}

struct job {
    struct settings settings;
    struct view view;
};

static inline void load(struct job *job, const char *const *paths, size_t count, const char *event)
{
    struct profile_options options = {.event = event};
    *job = (struct job){.settings = {.file = in_directory("made"), .event = event, .format = export_find("perf")}};
    job->view = (struct view){.settings = &job->settings, .paths = paths, .path_count = count};
    assert_int_equal(profile_load(paths, count, &options, &job->view.profile), 0);
    job->view.names = names_new(job->view.profile, &job->settings);
    job->view.selection = select_new(job->view.profile, &job->settings, job->view.names, true);
}

static inline void unload(struct job *job)
{
    select_free(job->view.selection);
    names_free(job->view.names);
    profile_free(job->view.profile);
}

static inline void remove_files(void)
{
    char command[200];
    snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    assert_int_equal(system(command), 0);
}

#endif
