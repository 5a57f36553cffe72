/* SPDX-License-Identifier: MIT */
/* report --by data-page, data-symbol, data-type and branch, of a made-up recording of this program. */
#include "check.h"

#include <linux/perf_event.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/fields/field_report.h"
#include "analyze/model/loader.h"
#include "perfdata_writer.h"

#define DATA_PAGE_SIZE (1ull << 22)
#define DATA_FIELDS                                                                                    \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | \
     PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_DATA_SRC | DATA_PAGE_SIZE)

enum { BASE = 0x10000000, PERIOD = 10 };

/* What the samples hit. */
static int fields_in_data[16] = {1};
static char fields_in_zeros[3 * 4096];
static const char fields_constant[64] = "constant";

static __attribute__((noinline)) int fields_function(int a)
{
    return a + fields_in_data[a & 15];
}

struct program {
    uint64_t bias, code, pgoff, size; /* of the first segment with code; virtual addresses */
    uint64_t end;                     /* of the pages of the file; zeroed data follows */
    char path[4096];
};

static int take_program(struct dl_phdr_info *info, size_t size, void *context)
{
    struct program *program = context;
    (void)size;
    program->bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
        if (phdr->p_type == PT_LOAD && phdr->p_memsz > phdr->p_filesz)
            program->end = (phdr->p_vaddr + phdr->p_filesz + 4095) & ~4095ull;
        if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X) || program->size)
            continue;
        program->code = phdr->p_vaddr & ~4095ull;
        program->pgoff = phdr->p_offset & ~4095ull;
        program->size = (phdr->p_vaddr + phdr->p_memsz - program->code + 4095) & ~4095ull;
    }
    return 1; /* the first one is the program */
}

static struct program program;

/* Where THING of this program is in the recording. */
static uint64_t place(const void *thing)
{
    return BASE + (uint64_t)(uintptr_t)thing - program.bias;
}

static void put(struct writer *writer, uint64_t value)
{
    writer_u64(writer, &writer->data, value);
}

static void put_pair(struct writer *writer, uint32_t first, uint32_t second)
{
    writer_u32(writer, &writer->data, first);
    writer_u32(writer, &writer->data, second);
}

static void put_data_mapping(struct writer *writer, uint64_t start, uint64_t size, const char *path)
{
    writer_begin(writer, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA);
    put_pair(writer, writer->pid, writer->tid);
    put(writer, start);
    put(writer, size);
    put(writer, 0);
    buffer_string(&writer->data, path);
    writer_end(writer);
}

struct branch {
    uint64_t from, to, flags;
};

/* A sample of event 0 at fields_function. */
static void put_any_sample(struct writer *writer, uint16_t misc, uint64_t address, uint64_t source, uint64_t page,
                           uint64_t count, const struct branch *branches)
{
    writer_begin(writer, PERF_RECORD_SAMPLE, misc);
    put(writer, 100);
    put(writer, place((const void *)(uintptr_t)fields_function));
    put_pair(writer, writer->pid, writer->tid);
    put(writer, writer->time++);
    put(writer, address);
    put_pair(writer, 3, 0);
    put(writer, PERIOD);
    put(writer, count);
    for (uint64_t i = 0; branches && i < count; i++) {
        put(writer, branches[i].from);
        put(writer, branches[i].to);
        put(writer, branches[i].flags);
    }
    put(writer, source);
    put(writer, page);
    writer_end(writer);
}

static void put_sample(struct writer *writer, uint64_t address, uint64_t source, uint64_t page, uint64_t count,
                       const struct branch *branches)
{
    put_any_sample(writer, PERF_RECORD_MISC_USER, address, source, page, count, branches);
}

static void put_clock(struct writer *writer)
{
    writer_sample(writer, 1, PERF_RECORD_MISC_USER, place((const void *)(uintptr_t)fields_function), PERIOD, NULL, 0);
}

/* Loads that hit the L1 cache: with the TLB's first level, not locked; the kernel's N/A. */
static uint64_t load_of_l1(void)
{
    const union perf_mem_data_src source = {
        .mem_op = PERF_MEM_OP_LOAD,
        .mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_L1,
        .mem_snoop = PERF_MEM_SNOOP_NONE,
        .mem_dtlb = PERF_MEM_TLB_HIT | PERF_MEM_TLB_L1,
    };
    return source.val;
}

#define NO_SOURCE 0x1e05080021

