/* SPDX-License-Identifier: MIT */
/* From an address to the unwind tables of the file that is mapped there. Another process reads them (opener.h). */
#include "collector/stacks/stack_files.h"

#include <errno.h>
#include <string.h>

#include "collector/records/space.h"
#include "collector/stacks/stacks.h"
#include "collector/system/monotonic.h"
#include "collector/system/opener.h"
#include "collector/system/procfs.h"
#include "common/fnv.h"

enum {
    BLOCK_SHIFT = 16,
    AGAIN_NS = 100 * 1000 * 1000, /* a file is looked at again: it may have been replaced */
};

static void empty_dso(struct stack_dso *dso)
{
    mapping_put(dso->mapping);
    *dso = (struct stack_dso){0};
}

void stack_files_release(struct stacks *stacks)
{
    for (unsigned i = 0; i < STACKS_DSOS; i++)
        empty_dso(&stacks->dsos[i]);
}

void stack_files_make_room(struct stacks *stacks)
{
    if (!unwind_files_are_many(stacks->files))
        return;
    for (struct stack_dso *dso = stacks->dsos; dso < stacks->dsos + STACKS_DSOS; dso++)
        if (unwind_file_leaves(dso->file))
            empty_dso(dso);
    memset(stacks->blocks, 0, sizeof(stacks->blocks));
    unwind_files_trim(stacks->files);
}

static bool is_file(const struct mapping *mapping)
{
    return mapping->path[0] == '/' && mapping->path[1] != '/';
}

static struct mapped_file file_of(pid_t pid, const struct mapping *mapping)
{
    return (struct mapped_file){.pid = pid,
                                .maj = mapping->maj,
                                .min = mapping->min,
                                .ino = mapping->ino,
                                .start = mapping->start,
                                .size = mapping->size,
                                .path = mapping->path};
}

/* Clears all blocks, which remember what they found, and what was missing. */
static void put_file(struct stacks *stacks, struct stack_dso *dso, struct unwind_file *file)
{
    if (dso->file == file)
        return;
    dso->file = file;
    memset(stacks->blocks, 0, sizeof(stacks->blocks));
}

/* In the loop itself, where the files of each user have a share of its time. */
static struct unwind_file *read_tables(struct stacks *stacks, struct stack_dso *dso, const struct unwind_stat *stat,
                                       int fd)
{
    struct unwind_file *file;
    const bool before = dso->put_off;
    dso->put_off = false;
    if (unwind_files_know(stacks->files, stat, &file))
        return file;
    struct table_user *user = table_time_of(&stacks->time, dso->user == (uid_t)-1 ? procfs_uid(dso->pid) : dso->user);
    dso->put_off = !table_time_begin(&stacks->time, user, monotonic_ns());
    stacks->time.put_off += dso->put_off && !before;
    if (dso->put_off)
        return NULL;
    file = unwind_files_copy(stacks->files, stat, fd);
    table_time_end(&stacks->time, user);
    if (!file && !unwind_files_know(stacks->files, stat, &file)) {
        stacks->no_room += !before;
        dso->put_off = true;
    }
    return file;
}

static void take_answer(void *context, uint64_t ticket, const struct opener_answer *answer)
{
    struct stacks *stacks = context;
    struct stack_dso *dso = stacks->dsos, *end = dso + STACKS_DSOS;
    while (dso < end && dso->ticket != ticket)
        dso++;
    if (dso == end) /* another DSO has its place */
        return;
    dso->ticket = 0;
    if (answer->status == -ENOEXEC || answer->status == -EFBIG)
        put_file(stacks, dso, NULL);
    if (answer->status < 0) /* otherwise the file is gone with its process, and the tables still hold */
        return;
    const struct unwind_stat stat = {answer->dev, answer->ino, answer->size, answer->mtime_ns, answer->ctime_ns};
    put_file(stacks, dso, read_tables(stacks, dso, &stat, answer->fd));
}

/*
 * The place of a mapping in the table. A user who chooses the path of a file can get another one's place: the place
 * itself proves nothing.
 */
