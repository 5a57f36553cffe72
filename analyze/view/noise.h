/* SPDX-License-Identifier: MIT */
/* Whether two sums of samples differ by more than sampling alone explains. */
#ifndef ANALYZE_VIEW_NOISE_H
#define ANALYZE_VIEW_NOISE_H

#include <stdbool.h>
#include <stdint.h>

#define NOISE_SIGMAS 3.0       /* a change below this many standard deviations is noise */
#define NOISE_LEAST_SAMPLES 10 /* on both sides together; fewer cannot be judged */

struct noise_sum {
    uint64_t samples, weight;
};

/* All samples of one side. `grain` is the weight of one sample; if weights differ, the weight for which the samples are
 * as precise as weight / grain equal ones. */
struct noise_side {
    struct noise_sum all;
    double grain;
    double squares; /* of the weights, while they are added up */
};

/* Adds SAMPLES of about equal weight, WEIGHT in sum. */
void noise_add(struct noise_side *side, uint64_t samples, uint64_t weight);
void noise_finish(struct noise_side *side);

/* The change from SUMS[0] to SUMS[1] in standard deviations; 0: not known. */
double noise_of_weight(const struct noise_side sides[2], const struct noise_sum sums[2]);
double noise_of_share(const struct noise_side sides[2], const struct noise_sum sums[2]);
/* Whether a change of SIGMAS between these sums is noise. */
bool noise_is(double sigmas, const struct noise_sum sums[2]);

#endif
