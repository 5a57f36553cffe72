/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "target.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/bound.h"
#include "common/buffer.h"
#include "common/clock.h"

enum { TEXT_MAX = 64 << 20, COMMAND_MAX = 4096, TIMES_TO_LIST = 8 };

char *target_read(pid_t pid, pid_t tid, const char *name)
{
    char path[96];
    struct buffer buffer = BUFFER_INIT;
    errno = 0;
    if (tid)
        snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    else
        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    int error = buffer_read_file(&buffer, path, TEXT_MAX);
    if (error == 0 && buffer.data)
        return (char *)buffer.data;
    buffer_release(&buffer);
    errno = -error;
    return NULL;
}

/* ---- /proc/PID/stat ---- */

struct stat_line {
    char comm[TARGET_NAME];
    char state;
    pid_t ppid;
    uint64_t cpu_ns, start_ns; /* start_ns: since boot */
};

static bool parse_stat(const char *text, struct stat_line *ret)
{
    /* The name may have any characters, even ") R 1": the last ")" ends it. */
    const char *open = text ? strchr(text, '(') : NULL, *close = open ? strrchr(open, ')') : NULL;
    unsigned long long user, system, start;
    int ppid;
    *ret = (struct stat_line){0};
    if (!close || sscanf(close + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu",
                         &ret->state, &ppid, &user, &system, &start) != 5)
        return false;
    size_t size = (size_t)(close - open - 1);
    memcpy(ret->comm, open + 1, size < TARGET_NAME - 1 ? size : TARGET_NAME - 1);
    const uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
    ret->ppid = ppid;
    ret->cpu_ns = (user + system) * tick_ns;
    ret->start_ns = start * tick_ns;
    return true;
}

static bool read_stat(pid_t pid, pid_t tid, struct stat_line *ret)
{
    char *text = target_read(pid, tid, "stat");
    bool valid = parse_stat(text, ret);
    free(text);
    return valid;
}

/* ---- Threads ---- */

static pid_t last_number(const char *text)
{
    pid_t last = 0;
    for (char *end; *text && *text != '\n'; text = end) {
        long number = strtol(text, &end, 10);
        if (end == text)
            break;
        last = (pid_t)number;
    }
    return last;
}

/* The tid in its own pid namespace. */
static pid_t inner_number(pid_t pid, pid_t tid, bool *ret_inner)
{
    char *text = target_read(pid, tid, "status");
    const char *line = text ? strstr(text, "\nNSpid:") : NULL;
    pid_t number = line ? last_number(line + 7) : 0;
    free(text);
    if (number && number != tid)
        *ret_inner = true;
    return number ? number : tid;
}

bool target_look(const struct target *target, struct target_thread *thread)
{
    struct stat_line line;
    thread->state = 0;
    thread->wchan[0] = '\0';
    if (!read_stat(target->pid, thread->tid, &line))
        return false;
    memcpy(thread->comm, line.comm, sizeof(thread->comm));
    thread->state = line.state;
    thread->cpu_ns = thread->cpu_ns ? thread->cpu_ns : line.cpu_ns;
    char *wchan = target_read(target->pid, thread->tid, "wchan");
    if (wchan && strcmp(wchan, "0") != 0)
        snprintf(thread->wchan, sizeof(thread->wchan), "%s", wchan);
    free(wchan);
    return true;
}

/* The lines of its call and of its context switches, whose number changes when the thread runs. */
char *target_mark(const struct target *target, const struct target_thread *thread, int *ret_error)
{
    char *call = target_read(target->pid, thread->tid, "syscall"), *mark = NULL;
    *ret_error = call ? 0 : -errno;
    char *status = call && strncmp(call, "running", 7) != 0 ? target_read(target->pid, thread->tid, "status") : NULL;
    const char *switches = status ? strstr(status, "\nvoluntary_ctxt_switches:") : NULL;
    if (switches && asprintf(&mark, "%s%s", call, switches) < 0) {
        mark = NULL;
        *ret_error = -ENOMEM;
    }
    free(call);
    free(status);
    return mark;
}

