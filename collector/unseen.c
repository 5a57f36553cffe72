/* SPDX-License-Identifier: MIT */
#include "collector/unseen.h"

#include <errno.h>
#include <pinject/wire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/procfs.h"

/* Announced children that are remembered one by one; an older one is settled for each beyond that. */
enum { CHILDREN_MAX = 65536 };
/* A child may exec after its name was looked up, so that it is done some more times. */
enum { LOOKS_MAX = 3 };
/* Looks in one call: each is a file of /proc. */
enum { LOOKS_AT_ONCE = 256, YOUNG_AT_ONCE = 64 };

static const char reason_more[] = "further reasons";
static const char reason_process[] =
    "child exited before it was found (static, setuid, cleaned environment, or no access to the session)";
static const char reason_thread[] = "thread exited before it was found (not created by pthread_create)";
static const char reason_no_slot[] =
    "task exited before it was found (request queue full, or program not injectable: static, setuid)";
static const char reason_refused[] =
    "refused by the kernel: setuid, not dumpable, or of another user (root may see it)";
static const char reason_policy[] = "child not followed (--follow-all follows it)";

int unseen_init(struct unseen *unseen)
{
    *unseen = (struct unseen){0};
    return tids_init(&unseen->arrived);
}

void unseen_release(struct unseen *unseen)
{
    for (unsigned i = 0; i < unseen->count; i++) {
        free((char *)unseen->lines[i].reason);
        free((char *)unseen->lines[i].comm);
    }
    free(unseen->lines);
    for (size_t i = 0; i < UNSEEN_TABLE; i++)
        while (unseen->table[i]) {
            struct unseen_child *child = unseen->table[i];
            unseen->table[i] = child->next;
            free(child);
        }
    tids_release(&unseen->arrived);
    *unseen = (struct unseen){0};
}

static struct result_unseen *find_line(struct unseen *unseen, const char *reason, const char *comm)
{
    for (unsigned i = 0; i < unseen->count; i++)
        if (strcmp(unseen->lines[i].reason, reason) == 0 && strcmp(unseen->lines[i].comm, comm) == 0)
            return &unseen->lines[i];
    if (comm[0] && unseen->named >= UNSEEN_NAMED)
        return find_line(unseen, reason, "");
    if (unseen->count >= UNSEEN_LINES) /* its last line is that of reason_more */
        return strcmp(reason, reason_more) ? find_line(unseen, reason_more, "") : &unseen->lines[unseen->count - 1];
    if (unseen->count == UNSEEN_LINES - 1)
        reason = reason_more, comm = "";
    struct result_unseen *lines = realloc(unseen->lines, (unseen->count + 1) * sizeof(*lines));
    if (!lines)
        return NULL;
    unseen->lines = lines;
    char *reason_copy = strdup(reason), *comm_copy = strdup(comm);
    if (!reason_copy || !comm_copy) {
        free(reason_copy);
        free(comm_copy);
        return NULL;
    }
    lines[unseen->count] = (struct result_unseen){.reason = reason_copy, .comm = comm_copy};
    unseen->named += comm[0] != '\0';
    return &lines[unseen->count++];
}

void unseen_add(struct unseen *unseen, const char *reason, const char *comm, uint64_t count, uint64_t cpu_ns)
{
    struct result_unseen *line = count ? find_line(unseen, reason, comm) : NULL;
    if (!line) {
        unseen->uncounted += count;
        return;
    }
    line->chosen = reason == reason_policy && (!line->count || line->chosen);
    line->count += count;
    line->cpu_ns += cpu_ns;
}

struct result_unseen *unseen_take(struct unseen *unseen, unsigned *ret_count)
{
    struct result_unseen *lines = unseen->lines;
    *ret_count = unseen->count;
    unseen->lines = NULL;
    unseen->count = unseen->named = 0;
    return lines;
}

