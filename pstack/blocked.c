/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "blocked.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/buffer.h"

enum { POLLED_MAX = 8, PIPE_ENDS_MAX = 4, FUTEX_OP_MASK = 127 };

static const char *const net_tables[TARGET_NET] = {"unix", "tcp", "tcp6", "udp", "udp6"};

struct describing {
    struct blocked *blocked;
    struct target *target;
    struct target_thread *thread;
    struct buffer text;
};

static bool read_memory(const struct describing *to, uint64_t address, void *ret, size_t size)
{
    struct iovec local = {ret, size}, remote = {(void *)address, size}; /* NOLINT: an address by nature */
    return process_vm_readv(to->target->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* ---- Descriptors ---- */

/* "0100007F:1F90" of /proc/net/tcp, whose words of an address have the machine's byte order. */
static bool parse_address(const char *text, bool six, char ret[INET6_ADDRSTRLEN + 8])
{
    uint32_t words[4] = {0};
    unsigned port;
    char name[INET6_ADDRSTRLEN];
    bool valid = six ? sscanf(text, "%8" SCNx32 "%8" SCNx32 "%8" SCNx32 "%8" SCNx32 ":%x", &words[0], &words[1],
                              &words[2], &words[3], &port) == 5
                     : sscanf(text, "%8" SCNx32 ":%x", &words[0], &port) == 2;
    if (!valid || !inet_ntop(six ? AF_INET6 : AF_INET, words, name, sizeof(name)))
        return false;
    snprintf(ret, INET6_ADDRSTRLEN + 8, six ? "[%s]:%u" : "%s:%u", name, port);
    return true;
}

/* Of the process's network name space; read once. */
static const char *net_text(struct target *target, size_t table)
{
    char file[32];
    snprintf(file, sizeof(file), "net/%s", net_tables[table]);
    if (!target->net_read[table])
        target->net[table] = target_read(target->pid, 0, file);
    target->net_read[table] = true;
    return target->net[table];
}

static bool describe_inet(struct describing *to, size_t index, uint64_t inode)
{
    char local[64], peer[64], here[INET6_ADDRSTRLEN + 8], there[INET6_ADDRSTRLEN + 8];
    const char *table = net_tables[index];
    const bool six = table[strlen(table) - 1] == '6';
    bool found = false;
    for (const char *line = net_text(to->target, index), *next; line && *line && !found; line = next) {
        unsigned state;
        uint64_t its;
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        if (sscanf(line, " %*d: %63s %63s %x %*s %*s %*s %*u %*d %" SCNu64, local, peer, &state, &its) != 4 ||
            its != inode || !parse_address(local, six, here) || !parse_address(peer, six, there))
            continue;
        found = true;
        const char *name = table[0] == 't' ? "TCP" : "UDP";
        if (state == 10) /* TCP_LISTEN */
            buffer_printf(&to->text, " (%s %s, listening)", name, here);
        else
            buffer_printf(&to->text, " (%s %s, peer %s)", name, here, there);
    }
    return found;
}

static bool describe_unix(struct describing *to, uint64_t inode)
{
    bool found = false;
    for (const char *line = net_text(to->target, 0), *next; line && *line && !found; line = next) {
        uint64_t its;
        int path = 0;
        next = line + strcspn(line, "\n");
        size_t size = (size_t)(next - line);
        next += *next == '\n';
        if (sscanf(line, "%*s %*s %*s %*s %*s %*s %" SCNu64 "%n", &its, &path) != 1 || its != inode)
            continue;
        found = true;
        bool named = (size_t)path + 1 < size;
        buffer_printf(&to->text, " (unix%s%.*s)", named ? " " : "", named ? (int)(size - (size_t)path - 1) : 0,
                      line + path + 1);
    }
    return found;
}

static void describe_socket(struct describing *to, uint64_t inode)
{
    bool found = describe_unix(to, inode);
    for (size_t i = 1; i < TARGET_NET && !found; i++)
        found = describe_inet(to, i, inode);
}

static bool fd_link(pid_t pid, int fd, char ret[PATH_MAX])
{
    char path[48];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
    ssize_t size = readlink(path, ret, PATH_MAX - 1);
    ret[size > 0 ? size : 0] = '\0';
    return size > 0;
}

/* Has FD of PID been opened for writing? */
static bool is_writable(pid_t pid, int fd)
{
    char name[32];
    unsigned flags = 0;
    snprintf(name, sizeof(name), "fdinfo/%d", fd);
    char *text = target_read(pid, 0, name);
    const char *line = text ? strstr(text, "flags:") : NULL;
    bool valid = line && sscanf(line + 6, "%o", &flags) == 1;
    free(text);
    return valid && (flags & 3) != 0;
}

static bool add_end(struct blocked *blocked, const struct blocked_end *end)
{
    if (blocked->end_count == blocked->end_capacity) {
        size_t capacity = blocked->end_capacity ? 2 * blocked->end_capacity : 64;
        struct blocked_end *more = reallocarray(blocked->ends, capacity, sizeof(*more));
        if (!more)
            return false;
        blocked->ends = more;
        blocked->end_capacity = capacity;
    }
    blocked->ends[blocked->end_count++] = *end;
    return true;
}

static void add_ends_of(struct blocked *blocked, const struct target *target)
{
    char path[32], link[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)target->pid);
    DIR *folder = opendir(path);
    bool room = true;
    for (struct dirent *entry; room && folder && (entry = readdir(folder));) {
        struct blocked_end end = {.target = target};
        int fd = atoi(entry->d_name);
        if (!isdigit((unsigned char)entry->d_name[0]) || !fd_link(target->pid, fd, link) ||
            sscanf(link, "pipe:[%" SCNu64 "]", &end.inode) != 1)
            continue;
        end.writes = is_writable(target->pid, fd);
        room = add_end(blocked, &end);
    }
    if (folder)
        closedir(folder);
}

static int by_inode(const void *one, const void *other)
{
    const struct blocked_end *a = one, *b = other;
    if (a->inode != b->inode)
        return a->inode < b->inode ? -1 : 1;
    return (a->target > b->target) - (a->target < b->target);
}

static void read_pipes(struct blocked *blocked)
{
    for (size_t i = 0; i < blocked->count && !blocked->pipes_read; i++)
        if (blocked->targets[i].state)
            add_ends_of(blocked, &blocked->targets[i]);
    if (!blocked->pipes_read && blocked->end_count)
        qsort(blocked->ends, blocked->end_count, sizeof(*blocked->ends), by_inode);
    blocked->pipes_read = true;
}

void blocked_release(struct blocked *blocked)
{
    free(blocked->ends);
    *blocked = (struct blocked){0};
}

/* Who of the processes shown has the other end of a pipe: for a reader, who writes. */
static void describe_pipe(struct describing *to, uint64_t inode, int fd)
{
    struct blocked *blocked = to->blocked;
    const bool reads = !is_writable(to->target->pid, fd);
    const struct target *last = to->target;
    unsigned count = 0;
    size_t at = 0, high;
    read_pipes(blocked);
    for (high = blocked->end_count; at < high;) {
        size_t middle = at + (high - at) / 2;
        if (blocked->ends[middle].inode < inode)
            at = middle + 1;
        else
            high = middle;
    }
    for (; at < blocked->end_count && blocked->ends[at].inode == inode && count <= PIPE_ENDS_MAX; at++) {
        const struct blocked_end *end = &blocked->ends[at];
        if (end->writes != reads || end->target == to->target || end->target == last)
            continue;
        last = end->target;
        if (count < PIPE_ENDS_MAX)
            buffer_printf(&to->text, "%s %d %s", count ? "," : reads ? ", written by" : ", read by",
                          (int)end->target->pid, end->target->comm);
        else
            buffer_printf(&to->text, ", and more");
        count++;
    }
}

static void describe_fd(struct describing *to, int fd)
{
    char link[PATH_MAX];
    uint64_t inode;
    buffer_printf(&to->text, "fd %d", fd);
    if (!fd_link(to->target->pid, fd, link))
        return;
    if (sscanf(link, "socket:[%" SCNu64 "]", &inode) == 1) {
        buffer_printf(&to->text, ": socket");
        describe_socket(to, inode);
    } else if (sscanf(link, "pipe:[%" SCNu64 "]", &inode) == 1) {
        buffer_printf(&to->text, ": pipe");
        describe_pipe(to, inode, fd);
    } else {
        buffer_printf(&to->text, ": %s", link);
    }
}

/* What an epoll instance watches: lines "tfd: N events: ..." of its fdinfo. */
static void describe_epoll(struct describing *to, int fd)
{
    char name[32];
    unsigned count = 0;
    snprintf(name, sizeof(name), "fdinfo/%d", fd);
    char *text = target_read(to->target->pid, 0, name);
    for (const char *line = text; line && (line = strstr(line, "tfd:")); line += 4) {
        int watched = (int)strtol(line + 4, NULL, 10);
        if (count < POLLED_MAX) {
            buffer_printf(&to->text, count ? "; " : "");
            describe_fd(to, watched);
        }
        count++;
    }
    free(text);
    if (count > POLLED_MAX)
        buffer_printf(&to->text, "; and %u more", count - POLLED_MAX);
    if (!count)
        buffer_printf(&to->text, "nothing: no descriptor is watched");
}

static void describe_poll(struct describing *to, uint64_t address, uint64_t count)
{
    struct pollfd polled[POLLED_MAX];
    size_t some = count < POLLED_MAX ? (size_t)count : POLLED_MAX;
    if (!count || !read_memory(to, address, polled, some * sizeof(polled[0])))
        return;
    for (size_t i = 0; i < some; i++) {
        buffer_printf(&to->text, i ? "; " : "");
        describe_fd(to, polled[i].fd);
    }
    if (count > some)
        buffer_printf(&to->text, "; and %" PRIu64 " more", count - some);
}

static void describe_select(struct describing *to)
{
    static const char *const names[] = {"", " (to write)", " (exceptions)"};
    const uint64_t *args = to->thread->args;
    uint64_t words[16], count = args[0] < 1024 ? args[0] : 1024;
    unsigned shown = 0;
    for (unsigned set = 0; set < 3; set++) {
        size_t size = (size_t)(count + 63) / 64 * 8;
        if (!args[set + 1] || !size || !read_memory(to, args[set + 1], words, size))
            continue;
        for (unsigned fd = 0; fd < count && shown < POLLED_MAX; fd++) {
            if (!(words[fd / 64] >> fd % 64 & 1))
                continue;
            buffer_printf(&to->text, shown++ ? "; " : "");
            describe_fd(to, (int)fd);
            buffer_printf(&to->text, "%s", names[set]);
        }
    }
}

/* ---- Locks, threads and children ---- */

static struct target_thread *inner_thread(const struct target *target, pid_t inner)
{
    for (size_t i = 0; i < target->thread_count; i++)
        if (target->threads[i].inner == inner && target->threads[i].state)
            return &target->threads[i];
    return NULL;
}

static void describe_thread(struct describing *to, const struct target_thread *thread)
{
    buffer_printf(&to->text, "thread %d", (int)thread->tid);
    if (strcmp(thread->comm, to->target->comm) != 0)
        buffer_printf(&to->text, " %s", thread->comm);
}

static void held_by(struct describing *to, pid_t owner)
{
    const struct target_thread *holder = inner_thread(to->target, owner);
    buffer_printf(&to->text, "mutex at 0x%" PRIx64, to->thread->args[0]);
    to->thread->lock = to->thread->args[0];
    if (!holder) {
        buffer_printf(&to->text, owner > 0 ? ", held by thread %d, which is not there (any more)" : "", (int)owner);
        return;
    }
    to->thread->holder = holder->tid;
    buffer_printf(&to->text, ", held by ");
    describe_thread(to, holder);
    buffer_printf(&to->text, holder == to->thread ? " itself" : "");
}

/*
 * glibc's pthread_mutex_t begins with the futex, a count, and the tid of its owner; a waiter waits for 2 to change.
 * Robust ones, those with priority inheritance, and musl's have the owner's tid in the futex.
 */
static void describe_futex(struct describing *to)
{
    const uint64_t *args = to->thread->args;
    const unsigned operation = args[1] & FUTEX_OP_MASK;
    const uint32_t expected = (uint32_t)args[2];
    uint32_t words[4];
    const struct target_thread *joined;
    bool readable = read_memory(to, args[0], words, sizeof(words));
    if (readable && (operation == FUTEX_LOCK_PI || operation == 13 /* FUTEX_LOCK_PI2 */)) {
        held_by(to, (pid_t)(words[0] & FUTEX_TID_MASK));
    } else if (readable && operation == FUTEX_WAIT && expected == 2 && words[0] == 2 && (int)words[2] > 0 &&
               inner_thread(to->target, (pid_t)words[2])) {
        held_by(to, (pid_t)words[2]);
    } else if (readable && operation == FUTEX_WAIT && expected & FUTEX_WAITERS && words[0] == expected &&
               inner_thread(to->target, (pid_t)(expected & FUTEX_TID_MASK))) {
        held_by(to, (pid_t)(expected & FUTEX_TID_MASK));
    } else if (readable && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) && words[0] == expected &&
               expected > 1 && (joined = inner_thread(to->target, (pid_t)expected))) {
        to->thread->holder = joined->tid;
        to->thread->joins = true;
        buffer_printf(&to->text, "the end of ");
        describe_thread(to, joined);
    } else {
        buffer_printf(&to->text, "futex at 0x%" PRIx64, args[0]);
    }
}

