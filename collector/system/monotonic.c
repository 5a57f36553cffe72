/* SPDX-License-Identifier: MIT */
#include "collector/system/monotonic.h"

#include "common/clock.h"

uint64_t monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}
