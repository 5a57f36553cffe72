/* SPDX-License-Identifier: MIT */
/* Messages about an event: all have one form. Thread-safe as report.h. */
#ifndef COLLECTOR_EVENTS_EVENT_ERROR_H
#define COLLECTOR_EVENTS_EVENT_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* Words that may have been meant: copies. */
struct event_words {
    char **words;
    size_t count, room;
};

/* Words that do not fit into memory, or above some thousand, are left out: they are only for suggestions. */
void event_words_add(struct event_words *words, const char *word);
/* The names in directory PATH, without those that begin with a dot or contain one. */
void event_words_add_directory(struct event_words *words, const char *path);
/* By name. */
void event_words_sort(struct event_words *words);
void event_words_release(struct event_words *words);

/* Where an event stands. */
struct event_place {
    const char *text; /* as the user wrote it, ended by NUL */
    unsigned number;  /* from 1, in the whole list */
};

/*
 * Prints "event NUMBER, 'TEXT': PROBLEM; did you mean 'NEAR'?": NEAR is the one of WORDS (NULL: none) that WORD was
 * probably meant to be. Returns -EINVAL.
 */
__attribute__((format(printf, 4, 5))) int event_error(const struct event_place *place, const char *word,
                                                      const struct event_words *words, const char *problem, ...);

#endif
