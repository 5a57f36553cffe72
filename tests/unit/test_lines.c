/* SPDX-License-Identifier: MIT */
/* Source lines and inlined functions of frames, by numbers, looked up at once or one by one. */
#include "check.h"

#include <errno.h>
#include <pthread.h>

#include "analyze/view/lines.h"
#include "symbols_fake.h"

static const struct profile_module app = {.path = "/opt/app", .index = 0}, lib = {.path = "/opt/lib.so", .index = 1},
                                   gone = {.path = "/opt/gone", .index = 2};
static const struct profile_module *const modules[] = {&app, &lib, &gone};
static const struct symbols_fake_function app_functions[] = {{0x1100, 0x80, "outer", NULL}},
                                          lib_functions[] = {{0x100, 0x80, "outer", NULL}};

static const struct symbols_fake_lines app_lines[] = {
    {0x1100, {{"outer_of_lines", "o", "b.c", 10, 0}}},
    {0x1108, {{"inner", "i", "a.h", 3, 0}, {"middle", "m", "a.h", 2, 0}, {"outer_of_lines", "o", "b.c", 11, 0}}},
    {0x1110, {{"inner", "i", "a.h", 3, 0}, {NULL, NULL, NULL, 9, 0}, {NULL, NULL, "b.c", 10, 0}}},
    {0x1200, {{"unnamed", "u", "b.c", 30, 0}}},
    {0x1210, {{NULL, NULL, "b.c", 31, 0}}},
};
static const struct symbols_fake_lines lib_lines[] = {
    {0x100, {{"inner", "i", "a.h", 3, 0}, {"outer", "o", "b.c", 10, 0}}},
    {0x110, {{"outer", "o", "b.c", 40, 0}, {"outer", "o", "b.c", 41, 0}}}};
enum { APP, LIB, DSOS };
static struct symbols_dso dsos[DSOS];

enum { PLAIN, INLINED, NAMELESS, UNNAMED, UNKNOWN, WITHOUT, BARE, IN_LIB, IN_ITSELF, IN_GONE, NOWHERE, FRAMES };
#define FRAME(n, of, at) [n] = {.module = &(of), .offset = at, .ip = at, .index = n}
static const struct profile_frame frames[FRAMES] = {
    FRAME(PLAIN, app, 0x100),
    FRAME(INLINED, app, 0x108),
    FRAME(NAMELESS, app, 0x110),
    FRAME(UNNAMED, app, 0x200),
    FRAME(UNKNOWN, app, 0x210),
    FRAME(WITHOUT, app, 0x120),
    FRAME(BARE, app, 0x300),
    FRAME(IN_LIB, lib, 0x100),
    FRAME(IN_ITSELF, lib, 0x110),
    FRAME(IN_GONE, gone, 0x55),
    [NOWHERE] = {.offset = 0xdead, .ip = 0xdead, .index = NOWHERE},
};

static struct profile profile;
static struct settings settings;
static struct names *names;

static struct lines *of_frames(uint32_t count)
{
    dsos[APP] = (struct symbols_dso){.path = "/opt/app",
                                     .shift = 0x1000,
                                     .end = UINT64_MAX,
                                     .functions = app_functions,
                                     .function_count = 1,
                                     .lines = app_lines,
                                     .line_count = sizeof(app_lines) / sizeof(app_lines[0]),
                                     .lines_why = "it tells nothing"};
    dsos[LIB] = (struct symbols_dso){.path = "/opt/lib.so",
                                     .end = UINT64_MAX,
                                     .functions = lib_functions,
                                     .function_count = 1,
                                     .lines = lib_lines,
                                     .line_count = 2};
    symbols_fake_set(dsos, DSOS);
    profile = (struct profile){.modules = modules, .module_count = 3, .frames = frames, .frame_count = count};
    names = names_new(&profile, &settings);
    return lines_new(names, count);
}

static void end(struct lines *lines)
{
    lines_free(lines);
    names_free(names);
}

struct expected {
    const char *file;
    uint32_t number;
    const char *symbol, *dso;
};

