/* SPDX-License-Identifier: MIT */
/* What frames are called, and by which numbers; the symbols are the test's own. */
#include "check.h"

#include <errno.h>
#include <sys/stat.h>

#include "analyze/view/names.h"
#include "symbols_fake.h"

static const struct profile_module app = {.path = "/opt/app", .index = 0},
                                   kernel = {.path = "[kernel.kallsyms]", .kernel = true, .index = 1},
                                   generated = {.path = "//anon", .pid = 42, .index = 2},
                                   program = {.path = "[bpf]",
                                              .symbol = "bpf_prog",
                                              .symbol_start = 0xb000,
                                              .index = 3},
                                   gone = {.path = "/opt/gone.so", .index = 4},
                                   bare = {.path = "/opt/bare", .index = 5};
static const struct profile_module *const modules[] = {&app, &kernel, &generated, &program, &gone, &bare};

/* The same name at two places, as two texts. */
static const char alpha[] = "alpha", other_alpha[] = "alpha";
static const struct symbols_fake_function app_functions[] = {{0x1100, 0x40, alpha, NULL},
                                                             {0x1200, 0x40, other_alpha, NULL},
                                                             {0x1300, 0x20, "beta", NULL},
                                                             {0x1400, 0x80, NULL, NULL}};
static const struct symbols_fake_function kernel_functions[] = {
    {0xffff8000, 0x100, "schedule", NULL}, {0xffffc000, 0x100, "ext4_read", "ext4"}, {0xffffd000, 0x10, alpha, NULL}};
static const struct symbols_fake_function jit_functions[] = {{0x7000, 0x10, "script", NULL}};

enum { APP, KERNEL, JIT, BARE, DSOS };
static struct symbols_dso dsos[DSOS];

enum {
    IN_ALPHA,
    DEEPER,
    IN_OTHER,
    IN_BETA,
    BOUNDED,
    UNNAMED,
    OUTSIDE,
    IN_KERNEL,
    IN_MODULE,
    KERNEL_ALPHA,
    KERNEL_UNNAMED,
    NO_KERNEL,
    IN_SCRIPT,
    IN_PROGRAM,
    IN_GONE,
    NOWHERE,
    IN_BARE,
    FRAMES
};

#define FRAME(n, of, at)         [n] = {.module = of, .offset = at, .ip = 0x400000 + (at), .index = n}
#define IN_THE_KERNEL(n, of, at) [n] = {.module = of, .offset = at, .ip = at, .kernel = true, .index = n}

static const struct profile_frame frames[FRAMES] = {
    FRAME(IN_ALPHA, &app, 0x100),
    FRAME(DEEPER, &app, 0x13f),
    FRAME(IN_OTHER, &app, 0x201),
    FRAME(IN_BETA, &app, 0x310),
    FRAME(BOUNDED, &app, 0x412),
    FRAME(UNNAMED, &app, 0x500),
    FRAME(OUTSIDE, &app, 0x5000),
    IN_THE_KERNEL(IN_KERNEL, &kernel, 0xffff8010),
    IN_THE_KERNEL(IN_MODULE, &kernel, 0xffffc000),
    IN_THE_KERNEL(KERNEL_ALPHA, &kernel, 0xffffd00f),
    IN_THE_KERNEL(KERNEL_UNNAMED, &kernel, 0xffffe000),
    IN_THE_KERNEL(NO_KERNEL, NULL, 0xfffff000),
    FRAME(IN_SCRIPT, &generated, 0x7008),
    FRAME(IN_PROGRAM, &program, 0xb010),
    FRAME(IN_GONE, &gone, 0x77),
    [NOWHERE] = {.offset = 0xdead, .ip = 0xdeae, .index = NOWHERE},
    FRAME(IN_BARE, &bare, 0x10),
};

static const struct profile_jit_dump dumps[] = {{41, "/tmp/jit-41.dump"}, {42, "/tmp/jit-42.dump"}};
static struct profile profile;
static struct settings settings;

