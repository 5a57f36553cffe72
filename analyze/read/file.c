/* SPDX-License-Identifier: MIT */
#include "analyze/read/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "analyze/read/bytes.h"
#include "analyze/read/directory.h"
#include "analyze/read/standard_input.h"
#include "common/perfdata.h"
#include "pinject/format.h"

#define OLD_MAGIC "PERFFILE"
#define ATTEMPTS  5 /* to read a header that changes meanwhile */
#define PAUSE_US  2000

static int no_memory(struct problem *problem)
{
    return problem_set(problem, -ENOMEM, "out of memory");
}

static struct cursor cursor_at(struct file *file, uint64_t offset, uint64_t size)
{
    const unsigned char *bytes = size <= SIZE_MAX ? source_at(&file->source, offset, (size_t)size) : NULL;
    struct cursor cursor = cursor_of(bytes, bytes ? (size_t)size : 0);
    cursor.swap = file->swap;
    cursor.failed = !bytes;
    return cursor;
}

static bool is_inside(const struct file *file, struct perfdata_section section)
{
    return section.offset <= file->source.size && section.size <= file->source.size - section.offset;
}

static struct perfdata_section take_section(struct cursor *cursor)
{
    struct perfdata_section section = {.offset = cursor_u64(cursor)};
    section.size = cursor_u64(cursor);
    return section;
}

static int read_ids(struct file *file, struct perfdata_section ids, struct problem *problem)
{
    if (!is_inside(file, ids))
        return problem_set(problem, -EBADMSG,
                           "the ids of an event lie outside of the file (at byte %llu): the file is truncated or "
                           "damaged",
                           (unsigned long long)ids.offset);
    struct cursor cursor = cursor_at(file, ids.offset, ids.size);
    int status = 0;
    while (status == 0 && cursor_left(&cursor) >= 8)
        status = attr_add_id(&file->attrs, cursor_u64(&cursor), problem);
    return status;
}

static int read_attr(struct file *file, uint64_t at, uint64_t entry_size, struct problem *problem)
{
    struct cursor cursor = cursor_at(file, at, entry_size);
    int status = attr_add(&file->attrs, &cursor, (size_t)entry_size - sizeof(struct perfdata_section), problem);
    return status < 0 ? status : read_ids(file, take_section(&cursor), problem);
}

static int read_attrs(struct file *file, const struct perfdata_header *header, struct problem *problem)
{
    uint64_t entry = header->attr_size;
    if (entry < PERF_ATTR_SIZE_VER0 + sizeof(struct perfdata_section) || entry > 4096)
        return problem_set(problem, -EBADMSG,
                           "the file's header says that an event description has %llu bytes: the file is damaged, or "
                           "not a perf.data file",
                           (unsigned long long)entry);
    if (!is_inside(file, header->attrs)) {
        uint64_t end = header->attrs.offset + header->attrs.size;
        return problem_set(problem, -EBADMSG,
                           "the file is truncated: its event descriptions end at byte %llu, but it has only %llu "
                           "bytes; copy the file again, or record again",
                           (unsigned long long)(end < header->attrs.offset ? UINT64_MAX : end),
                           (unsigned long long)file->source.size);
    }
    if (header->attrs.size < entry)
        return problem_set(problem, -EBADMSG, "the file describes no event");
    int status = 0;
    for (uint64_t i = 0; status == 0 && i < header->attrs.size / entry; i++)
        status = read_attr(file, header->attrs.offset + i * entry, entry, problem);
    return status;
}

/* Keeps the end of the data, the dictionary that our section was compressed with. */
static int take_data_end(struct file *file, const struct perfdata_header *header)
{
    uint64_t size = header->data.size < PINJECT_DICTIONARY_MAX ? header->data.size : PINJECT_DICTIONARY_MAX;
    if (!is_inside(file, header->data))
        return 0;
    struct cursor data = cursor_at(file, header->data.offset + header->data.size - size, size);
    const void *copy = data.failed ? NULL : arena_copy(&file->arena, data.at, (size_t)size);
    if (copy)
        file->features.data_end = cursor_of(copy, (size_t)size);
    return copy || data.failed ? 0 : -ENOMEM;
}

static bool has_feature(const struct perfdata_header *header, uint32_t number)
{
    return header->features[number / 64] >> number % 64 & 1;
}

