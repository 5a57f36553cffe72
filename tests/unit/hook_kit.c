/* SPDX-License-Identifier: MIT */
#include "hook_kit.h"

#include "preload/filter.h"
#include "preload/own_environ.h"
#include "preload/session.h"
#include "preload/spawn_directory.h"
#include "preload/sys.h"
#include "preload/thread_records.h"
#include "preload/timer.h"
#include "preload/timer_signal.h"

struct hook_kit hook_kit;
struct pinject_segment hook_segment;
struct pinject_requests hook_requests;
struct pinject_next hook_next;
struct pinject_preload pinject_preload;

/* ---- Lines ---- */

static struct {
    uint32_t used;
    char text[16384];
} * lines; /* shared with children */

void hook_note(const char *format, ...)
{
    va_list list;
    int saved = errno;
    va_start(list, format);
    size_t room = sizeof(lines->text) - lines->used;
    int size = vsnprintf(lines->text + lines->used, room, format, list);
    va_end(list);
    if (size < 0 || (size_t)size + 2 > room)
        abort();
    lines->used += (uint32_t)size;
    lines->text[lines->used++] = '\n';
    lines->text[lines->used] = 0;
    errno = saved;
}

const char *hook_notes(void)
{
    static char copy[sizeof(lines->text)];
    memcpy(copy, lines->text, lines->used + 1);
    lines->used = 0;
    lines->text[0] = 0;
    return copy;
}

const char *hook_text(const char *text)
{
    return text ? text : "null";
}

const char *hook_vector(char *const *vector)
{
    static char text[4096];
    size_t at = 1;
    if (vector && vector == hook_kit.envp)
        return "same";
    if (!vector)
        return "null";
    text[0] = '{';
    for (size_t i = 0; vector[i]; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? "," : "", vector[i]);
    snprintf(text + at, sizeof(text) - at, "}");
    return text;
}

/* A filter for all threads waits for what is within, and for no call of the program's. */
static void within(bool expected)
{
    if (expected != (pinject_preload.busy != 0))
        hook_note("busy: %u", pinject_preload.busy);
}

long hook_answer(void)
{
    within(false);
    if (hook_kit.meanwhile)
        hook_kit.meanwhile();
    if (hook_kit.error_once) {
        errno = hook_kit.error_once;
        hook_kit.error_once = 0;
        return -1;
    }
    if (hook_kit.error)
        errno = hook_kit.error;
    return hook_kit.result;
}