static const struct expected expected[FRAMES][4] = {
    /* What has code of its own is called by its symbol, not as the lines call it. */
    [PLAIN] = {{"b.c", 10, "outer", "/opt/app"}},
    [INLINED] = {{"a.h", 3, "inner", "/opt/app"}, {"a.h", 2, "middle", "/opt/app"}, {"b.c", 11, "outer", "/opt/app"}},
    [NAMELESS] = {{"a.h", 3, "inner", "/opt/app"},
                  {NULL, 9, "[unknown]", "/opt/app"},
                  {"b.c", 10, "outer", "/opt/app"}},
    [UNNAMED] = {{"b.c", 30, "unnamed", "/opt/app"}},
    [UNKNOWN] = {{"b.c", 31, "app+0x1210", "/opt/app"}},
    [WITHOUT] = {{NULL, 0, "outer", "/opt/app"}},
    [BARE] = {{NULL, 0, "app+0x1300", "/opt/app"}},
    [IN_LIB] = {{"a.h", 3, "inner", "/opt/lib.so"}, {"b.c", 10, "outer", "/opt/lib.so"}},
    [IN_ITSELF] = {{"b.c", 40, "outer", "/opt/lib.so"}, {"b.c", 41, "outer", "/opt/lib.so"}},
    [IN_GONE] = {{NULL, 0, "gone+0x55", "/opt/gone"}},
    [NOWHERE] = {{NULL, 0, "0xdead", "[unknown]"}},
};

/* FRAME has its lines and functions. */
static void check_frame(struct lines *lines, uint32_t frame)
{
    uint32_t count = 0, wanted = 0;
    const struct lines_part *parts = lines_frame(lines, frame, &count);
    while (wanted < 4 && expected[frame][wanted].symbol)
        wanted++;
    assert_int_equal(count, wanted);
    for (uint32_t i = 0; i < count; i++) {
        struct lines_line line = lines_line(lines, parts[i].line);
        struct lines_function function = lines_function(lines, parts[i].function);
        const struct expected *one = &expected[frame][i];
        if (one->file)
            assert_string_equal(line.file, one->file);
        else
            assert_null(line.file);
        assert_int_equal(line.number, one->number);
        assert_string_equal(function.symbol, one->symbol);
        assert_string_equal(function.dso, one->dso);
        assert_int_equal(function.inlined, i + 1 < count);
    }
    assert_ptr_equal(lines_frame(lines, frame, &count), parts);
}

static void test_one_by_one(void **state)
{
    struct lines *lines = of_frames(FRAMES);
    (void)state;
    for (uint32_t i = 0; i < FRAMES; i++)
        check_frame(lines, i);
    assert_int_equal(dsos[APP].asked_lines, 7);
    assert_int_equal(dsos[LIB].asked_lines, 2);
    end(lines);
    lines_free(NULL);
}

/* ---- threads: only those that were started are waited for */

static pthread_t started[16];
static unsigned started_count, all_started, most_started = 16;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *context);
int __real_pthread_join(pthread_t thread, void **ret);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *context);
int __wrap_pthread_join(pthread_t thread, void **ret);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *context)
{
    if (all_started == most_started)
        return EAGAIN;
    assert_true(started_count < 16);
    int error = __real_pthread_create(thread, attr, start, context);
    assert_int_equal(error, 0);
    started[started_count++] = *thread;
    all_started++;
    return 0;
}

int __wrap_pthread_join(pthread_t thread, void **ret)
{
    unsigned i = 0;
    while (i < started_count && !pthread_equal(started[i], thread))
        i++;
    assert_true(i < started_count);
    started[i] = started[--started_count];
    return __real_pthread_join(thread, ret);
}

/* The caller works too, and there is one for each DSO at most; nothing depends on whether they can be started. */
static void test_threads(void **state)
{
    static const unsigned wanted[] = {1, 2, 3, 1000}, expected_threads[] = {0, 1, 1, 1};
    (void)state;
    for (unsigned most = 0; most < 2; most++) {
        most_started = most;
        for (size_t i = 0; i < 4; i++) {
            struct lines *lines = of_frames(FRAMES);
            all_started = 0;
            lines_symbolize(lines, &profile, NULL, wanted[i]);
            assert_int_equal(all_started, most ? expected_threads[i] : 0);
            assert_int_equal(started_count, 0);
            for (uint32_t j = 0; j < FRAMES; j++)
                check_frame(lines, j);
            end(lines);
        }
    }
    all_started = 0;
    most_started = UINT32_MAX;
}