static void put_samples(struct writer *writer)
{
    const uint64_t function = place((const void *)(uintptr_t)fields_function);
    const struct branch branches[] = {
        {function + 1, 0x7000, 1 | 20 << 4}, /* mispredicted, 20 cycles */
        {function + 2, 0x7000, 2 | 10 << 4}, /* predicted, 10 cycles */
        {0x7000, function, 0},
    };
    put_sample(writer, place(&fields_in_data[3]), load_of_l1(), 0, 3, branches);
    put_sample(writer, place(&fields_in_data[4]), load_of_l1(), 4096, 0, NULL);
    put_sample(writer, place(&fields_in_zeros[5000]), load_of_l1(), 2 << 20, 1, branches);
    put_sample(writer, place(&fields_constant[5]), NO_SOURCE, 0, 0, NULL);
    put_sample(writer, function + 1, NO_SOURCE, 0, 0, NULL);
    put_sample(writer, 0x50000123, NO_SOURCE, 0, 0, NULL);
    put_sample(writer, 0x51000123, NO_SOURCE, 3, 0, NULL);
    put_sample(writer, 0xffff888000001234, NO_SOURCE, 0, 0, NULL);
    put_sample(writer, 0, NO_SOURCE, 0, 0, NULL);
    put_clock(writer);
}

/* A file has made room for other memory behind its code, and for its zeroed data. */
static void put_memory(struct writer *writer)
{
    const uint64_t data = place(fields_in_data), zeros = place(fields_in_zeros) + 8192;
    put_data_mapping(writer, BASE + program.code + program.size, program.end - program.code - program.size,
                     program.path);
    put_data_mapping(writer, BASE + program.end, 0x10000, "//anon");
    put_sample(writer, data, NO_SOURCE, 0, 0, NULL);
    put_sample(writer, zeros, NO_SOURCE, 0, 0, NULL);
    /* As after dlclose() and mmap(). */
    put_data_mapping(writer, (data & ~4095ull), 4096, "//anon");
    put_sample(writer, data, NO_SOURCE, 0, 0, NULL);
    put_data_mapping(writer, (zeros & ~4095ull), 4096, "//anon");
    put_sample(writer, zeros, NO_SOURCE, 0, 0, NULL);
    put_data_mapping(writer, BASE + program.code, 4096, "[heap]");
    put_sample(writer, BASE + program.code, NO_SOURCE, 0, 0, NULL);
}

/* A sample of a guest, whose addresses are also those of this program. */
static void put_guest(struct writer *writer)
{
    const uint64_t function = place((const void *)(uintptr_t)fields_function);
    const struct branch branches[] = {{function, function, 0}, {UINT64_MAX - 5000, function, 0}};
    put_any_sample(writer, PERF_RECORD_MISC_GUEST_USER, place(&fields_in_data[3]), NO_SOURCE, 0, 2, branches);
    put_any_sample(writer, PERF_RECORD_MISC_GUEST_KERNEL, UINT64_MAX - 5000, NO_SOURCE, 0, 0, NULL);
}

/* In the mapping of the kernel, which has only its text, and beyond. */
static void put_kernel(struct writer *writer)
{
    writer_begin(writer, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
    put_pair(writer, UINT32_MAX, 0);
    put(writer, 0xffffffff81000000);
    put(writer, 0x1000000);
    put(writer, 0xffffffff81000000);
    buffer_string(&writer->data, "[kernel.kallsyms]_text");
    writer_end(writer);
    put_sample(writer, 0xffffffff81000100, NO_SOURCE, 0, 0, NULL);
    put_sample(writer, 0xffffffff83000100, NO_SOURCE, 0, 0, NULL);
}

/* Each of many processes has a copy of its parent's mappings: more of data than can be kept. */
static void put_many_mappings(struct writer *writer)
{
    enum { MANY = 60000, CHILDREN = 80 };
    const uint32_t parent = writer->pid;
    for (uint64_t i = 0; i < MANY; i++)
        put_data_mapping(writer, 0x100000000 + i * 0x2000, 0x1000, "//anon");
    for (uint32_t i = 1; i < CHILDREN; i++) {
        writer_fork(writer, parent + i, parent + i);
        writer->pid = writer->tid = parent + i;
        put_data_mapping(writer, 0x70000000, 0x1000, "//anon");
        writer->pid = parent;
    }
    writer->pid = writer->tid = 8; /* no child; takes the rest */
    for (uint64_t i = 0; i < MANY; i++)
        put_data_mapping(writer, 0x100000000 + i * 0x2000, 0x1000, "//anon");
    writer->pid = writer->tid = 7;
    writer_mmap(writer, BASE + program.code, program.size, program.pgoff, program.path);
    const uint64_t function = place((const void *)(uintptr_t)fields_function);
    put_sample(writer, 0x50000123, NO_SOURCE, 0, 1, &(struct branch){function, function, 0});
}

typedef void put_records(struct writer *writer);

static void make(struct writer *writer, struct buffer *bytes, put_records *put_others)
{
    writer_init(writer, false, false);
    struct perf_event_attr *attr = writer_attr(writer, PERF_TYPE_RAW, 0x1cd, PERIOD, "loads");
    attr->sample_type = DATA_FIELDS;
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, PERIOD, "clock");
    writer->pid = 10;
    writer->tid = 11;
    writer->time = 5000;
    writer_comm(writer, "work", true);
    writer_mmap(writer, BASE + program.code, program.size, program.pgoff, program.path);
    put_data_mapping(writer, 0x50000000, 0x1000, "[heap]");
    put_others(writer);
    writer_finish(writer, bytes);
}

