/* SPDX-License-Identifier: MIT */
/* What bounded the time of a run. */
#include "check.h"

#include "analyze/view/cpu_use.h"
#include "test_view_fake.h"

#define MS 1000000ull
#define T  1000000ull

enum { MOST = 9 };

static const char *const words[MOST][3] = {{"make", "-j2"},
                                           {"/usr/bin/cc1", "-quiet", "a.c"},
                                           {"/usr/bin/cc1", "-quiet", "big.c"},
                                           {"sleep", "1"},
                                           {"worker"},
                                           {"/usr/bin/as", "-o", "big.o"},
                                           {"ld", "-o", "prog"},
                                           {"strip", "prog"},
                                           {"cp", "prog"}};
static struct profile_task tasks[MOST];
static struct profile_entry entries[MOST];
static struct fake fake;

static void put(unsigned at, int32_t pid, uint64_t start_ms, uint64_t end_ms, uint64_t cpu_ms)
{
    tasks[at] = (struct profile_task){.pid = pid,
                                      .tid = pid,
                                      .ppid = pid == 10 ? 1 : 10,
                                      .parent_tid = pid == 10 ? 0 : 10,
                                      .file = "out",
                                      .comm = words[at][0],
                                      .exec = "",
                                      .cmdline = (const char **)(uintptr_t)words[at],
                                      .cmdline_count = !words[at][1]  ? 1
                                                       : words[at][2] ? 3
                                                                      : 2,
                                      .start_ns = T + start_ms * MS,
                                      .end_ns = T + end_ms * MS,
                                      .ended = true,
                                      .root = pid == 10,
                                      .samples = 1,
                                      .weight = cpu_ms * MS,
                                      .index = at};
    entries[at] = (struct profile_entry){at, 0, 0, words[at][0], 1, cpu_ms * MS};
}

/* A make of two files: a.c from 10 to 200 ms, big.c from 10 to 900 ms, of 1000 ms; one sleeps all the time. */
static void set_up(void)
{
    fake_new(&fake);
    put(0, 10, 0, 1000, 5);
    put(1, 20, 10, 200, 150);
    put(2, 30, 10, 990, 800);
    put(3, 40, 0, 990, 1);
    fake.profile.tasks = tasks;
    fake.profile.task_count = 4;
    fake.profile.entries = entries;
    fake.profile.entry_count = 4;
    fake.profile.session.cpus = 2;
    fake.profile.session.cpu_ns = 1000 * MS;
}

static void expect(const char *wanted)
{
    struct view view = {.settings = &fake.settings, .profile = &fake.profile};
    view.names = names_new(&fake.profile, &fake.settings);
    view.selection = select_new(&fake.profile, &fake.settings, view.names, false);
    char *text = cpu_use_text(&view);
    if (!text != !wanted || (text && strcmp(text, wanted) != 0))
        fail_msg("'%s', not '%s'", text ? text : "(none)", wanted ? wanted : "(none)");
    free(text);
    select_free(view.selection);
    names_free(view.names);
}

static void test_alone(void **state)
{
    (void)state;
    set_up();
    expect("1.00 of 2 CPUs were busy on average; cc1 of big.c ran alone for the last 790 ms");
    fake.profile.session.cpus = 0;
    expect("1.00 CPUs were busy on average; cc1 of big.c ran alone for the last 790 ms");
    fake.profile.session.cpus = 2;
    put(1, 20, 800, 950, 120); /* beside it near its end */
    expect("1.00 of 2 CPUs were busy on average; cc1 of big.c ran alone for 790 ms");
    put(1, 20, 60, 980, 700);
    expect("1.00 of 2 CPUs were busy on average");
    put(1, 20, 60, 980, 90); /* it waited most of the time */
    expect("1.00 of 2 CPUs were busy on average");
    put(1, 20, 10, 15, 4); /* too little of all */
    expect("1.00 of 2 CPUs were busy on average");
}

/* Where other programs keep the CPUs busy, who has little of them does not wait for something else. */
static void test_beside_others(void **state)
{
    (void)state;
    set_up();
    put(1, 20, 60, 980, 90);
    put(3, 40, 0, 100, 60);
    fake.profile.session.cpu_ns = 500 * MS;
    fake.profile.session.machine_ns = 1000 * MS;
    fake.profile.session.others_ns = 1290 * MS;
    expect("0.50 of 2 CPUs were busy on average with this run; other programs used 1.29 of 2 CPUs; cc1 of big.c ran "
           "alone for the last 890 ms");
    fake.profile.session.others_ns = 1310 * MS;
    expect("0.50 of 2 CPUs were busy on average with this run; other programs used 1.31 of 2 CPUs");
    put(1, 20, 60, 980, 20); /* less than its part of them: 10 % of 0.5 of 1.81 */
    expect("0.50 of 2 CPUs were busy on average with this run; other programs used 1.31 of 2 CPUs; cc1 of big.c ran "
           "alone for the last 890 ms");
}

