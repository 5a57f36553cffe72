/* SPDX-License-Identifier: MIT */
#include "collector/tasks/missed.h"

#include <errno.h>
#include <pinject/wire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/system/procfs.h"

/* Announced children that are kept; beyond that each new one settles an older one. */
enum { CHILDREN_MAX = 65536 };
/* A child may exec after its name was looked up, so it is looked up some more times. */
enum { LOOKS_MAX = 3 };
/* Looks in one call: each reads a file of /proc. */
enum { LOOKS_AT_ONCE = 256, YOUNG_AT_ONCE = 64 };

static const char reason_more[] = "other reasons";
static const char reason_process[] =
    "child exited before it was found (static, setuid, cleaned environment, or no access to pinject's files)";
static const char reason_thread[] = "thread exited before it was found (not created by pthread_create)";
static const char reason_no_slot[] =
    "task exited before it was found (request queue full, or the program is static or setuid)";
static const char reason_refused[] =
    "refused by the kernel: the task is setuid, not dumpable, or of another user (root can profile it)";
static const char reason_policy[] = "child not followed (--follow-all follows it)";

int missed_init(struct missed *missed)
{
    *missed = (struct missed){0};
    return tids_init(&missed->requested);
}

void missed_release(struct missed *missed)
{
    for (unsigned i = 0; i < missed->count; i++) {
        free((char *)missed->lines[i].reason);
        free((char *)missed->lines[i].comm);
    }
    free(missed->lines);
    for (size_t i = 0; i < MISSED_TABLE; i++)
        while (missed->table[i]) {
            struct untracked_task *child = missed->table[i];
            missed->table[i] = child->next;
            free(child);
        }
    tids_release(&missed->requested);
    *missed = (struct missed){0};
}

static struct result_missed *find_line(struct missed *missed, const char *reason, const char *comm)
{
    for (unsigned i = 0; i < missed->count; i++)
        if (strcmp(missed->lines[i].reason, reason) == 0 && strcmp(missed->lines[i].comm, comm) == 0)
            return &missed->lines[i];
    if (comm[0] && missed->named >= MISSED_NAMED)
        return find_line(missed, reason, "");
    if (missed->count >= MISSED_LINES) /* its last line is that of reason_more */
        return strcmp(reason, reason_more) ? find_line(missed, reason_more, "") : &missed->lines[missed->count - 1];
    if (missed->count == MISSED_LINES - 1)
        reason = reason_more, comm = "";
    struct result_missed *lines = realloc(missed->lines, (missed->count + 1) * sizeof(*lines));
    if (!lines)
        return NULL;
    missed->lines = lines;
    char *reason_copy = strdup(reason), *comm_copy = strdup(comm);
    if (!reason_copy || !comm_copy) {
        free(reason_copy);
        free(comm_copy);
        return NULL;
    }
    lines[missed->count] = (struct result_missed){.reason = reason_copy, .comm = comm_copy};
    missed->named += comm[0] != '\0';
    return &lines[missed->count++];
}

void missed_add(struct missed *missed, const char *reason, const char *comm, uint64_t count, uint64_t cpu_ns)
{
    struct result_missed *line = count ? find_line(missed, reason, comm) : NULL;
    if (!line) {
        missed->uncounted += count;
        return;
    }
    line->chosen = reason == reason_policy && (!line->count || line->chosen);
    line->count += count;
    line->cpu_ns += cpu_ns;
}

struct result_missed *missed_take(struct missed *missed, unsigned *ret_count)
{
    struct result_missed *lines = missed->lines;
    *ret_count = missed->count;
    missed->lines = NULL;
    missed->count = missed->named = 0;
    return lines;
}

static struct untracked_task **find_child(const struct missed *missed, pid_t tid)
{
    struct untracked_task **at = (struct untracked_task **)&missed->table[(unsigned)tid % MISSED_TABLE];
    while (*at && (*at)->tid != tid)
        at = &(*at)->next;
    return at;
}

struct untracked_task *missed_find(const struct missed *missed, pid_t tid)
{
    return *find_child(missed, tid);
}