/* With any number of threads, of all frames or of some; what is known already stays. */
static void test_at_once(void **state)
{
    static const bool some[FRAMES] = {[INLINED] = true, [IN_LIB] = true, [IN_GONE] = true};
    (void)state;
    for (unsigned threads = 0; threads < 4; threads++) {
        struct lines *lines = of_frames(FRAMES);
        check_frame(lines, WITHOUT);
        lines_symbolize(lines, &profile, some, threads);
        assert_int_equal(dsos[APP].asked_lines, 2);
        assert_int_equal(dsos[LIB].asked_lines, 1);
        lines_symbolize(lines, &profile, NULL, threads);
        unsigned asked = dsos[APP].asked_lines + dsos[LIB].asked_lines;
        for (uint32_t i = 0; i < FRAMES; i++)
            check_frame(lines, i);
        assert_int_equal(dsos[APP].asked_lines + dsos[LIB].asked_lines, asked);
        end(lines);
    }
}

/* One line of a file is one, whatever function it is in; code without a file is one for each function. */
static void test_numbers(void **state)
{
    struct lines *lines = of_frames(FRAMES);
    const struct lines_part *parts[FRAMES];
    uint32_t count;
    (void)state;
    for (uint32_t i = 0; i < FRAMES; i++)
        parts[i] = lines_frame(lines, i, &count);
    assert_int_equal(parts[PLAIN][0].line, parts[NAMELESS][2].line);
    assert_int_equal(parts[PLAIN][0].function, parts[NAMELESS][2].function);
    assert_int_equal(parts[PLAIN][0].function, parts[WITHOUT][0].function);
    assert_int_not_equal(parts[PLAIN][0].line, parts[WITHOUT][0].line);
    assert_int_equal(parts[INLINED][0].line, parts[IN_LIB][0].line);
    assert_int_not_equal(parts[INLINED][0].function, parts[IN_LIB][0].function);
    assert_int_not_equal(parts[INLINED][1].line, parts[INLINED][0].line);
    assert_int_not_equal(parts[WITHOUT][0].line, parts[BARE][0].line);
    assert_int_not_equal(parts[IN_GONE][0].line, parts[NOWHERE][0].line);
    /* It has the function where it was seen first. */
    assert_string_equal(lines_line(lines, parts[IN_LIB][0].line).dso, "/opt/app");
    assert_string_equal(lines_line(lines, parts[IN_LIB][0].line).symbol, "inner");
    end(lines);
}

/* A file is one in all DSOs; code without a file is one for each DSO. */
static void test_files(void **state)
{
    struct lines *lines = of_frames(FRAMES);
    const struct lines_part *parts[FRAMES];
    uint32_t count;
    (void)state;
    for (uint32_t i = 0; i < FRAMES; i++)
        parts[i] = lines_frame(lines, i, &count);
    assert_int_equal(parts[INLINED][0].file, parts[IN_LIB][0].file);
    assert_int_equal(parts[INLINED][0].file, parts[INLINED][1].file);
    assert_int_equal(parts[WITHOUT][0].file, parts[BARE][0].file);
    assert_int_not_equal(parts[WITHOUT][0].file, parts[IN_GONE][0].file);
    assert_int_not_equal(parts[IN_GONE][0].file, parts[NOWHERE][0].file);
    const uint32_t order[] = {parts[INLINED][0].file, parts[PLAIN][0].file, parts[BARE][0].file, parts[IN_GONE][0].file,
                              parts[NOWHERE][0].file};
    static const char *const files[] = {"a.h", "b.c"}, *const dsos_of[] = {"/opt/app", "/opt/gone", "[unknown]"};
    for (uint32_t i = 0; i < 5; i++) {
        const struct lines_source file = lines_source(lines, order[i]);
        assert_string_equal(i < 2 ? file.file : file.dso, i < 2 ? files[i] : dsos_of[i - 2]);
        assert_null(i < 2 ? file.dso : file.file);
        for (uint32_t j = 0; j < 5; j++) {
            const int sign = lines_order_files(lines, order[i], order[j]);
            assert_int_equal((sign > 0) - (sign < 0), (i > j) - (i < j));
        }
    }
    end(lines);
}

