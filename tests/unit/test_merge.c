/* SPDX-License-Identifier: MIT */
/* export perf: one perf.data of several files, byte by byte, and what it says where it cannot be made. */
#include "merge_kit.h"

#include <time.h>

#include "common/report.h"
#include "pinject/kernel.h"

enum { RECORDS = 5000, WRITER_ID = 100 };

struct record_seen {
    uint32_t type;
    size_t size;
    const unsigned char *at;
};

/* What the last export wrote, taken apart. */
static struct {
    struct buffer bytes;
    struct perfdata_header header;
    struct record_seen records[RECORDS];
    unsigned count;
} made;

static uint64_t number_at(const unsigned char *at, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, at, size);
    return value;
}

static void read_made(const char *path)
{
    buffer_release(&made.bytes);
    buffer_init(&made.bytes);
    assert_int_equal(buffer_read_file(&made.bytes, path, 64 << 20), 0);
    assert_int_equal(unlink(path), 0);
    assert_true(made.bytes.size >= sizeof(made.header));
    memcpy(&made.header, made.bytes.data, sizeof(made.header));
    const unsigned char *at = made.bytes.data + made.header.data.offset, *end = at + made.header.data.size;
    assert_true(end <= made.bytes.data + made.bytes.size);
    for (made.count = 0; at < end; at += made.records[made.count++].size) {
        assert_true(made.count < RECORDS);
        made.records[made.count] = (struct record_seen){(uint32_t)number_at(at, 4), number_at(at + 6, 2), at};
        assert_true(made.records[made.count].size >= 8 && made.records[made.count].size <= (size_t)(end - at));
    }
}

/* The section of a feature; its size, NULL: there is none. */
static const unsigned char *section(unsigned feature, uint64_t *ret_size)
{
    const unsigned char *at = made.bytes.data + made.header.data.offset + made.header.data.size;
    const uint64_t *bits = (const uint64_t *)(const void *)&made.header.features;
    for (unsigned i = 0; i < feature; i++)
        at += bits[i / 64] >> i % 64 & 1 ? 16 : 0;
    if (!(bits[feature / 64] >> feature % 64 & 1))
        return NULL;
    uint64_t offset = number_at(at, 8);
    *ret_size = number_at(at + 8, 8);
    assert_true(offset <= made.bytes.size && *ret_size <= made.bytes.size - offset);
    return made.bytes.data + offset;
}

/* SAID without the line that every export has that succeeds. */
static const char *without_size(const char *said)
{
    static char rest[4096];
    const char *line = strstr(said, ") does not contain function names; to save the names for other machines, type: "
                                    "panalyze archive -o ");
    assert_non_null(line);
    const char *end = strchr(line, '\n');
    assert_non_null(end);
    while (line > said && line[-1] != '\n')
        line--;
    snprintf(rest, sizeof(rest), "%.*s%s", (int)(line - said), said, end + 1);
    return rest;
}

/* Fails unless it ends with STATUS, and says MESSAGE, "": nothing. */
static void export_job(struct job *job, int status, const char *message)
{
    check_capture();
    int got = export_view(&job->view);
    const char *said = got ? check_captured() : without_size(check_captured());
    if (got != status || !strstr(said, message) || (!*message && *said))
        fail_msg("status %d, \"%s\" instead of %d, \"%s\"", got, said, status, message);
    assert_int_equal(access(in_directory("made"), F_OK), status ? -1 : 0);
    if (status == 0)
        read_made(in_directory("made"));
}

static void export_files(const char *const *paths, size_t count, const char *event, int status, const char *message)
{
    struct job job;
    load(&job, paths, count, event);
    export_job(&job, status, message);
    unload(&job);
}

static void put_u64s(struct writer *writer, uint32_t type, unsigned count)
{
    writer_begin(writer, type, 0);
    for (unsigned i = 0; i < count; i++)
        writer_u64(writer, &writer->data, i == 0 && type != PERF_RECORD_LOST_SAMPLES ? WRITER_ID : 5);
    writer_end(writer);
}

