/* SPDX-License-Identifier: MIT */
/* What a file says of the machine on which it was made. Read once per session. */
#ifndef COLLECTOR_SYSTEM_MACHINE_H
#define COLLECTOR_SYSTEM_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

struct machine {
    char hostname[65];
    char release[65];
    char arch[65];
    char cpu[128];   /* model name; "" when the machine does not tell */
    char cpuid[128]; /* "vendor,family,model,stepping", as perf writes it; "" when unknown */
    uint32_t cpus_configured, cpus_online;
    uint64_t memory_kb;
};

/* Never fails: what cannot be read stays empty or 0. */
void machine_read(struct machine *machine);
/* Parses the two entries of /proc/cpuinfo that matter, from the lines of its first processor (NUL-terminated). */
void machine_parse_cpuinfo(const char *text, struct machine *machine);

#endif
