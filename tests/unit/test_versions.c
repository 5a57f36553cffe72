/* SPDX-License-Identifier: MIT */
/* Comparisons of programs with different names: two versions of one program, or programs of which nobody knows. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "test_view_fake.h"

#include "analyze/view/versions.h"

/* A side: fake_new()'s run, where cc1 is another program, and so may make be. */
struct program {
    struct fake fake;
    struct profile_task tasks[3];
    struct profile_generation generation;
    struct profile_module module;
    const struct profile_module *modules[1];
    struct profile_frame frames[4];
    struct profile_entry entries[4];
};

static void program_new(struct program *program, const char *make, const char *cc1, const char *comm)
{
    struct fake *fake = &program->fake;
    fake_new(fake);
    memcpy(program->tasks, fake->profile.tasks, sizeof(program->tasks));
    memcpy(program->frames, fake->profile.frames, sizeof(program->frames));
    memcpy(program->entries, fake->profile.entries, sizeof(program->entries));
    program->tasks[0].generation_count = 0;
    program->tasks[0].exec = program->tasks[1].exec = make;
    program->generation = (struct profile_generation){3500, comm, cc1, NULL, 0};
    program->tasks[2].exec = cc1;
    program->tasks[2].generations = &program->generation;
    program->tasks[2].generation_count = 1;
    program->module = (struct profile_module){.path = cc1};
    program->modules[0] = &program->module;
    for (size_t i = 0; i < 3; i++)
        program->frames[i].module = &program->module;
    for (size_t i = 2; i < 4; i++)
        program->entries[i].comm = comm;
    fake->profile.tasks = program->tasks;
    fake->profile.modules = program->modules;
    fake->profile.frames = program->frames;
    fake->profile.entries = program->entries;
}

static char *diff(struct program *before, struct program *after)
{
    int status;
    char *text = fake_diff((struct fake *const[]){&before->fake, &after->fake}, (const size_t[]){1, 1}, &status);
    assert_int_equal(status, 0);
    return text;
}

static void test_one_program_of_each_side_is_a_pair(void **state)
{
    (void)state;
    struct program before, after;
    program_new(&before, "/usr/bin/make", "/x/old", "old");
    program_new(&after, "/usr/bin/make", "/y/new-and-longer-name", "new-and-longer-"); /* as the kernel cuts it off */
    char *text = diff(&before, &after);
    has(text, "\nA's 'old' and B's 'new-and-longer-name' are compared as two versions of one\n  program.\n");
    has(text, "  0 s  85.0 ms  85.0 ms  ~+0.00  85.00 %  85.00 %  old -> new-and-longer-name\n");
    has(text, "  0 s  95.0 ms  95.0 ms  ~+0.00  95.00 %  95.00 %  old -> new-and-longer-name  [functions not ");
    has(text, "Functions of old -> new-and-longer-name are not compared: its symbols are missing in A and B");
    free(text);
    before.fake.settings.diff_by_given = true;
    before.fake.settings.diff_by = 1;
    text = diff(&before, &after);
    has(text, "  0 s  95.0 ms  95.0 ms  ~+0.00  95.00 %  95.00 %  old -> new-and-longer-name\n");
    free(text);
    before.fake.settings.diff_by = 3;
    text = diff(&before, &after);
    has(text, "  0 s  80.0 ms  80.0 ms  ~+0.00  80.00 %  80.00 %  [functions not compared] < ");
    has(text, "< [old -> new-and-longer-name]\n");
    free(text);
    before.fake.settings.json = true;
    before.fake.settings.diff_by_given = false;
    text = diff(&before, &after);
    has(text, "\"versions\":[\n"
              "  {\"a\":\"old\",\"b\":\"new-and-longer-name\",\"name\":\"old -> new-and-longer-name\"}]");
    has(text, "\"not_paired\":{\n  \"a\":[],\n  \"b\":[]}");
    has(text, "\"comm\":\"old -> new-and-longer-name\",\"executable\":\"old -> new-and-longer-name\"");
    free(text);
}

/* Whoever runs on both sides, and helpers of a moment, are in nobody's way. */
static void test_helpers_are_no_versions(void **state)
{
    (void)state;
    struct program before, after;
    program_new(&before, "/usr/bin/helper", "/x/old", "old");
    program_new(&after, "/usr/bin/other", "/y/new", "new");
    for (size_t i = 0; i < 2; i++) { /* of make and its thread */
        before.entries[i].samples = before.entries[i].weight = 1;
        after.entries[i].samples = after.entries[i].weight = 1;
    }
    char *text = diff(&before, &after);
    has(text, "A's 'old' and B's 'new' are compared");
    free(text);
    /* B runs it too, if only for a moment: it is no version of another program. */
    program_new(&before, "/usr/bin/make", "/x/old", "old");
    program_new(&after, "/usr/bin/make", "/y/new", "new");
    after.tasks[1].exec = "/x/old";
    text = diff(&before, &after);
    has_not(text, "compared as two versions");
    has_not(text, "warning: ");
    free(text);
}