static void describe_child(struct describing *to, int64_t child, bool all)
{
    const struct blocked *blocked = to->blocked;
    if (all) {
        buffer_printf(&to->text, "a child");
        return;
    }
    buffer_printf(&to->text, "child %" PRId64, child);
    for (size_t i = 0; i < blocked->count; i++)
        for (size_t t = 0; t < blocked->targets[i].thread_count; t++)
            if (blocked->targets[i].ppid == to->target->pid &&
                blocked->targets[i].threads[t].inner == (pid_t)child) {
                buffer_printf(&to->text, " %s", blocked->targets[i].comm);
                return;
            }
}

/* ---- Time ---- */

/* CLOCK: of a moment until which it waits; -1: it waits so long. */
static void describe_time(struct describing *to, uint64_t address, clockid_t clock)
{
    struct timespec time, now = {0};
    if (!read_memory(to, address, &time, sizeof(time)) || time.tv_sec < 0 ||
        (clock >= 0 && clock_gettime(clock, &now) < 0))
        return;
    const double left_s = (double)(time.tv_sec - now.tv_sec) + (double)(time.tv_nsec - now.tv_nsec) / 1e9;
    buffer_printf(&to->text, "%.3f s%s", left_s > 0 ? left_s : 0, clock >= 0 ? " more" : "");
}

