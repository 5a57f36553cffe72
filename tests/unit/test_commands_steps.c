/* SPDX-License-Identifier: MIT */
/* Lines of tests/data/commands that are for the test itself: what is in a file, and files that are changed. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include "test_commands.h"

/* PATH, unpacked where it is packed. */
static void read_unpacked(const char *path, struct buffer *to)
{
    gzFile file = gzopen(path, "rb");
    char part[4096];
    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    for (int got; (got = gzread(file, part, sizeof(part))) > 0;)
        buffer_append(to, part, (size_t)got);
    gzclose(file);
}

/* A flame graph without its program, which has tests of its own. */
static void step_cat(const struct line *line, struct buffer *to)
{
    struct buffer bytes = BUFFER_INIT;
    read_unpacked(line->words[1], &bytes);
    buffer_append(&bytes, "", 1);
    char *text = (char *)bytes.data, *script = strstr(text, "<script"), *end = strstr(text, "</script>");
    if (script && end) {
        buffer_append(to, text, (size_t)(script - text));
        buffer_append(to, end, strlen(end));
    } else {
        buffer_append(to, text, strlen(text));
    }
    buffer_release(&bytes);
}

static uint64_t varint(const unsigned char **at, const unsigned char *end)
{
    uint64_t value = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        value |= (uint64_t)(**at & 0x7f) << shift;
        if (!(*(*at)++ & 0x80))
            break;
    }
    return value;
}

static bool is_text(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] < ' ' || bytes[i] > '~')
            return false;
    return size > 0;
}

static void put_proto(struct buffer *to, const unsigned char *at, const unsigned char *end, int depth)
{
    while (at < end) {
        uint64_t key = varint(&at, end);
        buffer_printf(to, "%*s%u:", depth * 2, "", (unsigned)(key >> 3));
        if ((key & 7) == 0) {
            buffer_printf(to, " %lld\n", (long long)varint(&at, end));
            continue;
        }
        uint64_t size = varint(&at, end);
        if ((key & 7) != 2 || size > (uint64_t)(end - at)) {
            buffer_printf(to, " wrong\n");
            return;
        }
        if (depth == 0 && (key >> 3) != 6) {
            buffer_printf(to, "\n");
            put_proto(to, at, at + size, 1);
        } else if (is_text(at, size)) {
            buffer_printf(to, " '%.*s'\n", (int)size, (const char *)at);
        } else {
            for (const unsigned char *packed = at; packed < at + size;)
                buffer_printf(to, " %lld", (long long)varint(&packed, at + size));
            buffer_printf(to, "\n");
        }
        at += size;
    }
}

/* A message of protocol buffers: numbers of fields and what they have. */
static void step_proto(const struct line *line, struct buffer *to)
{
    struct buffer bytes = BUFFER_INIT;
    read_unpacked(line->words[1], &bytes);
    put_proto(to, bytes.data, bytes.data + bytes.size, 0);
    buffer_release(&bytes);
}

/* @cut FROM SIZE TO: the first SIZE bytes of a file; a negative one: without so many at its
 * end; "all": a copy. */
static void step_cut(const struct line *line, struct buffer *to)
{
    struct buffer bytes = BUFFER_INIT;
    (void)to;
    assert_int_equal(buffer_read_file(&bytes, line->words[1], COMMANDS_BYTES), 0);
    long size = strcmp(line->words[2], "all") == 0 ? (long)bytes.size : strtol(line->words[2], NULL, 0);
    size += size < 0 ? (long)bytes.size : 0;
    assert_true(size >= 0 && (size_t)size <= bytes.size);
    int fd = commands_open(line->words[3]);
    assert_int_equal(buffer_write(fd, bytes.data, (size_t)size), 0);
    close(fd);
    commands_date(line->words[3], 0);
    buffer_release(&bytes);
}

/* @poke FILE OFFSET BYTES, in hexadecimal: there it has these bytes. */
static void step_poke(const struct line *line, struct buffer *to)
{
    int fd = open(line->words[1], O_WRONLY | O_CLOEXEC);
    long at = strtol(line->words[2], NULL, 0);
    (void)to;
    assert_true(fd >= 0);
    for (const char *hex = line->words[3]; hex[0] && hex[1]; hex += 2) {
        const char digits[] = {hex[0], hex[1], '\0'};
        unsigned char byte = (unsigned char)strtoul(digits, NULL, 16);
        assert_int_equal(pwrite(fd, &byte, 1, at++), 1);
    }
    close(fd);
    commands_date(line->words[1], 0);
}

/* @rights FILE: its mode. */
static void step_rights(const struct line *line, struct buffer *to)
{
    struct stat status;
    assert_int_equal(stat(line->words[1], &status), 0);
    buffer_printf(to, "%o\n", status.st_mode & 07777u);
}

