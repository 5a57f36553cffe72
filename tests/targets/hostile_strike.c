/* SPDX-License-Identifier: MIT */
/* The attacks of a hostile follower. Each function does one stroke and is called again and again. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

/* From linux/falloc.h, and from fcntl.h of newer systems. */
enum { KEEP_SIZE = 1, PUNCH_HOLE = 2, ADD_SEALS = 1033, RIGHTS = 64 };

static int32_t tasks[TASKS];
static unsigned task_count;
static int32_t reused; /* pid of an ended process: free, or another process's by now */
static const char *bait = "/etc/shadow";

static void find_tasks(void)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    task_count = 0;
    /* Itself, its parent, an ended process, the first process, and a kernel thread. */
    const int32_t known[] = {getpid(), getppid(), reused, 1, 2};
    memcpy(tasks, known, sizeof(known));
    task_count = sizeof(known) / sizeof(known[0]);
    while (dir && task_count < TASKS && (entry = readdir(dir)))
        if (atoi(entry->d_name) > 0)
            tasks[task_count++] = atoi(entry->d_name);
    if (dir)
        closedir(dir);
}

static int32_t any_task(void)
{
    return next_random() % 8 ? tasks[next_random() % task_count] : (int32_t)next_random();
}

/* Small numbers and limits are more dangerous than random numbers. */
static uint32_t any_word(void)
{
    static const uint32_t nasty[] = {0,   1,    2,    3,    4,    5,    6,     7,         8,         9,
                                     255, 3967, 3968, 3969, 4095, 4096, 65535, INT32_MAX, 1u << 31u, UINT32_MAX};
    uint64_t random = next_random();
    return random & 0x300 ? nasty[(random >> 16) % (sizeof(nasty) / sizeof(nasty[0]))] : (uint32_t)(random >> 32);
}

/* ---- Requests ---- */

static void write_text(struct pinject_slot *slot)
{
    size_t size = strlen(bait) + 1;
    if (next_random() % 2) {
        memcpy(slot->text, bait, size);
        slot->exec_size = (uint32_t)size;
        slot->cmdline_size = (uint32_t)(next_random() % (PINJECT_TEXT - size));
    } else {
        slot->exec_size = any_word();
        slot->cmdline_size = any_word();
    }
    for (unsigned i = 0; i < 64; i++)
        slot->text[size + next_random() % (PINJECT_TEXT - size)] = (char)next_random();
}

static void fill(struct pinject_slot *slot, uint32_t kind, int32_t pid, int32_t tid)
{
    slot->owner = next_random() % 2 ? getpid() : any_task();
    slot->kind = kind;
    slot->flags = (uint32_t)next_random() & 31;
    slot->pid = pid;
    slot->tid = tid;
    slot->ppid = any_task();
    slot->parent_tid = any_task();
    slot->time_ns = next_random() % 3 ? now_ms() * 1000000 - next_random() % 1000000000 : next_random();
    slot->startup_ns = next_random() >> (next_random() % 64);
    slot->utime_ns = next_random() >> (next_random() % 64);
    slot->stime_ns = next_random() >> (next_random() % 64);
    slot->status = (int32_t)any_word();
    slot->user = next_random() % 4 ? 60000 + (uint32_t)next_random() % 64 : any_word();
    memcpy(slot->comm, "\n\x1b[31mhostile\0\0", 16);
    memcpy(slot->program, next_random() % 2 ? "../../../../etc\xff" : "cat", 4);
    write_text(slot);
}

static void post(struct pinject_requests *requests, unsigned number)
{
    struct pinject_slot *slot = &requests->slots[number];
    uint32_t generation = PINJECT_STATE_GENERATION(__atomic_load_n(&slot->state, __ATOMIC_RELAXED));
    __atomic_store_n(&slot->state, PINJECT_STATE(generation + next_random() % 2, PINJECT_POSTED), __ATOMIC_RELEASE);
    ring(requests, number);
}

static uint32_t any_kind(void)
{
    return next_random() % 8 ? (uint32_t)(1 + next_random() % (PINJECT_KINDS - 1)) : any_word();
}

static void ask_anything(struct pinject_requests *requests)
{
    unsigned number = (unsigned)(next_random() % PINJECT_SLOTS);
    int32_t pid = any_task();
    __atomic_store_n(&requests->slots_claimed, PINJECT_SLOTS, __ATOMIC_RELAXED);
    fill(&requests->slots[number], any_kind(), pid, next_random() % 3 ? pid : any_task());
    post(requests, number);
}

