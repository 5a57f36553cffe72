/* SPDX-License-Identifier: MIT */
/*
 * Of a bare LD_PRELOAD with followed children, environ has to get PINJECT_SESSION for system() and popen(), which use it within
 * libc. The constructor is too early: libc sets environ after it (-z initfirst), from the vector on the stack, which has no
 * room for one more. Here all constructors have run, and main has not.
 */
#include "next.h"
#include "object.h"
#include "own_environ.h"

int __libc_start_main(int (*run)(int, char **, char **), int argc, char **argv, void (*begin)(void), void (*end)(void),
                      void (*unload)(void), void *stack);

PINJECT_HOOK int __libc_start_main(int (*run)(int, char **, char **), int argc, char **argv, void (*begin)(void),
                                   void (*end)(void), void (*unload)(void), void *stack)
{
    pinject_object_ready();
    if (pinject_object.environ_join)
        pinject_own_environ_join(pinject_object.ours);
    /* A tail call: no frame of ours lies below main. */
    return pinject_next()->libc_start_main(run, argc, argv, begin, end, unload, stack);
}
