/* SPDX-License-Identifier: MIT */
/* The words of --user-regs and --branch-filter, as perf record has them: registers and kinds of branches. Pure. */
#ifndef COLLECTOR_CONFIG_SAMPLE_WORDS_H
#define COLLECTOR_CONFIG_SAMPLE_WORDS_H

#include <stdint.h>
#include <stdio.h>

/* attr.sample_regs_user with all registers of user space that the kernel gives on this machine. */
uint64_t sample_words_all_registers(void);
/* LIST of their names as such a mask: 0, or -EINVAL after report_error(). In any case of letters, as in perf. */
int sample_words_registers(const char *list, uint64_t *ret);
/* Their names in one line. */
void sample_words_print_registers(FILE *to);
/*
 * LIST of kinds of branches as attr.branch_sample_type: 0, or -EINVAL after report_error(). Without a kind of branch,
 * any: perf then forgets the privilege levels of LIST, which are kept here.
 */
int sample_words_branches(const char *list, uint64_t *ret);

#endif
