/* SPDX-License-Identifier: MIT */
#ifndef COMMON_NEAREST_H
#define COMMON_NEAREST_H

#include <stddef.h>

/* The entry of WORDS[COUNT] (entries may be NULL) that WORD was probably meant to be, by edit distance; NULL: none is
 * near. */
const char *nearest_word(const char *word, const char *const *words, size_t count);

#endif
