/* SPDX-License-Identifier: MIT */
#include "collector/output/result.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/output/build_ids.h"
#include "collector/output/features.h"
#include "collector/output/files.h"
#include "collector/output/identify.h"
#include "collector/records/space.h"
#include "collector/records/values.h"
#include "collector/sources/session.h"
#include "common/buffer.h"
#include "common/report.h"

/* The kernel copies a page in one go. A write of several may end between two of them (SIGKILL), so then the header
 * is written last. */
enum { ONE_WRITE_MAX = 4096, SPARES = 16, SPARE_MAX = 65536, OPEN_MAX_FILES = 256, NAMES_TRIED = 16 };

struct results {
    struct session *session;
    struct files files;
    struct features features;
    uint64_t written, bytes, failed;
    uint64_t unwritten; /* samples */
    int error;
    bool shared;                 /* was reported */
    unsigned open;               /* files that are kept open between updates */
    struct buffer spare[SPARES]; /* memory of finished results */
    unsigned spare_count;
};

struct result {
    struct results *results;
    char *path;
    int fd;     /* -1: not open */
    bool named; /* PATH is on disk */
    dev_t dev;
    ino_t ino;
    uint64_t data_end;         /* end of the data on disk; 0: nothing is on disk */
    uint64_t size;             /* of the file */
    int error;                 /* the first of this file, 0: none */
    uint64_t samples;          /* sample records, written or pending */
    struct attach_value *read; /* what its READ records have; NULL: it has none */
    struct values values;      /* in its samples */
    struct buffer pending;     /* room for the file's front while nothing is on disk, then records */
};

int results_new(struct session *session, struct results **ret)
{
    struct results *results = calloc(1, sizeof(*results));
    if (!results) {
        report_error("out of memory");
        return -ENOMEM;
    }
    results->session = session;
    int status = files_init(&results->files, session->settings->outfile, session->settings->mode);
    if (status < 0) {
        free(results);
        return status;
    }
    status = features_init(&results->features, session);
    if (status < 0) {
        report_error("out of memory");
        files_release(&results->files);
        free(results);
        return status;
    }
    *ret = results;
    return 0;
}

void results_trim(struct results *results)
{
    while (results->spare_count > 0)
        buffer_release(&results->spare[--results->spare_count]);
}

void results_free(struct results *results)
{
    if (!results)
        return;
    results_trim(results);
    features_release(&results->features);
    files_release(&results->files);
    free(results);
}

void results_read_machine(struct results *results)
{
    if (results)
        features_read_topology(&results->features);
}

void results_expect(struct results *results, pid_t pid, const struct mapping *mapping, uint64_t now_ns)
{
    const struct mapped_file file = {.pid = pid,
                                     .maj = mapping->maj,
                                     .min = mapping->min,
                                     .ino = mapping->ino,
                                     .start = mapping->start,
                                     .size = mapping->size,
                                     .path = mapping->path};
    if (results && !mapping->data)
        buildids_expect(results->features.buildids, &file, mapping->ino_generation, now_ns);
}

struct opener *results_opener(const struct results *results)
{
    return buildids_opener(results->features.buildids);
}

uint64_t results_moved(const struct results *results)
{
    return results->files.moved;
}

uint64_t results_written(const struct results *results)
{
    return results->written;
}

uint64_t results_bytes(const struct results *results)
{
    return results->bytes;
}

int results_error(const struct results *results, uint64_t *ret_files, uint64_t *ret_samples)
{
    *ret_files = results->failed;
    *ret_samples = results->unwritten;
    return results->error;
}

/* Room for the front is kept while nothing is on disk, so that the first version is one run of bytes. */
static size_t front_size(const struct result *result)
{
    return result->data_end ? 0 : result->results->features.front;
}

static int begin_file(struct result *result)
{
    struct features *features = &result->results->features;
    const struct buffer *kernel = features_kernel(features);
    buffer_clear(&result->pending);
    buffer_extend(&result->pending, features->front);
    buffer_append(&result->pending, kernel->data, kernel->size);
    return buffer_failed(&result->pending) ? -ENOMEM : 0;
}

int result_new(struct results *results, pid_t pid, pid_t tid, const char *exec, struct result **ret)
{
    struct result *result = calloc(1, sizeof(*result));
    if (!result)
        return -ENOMEM;
    result->results = results;
    result->fd = -1;
    int status = files_name(&results->files, pid, tid, exec, &result->path);
    if (status == 0) {
        if (results->spare_count > 0)
            result->pending = results->spare[--results->spare_count];
        status = begin_file(result);
    }
    if (status < 0) {
        buffer_release(&result->pending);
        free(result->path);
        free(result);
        return status;
    }
    *ret = result;
    return 0;
}