static void read_thread(struct target *target, struct target_thread *thread)
{
    if (!target_look(target, thread)) {
        thread->error = -ESRCH;
        return;
    }
    char *scheduled = target_read(target->pid, thread->tid, "schedstat");
    if (scheduled)
        thread->cpu_ns = strtoull(scheduled, NULL, 10);
    free(scheduled);
    thread->inner = thread->tid;
    if (target->inner || thread->tid == target->pid)
        thread->inner = inner_number(target->pid, thread->tid, &target->inner);
}

static bool add_thread(struct target *target, pid_t tid)
{
    struct target_thread *threads = reallocarray(target->threads, target->thread_count + 1, sizeof(*target->threads));
    if (!threads)
        return false;
    target->threads = threads;
    threads[target->thread_count++] = (struct target_thread){.tid = tid};
    return true;
}

struct target_thread *target_thread_of(const struct target *target, pid_t tid)
{
    for (size_t i = 0; i < target->thread_count; i++)
        if (target->threads[i].tid == tid)
            return &target->threads[i];
    return NULL;
}

static int by_tid(const void *one, const void *other)
{
    pid_t a = ((const struct target_thread *)one)->tid, b = ((const struct target_thread *)other)->tid;
    return (a > b) - (a < b);
}

/* New threads may appear meanwhile: repeats until a listing has no new one. */
static int list_threads(struct target *target)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)target->pid);
    for (unsigned i = 0; i < TIMES_TO_LIST; i++) {
        DIR *directory = opendir(path);
        size_t before = target->thread_count;
        if (!directory)
            return errno == ENOMEM ? -ENOMEM : 0;
        for (struct dirent *entry; (entry = readdir(directory));) {
            pid_t tid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
            const struct target_thread key = {.tid = tid};
            bool known = before && bsearch(&key, target->threads, before, sizeof(key), by_tid);
            if (tid > 0 && !known && !add_thread(target, tid)) {
                closedir(directory);
                return -ENOMEM;
            }
        }
        closedir(directory);
        qsort(target->threads, target->thread_count, sizeof(*target->threads), by_tid);
        if (target->thread_count == before)
            break;
    }
    return 0;
}

/* ---- Mappings ---- */

static bool parse_map(char *line, struct target_map *ret)
{
    char access[5];
    int path = 0;
    *ret = (struct target_map){0};
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 "%n", &ret->start, &ret->end, access,
               &ret->offset, &ret->maj, &ret->min, &ret->ino, &path) != 7)
        return false;
    ret->path = line + path + strspn(line + path, " ");
    ret->executable = access[2] == 'x';
    ret->anonymous = !ret->path[0] || strncmp(ret->path, "//anon", 6) == 0 || strncmp(ret->path, "[anon", 5) == 0;
    return true;
}

int target_read_maps(struct target *target)
{
    char *text = target_read(target->via, 0, "maps");
    int error = text ? 0 : errno ? -errno : -ESRCH;
    size_t count = 0, lines = 0;
    for (const char *at = text; at && *at; at++)
        lines += *at == '\n';
    struct target_map *maps = text ? calloc(lines + 1, sizeof(*maps)) : NULL;
    if (text && !maps)
        error = -ENOMEM;
    for (char *line = text, *end; maps && *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end)
            *end++ = '\0';
        count += parse_map(line, &maps[count]);
    }
    if (error) {
        free(text);
        free(maps);
        return error;
    }
    free(target->maps_text);
    free(target->maps);
    target->maps_text = text;
    target->maps = maps;
    target->map_count = count;
    return 0;
}

struct target_map *target_map_at(const struct target *target, uint64_t address)
{
    size_t at = UPPER_BOUND(target->maps, target->map_count, .end, address);
    return at < target->map_count && target->maps[at].start <= address ? &target->maps[at] : NULL;
}

