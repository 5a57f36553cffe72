/* SPDX-License-Identifier: MIT */
#include "collector/output/identify.h"

#include <pinject/kernel.h>
#include <string.h>

#include "collector/records/records.h"

/* As perf knows it since 5.12: PERF_RECORD_MISC_MMAP_BUILD_ID. */
struct mapped_id {
    uint8_t size, reserved[3];
    uint8_t bytes[20];
};

_Static_assert(sizeof(struct mapped_id) == 24, "perf.data: the build id of MMAP2");

static void put_id(unsigned char *record, const struct buildid *id)
{
    struct perf_event_header header;
    struct mapped_id mapped = {.size = id->size};
    memcpy(mapped.bytes, id->bytes, id->size);
    memcpy(record + RECORDS_MAPPED_FILE, &mapped, sizeof(mapped));
    memcpy(&header, record, sizeof(header));
    header.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
    memcpy(record, &header, sizeof(header));
}

static void identify(struct buildids *buildids, unsigned char *record)
{
    const struct records_mmap map = records_parse_mmap((const struct perf_event_header *)(const void *)record);
    const struct result_module module = {.path = map.path,
                                         .maj = map.values.maj,
                                         .min = map.values.min,
                                         .ino = map.values.ino,
                                         .ino_generation = map.values.ino_generation};
    struct buildid id = {0};
    if (buildids_find(buildids, &module, &id))
        put_id(record, &id);
}

void identify_records(struct buildids *buildids, unsigned char *records, size_t size)
{
    struct perf_event_header header;
    for (size_t at = 0; at + sizeof(header) <= size; at += header.size) {
        memcpy(&header, records + at, sizeof(header));
        if (header.size < sizeof(header) || header.size > size - at)
            return;
        if (header.type == PERF_RECORD_MMAP2 && !(header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) &&
            header.size > RECORDS_MAPPED_PATH)
            identify(buildids, records + at);
    }
}

void identify_kernel(struct buildids *buildids, struct buffer *to)
{
    static const struct result_module kernel = {.path = "[kernel.kallsyms]"};
    enum { MORE = RECORDS_MAPPED_PATH - RECORDS_MAPPED_FILE };
    struct perf_event_header header;
    struct buildid id = {0};
    const size_t size = to->size;
    if (!size || !buildids_find(buildids, &kernel, &id) || !buffer_extend(to, MORE))
        return;
    memmove(to->data + RECORDS_MAPPED_PATH, to->data + RECORDS_MAPPED_FILE, size - RECORDS_MAPPED_FILE);
    memset(to->data + RECORDS_MAPPED_FILE, 0, MORE);
    memcpy(&header, to->data, sizeof(header));
    header.type = PERF_RECORD_MMAP2;
    header.size = (uint16_t)to->size;
    memcpy(to->data, &header, sizeof(header));
    put_id(to->data, &id);
}
