/* SPDX-License-Identifier: MIT */
/*
 * The functions behind pthread_cleanup_push() of hook_thread.c: libc's or libpthread's, looked up when a thread begins.
 */
#include "next.h"
#include "symbols.h"

#include <pthread.h>
#include <stdint.h>
#include "text.h"

typedef void change(__pthread_unwind_buf_t *);

/* The macro's names for them. */
void pinject_register_cancel(__pthread_unwind_buf_t *buffer);
void pinject_unregister_cancel(__pthread_unwind_buf_t *buffer);
_Noreturn void pinject_unwind_next(__pthread_unwind_buf_t *buffer);

enum { REGISTER, UNREGISTER, UNWIND, FUNCTIONS };

static change *find(int which)
{
    static const char *const names[FUNCTIONS] = {
        [REGISTER] = "__pthread_register_cancel",
        [UNREGISTER] = "__pthread_unregister_cancel",
        [UNWIND] = "__pthread_unwind_next",
    };
    static change *found[FUNCTIONS];
    change *function = __atomic_load_n(&found[which], __ATOMIC_RELAXED);
    if (function)
        return function;
    void *address = pinject_symbols_find_late(pinject_next()->dl_iterate_phdr, names[which]);
    memcpy(&function, &address, sizeof(function));
    __atomic_store_n(&found[which], function, __ATOMIC_RELAXED);
    return function;
}

/* All of them or none: libc must not unwind what was not registered. */
void pinject_register_cancel(__pthread_unwind_buf_t *buffer)
{
    if (find(UNWIND) && find(UNREGISTER) && find(REGISTER))
        find(REGISTER)(buffer);
}

void pinject_unregister_cancel(__pthread_unwind_buf_t *buffer)
{
    if (find(UNWIND) && find(UNREGISTER) && find(REGISTER))
        find(UNREGISTER)(buffer);
}

void pinject_unwind_next(__pthread_unwind_buf_t *buffer)
{
    find(UNWIND)(buffer);
    __builtin_unreachable();
}