/* ---- Processes ---- */

static char *read_command(pid_t pid, const char *comm)
{
    char path[32], *text = NULL;
    struct buffer words = BUFFER_INIT;
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    if (buffer_read_file(&words, path, TEXT_MAX) == 0 && words.size) {
        size_t size = words.size < COMMAND_MAX ? words.size : COMMAND_MAX;
        while (size && words.data[size - 1] == '\0')
            size--;
        for (size_t i = 0; i < size; i++)
            words.data[i] = words.data[i] ? words.data[i] : ' ';
        text = strndup((const char *)words.data, size);
    } else if (asprintf(&text, "[%s]", comm) < 0) {
        text = NULL;
    }
    buffer_release(&words);
    return text;
}

static bool is_narrow(pid_t pid)
{
    char path[32];
    unsigned char ident[EI_NIDENT] = {0};
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool narrow = fd >= 0 && read(fd, ident, sizeof(ident)) == sizeof(ident) && memcmp(ident, ELFMAG, SELFMAG) == 0 &&
                  ident[EI_CLASS] == ELFCLASS32;
    if (fd >= 0)
        close(fd);
    return narrow;
}

static bool has_other_root(pid_t pid)
{
    char path[32];
    struct stat its, ours;
    snprintf(path, sizeof(path), "/proc/%d/root/", (int)pid);
    return stat(path, &its) == 0 && stat("/", &ours) == 0 && (its.st_ino != ours.st_ino || its.st_dev != ours.st_dev);
}

static void read_owner(struct target *target)
{
    char *text = target_read(target->pid, 0, "status");
    const char *uid = text ? strstr(text, "\nUid:") : NULL, *tracer = text ? strstr(text, "\nTracerPid:") : NULL;
    target->uid = uid ? (uid_t)strtoul(uid + 5, NULL, 10) : (uid_t)-1;
    target->tracer = tracer ? (pid_t)strtol(tracer + 11, NULL, 10) : 0;
    free(text);
}

/* If the first thread has ended (pthread_exit()) before others, one of these. */
static pid_t living_thread(const struct target *target)
{
    for (size_t i = 0; strchr("ZXx", target->state) && i < target->thread_count; i++)
        if (target->threads[i].state && !strchr("ZXx", target->threads[i].state))
            return target->threads[i].tid;
    return target->pid;
}

int target_init(struct target *target, pid_t pid)
{
    struct stat_line line;
    *target = (struct target){.pid = pid, .via = pid};
    if (!read_stat(pid, 0, &line)) {
        target->error = -ESRCH;
        return 0;
    }
    memcpy(target->comm, line.comm, sizeof(target->comm));
    target->state = line.state;
    target->ppid = line.ppid;
    target->cpu_ns = line.cpu_ns;
    const uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);
    target->age_ns = now_ns > line.start_ns ? now_ns - line.start_ns : 0;
    read_owner(target);
    if (list_threads(target) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < target->thread_count; i++)
        read_thread(target, &target->threads[i]);
    target->via = living_thread(target);
    target->command = read_command(target->via, target->comm);
    target->other_root = has_other_root(target->via);
    target->narrow = is_narrow(target->via);
    if (!target->command)
        return -ENOMEM;
    if (target->inner)
        for (size_t i = 0; i < target->thread_count; i++)
            target->threads[i].inner = inner_number(pid, target->threads[i].tid, &target->inner);
    return 0;
}

void target_release(struct target *target)
{
    for (size_t i = 0; i < target->thread_count; i++) {
        free(target->threads[i].stack);
        free(target->threads[i].mark);
        free(target->threads[i].frames);
        free(target->threads[i].waits);
    }
    free(target->threads);
    free(target->maps);
    free(target->maps_text);
    free(target->command);
    *target = (struct target){0};
}

/* ---- Trees ---- */

struct parent {
    pid_t pid, ppid;
    bool taken; /* it is in the tree */
};

