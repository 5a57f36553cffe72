/* SPDX-License-Identifier: MIT */
/*
 * How an exec generation joins its session: it opens the segment, which it can only read, and its user's channel. Both
 * are files; if they cannot be reached the collector's socket hands them out. wire.h has the protocol.
 */
#include "peer.h"
#include "preload.h"
#include "session.h"
#include "state.h"
#include "sys.h"
#include "timer.h"

#include <errno.h>
#include "text.h"
#include <sys/stat.h>

enum {
    TURNS = 100,
    TURN_NS = 100000,
    CHANGES = 8,          /* of user, one after another, by several threads */
    NUMBER = 11 + 21 + 1, /* a dot and the digits of a user, the same of a name, a NUL */
};

/* Lock of the thread that opens a channel. The path is static: a thread's small stack has no room for it. */
static uint32_t turn;
static char requests_path[PINJECT_PATH + NUMBER];

static bool copy_path(char *out, const char *from)
{
    size_t length = strnlen(from, PINJECT_PATH);
    if (length == 0 || length >= PINJECT_PATH || from[0] != '/')
        return false;
    memcpy(out, from, length);
    out[length] = 0;
    return true;
}

/* ---- The segment ---- */

static int check_header(const struct pinject_segment *segment)
{
    struct pinject_preload *preload = &pinject_preload;
    static const char name[] = PINJECT_ENV_SESSION "=";
    if (segment->magic != PINJECT_WIRE_MAGIC || segment->version != PINJECT_WIRE_VERSION ||
        segment->size != sizeof(*segment) || segment->doorbells_used < 1 || segment->doorbells_used > PINJECT_DOORBELLS)
        return -EPROTO;
    if (__atomic_load_n(&segment->closed, __ATOMIC_RELAXED))
        return -ESTALE;
    memcpy(preload->session, name, sizeof(name));
    if (!copy_path(preload->session + sizeof(name) - 1, segment->path) ||
        !copy_path(preload->preload, segment->preload))
        return -EPROTO;
    uint32_t wait_us = segment->wait_us < PINJECT_WAIT_MAX_US ? segment->wait_us : PINJECT_WAIT_MAX_US;
    preload->ours = (struct pinject_ours){preload->session, preload->preload};
    preload->channel = (struct pinject_channel){segment, NULL, segment->doorbells_used, wait_us};
    preload->flags = segment->flags;
    /*
     * LD_PRELOAD cannot hold a path with a blank or a colon: new exec generations would complain, so none is followed.
     */
    if (strchr(preload->preload, ':') || strchr(preload->preload, ' '))
        preload->flags &= ~(uint32_t)(PINJECT_SESSION_VFORK | PINJECT_SESSION_EXEC);
    return 0;
}

/* 0; -EXDEV in another pid namespace; -ESTALE when the collector ended without closing. */
static int check_namespace(int fd, const struct pinject_segment *segment)
{
    struct statx status;
    int32_t holder = segment->flags & PINJECT_SESSION_LOCKED ? sys_lock_holder(fd) : -ENOLCK;
    if (holder == segment->collector)
        return 0;
    /* A collector may have lost its lock and still live. */
    if (holder == 0 && sys_kill(segment->collector, 0) == -ESRCH)
        return -ESTALE;
    /* A different number may be one that this kernel does not translate. */
    if (sys_statx(AT_FDCWD, "/proc/self/ns/pid", 0, STATX_INO, &status) < 0)
        return 0; /* no /proc here. The segment's path was reachable, so assume the same container */
    return status.stx_ino == segment->pid_namespace ? 0 : -EXDEV;
}

/* A file of SIZE bytes that root or this process' user made; *RET_OWN: which of them. The kernel checks the rights. */
static int check_file(int fd, size_t size, bool *ret_own)
{
    struct statx status;
    int error = sys_statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE | STATX_UID, &status);
    if (error < 0)
        return error;
    *ret_own = status.stx_uid == pinject_preload.user;
    if (!S_ISREG(status.stx_mode) || status.stx_size != size)
        return -EPROTO;
    return *ret_own || status.stx_uid == 0 ? 0 : -EPERM;
}