/* Two files of an event each, both with the id 100: here the first is 1, the second 2, wherever a record has it. */
static void test_ids(void **state)
{
    (void)state;
    const uint64_t times[] = {0, PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING,
                              PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING};
    for (unsigned form = 0; form < 8; form++) {
        const char *paths[2];
        bool with_id = form & 1;
        unsigned words = (times[form / 2] & 1) + (times[form / 2] >> 1 & 1);
        for (unsigned i = 0; i < 2; i++) {
            struct writer writer;
            begin_event(&writer, i ? PERF_COUNT_SW_PAGE_FAULTS : PERF_COUNT_SW_CPU_CLOCK, i ? "faults" : "clock");
            writer.attrs[0].read_format = times[form / 2] | (with_id ? PERF_FORMAT_ID : 0);
            writer_comm(&writer, "app", false);
            writer_sample(&writer, 0, USER, 0x1000, 1, NULL, 0);
            put_u64s(&writer, PERF_RECORD_LOST, 2);
            put_u64s(&writer, PERF_RECORD_LOST_SAMPLES, 1);
            put_u64s(&writer, PERF_RECORD_READ, 2 + words + with_id);
            writer.time += 1000;
            paths[i] = save(&writer, i ? "b.data" : "a.data");
        }
        export_files(paths, 2, NULL, 0, "");
        assert_int_equal(made.count, 10);
        assert_int_equal(made.header.attrs.size, 2 * (PERF_ATTR_SIZE_VER3 + 16));
        unsigned seen[2] = {0};
        for (unsigned i = 0; i < made.count; i++) {
            const struct record_seen *record = &made.records[i];
            bool sample = record->type == PERF_RECORD_SAMPLE, lost = record->type == PERF_RECORD_LOST;
            uint64_t id = number_at(record->at + (sample ? 8 : record->size - 8), 8);
            assert_in_range(id, 1, 2);
            seen[id - 1]++;
            assert_true(!lost || number_at(record->at + 8, 8) == id);
            if (lost || record->type == PERF_RECORD_LOST_SAMPLES)
                assert_int_equal(number_at(record->at + (lost ? 16 : 8), 8), 5);
            if (record->type != PERF_RECORD_READ)
                continue;
            assert_int_equal(number_at(record->at + 8, 8), WRITER_ID); /* pid and tid here */
            for (unsigned word = 0; word < 1 + words + with_id; word++)
                assert_int_equal(number_at(record->at + 16 + 8 * word, 8), with_id && word == 1 + words ? id : 5);
        }
        assert_int_equal(seen[0], 5);
        assert_int_equal(seen[1], 5);
    }
}

/* Records that are as small as they can be: an event with nothing but its id behind them. */
static void test_ids_of_small_records(void **state)
{
    (void)state;
    const char *paths[2];
    for (unsigned i = 0; i < 2; i++) {
        struct writer writer;
        begin_event(&writer, i ? PERF_COUNT_SW_PAGE_FAULTS : PERF_COUNT_SW_CPU_CLOCK, i ? "faults" : "clock");
        writer.attrs[0].sample_type = PERF_SAMPLE_IDENTIFIER;
        writer_begin(&writer, PERF_RECORD_SAMPLE, USER);
        writer_u64(&writer, &writer.data, WRITER_ID);
        writer_end(&writer);
        put_u64s(&writer, PERF_RECORD_LOST_SAMPLES, 1);
        paths[i] = save(&writer, i ? "b.data" : "a.data");
    }
    export_files(paths, 2, NULL, 0, "");
    assert_int_equal(made.count, 4);
    for (unsigned i = 0; i < 4; i++) {
        bool sample = made.records[i].type == PERF_RECORD_SAMPLE;
        assert_int_equal(made.records[i].size, sample ? 16 : 24);
        assert_int_equal(number_at(made.records[i].at + (sample ? 8 : 16), 8), 1 + i / 2);
        assert_true(sample || number_at(made.records[i].at + 8, 8) == 5);
    }
}

