/* SPDX-License-Identifier: MIT */
/* What the inputs of test_commands have in common: the programs and libraries of tests/data/symfs. */
#ifndef TEST_COMMANDS_KIT_H
#define TEST_COMMANDS_KIT_H

#include "perfdata_writer.h"

#define USER PERF_RECORD_MISC_USER
#define KERNEL PERF_RECORD_MISC_KERNEL
#define MS UINT64_C(1000000)
#define APP UINT64_C(0x555500000000)
#define LIB(n) (UINT64_C(0x7f0000000000) + (uint64_t)(n) * 0x10000)

/* Names of a machine that is nowhere, so that nothing of the one where the tests run is taken. */
void inputs_machine(struct writer *writer);
/* Build ids of the program and the libraries; their mappings into the task of WRITER. */
void inputs_ids(struct writer *writer);
void inputs_maps(struct writer *writer);
/* COUNT samples of EVENT, a millisecond apart, each of PERIOD. CHAIN: leaf first, up to the first 0. */
void inputs_samples(struct writer *writer, unsigned event, unsigned count, uint64_t period, const uint64_t *chain);

/* Files like perf's own. */
void inputs_like_perf(void);

#endif
