/* SPDX-License-Identifier: MIT */
/*
 * Environments: puts our variables into a vector, or takes them out. Only PINJECT_SESSION and our name in LD_PRELOAD
 * are ever changed. Nothing allocates: the layout says how much memory the caller must provide.
 */
#ifndef PINJECT_PRELOAD_ENVIRON_H
#define PINJECT_PRELOAD_ENVIRON_H

#include "safe_read.h"

#include <stdbool.h>
#include <stddef.h>

#define PINJECT_PRELOAD_NAME "libpinject.so"

enum {
    /*
     * More than any kernel accepts (6 MiB in all, 32 pages for a string): larger vectors are passed on unchanged, and
     * the kernel refuses them.
     */
    PINJECT_ENV_ENTRIES = 1 << 20,
    PINJECT_ENV_STRING = 1 << 21, /* of LD_PRELOAD and PINJECT_SESSION */
};

/* Our parts of an environment. */
struct pinject_ours {
    const char *session; /* "PINJECT_SESSION=PATH"; NULL: any session is ours */
    const char *preload; /* path of the preload object as it stands in LD_PRELOAD; NULL: known by its name alone */
};

/*
 * LD_PRELOAD's value with our preload object, which is put first if it was not there. Returns bytes without the NUL;
 * `out` may be NULL.
 */
size_t pinject_ld_preload_join(const char *value, const char *preload, char *out);

/*
 * LD_PRELOAD's value without our preload object; `out` may be `value`. *ret_gone: the variable has to be removed.
 * "ours:" becomes an empty value (the user had set an empty one); "ours" is removed.
 */
size_t pinject_ld_preload_leave(const char *value, const char *preload, char *out, bool *ret_gone);

struct pinject_env_layout {
    char *const *envp;
    struct pinject_ours ours;
    size_t entries;
    size_t bytes;      /* memory for pinject_env_build() */
    size_t preload_at; /* join: the LD_PRELOAD that ld.so obeys, the last one; == entries: none */
    bool join;         /* false also if the loader only lists DSOs (LD_TRACE_LOADED_OBJECTS) */
    bool has_session;  /* join */
    bool changes;      /* false: pass the vector on as it is */
};

/*
 * Join: afterwards the vector names the session and the preload object. A vector that names another session is left
 * unchanged: a nested pinject-run. Leave: the opposite. 0, -EFAULT for wild pointers, -E2BIG for more than the limits.
 * envp may be NULL: empty.
 */
int pinject_env_layout(struct pinject_env_layout *layout, char *const *envp, struct pinject_ours ours, bool join);

/* The new vector and its strings, in `memory`, which is aligned for pointers. */
char **pinject_env_build(const struct pinject_env_layout *layout, void *memory);

struct pinject_room;
/*
 * hook_exec.c. Returns the environment for an exec generation that loads the preload object (JOIN) or does not. The
 * vector is in ROOM and valid until the room's vector is used again, or it is ENVP itself: nothing has to change, ENVP
 * is wild (the kernel will report that), or there is no memory (counted if JOIN). Context: anywhere, also a vfork
 * child.
 */
char *const *pinject_env_chosen(struct pinject_room *room, char *const *envp, bool join);

/*
 * Removes our variables from the process's own vector, in place, keeping the order. A shortened LD_PRELOAD is written
 * to `buffer` if it fits there; otherwise, and with buffer NULL, over the old one. Returns the number of removed
 * pointers.
 */
size_t pinject_env_leave_in_place(char **envp, struct pinject_ours ours, char *buffer, size_t size);

/* The value of NAME= (with its '='); NULL when there is none. */
const char *pinject_env_value(char *const *envp, const char *name_and_equals);

/* Does a value of LD_PRELOAD name our preload object? */
bool pinject_ld_preload_has(const char *value, const char *preload);

#endif
