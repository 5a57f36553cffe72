/* SPDX-License-Identifier: MIT */
/*
 * The machine's processors, memory nodes, caches and PMUs, from sysfs, as feature sections of a perf.data file
 * (perf.data-file-format.txt). Texts have padding only where perf
 * needs it. Read once per session.
 */
#ifndef COLLECTOR_SYSTEM_TOPOLOGY_H
#define COLLECTOR_SYSTEM_TOPOLOGY_H

#include <stdint.h>

#include "common/buffer.h"
#include "common/perfdata.h"

/*
 * Appends the content of section BIT (CPU_TOPOLOGY, NUMA_TOPOLOGY, PMU_MAPPINGS, CACHE, MEM_TOPOLOGY) to TO: nothing if
 * sysfs, mounted at SYSFS, does not tell. CPUS: as many as NRCPUS says are available.
 */
void topology_append(enum perfdata_feature bit, const char *sysfs, uint32_t cpus, struct buffer *to);

#endif
