/* SPDX-License-Identifier: MIT */
/* The definition of struct names, for names.c and names_batch.c. */
#ifndef ANALYZE_VIEW_NAMES_DATA_H
#define ANALYZE_VIEW_NAMES_DATA_H

#include "analyze/sym/symbols.h"
#include "analyze/view/map.h"
#include "analyze/view/names.h"

enum { NAMES_NAMED = 1, NAMES_INLINED = 2 };

struct names_entry {
    uint32_t symbol, dso, linkage; /* numbers of strings */
    unsigned flags;
};

struct names {
    const struct profile *profile;
    struct symbols *symbols;
    struct symbols_dso **dsos; /* by module; NULL: not needed yet */
    struct map_strings strings;
    struct map functions; /* (DSO string, symbol string * 2 + inlined) */
    struct names_entry *function_list;
    size_t function_capacity;
    struct map known; /* (name as returned by symbols.h, what it is in) */
    uint32_t *known_functions;
    size_t known_capacity;
    /* By frame, first those of the profile, then inlined functions: the number + 1; 0: not looked up yet. */
    uint32_t *functions_of, *dsos_of;
    struct names_place **places; /* by frame; NULL: only the function was needed */
    size_t frame_count, frame_capacity[3];
    bool symbolized;
    /* Inlined functions. By frame of the profile: the start of its list in `inlined`; 0: nothing is inlined. */
    uint32_t *inlined_at;
    uint32_t *inlined; /* lists: the count, then the frames, the innermost first */
    size_t inlined_count, inlined_capacity;
    uint32_t *stack;   /* last result of names_stack() with inlined functions */
    size_t stack_capacity;
};

/* The number of a function. LINKAGE: the mangled name; NULL: not known. The first one counts. */
uint32_t names_number(struct names *names, const char *dso, const char *symbol, const char *linkage,
                      unsigned flags);
uint32_t names_number_symbol(struct names *names, const struct profile_frame *frame, const struct symbol *symbol);
const char *names_dso_name(const struct profile_frame *frame);
/* Makes room for COUNT frames. */
void names_make_room(struct names *names, size_t count);

#endif
