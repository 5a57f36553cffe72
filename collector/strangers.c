/* SPDX-License-Identifier: MIT */
/* Tasks that were announced, or lie beside one that was found, and have not asked for events: they get them unasked. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/found.h"
#include "collector/net.h"
#include "collector/numbers.h"
#include "collector/procfs.h"
#include "collector/tasks.h"
#include "common/clock.h"

enum {
    WAIT_NS = 20 * 1000 * 1000, /* who asks has asked by then, but on a machine with more work than CPUs */
    BATCH = 64,                 /* in one sweep */
    TRIES = 3,
    BUSY_NS = 5 * 1000 * 1000,  /* on such a machine it has not used so much before it asks... */
    PATIENT_NS = 500 * 1000 * 1000, /* ... and asks by then */
    SILENT_NS = 20 * 1000 * 1000,
    CHILDREN_MAX = 1 << 20,     /* bytes of a list */
    SLICE_NS = 20 * 1000 * 1000, /* in one sweep: what is left is looked for in the next one */
    NET_TRIES = 8,              /* sweeps in which a net that was refused before an exec is tried again */
    SOON_TRIES = 12,            /* before them: what a program without the object starts at once may be short */
    SOON_NS = 2 * 1000 * 1000,
};

struct adoption {
    struct errand errand;
    struct session *session;
    struct arrival *arrival;
    int status;
};

static void run_adoption(struct errand *errand)
{
    struct adoption *adoption = (struct adoption *)errand;
    adoption->status = found_open(adoption->session, adoption->arrival);
}

/* Late, it comes as others do. */
static void abandon_adoption(struct errand *errand)
{
    struct adoption *adoption = (struct adoption *)errand;
    if (adoption->status == 0)
        arrivals_put(&adoption->session->arrivals, adoption->arrival);
    else
        arrival_free(adoption->arrival);
    free(adoption);
}

/* 0, or -errno of opening its events; -EBUSY: it took too long. The arrival is the caller's with 0 alone. */
static int open_found(struct session *session, struct arrival *arrival)
{
    struct adoption *adoption = calloc(1, sizeof(*adoption));
    int status = -ENOMEM;
    if (adoption) {
        *adoption = (struct adoption){{run_adoption, abandon_adoption, arrival->pid}, session, arrival, -EBUSY};
        if (!errands_do(&session->errands, &adoption->errand))
            return -EBUSY;
        status = adoption->status;
        free(adoption);
    }
    if (status < 0)
        arrival_free(arrival);
    return status;
}

struct netting {
    struct errand errand;
    struct nets *nets;
    pid_t pid, tid;
    int pidfd; /* owned; -1: unknown */
    int status;
};

static void run_netting(struct errand *errand)
{
    struct netting *netting = (struct netting *)errand;
    netting->status = nets_open_of(netting->nets, netting->pid, netting->tid, netting->pidfd, NETS_RUNS);
}

static void abandon_netting(struct errand *errand)
{
    struct netting *netting = (struct netting *)errand;
    if (netting->pidfd >= 0)
        close(netting->pidfd);
    free(netting);
}

static int copy_pidfd(const struct process *process)
{
    return process->pidfd < 0 ? -1 : fcntl(process->pidfd, F_DUPFD_CLOEXEC, 0);
}

static int open_net(struct session *session, const struct process *process, pid_t tid)
{
    struct netting *netting = calloc(1, sizeof(*netting));
    if (!netting)
        return -ENOMEM;
    *netting = (struct netting){{run_netting, abandon_netting, process->pid}, session->nets, process->pid, tid,
                                copy_pidfd(process), -EBUSY};
    if (!errands_do(&session->errands, &netting->errand))
        return -EBUSY;
    int status = netting->status;
    abandon_netting(&netting->errand);
    return status;
}

/* 0, or -errno of opening the events of the task that WANTED tells of. Its pidfd is taken over. */
static int adopt(struct tasks *tasks, struct arrival wanted)
{
    struct arrival *arrival = calloc(1, sizeof(*arrival));
    if (!arrival) {
        if (wanted.pidfd >= 0)
            close(wanted.pidfd);
        return -ENOMEM;
    }
    *arrival = wanted;
    int status = open_found(tasks->session, arrival);
    if (status < 0)
        return status;
    tasks_admit(tasks, arrival);
    return 0;
}

/*
 * A thread that is in the net has been announced there. But it can be seen in /proc a moment before that: asked often
 * enough, the moment is over.
 */
static bool is_in_net(struct tasks *tasks, pid_t tid)
{
    for (unsigned i = 0; i < 4; i++)
        if (nets_know(tasks->session->nets, tid))
            return true;
    return false;
}

