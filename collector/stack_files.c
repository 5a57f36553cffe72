/* SPDX-License-Identifier: MIT */
/*
 * From an address to the unwind tables of the file that is mapped there. Files may be gone, replaced, in another root;
 * what is opened must be the inode that was mapped.
 */
#define _GNU_SOURCE
#include "collector/stack_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/tasks.h"

enum {
    BLOCK_SHIFT = 16,
    AGAIN_NS = 100 * 1000 * 1000, /* a file is looked at again: it may have been replaced */
};

static bool is_file(const struct mapping *mapping)
{
    return mapping->path[0] == '/' && mapping->path[1] != '/';
}

/* The regular file PATH, if it is the inode that was mapped. */
static int open_inode(const char *path, const struct mapping *mapping)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -1;
    /* Not the device: file systems of several (overlay, btrfs) name another one in mappings. */
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == mapping->ino)
        return fd;
    close(fd);
    return -1;
}

/* As the process sees it; what was deleted is still there as long as it is mapped. */
static int open_of_process(pid_t pid, const struct mapping *mapping)
{
    char path[4096 + 64];
    snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, mapping->path);
    int fd = open_inode(path, mapping);
    if (fd < 0) { /* for those with CAP_CHECKPOINT_RESTORE */
        snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, mapping->start,
                 mapping->start + mapping->size);
        fd = open_inode(path, mapping);
    }
    if (fd < 0) {
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
        fd = open_inode(path, mapping);
    }
    return fd;
}

static struct unwind_file *open_mapping(struct stacks *stacks, pid_t pid, const struct mapping *mapping)
{
    if (strcmp(mapping->path, "[vdso]") == 0)
        return unwind_files_vdso(stacks->files);
    if (!is_file(mapping))
        return NULL;
    /* Ours first: it is cheaper, and there after the end of the process too. */
    int fd = open_inode(mapping->path, mapping);
    if (fd < 0)
        fd = open_of_process(pid, mapping);
    struct unwind_file *file = fd < 0 ? NULL : unwind_files_fd(stacks->files, fd);
    if (fd >= 0)
        close(fd);
    return file;
}

static uint64_t key_of(const struct mapping *mapping)
{
    uint64_t key = mapping->ino * 31 + mapping->ino_generation;
    key = key * 31 + ((uint64_t)mapping->maj << 32 | mapping->min);
    for (const char *at = mapping->path; *at; at++)
        key = (key ^ (unsigned char)*at) * 0x100000001b3u;
    return key ? key : 1;
}

static struct unwind_file *find_file(struct tasks *tasks, const struct task *task, const struct mapping *mapping)
{
    uint64_t key = key_of(mapping);
    struct stack_object *object = &tasks->stacks->objects[(key ^ key >> 20) % STACKS_OBJECTS];
    if (object->key == key && tasks->now_ns - object->checked_ns < AGAIN_NS)
        return object->file;
    struct unwind_file *file = open_mapping(tasks->stacks, task->pid, mapping);
    /* It was there before, and is gone with its process: the tables hold. */
    if (!file && object->key == key)
        file = object->file;
    *object = (struct stack_object){key, tasks->now_ns, file};
    return file;
}

/* A mapping that ADDRESS is not in: what holds at ADDRESS ends where that begins, or begins where it ends. */
static void narrow(uint64_t address, uint64_t start, uint64_t end, uint64_t *low, uint64_t *high)
{
    if (start > address)
        *high = start < *high ? start : *high;
    else
        *low = end > *low ? end : *low;
}

/* The newest mapping of ADDRESS. It is the newest of all from *LOW to *HIGH, exclusive. */
static const struct mapping *find_mapping(const struct space *space, uint64_t address, uint64_t *low, uint64_t *high)
{
    *low = 0;
    *high = UINT64_MAX;
    for (size_t i = space_count(space); i-- > 0;) {
        const struct mapping *mapping = space_at(space, i);
        const uint64_t start = mapping->start, end = start + mapping->size;
        if (address < start || address - start >= mapping->size) {
            narrow(address, start, end, low, high);
            continue;
        }
        *low = start > *low ? start : *low;
        *high = end < *high ? end : *high;
        return mapping;
    }
    return NULL;
}

/* What other threads mapped may be in rings that are read later. */
static const struct mapping *look_again(const struct stack_search *search, uint64_t address, uint64_t *low,
                                        uint64_t *high)
{
    struct process *process = search->task->process;
    if (!tasks_look_at_maps(search->tasks, process))
        return NULL;
    return find_mapping(&process->space, address, low, high);
}

static struct stack_block find_block(const struct stack_search *search, uint64_t address)
{
    const struct space *space = &search->task->process->space;
    uint64_t low, high;
    const struct mapping *mapping = find_mapping(space, address, &low, &high);
    if (!mapping)
        mapping = look_again(search, address, &low, &high);
    struct stack_block block = {.version = space->version, .mapped = mapping};
    if (!mapping) { /* what lies around it may have been mapped since */
        block.map.low = address;
        block.map.high = address + 1;
        return block;
    }
    block.map = (struct unwind_map){.start = mapping->start, .offset = mapping->offset, .low = low, .high = high};
    block.map.file = find_file(search->tasks, search->task, mapping);
    return block;
}

bool stack_files_find(void *context, uint64_t address, struct unwind_map *ret)
{
    const struct stack_search *search = context;
    struct stacks *stacks = search->tasks->stacks;
    const uint64_t version = search->task->process->space.version, block = address >> BLOCK_SHIFT;
    struct stack_block *slot = &stacks->blocks[(block ^ block >> 12 ^ version * 0x9e3779b1u) % STACKS_BLOCKS];
    if (!version || slot->version != version || address < slot->map.low || address >= slot->map.high)
        *slot = find_block(search, address);
    *ret = slot->map;
    return slot->mapped;
}