/* The table of the features follows the data: one section per bit that is set, in bit order. */
static int read_features(struct file *file, const struct perfdata_header *header, struct problem *problem)
{
    uint64_t at = header->data.offset + header->data.size;
    uint32_t count = 0;
    if (has_feature(header, PINJECT_FEATURE) && take_data_end(file, header) < 0)
        return no_memory(problem);
    for (uint32_t number = 0; number < FEATURE_BITS; number++) {
        if (!has_feature(header, number))
            continue;
        struct cursor table = cursor_at(file, at + count++ * sizeof(struct perfdata_section),
                                        sizeof(struct perfdata_section));
        struct perfdata_section section = take_section(&table);
        if (table.failed || !is_inside(file, section)) {
            file->features_lost = true;
            continue;
        }
        struct cursor content = cursor_at(file, section.offset, section.size);
        if (!content.failed && feature_take(&file->features, &file->attrs, number, content) < 0)
            return no_memory(problem);
    }
    return 0;
}

/* Whether the table of the header's features can be at AT, with the contents after it. */
static bool features_fit(struct file *file, const struct perfdata_header *header, uint64_t at)
{
    uint64_t count = 0;
    bool fit = true;
    for (size_t i = 0; i < FEATURE_BITS / 64; i++)
        count += (uint64_t)__builtin_popcountll(header->features[i]);
    for (uint64_t i = 0; i < count && fit; i++) {
        struct perfdata_section section;
        struct cursor table = cursor_at(file, at + i * sizeof(section), sizeof(section));
        section = take_section(&table);
        fit = !table.failed && is_inside(file, section) && section.offset >= at + count * sizeof(section);
    }
    return fit && count > 0;
}

static void read_data_section(struct file *file, const struct perfdata_header *header)
{
    uint64_t size = file->source.size;
    file->data_offset = header->data.offset;
    if (header->data.offset > size) {
        file->data_offset = size;
        file->missing = header->data.offset - size;
        if (header->data.size <= UINT64_MAX - file->missing)
            file->missing += header->data.size;
        return;
    }
    uint64_t there = size - header->data.offset;
    file->data_size = header->data.size < there ? header->data.size : there;
    file->missing = header->data.size - file->data_size;
    if (header->data.size == 0 && there > 0) {
        /* perf writes the size and the features when it ends, but sets the bits of some features at the start. */
        file->unfinished = !features_fit(file, header, header->data.offset);
        file->data_size = file->unfinished ? there : 0;
    }
}

static int take_header(struct file *file, struct perfdata_header *ret, struct problem *problem)
{
    struct cursor cursor = cursor_at(file, 0, sizeof(*ret));
    ret->magic = cursor_u64(&cursor);
    ret->size = cursor_u64(&cursor);
    ret->attr_size = cursor_u64(&cursor);
    ret->attrs = take_section(&cursor);
    ret->data = take_section(&cursor);
    ret->event_types = take_section(&cursor);
    for (size_t i = 0; i < 4; i++)
        ret->features[i] = cursor_u64(&cursor);
    /* In a file of the other byte order the bits are 64-bit words, or 32-bit words from a 32-bit recorder. */
    const unsigned hostname = PERFDATA_HOSTNAME;
    if (file->swap && !(ret->features[0] >> hostname & 1) && (ret->features[0] >> (hostname + 32) & 1))
        for (size_t i = 0; i < 4; i++)
            ret->features[i] = ret->features[i] >> 32 | ret->features[i] << 32;
    if (cursor.failed)
        return problem_set(problem, -EBADMSG, "the file's header is truncated: it has only %llu of its %zu bytes",
                           (unsigned long long)file->source.size, sizeof(*ret));
    return 0;
}

/* 0: file format; 1: pipe format; or -errno. */
static int read_magic(struct file *file, struct problem *problem)
{
    const unsigned char *bytes = source_at(&file->source, 0, 8);
    if (bytes && memcmp(bytes, OLD_MAGIC, 8) == 0)
        return problem_set(
            problem, -EBADMSG,
            "the file is in perf's first file format (PERFFILE), which panalyze does not support; record again");
    uint64_t magic = bytes ? bytes_u64(bytes, false) : 0;
    if (magic != PERFDATA_MAGIC && magic != bswap_64(PERFDATA_MAGIC))
        return problem_set(problem, -ENOEXEC, "the file is not a perf.data file");
    file->swap = magic != PERFDATA_MAGIC;
    struct cursor rest = cursor_at(file, 8, 8);
    uint64_t size = cursor_u64(&rest);
    if (rest.failed)
        return problem_set(problem, -EBADMSG, "the file's header is truncated: it has only %llu of its %zu bytes",
                           (unsigned long long)file->source.size, sizeof(struct perfdata_header));
    if (size != 16 && size < sizeof(struct perfdata_header))
        return problem_set(problem, -EBADMSG,
                           "the file's header claims to have %llu bytes: the file is damaged, or not a perf.data file",
                           (unsigned long long)size);
    return size == 16;
}

