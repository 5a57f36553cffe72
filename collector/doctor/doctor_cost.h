/* SPDX-License-Identifier: MIT */
/* What a sample costs on this machine. */
#ifndef COLLECTOR_DOCTOR_DOCTOR_COST_H
#define COLLECTOR_DOCTOR_DOCTOR_COST_H

#include <stddef.h>
#include <stdint.h>

#include "collector/config/event_config.h"

struct doctor_cost {
    int status;     /* 0, or -errno: it could not be tried */
    size_t samples; /* that came */
    uint32_t ns;    /* how long one of them stops the thread, the median; 0: unknown */
};

/* Samples the calling thread for 60 ms. Context: a child that ends soon, which closes what is open. */
void doctor_try_cost(const struct event_config *config, struct doctor_cost *ret);
/* The median of the SAMPLES longest of GAPS[COUNT], which it sorts; 0 of none. */
uint32_t doctor_median_gap(uint32_t *gaps, size_t count, size_t samples);

#endif
