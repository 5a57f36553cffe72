/* SPDX-License-Identifier: MIT */
#include "collector/output/build_ids.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "collector/system/opener.h"
#include "collector/system/procfs.h"
#include "common/buffer.h"
#include "common/table.h"

#define FRESH_NS 100000000ull
enum { ENTRIES_MAX = 16384, NOTES_MAX = 65536 };
/* From so many on who needs room makes it himself. Users that are told apart when there is none: others have few. */
enum { USER_SHARE = ENTRIES_MAX / 4, USERS = 64 };

struct key {
    uint64_t ino, generation;
    uint32_t maj, min;
    char path[PATH_MAX]; /* without its NUL; the key ends after it */
};

struct entry {
    UT_hash_handle hh;
    uid_t user; /* of the process that mapped it first; -1: unknown, it has ended */
    uint64_t checked_ns;
    uint64_t ticket; /* of a question that is not answered yet; 0: none */
    bool asked;      /* a question was accepted; otherwise all were refused */
    struct buildid id;
    unsigned char key[];
};

struct buildids {
    struct opener *opener;
    struct entry *table; /* by struct key */
    bool kernel_known, vdso_known;
    struct buildid kernel, vdso;
};

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

/* That of our own process: a task of another class is not followed, so all have the same. */
static bool vdso_id(struct buildids *buildids, struct buildid *ret)
{
    const unsigned char *generation = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
    if (!buildids->vdso_known && generation) {
        const ElfW(Ehdr) *header = (const void *)generation;
        const ElfW(Phdr) *segments = (const void *)(generation + header->e_phoff);
        for (unsigned i = 0; i < header->e_phnum; i++)
            if (segments[i].p_type == PT_NOTE &&
                buildid_of_notes(generation + segments[i].p_offset, segments[i].p_filesz, false, segments[i].p_align,
                                 &buildids->vdso))
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

/* If the mapped file is gone, the id that was read while it was there stays. */
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

static void ask_for_id(struct buildids *buildids, struct entry *entry, const struct mapped_file *file, uint64_t now_ns)
{
    entry->checked_ns = now_ns;
    if (!entry->ticket)
        entry->ticket = opener_ask(buildids->opener, OPENER_ID, file, take_answer, entry);
    entry->asked |= entry->ticket != 0;
}

/*
 * The user whose entries make room for one of USER's: USER himself if he has his share, else the one with most entries.
 */
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

/* Forgets USER's entries, except those whose answer is on its way. Ids of files that are gone are lost. */
static void forget_user(struct buildids *buildids, uid_t user)
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
        forget_user(buildids, find_large_user(buildids, user));
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

/* "//anon" and the like are not files. */
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
        ask_for_id(buildids, entry, mapped, now_ns);
}

bool buildids_find(struct buildids *buildids, const struct result_module *module, struct buildid *ret)
{
    const struct mapped_file file = {.maj = module->maj, .min = module->min, .ino = module->ino, .path = module->path};
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
        ask_for_id(buildids, entry, &file, 0);
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
