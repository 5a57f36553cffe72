/* SPDX-License-Identifier: MIT */
/* Looks that a child makes: what comes back of good ones, of bad ones, and of those that crash or are stopped. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "analyze/live/snapshot.h"

static unsigned refused; /* the number of the memfd_create() that fails; 0: none does */
static unsigned files;

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags)
{
    assert_int_equal(flags, MFD_CLOEXEC);
    if (++files == refused) {
        errno = ENFILE;
        return -1;
    }
    return __real_memfd_create(name, flags);
}

/* What the child is to do, and says of what it was given. */
struct order {
    const char *text, *error;
    uint32_t count; /* of records for the next look */
    bool cut;       /* the last record is not whole */
    bool complete, hangs;
    int status, signal;
};

static int render(void *context, const struct top_look *look)
{
    const struct order *order = context;
    struct top_head head = {.count = order->count, .complete = order->complete, .weight = 77};
    char byte;
    if (order->hangs)
        pause();
    if (order->signal) {
        signal(order->signal, SIG_DFL);
        raise(order->signal);
    }
    printf("%s %d x %d", order->text, look->columns, look->rows);
    if (look->past && look->head.count)
        printf(", %u records of weight %d, the last one's key %d", look->head.count, (int)look->head.weight,
               (int)look->past[look->head.count - 1].key);
    if (read(0, &byte, 1) != 0)
        printf(", stdin is not empty");
    if (signal(SIGINT, SIG_DFL) != SIG_IGN || signal(SIGQUIT, SIG_DFL) != SIG_IGN ||
        signal(SIGTSTP, SIG_DFL) != SIG_IGN)
        printf(", keys reach it");
    fflush(stdout);
    if (order->error)
        fprintf(stderr, "%s", order->error);
    assert_int_equal(write(look->future, &head, sizeof(head)), sizeof(head));
    for (uint32_t i = 0; i < order->count; i++) {
        struct top_past past = {.key = 100 + i};
        size_t size = order->cut && i + 1 == order->count ? sizeof(past) - 1 : sizeof(past);
        assert_int_equal(write(look->future, &past, size), size);
    }
    return order->status;
}

static struct order order;
static struct snapshots snapshots;
static struct snapshot seen;

static int set_up(void **state)
{
    (void)state;
    refused = files = 0;
    order = (struct order){.text = "looked"};
    seen = (struct snapshot){.text = BUFFER_INIT};
    return snapshots_init(&snapshots, render, &order);
}

static int tear_down(void **state)
{
    (void)state;
    buffer_release(&seen.text);
    snapshots_release(&snapshots);
    return 0;
}

/* One look, waited for. */
static void look(int columns, int rows)
{
    siginfo_t info;
    fflush(NULL);
    assert_int_equal(snapshots_begin(&snapshots, columns, rows), 0);
    assert_int_equal(waitid(P_PID, (id_t)snapshots.pid, &info, WEXITED | WNOWAIT), 0);
    assert_true(snapshots_take(&snapshots, &seen));
    assert_int_equal(snapshots.pid, 0);
}

static void expect(const char *text, const char *error, bool good)
{
    assert_int_equal(seen.text.size, strlen(text));
    assert_memory_equal(seen.text.data, text, strlen(text));
    assert_string_equal(seen.error, error);
    assert_int_equal(seen.good, good);
}

static void one_look_gives_the_next_its_past(void **state)
{
    (void)state;
    order.count = 3;
    look(80, 24);
    expect("looked 80 x 24", "", true);
    assert_false(seen.complete);
    assert_true(snapshots.started_ns > 0);
    order.text = "again";
    order.complete = true;
    order.count = 0;
    look(0, 0); /* shorter than what was there */
    expect("again 0 x 0, 3 records of weight 77, the last one's key 102", "", true);
    assert_true(seen.complete);
    order.count = 2;
    order.cut = true;
    look(1, 2);
    order.count = 0;
    look(3, 4); /* its past does not fit together */
    expect("again 3 x 4", "", true);
    assert_false(snapshots_take(&snapshots, &seen)); /* there is none */
}

/* What was seen is kept where there is nothing new. */
static void what_went_wrong_is_said(void **state)
{
    (void)state;
    look(80, 24);
    order.status = 1;
    order.error = "panalyze: out.1: cut short\nand more\n";
    order.text = "the rest";
    look(80, 24);
    expect("the rest 80 x 24", "out.1: cut short", true);
    order.error = "no name\n";
    look(80, 24);
    expect("the rest 80 x 24", "no name", true);
    order.error = NULL;
    look(80, 24);
    expect("the rest 80 x 24", "the process that prepares the update failed", true);
    order.signal = SIGUSR1;
    look(9, 9);
    char said[64];
    snprintf(said, sizeof(said), "the process that prepares the update was ended by signal %d", SIGUSR1);
    expect("the rest 80 x 24", said, false);
}

static void one_that_hangs_is_stopped(void **state)
{
    (void)state;
    order.hangs = true;
    fflush(NULL);
    assert_int_equal(snapshots_begin(&snapshots, 1, 1), 0);
    const pid_t pid = snapshots.pid;
    assert_false(snapshots_take(&snapshots, &seen));
    assert_int_equal(snapshots.pid, pid);
    snapshots_stop(&snapshots);
    assert_int_equal(snapshots.pid, 0);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
    snapshots_stop(&snapshots); /* there is none */
    assert_false(snapshots_take(&snapshots, &seen));
}

static void nothing_is_left_where_files_are_refused(void **state)
{
    struct snapshots other;
    const unsigned before = check_open_fds();
    (void)state;
    for (refused = 1; refused <= 3; refused++) {
        files = 0;
        assert_int_equal(snapshots_init(&other, render, &order), -ENFILE);
        assert_int_equal(check_open_fds(), before);
    }
    refused = 0;
    assert_int_equal(snapshots_init(&other, render, &order), 0);
    snapshots_release(&other);
    assert_int_equal(check_open_fds(), before);
    assert_int_equal(snapshots_begin(&other, 1, 1), -EBADF);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_look_gives_the_next_its_past),
        TEST(what_went_wrong_is_said),
        TEST(one_that_hangs_is_stopped),
        TEST(nothing_is_left_where_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
