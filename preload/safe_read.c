/* SPDX-License-Identifier: MIT */
#include "safe_read.h"
#include "sys.h"

#include <errno.h>
#include "text.h"

enum { PAGE = 4096 };

uint32_t pinject_safe_read_blind;

/*
 * rt_sigprocmask reads the set before it looks at `how`: EFAULT if it cannot, EINVAL (there is no such `how`) if it
 * can. It changes nothing, hardly any seccomp filter forbids it, and it costs less than process_vm_readv.
 */
static bool page_is_readable(uintptr_t page)
{
    return __atomic_load_n(&pinject_safe_read_blind, __ATOMIC_RELAXED) ||
           SYS_4(SYS_rt_sigprocmask, -1, page, 0, 8) != -EFAULT;
}

static bool read_page(struct pinject_safe_read *safe, uintptr_t page)
{
    for (unsigned i = 0; i < 4; i++)
        if (safe->pages[i] == page)
            return page != 0;
    if (page == 0 || !page_is_readable(page))
        return false;
    safe->pages[safe->next++ % 4] = page;
    return true;
}

bool pinject_safe_read(struct pinject_safe_read *safe, const void *address, size_t size)
{
    uintptr_t first = (uintptr_t)address & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = (uintptr_t)address + size;
    if (end < (uintptr_t)address)
        return false;
    for (uintptr_t page = first; page < end; page += PAGE)
        if (!read_page(safe, page))
            return false;
    return true;
}

long pinject_safe_length(struct pinject_safe_read *safe, const char *string, size_t limit)
{
    size_t length = 0;
    while (length <= limit) {
        size_t rest = PAGE - ((uintptr_t)(string + length) & (PAGE - 1));
        if (!pinject_safe_read(safe, string + length, 1))
            return -EFAULT;
        const char *end = memchr(string + length, 0, rest);
        if (end)
            return (size_t)(end - string) <= limit ? end - string : -E2BIG;
        length += rest;
    }
    return -E2BIG;
}
