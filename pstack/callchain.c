/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "callchain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/sym/symbols.h"
#include "capture.h"
#include "unwind/signature.h"

int callchain_init(struct callchain *callchain, int unwinder)
{
    *callchain = (struct callchain){.files = unwind_files_new(), .engine = unwind_engine_new(unwinder)};
    if (callchain->files && callchain->engine && symbols_new(NULL, &callchain->symbols) == 0)
        return 0;
    callchain_release(callchain);
    return -ENOMEM;
}

void callchain_release(struct callchain *callchain)
{
    symbols_free(callchain->symbols);
    unwind_files_free(callchain->files);
    unwind_engine_free(callchain->engine);
    *callchain = (struct callchain){0};
}

/* ---- Files of mappings ---- */

static bool is_file(const struct target_map *map)
{
    return map->path[0] == '/' && map->ino != 0;
}

/* Is PATH the regular file of MAP? Compares the inode, not the device, which differs on overlayfs and btrfs. */
static bool is_mapped(const char *path, const struct target_map *map)
{
    struct stat stat_of;
    return stat(path, &stat_of) == 0 && S_ISREG(stat_of.st_mode) && stat_of.st_ino == map->ino;
}

/*
 * The path where the file of MAP can be read: its name, its name below the root of the process, or, with enough
 * privileges, map_files of /proc. False: none.
 */
static bool find_path(const struct target *target, const struct target_map *map, char ret[PATH_MAX])
{
    snprintf(ret, PATH_MAX, "%s", map->path);
    if (!target->other_root && is_mapped(ret, map))
        return true;
    int size = snprintf(ret, PATH_MAX, "/proc/%d/root%s", (int)target->via, map->path);
    if (size < PATH_MAX && is_mapped(ret, map))
        return true;
    snprintf(ret, PATH_MAX, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)target->via, map->start, map->end);
    return is_mapped(ret, map);
}

/* A name may get another file between check and open: the opened file is checked again, and a FIFO does not block. */
static int open_mapped(const struct target *target, const struct target_map *map)
{
    char path[PATH_MAX], self[48];
    struct stat stat_of;
    if (!find_path(target, map, path))
        return -1;
    int place = open(path, O_PATH | O_CLOEXEC), fd = -1;
    if (place >= 0 && fstat(place, &stat_of) == 0 && S_ISREG(stat_of.st_mode) && stat_of.st_ino == map->ino) {
        snprintf(self, sizeof(self), "/proc/self/fd/%d", place);
        fd = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    }
    if (place >= 0)
        close(place);
    return fd;
}

static struct unwind_file *tables_of(struct callchain *callchain, const struct target *target, struct target_map *map)
{
    if (map->file_asked)
        return map->file;
    map->file_asked = true;
    if (strcmp(map->path, "[vdso]") == 0)
        return map->file = unwind_files_vdso(callchain->files);
    int fd = is_file(map) ? open_mapped(target, map) : -1;
    if (fd >= 0) {
        map->file = unwind_files_fd(callchain->files, fd);
        close(fd);
    }
    return map->file;
}

static struct symbols_dso *names_of(struct callchain *callchain, const struct target *target, struct target_map *map)
{
    char path[PATH_MAX];
    if (map->names_asked)
        return map->names;
    map->names_asked = true;
    if (map->anonymous)
        map->names = symbols_jit(callchain->symbols, (uint32_t)target->pid);
    else if (!is_file(map))
        map->names = symbols_dso(callchain->symbols, map->path, NULL, 0);
    else if (find_path(target, map, path))
        map->names = symbols_dso(callchain->symbols, path, NULL, 0);
    return map->names;
}

/* ---- Addresses ---- */

struct search {
    struct callchain *callchain;
    struct target *target;
};

