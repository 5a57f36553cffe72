/* SPDX-License-Identifier: MIT */
/*
 * Environments: ours put into a vector, or taken out of it. Only PINJECT_SESSION and our name within LD_PRELOAD are
 * ever touched. Nothing allocates; the plan says how much memory the caller has to bring.
 */
#ifndef PINJECT_PRELOAD_ENVIRON_H
#define PINJECT_PRELOAD_ENVIRON_H

#include "safe_read.h"

#include <stdbool.h>
#include <stddef.h>

#define PINJECT_PRELOAD_NAME "libpinject.so"

enum {
    /* More than any kernel takes (6 MiB in all, 32 pages for a string): longer ones are passed on, for it to refuse. */
    PINJECT_ENV_ENTRIES = 1 << 20,
    PINJECT_ENV_STRING = 1 << 21, /* of LD_PRELOAD and PINJECT_SESSION */
};

/* What belongs to us in an environment. */
struct pinject_ours {
    const char *session; /* "PINJECT_SESSION=PATH"; NULL: any session is ours */
    const char *preload; /* path of the preload object as it stands in LD_PRELOAD; NULL: known by its name alone */
};

/*
 * LD_PRELOAD's value with our preload object, at the front if it was not in there. Bytes without the NUL; `out` may be
 * NULL.
 */
size_t pinject_ld_preload_join(const char *value, const char *preload, char *out);

/*
 * LD_PRELOAD's value without our preload object; `out` may be `value`. *ret_gone: nothing is left of the variable. A
 * value of "ours:" leaves an empty variable (the user had set an empty one), "ours" leaves none.
 */
size_t pinject_ld_preload_leave(const char *value, const char *preload, char *out, bool *ret_gone);

struct pinject_env_layout {
    char *const *envp;
    struct pinject_ours ours;
    size_t entries;
    size_t bytes;       /* memory for pinject_env_build() */
    size_t preload_at;  /* join: the LD_PRELOAD that ld.so obeys, the last one; == entries: none */
    bool join;          /* false also where the loader is to list the DSOs (LD_TRACE_LOADED_OBJECTS) */
    bool has_session;   /* join */
    bool changes;       /* false: pass the vector on as it is */
};

/*
 * Join: afterwards the vector names the session and the preload object. One that names another session stays as it is:
 * a nested pinject-run. Leave: the opposite. 0, -EFAULT for wild pointers, -E2BIG for more than the limits. envp may be
 * NULL: empty.
 */
int pinject_env_layout(struct pinject_env_layout *layout, char *const *envp, struct pinject_ours ours, bool join);

/* The new vector and its strings within `memory`, which is aligned for pointers. */
char **pinject_env_build(const struct pinject_env_layout *layout, void *memory);

/*
 * Takes ours out of the process's own vector, in place and keeping the order. A shortened LD_PRELOAD goes to `buffer`
 * when it has room for it, else, and with buffer NULL, over the old one. Returns the number of pointers that were
 * removed.
 */
size_t pinject_env_leave_in_place(char **envp, struct pinject_ours ours, char *buffer, size_t size);

/* The value of NAME= (with its '='); NULL when there is none. */
const char *pinject_env_value(char *const *envp, const char *name_and_equals);

/* Whether a value of LD_PRELOAD names our preload object. */
bool pinject_ld_preload_has(const char *value, const char *preload);

#endif