static struct unseen_child **find_child(const struct unseen *unseen, pid_t tid)
{
    struct unseen_child **at = (struct unseen_child **)&unseen->table[(unsigned)tid % UNSEEN_TABLE];
    while (*at && (*at)->tid != tid)
        at = &(*at)->next;
    return at;
}

struct unseen_child *unseen_find(const struct unseen *unseen, pid_t tid)
{
    return *find_child(unseen, tid);
}

static void put_with_siblings(struct unseen *unseen, struct unseen_child *child)
{
    child->sibling_at = &unseen->by_parent[(unsigned)child->parent % UNSEEN_TABLE];
    child->sibling = *child->sibling_at;
    if (child->sibling)
        child->sibling->sibling_at = &child->sibling;
    *child->sibling_at = child;
}

static void drop(struct unseen *unseen, struct unseen_child **at)
{
    struct unseen_child *child = *at;
    *child->sibling_at = child->sibling;
    if (child->sibling)
        child->sibling->sibling_at = child->sibling_at;
    *at = child->next;
    unseen->children--;
    free(child);
}

static void settle(struct unseen *unseen, struct unseen_child **at)
{
    struct unseen_child *child = *at;
    const char *reason = !child->followed ? reason_policy : child->pid == child->tid ? reason_process : reason_thread;
    if (child->followed && unseen->dropped && __atomic_load_n(unseen->dropped, __ATOMIC_RELAXED))
        reason = reason_no_slot;
    if (child->error == -EACCES || child->error == -EPERM)
        reason = reason_refused;
    unseen_add(unseen, reason, child->comm, 1, child->cpu_ns);
    drop(unseen, at);
}

void unseen_announced(struct unseen *unseen, pid_t parent, pid_t pid, pid_t tid, uint64_t time_ns, bool followed)
{
    if (tid <= 0 || tid >= PINJECT_TASKS || tids_remove(&unseen->arrived, tid))
        return;
    struct unseen_child **at = find_child(unseen, tid);
    if (*at && (*at)->expected && (*at)->parent == parent) {
        (*at)->expected = false;
        (*at)->followed = followed;
        return;
    }
    if (*at) /* the number was used before: that one never came */
        settle(unseen, at);
    else if (unseen->children >= CHILDREN_MAX && unseen->table[(unsigned)tid % UNSEEN_TABLE])
        settle(unseen, &unseen->table[(unsigned)tid % UNSEEN_TABLE]);
    struct unseen_child *child = calloc(1, sizeof(*child));
    if (!child) {
        unseen->uncounted += followed;
        return;
    }
    *child = (struct unseen_child){.next = unseen->table[(unsigned)tid % UNSEEN_TABLE],
                                   .parent = parent,
                                   .pid = pid,
                                   .tid = tid,
                                   .followed = followed,
                                   .time_ns = time_ns};
    unseen->table[(unsigned)tid % UNSEEN_TABLE] = child;
    put_with_siblings(unseen, child);
    unseen->children++;
}

void unseen_expected(struct unseen *unseen, pid_t parent, pid_t pid, uint64_t time_ns)
{
    if (pid <= 0 || pid >= PINJECT_TASKS)
        return;
    struct unseen_child *child = unseen_find(unseen, pid);
    if (child && child->parent == parent) {
        child->time_ns = time_ns; /* looked for from now on */
        child->tries = 0;
        return;
    }
    tids_remove(&unseen->arrived, pid);
    unseen_announced(unseen, parent, pid, pid, time_ns, true);
    child = unseen_find(unseen, pid);
    if (child)
        child->expected = true;
}

bool unseen_take_arrived(struct unseen *unseen, pid_t tid)
{
    return tids_remove(&unseen->arrived, tid);
}