/* @tar FILE: the names and sizes of what is in it. */
static void step_tar(const struct line *line, struct buffer *to)
{
    struct buffer bytes = BUFFER_INIT;
    read_unpacked(line->words[1], &bytes);
    for (size_t at = 0; at + 512 <= bytes.size && bytes.data[at];) {
        const char *head = (const char *)bytes.data + at;
        unsigned long size = strtoul(head + 124, NULL, 8);
        unsigned sum = 8 * ' ';
        for (unsigned i = 0; i < 512; i++)
            sum += i >= 148 && i < 156 ? 0 : (unsigned char)head[i];
        buffer_printf(to, "%.8s %.8s %.8s %.6s %s %s/%s %lu%s\n", head + 100, head + 108, head + 116, head + 257,
                      head + 263, head + 345, head, size, sum == strtoul(head + 148, NULL, 8) ? "" : ", wrong sum");
        at += 512 + (size + 511) / 512 * 512;
    }
    buffer_printf(to, "%zu bytes\n", bytes.size);
    buffer_release(&bytes);
}

static uint64_t u64_at(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static unsigned hash_of(const unsigned char *at, size_t size)
{
    unsigned hash = 2166136261u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 16777619u;
    return hash;
}

static void put_part(struct buffer *to, const char *name, const struct buffer *file, uint64_t at, uint64_t size)
{
    if (at > file->size || size > file->size - at)
        buffer_printf(to, "%s at %llu: outside\n", name, (unsigned long long)at);
    else
        buffer_printf(to, "%s at %llu: %llu bytes, %08x\n", name, (unsigned long long)at, (unsigned long long)size,
                      hash_of(file->data + at, size));
}

/* @records FILE: each part of a perf.data file, and its records as type/misc/size/hash. */
static void step_records(const struct line *line, struct buffer *to)
{
    struct buffer file = BUFFER_INIT;
    assert_int_equal(buffer_read_file(&file, line->words[1], COMMANDS_BYTES), 0);
    assert_true(file.size >= 104);
    uint64_t attr_size = u64_at(file.data + 16), attrs = u64_at(file.data + 24), attrs_size = u64_at(file.data + 32);
    uint64_t data = u64_at(file.data + 40), data_size = u64_at(file.data + 48), at = data + data_size;
    assert_true(attr_size >= 16 && attrs_size <= file.size && attrs <= file.size - attrs_size && at <= file.size);
    for (uint64_t i = 0; i < attrs_size / attr_size; i++) {
        const unsigned char *ids = file.data + attrs + (i + 1) * attr_size - 16;
        put_part(to, "attr", &file, attrs + i * attr_size, attr_size);
        put_part(to, "ids", &file, u64_at(ids), u64_at(ids + 8));
    }
    for (unsigned feature = 0; feature < 256; feature++) {
        char name[32];
        if (!(file.data[72 + feature / 8] >> feature % 8 & 1) || at + 16 > file.size)
            continue;
        snprintf(name, sizeof(name), "feature %u", feature);
        put_part(to, name, &file, u64_at(file.data + at), u64_at(file.data + at + 8));
        at += 16;
    }
    for (at = data; at + 8 <= data + data_size;) {
        uint64_t head = u64_at(file.data + at), size = head >> 48;
        assert_true(size >= 8 && size <= data + data_size - at);
        buffer_printf(to, "%u/%x/%u/%08x\n", (unsigned)head, (unsigned)(head >> 32 & 0xffff), (unsigned)size,
                      hash_of(file.data + at, size));
        at += size;
    }
    buffer_release(&file);
}

/* @date FILE [TIME]: as if it had been written then, or when the inputs were. */
static void step_date(const struct line *line, struct buffer *to)
{
    (void)to;
    commands_date(line->words[1], line->count > 2 ? strtol(line->words[2], NULL, 10) : 0);
}

static void step_remove(const struct line *line, struct buffer *to)
{
    (void)to;
    for (int i = 1; i < line->count; i++)
        if (unlink(line->words[i]) < 0 && rmdir(line->words[i]) < 0)
            fail_msg("%s: %s", line->words[i], strerror(errno));
}

static void step_mkdir(const struct line *line, struct buffer *to)
{
    (void)to;
    assert_int_equal(mkdir(line->words[1], 0700), 0);
}

static void step_fifo(const struct line *line, struct buffer *to)
{
    (void)to;
    assert_int_equal(mkfifo(line->words[1], 0600), 0);
}

static void step_cd(const struct line *line, struct buffer *to)
{
    (void)to;
    if (chdir(line->words[1]) < 0)
        fail_msg("%s: %s", line->words[1], strerror(errno));
}

static const struct step {
    const char *name;
    int words;
    void (*run)(const struct line *line, struct buffer *to);
} steps[] = {
    {"@cat", 2, step_cat},       {"@proto", 2, step_proto},     {"@cut", 4, step_cut},     {"@poke", 4, step_poke},
    {"@rights", 2, step_rights}, {"@rm", 0, step_remove},       {"@cd", 2, step_cd},       {"@date", 0, step_date},
    {"@tar", 2, step_tar},       {"@records", 2, step_records}, {"@mkdir", 2, step_mkdir}, {"@fifo", 2, step_fifo},
};

bool commands_step(const struct line *line, struct buffer *to)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (line->count == 0 || strcmp(line->words[0], steps[i].name) != 0)
            continue;
        assert_true(!steps[i].words || line->count == steps[i].words);
        steps[i].run(line, to);
        return true;
    }
    return false;
}
