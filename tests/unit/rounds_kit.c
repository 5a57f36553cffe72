/* SPDX-License-Identifier: MIT */
#include "rounds_kit.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include "collector/sources/inherited.h"
#include "collector/system/opener.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/sweep.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks_init.h"
#include "common/report.h"

struct fake fake;
struct tasks *tasks;
struct round seen[ROUNDS];
unsigned round_number;
uint64_t file_ns;
int urgent;
unsigned renewed, trimmed, given_back, answers_taken;

static struct signals signals;
static struct collect_args args;
static struct outcome outcome;
static char directory[] = "/tmp/pinject-unit-XXXXXX";
static int ends; /* here signals that end us are told */
static const struct round *rounds;
static uint64_t now_ns;
static bool gathers; /* in the loop's pause between two rounds */
static int loop_epoll;

/* ---- In the place of the kernel, and of what ended ---- */

int __real_tasks_init(struct tasks *ret, struct session *session, struct results *results, int epoll);
int __wrap_tasks_init(struct tasks *ret, struct session *session, struct results *results, int epoll);
int __wrap_tasks_init(struct tasks *ret, struct session *session, struct results *results, int epoll)
{
    tasks = ret;
    return __real_tasks_init(ret, session, results, epoll);
}

uint64_t __wrap_monotonic_ns(void);
uint64_t __wrap_monotonic_ns(void)
{
    return now_ns;
}

void set_done(unsigned count)
{
    static struct task ended;
    tasks->done_count = count;
    tasks->done = count ? &ended : NULL;
}

void __wrap_tasks_write(struct tasks *of, size_t count);
void __wrap_tasks_write(struct tasks *of, size_t count)
{
    if (!of->done || count != 1)
        return;
    *(gathers ? &seen[round_number].gathered : &seen[round_number - 1].files) += 1;
    seen[round_number - !gathers].unburied |= of->graveyard != NULL;
    set_done((unsigned)of->done_count - 1);
    now_ns += file_ns;
    struct task *written = calloc(1, sizeof(*written));
    written->ring_fd = -1;
    tasks_discard(of, written);
}

/* Nothing that was made up is to be freed. */
void __real_tasks_close(struct tasks *of);
void __wrap_tasks_close(struct tasks *of);
void __wrap_tasks_close(struct tasks *of)
{
    set_done(0);
    of->waiting = NULL;
    of->unread = NULL;
    __real_tasks_close(of);
}

void __real_tasks_notify(struct tasks *of, struct notification *notifications);
void __wrap_tasks_notify(struct tasks *of, struct notification *notifications);
void __wrap_tasks_notify(struct tasks *of, struct notification *notifications)
{
    if (notifications)
        __real_tasks_notify(of, notifications);
}

int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    (void)fds;
    (void)count;
    (void)mask;
    gathers = true;
    now_ns += (uint64_t)timeout->tv_nsec;
    seen[round_number].rested_ns += (uint64_t)timeout->tv_nsec;
    return urgent;
}

int __wrap_epoll_wait(int epoll, struct epoll_event *events, int size, int timeout);
int __wrap_epoll_wait(int epoll, struct epoll_event *events, int size, int timeout)
{
    const struct round *round = &rounds[round_number];
    loop_epoll = epoll;
    (void)size;
    gathers = false;
    seen[round_number].unburied |= tasks->graveyard != NULL;
    seen[round_number].timeout_ms = timeout;
    seen[round_number++].events = round->events;
    now_ns += round->waited_ns;
    if (round->change)
        round->change();
    if (round->events == ROUND_END) {
        const struct signalfd_siginfo info = {.ssi_signo = SIGTERM};
        (void)!write(ends, &info, sizeof(info));
        events[0] = (struct epoll_event){.events = EPOLLIN, .data.ptr = &args.signals};
        return 1;
    }
    for (int i = 0; i < round->events; i++) /* a notification: nothing else hangs on it */
        events[i] = (struct epoll_event){.events = EPOLLIN, .data.ptr = (void *)&args.session};
    return round->events;
}