static bool is_sample(const void *record)
{
    struct perf_event_header header;
    memcpy(&header, record, sizeof(header));
    return header.type == PERF_RECORD_SAMPLE;
}

int result_record(struct result *result, const void *record, size_t size)
{
    if (result->error) {
        result->results->unwritten += is_sample(record);
        return result->error;
    }
    buffer_append(&result->pending, record, size);
    if (buffer_failed(&result->pending)) {
        result->results->unwritten += is_sample(record);
        return -ENOMEM;
    }
    result->samples += is_sample(record);
    return 0;
}

size_t result_pending(const struct result *result)
{
    size_t front = front_size(result);
    return result->error || result->pending.size < front ? 0 : result->pending.size - front;
}

const char *result_path(const struct result *result)
{
    return result->path;
}

static const char *way_out(int error)
{
    switch (error) {
    case ENOSPC: return "make room, or choose another place with -o";
    case EDQUOT: return "the quota is used up: choose another place with -o";
    case EFBIG: return "raise the limit of file sizes (ulimit -f)";
    case EMFILE:
    case ENFILE: return "raise the limit of open files (ulimit -n)";
    case EEXIST:
    case EBUSY: return "something else has this name: choose another name with -o";
    default: return "choose another place with -o";
    }
}

/* Only the first one is reported: a full disk would be reported for each task. */
static void note_error(struct result *result, int status)
{
    struct results *results = result->results;
    if (result->error)
        return;
    result->error = status;
    results->failed++;
    if (status == -ESTALE) /* all of it is elsewhere, or gone */
        results->unwritten += result->samples;
    if (results->error)
        return;
    results->error = status;
    if (status == -ESTALE)
        report_error("result file '%s' was deleted, moved or replaced while it was written; do not touch the "
                     "files of a run before it has ended, and use a different -o for each run",
                     result->path);
    else
        report_error("cannot write result file '%s': %s; %s (records that cannot be written will be missing)",
                     result->path, strerror(-status), way_out(-status));
}

const char *results_reason(int error)
{
    return error == -ESTALE ? "deleted, moved or replaced while being written" : strerror(-error);
}

/* Two sessions that both have a process 1, in containers that share a directory. */
static void note_shared(struct result *result, const char *name)
{
    if (!result->results->shared)
        report_warning(
            "result file '%s' may belong to another run that has not ended, so pinject-run keeps it and writes '%s' "
            "instead; use a different -o for each run",
            name, result->path);
    result->results->shared = true;
}

static void close_file(struct result *result)
{
    if (result->fd < 0)
        return;
    close(result->fd);
    result->fd = -1;
    result->results->open--;
    files_closed(&result->results->files);
}

/* The file gets its name: RESULT's path, if that is free. */
static int name_file(struct result *result)
{
    struct results *results = result->results;
    int status = files_create(&results->files, result->path, &result->fd);
    bool shared = status == -EBUSY;
    for (int i = 0; (status == -EEXIST || status == -EBUSY) && i < NAMES_TRIED; i++) {
        /* Something that is not ours has that name: tries PATH~1 and so on. */
        char *path = NULL;
        if (asprintf(&path, "%s~%d", result->path, i + 1) < 0)
            return -ENOMEM;
        status = files_create(&results->files, path, &result->fd);
        if (status < 0) {
            free(path);
            continue;
        }
        char *before = result->path;
        result->path = path;
        if (shared)
            note_shared(result, before);
        free(before);
    }
    result->named = status == 0;
    return status;
}

/*
 * It is named with its first version: if we are killed before that, we leave no empty file. Not all file systems can.
 */
static int create_file(struct result *result)
{
    struct results *results = result->results;
    int fd = files_open_unnamed(&results->files);
    result->fd = fd < 0 ? -1 : fd;
    /* Creating it by name gives the best error about the directory. */
    int status = fd < 0 ? name_file(result) : 0;
    results->open += status == 0;
    return status;
}

static int open_file(struct result *result)
{
    struct results *results = result->results;
    if (result->fd >= 0)
        return 0;
    if (!result->data_end)
        return create_file(result);
    int status = files_reopen(&results->files, result->path, result->dev, result->ino, &result->fd);
    results->open += status == 0;
    return status;
}

