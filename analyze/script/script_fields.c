/* SPDX-License-Identifier: MIT */
#include "analyze/script/script_fields.h"

#include <errno.h>
#include <pinject/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "common/nearest.h"
#include "common/report.h"

static const struct {
    const char *name;
    uint64_t needs;
} fields[FIELD_COUNT] = {
    [FIELD_COMM] = {"comm", 0},
    [FIELD_PID] = {"pid", 0},
    [FIELD_TID] = {"tid", 0},
    [FIELD_CPU] = {"cpu", PERF_SAMPLE_CPU},
    [FIELD_TIME] = {"time", PERF_SAMPLE_TIME},
    [FIELD_PERIOD] = {"period", 0},
    [FIELD_EVENT] = {"event", 0},
    [FIELD_TRACE] = {"trace", PERF_SAMPLE_RAW},
    [FIELD_ID] = {"id", PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER},
    [FIELD_STREAM_ID] = {"stream_id", PERF_SAMPLE_STREAM_ID},
    [FIELD_READ] = {"read", PERF_SAMPLE_READ},
    [FIELD_VALUES] = {"values", PERF_SAMPLE_READ},
    [FIELD_ADDR] = {"addr", PERF_SAMPLE_ADDR},
    [FIELD_DATA_SRC] = {"data_src", PERF_SAMPLE_DATA_SRC},
    [FIELD_WEIGHT] = {"weight", PERF_SAMPLE_WEIGHT_TYPE},
    [FIELD_INS_LAT] = {"ins_lat", PERF_SAMPLE_WEIGHT_TYPE & ~(uint64_t)PERF_SAMPLE_WEIGHT},
    [FIELD_RETIRE_LAT] = {"retire_lat", PERF_SAMPLE_WEIGHT_TYPE & ~(uint64_t)PERF_SAMPLE_WEIGHT},
    [FIELD_TRANSACTION] = {"transaction", PERF_SAMPLE_TRANSACTION},
    [FIELD_CGROUP] = {"cgroup", PERF_SAMPLE_CGROUP},
    [FIELD_IP] = {"ip", PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN},
    [FIELD_SYM] = {"sym", 0},
    [FIELD_SYMOFF] = {"symoff", 0},
    [FIELD_DSO] = {"dso", 0},
    [FIELD_SRCLINE] = {"srcline", 0},
    [FIELD_IREGS] = {"iregs", PERF_SAMPLE_REGS_INTR},
    [FIELD_UREGS] = {"uregs", PERF_SAMPLE_REGS_USER},
    [FIELD_USTACK] = {"ustack", PERF_SAMPLE_STACK_USER},
    [FIELD_BRSTACK] = {"brstack", PERF_SAMPLE_BRANCH_STACK},
    [FIELD_BRSTACKSYM] = {"brstacksym", PERF_SAMPLE_BRANCH_STACK},
    [FIELD_RAW] = {"raw", PERF_SAMPLE_RAW},
    [FIELD_AUX] = {"aux", PERF_SAMPLE_AUX},
    [FIELD_PHYS_ADDR] = {"phys_addr", PERF_SAMPLE_PHYS_ADDR},
    [FIELD_DATA_PAGE_SIZE] = {"data_page_size", PERF_SAMPLE_DATA_PAGE_SIZE},
    [FIELD_CODE_PAGE_SIZE] = {"code_page_size", PERF_SAMPLE_CODE_PAGE_SIZE},
};

const char *script_field_name(enum script_field field)
{
    return fields[field].name;
}

uint64_t script_field_needs(enum script_field field)
{
    return fields[field].needs;
}

static int refuse_name(const char *name)
{
    const char *names[FIELD_COUNT];
    char *all = memory_text("");
    for (int i = 0; i < FIELD_COUNT; i++) {
        names[i] = fields[i].name;
        char *longer = memory_print("%s%s%s", all, i ? ", " : "", names[i]);
        free(all);
        all = longer;
    }
    const char *near = nearest_word(name, names, FIELD_COUNT);
    if (near)
        report_error("option '--fields' knows no field '%s'; did you mean '%s'?", name, near);
    else
        report_error("option '--fields' knows no field '%s'; the fields are %s", name, all);
    free(all);
    return -EINVAL;
}

static int add_name(const char *name, uint64_t *set)
{
    for (int i = 0; i < FIELD_COUNT; i++)
        if (strcmp(fields[i].name, name) == 0) {
            *set |= FIELD_BIT(i);
            return 0;
        }
    return refuse_name(name);
}

int script_fields_parse(const char *text, uint64_t *ret)
{
    char *copy = memory_text(text), *rest = copy;
    int status = 0;
    *ret = 0;
    for (char *name; status == 0 && (name = strsep(&rest, ","));)
        status = add_name(name, ret);
    free(copy);
    if (status < 0)
        return status;
    static const enum script_field of_ip[] = {FIELD_SYM, FIELD_SYMOFF, FIELD_DSO, FIELD_SRCLINE};
    for (size_t i = 0; i < sizeof(of_ip) / sizeof(of_ip[0]); i++)
        if ((*ret & FIELD_BIT(of_ip[i])) && !(*ret & FIELD_BIT(FIELD_IP))) {
            report_error("option '--fields': the field '%s' describes the address in the field 'ip'; add 'ip'",
                         fields[of_ip[i]].name);
            return -EINVAL;
        }
    if ((*ret & FIELD_BIT(FIELD_SYMOFF)) && !(*ret & FIELD_BIT(FIELD_SYM))) {
        report_error(
            "option '--fields': the field 'symoff' is the offset from the symbol in the field 'sym'; add 'sym'");
        return -EINVAL;
    }
    return 0;
}
