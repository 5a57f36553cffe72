/* SPDX-License-Identifier: MIT */
#include "analyze/fields/field_kinds.h"

#include <linux/perf_event.h>
#include <pinject/kernel.h>

#include "analyze/fields/data_place.h"
#include "analyze/script/script_bits.h"
#include "analyze/view/memory.h"

#define USUAL_PAGE 4096

/* Only of page faults 0 is an address; of other events it means that there is none. */
static bool has_address(const struct profile_event *event, const struct profile_sample *sample,
                        const struct sample_fields *fields)
{
    (void)sample;
    const bool fault = event->type == PERF_TYPE_SOFTWARE &&
                       (event->config == PERF_COUNT_SW_PAGE_FAULTS || event->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
                        event->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ);
    return (fields->has & PERF_SAMPLE_ADDR) && (fields->addr || fault);
}

static bool has_source(const struct profile_event *event, const struct profile_sample *sample,
                       const struct sample_fields *fields)
{
    (void)event;
    (void)sample;
    return fields->has & PERF_SAMPLE_DATA_SRC;
}

static bool has_branches(const struct profile_event *event, const struct profile_sample *sample,
                         const struct sample_fields *fields)
{
    (void)event;
    /* With PERF_SAMPLE_BRANCH_CALL_STACK they are the call chain (perf record --call-graph lbr). */
    return (fields->has & PERF_SAMPLE_BRANCH_STACK) && fields->branches.count &&
           !(sample->record->attr->perf.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK);
}

static struct field_row *add_row(struct field_pass *pass, const struct profile_sample *sample, const uint64_t *cells,
                                 uint64_t weight)
{
    struct field_row *row = field_rows_add(&pass->rows, cells);
    struct field_sum *sum = field_rows_sum(&pass->rows, row, sample->event);
    sum->samples++;
    sum->weight += weight;
    return row;
}

static uint64_t page_size(const struct sample_fields *fields)
{
    const uint64_t size = fields->has & PERF_SAMPLE_DATA_PAGE_SIZE ? fields->data_page_size : 0;
    return size && (size & (size - 1)) == 0 ? size : USUAL_PAGE;
}

/* The same address is another page in another process. */
static void add_page(struct field_pass *pass, const struct profile_sample *sample, const struct sample_fields *fields)
{
    const uint64_t size = page_size(fields), page = fields->addr & ~(size - 1);
    const struct data_place place = data_place_find(pass->view, sample, fields->addr);
    add_row(pass, sample,
            (uint64_t[]){place.kernel ? FIELD_NONE : (uint32_t)sample->task->pid, page, size,
                         field_rows_cell(&pass->rows, place.dso)},
            sample->period);
}

static void add_variable(struct field_pass *pass, const struct profile_sample *sample,
                         const struct sample_fields *fields)
{
    const struct data_place place = data_place_find(pass->view, sample, fields->addr);
    add_row(pass, sample,
            (uint64_t[]){field_rows_cell(&pass->rows, place.dso), field_rows_cell(&pass->rows, place.symbol)},
            sample->period);
}

static void add_access(struct field_pass *pass, const struct profile_sample *sample, const struct sample_fields *fields)
{
    uint64_t cells[ACCESS_PARTS];
    char text[BITS_TEXT];
    for (int part = 0; part < ACCESS_PARTS; part++)
        cells[part] = field_rows_cell(&pass->rows, bits_access(text, (enum bits_access)part, fields->data_source));
    add_row(pass, sample, cells, sample->period);
}

/* An end of a branch; each place is looked up once. */
static struct field_end end_of(struct field_pass *pass, const struct profile_sample *sample, uint64_t address)
{
    const struct profile_frame frame = profile_sample_code(pass->view->profile, sample, address);
    const uint64_t module = frame.module ? (uint64_t)frame.module->index + 1 : 0;
    struct field_ends *ends = &pass->ends;
    const size_t before = ends->keys.count;
    const uint32_t index = map_add(&ends->keys, module, frame.offset);
    if (ends->keys.count == before)
        return ends->list[index];
    struct names_place place;
    names_look_up(pass->view->names, &frame, &place);
    ends->list = memory_grow(ends->list, &ends->capacity, ends->keys.count, sizeof(*ends->list));
    return ends->list[index] = (struct field_end){field_rows_cell(&pass->rows, place.dso),
                                                  field_rows_cell(&pass->rows, place.symbol)};
}

