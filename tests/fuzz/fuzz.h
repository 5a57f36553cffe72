/* SPDX-License-Identifier: MIT */
/* What each fuzz_NAME.c defines: libFuzzer calls it, or mutate.c. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
