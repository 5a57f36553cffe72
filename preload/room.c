/* SPDX-License-Identifier: MIT */
#include "room.h"
#include "state.h"
#include "sys.h"
#include "text.h"

#include <errno.h>
#include <signal.h>

enum {
    ROOMS = 64, /* tasks between judging a program and its exec */
    ROUNDS = 8,
    PAUSE_NS = 500000,
    KEPT = 262144,     /* bytes of a vector that is kept */
    BLOCKED = 1 << 30, /* flag in an owner: not a tid, but the thread's place in memory */
};

/* A room is set once and never given back. The first one needs no mapping. */
struct pinject_room_entry {
    uint32_t owner; /* tid, 0: nobody. The kernel may clear it */
    uint32_t value; /* of the mark */
    uint32_t *mark; /* in the claimer's frame; NULL: nobody may take the room from its owner */
    struct pinject_room *room;
};

static struct pinject_room first_room;
static struct pinject_room_entry entries[ROOMS] = {{.room = &first_room}};
static uint32_t claim_count;

/* A thread and its vfork children, which run in turn, have the same. */
static uint32_t place_in_memory(void)
{
    return ((uint32_t)(sys_thread_pointer() >> 6) & (BLOCKED - 1)) | BLOCKED;
}

/* A process blocked by seccomp makes no call. An entry with its own place in memory was left by a vfork child. */
static bool is_owner_gone(uint32_t owner, uint32_t me, bool patient)
{
    if (me & BLOCKED)
        return owner == me;
    return patient && !(owner & BLOCKED) && owner != me && sys_kill((int)owner, 0) == -ESRCH;
}

/*
 * Is this the calling thread's own claim, by a frame that is gone because a handler left it by siglongjmp? The frame's
 * address on a stack does not tell (alternate stacks, coroutines), but no frame loses its mark while it lives. The mark
 * is compared as a futex word by the kernel, which does not fault on any address; the timeout is in the past. The first
 * to take it sets its mark to NULL: so a handler that interrupts us takes nothing from us.
 */
