/* SPDX-License-Identifier: MIT */
/* A system-wide set on a real kernel: of all tasks of the machine, it has those that descend from the command. */
#include "worker_fake.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "collector/launch/fork_inherited.h"
#include "collector/records/records.h"
#include "collector/sources/inherited_private.h"
#include "collector/sources/system_wide.h"

static struct fake fake;
static struct inherited_sets *sets;

static const char script[] = "(read a; echo b) | (echo a; :) & (exit 3); i=0; while [ $i -lt 200 ]; do i=$((i+1)); "
                             "/bin/true; done; wait; exit 4";

struct seen {
    pid_t tid;
    unsigned forks, exits, readings;
    uint64_t clock_ns, switches;
    bool execs;
};

static struct seen seen[512];
static unsigned count;

static struct seen *find(pid_t tid)
{
    for (unsigned i = 0; i < count; i++)
        if (seen[i].tid == tid)
            return &seen[i];
    assert_true(count < sizeof(seen) / sizeof(seen[0]));
    seen[count] = (struct seen){.tid = tid};
    return &seen[count++];
}

static void take_reading(struct seen *task, const struct inherited_record *kept, const struct perf_event_header *record)
{
    const struct records_reading reading = records_parse_read(&sets->layout, record);
    const enum config_account account = fake.config.events[kept->event].account;
    assert_true(task->exits > 0); /* behind its EXIT */
    task->readings++;
    if (account == CONFIG_ACCOUNT_CLOCK)
        task->clock_ns = reading.value;
    if (account == CONFIG_ACCOUNT_SWITCHES)
        task->switches = reading.value;
    assert_true(reading.enabled_ns == reading.running_ns);
}

static void look_at(const struct inherited_record *kept)
{
    const struct perf_event_header *record = (const struct perf_event_header *)(const void *)kept->bytes;
    struct seen *task = find(kept->tid);
    assert_false(kept->part || kept->undecided || (kept->root && kept->inherited_set == fake.session.system_wide_set));
    if (record->type == PERF_RECORD_FORK)
        find(records_parse_task(record).tid)->forks++;
    task->exits += record->type == PERF_RECORD_EXIT;
    task->execs |= record->type == PERF_RECORD_COMM && records_parse_comm(record).exec;
    if (record->type == PERF_RECORD_READ)
        take_reading(task, kept, record);
    if (record->type == PERF_RECORD_SAMPLE) /* cpu-migrations are only counted */
        assert_true(fake.config.events[kept->event].samples);
}

/* What a set that was closed has counted is of no use. False: records were lost. */
static bool take(uint64_t before_ns)
{
    uint64_t lost = 0;
    for (struct inherited_record *kept = inherited_take(sets, before_ns, &lost), *next; kept; kept = next) {
        const struct perf_event_header *record = (const struct perf_event_header *)(const void *)kept->bytes;
        next = kept->next;
        if (record->type != PERF_RECORD_READ || kept->inherited_set == fake.session.system_wide_set)
            look_at(kept);
        free(kept);
    }
    return lost == 0;
}

/* Where there is no such set, the rest of the test is skipped. */
static pid_t begin(unsigned *ret_readings)
{
    uint64_t set;
    int status;
    memset(&fake, 0, sizeof(fake));
    count = 0;
    fake.settings = (struct settings){.frequency = 999, .follow = PINJECT_SESSION_ALL, .sampler = SETTINGS_SAMPLER_CPU};
    assert_int_equal(event_config_init(&fake.config, &fake.settings), 0);
    assert_true(fake.config.system_wide);
    assert_int_equal(service_init(&fake.session, &fake.settings, &fake.config, "/nowhere/libpinject.so"), 0);
    sets = fake.session.inherited_sets;
    int gate[2];
    char byte;
    assert_int_equal(pipe(gate), 0);
    const pid_t pid = fork_inherited(sets, true, &set, ret_readings, &status);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(gate[1]);
        if (read(gate[0], &byte, 1) != 1) /* until it is in the set */
            _exit(9);
        return 0;
    }
    assert_true((status == 0) == (set != 0));
    assert_int_equal(write(gate[1], "", 1), 1);
    close(gate[0]);
    close(gate[1]);
    if (set)
        return pid;
    waitpid(pid, NULL, 0);
    fake_close(&fake);
    skip();
    return -1;
}

