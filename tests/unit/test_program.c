/* SPDX-License-Identifier: MIT */
/* Which programs execute others by themselves: Go's, known by the note with their build id. */
#include "check.h"

#include "preload/program.h"

#include <link.h>
#include <stdalign.h>
#include <sys/auxv.h>

/* program.c is compiled with this name. */
unsigned long own_getauxval(unsigned long type);

/* A program in memory: its headers, and notes at an address of its own. */
static struct {
    ElfW(Phdr) headers[4];
    alignas(8) char notes[256];
} exec_kind;
static unsigned long count, entry_size;
static size_t size;

unsigned long own_getauxval(unsigned long type)
{
    if (type == AT_PHDR)
        return (unsigned long)exec_kind.headers;
    return type == AT_PHNUM ? count : type == AT_PHENT ? entry_size : 0;
}

enum { LINKED_AT = 0x400000 }; /* where the program thinks that it lies */

static void begin(void)
{
    memset(&exec_kind, 0, sizeof(exec_kind));
    size = 0;
    count = 3;
    entry_size = sizeof(exec_kind.headers[0]);
    exec_kind.headers[0] = (ElfW(Phdr)){.p_type = PT_PHDR, .p_vaddr = LINKED_AT};
    exec_kind.headers[1] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_vaddr = LINKED_AT};
    exec_kind.headers[2] = (ElfW(Phdr)){.p_type = PT_NOTE,
                                        .p_vaddr = LINKED_AT + offsetof(__typeof__(exec_kind), notes)};
}

static void add_note(uint32_t type, const char *name, uint32_t name_size, uint32_t content)
{
    ElfW(Nhdr) note = {.n_namesz = name_size, .n_descsz = content, .n_type = type};
    memcpy(exec_kind.notes + size, &note, sizeof(note));
    memcpy(exec_kind.notes + size + sizeof(note), name, name_size);
    size += sizeof(note) + ((name_size + 3) & ~3u) + ((content + 3) & ~3u);
}

static bool found(void)
{
    exec_kind.headers[2].p_memsz = size;
    return pinject_program_execs_by_itself();
}

static void test_notes(void **state)
{
    (void)state;
    begin();
    assert_false(found());
    add_note(3, "GNU", 4, 20);
    assert_false(found());
    add_note(1, "odd", 3, 5);  /* padded */
    add_note(4, "Go\0", 4, 8); /* its name has two NULs */
    assert_true(found());
    begin();
    add_note(4, "GNU", 4, 8);
    add_note(3, "Go\0", 4, 8);
    add_note(4, "Go\0\0", 5, 8);
    add_note(4, "Go", 3, 8);
    assert_false(found());
    add_note(4, "Go\0", 4, 83);
    assert_true(found());
    assert_true(size < sizeof(exec_kind.notes));
}

/* A note that says more than there is ends the search; so does a piece of one. */
static void test_notes_that_are_cut(void **state)
{
    (void)state;
    for (int way = 0; way < 5; way++) {
        begin();
        add_note(1, "GNU", 4, 20);
        ElfW(Nhdr) *note = (ElfW(Nhdr) *)(void *)exec_kind.notes;
        size_t first = size;
        add_note(4, "Go\0", 4, 20);
        switch (way) {
        case 0: note->n_descsz = UINT32_MAX; break;
        case 1: note->n_namesz = UINT32_MAX - 2; break;
        case 2: note->n_descsz = (uint32_t)size; break;
        case 3: size = first + sizeof(*note) - 1; break;
        case 4: size = first + sizeof(*note) + 23; break; /* one byte is missing */
        }
        if (found())
            fail_msg("way %d", way);
    }
    begin();
    add_note(4, "Go\0", 4, 20); /* it fits to the byte */
    assert_true(found());
    begin();
    add_note(4, "Go\0", 4, 17); /* with its padding, which is not there */
    size -= 3;
    assert_false(found());
}

static void test_headers(void **state)
{
    (void)state;
    begin();
    add_note(4, "Go\0", 4, 20);
    assert_true(found());
    entry_size++;
    assert_false(found());
    entry_size--;
    count = 2;
    assert_false(found());
    count = 4; /* two parts with notes: any may have it */
    exec_kind.headers[3] = exec_kind.headers[2];
    exec_kind.headers[2].p_memsz = 0;
    exec_kind.headers[3].p_memsz = size;
    assert_true(pinject_program_execs_by_itself());
    exec_kind.headers[3].p_type = PT_LOAD;
    assert_false(pinject_program_execs_by_itself());
    /* Without PT_PHDR it lies where it says. */
    begin();
    add_note(4, "Go\0", 4, 20);
    exec_kind.headers[0].p_type = PT_NULL;
    exec_kind.headers[2].p_vaddr = (uintptr_t)exec_kind.notes;
    assert_true(found());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_notes_that_are_cut),
        cmocka_unit_test(test_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
