/* SPDX-License-Identifier: MIT */
#include "reach.h"
#include "sys.h"

#include <errno.h>
#include "text.h"

enum { PAGE = 4096 };

uint32_t pinject_reach_blind;

/*
 * rt_sigprocmask reads the set before it looks at `how`: EFAULT when it cannot, EINVAL (as no such `how` exists) when
 * it can. Nothing changes, hardly a seccomp filter forbids it, and it costs less than process_vm_readv.
 */
static bool page_is_readable(uintptr_t page)
{
    return __atomic_load_n(&pinject_reach_blind, __ATOMIC_RELAXED) ||
           SYS_4(SYS_rt_sigprocmask, -1, page, 0, 8) != -EFAULT;
}

static bool reach_page(struct pinject_reach *reach, uintptr_t page)
{
    for (unsigned i = 0; i < 4; i++)
        if (reach->pages[i] == page)
            return page != 0;
    if (page == 0 || !page_is_readable(page))
        return false;
    reach->pages[reach->next++ % 4] = page;
    return true;
}

bool pinject_reach(struct pinject_reach *reach, const void *address, size_t size)
{
    uintptr_t first = (uintptr_t)address & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = (uintptr_t)address + size;
    if (end < (uintptr_t)address)
        return false;
    for (uintptr_t page = first; page < end; page += PAGE)
        if (!reach_page(reach, page))
            return false;
    return true;
}

long pinject_reach_length(struct pinject_reach *reach, const char *string, size_t limit)
{
    size_t length = 0;
    while (length <= limit) {
        size_t rest = PAGE - ((uintptr_t)(string + length) & (PAGE - 1));
        if (!pinject_reach(reach, string + length, 1))
            return -EFAULT;
        const char *end = memchr(string + length, 0, rest);
        if (end)
            return (size_t)(end - string) <= limit ? end - string : -E2BIG;
        length += rest;
    }
    return -E2BIG;
}
