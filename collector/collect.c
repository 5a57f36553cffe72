/* SPDX-License-Identifier: MIT */
#include "collector/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/count_output.h"
#include "collector/interval_timer.h"
#include "collector/next_periods.h"
#include "collector/ring_watch.h"
#include "collector/service/channels.h"
#include "collector/service/service.h"
#include "collector/sources/attach.h"
#include "collector/sources/inherited.h"
#include "collector/sources/notifications.h"
#include "collector/sources/pressure.h"
#include "collector/system/monotonic.h"
#include "collector/system/opener.h"
#include "collector/system/watch.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/inherited_tasks.h"
#include "collector/tasks/intervals.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/relief.h"
#include "collector/tasks/sweep.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"
#include "collector/tasks/tasks_init.h"
#include "collector/tasks/untracked.h"
#include "collector/turns.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/report.h"

enum {
    EVENTS = 4096,               /* of a round: more ends than tasks that begin meanwhile */
    WRITE_SLICE = 8,             /* files between two looks at notifications */
    WRITE_NS = 1000 * 1000,      /* and at most so long, in a storm */
    WRITE_QUEUE = 8192,          /* complete tasks in memory; beyond that each round writes some */
    WRITE_QUEUE_MAX = 65536,     /* beyond that too, whatever else is short */
    GATHER_NS = 5 * 1000 * 1000, /* between two rounds with notifications */
    STORM_NS = 1000 * 1000,      /* the same in a storm: rings freed soon are in the caches when they are reused */
    STORM = 2,                   /* events of a round that are a storm */
    LOOK_NS = 1000 * 1000,       /* meanwhile, between two looks at how full the rings of inherited events are */
    SWEEP_NS = 100 * 1000 * 1000,
    TIMER_SWEEP_NS = 25 * 1000 * 1000, /* with timers no event reports records, and mappings are seen late */
    TRIM = 1024,                       /* ended tasks whose memory is worth a call */
    STACK = 2 << 20,                   /* of the loop's thread */
    GRACE_NS = 500 * 1000 * 1000,      /* for tasks that are ending when the root has ended */
    LINGER_NS = 300 * 1000 * 1000,     /* without any task; a child of posix_spawn may still come */
};
#define NOBODY_NS 10000000000ull /* bare: no task came at all */

struct collect {
    const struct collect_args *args;
    struct tasks tasks;
    int epoll;
    uint64_t swept_ns;
    uint64_t gather_ns; /* until then notifications are batched; 0: there were none */
    uint64_t write_ns;  /* while there are notifications, no file is written before that */
    uint64_t alone_ns;  /* bare, or lingering: since when there is no task; 0: there is one */
    unsigned interrupts;
    uint64_t trimmed; /* number of tasks seen when memory was given back last */
    bool trim;        /* threads were renewed since, or are about to be: memory can be given back */
    bool alone;       /* no further thread could be started */
    bool hand_over;   /* to a fresh thread, after this round */
    bool over;
    bool stop; /* a signal ends a bare session, or one that lingers */
    bool root_ended;
    bool stacks_wanted; /* by SIGQUIT */
    uint64_t stacks_ns; /* time of --stacks-after; UINT64_MAX: never, or done */
    bool stacks_run;    /* they are being taken */
    struct interval_timer interval;
    struct turns turns; /* of event sets */
    struct ring_watch rings;
    struct next_periods periods;
    int root_status;
    struct rusage tree;
    struct epoll_event events[EVENTS];
};

/* ---- Signals ---- */