static struct names *of_frames(uint32_t count)
{
    dsos[APP] = (struct symbols_dso){.path = "/opt/app",
                                     .file = "/opt/app",
                                     .shift = 0x1000,
                                     .end = 0x2000,
                                     .functions = app_functions,
                                     .function_count = 4};
    dsos[KERNEL] = (struct symbols_dso){
        .path = "[kernel]", .end = UINT64_MAX, .shift = 0, .functions = kernel_functions, .function_count = 3};
    dsos[JIT] = (struct symbols_dso){
        .path = "[jit]", .end = UINT64_MAX, .functions = jit_functions, .function_count = 1};
    dsos[BARE] = (struct symbols_dso){.path = "/opt/bare", .end = UINT64_MAX, .missing = 1, .why = "it is stripped"};
    symbols_fake_set(dsos, DSOS);
    profile = (struct profile){.modules = modules,
                               .module_count = 6,
                               .frames = frames,
                               .frame_count = count,
                               .jit_dumps = dumps,
                               .jit_dump_count = 2};
    return names_new(&profile, &settings);
}

struct expected {
    const char *symbol, *dso, *label;
    uint64_t address, offset;
    bool named, bounded;
};

static const struct expected expected[FRAMES] = {
    [IN_ALPHA] = {"alpha", "/opt/app", "alpha+0x0", 0x1100, 0, true, false},
    [DEEPER] = {"alpha", "/opt/app", "alpha+0x3f", 0x113f, 0x3f, true, false},
    [IN_OTHER] = {"alpha", "/opt/app", "alpha+0x1", 0x1201, 1, true, false},
    [IN_BETA] = {"beta", "/opt/app", "beta+0x10", 0x1310, 0x10, true, false},
    [BOUNDED] = {"app+0x1400", "/opt/app", "app+0x1412", 0x1412, 0x12, false, true},
    [UNNAMED] = {"app+0x1500", "/opt/app", "app+0x1500", 0x1500, 0, false, false},
    [OUTSIDE] = {"app+0x5000", "/opt/app", "app+0x5000", 0x5000, 0, false, false},
    [IN_KERNEL] = {"schedule", "[kernel.kallsyms]", "schedule+0x10", 0xffff8010, 0x10, true, false},
    [IN_MODULE] = {"ext4_read", "[ext4]", "ext4_read+0x0", 0xffffc000, 0, true, false},
    [KERNEL_ALPHA] = {"alpha", "[kernel.kallsyms]", "alpha+0xf", 0xffffd00f, 0xf, true, false},
    [KERNEL_UNNAMED] = {"0xffffe000", "[kernel.kallsyms]", "0xffffe000", 0xffffe000, 0, false, false},
    [NO_KERNEL] = {"0xfffff000", "[kernel.kallsyms]", "0xfffff000", 0xfffff000, 0, false, false},
    [IN_SCRIPT] = {"script", "//anon", "script+0x8", 0x7008, 8, true, false},
    [IN_PROGRAM] = {"bpf_prog", "[bpf]", "bpf_prog+0x10", 0xb010, 0x10, true, false},
    [IN_GONE] = {"gone.so+0x77", "/opt/gone.so", "gone.so+0x77", 0x77, 0, false, false},
    [NOWHERE] = {"0xdeae", "[unknown]", "0xdeae", 0xdead, 0, false, false},
    [IN_BARE] = {"bare+0x10", "/opt/bare", "bare+0x10", 0x10, 0, false, false},
};

