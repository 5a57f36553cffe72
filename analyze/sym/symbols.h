/* SPDX-License-Identifier: MIT */
/*
 * Symbolization: names of addresses in ELF DSOs, the kernel, the vdso and JIT code (perf maps in /tmp, jitdump files).
 * Usable without the rest of the analyzer. The bytes of files are not trusted; nothing here prints.
 *
 * Threads: one thread at a time may call the functions that take a struct symbols. Functions that take a DSO allow one
 * thread at a time per DSO: different DSOs of a struct symbols share nothing that changes, so each may be looked up by
 * a thread of its own.
 *
 * Nothing is opened before the first symbols_find(), symbols_why() or the like on a DSO. All returned strings live
 * until symbols_free().
 */
#ifndef ANALYZE_SYM_SYMBOLS_H
#define ANALYZE_SYM_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;     /* all DSOs of one analysis, cached by (path, build-id) */
struct symbols_dso; /* one mapped file (or vdso, kernel, JIT code); owned by its struct symbols */

struct symbols_options {
    const char *symfs;              /* prefix of every recorded path, or NULL */
    const char *const *debug_paths; /* roots of separate debug files, tried before /usr/lib/debug */
    size_t debug_path_count;
    bool no_demangle;            /* name is raw_name */
    bool no_kernel;              /* never read /proc/kallsyms */
    unsigned debuginfod_seconds; /* limit for asking the servers of DEBUGINFOD_URLS, in all; 0: never ask */
};

struct symbol {
    const char *name;     /* demangled as perf report prints it (no parameters), "puts@plt" for a PLT entry */
    const char *raw_name; /* as in the symbol table; of a PLT entry: the function it calls */
    const char *module;   /* kernel module without brackets ("ext4", "bpf"), else NULL */
    uint64_t start;       /* virtual address in the DSO; real address in the kernel and in JIT code */
    uint64_t size;
    uint64_t address; /* the address that was looked up, of the same kind: address - start is the "+0x.." */
    bool plt;         /* a stub that jumps to another function */
    bool ifunc;       /* the resolver of an indirect function */
    bool from_dynsym; /* from .dynsym only: the address may be in a local function after it */
};

/* Why a DSO lacks all or some names. */
enum symbols_missing {
    SYMBOLS_NO_FILE = 1,        /* gone, unreadable, or not a regular file */
    SYMBOLS_OTHER_BUILD_ID = 2, /* the file was replaced: its names are not used */
    SYMBOLS_STRIPPED = 4,       /* no .symtab, here or in a debug file; at most .dynsym */
    SYMBOLS_BROKEN = 8,         /* not an ELF file, truncated, or inconsistent */
    SYMBOLS_ANONYMOUS = 16,     /* memory without a file */
    SYMBOLS_RESTRICTED = 32,    /* /proc/kallsyms hides the kernel's addresses */
    SYMBOLS_OTHER_KERNEL = 64,  /* recorded on another kernel, or before a reboot */
    SYMBOLS_NO_MEMORY = 128,
};

/* Copies OPTIONS (NULL: defaults). 0 or -ENOMEM. */
int symbols_new(const struct symbols_options *options, struct symbols **ret_symbols);
void symbols_free(struct symbols *symbols);

/*
 * The DSO mapped from PATH as MMAP2 recorded it: a file, "/x (deleted)", "[vdso]", "//anon", "[heap]", ... BUILD_ID
 * as recorded (BUILD_ID_SIZE 0: unknown); a file on disk with another build-id gives no names. The same arguments give
 * the same DSO. NULL: out of memory.
 */
struct symbols_dso *symbols_dso(struct symbols *symbols, const char *path, const unsigned char *build_id,
                                size_t build_id_size);

/* The recorded kernel, as a result file describes it; each field is optional. */
struct symbols_kernel {
    const char *osrelease;         /* HEADER_OSRELEASE */
    const unsigned char *build_id; /* of "[kernel.kallsyms]" in HEADER_BUILD_ID */
    size_t build_id_size;
    const char *reference_name; /* "_text" or "_stext": from the kernel's MMAP record "[kernel.kallsyms]_text" */
    uint64_t reference_address; /* its address when recorded; 0: unknown */
};

/*
 * The kernel as a DSO: symbols_find() takes real addresses. It has names only if the recorded kernel is the running one
 * (assumed with KERNEL NULL), or its symbol list was saved. One per struct symbols and description. NULL: out of
 * memory.
 */
struct symbols_dso *symbols_kernel(struct symbols *symbols, const struct symbols_kernel *kernel);

/*
 * The part of a kernel's symbol list that names ADDRESSES[COUNT] (as for symbols_find()): text as in /proc/kallsyms,
 * with the addresses of the recorded kernel; *RET is malloced. A root of debug files that has it at perf's place for
 * such lists, "[kernel.kallsyms]/BUILD-ID/kallsyms", makes it usable under another kernel. 0, -ENODATA (there is no
 * list), -ENOMEM or -errno.
 */
int symbols_kernel_cut(struct symbols_dso *kernel, const uint64_t *addresses, size_t count, char **ret,
                       size_t *ret_size);
/* The file with the kernel's symbol list; NULL: none. */
const char *symbols_kernel_file(struct symbols_dso *kernel);

