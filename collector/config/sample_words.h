/* SPDX-License-Identifier: MIT */
/* The words of --user-regs, --intr-regs and --branch-filter, as perf record has them: registers, kinds of branches. Pure. */
#ifndef COLLECTOR_CONFIG_SAMPLE_WORDS_H
#define COLLECTOR_CONFIG_SAMPLE_WORDS_H

#include <stdint.h>
#include <stdio.h>

/* attr.sample_regs_user, or sample_regs_intr, with all registers that the kernel gives on this machine. */
uint64_t sample_words_all_registers(void);
/* LIST of their names, of OPTION, as such a mask: 0, or -EINVAL after report_error(). In any case of letters, as perf. */
int sample_words_registers(const char *option, const char *list, uint64_t *ret);
/* Their names in one line. */
void sample_words_print_registers(FILE *to);
/*
 * LIST of kinds of branches as attr.branch_sample_type: 0, or -EINVAL after report_error(). Without a kind of branch,
 * any: perf then forgets the privilege levels of LIST, which are kept here.
 */
int sample_words_branches(const char *list, uint64_t *ret);

#endif