static struct stack_dso *find_place(struct stacks *stacks, const struct mapping *mapping)
{
    uint64_t key = mapping->ino * 31 + mapping->ino_generation;
    key = key * 31 + ((uint64_t)mapping->maj << 32 | mapping->min);
    key = fnv(key, mapping->path, strlen(mapping->path));
    return &stacks->dsos[(key ^ key >> 20) % STACKS_DSOS];
}

static bool is_of(const struct stack_dso *dso, const struct mapping *mapping)
{
    return dso->mapping && dso->mapping->ino_generation == mapping->ino_generation &&
           mapping_same_dso(dso->mapping, mapping);
}

/* Prepares for a look now. False: there is no memory for it. */
static bool renew(struct stack_dso *dso, bool known, const struct stack_owner *owner, const struct mapping *mapping)
{
    if (!known) {
        empty_dso(dso);
        dso->mapping = mapping_new(mapping, mapping->path);
    }
    dso->checked_ns = owner->now_ns;
    dso->pid = owner->pid;
    dso->user = owner->user;
    return dso->mapping;
}

/* The first look is waited for, for a bounded time, since samples are there already. Later ones are not. */
static struct unwind_file *find_file(struct stacks *stacks, const struct stack_owner *owner,
                                     const struct mapping *mapping, bool *ret_put_off)
{
    if (strcmp(mapping->path, "[vdso]") == 0)
        return unwind_files_vdso(stacks->files);
    if (!is_file(mapping))
        return NULL;
    struct stack_dso *dso = find_place(stacks, mapping);
    const bool known = is_of(dso, mapping);
    if (known && (dso->ticket || owner->now_ns - dso->checked_ns < AGAIN_NS)) {
        *ret_put_off = dso->put_off;
        return dso->file;
    }
    const struct mapped_file file = file_of(owner->pid, mapping);
    if (!renew(dso, known, owner, mapping))
        return NULL;
    dso->ticket = opener_ask(stacks->opener, OPENER_TABLES, &file, take_answer, stacks);
    if (!known && dso->ticket)
        opener_settle(stacks->opener, dso->ticket);
    *ret_put_off = dso->put_off;
    return dso->file;
}

/* Mappings that other threads made may be in rings that are read later. */
static const struct mapping *look_again(const struct stack_search *search, uint64_t address, uint64_t *low,
                                        uint64_t *high)
{
    if (!search->stacks->look_at_maps(search->stacks->context, search->owner->process))
        return NULL;
    return space_find(search->owner->space, address, low, high);
}

static struct stack_block find_block(const struct stack_search *search, uint64_t address)
{
    const struct space *space = search->owner->space;
    uint64_t low, high;
    const struct mapping *mapping = space_find(space, address, &low, &high);
    if (!mapping)
        mapping = look_again(search, address, &low, &high);
    struct stack_block block = {.version = space->version, .mapped = mapping};
    if (!mapping) { /* what is around it may have been mapped since */
        block.map.low = address;
        block.map.high = address + 1;
        return block;
    }
    block.map = (struct unwind_map){.start = mapping->start,
                                    .offset = mapping->offset,
                                    .low = low,
                                    .high = high,
                                    .anonymous = !is_file(mapping) && strcmp(mapping->path, "[vdso]") != 0};
    bool put_off = false;
    block.map.file = find_file(search->stacks, search->owner, mapping, &put_off);
    if (put_off) /* to be looked at again */
        block.version = 0;
    return block;
}

bool stack_files_find(void *context, uint64_t address, struct unwind_map *ret)
{
    const struct stack_search *search = context;
    struct stacks *stacks = search->stacks;
    const uint64_t version = search->owner->space->version, block = address >> BLOCK_SHIFT;
    struct stack_block *slot = &stacks->blocks[(block ^ block >> 12 ^ version * 0x9e3779b1u) % STACKS_BLOCKS];
    if (!version || slot->version != version || address < slot->map.low || address >= slot->map.high)
        *slot = find_block(search, address);
    *ret = slot->map;
    return slot->mapped;
}
