/* SPDX-License-Identifier: MIT */
#include "program.h"
#include "text.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

enum { GO_BUILD_ID = 4 };

static size_t pad_to_word(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

static bool has_go_note(const char *notes, size_t size)
{
    ElfW(Nhdr) note;
    for (size_t at = 0, rest; size - at >= sizeof(note); at += sizeof(note) + rest) {
        memcpy(&note, notes + at, sizeof(note));
        size_t room = size - at - sizeof(note);
        rest = pad_to_word(note.n_namesz) + pad_to_word(note.n_descsz);
        if (note.n_namesz > room || note.n_descsz > room || rest > room)
            return false;
        if (note.n_type == GO_BUILD_ID && note.n_namesz == 4 && memcmp(notes + at + sizeof(note), "Go\0", 4) == 0)
            return true;
    }
    return false;
}

bool pinject_program_execs_by_itself(void)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t count = getauxval(AT_PHNUM);
    uintptr_t base = 0;
    if (!headers || getauxval(AT_PHENT) != sizeof(*headers))
        return false;
    for (size_t i = 0; i < count; i++)
        if (headers[i].p_type == PT_PHDR)
            base = (uintptr_t)headers - headers[i].p_vaddr;
    for (size_t i = 0; i < count; i++)
        if (headers[i].p_type == PT_NOTE && has_go_note((const char *)(base + headers[i].p_vaddr), headers[i].p_memsz))
            return true;
    return false;
}
