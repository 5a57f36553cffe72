/* SPDX-License-Identifier: MIT */
/* Source lines and inlined functions of a DSO: finds the file that has them, or the reason why none does. */
#include "analyze/sym/sym_dso.h"

#include <errno.h>
#include <string.h>

#include "analyze/sym/debuginfod.h"
#include "analyze/sym/demangle_name.h"

/* Opens PATH again, since BEFORE was closed after its names were read, and checks that it is the same build. */
static bool reopen_elf(struct elf_file *ret, const char *path, const struct elf_file *before)
{
    if (!path || elf_file_init(ret, path) != 0)
        return false;
    if (ret->build_id_size == before->build_id_size && !memcmp(ret->build_id, before->build_id, ret->build_id_size) &&
        dwarf_sections_present(ret))
        return true;
    elf_file_release(ret);
    return false;
}

/* The ELF file with debug information: the separate debug file, the DSO itself, or one from a debuginfod server. */
static bool find_debug(struct symbols_dso *dso, struct elf_file *ret)
{
    if (dso->has_debug && dwarf_sections_present(&dso->debug)) {
        dso->lines_file = dso->debug_file;
        return reopen_elf(ret, dso->debug_file, &dso->debug);
    }
    if (dwarf_sections_present(&dso->elf)) {
        dso->lines_file = dso->file;
        return reopen_elf(ret, dso->file, &dso->elf);
    }
    if (!dso->owner->debuginfod || !dso->elf.build_id_size ||
        debuginfod_find(dso->owner->debuginfod, dso->elf.build_id, dso->elf.build_id_size, &dso->fetched_file,
                        &dso->lines_why) != 0)
        return false;
    dso->lines_file = dso->fetched_file;
    return reopen_elf(ret, dso->fetched_file, &dso->elf);
}

static void load_lines(struct symbols_dso *dso)
{
    struct elf_file debug;
    int error;

    dso->lines_loaded = true;
    if (dso->kind == DSO_KERNEL) {
        dso->lines_why = "panalyze does not look up lines of kernel code";
        return;
    }
    if (dso->kind == DSO_JIT) {
        dso->lines_why = "generated code has no line information";
        return;
    }
    if (!dso->has_elf) {
        dso->lines_why = dso->why;
        return;
    }
    if (!find_debug(dso, &debug)) {
        if (!dso->lines_why)
            dso->lines_why = "the file has no debug information";
        return;
    }
    dso->places = (struct dwarf_places){dso->lines_file, dso->path, &dso->owner->roots};
    error = dwarf_new(&debug, &dso->elf, &dso->places, &dso->pool, &dso->dwarf);
    if (error)
        dso->lines_why = error == -ENOMEM ? "out of memory" : "the file's debug information is damaged";
}

static const char *demangle_frame(struct symbols_dso *dso, const struct dwarf_frame *frame)
{
    const char *raw = frame->linkage ? frame->linkage : frame->name;

    if (!raw || dso->owner->no_demangle)
        return raw;
    if (!*frame->shown)
        *frame->shown = demangle_name(&dso->pool, raw);
    return *frame->shown;
}

size_t symbols_lines(struct symbols_dso *dso, uint64_t file_offset, struct symbol_line *ret)
{
    struct dwarf_frame frames[DWARF_FRAMES_MAX];
    uint64_t address;
    size_t count;

    if (!symbols_address(dso, file_offset, &address))
        address = 0;
    if (!dso->lines_loaded)
        load_lines(dso);
    count = dso->dwarf ? dwarf_find(dso->dwarf, address, frames) : 0;
    for (size_t i = 0; i < count; i++) {
        ret[i].raw_function = frames[i].linkage ? frames[i].linkage : frames[i].name;
        ret[i].function = demangle_frame(dso, &frames[i]);
        ret[i].file = frames[i].path;
        ret[i].line = frames[i].line;
        ret[i].column = frames[i].column;
    }
    return count;
}

void symbols_rows(struct symbols_dso *dso, uint64_t start, uint64_t end, symbols_each_row *each, void *context)
{
    symbols_missing(dso); /* loads it */
    if (!dso->lines_loaded)
        load_lines(dso);
    if (dso->dwarf)
        dwarf_rows(dso->dwarf, start, end, each, context);
}

const char *symbols_lines_why(struct symbols_dso *dso)
{
    unsigned missing = dso->dwarf ? dwarf_missing(dso->dwarf) : 0;

    if (!dso->lines_loaded)
        return NULL;
    if (dso->lines_why)
        return dso->lines_why;
    if (missing & DWARF_MISSING_SPLIT)
        return "a .dwo or .dwp file is missing";
    if (missing & DWARF_MISSING_SUP)
        return "the dwz supplementary file is missing";
    if (missing & DWARF_MISSING_PART)
        return "a part of the file's debug information is damaged";
    return "the file's debug information does not cover these addresses";
}

const char *symbols_lines_file(struct symbols_dso *dso)
{
    return dso->dwarf ? dso->lines_file : NULL;
}

void symbols_lines_files(struct symbols_dso *dso, symbols_each_file *each, void *context)
{
    if (dso->dwarf)
        dwarf_files(dso->dwarf, each, context);
}