static int map_segment(int fd, bool *ret_own)
{
    int error = check_file(fd, sizeof(struct pinject_segment), ret_own);
    if (error < 0)
        return error;
    struct pinject_segment *segment = sys_map(sizeof(*segment), PROT_READ, MAP_SHARED, fd);
    if (sys_failed(segment))
        return (int)(intptr_t)segment;
    error = check_header(segment);
    if (error < 0)
        sys_unmap(segment, sizeof(*segment));
    return error;
}

/* ---- The channel ---- */

/* "PATH.USER.NAME" in a buffer that all callers share; turn is taken. */
static void write_requests_path(const char *path, const struct pinject_user *user)
{
    char end[NUMBER], *at = end + sizeof(end);
    *--at = 0;
    at = pinject_text_number(at, user->name);
    at = pinject_text_number(at, user->user);
    pinject_text_join(requests_path, sizeof(requests_path), path, at);
}

/* What the collector published about USER's channel; NULL: there is none. */
static const struct pinject_user *find_channel(const struct pinject_segment *segment, uint32_t user)
{
    /* Pairs with the release in the collector's publish_channel(). */
    uint32_t count = __atomic_load_n(&segment->users_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count && i < PINJECT_USERS; i++)
        if (segment->users[i].user == user)
            return &segment->users[i];
    return NULL;
}