/* TEXT with single blanks; it becomes shorter. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ' || (to > text && to[-1] != ' '))
            *to++ = *from;
    *to = '\0';
}

/* What the report with SETTINGS prints, with single blanks; owned by the caller. */
static char *print(struct settings *settings, put_records *put_others, int wanted)
{
    const char *path = "made-up.data";
    const struct profile_options options = {
        .data = true, .branches = settings->by == BY_BRANCH, .threads = 1, .event = settings->event};
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    struct profile *profile;
    char *text = NULL;
    size_t size;
    make(&writer, &bytes, put_others);
    assert_int_equal(profile_load_memory(bytes.data, bytes.size, &options, &profile), 0);
    struct output output = {.to = open_memstream(&text, &size)};
    struct view view = {.settings = settings, .profile = profile, .output = &output, .paths = &path, .path_count = 1};
    view.names = names_new(profile, settings);
    view.selection = select_new(profile, settings, view.names, true);
    assert_int_equal(field_report(&view), wanted);
    fclose(output.to);
    select_free(view.selection);
    names_free(view.names);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
    squeeze(text);
    return text;
}

static void check_lines(const char *text, const char *const *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strstr(text, lines[i]))
            fail_msg("no '%s' in\n%s", lines[i], text);
}

#define EXPECT(text, ...)                                                \
    do {                                                                 \
        const char *const lines_[] = {__VA_ARGS__};                      \
        check_lines((text), lines_, sizeof(lines_) / sizeof(lines_[0])); \
    } while (0)

static void test_variables(void **state)
{
    (void)state;
    char *text = print(&(struct settings){.by = BY_DATA_SYMBOL}, put_samples, 0);
    EXPECT(text, "Share Weight Samples DSO Data\n", "22.22 % 20 2 test_fields fields_in_data\n",
           "11.11 % 10 1 test_fields fields_in_zeros\n", "11.11 % 10 1 test_fields fields_constant\n",
           "11.11 % 10 1 test_fields fields_function\n", "11.11 % 10 1 [heap] [heap]\n",
           "11.11 % 10 1 [unknown] [unknown]\n", "11.11 % 10 1 [kernel] [kernel]\n",
           "\n1 sample (11.11 %) has no data address\n");
    free(text);
}

/* Memory in the place of a file's data is not that file's; its zeroed data is. */
static void test_other_memory(void **state)
{
    (void)state;
    char *text = print(&(struct settings){.by = BY_DATA_SYMBOL}, put_memory, 0);
    EXPECT(text, "20.00 % 10 1 test_fields fields_in_data\n", "20.00 % 10 1 test_fields fields_in_zeros\n",
           "40.00 % 20 2 //anon //anon\n", "20.00 % 10 1 [heap] [heap]\n");
    free(text);
}

static void test_guests(void **state)
{
    (void)state;
    char *text = print(&(struct settings){.by = BY_DATA_SYMBOL}, put_guest, 0);
    EXPECT(text, "100.00 % 20 2 [guest] [guest]\n");
    free(text);
    text = print(&(struct settings){.by = BY_DATA_PAGE}, put_guest, 0);
    EXPECT(text, "50.00 % 10 1 10 0xffffffffffffe000 4K [guest]\n");
    free(text);
    text = print(&(struct settings){.by = BY_BRANCH}, put_guest, 0);
    EXPECT(text, " [guest] ");
    if (strstr(text, "fields_function") || strstr(text, "kernel"))
        fail_msg("%s", text);
    free(text);
}

