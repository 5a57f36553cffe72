/* SPDX-License-Identifier: MIT */
/*
 * Binary search in an array that is sorted by a member of its elements, like C++'s std::lower_bound() and
 * std::upper_bound(). MEMBER is what follows an element: .address, or ->address if elements are pointers. The other
 * arguments are evaluated once. Context: any; async-signal-safe.
 *
 *     size_t at = UPPER_BOUND(rows, count, .address, wanted);
 *     const struct row *row = at ? &rows[at - 1] : NULL;    the last one that starts at or before WANTED
 */
#ifndef COMMON_BOUND_H
#define COMMON_BOUND_H

#include <stddef.h>

#define BOUND_SEARCH(array, count, member, is_before, value)                                  \
    ({                                                                                        \
        const __typeof__((array)[0]) *bound_array = (array);                                  \
        _Static_assert(sizeof(value) <= sizeof((array)[0] member), "the value would be cut"); \
        const __typeof__(bound_array[0] member) bound_value = (value);                        \
        size_t bound_low = 0, bound_high = (count);                                           \
        while (bound_low < bound_high) {                                                      \
            size_t bound_middle = bound_low + (bound_high - bound_low) / 2;                   \
            if (bound_array[bound_middle] member is_before bound_value)                       \
                bound_low = bound_middle + 1;                                                 \
            else                                                                              \
                bound_high = bound_middle;                                                    \
        }                                                                                     \
        bound_low;                                                                            \
    })

/* Index of the first of COUNT elements whose MEMBER is VALUE or more; COUNT if there is none. */
#define LOWER_BOUND(array, count, member, value) BOUND_SEARCH(array, count, member, <, value)
/* Index of the first of COUNT elements whose MEMBER is more than VALUE; COUNT if there is none. */
#define UPPER_BOUND(array, count, member, value) BOUND_SEARCH(array, count, member, <=, value)

#endif