static void check_place(struct names *names, uint32_t frame)
{
    const struct names_place *place = names_frame(names, frame);
    const struct expected *wanted = &expected[frame];
    char *label = names_address_label(place);
    assert_string_equal(place->symbol, wanted->symbol);
    assert_string_equal(place->dso, wanted->dso);
    assert_string_equal(label, wanted->label);
    assert_true(place->address == wanted->address && place->offset == wanted->offset);
    assert_int_equal(place->named, wanted->named);
    assert_int_equal(place->bounded, wanted->bounded);
    assert_int_equal(place->kernel, frames[frame].kernel);
    assert_false(place->inlined);
    assert_string_equal(names_dso(names, place->dso_id), wanted->dso);
    struct names_function function = names_function(names, place->function);
    assert_ptr_equal(function.symbol, place->symbol);
    assert_ptr_equal(function.dso, place->dso);
    assert_int_equal(function.dso_id, place->dso_id);
    assert_int_equal(function.named, wanted->named);
    assert_false(function.inlined);
    assert_true(names_offset(names, frame) == frames[frame].offset);
    free(label);
}

static void test_places(void **state)
{
    struct names *names = of_frames(FRAMES);
    (void)state;
    for (uint32_t i = 0; i < FRAMES; i++)
        check_place(names, i);
    unsigned asked = dsos[APP].asked;
    assert_int_equal(asked, 7);
    for (uint32_t i = 0; i < FRAMES; i++) {
        const struct names_place *place = names_frame(names, i);
        assert_ptr_equal(place, names_frame(names, i));
        assert_int_equal(names_function_of(names, i), place->function);
        assert_int_equal(names_dso_of(names, i), place->dso_id);
    }
    assert_int_equal(dsos[APP].asked, asked);
    names_free(names);
}

/* All at once: the same names, and nothing is asked again. */
static void test_symbolized_at_once(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads < 3; threads++) {
        struct names *names = of_frames(FRAMES);
        names_symbolize(names, NULL, false, threads);
        unsigned app_asked = dsos[APP].asked, kernel_asked = dsos[KERNEL].asked;
        assert_int_equal(app_asked, 7);
        assert_int_equal(kernel_asked, 4);
        assert_int_equal(dsos[APP].asked_lines, 0);
        for (uint32_t i = 0; i < FRAMES; i++) {
            struct names_function function = names_function(names, names_function_of(names, i));
            assert_string_equal(function.dso, expected[i].dso);
            if (expected[i].named)
                assert_string_equal(function.symbol, expected[i].symbol);
        }
        /* Only what was not found is looked for once more. */
        assert_int_equal(dsos[APP].asked, app_asked + 3);
        assert_int_equal(dsos[KERNEL].asked, kernel_asked + 1);
        names_free(names);
    }
}

/* Functions and DSOs alone get the same numbers, whoever asks first. */
static void test_numbers_without_places(void **state)
{
    struct names *names = of_frames(FRAMES);
    uint32_t functions[FRAMES], ids[FRAMES];
    (void)state;
    for (uint32_t i = 0; i < FRAMES; i++)
        assert_true(names_functions(names)[i] == 0 && names_dsos(names)[i] == 0);
    for (uint32_t i = 0; i < FRAMES; i++)
        ids[i] = names_dso_of(names, i);
    assert_int_equal(dsos[APP].asked, 0); /* the path says it all */
    for (uint32_t i = 0; i < FRAMES; i++)
        functions[i] = names_function_of(names, i);
    for (uint32_t i = 0; i < FRAMES; i++) {
        assert_int_equal(names_functions(names)[i], functions[i] + 1);
        assert_int_equal(names_dsos(names)[i], ids[i] + 1);
        assert_string_equal(names_dso(names, ids[i]), expected[i].dso);
        assert_string_equal(names_function(names, functions[i]).symbol, expected[i].symbol);
        check_place(names, i);
        assert_int_equal(names_frame(names, i)->function, functions[i]);
        assert_int_equal(names_frame(names, i)->dso_id, ids[i]);
    }
    names_free(names);
}