/* For a collector that lingers. What was ignored when it was started (nohup) stays ignored; Ctrl-Z stops it. */
static void take_for_ourselves(struct collect *collect, const struct signalfd_siginfo *info, bool ends)
{
    struct sigaction action;
    bool ignored = sigaction((int)info->ssi_signo, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
    collect->stop |= ends && !ignored;
    if (info->ssi_signo == SIGTSTP && !ignored && collect->args->session->settings->linger)
        raise(SIGSTOP);
}

static void take_signal(struct collect *collect, const struct signalfd_siginfo *info, bool ends)
{
    struct signals *signals = collect->args->signals;
    bool asks = collect->args->root && !collect->root_ended &&
                signals_pass(signals, info, tasks_find_process(&collect->tasks, (pid_t)info->ssi_pid));
    collect->stacks_wanted |= asks;
    collect->interrupts += ends && !asks;
    if (!collect->args->root)
        collect->stop |= ends;
    else if (collect->root_ended)
        take_for_ourselves(collect, info, ends);
    if (info->ssi_signo == SIGCHLD && !collect->root_ended && !collect->stacks_run)
        signals_stop_with_root(signals);
}

static void take_signals(struct collect *collect)
{
    struct signals *signals = collect->args->signals;
    struct signalfd_siginfo info;
    while (read(signals->ends, &info, sizeof(info)) == sizeof(info))
        take_signal(collect, &info, true);
    while (read(signals->others, &info, sizeof(info)) == sizeof(info))
        take_signal(collect, &info, false);
}

/* ---- The root ---- */

static void check_root(struct collect *collect)
{
    int status = 0;
    struct tasks *tasks = &collect->tasks;
    if (!collect->args->root || collect->root_ended || collect->stacks_run)
        return;
    struct process *process = tasks_find_process(tasks, collect->args->root);
    if (process)
        process_ask_clock(process); /* while it is there */
    pid_t got = wait4(collect->args->root, &status, WNOHANG, &collect->tree);
    if (got == 0 || (got < 0 && errno == EINTR))
        return;
    collect->root_ended = true;
    watch_remove(collect->epoll, collect->args->root_pidfd);
    if (got > 0 && process) {
        process_set_waited(process, status, clock_ns_of_usage(&collect->tree));
        process->rusage_switches = (uint64_t)(collect->tree.ru_nvcsw + collect->tree.ru_nivcsw);
    }
    if (got < 0 && process) /* SIGCHLD is ignored: the kernel reaped it */
        process_ask_status(process);
    collect->root_status = got > 0 ? status : process && process->status_known ? process->status : 0;
}

/* Reports the program as the exec hook would. */
static void tell_program(struct notification *notification, const struct collect_args *args)
{
    struct buffer text = BUFFER_INIT;
    for (char *const *argument = args->root_non_injectable; *argument; argument++)
        buffer_append(&text, *argument, strlen(*argument) + 1);
    notification->flags |= PINJECT_REQUEST_INHERIT_EXEC;
    notification->inherit_error = args->root_inherit_error;
    notification->exec = strdup(args->root_non_injectable[0]);
    if (!buffer_failed(&text)) {
        notification->cmdline_size = text.size;
        notification->cmdline = (char *)text.data; /* owned by the notification from here on */
    } else {
        buffer_release(&text);
    }
}

static void admit_root(struct collect *collect)
{
    const struct collect_args *args = collect->args;
    struct tasks *tasks = &collect->tasks;
    const bool opened = args->root_events || args->root_inherited_set;
    struct notification *notification = opened ? calloc(1, sizeof(*notification)) : NULL;
    tasks->root = args->root;
    if (!notification) {
        missed_add(&tasks->missed,
                   opened ? "the command was not profiled: the collector was out of memory"
                          : "the command was not profiled: the kernel refused its events",
                   "", 1, 0);
        if (args->root_events) {
            attach_retire(args->session, args->root_events);
            attach_free(args->root_events);
        }
        return;
    }
    *notification = (struct notification){.kind = PINJECT_ARM,
                                          .pid = args->root,
                                          .tid = args->root,
                                          .ppid = getpid(),
                                          .time_ns = args->root_start_ns,
                                          .startup_ns = args->root_startup_ns,
                                          .events = args->root_events,
                                          .inherited = args->root_inherited_set,
                                          .inherited_set = args->root_inherited_set,
                                          .readings = args->root_readings,
                                          .pidfd = args->root_pidfd < 0 ? -1
                                                                        : fcntl(args->root_pidfd, F_DUPFD_CLOEXEC, 0)};
    if (args->root_non_injectable)
        tell_program(notification, args);
    tasks_notify(tasks, notification);
}

/* ---- The loop ---- */

static void take_event(struct collect *collect, const struct epoll_event *event)
{
    struct task *task = event->data.ptr;
    if (!task_is_live(task) || !task->events) /* it has ended, or lost its events, in this round */
        return;
    /* Without a kernel ring it is a pidfd, readable at the end. */
    if (event->events & (EPOLLHUP | EPOLLERR) || task->events->timer || !task->events->ring)
        tasks_task_ended(&collect->tasks, task, true);
    else
        tasks_drain_some(&collect->tasks, task);
    next_periods_drained(&collect->periods, task);
}

/*
 * While there are notifications, files take at most a quarter of the time, or half of it if many wait: creating one can
 * take a millisecond, and ended tasks hold memory and descriptors until they are handled. If these are short, none is
 * written.
 */
static void write_files(struct collect *collect, bool notified)
{
    struct tasks *tasks = &collect->tasks;
    const bool many = tasks->done_count > WRITE_QUEUE, most = tasks->done_count > WRITE_QUEUE_MAX;
    if (!tasks->done || (notified && !many && tasks->now_ns < collect->write_ns))
        return;
    if (notified && !most && pressure_needs_room(collect->args->session))
        return;
    uint64_t start = monotonic_ns(), end;
    unsigned written = 0;
    do {
        tasks_write(tasks, 1);
        tasks_bury(tasks);
        end = monotonic_ns();
    } while (tasks->done && ++written < WRITE_SLICE && (!notified || (many && end - start < WRITE_NS)));
    collect->write_ns = end + 3 * (end - start);
}

/*
 * After a storm, gives the memory of its tasks back to the system. libc keeps, for each thread, some freed pieces of
 * each size. They are scattered, so each keeps a page from being given back, and only the thread's end releases them.
 * So all threads are renewed first.
 */
static void trim_memory(struct collect *collect)
{
    const struct tasks *tasks = &collect->tasks;
    uint64_t more = tasks->seen - collect->trimmed;
    if (collect->trim) {
        malloc_trim(0);
        collect->trim = false;
    }
    if (tasks->done || more < TRIM || tasks->live_count > more / 2)
        return;
    results_trim(tasks->results);
    service_renew_workers(collect->args->session);
    collect->hand_over = !collect->alone;
    collect->trim = true;
    collect->trimmed = tasks->seen;
}

/* Rings that wait for us are memory that later tasks lack. */
static bool is_scarce(const struct session *session)
{
    uint64_t bytes = __atomic_load_n(&session->ring_bytes, __ATOMIC_RELAXED);
    return session->ring_budget != UINT64_MAX && bytes > session->ring_budget / 4;
}

/*
 * A thread starts and ends within microseconds. Waking for each one would take the CPU from the program each time: in a
 * storm notifications are batched, and files are written meanwhile. The command's end, signals and rings of inherited
 * events that are partly full do not wait: true. (The kernel reports the latter only once.) Where all tasks have
 * inherited events, the loop looks at the rings instead: waiting for them would cost each task that ends: ring_watch.h.
 */
static bool gather_notifications(struct collect *collect)
{
    struct tasks *tasks = &collect->tasks;
    const struct signals *signals = collect->args->signals;
    const struct inherited_sets *sets = collect->args->session->inherited_sets;
    const bool looks = inherited_are_for_all(sets);
    struct pollfd urgent[] = {{signals->ends, POLLIN, 0},
                              {signals->others, POLLIN, 0},
                              {collect->args->root_pidfd, POLLIN, 0},
                              {looks ? -1 : inherited_fd(sets), POLLIN, 0}};
    uint64_t now = monotonic_ns();
    while (now < collect->gather_ns && !tasks->unread && !is_scarce(collect->args->session) &&
           !pressure_needs_room(collect->args->session) &&
           !notifications_are_many(&collect->args->session->notifications)) {
        const uint64_t left = collect->gather_ns - now, most = looks ? LOOK_NS : left;
        const struct timespec rest = {.tv_nsec = tasks->done ? 0 : (long)(left < most ? left : most)};
        if (ppoll(urgent, sizeof(urgent) / sizeof(urgent[0]), &rest, NULL) > 0 ||
            (looks && ring_watch_is_filling(&collect->rings)))
            return true;
        tasks_write(tasks, 1);
        tasks_bury(tasks);
        now = monotonic_ns();
    }
    return false;
}

/* ---- Stacks of the tree ---- */

/*
 * Roots of what the session follows: the command, whose descendants are found below it, and processes that have lost
 * their parent.
 */
static pid_t *find_roots(const struct collect *collect, size_t *ret_count)
{
    const struct tasks *tasks = &collect->tasks;
    pid_t *pids = malloc((tasks->live_count + 1) * sizeof(*pids));
    size_t count = 0;
    if (pids)
        pids[count++] = collect->args->root;
    for (const struct task *task = tasks->live; pids && task; task = task->live_next) {
        const struct process *process = task->process;
        if (task == process->leader && !process->root && !tasks_find_process(tasks, process->ppid))
            pids[count++] = process->pid;
    }
    *ret_count = count;
    return pids;
}

/* The command's end and stops are checked again afterwards. */
static void begin_stacks(struct collect *collect)
{
    const struct collect_args *args = collect->args;
    size_t count;
    pid_t *pids = find_roots(collect, &count);
    const int unwinder = args->session->settings->unwinder;
    int error = pids ? args->stacks->begin(pids, count, unwinder) : -ENOMEM;
    collect->stacks_run = error == 0;
    if (error)
        report_warning("cannot show stacks: %s", strerror(-error));
    else
        watch_remove(collect->epoll, args->root_pidfd);
}

static void end_stacks(struct collect *collect)
{
    if (!collect->stacks_run || !collect->args->stacks->over())
        return;
    collect->stacks_run = false;
    collect->trim = true; /* names of functions take memory */
    watch_add(collect->epoll, collect->args->root_pidfd, (void *)&collect->args->root_pidfd);
    signals_stop_with_root(collect->args->signals);
    check_root(collect);
}

static void serve_stacks(struct collect *collect)
{
    end_stacks(collect);
    if (collect->root_ended || collect->stacks_run)
        return;
    if (collect->stacks_wanted || collect->tasks.now_ns >= collect->stacks_ns) {
        collect->stacks_wanted = false;
        collect->stacks_ns = UINT64_MAX;
        begin_stacks(collect);
    }
}

/* ---- Rounds ---- */

/* Between two sweeps. */
static uint64_t sweep_ns(const struct collect *collect)
{
    return collect->tasks.timer_live ? TIMER_SWEEP_NS : SWEEP_NS;
}

static void take_interval(struct collect *collect)
{
    struct tasks *tasks = &collect->tasks;
    uint64_t length_ns;
    if (!interval_timer_take(&collect->interval, tasks->now_ns, &length_ns))
        return;
    /* The record of the first exec may still wait in the ring: before it, a task counts nothing. */
    struct task *root = tasks_find(tasks, tasks->root);
    if (root && task_is_armed(root))
        tasks_drain(tasks, root);
    tasks_read_interval(tasks, tasks->now_ns);
    count_output_interval(collect->args->counts, tasks->session, &tasks->interval, tasks->now_ns, length_ns);
}

/* Returns whether there were any. */
static bool take_notifications(struct collect *collect)
{
    struct tasks *tasks = &collect->tasks;
    service_take_notifications(collect->args->session);
    struct notification *notifications = notifications_take(&collect->args->session->notifications);
    if (notifications || tasks->waiting)
        tasks_notify(tasks, notifications);
    return notifications != NULL;
}

/* One round. Returns the number of events, plus 1 if there were notifications. */
static int run_round(struct collect *collect, int timeout_ms)
{
    struct epoll_event *events = collect->events;
    struct tasks *tasks = &collect->tasks;
    const bool urgent = gather_notifications(collect);
    pressure_idle(collect->args->session, true);
    int count = epoll_wait(collect->epoll, events, EVENTS, urgent ? 0 : timeout_ms);
    pressure_idle(collect->args->session, false);
    count = count < 0 ? 0 : count;
    tasks->now_ns = monotonic_ns();
    tasks->round++;
    next_periods_begin_round(&collect->periods);
    const bool own_rings = !inherited_are_for_all(collect->args->session->inherited_sets);
    collect->gather_ns = count ? tasks->now_ns + (count >= STORM && own_rings ? STORM_NS : GATHER_NS) : 0;
    collect->gather_ns = turns_before(&collect->turns, collect->gather_ns);
    if (collect->rings.by_clock)
        ring_watch_is_filling(&collect->rings);
    /* Before the ends of this round: a task that has ended may have reported something first. */
    bool notifications_came = take_notifications(collect);
    tasks_take_inherited(tasks, false);
    if (inherited_live(collect->args->session->inherited_sets)) /* so may tasks that ended by what was just taken */
        notifications_came |= take_notifications(collect);
    tasks_drain_rest(tasks);
    tasks_watch_cost(tasks);
    if (tasks->owed_count)
        tasks_retry_inherit_soon(tasks);
    bool root = false, swept = false;
    for (int i = 0; i < count; i++) {
        const void *tag = events[i].data.ptr;
        root |= tag == &collect->args->root_pidfd;
        if (tag == &collect->args->signals)
            take_signals(collect);
        else if (tag != &collect->args->root_pidfd && tag != &collect->args->session &&
                 tag != collect->args->session->inherited_sets)
            take_event(collect, &events[i]);
    }
    if (tasks->now_ns - collect->swept_ns >= sweep_ns(collect)) {
        collect->swept_ns = tasks->now_ns;
        tasks_sweep(tasks);
        next_periods_swept(&collect->periods, tasks);
        root = swept = true;
    }
    if (root)
        check_root(collect);
    if (collect->args->stacks)
        serve_stacks(collect);
    take_interval(collect);
    turns_take(&collect->turns, tasks);
    opener_take(results_opener(tasks->results));
    write_files(collect, count || notifications_came);
    tasks_bury(tasks);
    ring_watch_choose(&collect->rings, tasks->now_ns, tasks->seen);
    if (swept)
        trim_memory(collect);
    return count + notifications_came;
}

static int timeout_ms(const struct collect *collect)
{
    uint64_t now = monotonic_ns(), next = collect->swept_ns + sweep_ns(collect);
    if (collect->tasks.done || collect->tasks.unread)
        return 0;
    if (collect->tasks.waiting || collect->tasks.owed_count || collect->alone_ns || collect->stacks_run)
        return turns_wait(&collect->turns, now, 2);
    const int wait_ms = turns_wait(&collect->turns, now, next > now ? (int)((next - now) / 1000000u) + 1 : 0);
    return interval_timer_wait(&collect->interval, now,
                               tasks_cost_wait(&collect->tasks, now, ring_watch_wait(&collect->rings, wait_ms)));
}

/* Bare: has the last task of the tree ended? False also if the kernel does not tell. */
static bool is_tree_over(const struct session *session)
{
    struct pollfd poll_fd = {.fd = __atomic_load_n(&session->tree_end_fd, __ATOMIC_ACQUIRE), .events = POLLIN};
    return poll_fd.fd >= 0 && poll(&poll_fd, 1, 0) > 0 && poll_fd.revents & (POLLHUP | POLLERR);
}

/* How long there has been no task. */
static uint64_t alone_ns(struct collect *collect)
{
    const struct tasks *tasks = &collect->tasks;
    if (tasks->live_count || tasks->waiting)
        collect->alone_ns = 0;
    else if (!collect->alone_ns)
        collect->alone_ns = tasks->now_ns;
    return collect->alone_ns ? tasks->now_ns - collect->alone_ns : 0;
}

/* Bare: have all tasks ended, or did none come? */
static bool is_deserted(struct collect *collect)
{
    const struct tasks *tasks = &collect->tasks;
    if (!tasks->notifications)
        return tasks->now_ns - collect->args->session->start_ns > NOBODY_NS;
    uint64_t alone = alone_ns(collect);
    return alone > LINGER_NS || (collect->alone_ns && is_tree_over(collect->args->session));
}

/* Is there a task whose process has ended? Its HUP is on its way. */
static bool is_somebody_ending(const struct tasks *tasks)
{
    for (const struct task *task = tasks->live; task; task = task->live_next)
        if (process_is_dead(task->process))
            return true;
    return false;
}

/* The root has ended: takes in what ends with it, and does not wait for tasks that stay. */
static void take_end_of_root(struct collect *collect)
{
    struct tasks *tasks = &collect->tasks;
    uint64_t end = monotonic_ns() + GRACE_NS;
    unsigned interrupts = collect->interrupts;
    /* A second one: the first was meant for the command. */
    while (monotonic_ns() < end && (collect->interrupts == interrupts || collect->interrupts < 2)) {
        const bool idle = !tasks->live_count && !tasks->waiting && !channels_have_requests(collect->args->session);
        int notified = run_round(collect, idle ? 0 : 1);
        if (!notified && !tasks->waiting && !channels_have_requests(collect->args->session) &&
            !is_somebody_ending(tasks))
            break;
    }
    tasks->root_ended = true;
}

/* --linger: waits for what the command left behind, until a signal comes. */
static bool still_lingers(struct collect *collect)
{
    return collect->args->session->settings->linger && !collect->stop && alone_ns(collect) <= LINGER_NS;
}

static void say_linger(const struct collect *collect)
{
    const struct tasks *tasks = &collect->tasks;
    if (collect->args->session->settings->linger && tasks->live_count)
        report_note("the command has exited; waiting for %" PRIu64
                    " %s that it left running (press Ctrl-C to stop waiting)",
                    tasks->live_count, tasks->live_count == 1 ? "task" : "tasks");
}

/* Until the session is over, or the next thread takes over. */
static void *run_rounds(void *argument)
{
    struct collect *collect = argument;
    while (collect->args->root ? !collect->root_ended : !collect->stop && !is_deserted(collect)) {
        run_round(collect, timeout_ms(collect));
        if (collect->hand_over)
            return NULL;
    }
    if (collect->args->root && !collect->tasks.root_ended) {
        take_end_of_root(collect);
        say_linger(collect);
    }
    while (collect->args->root && still_lingers(collect)) {
        run_round(collect, timeout_ms(collect));
        if (collect->hand_over)
            return NULL;
    }
    collect->over = true;
    return NULL;
}

/* One thread at a time, see trim_memory(). */
static void run_loop(struct collect *collect)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    while (!collect->over) {
        pthread_t thread;
        collect->hand_over = false;
        collect->alone = pthread_create(&thread, &attr, run_rounds, collect) != 0;
        if (collect->alone) {
            run_rounds(collect);
        } else {
            results_read_machine(collect->args->results); /* while nothing waits for it */
            pthread_join(thread, NULL);
        }
    }
    pthread_attr_destroy(&attr);
}

