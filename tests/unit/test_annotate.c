/* SPDX-License-Identifier: MIT */
/* Which functions, instructions and lines have which samples; symbols, objdump and line tables are the test's own. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "analyze/view/annotate.h"
#include "symbols_fake.h"
#include "test_view_fake.h"

static const struct profile_module app = {.path = "/opt/app", .index = 0},
                                   kernel = {.path = "[kernel.kallsyms]", .kernel = true, .index = 1},
                                   generated = {.path = "//anon", .pid = 42, .index = 2},
                                   vdso = {.path = "[vdso]", .index = 3}, gone = {.path = "/opt/gone.so", .index = 4},
                                   program = {
                                       .path = "[bpf]", .symbol = "bpf_prog", .symbol_start = 0xb000, .index = 5};
static const struct profile_module *const modules[] = {&app, &kernel, &generated, &vdso, &gone, &program};

static const struct symbols_fake_function app_functions[] = {
    {0x1100, 0x40, "alpha", NULL}, {0x1200, 0x40, "alpha", NULL}, {0x1300, 0, "label", NULL},
    {0x1400, 0x80, NULL, NULL},    {0x1500, 0x10, "_beta", NULL}, {0x1600, 0x10, "fast@plt", NULL}};
static const struct symbols_fake_function kernel_functions[] = {{0x8000, 0x100, "schedule", NULL}},
                                          jit_functions[] = {{0x7000, 0x10, "script", NULL}},
                                          vdso_functions[] = {{0x600, 0x10, "clock", NULL}},
                                          gone_functions[] = {{0x600, 0x10, "clock", NULL}};
static const struct symbols_fake_row rows[] = {
    {0x1100, "z.c", 1}, {0x1104, "a.c", 2}, {0x1108, "a.c", 1}, {0x110c, NULL, 0}, {0x1110, "z.c", 1}};

enum { APP, KERNEL, JIT, VDSO, GONE, DSOS };
static struct symbols_dso dsos[DSOS];

enum {
    FIRST,
    DEEPER,
    OTHER,
    LABEL,
    LABEL_END,
    BOUNDED,
    UNNAMED,
    BETA,
    IN_KERNEL,
    IN_SCRIPT,
    IN_VDSO,
    IN_GONE,
    IN_PROGRAM,
    FRAMES
};
#define FRAME(n, of, at) [n] = {.module = &(of), .offset = at, .ip = at, .index = n}
static const struct profile_frame frames[FRAMES] = {
    FRAME(FIRST, app, 0x100),
    FRAME(DEEPER, app, 0x13f),
    FRAME(OTHER, app, 0x210),
    FRAME(LABEL, app, 0x300),
    FRAME(LABEL_END, app, 0x307),
    FRAME(BOUNDED, app, 0x412),
    FRAME(UNNAMED, app, 0x900),
    FRAME(BETA, app, 0x500),
    [IN_KERNEL] = {.module = &kernel, .offset = 0x8010, .ip = 0x8010, .kernel = true, .index = IN_KERNEL},
    FRAME(IN_SCRIPT, generated, 0x7008),
    FRAME(IN_VDSO, vdso, 0x600),
    FRAME(IN_GONE, gone, 0x600),
    FRAME(IN_PROGRAM, program, 0xb010),
};

/* Each frame is a stack of its own, called by BETA. */
static uint32_t chains[FRAMES][2];
static struct profile_stack stacks[FRAMES];
static struct profile_entry entries[FRAMES + 1];
static const char comm[] = "app";
static struct profile_task task = {.pid = 1, .tid = 1, .comm = comm, .file = "out.1.1"};
static const struct profile_event event = {.name = "task-clock", .sampled = true};
static struct fake fake;

