/* SPDX-License-Identifier: MIT */
/*
 * Call stacks of programs of this build's architecture (x86-64, AArch64), from the registers and the stack dump of a
 * sample: by the unwind tables of the mapped files (.eh_frame, .debug_frame), by frame pointers where there are none
 * (JIT code). docs/UNWINDING.md says why this is not libunwind.
 *
 * No input (files, registers, dumps) is trusted: all work is bounded, and nothing is read outside of the input.
 * Context: one thread at a time for one struct unwind_files and everything that was found in it.
 */
#ifndef UNWIND_UNWIND_H
#define UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Registers have DWARF's numbers. UNWIND_RETURN is the register whose rule gives the return address: on AArch64 the
 * link register. UNWIND_RESULT is the one with the result of a system call.
 */
#if defined(__aarch64__)
enum {
    UNWIND_REGS = 33, /* x0 ... x30, 31 sp, 32 pc */
    UNWIND_RESULT = 0,
    UNWIND_FP = 29,
    UNWIND_RETURN = 30,
    UNWIND_SP = 31,
    UNWIND_IP = 32,
};
#define UNWIND_MACHINE EM_AARCH64
/* PERF_SAMPLE_REGS_USER: the bits of attr.sample_regs_user that unwinding needs. */
#define UNWIND_PERF_REGS UINT64_C(0x1ffffffff)
#else
enum {
    UNWIND_REGS = 17, /* 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, r8 ..., 16 rip */
    UNWIND_RESULT = 0,
    UNWIND_FP = 6,
    UNWIND_SP = 7,
    UNWIND_IP = 16,
    UNWIND_RETURN = UNWIND_IP,
};
#define UNWIND_MACHINE   EM_X86_64
#define UNWIND_PERF_REGS UINT64_C(0xff01ff)
#endif

struct unwind_regs {
    uint64_t value[UNWIND_REGS];
};

/* A copy of the stack from `start` upwards. full: it ends because there was no room for more. */
struct unwind_dump {
    const void *bytes;
    uint64_t start;
    size_t size;
    bool full;
};

enum unwind_end {
    UNWIND_BOTTOM,     /* the outermost frame, by its table, a frame pointer of zero or the file's entry point */
    UNWIND_TRUNCATED,  /* the stack continues beyond a full dump */
    UNWIND_TOO_DEEP,   /* more frames than were asked for */
    UNWIND_NO_TABLE,   /* code without a table, and without a usable frame pointer */
    UNWIND_BAD_MEMORY, /* an address is outside of the dump, which was not full: another stack, or a wrong value */
};
enum { UNWIND_ENDS = UNWIND_BAD_MEMORY + 1 };

/* The mapping at an address. */
struct unwind_map {
    uint64_t start, offset;
    struct unwind_file *file; /* NULL: anonymous, or it cannot be read */
    uint64_t low, high;       /* it is valid for addresses from low to high, exclusive; both 0: not known */
    bool anonymous;           /* memory without a file: JIT code */
};

/* CONTEXT's mapping at ADDRESS; false: nothing executable is mapped there. */
typedef bool unwind_find(void *context, uint64_t address, struct unwind_map *ret);

struct unwind_target {
    unwind_find *find;
    void *context;
};

struct unwind_outcome {
    enum unwind_end end;
    uint64_t top; /* the stack pointer in the outermost frame: the stack was used up to here */
};

/*
 * Unwinds REGS over DUMP: the sampled address, then return addresses, leaf first, at most CAPACITY (> 0). Returns their
 * number, never 0, since the sampled address is always there; RET says why there are no more.
 */
unsigned unwind_stack(const struct unwind_target *target, const struct unwind_regs *regs,
                      const struct unwind_dump *dump, uint64_t *ips, unsigned capacity, struct unwind_outcome *ret);
/* The same, only by frame pointers. */
unsigned unwind_frames(const struct unwind_regs *regs, const struct unwind_dump *dump, uint64_t *ips,
                       unsigned capacity);
/* A word or two for users: "truncated". */
const char *unwind_end_name(enum unwind_end end);

/*
 * Takes the registers from WORDS[COUNT] of PERF_SAMPLE_REGS_USER (after the abi word), selected by MASK
 * (attr.sample_regs_user). False: stack pointer or instruction pointer is missing.
 */
bool unwind_regs_of_perf(uint64_t mask, const uint64_t *words, size_t count, struct unwind_regs *ret);

/* Files that were read: each once, by device, inode, size and times. */
struct unwind_files;
struct unwind_files *unwind_files_new(void); /* NULL: out of memory */
void unwind_files_free(struct unwind_files *files);
/*
 * The tables of the file FD; FD itself is not kept. NULL: not a regular file, not an ELF file of this machine, out of
 * memory, or 512 MiB are in use already. A file without tables is not NULL. The result lives until unwind_files_free()
 * or trimming.
 */
struct unwind_file *unwind_files_fd(struct unwind_files *files, int fd);
/* What fstat() says of a file. Times are in nanoseconds. */
struct unwind_stat {
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
};
/* Is the file known, with tables or without? Then *ret is the result of unwind_files_copy(), without any reading. */
bool unwind_files_know(const struct unwind_files *files, const struct unwind_stat *stat, struct unwind_file **ret);
/* As unwind_files_fd(), from COPY, which unwind_copy_tables() made of the file that STAT describes. */
struct unwind_file *unwind_files_copy(struct unwind_files *files, const struct unwind_stat *stat, int copy);
/* Copies the parts of FD, a file of SIZE bytes, that are needed here to COPY, at the same offsets. 0 or -ENOEXEC. */
int unwind_copy_tables(int fd, uint64_t size, int copy);
/* The same for an ELF file in memory, which is copied; later calls find it by NAME ("[vdso]"). */
struct unwind_file *unwind_files_memory(struct unwind_files *files, const char *name, const void *bytes, size_t size);
/* The vdso of this process, the same in every 64-bit process of the machine. NULL: there is none. */
struct unwind_file *unwind_files_vdso(struct unwind_files *files);
/* The size in bytes of all tables and cached rows, and the number of files. */
size_t unwind_files_size(const struct unwind_files *files, size_t *ret_count);
/*
 * True: more than 256 MiB are in use, and the least recently used files are marked to leave. All pointers to files with
 * unwind_file_leaves() must be dropped; then unwind_files_trim() frees these.
 */
bool unwind_files_are_many(struct unwind_files *files);
bool unwind_file_leaves(const struct unwind_file *file); /* NULL is accepted */
void unwind_files_trim(struct unwind_files *files);

#endif
