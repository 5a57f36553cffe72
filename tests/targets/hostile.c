/* SPDX-License-Identifier: MIT */
/*
 * A follower that means harm. It finds what of the session is mapped into it, and
 *
 *   hostile look                   prints what it can do with each mapping and file of the session, a line each
 *   hostile strike MS [SEED]       for MS milliseconds writes garbage into every byte that it can write to, some of it
 *                                  requests that look right, about any task; then prints the number of strokes
 *   hostile name PID               asks for events of PID in each way, once, and prints the answers
 *   hostile knock MS               connects to the session's socket all the time
 *
 * With "user=UID" before these words it becomes that user first, by libc; "raw=UID": by a system call of its own,
 * behind libc's back, so that it keeps what it holds. "then=COMMAND" runs system(COMMAND) at the end.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pinject/wire.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MAPPINGS = 8, TASKS = 512 };

struct mapping {
    char *start;
    size_t size;
    bool writable;
    char path[512];
};

static struct mapping mappings[MAPPINGS];
static unsigned mapping_count;
static int32_t tasks[TASKS];
static unsigned task_count;
static uint64_t random_state = 0x9e3779b97f4a7c15;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void find_mappings(void)
{
    char line[1024];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && mapping_count < MAPPINGS && fgets(line, sizeof(line), maps)) {
        struct mapping *mapping = &mappings[mapping_count];
        unsigned long start, end;
        char rights[8];
        const char *path = strchr(line, '/');
        if (!path || !strstr(path, "/pinject-") || sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3)
            continue;
        mapping->start = (char *)start;
        mapping->size = end - start;
        mapping->writable = rights[1] == 'w';
        snprintf(mapping->path, sizeof(mapping->path), "%.*s", (int)strcspn(path, "\n"), path);
        mapping_count++;
    }
    if (maps)
        fclose(maps);
}

static const struct mapping *segment_mapping(void)
{
    for (unsigned i = 0; i < mapping_count; i++)
        if (mappings[i].size >= sizeof(struct pinject_segment) && mappings[i].size < sizeof(struct pinject_requests) &&
            ((struct pinject_segment *)(void *)mappings[i].start)->magic == PINJECT_WIRE_MAGIC)
            return &mappings[i];
    return NULL;
}

static struct pinject_requests *channel(void)
{
    for (unsigned i = 0; i < mapping_count; i++)
        if (mappings[i].writable && mappings[i].size >= sizeof(struct pinject_requests))
            return (struct pinject_requests *)(void *)mappings[i].start;
    return NULL;
}

/* ---- look ---- */

static const char *answer(bool can)
{
    return can ? "can" : "cannot";
}

static bool write_through_proc(char *at)
{
    char byte = *at;
    int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    bool done = fd >= 0 && pwrite(fd, &byte, 1, (off_t)(uintptr_t)at) == 1;
    if (fd >= 0)
        close(fd);
    return done;
}