/* One function is one name in one DSO. */
static void test_equal_functions(void **state)
{
    struct names *names = of_frames(FRAMES);
    (void)state;
    uint32_t first = names_function_of(names, IN_ALPHA);
    assert_int_equal(names_function_of(names, DEEPER), first);
    assert_int_equal(names_function_of(names, IN_OTHER), first);
    assert_int_not_equal(names_function_of(names, IN_BETA), first);
    assert_int_not_equal(names_function_of(names, KERNEL_ALPHA), first);
    assert_int_equal(names_dso_of(names, IN_ALPHA), names_dso_of(names, OUTSIDE));
    assert_int_equal(names_dso_of(names, IN_KERNEL), names_dso_of(names, NO_KERNEL));
    assert_int_not_equal(names_dso_of(names, IN_KERNEL), names_dso_of(names, IN_MODULE));
    names_free(names);
}

/* A profile whose files grow gets new frames; whatever is asked of one of them first. */
static void test_new_frames(void **state)
{
    (void)state;
    for (int first = 0; first < 3; first++) {
        for (uint32_t known = 0; known < 3; known++) {
            struct names *names = of_frames(known);
            for (uint32_t i = 0; i < known; i++)
                names_frame(names, i);
            for (uint32_t count = known + 1; count <= FRAMES; count += 3) {
                profile.frame_count = count;
                if (first == 0)
                    check_place(names, count - 1);
                else if (first == 1)
                    assert_string_equal(names_function(names, names_function_of(names, count - 1)).symbol,
                                        expected[count - 1].symbol);
                else
                    assert_string_equal(names_dso(names, names_dso_of(names, count - 1)), expected[count - 1].dso);
                assert_int_equal(names_frame_count(names), count);
                for (uint32_t i = 0; i < count; i++)
                    check_place(names, i);
            }
            names_free(names);
        }
    }
}

static void test_dsos(void **state)
{
    struct names *names = of_frames(FRAMES);
    (void)state;
    profile.session.osrelease = "6.1.0";
    profile.session.kernel_build_id = (const unsigned char *)"id";
    profile.session.kernel_build_id_size = 2;
    profile.session.kernel_reference = "_text";
    profile.session.kernel_reference_address = 0xffff0000;
    assert_ptr_equal(names_symbols(names, DEEPER), &dsos[APP]);
    assert_ptr_equal(names_symbols(names, IN_KERNEL), &dsos[KERNEL]);
    assert_string_equal(symbols_fake_kernel.osrelease, "6.1.0");
    assert_ptr_equal(symbols_fake_kernel.build_id, profile.session.kernel_build_id);
    assert_int_equal(symbols_fake_kernel.build_id_size, 2);
    assert_string_equal(symbols_fake_kernel.reference_name, "_text");
    assert_int_equal(symbols_fake_kernel.reference_address, 0xffff0000);
    assert_ptr_equal(names_symbols(names, IN_SCRIPT), &dsos[JIT]);
    assert_int_equal(symbols_fake_pid, 42);
    assert_string_equal(dsos[JIT].jit_dump, "/tmp/jit-42.dump");
    assert_null(names_symbols(names, IN_PROGRAM));
    assert_null(names_symbols(names, IN_GONE));
    assert_null(names_symbols(names, NOWHERE));
    assert_null(names_symbols(names, NO_KERNEL));
    names_free(names);
}

static void add_missing(void *context, const char *path, const char *why, unsigned missing)
{
    char *text = context;
    sprintf(text + strlen(text), "%s: %s %u\n", path, why, missing);
}

/* Only of DSOs whose names were wanted. */
static void test_missing(void **state)
{
    struct names *names = of_frames(FRAMES);
    char text[500] = "";
    (void)state;
    names_missing(names, add_missing, text);
    assert_string_equal(text, "");
    for (uint32_t i = 0; i < FRAMES; i++)
        names_function_of(names, i);
    names_missing(names, add_missing, text);
    assert_string_equal(text, "/opt/bare: it is stripped 1\n");
    dsos[APP].why = "unasked"; /* it lacks nothing */
    dsos[JIT].missing = 4;     /* without a reason */
    dsos[KERNEL].missing = 2;
    dsos[KERNEL].why = "another kernel";
    text[0] = '\0';
    names_missing(names, add_missing, text);
    assert_string_equal(text, "[kernel.kallsyms]: another kernel 2\n/opt/bare: it is stripped 1\n");
    names_free(names);
    names_free(NULL);
}