static void test_new_frames(void **state)
{
    (void)state;
    for (uint32_t known = 0; known < 3; known++) {
        struct lines *lines = of_frames(known);
        for (uint32_t count = known + 1; count <= FRAMES; count += 2) {
            profile.frame_count = count;
            check_frame(lines, count - 1);
            for (uint32_t i = 0; i < count; i++)
                check_frame(lines, i);
        }
        end(lines);
    }
}

static int sign(int order)
{
    return order < 0 ? -1 : order > 0;
}

static void test_order(void **state)
{
    struct lines *lines = of_frames(FRAMES);
    uint32_t sorted[8], count;
    (void)state;
    const struct lines_part *plain = lines_frame(lines, PLAIN, &count), *inlined = lines_frame(lines, INLINED, &count),
                            *unnamed = lines_frame(lines, UNNAMED, &count),
                            *nameless = lines_frame(lines, NAMELESS, &count),
                            *nowhere = lines_frame(lines, NOWHERE, &count),
                            *without = lines_frame(lines, WITHOUT, &count),
                            *in_gone = lines_frame(lines, IN_GONE, &count),
                            *in_lib = lines_frame(lines, IN_LIB, &count),
                            *itself = lines_frame(lines, IN_ITSELF, &count);
    /* By file and number; behind them what has no file, by function. */
    const uint32_t by_line[] = {inlined[1].line, inlined[0].line,  plain[0].line,   inlined[2].line, unnamed[0].line,
                                nowhere[0].line, nameless[1].line, in_gone[0].line, without[0].line};
    for (size_t i = 0; i < 9; i++)
        for (size_t j = 0; j < 9; j++)
            assert_int_equal(sign(lines_order(lines, by_line[i], by_line[j])), i < j ? -1 : i > j);
    /* By symbol, DSO, and what is inlined last. */
    sorted[0] = nowhere[0].function;
    sorted[1] = nameless[1].function;
    sorted[2] = in_gone[0].function;
    sorted[3] = inlined[0].function;
    sorted[4] = in_lib[0].function;
    sorted[5] = plain[0].function;
    sorted[6] = itself[1].function;
    sorted[7] = itself[0].function;
    assert_int_equal(sorted[6], in_lib[1].function);
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 8; j++)
            assert_int_equal(sign(lines_order_functions(lines, sorted[i], sorted[j])), i < j ? -1 : i > j);
    end(lines);
}

static void test_reasons(void **state)
{
    struct lines *lines = of_frames(FRAMES);
    (void)state;
    assert_string_equal(lines_why(lines, BARE), "it tells nothing");
    assert_string_equal(lines_why(lines, IN_LIB), "no memory mapping is known for the address");
    assert_string_equal(lines_why(lines, IN_GONE), "no memory mapping is known for the address");
    assert_string_equal(lines_why(lines, NOWHERE), "no memory mapping is known for the address");
    end(lines);
}

