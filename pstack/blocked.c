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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/bound.h"
#include "common/buffer.h"
#include "common/clock.h"

enum { POLLED_MAX = 8, PIPE_ENDS_MAX = 4, FRAMES_LOOKED_AT = 8 };
/* Kernel values: mask of futex operations without flags; FUTEX_LOCK_PI2, which older headers lack; a TCP state. */
enum { FUTEX_OP_MASK = 127, LOCK_PI2 = 13, TCP_LISTEN = 10 };
/* For all threads together: a stopped thread needs a moment to return to its call. */
enum { BACK_MS = 200 };

struct describing {
    struct blocked *blocked;
    struct target *target;
    struct target_thread *thread;
    struct buffer text;
};

static bool read_memory(const struct describing *to, uint64_t address, void *ret, size_t size)
{
    struct iovec local = {ret, size}, remote = {(void *)address, size}; /* NOLINT: an address by nature */
    return process_vm_readv(to->thread->tid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* ---- Descriptors ---- */

/* Parses "0100007F:1F90" of /proc/net/tcp; the words of an address are in the machine's byte order. */
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

static bool add_socket(struct blocked_net *net, uint64_t inode, const char *text)
{
    if (net->count == net->capacity) {
        size_t capacity = net->capacity ? 2 * net->capacity : 64;
        struct blocked_socket *more = reallocarray(net->sockets, capacity, sizeof(*more));
        if (!more)
            return false;
        net->sockets = more;
        net->capacity = capacity;
    }
    char *copy = strdup(text);
    if (copy)
        net->sockets[net->count++] = (struct blocked_socket){inode, copy};
    return copy;
}

static bool take_inet(struct blocked_net *net, const char *line, bool tcp, bool six)
{
    char local[64], peer[64], here[INET6_ADDRSTRLEN + 8], there[INET6_ADDRSTRLEN + 8], text[256];
    unsigned state;
    uint64_t inode;
    if (sscanf(line, " %*d: %63s %63s %x %*s %*s %*s %*u %*d %" SCNu64, local, peer, &state, &inode) != 4 ||
        !parse_address(local, six, here) || !parse_address(peer, six, there))
        return true;
    if (tcp && state == TCP_LISTEN)
        snprintf(text, sizeof(text), "TCP %s, listening", here);
    else
        snprintf(text, sizeof(text), "%s %s, peer %s", tcp ? "TCP" : "UDP", here, there);
    return add_socket(net, inode, text);
}

static bool take_unix(struct blocked_net *net, const char *line)
{
    char text[256];
    uint64_t inode;
    int path = 0;
    if (sscanf(line, "%*s %*s %*s %*s %*s %*s %" SCNu64 "%n", &inode, &path) != 1)
        return true;
    snprintf(text, sizeof(text), "unix%s", line + path); /* " PATH", if it has one */
    return add_socket(net, inode, text);
}

static int by_socket(const void *one, const void *other)
{
    uint64_t a = ((const struct blocked_socket *)one)->inode, b = ((const struct blocked_socket *)other)->inode;
    return (a > b) - (a < b);
}

/* Sockets for which there is no memory are left out. */
static void read_net(struct blocked_net *net, pid_t via)
{
    static const char *const tables[] = {"net/unix", "net/tcp", "net/tcp6", "net/udp", "net/udp6"};
    bool room = true;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        char *text = target_read(via, 0, tables[i]);
        for (char *line = text, *next; line && *line && room; line = next) {
            next = line + strcspn(line, "\n");
            if (*next)
                *next++ = '\0';
            room = i == 0 ? take_unix(net, line) : take_inet(net, line, i < 3, i % 2 == 0);
        }
        free(text);
    }
    if (net->count)
        qsort(net->sockets, net->count, sizeof(*net->sockets), by_socket);
}

/* The sockets of the network namespace of a process; each namespace is read once. */
static const struct blocked_net *net_of(struct blocked *blocked, const struct target *target)
{
    char path[32];
    struct stat space;
    snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)target->via);
    if (stat(path, &space) < 0)
        return NULL;
    for (size_t i = 0; i < blocked->net_count; i++)
        if (blocked->nets[i].space == space.st_ino)
            return &blocked->nets[i];
    struct blocked_net *nets = reallocarray(blocked->nets, blocked->net_count + 1, sizeof(*nets));
    if (!nets)
        return NULL;
    blocked->nets = nets;
    nets[blocked->net_count] = (struct blocked_net){.space = space.st_ino};
    read_net(&nets[blocked->net_count], target->via);
    return &nets[blocked->net_count++];
}

