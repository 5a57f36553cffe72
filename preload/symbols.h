/* SPDX-License-Identifier: MIT */
/*
 * Finds functions of other DSOs in the dynamic loader's own list. Not by dlsym(): before glibc 2.34 it is in another
 * library, which a program need not have; it allocates; and a sanitizer intercepts it.
 */
#ifndef PINJECT_PRELOAD_SYMBOLS_H
#define PINJECT_PRELOAD_SYMBOLS_H

#include <link.h>
#include <stddef.h>

struct pinject_symbol {
    const char *name;
    void *address; /* NULL: not found (yet) */
};

/* This DSO, in the list of its namespace; NULL if the loader shows no list. */
const struct link_map *pinject_symbols_self(void);

/*
 * Fills in each address that is NULL with what dlsym(RTLD_NEXT) finds: the default version, from the first DSO after
 * this one that defines it. Returns how many are still missing. Context: while no other thread loads or unloads DSOs,
 * as in a constructor.
 */
size_t pinject_symbols_find(struct pinject_symbol *symbols, size_t count);

/* The same for one name, at any time: ITERATE is libc's dl_iterate_phdr, which keeps the list stable. */
void *pinject_symbols_find_late(int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *),
                                const char *name);

#endif
