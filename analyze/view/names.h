/* SPDX-License-Identifier: MIT */
/* Symbolization of the frames of a profile. Each distinct frame is looked up once. */
#ifndef ANALYZE_VIEW_NAMES_H
#define ANALYZE_VIEW_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"
#include "analyze/view/settings.h"

struct names;
struct symbols_dso;

enum { NAMES_NAMED = 1, NAMES_INLINED = 2 };

struct names_place {
    const char *symbol; /* "main", "libx.so+0x1234", "0x7f12..." */
    const char *dso;    /* path as mapped, "[kernel.kallsyms]", "[ext4]", "[unknown]" */
    uint32_t function;  /* number of the function: see names_function() */
    uint32_t dso_id;    /* see names_dso() */
    uint64_t address;   /* as for addr2line: virtual in the DSO; real for the kernel and JIT code */
    uint64_t offset;    /* from the start of the function; 0 if that is unknown */
    bool named;         /* it has a symbol */
    bool bounded;       /* it has none, but the start of the function is known: `symbol` is DSO+0xSTART */
    bool kernel;
    bool inlined; /* an inlined function, without an address: see names_stack() */
};

struct names *names_new(const struct profile *profile, const struct settings *settings);
void names_free(struct names *names);

/* The place of the frame with index FRAME. Valid until names_free(). */
const struct names_place *names_frame(struct names *names, uint32_t frame);
/* Its name in a view by address: "main+0x12", "libx.so+0x1234". The caller frees it. */
char *names_address_label(const struct names_place *place);
/* Only its function, without a place that stays in memory: enough for sums over all samples. */
uint32_t names_function_of(struct names *names, uint32_t frame);
/* Only its DSO. No name is looked up, except for the kernel, whose modules only symbols distinguish. */
uint32_t names_dso_of(struct names *names, uint32_t frame);

/* The place of a FRAME that is not in the profile, such as the end of a branch. It stays valid until names_free(). */
void names_look_up(struct names *names, const struct profile_frame *frame, struct names_place *ret);
/* The DSO of MODULE, for symbols.h; NULL: none. */
struct symbols_dso *names_module(struct names *names, const struct profile_module *module);
/* The DSO of FRAME, for symbols.h; NULL: none. */
struct symbols_dso *names_symbols(struct names *names, uint32_t frame);
/* The file offset of FRAME, for symbols.h. */
uint64_t names_offset(const struct names *names, uint32_t frame);

/* The results of names_function_of() and names_dso_of() so far, by frame of the profile: the number + 1; 0: not looked
 * up yet. Sums over millions of frames look here first. Valid until names_free(), or until the profile gets new
 * frames. */
const uint32_t *names_functions(const struct names *names);
const uint32_t *names_dsos(const struct names *names);

/*
 * Looks up all frames of the profile with WANTED[frame] (NULL: all) at once, by THREADS (0: one per CPU). The results
 * do not depend on their number. With INLINED, functions that are inlined there become frames, one per function, after
 * those of the profile, which must not get new frames afterwards. To be called before the results of names_functions()
 * or names_dsos() are kept. Only the first call has an effect.
 */
void names_symbolize(struct names *names, const bool *wanted, bool inlined, unsigned threads);
bool names_shows_inlined(const struct names *names);
/* The frames of STACK; the functions inlined at a frame come before it. Valid until the next call. */
const uint32_t *names_stack(struct names *names, uint32_t stack, uint32_t *ret_depth);
/* Whether FRAME is an inlined function: it has a place, a function and a DSO, but no address. */
bool names_is_inlined(const struct names *names, uint32_t frame);
/* The number of frames, with those of inlined functions. */
size_t names_frame_count(const struct names *names);

/* A function by its number in a place. Valid until the next names_frame(). */
struct names_function {
    const char *symbol, *dso;
    const char *linkage; /* the mangled name of one function with that symbol; `symbol` if it has no other */
    uint32_t dso_id;
    bool named, inlined;
};
struct names_function names_function(const struct names *names, uint32_t function);
const char *names_dso(const struct names *names, uint32_t dso_id);
/* The number of a function. LINKAGE: the mangled name; NULL: not known. The first one counts. */
uint32_t names_number(struct names *names, const char *dso, const char *symbol, const char *linkage, unsigned flags);

/* Calls EACH for every DSO that lacked names that were wanted. MISSING: bits of enum symbols_missing. */
typedef void names_each_missing(void *context, const char *path, const char *why, unsigned missing);
void names_missing(struct names *names, names_each_missing *each, void *context);

/*
 * The order of lists, the same for all views and exports. The larger weight comes first. Between equal weights names
 * decide, never the numbers of functions or frames: these depend on the order in which a view first sees them, and
 * views read samples in different orders. All return < 0 (A first), 0 (the same thing) or > 0.
 */
static inline int order_larger(uint64_t a, uint64_t b)
{
    return a == b ? 0 : a < b ? 1 : -1;
}

static inline int order_smaller(uint64_t a, uint64_t b)
{
    return order_larger(b, a);
}

/* By symbol, then DSO. */
int order_functions(const struct names *names, uint32_t a, uint32_t b);
int order_dsos(const struct names *names, uint32_t a, uint32_t b);
/* By DSO, then address. */
int order_frames(struct names *names, const struct profile *profile, uint32_t a, uint32_t b);
/* Compares keys of rows, as in histogram.h. BY: enum settings_by. */
int order_keys(struct names *names, const struct profile *profile, int by, uint64_t a, uint64_t b);

#endif
