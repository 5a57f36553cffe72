/* SPDX-License-Identifier: MIT */
/* Functions of libraries that are loaded only when they are needed. */
#ifndef COMMON_DLSYM_H
#define COMMON_DLSYM_H

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/*
 * Stores the address of LIBRARY's function NAME in the function pointer *RET_FUNCTION. False: it has none. ISO C has no
 * conversion from dlsym()'s object pointer to a function pointer, so the bytes are copied.
 */
static inline bool dlsym_function(void *library, const char *name, void *ret_function)
{
    void *function = dlsym(library, name);
    memcpy(ret_function, &function, sizeof(function));
    return function != NULL;
}

#endif