static bool is_strange(struct tasks *tasks, pid_t tid)
{
    return tid > 0 && !tasks_find(tasks, tid) && !is_in_net(tasks, tid);
}

/* NULL: it has ended, and what /proc says of its number may be another's. */
static const struct process *find_there(const struct tasks *tasks, pid_t pid)
{
    const struct process *process = tasks_find_process(tasks, pid);
    return process && numbers_hold(process->pidfd, pid, pid) ? process : NULL;
}

/* The next number of the list *AT; 0: none. */
static pid_t next_child(char **at)
{
    char *end;
    const pid_t child = *at ? (pid_t)strtol(*at, &end, 10) : 0;
    *at = *at && end != *at ? end : NULL;
    return *at ? child : 0;
}

/* Behind the child LAST, or at the beginning when it is not there any more. */
static char *find_rest(char *list, pid_t last)
{
    char *at = list;
    for (pid_t child = last; at && child;)
        if ((child = next_child(&at)) == last)
            return at;
    return list;
}

/*
 * Each of them is a family in turn: tasks_admit(). Where the kernel does not tell children, there are none. False:
 * there was no time for all.
 */
static bool adopt_children(struct tasks *tasks, struct family *family, pid_t tid, uint64_t end_ns)
{
    char name[48];
    pid_t pid = family->pid, child;
    bool done = true;
    snprintf(name, sizeof(name), "task/%d/children", (int)tid);
    char *text = procfs_read(pid, name, CHILDREN_MAX, NULL);
    uint64_t known_ns = clock_ns(CLOCK_MONOTONIC);
    char *at = find_there(tasks, pid) ? find_rest(text, family->child) : NULL;
    while (done && (child = next_child(&at))) {
        if (tasks_find(tasks, child))
            continue;
        if (is_strange(tasks, child))
            adopt(tasks, (struct arrival){.pid = child, .tid = child, .ppid = pid, .parent_tid = tid, .pidfd = -1,
                                          .time_ns = family->time_ns, .known_ns = known_ns, .of_parent = true});
        family->child = child;
        done = tasks_now_ns() < end_ns;
    }
    if (done)
        family->child = 0;
    free(text);
    return done;
}

/* False: there was no time for all. From the beginning when the last one has ended: who is behind it has moved up. */
static bool adopt_members(struct tasks *tasks, struct family *family, uint64_t end_ns)
{
    char path[64];
    pid_t pid = family->pid;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    const struct process *process;
    DIR *folder = opendir(path);
    const struct dirent *entry;
    bool done = true, behind = !family->thread || !numbers_hold(-1, pid, family->thread);
    while (folder && done && (entry = readdir(folder)) && (process = find_there(tasks, pid))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0 || !behind) {
            behind |= tid > 0 && tid == family->thread;
            continue;
        }
        if (tid != pid && is_strange(tasks, tid))
            adopt(tasks, (struct arrival){.pid = pid, .tid = tid, .ppid = pid, .time_ns = family->time_ns,
                                          .pidfd = copy_pidfd(process)});
        done = adopt_children(tasks, family, tid, end_ns);
        if (!done)
            break;
        family->thread = tid;
        done = tasks_now_ns() < end_ns;
    }
    if (folder)
        closedir(folder);
    if (!behind) /* it ended just now */
        family->thread = 0;
    return done && (behind || !find_there(tasks, pid));
}

static void put_family(struct tasks *tasks, struct family *family)
{
    family->next = NULL;
    *(tasks->families ? &tasks->families_last->next : &tasks->families) = family;
    tasks->families_last = family;
}

/* One after the other, whoever found whom: a target can make a chain of them as long as it likes. */
static void adopt_families(struct tasks *tasks)
{
    uint64_t end = tasks_now_ns() + SLICE_NS;
    tasks->adopting = true;
    while (tasks->families && tasks_now_ns() < end) {
        struct family *family = tasks->families;
        tasks->families = family->next;
        if (adopt_members(tasks, family, end))
            free(family);
        else
            put_family(tasks, family);
    }
    tasks->adopting = false;
}

void tasks_adopt_family(struct tasks *tasks, pid_t pid, uint64_t time_ns)
{
    struct family *family = calloc(1, sizeof(*family));
    if (!family) {
        tasks->unseen.uncounted++;
        return;
    }
    family->pid = pid;
    family->time_ns = time_ns;
    put_family(tasks, family);
    if (!tasks->adopting)
        adopt_families(tasks);
}

void tasks_forget_families(struct tasks *tasks)
{
    while (tasks->families) {
        struct family *family = tasks->families;
        tasks->families = family->next;
        free(family);
    }
}