/* Posted reports of exited children: about itself, other tasks, and live ones. */
static void tell_ends(struct pinject_requests *requests)
{
    for (unsigned i = 0; i < 16; i++) {
        unsigned number = (unsigned)(next_random() % PINJECT_SLOTS);
        fill(&requests->slots[number], PINJECT_REAPED, any_task(), getpid());
        requests->slots[number].ppid = any_task();
        post(requests, number);
    }
}

/* Changes fields while the collector copies them: time of check, time of use. */
static void race(struct pinject_requests *requests)
{
    struct pinject_slot *slot = &requests->slots[next_random() % PINJECT_SLOTS];
    int32_t pid = getpid(), other = any_task();
    __atomic_store_n(&requests->slots_claimed, PINJECT_SLOTS, __ATOMIC_RELAXED);
    fill(slot, any_kind(), pid, pid);
    slot->exec_size = 16;
    slot->text[15] = 0;
    post(requests, (unsigned)(slot - requests->slots));
    for (unsigned i = 0; i < 2000; i++) {
        bool odd = i & 1;
        __atomic_store_n(&slot->pid, odd ? other : pid, __ATOMIC_RELAXED);
        __atomic_store_n(&slot->tid, odd ? other : pid, __ATOMIC_RELAXED);
        __atomic_store_n(&slot->exec_size, odd ? UINT32_MAX : 16, __ATOMIC_RELAXED);
        __atomic_store_n(&slot->cmdline_size, odd ? PINJECT_TEXT - 16 : PINJECT_TEXT, __ATOMIC_RELAXED);
        __atomic_store_n(&slot->kind, odd ? PINJECT_REAPED : PINJECT_PROCESS, __ATOMIC_RELAXED);
        __atomic_store_n(&slot->flags, (uint32_t)next_random() & 31, __ATOMIC_RELAXED);
        __atomic_store_n((uint8_t *)&slot->text[15], odd ? 'x' : 0, __ATOMIC_RELAXED);
    }
}

/* ---- What is not a request ---- */

static void seize_all(struct pinject_requests *requests)
{
    uint32_t phase = (uint32_t)(next_random() % 7);
    for (unsigned i = 0; i < PINJECT_SLOTS; i++) {
        requests->slots[i].owner = any_task();
        __atomic_store_n(&requests->slots[i].state, PINJECT_STATE(next_random(), phase), __ATOMIC_RELEASE);
    }
}

/* Claims all slots and never posts them; their owner is a process that lives for ever. */
static void hold_all(struct pinject_requests *requests)
{
    for (unsigned i = 0; i < PINJECT_SLOTS; i++) {
        uint32_t state = __atomic_load_n(&requests->slots[i].state, __ATOMIC_RELAXED);
        requests->slots[i].owner = 1;
        __atomic_store_n(&requests->slots[i].state, PINJECT_STATE(PINJECT_STATE_GENERATION(state) + 1, PINJECT_CLAIMED),
                         __ATOMIC_RELEASE);
    }
}

/* Answers instead of the collector: success, errors, rings that do not exist. */
static void answer_others(struct pinject_requests *requests)
{
    for (unsigned i = 0; i < PINJECT_SLOTS; i++) {
        struct pinject_slot *slot = &requests->slots[i];
        uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED), phase = PINJECT_STATE_PHASE(state);
        if (phase != PINJECT_POSTED && phase != PINJECT_TAKEN && next_random() % 16)
            continue;
        slot->result = (int32_t)any_word();
        __atomic_store_n(&slot->state, PINJECT_STATE(PINJECT_STATE_GENERATION(state), PINJECT_ANSWERED),
                         __ATOMIC_RELEASE);
        syscall(SYS_futex, &slot->state, 1, INT32_MAX, NULL, NULL, 0);
    }
}

static void spoil_counters(struct pinject_requests *requests)
{
    uint32_t *words[] = {&requests->stalled, &requests->unanswered, &requests->dropped,      &requests->foreign,
                         &requests->blocked, &requests->hint,       &requests->slots_claimed};
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (next_random() % 2)
            __atomic_store_n(words[i], any_word(), __ATOMIC_RELAXED);
    struct pinject_doorbell *doorbell = &requests->doorbells[next_random() % PINJECT_DOORBELLS];
    doorbell->count = any_word();
    doorbell->sleeping = any_word();
    for (unsigned i = 0; i < PINJECT_SLOTS / 64; i++)
        doorbell->pending[i] = next_random() % 2 ? UINT64_MAX : next_random();
    syscall(SYS_futex, &doorbell->count, 1, 1, NULL, NULL, 0);
}

