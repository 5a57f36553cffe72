/* SPDX-License-Identifier: MIT */
/*
 * Calls like those of CPython 3.12 with perf trampolines (python -X perf): an interpreter without frame pointers and,
 * between two of its calls, JIT code of 12 bytes, one piece per function of the program, with a name in
 * /tmp/perf-PID.map. trampolines [MS]: prints its pid. 77: not on this machine.
 */
#include <string.h>
#include <sys/mman.h>

#include "burn.h"

typedef uint64_t evaluator(unsigned char *code, uint64_t depth, uint64_t end);
typedef uint64_t trampoline(unsigned char *code, uint64_t depth, uint64_t end, evaluator *evaluate);

enum { PIECE = 32, FUNCTIONS = 3 };

/* The frame pointer register has a value of the interpreter, not a frame. */
static __attribute__((noinline)) uint64_t evaluate(unsigned char *code, uint64_t depth, uint64_t end)
{
    uint64_t sum = depth;
    if (depth == FUNCTIONS) {
        while (burn_cpu() < end)
            burn_some();
        return sum;
    }
    trampoline *next = (trampoline *)(uintptr_t)(code + PIECE * depth);
#ifdef __x86_64__
    __asm__ volatile("mov $0x12345678, %%ebp" ::: "rbp");
#endif
    sum += next(code, depth + 1, end, evaluate);
    return sum * 3;
}

int main(int argc, char **argv)
{
    /* sub $8, %rsp; call *%rcx; add $8, %rsp; ret */
    static const unsigned char piece[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3};
    static const char *const names[FUNCTIONS] = {"outer", "middle", "inner"};
    char path[64];
#ifndef __x86_64__
    return 77;
#endif
    unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    if (code == MAP_FAILED || !map)
        return 1;
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        memcpy(code + PIECE * i, piece, sizeof(piece));
        fprintf(map, "%lx %x py::%s:work.py\n", (unsigned long)(uintptr_t)(code + PIECE * i), PIECE, names[i]);
    }
    if (fclose(map) || mprotect(code, 4096, PROT_READ | PROT_EXEC))
        return 1;
    printf("%d\n", (int)getpid());
    return evaluate(code, 0, burn_cpu() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 100) * MS) == 0;
}
