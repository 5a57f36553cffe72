/* SPDX-License-Identifier: MIT */
/* Numbers of counts as text: plain as in perf stat, or in one of pfmon's three forms. */
#ifndef COUNTS_COUNT_NUMBER_H
#define COUNTS_COUNT_NUMBER_H

#include <stdint.h>

/* 1234567; 1,234,567; 1.234.567; 0x12d687 */
enum count_digits { COUNT_PLAIN, COUNT_US, COUNT_EU, COUNT_HEX };

/* Room for every number. */
enum { COUNT_TEXT = 48 };

/* RET has room for COUNT_TEXT bytes, and is returned. */
char *count_number(char *ret, uint64_t value, enum count_digits digits);
/* NS in milliseconds with two decimals, cut, not rounded; COUNT_HEX: in nanoseconds. */
char *count_milliseconds(char *ret, uint64_t ns, enum count_digits digits);
/* Decimals of a count times SCALE, which is in the event's unit. */
int count_decimals(double scale);

#endif