/* ---- The end ---- */

static void finish_session(struct collect *collect, struct outcome *outcome)
{
    struct tasks *tasks = &collect->tasks;
    tasks->now_ns = monotonic_ns();
    tasks->round++;
    /* A worker may still handle the last notification of a task. */
    service_stop_workers(collect->args->session);
    tasks_notify(tasks, notifications_take(&collect->args->session->notifications));
    tasks_take_inherited(tasks, true);
    tasks_close(tasks);
    outcome->root_ended = collect->root_ended;
    outcome->root_status = collect->root_status;
    outcome->tree = collect->tree;
    outcome->whole_tree = tasks->config->whole_tree;
    outcome->tree_alive = outcome->whole_tree && collect->args->session->tree_end_fd >= 0 &&
                          !is_tree_over(collect->args->session);
    outcome_fill(outcome, tasks, collect->args->root == 0);
    const struct task *leader = tasks->root_process ? tasks->root_process->leader : NULL;
    struct result_coverage coverage = {.cpu_ns = outcome->cpu_ns,
                                       .attributed_ns = outcome->attributed_ns,
                                       .tasks = outcome->tasks,
                                       .files = results_written(collect->args->results) +
                                                (leader && leader->file != FILE_ON_DISK),
                                       .collector_ns = outcome->collector_ns,
                                       .machine_ns = outcome->machine_ns,
                                       .others_ns = outcome->others_ns,
                                       .user_ns = outcome_time(&outcome->tree.ru_utime),
                                       .kernel_ns = outcome_time(&outcome->tree.ru_stime),
                                       .complete = true,
                                       .stacks = outcome->stacks,
                                       .stolen = outcome->stolen,
                                       .missed = outcome->missed,
                                       .missed_count = outcome->missed_count};
    tasks_finish_root(tasks, &coverage);
    outcome_complete(outcome, tasks);
}

