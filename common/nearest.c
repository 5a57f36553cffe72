/* SPDX-License-Identifier: MIT */
#include "common/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Longer words are compared by their first LONGEST bytes. */
#define LONGEST 63

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The number of edits (insert, delete, replace, swap of neighbours) from A to B. */
static unsigned distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    unsigned rows[3][LONGEST + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_size; j++)
        above[j] = before[j] = (unsigned)j;
    for (size_t i = 1; i <= a_size; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_size; j++) {
            unsigned best = above[j - 1] + !same(a[i - 1], b[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        unsigned *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[b_size];
}

const char *nearest_word(const char *word, const char *const *words, size_t count)
{
    size_t size = strnlen(word, LONGEST);
    const char *found = NULL;
    unsigned least = UINT32_MAX;
    for (size_t i = 0; i < count && size > 0; i++) {
        if (!words[i])
            continue;
        size_t other = strnlen(words[i], LONGEST);
        if (other == 0)
            continue;
        unsigned edits = distance(word, size, words[i], other);
        /* An abbreviation ("--aggr") is near, however much is missing, but a typing error is nearer. */
        if (size >= 3 && other > size && strncmp(word, words[i], size) == 0 && edits > 2)
            edits = 2;
        size_t longer = size > other ? size : other;
        if (edits <= (longer + 2) / 3 && edits < size && edits < least) {
            least = edits;
            found = words[i];
        }
    }
    return found;
}
