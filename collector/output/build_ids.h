/* SPDX-License-Identifier: MIT */
/* Build ids of the preload objects that tasks have mapped, by path. Context: the event loop's thread only. */
#ifndef COLLECTOR_OUTPUT_BUILD_IDS_H
#define COLLECTOR_OUTPUT_BUILD_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/output/result_task.h"
#include "collector/system/build_id.h"
#include "collector/system/mapped_file.h"

struct opener;

/*
 * A cache that remembers what files said, and that some say nothing. The files are opened and read by another process,
 * opener.h.
 */
struct buildids;
struct buildids *buildids_new(void); /* NULL: no memory */
void buildids_free(struct buildids *buildids);
struct opener *buildids_opener(struct buildids *buildids);
/*
 * MAPPED is there in a process: asks for its build id while the process has it. NOW_NS: any clock that goes on; what is
 * known is compared with the file again after a tenth of a second. Waits for nothing.
 */
void buildids_expect(struct buildids *buildids, const struct mapped_file *mapped, uint64_t ino_generation,
                     uint64_t now_ns);
/*
 * The build id of the preload object that was mapped from MODULE's path when it was that inode. What nobody expected,
 * or was refused then, is asked for now; what is not answered yet is waited for a bounded moment (opener_settle()).
 * False when there is none, or when another file lies there by now. "[vdso]" and "[kernel.kallsyms]" mean those of this
 * machine.
 */
bool buildids_find(struct buildids *buildids, const struct result_module *module, struct buildid *ret);

#endif