static bool find_map(void *context, uint64_t address, struct unwind_map *ret)
{
    const struct search *search = context;
    struct target_map *map = target_map_at(search->target, address);
    if (!map || !map->executable)
        return false;
    *ret = (struct unwind_map){.start = map->start,
                               .offset = map->offset,
                               .low = map->start,
                               .high = map->end,
                               .file = tables_of(search->callchain, search->target, map),
                               .anonymous = map->anonymous};
    return true;
}

size_t callchain_find(struct callchain *callchain, struct target *target, struct target_thread *thread, uint64_t *ret,
                      size_t capacity)
{
    struct search search = {callchain, target};
    const struct unwind_target unwind = {find_map, &search};
    const struct unwind_dump dump = {.bytes = thread->stack,
                                     .start = thread->regs.value[UNWIND_SP],
                                     .size = thread->stack_size,
                                     .full = thread->stack_full};
    struct unwind_outcome outcome;
    unsigned count = unwind_engine_stack(callchain->engine, 0, &unwind, &thread->regs, &dump, ret, (unsigned)capacity,
                                         &outcome);
    thread->end = outcome.end;
    /* On AArch64 the return address may be in a register, which is unknown for a sleeping thread. */
    if (count > 1 && thread->regs.value[UNWIND_RETURN] == CAPTURE_UNKNOWN && ret[1] == signature_strip(CAPTURE_UNKNOWN))
        return 1;
    return count;
}

/* ---- Names ---- */

static struct target_frame *add_frame(struct target_thread *thread)
{
    size_t count = thread->frame_count;
    if ((count & (count - 1)) == 0) { /* the array is full at powers of two */
        struct target_frame *frames = reallocarray(thread->frames, count ? 2 * count : 1, sizeof(*frames));
        if (!frames)
            return NULL;
        thread->frames = frames;
    }
    thread->frames[count] = (struct target_frame){0};
    return &thread->frames[thread->frame_count++];
}

/* Adds the functions at IP. LOOKED: the address to look up; for a caller it is inside the call instruction. */
static int name_address(struct callchain *callchain, struct target *target, struct target_thread *thread, uint64_t ip,
                        uint64_t looked)
{
    struct symbol_line lines[SYMBOLS_LINES_MAX];
    struct symbol symbol = {0};
    struct target_map *map = target_map_at(target, looked);
    struct symbols_dso *dso = map ? names_of(callchain, target, map) : NULL;
    uint64_t offset = map && !map->anonymous ? looked - map->start + map->offset : looked;
    bool named = dso && symbols_find(dso, offset, &symbol);
    size_t count = dso ? symbols_lines(dso, offset, lines) : 0, at = 0;
    do {
        if (thread->frame_count == TARGET_FRAMES) {
            thread->end = UNWIND_TOO_DEEP;
            return 0;
        }
        struct target_frame *frame = add_frame(thread);
        if (!frame)
            return -ENOMEM;
        bool last = at + 1 >= count;
        *frame = (struct target_frame){.ip = ip,
                                       .address = offset,
                                       .inlined = !last,
                                       .dso = map && !map->anonymous ? map->path : NULL,
                                       .unmapped = !map};
        if (dso)
            symbols_address(dso, offset, &frame->address);
        if (at < count) {
            frame->file = lines[at].file;
            frame->line = lines[at].line;
            frame->function = lines[at].function;
        }
        if (last && named)
            frame->function = symbol.name;
    } while (++at < count);
    return 0;
}

static bool is_trampoline(const struct target_frame *frame)
{
    return frame->function &&
           (strcmp(frame->function, "__restore_rt") == 0 || strcmp(frame->function, "__kernel_rt_sigreturn") == 0);
}

int callchain_name(struct callchain *callchain, struct target *target, struct target_thread *thread,
                   const uint64_t *ips, size_t count)
{
    int error = 0;
    thread->frame_count = 0;
    for (size_t i = 0; i < count && !error; i++) {
        bool exact = i == 0 || is_trampoline(&thread->frames[thread->frame_count - 1]);
        error = name_address(callchain, target, thread, ips[i], ips[i] - !exact);
    }
    return error;
}
