/* SPDX-License-Identifier: MIT */
/* Event sets: which events are in them, whose turn it is, and which tasks get the next one. */
#include "worker_fake.h"

#include <sys/prctl.h>

#include "collector/config/event_sets.h"
#include "collector/turns.h"

#define MS UINT64_C(1000000)

static struct fake fake;

static void open_sets(const char *const *sets)
{
    memset(&fake, 0, sizeof(fake));
    fake.settings = (struct settings){.stat = true, .switch_ns = 5 * MS, .follow = PINJECT_SESSION_ALL};
    for (; *sets; sets++)
        assert_int_equal(event_list_parse(&fake.settings.events, &event_sources_system, *sets), 0);
    assert_int_equal(event_config_init(&fake.config, &fake.settings), 0);
    assert_int_equal(service_init(&fake.session, &fake.settings, &fake.config, "/nowhere/libpinject.so"), 0);
    fake.session.stop_s = 60;
}

static void close_sets(void)
{
    fake_close(&fake);
    event_list_release(&fake.settings.events);
}

/* A process that touches PAGES pages for each byte it gets. */
struct child {
    pid_t pid;
    int to, from;
};
enum { PAGES = 50 };

static struct child start(void)
{
    int to[2], from[2];
    MUST(pipe(to) == 0 && pipe(from) == 0);
    struct child child = {fork(), to[1], from[0]};
    if (child.pid) {
        close(to[0]);
        close(from[1]);
        return child;
    }
    char byte;
    close(to[1]);
    char *memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    while (read(to[0], &byte, 1) == 1) {
        madvise(memory, PAGES * 4096, MADV_DONTNEED);
        for (unsigned i = 0; i < PAGES; i++)
            ((volatile char *)memory)[4096 * i] = 1;
        MUST(write(from[1], "k", 1) == 1);
    }
    _exit(0);
}

