/* SPDX-License-Identifier: MIT */
#include "collector/buildid.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "collector/opener.h"
#include "collector/procfs.h"
#include "common/buffer.h"
#include "common/cursor.h"
#include "common/table.h"

#define FRESH_NS 100000000ull
/* Ordinary files have a dozen segments and one or two of them notes, of some hundred bytes. */
enum { ENTRIES_MAX = 16384, NOTES_MAX = 65536, SEGMENTS_MAX = 256, NOTE_SEGMENTS_MAX = 16 };
/* From so many on who needs room makes it himself. Users that are told apart when there is none: others have few. */
enum { USER_SHARE = ENTRIES_MAX / 4, USERS = 64 };

struct key {
    uint64_t ino, generation;
    uint32_t maj, min;
    char path[PATH_MAX]; /* without its NUL; the key ends behind it */
};

struct entry {
    UT_hash_handle hh;
    uid_t user;      /* who mapped it first; -1: not known, he has ended */
    uint64_t checked_ns;
    uint64_t ticket; /* of the question that was not answered yet; 0: none */
    bool asked;      /* it was, once; else all questions were refused */
    struct buildid id;
    unsigned char key[];
};

struct buildids {
    struct opener *opener;
    struct entry *table; /* by struct key */
    bool kernel_known, vdso_known;
    struct buildid kernel, vdso;
};

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

/* Segments are read a few at a time: ordinary DSOs have about ten. */
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

static bool kernel_id(struct buildids *buildids, struct buildid *ret)
{
    if (!buildids->kernel_known) {
        struct buffer notes = BUFFER_INIT;
        buildids->kernel_known = true;
        if (buffer_read_file(&notes, "/sys/kernel/notes", NOTES_MAX) == 0)
            buildid_of_notes(notes.data, notes.size, false, 4, &buildids->kernel);
        buffer_release(&notes);
    }
    *ret = buildids->kernel;
    return ret->size > 0;
}

/* That of our own image: a task of another class is not followed, so it is theirs too. */
static bool vdso_id(struct buildids *buildids, struct buildid *ret)
{
    const unsigned char *buffer = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
    if (!buildids->vdso_known && buffer) {
        const ElfW(Ehdr) *header = (const void *)buffer;
        const ElfW(Phdr) *segments = (const void *)(buffer + header->e_phoff);
        for (unsigned i = 0; i < header->e_phnum; i++)
            if (segments[i].p_type == PT_NOTE && buildid_of_notes(buffer + segments[i].p_offset, segments[i].p_filesz,
                                                                  false, segments[i].p_align, &buildids->vdso))
                break;
    }
    buildids->vdso_known = true;
    *ret = buildids->vdso;
    return ret->size > 0;
}

/* The size of the key; 0: the path is too long for any file. */
static size_t make_key(struct key *ret, const struct mapped_file *file, uint64_t generation)
{
    size_t length = strlen(file->path);
    if (length >= sizeof(ret->path))
        return 0;
    ret->ino = file->ino;
    ret->generation = generation;
    ret->maj = file->maj;
    ret->min = file->min;
    memcpy(ret->path, file->path, length);
    return offsetof(struct key, path) + length;
}

/* The file that was mapped and is gone keeps the id that was read while it was there. */
static void take_answer(void *context, uint64_t ticket, const struct opener_answer *answer)
{
    struct entry *entry = context;
    if (entry->ticket != ticket)
        return;
    entry->ticket = 0;
    if (answer->status < 0)
        return;
    entry->id.size = answer->id_size;
    memcpy(entry->id.bytes, answer->id, sizeof(entry->id.bytes));
}

static void ask(struct buildids *buildids, struct entry *entry, const struct mapped_file *file, uint64_t now_ns)
{
    entry->checked_ns = now_ns;
    if (!entry->ticket)
        entry->ticket = opener_ask(buildids->opener, OPENER_ID, file, take_answer, entry);
    entry->asked |= entry->ticket != 0;
}