static void add_branches(struct field_pass *pass, const struct profile_sample *sample,
                         const struct sample_fields *fields)
{
    pass->whole[sample->event].weight += fields->branches.count;
    for (uint64_t i = 0; i < fields->branches.count; i++) {
        const struct sample_branch branch = sample_branch(fields, i);
        const struct field_end from = end_of(pass, sample, branch.from), to = end_of(pass, sample, branch.to);
        struct field_row *row = add_row(pass, sample, (uint64_t[]){from.dso, from.symbol, to.dso, to.symbol}, 1);
        if (sample->event != pass->view->profile->event)
            continue;
        row->mispredicted += branch.mispredicted;
        row->predicted += branch.predicted && !branch.mispredicted;
        row->cycles += branch.cycles;
        row->cycle_branches += branch.cycles != 0;
        pass->has_cycles |= branch.cycles != 0;
    }
}

static const struct field_column page_columns[] = {
    {"PID", "pid", FORM_SIGNED, false},
    {"Page", "page", FORM_HEX, false},
    {"Size", "page_bytes", FORM_BYTES, false},
    {"DSO", "dso", FORM_TEXT, true},
};
static const struct field_column variable_columns[] = {
    {"DSO", "dso", FORM_PATH, true},
    {"Data", "symbol", FORM_VARIABLE, true},
};
/* In the order of enum bits_access. */
static const struct field_column access_columns[] = {
    {"Access", "op", FORM_TEXT, false},     {"Memory", "mem", FORM_TEXT, false},
    {"Snoop", "snoop", FORM_TEXT, false},   {"TLB", "tlb", FORM_TEXT, false},
    {"Locked", "locked", FORM_TEXT, false}, {"Blocked", "blocked", FORM_TEXT, false},
};
static const struct field_column branch_columns[] = {
    {"DSO", "from_dso", FORM_PATH, true},
    {"From", "from_symbol", FORM_FUNCTION, true},
    {"DSO", "to_dso", FORM_PATH, true},
    {"To", "to_symbol", FORM_FUNCTION, true},
};

#define COLUMNS(columns) (columns), sizeof(columns) / sizeof((columns)[0])
#define DATA_REMEDY      "record them with 'pinject-run -d' or 'perf record -d'"
#define EVENT_REMEDY     "this event has no addresses; record one that has, such as page-faults"

static const struct field_kind page_kind = {
    "page",       "pages", "data_pages", "data_missing", COLUMNS(page_columns), "data address", DATA_REMEDY,
    EVENT_REMEDY, false,   has_address,  add_page,
};
static const struct field_kind variable_kind = {
    "row",        "rows", "data_symbols", "data_missing", COLUMNS(variable_columns), "data address", DATA_REMEDY,
    EVENT_REMEDY, false,  has_address,    add_variable,
};
static const struct field_kind access_kind = {
    "kind of access",
    "kinds of access",
    "data_types",
    "data_missing",
    COLUMNS(access_columns),
    "data source",
    "record events of memory accesses with 'pinject-run -d' or 'perf mem record'",
    NULL,
    false,
    has_source,
    add_access,
};
static const struct field_kind branch_kind = {
    "pair of functions",
    "pairs of functions",
    "branches",
    "branches_missing",
    COLUMNS(branch_columns),
    "branch stack",
    "record branches with 'perf record -b'",
    NULL,
    true,
    has_branches,
    add_branches,
};

const struct field_kind *field_kind_of(int by)
{
    switch (by) {
    case BY_DATA_PAGE: return &page_kind;
    case BY_DATA_SYMBOL: return &variable_kind;
    case BY_DATA_TYPE: return &access_kind;
    case BY_BRANCH: return &branch_kind;
    default: return NULL;
    }
}
