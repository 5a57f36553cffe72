/* SPDX-License-Identifier: MIT */
/* What a data address is: a variable of a program or library, or a kind of memory. */
#ifndef ANALYZE_FIELDS_DATA_PLACE_H
#define ANALYZE_FIELDS_DATA_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/view/view.h"

struct data_place {
    /* The path of the file that it belongs to, or the name of the memory: "[heap]", "[stack]", "//anon", "[kernel]",
     * "[guest]", "[unknown]". */
    const char *dso;
    const char *symbol; /* the variable or, in code, the function; NULL: not known */
    bool kernel;        /* it is the same in all processes */
};

/* ADDRESS at the time of SAMPLE. The strings stay valid until the profile and the names of VIEW are freed. */
struct data_place data_place_find(const struct view *view, const struct profile_sample *sample, uint64_t address);

#endif
