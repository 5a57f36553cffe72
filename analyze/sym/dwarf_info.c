/* SPDX-License-Identifier: MIT */
#include "analyze/sym/dwarf_info.h"

#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sym/dwarf_line.h"
#include "analyze/sym/dwarf_scope.h"
#include "analyze/sym/dwarf_split.h"
#include "common/bound.h"

struct unit_range {
    uint64_t low, high;
    struct dwarf_unit *unit;
};

/* A .dwo that was read. */
struct used_file {
    struct used_file *next;
    uint64_t id;
    char *path;
};

struct dwarf {
    struct dwarf_file *main, *sup;
    const struct elf_file *text;
    const struct dwarf_places *places;
    struct name_pool *pool;
    struct dwarf_package package;
    char *sup_path;
    struct used_file *dwos;
    struct unit_range *ranges; /* by address */
    size_t range_count, range_capacity;
    struct dwarf_unit *adding; /* the unit whose ranges are added */
    unsigned missing;
    bool no_memory;
};

static bool is_code(const void *context, uint64_t address)
{
    const struct elf_file *text = context;

    if (text->text_count)
        return elf_file_text_at(text, address) != NULL;
    for (size_t i = 0; i < text->load_count; i++)
        if ((text->loads[i].p_flags & PF_X) && address - text->loads[i].p_vaddr < text->loads[i].p_memsz)
            return true;
    return false;
}

static bool add_range(void *context, uint64_t low, uint64_t high)
{
    struct dwarf *dwarf = context;

    if (low >= high || !is_code(dwarf->text, low))
        return true;
    if (dwarf->range_count == dwarf->range_capacity) {
        size_t capacity = 2 * dwarf->range_capacity + 64;
        struct unit_range *grown = realloc(dwarf->ranges, capacity * sizeof(*grown));

        if (!grown) {
            dwarf->no_memory = true;
            return false;
        }
        dwarf->ranges = grown;
        dwarf->range_capacity = capacity;
    }
    dwarf->ranges[dwarf->range_count++] = (struct unit_range){low, high, dwarf->adding};
    return true;
}

static struct dwarf_lines *lines_of(struct dwarf *dwarf, struct dwarf_unit *unit)
{
    if (unit->lines_read)
        return unit->lines;
    unit->lines_read = true;
    if (unit->has_lines && dwarf_lines_new(dwarf->main, unit, unit->lines_offset, true, &unit->lines) != 0) {
        unit->lines = NULL;
        dwarf->missing |= DWARF_MISSING_PART;
    }
    return unit->lines;
}

static int by_low(const void *left, const void *right)
{
    const struct unit_range *a = left, *b = right;

    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return a->high > b->high ? -1 : a->high < b->high;
}

static int find_ranges(struct dwarf *dwarf)
{
    struct dwarf_file *file = dwarf->main;

    for (size_t i = 0; i < file->unit_count && !dwarf->no_memory; i++) {
        struct dwarf_unit *unit = &file->units[i];
        size_t before = dwarf->range_count;

        if (unit->tag != DW_TAG_compile_unit && unit->tag != DW_TAG_skeleton_unit)
            continue;
        dwarf->adding = unit;
        dwarf_unit_ranges(file, unit, &unit->extent, add_range, dwarf);
        /* Some assemblers write lines, but no ranges. */
        if (dwarf->range_count == before && unit->extent.low.class == DWARF_NONE &&
            unit->extent.ranges.class == DWARF_NONE) {
            const struct dwarf_lines *lines = lines_of(dwarf, unit);

            for (size_t j = 0; lines && j < lines->sequence_count; j++)
                add_range(dwarf, lines->sequences[j].low, lines->sequences[j].high);
        }
    }
    if (dwarf->no_memory)
        return -ENOMEM;
    if (dwarf->range_count)
        qsort(dwarf->ranges, dwarf->range_count, sizeof(*dwarf->ranges), by_low);
    return 0;
}

