/* SPDX-License-Identifier: MIT */
#include "analyze/view/student.h"

#include <math.h>

#define STEPS 300       /* of the continued fraction; the worst case needs about 50 */
#define SMALLEST 1e-300 /* replaces a zero divisor */
#define SERIES_FROM 8.0 /* from here on the asymptotic series give 10 digits */
#define NORMAL_FROM 1e7 /* degrees of freedom that count as infinite */

/* The continued fraction of the incomplete beta function, by Lentz's method (Abramowitz and Stegun 26.5.8). */
static double beta_fraction(double x, double a, double b)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < SMALLEST ? SMALLEST : d);
    double value = d;
    for (int m = 1; m <= STEPS; m++) {
        const double terms[] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                                -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
        double step = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            d = 1 / (fabs(d) < SMALLEST ? SMALLEST : d);
            c = 1 + terms[i] / c;
            c = fabs(c) < SMALLEST ? SMALLEST : c;
            step = c * d;
            value *= step;
        }
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return value;
}

/* The regularized incomplete beta function I_x(a, b). */
static double beta_share(double x, double a, double b)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double student_tails(double t, double df)
{
    if (df > NORMAL_FROM)
        return erfc(fabs(t) / sqrt(2));
    return beta_share(df / (df + t * t), df / 2, 0.5);
}

double student_quantile(double p, double df)
{
    double low = 0, high = 1;
    while (high < 1e100 && student_tails(high, df) > p)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;
        if (student_tails(middle, df) > p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Abramowitz and Stegun 6.3.18, after 6.3.5. */
double student_digamma(double x)
{
    double below = 0;
    for (; x < SERIES_FROM; x++)
        below -= 1 / x;
    double s = 1 / (x * x);
    return below + log(x) - 0.5 / x - s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s / 132))));
}

/* Abramowitz and Stegun 6.4.12, after 6.4.6. */
double student_trigamma(double x)
{
    double below = 0;
    for (; x < SERIES_FROM; x++)
        below += 1 / (x * x);
    double s = 1 / (x * x);
    return below + 1 / x + s / 2 + s / x * (1.0 / 6 - s * (1.0 / 30 - s * (1.0 / 42 - s * (1.0 / 30 - s * 5.0 / 66))));
}

/* Bisection: the trigamma function falls from infinity to 0. */
double student_trigamma_inverse(double y)
{
    double low = 0, high = 1;
    while (high < 1e100 && student_trigamma(high) > y)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;
        if (student_trigamma(middle) > y)
            low = middle;
        else
            high = middle;
    }
    return high;
}
