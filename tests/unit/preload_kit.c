/* SPDX-License-Identifier: MIT */
#include "preload_kit.h"

#include "preload/own_environ.h"
#include "preload/program.h"
#include "preload/room.h"
#include "preload/session.h"
#include "preload/start.h"
#include "preload/sys.h"
#include "preload/thread_records.h"
#include "preload/timer.h"

#include <sys/auxv.h>

/* preload.c is compiled with these names. */
unsigned long own_getauxval(unsigned long type);
int own_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

struct preload_play play;
struct pinject_segment segment;
struct pinject_requests requests;
struct pinject_slot slot;
uint32_t begun_before_main;

static struct {
    uint32_t used;
    char text[16384];
} * lines;

void preload_kit_begin(void)
{
    lines = mmap(NULL, sizeof(*lines), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if ((void *)lines == MAP_FAILED)
        abort();
}

/* ---- Lines ---- */

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list list;
    if (!lines)
        return; /* before main */
    va_start(list, format);
    int size = vsnprintf(lines->text + lines->used, sizeof(lines->text) - lines->used, format, list);
    va_end(list);
    lines->used += (uint32_t)size;
    lines->text[lines->used++] = '\n';
    lines->text[lines->used] = 0;
    errno = EIO; /* nobody may rely on it, and nobody may show it */
}

const char *notes(void)
{
    static char copy[sizeof(lines->text)];
    memcpy(copy, lines->text, sizeof(copy));
    lines->used = 0;
    lines->text[0] = 0;
    return copy;
}

static const char *whose(int32_t number)
{
    static char text[8][16];
    static unsigned next;
    char *out = text[next++ % 8];
    snprintf(out, 16, "%d", number);
    if (number == getppid())
        return "parent";
    return number == getpid() ? "me" : out;
}

/* ---- The parts around ---- */

unsigned long own_getauxval(unsigned long type)
{
    switch (type) {
    case AT_SECURE: return play.secure;
    case AT_EUID: return 4242;
    case AT_EXECFN: return play.exec_name;
    default: return 0;
    }
}

int own_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    note("atfork%s", prepare == pinject_preload_before_fork && !parent && child == pinject_preload_forked ? "" : " ?");
    return 0;
}

const struct pinject_next *pinject_next(void)
{
    static const struct pinject_next next;
    note("next");
    return &next;
}

static void join(void)
{
    pinject_preload.channel = (struct pinject_channel){&segment, &requests, 1, 1000};
    pinject_preload.ours = (struct pinject_ours){"PINJECT_SESSION=/s", "/p"};
    pinject_preload.flags = play.flags;
}

int pinject_preload_open(const char *path)
{
    note("open %s", path);
    if (play.open_error == 0)
        join();
    return play.open_error;
}

int pinject_start(char **envp)
{
    note("start%s", envp ? "" : " ?");
    if (play.start_error == 0)
        join();
    return play.start_error;
}

void pinject_preload_close(void)
{
    note("close");
}

bool pinject_preload_reachable(void)
{
    return !play.unreachable;
}

bool pinject_program_execs_by_itself(void)
{
    return play.raw_execs;
}

void pinject_own_environ_leave(char **initial, struct pinject_ours ours)
{
    note("leave %s%s", ours.session ? ours.session : "all", initial ? "" : " ?");
    if (!lines)
        begun_before_main = pinject_preload.begun;
}

void pinject_own_environ_forget(struct pinject_ours ours)
{
    note("forget %s", ours.session);
}

void pinject_session_forked(void)
{
    note("turn");
}

void pinject_preload_look_at_user(void)
{
    note("user?");
}

void pinject_rooms_reset(void)
{
    note("rooms");
}

void pinject_thread_records_reset(void)
{
    note("pool");
}

void pinject_timer_start(int answer)
{
    note("timer %d", answer);
}

void pinject_timer_count(void)
{
    note("count");
}

void pinject_timer_forked(void)
{
    note("timer forked");
}

void pinject_timer_leave(void)
{
    note("timer leaves");
}

bool pinject_request_covered(const struct pinject_channel *channel, int32_t tid)
{
    return channel == &pinject_preload.channel && tid == sys_gettid() && play.covered;
}

void pinject_request_note_stall(const struct pinject_channel *channel)
{
    channel->requests->stalled = PINJECT_STALLED_YES;
}

struct pinject_claim pinject_request_claim(const struct pinject_channel *channel, int32_t tid)
{
    struct pinject_claim claim = {play.no_slot ? NULL : &slot, 3, 5};
    if (channel != &pinject_preload.channel || tid != sys_gettid())
        note("claim ?");
    memset(&slot, 0, sizeof(slot));
    memset(slot.text, 0x5a, sizeof(slot.text));
    return claim;
}

int pinject_request_send(const struct pinject_channel *channel, struct pinject_claim claim)
{
    static const char *const kinds[] = {"?",        "PROCESS", "FORK",         "THREAD", "ARM",     "GENERATION",
                                        "SNAPSHOT", "REAPED",  "INHERIT_EXEC", "SPAWN",  "INHERIT", "BECOME"};
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    uint64_t used_ns = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    bool sane = channel == &pinject_preload.channel && claim.slot == &slot && claim.index == 3 &&
                claim.generation == 5 && strcmp(slot.comm, name) == 0 && slot.startup_ns > 0 &&
                slot.startup_ns <= used_ns;
    if (slot.kind == PINJECT_INHERIT && !pinject_preload.busy)
        note("not busy");
    note("%s %#x pid %s tid %s ppid %s by %s%s", kinds[slot.kind], slot.flags, whose(slot.pid), whose(slot.tid),
         whose(slot.ppid), whose(slot.parent_tid), sane ? "" : " ?");
    return play.answer;
}

/* ---- */

void reset(uint32_t flags)
{
    memset(&pinject_preload, 0, sizeof(pinject_preload));
    memset(&play, 0, sizeof(play));
    segment.closed = 0;
    segment.root = 0;
    memset(&requests, 0, offsetof(struct pinject_requests, doorbells));
    play.flags = flags;
    play.exec_name = (unsigned long)"/bin/prog";
    lines->used = 0;
    lines->text[0] = 0;
    errno = ERANGE;
}

void begin(uint32_t flags)
{
    reset(flags);
    join();
    pinject_preload.begun = 2;
    pinject_preload.state = PINJECT_FOLLOWED;
    pinject_preload.pid = getpid();
}
