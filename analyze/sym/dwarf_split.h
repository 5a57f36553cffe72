/* SPDX-License-Identifier: MIT */
/* Debug information in other files: .dwo, .dwp, and supplementary files of dwz. */
#ifndef ANALYZE_SYM_DWARF_SPLIT_H
#define ANALYZE_SYM_DWARF_SPLIT_H

#include "analyze/sym/dwarf_info.h"

/* The .dwp of a DSO. */
struct dwarf_package {
    bool looked_for;
    bool found;
    char *path;
    struct elf_file elf;
    struct dwarf_sections sections;
};

void dwarf_package_release(struct dwarf_package *package);

/*
 * Opens the split part of the skeleton UNIT of FILE, from PACKAGE or a .dwo. *ret_path (malloced) is the .dwo; NULL: it
 * came from PACKAGE, which must outlive *RET. 0, -ENOENT, -ENOMEM.
 */
int dwarf_split_new(const struct dwarf_file *file, const struct dwarf_unit *unit, struct dwarf_package *package,
                    const struct dwarf_places *places, const struct elf_file *debug, struct dwarf_file **ret,
                    char **ret_path);

/* Opens the supplementary file in .gnu_debugaltlink of DEBUG. 0, -ENODATA (there is no link), -ENOENT, -ENOMEM. */
int dwarf_sup_new(const struct elf_file *debug, const struct dwarf_places *places, struct dwarf_file **ret,
                  char **ret_path);

#endif
