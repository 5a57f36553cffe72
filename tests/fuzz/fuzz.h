/* SPDX-License-Identifier: MIT */
/* Each fuzz_NAME.c defines this function; libFuzzer or mutate.c calls it. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
