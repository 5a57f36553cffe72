/* SPDX-License-Identifier: MIT */
/*
 * Prints lines of addresses by libdw, in the format of lines-of: lines-of-libdw FILE, with virtual addresses in hex on
 * stdin.
 */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static const char *name_of(Dwarf_Die *function)
{
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(function, DW_AT_MIPS_linkage_name, &attribute))
        return dwarf_formstring(&attribute);
    return dwarf_diename(function);
}

/* The compilation directory, if FILE is relative to it, else "". */
static const char *directory_of(Dwarf_Die *unit, const char *file)
{
    Dwarf_Attribute attribute;
    const char *directory = NULL;
    if (file && *file != '/' && dwarf_attr(unit, DW_AT_comp_dir, &attribute))
        directory = dwarf_formstring(&attribute);
    return directory ? directory : "";
}

static void print_place(Dwarf_Die *unit, const char *file, int line)
{
    const char *directory = directory_of(unit, file);
    printf("%s%s%s:%d\n", directory, *directory ? "/" : "", file ? file : "??", line);
}

static const char *call_file(Dwarf_Die *unit, Dwarf_Die *call)
{
    Dwarf_Attribute attribute;
    Dwarf_Files *files;
    Dwarf_Word index;
    size_t count;
    if (dwarf_getsrcfiles(unit, &files, &count) != 0 ||
        dwarf_formudata(dwarf_attr(call, DW_AT_call_file, &attribute), &index) != 0 || index >= count)
        return NULL;
    return dwarf_filesrc(files, index, NULL, NULL);
}

static int call_line(Dwarf_Die *call)
{
    Dwarf_Attribute attribute;
    Dwarf_Word line;
    return dwarf_formudata(dwarf_attr(call, DW_AT_call_line, &attribute), &line) == 0 ? (int)line : 0;
}

enum { DEPTH_MAX = 128 };

static bool is_function(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* May DIE contain functions? */
static bool is_scope(Dwarf_Die *die)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type: return true;
    default: return false;
    }
}

/*
 * The functions around ADDRESS below DIE, the outermost first. dwarf_getscopes() is not used: it continues at the
 * definition of an inlined function, and fails if that is in another unit.
 */
static size_t find_functions(Dwarf_Die *die, Dwarf_Addr address, Dwarf_Die *ret, size_t count)
{
    Dwarf_Die child;
    for (int more = dwarf_child(die, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        bool here = dwarf_haspc(&child, address) == 1;
        if (!here && !is_scope(&child))
            continue;
        size_t found = count;
        if (here && is_function(&child) && count < DEPTH_MAX)
            ret[found++] = child;
        found = find_functions(&child, address, ret, found);
        if (here || found > count)
            return found;
    }
    return count;
}

/* The addresses of a unit. Its line table is in `unit`, its functions are in `split`, which may be in another file. */
struct range {
    Dwarf_Addr low, high;
    Dwarf_Die *unit, split;
};

struct ranges {
    struct range *all; /* sorted by `low`; they do not overlap */
    size_t count;
};

static int compare_ranges(const void *left, const void *right)
{
    const struct range *one = left, *other = right;
    return (one->low > other->low) - (one->low < other->low);
}

/* Without .debug_aranges, which clang does not write. */
static struct ranges find_ranges(Dwfl_Module *module)
{
    struct ranges ranges = {0};
    Dwarf_Die *unit = NULL;
    Dwarf_Addr bias, base;
    size_t room = 0;
    while ((unit = dwfl_module_nextcu(module, unit, &bias))) {
        struct range range = {.unit = unit};
        if (dwarf_cu_info(unit->cu, NULL, NULL, NULL, &range.split, NULL, NULL, NULL) != 0 || !range.split.cu)
            range.split = *unit;
        for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &range.low, &range.high)) > 0;) {
            if (ranges.count == room) {
                room = 2 * room + 64;
                ranges.all = realloc(ranges.all, room * sizeof(range));
                if (!ranges.all)
                    abort();
            }
            ranges.all[ranges.count++] = range;
        }
    }
    if (ranges.count)
        qsort(ranges.all, ranges.count, sizeof(ranges.all[0]), compare_ranges);
    return ranges;
}

static struct range *find_range(const struct ranges *ranges, Dwarf_Addr address)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->all[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < ranges->all[low - 1].high ? &ranges->all[low - 1] : NULL;
}

static void print(const struct ranges *ranges, uint64_t address)
{
    Dwarf_Die functions[DEPTH_MAX];
    struct range *range = find_range(ranges, address);
    Dwarf_Die *unit = range ? range->unit : NULL;
    Dwarf_Line *row = unit ? dwarf_getsrc_die(unit, address) : NULL;
    const char *file = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
    int line = 0;
    if (row)
        dwarf_lineno(row, &line);
    printf("0x%016" PRIx64 "\n", address);
    size_t count = unit ? find_functions(&range->split, address, functions, 0) : 0;
    if (!count)
        puts("??");
    if (!count && !row)
        puts("??:0");
    else if (!count)
        print_place(unit, file, line);
    while (count-- > 0) {
        const char *name = name_of(&functions[count]);
        puts(name ? name : "??");
        print_place(unit, file, line);
        file = call_file(unit, &functions[count]);
        line = call_line(&functions[count]);
    }
}

int main(int argc, char **argv)
{
    static char *debug_path; /* the default places */
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo,
                                             .section_address = dwfl_offline_section_address,
                                             .debuginfo_path = &debug_path};
    Dwfl *session = argc == 2 ? dwfl_begin(&callbacks) : NULL;
    Dwfl_Module *module = session ? dwfl_report_offline(session, "", argv[1], -1) : NULL;
    GElf_Addr bias;
    uint64_t address;
    if (!module || dwfl_report_end(session, NULL, NULL) != 0 || !dwfl_module_getelf(module, &bias)) {
        fprintf(stderr, "lines-of-libdw: %s\n", argc == 2 ? dwfl_errmsg(-1) : "usage: lines-of-libdw FILE");
        return 1;
    }
    struct ranges ranges = find_ranges(module);
    while (scanf("%" SCNx64, &address) == 1)
        print(&ranges, address);
    free(ranges.all);
    dwfl_end(session);
    return fflush(stdout) != 0;
}
