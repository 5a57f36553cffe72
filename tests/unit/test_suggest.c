/* SPDX-License-Identifier: MIT */
/* Functions that --symbol may have meant. */
#include "check.h"

#include "analyze/view/select.h"
#include "symbols_fake.h"
#include "test_view_fake.h"

static void test_base_names(void **state)
{
    static const char *const names[][2] = {
        {"main", "main"},
        {"symbol_table::finalize_compilation_unit", "finalize_compilation_unit"},
        {"symbol_table::finalize(bool)", "finalize"},
        {"std::pow", "pow"},
        {"pow@", "pow"},
        {"pow@@GLIBC_2.29", "pow"},
        {"__pow_finite@GLIBC_2.15@plt", "pow_finite"},
        {"f.part.0", "f"},
        {"f.constprop.0.isra.0", "f"},
        {"runtime.mallocgc", "mallocgc"},
        {"main.(*Tree).Insert", "Insert"},
        {"(anonymous namespace)::step(int)", "step"},
        {"void sort<int*, less<int> >(int*, int*)", "sort"},
        {"std::map<int, a::b>::find(int const&) const", "find"},
        {"f() [clone .cold]", "f"},
        {"a::operator<", "operator<"},
        {"a::operator()", "operator()"},
        {"core::slice::sort::merge", "merge"},
        {"f(", "f"},
        {"f)>>", "f)>>"},
        {"(((((", "((((("},
        {"a::", ""},
        {"::", ""},
        {"___", ""},
        {"", ""},
        {"@", "@"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *base = suggest_base(names[i][0]);
        if (strcmp(base, names[i][1]) != 0)
            fail_msg("'%s' is called '%s', not '%s'", names[i][0], base, names[i][1]);
        free(base);
    }
}

static const struct profile_module app = {.path = "/opt/app", .index = 0}, lib = {.path = "/opt/lib.so", .index = 1};
static const struct profile_module *const modules[] = {&app, &lib};
static const struct symbols_fake_function app_functions[] = {{0x100, 0x10, "a::f", NULL}, {0x200, 0x10, "f(int)", NULL},
                                                             {0x300, 0x10, "f@V1", NULL}, {0x400, 0x10, "f@@V2", NULL},
                                                             {0x500, 0x10, "g", NULL},    {0x600, 0x10, "b::f", NULL}};
static const struct symbols_fake_function lib_functions[] = {{0x100, 0x10, "lib::f", NULL}};
static struct symbols_dso dsos[2];
enum { FRAMES = 7 };
static struct profile_frame frames[FRAMES];
static uint32_t chains[FRAMES][2];
static struct profile_stack stacks[FRAMES];
static struct profile_entry entries[FRAMES];
static struct profile_task task = {.pid = 1, .tid = 1, .comm = "app", .file = "out.1.1"};
static const struct profile_event event = {.name = "task-clock", .sampled = true};
static struct fake fake;

/* WEIGHTS of the functions above, each called by b::f. */
static void prepare(const uint64_t *weights)
{
    dsos[0] = (struct symbols_dso){
        .path = "/opt/app", .file = "/opt/app", .functions = app_functions, .function_count = 6, .end = UINT64_MAX};
    dsos[1] = (struct symbols_dso){.path = "/opt/lib.so",
                                   .file = "/opt/lib.so",
                                   .functions = lib_functions,
                                   .function_count = 1,
                                   .end = UINT64_MAX};
    symbols_fake_set(dsos, 2);
    fake = (struct fake){0};
    fake.profile = (struct profile){.events = &event,
                                    .event_count = 1,
                                    .tasks = &task,
                                    .task_count = 1,
                                    .modules = modules,
                                    .module_count = 2,
                                    .frames = frames,
                                    .frame_count = FRAMES,
                                    .stacks = stacks,
                                    .stack_count = FRAMES,
                                    .entries = entries};
    for (uint32_t i = 0; i < FRAMES; i++) {
        const uint64_t at = i < 6 ? app_functions[i].start : lib_functions[0].start;
        frames[i] = (struct profile_frame){.module = i < 6 ? &app : &lib, .offset = at, .ip = at, .index = i};
        chains[i][0] = i;
        chains[i][1] = 5;
        stacks[i] = (struct profile_stack){chains[i], 2, false};
        if (weights[i])
            entries[fake.profile.entry_count++] = (struct profile_entry){
                .stack = i, .comm = task.comm, .samples = 1, .weight = weights[i]};
    }
}

static bool leaves_only;

static int print_hint(struct view *view)
{
    char *hint = suggest_hint(view, leaves_only);
    fputs(hint, view->output->to);
    free(hint);
    return 0;
}

static void expect(const char *symbol, const char *dso, const char *wanted)
{
    fake.settings.symbols = (struct settings_list){&symbol, symbol != NULL, 1};
    fake.settings.dsos = (struct settings_list){&dso, dso != NULL, 1};
    char *text = run(&fake, print_hint);
    assert_string_equal(text, wanted);
    free(text);
}

static void test_hints(void **state)
{
    (void)state;
    prepare((const uint64_t[FRAMES]){10, 30, 20, 25, 40, 0, 5});
    leaves_only = false;
    /* Heaviest first; of two versions one name. */
    expect("x::f", NULL, "; did you mean 'b::f', 'f(int)' or 'f'?");
    expect("f@", "lib.so", "; did you mean 'lib::f'?");
    expect("x::h", NULL, "");
    expect("::", NULL, "");
    expect(NULL, NULL, "");
    /* Of leaves alone. */
    leaves_only = true;
    expect("x::f", NULL, "; did you mean 'f(int)', 'f' or 'a::f'?");
    prepare((const uint64_t[FRAMES]){0, 0, 0, 0, 40, 0, 0});
    expect("f", NULL, "");
    leaves_only = false;
    expect("f", NULL, "; did you mean 'b::f'?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base_names),
        cmocka_unit_test(test_hints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
