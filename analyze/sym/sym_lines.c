/* SPDX-License-Identifier: MIT */
/* Source lines and inlined functions of an object: which file has them, and why there are none. */
#include "analyze/sym/sym_object.h"

#include <errno.h>
#include <string.h>

#include "analyze/sym/debuginfod.h"
#include "analyze/sym/demangle_name.h"

/* Opens PATH again: the one that was looked at before was closed after its names were read. */
static bool reopen(struct elf_image *ret, const char *path, const struct elf_image *before)
{
    if (!path || elf_image_init(ret, path) != 0)
        return false;
    if (ret->build_id_size == before->build_id_size &&
        !memcmp(ret->build_id, before->build_id, ret->build_id_size) && dwarf_sections_present(ret))
        return true;
    elf_image_release(ret);
    return false;
}

/* The ELF file with debug information: the separate one, the object itself, or what a server has. */
static bool find_debug(struct symbols_object *object, struct elf_image *ret)
{
    if (object->has_debug && dwarf_sections_present(&object->debug)) {
        object->lines_file = object->debug_file;
        return reopen(ret, object->debug_file, &object->debug);
    }
    if (dwarf_sections_present(&object->image)) {
        object->lines_file = object->file;
        return reopen(ret, object->file, &object->image);
    }
    if (!object->owner->debuginfod || !object->image.build_id_size ||
        debuginfod_find(object->owner->debuginfod, object->image.build_id, object->image.build_id_size,
                        &object->fetched_file, &object->lines_why) != 0)
        return false;
    object->lines_file = object->fetched_file;
    return reopen(ret, object->fetched_file, &object->image);
}

static void load_lines(struct symbols_object *object)
{
    struct elf_image debug;
    int error;

    object->lines_loaded = true;
    if (object->kind == OBJECT_KERNEL) {
        object->lines_why = "the kernel's code has no line information here";
        return;
    }
    if (object->kind == OBJECT_JIT) {
        object->lines_why = "generated code has no line information";
        return;
    }
    if (!object->has_image) {
        object->lines_why = object->why;
        return;
    }
    if (!find_debug(object, &debug)) {
        if (!object->lines_why)
            object->lines_why = "the file has no debug information";
        return;
    }
    object->places = (struct dwarf_places){object->lines_file, object->path, &object->owner->roots};
    error = dwarf_new(&debug, &object->image, &object->places, &object->pool, &object->dwarf);
    if (error)
        object->lines_why = error == -ENOMEM ? "out of memory" : "its debug information is damaged";
}

static const char *demangled(struct symbols_object *object, const struct dwarf_frame *frame)
{
    const char *raw = frame->linkage ? frame->linkage : frame->name;

    if (!raw || object->owner->no_demangle)
        return raw;
    if (!*frame->shown)
        *frame->shown = demangle_name(&object->pool, raw);
    return *frame->shown;
}

size_t symbols_lines(struct symbols_object *object, uint64_t file_offset, struct symbol_line *ret)
{
    struct dwarf_frame frames[DWARF_FRAMES_MAX];
    uint64_t address;
    size_t count;

    if (!symbols_address(object, file_offset, &address))
        address = 0;
    if (!object->lines_loaded)
        load_lines(object);
    count = object->dwarf ? dwarf_find(object->dwarf, address, frames) : 0;
    for (size_t i = 0; i < count; i++) {
        ret[i].raw_function = frames[i].linkage ? frames[i].linkage : frames[i].name;
        ret[i].function = demangled(object, &frames[i]);
        ret[i].file = frames[i].path;
        ret[i].line = frames[i].line;
        ret[i].column = frames[i].column;
    }
    return count;
}

void symbols_rows(struct symbols_object *object, uint64_t start, uint64_t end, symbols_each_row *each, void *context)
{
    symbols_lacks(object); /* loads it */
    if (!object->lines_loaded)
        load_lines(object);
    if (object->dwarf)
        dwarf_rows(object->dwarf, start, end, each, context);
}

const char *symbols_lines_why(struct symbols_object *object)
{
    unsigned missing = object->dwarf ? dwarf_missing(object->dwarf) : 0;

    if (!object->lines_loaded)
        return NULL;
    if (object->lines_why)
        return object->lines_why;
    if (missing & DWARF_MISSING_SPLIT)
        return "a .dwo or .dwp file is missing";
    if (missing & DWARF_MISSING_ALT)
        return "the file that dwz shared is missing";
    if (missing & DWARF_MISSING_PART)
        return "its debug information is damaged in part";
    return "its debug information does not tell of these addresses";
}

const char *symbols_lines_file(struct symbols_object *object)
{
    return object->dwarf ? object->lines_file : NULL;
}

void symbols_lines_files(struct symbols_object *object, symbols_each_file *each, void *context)
{
    if (object->dwarf)
        dwarf_files(object->dwarf, each, context);
}