static void change_form(struct perf_event_attr *attr, unsigned how)
{
    switch (how) {
    case 0: attr->sample_type |= PERF_SAMPLE_WEIGHT; break;
    case 1: attr->read_format = PERF_FORMAT_ID; break;
    case 2: attr->sample_id_all = 0; break;
    case 3: attr->sample_type &= ~(uint64_t)PERF_SAMPLE_IDENTIFIER; break;
    case 4: attr->sample_type |= PERF_SAMPLE_READ; break;
    case 5: attr->read_format = PERF_FORMAT_GROUP; break;
    }
}

/* perf wants every record's event at the same place: each form in one file, and in both. */
static void test_other_forms(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 6; how++) {
        for (unsigned both = 0; both < 2; both++) {
            const char *paths[2];
            for (unsigned i = 0; i < 2; i++) {
                struct writer writer;
                begin_event(&writer, PERF_COUNT_SW_CPU_CLOCK, "clock");
                if (both || i)
                    change_form(&writer.attrs[0], how);
                writer_comm(&writer, "app", false);
                paths[i] = save(&writer, i ? "b.data" : "a.data");
            }
            if (how == 0 || (both && how == 1)) /* only samples differ */
                export_files(paths, 2, NULL, 0, "");
            else if (how == 4) /* the values of each file begin with 0 */
                export_files(paths, 2, NULL, 1,
                             both ? "a.data: each sample has the counts of its event group"
                                  : "b.data: each sample has the counts of its event group");
            else
                export_files(paths, 2, NULL, 1,
                             both ? "a.data: the file's records have a layout that cannot be merged; "
                                    "export this file alone"
                                  : "b.data: the file's records have a layout that cannot be merged");
            export_files(paths + 1, 1, NULL, 0, "");
        }
    }
}

/* A pipe tells its events among its records: they are where a file has them. */
static void test_pipe(void **state)
{
    (void)state;
    struct writer writer;
    uint64_t size = 0;
    begin_event(&writer, PERF_COUNT_SW_CPU_CLOCK, "clock");
    writer.pipe = true;
    writer_comm(&writer, "app", false);
    const char *path = save(&writer, "a.data");
    export_files(&path, 1, NULL, 0, "");
    assert_int_equal(made.count, 1);
    assert_int_equal(made.records[0].type, PERF_RECORD_COMM);
    assert_int_equal(made.header.attrs.size, PERF_ATTR_SIZE_VER3 + 16);
    assert_non_null(section(PERFDATA_EVENT_DESC, &size));
}

/* Two files; in the attr of the second the byte OFFSET is set. */
static void export_with_byte(size_t offset)
{
    const char *paths[2];
    for (unsigned i = 0; i < 2; i++) {
        struct writer writer;
        begin_event(&writer, i ? PERF_COUNT_SW_PAGE_FAULTS : PERF_COUNT_SW_CPU_CLOCK, i ? "faults" : "clock");
        if (i && offset)
            ((unsigned char *)&writer.attrs[0])[offset] = 7;
        writer_comm(&writer, "app", false);
        paths[i] = save(&writer, i ? "b.data" : "a.data");
    }
    export_files(paths, 2, NULL, 0, "");
}

