/* SPDX-License-Identifier: MIT */
/* Programs with little memory, locked memory, and addresses of their own choice. */
#include "see.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static void limit_in_child(int which, rlim_t most, void (*run)(void))
{
    struct rlimit limit = {most, most};
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        see_result("setrlimit", setrlimit((__rlimit_resource_t)which, &limit));
        run();
        exit(0);
    }
    see_child("limited", pid);
}

static size_t own_size(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%zu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * 4096;
}

/* All that this process may still map goes to it; then a thread cannot start, and a child can. */
static void no_room_left(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit = {own_size(), own_size()};
        see_result("setrlimit", setrlimit(RLIMIT_AS, &limit));
        see_result("mmap", mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
        see_threads_and_forks();
        exit(0);
    }
    see_child("limited", pid);
}

static void little_address_space(void)
{
    limit_in_child(RLIMIT_AS, 512 << 20, see_exercise);
    limit_in_child(RLIMIT_AS, 64 << 20, see_exercise);
    limit_in_child(RLIMIT_DATA, 32 << 20, see_exercise);
    limit_in_child(RLIMIT_STACK, 128 << 10, see_exercise);
    no_room_left();
}

/* A program whose limit leaves no room for the segment, but for everything else. */
static void program_in_a_corner(void)
{
    limit_in_child(RLIMIT_AS, 20 << 20, see_exercise);
    limit_in_child(RLIMIT_FSIZE, 0, see_exercise);
    limit_in_child(RLIMIT_MSGQUEUE, 0, see_exercise);
    limit_in_child(RLIMIT_SIGPENDING, 0, see_exercise);
    limit_in_child(RLIMIT_MEMLOCK, 0, see_exercise);
    limit_in_child(RLIMIT_CORE, 0, see_exercise);
}

static void one_process(void)
{
    limit_in_child(RLIMIT_NPROC, 0, see_threads_and_forks);
}

static void locked(void)
{
    see_result("current", mlockall(MCL_CURRENT));
    see_exercise();
    see_result("future", mlockall(MCL_FUTURE));
    see_exercise();
    see_result("on fault", mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT));
    see_exercise();
    see_result("munlockall", munlockall());
}

static void fixed_addresses(void)
{
    static const uintptr_t places[] = {0x10000, 0x400000, 0x10000000, 0x7000000000, 0x100000000000, 0x600000000000};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        void *address = (void *)places[i];
        void *got = mmap(address, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                         -1, 0);
        printf("%zu: %d\n", i, got == address ? 0 : errno);
        if (got == address)
            memset(got, 1, 1 << 16);
    }
    see_exercise();
}

/* The break moves by what the program asks for, and by nothing else. */
static void heap_ends(void)
{
    char *before = sbrk(0);
    see_threads_and_forks();
    char *after = sbrk(0);
    printf("moved %ld\n", (long)(after - before));
    see_result("sbrk", sbrk(1 << 16) == after ? 0 : -1);
    see_exercise();
    see_result("still there", sbrk(0) == after + (1 << 16) ? 0 : -1);
}

static void stack_of_main(void)
{
    enum { BIG = 6 << 20 };
    volatile char room[BIG];
    room[0] = room[BIG - 1] = 1;
    for (size_t i = 0; i < BIG; i += 4096)
        room[i] = 1;
    see_exercise();
    printf("sum %d\n", room[0] + room[BIG - 1]);
}

int main(int argc, char **argv)
{
    static const struct see_case cases[] = {
        {"little-address-space", little_address_space},
        {"corner", program_in_a_corner},
        {"one-process", one_process},
        {"locked", locked},
        {"fixed", fixed_addresses},
        {"heap", heap_ends},
        {"stack", stack_of_main},
    };
    return see_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