void __real_opener_take(struct opener *opener);
void __wrap_opener_take(struct opener *opener);
void __wrap_opener_take(struct opener *opener)
{
    answers_taken++;
    __real_opener_take(opener);
}

void __wrap_results_trim(struct results *results);
void __wrap_results_trim(struct results *results)
{
    (void)results;
    trimmed++;
}

void __wrap_service_renew_workers(struct session *session);
void __wrap_service_renew_workers(struct session *session)
{
    (void)session;
    renewed++;
}

int __wrap_malloc_trim(size_t pad);
int __wrap_malloc_trim(size_t pad)
{
    given_back += pad == 0;
    return 0;
}

/* ---- The stage ---- */

int rounds_enter(void **state)
{
    (void)state;
    report_program("pinject-run");
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

int rounds_leave(void **state)
{
    (void)state;
    return chdir("/") == 0 ? rmdir(directory) : -1;
}

int rounds_set_up(void **state)
{
    int told[2];
    (void)state;
    fake_open(&fake);
    fake.settings.outfile = "out";
    fake.settings.mode = 0600;
    fake.config.system_wide_later = false; /* nobody looks what events cost: test_relief.c */
    if (pipe2(told, O_CLOEXEC | O_NONBLOCK))
        return -1;
    ends = told[1];
    signals = (struct signals){.ends = told[0], .others = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    args = (struct collect_args){.session = &fake.session, .root_pidfd = -1, .signals = &signals};
    file_ns = MS / 10;
    urgent = 0;
    return results_new(&fake.session, &args.results);
}

int rounds_tear_down(void **state)
{
    (void)state;
    outcome_release(&outcome);
    results_free(args.results);
    close(signals.ends);
    close(signals.others);
    close(ends);
    fake_close(&fake);
    return 0;
}

void rounds_run(const struct round *given)
{
    rounds = given;
    renewed = trimmed = given_back = answers_taken = round_number = 0;
    memset(seen, 0, sizeof(seen));
    now_ns = fake.session.start_ns;
    outcome_release(&outcome);
    assert_int_equal(collect_run(&args, &outcome), 0);
}

void rounds_run_root(pid_t root, const struct round *given)
{
    args.root = root;
    rounds_run(given);
    args.root = 0;
}

bool rounds_wait_for_all(void)
{
    const int wanted[] = {fake.session.notifications.eventfd, inherited_fd(fake.session.inherited_sets), signals.ends,
                          signals.others};
    char path[64], line[256];
    unsigned found = 0;
    int fd;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", loop_epoll);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        for (size_t i = 0; i < 4; i++)
            found += sscanf(line, "tfd: %d", &fd) == 1 && fd == wanted[i];
    if (file)
        fclose(file);
    return found == 4;
}

void rounds_expect(const struct round *given)
{
    unsigned i = 0;
    rounds_run(given);
    for (; given[i].events != ROUND_END; i++)
        if (seen[i].files != given[i].files || seen[i].rested_ns != given[i].rested_ns ||
            seen[i].gathered != given[i].gathered || seen[i].timeout_ms != given[i].timeout_ms || seen[i].unburied)
            fail_msg("round %u: %u files, after %llu ns with %u files, ready to wait for %d ms%s", i, seen[i].files,
                     (unsigned long long)seen[i].rested_ns, seen[i].gathered, seen[i].timeout_ms,
                     seen[i].unburied ? ", with tasks that were written and are still there" : "");
    assert_int_equal(round_number, i + 1);
    assert_int_equal(answers_taken, round_number);
}

void no_room(void)
{
    fake.session.pressure.descriptors = fake.session.fd_limit / 2 + 1;
}

void room(void)
{
    fake.session.pressure.descriptors = 0;
}

void some_done(void)
{
    set_done(100);
}

void none_done(void)
{
    set_done(0);
    room();
}