static int prepare_loop(struct collect *collect)
{
    const struct collect_args *args = collect->args;
    collect->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (collect->epoll < 0)
        return -errno;
    int error = tasks_init(&collect->tasks, args->session, args->results, collect->epoll);
    if (!error)
        error = watch_add(collect->epoll, args->session->notifications.eventfd, (void *)&args->session);
    if (!error)
        error = ring_watch_start(&collect->rings, collect->epoll, args->session->inherited_sets);
    if (!error)
        error = watch_add(collect->epoll, args->signals->ends, (void *)&args->signals);
    if (!error)
        error = watch_add(collect->epoll, args->signals->others, (void *)&args->signals);
    if (!error && args->root)
        error = watch_add(collect->epoll, args->root_pidfd, (void *)&args->root_pidfd);
    if (error)
        tasks_release(&collect->tasks);
    return error;
}

/* The command runs already, and goes on without us. */
static void give_up(const struct collect_args *args, int error, struct outcome *outcome)
{
    report_error("cannot collect: %s; the command continues without a profile", strerror(-error));
    if (args->root_events)
        attach_retire(args->session, args->root_events);
    attach_free(args->root_events);
    /* Requests are refused at once from now on. */
    service_stop_workers(args->session);
    while (args->root && wait4(args->root, &outcome->root_status, 0, &outcome->tree) < 0 && errno == EINTR)
        ;
    outcome->root_ended = args->root != 0;
}

