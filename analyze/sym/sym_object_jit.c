/* SPDX-License-Identifier: MIT */
/* Names of code that just-in-time compilers made: /tmp/perf-PID.map and jit-PID.dump. */
#include "analyze/sym/sym_object.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/sym/jit_dump.h"

void symbols_jit_dump(struct symbols_object *object, const char *path)
{
    char *dump;

    if (object->kind != OBJECT_JIT || object->loaded || object->dump)
        return;
    if (asprintf(&dump, "%s%s", object->owner->symfs, path) >= 0)
        object->dump = dump;
}

/* True: the map is there, whatever it holds. */
static bool read_map(struct symbols_object *object)
{
    char path[64];
    uint32_t owner;

    snprintf(path, sizeof(path), "/tmp/perf-%u.map", (unsigned)object->pid);
    if (text_names_init(&object->text, path, O_NOFOLLOW, &owner) != 0)
        return false;
    if (owner != 0 && owner != geteuid()) {
        text_names_release(&object->text);
        sym_object_lack(object, SYMBOLS_NO_FILE, "the perf map in /tmp belongs to somebody else");
        return true;
    }
    text_names_add_jit(&object->text, &object->table);
    object->file = strdup(path);
    return true;
}

/* True: the dump is there, whatever it holds. */
static bool read_dump(struct symbols_object *object)
{
    switch (object->dump ? jit_dump_read(object->dump, &object->table) : JIT_DUMP_MISSING) {
    case JIT_DUMP_READ:
        free(object->file);
        object->file = strdup(object->dump);
        return true;
    case JIT_DUMP_DAMAGED:
        sym_object_lack(object, SYMBOLS_BROKEN, "the jitdump file is damaged: what could be read of it is used");
        return true;
    case JIT_DUMP_FOREIGN:
        sym_object_lack(object, SYMBOLS_NO_FILE, "the jitdump file belongs to somebody else");
        return true;
    case JIT_DUMP_MISSING:
    default:
        return false;
    }
}

void sym_object_load_jit(struct symbols_object *object)
{
    bool map = read_map(object), dump = read_dump(object);

    name_table_finish(&object->table, NAME_LAST_WINS);
    if (object->table.failed)
        sym_object_lack(object, SYMBOLS_NO_MEMORY, "out of memory");
    else if (!map && !dump && object->dump)
        sym_object_lack(object, SYMBOLS_ANONYMOUS,
                        "memory without a file, whose jitdump file is gone or cannot be read");
    else if (!map && !dump)
        sym_object_lack(object, SYMBOLS_ANONYMOUS, "memory without a file, and the program left no perf map in /tmp");
}