/* Whose entries make room for one of USER's: his own from his share on, else those of who has most. */
static uid_t find_large_user(const struct buildids *buildids, uid_t user)
{
    struct {
        uid_t user;
        unsigned count;
    } shares[USERS] = {{.user = user}};
    unsigned used = 1, most = 0;
    for (const struct entry *entry = buildids->table; entry; entry = entry->hh.next) {
        unsigned at = 0;
        while (at < used && shares[at].user != entry->user)
            at++;
        if (at == USERS || entry->ticket)
            continue;
        if (at == used)
            shares[used++].user = entry->user;
        if (++shares[at].count > shares[most].count)
            most = at;
    }
    return shares[0].count >= USER_SHARE ? user : shares[most].user;
}

/* But for those of whom the answer is on its way. Of files that are gone, what they said does not come back. */
static void forget(struct buildids *buildids, uid_t user)
{
    struct entry *entry, *next;
    uint64_t known = 0;
    HASH_ITER(hh, buildids->table, entry, next)
    {
        if (entry->ticket || entry->user != user)
            continue;
        known += entry->id.size > 0;
        HASH_DEL(buildids->table, entry);
        free(entry);
    }
    opener_forgot(buildids->opener, known);
}

static struct entry *find_entry(const struct buildids *buildids, const struct key *key, size_t size)
{
    struct entry *entry;
    HASH_FIND(hh, buildids->table, key, size, entry);
    return entry;
}

static struct entry *new_entry(struct buildids *buildids, const struct key *key, size_t size, pid_t pid)
{
    const uid_t user = pid > 0 ? procfs_uid(pid) : (uid_t)-1;
    if (HASH_COUNT(buildids->table) >= ENTRIES_MAX)
        forget(buildids, find_large_user(buildids, user));
    struct entry *entry = calloc(1, sizeof(*entry) + size);
    if (!entry)
        return NULL;
    entry->user = user;
    memcpy(entry->key, key, size);
    HASH_ADD_KEYPTR(hh, buildids->table, entry->key, size, entry);
    if (!TABLE_HAS(entry)) {
        free(entry);
        return NULL;
    }
    return entry;
}

/* "//anon" and the like are no files. */
static bool is_file(const struct mapped_file *file)
{
    return file->path[0] == '/' && file->path[1] != '/' && file->ino != 0;
}

void buildids_expect(struct buildids *buildids, const struct mapped_file *mapped, uint64_t ino_generation,
                     uint64_t now_ns)
{
    struct key key;
    size_t size = is_file(mapped) ? make_key(&key, mapped, ino_generation) : 0;
    if (!size)
        return;
    struct entry *entry = find_entry(buildids, &key, size);
    if (entry && now_ns - entry->checked_ns < FRESH_NS)
        return;
    if (!entry)
        entry = new_entry(buildids, &key, size, mapped->pid);
    if (entry)
        ask(buildids, entry, mapped, now_ns);
}

bool buildids_find(struct buildids *buildids, const struct result_module *module, struct buildid *ret)
{
    const struct mapped_file file = {
        .maj = module->maj, .min = module->min, .ino = module->ino, .path = module->path};
    if (strcmp(file.path, "[kernel.kallsyms]") == 0)
        return kernel_id(buildids, ret);
    if (strcmp(file.path, "[vdso]") == 0)
        return vdso_id(buildids, ret);
    struct key key;
    size_t size = is_file(&file) ? make_key(&key, &file, module->ino_generation) : 0;
    if (!size)
        return false;
    struct entry *entry = find_entry(buildids, &key, size);
    if (!entry)
        entry = new_entry(buildids, &key, size, file.pid);
    if (!entry)
        return false;
    if (!entry->asked)
        ask(buildids, entry, &file, 0);
    if (entry->ticket)
        opener_settle(buildids->opener, entry->ticket);
    *ret = entry->id;
    return ret->size > 0;
}

struct opener *buildids_opener(struct buildids *buildids)
{
    return buildids->opener;
}

struct buildids *buildids_new(void)
{
    struct buildids *buildids = calloc(1, sizeof(*buildids));
    if (buildids && !(buildids->opener = opener_new())) {
        free(buildids);
        return NULL;
    }
    return buildids;
}

void buildids_free(struct buildids *buildids)
{
    if (!buildids)
        return;
    opener_free(buildids->opener);
    struct entry *entry, *next;
    HASH_ITER(hh, buildids->table, entry, next)
    {
        HASH_DEL(buildids->table, entry);
        free(entry);
    }
    free(buildids);
}
