/* SPDX-License-Identifier: MIT */
#include "analyze/sym/dwarf_scope.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "common/bound.h"

enum {
    DEPTH_MAX = 2048, /* of nested DIEs; compilers reach a few dozen */
    HOPS_MAX = 16,    /* from a DIE to the one that has the name */
};

struct interval {
    uint64_t low, high;
    uint32_t scope; /* index + 1 */
};

struct walk {
    struct dwarf_file *file;
    const struct dwarf_unit *unit;
    const struct dwarf_abbrevs *abbrevs;
    struct dwarf_scopes *scopes;
    size_t capacity;
    struct interval *intervals;
    size_t interval_count, interval_capacity;
    uint32_t current; /* the scope whose ranges are being added */
    uint32_t parents[DEPTH_MAX];
    unsigned depth;
    int error;
};

static bool grow_array(struct walk *walk, void **array, size_t *capacity, size_t count, size_t size)
{
    void *grown;

    if (count < *capacity)
        return true;
    grown = count < UINT32_MAX / 4 ? realloc(*array, (2 * count + 64) * size) : NULL;
    if (!grown) {
        walk->error = -ENOMEM;
        return false;
    }
    *array = grown;
    *capacity = 2 * count + 64;
    return true;
}

static bool add_interval(void *context, uint64_t low, uint64_t high)
{
    struct walk *walk = context;

    if (low >= high || !walk->file->is_code(walk->file->code, low))
        return true;
    if (!grow_array(walk, (void **)&walk->intervals, &walk->interval_capacity, walk->interval_count,
                    sizeof(*walk->intervals)))
        return false;
    walk->intervals[walk->interval_count++] = (struct interval){low, high, walk->current};
    return true;
}

struct found {
    struct dwarf_extent extent;
    struct dwarf_scope scope;
};

static void take_attribute(struct found *found, uint16_t name, const struct dwarf_value *value)
{
    if (dwarf_extent_take(&found->extent, name, value))
        return;
    switch (name) {
    case DW_AT_call_file: found->scope.call_file = value->number; break;
    case DW_AT_call_line: found->scope.call_line = (uint32_t)value->number; break;
    case DW_AT_call_column: found->scope.call_column = (uint32_t)value->number; break;
    default: break;
    }
}

/* Adds a function or an inlined one. Returns the scope that its child DIEs belong to: the new one, or PARENT. */
static uint32_t add_scope(struct walk *walk, const struct dwarf_abbrev *abbrev, struct cursor *cursor, uint64_t die,
                          uint32_t parent)
{
    struct found found = {.scope = {.die = die}};
    bool inlined = abbrev->tag == DW_TAG_inlined_subroutine;
    size_t before = walk->interval_count;

    for (uint32_t i = 0; i < abbrev->count && !cursor->failed; i++) {
        const struct dwarf_attribute *attribute = &walk->abbrevs->attributes[abbrev->first + i];
        struct dwarf_value value = dwarf_form_read(cursor, &walk->unit->encoding, attribute->form, attribute->constant);

        take_attribute(&found, attribute->name, &value);
    }
    if (inlined && !parent)
        return 0; /* in a function that has no code of its own */
    walk->current = (uint32_t)walk->scopes->count + 1;
    if (cursor->failed || !grow_array(walk, (void **)&walk->scopes->list, &walk->capacity, walk->scopes->count,
                                      sizeof(*walk->scopes->list)))
        return 0;
    dwarf_unit_ranges(walk->file, walk->unit, &found.extent, add_interval, walk);
    if (walk->interval_count == before)
        return inlined ? parent : 0;
    found.scope.parent = inlined ? parent : 0;
    walk->scopes->list[walk->scopes->count++] = found.scope;
    return walk->current;
}

static void walk_entries(struct walk *walk, struct cursor *cursor)
{
    const unsigned char *start = walk->file->sections.part[DWARF_INFO].at;

    while (cursor->at < cursor->end && !cursor->failed && !walk->error && walk->file->work) {
        uint64_t die = (uint64_t)(cursor->at - start);
        const struct dwarf_abbrev *abbrev;
        uint32_t scope = walk->parents[walk->depth];

        walk->file->work--;
        if (!dwarf_die(walk->abbrevs, cursor, &abbrev)) {
            if (cursor->failed || walk->depth <= 1)
                return;
            walk->depth--;
            continue;
        }
        if (abbrev->tag == DW_TAG_subprogram || abbrev->tag == DW_TAG_inlined_subroutine)
            scope = add_scope(walk, abbrev, cursor, die, scope);
        else
            dwarf_abbrevs_skip(walk->abbrevs, abbrev, cursor);
        if (!abbrev->children)
            continue;
        if (walk->depth + 1 >= DEPTH_MAX) {
            cursor->failed = true;
            return;
        }
        walk->parents[++walk->depth] = scope;
    }
}

/* Outer before inner: by start, then the longer one, then the one that was read first. */
static int by_start(const void *left, const void *right)
{
    const struct interval *a = left, *b = right;

    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->high != b->high)
        return a->high > b->high ? -1 : 1;
    return a->scope < b->scope ? -1 : a->scope > b->scope;
}

static void add_part(struct dwarf_scopes *scopes, uint64_t start, uint32_t scope)
{
    struct dwarf_scope_part *last = scopes->part_count ? &scopes->parts[scopes->part_count - 1] : NULL;

    if (last && last->start == start)
        last->scope = scope;
    else if (!last || last->scope != scope)
        scopes->parts[scopes->part_count++] = (struct dwarf_scope_part){start, scope};
}