/* WEIGHTS: by frame; half as many samples. */
static void prepare(const uint64_t *weights)
{
    memset(dsos, 0, sizeof(dsos));
    dsos[APP] = (struct symbols_dso){.path = "/opt/app",
                                     .file = "/opt/the app",
                                     .shift = 0x1000,
                                     .functions = app_functions,
                                     .function_count = 6,
                                     .rows = rows,
                                     .row_count = 5};
    dsos[KERNEL] = (struct symbols_dso){.path = "[kernel]", .functions = kernel_functions, .function_count = 1};
    dsos[JIT] = (struct symbols_dso){.path = "[jit]", .functions = jit_functions, .function_count = 1};
    dsos[VDSO] = (struct symbols_dso){.path = "[vdso]", .functions = vdso_functions, .function_count = 1};
    dsos[GONE] = (struct symbols_dso){.path = "/opt/gone.so", .functions = gone_functions, .function_count = 1};
    for (int i = 0; i < DSOS; i++)
        dsos[i].end = UINT64_MAX;
    symbols_fake_set(dsos, DSOS);
    fake = (struct fake){0};
    fake.profile = (struct profile){.events = &event,
                                    .event_count = 1,
                                    .tasks = &task,
                                    .task_count = 1,
                                    .modules = modules,
                                    .module_count = 6,
                                    .frames = frames,
                                    .frame_count = FRAMES,
                                    .stacks = stacks,
                                    .stack_count = FRAMES,
                                    .entries = entries};
    for (uint32_t i = 0; i < FRAMES; i++) {
        chains[i][0] = i;
        chains[i][1] = BETA;
        stacks[i] = (struct profile_stack){chains[i], 2, false};
        if (weights[i])
            entries[fake.profile.entry_count++] = (struct profile_entry){
                .stack = i, .comm = comm, .samples = weights[i] / 2, .weight = weights[i]};
    }
}

/* The functions that are hit; their names live as long as the view, so they are looked at inside of it. */
static struct annotate annotate;
static void (*check_functions)(void);

static int look(struct view *view)
{
    annotate_init(&annotate, view);
    check_functions();
    annotate_release(&annotate);
    assert_true(!annotate.list && !annotate.count);
    return 0;
}

static void annotated(const uint64_t *weights, void (*check)(void))
{
    prepare(weights);
    check_functions = check;
    free(run(&fake, look));
}

static void function_is(size_t index, const char *symbol, const char *dso_name, uint64_t start, uint64_t size,
                        uint64_t weight)
{
    const struct annotate_function *function = &annotate.list[index];
    assert_true(index < annotate.count);
    if (strcmp(function->symbol, symbol) != 0 || strcmp(function->dso_name, dso_name) != 0 ||
        function->start != start || function->size != size || function->weight != weight ||
        function->samples != weight / 2)
        fail_msg("%zu: %s in %s, at 0x%x, size 0x%x, weight %u, samples %u", index, function->symbol,
                 function->dso_name, (unsigned)function->start, (unsigned)function->size, (unsigned)function->weight,
                 (unsigned)function->samples);
}

static void check_sums(void)
{
    assert_int_equal(annotate.count, 5);
    function_is(0, "label", "/opt/app", 0x1300, 8, 400); /* it has no size: up to what was hit */
    function_is(1, "alpha", "/opt/app", 0x1100, 0x40, 300);
    function_is(2, "alpha", "/opt/app", 0x1200, 0x40, 250);
    function_is(3, "app+0x1400", "/opt/app", 0x1400, 0x80, 120);
    function_is(4, "_beta", "/opt/app", 0x1500, 0x10, 20);
    const struct annotate_function *alpha = &annotate.list[1];
    assert_int_equal(alpha->address_count, 2);
    assert_true(alpha->histogram[0].address == 0x1100 && alpha->histogram[0].weight == 100 &&
                alpha->histogram[0].samples == 50);
    assert_true(alpha->histogram[1].address == 0x113f && alpha->histogram[1].weight == 200 &&
                alpha->histogram[1].samples == 100);
    assert_ptr_equal(alpha->dso, &dsos[APP]);
    /* Each stack was called by _beta, also what it called without a name; its own samples count once. */
    assert_true(annotate.list[4].total_weight == 2090 && annotate.list[4].total_samples == 1045);
    assert_true(alpha->total_weight == 300 && alpha->total_samples == 150);
    for (size_t i = 0; i < annotate.count; i++)
        assert_null(annotate.list[i].why);
}