static struct perfdata_header header_of(const struct result *result, const struct result_task *task, uint64_t data_end,
                                        const uint64_t *bits)
{
    const struct features *features = &result->results->features;
    struct perfdata_header header;
    features_header(features, task->ids, &header);
    header.data.size = data_end - features->front;
    if (bits)
        memcpy(header.features, bits, sizeof(header.features));
    return header;
}

/* The first version: everything in one run from offset 0. */
static int write_first(struct result *result)
{
    const unsigned char *bytes = result->pending.data;
    size_t size = result->pending.size;
    if (size <= ONE_WRITE_MAX)
        return buffer_pwrite(result->fd, bytes, size, 0);
    int status = buffer_pwrite(result->fd, bytes + sizeof(struct perfdata_header),
                               size - sizeof(struct perfdata_header), sizeof(struct perfdata_header));
    return status < 0 ? status : buffer_pwrite(result->fd, bytes, sizeof(struct perfdata_header), 0);
}

/* Asks for the room first: if it is refused, the file stays as it is. Not all file systems can do that. */
static int reserve_room(struct result *result, uint64_t end)
{
    if (end <= result->size)
        return 0;
    int status;
    do
        status = fallocate(result->fd, 0, (off_t)result->size, (off_t)(end - result->size));
    while (status < 0 && errno == EINTR);
    if (status == 0)
        return 0;
    status = -errno;
    if (status != -ENOSPC && status != -EDQUOT && status != -EFBIG && status != -EIO)
        return 0;
    /* Part of it may have been granted. */
    if (ftruncate(result->fd, (off_t)result->size) < 0)
        return -errno;
    return status;
}

/* A later version: see the order in result.h. PENDING holds records and sections. */
static int write_update(struct result *result, const struct perfdata_header *plain,
                        const struct perfdata_header *complete)
{
    const struct buffer *pending = &result->pending;
    int status = reserve_room(result, result->data_end + pending->size);
    if (status == 0)
        status = buffer_pwrite(result->fd, plain, sizeof(*plain), 0);
    if (status == 0)
        status = buffer_pwrite(result->fd, pending->data, pending->size, result->data_end);
    if (status == 0)
        status = buffer_pwrite(result->fd, complete, sizeof(*complete), 0);
    return status;
}

/* Accounts for a version of the file that is complete on disk. */
static void note_written(struct result *result, uint64_t data_end, uint64_t end)
{
    struct results *results = result->results;
    results->written += !result->data_end;
    if (end > result->size) {
        results->bytes += end - result->size;
        result->size = end;
    }
    result->data_end = data_end;
}

/* perf takes a file without data for one that was truncated. */
static void append_something(struct buffer *to)
{
    const struct perf_event_header nothing = {.type = PERFDATA_RECORD_FINISHED_ROUND, .size = sizeof(nothing)};
    buffer_append(to, &nothing, sizeof(nothing));
}

/* COVERAGE with what could not be written up to now, in *RET; NULL if COVERAGE is NULL. */
static const struct result_coverage *tell_unwritten(const struct results *results,
                                                    const struct result_coverage *coverage, struct result_coverage *ret)
{
    if (!coverage)
        return NULL;
    *ret = *coverage;
    ret->incomplete_files = results->failed;
    ret->unwritten_samples = results->unwritten;
    return ret;
}

/* Brings the counts in pending samples into the form of the file. */
static void settle_values(struct result *result, const struct result_task *task)
{
    const struct features *features = &result->results->features;
    const struct event_config *config = features->session->config;
    struct buffer *pending = &result->pending;
    uint64_t base[CONFIG_EVENTS] = {0};
    if (!features->values || buffer_failed(pending))
        return;
    for (unsigned i = 0; task->before && i < config->count; i++)
        base[i] = task->before[i].value;
    const size_t front = front_size(result);
    if (!values_settle(&result->values, &features->layout, config, task->ids, task->before ? base : NULL, task->later,
                       pending->data + front, pending->size - front))
        pending->failed = true;
}

static int write_version(struct result *result, const struct result_task *task, const struct result_coverage *coverage,
                         const char *note)
{
    struct features *features = &result->results->features;
    struct buffer *pending = &result->pending;
    const bool first = !result->data_end;
    if (first && pending->size == features->front)
        append_something(pending);
    const size_t records = pending->size, front = front_size(result);
    settle_values(result, task);
    if (!buffer_failed(pending))
        identify_records(features->buildids, pending->data + front, records - front);
    const uint64_t data_end = result->data_end + records;
    uint64_t bits[4];
    struct result_coverage told;
    features_sections(features, task, tell_unwritten(result->results, coverage, &told), note, data_end, pending, front,
                      bits);
    int status = buffer_failed(pending) ? -ENOMEM : open_file(result);
    if (status == 0 && first) {
        struct perfdata_header header = header_of(result, task, data_end, bits);
        features_front(features, task->ids, pending->data);
        memcpy(pending->data, &header, sizeof(header));
        status = write_first(result);
        if (status == 0 && !result->named)
            status = name_file(result);
    } else if (status == 0) {
        struct perfdata_header plain = header_of(result, task, result->data_end, NULL);
        struct perfdata_header complete = header_of(result, task, data_end, bits);
        status = write_update(result, &plain, &complete);
    }
    const uint64_t end = result->data_end + pending->size;
    pending->size = records;
    if (status == 0) {
        note_written(result, data_end, end);
        buffer_clear(pending);
    }
    return status;
}