/* Turns nested intervals into consecutive parts. */
static int make_parts(struct walk *walk)
{
    struct dwarf_scopes *scopes = walk->scopes;
    size_t count = walk->interval_count, top = 0;
    struct interval *open = calloc(count + 1, sizeof(*open));

    /* Each interval adds one part where it begins and at most one where it ends. */
    scopes->parts = calloc(2 * count + 1, sizeof(*scopes->parts));
    if (!open || !scopes->parts) {
        free(open);
        return -ENOMEM;
    }
    if (count)
        qsort(walk->intervals, count, sizeof(*walk->intervals), by_start);
    for (size_t i = 0; i <= count; i++) {
        uint64_t start = i < count ? walk->intervals[i].low : UINT64_MAX;

        while (top && open[top - 1].high <= start) {
            uint64_t end = open[--top].high;

            while (top && open[top - 1].high <= end)
                top--;
            add_part(scopes, end, top ? open[top - 1].scope : 0);
        }
        if (i == count)
            break;
        add_part(scopes, start, walk->intervals[i].scope);
        open[top++] = walk->intervals[i];
    }
    free(open);
    return 0;
}

int dwarf_scopes_new(struct dwarf_file *file, const struct dwarf_unit *unit, struct dwarf_scopes **ret)
{
    struct walk *walk = calloc(1, sizeof(*walk));
    struct cursor cursor = dwarf_cursor(&file->sections, DWARF_INFO, unit->die);
    int error = -ENOMEM;

    *ret = NULL;
    if (walk)
        walk->scopes = calloc(1, sizeof(*walk->scopes));
    if (walk && walk->scopes) {
        walk->file = file;
        walk->unit = unit;
        walk->abbrevs = dwarf_unit_abbrevs(file, unit);
        cursor.end = file->sections.part[DWARF_INFO].at + unit->end;
        if (walk->abbrevs && !cursor.failed)
            walk_entries(walk, &cursor);
        error = walk->error ? walk->error : make_parts(walk);
        if (error == 0) {
            *ret = walk->scopes;
            walk->scopes = NULL;
            error = cursor.failed || !walk->abbrevs || !file->work ? -ENOEXEC : 0;
        }
    }
    if (walk) {
        dwarf_scopes_free(walk->scopes);
        free(walk->intervals);
    }
    free(walk);
    return error;
}

void dwarf_scopes_free(struct dwarf_scopes *scopes)
{
    if (!scopes)
        return;
    free(scopes->list);
    free(scopes->parts);
    free(scopes);
}

struct dwarf_scope *dwarf_scopes_find(const struct dwarf_scopes *scopes, uint64_t address)
{
    size_t after = UPPER_BOUND(scopes->parts, scopes->part_count, .start, address);

    return after && scopes->parts[after - 1].scope ? &scopes->list[scopes->parts[after - 1].scope - 1] : NULL;
}

struct dwarf_scope *dwarf_scopes_parent(const struct dwarf_scopes *scopes, const struct dwarf_scope *scope)
{
    return scope->parent ? &scopes->list[scope->parent - 1] : NULL;
}

/* Follows a reference: sets *FILE and *DIE to its target. False: it has none. */
static bool follow_reference(struct dwarf_file **file, uint64_t *die, const struct dwarf_unit *unit,
                             const struct dwarf_value *value)
{
    switch (value->class) {
    case DWARF_REF: *die = unit->offset + value->number; return value->number < unit->end - unit->offset;
    case DWARF_REF_INFO: *die = value->number; return true;
    case DWARF_REF_SUP:
        *file = (*file)->sup;
        *die = value->number;
        return *file != NULL;
    default: return false;
    }
}

/* The names of one DIE; *ret_next: its reference to a DIE that may have more. */
static void read_names(struct dwarf_file *file, const struct dwarf_unit *unit, uint64_t die, struct dwarf_scope *scope,
                       struct dwarf_value *ret_next)
{
    const struct dwarf_abbrevs *abbrevs = dwarf_unit_abbrevs(file, unit);
    struct cursor cursor = dwarf_cursor(&file->sections, DWARF_INFO, die);
    const struct dwarf_abbrev *abbrev;

    cursor.end = file->sections.part[DWARF_INFO].at + unit->end;
    if (!abbrevs || cursor.failed || !dwarf_die(abbrevs, &cursor, &abbrev))
        return;
    for (uint32_t i = 0; i < abbrev->count && !cursor.failed; i++) {
        const struct dwarf_attribute *attribute = &abbrevs->attributes[abbrev->first + i];
        struct dwarf_value value = dwarf_form_read(&cursor, &unit->encoding, attribute->form, attribute->constant);

        if (cursor.failed)
            return;
        if (attribute->name == DW_AT_name && !scope->name)
            scope->name = dwarf_value_text(file, unit, &value);
        else if ((attribute->name == DW_AT_linkage_name || attribute->name == DW_AT_MIPS_linkage_name) &&
                 !scope->linkage)
            scope->linkage = dwarf_value_text(file, unit, &value);
        else if (attribute->name == DW_AT_abstract_origin || attribute->name == DW_AT_specification)
            *ret_next = value;
    }
}

void dwarf_scope_name(struct dwarf_file *file, struct dwarf_scope *scope)
{
    uint64_t die = scope->die;

    if (scope->named)
        return;
    scope->named = true;
    for (int hops = 0; hops < HOPS_MAX && !scope->linkage; hops++) {
        const struct dwarf_unit *unit = dwarf_unit_at(file, die);
        struct dwarf_value next = {DWARF_NONE, 0, NULL};

        if (!unit || die < unit->die)
            return;
        read_names(file, unit, die, scope, &next);
        if (!follow_reference(&file, &die, unit, &next))
            return;
    }
}