/*
 * Giving memory back and taking it again costs system calls, each a thousand times a second. What is large was allocated
 * before that: it consists of pages of zeros that are not there until they are used.
 */
static void keep_memory(void)
{
    mallopt(M_TOP_PAD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

int collect_run(const struct collect_args *args, struct outcome *outcome)
{
    struct collect *collect = calloc(1, sizeof(*collect));
    *outcome = (struct outcome){0};
    if (!collect) {
        give_up(args, -ENOMEM, outcome);
        return -ENOMEM;
    }
    collect->args = args;
    int error = prepare_loop(collect);
    keep_memory();
    if (error) {
        give_up(args, error, outcome);
    } else {
        collect->swept_ns = monotonic_ns();
        interval_timer_start(&collect->interval, args->session->settings->interval_ns, args->session->start_ns);
        turns_start(&collect->turns, args->session, collect->swept_ns);
        next_periods_start(&collect->periods, args->session);
        collect->stacks_ns = args->session->settings->stacks_after_ns;
        collect->stacks_ns = collect->stacks_ns ? collect->swept_ns + collect->stacks_ns : UINT64_MAX;
        if (args->root)
            admit_root(collect);
        run_loop(collect);
        finish_session(collect, outcome);
        outcome->interval_ns = collect->interval.last_ns;
        outcome->turn_ns = turns_length_ns(&collect->turns);
        tasks_release(&collect->tasks);
    }
    if (collect->epoll >= 0)
        close(collect->epoll);
    free(collect);
    return error;
}
