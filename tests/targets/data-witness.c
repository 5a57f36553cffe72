/* SPDX-License-Identifier: MIT */
/*
 * What data addresses are compared with: touches the pages of variables and of other memory, each once.
 *
 *     data-witness
 *
 * Prints a line "NAME START BYTES PAGES" for each: where it is, and how many of its pages were touched.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static char zeros_of_witness[40 * PAGE] __attribute__((aligned(PAGE)));
static char data_of_witness[30 * PAGE] __attribute__((aligned(PAGE))) = {1};
static char local_of_witness[20 * PAGE] __attribute__((aligned(PAGE)));

static void touch(const char *name, char *start, size_t pages)
{
    for (size_t i = 0; i < pages; i++)
        ((volatile char *)start)[i * PAGE + 7] = 1;
    printf("%s %" PRIuPTR " %zu %zu\n", name, (uintptr_t)start, pages * PAGE, pages);
}

static char *new_heap(size_t pages)
{
    uintptr_t end = (uintptr_t)sbrk(0);
    char *start = sbrk((intptr_t)((pages + 1) * PAGE));
    return start == (char *)-1 ? NULL : start + (PAGE - end % PAGE) % PAGE;
}

__attribute__((noinline)) static void touch_stack(void)
{
    char memory[50 * PAGE];
    touch("[stack]", memory, 50);
}

int main(void)
{
    char *anonymous = mmap(NULL, 25 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf(" \n"); /* the buffer of stdout may be in the heap */
    char *heap = new_heap(35);
    if (anonymous == MAP_FAILED || !heap)
        return 1;
    touch("zeros_of_witness", zeros_of_witness, 40);
    touch("data_of_witness", data_of_witness, 30);
    touch("local_of_witness", local_of_witness, 20);
    touch("[heap]", heap, 35);
    touch("//anon", anonymous, 25);
    touch_stack();
    return 0;
}
