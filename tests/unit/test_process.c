/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "collector/tasks/process.h"

#define MS 1000000ull

static void check_cost(const struct process *process, int64_t wanted)
{
    uint64_t cost = 12345;
    bool known = process_exit_cost(process, &cost);
    assert_int_equal(known, wanted >= 0);
    assert_int_equal(cost, wanted >= 0 ? (uint64_t)wanted : 12345);
}

static void test_exit_cost(void **state)
{
    (void)state;
    check_cost(&(struct process){.clock_ns = 10 * MS}, -1); /* nothing is known */
    check_cost(&(struct process){.clock_ns = 10 * MS, .rusage_ns = 11 * MS}, 1 * MS);
    check_cost(&(struct process){.clock_ns = 10 * MS, .rusage_ns = 111 * MS, .children_ns = 100 * MS}, 1 * MS);
    /* Clocks of different make: a little less is nothing. */
    check_cost(&(struct process){.clock_ns = 10 * MS, .rusage_ns = 10 * MS - 5000}, 0);
    check_cost(&(struct process){.clock_ns = 100 * MS, .rusage_ns = 50 * MS}, -1);
    /* More than an end can cost: something else was waited for. */
    check_cost(&(struct process){.clock_ns = 10 * MS, .rusage_ns = 1000 * MS}, -1);
    check_cost(&(struct process){.clock_ns = 1000 * MS, .rusage_ns = 1800 * MS}, -1);
    check_cost(&(struct process){.clock_ns = 1000 * MS, .rusage_ns = 1800 * MS, .ended_tasks = 40000}, 800 * MS);
    /* 50 ms and a fifth: the most */
    check_cost(&(struct process){.clock_ns = 30 * MS, .rusage_ns = 100 * MS}, 70 * MS);
    check_cost(&(struct process){.clock_ns = 30 * MS, .rusage_ns = 100 * MS + 1}, -1);
    check_cost(&(struct process){.clock_ns = 30 * MS, .own_ns = 100 * MS}, 70 * MS);
    check_cost(&(struct process){.clock_ns = 30 * MS, .own_ns = 100 * MS + 1}, -1);
    check_cost(&(struct process){.clock_ns = 50 * MS, .rusage_ns = 48 * MS}, 0); /* 1 ms and a fiftieth less */
    check_cost(&(struct process){.clock_ns = 50 * MS, .rusage_ns = 48 * MS - 1}, -1);
    check_cost(&(struct process){.clock_ns = 10 * MS, .rusage_ns = 11 * MS, .thread_refused = true}, -1);
    check_cost(&(struct process){.clock_ns = 10 * MS, .rusage_ns = 11 * MS, .first = LEADER_LOST}, -1);
    check_cost(&(struct process){.clock_ns = 10 * MS, .rusage_ns = 11 * MS, .left = true}, -1);
    check_cost(&(struct process){.clock_ns = 10 * MS, .rusage_ns = 11 * MS, .untracked_children = true}, -1);
    check_cost(&(struct process){.clock_ns = 10 * MS, .own_ns = 12 * MS}, 2 * MS);
    check_cost(
        &(struct process){.clock_ns = 10 * MS, .own_ns = 12 * MS, .rusage_ns = 40 * MS, .untracked_children = true},
        2 * MS);
}

/* Children that were waited for inside libc. */
static void test_exit_cost_of_guessed(void **state)
{
    (void)state;
    check_cost(&(struct process){.clock_ns = 10 * MS, .rusage_ns = 31 * MS, .guessed_ns = 20 * MS}, 1 * MS);
    check_cost(
        &(struct process){.clock_ns = 10 * MS, .rusage_ns = 36 * MS, .children_ns = 5 * MS, .guessed_ns = 20 * MS},
        1 * MS);
    /* Clocks that differ by a percent: the children's time is not the cost of an end. */
    check_cost(&(struct process){.clock_ns = 242 * MS, .rusage_ns = 363 * MS, .guessed_ns = 123 * MS, .ended_tasks = 3},
               0);
    check_cost(&(struct process){.clock_ns = 256 * MS, .rusage_ns = 371 * MS, .guessed_ns = 137 * MS}, 0);
    /* Children that do next to nothing end as long as they live: 200 of system(). */
    check_cost(&(struct process){.clock_ns = 10 * MS, .rusage_ns = 290 * MS, .guessed_ns = 160 * MS}, 120 * MS);
    check_cost(&(struct process){.clock_ns = 10 * MS, .rusage_ns = 290 * MS, .guessed_ns = 160 * MS, .own_ns = 12 * MS},
               2 * MS + 118 * MS);
    check_cost(&(struct process){.clock_ns = 10 * MS, .rusage_ns = 900 * MS, .guessed_ns = 160 * MS, .own_ns = 12 * MS},
               2 * MS);
    /* They were not waited for after all. */
    check_cost(&(struct process){.clock_ns = 10 * MS, .rusage_ns = 11 * MS, .guessed_ns = 500 * MS}, 1 * MS);
}

