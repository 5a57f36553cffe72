/* SPDX-License-Identifier: MIT */
#include "counts/count_spread.h"

#include <math.h>

double count_quantile(size_t freedom)
{
    static const double first[] = {12.706205, 4.302653, 3.182446, 2.776445, 2.570582,
                                   2.446912,  2.364624, 2.306004, 2.262157, 2.228139};
    if (freedom <= sizeof(first) / sizeof(first[0]))
        return first[freedom ? freedom - 1 : 0];
    /* The expansion of Cornish and Fisher around the normal distribution: exact to four digits from here on. */
    const double z = 1.959963985, n = (double)freedom;
    const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

struct count_spread count_spread(const double *values, size_t count)
{
    struct count_spread spread = {0};
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        spread.mean += values[i] / (double)count;
    if (count < 2)
        return spread;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - spread.mean) * (values[i] - spread.mean);
    spread.deviation = sqrt(squares / (double)(count - 1));
    spread.error = spread.deviation / sqrt((double)count);
    spread.interval = count_quantile(count - 1) * spread.error;
    return spread;
}
