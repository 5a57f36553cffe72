/* SPDX-License-Identifier: MIT */
/* Disassembles a range of addresses by running objdump of binutils. Nothing here prints. */
#ifndef ANALYZE_SYM_CODE_H
#define ANALYZE_SYM_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_instruction {
    uint64_t address;
    char *text; /* owned; as objdump wrote it: not trusted, since the file is not */
};

struct code {
    struct code_instruction *list; /* by address */
    size_t count, capacity;
};

struct code_request {
    const char *objdump; /* program or path; NULL: "objdump" */
    const char *file;
    uint64_t start, end; /* virtual addresses, end not included */
    bool no_demangle;
};

/*
 * Runs objdump and parses its output. 0; -ENOENT: there is no such program; else -errno with a phrase in REASON[SIZE].
 * After an error *code is empty.
 */
int code_init(struct code *code, const struct code_request *request, char *reason, size_t size);
void code_release(struct code *code);
/* The instruction that contains ADDRESS, in a range that ends at END; NULL: none. */
const struct code_instruction *code_at(const struct code *code, uint64_t address, uint64_t end);

#endif
