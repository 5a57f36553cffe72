/* SPDX-License-Identifier: MIT */
#include "collector/tasks/tids.h"

#include <errno.h>
#include <pinject/wire.h>
#include <sys/mman.h>

enum { SIZE = PINJECT_TASKS / 8, BITS = 64 };

int tids_init(struct tids *tids)
{
    /* Pages of zeros cost nothing until a bit is set. */
    void *words = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *tids = (struct tids){.words = words == MAP_FAILED ? NULL : words};
    return tids->words ? 0 : -errno;
}

void tids_release(struct tids *tids)
{
    if (tids->words)
        munmap(tids->words, SIZE);
    *tids = (struct tids){0};
}

bool tids_has(const struct tids *tids, pid_t tid)
{
    return tid > 0 && tid < PINJECT_TASKS && (tids->words[tid / BITS] >> (tid % BITS) & 1);
}

void tids_add(struct tids *tids, pid_t tid)
{
    if (tid <= 0 || tid >= PINJECT_TASKS || tids_has(tids, tid))
        return;
    tids->words[tid / BITS] |= UINT64_C(1) << (tid % BITS);
    tids->count++;
}

bool tids_remove(struct tids *tids, pid_t tid)
{
    if (!tids_has(tids, tid))
        return false;
    tids->words[tid / BITS] &= ~(UINT64_C(1) << (tid % BITS));
    tids->count--;
    return true;
}