/* Only the innermost frame counts, and what has no bounds is no function. */
static void test_sums(void **state)
{
    (void)state;
    annotated((const uint64_t[FRAMES]){[FIRST] = 100,
                                       [DEEPER] = 200,
                                       [OTHER] = 250,
                                       [LABEL] = 150,
                                       [LABEL_END] = 250,
                                       [BOUNDED] = 120,
                                       [UNNAMED] = 1000,
                                       [BETA] = 20},
              check_sums);
}

static void check_order(void)
{
    assert_int_equal(annotate.count, 6);
    function_is(0, "schedule", "[kernel.kallsyms]", 0x8000, 0x100, 20);
    function_is(1, "_beta", "/opt/app", 0x1500, 0x10, 10);
    function_is(2, "alpha", "/opt/app", 0x1100, 0x40, 10);
    function_is(3, "alpha", "/opt/app", 0x1200, 0x40, 10);
    function_is(4, "clock", "/opt/gone.so", 0x600, 0x10, 10);
    function_is(5, "clock", "[vdso]", 0x600, 0x10, 10);
}

/* By weight, then name, then file, then address. */
static void test_order(void **state)
{
    (void)state;
    annotated(
        (const uint64_t[FRAMES]){
            [OTHER] = 10, [FIRST] = 10, [BETA] = 10, [IN_VDSO] = 10, [IN_GONE] = 10, [IN_KERNEL] = 20},
        check_order);
}

static void check_reasons(void)
{
    static const char *const reasons[] = {"there is no file with the kernel's code to disassemble",
                                          "the code was generated while the program ran, and is gone",
                                          "the vdso is not a file", "the file is missing", "the file is missing"};
    assert_int_equal(annotate.count, 6);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(annotate.list[i].why, reasons[i]);
    assert_null(annotate.list[5].why);
    function_is(4, "bpf_prog", "[bpf]", 0xb000, 0x11, 60); /* the kernel says where it begins, not where it ends */
}

static void test_reasons(void **state)
{
    (void)state;
    annotated(
        (const uint64_t[FRAMES]){
            [IN_KERNEL] = 100, [IN_SCRIPT] = 90, [IN_VDSO] = 80, [IN_GONE] = 70, [IN_PROGRAM] = 60, [FIRST] = 50},
        check_reasons);
}

static void check_filtered(void)
{
    assert_int_equal(annotate.count, 1);
    function_is(0, "alpha", "/opt/app", 0x1100, 0x40, 300);
}

static void check_none(void)
{
    assert_int_equal(annotate.count, 0);
}

static void test_filters(void **state)
{
    static const uint64_t weights[FRAMES] = {[FIRST] = 100, [DEEPER] = 200, [BETA] = 20, [IN_VDSO] = 10};
    const char *symbol[] = {"al*"}, *dso[] = {"app"}, *other[] = {"*vdso*"};
    (void)state;
    prepare(weights);
    check_functions = check_filtered;
    fake.settings.symbols = (struct settings_list){symbol, 1, 1};
    free(run(&fake, look));
    fake.settings.dsos = (struct settings_list){dso, 1, 1};
    free(run(&fake, look));
    fake.settings.dsos.items = other;
    check_functions = check_none;
    free(run(&fake, look));
    annotated((const uint64_t[FRAMES]){0}, check_none);
}

/* ---- one function's code */

static char directory[] = "/tmp/pinject-annotate-XXXXXX", objdump[64];

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(objdump, sizeof(objdump), "%s/objdump", directory);
    int fd = open(objdump, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    /* Nothing of the first four bytes. */
    bool ok = fd >= 0 && dprintf(fd, "#!/bin/sh\n"
                                     "[ $3,$4 = --start-address=0x1100,--stop-address=0x1140 ] || exit 9\n"
                                     "[ \"$7\" = '/opt/the app' ] || exit 8\n"
                                     "if [ -e \"${0%%/*}/stubs\" ]; then cat \"${0%%/*}/stubs\"; exit; fi\n"
                                     "printf '%%s:\\tnop\\n' 1104 1106 1108 110c 1110 1118\n") > 0;
    close(fd);
    return ok ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(objdump);
    return rmdir(directory);
}