static void test_program(void **state)
{
    (void)state;
    struct program *program = program_new("/bin/sh", "sh\0-c", 5);
    assert_string_equal(program->exec, "/bin/sh");
    assert_int_equal(program->cmdline_size, 6); /* the last argument has its NUL, whoever forgot it */
    assert_memory_equal(program->cmdline, "sh\0-c", 6);
    assert_ptr_equal(program_get(program), program);
    program_put(program);
    program_put(program);
    program_put(NULL);
    program = program_new(NULL, NULL, 0);
    assert_string_equal(program->exec, "");
    assert_null(program->cmdline);
    program_put(program);
}

/* A child that burns CPU time and waits at a pipe until it may end with STATUS. */
static pid_t start(int *ret_gate, int status)
{
    int gate[2];
    char byte;
    assert_int_equal(pipe(gate), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        for (volatile unsigned i = 0; i < 10000000; i++)
            ;
        (void)!read(gate[0], &byte, 1);
        _exit(status);
    }
    close(gate[0]);
    *ret_gate = gate[1];
    return pid;
}

static void test_of_a_real_one(void **state)
{
    (void)state;
    int gate;
    pid_t pid = start(&gate, 3);
    struct process *process = process_new(pid, getpid(), 1);
    process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process->pidfd < 0)
        skip();
    assert_false(process_is_dead(process));
    process_ask_clock(process);
    assert_int_equal(process->own_ns, 0); /* only of the dead */
    close(gate);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_true(process_is_dead(process));
    process_ask_clock(process);
    struct rusage usage;
    assert_int_equal(wait4(pid, NULL, 0, &usage), pid);
    uint64_t used = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
                    (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
    assert_true(process->own_ns > used / 2 && process->own_ns < used + used / 10 + 2000);
    process->own_ns = 0;
    process_ask_clock(process);
    assert_int_equal(process->own_ns, 0); /* its number may be another's now */
    process_ask_status(process);
    if (process->status_known) /* Linux 6.15 */
        assert_int_equal(process->status, 3 << 8);
    process_set_waited(process, 9, used);
    process_ask_status(process);
    assert_int_equal(process->status, 9);
    process_free(process);
    process_free(NULL);
}

/* What two that hand a byte to and fro are charged for being switched to is theirs; their children's switches not. */
static void test_cost_of_switches(void **state)
{
    (void)state;
    const uint64_t ms = 1000000;
    struct process process = {.pidfd = -1, .clock_ns = 300 * ms, .rusage_ns = 900 * ms, .waited = true};
    uint64_t cost = 0;
    assert_false(process_exit_cost(&process, &cost));
    process.rusage_switches = 60000;
    assert_true(process_exit_cost(&process, &cost));
    assert_int_equal(cost, 600 * ms);
    process.children_switches = 59000;
    assert_false(process_exit_cost(&process, &cost));
    process.children_switches = 70000;
    assert_false(process_exit_cost(&process, &cost));
    process.children_switches = 0;
    process.rusage_switches = UINT64_MAX; /* a target's word */
    assert_true(process_exit_cost(&process, &cost));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_cost),        cmocka_unit_test(test_exit_cost_of_guessed),
        cmocka_unit_test(test_cost_of_switches), cmocka_unit_test(test_program),
        cmocka_unit_test(test_of_a_real_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