static void describe_socket(struct describing *to, uint64_t inode)
{
    const struct blocked_net *net = net_of(to->blocked, to->target);
    const struct blocked_socket key = {.inode = inode};
    const struct blocked_socket *found = net && net->count
                                             ? bsearch(&key, net->sockets, net->count, sizeof(key), by_socket)
                                             : NULL;
    if (found)
        buffer_printf(&to->text, " (%s)", found->text);
}

static bool fd_link(pid_t pid, int fd, char ret[PATH_MAX])
{
    char path[48];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
    ssize_t size = readlink(path, ret, PATH_MAX - 1);
    ret[size > 0 ? size : 0] = '\0';
    return size > 0;
}

/* Is FD of PID open for writing? */
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
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)target->via);
    DIR *directory = opendir(path);
    bool room = true;
    for (struct dirent *entry; room && directory && (entry = readdir(directory));) {
        struct blocked_end end = {.target = target};
        int fd = atoi(entry->d_name);
        if (!isdigit((unsigned char)entry->d_name[0]) || !fd_link(target->via, fd, link) ||
            sscanf(link, "pipe:[%" SCNu64 "]", &end.inode) != 1)
            continue;
        end.writes = is_writable(target->via, fd);
        room = add_end(blocked, &end);
    }
    if (directory)
        closedir(directory);
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
    for (size_t i = 0; i < blocked->net_count; i++) {
        for (size_t s = 0; s < blocked->nets[i].count; s++)
            free(blocked->nets[i].sockets[s].text);
        free(blocked->nets[i].sockets);
    }
    free(blocked->nets);
    free(blocked->ends);
    *blocked = (struct blocked){0};
}