static struct annotate_address histogram[] = {{0x1106, 3, 30}, {0x1100, 5, 7},   {0x1107, 1, 10}, {0x1103, 6, 8},
                                              {0x110c, 2, 21}, {0x1110, 4, 60},  {0x113f, 1, 40}, {0x1140, 9, 11},
                                              {0x1109, 2, 40}, {0x10ff, 10, 12}, {0x1104, 1, 1}};

static struct annotate_function alpha = {.dso = &dsos[APP],
                                         .symbol = "alpha",
                                         .dso_name = "/opt/app",
                                         .start = 0x1100,
                                         .size = 0x40,
                                         .histogram = histogram,
                                         .address_count = sizeof(histogram) / sizeof(*histogram)};

static void test_histogram_of_instructions(void **state)
{
    static const uint64_t samples[] = {1, 4, 2, 2, 4, 1}, weights[] = {1, 40, 40, 21, 60, 40};
    struct annotate_code code;
    char reason[100];
    (void)state;
    prepare((const uint64_t[FRAMES]){0});
    fake.settings.objdump = objdump;
    assert_int_equal(annotate_code_init(&code, &alpha, &fake.settings, reason, sizeof(reason)), 0);
    assert_int_equal(code.code.count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(code.samples[i], samples[i]);
        assert_int_equal(code.weights[i], weights[i]);
    }
    /* In front of the first instruction and behind the end. */
    assert_int_equal(code.elsewhere_samples, 5 + 6 + 9 + 10);
    assert_int_equal(code.elsewhere_weight, 7 + 8 + 11 + 12);
    annotate_code_release(&code);
    assert_true(!code.samples && !code.weights && !code.heavy && !code.code.list && !code.lines.rows);
}

