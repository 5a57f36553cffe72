/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses: ELF objects, the kernel, the vdso and the maps that just-in-time compilers leave in /tmp. Usable
 * without the rest of the analyzer. Every byte of a file is distrusted; nothing here prints. One thread at a time for a
 * struct symbols and everything that came from it.
 *
 * Nothing is opened before the first symbols_find(), symbols_why() or the like on an object. All strings handed out
 * live until symbols_free().
 */
#ifndef ANALYZE_SYM_SYMBOLS_H
#define ANALYZE_SYM_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;        /* all objects of one analysis, cached by (path, build-id) */
struct symbols_object; /* one mapped file (or vdso, kernel, jit map); owned by its struct symbols */

struct symbols_options {
    const char *symfs;              /* root in front of every recorded path, or NULL */
    const char *const *debug_paths; /* roots of separate debug files, tried before /usr/lib/debug */
    size_t debug_path_count;
    bool no_demangle; /* name is raw_name */
    bool no_kernel;   /* never read /proc/kallsyms */
};

struct symbol {
    const char *name;     /* demangled as perf report prints it (no parameters), "puts@plt" for a PLT entry */
    const char *raw_name; /* as the symbol table has it; of a PLT entry: of what it calls */
    const char *module;   /* kernel module without brackets ("ext4", "bpf"), else NULL */
    uint64_t start;       /* the object's own virtual addresses; of kernel and jit map: real addresses */
    uint64_t size;
    uint64_t address; /* what was looked for, in the same addresses: address - start is the "+0x.." */
    bool plt;         /* a stub that jumps to another function */
    bool ifunc;       /* the resolver of an indirect function */
    bool from_dynsym; /* name is of .dynsym alone: local functions may hide behind it */
};

/* Why names of an object are missing, all or some. */
enum symbols_lack {
    SYMBOLS_NO_FILE = 1,        /* gone, unreadable, or not a regular file */
    SYMBOLS_OTHER_BUILD_ID = 2, /* the file was replaced: all its names are refused */
    SYMBOLS_STRIPPED = 4,       /* no .symtab, here or in a debug file: .dynsym at most */
    SYMBOLS_BROKEN = 8,         /* not an ELF file, truncated, or inconsistent */
    SYMBOLS_ANONYMOUS = 16,     /* memory without a file */
    SYMBOLS_RESTRICTED = 32,    /* kptr_restrict hides the kernel's addresses */
    SYMBOLS_OTHER_KERNEL = 64,  /* recorded on another kernel, or before a reboot */
    SYMBOLS_NO_MEMORY = 128,
};

/* Copies what it needs from OPTIONS (NULL: defaults). 0 or -ENOMEM. */
int symbols_new(const struct symbols_options *options, struct symbols **ret_symbols);
void symbols_free(struct symbols *symbols);

/*
 * The object mapped from PATH as MMAP2 recorded it: a file, "/x (deleted)", "[vdso]", "//anon", "[heap]", ... BUILD_ID
 * as recorded (BUILD_ID_SIZE 0: unknown); when both are known and differ, the file on disk gives no names. The same
 * arguments give the same object. NULL only without memory.
 */
struct symbols_object *symbols_object(struct symbols *symbols, const char *path, const unsigned char *build_id,
                                      size_t build_id_size);

/* What a file of results says of the kernel that was recorded; each is optional. */
struct symbols_kernel {
    const char *osrelease;         /* HEADER_OSRELEASE */
    const unsigned char *build_id; /* of "[kernel.kallsyms]" in HEADER_BUILD_ID */
    size_t build_id_size;
    const char *reference_name; /* "_text" or "_stext": from the kernel's MMAP record "[kernel.kallsyms]_text" */
    uint64_t reference_address; /* its address then; 0: unknown */
};

/*
 * The kernel as an object: symbols_find() takes real addresses. Names only when the recorded kernel is the running one
 * (KERNEL NULL: taken to be). One per struct symbols and description; NULL only without memory.
 */
struct symbols_object *symbols_kernel(struct symbols *symbols, const struct symbols_kernel *kernel);

/* Code that PID generated: /tmp/perf-PID.map of this user or of root. symbols_find() takes real addresses. */
struct symbols_object *symbols_jit(struct symbols *symbols, uint32_t pid);

/*
 * The symbol that covers FILE_OFFSET: of a file the mapping's pgoff + address - start (PT_LOAD gives the virtual
 * address); of kernel and jit map the address itself. False: no name; the caller prints "object+0xOFFSET". *ret_symbol
 * untouched then.
 */
bool symbols_find(struct symbols_object *object, uint64_t file_offset, struct symbol *ret_symbol);

/* The virtual address (what addr2line and nm call it) of FILE_OFFSET. False when no PT_LOAD of the file holds it. */
bool symbols_address(struct symbols_object *object, uint64_t file_offset, uint64_t *ret_address);

/* Bits of enum symbols_lack; 0: everything is there. */
unsigned symbols_lacks(struct symbols_object *object);
/* The same as one phrase for a report ("the file has another build-id"), or NULL. */
const char *symbols_why(struct symbols_object *object);

const char *symbols_path(const struct symbols_object *object); /* as given */
/* The file that was opened (with symfs, by build-id, ...), and the debug file that gave .symtab; NULL when there is
 * none. */
const char *symbols_file(struct symbols_object *object);
const char *symbols_debug_file(struct symbols_object *object);
/* How many names the object has (after aliases were dropped). */
size_t symbols_count(struct symbols_object *object);
/* The build-id: as recorded, else as the file has it; size 0 when unknown. */
const unsigned char *symbols_build_id(struct symbols_object *object, size_t *ret_size);

#endif