/* If nothing is on disk that a reader could use, leaves nothing. */
static void take_back(struct result *result)
{
    if (result->fd < 0 || result->data_end)
        return;
    if (result->named)
        files_remove(&result->results->files, result->path);
    result->named = false;
    close_file(result);
}

/* Drops the records that could not be written. */
static void drop_records(struct result *result)
{
    struct buffer *pending = &result->pending;
    struct perf_event_header header;
    for (size_t at = front_size(result); at + sizeof(header) <= pending->size; at += header.size) {
        memcpy(&header, pending->data + at, sizeof(header));
        if (header.size < sizeof(header))
            break;
        result->results->unwritten += header.type == PERF_RECORD_SAMPLE && result->error != -ESTALE;
    }
    buffer_clear(pending);
}

/* Drops the records that could not be written: the file ends where it ended, and says so. */
static int write_without_records(struct result *result, const struct result_task *task,
                                 const struct result_coverage *coverage)
{
    char note[160];
    snprintf(note, sizeof(note), "records are missing in this file: they could not be written (%s)",
             strerror(-result->error));
    drop_records(result);
    if (!result->data_end && begin_file(result) < 0)
        return -ENOMEM;
    return write_version(result, task, coverage, note);
}

static int flush(struct result *result, const struct result_task *task, const struct result_coverage *coverage)
{
    int status = write_version(result, task, coverage, NULL);
    if (status == 0)
        return 0;
    take_back(result);
    note_error(result, status);
    if (write_without_records(result, task, coverage) < 0)
        take_back(result);
    return status;
}

/* If descriptors are few, tasks need them. */
static uint64_t max_open(const struct results *results)
{
    uint64_t share = results->session->fd_limit / 8;
    return share < OPEN_MAX_FILES ? share : OPEN_MAX_FILES;
}

/* The device and inode say later whether it still is this file. */
static void keep_or_close(struct result *result)
{
    struct stat status;
    if (result->fd < 0 || (result->results->open < max_open(result->results) && result->results->files.reserve >= 0))
        return;
    if (fstat(result->fd, &status) == 0) {
        result->dev = status.st_dev;
        result->ino = status.st_ino;
    }
    close_file(result);
}

int result_flush(struct result *result, const struct result_task *task, const struct result_coverage *coverage)
{
    if (result->error)
        return result->error;
    int status = flush(result, task, coverage);
    keep_or_close(result);
    return status;
}

static void free_result(struct result *result)
{
    struct results *results = result->results;
    close_file(result);
    if (results->spare_count < SPARES && result->pending.data && result->pending.capacity <= SPARE_MAX)
        results->spare[results->spare_count++] = result->pending;
    else
        buffer_release(&result->pending);
    free(result->path);
    free(result->read);
    values_release(&result->values);
    free(result);
}

int result_read(struct result *result, const struct result_task *task)
{
    if (result->error)
        return result->error;
    if (!result->read)
        result->read = calloc(result->results->features.session->config->count, sizeof(*result->read));
    if (!result->read)
        return -ENOMEM;
    features_reads(&result->results->features, task, result->read, &result->pending);
    return buffer_failed(&result->pending) ? -ENOMEM : 0;
}

int result_finish(struct result *result, const struct result_task *task, const struct result_coverage *coverage)
{
    int status = result->error;
    if (!status) {
        const bool grew = result->data_end;
        features_reads(&result->results->features, task, result->read, &result->pending);
        status = flush(result, task, coverage);
        if (status == 0 && grew && !files_is_there(&result->results->files, result->path, result->fd)) {
            status = -ESTALE;
            note_error(result, status);
        }
    } else if (write_without_records(result, task, coverage) < 0) {
        /* Once more, without the records that were lost: how the task ended and what it counted is worth more than
           they are. */
        take_back(result);
    }
    free_result(result);
    return status;
}