/* objdump calls the stub of an indirect function by the address of its resolver. */
static void test_names_of_stubs(void **state)
{
    static const char *const texts[][2] = {
        {"call   1600 <*ABS*+0x2b5f0@plt>", "call   1600 <fast@plt>"},
        {"bnd jmp 1608 <*ABS*+0x2b5f0@plt> # 1", "bnd jmp 1608 <fast@plt> # 1"},
        {"jmp *0x5(%rip) # 1600 <*ABS*+0x2b5f0@plt>", "jmp *0x5(%rip) # 1600 <fast@plt>"},
        {"call   1700 <*ABS*+0x2b5f0@plt>", NULL}, /* no name */
        {"call   10 <*ABS*+0x2b5f0@plt>", NULL},   /* in front of the file */
        {"call   160x <*ABS*+0x2b5f0@plt>", NULL}, /* no address */
        {"<*ABS*+0x2b5f0@plt>", NULL},
        {"call   1600 <*ABS*+0x2b5f0@plt-0x10>", NULL},
        {"call   1600 <*ABS*+0x2b5f0>", NULL},
    };
    enum { COUNT = sizeof(texts) / sizeof(texts[0]) };
    struct annotate_function function = alpha;
    struct annotate_code code;
    char path[80], reason[100];
    (void)state;
    prepare((const uint64_t[FRAMES]){0});
    fake.settings.objdump = objdump;
    function.shift = 0x1000;
    snprintf(path, sizeof(path), "%s/stubs", directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (unsigned i = 0; i < COUNT; i++)
        assert_true(dprintf(fd, "%x:\t%s\n", 0x1104 + i, texts[i][0]) > 0);
    close(fd);
    assert_int_equal(annotate_code_init(&code, &function, &fake.settings, reason, sizeof(reason)), 0);
    unlink(path);
    assert_int_equal(code.code.count, COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        assert_string_equal(code.code.list[i].text, texts[i][1] ? texts[i][1] : texts[i][0]);
    annotate_code_release(&code);
}

static void line_is(const struct annotate_code *code, size_t index, const char *file, uint32_t line, uint64_t samples,
                    uint64_t weight)
{
    assert_true(index < code->heavy_count);
    const struct annotate_line *heavy = &code->heavy[index];
    if (strcmp(code->lines.files[heavy->file], file) != 0 || heavy->line != line || heavy->samples != samples ||
        heavy->weight != weight)
        fail_msg("%zu: %s:%u: %u samples, %u", index, code->lines.files[heavy->file], heavy->line,
                 (unsigned)heavy->samples, (unsigned)heavy->weight);
}

/* Heaviest first, then by file and line; code without a line, and lines without a hit, are none. */
static void test_histogram_of_lines(void **state)
{
    static struct annotate_address equal[] = {{0x1110, 1, 5}, {0x1108, 2, 5}, {0x1104, 3, 5}, {0x110c, 4, 9}};
    struct annotate_function function = alpha;
    struct annotate_code code;
    char reason[100];
    (void)state;
    prepare((const uint64_t[FRAMES]){0});
    fake.settings.objdump = objdump;
    assert_int_equal(annotate_code_init(&code, &alpha, &fake.settings, reason, sizeof(reason)), 0);
    assert_int_equal(code.heavy_count, 3);
    line_is(&code, 0, "z.c", 1, 5, 100);
    line_is(&code, 1, "a.c", 2, 5, 41);
    line_is(&code, 2, "a.c", 1, 2, 40);
    annotate_code_release(&code);
    function.histogram = equal;
    function.address_count = 4;
    assert_int_equal(annotate_code_init(&code, &function, &fake.settings, reason, sizeof(reason)), 0);
    assert_int_equal(code.heavy_count, 3);
    line_is(&code, 0, "a.c", 1, 2, 5);
    line_is(&code, 1, "a.c", 2, 3, 5);
    line_is(&code, 2, "z.c", 1, 1, 5);
    annotate_code_release(&code);
    function.address_count = 0;
    assert_int_equal(annotate_code_init(&code, &function, &fake.settings, reason, sizeof(reason)), 0);
    assert_int_equal(code.heavy_count, 0);
    assert_int_equal(code.elsewhere_samples, 0);
    annotate_code_release(&code);
}

static void test_no_code(void **state)
{
    struct annotate_function function = alpha;
    struct annotate_code code;
    char reason[100];
    (void)state;
    prepare((const uint64_t[FRAMES]){0});
    function.why = "it is gone";
    assert_int_equal(annotate_code_init(&code, &function, &fake.settings, reason, sizeof(reason)), -ENODATA);
    assert_string_equal(reason, "it is gone");
    function.why = NULL;
    fake.settings.objdump = "/no/such/objdump";
    assert_int_equal(annotate_code_init(&code, &function, &fake.settings, reason, sizeof(reason)), -ENOENT);
    fake.settings.objdump = objdump;
    function.size = 0x41;
    assert_int_equal(annotate_code_init(&code, &function, &fake.settings, reason, sizeof(reason)), -EIO);
    assert_string_equal(reason, "objdump ended with status 9");
}

/* Names of an archive: why there is no code, and where to put the program. */
static void test_no_code_in_archive(void **state)
{
    struct annotate_code code;
    char reason[200];
    (void)state;
    prepare((const uint64_t[FRAMES]){0});
    dsos[APP].no_code = true;
    assert_int_equal(annotate_code_init(&code, &alpha, &fake.settings, reason, sizeof(reason)), -ENODATA);
    assert_string_equal(reason,
                        "the archive has names but no code, and the file /opt/app is missing; copy the recorded "
                        "file to DIR/opt/app and add --symfs=DIR");
    dsos[APP].replaced = true;
    fake.settings.symfs = "/root";
    assert_int_equal(annotate_code_init(&code, &alpha, &fake.settings, reason, sizeof(reason)), -ENODATA);
    assert_string_equal(reason,
                        "the archive has names but no code, and the file /root/opt/app is of another build; copy "
                        "the recorded file to DIR/opt/app and add --symfs=DIR");
    assert_int_equal(annotate_code_init(&code, &alpha, &fake.settings, reason, 10), -ENODATA);
    assert_string_equal(reason, "the archi");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_histogram_of_instructions),
        cmocka_unit_test(test_histogram_of_lines),
        cmocka_unit_test(test_names_of_stubs),
        cmocka_unit_test(test_no_code),
        cmocka_unit_test(test_no_code_in_archive),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