/* ---- what the resolver is told */

static struct {
    struct symbols_options options;
    char paths[8][64];
    int status, servers;
} told;

int __real_symbols_new(const struct symbols_options *options, struct symbols **ret_symbols);
int __wrap_symbols_new(const struct symbols_options *options, struct symbols **ret_symbols);
int __wrap_symbols_debuginfod(const struct symbols *symbols);

int __wrap_symbols_new(const struct symbols_options *options, struct symbols **ret_symbols)
{
    told.options = *options;
    for (size_t i = 0; i < options->debug_path_count && i < 8; i++)
        snprintf(told.paths[i], sizeof(told.paths[i]), "%s", options->debug_paths[i]);
    if (told.status) /* what is there then is nothing to be used */
        *ret_symbols = (struct symbols *)told.paths;
    return told.status ? told.status : __real_symbols_new(NULL, ret_symbols);
}

int __wrap_symbols_debuginfod(const struct symbols *symbols)
{
    assert_non_null(symbols);
    return told.servers;
}

/* What is said on stderr when names of PROFILE are made. */
static const char *told_by(void)
{
    check_capture();
    struct names *names = names_new(&profile, &settings);
    assert_non_null(names);
    names_free(names);
    return check_captured();
}

static void test_settings(void **state)
{
    const char *given[] = {"/debug/one", "/debug/two"};
    (void)state;
    names_free(of_frames(0));
    assert_true(!told.options.symfs && !told.options.no_demangle && !told.options.no_kernel);
    assert_int_equal(told.options.debuginfod_seconds, 0);
    assert_int_equal(told.options.debug_path_count, 0);
    settings.symfs = "/root";
    settings.no_demangle = true;
    settings.debug_paths = (struct settings_list){given, 2, 2};
    told.servers = -ENOENT; /* nobody asks */
    assert_string_equal(told_by(), "");
    assert_string_equal(told.options.symfs, "/root");
    assert_true(told.options.no_demangle);
    assert_int_equal(told.options.debug_path_count, 2);
    assert_string_equal(told.paths[0], "/debug/one");
    assert_string_equal(told.paths[1], "/debug/two");
    settings = (struct settings){.debuginfod = true};
    assert_non_null(strstr(told_by(), "libdebuginfod.so.1 is not installed"));
    assert_int_equal(told.options.debuginfod_seconds, 20);
    told.servers = -EDESTADDRREQ;
    assert_non_null(strstr(told_by(), "DEBUGINFOD_URLS is empty"));
    told.servers = -EACCES;
    assert_non_null(strstr(told_by(), strerror(EACCES)));
    told.servers = 0;
    assert_string_equal(told_by(), "");
    settings = (struct settings){0};
}

