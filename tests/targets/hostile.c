/* SPDX-License-Identifier: MIT */
/*
 * A hostile follower. It finds the mappings of the session in its memory, and then:
 *
 *   hostile look                   prints what it can do with each mapping and file of the session, a line each
 *   hostile strike MS [SEED]       attacks for MS milliseconds, in random ways of hostile_strike.c: writes garbage to
 *                                  any writable byte, valid-looking requests about any task, and so on; then prints
 *                                  whether it could attack
 *   hostile practise MS [SEED]     the same without harm: on copies of the mappings, which no collector reads
 *   hostile name PID               asks for events of PID once in each way, and prints the answers
 *   hostile knock MS               connects to the session's socket all the time; prints how often it succeeded
 *
 * With "user=UID" before these words it first becomes that user, by libc; with "raw=UID" by a direct system call that
 * libc does not see, so that it keeps its mappings. "then=COMMAND" runs system(COMMAND) at the end. For strike:
 * "burst=MS" and "rest=MS" set the length of attacks and of pauses, "attack=NAME" chooses one way of hostile_strike.c,
 * "bait=FILE" is the file named in its requests.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
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

#include "hostile.h"

struct mapping mappings[MAPPINGS];
unsigned mapping_count;
uint64_t random_state = 0x9e3779b97f4a7c15;

uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void find_mappings(void)
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

const struct mapping *segment_mapping(void)
{
    for (unsigned i = 0; i < mapping_count; i++)
        if (mappings[i].size >= sizeof(struct pinject_segment) && mappings[i].size < sizeof(struct pinject_requests) &&
            ((struct pinject_segment *)(void *)mappings[i].start)->magic == PINJECT_WIRE_MAGIC)
            return &mappings[i];
    return NULL;
}

const struct mapping *channel_mapping(void)
{
    for (unsigned i = 0; i < mapping_count; i++)
        if (mappings[i].writable && mappings[i].size >= sizeof(struct pinject_requests))
            return &mappings[i];
    return NULL;
}

struct pinject_requests *channel(void)
{
    const struct mapping *mapping = channel_mapping();
    return mapping ? (struct pinject_requests *)(void *)mapping->start : NULL;
}

void ring(struct pinject_requests *requests, unsigned number)
{
    for (unsigned i = 0; i < 2; i++) {
        struct pinject_doorbell *doorbell = &requests->doorbells[i];
        __atomic_fetch_or(&doorbell->pending[number / 64], UINT64_C(1) << (number % 64), __ATOMIC_RELEASE);
        __atomic_fetch_add(&doorbell->count, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &doorbell->count, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

/* Replaces the shared mappings by copies, and the names of files and socket by unused ones. */
static void practise(void)
{
    for (unsigned i = 0; i < mapping_count; i++) {
        struct mapping *mapping = &mappings[i];
        char *copy = mmap(NULL, mapping->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (copy == MAP_FAILED)
            _exit(98);
        memcpy(copy, mapping->start, mapping->size);
        mapping->start = copy;
        snprintf(mapping->path, sizeof(mapping->path), "/nowhere/pinject-practice-%d", (int)getpid());
    }
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
        const char *dot = strchr(strrchr(mapping->path, '/'), '.'); /* the user is between two dots */
        const char *name = dot ? dot : " segment";
        bool changes = mprotect(mapping->start, 4096, PROT_READ | PROT_WRITE) == 0;
        printf("%.*s: %s write, %s make it writable, %s write by /proc, %s open it to write\n",
               (int)strcspn(name + 1, "."), name + 1, answer(mapping->writable), answer(changes),
               answer(write_through_proc(mapping->start)), answer(opens(mapping->path, O_RDWR)));
    }
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
        __atomic_store_n(&requests->slots_claimed, PINJECT_SLOTS, __ATOMIC_RELAXED);
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

socklen_t socket_address(const char *path, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "%s%s", PINJECT_SOCKET_PREFIX,
                          strrchr(path, '/') + 1);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

unsigned long knock(const char *path, uint64_t limit)
{
    struct sockaddr_un address;
    socklen_t size = socket_address(path, &address);
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
    struct strike how = {0};
    int at = 1;
    for (; at < argc && strchr(argv[at], '='); at++) {
        const char *value = strchr(argv[at], '=') + 1;
        if (!strncmp(argv[at], "then=", 5))
            command = value;
        else if (!strncmp(argv[at], "burst=", 6))
            how.burst_ms = (unsigned)atoi(value);
        else if (!strncmp(argv[at], "rest=", 5))
            how.rest_ms = (unsigned)atoi(value);
        else if (!strncmp(argv[at], "attack=", 7))
            how.attack = value;
        else if (!strncmp(argv[at], "bait=", 5))
            how.bait = value;
        else if (become((uid_t)atoi(value), !strncmp(argv[at], "raw=", 4)) < 0)
            return 99;
    }
    const char *what = at < argc ? argv[at] : "", *argument = at + 1 < argc ? argv[at + 1] : "0";
    uint64_t limit = now_ms() + (uint64_t)atoi(argument);
    if (at + 2 < argc)
        random_state ^= strtoull(argv[at + 2], NULL, 0) * UINT64_C(0x2545f4914f6cdd1d);
    how.limit = limit;
    find_mappings();
    if (!strcmp(what, "practise"))
        practise();
    if (!strcmp(what, "look"))
        look();
    else if (!strcmp(what, "strike") || !strcmp(what, "practise"))
        printf("strokes: %s\n", strike(&how) > 0 ? "many" : "none");
    else if (!strcmp(what, "name"))
        name_task(atoi(argument));
    else if (!strcmp(what, "knock") && segment_mapping())
        printf("knocked: %lu\n", knock(segment_mapping()->path, limit));
    else
        printf("nothing of a session here\n");
    fflush(stdout);
    return command ? system(command) : 0;
}