/* Not of the tree, and as restless as the tree. */
static pid_t start_another(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sh", "sh", "-c", "while :; do /bin/true; done", NULL);
        _exit(9);
    }
    return pid;
}

static void the_tree_alone(void **state)
{
    (void)state;
    unsigned readings;
    int exited;
    struct rusage usage;
    const pid_t pid = begin(&readings);
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", script, NULL);
        _exit(9);
    }
    assert_int_equal(readings, fake.config.count);
    assert_true(inherited_know(sets, pid));
    assert_false(inherited_is_root(sets, pid));
    const pid_t another = start_another();
    assert_false(inherited_know(sets, another));
    assert_int_equal(wait4(pid, &exited, 0, &usage), pid);
    assert_int_equal(WEXITSTATUS(exited), 4);
    assert_false(inherited_know(sets, pid));
    assert_true(inherited_live(sets));
    const bool whole = take(UINT64_MAX);
    kill(another, SIGKILL);
    waitpid(another, NULL, 0);
    assert_true(count >= 200);
    if (!whole)
        skip();
    uint64_t clock_ns = 0, switches = 0;
    for (unsigned i = 0; i < count; i++) {
        assert_int_not_equal(seen[i].tid, another);
        assert_int_equal(seen[i].forks, seen[i].tid != pid);
        assert_int_equal(seen[i].exits, 1);
        assert_int_equal(seen[i].readings, readings);
        clock_ns += seen[i].clock_ns;
        switches += seen[i].switches;
    }
    assert_int_equal(count, 204);
    assert_true(find(pid)->execs);
    const uint64_t used_ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
                             (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
    assert_true(clock_ns > 0 && clock_ns <= used_ns); /* up to a tick of each task is not in it */
    assert_true(switches <= (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw) && switches > count);
    fake_close(&fake);
}

static void *execute(void *nothing)
{
    execl("/bin/sh", "sh", "-c", "echo; read word; (:); :", NULL);
    return nothing;
}

static int execute_in_a_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, execute, NULL);
    pthread_join(thread, NULL);
    return 9;
}

static void exec_by_a_thread(void **state)
{
    (void)state;
    unsigned readings;
    int exited, to[2], from[2];
    char byte;
    assert_int_equal(pipe(to) + pipe(from), 0);
    const pid_t pid = begin(&readings);
    if (pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        execl("/proc/self/exe", "test", "thread", NULL);
        _exit(9);
    }
    assert_int_equal(read(from[0], &byte, 1), 1);
    assert_true(inherited_know(sets, pid));
    assert_int_equal(write(to[1], "\n", 1), 1);
    assert_int_equal(waitpid(pid, &exited, 0), pid);
    assert_int_equal(WEXITSTATUS(exited), 0);
    assert_false(inherited_know(sets, pid));
    if (!take(UINT64_MAX))
        skip();
    /* The first thread, and the one that took its number: both told what they did. */
    assert_int_equal(find(pid)->exits, 2);
    assert_int_equal(find(pid)->readings, 2 * readings);
    assert_int_equal(count, 3); /* with the thread's first number, and the child */
    for (unsigned i = 0; i < 2; i++) {
        close(to[i]);
        close(from[i]);
    }
    fake_close(&fake);
}

static void burn(long ns)
{
    struct timespec used;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    while (used.tv_sec * 1000000000 + used.tv_nsec < ns);
}

static void *execute_busily(void *nothing)
{
    execl("/proc/self/exe", "test", "busy", NULL);
    return nothing;
}

/* The first thread sleeps; another one, which never does, calls exec. */
static int sleep_before_exec(void)
{
    pthread_t thread;
    usleep(7000);
    pthread_create(&thread, NULL, execute_busily, NULL);
    pthread_join(thread, NULL);
    return 9;
}

