/* SPDX-License-Identifier: MIT */
/*
 * Call stacks of programs of the machine that this is built for (x86-64, AArch64), from the registers and the piece of
 * stack that came with a sample: by the unwind tables of the files that are mapped (.eh_frame, .debug_frame), by frame
 * pointers where there are none (JIT code). docs/UNWINDING.md says why this is not libunwind.
 *
 * Every byte that comes in (files, registers, dumps) may be a lie: all work is bounded, nothing is read outside of what
 * was given. Context: one thread at a time for one struct unwind_files and all that was found in it.
 */
#ifndef UNWIND_UNWIND_H
#define UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Registers have DWARF's numbers. UNWIND_RETURN is the one whose rule says what a frame returns to: the link register
 * of AArch64. UNWIND_RESULT has what a system call returned.
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
#define UNWIND_MACHINE EM_X86_64
#define UNWIND_PERF_REGS UINT64_C(0xff01ff)
#endif

struct unwind_regs {
    uint64_t value[UNWIND_REGS];
};

/* The piece of stack from START upwards. FULL: it ends because there was no room for more. */
struct unwind_dump {
    const void *bytes;
    uint64_t start;
    size_t size;
    bool full;
};

enum unwind_end {
    UNWIND_BOTTOM,     /* the outermost frame, by its own table, a frame pointer of zero or the file's entry point */
    UNWIND_TRUNCATED,  /* the stack goes on behind a dump that was full */
    UNWIND_TOO_DEEP,   /* more frames than were asked for */
    UNWIND_NO_TABLE,   /* code that no table describes, and no frame pointer that leads on */
    UNWIND_BAD_MEMORY, /* what has to be read is not in the dump, and that was not full: another stack, or nonsense */
};
enum { UNWIND_ENDS = UNWIND_BAD_MEMORY + 1 };

/* What is mapped at an address. */
struct unwind_map {
    uint64_t start, offset;
    struct unwind_file *file;  /* NULL: anonymous, or it cannot be read */
    uint64_t low, high;        /* it is for all addresses from LOW to HIGH, exclusive; both 0: not known */
    bool anonymous;            /* memory without a file: generated code */
};

/* CONTEXT's mapping at ADDRESS; false: nothing executable is mapped there. */
typedef bool unwind_find(void *context, uint64_t address, struct unwind_map *ret);

struct unwind_target {
    unwind_find *find;
    void *context;
};

struct unwind_outcome {
    enum unwind_end end;
    uint64_t top;      /* the stack pointer in the outermost frame: so far the stack was of use */
};

/*
 * The chain of REGS over DUMP: the sampled address, then return addresses, leaf first, at most CAPACITY (> 0). Returns
 * how many; RET says why there are no more. Never 0: the sampled address is always there.
 */
unsigned unwind_stack(const struct unwind_target *target, const struct unwind_regs *regs,
                      const struct unwind_dump *dump, uint64_t *ips, unsigned capacity, struct unwind_outcome *ret);
/* The same by frame pointers alone. */
unsigned unwind_frames(const struct unwind_regs *regs, const struct unwind_dump *dump, uint64_t *ips,
                       unsigned capacity);
/* A word or two for users: "truncated". */
const char *unwind_end_name(enum unwind_end end);

/*
 * From the words of PERF_SAMPLE_REGS_USER (after the abi word), COUNT of them, as MASK (attr.sample_regs_user) chooses.
 * False: there is no stack pointer or no instruction pointer among them.
 */
bool unwind_regs_of_perf(uint64_t mask, const uint64_t *words, size_t count, struct unwind_regs *ret);

/* Files that were read: each once, by device, inode, size and times. */
struct unwind_files;
struct unwind_files *unwind_files_new(void); /* NULL: no memory */
void unwind_files_free(struct unwind_files *files);
/*
 * The tables of the file FD, which is not kept. NULL: not a regular file, not an ELF file of this machine, no memory,
 * or 512 MiB are held already; a file without tables is one that has none. It lives as long as FILES, but for trimming.
 */
struct unwind_file *unwind_files_fd(struct unwind_files *files, int fd);
/*
 * The same of COPY, which holds what unwind_copy_tables() took of a file that stat names so. The times: nanoseconds.
 */
struct unwind_stat {
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
};
/* Is the file known, tables or not? Then *RET is what unwind_files_copy() would give, which reads nothing. */
bool unwind_files_know(const struct unwind_files *files, const struct unwind_stat *stat, struct unwind_file **ret);
struct unwind_file *unwind_files_copy(struct unwind_files *files, const struct unwind_stat *stat, int copy);
/* Copies those parts of FD, a file of SIZE bytes, that are read here to COPY, at the same places. 0 or -ENOEXEC. */
int unwind_copy_tables(int fd, uint64_t size, int copy);
/* The same of an ELF file in memory, which is copied; NAME ("[vdso]") finds it again. */
struct unwind_file *unwind_files_memory(struct unwind_files *files, const char *name, const void *bytes, size_t size);
/* The vdso of this process, which is that of every 64-bit process of the machine. NULL: there is none. */
struct unwind_file *unwind_files_vdso(struct unwind_files *files);
/* Bytes of tables and of rows that are remembered, and files. */
size_t unwind_files_size(const struct unwind_files *files, size_t *ret_count);
/*
 * True: more than 256 MiB are held, and those that were of no use for the longest time are to leave. Who holds files
 * gives up those of which unwind_file_leaves() is true; then unwind_files_trim() frees them.
 */
bool unwind_files_are_many(struct unwind_files *files);
bool unwind_file_leaves(const struct unwind_file *file); /* NULL is accepted */
void unwind_files_trim(struct unwind_files *files);

#endif