/*
 * JIT code of PID: /tmp/perf-PID.map and jitdump, owned by this user or root. symbols_find() takes real addresses.
 */
struct symbols_dso *symbols_jit(struct symbols *symbols, uint32_t pid);
/* Sets the recorded jitdump file of a symbols_jit(), before any other call with DSO. The first one counts. */
void symbols_jit_dump(struct symbols_dso *dso, const char *path);

/*
 * The symbol that covers FILE_OFFSET: for a file the mapping's pgoff + address - start (PT_LOAD gives the virtual
 * address); for the kernel and JIT code the address itself. False: no name, and *ret_symbol is untouched; the caller
 * prints "DSO+0xOFFSET".
 */
bool symbols_find(struct symbols_dso *dso, uint64_t file_offset, struct symbol *ret_symbol);

/*
 * The bounds of the unnamed function that covers FILE_OFFSET, in virtual addresses of the DSO. Only for stripped files,
 * from their unwind tables (.eh_frame); to be called where symbols_find() finds no name.
 */
bool symbols_bounds(struct symbols_dso *dso, uint64_t file_offset, uint64_t *ret_start, uint64_t *ret_size);

/* A mapping of a file's code. */
struct symbols_mapping {
    uint64_t start, size, pgoff;
};

/*
 * DSO's code is mapped at MAPPING. The virtual address of ADDRESS in DSO; ADDRESS may be in another of its segments, such
 * as data or zeroed data. False: no segment has it, or DSO is no file.
 */
bool symbols_virtual(struct symbols_dso *dso, const struct symbols_mapping *mapping, uint64_t address,
                     uint64_t *ret_virtual);
/*
 * Whether memory without a file that begins at the virtual address START can be the zeroed data (.bss) of the segment of
 * VIRTUAL: it begins at the first page behind the segment's part of the file. DSO gave VIRTUAL by symbols_virtual().
 */
bool symbols_is_zeroed(const struct symbols_dso *dso, uint64_t virtual, uint64_t start);
/* The variable at a VIRTUAL address. False: there is none, and *ret_symbol is untouched. */
bool symbols_variable(struct symbols_dso *dso, uint64_t virtual, struct symbol *ret_symbol);

/* One of the functions that an address belongs to. */
struct symbol_line {
    const char *function;     /* demangled as symbol.name is; NULL: unknown */
    const char *raw_function; /* linkage name where there is one */
    const char *file;         /* source file, as the compiler was given it; NULL: unknown */
    uint32_t line, column;    /* innermost: of the instruction; others: of the inlined call; 0: unknown */
};

enum { SYMBOLS_LINES_MAX = 128 };

/*
 * Source lines of FILE_OFFSET: RET[0] is the innermost inlined function, the last one the function that contains the
 * code. Returns their number (at most SYMBOLS_LINES_MAX); 0: no line information, see symbols_lines_why().
 */
size_t symbols_lines(struct symbols_dso *dso, uint64_t file_offset, struct symbol_line *ret);
/* Calls EACH for the rows of the line tables from the virtual address START up to END, as dwarf_rows() does. */
typedef void symbols_each_row(void *context, uint64_t address, const char *directory, const char *file, uint32_t line);
void symbols_rows(struct symbols_dso *dso, uint64_t start, uint64_t end, symbols_each_row *each, void *context);
/* Why symbols_lines() of the DSO found nothing, or not all. NULL: no reason, or nothing was looked up yet. */
const char *symbols_lines_why(struct symbols_dso *dso);
/* The file whose debug information is used; NULL: none. */
const char *symbols_lines_file(struct symbols_dso *dso);
/* Calls EACH for the further files that were read for it (.dwo, .dwp, dwz's): path, and its place below a root of debug
 * files. */
typedef void symbols_each_file(void *context, const char *path, const char *place);
void symbols_lines_files(struct symbols_dso *dso, symbols_each_file *each, void *context);
/* Whether debuginfod servers can be asked, as the options want: 0, or -errno of debuginfod_new(). */
int symbols_debuginfod(const struct symbols *symbols);

/* The virtual address (as for addr2line and nm) of FILE_OFFSET. False: no PT_LOAD of the file has it. */
bool symbols_address(struct symbols_dso *dso, uint64_t file_offset, uint64_t *ret_address);

/* Bits of enum symbols_missing; 0: nothing is missing. */
unsigned symbols_missing(struct symbols_dso *dso);
/* The same as a phrase for a report ("the file has another build-id"), or NULL. */
const char *symbols_why(struct symbols_dso *dso);

const char *symbols_path(const struct symbols_dso *dso); /* as given */
/* The file that was opened (with symfs, by build-id, ...), and the debug file that .symtab is from; NULL: none. */
const char *symbols_file(struct symbols_dso *dso);
const char *symbols_debug_file(struct symbols_dso *dso);
/* Whether symbols_file() has the code at the virtual ADDRESS: debug files and archives leave it out. */
bool symbols_has_code(struct symbols_dso *dso, uint64_t address);
/* Whether the DSO's path has another build. */
bool symbols_replaced(struct symbols_dso *dso);
/* The number of names of the DSO, without aliases. */
size_t symbols_count(struct symbols_dso *dso);
/* The build-id: as recorded, else as the file has it; size 0 when unknown. */
const unsigned char *symbols_build_id(struct symbols_dso *dso, size_t *ret_size);

#endif
