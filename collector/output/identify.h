/* SPDX-License-Identifier: MIT */
/* Puts build ids into the records of mappings, in place of device and inode. Context: the event loop's thread only. */
#ifndef COLLECTOR_OUTPUT_IDENTIFY_H
#define COLLECTOR_OUTPUT_IDENTIFY_H

#include <stddef.h>

#include "collector/output/build_ids.h"
#include "common/buffer.h"

/* Into those of SIZE bytes of RECORDS that have none yet. Their sizes stay. */
void identify_records(struct buildids *buildids, unsigned char *records, size_t size);
/* TO is one MMAP record of the kernel. If the kernel has an id it becomes an MMAP2, which has room for it. */
void identify_kernel(struct buildids *buildids, struct buffer *to);

#endif