static void test_kernel(void **state)
{
    (void)state;
    char *text = print(&(struct settings){.by = BY_DATA_SYMBOL}, put_kernel, 0);
    EXPECT(text, "100.00 % 20 2 [kernel] [kernel]\n");
    free(text);
}

/* Too many mappings of data take no room from code. */
static void test_many_mappings(void **state)
{
    (void)state;
    char *text = print(&(struct settings){.by = BY_BRANCH}, put_many_mappings, 0);
    EXPECT(text, "100.00 % 1 - test_fields fields_function test_fields fields_function\n",
           "Note: the file has more memory mappings than panalyze can keep; data addresses in the mappings");
    assert_null(strstr(text, "code in the mappings"));
    free(text);
}

/* Only other views say that this one shows branches. */
static void test_note_on_branches(void **state)
{
    (void)state;
    for (int by = BY_DATA_PAGE; by <= BY_BRANCH; by++) {
        char *text = print(&(struct settings){.by = by}, put_samples, 0);
        assert_int_equal(!strstr(text, "branch stacks were recorded"), by == BY_BRANCH);
        free(text);
    }
}

static void test_pages(void **state)
{
    (void)state;
    char row[200];
    char *text = print(&(struct settings){.by = BY_DATA_PAGE}, put_samples, 0);
    EXPECT(text, "Share Weight Samples PID Page Size DSO\n", "11.11 % 10 1 10 0x50000000 4K [heap]\n",
           "11.11 % 10 1 10 0x51000000 4K [unknown]\n", /* 3 is no page size */
           "11.11 % 10 1 - 0xffff888000001000 4K [kernel]\n", "1 sample (11.11 %) has no data address\n");
    snprintf(row, sizeof(row), "11.11 %% 10 1 10 0x%llx 2M ",
             (unsigned long long)place(&fields_in_zeros[5000]) & ~0x1fffffull);
    EXPECT(text, row);
    free(text);
}

static void test_accesses(void **state)
{
    (void)state;
    char *text = print(&(struct settings){.by = BY_DATA_TYPE}, put_samples, 0);
    EXPECT(text, "Share Weight Samples Access Memory Snoop TLB Locked Blocked\n",
           "66.67 % 60 6 N/A N/A N/A N/A N/A N/A\n", "33.33 % 30 3 LOAD L1 hit None L1 hit No N/A\n");
    assert_null(strstr(text, "has no data source"));
    free(text);
}

static void test_branches(void **state)
{
    (void)state;
    char *text = print(&(struct settings){.by = BY_BRANCH}, put_samples, 0);
    EXPECT(text, "Share Branches Mispredicted Cycles DSO From DSO To\n",
           "75.00 % 3 66.67 % 16.7 test_fields fields_function [unknown] 0x7000\n",
           "25.00 % 1 - - [unknown] 0x7000 test_fields fields_function\n",
           "7 samples (77.78 %) have no branch stack\n");
    free(text);
}

static void test_events_side_by_side(void **state)
{
    (void)state;
    char *text = print(&(struct settings){.by = BY_DATA_SYMBOL, .group = true}, put_samples, 0);
    EXPECT(text, "loads clock DSO Data\n", "22.22 % 0.00 % test_fields fields_in_data\n",
           "loads: 1 sample (11.11 %) has no data address\n", "clock: 1 sample (100.00 %) has no data address\n");
    free(text);
    text = print(&(struct settings){.by = BY_BRANCH, .group = true}, put_samples, 0);
    EXPECT(text, "75.00 % - test_fields fields_function [unknown] 0x7000\n");
    free(text);
}

static void test_limits(void **state)
{
    (void)state;
    char *text = print(&(struct settings){.by = BY_DATA_SYMBOL, .top = 1}, put_samples, 0);
    EXPECT(text, "fields_in_data\n", "and 6 rows more with 66.67 % together; --top all shows all\n");
    assert_null(strstr(text, "fields_in_zeros"));
    free(text);
    text = print(&(struct settings){.by = BY_DATA_SYMBOL, .cum = 30}, put_samples, 0);
    EXPECT(text, "and 5 rows more with 55.56 % together; a larger --cum shows more\n");
    free(text);
    text = print(&(struct settings){.by = BY_DATA_SYMBOL, .cum = 20, .top = 1}, put_samples, 0);
    EXPECT(text, "and 6 rows more with 66.67 % together; a larger --top and --cum show more\n");
    free(text);
    text = print(&(struct settings){.by = BY_DATA_SYMBOL, .cum = 90, .top = 1}, put_samples, 0);
    EXPECT(text, "and 6 rows more with 66.67 % together; a larger --top shows more\n");
    free(text);
}