static int open_main(struct dwarf *dwarf, struct elf_file *debug)
{
    struct dwarf_file *file = calloc(1, sizeof(*file));
    int error;

    if (!file) {
        elf_file_release(debug);
        return -ENOMEM;
    }
    file->elf = *debug;
    file->has_elf = true;
    file->is_code = is_code;
    file->code = dwarf->text;
    dwarf->main = file;
    dwarf_sections_init(&file->sections, &file->elf, false);
    if (file->sections.unreadable)
        dwarf->missing |= DWARF_MISSING_PART;
    error = dwarf_sup_new(&file->elf, dwarf->places, &dwarf->sup, &dwarf->sup_path);
    if (error == -ENOENT)
        dwarf->missing |= DWARF_MISSING_SUP;
    file->sup = dwarf->sup;
    elf_file_settle(&file->elf);
    dwarf_file_allow(file);
    return error == -ENOMEM ? error : dwarf_units_init(file);
}

int dwarf_new(struct elf_file *debug, const struct elf_file *text, const struct dwarf_places *places,
              struct name_pool *pool, struct dwarf **ret)
{
    struct dwarf *dwarf = calloc(1, sizeof(*dwarf));
    int error;

    if (!dwarf) {
        elf_file_release(debug);
        return -ENOMEM;
    }
    dwarf->text = text;
    dwarf->places = places;
    dwarf->pool = pool;
    error = open_main(dwarf, debug);
    if (!error)
        error = find_ranges(dwarf);
    if (error) {
        dwarf_free(dwarf);
        return error;
    }
    *ret = dwarf;
    return 0;
}

void dwarf_free(struct dwarf *dwarf)
{
    if (!dwarf)
        return;
    dwarf_file_free(dwarf->main);
    dwarf_file_free(dwarf->sup);
    dwarf_package_release(&dwarf->package);
    while (dwarf->dwos) {
        struct used_file *used = dwarf->dwos;

        dwarf->dwos = used->next;
        free(used->path);
        free(used);
    }
    free(dwarf->sup_path);
    free(dwarf->ranges);
    free(dwarf);
}

static void remember_dwo(struct dwarf *dwarf, uint64_t id, char *path)
{
    struct used_file *used = path ? calloc(1, sizeof(*used)) : NULL;

    if (!used) {
        free(path);
        return;
    }
    *used = (struct used_file){dwarf->dwos, id, path};
    dwarf->dwos = used;
}

/* The split part of UNIT, or NULL; *ret_unit: the unit in it. */
static struct dwarf_file *split_of(struct dwarf *dwarf, struct dwarf_unit *unit, struct dwarf_unit **ret_unit)
{
    char *path;

    if (!unit->split_looked_for && unit->dwo_name) {
        if (dwarf_split_new(dwarf->main, unit, &dwarf->package, dwarf->places, &dwarf->main->elf, &unit->split,
                            &path) == 0)
            remember_dwo(dwarf, unit->dwo_id, path);
        else
            dwarf->missing |= DWARF_MISSING_SPLIT;
    }
    unit->split_looked_for = true;
    for (size_t i = 0; unit->split && i < unit->split->unit_count; i++) {
        *ret_unit = &unit->split->units[i];
        if ((*ret_unit)->tag == DW_TAG_compile_unit && (*ret_unit)->dwo_id == unit->dwo_id)
            return unit->split;
    }
    return NULL;
}

static struct dwarf_scopes *scopes_of(struct dwarf *dwarf, struct dwarf_file *file, struct dwarf_unit *unit)
{
    if (!unit->scopes_read && dwarf_scopes_new(file, unit, &unit->scopes) != 0)
        dwarf->missing |= DWARF_MISSING_PART;
    unit->scopes_read = true;
    return unit->scopes;
}

/* The first unit that covers ADDRESS, from the nearest start backwards. */
static struct dwarf_unit *unit_at(const struct dwarf *dwarf, uint64_t address)
{
    size_t after = UPPER_BOUND(dwarf->ranges, dwarf->range_count, .low, address);

    for (size_t i = after; i > 0 && after - i < 64; i--)
        if (address < dwarf->ranges[i - 1].high)
            return dwarf->ranges[i - 1].unit;
    return NULL;
}

static void set_line(struct dwarf *dwarf, struct dwarf_lines *files, struct dwarf_frame *frame, uint64_t file,
                     uint32_t line, uint32_t column)
{
    frame->path = files ? dwarf_lines_path(files, file, dwarf->pool) : NULL;
    frame->line = line;
    frame->column = column;
}

