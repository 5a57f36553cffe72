/* SPDX-License-Identifier: MIT */
/* A process that is killed while its request is looked at may leave its number to another one. */
#include "worker_fake.h"

#include "collector/service/channels.h"
#include "collector/service/request.h"
#include "collector/sources/inherited.h"
#include "collector/system/numbers.h"

static struct fake fake;

static bool holds;        /* what is said */
static unsigned asked;    /* how often */
static pid_t held_by;     /* the process of the pidfd that was given last; 0: none was */
static int inherit_pidfd; /* -2: no inherited set was opened */

static pid_t pid_of(int pidfd)
{
    char path[64], line[128];
    pid_t pid = 0;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
    FILE *file = pidfd < 0 ? NULL : fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, "Pid:", 4) == 0)
            pid = (pid_t)strtol(line + 4, NULL, 10);
    if (file)
        fclose(file);
    return pid;
}

bool __wrap_numbers_hold(int pidfd, pid_t pid, pid_t tid);
bool __wrap_numbers_hold(int pidfd, pid_t pid, pid_t tid)
{
    (void)pid, (void)tid;
    asked++;
    held_by = pid_of(pidfd);
    return holds;
}

int __wrap_inherited_open_of(struct inherited_sets *inherited, pid_t pid, pid_t tid, int pidfd, enum inherit_root root);
int __wrap_inherited_open_of(struct inherited_sets *inherited, pid_t pid, pid_t tid, int pidfd, enum inherit_root root)
{
    (void)inherited, (void)pid, (void)tid, (void)root;
    inherit_pidfd = pidfd;
    held_by = pid_of(pidfd);
    return 0;
}

static pid_t start(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int ask(uint32_t kind, uint32_t flags, pid_t pid, struct notification **ret)
{
    struct request request = {.slot = {.kind = kind, .flags = flags, .pid = pid, .tid = pid}};
    asked = 0;
    held_by = 0;
    inherit_pidfd = -2;
    return request_begin(fake.session.channels->list[0], &request, ret);
}

static bool is_covered(pid_t tid)
{
    return fake.session.segment->covered[tid / 64] >> (tid % 64) & 1;
}

static void what_was_opened_is_given_back(void **state)
{
    static const uint32_t kinds[] = {PINJECT_PROCESS, PINJECT_FORK, PINJECT_ARM};
    struct notification *notification;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        fake_open(&fake);
        pid_t pid = start();
        const unsigned before = check_open_fds();
        holds = false;
        assert_int_equal(ask(kinds[i], 0, pid, &notification), -ESRCH);
        assert_int_equal(asked, 1);
        assert_int_equal(held_by, pid); /* the descriptor by which it was checked */
        assert_int_equal(notification->result, -ESRCH);
        assert_true(!notification->events && !notification->maps && !notification->exec);
        assert_false(is_covered(pid));
        assert_int_equal(fake.session.refused, 1);
        notification_free(notification);
        assert_int_equal(check_open_fds(), before);
        holds = true;
        int status = ask(kinds[i], 0, pid, &notification);
        end(pid);
        assert_int_equal(status, 0);
        assert_int_equal(asked, 1);
        assert_non_null(notification->events);
        assert_true((notification->maps != NULL) == (kinds[i] == PINJECT_PROCESS));
        attach_free(notification->events);
        notification_free(notification);
        fake_close(&fake);
    }
}

/* What is laid later is laid for that process. */
static void inherited_are_of_the_process_that_was_checked(void **state)
{
    struct notification *notification;
    (void)state;
    fake_open(&fake);
    pid_t pid = start();
    holds = true;
    int status = ask(PINJECT_ARM, PINJECT_REQUEST_INHERIT_EXEC, pid, &notification);
    assert_int_equal(status, 0);
    assert_true(inherit_pidfd >= 0 && held_by == pid);
    struct attached *events = notification->events;
    notification_free(notification);
    end(pid);
    attach_free(events);
    fake_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_opened_is_given_back),
        cmocka_unit_test(inherited_are_of_the_process_that_was_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