/* The kernel gives the thread the start time of the first one: its life less its waits is not its CPU time. */
static void clock_of_an_exec_by_a_thread(void **state)
{
    (void)state;
    unsigned readings;
    int exited;
    struct rusage usage;
    const pid_t pid = begin(&readings);
    if (pid == 0) {
        execl("/proc/self/exe", "test", "sleep", NULL);
        _exit(9);
    }
    assert_int_equal(wait4(pid, &exited, 0, &usage), pid);
    assert_int_equal(WEXITSTATUS(exited), 0);
    if (!take(UINT64_MAX) || find(pid)->readings != 2 * readings)
        skip();
    const uint64_t used_ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
                             (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
    assert_true(find(pid)->clock_ns > 0 && find(pid)->clock_ns <= used_ns);
    fake_close(&fake);
}

/* The records that announced them were lost. */
static void members_are_found(void **state)
{
    (void)state;
    unsigned readings;
    int exited, to[2], from[2];
    char text[32];
    assert_int_equal(pipe(to) + pipe(from), 0);
    const pid_t pid = begin(&readings);
    if (pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        execl("/bin/sh", "sh", "-c", "(sh -c 'echo $$; read word; exit 5'; exit $?); exit $?", NULL);
        _exit(9);
    }
    const ssize_t got = read(from[0], text, sizeof(text) - 1);
    assert_true(got > 1);
    text[got] = '\0';
    const pid_t inner = (pid_t)atoi(text), another = start_another();
    assert_true(inherited_know(sets, inner));
    assert_false(inherited_know(sets, another));
    pthread_mutex_lock(&sets->lock);
    for (pid_t tid = 1; tid <= sets->highest; tid++)
        if (tid != pid)
            inherited_leave(sets, tid);
    pthread_mutex_unlock(&sets->lock);
    assert_false(inherited_know(sets, inner));
    pthread_mutex_lock(&sets->lock);
    system_wide_find_members(sets, sets->first);
    pthread_mutex_unlock(&sets->lock);
    assert_true(inherited_know(sets, inner));
    assert_false(inherited_know(sets, another));
    assert_false(inherited_know(sets, getpid()));
    assert_int_equal(write(to[1], "\n", 1), 1);
    assert_int_equal(waitpid(pid, &exited, 0), pid);
    assert_int_equal(WEXITSTATUS(exited), 5);
    take(UINT64_MAX);
    assert_int_equal(find(inner)->readings, readings);
    kill(another, SIGKILL);
    waitpid(another, NULL, 0);
    for (unsigned i = 0; i < 2; i++) {
        close(to[i]);
        close(from[i]);
    }
    fake_close(&fake);
}

/* ---- In the place of other sets ---- */

struct ended {
    pid_t creator, made; /* 0: a process that made others, and was waited for */
};

/*
 * The root of a set makes a process, which makes one that makes the last one. They begin when a byte comes, and the first
 * and second end at once; the last one says so, and ends when another byte comes.
 */
static void make_chain(int to, int from)
{
    char byte;
    struct ended ended = {0};
    MUST(read(to, &byte, 1) == 1);
    const pid_t first = fork();
    if (first > 0) {
        MUST(waitpid(first, NULL, 0) == first);
        MUST(write(from, &ended, sizeof(ended)) == sizeof(ended));
        _exit(0);
    }
    ended.made = getpid();
    MUST(write(from, &ended, sizeof(ended)) == sizeof(ended));
    MUST(read(to, &byte, 1) == 1);
    if (fork() > 0)
        _exit(0);
    ended.creator = getpid();
    if (fork() > 0)
        _exit(0);
    while (getppid() == ended.creator)
        sched_yield();
    ended.made = getpid();
    MUST(write(from, &ended, sizeof(ended)) == sizeof(ended));
    MUST(read(to, &byte, 1) == 1);
    _exit(0);
}

static void begin_with_own_events(void)
{
    memset(&fake, 0, sizeof(fake));
    count = 0;
    fake.settings = (struct settings){
        .frequency = 999, .follow = PINJECT_SESSION_ALL, .sampler = SETTINGS_SAMPLER_AUTO};
    assert_int_equal(event_config_init(&fake.config, &fake.settings), 0);
    if (!fake.config.system_wide_later)
        skip();
    assert_int_equal(service_init(&fake.session, &fake.settings, &fake.config, "/nowhere/libpinject.so"), 0);
    sets = fake.session.inherited_sets;
}

/* While a system-wide set takes the place of another one, tasks of that one make others and end. */
static void tasks_that_end_meanwhile(void **state)
{
    (void)state;
    int to[2], from[2];
    struct ended first, last = {0}, message;
    uint64_t since_ns;
    begin_with_own_events();
    assert_int_equal(pipe(to) + pipe(from), 0);
    const pid_t root = fork();
    if (root == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(to[1]); /* so that all of them end if the test does */
        close(from[0]);
        make_chain(to[0], from[1]);
    }
    assert_int_equal(inherited_open(sets, root, root, INHERIT_WAITS), 0);
    assert_int_equal(write(to[1], "", 1), 1);
    assert_int_equal(read(from[0], &first, sizeof(first)), sizeof(first));
    assert_int_equal(inherited_open_system_wide(sets, &since_ns), 0);
    assert_true(inherited_adopt(sets, root, root) > 0);
    take(since_ns);
    assert_int_equal(find(first.made)->forks, 1);
    assert_true(inherited_adopt(sets, first.made, first.made) > 0); /* it changes to the other set */
    assert_int_equal(write(to[1], "", 1), 1);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(read(from[0], &message, sizeof(message)), sizeof(message));
        last = message.made ? message : last;
    }
    inherited_close_others(sets);
    assert_true(inherited_know(sets, last.made));
    assert_false(inherited_know(sets, first.made) || inherited_know(sets, last.creator));
    assert_int_equal(write(to[1], "", 1), 1);
    assert_int_equal(waitpid(root, NULL, 0), root);
    while (inherited_know(sets, last.made))
        sched_yield();
    take(UINT64_MAX);
    const pid_t tids[] = {first.made, last.creator, last.made};
    for (unsigned i = 0; i < 3; i++) {
        const struct seen *task = find(tids[i]);
        assert_true(task->forks == 1 && task->exits == 1 && task->readings == fake.config.count);
    }
    for (unsigned i = 0; i < 2; i++) {
        close(to[i]);
        close(from[i]);
    }
    fake_close(&fake);
}