/* One interpreter runs both: what they are called is all that differs. */
static void test_scripts(void **state)
{
    (void)state;
    struct program before, after;
    program_new(&before, "/usr/bin/make", "/x/python", "old.py");
    program_new(&after, "/usr/bin/make", "/x/python", "new.py");
    char *text = diff(&before, &after);
    has(text, "\nA's 'old.py' and B's 'new.py' are compared as two versions of one program.\n");
    has(text, "  0 s  85.0 ms  85.0 ms  ~+0.00  85.00 %  85.00 %  old.py -> new.py (python)\n");
    has(text, "  python     [functions not compared]\n");
    free(text);
    /* Its name is one of a thread. */
    after.generation.comm = "python";
    text = diff(&before, &after);
    has_not(text, "two versions");
    free(text);
    /* Another interpreter, which runs on both sides. */
    program_new(&before, "/x/perl", "/x/python", "old.py");
    program_new(&after, "/x/python", "/x/perl", "new.pl");
    text = diff(&before, &after);
    has_not(text, "two versions");
    free(text);
    /* Two versions of one interpreter. */
    program_new(&before, "/usr/bin/make", "/x/python3.11", "old.py");
    program_new(&after, "/usr/bin/make", "/x/python3.12", "new.py");
    text = diff(&before, &after);
    has(text, "\nA's 'python3.11' and B's 'python3.12' are compared as two versions of one\n"
              "  program.\nA's 'old.py' and B's 'new.py' are compared as two versions of one program.\n");
    has(text, "  old.py -> new.py (python3.11 -> python3.12)\n");
    free(text);
}

/* The name of one side's version alone: the other side is empty, and nothing is less there. */
static void test_filter_of_one_side(void **state)
{
    (void)state;
    struct program before, after;
    const char *names[] = {"old", "new"};
    program_new(&before, "/usr/bin/make", "/x/old", "old");
    program_new(&after, "/usr/bin/make", "/y/new", "new");
    before.fake.settings.comms = (struct settings_list){names, 1, 2};
    char *text = diff(&before, &after);
    has(text, "\n"
              "warning: nothing is compared, because no sample of B matches the filters. The\n"
              "  filters apply to both sides: name the commands of both sides, e.g. -c old -c\n"
              "  new.\n");
    free(text);
    before.fake.settings.comms.count = 2;
    text = diff(&before, &after);
    has_not(text, "warning: ");
    has(text, "A's 'old' and B's 'new' are compared");
    free(text);
}

static void test_nobody_guesses(void **state)
{
    (void)state;
    struct program before, after;
    program_new(&before, "/usr/bin/x\033", "/x/y", "y");
    program_new(&after, "/usr/bin/p", "/y/q", "q");
    char *text = diff(&before, &after);
    has(text, "\n"
              "warning: only A ran 'x\\033', 'y', and only B ran 'p', 'q'. Functions of programs\n"
              "  with different names are not compared. Give both versions the same name, e.g.\n"
              "  old/app and new/app.\n");
    has(text, "85.0 ms        -  ?-85.00  85.00 %   0.00 %  y\n");
    free(text);
    before.fake.settings.json = true;
    text = diff(&before, &after);
    has(text, "\"versions\":[],\n \"not_paired\":{\n  \"a\":[\"x\\u001b\",\"y\"],\n  \"b\":[\"p\",\"q\"]}");
    free(text);
    /* Two against one are as unclear. */
    program_new(&after, "/usr/bin/p", "/usr/bin/p", "p");
    program_new(&before, "/usr/bin/x", "/x/y", "y");
    text = diff(&before, &after);
    has(text, "only A ran 'x', 'y', and only B ran 'p'.");
    free(text);
}

/* Files of perf tell of a task's last executable; commands have names alone. */
static void test_other_files_than_ours(void **state)
{
    (void)state;
    struct program before, after;
    program_new(&before, "/usr/bin/make", "/x/old", "old");
    program_new(&after, "/usr/bin/make", "/y/new", "new");
    before.fake.profile.session.ours = after.fake.profile.session.ours = false;
    char *text = diff(&before, &after);
    has(text, "A's 'old' and B's 'new' are compared");
    has(text, "  85.0 ms  85.0 ms  ~+0.00  85.00 %  85.00 %  old -> new\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_program_of_each_side_is_a_pair),
        cmocka_unit_test(test_helpers_are_no_versions),
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_filter_of_one_side),
        cmocka_unit_test(test_nobody_guesses),
        cmocka_unit_test(test_other_files_than_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