size_t dwarf_find(struct dwarf *dwarf, uint64_t address, struct dwarf_frame *ret)
{
    struct dwarf_unit *unit = unit_at(dwarf, address), *inner = unit;
    struct dwarf_file *file = dwarf->main, *split;
    struct dwarf_lines *lines;
    const struct dwarf_row *row;
    struct dwarf_scopes *scopes;
    size_t count = 0;

    if (!unit)
        return 0;
    /* File names come from this table, too: the list in a split file is only for its types. */
    lines = lines_of(dwarf, unit);
    split = split_of(dwarf, unit, &inner);
    if (split)
        file = split;
    else
        inner = unit;
    ret[0] = (struct dwarf_frame){NULL};
    row = lines ? dwarf_lines_find(lines, address) : NULL;
    if (row)
        set_line(dwarf, lines, &ret[0], row->file, row->line, row->column);
    scopes = scopes_of(dwarf, file, inner);
    for (struct dwarf_scope *scope = scopes ? dwarf_scopes_find(scopes, address) : NULL;
         scope && count < DWARF_FRAMES_MAX; scope = dwarf_scopes_parent(scopes, scope)) {
        dwarf_scope_name(file, scope);
        ret[count].linkage = scope->linkage;
        ret[count].name = scope->name;
        ret[count].shown = &scope->shown;
        if (++count < DWARF_FRAMES_MAX) {
            ret[count] = (struct dwarf_frame){NULL};
            set_line(dwarf, lines, &ret[count], scope->call_file, scope->call_line, scope->call_column);
        }
    }
    return count ? count : row ? 1 : 0;
}

static void visit_rows(struct dwarf *dwarf, struct dwarf_lines *lines, uint64_t start, uint64_t end,
                       dwarf_each_row *each, void *context)
{
    for (size_t i = 0; i < lines->sequence_count; i++) {
        const struct dwarf_sequence *sequence = &lines->sequences[i];

        if (sequence->high <= start || sequence->low >= end)
            continue;
        for (size_t j = sequence->first; j < sequence->first + sequence->count; j++) {
            const struct dwarf_row *row = &lines->rows[j];

            if (row->address >= start && row->address < end)
                each(context, row->address, lines->unit_directory,
                     row->end || !row->line ? NULL : dwarf_lines_path(lines, row->file, dwarf->pool), row->line);
        }
    }
}

void dwarf_rows(struct dwarf *dwarf, uint64_t start, uint64_t end, dwarf_each_row *each, void *context)
{
    const struct dwarf_unit *last = NULL;

    for (size_t i = 0; i < dwarf->range_count; i++) {
        struct unit_range *range = &dwarf->ranges[i];

        if (range->high <= start || range->low >= end || range->unit == last)
            continue;
        last = range->unit;
        if (lines_of(dwarf, range->unit))
            visit_rows(dwarf, range->unit->lines, start, end, each, context);
    }
}

unsigned dwarf_missing(const struct dwarf *dwarf)
{
    return dwarf->missing;
}

/* ".build-id/xx/yyyySUFFIX" of ELF. */
static bool place_by_id(const struct elf_file *elf, const char *suffix, char *ret, size_t size)
{
    int used = snprintf(ret, size, ".build-id/%02x/", elf->build_id[0]);

    for (size_t i = 1; i < elf->build_id_size; i++)
        used += snprintf(ret + used, size - (size_t)used, "%02x", elf->build_id[i]);
    snprintf(ret + used, size - (size_t)used, "%s", suffix);
    return elf->build_id_size > 1;
}

void dwarf_files(const struct dwarf *dwarf, dwarf_each_file *each, void *context)
{
    char place[2 * ELF_FILE_BUILD_ID_MAX + 64];

    if (dwarf->sup && place_by_id(&dwarf->sup->elf, DEBUG_FILE_DEBUG, place, sizeof(place)))
        each(context, dwarf->sup_path, place);
    if (dwarf->package.found && place_by_id(&dwarf->main->elf, ".dwp", place, sizeof(place)))
        each(context, dwarf->package.path, place);
    for (const struct used_file *used = dwarf->dwos; used; used = used->next) {
        snprintf(place, sizeof(place), ".dwo/%016" PRIx64 ".dwo", used->id);
        each(context, used->path, place);
    }
}
