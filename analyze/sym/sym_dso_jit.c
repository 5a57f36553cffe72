/* SPDX-License-Identifier: MIT */
/* Names of JIT code: /tmp/perf-PID.map and jit-PID.dump. */
#include "analyze/sym/sym_dso.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/sym/jit_dump.h"

void symbols_jit_dump(struct symbols_dso *dso, const char *path)
{
    char *dump;

    if (dso->kind != DSO_JIT || dso->loaded || dso->dump)
        return;
    if (asprintf(&dump, "%s%s", dso->owner->symfs, path) >= 0)
        dso->dump = dump;
}

/* True: the map exists, usable or not. */
static bool read_map(struct symbols_dso *dso)
{
    char path[64];
    uint32_t owner;

    snprintf(path, sizeof(path), "/tmp/perf-%u.map", (unsigned)dso->pid);
    if (text_names_init(&dso->text, path, O_NOFOLLOW, &owner) != 0)
        return false;
    if (owner != 0 && owner != geteuid()) {
        text_names_release(&dso->text);
        sym_dso_missing(dso, SYMBOLS_NO_FILE, "the program's perf map in /tmp belongs to another user");
        return true;
    }
    text_names_add_jit(&dso->text, &dso->table);
    dso->file = strdup(path);
    return true;
}

/* True: the dump exists, usable or not. */
static bool read_dump(struct symbols_dso *dso)
{
    switch (dso->dump ? jit_dump_read(dso->dump, &dso->table) : JIT_DUMP_MISSING) {
    case JIT_DUMP_READ:
        free(dso->file);
        dso->file = strdup(dso->dump);
        return true;
    case JIT_DUMP_DAMAGED:
        sym_dso_missing(dso, SYMBOLS_BROKEN, "the jitdump file is damaged; names come from its readable part");
        return true;
    case JIT_DUMP_FOREIGN:
        sym_dso_missing(dso, SYMBOLS_NO_FILE, "the jitdump file belongs to another user");
        return true;
    case JIT_DUMP_MISSING:
    default: return false;
    }
}

void sym_dso_load_jit(struct symbols_dso *dso)
{
    bool map = read_map(dso), dump = read_dump(dso);

    name_table_finish(&dso->table, NAME_LAST_WINS);
    if (dso->table.failed)
        sym_dso_missing(dso, SYMBOLS_NO_MEMORY, "out of memory");
    else if (!map && !dump && dso->dump)
        sym_dso_missing(dso, SYMBOLS_ANONYMOUS,
                        "a JIT compiler generated the code, and the jitdump file is gone or cannot be read");
    else if (!map && !dump)
        sym_dso_missing(dso, SYMBOLS_ANONYMOUS,
                        "the code was in memory without a file, and the program left no perf map in /tmp");
}
