/* SPDX-License-Identifier: MIT */
#include "collector/system/build_id.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cursor.h"

/* Ordinary files have a dozen segments and one or two of them notes, of some hundred bytes. */
enum { NOTES_MAX = 65536, SEGMENTS_MAX = 256, NOTE_SEGMENTS_MAX = 16 };

bool buildid_of_notes(const void *notes, size_t size, bool swap, size_t align, struct buildid *ret)
{
    if (align != 8)
        align = 4;
    struct cursor cursor = cursor_of(notes, size);
    cursor.swap = swap;
    const unsigned char *start = cursor.at;
    while (cursor_left(&cursor) >= 12) {
        size_t name_size = cursor_u32(&cursor), desc_size = cursor_u32(&cursor);
        uint32_t type = cursor_u32(&cursor);
        const void *name = cursor_bytes(&cursor, name_size);
        cursor_skip(&cursor, -(size_t)(cursor.at - start) & (align - 1));
        const void *desc = cursor_bytes(&cursor, desc_size);
        if (!name || !desc || cursor.failed)
            return false;
        if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 && desc_size > 0) {
            ret->size = desc_size < sizeof(ret->bytes) ? (uint8_t)desc_size : sizeof(ret->bytes);
            memcpy(ret->bytes, desc, ret->size);
            return true;
        }
        size_t pad = -(size_t)(cursor.at - start) & (align - 1);
        if (pad > cursor_left(&cursor))
            return false;
        cursor_skip(&cursor, pad);
    }
    return false;
}

/* SIZE bytes at OFFSET, or fewer at the file's end. */
static size_t read_at(int fd, void *to, size_t size, uint64_t offset)
{
    size_t done = 0;
    if (offset > INT64_MAX - size)
        return 0;
    while (done < size) {
        ssize_t got = pread(fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

/* *LEFT: bytes that may still be read of this file. */
static bool read_notes(int fd, uint64_t offset, uint64_t size, bool swap, size_t align, size_t *left,
                       struct buildid *ret)
{
    /* The build id comes first or nearly so: a huge segment of notes is not read to its end. */
    unsigned char small[1024], *notes = small;
    size_t wanted = size < *left ? (size_t)size : *left;
    *left -= wanted;
    if (wanted > sizeof(small))
        notes = malloc(wanted);
    if (!notes)
        return false;
    size_t got = read_at(fd, notes, wanted, offset);
    bool found = buildid_of_notes(notes, got, swap, align, ret);
    if (notes != small)
        free(notes);
    return found;
}

struct layout {
    bool wide, swap;
    uint64_t phoff;
    unsigned phentsize, phnum;
};

static bool read_header(int fd, struct layout *ret)
{
    unsigned char bytes[sizeof(Elf64_Ehdr)];
    size_t got = read_at(fd, bytes, sizeof(bytes), 0);
    if (got < sizeof(Elf32_Ehdr) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return false;
    const unsigned char little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    ret->wide = bytes[EI_CLASS] == ELFCLASS64;
    ret->swap = bytes[EI_DATA] != little;
    struct cursor cursor = cursor_of(bytes, got);
    cursor.swap = ret->swap;
    cursor_skip(&cursor, ret->wide ? offsetof(Elf64_Ehdr, e_phoff) : offsetof(Elf32_Ehdr, e_phoff));
    ret->phoff = ret->wide ? cursor_u64(&cursor) : cursor_u32(&cursor);
    cursor_skip(&cursor, (ret->wide ? 8 : 4) + 6); /* e_shoff, e_flags, e_ehsize */
    ret->phentsize = cursor_u16(&cursor);
    ret->phnum = cursor_u16(&cursor);
    return !cursor.failed && ret->phentsize == (ret->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
}

/* Segments are read a few at a time: ordinary preload objects have about ten. */
bool buildid_of_file(int fd, struct buildid *ret)
{
    struct layout layout;
    if (!read_header(fd, &layout))
        return false;
    unsigned char bytes[16 * sizeof(Elf64_Phdr)];
    const unsigned segments = layout.phnum < SEGMENTS_MAX ? layout.phnum : SEGMENTS_MAX;
    size_t left = NOTES_MAX;
    unsigned notes = 0;
    for (unsigned i = 0; i < segments; i += 16) {
        unsigned count = segments - i < 16 ? segments - i : 16;
        size_t size = (size_t)count * layout.phentsize;
        if (layout.phoff > INT64_MAX / 2 ||
            read_at(fd, bytes, size, layout.phoff + (uint64_t)i * layout.phentsize) < size)
            return false;
        struct cursor cursor = cursor_of(bytes, size);
        cursor.swap = layout.swap;
        while (cursor_left(&cursor) > 0) {
            struct cursor part = cursor_part(&cursor, layout.phentsize);
            uint32_t type = cursor_u32(&part);
            if (type != PT_NOTE)
                continue;
            if (left == 0 || notes++ == NOTE_SEGMENTS_MAX)
                return false;
            cursor_skip(&part, layout.wide ? 4 : 0);
            uint64_t offset = layout.wide ? cursor_u64(&part) : cursor_u32(&part);
            cursor_skip(&part, layout.wide ? 16 : 8);
            uint64_t filesz = layout.wide ? cursor_u64(&part) : cursor_u32(&part);
            cursor_skip(&part, 8);
            uint64_t align = layout.wide ? cursor_u64(&part) : cursor_u32(&part);
            if (read_notes(fd, offset, filesz, layout.swap, align == 8 ? 8 : 4, &left, ret))
                return true;
        }
    }
    return false;
}
