/* SPDX-License-Identifier: MIT */
/* What the samples can be grouped by, and what is shown of each group. */
#ifndef ANALYZE_FIELDS_FIELD_KINDS_H
#define ANALYZE_FIELDS_FIELD_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/fields/field_rows.h"
#include "analyze/read/sample_fields.h"
#include "analyze/view/view.h"

enum field_form {
    FORM_TEXT,
    FORM_PATH,     /* of a DSO: its last part in the table */
    FORM_FUNCTION, /* text that brief_name() can shorten */
    FORM_VARIABLE, /* the same; a missing one is "(no symbol)", or the kind of memory in the cell before */
    FORM_SIGNED,
    FORM_HEX,
    FORM_BYTES,
};

struct field_column {
    const char *head;
    const char *member; /* its name in JSON */
    enum field_form form;
    bool shrinks;
};

/* The ends of branches that were looked up. */
struct field_ends {
    struct map keys; /* (module, offset) */
    struct field_end {
        uint64_t dso, symbol; /* cells */
    } * list;
    size_t capacity;
};

/* A pass over the samples. */
struct field_pass {
    struct view *view;
    const struct field_kind *kind;
    struct field_rows rows;
    struct field_sum *whole, *without; /* by event: all samples, and those that lack what the rows need */
    struct field_ends ends;
    bool has_cycles;
    bool address_field; /* a sample of the shown event has the field for addresses */
};

struct field_kind {
    const char *one, *many;
    const char *member, *missing_member; /* of the document of --json */
    const struct field_column *columns;
    size_t column_count;
    const char *needs;            /* "data address" */
    const char *remedy;           /* how to record it */
    const char *remedy_for_event; /* if the samples have the field for addresses; NULL: the same */
    bool branches;                /* rows are weighed by branches, not by samples */
    /* Whether a sample has what the rows need. */
    bool (*has)(const struct profile_event *event, const struct profile_sample *sample,
                const struct sample_fields *fields);
    /* Adds such a sample to the rows. */
    void (*add)(struct field_pass *pass, const struct profile_sample *sample, const struct sample_fields *fields);
};

/* BY: enum settings_by. NULL: rows of that kind need only stacks and tasks. */
const struct field_kind *field_kind_of(int by);

#endif