/* A thread in the process of a set's root has called exec: nothing says that the set has the number of the process. */
static void exec_in_the_process_of_a_root(void **state)
{
    (void)state;
    int to[2], from[2], exited;
    char byte;
    uint64_t since_ns;
    begin_with_own_events();
    assert_int_equal(pipe(to) + pipe(from), 0);
    const pid_t root = fork();
    if (root == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        MUST(read(to[0], &byte, 1) == 1);
        execl("/proc/self/exe", "test", "thread", NULL);
        _exit(9);
    }
    close(to[0]);
    close(from[1]);
    assert_int_equal(inherited_open(sets, root, root, INHERIT_WAITS), 0);
    assert_int_equal(write(to[1], "", 1), 1);
    assert_int_equal(read(from[0], &byte, 1), 1);
    assert_int_equal(inherited_open_system_wide(sets, &since_ns), 0);
    take(since_ns);
    inherited_close_others(sets);
    const unsigned before = count;
    assert_int_equal(write(to[1], "\n", 1), 1);
    assert_int_equal(waitpid(root, &exited, 0), root);
    assert_int_equal(WEXITSTATUS(exited), 0);
    take(UINT64_MAX);
    assert_int_equal(count, before + 1); /* its child */
    assert_true(seen[before].forks == 1 && seen[before].exits == 1);
    close(to[1]);
    close(from[0]);
    fake_close(&fake);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "thread") == 0)
        return execute_in_a_thread();
    if (argc > 1 && strcmp(argv[1], "sleep") == 0)
        return sleep_before_exec();
    if (argc > 1) {
        burn(3000000);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_alone),
        cmocka_unit_test(exec_by_a_thread),
        cmocka_unit_test(clock_of_an_exec_by_a_thread),
        cmocka_unit_test(members_are_found),
        cmocka_unit_test(tasks_that_end_meanwhile),
        cmocka_unit_test(exec_in_the_process_of_a_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