/* perf refuses attrs of a later version than its own: they are as short as what is set in them allows. */
static void test_attr_size(void **state)
{
    (void)state;
    for (size_t offset = PERF_ATTR_SIZE_VER3 - 1; offset < sizeof(struct perf_event_attr); offset++) {
        const bool later = offset >= PERF_ATTR_SIZE_VER3;
        const size_t attr = (offset / 8 + 1) * 8, entry = attr + sizeof(struct perfdata_section);
        uint64_t size;
        export_with_byte(later ? offset : 0);
        assert_int_equal(made.header.attr_size, entry);
        assert_int_equal(made.header.attrs.size, 2 * entry);
        assert_int_equal(made.header.data.offset, made.header.attrs.offset + 2 * entry);
        const unsigned char *first = made.bytes.data + made.header.attrs.offset, *second = first + entry;
        assert_int_equal(number_at(first + 4, 4), attr);
        assert_int_equal(number_at(second + 4, 4), attr);
        assert_int_equal(number_at(second + attr + 8, 8), sizeof(uint64_t)); /* of the ids behind it */
        if (later)
            assert_int_equal(second[offset], 7);
        const unsigned char *events = section(PERFDATA_EVENT_DESC, &size);
        assert_non_null(events);
        assert_int_equal(number_at(events + 4, 4), attr);
        assert_int_equal(number_at(events + 8 + 4, 4), attr);
    }
}

/* A DSO as the records tell it: with its build-id. */
static void put_dso(struct writer *writer, uint64_t start, const char *path, unsigned char id)
{
    unsigned char bytes[24] = {20};
    memset(bytes + 4, id, 20);
    writer_begin(writer, PERF_RECORD_MMAP2, USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
    writer_u32(writer, &writer->data, writer->pid);
    writer_u32(writer, &writer->data, writer->tid);
    writer_u64(writer, &writer->data, start);
    writer_u64(writer, &writer->data, 0x1000);
    writer_u64(writer, &writer->data, 0);
    buffer_append(&writer->data, bytes, sizeof(bytes));
    writer_u32(writer, &writer->data, 5);
    writer_u32(writer, &writer->data, 2);
    buffer_string(&writer->data, path);
    writer_end(writer);
    writer_sample(writer, 0, USER, start + 0x10, 1, NULL, 0);
    writer->time += 1000;
}

/* Perf before 5.12 has build-ids from their section alone. Of two files with one path, it would take one for both. */
static void test_build_ids(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        unsigned char id;
    } dsos[] = {{"/a", 1},     {"/b", 2},    {"/twice", 3}, {"/twice", 4},
                {"/twice", 3}, {"/told", 5}, {"/a", 1},     {"[vdso]", 6}};
    static const unsigned char told[20] = {9};
    const char *paths[2];
    for (unsigned i = 0; i < 2; i++) {
        struct writer writer;
        begin_event(&writer, PERF_COUNT_SW_CPU_CLOCK, "clock");
        if (i)
            writer_build_id(&writer, "/told", told, sizeof(told), USER);
        for (unsigned j = 0; j < sizeof(dsos) / sizeof(dsos[0]); j++)
            put_dso(&writer, 0x1000 * (j + 1), dsos[j].path, dsos[j].id);
        paths[i] = save(&writer, i ? "b.data" : "a.data");
    }
    export_files(paths, 2, NULL, 0, "");
    uint64_t size = 0;
    unsigned char seen[3] = {0};
    const unsigned char *at = section(PERFDATA_BUILD_ID, &size), *end = at + size;
    assert_non_null(at);
    for (; at < end; at += number_at(at + 6, 2)) {
        const char *path = (const char *)at + 36;
        assert_int_equal(number_at(at + 4, 2), USER | 1u << 15);
        assert_int_equal(at[32], 20);
        unsigned which = strcmp(path, "/a") == 0 ? 0 : strcmp(path, "/b") == 0 ? 1 : 2;
        assert_true(which < 2 || strcmp(path, "/told") == 0);
        assert_int_equal(seen[which], 0);
        seen[which] = at[12];
    }
    assert_memory_equal(seen, ((unsigned char[]){1, 2, 9}), 3);
}

/* perf takes a file without any record for damaged. */
static void put_hostname(struct writer *writer, const char *name)
{
    struct buffer *to = &writer->features[PERFDATA_HOSTNAME];
    buffer_u32(to, 8);
    buffer_append(to, name, strlen(name));
    buffer_align(to, 4);
    buffer_u32(to, 0);
}

