/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses: ELF DSOs, the kernel, the vdso and the maps that just-in-time compilers leave in /tmp. Usable
 * without the rest of the analyzer. Every byte of a file is distrusted; nothing here prints.
 *
 * Threads: symbols_dso() and its like take one thread at a time for a struct symbols. What takes a DSO takes one
 * thread at a time for that DSO; different DSOs of the same struct symbols share nothing that changes, so that
 * each may be looked up by a thread of its own.
 *
 * Nothing is opened before the first symbols_find(), symbols_why() or the like on a DSO. All strings handed out
 * live until symbols_free().
 */
#ifndef ANALYZE_SYM_SYMBOLS_H
#define ANALYZE_SYM_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;        /* all DSOs of one analysis, cached by (path, build-id) */
struct symbols_dso;    /* one mapped file (or vdso, kernel, jit map); owned by its struct symbols */

struct symbols_options {
    const char *symfs;              /* root in front of every recorded path, or NULL */
    const char *const *debug_paths; /* roots of separate debug files, tried before /usr/lib/debug */
    size_t debug_path_count;
    bool no_demangle; /* name is raw_name */
    bool no_kernel;   /* never read /proc/kallsyms */
    unsigned debuginfod_seconds; /* ask the servers of DEBUGINFOD_URLS, for at most so long in all; 0: never */
};

struct symbol {
    const char *name;     /* demangled as perf report prints it (no parameters), "puts@plt" for a PLT entry */
    const char *raw_name; /* as the symbol table has it; of a PLT entry: of what it calls */
    const char *module;   /* kernel module without brackets ("ext4", "bpf"), else NULL */
    uint64_t start;       /* the DSO's own virtual addresses; of kernel and jit map: real addresses */
    uint64_t size;
    uint64_t address; /* what was looked for, in the same addresses: address - start is the "+0x.." */
    bool plt;         /* a stub that jumps to another function */
    bool ifunc;       /* the resolver of an indirect function */
    bool from_dynsym; /* name is of .dynsym alone: local functions may hide behind it */
};

/* Why names of a DSO are missing, all or some. */
enum symbols_missing {
    SYMBOLS_NO_FILE = 1,        /* gone, unreadable, or not a regular file */
    SYMBOLS_OTHER_BUILD_ID = 2, /* the file was replaced: all its names are refused */
    SYMBOLS_STRIPPED = 4,       /* no .symtab, here or in a debug file: .dynsym at most */
    SYMBOLS_BROKEN = 8,         /* not an ELF file, truncated, or inconsistent */
    SYMBOLS_ANONYMOUS = 16,     /* memory without a file */
    SYMBOLS_RESTRICTED = 32,    /* /proc/kallsyms hides the addresses of the kernel */
    SYMBOLS_OTHER_KERNEL = 64,  /* recorded on another kernel, or before a reboot */
    SYMBOLS_NO_MEMORY = 128,
};

/* Copies what it needs from OPTIONS (NULL: defaults). 0 or -ENOMEM. */
int symbols_new(const struct symbols_options *options, struct symbols **ret_symbols);
void symbols_free(struct symbols *symbols);

/*
 * The DSO mapped from PATH as MMAP2 recorded it: a file, "/x (deleted)", "[vdso]", "//anon", "[heap]", ... BUILD_ID
 * as recorded (BUILD_ID_SIZE 0: unknown); when both are known and differ, the file on disk gives no names. The same
 * arguments give the same DSO. NULL only without memory.
 */
