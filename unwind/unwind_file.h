/* SPDX-License-Identifier: MIT */
/* The data for unwinding from one ELF file; private to the library. */
#ifndef UNWIND_UNWIND_FILE_H
#define UNWIND_UNWIND_FILE_H

#include <sys/stat.h>

#include "common/table.h"
#include "unwind/cfi.h"
#include "unwind/elf_bytes.h"
#include "unwind/row_cache.h"

enum { UNWIND_FILE_SEGMENTS = 16 };

struct unwind_file_segment {
    uint64_t offset, address, size;
};

struct unwind_file_key {
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
};

/* The memory of all files, and their order of use. */
struct unwind_file_account {
    size_t bytes;
    struct unwind_file *newest, *oldest;
};

struct unwind_file {
    UT_hash_handle hh;
    struct unwind_file_account *account; /* NULL: none */
    struct unwind_file *newer, *older;   /* in the account's order */
    bool leaves;                         /* it is marked to be freed */
    struct unwind_file_key key;
    char *name;                                                /* of an ELF file in memory; NULL: it is a file */
    bool valid;                                                /* an ELF file of this machine */
    struct unwind_file_segment segments[UNWIND_FILE_SEGMENTS]; /* executable ones */
    unsigned segment_count;
    uint64_t entry;
    struct cfi frames, debug; /* .eh_frame, .debug_frame */
    struct row_cache rows;    /* of both tables */
};

/*
 * Reads the tables of ELF into FILE (zeroed). False: it is no ELF file of this machine. Tables for which there is no
 * memory are left out.
 */
bool unwind_file_read(struct unwind_file *file, const struct elf_bytes *elf);
/* The address of OFFSET in the file. False: no executable segment has it. */
bool unwind_file_address(const struct unwind_file *file, uint64_t offset, uint64_t *ret_address);
/* Finds the row of ADDRESS in the tables, and caches it if possible. False: no table has it; only ret->work is set. */
bool unwind_file_row(struct unwind_file *file, uint64_t address, struct cfi_row *ret);
/* Marks FILE as used; the least recently used files leave first. */
void unwind_file_use(struct unwind_file *file);
size_t unwind_file_size(const struct unwind_file *file);
/* NULL is accepted. */
void unwind_file_free(struct unwind_file *file);

#endif
