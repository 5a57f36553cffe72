/* SPDX-License-Identifier: MIT */
/* The fields of a sample that `script -F` can show, by the names that perf script has for them. */
#ifndef ANALYZE_SCRIPT_SCRIPT_FIELDS_H
#define ANALYZE_SCRIPT_SCRIPT_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

/* In the order in which they are shown. */
enum script_field {
    FIELD_COMM,
    FIELD_PID,
    FIELD_TID,
    FIELD_CPU,
    FIELD_TIME,
    FIELD_PERIOD,
    FIELD_EVENT,
    FIELD_TRACE,
    FIELD_ID,
    FIELD_STREAM_ID,
    FIELD_READ,
    FIELD_VALUES,
    FIELD_ADDR,
    FIELD_DATA_SRC,
    FIELD_WEIGHT,
    FIELD_INS_LAT,
    FIELD_RETIRE_LAT,
    FIELD_TRANSACTION,
    FIELD_CGROUP,
    FIELD_IP,
    FIELD_SYM,
    FIELD_SYMOFF,
    FIELD_DSO,
    FIELD_SRCLINE,
    FIELD_IREGS,
    FIELD_UREGS,
    FIELD_USTACK,
    FIELD_BRSTACK,
    FIELD_BRSTACKSYM,
    FIELD_RAW,
    FIELD_AUX,
    FIELD_PHYS_ADDR,
    FIELD_DATA_PAGE_SIZE,
    FIELD_CODE_PAGE_SIZE,
    FIELD_COUNT
};

#define FIELD_BIT(field) (UINT64_C(1) << (field))

const char *script_field_name(enum script_field field);
/* The bits of PERF_SAMPLE_* of which a sample needs one to have FIELD; 0: every sample has it. */
uint64_t script_field_needs(enum script_field field);
/*
 * TEXT: names with commas between them. *ret is a set of FIELD_BIT(). 0, or -EINVAL after a message that begins with
 * "option '--fields'".
 */
int script_fields_parse(const char *text, uint64_t *ret);

#endif