/* What the threads of a process used is the process'. */
static void test_threads(void **state)
{
    (void)state;
    set_up();
    put(4, 30, 300, 500, 400);
    tasks[4].tid = 31;
    tasks[2].weight = entries[2].weight = 10 * MS;
    fake.profile.task_count = fake.profile.entry_count = 5;
    expect("1.00 of 2 CPUs were busy on average; cc1 of big.c ran alone for the last 790 ms");
    tasks[4].pid = tasks[4].tid = 50;
    expect("1.00 of 2 CPUs were busy on average; worker ran alone for the last 200 ms");
}

/* What follows each other alone is the serial part of a build, however many processes it is. */
static void test_one_after_the_other(void **state)
{
    (void)state;
    set_up();
    put(0, 10, 0, 1000, 5);
    put(2, 30, 10, 700, 600);
    put(4, 50, 0, 0, 0); /* never began */
    put(5, 60, 703, 750, 40);
    put(6, 70, 770, 985, 100); /* 20 ms later */
    fake.profile.task_count = 7;
    fake.profile.entry_count = 7;
    expect(
        "1.00 of 2 CPUs were busy on average; cc1 of big.c, as and ld of prog ran one after another, each alone, for "
        "the last 762 ms");
    put(6, 70, 800, 985, 100); /* too late: what came between? */
    expect("1.00 of 2 CPUs were busy on average; cc1 of big.c and as ran one after another, each alone, for 547 ms");
    put(6, 70, 740, 985, 100); /* beside the other for a moment */
    expect(
        "1.00 of 2 CPUs were busy on average; cc1 of big.c, as and ld of prog ran one after another, each alone, for "
        "the last 772 ms");
    put(7, 80, 986, 992, 6);
    put(8, 90, 993, 998, 5);
    fake.profile.task_count = 9;
    fake.profile.entry_count = 9;
    expect(
        "1.00 of 2 CPUs were busy on average; cc1 of big.c, as, ld of prog and 2 other processes ran one after another, "
        "each alone, for the last 783 ms");
}

/* Where many CPUs were busy before, the end of a build is little of all CPU time, and much of the elapsed time. */
static void test_after_many(void **state)
{
    (void)state;
    set_up();
    put(1, 20, 10, 200, 5000);
    put(2, 30, 10, 700, 600);
    put(5, 60, 703, 850, 20);
    put(6, 70, 852, 985, 100);
    fake.profile.task_count = fake.profile.entry_count = 7;
    put(4, 50, 0, 0, 0);
    fake.profile.session.cpus = 64;
    fake.profile.session.cpu_ns = 5700 * MS;
    expect(
        "5.70 of 64 CPUs were busy on average; cc1 of big.c, as of big.o and ld of prog ran one after another, each alone, for the last 780 ms");
    put(5, 60, 703, 850, 4); /* too little of the elapsed time */
    expect("5.70 of 64 CPUs were busy on average; cc1 of big.c ran alone for 500 ms");
}

/* What is known of the whole run alone is not said of one of its processes. */
static void test_of_the_whole_run(void **state)
{
    (void)state;
    static int32_t pid = 30;
    set_up();
    fake.settings.pids.items = &pid;
    fake.settings.pids.count = 1;
    expect("Whole run: 1.00 of 2 CPUs were busy on average");
}

static void test_nothing_known(void **state)
{
    (void)state;
    set_up();
    fake.profile.session.cpu_ns = 0;
    expect(NULL);
    set_up();
    for (unsigned i = 0; i < 4; i++)
        tasks[i].start_ns = tasks[i].end_ns = 0;
    expect(NULL);
}

int main(void)
{
    const struct CMUnitTest tests_of_this[] = {
        cmocka_unit_test(test_alone),         cmocka_unit_test(test_beside_others),
        cmocka_unit_test(test_threads),       cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_after_many),    cmocka_unit_test(test_of_the_whole_run),
        cmocka_unit_test(test_nothing_known),
    };
    return cmocka_run_group_tests(tests_of_this, NULL, NULL);
}