static void scribble(struct pinject_requests *requests)
{
    (void)requests;
    const struct mapping *mapping = &mappings[next_random() % mapping_count];
    uint32_t *words = (uint32_t *)(void *)mapping->start;
    if (!mapping->writable)
        return;
    for (unsigned i = 0; i < 256; i++)
        __atomic_store_n(&words[next_random() % (mapping->size / 4)], any_word(), __ATOMIC_RELAXED);
    for (unsigned i = 0; i < 16; i++)
        __atomic_store_n(&words[next_random() % 1200], any_word(), __ATOMIC_RELAXED);
}

/* Valid-looking records in the ring of a timer, and an invalid head. */
static void spoil_rings(struct pinject_requests *requests)
{
    (void)requests;
    for (unsigned i = 0; i < mapping_count; i++) {
        if (!mappings[i].writable || mappings[i].size != PINJECT_RING_STRIDE)
            continue;
        struct perf_event_mmap_page *page = (void *)mappings[i].start;
        struct pinject_timer_head *head = (void *)(mappings[i].start + PINJECT_TIMER_HEAD);
        uint64_t at = page->data_head;
        for (unsigned record = 0; record < 32; record++) {
            uint32_t place = (uint32_t)(at % PINJECT_RING_DATA) & ~7u;
            struct perf_event_header *header = (void *)(mappings[i].start + PINJECT_RING_DATA + place);
            header->type = next_random() % 2 ? PERF_RECORD_SAMPLE : (uint32_t)(next_random() % 24);
            header->misc = (uint16_t)next_random();
            header->size = (uint16_t)(next_random() % 3 ? 8 * (next_random() % 32) : any_word());
            at += header->size;
        }
        uint64_t *fields[] = {&head->id, &head->cpu_ns, &head->faults, &head->switches, &head->lost, &head->execs};
        *fields[next_random() % 6] = next_random() >> (next_random() % 64);
        head->error = (int32_t)any_word();
        __atomic_store_n(&page->data_head, next_random() % 4 ? at : next_random(), __ATOMIC_RELEASE);
        if (next_random() % 4 == 0)
            __atomic_store_n(&page->data_tail, next_random(), __ATOMIC_RELEASE);
        page->data_size = any_word();
        page->data_offset = any_word();
    }
}

/* ---- The files ---- */

static int open_channel(void)
{
    const struct mapping *mapping = channel_mapping();
    return mapping ? open(mapping->path, O_RDWR | O_CLOEXEC) : -1;
}

/* Changes everything but the size: holes, discarded pages, rights, seals, locks, names. */
static void spoil_file(struct pinject_requests *requests)
{
    const struct mapping *mapping = channel_mapping();
    off_t at = (off_t)(next_random() % sizeof(*requests)) & ~4095;
    int fd = open_channel();
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    madvise((char *)requests + at, 65536, next_random() % 2 ? MADV_REMOVE : MADV_DONTNEED);
    if (fd < 0)
        return;
    fallocate(fd, PUNCH_HOLE | KEEP_SIZE, at, 1 << (next_random() % 21));
    fchmod(fd, next_random() % 2 ? 0666 : 0);
    fchmod(fd, 0600);
    fcntl(fd, ADD_SEALS, 1 + next_random() % 15);
    fcntl(fd, F_SETLK, &lock);
    char name[600];
    snprintf(name, sizeof(name), "%s.%u", mapping->path, (unsigned)(next_random() % 8));
    if (link(mapping->path, name) == 0)
        unlink(name);
    close(fd);
}

/* Truncates the file and extends it again: other processes of this user that read it meanwhile die by SIGBUS. */
static void cut_file(struct pinject_requests *requests)
{
    int fd = open_channel();
    (void)requests;
    if (fd >= 0 && ftruncate(fd, (off_t)(next_random() % 65536)) == 0 &&
        ftruncate(fd, (off_t)sizeof(struct pinject_requests)) == 0)
        usleep(1000);
    if (fd >= 0)
        close(fd);
}

/* ---- The socket ---- */

