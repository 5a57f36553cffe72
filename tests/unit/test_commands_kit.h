/* SPDX-License-Identifier: MIT */
/* Shared by the inputs of test_commands: the programs and libraries of tests/data/symfs. */
#ifndef TEST_COMMANDS_KIT_H
#define TEST_COMMANDS_KIT_H

#include "perfdata_writer.h"

#define USER   PERF_RECORD_MISC_USER
#define KERNEL PERF_RECORD_MISC_KERNEL
#define MS     UINT64_C(1000000)
#define APP    UINT64_C(0x555500000000)
#define LIB(n) (UINT64_C(0x7f0000000000) + (uint64_t)(n)*0x10000)

/* The names of a machine that does not exist, so that no data of the machine that runs the tests is used. */
void inputs_machine(struct writer *writer);
/* Write the build-ids of the program and the libraries, and their mappings in the task of WRITER. */
void inputs_ids(struct writer *writer);
void inputs_maps(struct writer *writer);
/* Writes COUNT samples of EVENT, a millisecond apart, each of PERIOD. CHAIN: leaf first, ended by 0. */
void inputs_samples(struct writer *writer, unsigned event, unsigned count, uint64_t period, const uint64_t *chain);

/* Files like perf's own. */
void inputs_like_perf(void);

#endif
