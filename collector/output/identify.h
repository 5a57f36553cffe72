/* SPDX-License-Identifier: MIT */
/* Build ids into the records that map files, in place of device and inode. Context: the event loop's thread only. */
#ifndef COLLECTOR_OUTPUT_IDENTIFY_H
#define COLLECTOR_OUTPUT_IDENTIFY_H

#include <stddef.h>

#include "collector/output/build_ids.h"
#include "common/buffer.h"

/* Those of SIZE bytes of RECORDS that have none yet. Their sizes stay. */
void identify_records(struct buildids *buildids, unsigned char *records, size_t size);
/* TO is one MMAP of the kernel: it becomes a MMAP2, which has room for the id, where there is one. */
void identify_kernel(struct buildids *buildids, struct buffer *to);

#endif