static void send_rights(int peer)
{
    int fds[RIGHTS];
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(fds))];
    } control = {.room = {0}};
    char byte = 0;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    for (unsigned i = 0; i < RIGHTS; i++)
        fds[i] = peer;
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(header), fds, sizeof(fds));
    sendmsg(peer, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Unexpected messages, partial ones, descriptors; the socket is closed at once, half, or a little later. */
static void talk(struct pinject_requests *requests)
{
    static int kept[16];
    struct sockaddr_un address;
    const struct mapping *segment = segment_mapping();
    (void)requests;
    if (!segment)
        return;
    socklen_t size = socket_address(segment->path, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, size) < 0) {
        if (fd >= 0)
            close(fd);
        return;
    }
    char bytes[4096] = {0};
    if (next_random() % 2)
        send(fd, bytes, next_random() % sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (next_random() % 2)
        send_rights(fd);
    if (next_random() % 2)
        shutdown(fd, (int)(next_random() % 3));
    unsigned place = (unsigned)(next_random() % 16);
    if (kept[place])
        close(kept[place]);
    kept[place] = fd;
}

static void flood(struct pinject_requests *requests)
{
    (void)requests;
    if (segment_mapping())
        knock(segment_mapping()->path, now_ms() + 5);
}

/* ---- Tasks ---- */

static void *in_thread(void *argument)
{
    struct pinject_requests *requests = argument;
    int32_t tid = (int32_t)syscall(SYS_gettid);
    unsigned number = (unsigned)(next_random() % PINJECT_SLOTS);
    fill(&requests->slots[number], PINJECT_THREAD, next_random() % 2 ? getpid() : tid, tid);
    post(requests, number);
    return NULL;
}

static pid_t fork_behind_libc(void)
{
#ifdef SYS_fork
    return (pid_t)syscall(SYS_fork);
#else
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

/* Children that exit, or are stopped or killed during their own requests, and threads that end while they ask. */
static void make_tasks(struct pinject_requests *requests)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread, requests) == 0)
        pthread_join(thread, NULL);
    pid_t me = getpid(), child = next_random() % 2 ? fork() : fork_behind_libc();
    if (child == 0) {
        /* The child may be stopped when we are killed, or we may have ended already. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != me)
            _exit(0);
        if (next_random() % 4 == 0)
            execl("/bin/true", "true", (char *)NULL);
        ask_anything(requests);
        if (next_random() % 2)
            raise(SIGSTOP);
        _exit(0);
    }
    if (child < 0)
        return;
    usleep((useconds_t)(next_random() % 2000));
    kill(child, next_random() % 2 ? SIGCONT : SIGKILL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    reused = child;
    tasks[2] = child;
    fill(&requests->slots[0], any_kind(), child, child);
    post(requests, 0);
}

static const struct {
    const char *name;
    void (*stroke)(struct pinject_requests *requests);
    bool named; /* only if it is asked for by name */
} attacks[] = {
    {"ask", ask_anything, false},        {"ends", tell_ends, false},    {"race", race, false},
    {"seize", seize_all, false},         {"hold", hold_all, false},     {"answer", answer_others, false},
    {"counters", spoil_counters, false}, {"scribble", scribble, false}, {"rings", spoil_rings, false},
    {"file", spoil_file, false},         {"talk", talk, false},         {"flood", flood, false},
    {"tasks", make_tasks, false},        {"cut", cut_file, true},
};

/* The index of the attack NAME, NULL: a random one; -1: there is none of that name. */
static int choose(const char *name)
{
    enum { COUNT = sizeof(attacks) / sizeof(attacks[0]) };
    if (!name) {
        int number = (int)(next_random() % COUNT);
        return attacks[number].named ? choose(name) : number;
    }
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(attacks[i].name, name))
            return i;
    return -1;
}

long strike(const struct strike *how)
{
    long strokes = 0;
    struct pinject_requests *requests = channel();
    if (!requests || choose(how->attack) < 0)
        return -1;
    if (how->bait)
        bait = how->bait;
    while (now_ms() < how->limit) {
        int number = choose(how->attack);
        uint64_t end = now_ms() + (how->burst_ms ? how->burst_ms : 20);
        find_tasks();
        for (; now_ms() < end && now_ms() < how->limit; strokes++)
            attacks[number].stroke(requests);
        if (how->rest_ms)
            usleep(how->rest_ms * 1000);
    }
    return strokes;
}