/* Until it sleeps again: else it could run when the next turn begins. */
static void work(const struct child *child)
{
    char byte, state = 'R', path[64];
    MUST(write(child->to, "w", 1) == 1 && read(child->from, &byte, 1) == 1);
    snprintf(path, sizeof(path), "/proc/%d/stat", child->pid);
    while (state != 'S') {
        FILE *file = fopen(path, "r");
        MUST(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
        fclose(file);
    }
}

static void end(const struct child *child)
{
    close(child->to);
    MUST(waitpid(child->pid, NULL, 0) == child->pid);
    close(child->from);
}

static unsigned find(const char *name)
{
    for (unsigned i = 0; i < fake.config.count; i++)
        if (strncmp(fake.config.events[i].name, name, strlen(name)) == 0)
            return i;
    fail_msg("no event %s", name);
    return 0;
}

static void sets_are_groups_of_the_list(void **state)
{
    (void)state;
    open_sets(
        (const char *const[]){"faults:u,minor-faults:u", "{faults:u,alignment-faults:u}", "faults:u,task-clock", NULL});
    const struct event_config *config = &fake.config;
    assert_int_equal(config->turn_count, 3);
    assert_int_equal(config->count, 8); /* with the dummy event and a clock that counts all the time */
    static const struct {
        const char *name;
        unsigned set, leader;
    } expected[] = {{"dummy", 0, 0},
                    {"faults:u", 1, 1},
                    {"minor-faults:u", 1, 1},
                    {"faults:u (set 2)", 2, 3},
                    {"alignment-faults:u", 2, 3},
                    {"faults:u (set 3)", 3, 5},
                    {"task-clock (set 3)", 3, 5},
                    {"task-clock", 0, 7}};
    for (unsigned i = 0; i < config->count; i++) {
        if (i)
            assert_string_equal(config->events[i].name, expected[i].name);
        assert_int_equal(config->events[i].set, expected[i].set);
        assert_int_equal(config->events[i].leader, expected[i].leader);
    }
    assert_int_equal(event_config_find_clock(config), 7);
    assert_int_equal(event_sets_next(config, 1), 2);
    assert_int_equal(event_sets_next(config, 3), 1);
    /* Also of every second task, and of every third: they may be of one kind. */
    for (unsigned step = 1; step <= 4; step++) {
        uint32_t begun = 0;
        unsigned counts[4] = {0};
        for (unsigned i = 0; i < 300 * step; i++) {
            const unsigned set = event_sets_first(config, &begun);
            assert_in_range(set, 1, 3);
            counts[set] += i % step == 0;
        }
        for (unsigned set = 1; set <= 3; set++)
            assert_in_range(counts[set], 95, 105);
    }
    close_sets();
}

static void without_the_option_they_are_one_list(void **state)
{
    (void)state;
    struct settings settings = {.stat = true};
    MUST(event_list_parse(&settings.events, &event_sources_system, "faults:u") == 0);
    MUST(event_list_parse(&settings.events, &event_sources_system, "faults:u,minor-faults:u") == 0);
    memset(&fake, 0, sizeof(fake));
    assert_int_equal(event_config_init(&fake.config, &settings), 0);
    assert_int_equal(fake.config.turn_count, 0);
    assert_int_equal(fake.config.count, 4); /* dummy, both, task-clock: the second faults is the first */
    for (unsigned i = 0; i < fake.config.count; i++)
        assert_int_equal(fake.config.events[i].set, 0);
    uint32_t begun = 0;
    assert_int_equal(event_sets_first(&fake.config, &begun), 0);
    event_config_release(&fake.config);
    event_list_release(&settings.events);
}

/* Only who ran gets the next set; each set has what the task did in its turns. */
static void turns_are_of_the_time_that_a_task_runs(void **state)
{
    struct attached *attached;
    struct attach_value values[CONFIG_EVENTS];
    (void)state;
    open_sets((const char *const[]){"faults:u", "{minor-faults:u,faults:u}", "minor-faults:u", NULL});
    struct child child = start();
    work(&child);
    assert_int_equal(attach_task(&fake.session, child.pid, ATTACH_RUNNING, &attached), 0);
    assert_non_null(attached->ring);
    assert_int_equal(attached->set, 1);
    assert_false(attach_turn(attached)); /* it sleeps since before */
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(attached->set, 1 + i % 3);
        for (unsigned more = 0; more <= i % 3; more++)
            work(&child);
        assert_true(attach_turn(attached));
        for (unsigned more = 0; more < 3; more++)
            assert_false(attach_turn(attached));
    }
    attach_read(attached, values);
    const unsigned faults = find("faults:u"), second = find("minor-faults:u"), third = find("minor-faults:u (set 3)");
    assert_in_range(values[faults].value, 2 * PAGES, 2 * PAGES + 10);
    assert_in_range(values[second].value, 4 * PAGES, 4 * PAGES + 10);
    assert_int_equal(values[second + 1].value, values[second].value); /* of the same group */
    assert_in_range(values[third].value, 6 * PAGES, 6 * PAGES + 10);
    uint64_t sum = 0;
    for (unsigned i = 0; i < fake.config.count; i++) {
        const struct attach_value value = event_sets_value(&fake.config, i, values);
        assert_int_equal(value.value, values[i].value);
        assert_int_equal(value.enabled_ns, values[0].enabled_ns);
        assert_true(value.running_ns <= value.enabled_ns);
        sum += event_sets_switches(&fake.config, i, fake.config.events[i].set) && fake.config.events[i].set
                   ? value.running_ns
                   : 0;
    }
    assert_true(sum <= values[0].enabled_ns && sum > values[0].enabled_ns / 2);
    /* The other sets have no events on this machine: nothing of it takes turns, and its figure is no estimate. */
    const unsigned turns = fake.config.turn_count;
    fake.config.turn_count = 1;
    values[faults].enabled_ns = values[faults].running_ns = values[0].running_ns - 1;
    assert_int_equal(event_sets_value(&fake.config, faults, values).enabled_ns, values[faults].running_ns);
    fake.config.turn_count = turns;
    end(&child);
    attach_free(attached);
    close_sets();
}