/* Inlined functions stand in front of the frame that they are in, as frames of their own. */
static void test_stacks(void **state)
{
    static const uint32_t chain[] = {INLINED, PLAIN, NAMELESS, IN_LIB}, plain[] = {PLAIN, BARE};
    static const struct profile_stack stacks[] = {{chain, 4, false}, {plain, 2, false}, {chain, 1, false}};
    static const char *const names_of_chain[] = {"inner",     "middle", "outer", "outer", "inner",
                                                 "[unknown]", "outer",  "inner", "outer"};
    (void)state;
    for (unsigned threads = 0; threads < 3; threads++) {
        struct lines *lines = of_frames(FRAMES);
        uint32_t depth = 0;
        profile.stacks = stacks;
        profile.stack_count = 3;
        assert_false(names_shows_inlined(names));
        assert_ptr_equal(names_stack(names, 0, &depth), chain);
        assert_int_equal(depth, 4);
        names_symbolize(names, NULL, true, threads);
        assert_true(names_shows_inlined(names));
        const uint32_t *stack = names_stack(names, 0, &depth);
        assert_int_equal(depth, 9);
        for (uint32_t i = 0; i < depth; i++) {
            const struct names_place *place = names_frame(names, stack[i]);
            bool own = i == 2 || i == 3 || i == 6 || i == 8;
            assert_string_equal(place->symbol, names_of_chain[i]);
            assert_string_equal(place->dso, i < 7 ? "/opt/app" : "/opt/lib.so");
            assert_int_equal(place->inlined, !own);
            assert_int_equal(names_is_inlined(names, stack[i]), !own);
            assert_int_equal(names_function(names, names_function_of(names, stack[i])).inlined, !own);
            assert_int_equal(names_dso_of(names, stack[i]), place->dso_id);
        }
        assert_int_equal(stack[0], stack[4]); /* one function is one frame */
        assert_int_not_equal(stack[0], stack[7]);
        /* Two of the program, one without a name, two of the library. */
        assert_int_equal(names_frame_count(names), FRAMES + 5);
        assert_ptr_equal(names_stack(names, 1, &depth), plain);
        assert_int_equal(depth, 2);
        stack = names_stack(names, 2, &depth);
        assert_true(depth == 3 && stack[2] == INLINED);
        end(lines);
    }
}

/* Deep stacks, in which room for inlined functions ends anywhere. */
static void test_deep_stacks(void **state)
{
    enum { DEEPEST = 70 };
    uint32_t chain[DEEPEST], depth = 0;
    (void)state;
    struct lines *lines = of_frames(FRAMES);
    names_symbolize(names, NULL, true, 1);
    for (uint32_t plain = 0; plain < DEEPEST; plain++) {
        const struct profile_stack stack = {chain, plain + 1, false};
        for (uint32_t i = 0; i < plain; i++)
            chain[i] = PLAIN;
        chain[plain] = INLINED;
        profile.stacks = &stack;
        const uint32_t *all = names_stack(names, 0, &depth);
        assert_int_equal(depth, plain + 3);
        for (uint32_t i = 0; i < plain; i++)
            assert_int_equal(all[i], PLAIN);
        assert_int_equal(all[plain + 2], INLINED);
    }
    end(lines);
}

/* So many frames of one DSO that what is known of their lines has to grow. */
static void test_many_lines(void **state)
{
    enum { MANY = 500 };
    static struct profile_frame many[MANY];
    static struct symbols_fake_lines their_lines[MANY];
    (void)state;
    for (unsigned threads = 1; threads < 3; threads++) {
        end(of_frames(0));
        for (uint32_t i = 0; i < MANY; i++) {
            many[i] = (struct profile_frame){.module = &app, .offset = i, .ip = i, .index = i};
            their_lines[i] = (struct symbols_fake_lines){
                0x1000 + i,
                {{"inner", "i", "a.h", i + 1, 0}, {"middle", "m", "b.h", i + 2, 0}, {"outer", "o", "c.c", i + 3, 0}}};
        }
        dsos[APP].lines = their_lines;
        dsos[APP].line_count = MANY;
        profile.frames = many;
        profile.frame_count = MANY;
        names = names_new(&profile, &settings);
        struct lines *lines = lines_new(names, MANY);
        lines_symbolize(lines, &profile, NULL, threads);
        for (uint32_t i = 0; i < MANY; i++) {
            uint32_t count = 0;
            const struct lines_part *parts = lines_frame(lines, i, &count);
            assert_int_equal(count, 3);
            for (uint32_t j = 0; j < 3; j++)
                assert_int_equal(lines_line(lines, parts[j].line).number, i + j + 1);
        }
        assert_int_equal(dsos[APP].asked_lines, MANY);
        end(lines);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_by_one),  cmocka_unit_test(test_threads),    cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_numbers),     cmocka_unit_test(test_files),      cmocka_unit_test(test_new_frames),
        cmocka_unit_test(test_order),       cmocka_unit_test(test_reasons),    cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_deep_stacks), cmocka_unit_test(test_many_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