struct symbols_dso *symbols_dso(struct symbols *symbols, const char *path, const unsigned char *build_id,
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
 * The kernel as a DSO: symbols_find() takes real addresses. Names only when the recorded kernel is the running one
 * (KERNEL NULL: taken to be), or its list of symbols was saved. One per struct symbols and description; NULL only
 * without memory.
 */
struct symbols_dso *symbols_kernel(struct symbols *symbols, const struct symbols_kernel *kernel);

/*
 * The part of the list of a kernel's symbols that gives the names of ADDRESSES[COUNT], which symbols_find() knows: text
 * as in /proc/kallsyms, with the addresses of the recorded kernel; *RET is malloced. Where roots of debug files have
 * it at "[kernel.kallsyms]/BUILD-ID/kallsyms", perf's place for such lists, it is used for another kernel. 0,
 * -ENODATA (there is no list), -ENOMEM or -errno.
 */
int symbols_kernel_cut(struct symbols_dso *kernel, const uint64_t *addresses, size_t count, char **ret,
                       size_t *ret_size);
/* The file with that list; NULL: none. */
const char *symbols_kernel_file(struct symbols_dso *kernel);

/*
 * Code that PID generated: /tmp/perf-PID.map and jitdump, of this user or of root. symbols_find() takes real addresses.
 */
struct symbols_dso *symbols_jit(struct symbols *symbols, uint32_t pid);
/* The jitdump file that was recorded of a symbols_jit(): before anything is asked of DSO; the first one counts. */
void symbols_jit_dump(struct symbols_dso *dso, const char *path);

/*
 * The symbol that covers FILE_OFFSET: of a file the mapping's pgoff + address - start (PT_LOAD gives the virtual
 * address); of kernel and jit map the address itself. False: no name; the caller prints "DSO+0xOFFSET". *ret_symbol
 * untouched then.
 */
bool symbols_find(struct symbols_dso *dso, uint64_t file_offset, struct symbol *ret_symbol);

/*
 * The bounds of the function without a name that covers FILE_OFFSET, in the DSO's virtual addresses. Of stripped
 * files alone, and as far as their unwind tables (.eh_frame) tell; ask symbols_find() first.
 */
bool symbols_bounds(struct symbols_dso *dso, uint64_t file_offset, uint64_t *ret_start, uint64_t *ret_size);

/* One of the functions that an address belongs to. */
struct symbol_line {
    const char *function;     /* demangled as symbol.name is; NULL: unknown */
    const char *raw_function; /* linkage name where there is one */
    const char *file;         /* source file, as the compiler was given it; NULL: unknown */
    uint32_t line, column;    /* of the innermost: of the instruction; of others: of the inlined call; 0: unknown */
};

enum { SYMBOLS_LINES_MAX = 128 };

/*
 * Source lines of FILE_OFFSET: RET[0] is the innermost inlined function, the last one the function whose code it is.
 * How many (at most SYMBOLS_LINES_MAX); 0: no line information, see symbols_lines_why().
 */
size_t symbols_lines(struct symbols_dso *dso, uint64_t file_offset, struct symbol_line *ret);
/* The rows of the line tables from the virtual address START up to END: as dwarf_rows() has them. */
typedef void symbols_each_row(void *context, uint64_t address, const char *directory, const char *file, uint32_t line);
void symbols_rows(struct symbols_dso *dso, uint64_t start, uint64_t end, symbols_each_row *each, void *context);
/* Why symbols_lines() of the DSO found nothing, or not all; NULL when nobody asked yet. */
const char *symbols_lines_why(struct symbols_dso *dso);
/* The file whose debug information is used; NULL: none. */
const char *symbols_lines_file(struct symbols_dso *dso);
/* Further files that were read for it (.dwo, .dwp, shared by dwz): path, and its place below a root of debug files. */
typedef void symbols_each_file(void *context, const char *path, const char *place);
void symbols_lines_files(struct symbols_dso *dso, symbols_each_file *each, void *context);
/* Whether servers can be asked as the options wanted: 0, or -errno as debuginfod_new() has it. */
int symbols_debuginfod(const struct symbols *symbols);

/* The virtual address (what addr2line and nm call it) of FILE_OFFSET. False when no PT_LOAD of the file holds it. */
bool symbols_address(struct symbols_dso *dso, uint64_t file_offset, uint64_t *ret_address);

/* Bits of enum symbols_missing; 0: everything is there. */
unsigned symbols_missing(struct symbols_dso *dso);
/* The same as one phrase for a report ("the file has another build-id"), or NULL. */
const char *symbols_why(struct symbols_dso *dso);

const char *symbols_path(const struct symbols_dso *dso); /* as given */
/* The file that was opened (with symfs, by build-id, ...), and the debug file that gave .symtab; NULL when there is
 * none. */
const char *symbols_file(struct symbols_dso *dso);
const char *symbols_debug_file(struct symbols_dso *dso);
/* Whether that file has the code at the virtual ADDRESS: debug files and archives leave it out. */
bool symbols_has_code(struct symbols_dso *dso, uint64_t address);
/* Whether another build lies at the DSO's path. */
bool symbols_replaced(struct symbols_dso *dso);
/* How many names the DSO has (after aliases were dropped). */
size_t symbols_count(struct symbols_dso *dso);
/* The build-id: as recorded, else as the file has it; size 0 when unknown. */
const unsigned char *symbols_build_id(struct symbols_dso *dso, size_t *ret_size);

#endif