static bool opens(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void look(void)
{
    for (unsigned i = 0; i < mapping_count; i++) {
        struct mapping *mapping = &mappings[i];
        const char *dot = strrchr(mapping->path, '.');
        const char *name = dot && dot > strrchr(mapping->path, '/') ? dot : " segment";
        bool changes = mprotect(mapping->start, 4096, PROT_READ | PROT_WRITE) == 0;
        printf("%s: %s write, %s make it writable, %s write by /proc, %s open it to write\n", name + 1,
               answer(mapping->writable), answer(changes), answer(write_through_proc(mapping->start)),
               answer(opens(mapping->path, O_RDWR)));
    }
}

/* ---- strike ---- */

static void find_tasks(void)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    task_count = 0;
    tasks[task_count++] = getpid();
    tasks[task_count++] = getppid();
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

/* Small numbers and limits are more dangerous than any number. */
static uint32_t any_word(void)
{
    static const uint32_t nasty[] = {0,    1,    2,    3,    4,    5,    6,     7,         8,         9,
                                     255,  3967, 3968, 3969, 4095, 4096, 65535, INT32_MAX, 1u << 31u, UINT32_MAX};
    uint64_t random = next_random();
    return random & 0x300 ? nasty[(random >> 16) % (sizeof(nasty) / sizeof(nasty[0]))] : (uint32_t)(random >> 32);
}

static void ring(struct pinject_requests *requests, unsigned number)
{
    for (unsigned i = 0; i < 2; i++) {
        struct pinject_bell *bell = &requests->bells[i];
        __atomic_fetch_or(&bell->pending[number / 64], UINT64_C(1) << (number % 64), __ATOMIC_RELEASE);
        __atomic_fetch_add(&bell->count, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &bell->count, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static void fill(struct pinject_slot *slot, uint32_t kind, int32_t pid, int32_t tid)
{
    slot->owner = getpid();
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
    slot->exec_size = any_word();
    slot->cmdline_size = any_word();
    memcpy(slot->comm, "\n\x1b[31mhostile\0\0", 16);
    for (unsigned i = 0; i < 64; i++)
        slot->text[next_random() % PINJECT_TEXT] = (char)next_random();
}

static void post(struct pinject_requests *requests)
{
    unsigned number = (unsigned)(next_random() % PINJECT_SLOTS);
    struct pinject_slot *slot = &requests->slots[number];
    int32_t pid = any_task();
    __atomic_store_n(&requests->reach, PINJECT_SLOTS, __ATOMIC_RELAXED);
    fill(slot, next_random() % 4 ? (uint32_t)(1 + next_random() % 9) : any_word(), pid,
         next_random() % 3 ? pid : any_task());
    uint32_t generation = PINJECT_STATE_GENERATION(__atomic_load_n(&slot->state, __ATOMIC_RELAXED));
    __atomic_store_n(&slot->state, PINJECT_STATE(generation + next_random() % 2, PINJECT_POSTED), __ATOMIC_RELEASE);
    ring(requests, number);
}

static void seize_all(struct pinject_requests *requests)
{
    uint32_t phase = (uint32_t)(next_random() % 7);
    for (unsigned i = 0; i < PINJECT_SLOTS; i++) {
        requests->slots[i].owner = any_task();
        __atomic_store_n(&requests->slots[i].state, PINJECT_STATE(next_random(), phase), __ATOMIC_RELEASE);
    }
}

static void scribble(const struct mapping *mapping)
{
    uint32_t *words = (uint32_t *)(void *)mapping->start;
    for (unsigned i = 0; i < 256; i++)
        __atomic_store_n(&words[next_random() % (mapping->size / 4)], any_word(), __ATOMIC_RELAXED);
    for (unsigned i = 0; i < 16; i++)
        __atomic_store_n(&words[next_random() % 1200], any_word(), __ATOMIC_RELAXED);
}

static unsigned long strike(uint64_t limit)
{
    unsigned long strokes = 0;
    find_tasks();
    for (; now_ms() < limit; strokes++) {
        for (unsigned i = 0; i < mapping_count; i++)
            if (mappings[i].writable && next_random() % 8 == 0)
                scribble(&mappings[i]);
        struct pinject_requests *requests = channel();
        if (!requests)
            continue;
        if (next_random() % 64 == 0)
            seize_all(requests);
        if (next_random() % 4096 == 0)
            find_tasks();
        for (unsigned i = 0; i < 4; i++)
            post(requests);
    }
    return strokes;
}

/* ---- name ---- */

static void name_task(int32_t pid)
{
    struct pinject_requests *requests = channel();
    for (uint32_t kind = PINJECT_PROCESS; requests && kind <= PINJECT_SPAWN; kind++) {
        if (kind == PINJECT_REAPED)
            continue;
        unsigned number = 200 + kind;
        struct pinject_slot *slot = &requests->slots[number];
        memset(slot, 0, sizeof(*slot));
        slot->owner = getpid();
        slot->kind = kind;
        slot->pid = slot->tid = pid;
        slot->ppid = getpid();
        __atomic_store_n(&requests->reach, PINJECT_SLOTS, __ATOMIC_RELAXED);
        __atomic_store_n(&slot->state, PINJECT_STATE(7, PINJECT_POSTED), __ATOMIC_RELEASE);
        ring(requests, number);
        uint64_t limit = now_ms() + 10000;
        while (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) != PINJECT_STATE(7, PINJECT_ANSWERED) &&
               now_ms() < limit)
            usleep(1000);
        printf("kind %u: %s\n", kind, now_ms() < limit ? strerror(-slot->result) : "no answer");
        __atomic_store_n(&slot->state, PINJECT_STATE(7, PINJECT_FREE), __ATOMIC_RELEASE);
    }
}

/* ---- knock ---- */

static unsigned long knock(const char *path, uint64_t limit)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%s", PINJECT_SOCKET_PREFIX,
                          strrchr(path, '/') + 1);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    unsigned long connected = 0;
    while (now_ms() < limit) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0)
            connected++;
        if (fd >= 0)
            close(fd);
    }
    return connected;
}

static int become(uid_t user, bool raw)
{
    if (raw)
        return (int)syscall(SYS_setresuid, user, user, user);
    return setresgid(user, user, user) || setresuid(user, user, user) ? -1 : 0;
}

int main(int argc, char **argv)
{
    const char *command = NULL;
    int at = 1;
    for (; at < argc && strchr(argv[at], '='); at++) {
        const char *value = strchr(argv[at], '=') + 1;
        if (!strncmp(argv[at], "then=", 5))
            command = value;
        else if (become((uid_t)atoi(value), !strncmp(argv[at], "raw=", 4)) < 0)
            return 99;
    }
    const char *what = at < argc ? argv[at] : "", *argument = at + 1 < argc ? argv[at + 1] : "0";
    uint64_t limit = now_ms() + (uint64_t)atoi(argument);
    if (at + 2 < argc)
        random_state ^= strtoull(argv[at + 2], NULL, 0) * UINT64_C(0x2545f4914f6cdd1d);
    find_mappings();
    if (!strcmp(what, "look"))
        look();
    else if (!strcmp(what, "strike"))
        printf("strokes: %s\n", strike(limit) ? "many" : "none");
    else if (!strcmp(what, "name"))
        name_task(atoi(argument));
    else if (!strcmp(what, "knock") && segment_mapping())
        printf("knocked: %s\n", knock(segment_mapping()->path, limit) ? "often" : "never");
    else
        printf("nothing of a session here\n");
    fflush(stdout);
    return command ? system(command) : 0;
}
