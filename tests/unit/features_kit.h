/* SPDX-License-Identifier: MIT */
/* Feature sections of result files, for a machine and a command line that the test defines. */
#ifndef UNIT_FEATURES_KIT_H
#define UNIT_FEATURES_KIT_H

#include "check.h"

#include "collector/output/features.h"
#include "test_result_kit.h"

extern struct kit kit;
extern struct features features;
extern struct machine machine;
extern uint64_t topology; /* sections that the machine has, as a bit set */ /* the one that the code reads */
extern char typed[8192];                                                    /* the command line */
extern size_t typed_size;
extern int typed_error;

int features_set_up(void **state);
int features_tear_down(void **state);
/* Makes the features again. */
void features_begin(void);

#define TEST(function) cmocka_unit_test_setup_teardown(function, features_set_up, features_tear_down)

#endif
