/* SPDX-License-Identifier: MIT */
/*
 * The fixed structures of a perf.data file (linux/tools/perf/Documentation/perf.data-file-format.txt). For the kernel's
 * records see linux/perf_event.h.
 */
#ifndef COMMON_PERFDATA_H
#define COMMON_PERFDATA_H

#include <stdint.h>

#define PERFDATA_MAGIC 0x32454c4946524550ull /* "PERFILE2", little endian */

struct perfdata_section {
    uint64_t offset;
    uint64_t size;
};

struct perfdata_header {
    uint64_t magic;
    uint64_t size;      /* of this header: 104 */
    uint64_t attr_size; /* of one entry of attrs: sizeof(struct perf_event_attr) + a section of ids */
    struct perfdata_section attrs;
    struct perfdata_section data;
    struct perfdata_section event_types;
    uint64_t features[4]; /* bit set; the table of sections follows the data, in bit order */
};

_Static_assert(sizeof(struct perfdata_header) == 104, "perf.data header");

enum perfdata_feature {
    PERFDATA_TRACING_DATA = 1,
    PERFDATA_BUILD_ID = 2,
    PERFDATA_HOSTNAME = 3,
    PERFDATA_OSRELEASE = 4,
    PERFDATA_VERSION = 5,
    PERFDATA_ARCH = 6,
    PERFDATA_NRCPUS = 7,
    PERFDATA_CPUDESC = 8,
    PERFDATA_CPUID = 9,
    PERFDATA_TOTAL_MEM = 10,
    PERFDATA_CMDLINE = 11,
    PERFDATA_EVENT_DESC = 12,
    PERFDATA_CPU_TOPOLOGY = 13,
    PERFDATA_NUMA_TOPOLOGY = 14,
    PERFDATA_BRANCH_STACK = 15,
    PERFDATA_PMU_MAPPINGS = 16,
    PERFDATA_GROUP_DESC = 17,
    PERFDATA_AUXTRACE = 18,
    PERFDATA_STAT = 19,
    PERFDATA_CACHE = 20,
    PERFDATA_SAMPLE_TIME = 21,
    PERFDATA_MEM_TOPOLOGY = 22,
    PERFDATA_CLOCKID = 23,
    PERFDATA_DIR_FORMAT = 24,
    PERFDATA_BPF_PROG_INFO = 25,
    PERFDATA_BPF_BTF = 26,
    PERFDATA_COMPRESSED = 27,
    PERFDATA_CPU_PMU_CAPS = 28,
    PERFDATA_CLOCK_DATA = 29,
    PERFDATA_HYBRID_TOPOLOGY = 30,
    PERFDATA_PMU_CAPS = 31,
};

/* Records that perf itself writes. */
enum perfdata_record {
    PERFDATA_RECORD_ATTR = 64,
    PERFDATA_RECORD_EVENT_TYPE = 65,
    PERFDATA_RECORD_TRACING_DATA = 66,
    PERFDATA_RECORD_BUILD_ID = 67,
    PERFDATA_RECORD_FINISHED_ROUND = 68,
    PERFDATA_RECORD_ID_INDEX = 69,
    PERFDATA_RECORD_AUXTRACE_INFO = 70,
    PERFDATA_RECORD_AUXTRACE = 71,
    PERFDATA_RECORD_AUXTRACE_ERROR = 72,
    PERFDATA_RECORD_THREAD_MAP = 73,
    PERFDATA_RECORD_CPU_MAP = 74,
    PERFDATA_RECORD_STAT_CONFIG = 75,
    PERFDATA_RECORD_STAT = 76,
    PERFDATA_RECORD_STAT_ROUND = 77,
    PERFDATA_RECORD_EVENT_UPDATE = 78,
    PERFDATA_RECORD_TIME_CONV = 79,
    PERFDATA_RECORD_HEADER_FEATURE = 80,
    PERFDATA_RECORD_COMPRESSED = 81,
    PERFDATA_RECORD_FINISHED_INIT = 82,
};

#endif
