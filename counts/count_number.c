/* SPDX-License-Identifier: MIT */
#include "counts/count_number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static char *grouped(char *ret, uint64_t value, char mark)
{
    char digits[24];
    int size = snprintf(digits, sizeof(digits), "%" PRIu64, value), used = 0;
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            ret[used++] = mark;
        ret[used++] = digits[i];
    }
    ret[used] = '\0';
    return ret;
}

char *count_number(char *ret, uint64_t value, enum count_digits digits)
{
    if (digits == COUNT_US || digits == COUNT_EU)
        return grouped(ret, value, digits == COUNT_US ? ',' : '.');
    snprintf(ret, COUNT_TEXT, digits == COUNT_HEX ? "0x%" PRIx64 : "%" PRIu64, value);
    return ret;
}

char *count_milliseconds(char *ret, uint64_t ns, enum count_digits digits)
{
    char whole[COUNT_TEXT];
    if (digits == COUNT_HEX)
        return count_number(ret, ns, digits);
    snprintf(ret, COUNT_TEXT, "%.40s%c%02u", count_number(whole, ns / 1000000, digits), digits == COUNT_EU ? ',' : '.',
             (unsigned)(ns % 1000000 / 10000));
    return ret;
}

int count_decimals(double scale)
{
    return scale == floor(scale) ? 0 : 2;
}