/* The archives beside the results come after what the user named, and those of a directory once. */
static void test_archives(void **state)
{
    static char root[] = "/tmp/pinject-names-XXXXXX";
    static const char *const directories[] = {"one", "two", "one.symbols", "one/a.symbols", "two/b.symbols"};
    const char *given[] = {"/debug/one"};
    char path[128], files[6][64];
    struct profile_task tasks[6] = {{0}};
    (void)state;
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < 5; i++) {
        snprintf(path, sizeof(path), "%s/%s", root, directories[i]);
        assert_int_equal(mkdir(path, 0700), 0);
        strcat(path, "/pinject-archive");
        FILE *index = i >= 2 ? fopen(path, "w") : NULL;
        assert_true(i < 2 || (index && fclose(index) == 0));
    }
    for (int i = 0; i < 6; i++) {
        snprintf(files[i], sizeof(files[i]), "%s/%s/out.%d", root, i < 3 ? "one" : "two", i);
        tasks[i].file = files[i];
    }
    tasks[1].file = NULL; /* of the session's own list alone */
    names_free(of_frames(0));
    profile.tasks = tasks;
    profile.task_count = 6;
    settings.debug_paths = (struct settings_list){given, 1, 1};
    assert_string_equal(told_by(), "");
    assert_int_equal(told.options.debug_path_count, 3);
    assert_string_equal(told.paths[0], "/debug/one");
    snprintf(path, sizeof(path), "%s/one/a.symbols", root);
    assert_string_equal(told.paths[1], path);
    snprintf(path, sizeof(path), "%s/two/b.symbols", root);
    assert_string_equal(told.paths[2], path);
    /* Results of the directory where one stands. */
    char from[512];
    assert_non_null(getcwd(from, sizeof(from)));
    snprintf(path, sizeof(path), "%s/one", root);
    assert_int_equal(chdir(path), 0);
    struct profile_task here[2] = {{.file = "out.1"}, {.file = "out.2"}};
    profile.tasks = here;
    profile.task_count = 2;
    assert_string_equal(told_by(), "");
    assert_int_equal(told.options.debug_path_count, 2);
    assert_string_equal(told.paths[1], "./a.symbols");
    here[0].file = files[0];
    assert_string_equal(told_by(), "");
    assert_int_equal(told.options.debug_path_count, 3);
    assert_int_equal(chdir(from), 0);
    settings = (struct settings){0};
    for (size_t i = 5; i-- > 0;) {
        snprintf(path, sizeof(path), "%s/%s/pinject-archive", root, directories[i]);
        unlink(path);
        *strrchr(path, '/') = '\0';
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(rmdir(root), 0);
}

/* Without memory for the symbols there are addresses alone. */
static void test_no_symbols(void **state)
{
    (void)state;
    told.status = -ENOMEM;
    settings.debuginfod = true;
    struct names *names = of_frames(FRAMES);
    assert_string_equal(names_frame(names, IN_ALPHA)->symbol, "app+0x100");
    assert_string_equal(names_frame(names, IN_KERNEL)->symbol, "0xffff8010");
    assert_string_equal(names_frame(names, IN_PROGRAM)->symbol, "bpf_prog");
    assert_null(names_symbols(names, IN_ALPHA));
    names_symbolize(names, NULL, true, 1);
    assert_false(names_shows_inlined(names));
    names_free(names);
    told.status = 0;
    settings.debuginfod = false;
}

/* --no-resolve: the places in the files, and no symbols are asked for, not even those of the recording. */
static void test_addresses(void **state)
{
    (void)state;
    settings.no_resolve = true;
    struct names *names = of_frames(FRAMES);
    assert_string_equal(names_frame(names, IN_ALPHA)->symbol, "app@0x100");
    assert_string_equal(names_frame(names, IN_ALPHA)->dso, "/opt/app");
    assert_int_equal(names_frame(names, IN_ALPHA)->address, 0x100);
    assert_string_equal(names_frame(names, IN_KERNEL)->symbol, "0xffff8010");
    assert_string_equal(names_frame(names, IN_PROGRAM)->symbol, "[bpf]@0xb010");
    assert_string_equal(names_frame(names, NOWHERE)->symbol, "0xdeae");
    for (uint32_t i = 0; i < FRAMES; i++) {
        assert_false(names_frame(names, i)->named || names_frame(names, i)->bounded);
        assert_null(names_symbols(names, i));
    }
    names_symbolize(names, NULL, true, 1);
    assert_false(names_shows_inlined(names));
    names_free(names);
    settings.no_resolve = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_numbers_without_places),
        cmocka_unit_test(test_equal_functions),
        cmocka_unit_test(test_new_frames),
        cmocka_unit_test(test_dsos),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_archives),
        cmocka_unit_test(test_no_symbols),
        cmocka_unit_test(test_symbolized_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