static void put_with_siblings(struct missed *missed, struct untracked_task *child)
{
    struct untracked_task **table = child->followed && child->pid != child->tid ? missed->threads : missed->by_parent;
    child->sibling_at = &table[(unsigned)child->parent % MISSED_TABLE];
    child->sibling = *child->sibling_at;
    if (child->sibling)
        child->sibling->sibling_at = &child->sibling;
    *child->sibling_at = child;
}

static void drop_task(struct missed *missed, struct untracked_task **at)
{
    struct untracked_task *child = *at;
    *child->sibling_at = child->sibling;
    if (child->sibling)
        child->sibling->sibling_at = child->sibling_at;
    *at = child->next;
    missed->children--;
    free(child);
}

static void settle_task(struct missed *missed, struct untracked_task **at)
{
    struct untracked_task *child = *at;
    if (child->refused) {
        drop_task(missed, at);
        return;
    }
    const char *reason = !child->followed ? reason_policy : child->pid == child->tid ? reason_process : reason_thread;
    if (child->followed && missed->dropped && __atomic_load_n(missed->dropped, __ATOMIC_RELAXED))
        reason = reason_no_slot;
    if (child->error == -EACCES || child->error == -EPERM)
        reason = reason_refused;
    missed_add(missed, reason, child->comm, 1, child->cpu_ns);
    drop_task(missed, at);
}

void missed_announced(struct missed *missed, pid_t parent, pid_t pid, pid_t tid, uint64_t time_ns, bool followed)
{
    if (tid <= 0 || tid >= PINJECT_TASKS || tids_remove(&missed->requested, tid))
        return;
    struct untracked_task **at = find_child(missed, tid);
    if (*at && (*at)->expected && (*at)->parent == parent) {
        (*at)->expected = false;
        (*at)->followed = followed && !(*at)->refused;
        return;
    }
    if (*at) /* an earlier task with this number never came */
        settle_task(missed, at);
    else if (missed->children >= CHILDREN_MAX && missed->table[(unsigned)tid % MISSED_TABLE])
        settle_task(missed, &missed->table[(unsigned)tid % MISSED_TABLE]);
    struct untracked_task *child = calloc(1, sizeof(*child));
    if (!child) {
        missed->uncounted += followed;
        return;
    }
    *child = (struct untracked_task){.next = missed->table[(unsigned)tid % MISSED_TABLE],
                                     .parent = parent,
                                     .pid = pid,
                                     .tid = tid,
                                     .followed = followed,
                                     .time_ns = time_ns};
    missed->table[(unsigned)tid % MISSED_TABLE] = child;
    put_with_siblings(missed, child);
    missed->children++;
}

void missed_expected(struct missed *missed, pid_t parent, pid_t pid, uint64_t time_ns)
{
    if (pid <= 0 || pid >= PINJECT_TASKS)
        return;
    struct untracked_task *child = missed_find(missed, pid);
    if (child && child->parent == parent) {
        child->time_ns = time_ns; /* it is looked for from now on */
        child->tries = 0;
        return;
    }
    tids_remove(&missed->requested, pid);
    missed_announced(missed, parent, pid, pid, time_ns, true);
    child = missed_find(missed, pid);
    if (child)
        child->expected = true;
}

bool missed_has_requested(const struct missed *missed, pid_t tid)
{
    return tids_has(&missed->requested, tid);
}

bool missed_take_requested(struct missed *missed, pid_t tid)
{
    return tids_remove(&missed->requested, tid);
}

void missed_requested(struct missed *missed, pid_t tid)
{
    if (tid <= 0 || tid >= PINJECT_TASKS)
        return;
    struct untracked_task **at = find_child(missed, tid), *child = *at;
    if (!child) {
        tids_add(&missed->requested, tid);
        return;
    }
    if (child->expected) /* its announcement may be on its way */
        tids_add(&missed->requested, tid);
    drop_task(missed, at);
}