static int read_disk_file(struct file *file, struct problem *problem)
{
    struct perfdata_header header;
    int status = take_header(file, &header, problem);
    if (status == 0)
        status = read_attrs(file, &header, problem);
    if (status < 0)
        return status;
    read_data_section(file, &header);
    if (file->unfinished)
        return 0;
    /* No features follow data that is cut off. An end that wraps around is as wrong. */
    if (file->missing == 0 && header.data.size <= UINT64_MAX - header.data.offset)
        status = read_features(file, &header, problem);
    else
        file->features_lost = true;
    file->ours_lost = file->features_lost && has_feature(&header, PINJECT_FEATURE) &&
                      !feature_present(&file->features, PINJECT_FEATURE);
    return status;
}

static int read_start(struct file *file, struct problem *problem)
{
    features_init(&file->features, &file->arena);
    file->attrs.sample_id_at = file->attrs.other_id_back = -1;
    /* An id takes 8 bytes, so a file with more ids points several events at the same ones. */
    uint64_t ids = file->source.size / 8;
    file->attrs.id_limit = ids < UINT32_MAX / 8 ? (uint32_t)ids : UINT32_MAX / 8;
    int status = read_magic(file, problem);
    if (status <= 0)
        return status < 0 ? status : read_disk_file(file, problem);
    file->pipe = true;
    file->data_offset = 16;
    file->data_size = file->source.size - 16;
    return 0;
}

static bool same_header(const struct file *file, const unsigned char *header, size_t size)
{
    unsigned char now[sizeof(struct perfdata_header)];
    return pread(file->source.fd, now, size, 0) == (ssize_t)size && memcmp(now, header, size) == 0;
}

/* While our recorder writes after the data, the header has no features. */
static bool between_versions(const struct file *file)
{
    static const uint64_t none[FEATURE_BITS / 64];
    return !file->pipe && !file->unfinished && memcmp(file->features.present, none, sizeof(none)) == 0 &&
           file->data_offset + file->data_size < file->source.size;
}

static int open_once(struct file *file, const char *path, bool *ret_changed, struct problem *problem)
{
    unsigned char header[sizeof(struct perfdata_header)];
    *file = (struct file){0};
    *ret_changed = false;
    bool directory = !standard_input_is(path) && directory_is_perf(path);
    int status = directory ? directory_open_data(&file->source, path, problem)
                           : source_open(&file->source, path, problem);
    if (status < 0)
        return status;
    const unsigned char *bytes = source_at(&file->source, 0, sizeof(header));
    if (bytes)
        memcpy(header, bytes, sizeof(header));
    status = read_start(file, problem);
    if (bytes)
        *ret_changed = !same_header(file, header, sizeof(header)) || (status == 0 && between_versions(file));
    if (status == 0 && directory)
        status = directory_open_parts(&file->parts, &file->part_count, path, problem);
    if (status < 0)
        file_release(file);
    return status;
}

int file_open(struct file *file, const char *path, struct problem *problem)
{
    for (int attempt = 0;; attempt++) {
        struct problem why = {""};
        bool changed;
        int status = open_once(file, path, &changed, &why);
        /* The header of a growing file may be read between two states: try again. */
        if (changed && attempt < ATTEMPTS) {
            if (status == 0)
                file_release(file);
            usleep(PAUSE_US);
            continue;
        }
        return status < 0 ? problem_set(problem, status, "%s", why.text) : 0;
    }
}

int file_open_memory(struct file *file, const void *bytes, size_t size, struct problem *problem)
{
    *file = (struct file){0};
    if (size == 0)
        return problem_set(problem, -ENODATA, "the file is empty; record again");
    source_of_memory(&file->source, bytes, size);
    int status = read_start(file, problem);
    if (status < 0)
        file_release(file);
    return status;
}

void file_release(struct file *file)
{
    source_release(&file->source);
    directory_release_parts(file->parts, file->part_count);
    file->parts = NULL;
    file->part_count = 0;
    attr_list_release(&file->attrs);
    features_release(&file->features);
    arena_release(&file->arena);
}