void hook_kit_begin(uint32_t flags)
{
    static char session[] = "PINJECT_SESSION=/s", preload[] = "/p/libpinject.so";
    if (!lines) {
        lines = mmap(NULL, sizeof(*lines), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true((void *)lines != MAP_FAILED);
    }
    lines->used = 0;
    lines->text[0] = 0;
    hook_kit = (struct hook_kit){.exec_kind = PINJECT_EXEC_TAKES};
    hook_segment.closed = 0;
    memset(&hook_requests, 0, offsetof(struct pinject_requests, doorbells));
    memset(&pinject_preload, 0, sizeof(pinject_preload));
    pinject_preload.begun = 2;
    pinject_preload.state = PINJECT_FOLLOWED;
    pinject_preload.flags = flags;
    pinject_preload.pid = getpid();
    pinject_preload.channel = (struct pinject_channel){&hook_segment, &hook_requests, 1, 1000};
    pinject_preload.ours = (struct pinject_ours){session, preload};
    errno = 0;
}

/* ---- preload.h, session.h ---- */

void pinject_preload_settle(void)
{
    hook_note("settle, blocked %u", pinject_preload.blocked);
    errno = EIO;
}

void pinject_preload_init(int argc, char **argv, char **envp)
{
    (void)argc, (void)argv, (void)envp;
    hook_note("init");
    pinject_preload.begun = 2;
}

bool pinject_preload_reachable(void)
{
    hook_note("reachable?");
    return !hook_kit.unreachable;
}

enum pinject_exec_kind pinject_preload_admits(enum pinject_exec_kind exec_kind)
{
    return exec_kind == PINJECT_EXEC_TAKES && hook_kit.unreachable ? PINJECT_EXEC_REFUSES : exec_kind;
}

void pinject_preload_thread(int32_t creator)
{
    within(true);
    hook_note("thread of %s", creator == getpid() ? "the first" : "another");
}

bool pinject_preload_inherits(void)
{
    return pinject_preload.inherits;
}

void pinject_preload_arm(const char *path)
{
    within(true);
    hook_note("arm %s", hook_text(path));
}

void pinject_preload_inherit_exec(bool covered, uint32_t flags, const char *path, char *const *argv)
{
    within(true);
    const char *which = flags == PINJECT_REQUEST_SECURE ? " secure" : flags ? " ?" : "";
    hook_note("inherit%s%s %s %s", covered ? " covered" : "", which, hook_text(path), hook_vector(argv));
}

void pinject_preload_spawned(int32_t pid)
{
    within(true);
    hook_note("spawned %d", pid);
    errno = EIO; /* a hook may not rely on it */
}

void pinject_preload_inherit(void)
{
    hook_note("inherit");
}

void pinject_preload_snapshot(void)
{
    within(true);
    hook_note("snapshot");
}

void pinject_preload_reaped(int32_t pid, int status, uint64_t utime_ns, uint64_t stime_ns, uint64_t switches)
{
    (void)switches;
    within(true);
    hook_note("reaped %d %#x %llu %llu", pid, (unsigned)status, (unsigned long long)utime_ns,
              (unsigned long long)stime_ns);
}

void pinject_preload_before_fork(void)
{
    hook_note("before fork");
}

void pinject_preload_forked(void)
{
    hook_note("forked");
    errno = EIO;
}

bool pinject_preload_user_moves(bool moves)
{
    hook_note(moves ? "user moves" : "user stays");
    return false;
}

void pinject_preload_changes_user(uint32_t real, uint32_t effective, uint32_t saved, bool setreuid)
{
    hook_note("changes %d %d %d%s", (int)real, (int)effective, (int)saved, setreuid ? " as setreuid" : "");
    errno = EIO;
}

void pinject_preload_keeps_user(void)
{
    hook_note("keeps user");
    errno = EIO;
}

void pinject_preload_changed_user(void)
{
    hook_note("changed user");
    errno = EIO;
}

bool pinject_request_covered(const struct pinject_channel *channel, int32_t tid)
{
    return channel == &pinject_preload.channel && tid == sys_gettid() && hook_kit.covered;
}

/* ---- next.h ---- */

const struct pinject_next *pinject_next(void)
{
    return &hook_next;
}

/* ---- own_environ.h ---- */

static const char *whose(struct pinject_ours ours)
{
    return ours.session == pinject_preload.ours.session && ours.preload == pinject_preload.ours.preload ? "ours" : "?";
}

void pinject_own_environ_forget(struct pinject_ours ours)
{
    hook_note("forget %s", whose(ours));
    errno = EIO;
}

void pinject_own_environ_join(struct pinject_ours ours)
{
    hook_note("join %s", whose(ours));
}

/* ---- timer.h, timer_signal.h ---- */

bool pinject_timer_runs(void)
{
    return hook_kit.timer_runs;
}

bool pinject_timer_before_exec(void)
{
    within(true);
    hook_note("timer before");
    return hook_kit.timer_tells;
}

void pinject_timer_after_exec(bool told)
{
    within(true);
    hook_note("timer after%s", told ? " told" : "");
}

void pinject_timer_end_all(bool filter)
{
    hook_note("timers end%s", filter ? "" : " without a filter");
    errno = EIO;
}

void pinject_timer_thread(bool masked)
{
    within(true);
    hook_note("timer thread%s", masked ? " masked" : "");
}

void pinject_timer_pause(void *context)
{
    (void)context;
    hook_note("timer pause");
    hook_kit.paused = true;
}

void pinject_timer_resume(void)
{
    if (hook_kit.paused)
        hook_note("timer resume");
    hook_kit.paused = false;
}

void pinject_timer_alternate(size_t size)
{
    within(true);
    hook_note("alternate %zu", size);
}

void pinject_timer_stop(void)
{
    within(true);
    hook_note("timer stop");
}

int pinject_signal_number(void)
{
    return hook_kit.signal;
}

bool pinject_signal_is_used(void)
{
    return hook_kit.used;
}

bool pinject_signal_masked(void)
{
    return hook_kit.masked;
}

void pinject_signal_set_masked(bool masked)
{
    hook_note("masked %d", masked);
    hook_kit.masked = masked;
}

bool pinject_signal_before_exec(void)
{
    within(true);
    hook_note("signal before");
    return hook_kit.signal_changes;
}

void pinject_signal_after_exec(bool changed)
{
    within(true);
    hook_note("signal after%s", changed ? " changed" : "");
}

/* ---- exec_kind.h, room.h, spawn_directory.h ---- */

static void note_judge(const char *how, const struct pinject_judge *judge, int fd, const char *path)
{
    hook_note("%s %d %s%s%s", how, fd == AT_FDCWD ? -1 : fd, hook_text(path), judge->searches ? " searches" : "",
              judge->directory == AT_FDCWD ? "" : " elsewhere");
}

enum pinject_exec_kind pinject_exec_at(struct pinject_judge *judge, int fd, const char *path)
{
    note_judge("look at", judge, fd, path);
    return hook_kit.exec_kind;
}

enum pinject_exec_kind pinject_exec_search(struct pinject_judge *judge, const char *file)
{
    note_judge("search", judge, judge->directory, file);
    return hook_kit.exec_kind;
}

static struct pinject_room the_room;

struct pinject_room *pinject_room_claim(uint32_t *mark)
{
    *mark = 0x5a5a5a5a; /* what it held does not matter */
    memset(&the_room.judge, 0x5a, offsetof(struct pinject_judge, path));
    the_room.judge.searches = true;
    within(true);
    hook_note("room%s", hook_kit.no_room ? ": none" : "");
    return hook_kit.no_room ? NULL : &the_room;
}

void pinject_room_release(struct pinject_room *room)
{
    within(true);
    hook_note("release%s", room ? "" : " none");
}

void *pinject_room_vector(struct pinject_room *room, size_t size)
{
    return hook_kit.no_vector || size > sizeof(room->vector) ? NULL : room->vector;
}

void pinject_room_call(struct pinject_room *room, void (*call)(void *), void *data)
{
    if (room != &the_room)
        abort();
    call(data);
}

/* ---- thread_pool.h ---- */

static struct pinject_thread_record record;

struct pinject_thread_record *pinject_thread_record_take(void)
{
    hook_note("take");
    memset(&record, 0x5a, sizeof(record));
    return hook_kit.no_record ? NULL : &record;
}

void pinject_thread_record_give(struct pinject_thread_record *given)
{
    hook_note("give%s", given == &record ? "" : " another");
    memset(given, 0xa5, sizeof(*given));
}

void pinject_thread_throttle(const uint32_t *stalled)
{
    hook_note("pool%s", stalled == &hook_requests.stalled ? "" : " of another");
}
