/* SPDX-License-Identifier: MIT */
/* The command that inherits its events, as all that it starts does. */
#include "worker_fake.h"

#include <errno.h>
#include <pthread.h>

#include "collector/launch/fork_inherited.h"
#include "collector/records/records.h"
#include "collector/sources/inherited.h"
#include "deny.h"

static struct fake fake;

/* Two processes that switch to each other, so that the kernel may exchange their events; and one that ends at once. */
static const char script[] = "(read a; echo b) | (echo a; :) & (exit 3); i=0; while [ $i -lt 200 ]; do i=$((i+1)); "
                             "/bin/true; done; wait; exit 4";

struct seen {
    pid_t tid;
    unsigned forks, exits, readings;
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

static void look_at(const struct inherited_record *kept)
{
    const struct perf_event_header *record = (const struct perf_event_header *)(const void *)kept->bytes;
    struct seen *task = find(kept->tid);
    assert_false(kept->root);
    assert_false(kept->part);
    if (record->type == PERF_RECORD_FORK)
        find(records_parse_task(record).tid)->forks++;
    task->exits += record->type == PERF_RECORD_EXIT;
    task->readings += record->type == PERF_RECORD_READ;
    task->execs |= record->type == PERF_RECORD_COMM && records_parse_comm(record).exec;
}

static pid_t start(uint64_t *ret_set, unsigned *ret_readings, int *ret_status)
{
    const pid_t pid = fork_inherited(fake.session.inherited_sets, false, ret_set, ret_readings, ret_status);
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    MUST(getppid() != 1);
    execl("/bin/sh", "sh", "-c", script, NULL);
    _exit(9);
}

static void all_tell_of_their_end(void **state)
{
    (void)state;
    uint64_t set, lost = 0;
    unsigned readings;
    int status, exited;
    count = 0;
    fake_open(&fake);
    struct inherited_sets *sets = fake.session.inherited_sets;
    const pid_t pid = start(&set, &readings, &status);
    if (status == -EPERM && geteuid() != 0) /* the memory of an unprivileged user's rings is one for all that he runs */
        skip();
    assert_int_equal(status, 0);
    assert_int_equal(set, 1);
    assert_true(inherited_know(sets, pid));
    assert_false(inherited_is_root(sets, pid));
    assert_int_equal(waitpid(pid, &exited, 0), pid); /* it is our child */
    assert_int_equal(WEXITSTATUS(exited), 4);
    assert_false(inherited_know(sets, pid));
    assert_false(inherited_live(sets));
    for (struct inherited_record *kept = inherited_take(sets, UINT64_MAX, &lost), *next; kept; kept = next) {
        next = kept->next;
        look_at(kept);
        free(kept);
    }
    assert_true(count >= 200);
    if (lost) /* a ring was full, or stopped: the machine is busy, and nothing can be said of single tasks */
        skip();
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(seen[i].forks, seen[i].tid != pid);
        assert_int_equal(seen[i].exits, 1);
        assert_int_equal(seen[i].readings, readings);
    }
    assert_true(find(pid)->execs);
    fake_close(&fake);
}

static void *execute(void *nothing)
{
    execl("/bin/sh", "sh", "-c", "echo; read word", NULL);
    return nothing;
}

/* The program that the next test executes: a thread that is not the first one goes on with another one. */
static int execute_in_a_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, execute, NULL);
    pthread_join(thread, NULL);
    return 9;
}

/* The first thread's EXIT has the number that the task has from then on. */
static void exec_by_a_thread(void **state)
{
    (void)state;
    uint64_t set;
    unsigned readings;
    int status, exited, to[2], from[2];
    char byte;
    fake_open(&fake);
    struct inherited_sets *sets = fake.session.inherited_sets;
    assert_int_equal(pipe(to) + pipe(from), 0);
    const pid_t pid = fork_inherited(sets, false, &set, &readings, &status);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        execl("/proc/self/exe", "test", "thread", NULL);
        _exit(9);
    }
    if (status == -EPERM && geteuid() != 0)
        skip();
    assert_int_equal(read(from[0], &byte, 1), 1);
    assert_true(inherited_know(sets, pid));
    assert_int_equal(write(to[1], "\n", 1), 1);
    assert_int_equal(waitpid(pid, &exited, 0), pid);
    assert_int_equal(WEXITSTATUS(exited), 0);
    assert_false(inherited_know(sets, pid));
    for (unsigned i = 0; i < 2; i++) {
        close(to[i]);
        close(from[i]);
    }
    fake_close(&fake);
}

/* Then it is as fork() makes it. */
static void without_events(void **state)
{
    (void)state;
    uint64_t set;
    unsigned readings;
    int status, exited;
    fake_open(&fake);
    deny_call(SYS_perf_event_open, NULL, EMFILE);
    const pid_t pid = fork_inherited(fake.session.inherited_sets, false, &set, &readings, &status);
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(6);
    assert_int_equal(set, 0);
    assert_true(status < 0);
    assert_int_equal(waitpid(pid, &exited, 0), pid);
    assert_int_equal(WEXITSTATUS(exited), 6);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* the ancestor is not left behind */
    assert_false(inherited_live(fake.session.inherited_sets));
    fake_close(&fake);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "thread") == 0)
        return execute_in_a_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_tell_of_their_end),
        cmocka_unit_test(exec_by_a_thread),
        cmocka_unit_test(without_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