/* Names the shown processes that have the other end of a pipe: for a reader, the writers. */
static void describe_pipe(struct describing *to, uint64_t inode, int fd)
{
    struct blocked *blocked = to->blocked;
    const bool reads = !is_writable(to->target->via, fd);
    const struct target *last = to->target;
    unsigned count = 0;
    read_pipes(blocked);
    size_t at = LOWER_BOUND(blocked->ends, blocked->end_count, .inode, inode);
    for (; at < blocked->end_count && blocked->ends[at].inode == inode && count <= PIPE_ENDS_MAX; at++) {
        const struct blocked_end *end = &blocked->ends[at];
        if (end->writes != reads || end->target == to->target || end->target == last)
            continue;
        last = end->target;
        if (count < PIPE_ENDS_MAX)
            buffer_printf(&to->text, "%s %d %s",
                          count   ? ","
                          : reads ? ", written by"
                                  : ", read by",
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
    if (!fd_link(to->target->via, fd, link))
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

/* The descriptors that an epoll instance watches: lines "tfd: N events: ..." of its fdinfo. */
static void describe_epoll(struct describing *to, int fd)
{
    char name[32];
    unsigned count = 0;
    snprintf(name, sizeof(name), "fdinfo/%d", fd);
    char *text = target_read(to->target->via, 0, name);
    for (const char *line = text; line && (line = strstr(line, "tfd:")); line += 4) {
        int watched = (int)strtol(line + 4, NULL, 10);
        if (count < POLLED_MAX) {
            buffer_printf(&to->text, count ? "; " : "");
            describe_fd(to, watched);
        }
        count++;
    }
    if (count > POLLED_MAX)
        buffer_printf(&to->text, "; and %u more", count - POLLED_MAX);
    if (!count && text)
        buffer_printf(&to->text, "nothing: no descriptor is watched");
    free(text);
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

static void describe_holder(struct describing *to, pid_t owner)
{
    const struct target_thread *holder = inner_thread(to->target, owner);
    buffer_printf(&to->text, "mutex at 0x%" PRIx64, to->thread->args[0]);
    if (!holder) /* of another process, or created after our list */
        return;
    to->thread->holder = holder->tid;
    buffer_printf(&to->text, ", held by ");
    describe_thread(to, holder);
    buffer_printf(&to->text, holder == to->thread ? " itself" : "");
}

/* Does the name of one of the innermost functions contain PART? A futex does not show its use. */
static bool is_inside(const struct target_thread *thread, const char *part)
{
    for (size_t i = 0; i < thread->frame_count && i < FRAMES_LOOKED_AT; i++)
        if (thread->frames[i].function && strstr(thread->frames[i].function, part))
            return true;
    return false;
}

/* The used part of glibc's pthread_mutex_t. */
struct glibc_mutex {
    uint32_t lock, count, owner, users, kind;
};
enum { KIND_ROBUST = 16, KIND_KNOWN = 0x3ff };
/* In musl the kind comes before the futex. */
enum { MUSL_TYPE = 15, MUSL_KNOWN = 0xbf };

/*
 * The tid of the mutex's owner; 0: not known. In glibc's plain mutex the futex is 2 while threads wait, and the owner
 * is a separate field. In robust mutexes, in those with priority inheritance, and in musl's recursive and
 * error-checking ones the futex contains the owner.
 */
static pid_t mutex_owner(struct describing *to, unsigned operation, uint32_t expected)
{
    const uint64_t address = to->thread->args[0];
    struct glibc_mutex mutex;
    uint32_t type, lock;
    if (operation == FUTEX_LOCK_PI || operation == LOCK_PI2)
        return read_memory(to, address, &lock, sizeof(lock)) ? (pid_t)(lock & FUTEX_TID_MASK) : 0;
    if (operation != FUTEX_WAIT || !(is_inside(to->thread, "mutex") || is_inside(to->thread, "pthread_cond_")))
        return 0;
    const bool readable = read_memory(to, address, &mutex, sizeof(mutex)) && mutex.lock == expected;
    if (readable && expected == 2 && mutex.users >= 1 && !(mutex.kind & ~KIND_KNOWN) && !(mutex.kind & KIND_ROBUST))
        return (pid_t)mutex.owner;
    if (!(expected & FUTEX_WAITERS))
        return 0;
    if (readable && mutex.kind & KIND_ROBUST && !(mutex.kind & ~KIND_KNOWN) &&
        mutex.owner == (expected & FUTEX_TID_MASK))
        return (pid_t)mutex.owner;
    if (read_memory(to, address - sizeof(type), &type, sizeof(type)) && type & MUSL_TYPE && !(type & ~MUSL_KNOWN) &&
        read_memory(to, address, &lock, sizeof(lock)) && lock == expected)
        return (pid_t)(expected & FUTEX_TID_MASK);
    return 0;
}

/* glibc's pthread_join() waits until the tid becomes 0. That futex is not private, since the kernel clears it. */
static const struct target_thread *joined_by(struct describing *to, unsigned operation, uint32_t expected)
{
    uint32_t word;
    bool waits = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
    if (!waits || to->thread->args[1] & FUTEX_PRIVATE_FLAG || !is_inside(to->thread, "join") ||
        !read_memory(to, to->thread->args[0], &word, sizeof(word)) || word != expected)
        return NULL;
    const struct target_thread *joined = inner_thread(to->target, (pid_t)expected);
    return joined == to->thread ? NULL : joined;
}

/* The holder is only given for a thread that has been in this same call since all were marked. */
static void describe_futex(struct describing *to)
{
    struct target_thread *thread = to->thread;
    const unsigned operation = thread->args[1] & FUTEX_OP_MASK;
    const uint32_t expected = (uint32_t)thread->args[2];
    const struct target_thread *joined;
    pid_t owner = thread->mark ? mutex_owner(to, operation, expected) : 0;
    thread->limited = thread->args[3];
    if (owner > 0 && blocked_still(to->target, thread)) {
        describe_holder(to, owner);
    } else if (thread->mark && (joined = joined_by(to, operation, expected)) && blocked_still(to->target, thread)) {
        thread->holder = joined->tid;
        thread->joins = true;
        buffer_printf(&to->text, "the end of ");
        describe_thread(to, joined);
    } else {
        buffer_printf(&to->text, "futex at 0x%" PRIx64, thread->args[0]);
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
            if (blocked->targets[i].ppid == to->target->pid && blocked->targets[i].threads[t].inner == (pid_t)child) {
                buffer_printf(&to->text, " %s", blocked->targets[i].comm);
                return;
            }
}

/* ---- Time ---- */

/* CLOCK: the time is absolute, of that clock; -1: it is relative. */
static void describe_time(struct describing *to, uint64_t address, clockid_t clock)
{
    struct timespec time, now = {0};
    if (!read_memory(to, address, &time, sizeof(time)) || time.tv_sec < 0 ||
        (clock >= 0 && clock_gettime(clock, &now) < 0))
        return;
    const double left_s = (double)time.tv_sec - (double)now.tv_sec + ((double)time.tv_nsec - (double)now.tv_nsec) / 1e9;
    buffer_printf(&to->text, "%.3f s%s", left_s > 0 ? left_s : 0, clock >= 0 ? " more" : "");
}

/* ---- Calls ---- */

static bool takes_fd(long call)
{
    static const long calls[] = {
        SYS_read,           SYS_write,           SYS_readv,           SYS_writev,
        SYS_pread64,        SYS_pwrite64,        SYS_preadv,          SYS_pwritev,
        SYS_ioctl,          SYS_fcntl,           SYS_flock,           SYS_fsync,
        SYS_fdatasync,      SYS_ftruncate,       SYS_fallocate,       SYS_getdents64,
        SYS_connect,        SYS_accept,          SYS_accept4,         SYS_recvfrom,
        SYS_recvmsg,        SYS_recvmmsg,        SYS_sendto,          SYS_sendmsg,
        SYS_sendmmsg,       SYS_sync_file_range, SYS_syncfs,          SYS_fstat,
        SYS_close,          SYS_splice,          SYS_copy_file_range, SYS_lseek,
        SYS_io_uring_enter, SYS_fchmod,          SYS_fchown,
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

static void describe_wait(struct describing *to)
{
    const uint64_t *args = to->thread->args;
    switch (to->thread->call) {
    case SYS_futex: describe_futex(to); break;
    case SYS_wait4: describe_child(to, (int)args[0], (int)args[0] <= 0); break;
    case SYS_waitid: describe_child(to, (int)args[1], args[0] != 1 /* P_PID */); break;
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll: describe_poll(to, args[0], args[1]); break;
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6: describe_select(to); break;
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
        describe_epoll(to, (int)args[0]);
        break;
    case SYS_nanosleep: describe_time(to, args[0], -1); break;
    case SYS_clock_nanosleep: describe_time(to, args[2], args[1] & TIMER_ABSTIME ? (clockid_t)args[0] : -1); break;
    default:
        if (takes_fd(to->thread->call))
            describe_fd(to, (int)args[0]);
        break;
    }
}

/* ---- Marks ---- */

/* Does MARK, which begins with the call's line, belong to the futex call in which the thread was found? */
static bool is_of_call(const char *mark, const struct target_thread *thread)
{
    long number;
    uint64_t address;
    return sscanf(mark, "%ld %" SCNx64, &number, &address) == 2 && number == thread->call && address == thread->args[0];
}

bool blocked_still(const struct target *target, const struct target_thread *thread)
{
    int error;
    char *mark = target_mark(target, thread, &error);
    const bool same = mark && thread->mark && strcmp(mark, thread->mark) == 0;
    free(mark);
    return same;
}

static int mark_thread(const struct target *target, struct target_thread *thread, uint64_t until_ns)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    int error = 0;
    do {
        thread->mark = target_mark(target, thread, &error);
        if (thread->mark && is_of_call(thread->mark, thread))
            return 0;
        free(thread->mark);
        thread->mark = NULL;
        if (error || thread->look != LOOK_STOPPED)
            break;
        nanosleep(&moment, NULL);
    } while (clock_ns(CLOCK_MONOTONIC) < until_ns);
    return error == -ENOMEM ? -ENOMEM : 0;
}

int blocked_mark(struct blocked *blocked)
{
    const uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + BACK_MS * UINT64_C(1000000);
    int error = 0;
    for (size_t i = 0; i < blocked->count && !error; i++)
        for (size_t t = 0; t < blocked->targets[i].thread_count && !error; t++) {
            struct target_thread *thread = &blocked->targets[i].threads[t];
            if (thread->in_call && thread->call == SYS_futex)
                error = mark_thread(&blocked->targets[i], thread, until_ns);
        }
    return error;
}

int blocked_describe(struct blocked *blocked, struct target *target, struct target_thread *thread)
{
    struct describing to = {.blocked = blocked, .target = target, .thread = thread, .text = BUFFER_INIT};
    if (!thread->in_call || !thread->state)
        return 0;
    describe_wait(&to);
    bool some = to.text.size > 0;
    buffer_append(&to.text, "", 1);
    bool failed = buffer_failed(&to.text);
    if (some && !failed)
        thread->waits = strdup((const char *)to.text.data);
    failed |= some && !thread->waits;
    buffer_release(&to.text);
    return failed ? -ENOMEM : 0;
}
