/* SPDX-License-Identifier: MIT */
/* The user's options: filled by the command line, read by the views. */
#ifndef ANALYZE_VIEW_SETTINGS_H
#define ANALYZE_VIEW_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of the words of --by. From BY_DATA_PAGE on, rows need more of a sample than its stack and its task. */
enum settings_by {
    BY_FUNCTION,
    BY_DSO,
    BY_TASK,
    BY_PROCESS,
    BY_COMM,
    BY_ADDRESS,
    BY_LINE,
    BY_INLINE,
    BY_FILE,
    BY_DATA_PAGE,
    BY_DATA_SYMBOL,
    BY_DATA_TYPE,
    BY_BRANCH,
};
/* In the order of the words of --sort and --color. */
enum settings_sort { SORT_SELF, SORT_TOTAL };
/* For report. TASKS_USUAL: together in text, both in the JSON document. */
enum settings_tasks { TASKS_USUAL, TASKS_TOGETHER, TASKS_APART };
enum settings_layout { LAYOUT_HANGING, LAYOUT_UPRIGHT };
enum settings_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
/* The sampling modules of pfmon, for --smpl-module. */
enum settings_module { MODULE_NONE, MODULE_HISTOGRAM, MODULE_DETAILED, MODULE_COMPACT, MODULE_RAW };

struct settings_list {
    const char **items; /* the array is owned, the words are not */
    size_t count, capacity;
};

struct settings_numbers {
    int32_t *items;
    size_t count, capacity;
};

#define SETTINGS_ALL UINT64_MAX

struct top_look;
struct export_format;

struct settings {
    bool aggregate, callers, callees, call_tree, reverse, json, markdown;
    bool pager, no_pager, no_demangle, help, version;
    bool lines, inlined, no_inline, debuginfod;
    int by, sort, color;
    int tasks;    /* enum settings_tasks */
    int unwinder; /* enum unwind_engine_kind */
    int layout;   /* flame: enum settings_layout */
    bool no_fold;
    bool by_given, sort_given, min_given;   /* by options; a module may set `by`, too */
    bool group;                             /* report, export csv: all sampled events side by side */
    bool values, only_values;               /* report: sums of what groups counted, beside shares or instead of them */
    bool show_cum;                          /* report, export csv: a column with the share of the rows so far */
    bool no_resolve;                        /* report, script: addresses; no names are looked up */
    bool compact;                           /* script: one line for each sample */
    int module;                             /* enum settings_module */
    int count_by, count_form, count_digits; /* counts: enums of counts/ */
    bool rounds;                            /* counts --interval */
    const char *separator;                  /* of CSV */
    bool total;                             /* diff: functions with everything they called */
    int diff_by, diff_sort;
    bool diff_by_given;
    uint64_t top;     /* 0: the view's own choice, SETTINGS_ALL: everything */
    double cum;       /* percent, 0: no limit */
    double min;       /* percent: smaller parts are summed up or not drawn; valid if min_given */
    uint64_t threads; /* 0: one per CPU */
    struct settings_numbers pids, tids;
    struct settings_list comms, command_lines, dsos, symbols, debug_paths;
    const char *event, *session, *symfs, *file, *title;
    const struct export_format *format; /* of export */
    double interval;                    /* seconds between two looks of top; 0: the default */
    uint64_t snapshots;                 /* number of looks of top; 0: until the end */
    const char *base;            /* top: result files BASE.PID.TID, also those that appear later; NULL: the operands */
    uint64_t until;              /* top: ends when this descriptor reports its end; 0: none */
    const struct top_look *look; /* of top; NULL: the first and only one */
    uint64_t fields;             /* script: set of FIELD_BIT() of analyze/script/script_fields.h; 0: as usual */
    bool all;                    /* script: all records */
    const char *objdump;         /* NULL: the one in PATH */
    const char *archive;         /* where to write it; NULL: beside the results */
};

#endif