/* ---- Calls ---- */

static bool takes_fd(long call)
{
    static const long calls[] = {
        SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev, SYS_ioctl,
        SYS_fcntl, SYS_flock, SYS_fsync, SYS_fdatasync, SYS_ftruncate, SYS_fallocate, SYS_getdents64, SYS_connect,
        SYS_accept, SYS_accept4, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_sendto, SYS_sendmsg, SYS_sendmmsg,
        SYS_sync_file_range, SYS_syncfs, SYS_fstat, SYS_close, SYS_splice, SYS_copy_file_range, SYS_lseek,
        SYS_io_uring_enter, SYS_fchmod, SYS_fchown,
#ifdef SYS_getdents
        SYS_getdents,
#endif
#ifdef SYS_sendfile
        SYS_sendfile,
#endif
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (calls[i] == call)
            return true;
    return false;
}

static void describe(struct describing *to)
{
    const uint64_t *args = to->thread->args;
    switch (to->thread->call) {
    case SYS_futex:
        describe_futex(to);
        break;
    case SYS_wait4:
        describe_child(to, (int)args[0], (int)args[0] <= 0);
        break;
    case SYS_waitid:
        describe_child(to, (int)args[1], args[0] != 1 /* P_PID */);
        break;
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll:
        describe_poll(to, args[0], args[1]);
        break;
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:
        describe_select(to);
        break;
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
        describe_epoll(to, (int)args[0]);
        break;
    case SYS_nanosleep:
        describe_time(to, args[0], -1);
        break;
    case SYS_clock_nanosleep:
        describe_time(to, args[2], args[1] & TIMER_ABSTIME ? (clockid_t)args[0] : -1);
        break;
    default:
        if (takes_fd(to->thread->call))
            describe_fd(to, (int)args[0]);
        break;
    }
}

int blocked_describe(struct blocked *blocked, struct target *target, struct target_thread *thread)
{
    struct describing to = {.blocked = blocked, .target = target, .thread = thread, .text = BUFFER_INIT};
    if (!thread->in_call || !thread->state)
        return 0;
    describe(&to);
    bool some = to.text.size > 0;
    buffer_append(&to.text, "", 1);
    bool failed = buffer_failed(&to.text);
    if (some && !failed)
        thread->waits = strdup((const char *)to.text.data);
    failed |= some && !thread->waits;
    buffer_release(&to.text);
    return failed ? -ENOMEM : 0;
}