/* It is on its CPU all the time: nothing in its ring says so. */
static void a_task_that_never_sleeps_gets_turns(void **state)
{
    struct attached *attached;
    (void)state;
    open_sets((const char *const[]){"faults:u", "minor-faults:u", NULL});
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* if an assertion fails */
        for (;;)
            continue;
    }
    assert_int_equal(attach_task(&fake.session, pid, ATTACH_RUNNING, &attached), 0);
    unsigned turns = 0;
    for (unsigned i = 0; i < 10000 && turns < 20; i++) {
        usleep(1000);
        const unsigned before = attached->set;
        if (!attach_turn(attached))
            continue;
        assert_int_equal(attached->set, 3 - before);
        turns++;
    }
    kill(pid, SIGKILL);
    MUST(waitpid(pid, NULL, 0) == pid);
    assert_int_equal(turns, 20);
    attach_free(attached);
    close_sets();
}

/* Before its exec a task is the program of its creator: nothing counts, and nothing takes turns. */
static void an_armed_task_waits(void **state)
{
    struct attached *attached;
    struct attach_value values[CONFIG_EVENTS];
    (void)state;
    open_sets((const char *const[]){"faults:u", "minor-faults:u", NULL});
    struct child child = start();
    assert_int_equal(attach_task(&fake.session, child.pid, ATTACH_ON_EXEC, &attached), 0);
    for (unsigned i = 0; i < 3; i++) {
        work(&child);
        assert_false(attach_turn(attached));
    }
    attach_read(attached, values);
    for (unsigned i = 0; i < fake.config.count; i++)
        assert_int_equal(values[i].value + values[i].enabled_ns, 0);
    attach_enable(attached); /* its exec was not seen */
    work(&child);
    attach_read(attached, values);
    assert_in_range(values[find("faults:u")].value, PAGES, PAGES + 10);
    assert_int_equal(values[find("minor-faults:u")].value, 0);
    assert_true(attach_turn(attached));
    end(&child);
    attach_free(attached);
    close_sets();
}

static void the_end_of_a_turn(void **state)
{
    struct turns turns;
    (void)state;
    fake.config = (struct event_config){.turn_count = 2};
    fake.settings = (struct settings){.switch_ns = 20 * MS};
    fake.session = (struct session){.config = &fake.config, .settings = &fake.settings};
    turns_start(&turns, &fake.session, 1000 * MS);
    assert_int_equal(turns_wait(&turns, 1000 * MS, 100), 20);
    assert_int_equal(turns_wait(&turns, 1000 * MS, 7), 7);
    assert_int_equal(turns_wait(&turns, 1019 * MS + 1, 100), 1);
    assert_int_equal(turns_wait(&turns, 1021 * MS, 100), 0);
    assert_int_equal(turns_before(&turns, 0), 0);
    assert_int_equal(turns_before(&turns, 1050 * MS), 1020 * MS);
    assert_int_equal(turns_length_ns(&turns), 0);
    turns = (struct turns){.start_ns = 100, .timer.last_ns = 900, .count = 8};
    assert_int_equal(turns_length_ns(&turns), 100);
    turns.count = 7; /* too few */
    assert_int_equal(turns_length_ns(&turns), 0);
    fake.config.turn_count = 1; /* the other set has no event that this machine knows */
    turns_start(&turns, &fake.session, 1000 * MS);
    assert_int_equal(turns_wait(&turns, 1021 * MS, 100), 100);
    assert_int_equal(turns_before(&turns, 1050 * MS), 1050 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sets_are_groups_of_the_list),
                                       cmocka_unit_test(without_the_option_they_are_one_list),
                                       cmocka_unit_test(turns_are_of_the_time_that_a_task_runs),
                                       cmocka_unit_test(a_task_that_never_sleeps_gets_turns),
                                       cmocka_unit_test(an_armed_task_waits),
                                       cmocka_unit_test(the_end_of_a_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