static void test_filters(void **state)
{
    (void)state;
    const char *name = "fields_function", *other = "other";
    struct settings settings = {.by = BY_DATA_SYMBOL, .symbols = {&name, 1, 1}};
    char *text = print(&settings, put_samples, 0);
    EXPECT(text, "22.22 % 20 2 test_fields fields_in_data\n");
    free(text);
    settings.symbols.items = &other;
    free(print(&settings, put_samples, 1));
}

/* A report in JSON without blanks and line breaks; owned by the caller. */
static char *print_json(struct settings *settings)
{
    settings->json = true;
    char *text = print(settings, put_samples, 0), *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ' && *from != '\n')
            *to++ = *from;
    *to = '\0';
    return text;
}

static void test_json(void **state)
{
    (void)state;
    struct {
        int by;
        const char *parts[3];
    } wanted[] = {
        {BY_DATA_SYMBOL,
         {"\"symbol\":\"fields_in_data\",\"samples\":2,\"weight\":20,\"percent\":22.2",
          "{\"dso\":\"[heap]\",\"symbol\":null,\"samples\":1,",
          "\"data_missing\":{\"samples\":1,\"weight\":10,\"percent\":11.1"}},
        {BY_DATA_PAGE,
         {"{\"pid\":10,\"page\":1342177280,\"page_bytes\":4096,\"dso\":\"[heap]\",\"samples\":1",
          "{\"pid\":null,\"page\":18446612682070036480,", "\"data_pages\":["}},
        {BY_DATA_TYPE,
         {"{\"op\":\"LOAD\",\"mem\":\"L1hit\",\"snoop\":\"None\",\"tlb\":\"L1hit\",\"locked\":\"No\",\"blocked\":\"N/A\"",
          "\"data_types\":[", "\"data_missing\":{\"samples\":0"}},
        {BY_BRANCH,
         {"\"from_symbol\":\"fields_function\",\"to_dso\":\"[unknown]\",\"to_symbol\":\"0x7000\","
          "\"branches\":3,\"percent\":75",
          "\"predicted\":1,\"mispredicted\":2,\"cycles\":50,\"cycle_branches\":3",
          "\"branches_missing\":{\"samples\":7}"}},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        char *text = print_json(&(struct settings){.by = wanted[i].by});
        check_lines(text, wanted[i].parts, 3);
        assert_null(strstr(text, "_left_out"));
        free(text);
    }
}

/* The document says what --cum leaves out. */
static void test_json_limits(void **state)
{
    (void)state;
    char *text = print_json(&(struct settings){.by = BY_DATA_SYMBOL, .cum = 30});
    EXPECT(text, "\"data_symbols_left_out\":{\"rows\":5,\"self_weight\":50,\"self_percent\":55.5556}");
    free(text);
    text = print_json(&(struct settings){.by = BY_DATA_SYMBOL, .cum = 100});
    EXPECT(text, "\"data_symbols_left_out\":{\"rows\":0,\"self_weight\":0,\"self_percent\":0");
    free(text);
    text = print_json(&(struct settings){.by = BY_BRANCH, .cum = 50});
    EXPECT(text, "\"branches_left_out\":{\"rows\":");
    free(text);
}

static void test_nothing_to_show(void **state)
{
    (void)state;
    for (int by = BY_DATA_PAGE; by <= BY_BRANCH; by++) {
        free(print(&(struct settings){.by = by}, put_clock, 1));
        free(print(&(struct settings){.by = by, .event = "clock"}, put_samples, 1));
        free(print(&(struct settings){.by = by, .event = "clock", .json = true}, put_samples, 1));
        /* No sample at all. */
        char *text = print(&(struct settings){.by = by, .event = "loads"}, put_clock, 0);
        EXPECT(text, "No samples. ");
        free(text);
        free(print(&(struct settings){.by = by, .event = "loads", .json = true}, put_clock, 0));
        assert_true(field_report_wanted(by));
    }
    assert_false(field_report_wanted(BY_FILE));
    assert_false(field_report_wanted(BY_FUNCTION));
}

static int set_up(void **state)
{
    (void)state;
    dl_iterate_phdr(take_program, &program);
    ssize_t size = readlink("/proc/self/exe", program.path, sizeof(program.path) - 1);
    return size > 0 && program.size && program.end ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_other_memory),
        cmocka_unit_test(test_guests),
        cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_many_mappings),
        cmocka_unit_test(test_note_on_branches),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_accesses),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_events_side_by_side),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_limits),
        cmocka_unit_test(test_nothing_to_show),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
