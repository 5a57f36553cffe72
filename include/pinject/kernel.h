/* SPDX-License-Identifier: MIT */
/* Definitions that the kernel headers of Debian 11 (Linux 5.10, glibc 2.31) lack. Their values never change. */
#ifndef PINJECT_KERNEL_H
#define PINJECT_KERNEL_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9; the same number on all architectures */
#endif

/* Newer headers define some of these as enumerators, with the same values. */
#define PERF_SAMPLE_DATA_PAGE_SIZE    (UINT64_C(1) << 22) /* Linux 5.11 */
#define PERF_SAMPLE_CODE_PAGE_SIZE    (UINT64_C(1) << 23)
#define PERF_COUNT_SW_CGROUP_SWITCHES 11 /* Linux 5.13 */
#ifndef PERF_SAMPLE_WEIGHT_TYPE
#define PERF_SAMPLE_WEIGHT_TYPE (PERF_SAMPLE_WEIGHT | UINT64_C(1) << 24) /* Linux 5.12 */
#endif
#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14) /* Linux 5.12 */
#endif

#define PERF_SAMPLE_BRANCH_PRIV_SAVE (UINT64_C(1) << 18) /* Linux 6.1 */
#ifndef PERF_SAMPLE_BRANCH_COUNTERS
#define PERF_SAMPLE_BRANCH_COUNTERS (1ull << 19) /* Linux 6.8 */
#endif

/* Sets attr->inherit_thread, a bit that has no name in headers before Linux 5.13. */
static inline void kernel_inherit_thread(struct perf_event_attr *attr)
{
    enum { FLAGS = 40, BIT = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 35 : 63 - 35 };
    uint64_t flags;
    __builtin_memcpy(&flags, (char *)attr + FLAGS, sizeof(flags));
    flags |= UINT64_C(1) << BIT;
    __builtin_memcpy((char *)attr + FLAGS, &flags, sizeof(flags));
}

#endif
