/* SPDX-License-Identifier: MIT */
#include "test_result_kit.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pinject/format.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "common/buffer.h"
#include "common/events.h"
#include "common/report.h"

static const uint64_t trailer = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;

static void add_event(struct event_config *config, const char *name, bool samples)
{
    const struct event_name *known = events_find_name(name);
    assert_non_null(known);
    struct config_event *event = &config->events[config->count++];
    snprintf(event->name, sizeof(event->name), "%s", name);
    event->samples = samples;
    event->nanoseconds = known->nanoseconds;
    event->attr = (struct perf_event_attr){
        .type = known->type,
        .config = known->config,
        .size = sizeof(event->attr),
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_LOST,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    if (samples || (config->dummy && config->count == 1)) {
        event->attr.sample_type = trailer | (samples ? PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN : 0);
        event->attr.freq = samples;
        event->attr.sample_freq = samples ? 999 : 0;
        event->attr.sample_id_all = event->attr.comm = event->attr.mmap = event->attr.mmap2 = event->attr.task = 1;
        config->sampling += samples;
    }
}

void kit_new(struct kit *kit, enum kit_mode mode)
{
    memset(kit, 0, sizeof(*kit));
    report_program("pinject-run");
    snprintf(kit->directory, sizeof(kit->directory), "/tmp/pinject-unit-XXXXXX");
    assert_non_null(mkdtemp(kit->directory));
    assert_int_equal(chdir(kit->directory), 0);
    kit->settings.follow = 15;
    kit->settings.mode = 0600;
    kit->settings.stat = kit->config.dummy = mode == KIT_STAT;
    if (mode == KIT_STAT)
        add_event(&kit->config, "dummy", false);
    add_event(&kit->config, "task-clock", mode == KIT_SAMPLING);
    add_event(&kit->config, "page-faults", false);
    add_event(&kit->config, "context-switches", false);
    for (unsigned i = kit->config.count; i < CONFIG_EVENTS; i++) /* nobody is to look behind the last one */
        kit->config.events[i] = kit->config.events[mode == KIT_STAT];
    snprintf(kit->config.reason, sizeof(kit->config.reason), "this machine has no cycles");
    snprintf(kit->config.notes[kit->config.note_count++], sizeof(kit->config.notes[0]), "branches: not supported");
    kit->session.settings = &kit->settings;
    kit->session.config = &kit->config;
    kit->session.fd_limit = 20000;
    kit->session.id[0] = 0x1122334455667788;
    kit->session.id[1] = 0x99aabbccddeeff00;
    kit->session.start_ns = 1000000000;
    kit->session.start_realtime_ns = 1700000000000000000;
}

int kit_start(struct kit *kit, const char *base)
{
    kit->settings.outfile = base;
    return results_new(&kit->session, &kit->results);
}

void kit_free(struct kit *kit)
{
    char command[128];
    results_free(kit->results);
    assert_int_equal(chdir("/"), 0);
    snprintf(command, sizeof(command), "rm -rf %s", kit->directory);
    assert_int_equal(system(command), 0);
}

struct result_task kit_task(const struct kit *kit, pid_t pid, pid_t tid)
{
    static const struct result_generation generation = {
        .start_ns = 1000000100, .comm = "hot", .exec = "/bin/hot", .cmdline = "hot\0-x\0a b", .cmdline_size = 11};
    struct result_task task = {.pid = pid,
                               .tid = tid,
                               .ppid = 1,
                               .parent_tid = pid,
                               .flags = PINJECT_TASK_ENDED | PINJECT_TASK_STATUS,
                               .source = PINJECT_SOURCE_PERF,
                               .kind = 1,
                               .status = 0x700,
                               .start_ns = 1000000100,
                               .end_ns = 5000000000,
                               .startup_ns = 400000,
                               .generations = &generation,
                               .generation_count = 1};
    for (unsigned i = 0; i < kit->config.count; i++) {
        task.ids[i] = 1000ull * (unsigned)tid + i + 1;
        task.values[i] = (struct attach_value){.value = 7000 + i, .enabled_ns = 900000, .running_ns = 900000};
    }
    return task;
}

struct made {
    struct perf_event_header header;
    unsigned char bytes[8192];
};

static void put(struct made *made, const void *bytes, size_t size)
{
    memcpy((unsigned char *)made + made->header.size, bytes, size);
    made->header.size = (uint16_t)(made->header.size + size);
}

static void put64(struct made *made, uint64_t value)
{
    put(made, &value, sizeof(value));
}

static void put_trailer(struct made *made, const struct result_task *task)
{
    put(made, &task->pid, 8);
    put64(made, task->start_ns);
    put64(made, task->ids[0]);
}

static void put_text(struct made *made, const char *text)
{
    size_t length = strlen(text);
    put(made, text, length);
    put(made, "\0\0\0\0\0\0\0", 8 - length % 8);
}

void kit_comm(const struct kit *kit, struct result *result, const struct result_task *task, const char *comm)
{
    (void)kit;
    struct made made;
    made.header = (struct perf_event_header){.type = PERF_RECORD_COMM, .size = 8};
    put(&made, &task->pid, 8);
    put_text(&made, comm);
    put_trailer(&made, task);
    assert_int_equal(result_record(result, &made, made.header.size), 0);
}

static char self[4096];

void kit_map_self(const struct kit *kit, struct result *result, const struct result_task *task)
{
    (void)kit;
    struct stat status;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    assert_true(length > 0);
    self[length] = '\0';
    assert_int_equal(stat(self, &status), 0);
    struct made made;
    made.header = (struct perf_event_header){.type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER, .size = 8};
    put(&made, &task->pid, 8);
    put64(&made, 0x400000);
    put64(&made, 0x100000);
    put64(&made, 0);
    uint32_t numbers[2] = {major(status.st_dev), minor(status.st_dev)};
    put(&made, numbers, sizeof(numbers));
    put64(&made, status.st_ino);
    put64(&made, 0);
    uint32_t flags[2] = {5, 2};
    put(&made, flags, sizeof(flags));
    put_text(&made, self);
    put_trailer(&made, task);
    assert_int_equal(result_record(result, &made, made.header.size), 0);
}

void kit_samples(const struct kit *kit, struct result *result, struct result_task *task, unsigned count)
{
    (void)kit;
    for (unsigned i = 0; i < count; i++) {
        struct made made;
        made.header = (struct perf_event_header){.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .size = 8};
        task->samples++;
        task->last_sample_ns = task->start_ns + task->samples * 1000000;
        if (!task->first_sample_ns)
            task->first_sample_ns = task->last_sample_ns;
        put64(&made, task->ids[0]);
        put64(&made, 0x401000);
        put(&made, &task->pid, 8);
        put64(&made, task->last_sample_ns);
        put64(&made, 1001001); /* period */
        put64(&made, 3);
        put64(&made, (uint64_t)PERF_CONTEXT_USER);
        put64(&made, 0x401000);
        put64(&made, 0x402000);
        assert_int_equal(result_record(result, &made, made.header.size), 0);
    }
}

#define CHECK(condition)                                         \
    do {                                                         \
        if (!(condition)) {                                      \
            print_message("%s: not so: %s\n", path, #condition); \
            kit_file_free(ret);                                  \
            return false;                                        \
        }                                                        \
    } while (0)

static bool fits(const struct kit_file *file, struct perfdata_section section)
{
    return section.offset <= file->size && section.size <= file->size - section.offset;
}

static bool read_attrs(const char *path, struct kit_file *ret)
{
    const struct perfdata_header *header = &ret->header;
    CHECK(header->magic == PERFDATA_MAGIC && header->size == sizeof(*header));
    CHECK(header->attr_size == PERF_ATTR_SIZE_VER3 + sizeof(struct perfdata_section));
    CHECK(fits(ret, header->attrs) && header->attrs.size % header->attr_size == 0);
    ret->attrs = (unsigned)(header->attrs.size / header->attr_size);
    CHECK(ret->attrs > 0 && ret->attrs <= CONFIG_EVENTS);
    for (unsigned i = 0; i < ret->attrs; i++) {
        struct perf_event_attr attr = {0};
        struct perfdata_section ids;
        const unsigned char *at = ret->bytes + header->attrs.offset + i * header->attr_size;
        memcpy(&attr, at, PERF_ATTR_SIZE_VER3);
        memcpy(&ids, at + PERF_ATTR_SIZE_VER3, sizeof(ids));
        CHECK(attr.size == header->attr_size - sizeof(ids) && attr.sample_id_all && attr.use_clockid);
        CHECK((attr.sample_type & trailer) == trailer);
        CHECK(fits(ret, ids) && ids.size <= 8);
        ret->sample_type[i] = attr.sample_type;
        memcpy(&ret->ids[i], ret->bytes + ids.offset, ids.size);
    }
    return true;
}

static bool read_records(const char *path, struct kit_file *ret)
{
    CHECK(fits(ret, ret->header.data) && ret->header.data.size > 0 && ret->header.data.offset % 8 == 0);
    for (uint64_t at = 0; at < ret->header.data.size;) {
        struct perf_event_header record;
        CHECK(ret->header.data.size - at >= sizeof(record));
        memcpy(&record, ret->bytes + ret->header.data.offset + at, sizeof(record));
        CHECK(record.size >= sizeof(record) && record.size % 8 == 0 && record.size <= ret->header.data.size - at);
        CHECK(record.type > 0 && record.type < 256);
        const bool kernel = (record.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
        ret->records[kernel && record.type == PERF_RECORD_MMAP2 ? PERF_RECORD_MMAP : record.type]++;
        ret->total++;
        at += record.size;
    }
    return true;
}

/* As they are, or packed with the end of the data. */
static bool read_items(const char *path, struct kit_file *ret)
{
    const struct kit_section *own = &ret->sections[PINJECT_FEATURE];
    struct pinject_item_packed packed;
    CHECK((own->data - ret->bytes) % 8 == 0 && own->size >= sizeof(packed));
    memcpy(&packed, own->data, sizeof(packed));
    const bool is_packed = packed.item.type == PINJECT_ITEM_PACKED;
    ret->items_size = is_packed ? packed.unpacked : own->size;
    ret->items = malloc(ret->items_size + 1);
    if (!is_packed) {
        memcpy(ret->items, own->data, own->size);
        return true;
    }
    CHECK(packed.item.size == own->size && packed.method == 1 && packed.dictionary <= ret->header.data.size);
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)(own->data + sizeof(packed)),
                       .avail_in = (uInt)(own->size - sizeof(packed)),
                       .next_out = ret->items,
                       .avail_out = (uInt)ret->items_size + 1};
    const unsigned char *data_end = ret->bytes + ret->header.data.offset + ret->header.data.size;
    CHECK(inflateInit2(&stream, -MAX_WBITS) == Z_OK);
    int status = inflateSetDictionary(&stream, data_end - packed.dictionary, packed.dictionary);
    status = status == Z_OK ? inflate(&stream, Z_FINISH) : status;
    inflateEnd(&stream);
    CHECK(status == Z_STREAM_END && stream.total_out == packed.unpacked && stream.avail_in < 8);
    return true;
}

static bool read_sections(const char *path, struct kit_file *ret)
{
    uint64_t table = ret->header.data.offset + ret->header.data.size;
    for (unsigned bit = 0; bit < 256; bit++) {
        if (!(ret->header.features[bit / 64] >> bit % 64 & 1))
            continue;
        struct perfdata_section section;
        CHECK(fits(ret, (struct perfdata_section){table, sizeof(section)}));
        memcpy(&section, ret->bytes + table, sizeof(section));
        table += sizeof(section);
        CHECK(fits(ret, section) && section.size > 0);
        ret->sections[bit].data = ret->bytes + section.offset;
        ret->sections[bit].size = section.size;
    }
    /* No section may begin in the table. */
    for (unsigned bit = 0; bit < 256; bit++)
        CHECK(!ret->sections[bit].data || ret->sections[bit].data >= ret->bytes + table);
    CHECK(!ret->sections[PINJECT_FEATURE].data || read_items(path, ret));
    for (uint64_t at = 0; at < ret->items_size;) {
        struct pinject_item item;
        CHECK(ret->items_size - at >= sizeof(item));
        memcpy(&item, ret->items + at, sizeof(item));
        CHECK(item.size >= sizeof(item) && item.size % 8 == 0 && item.size <= ret->items_size - at);
        CHECK(item.type != PINJECT_ITEM_PACKED);
        at += item.size;
    }
    return true;
}

bool kit_read(const char *path, struct kit_file *ret)
{
    memset(ret, 0, sizeof(*ret));
    struct buffer bytes = BUFFER_INIT;
    int status = buffer_read_file(&bytes, path, 1 << 30);
    ret->bytes = bytes.data;
    ret->size = bytes.size;
    CHECK(status == 0 && ret->size >= sizeof(ret->header));
    memcpy(&ret->header, ret->bytes, sizeof(ret->header));
    return read_attrs(path, ret) && read_records(path, ret) && read_sections(path, ret);
}

void kit_file_free(struct kit_file *file)
{
    free(file->bytes);
    free(file->items);
    memset(file, 0, sizeof(*file));
}

const void *kit_item(const struct kit_file *file, uint32_t type, unsigned index)
{
    for (uint64_t at = 0; at < file->items_size;) {
        const struct pinject_item *item = (const void *)(file->items + at);
        if (item->type == type && index-- == 0)
            return item;
        at += item->size;
    }
    return NULL;
}

bool kit_has_perf(void)
{
    return system("perf --version >/dev/null 2>&1 </dev/null") == 0;
}

static char *read_text(const char *path)
{
    struct buffer text = BUFFER_INIT;
    assert_int_equal(buffer_read_file(&text, path, 1 << 26), 0);
    return (char *)text.data;
}

char *kit_perf(const char *arguments)
{
    static const char *const alarming[] = {"WARNING",   "Warning",     "incompatible", "ncomplete", "nvalid",
                                           "nmatching", "not present", "unrecognized", "ailed to",  "nhandled",
                                           "kipping",   "terminated",  "orrupt"};
    char command[4096];
    snprintf(command, sizeof(command), "LC_ALL=C HOME=%s perf %s </dev/null >perf.stdout 2>perf.stderr", "/nonexistent",
             arguments);
    int status = system(command);
    char *output = read_text("perf.stdout"), *errors = read_text("perf.stderr");
    bool good = status == 0;
    for (size_t i = 0; i < sizeof(alarming) / sizeof(alarming[0]); i++)
        good = good && !strstr(output, alarming[i]) && !strstr(errors, alarming[i]);
    if (!good)
        print_message("perf %s: status %d\n%s\n%s\n", arguments, status, output, errors);
    assert_true(good);
    unlink("perf.stdout");
    unlink("perf.stderr");
    free(errors);
    return output;
}

char *kit_stderr(void (*call)(void *), void *argument)
{
    int saved = dup(2), fd = open("stderr", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(saved >= 0 && fd >= 0);
    fflush(stderr);
    dup2(fd, 2);
    call(argument);
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    close(fd);
    char *text = read_text("stderr");
    unlink("stderr");
    return text;
}