/* Where files say different things of their machine, the first one's hold. */
static void test_machine_of_the_first(void **state)
{
    (void)state;
    const char *paths[3], *names[] = {"one", "two", "six"};
    for (unsigned i = 0; i < 3; i++) {
        struct writer writer;
        begin_event(&writer, PERF_COUNT_SW_CPU_CLOCK, "clock");
        writer_sample(&writer, 0, USER, 0x1000, 1, NULL, 0);
        put_hostname(&writer, names[i]);
        char file[] = "0.data";
        file[0] = (char)('0' + i);
        paths[i] = save(&writer, file);
    }
    export_files(paths, 3, NULL, 0, "");
    uint64_t size;
    const unsigned char *hostname = section(PERFDATA_HOSTNAME, &size);
    assert_non_null(hostname);
    assert_true(size >= 8);
    assert_string_equal((const char *)hostname + 4, "one");
}

static void test_no_records(void **state)
{
    (void)state;
    struct writer writer;
    begin_event(&writer, PERF_COUNT_SW_CPU_CLOCK, "clock");
    const char *path = save(&writer, "a.data");
    uint64_t size;
    export_files(&path, 1, NULL, 0, "");
    assert_int_equal(made.count, 1);
    assert_int_equal(made.records[0].type, PERFDATA_RECORD_FINISHED_ROUND);
    assert_int_equal(made.records[0].size, 8);
    assert_non_null(section(PERFDATA_EVENT_DESC, &size));
    assert_null(section(PERFDATA_SAMPLE_TIME, &size));
}

/* Events that have no name are chosen by what they are. */
static void test_chosen_without_a_name(void **state)
{
    (void)state;
    static const struct {
        uint64_t config;
        bool user;
    } others[] = {{PERF_COUNT_SW_PAGE_FAULTS, false}, {PERF_COUNT_SW_CPU_CLOCK, true}};
    for (unsigned i = 0; i < 2; i++) {
        struct writer writer;
        uint64_t size;
        begin_event(&writer, PERF_COUNT_SW_CPU_CLOCK, NULL);
        writer_attr(&writer, PERF_TYPE_SOFTWARE, others[i].config, 1, NULL)->exclude_kernel = others[i].user;
        writer_sample(&writer, 0, USER, 0x1000, 1, NULL, 0);
        writer_sample(&writer, 1, USER, 0x2000, 1, NULL, 0);
        writer_sample(&writer, 1, USER, 0x3000, 1, NULL, 0);
        const char *path = save(&writer, "a.data");
        export_files(&path, 1, i ? "cpu-clock:u" : "page-faults", 0, "");
        assert_int_equal(made.count, 2);
        assert_int_equal(number_at(made.records[0].at + 16, 8), 0x2000);
        export_files(&path, 1, "cpu-clock", 0, "");
        assert_int_equal(number_at(made.records[0].at + 16, 8), 0x1000);
        assert_int_equal(made.count, 1);
        assert_null(section(PERFDATA_EVENT_DESC, &size)); /* perf names them itself */
    }
}

/* The clock of the samples, and what it showed at which time of the day. */
static void test_clock(void **state)
{
    (void)state;
    for (unsigned form = 0; form < 3; form++) {
        struct writer writer;
        uint64_t size = 0;
        begin_event(&writer, PERF_COUNT_SW_CPU_CLOCK, "clock");
        writer.attrs[0].use_clockid = form > 0;
        writer.attrs[0].clockid = CLOCK_BOOTTIME;
        struct buffer *to = &writer.features[PERFDATA_CLOCK_DATA];
        if (form == 2) {
            writer_u32(&writer, to, 1);
            writer_u32(&writer, to, CLOCK_BOOTTIME);
            writer_u64(&writer, to, 1700000000000000000);
            writer_u64(&writer, to, 12345);
        }
        writer_sample(&writer, 0, USER, 0x1000, 1, NULL, 0);
        const char *path = save(&writer, "a.data");
        export_files(&path, 1, NULL, 0, "");
        const unsigned char *id = section(PERFDATA_CLOCKID, &size);
        assert_int_equal(id != NULL, form > 0);
        if (id) {
            assert_int_equal(size, 8);
            assert_int_equal(number_at(id, 8), 1); /* its resolution in ns */
        }
        const unsigned char *data = section(PERFDATA_CLOCK_DATA, &size);
        assert_int_equal(data != NULL, form == 2);
        if (data) {
            assert_int_equal(size, 24);
            assert_int_equal(number_at(data, 4), 1);
            assert_int_equal(number_at(data + 4, 4), CLOCK_BOOTTIME);
            assert_int_equal(number_at(data + 8, 8), 1700000000000000000);
            assert_int_equal(number_at(data + 16, 8), 12345);
        }
        data = section(PERFDATA_SAMPLE_TIME, &size);
        assert_true(data && size == 16 && number_at(data, 8) == 1000 && number_at(data + 8, 8) == 1000);
    }
}