static bool take_abandoned(struct pinject_room_entry *entry)
{
    static const struct timespec past = {0, 0};
    uint32_t *mark = __atomic_load_n(&entry->mark, __ATOMIC_RELAXED);
    return mark && sys_futex_wait_until(mark, __atomic_load_n(&entry->value, __ATOMIC_RELAXED), &past) == -EAGAIN &&
           __atomic_compare_exchange_n(&entry->mark, &mark, NULL, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static bool claim_entry(struct pinject_room_entry *entry, uint32_t me, bool patient)
{
    uint32_t owner = __atomic_load_n(&entry->owner, __ATOMIC_RELAXED);
    if (owner == me && !(me & BLOCKED))
        return patient && take_abandoned(entry);
    if (owner != 0 && !is_owner_gone(owner, me, patient))
        return false;
    /* The last owner's mark. If another thread claims the room now, NULL only protects its claim. */
    __atomic_store_n(&entry->mark, NULL, __ATOMIC_RELAXED);
    /* Acquire: the last owner is done with the room. */
    return __atomic_compare_exchange_n(&entry->owner, &owner, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static struct pinject_room_entry *find_entry(uint32_t me)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < ROOMS; i++)
            if (claim_entry(&entries[i], me, round > 0))
                return &entries[i];
        if (me & BLOCKED)
            break;
        if (round > 0)
            sys_sleep_ns(PAUSE_NS);
    }
    return NULL;
}

/*
 * On borrowed memory: lets the kernel clear the owner. Not if the task already has such a word, or if the kernel does
 * not tell.
 */
static bool watch_owner(struct pinject_room_entry *entry)
{
    void *word = entry;
    if (pinject_preload_blocked() || sys_getpid() == pinject_preload.pid ||
        SYS_2(SYS_prctl, PR_GET_TID_ADDRESS, &word) != 0)
        return false;
    if (word) /* an abandoned claim of our own is watched already */
        return word == entry;
    SYS_1(SYS_set_tid_address, &entry->owner);
    return true;
}

static void forget_vector(struct pinject_room *room)
{
    void *more = room->more;
    size_t size = room->more_size;
    room->more = NULL;
    room->more_size = 0;
    /*
     * First: a handler may leave this function for good after the call, and the next user of the room would unmap it
     * again.
     */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (more)
        sys_unmap(more, size);
}

static void set_mark(struct pinject_room_entry *entry, uint32_t *mark)
{
    __atomic_store_n(&entry->value, *mark, __ATOMIC_RELAXED);
    /* The compiler keeps the order; only handlers of this thread read them. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&entry->mark, mark, __ATOMIC_RELAXED);
}

static void release_entry(struct pinject_room_entry *entry)
{
    __atomic_store_n(&entry->mark, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->owner, 0, __ATOMIC_RELEASE);
}

struct pinject_room *pinject_room_claim(uint32_t *mark)
{
    uint32_t me = pinject_preload_blocked() ? place_in_memory() : (uint32_t)sys_gettid();
    /*
     * Before the search: a frame that is gone may have been here. The values are spread, so that nothing else looks
     * like one.
     */
    __atomic_store_n(mark, __atomic_add_fetch(&claim_count, 1, __ATOMIC_RELAXED) * 0x9e3779b1u, __ATOMIC_RELAXED);
    struct pinject_room_entry *entry = find_entry(me);
    if (!entry)
        return NULL;
    set_mark(entry, mark);
    struct pinject_room *room = __atomic_load_n(&entry->room, __ATOMIC_RELAXED);
    if (!room) {
        if (!pinject_preload_blocked())
            room = sys_map(sizeof(*room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        if (!room || sys_failed(room)) {
            release_entry(entry);
            return NULL;
        }
        __atomic_store_n(&entry->room, room, __ATOMIC_RELAXED);
    }
    /* A vfork child left a vector that is too large to keep. */
    if (room->more_size > KEPT && !pinject_preload_blocked())
        forget_vector(room);
    room->entry = entry;
    room->watched = watch_owner(entry);
    return room;
}

void pinject_room_release(struct pinject_room *room)
{
    if (!room)
        return;
    if (room->more_size > KEPT && !pinject_preload_blocked())
        forget_vector(room);
    if (room->watched)
        SYS_1(SYS_set_tid_address, NULL);
    release_entry(room->entry);
}

void *pinject_room_vector(struct pinject_room *room, size_t size)
{
    if (size <= sizeof(room->vector))
        return room->vector;
    if (size <= room->more_size)
        return room->more;
    if (pinject_preload_blocked())
        return NULL;
    void *more = sys_map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (sys_failed(more))
        return NULL;
    forget_vector(room);
    room->more = more;
    room->more_size = size;
    return more;
}

void pinject_rooms_reset(void)
{
    for (unsigned i = 0; i < ROOMS; i++)
        release_entry(&entries[i]);
}

/* The frame below is the caller's: an unwinder continues there. */
void pinject_room_switch(void *data, void (*call)(void *), void *top) __attribute__((visibility("hidden")));

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".hidden pinject_room_switch\n"
        ".globl pinject_room_switch\n"
        ".type pinject_room_switch, @function\n"
        "pinject_room_switch:\n"
        ".cfi_startproc\n"
        "    pushq %rbp\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_rel_offset %rbp, 0\n"
        "    movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "    movq %rdx, %rsp\n"
        "    call *%rsi\n"
        "    movq %rbp, %rsp\n"
        "    popq %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size pinject_room_switch, . - pinject_room_switch\n"
        ".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
        ".hidden pinject_room_switch\n"
        ".globl pinject_room_switch\n"
        ".type pinject_room_switch, %function\n"
        "pinject_room_switch:\n"
        ".cfi_startproc\n"
        "    stp x29, x30, [sp, #-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset x29, -16\n"
        ".cfi_offset x30, -8\n"
        "    mov x29, sp\n"
        ".cfi_def_cfa_register x29\n"
        "    mov sp, x2\n"
        "    blr x1\n"
        "    mov sp, x29\n"
        ".cfi_def_cfa_register sp\n"
        "    ldp x29, x30, [sp], #16\n"
        ".cfi_restore x29\n"
        ".cfi_restore x30\n"
        ".cfi_def_cfa_offset 0\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size pinject_room_switch, . - pinject_room_switch\n"
        ".popsection\n");
#else
void pinject_room_switch(void *data, void (*call)(void *), void *top)
{
    (void)top;
    call(data);
}
#endif

void pinject_room_call(struct pinject_room *room, void (*call)(void *), void *data)
{
    static const uint64_t all = UINT64_MAX;
    if (pinject_preload_blocked() || SYS_4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &room->mask, 8) != 0) {
        call(data);
        return;
    }
    pinject_room_switch(data, call, room->stack + sizeof(room->stack));
    SYS_4(SYS_rt_sigprocmask, SIG_SETMASK, &room->mask, NULL, 8);
}
