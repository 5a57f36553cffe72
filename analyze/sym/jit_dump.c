/* SPDX-License-Identifier: MIT */
#include "analyze/sym/jit_dump.h"

#include <byteswap.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/sym/elf_file.h"
#include "common/cursor.h"

enum {
    HEADER_SIZE = 40,
    PREFIX_SIZE = 16,        /* of each record: id, total size, time */
    LONGEST_NAME = 16 << 10, /* longer ones are cut */
    FIRST_PART = PREFIX_SIZE + 48 + LONGEST_NAME,
    MOST_NAMES = 8 << 20,
    WINDOW = 256 << 10,
};

#define MAGIC      0x4a695444u /* "JiTD" */
#define MOST_BYTES (512u << 20)

enum jit_record { JIT_LOAD = 0, JIT_MOVE = 1, JIT_CLOSE = 3 };

struct dump {
    int fd;
    bool swap, damaged;
    uint64_t size, at;
    unsigned char *window;
    uint64_t window_at;
    size_t window_size;
    struct name_table *table;
    uint64_t names, bytes;
};

/* A cursor over SIZE bytes at AT, or fewer at the end of the file. */
static struct cursor cursor_at(struct dump *dump, uint64_t at, size_t size)
{
    uint64_t in = at - dump->window_at;
    if (at < dump->window_at || in > dump->window_size || size > dump->window_size - in) {
        ssize_t got;
        do
            got = pread(dump->fd, dump->window, WINDOW, (off_t)at);
        while (got < 0 && errno == EINTR);
        dump->window_at = at;
        dump->window_size = got > 0 ? (size_t)got : 0;
        in = 0;
    }
    size_t left = dump->window_size - (size_t)in;
    struct cursor cursor = cursor_of(dump->window + in, left < size ? left : size);
    cursor.swap = dump->swap;
    return cursor;
}

static void add_code(struct dump *dump, uint64_t start, uint64_t size, const char *raw)
{
    struct name_entry entry = {
        .start = start, .end = start + size, .limit = UINT64_MAX, .raw = raw, .flags = NAME_GLOBAL};
    if (size == 0 || size > UINT64_MAX - start || !raw || !raw[0])
        return;
    dump->names++;
    name_table_add(dump->table, &entry);
}

/* JIT_CODE_LOAD: a new function. Its code follows its name. */
static void take_load(struct dump *dump, struct cursor record)
{
    cursor_skip(&record, 16); /* pid, tid, vma */
    uint64_t start = cursor_u64(&record), size = cursor_u64(&record);
    cursor_u64(&record); /* index */
    size_t length = record.failed ? 0 : strnlen((const char *)record.at, cursor_left(&record));
    if (length == 0)
        return;
    if (length > LONGEST_NAME)
        length = LONGEST_NAME;
    dump->bytes += length + 1;
    const char *raw = name_pool_string(dump->table->pool, (const char *)record.at, length);
    if (raw)
        add_code(dump, start, size, raw);
    else
        dump->table->failed = true;
}

/* JIT_CODE_MOVE: moves the last function that was generated at, or moved to, the old address. */
static void take_move(struct dump *dump, struct cursor record)
{
    cursor_skip(&record, 16);
    uint64_t from = cursor_u64(&record), to = cursor_u64(&record), size = cursor_u64(&record);
    const struct name_entry *entries = dump->table->entries;
    /* A move soon follows its function. The limit keeps a hostile dump from costing a long search per move. */
    size_t most = 65536;
    for (size_t i = dump->table->count; !record.failed && i > 0 && most > 0; i--, most--) {
        if (entries[i - 1].start == from) {
            add_code(dump, to, size, entries[i - 1].raw);
            return;
        }
    }
}

/* False: there is no further record. */
static bool take_record(struct dump *dump)
{
    struct cursor record = cursor_at(dump, dump->at, FIRST_PART);
    uint32_t id = cursor_u32(&record), size = cursor_u32(&record);
    cursor_u64(&record); /* time */
    /* A program that was killed may leave half a record. */
    if (record.failed || size > dump->size - dump->at)
        return false;
    if (size < PREFIX_SIZE || dump->names >= MOST_NAMES || dump->bytes >= MOST_BYTES) {
        dump->damaged = true;
        return false;
    }
    if (cursor_left(&record) > size - PREFIX_SIZE)
        record.end = record.at + (size - PREFIX_SIZE);
    if (id == JIT_LOAD)
        take_load(dump, record);
    else if (id == JIT_MOVE)
        take_move(dump, record);
    dump->at += size;
    return id != JIT_CLOSE && !dump->table->failed;
}

/* The pid in the header is one of the program's pid namespace, as in the file's name: it is not needed. */
static void take_header(struct dump *dump)
{
    struct cursor header = cursor_at(dump, 0, HEADER_SIZE);
    uint32_t magic = cursor_u32(&header);
    dump->swap = header.swap = magic == bswap_32(MAGIC);
    cursor_u32(&header); /* version: 1 */
    uint32_t size = cursor_u32(&header);
    cursor_skip(&header, HEADER_SIZE - 12);
    dump->damaged = header.failed || (magic != MAGIC && !dump->swap) || size < HEADER_SIZE;
    dump->at = size;
}

static enum jit_dump_result read_dump(struct dump *dump)
{
    struct stat status;
    if (fstat(dump->fd, &status) < 0 || (status.st_uid != 0 && status.st_uid != geteuid()))
        return JIT_DUMP_FOREIGN;
    dump->window = malloc(WINDOW);
    if (!dump->window) {
        dump->table->failed = true;
        return JIT_DUMP_MISSING;
    }
    take_header(dump);
    while (!dump->damaged && dump->at < dump->size && take_record(dump))
        ;
    return dump->damaged ? JIT_DUMP_DAMAGED : JIT_DUMP_READ;
}

enum jit_dump_result jit_dump_read(const char *path, struct name_table *table)
{
    struct dump dump = {.table = table};
    dump.fd = elf_file_open_regular(path, O_NOFOLLOW, &dump.size);
    if (dump.fd < 0)
        return JIT_DUMP_MISSING;
    enum jit_dump_result result = read_dump(&dump);
    free(dump.window);
    close(dump.fd);
    return result;
}