/* Mappings that were told before are left out; beyond 4096 of a process some are told again, and none is lost. */
static void test_many_mappings(void **state)
{
    (void)state;
    const char *paths[2];
    for (unsigned most = 4096; most <= 4097; most++) {
        for (unsigned i = 0; i < 2; i++) {
            struct writer writer;
            begin_event(&writer, PERF_COUNT_SW_CPU_CLOCK, "clock");
            writer.time = i ? 5000 : 1000;
            for (uint64_t map = 0; map < (i ? 2 : most); map++)
                writer_mmap(&writer, 0x100000 + map * 0x1000, 0x1000, 0, "/lib");
            paths[i] = save(&writer, i ? "b.data" : "a.data");
        }
        export_files(paths, 2, NULL, 0, "");
        assert_int_equal(made.count, most == 4096 ? 4096 : 4099);
    }
    /* One that is too short to be one stays as it is. */
    struct writer writer;
    begin_event(&writer, PERF_COUNT_SW_CPU_CLOCK, "clock");
    writer.attrs[0].sample_id_all = 0;
    for (unsigned i = 0; i < 2; i++)
        put_u64s(&writer, PERF_RECORD_MMAP, 3);
    const char *path = save(&writer, "a.data");
    struct job job;
    load(&job, &path, 1, NULL);
    job.settings.file = in_directory("made");
    assert_int_equal(export_view(&job.view), 0);
    read_made(in_directory("made"));
    assert_int_equal(made.count, 2);
    unload(&job);
}

/* In files of several CPUs, of several tasks: by time; at the same time, those of the first file first. */
static void test_order(void **state)
{
    (void)state;
    static const uint64_t times[3][3] = {{10, 40, 40}, {20, 40, 70}, {5, 60, 80}};
    static const uint64_t wanted[] = {30, 11, 21, 12, 13, 22, 31, 23, 32};
    const char *const names[] = {"a.data", "b.data", "c.data", "d.data"}; /* d has no record */
    const char *paths[4];
    for (unsigned i = 0; i < 4; i++) {
        struct writer writer;
        begin_event(&writer, PERF_COUNT_SW_CPU_CLOCK, "clock");
        for (unsigned j = 0; j < 3 && i < 3; j++) {
            writer.time = times[i][j];
            writer_sample(&writer, 0, USER, 10 * (i + 1) + j + (i < 2), 1, NULL, 0);
        }
        paths[i] = save(&writer, names[i]);
    }
    export_files(paths, 4, NULL, 0, "");
    assert_int_equal(made.count, 9);
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(number_at(made.records[i].at + 16, 8), wanted[i]);
}

static int make_directory(void **state)
{
    (void)state;
    report_program("panalyze");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    buffer_release(&made.bytes);
    remove_files();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_ids_of_small_records),
        cmocka_unit_test(test_other_forms),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_attr_size),
        cmocka_unit_test(test_build_ids),
        cmocka_unit_test(test_machine_of_the_first),
        cmocka_unit_test(test_no_records),
        cmocka_unit_test(test_chosen_without_a_name),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_many_mappings),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