void unseen_arrived(struct unseen *unseen, pid_t tid)
{
    if (tid <= 0 || tid >= PINJECT_TASKS)
        return;
    struct unseen_child **at = find_child(unseen, tid), *child = *at;
    if (!child) {
        tids_add(&unseen->arrived, tid);
        return;
    }
    if (child->expected) /* its announcement may be on its way */
        tids_add(&unseen->arrived, tid);
    drop(unseen, at);
}

bool unseen_has_strangers(const struct unseen *unseen, pid_t parent)
{
    const struct unseen_child *child = unseen->by_parent[(unsigned)parent % UNSEEN_TABLE];
    while (child && (child->parent != parent || child->pid == parent || child->ended))
        child = child->sibling;
    return child;
}

static bool is_wanted(const struct unseen_child *child, const struct unseen_wanted *wanted)
{
    return child->followed && !child->ended && child->tries < wanted->tries && child->time_ns < wanted->before_ns;
}

/* A program that waits for a CPU will ask: a net under what it makes would be for nothing. */
static bool is_young(const struct unseen_child *child, const struct unseen_wanted *wanted)
{
    return child->pid == child->tid && child->time_ns > wanted->patient_ns;
}

/* Of those, some are looked at in each call, in turn. */
static size_t find_young(struct unseen *unseen, const struct unseen_wanted *wanted, struct unseen_child *found,
                         size_t size)
{
    size_t count = 0;
    unsigned looks = 0;
    for (size_t i = 0; i < UNSEEN_TABLE && looks < YOUNG_AT_ONCE && count < size; i++) {
        const struct unseen_child *child = unseen->table[unseen->first_young];
        for (; child && looks < YOUNG_AT_ONCE && count < size; child = child->next)
            if (is_wanted(child, wanted) && is_young(child, wanted)) {
                looks++;
                if (procfs_scheduled_ns(child->pid, child->tid) >= wanted->busy_ns)
                    found[count++] = *child;
            }
        unseen->first_young = (unseen->first_young + 1) % UNSEEN_TABLE;
    }
    return count;
}

size_t unseen_strangers(struct unseen *unseen, const struct unseen_wanted *wanted, struct unseen_child *found,
                        size_t size)
{
    size_t count = 0;
    for (size_t i = 0; unseen->children && i < UNSEEN_TABLE && count < size; i++) {
        const struct unseen_child *child = unseen->table[(unseen->first + i) % UNSEEN_TABLE];
        for (; child && count < size; child = child->next)
            if (is_wanted(child, wanted) && !is_young(child, wanted))
                found[count++] = *child;
    }
    return count + (unseen->children ? find_young(unseen, wanted, found + count, size - count) : 0);
}

void unseen_tried(struct unseen *unseen, pid_t tid)
{
    unseen->first = (unsigned)tid % UNSEEN_TABLE;
}

void unseen_refused(struct unseen *unseen, pid_t tid, int error)
{
    struct unseen_child *child = unseen_find(unseen, tid);
    if (!child)
        return;
    child->tries++;
    child->error = error;
}

void unseen_look(struct unseen *unseen, uint64_t before_ns)
{
    unsigned looks = 0;
    if (!unseen->children)
        return;
    for (size_t i = 0; i < UNSEEN_TABLE; i++)
        for (struct unseen_child *child = unseen->table[i]; child && looks < LOOKS_AT_ONCE; child = child->next)
            if (!child->ended && child->looks < LOOKS_MAX && child->time_ns < before_ns) {
                child->looks++;
                looks++;
                char comm[16];
                procfs_comm(child->pid, child->tid, comm); /* not its stat: that hangs in some execs */
                if (comm[0])
                    memcpy(child->comm, comm, sizeof(comm));
            }
}

void unseen_settle(struct unseen *unseen, uint64_t before_ns)
{
    for (size_t i = 0; i < UNSEEN_TABLE; i++)
        for (struct unseen_child **at = &unseen->table[i]; *at;) {
            if ((*at)->time_ns < before_ns)
                settle(unseen, at);
            else
                at = &(*at)->next;
        }
}