void missed_refused_child(struct missed *missed, pid_t parent, pid_t pid, uint64_t time_ns)
{
    struct untracked_task *child = missed_find(missed, pid);
    if (!child || child->parent != parent)
        missed_expected(missed, parent, pid, time_ns);
    child = missed_find(missed, pid);
    if (!child || child->pid != child->tid)
        return;
    child->refused = true;
    child->followed = false; /* nobody looks for it */
}

bool missed_has_untracked(const struct missed *missed, pid_t parent)
{
    const struct untracked_task *child = missed->by_parent[(unsigned)parent % MISSED_TABLE];
    while (child && (child->parent != parent || child->pid == parent || child->ended))
        child = child->sibling;
    return child;
}

bool missed_has_thread(const struct missed *missed, pid_t pid)
{
    const struct untracked_task *thread = missed->threads[(unsigned)pid % MISSED_TABLE];
    while (thread && thread->pid != pid)
        thread = thread->sibling;
    return thread;
}

static bool is_wanted(const struct untracked_task *child, const struct missed_wanted *wanted)
{
    return child->followed && !child->ended && child->tries < wanted->tries && child->time_ns < wanted->before_ns;
}

/* A program that waits for a CPU will send a request: an inherited set under it would be wasted. */
static bool is_young(const struct untracked_task *child, const struct missed_wanted *wanted)
{
    return child->pid == child->tid && child->time_ns > wanted->patient_ns;
}

/* In each call some of the young ones are looked at, in turn. */
static size_t find_young(struct missed *missed, const struct missed_wanted *wanted, struct untracked_task *found,
                         size_t size)
{
    size_t count = 0;
    unsigned looks = 0;
    for (size_t i = 0; i < MISSED_TABLE && looks < YOUNG_AT_ONCE && count < size; i++) {
        const struct untracked_task *child = missed->table[missed->first_young];
        for (; child && looks < YOUNG_AT_ONCE && count < size; child = child->next)
            if (is_wanted(child, wanted) && is_young(child, wanted)) {
                looks++;
                if (procfs_scheduled_ns(child->pid, child->tid) >= wanted->busy_ns)
                    found[count++] = *child;
            }
        missed->first_young = (missed->first_young + 1) % MISSED_TABLE;
    }
    return count;
}

size_t missed_untracked(struct missed *missed, const struct missed_wanted *wanted, struct untracked_task *found,
                        size_t size)
{
    size_t count = 0;
    for (size_t i = 0; missed->children && i < MISSED_TABLE && count < size; i++) {
        const struct untracked_task *child = missed->table[(missed->first + i) % MISSED_TABLE];
        for (; child && count < size; child = child->next)
            if (is_wanted(child, wanted) && !is_young(child, wanted))
                found[count++] = *child;
    }
    return count + (missed->children ? find_young(missed, wanted, found + count, size - count) : 0);
}

void missed_tried(struct missed *missed, pid_t tid)
{
    missed->first = (unsigned)tid % MISSED_TABLE;
}

void missed_refused(struct missed *missed, pid_t tid, int error)
{
    struct untracked_task *child = missed_find(missed, tid);
    if (!child)
        return;
    child->tries++;
    child->error = error;
}

void missed_look(struct missed *missed, uint64_t before_ns)
{
    unsigned looks = 0;
    if (!missed->children)
        return;
    for (size_t i = 0; i < MISSED_TABLE; i++)
        for (struct untracked_task *child = missed->table[i]; child && looks < LOOKS_AT_ONCE; child = child->next)
            if (!child->ended && !child->refused && child->looks < LOOKS_MAX && child->time_ns < before_ns) {
                child->looks++;
                looks++;
                char comm[16];
                procfs_comm(child->pid, child->tid, comm); /* not its stat, which hangs during some execs */
                if (comm[0])
                    memcpy(child->comm, comm, sizeof(comm));
            }
}

void missed_settle(struct missed *missed, uint64_t before_ns)
{
    for (size_t i = 0; i < MISSED_TABLE; i++)
        for (struct untracked_task **at = &missed->table[i]; *at;) {
            if ((*at)->time_ns < before_ns)
                settle_task(missed, at);
            else
                at = &(*at)->next;
        }
}