void tasks_tell_no_net(struct tasks *tasks, const struct process *process, int error)
{
    char reason[160];
    snprintf(reason, sizeof(reason), "non-injectable program: its children and threads are not profiled (%s)",
             strerror(-error));
    unseen_add(&tasks->unseen, reason, process->leader ? process->leader->comm : "", 1, 0);
}

void tasks_owe_net(struct tasks *tasks, struct process *process)
{
    process->net_owed = NET_TRIES;
    if (tasks->owed_count >= TASKS_OWED)
        return;
    if (!tasks->owed_count)
        tasks->owed_ns = tasks->now_ns + SOON_NS;
    tasks->owed[tasks->owed_count++] = (struct owed_net){process->pid, SOON_TRIES};
}

/* TRIES: that are left where this one is refused. */
static void try_net(struct tasks *tasks, struct process *process, unsigned tries)
{
    int status = open_net(tasks->session, process, process->pid);
    process->net_owed = status == 0 || status == -EBUSY ? 0 : tries; /* a thread hangs: one is enough */
    if (status == 0) {
        process->net = true;
        tasks_adopt_family(tasks, process->pid, tasks->now_ns);
    } else if (!process->net_owed) {
        tasks_tell_no_net(tasks, process, status);
    }
}

void tasks_retry_net(struct tasks *tasks, struct process *process)
{
    try_net(tasks, process, process->net_owed - 1);
}

void tasks_retry_nets_soon(struct tasks *tasks)
{
    unsigned left = 0;
    if (tasks->now_ns < tasks->owed_ns)
        return;
    tasks->owed_ns = tasks->now_ns + SOON_NS;
    for (unsigned i = 0; i < tasks->owed_count; i++) {
        struct owed_net owed = tasks->owed[i];
        struct process *process = tasks_find_process(tasks, owed.pid);
        if (!process || !process->net_owed || process->ended_ns)
            continue;
        try_net(tasks, process, process->net_owed);
        if (process->net_owed && --owed.tries)
            tasks->owed[left++] = owed;
    }
    tasks->owed_count = left;
}

/* It has got further than to where it would have asked. */
static bool is_past_start(const struct tasks *tasks, const struct task *task, struct image *image)
{
    struct attach_value values[PLAN_EVENTS] = {0};
    attach_read(task->events, values);
    uint64_t clock = tasks_clock(tasks, values);
    if (!image->looked_ns)
        image->looked_ns = clock + 1;
    return clock >= image->looked_ns + SILENT_NS || unseen_has_strangers(&tasks->unseen, task->pid);
}

/* Its children and threads cannot ask either. */
static bool is_silent(const struct tasks *tasks, const struct task *task)
{
    const struct process *process = task->process;
    struct image *image = task->image_count ? &task->images[task->image_count - 1] : NULL;
    if (!image || image->named || !image->looked || image->start_ns != process->exec_ns || !tasks->session->nets)
        return false;
    if (!task->events || task != process->main || task->timed || process->net || process->net_refused ||
        process->secure || tasks->plan->source == PINJECT_SOURCE_TIMER)
        return false;
    return is_past_start(tasks, task, image);
}

void tasks_cover_silent(struct tasks *tasks, struct task *task)
{
    struct process *process = task->process;
    if (!is_silent(tasks, task))
        return;
    int status = open_net(tasks->session, process, task->key);
    process->net = status == 0;
    process->net_refused = status < 0;
    if (status == 0)
        tasks_adopt_family(tasks, process->pid, tasks->now_ns);
    else if (status != -ESRCH)
        tasks_tell_no_net(tasks, process, status);
}

void tasks_adopt_strangers(struct tasks *tasks)
{
    struct unseen_child found[BATCH];
    uint64_t end = tasks_now_ns() + SLICE_NS;
    adopt_families(tasks);
    const struct unseen_wanted wanted = {tasks->now_ns - WAIT_NS, tasks->now_ns - PATIENT_NS, BUSY_NS, TRIES};
    size_t count = unseen_strangers(&tasks->unseen, &wanted, found, BATCH);
    for (size_t i = 0; i < count && tasks_now_ns() < end; i++) {
        const struct unseen_child *child = &found[i];
        unseen_tried(&tasks->unseen, child->tid);
        int status = adopt(tasks, (struct arrival){.pid = child->pid, .tid = child->tid, .ppid = child->parent,
                                                   .time_ns = child->time_ns, .known_ns = child->time_ns, .pidfd = -1});
        /* A thread hangs, or there is none: it does not cost another one. */
        for (unsigned tries = status == -EBUSY ? TRIES : status < 0; tries; tries--)
            unseen_refused(&tasks->unseen, child->tid, status);
    }
}