static int by_parent(const void *one, const void *other)
{
    const struct parent *a = one, *b = other;
    if (a->ppid != b->ppid)
        return a->ppid < b->ppid ? -1 : 1;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

static int read_parents(struct parent **ret, size_t *ret_count)
{
    DIR *directory = opendir("/proc");
    struct parent *list = NULL;
    size_t count = 0, capacity = 0;
    struct stat_line line;
    int error = directory ? 0 : -errno;
    for (struct dirent *entry; directory && !error && (entry = readdir(directory));) {
        pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        if (pid <= 0 || !read_stat(pid, 0, &line))
            continue;
        if (count == capacity) {
            capacity = capacity ? 2 * capacity : 256;
            struct parent *more = reallocarray(list, capacity, sizeof(*list));
            if (!more)
                error = -ENOMEM;
            list = more ? more : list;
        }
        if (!error)
            list[count++] = (struct parent){.pid = pid, .ppid = line.ppid};
    }
    if (directory)
        closedir(directory);
    if (count)
        qsort(list, count, sizeof(*list), by_parent);
    *ret = list;
    *ret_count = count;
    return error;
}

struct tree {
    struct parent *parents; /* by parent */
    size_t parent_count;
    pid_t *pids;
    unsigned *depths;
    size_t count;
};

/* Takes each process once: reads of /proc are not atomic, so pids may repeat. */
static bool take_process(struct tree *tree, pid_t pid)
{
    for (size_t i = 0; i < tree->parent_count; i++) {
        if (tree->parents[i].pid != pid)
            continue;
        bool first = !tree->parents[i].taken;
        tree->parents[i].taken = true;
        return first;
    }
    for (size_t i = 0; i < tree->count; i++)
        if (tree->pids[i] == pid)
            return false;
    return true;
}

static size_t first_child(const struct tree *tree, pid_t pid)
{
    return LOWER_BOUND(tree->parents, tree->parent_count, .ppid, pid);
}

static void insert_process(struct tree *tree, size_t at, pid_t pid, unsigned depth)
{
    size_t behind = tree->count - at;
    memmove(&tree->pids[at + 1], &tree->pids[at], behind * sizeof(*tree->pids));
    memmove(&tree->depths[at + 1], &tree->depths[at], behind * sizeof(*tree->depths));
    tree->pids[at] = pid;
    tree->depths[at] = depth;
    tree->count++;
}

/* Inserts children right after their parent, which is visited before them. No recursion, since a chain may be long. */
static void add_tree(struct tree *tree, pid_t root)
{
    size_t at = tree->count;
    if (!take_process(tree, root))
        return;
    for (insert_process(tree, at, root, 0); at < tree->count; at++) {
        size_t place = at + 1;
        for (size_t i = first_child(tree, tree->pids[at]);
             i < tree->parent_count && tree->parents[i].ppid == tree->pids[at]; i++) {
            if (!tree->parents[i].taken)
                insert_process(tree, place++, tree->parents[i].pid, tree->depths[at] + 1);
            tree->parents[i].taken = true;
        }
    }
}

int target_tree(const pid_t *pids, size_t count, pid_t **ret, unsigned **ret_depths, size_t *ret_count)
{
    struct parent *parents = NULL;
    size_t parent_count = 0;
    int error = read_parents(&parents, &parent_count);
    struct tree tree = {.parents = parents, .parent_count = parent_count};
    tree.pids = calloc(parent_count + count, sizeof(*tree.pids));
    tree.depths = calloc(parent_count + count, sizeof(*tree.depths));
    if (!error && (!tree.pids || !tree.depths))
        error = -ENOMEM;
    for (size_t i = 0; !error && i < count; i++)
        add_tree(&tree, pids[i]);
    free(parents);
    if (error) {
        free(tree.pids);
        free(tree.depths);
        return error;
    }
    *ret = tree.pids;
    *ret_depths = tree.depths;
    *ret_count = tree.count;
    return 0;
}
