/* SPDX-License-Identifier: MIT */
#include "syscall_names.h"

#include <stddef.h>

static const struct {
    long number;
    const char *name;
} names[] = {
#include "syscall_names.inc"
};

const char *syscall_name(long number)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].number == number)
            return names[i].name;
    return NULL;
}
