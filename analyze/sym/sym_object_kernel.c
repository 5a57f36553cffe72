/* SPDX-License-Identifier: MIT */
/* Names of the running kernel. */
#include "analyze/sym/sym_object.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The build-id in the raw notes TEXT[SIZE]. Its size; 0 when there is none. */
static size_t find_build_id(const char *notes, size_t size, unsigned char ret_build_id[ELF_IMAGE_BUILD_ID_MAX])
{
    size_t at = 0;

    while (size - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        size_t name, description;

        memcpy(&note, notes + at, sizeof(note));
        at += sizeof(note);
        name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        description = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > size - at || description > size - at - name)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes + at, "GNU", 4) &&
            note.n_descsz <= ELF_IMAGE_BUILD_ID_MAX) {
            memcpy(ret_build_id, notes + at + name, note.n_descsz);
            return note.n_descsz;
        }
        at += name + description;
    }
    return 0;
}

static size_t running_build_id(unsigned char ret_build_id[ELF_IMAGE_BUILD_ID_MAX])
{
    struct text_names notes;
    size_t size;

    if (text_names_init(&notes, "/sys/kernel/notes", 0, NULL) != 0)
        return 0;
    size = find_build_id(notes.text, notes.size, ret_build_id);
    text_names_release(&notes);
    return size;
}

/* Whether the recorded kernel can be the running one. *ret_proven: its build-id says so. */
static bool is_running(const struct symbols_object *object, bool *ret_proven)
{
    unsigned char build_id[ELF_IMAGE_BUILD_ID_MAX];
    size_t build_id_size = object->build_id_size ? running_build_id(build_id) : 0;
    struct utsname name;

    *ret_proven = false;
    if (object->osrelease && uname(&name) == 0 && strcmp(object->osrelease, name.release))
        return false;
    if (!build_id_size)
        return true;
    *ret_proven = elf_image_same_build_id(object->build_id, object->build_id_size, build_id, build_id_size);
    return *ret_proven;
}

/*
 * The kernel lies elsewhere after a reboot (KASLR). With the same build-id the core moved as a whole; modules did not
 * move with it, so symbols_find() gives no names of modules then.
 */
static bool find_shift(struct symbols_object *object, const struct kallsyms_facts *facts, bool proven)
{
    if (!object->reference || !object->reference_address || !facts->reference)
        return true;
    object->shift = object->reference_address - facts->reference;
    return object->shift == 0 || proven;
}

void sym_object_load_kernel(struct symbols_object *object)
{
    struct kallsyms_facts facts;
    bool proven;

    if (object->owner->no_kernel) {
        sym_object_lack(object, SYMBOLS_NO_FILE, "kernel names are turned off");
        return;
    }
    if (!is_running(object, &proven)) {
        sym_object_lack(object, SYMBOLS_OTHER_KERNEL, "recorded on another kernel than the one that runs now");
        return;
    }
    if (text_names_init(&object->text, "/proc/kallsyms", 0, NULL) != 0) {
        sym_object_lack(object, SYMBOLS_RESTRICTED, "/proc/kallsyms cannot be read");
        return;
    }
    text_names_add_kallsyms(&object->text, &object->table, object->reference, &facts);
    if (object->table.failed)
        sym_object_lack(object, SYMBOLS_NO_MEMORY, "out of memory");
    if (facts.hidden)
        sym_object_lack(object, SYMBOLS_RESTRICTED, "/proc/kallsyms hides the addresses; run panalyze as root, or with "
                        "kernel.kptr_restrict 0 and kernel.perf_event_paranoid 1");
    else if (!object->table.finished)
        sym_object_lack(object, SYMBOLS_RESTRICTED, "/proc/kallsyms has no names");
    if (!find_shift(object, &facts, proven)) {
        name_table_release(&object->table);
        sym_object_lack(object, SYMBOLS_OTHER_KERNEL, "the kernel was started anew since, its addresses have changed");
    }
}