/* A descriptor of the channel's file. */
static int open_requests_file(const char *path, const struct pinject_user *user)
{
    bool own;
    if (!user || !user->name)
        return -ENOENT;
    write_requests_path(path, user);
    int fd = sys_open(requests_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fd;
    int error = check_file(fd, sizeof(struct pinject_requests), &own);
    if (error == 0 && own)
        return fd;
    sys_close(fd);
    return error < 0 ? error : -EPERM;
}

static const char *segment_path(void)
{
    return pinject_preload.session + sizeof(PINJECT_ENV_SESSION "=") - 1;
}

/* OWN: this user owns the segment's file, which has the collector's uid for it (the uids differ between two user
   namespaces). */
static int open_requests(const struct pinject_segment *segment, bool own)
{
    int fds[2];
    const char *path = segment_path();
    int fd = open_requests_file(path, find_channel(segment, own ? segment->user : pinject_preload.user));
    if (fd >= 0 || pinject_peer_ask(path, segment, pinject_preload.user, fds) < 0)
        return fd;
    sys_close(fds[0]);
    int error = check_file(fds[1], sizeof(struct pinject_requests), &own);
    if (error == 0)
        return fds[1];
    sys_close(fds[1]);
    return error;
}

static int map_requests(int fd, int flags, void *at)
{
    const int protection = PROT_READ | PROT_WRITE;
    void *map = (void *)SYS_6(SYS_mmap, at, sizeof(struct pinject_requests), protection, MAP_SHARED | flags, fd, 0);
    sys_close(fd);
    if (sys_failed(map))
        return (int)(intptr_t)map;
    pinject_preload.channel.requests = map;
    return 0;
}

void pinject_preload_close(void)
{
    struct pinject_channel *channel = &pinject_preload.channel;
    if (channel->requests)
        sys_unmap(channel->requests, sizeof(*channel->requests));
    if (channel->segment)
        sys_unmap((void *)(uintptr_t)channel->segment, sizeof(*channel->segment));
    channel->requests = NULL;
    channel->segment = NULL;
}

/* FD: of the segment. REQUESTS: of the channel, or negative. Both are closed. */
static int join_session(int fd, int requests)
{
    bool own = false;
    int error = map_segment(fd, &own);
    if (error < 0) {
        sys_close(fd);
        if (requests >= 0)
            sys_close(requests);
        return error;
    }
    error = check_namespace(fd, pinject_preload.channel.segment);
    sys_close(fd);
    if (requests < 0 && (error == 0 || error == -EXDEV))
        requests = open_requests(pinject_preload.channel.segment, own);
    int mapped = requests < 0 ? requests : map_requests(requests, 0, NULL);
    if (error == -EXDEV && mapped == 0)
        __atomic_fetch_add(&pinject_preload.channel.requests->foreign, 1, __ATOMIC_RELAXED);
    error = error < 0 ? error : mapped;
    if (error < 0)
        pinject_preload_close();
    return error;
}

static int open_segment(const char *path)
{
    return sys_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

/* The file is not of the user that the auxiliary vector names; a tracer may have changed that. Asks the kernel. */
static int join_as_own_user(const char *path, int error)
{
    uint32_t user = pinject_peer_own_user();
    int fd = user == UINT32_MAX || user == pinject_preload.user ? -EPERM : open_segment(path);
    if (fd < 0)
        return error;
    pinject_preload.user = user;
    return join_session(fd, -EBADF);
}

int pinject_preload_open(const char *path)
{
    int fds[2];
    int fd = open_segment(path);
    if (fd >= 0) {
        int error = join_session(fd, -EBADF);
        return error == -EPERM ? join_as_own_user(path, error) : error;
    }
    /* Another /dev/shm, chroot. */
    if (path[0] != '/' || pinject_peer_ask(path, NULL, pinject_preload.user, fds) < 0)
        return fd;
    return join_session(fds[0], fds[1]);
}

/* Opens it: landlock hides nothing but refuses to open. Without a free descriptor only the existence is checked. */
static bool can_open(const char *path)
{
    int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0)
        sys_close(fd);
    return fd == -EMFILE || fd == -ENFILE ? sys_exists(path) : fd >= 0;
}

bool pinject_preload_reachable(void)
{
    const char *path = segment_path();
    int fds[2];
    if (!can_open(pinject_preload.preload))
        return false;
    if (can_open(path))
        return true;
    if (pinject_peer_ask(path, NULL, (uint32_t)SYS_0(SYS_geteuid), fds) < 0)
        return false;
    sys_close(fds[0]);
    sys_close(fds[1]);
    return true;
}

/* ---- Another user ---- */

static bool try_turn(void)
{
    uint32_t nobody = 0;
    return __atomic_compare_exchange_n(&turn, &nobody, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static bool wait_for_turn(void)
{
    for (int i = 0; i < TURNS; i++) {
        sys_sleep_ns(TURN_NS);
        if (try_turn())
            return true;
    }
    return false;
}

static void give_turn_back(void)
{
    __atomic_store_n(&turn, 0, __ATOMIC_RELEASE);
}

static bool may_change_user(void)
{
    return pinject_preload_follows() && !pinject_preload.user_fixed && sys_getpid() == pinject_preload.pid;
}

/* Another user namespace has other uids: the collector's socket learns from the kernel which user it is then. */
static bool user_moved;

bool pinject_preload_user_moves(bool moves)
{
    return __atomic_exchange_n(&user_moved, moves, __ATOMIC_RELAXED);
}

/* Does it keep no right to the channel's user? Then it cannot come back. */
static bool gives_up_user(uint32_t real, uint32_t effective, uint32_t saved)
{
    const uint32_t user = pinject_preload.user;
    return real != user && effective != user && saved != user;
}

static bool is_collectors_namespace(const struct pinject_segment *segment)
{
    struct statx status;
    return sys_statx(AT_FDCWD, "/proc/self/ns/user", 0, STATX_INO, &status) == 0 &&
           status.stx_ino == segment->user_namespace;
}

/* What setreuid() saves: the new effective user, if the real one is set or the effective one becomes another. */
static uint32_t saved_by_setreuid(const uint32_t now[3], uint32_t real, uint32_t effective)
{
    if (real == UINT32_MAX && (effective == UINT32_MAX || effective == now[0]))
        return now[2];
    return effective == UINT32_MAX ? now[1] : effective;
}

/*
 * Memory to replace the channel of a process that is about to give it up. Mapped while the process has its rights:
 * mlockall(MCL_FUTURE) refuses memory to a process that has lost CAP_IPC_LOCK. NULL: none.
 */
static struct pinject_requests *spare;

static struct pinject_requests *map_alone(void)
{
    void *alone = sys_map(sizeof(struct pinject_requests), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    return sys_failed(alone) ? NULL : alone;
}

static void hold_spare(void)
{
    struct pinject_requests *none = NULL, *alone = map_alone();
    if (alone && !__atomic_compare_exchange_n(&spare, &none, alone, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        sys_unmap(alone, sizeof(*alone)); /* another thread is doing the same */
}

static struct pinject_requests *take_spare(void)
{
    return __atomic_exchange_n(&spare, NULL, __ATOMIC_RELAXED);
}

void pinject_preload_keeps_user(void)
{
    struct pinject_requests *alone = __atomic_load_n(&spare, __ATOMIC_RELAXED) ? take_spare() : NULL;
    if (alone)
        sys_unmap(alone, sizeof(*alone));
}

void pinject_preload_changes_user(uint32_t real, uint32_t effective, uint32_t saved, bool setreuid)
{
    uint32_t now[3];
    /*
     * Root, if the collector knows it as root: the root of a user namespace has the channel of the user that made that.
     */
    if (!may_change_user() || pinject_preload.user != 0 || pinject_preload.channel.segment->user != 0 ||
        SYS_3(SYS_getresuid, &now[0], &now[1], &now[2]) < 0)
        return;
    if (setreuid)
        saved = saved_by_setreuid(now, real, effective);
    real = real == UINT32_MAX ? now[0] : real;
    effective = effective == UINT32_MAX ? now[1] : effective;
    saved = saved == UINT32_MAX ? now[2] : saved;
    const struct pinject_segment *segment = pinject_preload.channel.segment;
    const bool leaves = gives_up_user(real, effective, saved);
    if (leaves || user_moved)
        hold_spare();
    if (leaves && !user_moved && !find_channel(segment, effective) && is_collectors_namespace(segment))
        pinject_preload_become(effective);
}

/*
 * Private memory replaces the channel in one step, so that a thread in the middle of a request still finds memory; it
 * says there that no answer comes. False: it failed.
 */
static bool give_up_channel(void)
{
    struct pinject_requests *old = pinject_preload.channel.requests;
    struct pinject_requests *alone = take_spare();
    if (!alone && !(alone = map_alone()))
        return false;
    alone->stalled = PINJECT_STALLED_FULL;
    long moved = SYS_5(SYS_mremap, alone, sizeof(*alone), sizeof(*alone), MREMAP_MAYMOVE | MREMAP_FIXED, old);
    if (moved == (long)(intptr_t)old)
        return true;
    sys_unmap(alone, sizeof(*alone));
    /* A filter forbids mremap. The new memory is not marked as stalled at once: a request in between may wait once. */
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    moved = SYS_6(SYS_mmap, old, sizeof(*old), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (moved != (long)(intptr_t)old)
        return false;
    __atomic_store_n(&old->stalled, PINJECT_STALLED_FULL, __ATOMIC_RELAXED);
    return true;
}

/*
 * True: the process gave its user up and is *RET_USER now, whose channel it does not have yet. ASKED: it called for
 * another user, who may have the same number in another user namespace.
 */
static bool gave_up_user(bool asked, uint32_t *ret_user)
{
    uint32_t real = 0, effective = 0, saved = 0;
    if (SYS_3(SYS_getresuid, &real, &effective, &saved) < 0 ||
        !((asked && user_moved) || gives_up_user(real, effective, saved)))
        return false;
    pinject_timer_end_all(false);
    if (!give_up_channel())
        return false;
    pinject_timer_give_up_rings();
    user_moved = false;
    *ret_user = effective;
    return true;
}

/*
 * A thread that does not get the turn gives up its channel all the same, since nothing else does: the turn may belong
 * to the program that this handler interrupted, or to a thread before its own change, which then fails. Only one thread
 * at a time opens the next channel. It checks again, as another one may have changed the user meanwhile.
 */
static void change_user(bool asked)
{
    uint32_t user = 0;
    if (!may_change_user())
        return;
    bool mine = try_turn();
    if (!mine) {
        gave_up_user(asked, &user);
        mine = wait_for_turn();
    }
    for (int i = 0; mine && i < CHANGES && gave_up_user(asked, &user); i++) {
        pinject_preload.user = user;
        /* The segment's owner is another user now, whoever it is. */
        int fd = open_requests(pinject_preload.channel.segment, false);
        if (fd >= 0)
            map_requests(fd, MAP_FIXED, pinject_preload.channel.requests);
    }
    if (mine)
        give_turn_back();
    pinject_preload_keeps_user(); /* it was not needed */
}

void pinject_preload_changed_user(void)
{
    change_user(true);
}

void pinject_preload_look_at_user(void)
{
    change_user(false);
}

void pinject_session_forked(void)
{
    __atomic_store_n(&turn, 0, __ATOMIC_RELAXED); /* of a thread that is not here */
}
