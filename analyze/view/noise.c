/* SPDX-License-Identifier: MIT */
#include "analyze/view/noise.h"

#include <math.h>

void noise_add(struct noise_side *side, uint64_t samples, uint64_t weight)
{
    side->all.samples += samples;
    side->all.weight += weight;
    if (samples)
        side->squares += (double)weight * (double)weight / (double)samples;
}

void noise_finish(struct noise_side *side)
{
    side->grain = side->all.weight ? side->squares / (double)side->all.weight : 0;
}

/*
 * The number of samples in a sum is a Poisson variable. If both sums have the same expectation, its estimate is
 * n / (1 / grain0 + 1 / grain1) with n samples in both, and the variance of each sum is that times its grain: together
 * n * grain0 * grain1.
 */
double noise_of_weight(const struct noise_side sides[2], const struct noise_sum sums[2])
{
    double grain0 = sides[0].grain > 0 ? sides[0].grain : sides[1].grain;
    double grain1 = sides[1].grain > 0 ? sides[1].grain : grain0;
    double count =
        (grain0 > 0 ? (double)sums[0].weight / grain0 : 0) + (grain1 > 0 ? (double)sums[1].weight / grain1 : 0);
    double deviation = sqrt(count * grain0 * grain1);
    return deviation > 0 ? ((double)sums[1].weight - (double)sums[0].weight) / deviation : 0;
}

/* Two proportions, with the pooled variance. */
double noise_of_share(const struct noise_side sides[2], const struct noise_sum sums[2])
{
    if (!sides[0].all.weight || !sides[1].all.weight)
        return 0;
    double count[2], share[2];
    for (int i = 0; i < 2; i++) {
        count[i] = (double)sides[i].all.weight / sides[i].grain;
        share[i] = (double)sums[i].weight / (double)sides[i].all.weight;
    }
    double pooled = (share[0] * count[0] + share[1] * count[1]) / (count[0] + count[1]);
    double deviation = sqrt(pooled * (1 - pooled) * (1 / count[0] + 1 / count[1]));
    return deviation > 0 ? (share[1] - share[0]) / deviation : 0;
}

bool noise_is(double sigmas, const struct noise_sum sums[2])
{
    return !(fabs(sigmas) >= NOISE_SIGMAS) || sums[0].samples + sums[1].samples < NOISE_LEAST_SAMPLES;
}
