/* SPDX-License-Identifier: MIT */
/* Frames of a profile by name: each distinct frame is looked up once. */
#ifndef ANALYZE_VIEW_NAMES_H
#define ANALYZE_VIEW_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"
#include "analyze/view/settings.h"

struct names;
struct symbols_dso;

struct names_place {
    const char *symbol; /* "main", "libx.so+0x1234", "0x7f12..." */
    const char *dso;    /* path as mapped, "[kernel.kallsyms]", "[ext4]", "[unknown]" */
    uint32_t function;  /* equal for everything in the same function: see names_function() */
    uint32_t dso_id;    /* see names_dso() */
    uint64_t address;   /* what addr2line takes: virtual in the DSO, real for the kernel and generated code */
    uint64_t offset;    /* from the start of the function; 0 when that is unknown */
    bool named;         /* there is a symbol */
    bool bounded;       /* there is none, but it is known where the function begins: SYMBOL is DSO+0xSTART */
    bool kernel;
    bool inlined;       /* no code of its own: see names_stack() */
};

struct names *names_new(const struct profile *profile, const struct settings *settings);
void names_free(struct names *names);

/* FRAME: index. Lives until names_free(). */
const struct names_place *names_frame(struct names *names, uint32_t frame);
/* What a view by address calls it: "main+0x12", "libx.so+0x1234". The caller frees it. */
char *names_address_label(const struct names_place *place);
/* Its function alone, without keeping a place: what a sum over all samples needs. */
uint32_t names_function_of(struct names *names, uint32_t frame);
/* Its DSO alone. Only for the kernel, whose modules the symbols tell apart, is a name looked up. */
uint32_t names_dso_of(struct names *names, uint32_t frame);

/* The DSO of FRAME as symbols.h knows it; NULL: none. */
struct symbols_dso *names_symbols(struct names *names, uint32_t frame);
/* What symbols.h calls the offset of FRAME. */
uint64_t names_offset(const struct names *names, uint32_t frame);

/* What the two have answered so far, by frame of the profile: the number + 1, 0 where nobody asked. Where a sum over
 * millions of frames looks first. Valid until names_free(), and as long as the profile gets no new frames. */
const uint32_t *names_functions(const struct names *names);
const uint32_t *names_dsos(const struct names *names);

/*
 * Looks up all frames of the profile with WANTED[frame] (NULL: all) at once, by THREADS (0: one per CPU); whatever
 * their number, the same is answered afterwards. With INLINED, functions that are inlined there become frames of their
 * own behind those of the profile, one for each function: only of a profile that gets no new frames afterwards. To be
 * called before anybody keeps what names_functions() or names_dsos() returned; the first call counts.
 */
void names_symbolize(struct names *names, const bool *wanted, bool inlined, unsigned threads);
bool names_shows_inlined(const struct names *names);
/* The frames of STACK, what is inlined in one in front of it. Valid until the next call. */
const uint32_t *names_stack(struct names *names, uint32_t stack, uint32_t *ret_depth);
/* Such a frame has a place, a function and a DSO, but no address. */
bool names_is_inlined(const struct names *names, uint32_t frame);
/* With those of inlined functions. */
size_t names_frame_count(const struct names *names);

/* By the numbers of a place. Valid until the next names_frame(). */
struct names_function {
    const char *symbol, *dso;
    const char *linkage; /* the mangled name of one that is called SYMBOL; SYMBOL where it has no other */
    uint32_t dso_id;
    bool named, inlined;
};
struct names_function names_function(const struct names *names, uint32_t function);
const char *names_dso(const struct names *names, uint32_t dso_id);

/* Calls EACH for every DSO whose names were wanted and lacked. MISSING: bits of enum symbols_missing. */
typedef void names_each_missing(void *context, const char *path, const char *why, unsigned missing);
void names_missing(struct names *names, names_each_missing *each, void *context);

#endif
